"""The explorer's page in a browser: what a user does and then sees."""

import base64
import csv
import io
import json
import re

import pytest
from playwright.sync_api import expect
from support.waiting import patient

import counterleaf as cl

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser
LAPTOP = {"width": 1280, "height": 720}


# The answer


def test_a_new_user_sees_the_change_and_exports_it(enter):
    """Everything that matters is visible without scrolling, on a laptop."""
    loans = enter(viewport=LAPTOP)
    assert loans.says() == "refused"
    assert loans.headline() == "Any of these three options makes the model say granted"
    assert len(loans.ways()) == 3
    for way in loans.ways():
        assert "→" in way["text"]
        assert "%" in way["effort"] or "choice" in way["effort"]
        assert way["confirmed"].startswith("✓ confirmed: the model says granted")
        assert way["proved"].startswith("✓ proved")
    for part in ("#question", "#headline", ".option", "#strip", "[role=tablist]"):
        boxes = [node.bounding_box() for node in loans.page.locator(part).all()]
        assert all(box["y"] >= 0 and box["y"] + box["height"] <= LAPTOP["height"] for box in boxes), part
    text, name = loans.export("Page to print")
    assert name == "counterleaf-german.html"
    assert "granted" in text
    expect(loans.page.locator("#note")).to_contain_text("Saved counterleaf-german.html")


def test_the_first_level_has_no_technical_terms(enter):
    for title in ("German Credit", "Adult", "Digits"):
        explorer = enter()
        if title != "German Credit":
            explorer.scene(title)
        panels = ("header", "#question", "#answer", *(["#features"] if title != "Digits" else []))
        text = "".join(explorer.page.locator(panel).inner_text() for panel in panels) + explorer.adjust().inner_text()
        assert re.findall(r"\bL1\b|\bL2\b|\bcost\b|\bleaf\b|\bspread\b", text) == []


def test_an_option_is_selected_by_click_and_by_keys(loans):
    expect(loans.page.locator(".pick").nth(0)).to_have_attribute("aria-pressed", "true")
    loans.pick(1)
    assert [way["selected"] for way in loans.ways()] == [False, True, False]
    values = loans.values()
    assert [name for name, value in values.items() if not value.startswith("=")] == loans.changed(1)
    loans.page.keyboard.press("ArrowRight")
    assert [way["selected"] for way in loans.ways()] == [False, False, True]
    expect(loans.page.locator(".pick").nth(2)).to_be_focused()
    loans.page.keyboard.press("1")
    assert [way["selected"] for way in loans.ways()] == [True, False, False]


def test_the_selected_option_survives_a_reload_and_an_answer_that_still_has_it(loans):
    loans.pick(1)
    chosen = loans.changed(1)
    loans.page.reload()
    loans.settle()
    assert [way["selected"] for way in loans.ways()] == [False, True, False]
    loans.lock(loans.changed(2)[0])
    assert next(k for k, way in enumerate(loans.ways()) if way["selected"]) == [loans.changed(k) for k in range(3)].index(
        chosen
    )


def test_a_lock_holds_in_all_options_and_is_in_the_address(adult):
    before, name = adult.address(), adult.changed()[0]
    adult.lock(name)
    assert adult.ways()
    assert not any(name in adult.changed(k) for k in range(len(adult.ways())))
    assert adult.address() != before
    assert list(adult.state()["controls"].values()) == [{"lock": True}]
    expect(adult.button(f"lock {name}")).to_have_attribute("aria-pressed", "true")
    adult.lock(name)
    assert "controls" not in adult.state()


def test_the_details_of_an_option(loans):
    dialog = loans.details(1)
    for term in ("Cost", "Lower bound", "Leaf", "Proof", "Answered in"):
        expect(dialog.locator("dt", has_text=term)).to_have_count(1)
    dialog.get_by_role("button", name="Check the proof").click()
    expect(dialog.get_by_role("status")).to_have_text(re.compile(r"The proof holds: [\d,]+ parts? checked in \d+ ms\."))
    loans.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(loans.button("details of option 2")).to_be_focused()


