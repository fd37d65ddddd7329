"""The explorer's page in a browser: what a user does and then sees."""

import base64
import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect

import counterleaf as cl

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser


def test_a_new_user_locks_two_features_and_exports_the_answer(loans):
    """Open the page, lock two features, and click twice for a file."""
    expect(loans.page.locator(".source-label")).to_have_text("refused")
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


def test_only_increase_and_only_decrease(adult):
    name = adult.changed()[0]
    rises = "▲" in adult.cells(name)[0]
    adult.click(f"{name} only {'decrease' if rises else 'increase'}")
    assert not any(("▲" if rises else "▼") in cell for cell in adult.cells(name))
    adult.click(f"{name} only {'increase' if rises else 'decrease'}")
    assert not any(("▼" if rises else "▲") in cell for cell in adult.cells(name))


def slide(explorer, label, direction):
    slider = explorer.page.get_by_role("slider", name=label)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    start, end = (0.95, 0.3) if direction == "down" else (0.05, 0.7)
    page = explorer.page
    page.mouse.move(box["x"] + start * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    for k in range(1, 13):
        page.mouse.move(box["x"] + (start + (end - start) * k / 12) * box["width"], box["y"] + box["height"] / 2)
        page.wait_for_timeout(40)


def test_a_slider_updates_while_it_moves_and_is_one_step(adult):
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


def test_a_slider_with_the_keyboard(adult):
    adult.limits("hours-per-week")
    slider = adult.page.get_by_role("slider", name="at least, hours-per-week")
    slider.focus()
    low = adult.page.evaluate("node => Number(node.value)", slider.element_handle())
    adult.after(lambda: slider.press("ArrowRight"))
    adult.after(lambda: slider.press("ArrowRight"))
    assert adult.state()["controls"]["hours-per-week"] == {"low": low + 2}


def test_limits_by_fields_steps_and_multipliers(adult):
    name = adult.changed()[0]
    adult.limits(name)
    adult.after(lambda: (adult.page.get_by_label("At least", exact=True).fill("1"), adult.page.keyboard.press("Tab")))
    assert adult.state()["controls"][name]["low"] == 1
    adult.after(lambda: (adult.page.get_by_label("In steps of").fill("1000"), adult.page.keyboard.press("Tab")))
    assert adult.state()["controls"][name]["step"] == 1000
    slider = adult.page.get_by_role("slider", name="How hard to change")
    slider.focus()
    adult.after(lambda: slider.press("End"))
    assert adult.state()["controls"][name]["multiplier"] == 10
    expect(slider).to_have_attribute("aria-valuetext", "hardest")
    adult.click("No limits")
    assert "controls" not in adult.state()


def test_allowed_categories(adult):
    adult.limits("education")
    group = adult.page.get_by_role("group", name="Allowed values")
    expect(group.get_by_role("checkbox", checked=True)).to_have_count(group.get_by_role("checkbox").count())
    adult.after(lambda: group.get_by_role("checkbox", name="Masters").click())
    assert len(adult.state()["controls"]["education"]["allowed"]) == group.get_by_role("checkbox").count() - 1
    adult.click("No limits")
    assert "controls" not in adult.state()


def test_undo_and_redo_by_buttons_by_keys_and_by_the_browser(loans):
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
    for back, forward in ways:
        loans.after(back)
        assert loans.shown() == first
        loans.after(forward)
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


def test_an_unknown_link_opens_the_first_model(loans):
    for hash in ("#s=nonsense", "#s=e30", "#other", "#s=eyJzY2VuZSI6Im5vd2hlcmUifQ"):
        loans.page.goto("about:blank")
        loans.open(f"/{hash}")
        expect(loans.page.locator(".source-label")).to_have_text("refused")


def test_a_link_with_an_invalid_question_shows_the_error(enter):
    """An unknown feature, or a row after the last one."""
    for wrong, message in (({"controls": {"ghost": {"lock": True}}}, "ghost"), ({"row": 10**6}, "expected 0 to")):
        text = base64.urlsafe_b64encode(json.dumps({"scene": "german", **wrong}).encode()).decode().rstrip("=")
        explorer = enter(f"/#s={text}")
        expect(explorer.page.locator("#sentence")).to_contain_text(message)
        expect(explorer.page.locator("#badges")).to_be_empty()  # an invalid question has no answer
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
    other = next(label for label in "0123456789" if label != digits.page.locator(".source-label").inner_text())
    digits.click(other)
    assert f"#1: {other}" in digits.page.locator(".results figcaption").first.inner_text()
    assert digits.state()["target"] == [other]


def test_costs_alternatives_features_and_margin(adult):
    page, costs = adult.page, adult.costs()
    for label in ("L2: small changes", "mixed: both", "L1: few changes"):
        adult.after(lambda label=label: page.get_by_label(label).check())
    assert adult.costs() == costs
    adult.after(lambda: page.get_by_label("Measure changes in").select_option("standard deviations"))
    assert adult.state()["spread"] == "std"
    adult.after(lambda: (page.get_by_label("Alternatives", exact=True).fill("5"), page.keyboard.press("Tab")))
    assert len(adult.costs()) == 5
    assert adult.costs() == sorted(adult.costs())
    adult.after(lambda: (page.get_by_label("Max. features changed").fill("1"), page.keyboard.press("Tab")))
    for k in range(len(adult.costs())):
        assert sum(adult.cells(name)[k] != "=" for name in adult.features()) <= 1
    cheapest = adult.costs()[0]
    adult.after(lambda: (page.get_by_label("Safety margin").fill("2"), page.keyboard.press("Tab")))
    assert min(adult.costs(), default=cheapest) >= cheapest
    expected = {"spread": "std", "count": 5, "max_changes": 1, "margin": 2}
    assert expected.items() <= adult.state().items()


def test_rows_and_edits(loans):
    page, first = loans.page, int(loans.page.get_by_label("Row", exact=True).input_value())
    loans.click("next row")
    expect(page.get_by_label("Row", exact=True)).to_have_value(str(first + 1))
    loans.click("previous row")
    expect(page.get_by_label("Row", exact=True)).to_have_value(str(first))
    loans.click("next “refused”")
    expect(page.locator(".source-label")).to_have_text("refused")
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


def test_conflicting_settings_are_removed_by_a_click(loans):
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


def test_the_margin_is_removed_by_a_click(adult):
    adult.after(lambda: (adult.page.get_by_label("Safety margin").fill("1e8"), adult.page.keyboard.press("Tab")))
    adult.click("Remove the margin")
    assert "proved: nothing costs less" in adult.badges()
    expect(adult.page.get_by_label("Safety margin")).to_have_value("0")


@pytest.mark.parametrize("title", ["German Credit", "Digits"])
def test_the_proof_is_checked(enter, title):
    explorer = enter()
    if title == "Digits":
        explorer.scene(title)
    explorer.button("check the proof").click()
    expect(explorer.page.locator("#badges")).to_contain_text(re.compile(r"the proof holds: [\d,]+ parts checked in \d+ ms"))


def test_the_filter_of_the_features(adult):
    adult.page.get_by_label("only features that change or have settings").check()
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


def test_steps_are_compared_pinned_and_exported(loans):
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
    panel.get_by_role("button", name="pin step 2").click()
    panel.get_by_label("only pinned steps").check()
    expect(table.get_by_role("button", name=re.compile("show step"))).to_have_count(1)
    panel.get_by_label("only pinned steps").uncheck()
    loans.after(panel.get_by_role("button", name="show step 1").click)
    expect(loans.page.get_by_role("tab", name="Explore")).to_have_attribute("aria-selected", "true")
    assert "controls" not in loans.state()
    loans.button("☆ Pin").click()
    expect(loans.button("★ Pinned")).to_have_attribute("aria-pressed", "true")
    loans.page.reload()
    expect(loans.button("★ Pinned")).to_be_visible()


# Speed

CLICK = """async ([find, pause]) => {
    const node = document.evaluate(find, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
    const start = performance.now();
    const answered = new Promise((done) => {
        const watch = new MutationObserver(() => { watch.disconnect(); done(performance.now() - start); });
        watch.observe(document.body, { attributes: true, attributeFilter: ["data-answered"] });
    });
    node.click();
    const time = await answered;
    const seen = await new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now() - start))));
    await new Promise((done) => setTimeout(done, pause));
    return [time, seen];
}"""


@pytest.mark.timed
def test_answers_appear_within_a_tenth_of_a_second(adult):
    """The 95th percentile of many clicks, in the best of three rounds because the machine may be busy."""
    names = adult.features()
    labels = [f"lock {name}" for name in names for _ in range(2)]
    labels += [
        f"{name} only {verb}"
        for name in ("age", "hours-per-week", "capital-gain")
        for verb in ("increase", "decrease", "decrease")
    ]
    labels += ["next row", "next row", "previous row"] * 8
    finds = [f'//button[@aria-label="{label}"]' for label in labels]
    finds += [f'//input[@name="cost" and @value="{cost}"]' for cost in ("L2", "mixed", "L1") * 4]
    rounds = []
    for _ in range(3):
        answered, painted = zip(*(adult.page.evaluate(CLICK, [find, 30]) for find in finds), strict=True)
        rounds.append(_quantile(answered, 0.95))
        figures = f"{len(answered)} clicks on Adult, from click to answer: median {_quantile(answered, 0.5):.0f} ms, "
        figures += f"p95 {_quantile(answered, 0.95):.0f} ms, most {max(answered):.0f} ms; until painted: "
        figures += f"median {_quantile(painted, 0.5):.0f} ms, p95 {_quantile(painted, 0.95):.0f} ms"
        print(f"\n{figures}")
        if rounds[-1] < 100:
            break
    assert len(finds) >= 60
    assert min(rounds) < 100, figures


def _quantile(times, share):
    return sorted(times)[int(share * len(times))]
