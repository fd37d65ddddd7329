"""The table of features in a browser: values, tracks, chips, locks, search, order and widths."""

import re

import pytest
from playwright.sync_api import expect
from support.feature_cases import HOSTILE, SCHEMA, control, drag, end, leave, line, now, order, values_in_ways
from support.page_cases import cookies_of, running, violations, windows

import counterleaf as cl

pytest_plugins = ["support.page_fixtures", "support.feature_fixtures"]
pytestmark = pytest.mark.browser


# Tracks


def test_the_end_of_a_range_is_dragged(kinds):
    """Answers follow the pointer, the release is one step, and the limit holds in every option."""
    handle, steps = end(kinds, "at least", "Credit amount"), kinds.steps()
    width = line(kinds, "Credit amount").locator(".inner").bounding_box()["width"]
    before = kinds.answered()
    drag(kinds, handle, 0.2 * width, release=False)
    kinds.settle(before)
    assert kinds.steps() == steps
    kinds.after(kinds.page.mouse.up)
    low = control(kinds, "amount")["low"]
    assert 3_500 <= low <= 4_500
    assert low % 50 == 0
    assert kinds.steps() == steps + 1
    expect(handle).to_have_attribute("aria-valuetext", f"{low:,} DM".replace(" ", " "))
    expect(line(kinds, "Credit amount").locator(".settings-text")).to_have_text(f"at least {low:,} DM")
    values = values_in_ways(kinds, "amount")
    assert values
    assert min(values) >= low


def test_a_limit_that_excludes_the_first_option(kinds):
    """The end cannot pass the other end, and Escape undoes a movement."""
    low = end(kinds, "at least", "Credit amount")
    low.focus()
    kinds.after(lambda: kinds.page.keyboard.press("End"))
    assert control(kinds, "amount") == {"low": 20_000}
    assert not [value for value in values_in_ways(kinds, "amount") if value < 20_000]
    kinds.after(lambda: kinds.page.keyboard.press("Home"))
    assert control(kinds, "amount") is None
    steps = kinds.steps()
    kinds.after(lambda: (kinds.page.keyboard.down("ArrowRight"), kinds.page.keyboard.press("Escape")))
    kinds.page.keyboard.up("ArrowRight")
    assert kinds.steps() == steps
    expect(low).to_have_attribute("aria-valuetext", re.compile(r", the end of the range$"))


def test_the_ends_with_the_keyboard(kinds):
    high = end(kinds, "at most", "Due date")
    high.focus()
    for key, value in (("ArrowLeft", 19_990), ("PageDown", 19_890), ("ArrowUp", 19_900)):
        kinds.after(lambda key=key: kinds.page.keyboard.press(key))
        assert control(kinds, "due") == {"high": value}
    expect(high).to_have_attribute("aria-valuetext", "2024-06-26")
    expect(high).to_be_focused()
    kinds.after(lambda: kinds.page.keyboard.press("End"))
    assert control(kinds, "due") is None


def test_values_beyond_the_data_are_shown(kinds):
    kinds.button("more settings of Credit amount").click()
    field = kinds.page.get_by_label("At most", exact=True)
    kinds.after(lambda: (field.fill("30,000 DM"), kinds.page.keyboard.press("Enter")))
    assert control(kinds, "amount") == {"high": 30_000}
    expect(line(kinds, "Credit amount").locator(".track-ends")).to_contain_text("≤ 30,000")
    inner, bars = (line(kinds, "Credit amount").locator(part).bounding_box() for part in (".inner", ".bars"))
    assert bars["width"] < 0.7 * inner["width"]
    low = kinds.page.get_by_label("At least", exact=True)
    kinds.after(lambda: (low.fill("40000"), kinds.page.keyboard.press("Enter")))
    assert control(kinds, "amount") == {"low": 40_000, "high": 40_000}
    kinds.click("clear the settings of Credit amount")
    assert control(kinds, "amount") is None


