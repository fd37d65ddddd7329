"""One Explainer in many threads, in forked and spawned processes, interrupted, and on a read-only file system."""

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from support.explorer_cases import endless
from support.strategies import random_tree

import counterleaf as cl

ROWS = np.random.default_rng(1).normal(size=(40, 6))


def explainer():
    return cl.Explainer(random_tree(np.random.default_rng(0), 6, 6, 3, "oblique", np.ones(6)))


def answers(made, rows=ROWS):
    return [(made.explain(row)[0].cost, made.explain(row, cost=cl.L1())[0].cost) for row in rows]


@pytest.fixture(scope="module")
def expected():
    return answers(explainer())


def test_one_explainer_serves_eight_threads(expected):
    made, out = explainer(), {}

    def work(k):
        for turn in range(20):
            row = (k * 5 + turn) % len(ROWS)
            costs = made.explain(ROWS[row])[0].cost, made.explain(ROWS[row], cost=cl.L1())[0].cost
            made.explain(ROWS[row], margin=1e-6 * (k * 100 + turn), target=turn % 3)
            out[k, turn] = costs == expected[row]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)
    assert len(out) == 160
    assert all(out.values())


@pytest.mark.parametrize("threads", [2, 3, 8, 2**70])
def test_a_batch_is_the_same_for_any_number_of_threads(threads):
    made, rows = explainer(), np.random.default_rng(2).normal(size=(300, 6))
    one, several = made.explain_many(rows), made.explain_many(rows, n_jobs=threads)
    assert one.equals(several)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # pytest's threads
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_are_forked_or_spawned_answer_alike(method, expected):
    made = explainer()
    made.explain_many(ROWS, n_jobs=2)  # threads before a fork
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        found = [cost for part in pool.map(answers, [made] * 2, [ROWS[:20], ROWS[20:]]) for cost in part]
    assert found == expected


def many(made, rows, threads):
    """A batch that starts threads, and an answer with its proof, from the process that runs this."""
    answer = made.explain(rows[0], count=2)
    return made.explain_many(rows, n_jobs=threads, progress=False), answer, answer.certificate.check()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_start_threads_and_send_proofs_back(method):
    made = explainer()
    here, answer, _ = many(made, ROWS, 2)  # threads before a fork
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        for there, theirs, valid in pool.map(many, [made] * 2, [ROWS] * 2, [1, 3]):
            assert there.equals(here)
            assert valid
            assert theirs.certificate.check()
            assert theirs.to_json() == answer.to_json()


@pytest.mark.slow
def test_joblib_sends_explainers_to_its_workers(expected):
    found = joblib.Parallel(2, backend="loky")(joblib.delayed(answers)(explainer(), part) for part in (ROWS[:20], ROWS[20:]))
    assert [cost for part in found for cost in part] == expected


def test_answers_survive_pickling_with_their_proof():
    made = explainer()
    for cost in (cl.L2(), cl.L1(), cl.Quadratic(np.eye(6))):
        answer = made.explain(ROWS[0], cost=cost, count=2)
        again = pickle.loads(pickle.dumps(answer))
        assert [c.cost for c in again] == [c.cost for c in answer]
        assert again.certificate.check()
        assert str(again) == str(answer)


def test_a_time_limit_is_noticed_inside_the_search():
    """Without the limit, this search would never end."""
    answer = endless().explain(np.zeros(301), target="yes", time_limit=0.2)
    assert answer.status == "limit"


@pytest.mark.parametrize("call", ["explain(row, target='yes')", "explain_many(row[None], target='yes', n_jobs=2)"])
def test_ctrl_c_ends_a_search(call, tmp_path):
    """Without the interrupt, this search would never end."""
    (tmp_path / "endless.json").write_text(endless().to_json())
    script = f"""
import pathlib, signal, numpy as np, counterleaf as cl
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background without it
made, row = cl.Explainer.from_json(pathlib.Path("endless.json").read_text()), np.zeros(301)
try:
    print("ready", flush=True)
    made.{call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.5)  # into the search
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            process.kill()


def test_nothing_is_written_to_answer():
    """Not next to the package and not in a home or cache directory, so that a read-only installation works."""
    code = """
import sys
def refuse(event, arguments):
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        raise PermissionError(arguments[0])
sys.addaudithook(refuse)
import counterleaf as cl
tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1])
print(cl.Explainer(tree).explain([0.0, 0.0], target=1)[0].row)
"""
    environment = {**os.environ, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "[0.5, 0.5]\n", done.stderr
