"""The page while an answer is on its way, or does not arrive: it shows nothing of another row, and acts on nothing old."""

import json
import time

import pytest
from playwright.sync_api import expect
from support.explorer_cases import bundled_session, make_question
from support.page_cases import BlockedRequests, refuse

pytest_plugins = ["support.page_fixtures"]
pytestmark = pytest.mark.browser
LATENCY, CLICKS = 1.5, 25
KEPT = "JSON.parse(localStorage.getItem('counterleaf-kept') ?? '[]')"
# what a user sees of an answer: the row, and the texts that are visible; "busy" if the page marks them as old
SEEN = """async () => {
    await new Promise(requestAnimationFrame); // the table of all rows is drawn before the next frame
    const texts = (find) => [...document.querySelectorAll(find)]
        .filter((node) => node.checkVisibility({ visibilityProperty: true })).map((node) => node.textContent).filter(Boolean);
    return {
        row: Number(document.querySelector("#row").value),
        busy: document.querySelector("#answer").ariaBusy === "true",
        sentence: texts("#sentence")[0] ?? null,
        efforts: texts("#ways .effort-words"),
        headline: texts("#headline"),
        values: texts(".feature-rows td.to").filter((text) => text !== "=unchanged"),
        marks: texts(".feature-rows .way-arrow, .feature-rows .mark.other").length,
        now: document.querySelector('[aria-label="Credit amount now"]').checkVisibility({ visibilityProperty: true })
            ? document.querySelector('[aria-label="Credit amount now"]').value : null,
        strip: texts("#strip button:not([data-n=any]) small"),
        current: texts(".rows-table [aria-current=true] th").map(Number),
        tree: document.querySelector("svg.tree")?.checkVisibility({ visibilityProperty: true })
            ? document.querySelector("svg.tree").ariaLabel : null,
    };
}"""
ACT = """() => {
    for (const find of ["#keep", "[aria-label^='keep option']", "#lock-others", "[data-format]", "[aria-label^='details of']"])
        for (const node of document.querySelectorAll(find)) node.click();
    return document.querySelectorAll("dialog[open]").length;
}"""


class SlowNetwork:
    """Every request of the page takes ``LATENCY`` seconds longer; ``wait`` lets the time pass."""

    def __init__(self, explorer):
        self.page, self.waiting = explorer.page, []
        self.page.route("**/api/**", lambda route: self.waiting.append((time.monotonic() + LATENCY, route)))

    def wait(self, seconds, end=lambda: False):
        until = time.monotonic() + seconds
        while time.monotonic() < until and not end():
            self.page.wait_for_timeout(15)
            due = [one for one in self.waiting if one[0] <= time.monotonic()]
            self.waiting = [one for one in self.waiting if one not in due]
            for _, route in due:
                route.continue_()


def expected(row):
    """What belongs to a row: the reply, and the points of the strip."""
    question = make_question("german", row=row) | {
        "controls": {name: {"lock": True} for name in bundled_session().scene("german").locked_features}
    }
    return bundled_session().handle("answer", question), bundled_session().handle("front", question)["points"]


def check(seen, known):
    """Nothing that is visible belongs to another row than the one in the field; whatever is not marked is complete."""
    if seen["row"] not in known:
        known[seen["row"]] = expected(seen["row"])
    reply, points = known[seen["row"]]
    efforts = [way["effort"]["words"] for way in reply["ways"]]
    amount = next(
        c["from"]
        for way in reply["ways"]
        for c in [*way["changes"], {"label": "Credit amount", "from": None}]
        if c["label"] == "Credit amount"
    )
    assert seen["now"] is None or amount is None or seen["now"].replace("\u00a0", " ") == amount
    assert set(seen["current"]) <= {seen["row"]}
    if seen["busy"]:
        assert (seen["efforts"], seen["headline"], seen["values"], seen["marks"]) == ([], [], [], 0)
        assert seen["sentence"] is None
    else:
        assert seen["efforts"] == efforts
        assert seen["sentence"] == reply["sentence"]
        changed = {change["to"] for change in reply["ways"][0]["changes"]} if reply["ways"] else set()
        assert len(seen["values"]) == len(changed)
        assert all(any(to in text for to in changed) for text in seen["values"])
    assert seen["strip"] in ([], [(point["effort"]["size"] or point["effort"]["short"]) for point in points[:5]])


