"""Audits of the same files by the local engine and by another one, which must leave the same bits in their folders."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import psutil
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from support.engine_cases import engine_case, worker_path
from support.waiting import patient

import counterleaf as cl
from counterleaf.audit.run import RunOptions, run_audit


def write_files(rows, folder, kind):
    """Rows as three files: Parquet, or CSV of which one is compressed, which makes it one task."""
    table = pa.Table.from_pandas(rows, preserve_index=False)
    folder.mkdir()
    third = len(rows) // 3
    for name, part in zip("abc", (table.slice(0, third), table.slice(third, third), table.slice(2 * third)), strict=True):
        if kind == "parquet":
            parquet.write_table(part, folder / f"{name}.parquet", row_group_size=max(1, third // 3))
        elif name < "c":
            csv.write_csv(part, folder / f"{name}.csv")
        else:
            with pa.CompressedOutputStream(str(folder / "c.csv.gz"), "gzip") as stream:
                csv.write_csv(part, stream)
    return folder


def files_of(out):
    """The content of every file of an audit; the manifest without its date."""
    found = {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    manifest = json.loads(found.pop("manifest.json"))
    assert {name for name in found if name.endswith(".tmp")} == set()
    return found, {name: value for name, value in manifest.items() if name not in ("created", "date")}


@contextmanager
def small_sample():
    """Let audits check fifty of their answers; here, where they were computed is what matters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("counterleaf.audit.checking.sample.SIZE", 50)
        yield


def check_audit(engine, name, tmp_path):
    """Compare the folders of one case."""
    explainer, rows, question = engine_case(name)
    question = cl.Question(**{key: value for key, value in question.items() if key != "words"})
    inputs = write_files(rows, tmp_path / "rows", "csv" if name == "pipeline" else "parquet")
    with small_sample():
        for kind, jobs in (("local", 1), (engine, 2)):
            run_audit(explainer, [inputs], tmp_path / kind, question, part_rows=30, options=RunOptions(kind, jobs))
    assert files_of(tmp_path / engine) == files_of(tmp_path / "local")


def check_killed_audit(engine, tmp_path, is_worker):
    """Compare the folders where one worker of ``engine`` is killed after the first parts."""
    explainer, rows, question = engine_case("values")
    question = cl.Question(**{key: value for key, value in question.items() if key != "words"})
    table = pa.Table.from_pandas(rows, preserve_index=False)
    parquet.write_table(pa.concat_tables([table] * 8), tmp_path / "rows.parquet", row_group_size=60)
    killed = []

    def advance(total, done):
        worker = next(worker_ids(is_worker), None) if done and not killed else None  # between two tasks there may be none
        if worker is not None:
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)

    with small_sample():
        for kind, options in (("local", RunOptions()), (engine, RunOptions(engine, 2, advance=advance))):
            run_audit(explainer, [tmp_path / "rows.parquet"], tmp_path / kind, question, part_rows=60, options=options)
    assert killed
    assert not psutil.pid_exists(killed[0]) or psutil.Process(killed[0]).status() == psutil.STATUS_ZOMBIE
    assert files_of(tmp_path / engine) == files_of(tmp_path / "local")


def worker_ids(is_worker):
    """The processes started here, at any depth, that ``is_worker`` accepts."""
    for process in psutil.Process().children(recursive=True):
        try:
            if is_worker(process):
                yield process.pid
        except psutil.Error:  # it has ended meanwhile
            continue


def check_command(engine, tmp_path):
    """Run the command in a new process, which starts the engine and ends it."""
    explainer, rows, _ = engine_case("pipeline")
    (tmp_path / "model.json").write_text(explainer.to_json())
    inputs = write_files(rows, tmp_path / "rows", "parquet")
    run_audit(explainer, [inputs], tmp_path / "local", cl.Question("granted"), part_rows=40)
    command = [sys.executable, "-m", "counterleaf", "audit", "model.json", "rows", "--target", "granted", "--part-rows", "40"]
    for _ in range(4):
        done = subprocess.run(
            [*command, "--out", engine, "--engine", engine, "--jobs", "2"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": worker_path()},
            capture_output=True,
            text=True,
            timeout=patient(300),
            check=False,
        )
        if "timed out during startup" not in done.stderr:  # Ray gives up after thirty seconds, however busy the machine is
            break
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"{engine}: 300 rows: " in done.stdout
    assert "Traceback" not in done.stderr
    found, manifest = files_of(tmp_path / engine)
    expected, _ = files_of(tmp_path / "local")
    assert {name: found[name] for name in found if name.startswith("parts")} == {
        name: expected[name] for name in expected if name.startswith("parts")
    }
    assert manifest["run"]