def test_the_strip_limits_the_number_of_changes(adult):
    adult.prefer("small changes")
    adult.page.keyboard.press("Escape")
    buttons = adult.front()
    expect(buttons.last).to_have_attribute("aria-pressed", "true")
    label = buttons.first.inner_text()
    assert re.match(r"\d+ changes?\n", label)
    n = int(label.split()[0])
    adult.after(buttons.first.click)
    assert adult.state()["max_changes"] == n
    assert all(len(adult.changed(k)) <= n for k in range(len(adult.ways())))
    expect(buttons.first).to_have_attribute("aria-pressed", "true")
    adult.after(buttons.last.click)
    assert "max_changes" not in adult.state()


def test_fewer_options_than_requested_are_explained(loans):
    for name in loans.features():
        if name not in loans.changed(0) and loans.button(f"lock {name}").get_attribute("aria-pressed") == "false":
            loans.lock(name)
    assert len(loans.ways()) == 1
    assert loans.headline() == "This change makes the model say granted"
    expect(loans.page.locator(".option.ghost")).to_contain_text("Only one way exists")


def test_a_bar_repeats_the_option_when_the_cards_are_out_of_view(enter):
    loans = enter(viewport=LAPTOP)
    bar = loans.page.get_by_role("complementary", name="Selected option")
    expect(bar).to_be_hidden()
    loans.page.mouse.wheel(0, 900)
    expect(bar).to_contain_text("Option 1 of 3")
    assert loans.ways()[0]["text"] in bar.inner_text()
    bar.get_by_role("button", name="next option").click()
    assert loans.ways()[1]["text"] in bar.inner_text()
    bar.get_by_role("button", name="back to the answer").click()
    expect(bar).to_be_hidden()


# Settings


def test_settings(adult):
    least = adult.cost()
    for name in ("small changes", "both", "few changes"):
        adult.prefer(name)
    assert adult.cost() == least
    adult.adjust().get_by_text("Expert").click()
    adult.after(lambda: adult.adjust().get_by_label("Compare features by their").select_option("standard deviation"))
    assert adult.state()["spread"] == "std"
    adult.set("Options to show", "5")
    assert 3 < len(adult.ways()) <= 5
    adult.set("Features that may change, at most", "1")
    assert all(len(adult.changed(k)) <= 1 for k in range(len(adult.ways())))
    least = adult.cost()
    adult.set("Safety margin", "0.5")
    assert adult.cost() >= least
    expected = {"spread": "std", "count": 5, "max_changes": 1, "margin": 0.5}
    assert expected.items() <= adult.state().items()
    adult.after(adult.adjust().get_by_role("button", name="Clear all settings").click)
    assert not expected.keys() & (adult.state().keys() - {"spread", "count", "margin"})
    assert adult.question()["controls"] == {}
    assert (adult.question()["spread"], adult.question()["count"], adult.question()["margin"]) == ("range", 3, 0)


def test_how_sure_the_model_must_be(loans):
    field = loans.adjust().get_by_label("The model must be at least this sure, in %")
    loans.after(lambda: (field.fill("79"), loans.page.keyboard.press("Tab")))
    assert loans.state()["at_least"] == 0.79
    assert "79 %" in loans.headline()
    expect(field).to_have_value("79")
    for way in loans.ways():
        assert int(re.search(r"\((\d+) %\)", way["confirmed"])[1]) >= 79
    loans.after(lambda: (field.fill(""), loans.page.keyboard.press("Tab")))
    assert "at_least" not in loans.state()


def test_the_target(digits):
    group = digits.page.get_by_role("group", name="What the model should say")
    other = next(label for label in "0123456789" if label != digits.says())
    digits.after(group.get_by_role("button", name=other, exact=True).click)
    assert digits.headline().endswith(f"the model say {other}")
    assert digits.state()["target"] == [other]
    assert all(way["text"].endswith(f": {other}") for way in digits.ways())


