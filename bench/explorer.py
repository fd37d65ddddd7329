"""The explorer's times: from the command to the first answer, and twenty clients at once. Run it on an idle machine."""

import json
import statistics
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.running_explorer import command

CLIENTS, REQUESTS, STARTS = 20, 30, 5


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


if __name__ == "__main__":
    reachable, answered = (statistics.median(part) for part in zip(*(time_start() for _ in range(STARTS)), strict=True))
    print(f"start, median of {STARTS}: address after {reachable:.2f} s, first answer after {answered:.2f} s")
    statuses, times = time_clients()
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"{CLIENTS} clients: {statuses.count(200)} of {len(statuses)} answered; median {p50:.0f} ms, p95 {p95:.0f} ms")
