"""``Explainer.explore`` outside of a notebook, and the parts of the widget."""

import json
import re
import sys
import time
import types
import urllib.request
from html.parser import HTMLParser
from http.cookiejar import CookieJar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.explorer_cases import endless
from support.fake_session import FakeSession

import counterleaf as cl
from counterleaf.explorer.notebook import exploration
from counterleaf.explorer.notebook.background import Background
from counterleaf.explorer.notebook.widget import Bridge, inline_page
from counterleaf.explorer.web.guard import MAX_FILE_BODY

X = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "pay": [1.0, 2.0, 3.0, 4.0] * 5})
MODEL = DecisionTreeClassifier(random_state=0).fit(X, ["no", "no", "yes", "yes"] * 5)
EXPLAINER = cl.Explainer(MODEL, data=X)


@pytest.fixture
def explore(monkeypatch):
    """Call the method without opening a browser; what it returns is closed at the end."""
    opened, views = [], []
    monkeypatch.setattr(exploration, "open_page", opened.append)

    def call(*arguments, explainer=EXPLAINER, **options):
        views.append(explainer.explore(*arguments, **options))
        views[-1].opened = opened
        return views[-1]

    yield call
    for view in views:
        view.close()


def browser():
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar()))


def request(client, view, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    origin = view.url.partition("?")[0]
    with client.open(urllib.request.Request(origin + path, data, {"Content-Type": "application/json"})) as reply:
        return json.loads(reply.read())


def test_outside_of_a_notebook_a_browser_opens_and_the_model_itself_confirms(explore, monkeypatch):
    view = explore({"age": 20, "pay": 1.0}, target="yes")
    assert len(view.opened) == 1
    assert repr(view) == f"<Exploration at {view.url}>"
    for address in (view.opened[0], view.url, view.url):  # the first address works once, the other one always
        client = browser()
        assert client.open(address).status == 200
    scene = request(client, view, "api/scenes")[0]
    assert scene["title"] == "DecisionTreeClassifier"
    calls, predict = [], MODEL.predict
    monkeypatch.setattr(MODEL, "predict", lambda rows: calls.append(rows) or predict(rows), raising=False)
    answer = request(client, view, "api/answer", {"scene": scene["key"], "target": ["yes"]})
    assert answer["status"] == "optimal"
    assert answer["ways"][0]["confirmed"]
    assert calls


def test_it_can_be_closed_more_than_once_and_then_says_so(explore):
    view = explore(0, rows=X)
    address = view.url
    view.close()
    view.close()
    with pytest.raises(OSError, match="refused"):
        browser().open(address)
    with pytest.raises(cl.CounterleafError, match=r"^the explorer is closed; call explore\(\) again$"):
        view.url  # noqa: B018
    assert repr(view) == "<Exploration, closed>"
    assert view._repr_mimebundle_() == {"text/plain": "<Exploration, closed>"}


@pytest.mark.parametrize(
    ("row", "rows", "first", "n_rows"),
    [
        ({"age": 40, "pay": 3.5}, None, 40, 1),
        (X.iloc[2], None, 40, 1),
        (X.iloc[2:3], None, 40, 1),
        (pl.DataFrame({"age": [40], "pay": [3.0]}), None, 40, 1),
        ([40, 3.0], None, 40, 1),
        (np.array([40, 3.0]), None, 40, 1),
        (2, X, 40, 20),
        (np.flatnonzero(X["age"] == 40)[0], X, 40, 20),
        (np.uint8(2), X, 40, 20),
        (2, pl.from_pandas(X), 40, 20),
        (2, X.to_numpy(), 40, 20),
        (None, X, 20, 20),
        (None, None, 35, 1),
    ],
    ids=[
        "dict",
        "Series",
        "frame",
        "polars",
        "list",
        "array",
        "rows",
        "int64",
        "uint8",
        "polars rows",
        "array rows",
        "first",
        "middle",
    ],
)
def test_rows_of_every_kind(explore, row, rows, first, n_rows):
    view = explore(row, rows=rows)
    client = browser()
    client.open(view.url)
    key = request(client, view, "api/scenes")[0]["key"]
    scene = request(client, view, f"api/scenes/{key}")
    assert scene["n_rows"] == n_rows
    assert request(client, view, f"api/scenes/{key}/rows/{scene['first_row']}")["values"][0] == first


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([3], {}, "row is 3, an index, but there are no rows; pass rows=, or the row itself"),
        ([20], {"rows": X}, "no row 20 in DecisionTreeClassifier, which has 20; expected 0 to 19"),
        ([X.iloc[0]], {"rows": X}, "got a row and rows; expected rows with the index of one of them, such as row=3"),
        ([X], {}, "row is a table of 20 rows; expected one row, or pass the table as rows="),
        ([{"age": 3}], {}, "the rows have no column 'pay'; expected 'age', 'pay'"),
        ([[1, 2, 3]], {}, "the rows have the shape (1, 3); expected 2 columns: 'age', 'pay'"),
        ([], {"rows": X[:0]}, "the table has no rows; expected at least one"),
        ([True], {"rows": X}, "row is True; expected a row, or the position of one in rows="),
        ([np.True_], {"rows": X}, "row is True; expected a row, or the position of one in rows="),
        ([-1], {"rows": X}, "no row -1 in DecisionTreeClassifier, which has 20; expected 0 to 19"),
        ([0], {"rows": X, "target": "maybe"}, "target is 'maybe'; expected one of 'no', 'yes'"),
        (
            [0],
            {"rows": X, "target": cl.value(at_least=3)},
            "target is a value, but the model predicts classes; name one of 'no', 'yes', or use probability(...)",
        ),
        ([0], {"rows": X, "constraints": cl.freeze("nope")}, "no feature 'nope'; the features are 'age', 'pay'"),
        ([0], {"rows": X, "constraints": "age"}, "constraints is 'age'; expected a list such as [freeze('age')]"),
        ([0], {"rows": X, "time_limit": 0}, "time_limit is 0; expected seconds above 0"),
        ([0], {"rows": X, "height": "tall"}, "height is 'tall'; expected a whole number from 1, or None"),
    ],
)
def test_mistakes_are_one_line(explore, arguments, options, message):
    with pytest.raises(cl.CounterleafError, match=f"^{re.escape(message)}$"):
        explore(*arguments, **options)


