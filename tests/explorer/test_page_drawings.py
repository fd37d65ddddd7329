"""The explorer's drawings in a browser: the tree, the plane, the comparison, images and locked pixels."""

import json
import re

import pytest
from playwright.sync_api import expect
from support.explorer_cases import bundled_session
from support.page_cases import violations

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser

WIDTHS = [1440, 768, 390]
OVERLAPS = """texts => {
    const boxes = texts.map((node) => node.getBoundingClientRect());
    return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length;
}"""


READ_STATE = """() => atob(location.hash.slice(3).replaceAll("-", "+").replaceAll("_", "/"))"""


def check_page(explorer):
    """The page does not scroll sideways, and axe finds no violation."""
    assert explorer.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert violations(explorer.page, "main") == []


def open_tab(explorer, name):
    panel = explorer.tab(name)
    expect(panel.locator("svg, canvas, .step").first).to_be_visible()
    return panel


@pytest.mark.parametrize("title", ["German Credit", "Adult", "Digits"])
def test_the_tree_shows_the_paths_and_the_efforts(enter, title):
    explorer = enter()
    if title != "German Credit":
        explorer.scene(title)
    effort = explorer.ways()[0]["effort"]
    panel = open_tab(explorer, "Tree")
    tree = panel.get_by_role("tree", name=re.compile("A tree of .* leaves. The row ends in"))
    expect(tree).to_be_visible()
    assert tree.locator("path.path.source").count() >= 1
    assert tree.locator("path.path.best").count() >= 1
    expect(tree.locator(".way")).to_have_count(3)
    label = tree.get_by_role("treeitem", name=re.compile("ends? .*option 1")).get_attribute("aria-label")
    assert (re.search(r"[\d.]+ %|\d+ of 64 pixels", effort)[0]) in label
    check_page(explorer)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_tree_uses_the_width_of_the_panel(enter, width):
    explorer = enter(viewport={"width": width, "height": 900})
    panel = open_tab(explorer, "Tree")
    drawing = panel.locator("svg.tree").bounding_box()
    assert drawing["width"] >= 0.9 * panel.locator(".tree-frame").bounding_box()["width"]
    assert panel.locator("svg.tree text").evaluate_all(OVERLAPS) == 0
    check_page(explorer)


def test_subtrees_fold_and_unfold(adult):
    panel = open_tab(adult, "Tree")
    items = panel.get_by_role("treeitem")
    before = items.count()
    folded = panel.locator("[aria-expanded=false]").first
    number = folded.get_attribute("data-id")
    folded.click()
    expect(panel.locator(f"[data-id='{number}']")).to_have_attribute("aria-expanded", "true")
    assert items.count() > before
    adult.click("next row")  # the next row: the subtree stays open
    expect(panel.locator(f"[data-id='{number}']")).to_have_attribute("aria-expanded", "true")
    panel.locator(f"[data-id='{number}']").click()
    expect(panel.locator(f"[data-id='{number}']")).to_have_attribute("aria-expanded", "false")


def test_the_tree_is_operated_with_the_keyboard(adult):
    panel = open_tab(adult, "Tree")
    root = panel.locator("[data-id='0']")
    root.focus()
    expect(panel.locator(".tip")).to_be_visible()
    adult.page.keyboard.press("ArrowLeft")
    expect(panel.get_by_role("treeitem")).to_have_count(1)
    adult.page.keyboard.press("ArrowRight")
    assert panel.get_by_role("treeitem").count() > 1
    adult.page.keyboard.press("ArrowDown")
    expect(root).not_to_be_focused()
    adult.page.keyboard.press("Home")
    expect(root).to_be_focused()


def test_a_split_explains_itself(adult):
    panel = open_tab(adult, "Tree")
    split = panel.get_by_role("treeitem", name=re.compile("^Capital gain ≤ 7,073 dollars: left."))
    split.hover()
    tip = panel.locator(".tip")
    expect(tip).to_contain_text("Capital gain ≥ 7,074 dollars: right.")
    expect(tip).to_contain_text("The row goes left (0 dollars).")
    expect(tip).to_contain_text("Option 1 goes right (7,074 dollars).")
    expect(tip).to_contain_text("leaves below")


