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
from sklearn.tree import DecisionTreeRegressor
from support.explorer_cases import endless
from support.page_cases import cookies_of, running, windows

import counterleaf as cl
from counterleaf.explorer.session.question import Question

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser
ANSWER, ROWS = "**/api/answer", "**/rows/*"
LONG = "n" * 200  # a name without a place to break
NAMES = [*(f"x{k}" for k in range(57)), LONG, "constructor", "__proto__"]


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


def link(**state):
    text = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
    return f"/#s={text}"


def works(explorer):
    """Lock a feature, check the answer, and undo."""
    before, name = explorer.shown(), explorer.changed()[0]
    explorer.lock(name)
    assert explorer.shown() != before
    assert not any(name in explorer.changed(k) for k in range(len(explorer.ways())))
    explorer.after(explorer.page.locator("#undo").click)
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
    refuse(loans, ANSWER, status, message)
    loans.lock(name)
    assert loans.headline() == "This question has no answer"
    expect(loans.page.locator("#error")).to_have_text(message)
    assert loans.ways() == []
    expect(loans.conflict()).to_have_count(0)
    assert set(loans.values().values()) == {""}
    loans.page.unroute(ANSWER)
    loans.click("Try again")
    assert loans.ways()
    loans.lock(name)
    assert loans.pick(0).shown() == first


def test_a_conflict_is_gone_after_an_error(loans):
    loans.set("Features that may change, at most", "0")
    expect(loans.conflict()).to_be_visible()
    refuse(loans, ANSWER, 503, "busy")
    loans.set("Features that may change, at most", "1")
    expect(loans.conflict()).to_have_count(0)
    expect(loans.reason()).to_contain_text("busy")


@pytest.mark.parametrize(("tab", "drawn"), [("Tree", "svg.tree"), ("Plane", "svg.plane")])
@pytest.mark.parametrize("pattern", [ANSWER, re.compile("/api/(tree|plane)$")])
def test_after_an_error_no_old_drawing_is_shown(loans, tab, drawn, pattern):
    """Whether the answer or the drawing failed."""
    panel = loans.tab(tab)
    expect(panel.locator(drawn).first).to_be_visible()
    refuse(loans, pattern, 503, "busy")
    loans.prefer("small changes")
    expect(panel.locator(drawn)).to_have_count(0)
    expect(loans.page.locator("body")).to_contain_text("busy")
    loans.page.unroute(pattern)
    loans.prefer("few changes")
    expect(panel.locator(drawn).first).to_be_visible()


def test_a_row_that_was_not_loaded_is_not_shown(enter):
    explorer = enter()
    refuse(explorer, ROWS, 503, "busy")
    explorer.after(lambda: (explorer.page.locator("#row").fill("70"), explorer.page.keyboard.press("Enter")))
    expect(explorer.reason()).to_contain_text("busy")
    assert explorer.says() == "…"
    assert explorer.page.locator("#features").evaluate("node => node.inert")
    explorer.page.unroute(ROWS)
    explorer.click("Try again")
    assert not explorer.page.locator("#features").evaluate("node => node.inert")
    assert explorer.state()["row"] == 70
    assert explorer.shown() == enter(explorer.address()).shown()


def test_a_row_that_cannot_be_read_shows_its_problem_and_no_other_values(loans):
    """The next row can be reached."""
    problem = "row 4: 'age' is 'abc'; expected a number"
    reply = {"row": 4, "label": None, "class_index": None, "number": None, "values": None, "imputed": {}, "problem": problem}
    loans.page.route("**/rows/4", lambda route: route.fulfill(json=reply))
    loans.page.reload()
    loans.settle()
    loans.click("next row")
    assert loans.headline() == "Application 4 cannot be read"
    expect(loans.reason()).to_contain_text(problem)
    assert loans.says() == "cannot be read"
    assert loans.ways() == []
    expect(loans.page.get_by_label("credit amount now")).to_have_value("")
    loans.click("next row")
    assert loans.ways()
    assert loans.page.get_by_label("credit amount now").input_value() != ""


def test_a_number_half_typed_survives_an_answer(loans):
    blocked = BlockedRequests(loans, ANSWER)
    before = loans.answered()
    loans.button(f"lock {loans.changed()[0]}").click()
    blocked.wait()
    field = loans.page.locator("#row")
    field.select_text()
    field.press_sequentially("1")
    blocked.release()
    loans.settle(before)
    expect(field).to_have_value("1")
    expect(field).to_be_focused()
    loans.after(lambda: (field.press_sequentially("2"), loans.page.keyboard.press("Tab")))
    assert loans.state()["row"] == 12


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
        first, before = explorer.headline(), explorer.answered()
        field = explorer.adjust().get_by_label("Options to show")
        for count in ("2", "3", "1"):
            explorer.page.wait_for_timeout(300)
            field.fill(count)
            explorer.page.keyboard.press("Tab")
        start = time.monotonic()
        explorer.settle(before)
        assert time.monotonic() - start < 2
        assert explorer.state()["count"] == 1
        assert explorer.headline() == first
        assert explorer.ways()[0]["proved"].startswith("✓ proved")