@pytest.mark.parametrize("constraints", [cl.freeze("age", "pay"), [cl.freeze("age", "pay")], iter([cl.freeze("age", "pay")])])
def test_constraints_hold_in_every_answer(explore, constraints):
    view = explore(0, rows=X, target="yes", constraints=constraints)
    client = browser()
    client.open(view.url)
    key = request(client, view, "api/scenes")[0]["key"]
    answer = request(client, view, "api/answer", {"scene": key, "target": ["yes"]})
    assert answer["status"] == "infeasible"
    assert [one["description"] for one in answer["conflict"]] == ["unchanged: age, pay, always required"]


REGRESSION = cl.Explainer(DecisionTreeRegressor(random_state=0).fit(X, [10.0, 20.0, 30.0, 40.0] * 5), data=X)


@pytest.mark.parametrize(
    ("explainer", "target", "goal"),
    [
        (REGRESSION, None, ([], None, None)),
        (REGRESSION, cl.value(at_least=35), ([], 35.0, None)),
        (REGRESSION, cl.value(at_least=15, at_most=25), ([], 15.0, 25.0)),
        (EXPLAINER, cl.probability("yes", at_least=0.8), (["yes"], 0.8, None)),
        (EXPLAINER, "yes", (["yes"], None, None)),
    ],
    ids=["no value", "value", "interval", "probability", "class"],
)
def test_every_kind_of_target_is_the_first_goal(explore, explainer, target, goal):
    view = explore(0, rows=X, explainer=explainer, target=target, constraints=cl.max_changes(2))
    client = browser()
    client.open(view.url)
    key = request(client, view, "api/scenes")[0]["key"]
    scene = request(client, view, f"api/scenes/{key}")
    assert (scene["target"], scene["at_least"], scene["at_most"]) == goal
    question = {"scene": key, "row": 0} | {name: scene[name] for name in ("target", "at_least", "at_most")}
    answer = request(client, view, "api/answer", question)
    assert answer["status"] == "optimal"
    assert answer["ways"][0]["confirmed"]


def test_a_class_is_not_a_target_for_a_model_of_numbers(explore):
    with pytest.raises(cl.CounterleafError, match=r"^target is 'yes', and the model predicts numbers; pass target=cl\.value\("):
        explore(0, rows=X, explainer=REGRESSION, target="yes")


def test_a_notebook_without_anywidget_shows_a_link_and_a_hint(explore, monkeypatch, capsys):
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "anywidget", None)
    view = explore(0, rows=X)
    assert view.opened == []
    hint = "counterleaf: the page opens in another tab; to show it inside the notebook: pip install anywidget\n"
    assert capsys.readouterr().err == hint
    assert repr(view) == "<Exploration; open its url in a browser>"
    assert not view._background.is_serving  # repr does not open a port
    assert f'<a href="{view.url}" target="_blank"' in view._repr_mimebundle_()["text/html"]


