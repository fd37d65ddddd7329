"""Measure how the time per question grows with trees, depth, features and classes of an ensemble; prints one Markdown table.

Forests and XGBoost on synthetic data (``make_classification``) and on real data; processor seconds of ``explain`` with the cost
L1, numbers from 0 to 1. Machines are noisy: compare the growth.
"""

import argparse
import functools
import math
import sys

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from counterleaf_experiments.benchmark.ensembles.measurement import measure
from counterleaf_experiments.benchmark.ensembles.models import from_numbers, load, size
from counterleaf_experiments.benchmark.ensembles.ours import Counterleaf
from counterleaf_experiments.benchmark.ensembles.questions import draw
from counterleaf_experiments.benchmark.tables import machine, number, table_head, table_row

TREES, DEPTHS, FEATURES, CLASSES = (10, 30, 100, 300, 1000, 2000), (2, 4, 6, 8, 12, None), (5, 20, 100, 500), (2, 4, 8, 16)
REAL = ("adult", "spambase")
KINDS = {"forest": 6, "XGBoost": 3}  # the depth while something else grows
ROWS, LIMIT, SAMPLE = 10, 60.0, 4000  # questions, seconds for each, rows of the synthetic data
COLUMNS = ("what grows", "model", "trees", "leaves", "median s", "p90 s", "worst s", "proved", "confirmed", "prepare s")


@functools.cache
def synthetic(features, classes):
    """Classes of two clusters each, over a few informative features."""
    informative = min(features, max(5, 2 * math.ceil(math.log2(2 * classes))))
    X, y = make_classification(
        SAMPLE, features, n_informative=informative, n_redundant=0, n_classes=classes, flip_y=0.05, random_state=0
    )
    names = tuple(f"x{k}" for k in range(features))
    return from_numbers("synthetic", f"synthetic, {features} features, {classes} classes", X, y, names, 0)


real = functools.cache(lambda key: load(key, 0))


def fit(kind, data, trees, depth):
    """Fit a model; raises ImportError if its library is not installed."""
    if kind == "forest":
        model = RandomForestClassifier(trees, max_depth=depth, random_state=0)
    else:
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=trees, max_depth=depth, learning_rate=0.1, n_jobs=1, random_state=0)
    return model.fit(data.X[data.train], data.y[data.train])


def jobs(quick):
    """Yield what grows, a function that returns the data, the number of trees and the depth, None for that of the kind."""
    few = slice(2 if quick else None)
    for key in ("synthetic", *REAL)[few]:
        data = functools.partial(synthetic, 20, 2) if key == "synthetic" else functools.partial(real, key)
        for trees in TREES[few]:
            yield f"{trees:,} trees, {key}", data, trees, ()
    for key in ("synthetic", *REAL)[few]:
        data = functools.partial(synthetic, 20, 2) if key == "synthetic" else functools.partial(real, key)
        for depth in DEPTHS[few]:
            yield f"depth {'without limit' if depth is None else depth}, {key}", data, 100, (depth,)
    for features in FEATURES[few]:
        yield f"{features} features, synthetic", functools.partial(synthetic, features, 2), 100, ()
    for classes in CLASSES[few]:
        yield f"{classes} classes, synthetic", functools.partial(synthetic, 20, classes), 50, ()


def line(title, kind, data, trees, depth, rows, limit):
    """Measure one model; returns a table line."""
    try:
        model = fit(kind, data, trees, depth)
    except ImportError:
        return table_row([title, f"{kind}: absent", *[""] * (len(COLUMNS) - 2)])
    cell = draw(data, kind, model, rows, 0)
    found = measure(Counterleaf(), cell, limit, 0, None)
    cells = [title, kind, *(f"{part:,}" for part in size(model))]
    if not found.answers:
        return table_row([*cells, found.note, *[""] * (len(COLUMNS) - 5)])
    times = [number(found.quantile(share)) for share in (0.5, 0.9, 1.0)]
    proved = f"{len(found.proved)} of {len(found.answers)}"
    return table_row([*cells, *times, proved, "all" if found.confirmed else "not all", number(found.prepare)])


def main():
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the two smaller values of each")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each question")
    parser.add_argument("--only", default="", help="only the lines whose title contains this text, such as trees")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # show the lines of a long run as they come
    print(f"{machine(('counterleaf', 'scikit-learn', 'xgboost'))}\n")
    print(table_head(COLUMNS))
    for title, data, trees, depth in jobs(options.quick):
        for kind, usual in KINDS.items():
            if options.only in title and (kind == "forest" or depth != (None,)):  # XGBoost always has a limit
                print(line(title, kind, data(), trees, *(depth or (usual,)), options.rows, options.limit))


if __name__ == "__main__":
    main()
