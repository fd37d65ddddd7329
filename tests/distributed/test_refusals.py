"""Mistakes about engines: each is reported in one line, before any work."""

import os
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.engine_cases import refusal

import counterleaf as cl
from counterleaf.audit.engines.work import Report, ship, work
from counterleaf.audit.run import CLUSTERS, RunOptions, run_audit
from counterleaf.distributed.task import make_task

TREE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
EXPLAINER = cl.Explainer(TREE)
PACKAGES = {"spark": "pyspark", "dask": "dask", "ray": "ray"}


@pytest.fixture
def rows(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["x0", "x1"])
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def hide(monkeypatch, package):
    """Make imports of a package fail, without removing what others have imported."""
    for name in (package, *(f"{package}.{part}" for part in ("sql", "dataframe", "distributed", "data"))):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("engine", CLUSTERS)
def test_an_engine_that_is_not_installed(engine, monkeypatch, rows, tmp_path):
    hide(monkeypatch, PACKAGES[engine])
    message = refusal(getattr(cl.distributed, engine), None, EXPLAINER)
    assert message.startswith(f"distributed.{engine} needs {PACKAGES[engine]}")
    assert "; install with: pip install " in message
    options = RunOptions(engine, 2)
    message = refusal(run_audit, EXPLAINER, [rows], tmp_path / "out", cl.Question("yes"), options=options)
    assert message.startswith(f"--engine {engine} needs {PACKAGES[engine]}")


def test_engines_and_addresses(rows, tmp_path):
    message = refusal(run_audit, EXPLAINER, [rows], tmp_path / "out", cl.Question(), options=RunOptions("flink"))
    assert message == "--engine is 'flink'; expected local, spark, dask, ray"
    message = refusal(run_audit, EXPLAINER, [rows], tmp_path / "out", cl.Question(), options=RunOptions(address="auto"))
    assert message == "--address is 'auto' and --engine is local; expected --engine spark, dask, ray"


def test_spark_without_java(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    message = refusal(run_audit, EXPLAINER, [rows], tmp_path / "out", cl.Question(), options=RunOptions("spark", 1))
    assert message.startswith("Spark needs Java 17 or later; on Debian and Ubuntu: apt-get install default-jre-headless")


@pytest.mark.slow
@pytest.mark.cluster
def test_a_scheduler_that_does_not_answer(rows, tmp_path):
    import dask
    import dask.distributed  # with its settings, before one of them is set

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        options = RunOptions("dask", address="tcp://127.0.0.1:1")
        message = refusal(run_audit, EXPLAINER, [rows], tmp_path / "out", cl.Question(), options=options)
    assert message.startswith("no Dask scheduler answers at tcp://127.0.0.1:1 (")
    options = RunOptions("dask", address="nothing://here")
    message = refusal(run_audit, EXPLAINER, [rows], tmp_path / "out2", cl.Question(), options=options)
    assert message.startswith("no Dask scheduler answers at nothing://here (")


class InterruptedRunError(Exception):
    pass


def stop(task, units, jobs, address):
    raise InterruptedRunError(task, list(units.take(1, jobs)))
    yield


def test_a_worker_that_does_not_see_the_folder(rows, tmp_path, monkeypatch):
    monkeypatch.setitem(CLUSTERS, "ray", stop)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InterruptedRunError) as caught:
        run_audit(EXPLAINER, ["rows.parquet"], "out", cl.Question("yes"), options=RunOptions("ray"))
    task, units = caught.value.args
    payload = ship(task)
    monkeypatch.chdir("/")  # a worker has its own working directory
    report = work(payload, units[0])
    assert report.checked()[0].counts["rows"] == 20
    again = work(payload, units[0])
    assert again == replace(report, records=(replace(report.records[0], seconds=0.0),))  # a part that exists takes no time
    (tmp_path / "out" / "manifest.json").unlink()
    problem = work(payload, units[0])
    assert problem.records == ()
    assert "does not see" in refusal(problem.checked)
    (tmp_path / "out" / "manifest.json").touch()
    (tmp_path / "out" / "parts" / "part-00000000.parquet").unlink()
    rows.unlink()
    assert "rows.parquet" in refusal(work(payload, units[0]).checked)
    assert Report(()).checked() == ()


