"""Count the instructions of what users type, and compare them with bench/speed.json.

    python bench/speed.py            print the table; exit code 1 if a path became more than 10 % dearer
    python bench/speed.py --update   write bench/speed.json

valgrind counts every instruction of a call, in Python and in the core, so that a busy machine changes nothing: two runs differ
by less than 1 %. Each call runs once before it is counted. The models are fitted outside of valgrind. The numbers depend on the
versions of Python and of the libraries; they are compared only where these are the same.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from platform import machine, python_version
from typing import Any

KNOWN = Path(__file__).with_suffix(".json")
DEARER = 1.10
LIBRARIES = ("numpy", "pandas", "scikit-learn", "scipy", "lightgbm", "pyarrow")
MARK = "_PyEval_CallTracing"  # the function of CPython behind sys.call_tracing: valgrind writes its counts before and after it
MANY, FEW = 500, 8  # rows of a batch: trees, ensembles


def fit(folder: Path) -> None:
    """Fit the models and pickle each with its rows."""
    from lightgbm import LGBMClassifier
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    import counterleaf as cl
    from counterleaf import datasets

    spam = datasets.load_spambase()
    X = spam.data.set_axis([f"x{k}" for k in range(spam.data.shape[1])], axis=1)  # LightGBM refuses its names
    tree = DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(X, spam.target)
    german = datasets.load_german_credit()
    texts = [name for name, column in german.data.items() if column.dtype.kind not in "iuf"]
    columns = make_column_transformer((OneHotEncoder(), texts), remainder=StandardScaler())
    pipeline = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(german.data, german.target)
    forest = RandomForestClassifier(50, max_depth=5, random_state=0).fit(X, spam.target)
    boosted = LGBMClassifier(n_estimators=50, num_leaves=15, random_state=0, n_jobs=1, verbose=-1).fit(X, spam.target)
    models = {"tree": (tree, X), "pipeline": (pipeline, german.data), "forest": (forest, X), "lightgbm": (boosted, X)}
    for name, content in models.items():
        (folder / name).write_bytes(pickle.dumps((*content, cl.Explainer(content[0], data=content[1]))))


def paths(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return what is counted, by name; the part before the colon is the model."""
    import numpy as np

    import counterleaf as cl
    from counterleaf.datasets import samples

    found: dict[str, Callable[[], Any]] = {}
    goals = {"tree": "not spam", "pipeline": "good", "forest": "not spam", "lightgbm": "not spam"}
    for name, goal in goals.items():
        model, data, explainer = pickle.loads((folder / name).read_bytes())
        predicted = model.predict(data)
        rows = MANY if name in ("tree", "pipeline") else FEW
        refused, fine = (data[same].head(rows) for same in (predicted != goal, predicted == goal))
        refused = refused.sample(rows, replace=True, random_state=0)  # as many for every model
        first, few = refused.iloc[0], refused.head(4)

        def many(rows: Any = refused, explainer: Any = explainer, goal: Any = goal, **options: Any) -> Any:
            return explainer.explain_many(rows, target=goal, progress=False, **options)

        def one(first: Any = first, explainer: Any = explainer, goal: Any = goal, **options: Any) -> Any:
            return explainer.explain(first, target=goal, **options)

        answer = one()
        found |= {
            f"{name}: predict": lambda model=model, rows=refused: model.predict(rows),
            f"{name}: explain": one,
            f"{name}: explain, 3 answers": lambda one=one: one(count=3),
            f"{name}: explain, frozen and limited": lambda one=one, data=data: one(
                constraints=[cl.freeze(data.columns[3]), cl.max_changes(3)]
            ),
            f"{name}: check": lambda answer=answer: answer.certificate.check(),
            f"{name}: print": lambda answer=answer: str(answer),
            f"{name}: to_json": lambda answer=answer: answer.to_json(),
            f"{name}: explain_many": many,
            f"{name}: explain_many, no words": lambda many=many: many(words=False),
            f"{name}: explain_many, rows that need nothing": lambda many=many, fine=fine: many(fine),
            f"{name}: explain_many, 3 answers": lambda many=many, few=few: many(few, count=3),
        }
        if name in ("tree", "lightgbm"):
            found[f"{name}: explain_front"] = lambda explainer=explainer, first=first, goal=goal: explainer.explain_front(
                first, target=goal, constraints=cl.max_changes(3)
            )
            found[f"{name}: arrow"] = arrow(explainer, refused, goal)
            found[f"{name}: audit"] = lambda explainer=explainer, refused=refused, goal=goal: explainer.audit(
                refused, target=goal, progress=False
            )
    digits = samples.load("digits")  # an oblique tree
    pixels = np.random.default_rng(0).integers(0, 17, (FEW, len(digits.schema.names))).astype(float)
    costs = {"L1": cl.L1(), "L2": cl.L2(), "L1 and L2": cl.L1() + 0.1 * cl.L2(), "L1 and changes": cl.L1() + 0.5 * cl.Changes()}
    for name, cost in costs.items():
        found[f"digits: explain, {name}"] = lambda cost=cost: digits.explain(pixels[0], target=3, cost=cost)
        if name in ("L1", "L2"):
            found[f"digits: explain_many, {name}"] = lambda cost=cost: digits.explain_many(
                pixels, target=3, cost=cost, progress=False
            )
    return found


