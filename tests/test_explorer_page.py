"""The explorer's page in a real browser: what a person does, and what they then see."""

import csv
import io
import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from page_cases import Explorer
from playwright.sync_api import expect

import counterleaf as cl

pytest_plugins = ["page_fixtures"]
pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}


# What is asked and answered


def test_a_newcomer_reads_locks_two_features_and_takes_the_answer_home(loans):
    """Open, read, two locks, two clicks for a file."""
    expect(loans.page.locator(".own")).to_have_text("refused")
    assert "the model would say granted instead of refused" in loans.sentence()
    assert "proved" in loans.badges()
    locked = loans.changed()[:1] + [name for name in loans.features() if name not in loans.changed()][:1]
    for name in locked:
        loans.click(f"lock {name}")
    assert all(cell == "=" for name in locked for cell in loans.cells(name))
    text, name = loans.export("Page to print")
    assert name == "counterleaf-german.html"
    assert all(f"{feature} locked" in text for feature in locked)
    expect(loans.page.locator("#note")).to_contain_text("Saved counterleaf-german.html")


def test_a_lock_holds_in_all_alternatives_and_is_in_the_address(adult):
    before, name = adult.address(), adult.changed()[0]
    adult.click(f"lock {name}")
    assert adult.cells(name)
    assert set(adult.cells(name)) == {"="}
    assert adult.address() != before
    assert adult.state()["controls"] == {name: {"lock": True}}
    expect(adult.button(f"lock {name}")).to_have_attribute("aria-pressed", "true")
    adult.click(f"lock {name}")
    assert adult.address() == before


def test_only_up_and_only_down(adult):
    name = adult.changed()[0]
    rises = "▲" in adult.cells(name)[0]
    adult.click(f"{name} only {'down' if rises else 'up'}")
    assert not any(("▲" if rises else "▼") in cell for cell in adult.cells(name))
    adult.click(f"{name} only {'up' if rises else 'down'}")
    assert not any(("▼" if rises else "▲") in cell for cell in adult.cells(name))


