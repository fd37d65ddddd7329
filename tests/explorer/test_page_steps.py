"""The steps of the page, what it stores, and the focus, in a browser."""

import base64
import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect
from support.page_cases import STATE, link, works

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser

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
    loans.page.evaluate(CLICKS, ["next row", 62])  # each question once
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
    expect(panel.get_by_role("radio", name=re.compile("^few changes"))).to_be_focused()
    loans.prefer("small changes")
    expect(panel.get_by_role("radio", name=re.compile("^small changes"))).to_be_focused()
    loans.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(loans.button("Adjust")).to_be_focused()
    expect(loans.button("Adjust")).to_have_attribute("aria-expanded", "false")


def test_the_focus_stays_when_a_conflict_is_resolved(loans):
    """Its button is gone; the focus moves to the answer instead of the top of the page."""
    loans.set("Features that may change, at most", "0")
    loans.after(lambda: loans.conflict().get_by_role("button").press("Enter"))
    assert loans.page.evaluate("document.querySelector('#answer').contains(document.activeElement)")
