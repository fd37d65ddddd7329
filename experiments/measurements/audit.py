"""An audit from Parquet to Parquet against explain_many on the same rows in memory, and its memory as the table grows.

    python experiments/measurements/audit.py [millions of rows ...]

The tree is axis-aligned with 20 leaves over 20 numeric columns. Both use every core. By default, 1 and 20 million rows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl

MILLION, COLUMNS, LEAVES, REPEATS = 1_000_000, 20, 20, 3
_CHILD = """
import resource, sys
import counterleaf as cl
from counterleaf.audit.run import run_audit
explainer = cl.Explainer.from_json(open(sys.argv[1]).read())
found = run_audit(explainer, [sys.argv[2]], sys.argv[3], {"target": True})
print(found.counts["rows"], found.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def make_model(path: Path) -> cl.Explainer:
    """Fit the tree, write it, and return its explainer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, COLUMNS))
    model = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2] > 0)
    path.write_text(cl.Explainer(model, data=X).to_json())
    return cl.Explainer.from_json(path.read_text())


def make_rows(path: Path, rows: int) -> None:
    """Write a file of random rows, a million at a time."""
    rng = np.random.default_rng(1)
    schema = pa.schema([(f"x{k}", pa.float64()) for k in range(COLUMNS)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, MILLION):
            size = min(MILLION, rows - start)
            writer.write_table(pa.table({name: rng.normal(size=size) for name in schema.names}))


def kernel_rate(explainer: cl.Explainer) -> float:
    """Return the rows per second of explain_many on a million rows, the best of several runs."""
    X = np.random.default_rng(2).normal(size=(MILLION, COLUMNS))
    best = np.inf
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        explainer.explain_many(X, target=True, words=False, n_jobs=-1, progress=False)
        best = min(best, time.perf_counter() - start)
    return MILLION / best


def main() -> None:
    """Print one line per size."""
    sizes = [float(text) for text in sys.argv[1:]] or [1.0, 20.0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        explainer = make_model(folder / "model.json")
        kernel = kernel_rate(explainer)
        print(f"explain_many(words=False, n_jobs=-1): {kernel:,.0f} rows/s")
        for size in sizes:
            rows = folder / f"{size:g}.parquet"
            make_rows(rows, int(size * MILLION))
            command = [sys.executable, "-c", _CHILD, folder / "model.json", rows, folder / f"audit{size:g}"]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
            count, seconds, memory = map(float, done.stdout.split())
            rate = count / seconds
            print(
                f"audit of {count:,.0f} rows: {rate:,.0f} rows/s, {rate / kernel:.2f} of it; at most {memory / 1024:,.0f} MiB"
            )
            rows.unlink()


if __name__ == "__main__":
    main()