def test_a_search_that_stopped_is_honest(loans):
    """With an option that is not proved, and without any."""
    answer = {}

    def stop(route):
        reply = route.fetch().json()
        ways = [way | {"proved": False} for way in reply["ways"]] if answer["ways"] else []
        route.fulfill(json=reply | {"status": "limit", "ways": ways, "stopped_after": 2.0, "conflict": []})

    loans.page.route(ANSWER, stop)
    answer["ways"] = True
    loans.prefer("small changes")
    expect(loans.page.locator("#aside")).to_have_text("Stopped after 2 s: a smaller change may exist.")
    assert {way["proved"] for way in loans.ways()} == {"not proved: a smaller change may exist"}
    answer["ways"] = False
    loans.prefer("both")
    assert loans.headline().startswith("No change found in time that makes the model say granted")
    expect(loans.reason()).to_contain_text("A change may exist.")


def test_back_while_a_row_is_loading(loans):
    first = loans.shown()
    blocked = BlockedRequests(loans, ROWS)
    before, field = loans.answered(), loans.page.locator("#row")
    field.fill("70")
    field.press("Enter")
    blocked.wait()
    loans.page.go_back()
    blocked.release()
    loans.settle(before)
    assert loans.shown() == first


def test_undo_updates_a_select_field(loans):
    loans.adjust().get_by_text("Expert").click()
    field = loans.page.get_by_label("Compare features by their")
    loans.after(lambda: field.select_option("standard deviation"))
    field.focus()
    loans.after(lambda: loans.page.keyboard.press("Control+z"))
    expect(field).to_have_value("range")
    expect(field).to_be_focused()


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


def test_more_than_forty_changes_are_all_listed_in_the_details(enter_user):
    explorer = enter_user()
    explorer.prefer("small changes")
    assert explorer.headline().endswith("the model say yes")
    expect(explorer.page.locator(".changes .rest").first).to_contain_text("and 57 more")
    lines = explorer.details().locator(".changes.all li")
    expect(lines).to_have_count(60)
    assert all("0.66" in text for text in lines.all_inner_texts())


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_long_names_do_not_widen_the_page(enter_user, width):
    explorer = enter_user(viewport={"width": width, "height": 800})
    explorer.lock(LONG)
    explorer.prefer("small changes")
    explorer.page.keyboard.press("Escape")
    for name in ("Features", "Compare", "Tree", "Plane"):
        explorer.tab(name)
        assert explorer.page.evaluate("document.documentElement.scrollWidth") <= width
    explorer.set("Features that may change, at most", "0")
    assert explorer.page.evaluate("document.documentElement.scrollWidth") <= width


def test_features_named_like_properties_of_every_object(enter_user):
    explorer = enter_user()
    explorer.prefer("small changes")
    for name, shown in (("constructor", "constructor"), ("__proto__", "proto")):
        assert explorer.values()[shown] != "="
        explorer.lock(shown)
        assert explorer.state()["controls"][name] == {"lock": True}
        assert explorer.values()[shown].startswith("=")
        explorer.lock(shown)
        assert name not in explorer.state().get("controls", {})
    assert enter_user(explorer.address()).shown() == explorer.pick(0).shown()


@pytest.fixture(scope="module")
def enter_values(browser, tmp_path_factory):
    """A regression tree, with a row that cannot be read."""
    folder, rng = tmp_path_factory.mktemp("values"), np.random.default_rng(0)
    rows = pd.DataFrame({"size": rng.integers(30, 200, 200), "rooms": rng.integers(1, 8, 200)})
    model = DecisionTreeRegressor(max_leaf_nodes=20, random_state=0).fit(rows, rows["size"] * 1000 + rows["rooms"] * 5000)
    (folder / "model.json").write_text(cl.Explainer(model, data=rows).to_json())
    rows = rows.astype(object)
    rows.iloc[2, 0] = "abc"
    rows.to_csv(folder / "rows.csv", index=False)
    with (
        running(str(folder / "model.json"), "--data", str(folder / "rows.csv")) as address,
        windows(browser, address.partition("/?")[0], cookies_of(address)) as enter,
    ):
        yield enter


