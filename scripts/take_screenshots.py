"""Take the screenshots of docs/explorer.md: ``python scripts/take_screenshots.py [FOLDER]``.

Needs the extras explorer and test, and Chromium. The screenshots are saved in docs if no folder is passed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parent.parent / "docs"
WIDTH = 1240  # pixels
OFFLINE = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def lock(page: Page, feature: str) -> None:
    """Click the lock of a feature."""
    page.get_by_role("button", name=f"lock {feature}", exact=True).click()
    settle(page)


def settle(page: Page) -> None:
    """Wait for the answer and the drawings."""
    page.wait_for_timeout(400)


def take(page: Page, path: Path, height: int = 1000) -> None:
    """Save a screenshot of the top of the page."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    settle(page)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=path)


def main(folder: Path) -> None:
    """Start the command, use the page and take the screenshots."""
    command = [sys.executable, "-m", "counterleaf", "explore", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as driver:
        try:
            assert server.stdout is not None
            found = re.search(r"http\S+", server.stdout.readline())
            assert found is not None
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=OFFLINE)
            page = browser.new_page(viewport={"width": WIDTH, "height": 1000})
            page.goto(found.group(0))
            page.wait_for_selector("#confirmed")
            lock(page, "credit amount")
            lock(page, "duration months")
            take(page, folder / "explorer.png")
            page.get_by_role("tab", name="Tree").click()
            take(page, folder / "explorer_tree.png")
            page.get_by_role("tab", name="Explore").click()
            page.get_by_role("button", name="Adult").click()
            settle(page)
            for feature in ("capital-gain", "capital-loss", "education"):
                lock(page, feature)
            page.get_by_role("tab", name="Compare").click()
            take(page, folder / "explorer_compare.png", 1040)
            page.get_by_role("tab", name="Explore").click()
            page.get_by_role("button", name="Digits").click()
            settle(page)
            page.get_by_label("only add ink").check()
            take(page, folder / "explorer_image.png")
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
