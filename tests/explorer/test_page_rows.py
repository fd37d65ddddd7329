"""All rows, groups, and the dialog that opens models and rows, in a browser."""

import json
import re

import pandas as pd
import pytest
from playwright.sync_api import expect
from support.explorer_cases import bundled_session, make_question
from support.page_cases import violations

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}
HOSTILE = "<img src=x onerror=alert(1)>"


def all_rows(explorer):
    """Open the tab and wait for all efforts."""
    panel = explorer.tab("All rows")
    expect(panel.locator("tbody")).not_to_contain_text("…")
    return panel


def first_question():
    """The question with which German Credit opens."""
    controls = {name: {"lock": True} for name in bundled_session().scene("german").locked_features}
    return make_question("german", controls=controls)


def loan_efforts():
    question = make_question(
        "german", controls={name: {"lock": True} for name in bundled_session().scene("german").locked_features}
    )
    return bundled_session().handle("efforts", {"question": question, "start": 0})


def column(panel, k):
    return panel.locator(f"tbody tr:not(.rows-space) > :nth-child({k})").all_inner_texts()


def test_the_table_lists_what_the_session_finds(loans):
    panel = all_rows(loans)
    found = loan_efforts()
    expect(panel.get_by_role("status").first).to_have_text("200 rows")
    shown = int(panel.locator("tbody tr:not(.rows-space)").count())
    assert 10 < shown < 60  # only the visible lines and some more exist
    assert column(panel, 1)[:3] == ["0", "1", "2"]
    words = ["granted" if k == 0 else "refused" for k in found["class_index"]]
    assert column(panel, 2) == words[:shown]
    assert panel.get_by_role("table").get_attribute("aria-rowcount") == "201"


def test_filters_in_plain_words(loans):
    panel = all_rows(loans)
    found = loan_efforts()
    panel.get_by_label("The model says").select_option("refused")
    refused = [k for k, index in enumerate(found["class_index"]) if index == 1]
    expect(panel.get_by_role("status").first).to_have_text(f"{len(refused)} of 200 rows")
    panel.get_by_label("and getting there").select_option("takes at most …")
    within = [k for k in refused if found["effort"][k] is not None and found["effort"][k] <= 0.1]
    expect(panel.get_by_role("status").first).to_have_text(f"{len(within)} of 200 rows")
    assert [int(text) for text in column(panel, 1)] == within
    panel.get_by_label("Effort in percent").fill("5")
    closer = [k for k in within if found["effort"][k] <= 0.05]
    expect(panel.get_by_role("status").first).to_have_text(f"{len(closer)} of 200 rows")
    panel.get_by_label("where").select_option("Age")
    panel.get_by_label("Age to").fill("30")
    ages = bundled_session().scene("german").rows["age"].tolist()
    young = [k for k in closer if ages[k] <= 30]
    expect(panel.get_by_role("status").first).to_have_text(f"{len(young)} of 200 rows")
    panel.get_by_role("button", name="Clear the filter").click()
    expect(panel.get_by_role("status").first).to_have_text("200 rows")


def test_sorting_and_steps_between_matches(loans):
    panel = all_rows(loans)
    panel.get_by_label("The model says").select_option("refused")
    panel.get_by_role("columnheader", name="Effort").get_by_role("button").click()
    expect(panel.locator("th[aria-sort=ascending]")).to_have_text(re.compile("Effort"))
    efforts = [float(text.removesuffix(" %")) for text in column(panel, 3)]
    assert efforts == sorted(efforts)
    order = [int(text) for text in column(panel, 1)]
    at = order.index(loans.state()["row"])
    loans.after(panel.get_by_role("button", name=re.compile("^Next")).click)
    assert loans.state()["row"] == order[at + 1]
    loans.after(panel.get_by_role("button", name=re.compile("Previous row$")).click)
    assert loans.state()["row"] == order[at]
    panel.get_by_role("columnheader", name="Effort").get_by_role("button").click()
    expect(panel.locator("th[aria-sort=descending]")).to_have_text(re.compile("Effort"))
    assert column(panel, 1)[0] != str(order[0])