def test_conflicting_settings_are_removed_by_a_click(enter):
    loans = enter(viewport=LAPTOP)
    loans.page.get_by_role("button", name="Clear limits and locks").click()
    for name in loans.features():
        if loans.button(f"lock {name}").get_attribute("aria-pressed") == "false":
            loans.lock(name)
    assert loans.headline() == "No allowed change makes the model say granted"
    assert "This is proved" in loans.sentence()
    sizes = []
    while loans.conflict().count():
        sizes.append(loans.conflict().locator("li").count())
        button = loans.conflict().get_by_role("button", name="Unlock").first
        assert button.bounding_box()["y"] + button.bounding_box()["height"] <= LAPTOP["height"]  # in view
        loans.after(button.click)
        assert len(sizes) < 25
    assert sizes
    assert loans.ways()


def test_the_margin_is_removed_by_a_click(adult):
    adult.set("Safety margin", "1e8")
    adult.after(adult.conflict().get_by_role("button", name=re.compile("Remove the margin")).click)
    assert adult.ways()[0]["proved"] == "✓ proved: no smaller allowed change works"
    expect(adult.adjust().get_by_label("Safety margin")).to_have_value("0")


# Rows


def test_rows_and_edits(loans):
    page, field = loans.page, loans.page.locator("#row")
    first = int(field.input_value())
    loans.click("next row")
    expect(field).to_have_value(str(first + 1))
    loans.click("previous row")
    expect(field).to_have_value(str(first))
    loans.click("next refused")
    assert loans.says() == "refused"
    loans.after(lambda: (field.fill("7"), page.keyboard.press("Enter")))
    assert loans.state()["row"] == 7  # rows are counted from 0 everywhere
    loans.after(lambda: (page.get_by_label("age now").fill("44"), page.keyboard.press("Tab")))
    assert loans.state()["edits"] == {"age": 44}
    loans.after(lambda: page.get_by_label("purpose now").select_option("education"))
    assert set(loans.state()["edits"]) == {"age", "purpose"}
    expect(loans.button("reset edits")).to_have_text("2 values edited: reset")
    loans.click("reset edits")
    assert "edits" not in loans.state()
    loans.after(lambda: (field.fill("0"), page.keyboard.press("Enter")))
    expect(loans.button("previous row")).to_be_disabled()
    loans.after(lambda: (field.fill("199"), page.keyboard.press("Enter")))
    expect(loans.button("next row")).to_be_disabled()


# Steps


def test_undo_and_redo_by_buttons_by_keys_and_by_the_browser(loans):
    first = loans.shown()
    loans.lock(loans.changed()[0])
    second = loans.shown()
    assert second != first
    ways = [
        (lambda: loans.page.locator("#undo").click(), lambda: loans.page.locator("#redo").click()),
        (lambda: loans.page.keyboard.press("Control+z"), lambda: loans.page.keyboard.press("Control+Shift+Z")),
        (lambda: loans.page.keyboard.press("Control+z"), lambda: loans.page.keyboard.press("Control+y")),
        (loans.page.go_back, loans.page.go_forward),
    ]
    for back, forward in ways:
        loans.after(back)
        assert loans.shown() == first
        loans.after(forward)
        assert loans.shown() == second
    expect(loans.page.locator("#redo")).to_be_disabled()
    loans.after(loans.page.locator("#undo").click)
    expect(loans.page.locator("#undo")).to_be_disabled()


def test_a_link_opens_the_same_question(enter):
    first = enter().scene("Adult")
    first.lock(first.changed()[0])
    first.prefer("small changes")
    first.page.keyboard.press("Escape")
    first.click("next row")
    second = enter(first.address())
    assert second.shown() == first.shown()
    assert second.state() == first.state()