def test_goals_of_a_model_that_predicts_numbers(enter_values):
    explorer = enter_values()
    assert re.match("Any one of these two options makes the model predict at least [0-9,]+", explorer.headline())
    field = explorer.page.get_by_label("at least", exact=True)
    assert field.input_value() != ""  # the goal that the page starts with
    explorer.after(lambda: (field.fill("100000"), explorer.page.keyboard.press("Tab")))
    explorer.after(
        lambda: (explorer.page.get_by_label("at most", exact=True).fill("120000"), explorer.page.keyboard.press("Tab"))
    )
    assert (explorer.state()["at_least"], explorer.state()["at_most"]) == (100000, 120000)
    assert explorer.headline().endswith("from 100,000 to 120,000")
    for way in explorer.ways():
        assert 100_000 <= float(re.search(r"says ([\d,.]+)", way["confirmed"])[1].replace(",", "")) <= 120_000
    slider, steps = explorer.page.get_by_role("slider", name="The value that the model should say"), explorer.steps()
    explorer.after(lambda: slider.press("ArrowRight"))
    assert explorer.state()["at_least"] > 100_000
    assert explorer.steps() == steps + 1


def test_a_row_of_the_users_file_that_cannot_be_read(enter_values):
    explorer = enter_values()
    explorer.click("next row")
    explorer.click("next row")
    assert explorer.headline() == "Row 2 cannot be read"
    expect(explorer.reason()).to_contain_text("'abc'")
    assert explorer.page.get_by_label("size now").input_value() == ""
    explorer.click("next row")
    assert explorer.says() != "cannot be read"


def test_a_link_holds_the_whole_question(enter_user):
    """So that it does not depend on the defaults of the next start."""
    assert set(enter_user().question()) == set(Question.model_fields)


def test_after_a_restart_the_access_form_takes_a_link_and_keeps_the_question(enter_user):
    """A server that does not know the browser behaves like a restarted one."""
    explorer = enter_user()
    explorer.expected_errors = "401"
    explorer.lock("x3")
    explorer.page.context.clear_cookies()
    explorer.page.evaluate("""document.querySelector('[aria-label="lock x4"]')?.click()""")
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

CLICKS = """async ([label, times]) => {
    const node = document.querySelector(`button[aria-label="${label}"]`) ?? document.querySelector(label);
    for (let k = 0; k < times; k++) {
        const answered = new Promise((done) => {
            const watch = new MutationObserver(() => { watch.disconnect(); done(); });
            watch.observe(document.body, { attributes: true, attributeFilter: ["data-answered"] });
        });
        node.click();
        await answered;
    }
}"""


def test_eighty_steps_are_undone_and_redone(loans):
    """Browsers keep 50 entries, so the page has its list; it survives a reload."""
    first = loans.question()
    loans.page.evaluate(CLICKS, ["next row", 80])
    last = loans.question()
    assert last["row"] == first["row"] + 80
    loans.page.reload()
    loans.settle()
    loans.page.evaluate(CLICKS, ["#undo", 80])
    assert loans.question() == first
    expect(loans.page.locator("#undo")).to_be_disabled()
    loans.page.evaluate(CLICKS, ["#redo", 80])
    assert loans.question() == last
    loans.after(loans.page.go_back)
    assert loans.question()["row"] == last["row"] - 1


def test_back_after_an_undo_goes_to_another_question(loans):
    rows = [loans.question()["row"]]
    for _ in range(3):
        loans.click("next row")
        rows.append(loans.question()["row"])
    loans.after(loans.page.locator("#undo").click)
    assert loans.question()["row"] == rows[2]
    loans.after(loans.page.go_back)
    assert loans.question()["row"] == rows[1]
    loans.after(loans.page.go_forward)
    assert loans.question()["row"] == rows[2]


def test_an_address_that_the_user_enters_is_a_step(loans):
    before = loans.question()
    text = base64.urlsafe_b64encode(json.dumps(before | {"row": 50}).encode()).decode().rstrip("=")
    loans.after(lambda: loans.page.evaluate("hash => { location.hash = hash }", f"s={text}"))
    assert loans.question()["row"] == 50
    loans.after(loans.page.locator("#undo").click)
    assert loans.question() == before


def test_of_more_than_sixty_steps_the_last_sixty_are_exported(loans):
    loans.page.evaluate(CLICKS, [f"lock {loans.features()[-1]}", 62])
    panel = loans.tab("Compare")
    panel.get_by_role("button", name="All 63 steps").click()
    expect(panel).to_contain_text("Export the last 60:")
    text, _ = loans.download(panel.get_by_role("button", name="CSV").click)
    assert {line["step"] for line in csv.DictReader(io.StringIO(text))} == {str(k) for k in range(1, 61)}


