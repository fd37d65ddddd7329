"""The explorer inside a real JupyterLab: the page below a cell answers through the kernel."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect, sync_playwright
from support.page_cases import OFFLINE, find_browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WAIT = 120_000  # milliseconds, also on a busy machine
TOKEN = "test"
CELLS = [
    """
import counterleaf as cl
from counterleaf import datasets
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
X, rows, y, _ = datasets.load_german_credit().split()
text = [name for name in X if X[name].dtype.kind not in "if"]
encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), remainder="passthrough")
model = make_pipeline(encode, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(X, y)
explainer = cl.Explainer(model, data=X)
row = rows[model.predict(rows) == "bad"].iloc[0]
view = explainer.explore(row, target="good")
view
""",
    """
url = view.url
view.close()
try:
    view.url
except cl.CounterleafError as error:
    print("closed:", url.startswith("http://127.0.0.1:") and "call explore() again" in str(error))
""",
]


@contextmanager
def jupyter_lab(folder):
    """JupyterLab without access to the user's settings; yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "HOME")
    names += ("JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    settings = os.environ | {name: str(folder / name.lower()) for name in names}
    options = {"port": port, "ip": "127.0.0.1", "allow_root": True, "open_browser": False, "root_dir": str(folder)}
    command = [sys.executable, "-m", "jupyterlab", *(f"--ServerApp.{name}={value}" for name, value in options.items())]
    command += [f"--IdentityProvider.token={TOKEN}", "--LabApp.news_url=None"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with open(folder / "log.txt", "w") as log:
        process = subprocess.Popen(command, cwd=folder, env=settings, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            end = time.monotonic() + WAIT / 1000
            while not _responds(address):
                assert process.poll() is None, (folder / "log.txt").read_text()
                assert time.monotonic() < end, "JupyterLab did not start"
                time.sleep(0.2)
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _responds(address):
    try:
        with urlopen(f"{address}/api?token={TOKEN}", timeout=5):
            return True
    except (URLError, OSError):
        return False


def write_notebook(path, cells):
    empty = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    code = [{**empty, "id": f"c{k}", "source": cell.strip()} for k, cell in enumerate(cells)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    path.write_text(json.dumps({"cells": code, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))


def run_first_cell(page):
    """Run the cell; JupyterLab ignores the keys until it is ready."""
    page.locator(".jp-Notebook .cm-content").first.click()
    for _ in range(60):
        if page.locator(".jp-InputPrompt").first.inner_text() != "[ ]:":
            return
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(1000)
    raise AssertionError("the cell did not run")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """The page of a notebook whose cells have been run, and the frame of the explorer in it."""
    folder = tmp_path_factory.mktemp("jupyter")
    write_notebook(folder / "test.ipynb", CELLS)
    with jupyter_lab(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=OFFLINE)
        page = browser.new_page(viewport={"width": 1400, "height": 1100})
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_default_timeout(WAIT)
        expect.set_options(timeout=WAIT)
        page.goto(f"{address}/lab/tree/test.ipynb?token={TOKEN}")
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(state="attached")
        run_first_cell(page)
        frame = page.frame_locator("iframe[title='counterleaf explorer']")
        yield page, frame, errors
        browser.close()


def test_the_page_answers_inside_the_notebook(notebook):
    page, frame, errors = notebook
    answer = frame.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_contain_text("makes the model say good")
    expect(answer).to_contain_text("confirmed: the model says good")
    change = re.search(r"Option 1.*?(duration months)\s+42\s*→\s*22", answer.inner_text().replace("\n", " "))
    assert change, answer.inner_text()
    lock = frame.get_by_role("button", name="lock duration months")
    lock.click()
    expect(lock).to_have_attribute("aria-pressed", "true")
    expect(answer).not_to_contain_text("duration months")
    expect(answer).to_contain_text("confirmed: the model says good")
    page.keyboard.press("Control+z")  # the frame has the focus: its steps are undone, not those of the notebook
    expect(answer).to_contain_text("duration months")
    assert errors == []


def test_the_page_has_the_theme_of_the_notebook(notebook):
    page, frame, _ = notebook
    expect(frame.locator("html")).to_have_css("color-scheme", "light")
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    expect(frame.locator("html")).to_have_css("color-scheme", "dark")


def test_the_frame_has_no_access_to_the_notebook_and_no_network(notebook):
    page, frame, _ = notebook
    assert frame.locator("html").evaluate("() => origin") == "null"
    fetched = "address => fetch(address).then(() => 'loaded', () => 'refused')"
    assert frame.locator("html").evaluate(fetched, page.url) == "refused"


def test_the_kernel_can_be_used_and_the_explorer_closed(notebook):
    page, _, _ = notebook
    outcome = page.locator(".jp-OutputArea-output")
    page.keyboard.press("Escape")
    page.locator(".jp-Notebook .cm-content").nth(1).click()
    page.keyboard.press("Control+Enter")
    expect(outcome.filter(has_text="closed: True")).to_be_visible()
