"""The explorer's drawings in a browser: the tree, the plane, images and locked pixels."""

import re

import pytest
from playwright.sync_api import expect

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser


@pytest.mark.parametrize("title", ["German Credit", "Adult", "Digits"])
def test_the_tree_shows_paths_and_costs(enter, title):
    explorer = enter()
    if title != "German Credit":
        explorer.scene(title)
    costs = explorer.costs() if title != "Digits" else []
    panel = explorer.tab("Tree")
    expect(panel.locator("path.path")).to_have_count(4)
    expect(panel.locator("path.path.source")).to_have_count(1)
    expect(panel.get_by_role("img", name=re.compile("A tree of .* leaves. The row ends in"))).to_be_visible()
    costs_shown = panel.locator("text.cost").all_text_contents()
    assert "here" in costs_shown
    assert {f"{cost:g}" for cost in costs} <= {f"{float(text):g}" for text in costs_shown if re.fullmatch(r"[\d.e+-]+", text)}
    explorer.page.get_by_role("tab", name="Explore").click()


def test_the_plane(adult):
    panel = adult.tab("Plane")
    drawing = panel.get_by_role("img", name=re.compile("Predictions over"))
    expect(drawing).to_be_visible()
    assert drawing.locator("polygon.region").count() >= 2
    expect(drawing.locator("circle")).to_have_count(3)
    panel.get_by_label("Horizontal axis").select_option("age")
    panel.get_by_label("Vertical axis").select_option("hours-per-week")
    expect(panel.get_by_role("img", name=re.compile("over age and hours-per-week"))).to_be_visible()
    panel.get_by_label("Vertical axis").select_option("age")
    expect(panel).to_contain_text("Choose two different features")


def pixels(explorer, which):
    """The colours of the pixels of an image."""
    read = "node => [...node.getContext('2d').getImageData(0, 0, node.width, node.height).data]"
    data = explorer.page.locator(".results canvas").nth(which).evaluate(read)
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
    digits.page.get_by_role("application", name=re.compile("Source image")).focus()
    digits.page.keyboard.press("ArrowUp")
    digits.page.keyboard.press("ArrowLeft")
    digits.after(lambda: digits.page.keyboard.press("Space"))
    assert digits.state()["locked_pixels"] == [8 * 3 + 3]
    digits.after(lambda: digits.page.keyboard.press("Space"))
    assert "locked_pixels" not in digits.state()


def test_ink_is_only_added_or_erased(digits):
    digits.after(digits.page.get_by_label("only add ink").check)
    for which in range(1, digits.page.locator(".results canvas").count(), 2):
        assert all(red <= blue for red, _, blue in pixels(digits, which))
    digits.after(digits.page.get_by_label("only erase ink").check)
    for which in range(1, digits.page.locator(".results canvas").count(), 2):
        assert all(red >= blue for red, _, blue in pixels(digits, which))


def test_costs_of_images(digits):
    sentences = set()
    for label in ("L1: few changes", "L2: small changes", "Q: smooth changes"):
        if not digits.page.get_by_label(label).is_checked():
            digits.after(digits.page.get_by_label(label).check)
        sentences.add(digits.sentence())
        assert "confirmed by the model" in digits.badges()
    assert len(sentences) > 1
    expect(digits.page.get_by_label("Measure changes in")).to_be_disabled()


def test_the_empty_pixels_are_locked(digits):
    digits.click("Lock the empty pixels")
    assert len(digits.state()["locked_pixels"]) > 5