def slide(explorer, label, way):
    slider = explorer.page.get_by_role("slider", name=label)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    start, end = (0.95, 0.3) if way == "down" else (0.05, 0.7)
    page = explorer.page
    page.mouse.move(box["x"] + start * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    for k in range(1, 13):
        page.mouse.move(box["x"] + (start + (end - start) * k / 12) * box["width"], box["y"] + box["height"] / 2)
        page.wait_for_timeout(40)


def test_a_slider_answers_while_it_slides_and_is_one_step(adult):
    adult.limits("hours-per-week")
    before, steps = adult.answered(), adult.steps()
    slide(adult, "at most, hours-per-week", "down")
    adult.settle(before + 2)
    assert adult.steps() == steps
    adult.after(adult.page.mouse.up)
    assert adult.steps() == steps + 1
    high = adult.state()["controls"]["hours-per-week"]["high"]
    assert 20 < high < 80
    expect(adult.page.get_by_role("button", name=f"limits of hours-per-week: ≤ {high:g}")).to_be_visible()
    adult.click("↶ Undo")
    assert "controls" not in adult.state()


def test_a_slider_by_the_keys(adult):
    adult.limits("hours-per-week")
    slider = adult.page.get_by_role("slider", name="at least, hours-per-week")
    slider.focus()
    low = adult.page.evaluate("node => Number(node.value)", slider.element_handle())
    adult.after(lambda: slider.press("ArrowRight"))
    adult.after(lambda: slider.press("ArrowRight"))
    assert adult.state()["controls"]["hours-per-week"] == {"low": low + 2}


def test_limits_by_fields_steps_and_hardness(adult):
    name = adult.changed()[0]
    adult.limits(name)
    adult.after(lambda: (adult.page.get_by_label("At least", exact=True).fill("1"), adult.page.keyboard.press("Tab")))
    assert adult.state()["controls"][name]["low"] == 1
    adult.after(lambda: (adult.page.get_by_label("In steps of").fill("1000"), adult.page.keyboard.press("Tab")))
    assert adult.state()["controls"][name]["step"] == 1000
    hard = adult.page.get_by_role("slider", name="How hard to change")
    hard.focus()
    adult.after(lambda: hard.press("End"))
    assert adult.state()["controls"][name]["weight"] == 10
    expect(hard).to_have_attribute("aria-valuetext", "hardest")
    adult.click("No limits")
    assert "controls" not in adult.state()


def test_allowed_categories(adult):
    adult.limits("education")
    group = adult.page.get_by_role("group", name="May be")
    expect(group.get_by_role("checkbox", checked=True)).to_have_count(group.get_by_role("checkbox").count())
    adult.after(lambda: group.get_by_role("checkbox", name="Masters").click())
    assert len(adult.state()["controls"]["education"]["allowed"]) == group.get_by_role("checkbox").count() - 1
    adult.click("No limits")
    assert "controls" not in adult.state()


def test_undo_and_redo_by_button_by_key_and_by_the_browser(loans):
    first = loans.shown()
    loans.click(f"lock {loans.changed()[0]}")
    second = loans.shown()
    assert second != first
    ways = [
        (lambda: loans.button("↶ Undo").click(), lambda: loans.button("↷ Redo").click()),
        (lambda: loans.page.keyboard.press("Control+z"), lambda: loans.page.keyboard.press("Control+Shift+Z")),
        (lambda: loans.page.keyboard.press("Control+z"), lambda: loans.page.keyboard.press("Control+y")),
        (loans.page.go_back, loans.page.go_forward),
    ]
    for back, on in ways:
        loans.after(back)
        assert loans.shown() == first
        loans.after(on)
        assert loans.shown() == second
    expect(loans.button("↷ Redo")).to_be_disabled()
    loans.click("↶ Undo")
    expect(loans.button("↶ Undo")).to_be_disabled()


def test_a_link_opens_the_same_question(enter):
    first = enter().scene("Adult")
    first.limits("hours-per-week")
    first.after(lambda: (first.page.get_by_label("At most", exact=True).fill("60"), first.page.keyboard.press("Tab")))
    first.limits("hours-per-week")
    first.click(f"lock {first.changed()[0]}")
    first.after(lambda: first.page.get_by_label("L2: small changes").check())
    first.click("next row")
    second = enter(first.address())
    assert second.shown() == first.shown()
    assert second.state() == first.state()


def test_the_link_is_copied(enter):
    explorer = enter(permissions=["clipboard-read", "clipboard-write"])
    explorer.click(f"lock {explorer.changed()[0]}")
    explorer.page.locator("summary", has_text="Export").click()
    explorer.button("Copy the link").click()
    expect(explorer.page.locator("#note")).to_contain_text("copied")
    assert explorer.page.evaluate("navigator.clipboard.readText()") == explorer.address()


def test_a_link_that_fits_nothing_opens_the_first_model(loans):
    for hash in ("#s=nonsense", "#s=e30", "#other", "#s=eyJzY2VuZSI6Im5vd2hlcmUifQ"):
        loans.page.goto("about:blank")
        loans.open(f"/{hash}")
        expect(loans.page.locator(".own")).to_have_text("refused")


def test_a_link_with_a_mistake_is_told(enter):
    """Of a feature that there is not, and of a row beyond the last."""
    import base64

    for wrong, words in (({"controls": {"ghost": {"lock": True}}}, "ghost"), ({"row": 10**6}, "expected 0 to")):
        text = base64.urlsafe_b64encode(json.dumps({"scene": "german", **wrong}).encode()).decode().rstrip("=")
        explorer = enter(f"/#s={text}")
        expect(explorer.page.locator("#sentence")).to_contain_text(words)
        expect(explorer.page.locator("#badges")).to_be_empty()  # no answer stands beside a question that has none
        explorer.page.context.close()
        assert {re.search(r"\d{3}", error)[0] for error in explorer.errors} == {"422"}
        explorer.errors.clear()


def test_a_reload_keeps_the_steps(loans):
    loans.click(f"lock {loans.changed()[0]}")
    loans.click(f"lock {loans.changed()[0]}")
    shown = loans.shown()
    loans.page.reload()
    loans.settle()
    assert loans.shown() == shown
    assert loans.steps() == 2
    loans.click("↶ Undo")
    loans.click("↶ Undo")
    assert "controls" not in loans.state()


def test_the_target(digits):
    expect(digits.page.get_by_role("group", name="What the model should say")).to_be_visible()
    other = next(label for label in "0123456789" if label != digits.page.locator(".own").inner_text())
    digits.click(other)
    assert f"#1: {other}" in digits.page.locator(".results figcaption").first.inner_text()
    assert digits.state()["target"] == [other]


def test_costs_alternatives_features_and_margin(adult):
    page, costs = adult.page, adult.costs()
    for label in ("L2: small changes", "mixed: both", "L1: few changes"):
        adult.after(lambda label=label: page.get_by_label(label).check())
    assert adult.costs() == costs
    adult.after(lambda: page.get_by_label("Changes counted in").select_option("standard deviations"))
    assert adult.state()["spread"] == "std"
    adult.after(lambda: (page.get_by_label("Alternatives", exact=True).fill("5"), page.keyboard.press("Tab")))
    assert len(adult.costs()) == 5
    assert adult.costs() == sorted(adult.costs())
    adult.after(lambda: (page.get_by_label("Most features changed").fill("1"), page.keyboard.press("Tab")))
    for k in range(len(adult.costs())):
        assert sum(adult.cells(name)[k] != "=" for name in adult.features()) <= 1
    cheapest = adult.costs()[0]
    adult.after(lambda: (page.get_by_label("Safety margin").fill("2"), page.keyboard.press("Tab")))
    assert min(adult.costs(), default=cheapest) >= cheapest
    asked = {"spread": "std", "count": 5, "most": 1, "margin": 2}
    assert asked.items() <= adult.state().items()


def test_rows_and_edits(loans):
    page, first = loans.page, int(loans.page.get_by_label("Row", exact=True).input_value())
    loans.click("next row")
    expect(page.get_by_label("Row", exact=True)).to_have_value(str(first + 1))
    loans.click("previous row")
    expect(page.get_by_label("Row", exact=True)).to_have_value(str(first))
    loans.click("next “refused”")
    expect(page.locator(".own")).to_have_text("refused")
    loans.after(lambda: (page.get_by_label("Row", exact=True).fill("7"), page.keyboard.press("Enter")))
    assert loans.state()["row"] == 6
    loans.after(lambda: (page.get_by_label("age now").fill("44"), page.keyboard.press("Tab")))
    assert loans.state()["edits"] == {"age": 44}
    loans.after(lambda: page.get_by_label("purpose now").select_option("education"))
    assert set(loans.state()["edits"]) == {"age", "purpose"}
    loans.click("reset edits")
    assert "edits" not in loans.state()
    loans.after(lambda: (page.get_by_label("Row", exact=True).fill("1"), page.keyboard.press("Enter")))
    page.get_by_role("button", name="previous row").click()
    expect(page.locator("#note")).to_contain_text("no further row")


def test_where_nothing_works_one_click_helps(loans):
    for name in loans.features():
        if loans.button(f"lock {name}").get_attribute("aria-pressed") == "false":
            loans.click(f"lock {name}")
    assert "This is proved" in loans.sentence()
    sizes = []
    while loans.page.locator("#conflict li").count():
        sizes.append(loans.page.locator("#conflict li").count())
        loans.after(loans.page.locator("#conflict").get_by_role("button", name="Unlock").first.click)
        assert len(sizes) < 20
    assert sizes
    assert "would say granted" in loans.sentence()


def test_the_margin_is_let_go(adult):
    adult.after(lambda: (adult.page.get_by_label("Safety margin").fill("1e8"), adult.page.keyboard.press("Tab")))
    adult.click("Drop the margin")
    assert "proved: nothing costs less" in adult.badges()
    expect(adult.page.get_by_label("Safety margin")).to_have_value("0")


@pytest.mark.parametrize("title", ["German Credit", "Digits"])
def test_the_proof_is_checked(enter, title):
    explorer = enter()
    if title == "Digits":
        explorer.scene(title)
    explorer.button("check the proof").click()
    expect(explorer.page.locator("#badges")).to_contain_text(re.compile(r"holds: [\d,]+ parts re-proved in \d+ ms"))


def test_only_what_changes(adult):
    adult.page.get_by_label("only what changes or is limited").check()
    shown = adult.page.locator("#explore tbody tr:not(.editor):visible")
    assert 1 <= shown.count() < len(adult.features())


# Files


def test_the_files(adult):
    text, name = adult.export("Table (CSV)")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert name == "counterleaf-adult.csv"
    assert [line["row"] for line in lines] == ["source", "1", "2", "3"]
    text, name = adult.export("JSON with the proof")
    answer = cl.Explanation.from_json(text)
    assert answer.certificate.check()
    assert [f"{c.cost:.4g}" for c in answer] == [f"{cost:g}" for cost in adult.costs()]
    assert [float(line["cost"]) for line in lines[1:]] == [c.cost for c in answer]
    text, name = adult.export("Page to print")
    assert text.startswith("<!doctype html>")
    assert adult.page.locator("details[open]").count() == 0


def test_steps_are_compared_kept_and_exported(loans):
    loans.click(f"lock {loans.changed()[0]}")
    loans.click(f"lock {loans.changed()[0]}")
    panel = loans.tab("Compare")
    table = panel.get_by_role("table")
    expect(table.get_by_role("button", name=re.compile("show step"))).to_have_count(3)
    expect(table).to_contain_text("locked")
    text, name = loans.download(panel.get_by_role("button", name="JSON with proofs").click)
    assert name == "counterleaf-german.jsonl"
    answers = [cl.Explanation.from_json(line) for line in text.splitlines()]
    assert len(answers) == 3
    assert all(answer.certificate.check() for answer in answers)
    text, _ = loans.download(panel.get_by_role("button", name="CSV").click)
    assert {line["step"] for line in csv.DictReader(io.StringIO(text))} == {"1", "2", "3"}
    panel.get_by_role("button", name="keep step 2").click()
    panel.get_by_label("only those kept").check()
    expect(table.get_by_role("button", name=re.compile("show step"))).to_have_count(1)
    panel.get_by_label("only those kept").uncheck()
    loans.after(panel.get_by_role("button", name="show step 1").click)
    expect(loans.page.get_by_role("tab", name="Explore")).to_have_attribute("aria-selected", "true")
    assert "controls" not in loans.state()
    loans.button("☆ Keep").click()
    expect(loans.button("★ Kept")).to_have_attribute("aria-pressed", "true")
    loans.page.reload()
    expect(loans.button("★ Kept")).to_be_visible()


# Drawings


@pytest.mark.parametrize("title", ["German Credit", "Adult", "Digits"])
def test_the_tree_shows_paths_and_costs(enter, title):
    explorer = enter()
    if title != "German Credit":
        explorer.scene(title)
    costs = explorer.costs() if title != "Digits" else []
    panel = explorer.tab("Tree")
    expect(panel.locator("path.way")).to_have_count(4)
    expect(panel.locator("path.way.source")).to_have_count(1)
    expect(panel.get_by_role("img", name=re.compile("A tree of .* leaves. The row ends in"))).to_be_visible()
    told = panel.locator("text.cost").all_text_contents()
    assert "here" in told
    assert {f"{cost:g}" for cost in costs} <= {f"{float(text):g}" for text in told if re.fullmatch(r"[\d.e+-]+", text)}
    explorer.page.get_by_role("tab", name="Explore").click()


def test_the_plane(adult):
    panel = adult.tab("Plane")
    drawing = panel.get_by_role("img", name=re.compile("What the model says over"))
    expect(drawing).to_be_visible()
    assert drawing.locator("polygon.region").count() >= 2
    expect(drawing.locator("circle")).to_have_count(3)
    panel.get_by_label("Across").select_option("age")
    panel.get_by_label("Up", exact=True).select_option("hours-per-week")
    expect(panel.get_by_role("img", name=re.compile("over age and hours-per-week"))).to_be_visible()
    panel.get_by_label("Up", exact=True).select_option("age")
    expect(panel).to_contain_text("Choose two different numbers")


def pixels(explorer, which):
    """The colours of one of the pictures, pixel by pixel."""
    read = "node => [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data]"
    data = explorer.page.locator(".results canvas").nth(which).evaluate(read)
    return [tuple(data[k : k + 3]) for k in range(0, len(data), 4)]


def test_pixels_are_locked_by_the_mouse(digits):
    box = digits.page.locator("canvas.brush").bounding_box()

    def at(row, column):
        return box["x"] + (column + 0.5) * box["width"] / 8, box["y"] + (row + 0.5) * box["height"] / 8

    digits.page.mouse.move(*at(2, 1))
    digits.page.mouse.down()
    for column in range(1, 7):
        digits.page.mouse.move(*at(2, column), steps=3)
    steps = digits.steps()
    digits.after(digits.page.mouse.up)
    locked = digits.state()["locked"]
    assert {8 * 2 + column for column in range(1, 7)} <= set(locked)
    assert digits.steps() == steps + 1
    for which in (1, 3, 5):
        assert all(pixels(digits, which)[k] == (255, 255, 255) for k in locked)
    expect(digits.page.get_by_text(f"{len(locked)} of 64 pixels locked")).to_be_visible()
    digits.click("Unlock all pixels")
    assert "locked" not in digits.state()


def test_pixels_are_locked_by_the_keys(digits):
    digits.page.get_by_role("application", name=re.compile("Source picture")).focus()
    digits.page.keyboard.press("ArrowUp")
    digits.page.keyboard.press("ArrowLeft")
    digits.after(lambda: digits.page.keyboard.press("Space"))
    assert digits.state()["locked"] == [8 * 3 + 3]
    digits.after(lambda: digits.page.keyboard.press("Space"))
    assert "locked" not in digits.state()


def test_ink_is_only_added_or_erased(digits):
    digits.after(digits.page.get_by_label("only add ink").check)
    for which in range(1, digits.page.locator(".results canvas").count(), 2):
        assert all(red <= blue for red, _, blue in pixels(digits, which))
    digits.after(digits.page.get_by_label("only erase ink").check)
    for which in range(1, digits.page.locator(".results canvas").count(), 2):
        assert all(red >= blue for red, _, blue in pixels(digits, which))


def test_costs_of_pictures(digits):
    told = set()
    for label in ("L1: few changes", "L2: small changes", "Q: smooth changes"):
        if not digits.page.get_by_label(label).is_checked():
            digits.after(digits.page.get_by_label(label).check)
        told.add(digits.sentence())
        assert "confirmed by the model" in digits.badges()
    assert len(told) > 1
    expect(digits.page.get_by_label("Changes counted in")).to_be_disabled()


def test_the_empty_pixels_are_locked(digits):
    digits.click("Lock the empty ones")
    assert len(digits.state()["locked"]) > 5


# Everyone


def test_tabs_by_the_arrows(adult):
    adult.page.get_by_role("tab", name="Explore").focus()
    for name in ("Compare", "Tree", "Plane", "Explore"):
        adult.page.keyboard.press("ArrowRight")
        expect(adult.page.get_by_role("tab", name=name)).to_be_focused()
        expect(adult.page.get_by_role("tabpanel", name=name)).to_be_visible()
    adult.page.keyboard.press("ArrowLeft")
    expect(adult.page.get_by_role("tab", name="Plane")).to_be_focused()
    adult.page.keyboard.press("Home")
    expect(adult.page.get_by_role("tab", name="Explore")).to_be_focused()


def test_tabs_by_the_arrows_where_one_is_hidden(digits):
    digits.page.get_by_role("tab", name="Tree").click()
    digits.page.keyboard.press("ArrowRight")
    expect(digits.page.get_by_role("tab", name="Explore")).to_be_focused()
    digits.page.keyboard.press("End")
    expect(digits.page.get_by_role("tab", name="Tree")).to_be_focused()


def reach(explorer, name, most=150):
    """Press Tab until the control with this name has the focus."""
    tell = "(({ ariaLabel, labels, innerText }) => (ariaLabel || labels?.[0]?.innerText || innerText || '').trim())"
    tell += "(document.activeElement)"
    for _ in range(most):
        explorer.page.keyboard.press("Tab")
        if explorer.page.evaluate(tell) == name:
            return
    raise AssertionError(f"the key Tab does not reach {name!r}")


def test_everything_by_the_keyboard(loans):
    """Lock, limit, change the cost and the target, step back, export: without a mouse."""
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


def test_the_focus_stays_where_it_was(loans):
    """After an answer, on the control that was used: also on those that are drawn anew."""
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
        ("German Credit", "light"),
        ("German Credit", "phone, dark"),
        ("Adult", "dark"),
        ("Digits", "light"),
        ("Digits", "phone, dark"),
    ],
)
def test_every_view_can_be_used_by_everyone(enter, title, look):
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


