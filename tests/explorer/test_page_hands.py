"""What the page does while the user moves things, changes models and leaves tabs, and dates on every view."""

import re
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from support.page_cases import cookies_of, running, windows

import counterleaf as cl

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser
LAPTOP = {"width": 1280, "height": 720}
MONTHS = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


def grasp(explorer, panel):
    """Press the mouse on the row of the plane and return where."""
    panel.locator(".handle").scroll_into_view_if_needed()
    box = panel.locator(".handle").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    explorer.page.mouse.move(x, y)
    explorer.page.mouse.down()
    return x, y


def test_the_plane_works_after_an_answer_that_failed_during_a_move(loans):
    loans.expected_errors = "503|Failed to load"
    panel = loans.tab("Plane")
    expect(panel.locator("svg.plane")).to_be_visible()
    x, y = grasp(loans, panel)
    loans.page.route("**/api/answer", lambda route: route.fulfill(status=503, json={"error": "busy"}))
    loans.after(lambda: loans.page.mouse.move(x + 40, y, steps=3))
    expect(loans.reason()).to_contain_text("busy")
    loans.page.mouse.up()
    loans.page.unroute("**/api/answer")
    loans.click("next row")
    expect(panel.locator("svg.plane")).to_be_visible()
    at = loans.steps()
    x, y = grasp(loans, panel)
    loans.after(lambda: loans.page.mouse.move(x + 30, y, steps=3))
    loans.after(loans.page.mouse.up)
    assert loans.steps() == at + 1


def test_a_move_ends_when_the_plane_gets_another_width(loans):
    panel = loans.tab("Plane")
    expect(panel.locator("svg.plane")).to_be_visible()
    at = loans.steps()
    x, y = grasp(loans, panel)
    loans.after(lambda: loans.page.mouse.move(x + 30, y, steps=3))
    loans.after(lambda: loans.page.set_viewport_size({"width": 1000, "height": 800}))
    assert loans.steps() == at + 1
    loans.page.mouse.up()
    loans.click("next row")
    expect(panel.locator("svg.plane")).to_be_visible()


@pytest.mark.parametrize(("tab", "path"), [("Tree", "tree"), ("Plane", "plane")])
def test_a_drawing_that_nobody_waits_for_is_cancelled(loans, tab, path):
    failed = []
    loans.page.on("requestfailed", lambda request: failed.append(request.url))
    held = []
    loans.page.route(f"**/api/{path}", lambda route: held.append(route))
    loans.tab(tab)
    loans.until(lambda: held)
    loans.tab("Features")
    loans.until(lambda: any(url.endswith(f"/api/{path}") for url in failed))
    assert [url for url in failed if url.endswith(f"/api/{path}")] == [f"{loans.origin}/api/{path}"]
    for route in held:
        with suppress(Exception):
            route.abort()
    loans.page.unroute(f"**/api/{path}")
    expect(loans.tab(tab).locator("svg").first).to_be_visible()


def test_a_model_that_the_user_left_is_freed(enter):
    loans = enter()
    for title in ("German Credit", "Adult", "German Credit", "Adult"):
        loans.scene(title)
        panel = loans.tab("All rows")
        expect(panel.locator("canvas.rows-canvas")).to_be_visible()
        loans.page.wait_for_timeout(100)
    client = loans.page.context.new_cdp_session(loans.page)
    client.send("HeapProfiler.enable")
    client.send("HeapProfiler.collectGarbage")
    prototype = client.send("Runtime.evaluate", {"expression": "HTMLCanvasElement.prototype"})["result"]["objectId"]
    alive = client.send("Runtime.queryObjects", {"prototypeObjectId": prototype})["objects"]["objectId"]
    count = client.send(
        "Runtime.callFunctionOn",
        {
            "objectId": alive,
            "functionDeclaration": "function() { return this.filter((node) => node.className === 'rows-canvas').length; }",
            "returnByValue": True,
        },
    )
    assert count["result"]["value"] == 1


def test_escape_during_a_move_leaves_no_stale_strip(loans):
    loans.front()
    at = loans.steps()
    end = loans.page.get_by_role("slider", name="at most, Credit amount", exact=True)
    end.scroll_into_view_if_needed()
    box = end.bounding_box()
    loans.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    loans.page.mouse.down()
    loans.after(lambda: loans.page.mouse.move(box["x"] - 200, box["y"] + 10, steps=4))
    loans.after(lambda: loans.page.keyboard.press("Escape"))
    loans.page.mouse.up()
    expect(loans.page.locator("#strip")).not_to_have_class(re.compile("stale"))
    assert loans.steps() == at
    assert "credit_amount" not in loans.question()["controls"]


def test_all_settings_are_cleared_in_one_place(loans):
    assert loans.page.get_by_role("button", name="Clear limits and locks").count() == 1
    loans.set("Safety margin", "2")
    loans.adjust()
    assert loans.page.get_by_role("button", name="Clear all settings").count() == 1
    loans.click("Clear limits and locks")
    assert loans.question()["controls"] == {}
    assert loans.question()["margin"] == 2
    loans.click("Clear all settings")
    assert loans.question()["margin"] == 0


