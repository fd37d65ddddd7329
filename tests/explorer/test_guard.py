import pytest
from support.running_explorer import QUESTION, running

from counterleaf.explorer.session.requests import MAX_FILE
from counterleaf.explorer.web.guard import MAX_FILE_BODY

NO_ACCESS = "this browser has no access; open the address that counterleaf printed, or a link copied from the page"
OTHER_PAGE = "the request comes from another page; only this server's page may send requests"


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    with running(tmp_path_factory.mktemp("page")) as explorer:
        status, explorer.entry, body = explorer.enter()
        assert (status, body[:15]) == (200, b"<!doctype html>")
        yield explorer


@pytest.fixture
def stranger(explorer):
    """The same server from a browser without the cookie."""
    cookie, explorer.cookie = explorer.cookie, None
    yield explorer
    explorer.cookie = cookie


def test_the_token_sets_a_cookie_for_this_site_that_scripts_cannot_read(explorer):
    name, _, rest = explorer.entry["set-cookie"].partition("=")
    assert name == f"counterleaf-{explorer.port}"
    value, *flags = rest.split("; ")
    assert len(value) >= 43
    assert flags == ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=604800"]
    assert explorer.entry["cache-control"] == "no-store"


def test_the_token_works_once(stranger):
    status, headers, body = stranger.call("GET", f"/?token={stranger.token}")
    assert (status, body) == (401, b"<!doctype html><title>Access</title>")
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert "set-cookie" not in headers


def test_a_link_opens_the_page_in_any_browser_until_the_server_ends(tmp_path):
    with running(tmp_path / "page") as explorer:
        explorer.enter()
        link, again = (explorer.json("POST", "/api/link", {}) for _ in range(2))
        assert link == again == (200, {"token": link[1]["token"]})
        assert len(link[1]["token"]) >= 22
        for _ in range(3):
            explorer.cookie, explorer.token = None, link[1]["token"]
            assert explorer.enter()[0] == 200
            assert explorer.json("GET", "/api/scenes")[0] == 200


def test_only_a_browser_with_access_gets_a_link(stranger):
    assert stranger.error_of("POST", "/api/link", {}) == (401, NO_ACCESS)


def test_with_the_cookie_a_token_is_ignored(explorer):
    for token in (explorer.token, "wrong"):
        status, headers, body = explorer.call("GET", f"/?token={token}")
        assert (status, body) == (200, b"<!doctype html><title>Explore</title>")
        assert "set-cookie" not in headers


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/?token=%ff%ed%a0%80", "/?token=a&token=b"])
def test_without_cookie_or_token_there_is_a_form(stranger, path):
    status, _, body = stranger.call("GET", path)
    assert (status, body) == (401, b"<!doctype html><title>Access</title>")


def test_a_wrong_token_and_a_head_request_do_not_use_up_the_right_one(tmp_path):
    with running(tmp_path / "page") as explorer:
        assert explorer.call("GET", "/?token=wrong")[0] == 401
        assert explorer.call("HEAD", f"/?token={explorer.token}")[0] == 401
        (tmp_path / "page" / "access.html").unlink()
        assert explorer.error_of("GET", "/") == (401, NO_ACCESS)
        assert explorer.enter()[0] == 200


@pytest.mark.parametrize(
    "cookie", [None, "", "counterleaf=x", "counterleaf-{port}=wrong", "counterleaf-1={value}", "x; =; counterleaf-{port}"]
)
@pytest.mark.parametrize("path", ["/api/scenes", "/api", "/api/nothing"])
def test_the_api_needs_the_cookie(explorer, cookie, path):
    value = explorer.cookie.partition("=")[2]
    headers = {"Cookie": cookie and cookie.format(port=explorer.port, value=value)}
    assert explorer.error_of("GET", path, None, headers) == (401, NO_ACCESS)


def test_the_cookie_is_found_among_others(explorer):
    assert explorer.json("GET", "/api/scenes", None, {"Cookie": f"a=b;{explorer.cookie}; c"})[0] == 200


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_names_of_this_machine_are_accepted(explorer, name):
    assert explorer.json("GET", "/api/scenes", None, {"Host": f"{name}:{explorer.port}"})[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example:{port}", "127.0.0.1", "localhost:1", "127.0.0.1:{port}.evil.example", "", "a@127.0.0.1:{port}"]
)
@pytest.mark.parametrize("path", ["/", "/api/scenes", "/page/app.js", "/openapi.json"])
def test_any_other_host_is_refused(explorer, host, path):
    status, message = explorer.error_of("GET", path, None, {"Host": host.format(port=explorer.port)})
    assert status == 421
    assert message.startswith("the Host header names another server; expected one of 127.0.0.1:")


def test_no_host_and_two_hosts_are_refused(explorer):
    assert explorer.raw(b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421")
    host = b"Host: " + explorer.host.encode() + b"\r\n"
    assert explorer.raw(b"GET / HTTP/1.1\r\n" + host * 2 + b"\r\n").startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}", "http://localhost:{port}", ""]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/page/app.js"), ("POST", "/api/answer")])
