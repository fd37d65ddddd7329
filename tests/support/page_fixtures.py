"""Fixtures of the tests in a browser: a plugin that their modules name, each with a browser of its own, all with one server."""

import pytest
from playwright.sync_api import sync_playwright
from support.page_cases import OFFLINE, cookies_of, find_browser, running, windows


@pytest.fixture(scope="module")
def browser():
    path = find_browser()
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=OFFLINE)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def server():
    """(address without its token, the cookies of who was let in)."""
    with running() as address:
        yield address.partition("/?")[0], cookies_of(address)


@pytest.fixture
def enter(browser, server):
    """Opens the page in a window of its own."""
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
