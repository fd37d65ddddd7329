"""Random queries over tables: categories, levels, booleans, whole numbers, grids and plain numbers, in one row."""

import math

import numpy as np
from support.table_queries import (
    TableCase,
    codes_of,
    columns,
    meaning,
    on,
    place,
    row_of,
    values_of,
    within,
)

import counterleaf as cl

__all__ = [
    "MOST_VALUES",
    "TableCase",
    "codes_of",
    "columns",
    "coupled_table_case",
    "meaning",
    "on",
    "place",
    "row_of",
    "table_case",
    "values_of",
    "within",
]

MOST_VALUES = 140  # of all finite features together: the free licence of the referee's solver allows 200 variables


def table_case(rng, groups=None, categories=None, numerics=None, depth=None, axis=None, off_grid=False, bounded=False):
    """A random query; most have an answer.

    groups, numerics: how many finite features and numbers; categories: the most values of a feature; axis: True for an
    axis-aligned tree, False for an oblique one; off_grid: one feature of the source may lie off its grid;
    bounded: whether all numbers have bounds.
    """
    groups = int(rng.choice([0, 1, 2, 3, 5, 8, 12])) if groups is None else groups
    numerics = int(rng.integers(0 if groups else 1, 7)) if numerics is None else numerics
    schema, scale, draw = _table(rng, groups, categories or int(rng.choice([3, 6, 12, 40])), numerics, bounded)
    pool = draw(300)
    source = draw(1)[0]
    if off_grid:
        for d, f in enumerate(schema):
            if isinstance(f, cl.Numeric) and f.step is not None and (f.upper - f.lower) / f.step < 25:
                source[d] += rng.uniform(0.2, 0.8) * f.step * (1 if source[d] < f.upper - f.step else -1)
                break
    depth = depth or int(rng.choice([1, 2, 3, 4, 5, 6, 8]))
    kinds = ["axis", "sparse", "dense", "mixed"] if axis is None else ["axis"] if axis else ["sparse", "dense", "dense"]
    tree = _tree(rng, schema, scale, pool, depth, str(rng.choice(kinds)))
    row = row_of(schema, source)
    source_label = tree.predict(columns(schema, source[None])).tolist()[0]
    others = [label for label in tree.classes.tolist() if label != source_label or rng.random() < 0.03]
    target = others if rng.random() < 0.5 else [others[int(rng.integers(len(others)))]]
    rules = _rules(rng, schema, scale, source, pool)
    return TableCase(tree, schema, row, target, rules, _terms(rng, schema, scale), scale)


def _table(rng, groups, categories, numerics, bounded):
    """(schema, size of each feature, function that draws (n, F) codes)."""
    features, scale, centre, room = [], [], [], MOST_VALUES - 2 * groups
    for d in rng.permutation(groups + numerics).tolist():
        if d < groups:
            kind = rng.choice(["category", "category", "level", "bool"])
            size = min(int(rng.integers(2, max(2, categories) + 1)), 2 + room)
            if kind == "level" and room:
                size = min(int(rng.integers(3, max(3, min(categories, 8)) + 1)), 2 + room)
            elif kind != "category":
                size = 2
            room -= size - 2
            if kind == "bool" or (kind == "level" and size < 3):
                features.append(cl.Boolean(f"b{d}", costs=_from_to(rng, 2)))
            elif kind == "level":
                features.append(cl.Ordinal(f"o{d}", [f"l{k}" for k in range(size)], costs=_from_to(rng, size)))
            else:
                values = [100 + k for k in range(size)] if rng.random() < 0.2 else [f"v{k}" for k in range(size)]
                features.append(cl.Categorical(f"c{d}", values, costs=_from_to(rng, size)))
            scale.append(1.0 if isinstance(features[-1], cl.Categorical) else len(features[-1].values) / 2)
            centre.append(0.0)
            continue
        kind = rng.choice(["plain", "plain", "whole", "step"])
        step = {"plain": None, "whole": 1.0, "step": float(rng.choice([0.5, 100.0, 0.1]))}[str(kind)]
        s = float(10.0 ** rng.uniform(-1, 3)) if step is None else step * float(rng.choice([2.0, 6.0, 20.0]))
        c, low, high = float(rng.normal() * s), -math.inf, math.inf
        if bounded or rng.random() < (0.6 if step is None else 0.85):
            low, high = (float(np.round(c - s * rng.uniform(1, 3), 1)), float(np.round(c + s * rng.uniform(1, 3), 1)))
            high = max(high, low + 2 * (step or 0))
        features.append(cl.Numeric(f"x{d}", low, high, integer=kind == "whole", step=step if kind == "step" else None))
        scale.append(s)
        centre.append(c)
    schema = cl.Schema(features)

    def draw(n):
        codes = np.empty((n, len(schema)))
        for d, f in enumerate(schema):
            if not isinstance(f, cl.Numeric):
                codes[:, d] = rng.integers(len(f.values), size=n)
                continue
            codes[:, d] = np.clip(centre[d] + scale[d] * rng.normal(size=n), f.lower, f.upper)
            if f.grid is not None:
                codes[:, d] = [on(f, within(f, round(x / float(f.grid)))) for x in codes[:, d]]
        return codes

    return schema, np.array(scale), draw