def test_two_tabs_share_what_they_keep(loans):
    other = loans.page.context.new_page()
    second = type(loans)(other, loans.origin).open()
    loans.button("keep option 1").click()
    expect(second.button("keep option 1")).to_have_attribute("aria-pressed", "true")
    second.button("keep option 2").click()
    second.button("keep option 3").click()
    expect(loans.button("keep option 3")).to_have_attribute("aria-pressed", "true")
    loans.button("keep option 1").click()
    for explorer in (loans, second):
        explorer.page.reload()
        explorer.settle()
        pressed = [explorer.button(f"keep option {k}").get_attribute("aria-pressed") for k in (1, 2, 3)]
        assert pressed == ["false", "true", "true"]


def test_a_step_kept_before_its_answer_is_stored_with_it(loans):
    blocked = BlockedRequests(loans, ANSWER)
    before = loans.answered()
    loans.button(f"lock {loans.changed()[0]}").click()
    blocked.wait()
    loans.page.locator("#keep").click()
    blocked.release()
    loans.settle(before)
    loans.page.reload()
    loans.settle()
    expect(loans.page.locator("#keep")).to_have_attribute("aria-pressed", "true")
    stored = loans.page.evaluate("JSON.parse(localStorage.getItem('counterleaf-kept'))")
    assert [change["label"] for change in stored[0]["result"]["way"]["changes"]] == loans.changed()


NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"])
    Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });"""


def test_the_page_works_without_storage(loans):
    """As in a frame of a notebook whose browser forbids it."""
    loans.page.add_init_script(NO_STORAGE)
    loans.page.reload()
    loans.settle()
    works(loans)
    loans.button("keep option 1").click()
    expect(loans.button("keep option 1")).to_have_attribute("aria-pressed", "true")
    loans.button("Light or dark").click()


STATE = {"scene": "german", "row": 0, "edits": {}, "controls": {}, "target": [], "at_least": None, "at_most": None}
STATE |= {"cost": "L1", "spread": "range", "margin": 0, "count": 3, "max_changes": None, "ink": "any", "locked_pixels": []}
INVALID_STORES = {
    "no JSON": "{",
    "nothing": "null",
    "a number": "5",
    "a list": '[null, 5, "x", {"state": {}}, {"hash": "#s=e30", "state": null, "result": {"way": null}}]',
    "an object": '{"list": 5, "at": 0}',
    "empty steps": '{"list": [null, 5, {"hash": 5}], "at": 0}',
    "half a result": json.dumps([{"state": STATE, "selected": 0, "result": {"way": None}}]),
}


def test_invalid_stored_values_are_ignored(loans):
    put = "text => { for (const store of [localStorage, sessionStorage]) for (const part of ['kept', 'steps', 'theme']) "
    put += "store.setItem(`counterleaf-${part}`, text) }"
    for stored in INVALID_STORES.values():
        loans.page.evaluate(put, stored)
        loans.page.reload()
        loans.settle()
        works(loans)
        expect(loans.button("keep option 1")).to_have_attribute("aria-pressed", "false")


INVALID_STATES = [
    {"controls": None},
    {"edits": None},
    {"locked_pixels": 5},
    {"controls": {"age": {"low": "<img src=x onerror=alert(1)>"}}},
    {"controls": {"age": None}},
    {"controls": []},
    {"row": "<img>"},
    {"target": "granted"},
    {"at_least": "much"},
]


def test_an_invalid_link_opens_a_working_page(loans):
    for wrong in INVALID_STATES:
        loans.page.goto("about:blank")
        loans.open(link(scene="german", **wrong))
        expect(loans.page.locator("#note")).to_contain_text("The link does not match")
        assert loans.says() == "refused"
        assert loans.page.locator("main img").count() == 0
    works(loans)


# Escape and the focus


def test_escape_closes_the_menu_and_returns_the_focus(loans):
    summary = loans.page.locator("summary", has_text="Export")
    summary.click()
    expect(loans.button("Copy the link")).to_be_visible()
    loans.button("Copy the link").focus()
    loans.page.keyboard.press("Escape")
    expect(loans.button("Copy the link")).to_be_hidden()
    expect(summary).to_be_focused()


def test_escape_closes_adjust_and_returns_the_focus(loans):
    panel = loans.adjust()
    expect(panel.get_by_role("radio", name="few changes")).to_be_focused()
    loans.prefer("small changes")
    expect(panel.get_by_role("radio", name="smallest")).to_be_focused()
    loans.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(loans.button("Adjust")).to_be_focused()
    expect(loans.button("Adjust")).to_have_attribute("aria-expanded", "false")


def test_the_focus_stays_when_a_conflict_is_resolved(loans):
    """Its button is gone; the focus moves to the answer instead of the top of the page."""
    loans.set("Features that may change, at most", "0")
    loans.after(lambda: loans.conflict().get_by_role("button").press("Enter"))
    assert loans.page.evaluate("document.querySelector('#answer').contains(document.activeElement)")
