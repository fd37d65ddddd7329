"""Measure how the time per row grows with features, leaves, depth and categories; prints one Markdown table.

Trees are random and split at the mean of the rows that reach a node: oblique trees over a few features at a time, and
axis-aligned trees of the same shape. Times are milliseconds per row of ``explain_many`` with one worker and the cost L1.
Machines are noisy: compare the growth.
"""

import argparse
import heapq
import statistics
import sys

import numpy as np
import pandas as pd
from scipy import sparse

import counterleaf as cl
from counterleaf_experiments.benchmark.measurement import timed
from counterleaf_experiments.benchmark.tables import machine, number, table_head, table_row

FEATURES, LEAVES, DEPTHS, CATEGORIES = (10, 100, 1000, 10_000), (10, 100, 1000, 10_000), (6, 10, 20, 30), (2, 10, 50, 200)
ROWS, REPEATS, TOGETHER = 200, 3, 5  # the last: features in an oblique split
CELLS, SAMPLE = 20_000_000, 40_000  # of the data that shapes a tree: cells, and rows at most
TRIES = 20  # splits drawn for a node before it stays a leaf


def grow(X, groups, leaves, depth, together, rng, deep=False):
    """Grow a random tree: always split the largest leaf, or the deepest one if ``deep``; leaves have labels 0 and 1 in turn."""
    left, right, value, bias, splits = [-1], [-1], [0], [0.0], [None]
    queue, made = [(0, 0, 0, np.arange(len(X)))], 1  # order, node, level, rows
    while queue and made < leaves:
        _, node, level, rows = heapq.heappop(queue)
        split = draw(X, rows, groups, together, rng, 0.1 if deep else None) if level < depth and len(rows) > 1 else None
        if split is None:
            continue
        columns, weights, cut, goes = split
        splits[node], bias[node], made = (columns, weights), -cut, made + 1
        for children, part in ((left, rows[~goes]), (right, rows[goes])):
            child = children[node] = len(left)
            for array, new in ((left, -1), (right, -1), (value, child % 2), (bias, 0.0), (splits, None)):
                array.append(new)
            deeper = deep and level + 1 < depth
            heapq.heappush(queue, (-(level + 1) * SAMPLE - len(part) if deeper else -len(part), child, level + 1, part))
    used = [node for node, split in enumerate(splits) if split is not None]
    lines = np.concatenate([np.full(len(splits[node][0]), node) for node in used])
    columns, weights = (np.concatenate([splits[node][k] for node in used]) for k in (0, 1))
    return cl.Tree(left, right, sparse.csr_array((weights, (lines, columns)), shape=(len(left), X.shape[1])), bias, value)


def draw(X, rows, groups, together, rng, share):
    """Draw a split that sends rows both ways: columns, weights, threshold and the rows that go right; None if none is found."""
    for _ in range(TRIES):
        chosen = [groups[k] for k in rng.choice(len(groups), min(together, len(groups)), replace=False)]
        if together == 1:  # one column: for a category one of the values that occur
            columns = chosen[0][[X[rng.choice(rows), chosen[0]].argmax()]]
            weights = np.ones(1)
        else:
            columns = np.concatenate(chosen)
            weights = rng.normal(size=len(columns))
        sums = X[np.ix_(rows, columns)] @ weights
        cut = float(sums.mean() if share is None else np.quantile(sums, share))
        goes = sums >= cut
        if not goes.all() and goes.any():
            return columns, weights, cut, goes
    return None


def numbers(features, leaves, depth, rows, rng, deep=False):
    """Measure trees over numeric features."""
    X = rng.random((min(SAMPLE, CELLS // features), features))
    schema = cl.Schema([cl.Numeric(f"x{k}", 0.0, 1.0) for k in range(features)])
    groups = [np.array([k]) for k in range(features)]
    return measure(schema, X, groups, X[:rows], leaves, depth, rng, deep)


def categories(size, rows, rng):
    """Measure trees over ten numbers and two features with ``size`` categories each."""
    n, words = 10_000, [f"v{k:03d}" for k in range(size)]
    codes = rng.integers(size, size=(n, 2))
    frame = pd.DataFrame(rng.random((n, 10)), columns=[f"x{k}" for k in range(10)])
    frame["a"], frame["b"] = np.array(words)[codes[:, 0]], np.array(words)[codes[:, 1]]
    schema = cl.Schema([*(cl.Numeric(f"x{k}", 0.0, 1.0) for k in range(10)), *(cl.Categorical(c, words) for c in "ab")])
    X = np.hstack([frame.iloc[:, :10].to_numpy(), np.eye(size)[codes[:, 0]], np.eye(size)[codes[:, 1]]])
    groups = [np.arange(span.start, span.stop) for span in map(schema.span, range(len(schema)))]
    return measure(schema, X, groups, frame.iloc[:rows], 100, 12, rng)


def measure(schema, X, groups, table, leaves, depth, rng, deep=False):
    """Leaves, depth and milliseconds per row for an oblique and an axis-aligned tree."""
    out = []
    for together in (TOGETHER, 1):
        tree = grow(X, groups, leaves, depth, together, rng, deep)
        explainer, options = cl.Explainer(tree, schema=schema), {"cost": cl.L1(), "words": False, "progress": False}
        explainer.explain_many(table[:2], **options)  # prepares the tree
        found, first = timed(explainer.explain_many, table, **options)
        assert found["confirmed"].all(), "the model does not confirm an answer"
        times = [timed(explainer.explain_many, table, **options)[1] for _ in range(REPEATS if first < 5000 else 0)]
        out.append((len(tree.leaves), tree.depth, statistics.median(times or [first]) / len(found)))
    return out


def main():
    """Parse the options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the two smaller values of each")
    parser.add_argument("--rows", type=int, default=ROWS)
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # show the lines of a long run as they come
    few = slice(2 if options.quick else None)
    jobs = [
        *((f"{n:,} features", numbers, (n, 100, 20)) for n in FEATURES[few]),
        *((f"{n:,} leaves", numbers, (20, n, 30)) for n in LEAVES[few]),
        *((f"depth {n}", lambda *sizes: numbers(*sizes, deep=True), (20, 60, n)) for n in DEPTHS[few]),
        *((f"{n} categories in each of two features", categories, (n,)) for n in CATEGORIES[few]),
    ]
    print(f"{machine(('counterleaf', 'scikit-learn'))}\n")
    print(table_head(("what grows", "oblique: leaves, depth", "ms per row", "axis-aligned: leaves, depth", "ms per row")))
    for title, job, sizes in jobs:
        found = job(*sizes, options.rows, np.random.default_rng(0))
        print(table_row([title, *(cell for leaves, depth, ms in found for cell in (f"{leaves:,}, {depth}", number(ms)))]))


if __name__ == "__main__":
    main()