def _from_to(rng, size):
    """In one case of four a table of costs, some of which are 0."""
    if rng.random() < 0.75:
        return None
    table = np.exp(rng.normal(size=(size, size))) * (rng.random((size, size)) > 0.05)
    np.fill_diagonal(table, 0.0)
    return table


def _tree(rng, schema, scale, pool, depth, kind):
    """A tree that splits the rows of the pool, so that most leaves can be reached; about one split in twelve is arbitrary."""
    X = columns(schema, pool)
    owner = np.concatenate([[d] * (len(f.values) if isinstance(f, cl.Categorical) else 1) for d, f in enumerate(schema)])
    size = scale[owner]
    left, right, weights, bias, value = [], [], [], [], []
    classes = int(rng.integers(2, 5))

    def grow(rows, level):
        node = len(left)
        for array, empty in ((left, -1), (right, -1), (bias, 0.0), (weights, np.zeros(X.shape[1]))):
            array.append(empty)
        value.append(node % classes if level == depth and rng.random() < 0.3 else int(rng.integers(classes)))
        cut = None if level == depth or (level and rng.random() < 0.1) else split(rows)
        if cut is None:
            return node
        weights[node], bias[node], stray = cut
        goes_right = X[rows] @ weights[node] + bias[node] >= 0
        left[node] = grow(rows if stray else rows[~goes_right], level + 1)
        right[node] = grow(rows if stray else rows[goes_right], level + 1)
        return node

    def split(rows):
        for _ in range(4):
            style = kind if kind != "mixed" else str(rng.choice(["axis", "sparse", "dense"]))
            stray = rng.random() < 0.08
            used = {"axis": 1, "sparse": min(len(size), int(rng.integers(2, 7))), "dense": len(size)}[style]
            w = np.zeros(len(size))
            chosen = rng.choice(len(size), size=used, replace=False)
            w[chosen] = rng.normal(size=used) / size[chosen]
            v = X[rows if not stray else slice(None)] @ w
            seen = np.unique(v)
            seen = seen[np.append(True, np.diff(seen) > 1e-5)]  # sums that differ by more than rounding
            if len(seen) < 2:
                continue
            k = int(np.clip(rng.uniform(0.1, 0.9) * (len(seen) - 1), 0, len(seen) - 2))
            if np.count_nonzero(w) > 1:
                return w, -float(seen[k] + rng.uniform(0.2, 0.8) * (seen[k + 1] - seen[k])), stray
            column = int(chosen[0])
            a, b = sorted(X[rows if not stray else slice(None), column][[np.argmin(abs(v - seen[k + i])) for i in (0, 1)]])
            feature = schema.features[owner[column]]
            if not isinstance(feature, cl.Numeric):
                at = math.floor(a) + 0.5
            elif feature.grid is not None:
                at = (round(a / float(feature.grid)) + 0.5) * float(feature.grid)
            else:
                at = a + rng.uniform(0.2, 0.8) * (b - a)
            w[column] = float(rng.choice([1.0, 1.0, -1.0, 2.5]))
            return w, -float(w[column] * at), stray
        return None

    grow(np.arange(len(X)), 0)
    used = [v for v, child in zip(value, left, strict=True) if child < 0]
    if len(used) > 1 and len(set(used)) == 1:
        value[left.index(-1)] = (used[0] + 1) % classes
    closed = str(rng.choice(["left", "right"]))
    return cl.Tree(left, right, np.array(weights), bias, value, classes=[f"y{k}" for k in range(classes)], closed=closed)


def _terms(rng, schema, scale):
    """L1, L2 or both, with weights of every form; numbers of any size cost about as much as categories."""
    names = schema.names
    is_number = np.array([isinstance(f, cl.Numeric) for f in schema])

    def weights(power):
        w = np.exp(rng.normal(size=len(names))) / np.where(is_number, scale, 1.0) ** power
        form = rng.choice(["none", "number", "array", "array", "dict"])
        if form == "none":
            return None
        if form == "number":
            return float(np.exp(rng.normal()))
        if rng.random() < 0.1:
            w[~is_number & (rng.random(len(names)) < 0.2)] = 0.0
        if form == "array":
            return w
        return {name: float(a) for name, a in zip(names, w, strict=True) if rng.random() < 0.7}

    def term(kind):
        factor = float(rng.choice([1.0, 1.0, 0.3]))
        power = {"L1": 1, "L2": 2}[kind]
        if rng.random() < 0.3:
            return factor, kind, weights(power), weights(power)
        return factor, kind, weights(power)

    return [term(kind) for kind in ([["L1"], ["L2"], ["L1", "L2"]])[int(rng.integers(3))]]


