"""Kill an audit at random moments, again and again, and compare the result with that of an undisturbed run.

    python experiments/measurements/audit_kills.py [kills] [seed]

Each run is a process that is killed (SIGKILL) after a random time. Whenever the audit is complete, its folder is compared byte
for byte with the undisturbed one and removed. Needs a system with fork.
"""

from __future__ import annotations

import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.audit.checking import sample
from counterleaf.audit.run import RunOptions, run_audit

ROWS, PART_ROWS, COLUMNS, JOBS = 40_000, 200, 6, 2
SAMPLE = 50  # rows that are checked at the end, fewer than usual, so that most kills meet the work on parts


def make(folder: Path) -> tuple[cl.Explainer, list[Path]]:
    """Write two files of random rows, and return them with a model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, COLUMNS))
    model = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    names = [f"x{k}" for k in range(COLUMNS)]
    paths = [folder / "rows.parquet", folder / "more.parquet"]
    for path in paths:
        table = pa.table(dict(zip(names, rng.normal(size=(COLUMNS, ROWS // 2)), strict=True)))
        parquet.write_table(table, path, row_group_size=7000)
    return cl.Explainer.from_json(cl.Explainer(model, data=X).to_json()), paths


def run(explainer: cl.Explainer, paths: list[Path], out: Path) -> None:
    """Run the audit in this process."""
    run_audit(explainer, paths, out, cl.Question(True), part_rows=PART_ROWS, options=RunOptions(jobs=JOBS))


def contents(out: Path) -> dict[str, bytes]:
    """The bytes of all files; the manifest without the line of its date."""
    found = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    lines = found.get("manifest.json", b"").split(b"\n")
    found["manifest.json"] = b"\n".join(line for line in lines if b'"created"' not in line)
    return found


def kill_often(kills: int, seed: int, folder: Path) -> dict[str, float]:
    """Kill an audit so often; return the counts of kills, finished audits, differing audits and rows lost or doubled."""
    sample.SIZE = SAMPLE
    explainer, paths = make(folder)
    chance, context = random.Random(seed), multiprocessing.get_context("fork")
    whole, out = folder / "whole", folder / "audit"

    def start(place: Path) -> multiprocessing.process.BaseProcess:
        process = context.Process(target=run, args=(explainer, paths, place))
        process.start()
        return process

    begun = time.perf_counter()
    start(whole).join()
    longest, expected = time.perf_counter() - begun, contents(whole)
    done = finished = differing = wrong = 0
    while done < kills or out.exists():
        process = start(out)
        if done < kills:
            process.join(chance.uniform(0.0, 1.2 * longest))
        else:
            process.join()
        killed = process.is_alive()
        process.kill()
        process.join()
        done += killed
        if killed:
            continue
        finished += 1
        differing += contents(out) != expected
        wrong += _wrong_rows(out)
        shutil.rmtree(out)
    return {"kills": done, "finished": finished, "differing": differing, "rows_lost_or_doubled": wrong}


def _wrong_rows(out: Path) -> int:
    tables = [parquet.read_table(path, columns=["file", "row"]) for path in sorted((out / "parts").glob("*.parquet"))]
    table = pa.concat_tables(tables)
    found = list(zip(table["file"].to_pylist(), table["row"].to_pylist(), strict=True))
    expected = {(file, row) for file in range(2) for row in range(ROWS // 2)}
    return len(expected - set(found)) + len(found) - len(set(found))


def main() -> None:
    """Print the counts; the exit code is 1 if an audit differs."""
    kills, seed = (int(sys.argv[k]) if len(sys.argv) > k else default for k, default in ((1, 1000), (2, 0)))
    with tempfile.TemporaryDirectory() as folder:
        found = kill_often(kills, seed, Path(folder))
    print(", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in found.items()))
    sys.exit(bool(found["differing"] or found["rows_lost_or_doubled"]))


if __name__ == "__main__":
    main()