def test_the_marks_of_row_and_options(kinds):
    track = line(kinds, "Credit amount").locator(".track")
    expect(track.locator(".now")).to_be_visible()
    if not track.locator(".way-arrow").is_visible():
        expect(track.locator(".other").first).to_be_visible()
    else:
        now_box, arrow = track.locator(".now").bounding_box(), track.locator(".way-arrow").bounding_box()
        assert arrow["x"] < now_box["x"]  # the amount decreases
        expect(line(kinds, "Credit amount").locator("td.to")).to_contain_text("8,000 DM")


def test_more_settings(kinds):
    kinds.button("more settings of Credit amount").click()
    kinds.after(kinds.page.get_by_label("only decrease").check)
    step = kinds.page.get_by_label("In steps of")
    kinds.after(lambda: (step.fill("500"), kinds.page.keyboard.press("Enter")))
    kinds.after(lambda: kinds.page.get_by_label("How hard to change").press("ArrowRight"))
    assert control(kinds, "amount") == {"direction": "only_decrease", "step": 500, "multiplier": 2}
    expect(line(kinds, "Credit amount").locator(".settings-text")).to_have_text(
        "only decrease · in steps of 500 · harder to change"
    )


def test_a_model_without_data(browser, tmp_path):
    """The axis is around the row's value and does not shrink to the limits."""
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    (tmp_path / "model.json").write_text(tree.to_json())
    with (
        running(str(tmp_path / "model.json")) as address,
        windows(browser, address.partition("/?")[0], cookies_of(address)) as enter,
    ):
        explorer = enter()
        label = order(explorer)[0]
        ends = line(explorer, label).locator(".track-ends span")
        first = [float(text) for text in ends.all_inner_texts()]
        assert first[0] < 0 < first[1]
        handle = end(explorer, "at most", label)
        handle.focus()
        explorer.after(lambda: explorer.page.keyboard.press("PageDown"))
        assert float(ends.first.inner_text()) == first[0]
        assert 0 < next(iter(explorer.state()["controls"].values()))["high"] < first[1]


# Values


def test_numbers_are_grouped_and_plain_while_they_are_edited(kinds):
    field = now(kinds, "Credit amount")
    expect(field).to_have_value("12,000 DM")
    field.focus()
    expect(field).to_have_value("12000")
    kinds.after(lambda: (field.fill("9,500"), kinds.page.keyboard.press("Tab")))
    expect(field).to_have_value("9,500 DM")
    assert kinds.state()["edits"] == {"amount": 9500}
    kinds.click("reset Credit amount")
    expect(field).to_have_value("12,000 DM")
    expect(kinds.page.get_by_role("button", name="reset Credit amount")).to_be_hidden()
    assert "edits" not in kinds.state()
    expect(now(kinds, "share")).to_have_value("0.333333")
    now(kinds, "share").focus()
    kinds.page.keyboard.press("Tab")
    assert "edits" not in kinds.state()


def test_a_text_that_is_not_a_number_is_refused(kinds):
    field = now(kinds, "Credit amount")
    field.fill("many")
    field.press("Enter")
    assert "Type a number" in field.evaluate("node => node.validationMessage")
    expect(field).to_have_value("12000")
    field.fill("")
    field.press("Enter")
    assert "cannot be missing" in field.evaluate("node => node.validationMessage")
    expect(field).to_have_value("12000")
    assert field.evaluate("node => node.validity.valid")
    assert "edits" not in kinds.state()


def test_dates(kinds):
    field = now(kinds, "Due date")
    expect(field).to_have_attribute("type", "date")
    expect(field).to_have_value("2023-08-31")
    kinds.after(lambda: (field.fill("2023-10-01"), kinds.page.keyboard.press("Tab")))
    assert kinds.state()["edits"] == {"due": 19_631}
    expect(field).to_have_value("2023-10-01")