@pytest.mark.parametrize("tab", ["Features", "Tree", "All rows"])
def test_a_slow_network_and_quick_clicks(loans, tab):
    """Whatever is visible belongs to the row in the field, at every moment, and nothing old can be kept or applied."""
    first, known = loans.question()["row"], {}
    loans.tab(tab)
    loans.page.wait_for_timeout(500)
    network = SlowNetwork(loans)
    exported = []
    loans.page.on("request", lambda request: request.url.endswith(("export", "check")) and exported.append(request.url))
    before = loans.answered()
    for k in range(CLICKS):
        loans.button("next row").click()
        seen = loans.page.evaluate(SEEN)
        assert seen["row"] == first + k + 1
        assert seen["busy"]
        assert loans.page.evaluate(ACT) == 0
        check(seen, known)
        assert seen["tree"] is None
        network.wait(0.05)
    network.wait(40, lambda: check(loans.page.evaluate(SEEN), known) or loans.answered() > before)
    assert loans.question()["row"] == first + CLICKS
    assert loans.question()["controls"].keys() == set(bundled_session().scene("german").locked_features)
    assert loans.page.evaluate(KEPT) == []
    assert exported == []
    seen = loans.page.evaluate(SEEN)
    assert not seen["busy"]
    network.wait(2 * LATENCY + 1)
    check(loans.page.evaluate(SEEN), known)
    loans.page.locator("#keep").click()
    (kept,) = loans.page.evaluate(KEPT)
    assert kept["state"]["row"] == first + CLICKS
    assert kept["result"]["way"]["effort"] == known[first + CLICKS][0]["ways"][0]["effort"]


def test_settings_on_their_way_mark_the_old_answer(loans):
    """It stays readable, because it belongs to the same row; the digits and the buttons do nothing."""
    shown, locked = loans.ways(), loans.changed()[0]
    blocked = BlockedRequests(loans, "**/api/answer")
    before = loans.answered()
    loans.button(f"lock {locked}").click()
    blocked.wait()
    expect(loans.page.locator("#answer")).to_have_attribute("aria-busy", "true")
    expect(loans.page.locator("#features")).to_have_attribute("aria-busy", "true")
    loans.page.evaluate(ACT)
    loans.page.keyboard.press("2")
    assert loans.ways() == shown
    loans.page.wait_for_timeout(300)
    assert float(loans.page.locator(".stage").evaluate("node => getComputedStyle(node).opacity")) < 0.6
    assert loans.page.evaluate(KEPT) == []
    blocked.release()
    loans.settle(before)
    expect(loans.page.locator("#answer")).to_have_attribute("aria-busy", "false")
    expect(loans.page.locator("#keep")).to_have_attribute("aria-disabled", "false")
    assert locked not in loans.changed()
    assert set(loans.question()["controls"]) == set(bundled_session().scene("german").locked_features) | {"credit_amount"}


def test_a_removed_setting_of_a_conflict_cannot_bring_another_one_back(loans):
    """Each button removes its setting from the question of the conflict, so the second one waits for the answer."""
    loans.set("Features that may change, at most", "0")
    blocked = BlockedRequests(loans, "**/api/answer")
    before = loans.answered()
    loans.adjust().get_by_role("button", name="Done").click()
    button = loans.conflict().get_by_role("button").first
    button.click()
    blocked.wait()
    state = loans.question()
    button.evaluate("node => node.click()")
    assert loans.question() == state
    blocked.release()
    loans.settle(before)
    assert loans.ways()


def test_a_found_row_does_not_replace_a_later_choice(loans):
    blocked = BlockedRequests(loans, "**/find?*")
    loans.button("next granted").click()
    blocked.wait()
    loans.click("next row")
    row = loans.question()["row"]
    blocked.release()
    loans.page.wait_for_timeout(300)
    assert loans.question()["row"] == row


@pytest.mark.parametrize("status", [None, 503])
def test_a_network_failure_is_not_no_answer(loans, status):
    refuse(loans, "**/api/answer", status, "busy: try again in a moment")
    loans.lock(loans.changed()[0])
    assert loans.headline() == "The explorer did not answer this question"
    text = loans.page.locator("#answer").inner_text()
    assert "no answer" not in text
    assert "No allowed change" not in text
    loans.page.locator("#keep").evaluate("node => node.click()")
    assert loans.page.evaluate(KEPT) == []
    loans.page.unroute("**/api/answer")
    loans.click("Try again")
    assert loans.ways()


# What the page says of an answer


def answer_with(explorer, **fields):
    """Change the next replies of the server."""
    explorer.page.route("**/api/answer", lambda route: route.fulfill(json=route.fetch().json() | fields))