def _rules(rng, schema, scale, source, pool):
    out = []
    for _ in range(int(rng.choice([0, 0, 1, 1, 2, 3]))):
        out.append(_rule(rng, schema, scale, source))
    if rng.random() < 0.15 and len(schema) > 1:
        out.append(("freeze", *(schema.names[d] for d in rng.permutation(len(schema))[: max(1, len(schema) // 4)].tolist())))
    for _ in range(int(rng.choice([0, 0, 1, 2])) if len(schema) > 1 else 0):
        out.append(_linear(rng, schema, scale, source, pool))
    if rng.random() < 0.25:
        out.append(("at_most", int(rng.integers(1, min(5, len(schema)) + 1))))
    for _ in range(int(rng.choice([0, 0, 1, 2]))):
        out.append(("implies", schema.names[int(rng.integers(len(schema)))], _rule(rng, schema, scale, source)))
    return out


def _rule(rng, schema, scale, source):
    """A rule on one feature; two in three let it stay."""
    d = int(rng.integers(len(schema)))
    f, at, s = schema.features[d], source[d], scale[d]
    verbs = ["between", "between", "increase", "decrease", "fix", "freeze"]
    if not isinstance(f, cl.Numeric):
        verbs = ["allow", "allow", "forbid", "forbid", "fix", "freeze"]
        verbs += [] if isinstance(f, cl.Categorical) else ["increase", "increase", "decrease"]
    verb = str(rng.choice(verbs))
    if verb == "freeze":
        return verb, f.name
    if verb in ("increase", "decrease"):
        if rng.random() < 0.6:
            return verb, f.name, {}
        if isinstance(f, cl.Numeric):  # between two points of a grid where decimals are not exact in binary
            by = 2 if f.integer else float(s * rng.uniform(0.2, 1)) if f.step is None else 1.5 * f.step
        else:
            by = int(rng.integers(1, 3)) if len(f.values) > 2 else 1
        return verb, f.name, {"by": by}
    if verb == "between":
        low, high = at - abs(rng.normal()) * s, at + abs(rng.normal()) * s
        if rng.random() < 0.2:
            low, high = (at + 0.3 * s, at + 1.5 * s) if rng.random() < 0.5 else (at - 1.5 * s, at - 0.3 * s)
        if rng.random() < 0.2:
            low, high = (-math.inf, high) if rng.random() < 0.5 else (low, math.inf)
        return verb, f.name, float(low), float(high)
    if verb == "fix" and isinstance(f, cl.Numeric):
        to = float(np.clip(at + 0.5 * rng.normal() * s, f.lower, f.upper))
        return verb, f.name, to if f.grid is None else on(f, within(f, round(to / float(f.grid))))
    if verb == "fix":
        return verb, f.name, f.values[int(rng.integers(len(f.values)))]
    values = [f.values[k] for k in rng.permutation(len(f.values))[: max(1, len(f.values) // 2)].tolist()]
    source_value = f.values[int(at)]
    if rng.random() < 0.6:
        values = [v for v in values if v != source_value] + [source_value] * (verb == "allow")
    return (verb, f.name, values) if values else ("freeze", f.name)


def _linear(rng, schema, scale, source, pool):
    """A row over two to four features, often one that the source obeys; an equation only if it has a number without a grid."""
    coef, plain = {}, False
    used = rng.permutation(len(schema))[: int(rng.integers(2, 5))].tolist()
    for d in used:
        f = schema.features[d]
        a = float(rng.normal() / scale[d])
        plain |= isinstance(f, cl.Numeric) and f.grid is None
        if isinstance(f, cl.Numeric) or (not isinstance(f, cl.Categorical) and rng.random() < 0.5):
            coef[f.name] = a
        else:
            coef[f"{f.name}={f.values[int(source[d])]}"] = a
            coef[f"{f.name}={f.values[int(rng.integers(len(f.values)))]}"] = float(rng.normal())
    terms = [(place(schema, name), a) for name, a in coef.items()]
    level = [sum(a * (x[d] if k is None else x[d] == k) for (d, k), a in terms) for x in (source, *pool[:20])]
    here, there = level[0], sorted(level)[int(rng.integers(5, 16))]
    off = abs(rng.normal()) * 0.3 + 0.01
    relation = str(rng.choice([">=", "<=", "=="] if plain else [">=", "<="]))
    rhs = here + (off if relation == "<=" else -off) if rng.random() < 0.6 else there + 0.01 * rng.normal()
    return "linear", coef, relation, float(rhs)


def coupled_table_case(rng, **kwargs):
    """A query whose cost couples its numbers: definite, singular or banded, alone or in a sum."""
    case = table_case(rng, **{"numerics": int(rng.integers(1, 6)), **kwargs})
    size = np.array([s for f, s in zip(case.schema, case.scale, strict=True) if isinstance(f, cl.Numeric)])
    size, n = size * np.exp(0.5 * rng.normal(size=len(size))), len(size)
    kind = rng.choice(["full", "singular", "line"])
    B = rng.normal(size=(n if kind == "full" else max(1, n // 2), n))
    Q = np.eye(n) - 0.4 * (np.eye(n, k=1) + np.eye(n, k=-1)) if kind == "line" else B.T @ B / n
    case.Q = (Q + 0.1 * (kind == "full") * np.eye(n)) / size / size[:, None]
    if rng.random() < 0.5:
        case.terms = []
    return case
