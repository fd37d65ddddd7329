"""The explorer's page in a browser, operated by the texts that a user sees."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from urllib.request import urlopen

from counterleaf.datasets import samples

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
OFFLINE = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

LOCKED = {name for names in samples.IMMUTABLE.values() for name in names}  # when a scene opens


def find_browser():
    """The path of the browser; raises if none is installed."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise RuntimeError(f"no browser found; install one of {', '.join(BROWSERS)} to test the page")
    return found


@contextmanager
def running(*arguments):
    """Run the command and yield the address that it prints."""
    command = [sys.executable, "-m", "counterleaf", "explore", "--port", "0", "--no-browser", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
        assert found, f"the command printed {line!r}"
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=30)


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
    const end = performance.now() + 20_000;
    const poll = () => {
        const { dataset, classList } = document.body;
        if (Number(dataset.answered ?? 0) > before && !classList.contains("waiting")) done();
        else if (performance.now() > end) fail(new Error("no answer within 20 s"));
        else setTimeout(poll, 5);
    };
    poll();
})"""


TABLE = """() => Object.fromEntries([...document.querySelectorAll(".feature-rows tbody tr:not(.editor)")].map((row) => [
    row.querySelector(".lock").ariaLabel.replace("lock ", "").trim(),
    [...row.querySelectorAll("td.to")].map((cell) => cell.innerText.trim()),
]))"""


class Explorer:
    """One page of the explorer, with its requests and its errors."""

    def __init__(self, page, origin):
        self.page, self.origin = page, origin
        self.requests, self.errors = [], []
        self.expected_errors = "^$"  # a pattern for the errors that a test provokes
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, path="/"):
        self.page.goto(path if path.startswith("http") else self.origin + path)
        return self.settle()

    def settle(self, before=0):
        """Wait for more than ``before`` answers, until no request is running."""
        self.page.evaluate(SETTLED, before)
        return self

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
        self.page.get_by_role("tab", name=name).click()
        return self.page.get_by_role("tabpanel", name=name)

    def table(self):
        """The values of every feature in each alternative."""
        return self.page.evaluate(TABLE)

    def cells(self, feature):
        """The values of a feature in each alternative."""
        return self.table()[feature]

    def features(self):
        """The displayed names of all features."""
        return list(self.table())

    def changed(self):
        """The features that the first alternative changes."""
        return [name for name, cells in self.table().items() if cells and cells[0] != "="]

    def sentence(self):
        return self.page.locator("#sentence").inner_text()

    def badges(self):
        return self.page.locator("#badges").inner_text()

    def conflict(self):
        return self.page.locator("#conflict")

    def costs(self):
        return [float(text.split()[-1]) for text in self.page.locator("#explore .cost").all_inner_texts()]

    def limits(self, feature):
        """Open the limits of a feature."""
        self.page.get_by_role("button", name=re.compile(f"^limits of {re.escape(feature)}:")).click()

    def address(self):
        return self.page.evaluate("location.href")

    def state(self):
        """The state in the address without default values, and without the features that are locked when a scene opens."""
        found = re.search("#s=(.*)", self.address())
        state = json.loads(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
        for name in [name for name, control in state["controls"].items() if name in LOCKED and control == {"lock": True}]:
            del state["controls"][name]
        return {key: value for key, value in state.items() if value not in ({}, [], None, "any")}

    def steps(self):
        return self.page.evaluate("history.state.at")

    def shown(self):
        """The question and the answer as the page shows them, without the time."""
        read = "nodes => nodes.map(node => node.type === 'radio' || node.type === 'checkbox' ? node.checked : node.value)"
        return [
            self.page.locator("#sentence, #question, #conflict, #explore").all_inner_texts(),
            self.page.locator("input:visible, select:visible").evaluate_all(read),
            self.page.locator("[aria-pressed]").evaluate_all("nodes => nodes.map(node => node.ariaPressed)"),
        ]

    def download(self, act):
        """The text and the name of the file that a function downloads."""
        with self.page.expect_download() as caught:
            act()
        with open(caught.value.path(), encoding="utf-8") as file:
            return file.read(), caught.value.suggested_filename

    def export(self, label):
        self.page.locator("summary", has_text="Export").click()
        return self.download(self.page.get_by_role("button", name=label, exact=True).click)