POINT = """() => {
    const canvas = document.querySelector(".rows-canvas").getBoundingClientRect();
    return [canvas.left, canvas.top, canvas.width, canvas.height];
}"""


def test_a_click_on_a_point_explains_its_row(loans):
    panel = all_rows(loans)
    panel.get_by_label("Horizontal axis").select_option("Row number")
    panel.get_by_label("Vertical axis").select_option("Effort")
    panel.get_by_label("The model says").select_option("refused")
    loans.rest()
    canvas = panel.locator(".rows-canvas")
    canvas.scroll_into_view_if_needed()
    left, top, width, height = loans.page.evaluate(POINT)
    chosen, tip = None, panel.locator(".rows-tip")
    for x in range(int(width) - 20, 60, -6):
        for y in range(20, int(height) - 60, 6):
            loans.page.mouse.move(left + x, top + y)
            if tip.is_visible():
                chosen = int(re.match(r"Row (\d+): refused", tip.inner_text())[1])
                break
        if chosen is not None:
            break
    assert chosen is not None
    assert "Effort: " in tip.inner_text()
    loans.after(lambda: loans.page.mouse.click(left + x, top + y))
    assert loans.state()["row"] == chosen
    expect(panel.locator("tr[aria-current=true]")).to_contain_text(str(chosen))


def test_the_table_works_with_the_keyboard(adult):
    panel = all_rows(adult)
    first = panel.get_by_role("button", name="Explain row 0", exact=True)
    first.focus()
    for _ in range(3):
        adult.page.keyboard.press("ArrowDown")
    expect(panel.get_by_role("button", name="Explain row 3", exact=True)).to_be_focused()
    adult.page.keyboard.press("End")
    expect(panel.get_by_role("button", name="Explain row 15059", exact=True)).to_be_focused()
    adult.page.keyboard.press("PageUp")
    adult.page.keyboard.press("Home")
    adult.page.keyboard.press("ArrowDown")
    adult.after(lambda: adult.page.keyboard.press("Enter"))
    assert adult.state()["row"] == 1
    expect(panel.get_by_role("button", name="Explain row 1", exact=True)).to_be_focused()


def test_efforts_follow_the_question(loans):
    panel = all_rows(loans)
    assert "refused" in panel.locator("tr[aria-current=true]").inner_text()
    before = column(panel, 3)
    loans.click("refused")  # the goal
    expect(panel.locator("tbody tr:first-child td").nth(1)).to_have_text(re.compile("%"))
    after = column(panel, 3)
    assert before != after
    assert after[0] != "none"


def test_groups_show_the_figures_of_the_session(loans):
    panel = loans.tab("Groups")
    panel.get_by_label("Groups by").select_option("Age")
    panel.get_by_label("Cut at").fill("25; 40")
    panel.get_by_role("button", name="Apply").click()
    expect(panel.locator("tbody th")).to_have_text(["All rows", "under 25", "25 to under 40", "40 or more"])
    request = {"question": first_question(), "by": "age", "cuts": [25.0, 40.0]}
    expected = bundled_session().handle("groups", request)
    for text, group in zip(panel.locator("tbody tr").all_inner_texts(), expected["groups"], strict=True):
        assert f"{100 * group['share_has']:.1f} % already there" in text
        assert group["effort"] in text or group["cost_median"] is None
    expect(panel.locator(".groups-sentences")).to_have_text("".join(expected["sentences"]))
    expect(panel).to_contain_text("They do not show why the groups differ")
    panel.get_by_label("Cut at").fill("40; 25")
    panel.get_by_role("button", name="Apply").click()
    expect(panel).to_contain_text("Enter up to 11 increasing numbers, such as 25; 40.")


def open_dialog(explorer):
    explorer.button("Open …").click()
    return explorer.page.get_by_role("dialog", name="Open a model or rows")


