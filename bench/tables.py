"""Tables with categories: whole explain calls against a mixed-integer program per target leaf, in one run.

Adult and German Credit, axis-aligned trees and oblique ones where these lie beside the repository, the paper's three levels of
constraint and one more: all numbers frozen, where only categories can move. One line per setting, times in milliseconds.
Machines are noisy: read the ratios.
"""

import argparse
import math
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from enumerate_leaves import Leaves, enumerate_gurobi
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf import datasets
from counterleaf.search import find

SHARED = Path(__file__).resolve().parents[2] / "shared"


@dataclass
class Table:
    """A data set in the order of the trees' columns: numbers first, then categories."""

    name: str
    frame: pd.DataFrame
    labels: np.ndarray  # 0 or 1, per row
    classes: list
    levels: list  # the paper's constraints: the features frozen at each level
    tree: str  # file of the oblique tree
    leaves: int  # of the axis-aligned tree

    @property
    def numbers(self):
        return [name for name in self.frame if self.frame[name].dtype.kind in "if"]

    @property
    def schema(self):
        """Numbers in the range seen, categories in alphabetical order."""
        return cl.Schema(
            [
                cl.Numeric(name, float(column.min()), float(column.max()))
                if name in self.numbers
                else cl.Categorical(name, sorted(column.unique()))
                for name, column in self.frame.items()
            ]
        )

    def columns(self):
        """(rows, columns) numbers, then one 0/1 column per category; and the columns of each feature."""
        blocks, spans, at = [], {}, 0
        for feature in self.schema:
            column = self.frame[feature.name].to_numpy()[:, None]
            block = column if feature.name in self.numbers else column == np.array(feature.categories, object)
            blocks.append(block.astype(float))
            spans[feature.name] = slice(at, at + blocks[-1].shape[1])
            at += blocks[-1].shape[1]
        return np.hstack(blocks), spans


def tables():
    """Adult's training part and German Credit, whose codes give the columns in the order of the tree's."""
    frame, _, labels, _ = datasets.load_adult().split()
    levels = [[], ["race", "sex"], ["race", "sex", "marital-status"]]
    yield Table("Adult", numbers_first(frame), (labels == ">50K").to_numpy(int), ["<=50K", ">50K"], levels, "adult_seed1", 100)
    frame, labels = datasets.load_german_credit(codes=True, return_X_y=True)
    levels = [[], ["personal_status_and_sex"], ["personal_status_and_sex", "credit_history"]]
    yield Table("German", numbers_first(frame), (labels == "bad").to_numpy(int), ["good", "bad"], levels, "german_split8", 30)


def numbers_first(frame):
    return frame[sorted(frame, key=lambda name: frame[name].dtype.kind not in "if")]


def trees(table, X):
    """Yield (name, tree) over the columns ``X`` of a table."""
    path = SHARED / "trees" / f"{table.tree}.npz"
    if path.exists():
        z = np.load(path)
        tree = cl.Tree(z["children_left"], z["children_right"], z["W"], z["b"], z["leaf_class"], classes=table.classes)
        yield "oblique", tree
    model = DecisionTreeClassifier(max_leaf_nodes=table.leaves, random_state=0)
    yield "axis-aligned", cl.read(model.fit(X, np.array(table.classes)[table.labels]))


def settings(table):
    """Yield (words, frozen features)."""
    for frozen in table.levels:
        yield f"frozen: {', '.join(frozen)}" if frozen else "free", frozen
    yield "numbers frozen", table.numbers


def choose(tree, X, n, rng):
    """(row, target) for n rows of each predicted class: the target is the other one."""
    said, classes = tree.predict(X), tree.classes.tolist()
    out = []
    for label, target in zip(classes, reversed(classes), strict=True):
        rows = np.flatnonzero(said == label)
        out += [(int(row), target) for row in rng.choice(rows, min(n, len(rows)), replace=False)]
    return out


def timed(call, *arguments, **named):
    start = time.perf_counter()
    value = call(*arguments, **named)
    return value, 1e3 * (time.perf_counter() - start)


def explain(explainer, rows, targets, cost, constraints):
    """(optima, milliseconds of explain, milliseconds of its search alone), each row asked once before, untimed."""
    optima, times, searches = [], [], []
    for timing in (False, True):
        for row, target in zip(rows, targets, strict=True):
            answer, ms = timed(explainer.explain, row, target=target, cost=cost, constraints=constraints)
            _, alone = timed(find, answer.certificate.problem, explainer.schema.variables, 1, None, None)
            if timing:
                optima.append(answer[0].cost if len(answer) else math.inf)
                times.append(ms)
                searches.append(alone)
    return optima, times, searches


def enumerated(tree, X, rows, targets, width, spans, frozen):
    """(optima, milliseconds, in how many rows a category changes) of one MIQP per target leaf."""
    leaves, optima, times, moved = Leaves(tree), [], [], 0
    groups = [span for span in spans.values() if span.stop - span.start > 1]
    for row, target in zip(rows, targets, strict=True):
        lower, upper = X.min(axis=0), X.max(axis=0)
        for name in frozen:
            lower[spans[name]] = upper[spans[name]] = X[row, spans[name]]
        (best, point), ms = timed(enumerate_gurobi, leaves, target, X[row], lower, upper, width**-2.0, groups)
        optima.append(best)
        times.append(ms)
        moved += point is not None and any(np.abs(point - X[row])[group].max() > 0.5 for group in groups)
    return optima, times, moved


def difference(a, b):
    return 0.0 if a == b else abs(a - b) / max(abs(b), 1e-9) if math.isfinite(a) and math.isfinite(b) else math.inf


def report(name, ours, theirs):
    (found, whole, fast), (best, slow, moved) = ours, theirs
    ratio = statistics.median(slow) / statistics.median(fast)
    mean = statistics.mean(slow) / statistics.mean(fast)
    worst = min(s / f for s, f in zip(slow, fast, strict=True))
    gap = max(map(difference, found, best))
    print(
        f"| {name} | {statistics.median(whole):.2f} | {statistics.median(fast):.3f} | {statistics.median(slow):.1f} "
        f"| {ratio:.0f} | {mean:.0f} | {worst:.0f} | {len(fast)} | {moved} | {gap:.0e} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20, help="rows per predicted class")
    n_rows = parser.parse_args().rows
    sys.stdout.reconfigure(line_buffering=True)  # a long run is read while it goes
    print(
        "| table, tree, setting | explain | search | Gurobi | Gurobi over search: medians | means | worst row "
        "| rows | where a category changes | largest relative difference in the optimum |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for table in tables():
        schema, (X, spans) = table.schema, table.columns()
        width = np.ptp(X, axis=0)
        cost = cl.L2({name: float(width[spans[name]][0] ** -2.0) for name in table.numbers})
        for kind, tree in trees(table, X):
            explainer = cl.Explainer(tree, schema=schema)
            asked, targets = zip(*choose(tree, X, n_rows, np.random.default_rng(0)), strict=True)
            rows = table.frame.iloc[list(asked)].to_dict("records")
            for words, frozen in settings(table):
                ours = explain(explainer, rows, targets, cost, [cl.freeze(*frozen)] if frozen else [])
                theirs = enumerated(tree, X, asked, targets, width, spans, frozen)
                report(f"{table.name}, {kind} ({len(tree.leaves)} leaves), {words}", ours, theirs)


if __name__ == "__main__":
    main()
