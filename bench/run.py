"""Search and whole explain calls against enumeration of the target leaves, in one run: a Markdown table.

Times are medians per row in milliseconds; ratios are against the whole ``explain`` call and against the search
alone, between methods of this same run. Machines are noisy: read the ratios.
"""

import importlib.metadata
import os
import platform
import statistics
import sys
import time

import enumerate_leaves
import numpy as np
from trees import axis_aligned_models, oblique_trees

import counterleaf as cl
from counterleaf.reproduce.figures import neighbours
from counterleaf.search import find

ROWS = 30  # for counterleaf
SLOW_ROWS = {"gurobi": 8, "highs": 4, "piqp": 4, "daqp": 3}
COUPLED_ROWS = 20
SHAPES = {"mnist": (28, 28), "digits": (8, 8)}
SLOW_FEATURES = {"daqp": 100}  # beyond this the method takes minutes per row


def timed(call, *arguments):
    start = time.perf_counter()
    value = call(*arguments)
    return value, 1e3 * (time.perf_counter() - start)


def machine(packages=("counterleaf", "numba", "gurobipy", "highspy", "piqp", "daqp")):
    versions = ", ".join(f"{name} {_version(name)}" for name in packages)
    cores = f"{os.cpu_count()} cores"
    return f"{platform.machine()}, {cores}, {platform.system()}, Python {platform.python_version()}; {versions}"


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def oblique(name, tree, X):
    rng = np.random.default_rng(0)
    lower, upper = X.min(axis=0), X.max(axis=0)
    width = np.where(upper > lower, upper - lower, 1.0)
    rows = X[rng.choice(len(X), ROWS, replace=False)]
    schema = cl.Schema([cl.Numeric(f"x{k}", float(a), float(b)) for k, (a, b) in enumerate(zip(lower, upper, strict=True))])
    explainer = cl.Explainer(tree, schema=schema)
    classes = tree.classes.tolist()
    targets = [classes[(classes.index(label) + 1) % len(classes)] for label in tree.predict(rows).tolist()]
    leaves = enumerate_leaves.Leaves(tree)
    for norm, cost, weight in ((2, cl.L2(width**-2.0), width**-2.0), (1, cl.L1(1 / width), 1 / width)):
        for row, target in zip(rows, targets, strict=True):  # compile, and settle each target once
            explainer.explain(row, target=target, cost=cost)
        answers, whole = zip(*(timed(explainer.explain, r, t, cost) for r, t in zip(rows, targets, strict=True)), strict=True)
        problems = [answer.certificate.problem for answer in answers]
        _, search = zip(*(timed(find, problem, schema.names, 1, None, None) for problem in problems), strict=True)
        print(f"| {name}, {tree.n_features} features, {len(tree.leaves)} leaves, L{norm} | explain "
              f"| {statistics.median(whole):.3f} | | |")  # fmt: skip
        print(f"| | search alone | {statistics.median(search):.3f} | | |")
        for method, most in SLOW_ROWS.items():
            report(method, norm, leaves, rows[:most], targets, lower, upper, weight, answers, whole, search)


def report(method, norm, leaves, rows, targets, lower, upper, weight, answers, whole, search):
    if rows.shape[1] > SLOW_FEATURES.get(method, 10**9):
        return
    try:
        solve = getattr(enumerate_leaves, method)(norm)
    except ImportError:
        print(f"| | {method}: not installed | | | |")
        return
    if solve is None:
        return
    asked = list(zip(rows, targets, strict=False))
    try:
        found = [timed(enumerate_leaves.best, solve, leaves, t, r, lower, upper, weight) for r, t in asked]
    except Exception as error:  # a size-limited licence, for one: the table says so and goes on
        print(f"| | {method}: {str(error)[:60]} | | | |")
        return
    costs, times = zip(*found, strict=True)
    bounds = [answer.lower_bound for answer in answers]
    gap = max(abs(c - b) / max(abs(b), 1e-9) for c, b in zip(costs, bounds, strict=False) if np.isfinite(c) and np.isfinite(b))
    k = len(rows)
    by_explain = statistics.median(t / w for t, w in zip(times, whole[:k], strict=True))
    by_search = statistics.median(t / s for t, s in zip(times, search[:k], strict=True))
    ratios = f"{by_explain:.0f} (search alone {by_search:.0f})"
    print(f"| | every target leaf with {method} | {statistics.median(times):.2f} | {ratios} | {gap:.0e} |")