def test_a_copied_link_opens_in_another_browser(browser, enter):
    """Which has no access yet; the link contains the question and a token."""
    explorer = enter(permissions=["clipboard-read", "clipboard-write"])
    explorer.lock(explorer.changed()[0])
    explorer.page.locator("summary", has_text="Export").click()
    explorer.button("Copy the link").click()
    expect(explorer.page.locator("#note")).to_contain_text("Link copied")
    address = explorer.page.evaluate("navigator.clipboard.readText()")
    context = browser.new_context()
    other = type(explorer)(context.new_page(), explorer.origin).open(address)
    assert other.question() == explorer.question()
    assert "token" not in other.address()
    context.close()


def test_an_unknown_link_opens_the_first_model(loans):
    for hash in ("#s=nonsense", "#s=e30", "#other", "#s=eyJzY2VuZSI6Im5vd2hlcmUifQ"):
        loans.page.goto("about:blank")
        loans.open(f"/{hash}")
        assert loans.says() == "refused"
        expect(loans.page.locator("#note")).to_contain_text("The link does not match")


def test_a_link_with_an_invalid_question_shows_the_error(enter):
    """An unknown feature, or a row after the last one."""
    for wrong, message in (({"controls": {"ghost": {"lock": True}}}, "ghost"), ({"row": 10**6}, "expected 0 to")):
        text = base64.urlsafe_b64encode(json.dumps({"scene": "german", **wrong}).encode()).decode().rstrip("=")
        explorer = enter(f"/#s={text}")
        expect(explorer.reason()).to_contain_text(message)
        assert explorer.ways() == []  # an invalid question has no answer
        explorer.page.context.close()
        assert {re.search(r"\d{3}", error)[0] for error in explorer.errors} == {"422"}
        explorer.errors.clear()


def test_a_reload_keeps_the_steps(loans):
    loans.lock(loans.changed()[0])
    loans.lock(loans.changed()[0])
    shown = loans.shown()
    loans.page.reload()
    loans.settle()
    assert loans.shown() == shown
    assert loans.steps() == 2
    for _ in range(2):
        loans.after(loans.page.locator("#undo").click)
    assert "controls" not in loans.state()


# Files


def test_the_files(adult):
    text, name = adult.export("Table (CSV)")
    lines = list(csv.DictReader(io.StringIO(text)))
    assert name == "counterleaf-adult.csv"
    assert [line["row"] for line in lines] == ["source", "1", "2", "3"]
    text, name = adult.export("JSON with the proof")
    answer = cl.Explanation.from_json(text)
    assert answer.certificate.check()
    assert [adult.cost(k) for k in range(len(answer))] == [pytest.approx(c.cost, rel=1e-3) for c in answer]
    assert [float(line["cost"]) for line in lines[1:]] == [c.cost for c in answer]
    text, name = adult.export("Page to print")
    assert text.startswith("<!doctype html>")
    assert adult.page.locator("details[open]").count() == 0


# Speed


@pytest.mark.timed
def test_answers_appear_within_a_tenth_of_a_second(adult):
    """The 95th percentile of many clicks, in the best of three rounds because the machine may be busy."""
    adult.adjust()
    labels = [f"lock {name}" for name in adult.features() for _ in range(2)]
    labels += ["next row", "next row", "previous row"] * 8
    finds = [f'//button[@aria-label="{label}"]' for label in labels]
    finds += [f'//input[@name="cost" and @value="{cost}"]' for cost in ("L2", "mixed", "L1") * 4]
    rounds = []
    for _ in range(3):
        answered, painted = zip(*(adult.time(find) for find in finds), strict=True)
        rounds.append(_quantile(answered, 0.95))
        figures = f"{len(answered)} clicks on Adult, from click to answer: median {_quantile(answered, 0.5):.0f} ms, "
        figures += f"p95 {_quantile(answered, 0.95):.0f} ms, most {max(answered):.0f} ms; until painted: "
        figures += f"median {_quantile(painted, 0.5):.0f} ms, p95 {_quantile(painted, 0.95):.0f} ms"
        print(f"\n{figures}")
        if rounds[-1] < 100:
            break
    assert len(finds) >= 60
    assert min(rounds) < patient(100), figures


def _quantile(times, share):
    return sorted(times)[int(share * len(times))]