def test_another_origin_is_refused(explorer, origin, method, path):
    headers = {"Origin": origin.format(port=explorer.port)}
    assert explorer.error_of(method, path, QUESTION, headers) == (403, OTHER_PAGE)


def test_the_same_origin_is_accepted_and_no_response_has_cors_headers(explorer):
    status, headers, _ = explorer.call("POST", "/api/answer", QUESTION, {"Origin": f"http://{explorer.host}"})
    assert status == 200
    assert not [name for name in headers if name.startswith("access-control")]
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    status, headers, _ = explorer.call("OPTIONS", "/api/answer", None, preflight)
    assert status == 403
    assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_a_request_that_another_site_causes_is_refused(explorer, site):
    message = "the request comes from another site; only this server's page may send requests"
    assert explorer.error_of("GET", "/api/scenes", None, {"Sec-Fetch-Site": site}) == (403, message)
    assert explorer.call("GET", "/", None, {"Sec-Fetch-Site": site})[0] == 200  # other sites may link to the page


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_requests_of_the_page_are_accepted(explorer, site):
    assert explorer.json("GET", "/api/scenes", None, {"Sec-Fetch-Site": site})[0] == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", None, "application/jsonx", "a/json"])
def test_other_content_types_are_refused(explorer, kind):
    message = f"the Content-Type is {kind or ''!r}; expected application/json"
    assert explorer.error_of("POST", "/api/answer", QUESTION, {"Content-Type": kind}) == (415, message)


def test_a_charset_in_the_content_type_is_accepted(explorer):
    assert explorer.json("POST", "/api/answer", QUESTION, {"Content-Type": "Application/JSON; charset=utf-8"})[0] == 200


TOO_LARGE = "the body is too large; expected at most 262144 bytes"


@pytest.mark.parametrize("size", [256 * 1024 + 1, 1024 * 1024, 4 * 1024 * 1024])
def test_a_large_body_is_refused(explorer, size):
    assert explorer.error_of("POST", "/api/answer", b" " * size) == (413, TOO_LARGE)


def test_a_body_of_the_largest_size_is_read(explorer):
    assert explorer.json("POST", "/api/answer", b'{"scene":"a"}'.ljust(256 * 1024))[0] == 200


@pytest.mark.parametrize("path", ["/api/open", "/api/rows"])
def test_a_body_with_a_file_may_be_larger(explorer, path):
    limit = f"the body is too large; expected at most {MAX_FILE_BODY} bytes"
    assert explorer.call("POST", path, b" " * 1024 * 1024)[0] != 413
    assert explorer.error_of("POST", path, b" " * (MAX_FILE_BODY + 1)) == (413, limit)


def test_one_limit_for_files_whatever_they_contain(explorer):
    largest = '"\n' * (MAX_FILE // 2)  # each of the two characters needs two in JSON
    status, reply = explorer.json("POST", "/api/rows", {"scene": "a", "name": "x.csv", "text": largest})
    assert (status, len(reply["arguments"]["text"])) == (200, MAX_FILE)
    status, message = explorer.error_of("POST", "/api/rows", {"scene": "a", "name": "x.csv", "text": largest + "x"})
    assert status == 422
    assert message.endswith(f"expected at most {MAX_FILE} characters")


def test_a_huge_content_length_is_refused_before_the_body_is_sent(explorer):
    head = (
        f"POST /api/answer HTTP/1.1\r\nHost: {explorer.host}\r\nCookie: {explorer.cookie}\r\nContent-Type: application/json\r\n"
    )
    for length in (5_000_000, 10**15):
        answer = explorer.raw(f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 413")
        assert TOO_LARGE.encode() in answer


@pytest.mark.parametrize("chunks", [5, 5000])
def test_a_large_body_in_chunks_is_refused_too(explorer, chunks):
    parts = (b" " * 65536 for _ in range(chunks))
    try:
        status, message = explorer.error_of("POST", "/api/answer", parts)  # without a Content-Length
    except (BrokenPipeError, ConnectionResetError):  # the server may close the connection before the response is read
        assert chunks == 5000
    else:
        assert (status, message) == (413, TOO_LARGE)
    assert explorer.json("GET", "/api/scenes")[0] == 200


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ],
    ids=["path", "header", "nonsense", "bytes", "version"],
)
def test_invalid_http_is_refused(explorer, request_bytes):
    answer = explorer.raw(request_bytes)
    assert answer.startswith(b"HTTP/1.1 4")
    assert explorer.json("GET", "/api/scenes")[0] == 200


def test_an_upgrade_to_a_websocket_is_refused(explorer):
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "eA==", "Sec-WebSocket-Version": "13"}
    assert explorer.call("GET", "/api/nothing", None, headers)[0] == 404


@pytest.mark.parametrize("path", ["/", "/api/scenes", "/api/nothing", "/page/app.js", "/nothing", "/openapi.json"])
@pytest.mark.parametrize("has_access", [True, False])
def test_every_response_has_the_security_headers(explorer, path, has_access):
    _, headers, _ = explorer.call("GET", path, None, {} if has_access else {"Cookie": "x=y"})
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["permissions-policy"] == "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers
    if path.startswith("/api"):
        assert headers["cache-control"] == "no-store"