def test_pasted_rows_become_a_scene(loans):
    dialog = open_dialog(loans)
    rows = bundled_session().scene("german").rows.iloc[[3, 10]].assign(note="x")
    dialog.get_by_label("Rows for German Credit").fill(rows.to_csv(index=False, sep="\t"))
    loans.after(dialog.get_by_role("button", name="Use these rows").click)
    done = loans.page.get_by_role("dialog", name="Opened")
    expect(done).to_contain_text("2 rows with the 20 columns of the model.")
    expect(done).to_contain_text("Not used by the model: 'note'.")
    loans.page.keyboard.press("Enter")
    expect(done).not_to_be_visible()
    assert loans.state()["scene"].startswith("rows-")
    assert all_rows(loans).locator("tbody tr:not(.rows-space)").count() == 2


def test_hostile_text_is_one_line_and_keeps_the_page(loans):
    dialog = open_dialog(loans)
    loans.expected_errors = "422"
    before = loans.state()
    for text in (f"{HOSTILE},b\n1,2", "{", '"', "[" * 5000, "=cmd|' /C calc'!A0"):
        dialog.get_by_label("Rows for German Credit").fill(text)
        dialog.get_by_role("button", name="Use these rows").click()
        expect(dialog.get_by_role("alert")).not_to_be_empty()
        assert "\n" not in dialog.get_by_role("alert").inner_text()
    assert loans.page.locator("img[src=x]").count() == 0
    loans.page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()
    expect(loans.button("Open …")).to_be_focused()
    assert loans.state() == before


def test_a_new_row(loans):
    dialog = open_dialog(loans)
    loans.after(dialog.get_by_role("button", name="Type a new row").click)
    loans.page.get_by_role("button", name="Continue").click()
    assert loans.state()["scene"].startswith("rows-")
    expect(loans.page.locator("#question")).to_contain_text("The model says")


DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    for (const kind of ["dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_a_model_and_rows_are_dropped_on_the_page(loans):
    model = bundled_session().scene("adult").explainer.to_json()
    loans.after(lambda: loans.page.evaluate(DROP, ["census.json", model]))
    opened = loans.page.get_by_role("dialog", name="Opened")
    expect(opened).to_contain_text("census: a tree with 12 features.")
    opened.get_by_role("button", name="Continue").click()
    assert loans.state()["scene"].startswith("open-")
    expect(loans.page.get_by_role("tab", name="All rows")).to_be_hidden()
    rows = bundled_session().scene("adult").rows.head(3)
    loans.after(lambda: loans.page.evaluate(DROP, ["people.csv", rows.to_csv(index=False)]))
    expect(opened).to_contain_text("3 rows with the 12 columns of the model.")
    opened.get_by_role("button", name="Continue").click()
    assert all_rows(loans).locator("tbody tr:not(.rows-space)").count() == 3


def test_files_that_are_not_models_are_refused(loans):
    loans.expected_errors = "422"
    before = loans.state()
    cases = {
        "model.json": json.dumps({"format": "counterleaf-explainer", "version": 1}),
        "answer.json": json.dumps({"format": "counterleaf-explanation"}),
        "model.pkl": "not a pickle",
        "rows.xlsx": "PK",
        "rows.csv": "\0\0",
    }
    for name, text in cases.items():
        loans.page.evaluate(DROP, [name, text])
        alert = loans.page.get_by_role("dialog", name="Open a model or rows").get_by_role("alert")
        expect(alert).not_to_be_empty()
        assert "\n" not in alert.inner_text()
        loans.page.keyboard.press("Escape")
    assert loans.state() == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 720}], ids=["phone", "laptop"])
def test_no_violations_and_no_sideways_scroll(enter, viewport, scheme):
    loans = enter(viewport=viewport, color_scheme=scheme)

    def check():
        assert violations(loans.page) == []
        assert loans.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    all_rows(loans)
    check()
    panel = loans.tab("Groups")
    expect(panel.locator("tbody tr").first).to_be_visible()
    check()
    open_dialog(loans)
    check()


def test_a_dropped_name_is_text(loans):
    rows = pd.DataFrame(bundled_session().scene("german").rows.head(1)).to_csv(index=False)
    loans.after(lambda: loans.page.evaluate(DROP, [f"{HOSTILE}.csv", rows]))
    loans.page.get_by_role("button", name="Continue").click()
    assert loans.page.locator("img[src=x]").count() == 0
