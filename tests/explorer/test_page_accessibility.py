"""Accessibility and layout of the page: keyboard, four widths, light and dark, screen reader, no jumps."""

import pytest
from playwright.sync_api import expect
from support.page_cases import Explorer, violations

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser
SIZES = {1440: 900, 1280: 720, 768: 1024, 390: 844}
TABS = ("Features", "Compare", "Tree", "Plane", "All rows", "Groups")


def size(width):
    return {"viewport": {"width": width, "height": SIZES[width]}}


def test_tabs_with_the_arrow_keys(adult):
    adult.page.get_by_role("tab", name="Features").focus()
    for name in (*TABS[1:], TABS[0]):
        adult.page.keyboard.press("ArrowRight")
        expect(adult.page.get_by_role("tab", name=name)).to_be_focused()
        expect(adult.page.get_by_role("tabpanel", name=name)).to_be_visible()
    adult.page.keyboard.press("ArrowLeft")
    expect(adult.page.get_by_role("tab", name="Groups")).to_be_focused()
    adult.page.keyboard.press("Home")
    expect(adult.page.get_by_role("tab", name="Features")).to_be_focused()


def test_tabs_with_the_arrow_keys_if_one_is_hidden(digits):
    digits.page.get_by_role("tab", name="Tree").click()
    digits.page.keyboard.press("ArrowRight")
    expect(digits.page.get_by_role("tab", name="All rows")).to_be_focused()


def reach(explorer, name, max_presses=400):
    """Press Tab until the control with this name has the focus."""
    focused_name = "(({ ariaLabel, labels, innerText }) => (ariaLabel || labels?.[0]?.innerText || innerText || '').trim())"
    focused_name += "(document.activeElement)"
    for _ in range(max_presses):
        explorer.page.keyboard.press("Tab")
        if explorer.page.evaluate(focused_name).startswith(name):
            return
    raise AssertionError(f"the key Tab does not reach {name!r}")


def test_the_page_works_with_the_keyboard(loans):
    """Change the row, the target and the settings, select an option, lock, undo and export without a mouse."""
    page = loans.page
    reach(loans, "next row")
    loans.after(lambda: page.keyboard.press("Enter"))
    reach(loans, "granted")
    page.keyboard.press("Space")
    reach(loans, "Adjust")
    page.keyboard.press("Enter")
    loans.after(lambda: page.keyboard.press("ArrowDown"))
    assert loans.state()["cost"] == "L2"
    page.keyboard.press("Escape")
    reach(loans, "Option 1")
    page.keyboard.press("ArrowRight")
    name = loans.features()[0]
    reach(loans, f"lock {name}")
    loans.after(lambda: page.keyboard.press("Enter"))
    assert list(loans.state()["controls"].values()) == [{"lock": True}]
    expect(loans.button(f"lock {name}")).to_be_focused()
    loans.after(lambda: page.keyboard.press("Control+z"))
    page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
    reach(loans, "Export")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    _, name = loans.download(lambda: page.keyboard.press("Enter"))
    assert name == "counterleaf-german.csv"


def test_the_focus_does_not_move(loans):
    """After an answer the used control has the focus, even if it was replaced."""
    for name in ("next row", "previous row"):
        loans.button(name).focus()
        loans.after(lambda: loans.page.keyboard.press("Enter"))
        expect(loans.button(name)).to_be_focused()
    strip = loans.front()
    strip.first.focus()
    loans.after(lambda: loans.page.keyboard.press("Enter"))
    expect(strip.first).to_be_focused()


def fits(explorer):
    """No part of the page is wider than the window."""
    assert explorer.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def no_violations(explorer):
    assert violations(explorer.page) == []


