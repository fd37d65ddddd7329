"""Compare learners on the same splits: trees whose leaves compute, CART, linear-tree, a forest and gradient boosting.

    python -m counterleaf_experiments.learners --out build/learners

Every learner gets the same columns, standardised with the training part, and chooses its settings within the training part: by
cross-validation or, for large tables, on a fifth of the training rows. Results are appended to ``results.jsonl`` in the folder
as they come, and a second run continues there; ``table.md`` and ``results.json`` are written at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_digits, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from counterleaf import datasets
from counterleaf.errors import CounterleafError
from counterleaf.learn import TAOClassifier, TAORegressor
from counterleaf.storage.files import write
from counterleaf.types import Array

_LARGE = 5_000  # beyond this number of training rows, a fifth of them decides instead of cross-validation
COLUMNS = ("set", "learner", "test error", "leaves", "CPU seconds of the fit", "with the choice")


@dataclass(frozen=True, slots=True)
class Table:
    """A table to learn from; ``read`` returns its rows and its targets, numbers or classes."""

    read: Callable[[], tuple[Array, Array]]
    regression: bool
    test: float = 0.25  # the share of test rows
    depths: tuple[int, ...] = (1, 2, 3, 4)  # of TAO with leaves that compute
    constant_depths: tuple[int, ...] = (1, 2, 3, 4, 6, 8)  # of TAO with constant leaves
    slow: bool = False  # many classes: linear-tree would take hours


def _german() -> tuple[Array, Array]:
    """The credit amount in German Credit, from the other columns."""
    frame = datasets.load_german_credit().data
    amount = next(name for name in frame.columns if "amount" in name.lower())
    return pd.get_dummies(frame.drop(columns=amount)).to_numpy(float), frame[amount].to_numpy(float)


def _letter() -> tuple[Array, Array]:
    """Letter."""
    found = datasets.load_letter()
    return found.data.to_numpy(float), found.target.to_numpy()


def _file(path: Path, target: str) -> tuple[Array, Array]:
    """A CSV file of the user: categories become 0/1 columns, rows with gaps are left out."""
    frame = pd.read_csv(path).dropna()
    if target not in frame.columns:
        raise CounterleafError(f"{path} has no column {target!r}; expected the column to predict")
    return pd.get_dummies(frame.drop(columns=target)).to_numpy(float), frame[target].to_numpy()


TABLES = {
    "diabetes": Table(partial(load_diabetes, return_X_y=True, scaled=False), True),
    "friedman1": Table(partial(make_friedman1, 1000, 10, noise=1.0, random_state=0), True),
    "friedman2": Table(partial(make_friedman2, 1000, noise=50.0, random_state=0), True),
    "friedman3": Table(partial(make_friedman3, 1000, noise=0.1, random_state=0), True),
    "german amount": Table(_german, True),
    "digits": Table(partial(load_digits, return_X_y=True), False, depths=(1, 2, 4), constant_depths=(5, 7), slow=True),
    "letter": Table(_letter, False, depths=(8,), constant_depths=(12,), slow=True),
}


def _validated(model: Any, *arguments: Any, **named: Any) -> Any:
    """The check of rows in linear-tree, by the function that replaced the method."""
    finite = named.pop("force_all_finite", True)
    return validate_data(model, *arguments, ensure_all_finite=finite, **named)


def _linear_tree(regression: bool) -> tuple[Any, dict[str, list[Any]]]:
    """The trees of linear-tree, with ridge models in the leaves."""
    import lineartree

    kind = lineartree.LinearTreeRegressor if regression else lineartree.LinearTreeClassifier
    if not hasattr(kind, "_validate_data"):  # linear-tree 0.3.5 calls a method that newer versions of scikit-learn do not have
        kind._validate_data = _validated
    model = kind(Ridge() if regression else RidgeClassifier(), min_samples_leaf=0.03, max_bins=15)
    return model, {"max_depth": [1, 2, 3, 5]}


def _tao(table: Table, seed: int, computing: bool) -> tuple[Any, dict[str, list[Any]]]:
    """TAO with constant leaves, or with linear or softmax ones."""
    if table.regression:
        model = TAORegressor(leaves="linear" if computing else "constant", n_restarts=4 if computing else 1, random_state=seed)
    else:
        model = TAOClassifier(leaves="softmax" if computing else "constant", random_state=seed)
    grid: dict[str, list[Any]]
    if computing and table.regression:
        grid = {"max_depth": list(table.depths), "leaf_alpha": [1.0, 10.0, 100.0]}
    elif computing:
        grid = {"max_depth": list(table.depths)}
    else:
        grid = {"max_depth": list(table.constant_depths), "alpha": [1.0, 10.0] if table.regression else [0.3, 1.0]}
    return model, grid


def _made(name: str, table: Table, seed: int) -> tuple[Any, dict[str, list[Any]]]:
    """A learner, and the settings among which it chooses."""
    regression = table.regression
    if name == "CART":
        model = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(random_state=seed)
        return model, {"max_depth": [2, 3, 4, 6, 8, 10, 14, None], "min_samples_leaf": [1, 5, 20]}
    if name == "linear-tree":
        return _linear_tree(regression)
    if name == "random forest":
        return (RandomForestRegressor if regression else RandomForestClassifier)(random_state=seed), {}
    if name == "gradient boosting":
        return (HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier)(random_state=seed), {}
    return _tao(table, seed, name != "TAO, constant leaves")


def learners(table: Table) -> list[str]:
    """The learners of a table."""
    own = "TAO, linear leaves" if table.regression else "TAO, softmax leaves"
    return ["CART", *([] if table.slow else ["linear-tree"]), "random forest", "gradient boosting", "TAO, constant leaves", own]


def _leaves(model: Any) -> float | None:
    """The number of leaves of a fitted tree; None for an ensemble."""
    if hasattr(model, "get_n_leaves"):
        return float(model.get_n_leaves())
    if hasattr(model, "_leaves"):  # linear-tree
        return float(len(model._leaves))
    return None


def measure(table: Table, rows: tuple[Array, Array], name: str, seed: int) -> dict[str, Any]:
    """Split, choose, fit and evaluate: root mean squared error, or the share of wrong classes in per cent."""
    X, y = rows
    stratify = None if table.regression else y
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=table.test, random_state=seed, stratify=stratify)
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    model, grid = _made(name, table, seed)
    begin = time.process_time()
    chosen: dict[str, Any] = {key: values[0] for key, values in grid.items()}
    if max(map(len, grid.values()), default=0) > 1:
        large = len(X_train) > _LARGE
        folds = ShuffleSplit(1, test_size=0.2, random_state=seed) if large else 3
        score = "neg_mean_squared_error" if table.regression else "accuracy"
        search = GridSearchCV(model, grid, cv=folds, scoring=score, refit=False, error_score="raise").fit(X_train, y_train)
        chosen = search.best_params_
    model.set_params(**chosen)
    middle = time.process_time()
    model.fit(X_train, y_train)
    end = time.process_time()
    predicted = model.predict(X_test)
    if table.regression:
        error = float(np.sqrt(np.mean((predicted - y_test) ** 2)))
    else:
        error = float(100 * np.mean(predicted != y_test))
    return {
        "set": "", "learner": name, "split": seed, "error": error, "leaves": _leaves(model), "chosen": chosen,
        "seconds": end - middle, "all_seconds": end - begin,
    }  # fmt: skip


def _alone(table: Table, rows: tuple[Array, Array], name: str, seed: int) -> dict[str, Any]:
    """Measure with one thread, so that the seconds of learners can be compared."""
    with threadpool_limits(1):
        return measure(table, rows, name, seed)


def _summary(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and deviation over the splits, by table and learner."""
    found = []
    for key in dict.fromkeys((each["set"], each["learner"]) for each in results):
        those = [each for each in results if (each["set"], each["learner"]) == key]
        errors = [each["error"] for each in those]
        means = {name: float(np.mean([each[name] for each in those])) for name in ("seconds", "all_seconds")}
        leaves = None if those[0]["leaves"] is None else float(np.mean([each["leaves"] for each in those]))
        spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
        mean = float(np.mean(errors))
        found.append({"set": key[0], "learner": key[1], "error": mean, "spread": spread, "leaves": leaves, **means})
    return found


