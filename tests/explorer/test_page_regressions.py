"""Regression tests for the explorer's page."""

import base64
import csv
import hashlib
import io
import json
import re
import time

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from support.explorer_cases import endless
from support.page_cases import cookies_of, running, windows

import counterleaf as cl
from counterleaf.explorer.session.question import Question

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser
ANSWER, ROWS = "**/api/answer", "**/rows/*"
NAMES = [*(f"x{k}" for k in range(58)), "constructor", "__proto__"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model with sixty numeric features, all of which its answer changes, and five rows."""
    folder = tmp_path_factory.mktemp("test")
    weights = np.vstack([np.ones(60), np.zeros((2, 60))])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-40.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    (folder / "model.json").write_text(tree.to_json())
    rows = np.repeat([[0.2], [0.3], [0.0], [1.0], [0.25]], 60, axis=1)
    pd.DataFrame(rows, columns=NAMES).to_csv(folder / "rows.csv", index=False)
    return str(folder / "model.json"), "--data", str(folder / "rows.csv")


@pytest.fixture(scope="module")
def user_server(files):
    with running(*files) as address:
        yield address.partition("/?")[0], cookies_of(address)


@pytest.fixture
def enter_user(browser, user_server):
    with windows(browser, *user_server) as enter:
        yield enter


def whole_state(explorer):
    text = explorer.address().partition("#s=")[2]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


class BlockedRequests:
    """Requests that match a pattern wait until they are released."""

    def __init__(self, explorer, pattern):
        self.explorer, self.waiting, self.open = explorer, [], False
        explorer.page.route(pattern, lambda route: route.continue_() if self.open else self.waiting.append(route))

    def wait(self):
        for _ in range(500):
            if self.waiting:
                return
            self.explorer.page.wait_for_timeout(10)
        raise AssertionError("no request within 5 s")

    def release(self):
        self.open = True
        for route in self.waiting:
            route.continue_()


def refuse(explorer, pattern, status, message):
    """Make requests fail with a status and a message, or without a response if the status is None."""
    explorer.expected_errors = r"Failed to load resource"
    body = json.dumps({"error": message})
    explorer.page.route(
        pattern,
        lambda route: route.fulfill(status=status, body=body, content_type="application/json") if status else route.abort(),
    )


def fill(explorer, label, text):
    """Type into a field and leave it."""
    field = explorer.page.get_by_label(label, exact=True)
    return explorer.after(lambda: (field.fill(text), explorer.page.keyboard.press("Tab")))


def link(**state):
    text = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
    return f"/#s={text}"


def works(explorer):
    """Lock a feature, check the answer, and undo."""
    before, name = explorer.shown(), explorer.changed()[0]
    explorer.click(f"lock {name}")
    assert explorer.shown() != before
    assert set(explorer.cells(name)) <= {"="}
    explorer.click("↶ Undo")
    assert explorer.shown() == before


# Questions and answers


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (None, "The explorer does not respond. Is the command still running?"),
        (422, "that cannot be"),
        (503, "busy: try again in a moment"),
    ],
)
def test_after_an_error_no_old_answer_is_shown(loans, status, message):
    first, name = loans.shown(), loans.changed()[0]
    fill(loans, "Max. features changed", "0")
    expect(loans.conflict()).not_to_be_empty()
    refuse(loans, ANSWER, status, message)
    loans.click(f"lock {name}")
    assert loans.sentence() == message
    expect(loans.page.locator("#badges")).to_be_empty()
    expect(loans.conflict()).to_be_empty()
    fill(loans, "Max. features changed", "")
    assert loans.sentence() == message
    assert loans.costs() == []
    assert loans.page.locator("td.to").count() == 0
    loans.page.unroute(ANSWER)
    loans.click(f"lock {name}")
    assert loans.shown() == first


def test_after_an_error_the_alternatives_are_removed(loans):
    first = loans.shown()
    assert loans.costs()
    refuse(loans, ANSWER, 503, "busy")
    loans.after(loans.page.get_by_label("L2: small changes").check)
    assert (loans.sentence(), loans.costs(), loans.badges()) == ("busy", [], "")
    loans.page.unroute(ANSWER)
    loans.after(loans.page.get_by_label("L1: few changes").check)
    assert loans.shown() == first


@pytest.mark.parametrize(("tab", "drawn"), [("Tree", "path.path"), ("Plane", "polygon.region")])
@pytest.mark.parametrize("pattern", [ANSWER, re.compile("/api/(tree|plane)$")])
def test_after_an_error_no_old_drawing_is_shown(loans, tab, drawn, pattern):
    """Whether the answer or the drawing failed."""
    panel = loans.tab(tab)
    expect(panel.locator(drawn).first).to_be_visible()
    refuse(loans, pattern, 503, "busy")
    loans.after(loans.page.get_by_label("L2: small changes").check)
    expect(panel.locator(drawn)).to_have_count(0)
    expect(loans.page.locator("#sentence, #note").filter(has_text="busy")).to_have_count(1)
    loans.page.unroute(pattern)
    loans.after(loans.page.get_by_label("L1: few changes").check)
    expect(panel.locator(drawn).first).to_be_visible()


def test_a_row_that_was_not_loaded_is_not_shown(enter):
    explorer = enter()
    refuse(explorer, ROWS, 503, "busy")
    fill(explorer, "Row", "7")
    assert explorer.sentence() == "busy"
    expect(explorer.page.locator(".source-label")).to_have_text("?")
    assert explorer.page.locator("#explore").evaluate("node => node.inert")
    explorer.page.unroute(ROWS)
    explorer.after(explorer.page.get_by_label("L2: small changes").check)
    assert not explorer.page.locator("#explore").evaluate("node => node.inert")
    assert explorer.state()["row"] == 6
    assert explorer.shown() == enter(explorer.address()).shown()


def test_a_number_half_typed_survives_an_answer(loans):
    blocked = BlockedRequests(loans, ANSWER)
    before = loans.answered()
    loans.button(f"lock {loans.changed()[0]}").click()
    blocked.wait()
    field = loans.page.get_by_label("credit amount now")
    field.select_text()
    field.press_sequentially("12")
    blocked.release()
    loans.settle(before)
    expect(field).to_have_value("12")
    expect(field).to_be_focused()
    loans.after(lambda: (field.press_sequentially("34"), loans.page.keyboard.press("Tab")))
    assert loans.state()["edits"] == {"credit_amount": 1234}


def test_a_replaced_question_is_cancelled(browser, tmp_path):
    """A long search does not delay the answer to the next question."""
    model = tmp_path / "model.json"
    model.write_text(endless().to_json())
    key = f"user-{hashlib.sha256(model.read_bytes()).hexdigest()[:10]}"
    quick = STATE | {"scene": key, "target": ["no"], "cost": "L2", "spread": "none", "count": 1}
    with (
        running(str(model), "--time-limit", "60") as address,
        windows(browser, address.partition("/?")[0], cookies_of(address)) as enter,
    ):
        explorer = enter(link(**quick))
        first, before = explorer.sentence(), explorer.answered()
        field = explorer.page.get_by_label("Alternatives", exact=True)
        for count in ("2", "3", "1"):
            explorer.page.wait_for_timeout(300)
            field.fill(count)
            explorer.page.keyboard.press("Tab")
        start = time.monotonic()
        explorer.settle(before)
        assert time.monotonic() - start < 2
        assert explorer.state()["count"] == 1
        assert explorer.sentence() == first
        assert "proved" in explorer.badges()


def test_back_while_a_row_is_loading(loans):
    first = loans.shown()
    blocked = BlockedRequests(loans, ROWS)
    before, field = loans.answered(), loans.page.get_by_label("Row", exact=True)
    field.fill("7")
    field.press("Enter")
    blocked.wait()
    loans.page.go_back()
    blocked.release()
    loans.settle(before)
    assert loans.shown() == first


def test_undo_updates_a_select_field(loans):
    field = loans.page.get_by_label("Measure changes in")
    loans.after(lambda: field.select_option("standard deviations"))
    field.focus()
    loans.after(lambda: loans.page.keyboard.press("Control+z"))
    expect(field).to_have_value("range")
    expect(field).to_be_focused()


def test_the_ends_of_a_range_push_each_other_and_the_end_of_a_slider_is_no_limit(adult):
    def control():
        return adult.state().get("controls", {}).get("hours-per-week")

    adult.limits("hours-per-week")
    fill(adult, "At most", "30")
    fill(adult, "At least", "50")
    assert control() == {"low": 50, "high": 50}
    fill(adult, "At most", "20")
    assert control() == {"low": 20, "high": 20}
    adult.after(lambda: adult.page.get_by_role("slider", name="at least, hours-per-week").press("Home"))
    assert control() == {"high": 20}
    adult.after(lambda: adult.page.get_by_role("slider", name="at most, hours-per-week").press("End"))
    assert control() is None


def test_locking_the_empty_pixels_keeps_the_painted_ones(digits):
    digits.click("Lock the empty pixels")
    empty = digits.state()["locked_pixels"]
    digits.click("Unlock all pixels")
    painted = next(k for k in range(64) if k not in empty)
    digits.page.get_by_role("application").focus()
    for target, start, keys in ((painted // 8, 4, ("ArrowUp", "ArrowDown")), (painted % 8, 4, ("ArrowLeft", "ArrowRight"))):
        for _ in range(abs(target - start)):
            digits.page.keyboard.press(keys[target > start])
    digits.after(lambda: digits.page.keyboard.press("Space"))
    assert digits.state()["locked_pixels"] == [painted]
    digits.click("Lock the empty pixels")
    assert digits.state()["locked_pixels"] == sorted([painted, *empty])


# A model of the user


def test_more_than_forty_changes_are_all_shown(enter_user):
    explorer = enter_user()
    explorer.after(explorer.page.get_by_label("L2: small changes").check)
    cells = explorer.page.locator("#explore td.to").all_inner_texts()
    assert len(cells) == 60
    assert all(re.search(r"▲\s.*0\.66", cell, re.DOTALL) for cell in cells), cells


def test_features_named_like_properties_of_every_object(enter_user):
    explorer = enter_user()
    explorer.after(explorer.page.get_by_label("L2: small changes").check)
    for name, shown in (("constructor", "constructor"), ("__proto__", "proto")):
        assert "▲" in explorer.cells(shown)[0]
        explorer.click(f"lock {shown}")
        assert explorer.state()["controls"][name] == {"lock": True}
        assert explorer.cells(shown) == ["="]
        explorer.click(f"lock {shown}")
        assert name not in explorer.state().get("controls", {})
        fill(explorer, f"{shown} now", "0.5")
        assert explorer.state()["edits"][name] == 0.5
        assert "▲" in explorer.cells(shown)[0]
    assert enter_user(explorer.address()).shown() == explorer.shown()
    lines = explorer.tab("Compare").locator("tbody tr")
    for shown in ("constructor", "proto"):
        line = lines.filter(has=explorer.page.get_by_role("rowheader", name=shown, exact=True))
        expect(line).to_contain_text("▲")
        expect(line).to_contain_text("=")
    expect(lines.first).to_contain_text("edited: constructor")


def test_a_link_holds_the_whole_question(enter_user):
    """So that it does not depend on the defaults of the next start."""
    assert set(whole_state(enter_user())) == set(Question.model_fields)


def test_after_a_restart_the_access_form_takes_a_link_and_keeps_the_question(enter_user):
    """A server that does not know the browser behaves like a restarted one."""
    explorer = enter_user()
    explorer.expected_errors = "401"
    explorer.click("lock x3")
    explorer.page.context.clear_cookies()
    explorer.button("lock x4").click()
    field = explorer.page.get_by_label("Link, or its token")
    expect(field).to_be_visible()  # the page was reloaded
    address = explorer.address()
    assert "#s=" in address
    expect(explorer.page.get_by_role("alert")).to_be_hidden()
    field.fill("wrong")
    explorer.button("Open").click()
    expect(explorer.page.get_by_role("alert")).to_contain_text("That token is not valid")
    field.fill(f"  {explorer.origin}/?token=from-a-link ")
    with explorer.page.expect_event("load"), explorer.page.expect_request(re.compile("token=from-a-link$")):
        explorer.button("Open").click()
    expect(field).to_be_visible()
    assert explorer.address().partition("#")[2] == address.partition("#")[2]


# Steps


def test_a_stopped_search_is_marked_in_the_comparison(loans):
    answer = loans.page.evaluate(
        """async (body) => (await fetch("/api/answer",
            { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json()""",
        {"scene": "german"},
    )
    stopped = answer | {
        "status": "limit",
        "answers": [],
        "changes": {},
        "stopped_after": 2.0,
        "lower_bound": None,
        "conflict": [],
    }
    loans.page.route(ANSWER, lambda route: route.fulfill(json=stopped))
    fill(loans, "Max. features changed", "1")
    assert "stopped at the limit of 2 s" in loans.badges()
    loans.page.unroute(ANSWER)
    fill(loans, "Max. features changed", "0")
    line = loans.tab("Compare").locator("tbody tr").last.locator("td")
    expect(line.nth(-2)).to_have_text("none found in time")
    expect(line.nth(-1)).to_have_text("no such row")


CLICKS = """async ([label, times]) => {
    const node = document.querySelector(`button[aria-label="${label}"]`);
    for (let k = 0; k < times; k++) {
        const answered = new Promise((done) => {
            const watch = new MutationObserver(() => { watch.disconnect(); done(); });
            watch.observe(document.body, { attributes: true, attributeFilter: ["data-answered"] });
        });
        node.click();
        await answered;
    }
}"""


def test_of_more_than_sixty_steps_the_last_sixty_are_exported(loans):
    loans.page.evaluate(CLICKS, ["lock purpose", 62])
    panel = loans.tab("Compare")
    expect(panel.get_by_role("button", name=re.compile("show step"))).to_have_count(63)
    expect(panel).to_contain_text("Export the last 60:")
    text, _ = loans.download(panel.get_by_role("button", name="CSV").click)
    assert {line["step"] for line in csv.DictReader(io.StringIO(text))} == {str(k) for k in range(1, 61)}


def test_a_step_pinned_before_its_answer_is_stored_with_it(loans):
    blocked = BlockedRequests(loans, ANSWER)
    before = loans.answered()
    loans.button(f"lock {loans.changed()[0]}").click()
    blocked.wait()
    loans.button("☆ Pin").click()
    blocked.release()
    loans.settle(before)
    cost = loans.costs()[0]
    loans.page.reload()
    loans.settle()
    expect(loans.button("★ Pinned")).to_be_visible()
    panel = loans.tab("Compare")
    panel.get_by_label("only pinned steps").check()
    expect(panel.get_by_role("button", name=re.compile("show step"))).to_have_count(1)
    assert float(panel.locator("tr.summary").first.locator("td").last.inner_text()) == cost


STATE = {"scene": "german", "row": 0, "edits": {}, "controls": {}, "target": [], "cost": "L1", "spread": "range"}
STATE |= {"margin": 0, "count": 3, "max_changes": None, "ink": "any", "locked_pixels": []}
INVALID_STORES = {
    "no JSON": "{",
    "nothing": "null",
    "a number": "5",
    "a list": '[null, 5, "x", {"state": {}}, {"hash": "#s=e30", "state": null, "result": {"changes": {}}}]',
    "an object": '{"list": 5, "at": 0}',
    "empty steps": '{"list": [null, 5, {"hash": 5}], "at": 0}',
    "half a result": json.dumps([{"hash": "#s=x", "state": STATE, "result": {"changes": {}}}]),
}


def test_invalid_stored_values_are_ignored(loans):
    put = "text => { for (const store of [localStorage, sessionStorage]) for (const part of ['pinned', 'steps', 'theme']) "
    put += "store.setItem(`counterleaf-${part}`, text) }"
    for stored in INVALID_STORES.values():
        loans.page.evaluate(put, stored)
        loans.page.reload()
        loans.settle()
        works(loans)
        panel = loans.tab("Compare")
        panel.get_by_label("only pinned steps").check()
        expect(panel).to_contain_text("No step of this model is pinned yet")
        loans.button("☆ Pin").click()
        expect(panel.get_by_role("button", name=re.compile("show step"))).to_have_count(1)


INVALID_STATES = [
    {"controls": None},
    {"edits": None},
    {"locked_pixels": 5},
    {"controls": {"age": {"low": "<img src=x onerror=alert(1)>"}}},
    {"controls": {"age": None}},
    {"controls": []},
    {"row": "<img>"},
    {"target": "granted"},
]


def test_an_invalid_link_opens_a_working_page(loans):
    for wrong in INVALID_STATES:
        loans.page.goto("about:blank")
        loans.open(link(scene="german", **wrong))
        expect(loans.page.locator("#note")).to_contain_text("The link does not match")
        expect(loans.page.locator(".source-label")).to_have_text("refused")
        assert loans.page.locator("main img").count() == 0
    works(loans)


# Menu and plane


def test_escape_closes_the_menu(loans):
    loans.page.locator("summary", has_text="Export").click()
    expect(loans.button("Copy the link")).to_be_visible()
    loans.page.keyboard.press("Escape")
    expect(loans.button("Copy the link")).to_be_hidden()


def test_the_plane_keeps_the_chosen_features(adult):
    panel = adult.tab("Plane")
    panel.get_by_label("Horizontal axis").select_option("age")
    panel.get_by_label("Vertical axis").select_option("hours-per-week")
    drawing = panel.get_by_role("img", name=re.compile("over age and hours-per-week"))
    expect(drawing).to_be_visible()
    adult.tab("Explore")
    adult.click("next row")
    adult.click(f"lock {adult.changed()[0]}")
    adult.tab("Plane")
    expect(panel.get_by_label("Horizontal axis")).to_have_value("age")
    expect(panel.get_by_label("Vertical axis")).to_have_value("hours-per-week")
    expect(drawing).to_be_visible()