def test_cards_show_changes_in_whole(enter):
    explorer = enter(viewport=LAPTOP).scene("Adult")
    explorer.adjust()
    for _ in range(3):
        whole = explorer.page.locator(".option .changes").evaluate_all("""lists => lists.map((list) => {
            const { bottom } = list.getBoundingClientRect();
            return [...list.children].every((line) => line.getBoundingClientRect().bottom <= bottom + 1
                && [...line.children].every((part) => part.scrollWidth <= part.clientWidth + 1));
        })""")
        assert whole == [True] * len(whole)
        shown = explorer.ways()
        assert all(len(way["changes"]) >= 2 or not way["rest"] for way in shown)
        explorer.click("next row")


def test_the_bar_says_why_there_is_no_option(enter):
    explorer = enter(viewport=LAPTOP)
    explorer.click("Clear limits and locks")
    for name in explorer.features():
        explorer.lock(name)
    explorer.page.evaluate("scrollTo(0, 0)")
    bar = explorer.page.get_by_role("complementary", name="Selected option")
    expect(bar).to_be_hidden()
    expect(explorer.page.locator("#strip")).to_be_hidden()  # there is nothing to choose
    explorer.page.mouse.wheel(0, 1500)
    expect(bar).to_contain_text("No allowed change makes the model say granted")
    expect(bar.get_by_role("button", name="previous option")).to_be_hidden()
    explorer.button("back to the answer").click()
    expect(bar).to_be_hidden()


# Dates


def opened():
    """ "New" from 2001 on, with 50 visits or more."""
    schema = cl.Schema(
        [
            cl.Numeric("opened", 5_000, 20_000, integer=True, unit="date", label="Account opened"),
            cl.Numeric("visits", 0, 100, integer=True),
        ]
    )
    weights = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    tree = cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], weights, [-11_323, 0, -50, 0, 0], [-1, 0, -1, 0, 1], ["old", "new"])
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"opened": rng.integers(5_000, 20_000, 80), "visits": rng.integers(0, 100, 80)})
    rows.loc[0] = [9_000, 30]
    return cl.Explainer(tree, data=rows, schema=schema), rows


@pytest.fixture(scope="module")
def dates_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dates")
    explainer, rows = opened()
    (folder / "model.json").write_text(explainer.to_json())
    rows.to_csv(folder / "rows.csv", index=False)
    with running(str(folder / "model.json"), "--data", str(folder / "rows.csv")) as address:
        yield address.partition("/?")[0], cookies_of(address)


@pytest.fixture
def dates(browser, dates_server):
    with windows(browser, *dates_server) as enter:
        yield enter()


def test_dates_on_the_plane_and_on_paper(dates):
    panel = dates.tab("Plane")
    panel.get_by_label("Horizontal axis").select_option("Account opened")
    expect(panel.locator("text.axis").first).to_have_text("Account opened")
    texts = panel.locator("svg.plane text[text-anchor=middle]:not(.axis, .way-number)").all_text_contents()
    assert len(texts) > 2
    assert all(MONTHS.fullmatch(text) for text in texts)
    paper, _ = dates.export("Page to print")
    drawing = re.search(r'<svg[^>]*aria-label="What the model says over.*?</svg>', paper, re.S)[0]
    written = re.findall(r'text-anchor="(?:middle|end)">([^<]*)<', drawing)
    assert len([text for text in written if MONTHS.fullmatch(text)]) > 2
    assert "(date)" not in paper
    assert not re.search(r">1\d,\d{3}<", drawing)


def test_rows_are_filtered_by_a_date(dates):
    panel = dates.tab("All rows")
    expect(panel.get_by_role("columnheader", name="Account opened")).to_be_visible()
    assert "(date)" not in panel.inner_text()
    panel.get_by_label("where").select_option("Account opened")
    first = panel.get_by_label("Account opened from")
    expect(first).to_have_attribute("type", "date")
    first.fill("2010-01-01")
    panel.get_by_label("Account opened to").fill("2012-12-31")
    _, rows = opened()
    low, high = (pd.Timestamp(day).timestamp() / 86_400 for day in ("2010-01-01", "2012-12-31"))
    count = int(rows.opened.between(low, high).sum())
    assert count
    expect(panel.get_by_role("status").first).to_have_text(f"{count} of 80 rows")


def test_groups_by_a_date(dates):
    panel = dates.tab("Groups")
    panel.get_by_label("Groups by").select_option("Account opened")
    heads = panel.locator("tbody th")
    expect(heads).to_have_count(5)
    assert re.fullmatch(r"under \d{4}-\d{2}-\d{2}", heads.nth(1).inner_text())
    panel.get_by_label("Cut at").fill("2000-01-01; 2010-01-01")
    panel.get_by_role("button", name="Apply").click()
    expect(heads).to_have_text(["All rows", "under 2000-01-01", "2000-01-01 to under 2010-01-01", "2010-01-01 or more"])
    panel.get_by_label("Cut at").fill("2010-01-01; 2000-01-01")
    panel.get_by_role("button", name="Apply").click()
    expect(panel.get_by_role("status")).to_contain_text("increasing dates, such as")