def markdown(summary: list[dict[str, Any]]) -> str:
    """The table in Markdown; the error is the root mean squared error, or the share of wrong classes in per cent."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    for one in summary:
        error = f"{one['error']:.4g} ± {one['spread']:.2g}"
        leaves = "" if one["leaves"] is None else f"{one['leaves']:.1f}"
        cells = (one["set"], one["learner"], error, leaves, f"{one['seconds']:.2g}", f"{one['all_seconds']:.2g}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def run(tables: dict[str, Table], splits: int, out: Path) -> str:
    """Compute the results that the folder does not have yet, and write the table."""
    out.mkdir(parents=True, exist_ok=True)
    log = out / "results.jsonl"
    saved = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    known = {(each["set"], each["learner"], each["split"]): each for each in saved}
    results = []
    for title, table in tables.items():
        rows = table.read()
        for name in learners(table):
            for seed in range(splits):
                if (title, name, seed) not in known:
                    sys.stderr.write(f"{title}, {name}, split {seed + 1} of {splits} ...\n")
                    try:
                        found = _alone(table, rows, name, seed) | {"set": title}
                    except ImportError as error:
                        sys.stderr.write(f"{name} is left out: {error}\n")
                        break
                    known[title, name, seed] = found
                    with log.open("a") as file:
                        file.write(json.dumps(found) + "\n")
                results.append(known[title, name, seed])
    summary = _summary(results)
    write(out / "results.json", json.dumps(summary, indent=1) + "\n")
    text = markdown(summary)
    write(out / "table.md", text)
    return text


def main() -> None:
    """Parse the options, run, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", help=f"comma-separated, of {', '.join(TABLES)}; by default all")
    parser.add_argument("--splits", type=int, default=5, help="number of random splits")
    parser.add_argument("--out", type=Path, default=Path("build/learners"), help="the folder of the results")
    parser.add_argument("--table", type=Path, help="a CSV file to compare on instead")
    parser.add_argument("--target", help="its column to predict: numbers")
    options = parser.parse_args()
    names = options.sets.split(",") if options.sets else list(TABLES)
    unknown = sorted(set(names) - set(TABLES))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; the sets are {', '.join(TABLES)}")
    if (options.table is None) != (options.target is None):
        parser.error("--table and --target belong together")
    chosen = {name: TABLES[name] for name in names}
    if options.table is not None:
        chosen = {options.table.stem: Table(partial(_file, options.table, options.target), True)}
    try:
        sys.stdout.write(run(chosen, options.splits, options.out))
    except CounterleafError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
