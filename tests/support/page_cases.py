"""The explorer's page in a browser, operated by the texts that a user sees."""

import base64
import json
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import expect
from support.running_explorer import command

from counterleaf.datasets import samples

BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]  # the first takes half the time
OFFLINE = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

LOCKED = {name for names in samples.IMMUTABLE.values() for name in names}  # when a scene opens

STATE = {"scene": "german", "row": 0, "edits": {}, "controls": {}, "target": [], "at_least": None, "at_most": None}
STATE |= {"cost": "L1", "spread": "range", "margin": 0, "count": 3, "max_changes": None, "ink": "any", "locked_pixels": []}


def find_browser():
    """The path of the browser; raises if none is installed."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise RuntimeError(f"no browser found; install one of {', '.join(BROWSERS)} to test the page")
    return found


@contextmanager
def running(*arguments):
    """Run the command and yield the address that it prints."""
    with command(*arguments) as explorer:
        yield f"http://{explorer.host}/?token={explorer.token}"


def cookies_of(address):
    """The cookies of a browser that opened the address."""
    with urlopen(address) as reply:
        name, value = reply.headers["Set-Cookie"].partition(";")[0].split("=", 1)
    rest = {"domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True, "secure": False, "sameSite": "Strict"}
    return {"cookies": [{"name": name, "value": value, **rest}], "origins": []}


@contextmanager
def windows(browser, origin, cookies):
    """A function that opens a window. At the end, no request went to another server and the console shows no error."""
    opened = []

    def enter(path="/", **options):
        context = browser.new_context(storage_state=cookies, **{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(120_000)  # also on a busy machine
        explorer = Explorer(context.new_page(), origin)
        opened.append((context, explorer))
        return explorer.open(path)

    yield enter
    for context, explorer in opened:
        context.close()
        assert [url for url in explorer.requests if not url.startswith((f"{origin}/", "data:", f"blob:{origin}/"))] == []
        assert [error for error in explorer.errors if not re.search(explorer.expected_errors, error)] == []


# the page forbids eval, which Playwright's functions for waiting use
SETTLED = """before => new Promise((done, fail) => {
    const end = performance.now() + 60_000;
    const poll = () => {
        if (Number(document.body.dataset.answered ?? 0) > before && !document.querySelector("#answer[aria-busy=true]")) done();
        else if (performance.now() > end) fail(new Error("no answer within 60 s"));
        else setTimeout(poll, 5);
    };
    poll();
})"""


QUIET = """() => new Promise((done) => {
    const finish = () => { watch.disconnect(); done(); };
    let timer = setTimeout(finish, 100);
    const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(finish, 100); });
    watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})"""


WAYS = """() => [...document.querySelectorAll(".option:not(.ghost)")].map((card) => ({
    text: card.querySelector(".pick").ariaLabel.replace(/^Option \\d+: /, ""),
    changes: [...card.querySelectorAll(".changes li:not(.rest)")].map((line) => line.title),
    rest: card.querySelector(".rest")?.title ?? "",
    effort: card.querySelector(".effort-words").textContent,
    confirmed: card.querySelector(".checks span").title,
    proved: card.querySelector(".checks > :last-child").title,
    selected: card.querySelector(".pick").ariaPressed === "true",
}))"""
FEATURES = (
    """() => [...document.querySelectorAll(".feature-rows .lock")].map((node) => node.ariaLabel.replace("lock ", "").trim())"""
)
SELECTED_VALUES = """() => Object.fromEntries([...document.querySelectorAll(".feature-rows .feature tr.line")].map((row) => [
    row.querySelector(".lock").ariaLabel.replace("lock ", "").trim(), row.querySelector("td.to").innerText.trim(),
]))"""
FIELDS = """() => [...document.querySelectorAll("main :is(input, select, [aria-pressed])")]
    .filter((node) => node.checkVisibility() && !node.closest("#strip"))
    .map((node) => [node.ariaLabel || node.id || node.textContent,
        node.ariaPressed ?? (/radio|checkbox/.test(node.type) ? node.checked : node.value)].join(": "))"""
# of all layout shifts since the page opened, also those right after a click; without the table, whose order may change
SHIFTS = """() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries()) {
            const moved = sources.map(({ node }) => node?.nodeType === 3 ? node.parentNode : node)
                .filter((node) => node && !node.closest("[role=tabpanel]"));
            if (moved.length) window.shifts.push([value, ...moved.map((node) => node.id || node.className || node.tagName)]);
        }
    }).observe({ type: "layout-shift" });
}"""

TIME_CLICK = """async ([find, pause]) => {
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


class Explorer:
    """One page of the explorer, with its requests and its errors."""

    def __init__(self, page, origin):
        self.page, self.origin = page, origin
        self.requests, self.errors, self.running = [], [], set()
        self.expected_errors = "^$"  # a pattern for the errors that a test provokes
        page.on("request", lambda request: (self.requests.append(request.url), self.running.add(request)))
        page.on("requestfinished", lambda request: self.running.discard(request))
        page.on("requestfailed", lambda request: self.running.discard(request))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, path="/"):
        self.page.goto(path if path.startswith("http") else self.origin + path)
        return self.settle()

    def settle(self, before=0):
        """Wait for more than ``before`` answers, until no request is running."""
        self.page.evaluate(SETTLED, before)
        return self

    def until(self, condition):
        """Wait for a condition in Python, while the page runs."""
        for _ in range(1200):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("nothing happened within 60 s")

    def rest(self):
        """Wait until no request is running and the page has not changed for a tenth of a second, as after its drawings."""
        self.page.evaluate(QUIET)
        while self.running:
            self.until(lambda: not self.running)
            self.page.evaluate(QUIET)

    def answered(self):
        return self.page.evaluate("Number(document.body.dataset.answered ?? 0)")

    def after(self, act):
        """Call a function and wait for the answer."""
        before = self.answered()
        act()
        return self.settle(before)

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def click(self, name):
        return self.after(self.button(name).click)

    def scene(self, title):
        return self.click(title)

    def tab(self, name):
        self.page.get_by_role("tab", name=name, exact=True).click()
        return self.page.get_by_role("tabpanel", name=name, exact=True)

    def headline(self):
        return self.page.locator("#headline").inner_text()

    def sentence(self):
        """What a screen reader reads after an answer."""
        return self.page.locator("#sentence").text_content()

    def says(self):
        """What the model says about the row."""
        return self.page.locator(".says").inner_text()

    def ways(self):
        """The options as their cards show them."""
        return self.page.evaluate(WAYS)

    def changed(self, k=0):
        """The labels of the features that an option changes."""
        ways = self.ways()
        if k >= len(ways):
            return []
        listed = [line.partition(": ")[0] for line in ways[k]["changes"]]
        return listed + [name for name in ways[k]["rest"].split(", ") if name]

    def pick(self, k):
        """Select an option."""
        self.page.locator(".pick").nth(k).click()
        return self

    def time(self, find, pause=120):
        """Milliseconds from a click on an XPath to the answer, and until it is painted."""
        return self.page.evaluate(TIME_CLICK, [find, pause])

    def details(self, k=0):
        """Open the details of an option."""
        self.button(f"details of option {k + 1}").click()
        return self.page.get_by_role("dialog", name=f"Option {k + 1}")

    def cost(self, k=0):
        """The cost of an option, from its details."""
        dialog = self.details(k)
        text = dialog.locator("dt", has_text="Cost").locator("xpath=following-sibling::dd[1]").inner_text()
        dialog.get_by_role("button", name="Close").click()
        return float(text)

    def adjust(self):
        """Open the panel of the settings."""
        panel = self.page.get_by_role("dialog", name="Adjust")
        if not panel.is_visible():
            self.button("Adjust").click()
        return panel

    def set(self, label, text):
        """Type into a field of the settings and leave it."""
        field = self.adjust().get_by_label(label)
        return self.after(lambda: (field.fill(text), self.page.keyboard.press("Tab")))

    def prefer(self, name):
        """Choose between few changes, small changes and both."""
        return self.after(self.adjust().get_by_role("radio", name=re.compile(f"^{name}")).check)

    def lock(self, name):
        return self.click(f"lock {name}")

    def features(self):
        """The labels of all features, in the order of the table."""
        return self.page.evaluate(FEATURES)

    def values(self):
        """The value of each feature in the selected option; "=" if it stays."""
        return self.page.evaluate(SELECTED_VALUES)

    def conflict(self):
        return self.page.locator("#conflict")

    def reason(self):
        """What the page shows in place of the options."""
        return self.page.locator("#reason")

    def front(self):
        """The buttons of the strip, as soon as their points have arrived."""
        expect(self.page.locator("#strip:not(.stale) button").nth(1)).to_be_visible()
        return self.page.locator("#strip button")

    def observe_shifts(self):
        self.page.evaluate(SHIFTS)

    def shifts(self):
        """The layout shifts since then: their sizes, and what moved."""
        self.page.wait_for_timeout(50)
        return self.page.evaluate("window.shifts")

    def address(self):
        return self.page.evaluate("location.href")

    def state(self):
        """The state in the address without default values, and without the features that are locked when a scene opens."""
        found = re.search("#s=(.*)", self.address())
        state = json.loads(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
        for name in [name for name, control in state["controls"].items() if name in LOCKED and control == {"lock": True}]:
            del state["controls"][name]
        return {key: value for key, value in state.items() if value not in ({}, [], None, "any")}

    def question(self):
        """The whole state in the address."""
        text = self.address().partition("#s=")[2]
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))

    def steps(self):
        """The index of the current step."""
        return self.page.evaluate("history.state.at")

    def shown(self):
        """The question and the answer as the page shows them; the order of the features, which may wait, does not count."""
        return [
            self.page.locator("#question, #headline, #ways, #reason").all_inner_texts(),
            sorted(self.page.locator("#features .feature, #features figure").all_inner_texts()),
            sorted(self.page.evaluate(FIELDS)),
        ]

    def download(self, act):
        """The text and the name of the file that a function downloads."""
        with self.page.expect_download() as caught:
            act()
        with tempfile.TemporaryDirectory() as folder:
            caught.value.save_as(path := Path(folder) / "download")
            return path.read_text(encoding="utf-8"), caught.value.suggested_filename

    def export(self, label):
        self.page.locator("summary", has_text="Export").click()
        return self.download(self.page.get_by_role("button", name=label, exact=True).click)


