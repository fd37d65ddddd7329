"""Faults that a review found in the explorer's page, each as the person met it."""

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
from explorer_cases import endless
from page_cases import cookies_of, running, windows
from playwright.sync_api import expect

import counterleaf as cl
from counterleaf.explorer.session.question import Question

pytest_plugins = ["page_fixtures"]
pytestmark = pytest.mark.browser
ANSWER, ROWS = "**/api/answer", "**/rows/*"
NAMES = [*(f"x{k}" for k in range(58)), "constructor", "__proto__"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of sixty numbers, whose answer changes all of them, and five rows."""
    folder = tmp_path_factory.mktemp("test")
    weights = np.vstack([np.ones(60), np.zeros((2, 60))])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-40.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    (folder / "model.json").write_text(tree.to_json())
    rows = np.repeat([[0.2], [0.3], [0.0], [1.0], [0.25]], 60, axis=1)
    pd.DataFrame(rows, columns=NAMES).to_csv(folder / "rows.csv", index=False)
    return str(folder / "model.json"), "--data", str(folder / "rows.csv")


@pytest.fixture(scope="module")
def own_server(files):
    with running(*files) as address:
        yield address.partition("/?")[0], cookies_of(address)


@pytest.fixture
def enter_own(browser, own_server):
    with windows(browser, *own_server) as enter:
        yield enter


def whole_state(explorer):
    text = explorer.address().partition("#s=")[2]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


class Held:
    """Requests of a kind, which wait from here on until they are let go."""

    def __init__(self, explorer, pattern):
        self.explorer, self.waiting, self.open = explorer, [], False
        explorer.page.route(pattern, lambda route: route.continue_() if self.open else self.waiting.append(route))

    def wait(self):
        for _ in range(500):
            if self.waiting:
                return
            self.explorer.page.wait_for_timeout(10)
        raise AssertionError("nothing was asked within 5 s")

    def let_go(self):
        self.open = True
        for route in self.waiting:
            route.continue_()


def refuse(explorer, pattern, status, line):
    """Requests of a kind fail from here on: for a status with a line, without one for a server that is gone."""
    explorer.forgiven = r"Failed to load resource"
    body = json.dumps({"error": line})
    explorer.page.route(
        pattern,
        lambda route: route.fulfill(status=status, body=body, content_type="application/json") if status else route.abort(),
    )


def fill(explorer, label, text):
    """Type into a field and leave it."""
    field = explorer.page.get_by_label(label, exact=True)
    return explorer.after(lambda: (field.fill(text), explorer.page.keyboard.press("Tab")))


def link(**said):
    text = base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
    return f"/#s={text}"


def works(explorer):
    """A lock, its answer, and back."""
    before, name = explorer.shown(), explorer.changed()[0]
    explorer.click(f"lock {name}")
    assert explorer.shown() != before
    assert set(explorer.cells(name)) <= {"="}
    explorer.click("↶ Undo")
    assert explorer.shown() == before


# What is asked and answered


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (None, "The explorer does not answer: is the command still running?"),
        (422, "that cannot be"),
        (503, "busy: try again in a moment"),
    ],
)
def test_after_an_error_no_old_answer_stands(loans, status, line):
    first, name = loans.shown(), loans.changed()[0]
    fill(loans, "Most features changed", "0")
    expect(loans.conflict()).not_to_be_empty()
    refuse(loans, ANSWER, status, line)
    loans.click(f"lock {name}")
    assert loans.sentence() == line
    expect(loans.page.locator("#badges")).to_be_empty()
    expect(loans.conflict()).to_be_empty()
    fill(loans, "Most features changed", "")
    assert loans.sentence() == line
    assert loans.costs() == []
    assert loans.page.locator("td.to").count() == 0
    loans.page.unroute(ANSWER)
    loans.click(f"lock {name}")
    assert loans.shown() == first


def test_after_an_error_with_alternatives_these_are_gone(loans):
    first = loans.shown()
    assert loans.costs()
    refuse(loans, ANSWER, 503, "busy")
    loans.after(loans.page.get_by_label("L2: small changes").check)
    assert (loans.sentence(), loans.costs(), loans.badges()) == ("busy", [], "")
    loans.page.unroute(ANSWER)
    loans.after(loans.page.get_by_label("L1: few changes").check)
    assert loans.shown() == first


@pytest.mark.parametrize(("tab", "drawn"), [("Tree", "path.way"), ("Plane", "polygon.region")])
@pytest.mark.parametrize("pattern", [ANSWER, re.compile("/api/(tree|plane)$")])
def test_after_an_error_no_old_drawing_stands(loans, tab, drawn, pattern):
    """Neither where the answer did not come nor where the drawing did not."""
    panel = loans.tab(tab)
    expect(panel.locator(drawn).first).to_be_visible()
    refuse(loans, pattern, 503, "busy")
    loans.after(loans.page.get_by_label("L2: small changes").check)
    expect(panel.locator(drawn)).to_have_count(0)
    expect(loans.page.locator("#sentence, #note").filter(has_text="busy")).to_have_count(1)
    loans.page.unroute(pattern)
    loans.after(loans.page.get_by_label("L1: few changes").check)
    expect(panel.locator(drawn).first).to_be_visible()


def test_a_row_that_did_not_come_is_not_invented(enter):
    explorer = enter()
    refuse(explorer, ROWS, 503, "busy")
    fill(explorer, "Row", "7")
    assert explorer.sentence() == "busy"
    expect(explorer.page.locator(".own")).to_have_text("?")
    assert explorer.page.locator("#explore").evaluate("node => node.inert")
    explorer.page.unroute(ROWS)
    explorer.after(explorer.page.get_by_label("L2: small changes").check)
    assert not explorer.page.locator("#explore").evaluate("node => node.inert")
    assert explorer.state()["row"] == 6
    assert explorer.shown() == enter(explorer.address()).shown()


def test_a_number_half_typed_survives_an_answer(loans):
    held = Held(loans, ANSWER)
    before = loans.answered()
    loans.button(f"lock {loans.changed()[0]}").click()
    held.wait()
    field = loans.page.get_by_label("credit amount now")
    field.select_text()
    field.press_sequentially("12")
    held.let_go()
    loans.settle(before)
    expect(field).to_have_value("12")
    expect(field).to_be_focused()
    loans.after(lambda: (field.press_sequentially("34"), loans.page.keyboard.press("Tab")))
    assert loans.state()["edits"] == {"credit_amount": 1234}


def test_a_question_that_is_replaced_is_withdrawn(browser, tmp_path):
    """A search that would go on for seconds does not delay the answer to the next question."""
    model = tmp_path / "model.json"
    model.write_text(endless().to_json())
    key = f"own-{hashlib.sha256(model.read_bytes()).hexdigest()[:10]}"
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


def test_back_while_a_row_is_on_its_way(loans):
    first = loans.shown()
    held = Held(loans, ROWS)
    before, field = loans.answered(), loans.page.get_by_label("Row", exact=True)
    field.fill("7")
    field.press("Enter")
    held.wait()
    loans.page.go_back()
    held.let_go()
    loans.settle(before)
    assert loans.shown() == first


def test_undo_is_seen_in_a_field_of_choices(loans):
    field = loans.page.get_by_label("Changes counted in")
    loans.after(lambda: field.select_option("standard deviations"))
    field.focus()
    loans.after(lambda: loans.page.keyboard.press("Control+z"))
    expect(field).to_have_value("range")
    expect(field).to_be_focused()


def test_the_ends_of_a_range_push_each_other_and_the_end_of_a_slider_is_no_limit(adult):
    def said():
        return adult.state().get("controls", {}).get("hours-per-week")

    adult.limits("hours-per-week")
    fill(adult, "At most", "30")
    fill(adult, "At least", "50")
    assert said() == {"low": 50, "high": 50}
    fill(adult, "At most", "20")
    assert said() == {"low": 20, "high": 20}
    adult.after(lambda: adult.page.get_by_role("slider", name="at least, hours-per-week").press("Home"))
    assert said() == {"high": 20}
    adult.after(lambda: adult.page.get_by_role("slider", name="at most, hours-per-week").press("End"))
    assert said() is None


def test_locking_the_empty_pixels_keeps_those_painted(digits):
    digits.click("Lock the empty ones")
    empty = digits.state()["locked"]
    digits.click("Unlock all pixels")
    painted = next(k for k in range(64) if k not in empty)
    digits.page.get_by_role("application").focus()
    for there, here, keys in ((painted // 8, 4, ("ArrowUp", "ArrowDown")), (painted % 8, 4, ("ArrowLeft", "ArrowRight"))):
        for _ in range(abs(there - here)):
            digits.page.keyboard.press(keys[there > here])
    digits.after(lambda: digits.page.keyboard.press("Space"))
    assert digits.state()["locked"] == [painted]
    digits.click("Lock the empty ones")
    assert digits.state()["locked"] == sorted([painted, *empty])


# A model of one's own


def test_more_than_forty_features_change_and_each_is_told(enter_own):
    explorer = enter_own()
    explorer.after(explorer.page.get_by_label("L2: small changes").check)
    cells = explorer.page.locator("#explore td.to").all_inner_texts()
    assert len(cells) == 60
    assert all(re.search(r"▲\s.*0\.66", cell, re.DOTALL) for cell in cells), cells


def test_features_called_like_what_every_object_has(enter_own):
    explorer = enter_own()
    explorer.after(explorer.page.get_by_label("L2: small changes").check)
    for name, said in (("constructor", "constructor"), ("__proto__", "proto")):
        assert "▲" in explorer.cells(said)[0]
        explorer.click(f"lock {said}")
        assert explorer.state()["controls"][name] == {"lock": True}
        assert explorer.cells(said) == ["="]
        explorer.click(f"lock {said}")
        assert name not in explorer.state().get("controls", {})
        fill(explorer, f"{said} now", "0.5")
        assert explorer.state()["edits"][name] == 0.5
        assert "▲" in explorer.cells(said)[0]
    assert enter_own(explorer.address()).shown() == explorer.shown()
    lines = explorer.tab("Compare").locator("tbody tr")
    for said in ("constructor", "proto"):
        line = lines.filter(has=explorer.page.get_by_role("rowheader", name=said, exact=True))
        expect(line).to_contain_text("▲")
        expect(line).to_contain_text("=")
    expect(lines.first).to_contain_text("edited: constructor")


def test_a_link_holds_the_whole_question(enter_own):
    """Whatever row, target or cost the command opens with next time."""
    assert set(whole_state(enter_own())) == set(Question.model_fields)


def test_after_a_restart_the_door_takes_a_link_and_keeps_the_question(enter_own):
    """A server that does not know this browser is like one that was started anew."""
    explorer = enter_own()
    explorer.forgiven = "401"
    explorer.click("lock x3")
    explorer.page.context.clear_cookies()
    explorer.button("lock x4").click()
    field = explorer.page.get_by_label("New link, or its token")
    expect(field).to_be_visible()  # the page has been loaded anew
    asked = explorer.address()
    assert "#s=" in asked
    expect(explorer.page.get_by_role("alert")).to_be_hidden()
    field.fill("wrong")
    explorer.button("Open").click()
    expect(explorer.page.get_by_role("alert")).to_contain_text("That token is not valid")
    field.fill(f"  {explorer.origin}/?token=from-a-link ")
    with explorer.page.expect_event("load"), explorer.page.expect_request(re.compile("token=from-a-link$")):
        explorer.button("Open").click()
    expect(field).to_be_visible()
    assert explorer.address().partition("#")[2] == asked.partition("#")[2]


# Steps


def test_a_search_that_was_stopped_is_told_apart_in_the_comparison(loans):
    answer = loans.page.evaluate(
        """async (body) => (await fetch("/api/answer",
            { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json()""",
        {"scene": "german"},
    )
    stopped = answer | {"status": "limit", "answers": [], "cells": {}, "limit": 2.0, "least": None, "conflict": []}
    loans.page.route(ANSWER, lambda route: route.fulfill(json=stopped))
    fill(loans, "Most features changed", "1")
    assert "stopped at the limit of 2 s" in loans.badges()
    loans.page.unroute(ANSWER)
    fill(loans, "Most features changed", "0")
    line = loans.tab("Compare").locator("tbody tr").last.locator("td")
    expect(line.nth(-2)).to_have_text("none found in time")
    expect(line.nth(-1)).to_have_text("no such row")


CLICKS = """async ([label, times]) => {
    const node = document.querySelector(`button[aria-label="${label}"]`);
    for (let k = 0; k < times; k++) {
        const told = new Promise((done) => {
            const watch = new MutationObserver(() => { watch.disconnect(); done(); });
            watch.observe(document.body, { attributes: true, attributeFilter: ["data-answered"] });
        });
        node.click();
        await told;
    }
}"""


def test_of_more_than_sixty_steps_the_last_sixty_are_exported(loans):
    loans.page.evaluate(CLICKS, ["lock purpose", 62])
    panel = loans.tab("Compare")
    expect(panel.get_by_role("button", name=re.compile("show step"))).to_have_count(63)
    expect(panel).to_contain_text("Export the last 60:")
    text, _ = loans.download(panel.get_by_role("button", name="CSV").click)
    assert {line["step"] for line in csv.DictReader(io.StringIO(text))} == {str(k) for k in range(1, 61)}


def test_a_step_kept_before_its_answer_came_is_kept_with_it(loans):
    held = Held(loans, ANSWER)
    before = loans.answered()
    loans.button(f"lock {loans.changed()[0]}").click()
    held.wait()
    loans.button("☆ Keep").click()
    held.let_go()
    loans.settle(before)
    cost = loans.costs()[0]
    loans.page.reload()
    loans.settle()
    expect(loans.button("★ Kept")).to_be_visible()
    panel = loans.tab("Compare")
    panel.get_by_label("only those kept").check()
    expect(panel.get_by_role("button", name=re.compile("show step"))).to_have_count(1)
    assert float(panel.locator("tr.foot").first.locator("td").last.inner_text()) == cost


STATE = {"scene": "german", "row": 0, "edits": {}, "controls": {}, "target": [], "cost": "L1", "spread": "range"}
STATE |= {"margin": 0, "count": 3, "most": None, "ink": "any", "locked": []}
GARBAGE = {
    "no JSON": "{",
    "nothing": "null",
    "a number": "5",
    "a list": '[null, 5, "x", {"state": {}}, {"hash": "#s=e30", "state": null, "result": {"cells": {}}}]',
    "an object": '{"list": 5, "at": 0}',
    "empty steps": '{"list": [null, 5, {"hash": 5}], "at": 0}',
    "half a result": json.dumps([{"hash": "#s=x", "state": STATE, "result": {"cells": {}}}]),
}


def test_garbage_in_the_stores_does_no_harm(loans):
    put = "text => { for (const store of [localStorage, sessionStorage]) for (const part of ['kept', 'steps', 'theme']) "
    put += "store.setItem(`counterleaf-${part}`, text) }"
    for garbage in GARBAGE.values():
        loans.page.evaluate(put, garbage)
        loans.page.reload()
        loans.settle()
        works(loans)
        panel = loans.tab("Compare")
        panel.get_by_label("only those kept").check()
        expect(panel).to_contain_text("No step of this model is kept yet")
        loans.button("☆ Keep").click()
        expect(panel.get_by_role("button", name=re.compile("show step"))).to_have_count(1)


GARBLED = [
    {"controls": None},
    {"edits": None},
    {"locked": 5},
    {"controls": {"age": {"low": "<img src=x onerror=alert(1)>"}}},
    {"controls": {"age": None}},
    {"controls": []},
    {"row": "<img>"},
    {"target": "granted"},
]


def test_a_link_of_garbage_opens_a_page_that_works(loans):
    for wrong in GARBLED:
        loans.page.goto("about:blank")
        loans.open(link(scene="german", **wrong))
        expect(loans.page.locator("#note")).to_contain_text("The link does not fit")
        expect(loans.page.locator(".own")).to_have_text("refused")
        assert loans.page.locator("main img").count() == 0
    works(loans)


# Menu and plane


def test_escape_closes_the_menu(loans):
    loans.page.locator("summary", has_text="Export").click()
    expect(loans.button("Copy the link")).to_be_visible()
    loans.page.keyboard.press("Escape")
    expect(loans.button("Copy the link")).to_be_hidden()


def test_the_plane_keeps_the_pair_that_was_chosen(adult):
    panel = adult.tab("Plane")
    panel.get_by_label("Across").select_option("age")
    panel.get_by_label("Up", exact=True).select_option("hours-per-week")
    drawing = panel.get_by_role("img", name=re.compile("over age and hours-per-week"))
    expect(drawing).to_be_visible()
    adult.tab("Explore")
    adult.click("next row")
    adult.click(f"lock {adult.changed()[0]}")
    adult.tab("Plane")
    expect(panel.get_by_label("Across")).to_have_value("age")
    expect(panel.get_by_label("Up", exact=True)).to_have_value("hours-per-week")
    expect(drawing).to_be_visible()