@pytest.mark.parametrize("look", ["light", "phone, dark"])
def test_an_answer_that_there_is_not_can_be_read_by_everyone(enter, look):
    explorer = enter(**LOOKS[look])
    explorer.after(lambda: (explorer.page.get_by_label("Most features changed").fill("0"), explorer.page.keyboard.press("Tab")))
    expect(explorer.conflict()).to_contain_text("This is in the way")
    explorer.page.locator("summary", has_text="Export").click()
    fits(explorer)
    no_violations(explorer)
    for name in ("Compare", "Tree", "Plane"):
        explorer.tab(name)
        explorer.page.wait_for_timeout(200)
        no_violations(explorer)


@pytest.mark.parametrize("look", ["dark", "phone, light"])
def test_the_door(browser, server, look):
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


def test_light_and_dark_by_the_button(enter):
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


# Speed

CLICK = """async ([find, pause]) => {
    const node = document.evaluate(find, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
    const start = performance.now();
    const told = new Promise((done) => {
        const watch = new MutationObserver(() => { watch.disconnect(); done(performance.now() - start); });
        watch.observe(document.body, { attributes: true, attributeFilter: ["data-answered"] });
    });
    node.click();
    const time = await told;
    const seen = await new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))));
    await new Promise((done) => setTimeout(done, pause));
    return [time, seen];
}"""