def test_a_row_with_the_goal_that_breaks_a_rule(loans):
    already = "The model already says granted; your rules also require debt of at most 3,000"
    answer_with(loans, already=already)
    loans.lock(loans.changed()[0])
    assert loans.headline() == f"{already}."


def test_an_open_proof_is_said_in_the_strip_the_bar_and_the_details(loans):
    def stop(route):
        reply = route.fetch().json()
        points = [reply["points"][0] | {"proved": False}, {"n_changes": 2, "changes": [], "effort": None, "proved": False}]
        route.fulfill(json=reply | {"points": points, "stopped_after": 2.0})

    loans.page.route("**/api/front", stop)
    loans.lock(loans.changed()[0])
    texts = [text.replace("\n", " ") for text in loans.front().all_inner_texts()]
    assert ", not proved" in texts[0]
    assert texts[1] == "2 changes not proved: stopped"
    assert texts[-1] == "any number best found, not proved"


def test_details_have_the_digits_of_the_proof(loans):
    dialog = loans.details(0)
    facts = dict(zip(dialog.locator("dt").all_inner_texts(), dialog.locator("dd").all_inner_texts(), strict=True))
    cost, bound, gap = (float(facts[name]) for name in ("Cost", "Lower bound", "Gap"))
    assert facts["Proof"] == "proved: no smaller allowed change works"
    assert cost - bound <= 1e-9 * cost
    assert gap <= 1e-9 * cost


def test_shares_limits_and_margins_are_not_rounded_away(loans):
    """No count becomes none or all, and a limit is written as it is asked."""
    shares = "async shares => { const { percentText } = await import('/page/lib/dom.js'); return shares.map(percentText); }"
    assert loans.page.evaluate(shares, [0, 2 / 6000, 0.026, 0.5, 5998 / 6000, 1]) == [
        *("0 %", "under 0.1 %", "2.6 %", "50 %", "over 99.9 %", "100 %"),
    ]
    limits = """async pairs => {
        const { formatExact } = await import('/page/views/features/values.js');
        return pairs.map(([feature, value]) => formatExact(feature, value));
    }"""
    plain = {"kind": "number", "name": "x", "unit": None, "lower": 0, "upper": 1e6}
    values = [0.12345678, 12345.678, 1234567, 0.1, -2.5, 0.1 + 0.2]
    texts = loans.page.evaluate(limits, [[plain, value] for value in values])
    assert texts == ["0.12345678", "12,345.678", "1,234,567", "0.1", "-2.5", "0.3"]
    loans.set("Safety margin", "0.12345678")
    expect(loans.page.locator("#margin")).to_have_value("0.12345678")
    expect(loans.adjust()).to_contain_text("How far the answer must be beyond each threshold on its path through the tree")


def test_groups_never_round_a_count_to_none(loans):
    def few(route):
        reply = route.fetch().json()
        if "groups" in reply:
            for group in reply["groups"]:
                group |= {
                    "cannot": 2,
                    "share_cannot": 2 / 6000,
                    "has": 5998,
                    "share_has": 5998 / 6000,
                    "can": 0,
                    "share_can": 0,
                }
        route.fulfill(json=reply)

    loans.page.route("**/api/groups", few)
    panel = loans.tab("Groups")
    expect(panel.locator(".groups-words").first).to_contain_text("under 0.1 % cannot get there")
    expect(panel.locator(".groups-words").first).to_contain_text("over 99.9 %")


def test_rules_are_in_words(loans):
    scene = json.loads(loans.page.evaluate("fetch('/api/scenes/german').then((reply) => reply.text())"))
    loans.page.route(
        "**/api/scenes/german", lambda route: route.fulfill(json=scene | {"constraints": ["debt must be at most 3,000"]})
    )
    scene["features"][0]["rules"] = ["debt must be at most 3,000"]
    loans.page.reload()
    loans.settle()
    line = loans.page.locator(".feature").filter(has_text=scene["features"][0]["label"])
    expect(line.locator(".settings-text")).to_contain_text("always required: debt must be at most 3,000")
    expect(loans.adjust().locator(".rules-list")).to_have_text("debt must be at most 3,000")


def test_a_strip_that_did_not_arrive_promises_nothing(loans):
    loans.page.route("**/api/front", lambda route: route.abort())
    loans.expected_errors = r"Failed to load resource"
    loans.set("Features that may change, at most", "2")
    loans.adjust().get_by_role("button", name="Done").click()
    loans.lock(loans.features()[-1])
    expect(loans.page.locator("#strip button")).to_have_text(["any number\u00a0"])
