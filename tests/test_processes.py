"""One Explainer in many threads, in forked and spawned processes, interrupted, and where nothing can be written."""

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

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


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # threads of pytest's own
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_are_forked_or_spawned_answer_alike(method, expected):
    made = explainer()
    made.explain_many(ROWS, n_jobs=2)  # threads before a fork
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        found = [cost for part in pool.map(answers, [made] * 2, [ROWS[:20], ROWS[20:]]) for cost in part]
    assert found == expected


def many(made, rows, threads):
    """A batch with threads of its own, and an answer with its proof, from wherever this runs."""
    answer = made.explain(rows[0], count=2)
    return made.explain_many(rows, n_jobs=threads, progress=False), answer, answer.certificate.check()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_start_threads_of_their_own_and_send_proofs_back(method):
    made = explainer()
    here, answer, _ = many(made, ROWS, 2)  # threads before a fork
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        for there, theirs, held in pool.map(many, [made] * 2, [ROWS] * 2, [1, 3]):
            assert there.equals(here)
            assert held
            assert theirs.certificate.check()
            assert theirs.to_json() == answer.to_json()


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
    made = endless()
    start = time.perf_counter()
    answer = made.explain(np.zeros(301), target="yes", time_limit=0.2)
    assert answer.status == "limit"
    assert time.perf_counter() - start < 1.0  # 0.1 s late at the most, and what a busy machine adds


@pytest.mark.parametrize("call", ["explain(row, target='yes')", "explain_many(row[None], target='yes', n_jobs=2)"])
def test_ctrl_c_ends_a_search(call, tmp_path):
    script = tmp_path / "search.py"
    script.write_text(
        f"import sys, time\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import numpy as np\nfrom support.explorer_cases import endless\nmade, row = endless(), np.zeros(301)\n"
        "print('ready', flush=True)\n"
        f"try:\n    made.{call}\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        assert process.stdout.readline() == "interrupted\n"
        assert time.perf_counter() - start < 1.0  # 0.1 s, and what a busy machine adds
        process.wait(10)
    finally:
        process.kill()
        process.stdout.close()


def test_nothing_is_written_to_answer():
    """Not beside the package, not in a home or cache folder: a read-only installation works."""
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
    asked = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert asked.stdout == "[0.5, 0.5]\n", asked.stderr