def test_missing_packages_give_an_installation_hint(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("counterleaf.explorer")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    message = "the explorer needs fastapi and uvicorn; install with: pip install fastapi uvicorn"
    with pytest.raises(cl.CounterleafError, match=f"^{message}$"):
        EXPLAINER.explore(0, rows=X)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action")]


def test_the_inlined_page_loads_nothing():
    page, text = Page(), inline_page()
    page.feed(text)
    assert {address.partition(":")[0] for address in page.addresses} == {"data"}
    assert "default-src 'none'" in text
    assert "<html data-embedded " in text
    assert "/page/" not in text


def test_every_module_of_the_inlined_page_finds_its_imports():
    imports = json.loads(re.search(r'<script type="importmap">(.*?)</script>', inline_page())[1])["imports"]
    for address in imports.values():
        with urllib.request.urlopen(address) as module:
            text = module.read().decode()
        assert not re.search(r"""(from|import)\s*\(?\s*["']\.""", text)
        assert set(re.findall(r'from "([^"]+)"', text)) <= set(imports)
    assert "counterleaf/main.js" in imports


@pytest.fixture
def bridge():
    """A bridge to a fake session, its messages to the frames, and a function that waits for one."""
    session, sent = FakeSession(), []
    background = Background(session)

    def wait(view, number):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for message in sent:
                if (message["view"], message.get("id")) == (view, number):
                    return message["status"], json.loads(message["body"])
            time.sleep(0.01)
        raise TimeoutError

    yield Bridge(background, sent.append), sent, wait, session
    background.close()


def ask(number, scene, view="a"):
    return {"view": view, "id": number, "method": "POST", "path": "/api/answer", "body": json.dumps({"scene": scene})}


def test_requests_of_a_frame_reach_the_session(bridge):
    receiver, sent, wait, _ = bridge
    receiver.receive({"view": "a", "page": True})
    assert sent == [{"view": "a", "page": inline_page()}]
    receiver.receive(ask(1, "adult"))
    receiver.receive(ask(1, "bug", view="b"))
    receiver.receive({"view": "a", "id": 2, "method": "GET", "path": "/api/scenes/a%20b/find?start=5", "body": None})
    receiver.receive({"view": "a", "id": 3, "method": "POST", "path": "/api/answer", "body": "{"})
    assert wait("a", 1)[1]["verb"] == "answer"
    assert wait("b", 1) == (500, {"error": "the solver failed: RuntimeError: a bug; see the terminal for details"})
    assert wait("a", 2)[1]["arguments"]["start"] == 5
    assert wait("a", 3)[0] == 400


@pytest.mark.parametrize("end", [{"view": "a", "cancel": 1}, {"view": "a", "closed": True}], ids=["cancelled", "closed"])
def test_a_cancelled_request_stops_its_search(bridge, end):
    receiver, sent, wait, session = bridge
    receiver.receive(ask(1, "slow:30"))
    while not session.started:
        time.sleep(0.01)
    receiver.receive(end)
    receiver.receive(ask(2, "adult"))
    assert wait("a", 2)[0] == 200
    assert session.stopped == ["slow:30"]
    assert [message["id"] for message in sent] == [2]


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        {},
        {"view": 1, "page": True},
        {"view": "a", "cancel": 7},
        {"view": "a", "id": "1", "method": "GET", "path": "/api/scenes", "body": None},
        {"view": "a", "id": 1, "method": "GET", "path": "/api/scenes", "body": 3},
    ],
)
def test_other_messages_are_ignored(bridge, message):
    receiver, sent, wait, session = bridge
    receiver.receive(message)
    receiver.receive(ask(9, "adult"))
    wait("a", 9)
    assert (len(sent), len(session.started)) == (1, 1)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"method": "PUT", "path": "/api/scenes", "body": None}, 404),
        ({"method": "GET", "path": "/page/main.js", "body": None}, 404),
        ({"method": "GET", "path": "/api/\ud800?\ud800", "body": None}, 404),
        ({"method": "POST", "path": "/api/answer", "body": '"\ud800"'}, 400),
        ({"method": "POST", "path": "/api/rows", "body": " " * (MAX_FILE_BODY + 1)}, 413),
    ],
    ids=["method", "path", "half of a path", "half of a body", "size"],
)
def test_every_request_of_a_frame_gets_a_reply(bridge, request_, status):
    receiver, _, wait, session = bridge
    receiver.receive({"view": "a", "id": 1, **request_})
    assert (wait("a", 1)[0], session.started) == (status, [])


def test_a_request_after_the_end_is_refused(bridge):
    receiver, _, wait, _ = bridge
    receiver._background.close()
    receiver.receive(ask(1, "adult"))
    assert wait("a", 1) == (503, {"error": "the explorer is closed; call explore() again"})


def test_a_model_without_end_is_explored_within_its_time(explore):
    view = explore(target="yes", explainer=endless(), time_limit=0.5)
    client = browser()
    client.open(view.url)
    key = request(client, view, "api/scenes")[0]["key"]
    reply = request(client, view, "api/answer", {"scene": key, "target": ["yes"], "spread": "none", "cost": "L2"})
    assert (reply["status"], reply["stopped_after"]) == ("limit", 0.5)