def drag(explorer, panel, dx, dy, steps=8):
    panel.locator(".handle").scroll_into_view_if_needed()
    box = panel.locator(".handle").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    explorer.page.mouse.move(x, y)
    explorer.page.mouse.down()
    explorer.page.mouse.move(x + dx, y + dy, steps=steps)
    return x + dx, y + dy


def test_the_row_is_dragged_and_the_answer_follows(loans):
    panel = open_tab(loans, "Plane")
    at = loans.steps()
    before = loans.ways()
    loans.after(lambda: drag(loans, panel, -60, 40))
    assert loans.steps() == at  # while the pointer is down, the history does not change
    loans.rest()  # for the answer to the last of several moves
    assert panel.locator(".move").count() == len(loans.ways())
    loans.after(loans.page.mouse.up)
    assert loans.steps() == at + 1
    edits = loans.state()["edits"]
    assert set(edits) == {"credit_amount", "duration_months"}
    assert all(float(value).is_integer() for value in edits.values())  # on the grid of the features
    assert edits["credit_amount"] < 3832
    assert loans.ways() != before or loans.headline().startswith("Nothing")
    body = loans.page.evaluate(READ_STATE)
    reply = bundled_session().handle("answer", json.loads(body))
    assert [way["effort"]["words"] for way in reply["ways"]] == [way["effort"] for way in loans.ways()]
    loans.click("↶ Undo")
    assert "edits" not in loans.state()


def test_the_row_is_moved_with_the_keyboard(loans):
    panel = open_tab(loans, "Plane")
    at = loans.steps()
    handle = panel.get_by_role("application", name=re.compile("The row: .*The arrow keys move it"))
    handle.focus()
    loans.after(lambda: loans.page.keyboard.press("ArrowUp"))
    assert loans.state()["edits"] == {"duration_months": 31.0}
    assert loans.steps() == at + 1
    expect(panel.locator(".handle")).to_be_focused()
    loans.after(lambda: loans.page.keyboard.press("ArrowDown"))
    assert "edits" not in loans.state()


def test_the_plane_has_round_ticks_and_labels_with_units(loans):
    panel = open_tab(loans, "Plane")
    texts = panel.locator("svg.plane text:not(.axis):not(.way-number)").all_text_contents()
    assert "5,000" in texts
    assert all(re.fullmatch(r"[1-9][\d,]*|0", text) for text in texts)
    expect(panel.locator("text.axis").first).to_have_text("Credit amount (DM)")
    expect(panel.locator("text.axis").last).to_have_text("Duration (months)")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_labels_of_the_plane_collide(enter, width):
    explorer = (
        enter(viewport={"width": width, "height": 900}).scene("Adult")
        if width > 400
        else enter(viewport={"width": width, "height": 900})
    )
    panel = open_tab(explorer, "Plane")
    names = panel.get_by_label("Vertical axis").locator("option").evaluate_all("nodes => nodes.map(node => node.value)")
    for name in names[:4]:
        panel.get_by_label("Vertical axis").select_option(name)
        explorer.rest()
        assert panel.locator("svg.plane text:not(.axis)").evaluate_all(OVERLAPS) == 0
        assert (
            panel.locator("svg.plane").bounding_box()["width"] >= 0.95 * panel.locator(".plane-frame").bounding_box()["width"]
        )
    check_page(explorer)


def test_the_plane_says_what_the_model_says(adult):
    panel = open_tab(adult, "Plane")
    assert panel.locator("polygon.region").count() >= 2
    box = panel.locator("svg.plane rect.frame").bounding_box()
    adult.page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.5 * box["height"])
    expect(panel.locator(".readout")).to_contain_text(re.compile("Capital gain .* dollars.*: the model says >50K"))
    panel.get_by_label("Vertical axis").select_option("workclass")
    expect(panel.locator("image.raster")).to_be_visible()
    panel.get_by_label("Horizontal axis").select_option("workclass")  # exchanges the axes
    expect(panel.get_by_label("Vertical axis")).to_have_value("capital-gain")
    open_tab(adult, "Tree")
    panel = open_tab(adult, "Plane")  # keeps its features
    expect(panel.get_by_label("Horizontal axis")).to_have_value("workclass")
    expect(panel.get_by_label("Vertical axis")).to_have_value("capital-gain")


def test_a_number_in_the_plane_selects_its_option(adult):
    panel = open_tab(adult, "Plane")
    panel.locator(".way-mark", has_text="2").click()
    assert [way["selected"] for way in adult.ways()] == [False, True, False]
    expect(panel.locator(".way.selected + text")).to_have_text("2")


