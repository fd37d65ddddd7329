"""Regression tests for the explorer's page."""

import hashlib
import re
import time

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from sklearn.tree import DecisionTreeRegressor
from support.explorer_cases import endless
from support.page_cases import STATE, BlockedRequests, cookies_of, link, refuse, running, windows
from support.waiting import patient

import counterleaf as cl
from counterleaf.explorer.session.requests import PageQuestion

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
    assert loans.headline() == "The explorer did not answer this question"
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
        assert time.monotonic() - start < patient(2)
        assert explorer.state()["count"] == 1
        assert explorer.headline() == first
        assert explorer.ways()[0]["proved"].startswith("✓ proved")


def test_a_search_that_stopped_is_honest(loans):
    """With an option that is not proved, and without any."""
    answer = {}

    def stop(route):
        reply = route.fetch().json()
        unproved = {"proved": False, "proof": {"claim": "a smaller allowed change may exist"}}
        ways = [way | unproved for way in reply["ways"]] if answer["ways"] else []
        route.fulfill(json=reply | {"status": "limit", "ways": ways, "stopped_after": 2.0, "conflict": []})

    loans.page.route(ANSWER, stop)
    answer["ways"] = True
    loans.prefer("small changes")
    expect(loans.page.locator("#aside")).to_have_text("Stopped after 2 s: a smaller allowed change may exist.")
    assert {way["proved"] for way in loans.ways()} == {"not proved: a smaller allowed change may exist"}
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
    expect(explorer.page.locator(".changes .rest").first).to_have_text(re.compile(r"^and 5\d more changes$"))
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
    explorer.adjust().get_by_role("button", name="Done").click()  # wider cards show more changes
    explorer.rest()
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
    assert re.match("Either of these two options makes the model predict at least [0-9,]+", explorer.headline())
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
    assert set(enter_user().question()) == set(PageQuestion.model_fields)


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
