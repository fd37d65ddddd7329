"""The explorer's page in a real browser, used as a person would: by what is written on it."""

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

GIVEN = {name for names in samples.GIVEN.values() for name in names}


def find_browser():
    """The program, or a failure that says what to install."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise RuntimeError(f"no browser is installed; expected one of {', '.join(BROWSERS)} to test the page in")
    return found


@contextmanager
def running(*arguments):
    """The real command, and the address that it prints."""
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
    """What a browser would keep once it was let in."""
    with urlopen(address) as reply:
        name, value = reply.headers["Set-Cookie"].partition(";")[0].split("=", 1)
    rest = {"domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True, "secure": False, "sameSite": "Strict"}
    return {"cookies": [{"name": name, "value": value, **rest}], "origins": []}


@contextmanager
def windows(browser, origin, cookies):
    """A function that opens a window; at the end, nothing has left the machine and nothing complained."""
    opened = []

    def enter(where="/", **look):
        context = browser.new_context(storage_state=cookies, **{"viewport": {"width": 1280, "height": 900}, **look})
        explorer = Explorer(context.new_page(), origin)
        opened.append((context, explorer))
        return explorer.open(where)

    yield enter
    for context, explorer in opened:
        context.close()
        assert [url for url in explorer.requests if not url.startswith((f"{origin}/", "data:", f"blob:{origin}/"))] == []
        assert [error for error in explorer.errors if not re.search(explorer.forgiven, error)] == []


# the page forbids that text is run as a script, which Playwright's own waiting does
SETTLED = """before => new Promise((done, fail) => {
    const late = performance.now() + 20_000;
    const look = () => {
        const { dataset, classList } = document.body;
        if (Number(dataset.answered ?? 0) > before && !classList.contains("asking")) done();
        else if (performance.now() > late) fail(new Error("no answer within 20 s"));
        else setTimeout(look, 5);
    };
    look();
})"""


TABLE = """() => Object.fromEntries([...document.querySelectorAll(".lines tbody tr:not(.editor)")].map((line) => [
    line.querySelector(".lock").ariaLabel.replace("lock ", "").trim(),
    [...line.querySelectorAll("td.to")].map((cell) => cell.innerText.trim()),
]))"""


class Explorer:
    """One page of the explorer, and what it sent and complained about."""

    def __init__(self, page, origin):
        self.page, self.origin = page, origin
        self.requests, self.errors = [], []
        self.forgiven = "^$"  # a pattern of the complaints that a test provokes
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, where="/"):
        self.page.goto(where if where.startswith("http") else self.origin + where)
        return self.settle()

    def settle(self, before=0):
        """Wait until more than so many answers have come, and none is on its way."""
        self.page.evaluate(SETTLED, before)
        return self

    def answered(self):
        return self.page.evaluate("Number(document.body.dataset.answered ?? 0)")

    def after(self, act):
        """Do something, and wait for the answer to it."""
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

    def line(self, feature):
        """The line of a feature in the table."""
        return self.page.get_by_role("row").filter(has=self.button(f"lock {feature}"))

    def table(self):
        """What each alternative makes of every feature, as they are written on the page."""
        return self.page.evaluate(TABLE)

    def cells(self, feature):
        """What each alternative makes of a feature."""
        return self.table()[feature]

    def features(self):
        """All features, as they are written on the page."""
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
        """What the address holds, but for what says nothing and for what is locked when a scene opens."""
        found = re.search("#s=(.*)", self.address())
        state = json.loads(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
        given = (name for name, said in state["controls"].items() if name in GIVEN and said == {"lock": True})
        for name in list(given):
            del state["controls"][name]
        return {key: value for key, value in state.items() if value not in ({}, [], None, "any")}

    def steps(self):
        return self.page.evaluate("history.state.at")

    def shown(self):
        """All that the page shows of question and answer, but for the time it took."""
        read = "nodes => nodes.map(node => node.type === 'radio' || node.type === 'checkbox' ? node.checked : node.value)"
        return [
            self.page.locator("#sentence, #asked, #conflict, #explore").all_inner_texts(),
            self.page.locator("input:visible, select:visible").evaluate_all(read),
            self.page.locator("[aria-pressed]").evaluate_all("nodes => nodes.map(node => node.ariaPressed)"),
        ]

    def download(self, act):
        """The text of the file that something hands out, and its name."""
        with self.page.expect_download() as caught:
            act()
        with open(caught.value.path(), encoding="utf-8") as file:
            return file.read(), caught.value.suggested_filename

    def export(self, words):
        self.page.locator("summary", has_text="Export").click()
        return self.download(self.page.get_by_role("button", name=words, exact=True).click)