def test_arguments_of_the_functions():
    names = ["x0", "x1", "id"]
    question = cl.Question("yes")
    task, step = make_task("spark", EXPLAINER, names, question, "all", {})
    assert (task.reads, task.keep, task.columns) == (("x0", "x1"), ("x0", "x1", "id"), ["x0", "x1", "id"])
    assert step.schema == step.answers
    assert make_task("spark", EXPLAINER, names, question, ["id"], {})[0].columns == ["id", "x0", "x1"]
    assert make_task("spark", EXPLAINER, names, question, None, {})[0].keep == ()
    assert "explainer is a Tree; expected a counterleaf.Explainer" in refusal(
        make_task, "dask", TREE, names, question, "all", {}
    )
    message = refusal(make_task, "dask", EXPLAINER, names, question, "id", {})
    assert message == "keep is 'id'; expected a list of column names, \"all\" or None"
    assert "kept twice" in refusal(make_task, "dask", EXPLAINER, names, question, ["id", "id"], {})
    assert "kept twice" in refusal(make_task, "dask", EXPLAINER, [*names, "id"], question, "all", {})
    message = refusal(make_task, "dask", EXPLAINER, names, question, ["ID"], {})
    assert message == "keep names the column 'ID'; the frame has ['x0', 'x1', 'id']; did you mean 'id'?"
    with pytest.raises(TypeError, match=r"dask\(\) got an unexpected keyword argument 'counts'"):
        make_task("dask", EXPLAINER, names, question, "all", {"counts": 2})


def test_columns_of_several_chunks():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0, 0], [0] * 3, [0] * 3], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("a", 0, 3), cl.Categorical("job", ["cook", "nurse"])]))
    kinds = {"a": pd.ArrowDtype(pa.float64()), "job": pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))}
    whole = pd.DataFrame({"a": [0.5, 2.0, 0.25], "job": ["cook", "nurse", "cook"]})
    task, _ = make_task("dask", explainer, ["a", "job"], cl.Question("yes"), "all", {})
    expected = task.frame(whole)
    for frame in (whole, whole.astype({"job": "string[pyarrow]"}), whole.astype(kinds)):
        pieces = pd.concat([frame[:1], frame[1:]])
        pd.testing.assert_frame_equal(task.frame(pieces).astype(expected.dtypes), expected)
        assert len(task.frame(pieces[:0])) == 0


def test_batches_are_cut_and_renamed(monkeypatch):
    monkeypatch.setattr("counterleaf.distributed.task.ROWS", 4)
    rows = np.random.default_rng(0).normal(size=(10, 2))
    batch = pa.RecordBatch.from_arrays(
        [pa.array(rows[:, 0]), pa.array(rows[:, 1]), pa.array(range(10))], names=["x0", "x1", "id"]
    )
    task, step = make_task("spark", EXPLAINER, batch.schema.names, cl.Question("yes"), ["id"], {})
    parts = list(task.batches([batch]))
    assert [part.num_rows for part in parts] == [4, 4, 2]
    table = pa.Table.from_batches(parts)
    assert table.drop_columns(["id"]).combine_chunks().equals(step(pa.Table.from_batches([batch])))
    assert task.table(pa.Table.from_batches([batch])).equals(table)
    assert task.table(pa.Table.from_batches([batch]).slice(0, 0)).schema == table.schema
    unnamed = pa.RecordBatch.from_arrays([batch.column(name) for name in task.columns], names=["c0", "c1", "c2"])
    assert pa.Table.from_batches(task.unnamed_batches([unnamed])).equals(table)
    frame = task.frame(batch.to_pandas())
    assert pa.Table.from_pandas(frame).cast(table.schema).equals(table)