def coupled(name, tree, X, shape):
    """A quadratic cost that couples neighbouring pixels, pixels in their range: free, ink added only, ink erased only."""
    rng = np.random.default_rng(0)
    X = X / X.max()
    schema = cl.Schema([cl.Numeric(f"x{k}", 0.0, 1.0) for k in range(X.shape[1])])
    explainer, leaves = cl.Explainer(tree, schema=schema), enumerate_leaves.Leaves(tree)
    Q = neighbours(shape)
    cost, solve, classes = cl.Quadratic(Q), enumerate_leaves.coupled(Q), tree.classes.tolist()
    rows = X[rng.choice(len(X), ROWS, replace=False)]
    targets = [classes[(classes.index(label) + 1) % len(classes)] for label in tree.predict(rows).tolist()]
    explainer.explain(rows[0], targets[0], cost)
    for words, limits in (
        ("both ways", []),
        ("ink added only", [cl.increase(*schema.names)]),
        ("ink erased only", [cl.decrease(*schema.names)]),
    ):
        answers, whole = zip(
            *(timed(explainer.explain, r, t, cost, limits) for r, t in zip(rows, targets, strict=True)), strict=True
        )
        found = []
        for row, target in zip(rows[:COUPLED_ROWS], targets, strict=False):
            low, high = (row if "added" in words else 0 * row), (row if "erased" in words else 0 * row + 1)
            found.append(timed(enumerate_leaves.best, solve, leaves, target, row, low, high, None))
        costs, times = zip(*found, strict=True)
        pairs = [
            (c, a.lower_bound) for c, a in zip(costs, answers, strict=False) if np.isfinite(c) and np.isfinite(a.lower_bound)
        ]
        gap = max(abs(c - b) / max(abs(b), 1e-9) for c, b in pairs)
        ratio = statistics.median(t / w for t, w in zip(times, whole, strict=False))
        proved = sum(a.certificate.check() for a in answers)
        print(f"| {name}, {tree.n_features} pixels, coupled neighbours, {words} | explain ({proved} of {len(answers)} proofs "
              f"re-checked) | {statistics.median(whole):.1f}, worst {max(whole):.1f} | | |")  # fmt: skip
        print(f"| | every target leaf with piqp (sparse) | {statistics.median(times):.0f} | {ratio:.1f} | {gap:.0e} |")


def axis_aligned(name, model, X):
    rng = np.random.default_rng(0)
    rows = X[rng.choice(len(X), ROWS, replace=False)]
    explainer = cl.Explainer(model)
    tree = explainer.tree
    classes = tree.classes.tolist()
    targets = [classes[(classes.index(label) + 1) % len(classes)] for label in model.predict(rows).tolist()]
    boxes = leaf_boxes(tree)
    for row, target in zip(rows, targets, strict=True):
        explainer.explain(row, target=target)
    answers, whole = zip(*(timed(explainer.explain, r, t) for r, t in zip(rows, targets, strict=True)), strict=True)
    problems = [answer.certificate.problem for answer in answers]
    _, search = zip(*(timed(find, problem, explainer.schema.names, 1, None, None) for problem in problems), strict=True)
    _, predict = zip(*(timed(model.predict, row[None]) for row in rows), strict=True)
    costs, plain = zip(*(timed(nearest, boxes, t, r) for r, t in zip(rows, targets, strict=True)), strict=True)
    gap = max(abs(c - a.lower_bound) / a.lower_bound for c, a in zip(costs, answers, strict=True) if len(a))
    print(f"| {name}, L2 | explain | {statistics.median(whole):.3f} | | |")
    print(f"| | explain without the model's own predict | {statistics.median(whole) - statistics.median(predict):.3f} | | |")
    print(f"| | search alone | {statistics.median(search):.3f} | | |")
    print(f"| | every target leaf with NumPy, closed at the threshold | {statistics.median(plain):.3f} | "
          f"{statistics.median(plain) / statistics.median(whole):.2f} (search alone "
          f"{statistics.median(plain) / statistics.median(search):.2f}) | {gap:.0e} |")  # fmt: skip


def leaf_boxes(tree):
    boxes = {}
    threshold, feature = -tree.bias, tree.weights.indices
    stack = [(0, np.full(tree.n_features, -np.inf), np.full(tree.n_features, np.inf))]
    while stack:
        node, low, high = stack.pop()
        if tree.left[node] < 0:
            lows, highs = boxes.setdefault(tree.classes[tree.value[node]], ([], []))
            lows.append(low)
            highs.append(high)
            continue
        d = feature[tree.weights.indptr[node]]
        for child, is_left in ((tree.left[node], True), (tree.right[node], False)):
            a, b = low.copy(), high.copy()
            (b if is_left else a)[d] = (min if is_left else max)((b if is_left else a)[d], threshold[node])
            stack.append((child, a, b))
    return {label: (np.array(a), np.array(b)) for label, (a, b) in boxes.items()}


def nearest(boxes, label, row):
    low, high = boxes.get(label, (np.empty((0, len(row))),) * 2)
    return float(((np.clip(row, low, high) - row) ** 2).sum(axis=1).min(initial=np.inf))


def main():
    sys.stdout.reconfigure(line_buffering=True)  # a long run is read while it goes
    print(f"{machine()}\n")
    print("| tree and cost | method | ms per row | times explain | largest relative difference in the optimum |")
    print("| --- | --- | --- | --- | --- |")
    for name, tree, rows in oblique_trees():
        oblique(name, tree, rows)
        if name in SHAPES:
            coupled(name, tree, rows, SHAPES[name])
    for name, model, rows in axis_aligned_models():
        axis_aligned(name, model, rows)


if __name__ == "__main__":
    main()
