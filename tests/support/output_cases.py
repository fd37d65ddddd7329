"""Random trees whose leaves compute, and a referee for them: one cone program per leaf by Clarabel, or all rows of a grid."""

import itertools
import math

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from support.referee import leaf_paths, solve

import counterleaf as cl

LABELS = ["a", "b", "c", "d", "e"]


def random_outputs(rng, nodes, features, kind, classes):
    """Outputs of every node: all linear, some linear, or all constant."""
    if kind == "probability":
        return cl.Outputs(kind, rng.dirichlet(np.ones(classes), size=nodes))
    count = 1 if kind in ("value", "logistic") else classes
    slope = rng.normal(size=(nodes, count, features)) * rng.choice([1.0, 0.1])
    slope[rng.random(nodes) < rng.choice([0.0, 0.4])] = 0.0
    return cl.Outputs(kind, rng.normal(size=(nodes, count)), slope.reshape(nodes * count, features))


def random_tree(rng, features, kind, classes=3, depth=3, axis=False):
    """A tree of a random shape; about a third of the splits are on one feature, or all of them."""
    left, right, weights, bias = [], [], [], []

    def grow(level):
        node = len(left)
        for array, entry in ((left, -1), (right, -1), (bias, 0.0), (weights, np.zeros(features))):
            array.append(entry)
        if level < depth and (level == 0 or rng.random() < 0.8):
            w = rng.normal(size=features)
            if axis or rng.random() < 0.3:
                w[np.arange(features) != rng.integers(features)] = 0.0
            weights[node], bias[node] = w, float(rng.normal())
            left[node] = grow(level + 1)
            right[node] = grow(level + 1)
        return node

    if depth:
        grow(0)
    else:
        left, right, weights, bias = [-1], [-1], [np.zeros(features)], [0.0]
    outputs = random_outputs(rng, len(left), features, kind, classes)
    value = rng.integers(0, classes, size=len(left)) if kind in ("probability", "logistic") else None
    labels = None if kind == "value" else LABELS[:classes]
    closed = str(rng.choice(["left", "right"]))
    return cl.Tree(left, right, np.array(weights), bias, value, labels, closed=closed, outputs=outputs)


def holds(tree, rows, target):
    """The class cost of each row for which the tree reaches the target, inf for the others, in the tree's own numbers."""
    if isinstance(target, cl.Value):
        found = tree.predict(rows)
    elif isinstance(target, cl.Probability):
        found = tree.predict_proba(rows)[:, tree.classes.tolist().index(target.label)]
    else:
        costs = target if isinstance(target, dict) else dict.fromkeys(target, 0.0)
        return np.array([costs.get(label, math.inf) for label in tree.predict(rows).tolist()])
    low = -math.inf if target.at_least is None else target.at_least
    high = math.inf if target.at_most is None else target.at_most
    return np.where((found >= low) & (found <= high), 0.0, math.inf)


def by_grid(tree, target, row, cost, sides):
    """The least cost over all rows of a grid of whole numbers."""
    rows = np.array(list(itertools.product(*[range(low, high + 1) for low, high in sides])), float)
    return float((cost(rows - row) + holds(tree, rows, target)).min())


def by_leaf(tree, target, row, curve, slope, bound):
    """The least cost over the closed regions of all leaves, within a box of half-width ``bound`` around 0."""
    box = np.full(len(row), -bound), np.full(len(row), bound)
    best = math.inf
    for leaf, path in leaf_paths(tree).items():
        rows = [(side * tree.weights.toarray()[node], side * tree.bias[node]) for node, side in path]
        for extra, price, curved in _targets(tree, leaf, target):
            every = rows + extra
            if curved is None:
                A = np.array([w for w, _ in every]).reshape(-1, len(row))
                r = -np.array([b for _, b in every])
                found = solve(A, r, np.zeros(len(r), bool), 0, *box, row, curve, slope)[0]
            else:
                found = _with_exponentials(every, curved, box, row, curve, slope)
            best = min(best, found + price)
    return best


