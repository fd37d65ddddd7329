"""Random questions: trees, rows, costs and constraints of every kind the engine takes. A new feature joins here."""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

import counterleaf as cl


@dataclass
class Case:
    tree: cl.Tree
    schema: cl.Schema
    row: np.ndarray
    cost: object
    constraints: list
    target: dict
    margin: float = 0.0
    # the same question in plain numbers, for the referee
    curve: np.ndarray = field(default=None)  # (2, D): up, down
    slope: np.ndarray = field(default=None)  # (2, D): up, down
    Q: np.ndarray = None  # (D, D)
    scale: np.ndarray = None  # (D,) the size of each feature


def random_tree(rng, depth, features, classes, kind, scale):
    """A random tree in heap order of a random shape; ``kind`` is axis, oblique, sparse or mixed."""
    left, right, weights, bias, value = [], [], [], [], []
    centre = rng.normal(size=features) * scale
    old = []

    def grow(level):
        node = len(left)
        for array, empty in ((left, -1), (right, -1), (bias, 0.0), (value, -1)):
            array.append(empty)
        weights.append(np.zeros(features))
        if level == depth or (level > 0 and rng.random() < 0.15):
            value[node] = int(rng.integers(classes))
            return node
        w = np.zeros(features)
        style = kind if kind != "mixed" else rng.choice(["axis", "oblique", "sparse"])
        used = {"axis": 1, "oblique": features, "sparse": max(1, features // 4)}[style]
        chosen = rng.choice(features, size=used, replace=False)
        w[chosen] = rng.normal(size=used) / scale[chosen]
        at = centre + rng.normal(size=features) * scale
        b = -math.fsum((w * at).tolist())  # the same bits on every machine
        twist = rng.random()
        if old and twist < 0.06:  # nearly parallel to an earlier split
            w0, b0 = old[rng.integers(len(old))]
            w = w0 * (1 + 1e-3 * rng.normal(size=features))
            b = b0 + 0.1 * abs(b0) * rng.normal()
        elif old and twist < 0.1:  # the same direction again, elsewhere
            w0, b0 = old[rng.integers(len(old))]
            w, b = w0.copy(), b0 + rng.normal()
        elif twist < 0.12:  # no weights at all: one child is never reached
            w = np.zeros(features)
        old.append((w, b))
        weights[node], bias[node] = w, b
        left[node] = grow(level + 1)
        right[node] = grow(level + 1)
        return node

    grow(0)
    return cl.Tree(
        left, right, np.array(weights), bias, value, classes=np.arange(classes), closed=str(rng.choice(["left", "right"]))
    )


def random_case(rng, features=None, depth=None):
    """A whole question; about one in eight has no answer."""
    features = features or int(rng.integers(1, 13))
    depth = depth or int(rng.integers(1, 7))
    classes = int(rng.integers(2, 6))
    scale = 10.0 ** rng.uniform(-6, 6, features) if rng.random() < 0.4 else np.ones(features)
    kind = str(rng.choice(["axis", "oblique", "oblique", "sparse", "mixed"]))
    tree = random_tree(rng, depth, features, classes, kind, scale)
    row = rng.normal(size=features) * scale * 1.5
    names = [f"f{k}" for k in range(features)]
    bounded = rng.random() < 0.5
    schema = cl.Schema(
        [
            cl.Numeric(n, float(x - abs(rng.normal()) * s * 3), float(x + abs(rng.normal()) * s * 3))
            if bounded and rng.random() < 0.7
            else cl.Numeric(n)
            for n, x, s in zip(names, row, scale, strict=True)
        ]
    )
    if rng.random() < 0.1:  # a source outside the allowed box
        row = row + rng.normal(size=features) * scale * 4
    cost, curve, slope = random_cost(rng, schema, scale)
    constraints = random_constraints(rng, names, row, scale)
    labels = rng.permutation(classes)[: int(rng.integers(1, classes))]
    target = {int(k): float(rng.random() < 0.3) * float(rng.random()) for k in labels}
    margin = float(rng.choice([0.0, 0.0, 0.1]))
    return Case(tree, schema, row, cost, constraints, target, margin, curve, slope, scale=scale)


def random_cost(rng, schema, scale):
    """(cost, curve (2, D), slope (2, D)) where every feature is bounded below in cost."""
    features = len(schema)
    lower, upper = schema.bounds()
    weight = np.exp(rng.normal(size=(4, features)))
    weight[:2] /= scale**2
    weight[2:] /= scale
    if rng.random() < 0.15:
        weight[:, rng.random(features) < 0.3] = 0.0
    curve, slope = np.zeros((2, features)), np.zeros((2, features))
    kind = rng.choice(["L1", "L2", "both", "updown", "linear", "mixed"])
    if kind == "L1":
        cost, slope = cl.L1(weight[2]), np.array([weight[2], -weight[2]])
    elif kind == "L2":
        cost, curve = cl.L2(weight[0]), np.array([weight[0], weight[0]])
    elif kind == "both":
        cost = cl.L1(weight[2]) + 0.5 * cl.L2(weight[0])
        curve, slope = 0.5 * np.array([weight[0], weight[0]]), np.array([weight[2], -weight[2]])
    elif kind == "updown":
        cost = cl.L1(up=weight[2], down=weight[3]) + cl.L2(up=weight[0], down=weight[1]) * float(rng.random() < 0.5)
        curve = np.array([weight[0], weight[1]]) * cost.parts()[1][0]
        slope = np.array([weight[2], -weight[3]])
    elif kind == "linear":
        coef = 0.7 * rng.normal(size=features) * weight[2]
        coef = np.where(np.isfinite(lower) & np.isfinite(upper), coef, np.clip(coef, -weight[2], weight[2]))
        cost = cl.L1(weight[2]) + cl.LinearCost(coef)
        slope = np.array([weight[2] + coef, coef - weight[2]])
    else:
        some = rng.random(features) < 0.5
        cost = cl.L1(np.where(some, weight[2], 0)) + cl.L2(np.where(some, 0, weight[0]))
        curve = np.array([weight[0], weight[0]]) * ~some
        slope = np.array([weight[2], -weight[2]]) * some
    return cost, curve, slope


def random_constraints(rng, names, row, scale):
    out = []
    for name, x, s in zip(names, row, scale, strict=True):
        pick = rng.random()
        if pick < 0.06:
            out.append(cl.freeze(name))
        elif pick < 0.09:
            out.append(cl.fix(name, float(x + rng.normal() * s)))
        elif pick < 0.15:
            way = cl.only_increase if rng.random() < 0.5 else cl.only_decrease
            aside = rng.spawn(1)[0]  # leaves the stream of the other draws as it is
            out.append(way(name, at_most=float(abs(aside.normal()) * s)) if aside.random() < 0.4 else way(name))
        elif pick < 0.2:
            out.append(cl.between(name, float(x - abs(rng.normal()) * s), float(x + abs(rng.normal()) * s)))
    for _ in range(int(rng.choice([0, 0, 0, 1, 2]))):
        if len(names) < 2:
            break
        used = rng.choice(len(names), size=int(rng.integers(2, min(5, len(names)) + 1)), replace=False)
        coef = {names[k]: float(rng.normal() / scale[k]) for k in used}
        level = sum(a * row[names.index(n)] for n, a in coef.items())
        out.append(cl.linear(coef, str(rng.choice([">=", "<=", "=="])), float(level + 0.5 * rng.normal())))
    return out


def whole_case(rng):
    """A question in small whole numbers: ties, degenerate vertices, parallel splits, sources on faces."""
    features, depth, classes = int(rng.integers(1, 6)), int(rng.integers(1, 5)), 3
    grown = random_tree(rng, depth, features, classes, "mixed", np.ones(features))
    weights, bias = np.round(2 * grown.weights.toarray()), np.round(grown.bias)
    tree = cl.Tree(grown.left, grown.right, weights, bias, grown.value, grown.classes, closed=grown.closed)
    row = rng.integers(-3, 4, features).astype(float)
    schema = cl.Schema(
        [cl.Numeric(f"f{k}", x - rng.integers(0, 4), x + rng.integers(0, 4)) if rng.random() < 0.5 else cl.Numeric(f"f{k}")
         for k, x in enumerate(row)]
    )  # fmt: skip
    weight = rng.integers(1, 4, features).astype(float)
    kind = rng.choice(["L1", "L2", "both"])
    curve, slope = np.array([weight, weight]) * (kind != "L1"), np.array([weight, -weight]) * (kind != "L2")
    cost = {"L1": cl.L1(weight), "L2": cl.L2(weight), "both": cl.L1(weight) + cl.L2(weight)}[str(kind)]
    constraints = []
    if features > 1 and rng.random() < 0.4:
        coef = {f"f{k}": float(a) for k, a in enumerate(rng.integers(-2, 3, features)) if a}
        if len(coef) > 1:
            constraints.append(cl.linear(coef, str(rng.choice([">=", "<=", "=="])), float(rng.integers(-3, 4))))
    target = {int(rng.integers(classes)): 0.0}
    return Case(tree, schema, row, cost, constraints, target, 0.0, curve, slope)


def coupled_case(rng, features=None, depth=None):
    """A question whose cost couples features: definite or singular, dense or sparse, alone or in a sum."""
    case = random_case(rng, features, depth)
    n = len(case.row)
    scale = case.scale * np.exp(0.5 * rng.normal(size=n))
    B = rng.normal(size=(n, n)) * (rng.random((n, n)) < rng.choice([0.3, 1.0]))
    kind = rng.choice(["full", "singular", "line"])
    if kind == "singular":
        B = B[: max(1, n // 2)]
    Q = (
        np.eye(n) - 0.4 * (np.eye(n, k=1) + np.eye(n, k=-1))
        if kind == "line"
        else B.T @ B / n + 0.1 * (kind == "full") * np.eye(n)
    )
    case.Q = Q / scale / scale[:, None]
    quadratic = cl.Quadratic(sparse.csr_array(case.Q) if rng.random() < 0.3 else case.Q)
    if rng.random() < 0.5:
        case.cost, case.curve, case.slope = quadratic, np.zeros((2, n)), np.zeros((2, n))
    else:
        factor = float(rng.choice([0.1, 1.0, 3.0]))
        case.cost, case.Q = case.cost + factor * quadratic, factor * case.Q
    return case