@pytest.mark.parametrize("width", [1440, 390])
def test_the_comparison_shows_cards(enter, width):
    explorer = enter(viewport={"width": width, "height": 900})
    explorer.click("next row")
    explorer.click("next row")
    panel = open_tab(explorer, "Compare")
    expect(panel.locator(".step")).to_have_count(3)
    expect(panel.locator(".step").nth(1)).to_contain_text("another row: 4")
    assert "L1" not in panel.inner_text()
    panel.get_by_role("button", name="keep step 2").click()
    panel.get_by_role("button", name=re.compile("Kept")).click()
    expect(panel.locator(".step")).to_have_count(1)
    check_page(explorer)
    panel.get_by_role("button", name=re.compile("show step")).click()
    assert explorer.state()["row"] == 4


def test_pictures_are_printed(loans):
    open_tab(loans, "Tree")
    loans.page.emulate_media(media="print")
    assert loans.page.locator("svg.tree").is_visible()
    assert loans.page.locator("svg.patterns").evaluate("node => getComputedStyle(node).display") != "none"
    assert len(loans.page.pdf()) > 10_000


def pixels(explorer, which):
    """The colours of the pixels of an image."""
    read = "node => [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data]"
    data = explorer.page.locator(".results .thumbnails canvas").nth(which).evaluate(read)
    return [tuple(data[k : k + 3]) for k in range(0, len(data), 4)]


def test_pixels_are_locked_with_the_mouse(digits):
    box = digits.page.locator("canvas.brush").bounding_box()

    def at(row, column):
        return box["x"] + (column + 0.5) * box["width"] / 8, box["y"] + (row + 0.5) * box["height"] / 8

    digits.page.mouse.move(*at(2, 1))
    digits.page.mouse.down()
    for column in range(1, 7):
        digits.page.mouse.move(*at(2, column), steps=3)
    steps = digits.steps()
    digits.after(digits.page.mouse.up)
    locked = digits.state()["locked_pixels"]
    assert {8 * 2 + column for column in range(1, 7)} <= set(locked)
    assert digits.steps() == steps + 1
    for which in (1, 3, 5):
        assert all(pixels(digits, which)[k] == (255, 255, 255) for k in locked)
    expect(digits.page.get_by_text(f"{len(locked)} of 64 pixels locked")).to_be_visible()
    digits.click("Unlock all pixels")
    assert "locked_pixels" not in digits.state()


def test_pixels_are_locked_with_the_keyboard(digits):
    digits.page.get_by_role("application", name=re.compile("The row as an image")).focus()
    digits.page.keyboard.press("ArrowUp")
    digits.page.keyboard.press("ArrowLeft")
    digits.after(lambda: digits.page.keyboard.press("Space"))
    assert digits.state()["locked_pixels"] == [8 * 3 + 3]
    digits.after(lambda: digits.page.keyboard.press("Space"))
    assert "locked_pixels" not in digits.state()


def test_ink_is_only_added_or_erased(digits):
    digits.after(digits.page.get_by_label("only add ink").check)
    for which in range(1, digits.page.locator(".results .thumbnails canvas").count(), 2):
        assert all(red <= blue for red, _, blue in pixels(digits, which))  # teal
    digits.after(digits.page.get_by_label("only erase ink").check)
    for which in range(1, digits.page.locator(".results .thumbnails canvas").count(), 2):
        assert all(red >= blue for red, _, blue in pixels(digits, which))  # brown


def test_the_empty_pixels_are_locked(digits):
    digits.click("Lock the empty pixels")
    assert len(digits.state()["locked_pixels"]) > 5


@pytest.mark.parametrize("width", [1280, 390])
def test_an_option_of_an_image_is_selected(enter, width):
    explorer = enter(viewport={"width": width, "height": 900})
    if width > 400:
        explorer.scene("Digits")
    else:
        explorer.after(lambda: explorer.page.get_by_label("Model", exact=True).select_option("digits"))
    explorer.page.get_by_role("button", name=re.compile("^show option 2")).click()
    assert [way["selected"] for way in explorer.ways()] == [False, True, False]
    large = explorer.page.locator(".results > figure canvas").first.bounding_box()
    assert large["width"] >= (300 if width > 400 else 150)
    check_page(explorer)