@pytest.mark.timed
def test_from_click_to_answer_within_a_tenth_of_a_second(adult):
    """Of all clicks, 95 in 100; where the machine was busy with something else, in one of three rounds."""
    names = adult.features()
    labelled = [f"lock {name}" for name in names for _ in range(2)]
    labelled += [f"{name} only {way}" for name in ("age", "hours-per-week", "capital-gain") for way in ("up", "down", "down")]
    labelled += ["next row", "next row", "previous row"] * 8
    finds = [f'//button[@aria-label="{label}"]' for label in labelled]
    finds += [f'//input[@name="cost" and @value="{cost}"]' for cost in ("L2", "mixed", "L1") * 4]
    rounds = []
    for _ in range(3):
        told, seen = zip(*(adult.page.evaluate(CLICK, [find, 30]) for find in finds), strict=True)
        rounds.append(_part(told, 0.95))
        figures = f"{len(told)} clicks on Adult, from click to answer: median {_part(told, 0.5):.0f} ms, "
        figures += f"p95 {_part(told, 0.95):.0f} ms, most {max(told):.0f} ms; until it is painted: "
        figures += f"median {_part(seen, 0.5):.0f} ms, p95 {_part(seen, 0.95):.0f} ms"
        print(f"\n{figures}")
        if rounds[-1] < 100:
            break
    assert len(finds) >= 60
    assert min(rounds) < 100, figures


def _part(times, share):
    return sorted(times)[int(share * len(times))]
