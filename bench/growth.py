"""How the time per row grows: with features, leaves, depth and categories, one at a time, as one Markdown table.

Trees are random: oblique ones with a few weights per split, cut among the rows that reach it, and axis-aligned ones that
scikit-learn grows over labels drawn at random. Milliseconds per row, L1, by ``explain_many``. Machines are noisy: read how a
column grows, not its digits.
"""

import argparse
import statistics
import sys

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

import counterleaf as cl
from counterleaf.bench.line import timed
from counterleaf.bench.table import head, line, machine, number

FEATURES, LEAVES, DEPTHS, CATEGORIES = (10, 100, 1000, 10_000), (10, 100, 1000, 10_000), (5, 10, 20, 30), (2, 10, 50, 200)
ROWS, REPEATS, WEIGHTS = 200, 3, 5  # the last: of an oblique split
SAMPLE = 40_000  # rows that shape a tree


def oblique(X, leaves, depth, rng):
    """A random sparse oblique tree: the leaf with the most rows is split next, down to a depth; labels are 0 and 1 in turn."""
    left, right, value, bias, splits = [-1], [-1], [0], [0.0], [None]
    held, level = {0: np.arange(len(X))}, {0: 0}
    for _ in range(leaves - 1):
        open_leaves = [node for node in held if level[node] < depth and len(held[node]) > 1]
        if not open_leaves:
            break
        node = max(open_leaves, key=lambda leaf: (level[leaf] == max(level.values()) if depth > 12 else False, len(held[leaf])))
        columns = rng.choice(X.shape[1], min(WEIGHTS, X.shape[1]), replace=False)
        weights = rng.normal(size=len(columns))
        sums = X[np.ix_(held[node], columns)] @ weights
        cut = float(np.median(sums)) if depth <= 12 else float(np.quantile(sums, 0.2))
        goes = sums >= cut
        if goes.all() or not goes.any():
            level[node] = depth
            continue
        splits[node], bias[node] = (columns, weights), -cut
        rows = held.pop(node)
        for children, part in ((left, rows[~goes]), (right, rows[goes])):
            child = len(left)
            children[node] = child
            for array, new in ((left, -1), (right, -1), (value, child % 2), (bias, 0.0), (splits, None)):
                array.append(new)
            held[child], level[child] = part, level[node] + 1
    matrix = sparse.lil_array((len(left), X.shape[1]))
    for node, split in enumerate(splits):
        if split is not None:
            matrix[[node], split[0]] = split[1][None]
    return cl.Tree(left, right, matrix.tocsr(), bias, value)


def axis_aligned(X, leaves, depth, rng):
    model = DecisionTreeClassifier(max_leaf_nodes=leaves, max_depth=depth, splitter="random", random_state=0)
    return model.fit(X, rng.integers(2, size=len(X)))


def per_row(model, schema, table):
    """Milliseconds per row of a batch, the median of several calls."""
    explainer = cl.Explainer(model, schema=schema)
    asked = {"cost": cl.L1(), "progress": False}
    explainer.explain_many(table[:2], **asked)  # compiles where needed
    found, first = timed(explainer.explain_many, table, **asked)
    assert found["verified"].all(), "an answer that the model does not confirm"
    repeats = REPEATS if first < 5000 else 1
    return statistics.median(timed(explainer.explain_many, table, **asked)[1] for _ in range(repeats)) / len(found)


def numbers(features, leaves, depth, rng, rows):
    """(what the trees became, oblique ms, axis-aligned ms)."""
    X = rng.random((min(SAMPLE, 40_000_000 // features), features))
    schema = cl.Schema([cl.Numeric(f"x{k}", 0.0, 1.0) for k in range(features)])
    return measure(schema, X, X[:rows], leaves, depth, rng)


def categories(size, rng, rows):
    """Ten numbers and two categories of a size."""
    n = 10_000
    frame = pd.DataFrame(rng.random((n, 10)), columns=[f"x{k}" for k in range(10)])
    for name in ("a", "b"):
        frame[name] = [f"v{k:03d}" for k in rng.integers(size, size=n)]
    words = [f"v{k:03d}" for k in range(size)]
    schema = cl.Schema([*(cl.Numeric(f"x{k}", 0.0, 1.0) for k in range(10)), *(cl.Categorical(c, words) for c in ("a", "b"))])
    X = np.hstack([frame.iloc[:, :10], *(frame[[c]].to_numpy() == np.array(words) for c in ("a", "b"))]).astype(float)
    return measure(schema, X, frame.iloc[:rows], 100, 12, rng)


def measure(schema, X, table, leaves, depth, rng):
    trees = oblique(X, leaves, depth, rng), axis_aligned(X, leaves, depth, rng)
    sizes = [(len(tree.leaves), tree.depth) for tree in map(cl.read, trees)]
    return sizes, [per_row(tree, schema, table) for tree in trees]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the two smaller values of each")
    parser.add_argument("--rows", type=int, default=ROWS)
    asked = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # a long run is read while it goes
    few = slice(2 if asked.quick else None)
    jobs = [
        *((f"{n:,} features", lambda n=n, **k: numbers(n, 100, 12, **k)) for n in FEATURES[few]),
        *((f"{n:,} leaves asked for", lambda n=n, **k: numbers(20, n, 20, **k)) for n in LEAVES[few]),
        *((f"depth {n} asked for", lambda n=n, **k: numbers(20, 300, n, **k)) for n in DEPTHS[few]),
        *((f"{n} categories in each of two features", lambda n=n, **k: categories(n, **k)) for n in CATEGORIES[few]),
    ]
    print(f"{machine(('counterleaf', 'numba', 'scikit-learn'))}\n")
    print(head(("what grows", "oblique: leaves, depth", "ms per row", "axis-aligned: leaves, depth", "ms per row")))
    for words, job in jobs:
        sizes, times = job(rng=np.random.default_rng(0), rows=asked.rows)
        cells = [cell for size, ms in zip(sizes, times, strict=True) for cell in (f"{size[0]:,}, {size[1]}", number(ms))]
        print(line([words, *cells]))


if __name__ == "__main__":
    main()
