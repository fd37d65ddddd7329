"""Accessibility of the page: keyboard, phone, light and dark, screen reader."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from support.page_cases import Explorer

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}


def test_tabs_with_the_arrow_keys(adult):
    adult.page.get_by_role("tab", name="Explore").focus()
    for name in ("Compare", "Tree", "Plane", "Explore"):
        adult.page.keyboard.press("ArrowRight")
        expect(adult.page.get_by_role("tab", name=name)).to_be_focused()
        expect(adult.page.get_by_role("tabpanel", name=name)).to_be_visible()
    adult.page.keyboard.press("ArrowLeft")
    expect(adult.page.get_by_role("tab", name="Plane")).to_be_focused()
    adult.page.keyboard.press("Home")
    expect(adult.page.get_by_role("tab", name="Explore")).to_be_focused()


def test_tabs_with_the_arrow_keys_if_one_is_hidden(digits):
    digits.page.get_by_role("tab", name="Tree").click()
    digits.page.keyboard.press("ArrowRight")
    expect(digits.page.get_by_role("tab", name="Explore")).to_be_focused()
    digits.page.keyboard.press("End")
    expect(digits.page.get_by_role("tab", name="Tree")).to_be_focused()


def reach(explorer, name, max_presses=150):
    """Press Tab until the control with this name has the focus."""
    focused_name = "(({ ariaLabel, labels, innerText }) => (ariaLabel || labels?.[0]?.innerText || innerText || '').trim())"
    focused_name += "(document.activeElement)"
    for _ in range(max_presses):
        explorer.page.keyboard.press("Tab")
        if explorer.page.evaluate(focused_name) == name:
            return
    raise AssertionError(f"the key Tab does not reach {name!r}")


def test_the_page_works_with_the_keyboard(loans):
    """Lock, limit, change the cost and the target, undo and export without a mouse."""
    page = loans.page
    reach(loans, "next row")
    loans.after(lambda: page.keyboard.press("Enter"))
    reach(loans, "granted")
    page.keyboard.press("Space")
    reach(loans, "L1: few changes")
    loans.after(lambda: page.keyboard.press("ArrowRight"))
    assert loans.state()["cost"] == "L2"
    reach(loans, "lock duration months")
    loans.after(lambda: page.keyboard.press("Enter"))
    assert loans.state()["controls"]["duration_months"] == {"lock": True}
    expect(loans.button("lock duration months")).to_be_focused()
    reach(loans, "limits of duration months: none")
    page.keyboard.press("Enter")
    reach(loans, "at least, duration_months")
    loans.after(lambda: page.keyboard.press("ArrowRight"))
    page.keyboard.press("Control+z")
    page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
    reach(loans, "Export")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    _, name = loans.download(lambda: page.keyboard.press("Enter"))
    assert name == "counterleaf-german.csv"


def test_the_focus_does_not_move(loans):
    """After an answer the used control has the focus, even if it was replaced."""
    for name in ("next row", "granted", "previous row"):
        loans.button(name).focus()
        if name != "granted":
            loans.after(lambda: loans.page.keyboard.press("Enter"))
        expect(loans.button(name)).to_be_focused()


def fits(explorer):
    assert explorer.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def no_violations(explorer):
    found = Axe().run(explorer.page).response["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]][:4], one["help"]) for one in found] == []


LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone, light": {"color_scheme": "light", "viewport": PHONE},
    "phone, dark": {"color_scheme": "dark", "viewport": PHONE},
}


@pytest.mark.parametrize(
    ("title", "look"),
    [
        ("German Credit", "phone, dark"),
        ("Adult", "dark"),
        ("Digits", "light"),
    ],
)
def test_every_view_is_accessible(enter, title, look):
    explorer = enter(**LOOKS[look])
    if title != "German Credit":
        explorer.scene(title)
    if title == "Digits":
        explorer.page.get_by_role("application").focus()
        explorer.after(lambda: explorer.page.keyboard.press("Space"))
    else:
        explorer.click(f"lock {explorer.changed()[0]}")
        explorer.limits("credit amount" if title == "German Credit" else "hours-per-week")
        explorer.limits("purpose" if title == "German Credit" else "education")
    for name in ("Explore", "Compare", "Tree", *(["Plane"] if title != "Digits" else [])):
        panel = explorer.tab(name)
        if name in ("Tree", "Plane"):
            expect(panel.get_by_role("region")).to_be_visible()
        fits(explorer)
        no_violations(explorer)


def test_a_conflict_is_accessible(enter):
    explorer = enter(**LOOKS["phone, dark"])
    explorer.after(lambda: (explorer.page.get_by_label("Max. features changed").fill("0"), explorer.page.keyboard.press("Tab")))
    expect(explorer.conflict()).to_contain_text("This setting rules out every answer")
    explorer.page.locator("summary", has_text="Export").click()
    fits(explorer)
    no_violations(explorer)
    for name in ("Compare", "Tree", "Plane"):
        explorer.tab(name)
        explorer.page.wait_for_timeout(200)
        no_violations(explorer)


@pytest.mark.parametrize("look", ["dark", "phone, light"])
def test_the_access_form(browser, server, look):
    context = browser.new_context(**LOOKS[look])
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
    explorer.page.wait_for_selector("#confirmed")
    assert shade() != light
    explorer.button("Light or dark").click()
    assert shade() == light
