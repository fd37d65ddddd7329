"""The explorer's times: the first answer, clicks in a browser, a large model, and twenty clients. Run it on an idle machine."""

import json
import statistics
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.tree import DecisionTreeClassifier
from support.page_cases import OFFLINE, cookies_of, find_browser, running, windows
from support.running_explorer import command

import counterleaf as cl

CLIENTS, REQUESTS, STARTS = 20, 30, 5
LEAVES, FEATURES, ROWS = 2000, 100, 20_000


def first_question(explorer):
    key = explorer.json("GET", "/api/scenes")[1][0]["key"]
    scene = explorer.json("GET", f"/api/scenes/{key}")[1]
    return {"scene": key, "row": scene["first_row"], "target": scene["target"]}


def time_start():
    """Seconds from the command to its address, and to the first answer."""
    start = time.perf_counter()
    with command() as explorer:
        reachable = time.perf_counter() - start
        explorer.enter()
        assert explorer.json("POST", "/api/answer", first_question(explorer))[0] == 200
        return reachable, time.perf_counter() - start


def time_clients():
    """The statuses and the milliseconds of the requests of several clients, each with one connection."""
    statuses, times = [], []
    with command() as explorer:
        explorer.enter()
        body = json.dumps(first_question(explorer))

        def ask():
            connection = HTTPConnection("127.0.0.1", explorer.port, timeout=120)
            for _ in range(REQUESTS):
                start = time.perf_counter()
                connection.request("POST", "/api/answer", body, {"Cookie": explorer.cookie, "Content-Type": "application/json"})
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)
                times.append(1e3 * (time.perf_counter() - start))
            connection.close()

        threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return statuses, times


@contextmanager
def opened(*arguments):
    """The page in a browser."""
    with running(*arguments) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_browser(), args=OFFLINE)
        with windows(browser, address.partition("/?")[0], cookies_of(address)) as enter:
            yield enter()
        browser.close()


def time_clicks(explorer):
    """Milliseconds until painted: of a lock on and off, and of other rows."""
    names = explorer.features()[:15]
    labels = [f"lock {name}" for name in names for _ in range(2)] + ["next row", "next row", "previous row"] * 10
    return [explorer.time(f'//button[@aria-label="{label}"]')[1] for label in labels]


def large_model(folder):
    """A file with a tree of 2,000 leaves over 100 features, and one with its rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)).round(3)
    y = (X[:, :10].sum(axis=1) + 2 * rng.normal(size=ROWS)) > 0
    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0).fit(X, y)
    model, rows = Path(folder, "model.json"), Path(folder, "rows.csv")
    model.write_text(cl.Explainer(tree, data=X).to_json())
    np.savetxt(rows, X[:500], delimiter=",", fmt="%g", header=",".join(f"x{k}" for k in range(FEATURES)), comments="")
    return str(model), "--data", str(rows)


def time_conflict(*arguments):
    """Milliseconds of the answers to a question with all features locked, for several rows."""
    with command(*arguments) as explorer:
        explorer.enter()
        question = first_question(explorer)
        scene = explorer.json("GET", f"/api/scenes/{question['scene']}")[1]
        locks = {feature["name"]: {"lock": True} for feature in scene["features"]}
        times = []
        for row in range(20):
            start = time.perf_counter()
            status, answer = explorer.json("POST", "/api/answer", {**question, "row": row, "target": [], "controls": locks})
            assert (status, answer["status"]) == (200, "infeasible")
            times.append(1e3 * (time.perf_counter() - start))
    return times


def figures(times):
    return f"median {statistics.median(times):.0f} ms, p95 {statistics.quantiles(times, n=20)[-1]:.0f} ms"


if __name__ == "__main__":
    reachable, answered = (statistics.median(part) for part in zip(*(time_start() for _ in range(STARTS)), strict=True))
    print(f"start, median of {STARTS}: address after {reachable:.2f} s, first answer after {answered:.2f} s")
    statuses, times = time_clients()
    print(f"{CLIENTS} clients: {statuses.count(200)} of {len(statuses)} answered; {figures(times)}")
    with opened() as explorer:
        print(f"clicks on Adult until painted: {figures(time_clicks(explorer.scene('Adult')))}")
    with tempfile.TemporaryDirectory() as folder:
        files = large_model(folder)
        with opened(*files) as explorer:
            print(f"clicks on {LEAVES:,} leaves and {FEATURES} features until painted: {figures(time_clicks(explorer))}")
        print(f"all {FEATURES} features locked, until the conflict: {figures(time_conflict(*files))}")
