"""Fixtures for the tests in a browser, as a pytest plugin: one browser per module, one server for all."""

import pytest
from playwright.sync_api import expect, sync_playwright
from support.page_cases import OFFLINE, cookies_of, find_browser, running, windows


@pytest.fixture(scope="module")
def browser():
    path = find_browser()
    expect.set_options(timeout=60_000)  # also on a busy machine
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=OFFLINE)
        yield opened
        opened.close()


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
