"""Fixtures for the tests in a browser, as a pytest plugin: one browser and one server for all modules."""

import json
import os
import signal
import subprocess
import sys

import pytest
from playwright.sync_api import expect, sync_playwright
from support.page_cases import OFFLINE, cookies_of, find_browser, running, windows


@pytest.fixture(scope="session")
def browser_address(tmp_path_factory):
    """A browser in a process of its own, because Playwright's event loop must not outlive the modules that use it."""
    settings = tmp_path_factory.mktemp("browser") / "settings.json"
    settings.write_text(json.dumps({"executablePath": find_browser(), "args": OFFLINE}))
    command = [sys.executable, "-m", "playwright", "launch-server", "--browser", "chromium", "--config", str(settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        yield process.stdout.readline().strip()
        os.killpg(process.pid, signal.SIGTERM)  # it starts another process, which starts the browser


@pytest.fixture(scope="module")
def browser(browser_address):
    expect.set_options(timeout=60_000)  # also on a busy machine
    with sync_playwright() as driver:
        connected = driver.chromium.connect(browser_address)
        yield connected
        connected.close()


@pytest.fixture(scope="session")
def server():
    """The address without its token, and the cookies of a browser with access."""
    with running() as address:
        yield address.partition("/?")[0], cookies_of(address)


@pytest.fixture
def enter(browser, server):
    """A function that opens the page in a new window."""
    with windows(browser, *server) as enter:
        yield enter


@pytest.fixture
def loans(enter):
    return enter()


@pytest.fixture
def adult(enter):
    return enter().scene("Adult")


@pytest.fixture
def digits(enter):
    return enter().scene("Digits")