def violations(page, part=None):
    """What axe finds wrong with a page or a part of it: the rules, some of the nodes, and the remedies."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("part => axe.run(part ?? document, { resultTypes: ['violations'] })", part)["violations"]
    return [(one["id"], [node["target"] for node in one["nodes"]][:4], one["help"]) for one in found]


class BlockedRequests:
    """Requests that match a pattern wait until they are released."""

    def __init__(self, explorer, pattern):
        self.explorer, self.waiting, self.open = explorer, [], False
        explorer.page.route(pattern, lambda route: route.continue_() if self.open else self.waiting.append(route))

    def wait(self):
        self.explorer.until(lambda: self.waiting)

    def release(self):
        self.open = True
        for route in self.waiting:
            route.continue_()


def refuse(explorer, pattern, status, message):
    """Make requests fail with a status and a message, or without a response if the status is None."""
    explorer.expected_errors = r"Failed to load resource"
    body = json.dumps({"error": message})
    explorer.page.route(
        pattern,
        lambda route: route.fulfill(status=status, body=body, content_type="application/json") if status else route.abort(),
    )


def link(**state):
    text = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
    return f"/#s={text}"


def works(explorer):
    """Lock a feature, check the answer, and undo."""
    before, name = explorer.shown(), explorer.changed()[0]
    explorer.lock(name)
    assert explorer.shown() != before
    assert not any(name in explorer.changed(k) for k in range(len(explorer.ways())))
    explorer.after(explorer.page.locator("#undo").click)
    assert explorer.shown() == before