def test_a_gap(gaps):
    field = now(gaps, "income")
    expect(field).to_have_value("")
    expect(field).to_have_attribute("placeholder", "(missing)")
    expect(line(gaps, "income").locator(".hint")).to_contain_text(re.compile(r"^counts as \d,\d{3}"))
    assert field.evaluate("node => node.validity.valid")
    gaps.after(lambda: (field.fill("4000"), gaps.page.keyboard.press("Tab")))
    expect(line(gaps, "income").locator(".hint")).to_be_hidden()
    gaps.after(lambda: (field.fill(""), gaps.page.keyboard.press("Tab")))
    assert "edits" not in gaps.state()
    expect(line(gaps, "income").locator(".hint")).to_be_visible()


# Categories


def chips(explorer, label):
    return explorer.page.get_by_role("toolbar", name=f"allowed values of {label}").get_by_role("button")


def test_chips_of_a_few_values(kinds):
    assert chips(kinds, "school").evaluate_all("nodes => nodes.map((node) => node.querySelector('.chip-text').innerText)") == [
        "none",
        "basic",
        "high",
        "college",
    ]
    expect(chips(kinds, "school").nth(1)).to_have_accessible_name("basic (now)")
    expect(chips(kinds, "owner")).to_have_count(2)
    kinds.after(chips(kinds, "school").nth(3).click)
    assert control(kinds, "school") == {"allowed": [0, 1, 2]}
    expect(chips(kinds, "school").nth(3)).to_have_attribute("aria-pressed", "false")
    kinds.button("more settings of school").click()
    kinds.click("allow only the current value of school")
    assert control(kinds, "school") == {"allowed": [1]}
    chips(kinds, "school").nth(1).click()  # the last allowed value stays
    assert control(kinds, "school") == {"allowed": [1]}
    kinds.click("allow all values of school")
    assert control(kinds, "school") is None


def test_the_arrow_keys_move_between_chips(kinds):
    row_value = chips(kinds, "school").nth(1)
    now(kinds, "school").focus()
    kinds.page.keyboard.press("Tab")
    expect(row_value).to_be_focused()
    kinds.page.keyboard.press("ArrowRight")
    expect(chips(kinds, "school").nth(2)).to_be_focused()
    kinds.after(lambda: kinds.page.keyboard.press("Space"))
    assert control(kinds, "school") == {"allowed": [0, 1, 3]}
    expect(chips(kinds, "school").nth(2)).to_be_focused()
    kinds.page.keyboard.press("End")
    kinds.page.keyboard.press("ArrowRight")
    expect(chips(kinds, "school").first).to_be_focused()
    kinds.page.keyboard.press("Tab")
    expect(kinds.button("lock school")).to_be_focused()


def test_chips_of_many_values(kinds):
    opener = line(kinds, "country").locator(".opener")
    expect(opener).to_have_text("all 45 allowed")
    marked = line(kinds, "country").locator(".chip:visible")
    assert set(marked.locator(".chip-text").all_inner_texts()) == {"country 07", "country 11"}
    opener.click()
    expect(marked).to_have_count(45)
    kinds.page.get_by_label("find a value of country").fill("country 4")
    expect(marked).to_have_count(5)
    kinds.after(marked.first.click)
    expect(opener).to_have_text("44 of 45 allowed")
    kinds.click("allow only the current value of country")
    expect(opener).to_have_text("1 of 45 allowed")
    assert values_in_ways(kinds, "country") == []
    opener.click()
    expect(marked).to_have_count(1)


# Locks, search and order


def test_lock_all_others(kinds):
    changed = kinds.page.locator("tbody.changed .label").all_inner_texts()
    assert len(changed) == 1
    kinds.click("Lock all others")
    locked = [name for name, settings in kinds.state()["controls"].items() if settings == {"lock": True}]
    assert len(locked) == len(SCHEMA) - 1
    assert kinds.page.locator("tbody.changed .label").all_inner_texts() == changed
    expect(kinds.button("Lock all others")).to_be_disabled()
    kinds.click("Unlock all")
    assert "controls" not in kinds.state()
    expect(kinds.button("Unlock all")).to_be_disabled()