def _targets(tree, leaf, target):
    """The ways to reach a target in a leaf: rows (w, b) that must be >= 0, a price, and the exponents and room of a softmax."""
    z = tree.outputs
    K, D = z.count, tree.n_features
    slope = np.zeros((K, D)) if z.slope is None else z.slope.toarray()[leaf * K : (leaf + 1) * K]
    out = [(slope[k], z.intercept[leaf, k]) for k in range(K)]
    if not isinstance(target, (cl.Value, cl.Probability)):
        costs = target if isinstance(target, dict) else dict.fromkeys(target, 0.0)
        known = tree.value[leaf]
        for label, price in costs.items():
            t = tree.classes.tolist().index(label)
            if known >= 0:
                if known == t:
                    yield [], price, None
            else:
                yield [(out[t][0] - w, out[t][1] - b) for k, (w, b) in enumerate(out) if k != t], price, None
        return
    low, high = target.at_least, target.at_most
    if isinstance(target, cl.Probability):
        k = tree.classes.tolist().index(target.label)
        if z.kind == "probability":
            p = z.intercept[leaf, k]
            if (low is None or p >= low) and (high is None or p <= high):
                yield [], 0.0, None
            return
        if z.kind == "softmax" and K > 2:
            exponents = [(w - out[k][0], b - out[k][1]) for j, (w, b) in enumerate(out) if j != k]
            yield [], 0.0, (exponents, (1 - low) / low)
            return
        if z.kind == "softmax":
            w, b = out[k][0] - out[1 - k][0], out[k][1] - out[1 - k][1]
        else:
            sign = 1 if k else -1
            w, b = sign * out[0][0], sign * out[0][1]
        low, high = (None if end is None else math.log(end / (1 - end)) for end in (low, high))
    else:
        w, b = out[0]
    rows = [] if low is None else [(w, b - low)]
    yield rows + ([] if high is None else [(-w, high - b)]), 0.0, None


def _with_exponentials(rows, curved, box, row, curve, slope):
    """The least cost with the sum of some exponentials bounded: variables up, down and one per exponential."""
    exponents, room = curved
    D, m = len(row), len(exponents)
    n = 2 * D + m
    P = np.diag(np.concatenate([curve[0], curve[1], np.zeros(m)]))
    c = np.concatenate([slope[0], -slope[1], np.zeros(m)])

    def over(w):
        return np.concatenate([w, -w, np.zeros(m)])

    A, b, cones = [], [], []
    for w, constant in rows:
        A.append(-over(w))
        b.append(constant + w @ row)
    for d in range(D):
        for sign, end in ((1.0, box[1][d]), (-1.0, -box[0][d])):
            A.append(sign * over(np.eye(D)[d]))
            b.append(end - sign * row[d])
    for d in range(2 * D):
        A.append(-np.eye(n)[d])
        b.append(0.0)
    A.append(np.concatenate([np.zeros(2 * D), np.ones(m)]))
    b.append(room)
    cones.append(clarabel.NonnegativeConeT(len(b)))
    for j, (w, constant) in enumerate(exponents):  # (s, 1, u) with u >= exp(s)
        A += [-over(w), np.zeros(n), -np.eye(n)[2 * D + j]]
        b += [constant + w @ row, 1.0, 0.0]
        cones.append(clarabel.ExponentialConeT())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for tolerance in (1e-10, 1e-8):
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        arrays = sparse.csc_matrix(np.triu(2 * P)), c, sparse.csc_matrix(np.array(A)), np.array(b)
        solution = clarabel.DefaultSolver(*arrays, cones, settings).solve()
        if "Infeasible" in str(solution.status):
            return math.inf
        if "Solved" in str(solution.status):
            return solution.obj_val
    return _second_opinion(rows, curved, box, row, curve, slope)


def _second_opinion(rows, curved, box, row, curve, slope):
    """SciPy's SLSQP, where Clarabel gives up: the variables are the changes up and down."""
    exponents, room = curved
    D = len(row)
    W, b = np.array([w for w, _ in exponents]), np.array([c for _, c in exponents])

    def point(v):
        return row + v[:D] - v[D:]

    limits = [{"type": "ineq", "fun": lambda v: room - np.exp(np.minimum(W @ point(v) + b, 50.0)).sum()}]
    limits += [{"type": "ineq", "fun": lambda v, w=w, c=c: w @ point(v) + c} for w, c in rows]
    limits += [{"type": "ineq", "fun": lambda v: point(v) - box[0]}, {"type": "ineq", "fun": lambda v: box[1] - point(v)}]
    squares, linear = np.concatenate([curve[0], curve[1]]), np.concatenate([slope[0], -slope[1]])
    best = math.inf
    for start in np.random.default_rng(0).uniform(0, 5, size=(8, 2 * D)):
        found = minimize(
            lambda v: squares @ v**2 + linear @ v, start, bounds=[(0, None)] * (2 * D), constraints=limits, tol=1e-12
        )
        if found.success:
            best = min(best, found.fun)
    return best