@pytest.mark.parametrize(
    ("title", "width", "theme"),
    [
        ("German Credit", 390, "dark"),
        ("German Credit", 1280, "light"),
        ("Adult", 1440, "dark"),
        ("Adult", 768, "light"),
        ("Digits", 390, "light"),
        ("Digits", 1280, "dark"),
    ],
)
def test_every_view_is_accessible(enter, title, width, theme):
    explorer = enter(**size(width), color_scheme=theme)
    if width == 390 and title != "German Credit":
        explorer.after(lambda: explorer.page.get_by_label("Model", exact=True).select_option(title))
    elif title != "German Credit":
        explorer.scene(title)
    if title != "Digits":
        explorer.lock(explorer.changed()[0])
        explorer.front()
    for name in TABS:
        if not explorer.page.get_by_role("tab", name=name, exact=True).is_visible():
            continue
        explorer.tab(name)
        explorer.rest()  # drawings
        fits(explorer)
        no_violations(explorer)


@pytest.mark.parametrize(("width", "theme"), [(390, "dark"), (1280, "light")])
def test_every_state_is_accessible(enter, width, theme):
    """The settings, the details, the menu, the bar, a conflict and an error."""
    explorer = enter(**size(width), color_scheme=theme)
    explorer.details()
    no_violations(explorer)
    explorer.page.keyboard.press("Escape")
    explorer.page.mouse.wheel(0, 1500)
    expect(explorer.page.locator("#bar")).to_be_visible()
    no_violations(explorer)
    explorer.page.evaluate("scrollTo(0, 0)")
    explorer.adjust().get_by_text("Expert").click()
    fits(explorer)
    no_violations(explorer)
    explorer.set("Features that may change, at most", "0")
    explorer.page.keyboard.press("Escape")
    expect(explorer.conflict()).to_be_visible()
    fits(explorer)
    no_violations(explorer)
    explorer.page.locator("summary", has_text="Export").click()
    no_violations(explorer)
    explorer.page.keyboard.press("Escape")
    explorer.expected_errors = "Failed to load resource"
    explorer.page.route("**/api/answer", lambda route: route.fulfill(status=503, json={"error": "busy"}))
    explorer.click("next row")
    expect(explorer.reason()).to_contain_text("busy")
    fits(explorer)
    no_violations(explorer)


TOPS = """["#answer", "#strip", "[role=tablist]"].map(
    (part) => Math.round(document.querySelector(part).getBoundingClientRect().top + scrollY))"""


@pytest.mark.parametrize("width", SIZES)
def test_answers_do_not_move_the_page(enter, width):
    """Other rows, options, locks, a conflict and its end: what is above the tabs and the tabs stay where they are."""
    explorer = enter(**size(width))
    explorer.front()
    explorer.observe_shifts()
    tops = explorer.page.evaluate(TOPS)
    if width > 390:  # where an option opens in place
        explorer.pick(1)
    for name in [*explorer.changed(), "next row", "next row"]:
        explorer.click(name if name == "next row" else f"lock {name}")
    explorer.rest()
    assert explorer.shifts() == []
    if width >= 1280:
        explorer.click("next refused")
        assert explorer.ways()
        assert explorer.page.evaluate(TOPS) == tops


@pytest.mark.parametrize(("width", "theme"), [(1280, "dark"), (390, "light")])
def test_the_access_form(browser, server, width, theme):
    context = browser.new_context(**size(width), color_scheme=theme)
    explorer = Explorer(context.new_page(), server[0])
    assert explorer.page.goto(server[0]).status == 401
    expect(explorer.page.get_by_role("heading", name="counterleaf")).to_be_visible()
    fits(explorer)
    no_violations(explorer)
    explorer.page.get_by_label("Token").fill("wrong")
    explorer.page.get_by_role("button", name="Open").click()
    expect(explorer.page.get_by_label("Token")).to_be_visible()
    context.close()


def test_the_theme_button(enter):
    explorer = enter(color_scheme="light")

    def shade():
        return explorer.page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = shade()
    explorer.button("Light or dark").click()
    assert shade() != light
    explorer.page.reload()
    explorer.settle()
    assert shade() != light
    explorer.button("Light or dark").click()
    assert shade() == light