def arrow(explainer: Any, rows: Any, goal: Any) -> Callable[[], Any]:
    """Return the call of an arrow step on a batch."""
    import pyarrow as pa

    batch, step = pa.RecordBatch.from_pandas(rows.reset_index(drop=True)), explainer.arrow(target=goal)
    return lambda: step(batch)


def run(folder: Path) -> None:
    """Inside of valgrind: call everything once, and once more to be counted."""
    for name, call in paths(folder).items():
        call()
        print(name, flush=True)
        gc.collect()
        gc.disable()  # a collection of the whole heap would count in whichever call it falls
        sys.call_tracing(call, ())
        gc.enable()


def count() -> dict[str, int]:
    """Return the instructions of every path."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fit(folder)
        command = ["valgrind", "--tool=callgrind", f"--dump-before={MARK}", f"--dump-after={MARK}"]
        command += [f"--callgrind-out-file={folder / 'counts'}", sys.executable, __file__, "--run", name]
        settings = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"valgrind ended with {done.returncode}: {done.stderr[-2000:]}")
        named = done.stdout.splitlines()
        totals = {
            int(part[1]): int(total[1])
            for path in folder.glob("counts.*")
            if (part := re.search(r"^part: (\d+)", text := path.read_text(), re.M))
            and (total := re.search(r"^totals: (\d+)", text, re.M))
        }
    return {name: totals[2 * place + 2] for place, name in enumerate(named)}


def versions() -> dict[str, str]:
    """Return the versions that the counts depend on."""
    return {"python": python_version(), "machine": machine()} | {name: version(name) for name in LIBRARIES}


def main() -> None:
    """Count, print, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="write bench/speed.json")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run(options.run)
        return
    counts = count()
    known = json.loads(KNOWN.read_text()) if KNOWN.exists() else {"versions": {}, "instructions": {}}
    before, counted = known["instructions"], known["versions"]
    others = [f"{name} {now} instead of {counted.get(name)}" for name, now in versions().items() if now != counted.get(name)]
    print("| path | million instructions | predicts | of bench/speed.json |\n| --- | ---: | ---: | ---: |")
    for name, value in counts.items():
        predict = counts.get(f"{name.split(':')[0]}: predict")
        predicts = f"{value / predict:.1f}" if predict and "explain_many" in name else ""
        change = f"{value / before[name]:.3f}" if name in before else "new"
        print(f"| {name} | {value / 1e6:,.2f} | {predicts} | {change} |")
    if options.update:
        KNOWN.write_text(json.dumps({"versions": versions(), "instructions": counts}, indent=1) + "\n")
        return
    if others:
        print(f"\nNot compared, since the counts depend on the versions: {', '.join(others)} in bench/speed.json.")
        return
    wrong = [f"{name}: not in bench/speed.json" for name in counts if name not in before]
    wrong += [f"{name}: gone" for name in before if name not in counts]
    dearer = {name: counts[name] / before[name] for name in counts if name in before}
    wrong += [f"{name}: {times:.2f} times bench/speed.json" for name, times in dearer.items() if times > DEARER]
    if wrong:
        sys.exit("\n".join(["", *wrong, "If that is meant, commit what this writes: make speed ARGS=--update"]))


if __name__ == "__main__":
    main()
