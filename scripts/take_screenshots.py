"""The pictures of docs/explorer.md, taken from the real page: ``python scripts/take_screenshots.py``.

Needs the groups explorer and test, and Chromium.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent.parent / "docs"
OFFLINE = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def lock(page: Page, feature: str) -> None:
    """Lock a feature, as a person would."""
    page.get_by_role("button", name=f"lock {feature}", exact=True).click()
    settle(page)


def settle(page: Page) -> None:
    """Let answers come and pictures be drawn."""
    page.wait_for_timeout(400)


def take(page: Page, name: str, height: int) -> None:
    """The top of the page as a file of the docs."""
    page.set_viewport_size({"width": 1240, "height": height})
    settle(page)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=DOCS / f"{name}.png")


def main() -> None:
    """Start the command, click through the page, keep the pictures."""
    command = [sys.executable, "-m", "counterleaf", "explore", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as driver:
        try:
            assert server.stdout is not None
            found = re.search(r"http\S+", server.stdout.readline())
            assert found is not None
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=OFFLINE)
            page = browser.new_page(viewport={"width": 1240, "height": 1000})
            page.goto(found.group(0))
            page.wait_for_selector("#confirmed")
            page.wait_for_selector("#interim:empty", state="attached", timeout=300_000)
            lock(page, "credit amount")
            lock(page, "duration months")
            take(page, "explorer", 1000)
            page.get_by_role("tab", name="Tree").click()
            take(page, "explorer_tree", 1000)
            page.get_by_role("tab", name="Explore").click()
            page.get_by_role("button", name="Adult").click()
            settle(page)
            for feature in ("capital-gain", "capital-loss", "education"):
                lock(page, feature)
            page.get_by_role("tab", name="Compare").click()
            take(page, "explorer_compare", 1040)
            page.get_by_role("tab", name="Explore").click()
            page.get_by_role("button", name="Digits").click()
            settle(page)
            page.get_by_label("only add ink").check()
            take(page, "explorer_image", 1000)
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
