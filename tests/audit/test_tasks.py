"""Tasks of an audit: as many as the measured seconds ask for, and the same bytes whatever they are."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.audit_cases import TARGET, audit, numbers, write_model, write_rows
from support.cli_cases import rows_of, small

import counterleaf as cl
from counterleaf.audit.engines.work import AHEAD, Queue, Report, ship, work
from counterleaf.audit.inputs import find_inputs
from counterleaf.audit.parts import PartRecord, Task
from counterleaf.audit.plan import make_plan
from counterleaf.audit.run import PART_ROWS, SLOW_PART_ROWS, RunOptions, run_audit


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """A million rows in one row group, and the features of a model."""
    path = tmp_path_factory.mktemp("million") / "rows.parquet"
    table = pa.table({f"x{k}": np.random.default_rng(k).normal(size=1_000_000) for k in range(2)})
    parquet.write_table(table, path, row_group_size=1_000_000)
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0], [0, 0], [0, 0]], [-0.5, 0, 0], [-1, 0, 1])
    return path, cl.Explainer(tree).schema


def tasks(plan, slow, seconds, workers):
    """Return the units of a queue whose parts take this many seconds per row."""
    queue, out, waiting = Queue(plan, {part.number for part in plan.parts}, slow), [], []
    waiting += queue.take(AHEAD * workers, workers)
    while waiting:
        unit = waiting.pop(0)
        out.append(unit)
        records = [PartRecord(part.number, {"rows": part.span.rows}, seconds * part.span.rows) for part in unit.parts]
        queue.learn(records)
        waiting += queue.take(1, workers)
    return out


def test_a_million_rows_of_a_slow_model_are_many_tasks(million):
    path, schema = million
    plan = make_plan(find_inputs([path]), schema, SLOW_PART_ROWS, ())
    for seconds in (0.001, 0.03):
        assert [len(unit.parts) for unit in tasks(plan, True, seconds, 20)] == [1] * 100
    quick = tasks(plan, True, 1e-6, 2)  # measured, it is quick after all
    assert 6 < len(quick) < 40
    assert len(tasks(make_plan(find_inputs([path]), schema, PART_ROWS, ()), False, 1e-6, 2)) == 1  # a second of work


@pytest.mark.parametrize("slow", [False, True])
def test_many_small_parts_of_a_quick_model_are_few_tasks(tmp_path, slow):
    for k in range(4):
        write_rows(tmp_path / f"{k}.parquet", numbers(2500, columns=2), row_group_size=7)
    schema = cl.Explainer(cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0], [0, 0], [0, 0]], [-0.5, 0, 0], [-1, 0, 1])).schema
    plan = make_plan(find_inputs([tmp_path]), schema, 7, ())
    assert len(plan.parts) > 1400
    found = tasks(plan, slow, 1e-6, 4)
    assert len(found) < 100
    assert [part.number for unit in found for part in unit.parts] == list(range(len(plan.parts)))
    assert max(len(unit.parts) for unit in found[-AHEAD * 4 :]) < 10  # no worker waits in the end


@pytest.mark.parametrize("name", ["parquet", "csv", "csv.gz"])
def test_the_parts_have_the_same_bytes_whatever_the_tasks(tmp_path, name):
    write_model(tmp_path)
    (tmp_path / "rows").mkdir()
    for k in range(2):
        write_rows(tmp_path / f"rows/{k}.{name}", rows_of(90, seed=k), **({"row_group_size": 40} if name == "parquet" else {}))
    audit(tmp_path, tmp_path / "rows", *TARGET, "--part-rows", 15)
    whole = {path.name: path.read_bytes() for path in (tmp_path / "audit/parts").iterdir()}
    made = []

    class One(Queue):
        """All parts as one task, over files and row groups, done as by a worker."""

        def _next(self, most):
            self._rows, self._seconds = 10**9, 1e-9
            return super()._next(10**6)

    def engine(task, queue, jobs, address):
        units = list(queue.take(99, 1))
        made.append(len(units))
        for unit in units:
            report = work(ship(task), unit)
            assert isinstance(report, Report)
            yield from report.checked()

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(run_audit.__globals__, "Queue", One)
        patch.setattr("counterleaf.audit.run.CLUSTERS", {"spark": engine})
        options = {"part_rows": 15, "options": RunOptions("spark", 1)}
        run_audit(small(), [tmp_path / "rows"], tmp_path / "one", cl.Question(2), **options)
    assert made == [1] if name != "csv.gz" else [2]
    assert {path.name: path.read_bytes() for path in (tmp_path / "one/parts").iterdir()} == whole


def test_seconds_are_measured(tmp_path, monkeypatch):
    write_model(tmp_path)
    rows, seen = write_rows(tmp_path / "rows.csv", rows_of(40)), []
    do = Task.do
    monkeypatch.setattr(Task, "do", lambda *a, **b: (seen.append(one) or one for one in do(*a, **b)))
    audit(tmp_path, rows, *TARGET, "--part-rows", 20, "--jobs", 1)
    assert len(seen) == 2
    assert all(one.seconds > 0 for one in seen)