def test_search_and_filter(kinds):
    search = kinds.page.get_by_label("Find a feature")
    search.fill("borrow")  # in the description
    assert order(kinds) == ["Credit amount"]
    search.fill("nothing like it")
    expect(kinds.page.get_by_text("No feature matches “nothing like it”.")).to_be_visible()
    search.fill("")
    kinds.page.get_by_label("only those that change or have settings").check()
    assert order(kinds) == kinds.page.locator("tbody.changed .label").all_inner_texts()
    kinds.click("lock " + order(kinds)[0])
    assert len(order(kinds)) == 2
    kinds.click("Clear limits and locks")
    assert len(order(kinds)) == 1


def test_changed_features_come_first_but_do_not_move_under_the_hand(kinds):
    first = order(kinds)
    assert kinds.page.locator("tbody.changed .label").all_inner_texts() == first[:1]
    kinds.click(f"lock {first[0]}")
    assert order(kinds) == first  # the pointer is in the table
    changed = kinds.page.locator("tbody.changed .label").all_inner_texts()
    assert changed != first[:1]
    leave(kinds)
    assert order(kinds)[:2] == [*changed, first[0]]
    kinds.button(f"lock {first[0]}").focus()
    kinds.after(lambda: kinds.page.keyboard.press("Enter"))
    assert order(kinds)[:2] == [*changed, first[0]]  # the keyboard is in the table
    expect(kinds.button(f"lock {first[0]}")).to_be_focused()
    leave(kinds)
    names = [" ".join((feature.label or feature.name.replace("_", " ")).split()) for feature in SCHEMA]
    assert order(kinds) == [*changed, *(name for name in names if name not in changed)]


def test_columns_do_not_move(kinds):
    def columns():
        cells = "nodes => nodes.map((node) => [node.offsetLeft, node.offsetWidth])"
        return kinds.page.locator("tbody.feature .line > *").evaluate_all(cells)[:5]

    before = columns()
    kinds.click("lock Credit amount")
    kinds.click("lock Due date")
    assert columns() == before


# Names, widths and accessibility


def test_names_are_text(kinds):
    assert kinds.page.locator("main img[src=x]").count() == 0
    for name, shown in (("__proto__", "  proto  "), (HOSTILE, HOSTILE)):
        button = kinds.page.get_by_role("button", name=f"lock {shown.strip()}", exact=True)
        kinds.after(button.click)
        assert control(kinds, name) == {"lock": True}
        expect(button).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("width", [390, 768, 1280, 1440])
def test_no_width_needs_a_sideways_scroll(enter_kinds, width):
    explorer = enter_kinds(viewport={"width": width, "height": 800})
    for label in ("Credit amount", "country", "school"):
        explorer.button(f"more settings of {label}").click()
    line(explorer, "country").locator(".opener").click()
    end(explorer, "at most", "Credit amount").focus()
    assert explorer.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    wide = """nodes => nodes.filter((node) => {
        const { left, right } = node.getBoundingClientRect();
        return right - left > 0 && (left < 0 || right > document.documentElement.clientWidth);
    }).map((node) => node.outerHTML.slice(0, 100))"""
    assert explorer.page.locator("#features *:visible").evaluate_all(wide) == []
    small = """nodes => nodes.filter((node) => {
        const { width, height } = node.getBoundingClientRect();
        return width > 0 && (width < 24 || height < 24);
    }).map((node) => node.outerHTML.slice(0, 100))"""
    targets = "#features button:visible, #features select:visible, #features [role=slider], #features input.value:visible"
    assert explorer.page.locator(targets).evaluate_all(small) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_table_is_accessible(enter_kinds, scheme):
    explorer = enter_kinds(color_scheme=scheme)
    explorer.click("lock school")
    explorer.after(chips(explorer, "owner").first.click)
    for label in ("Credit amount", "Due date", "country", "school"):
        explorer.button(f"more settings of {label}").click()
    line(explorer, "country").locator(".opener").click()
    end(explorer, "at most", "Credit amount").focus()
    explorer.after(lambda: explorer.page.keyboard.press("PageDown"))
    assert violations(explorer.page, "#features") == []
