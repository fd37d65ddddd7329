"""Random questions over tables: categories, levels, yes or no, whole numbers, grids and plain numbers, in one row.

A question consists of plain tuples and numbers. From these come the library's objects, and the functions with which the
referee and the tests price a row and check its constraints.
"""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from support.table_codes import codes_of, columns, on, place, row_of, within

import counterleaf as cl

MOST_VALUES = 140  # of all finite features together: the referee's free licence takes 200 variables


@dataclass
class TableCase:
    """A question. ``rules`` and ``terms`` say in tuples what ``constraints()`` and ``cost()`` say in the library's words.

    rules: ("freeze", "a", "b"), ("fix", "a", value), ("between", "a", 1, 5), ("only_increase", "a", {"by": 2}),
    ("only_decrease", "a", {"at_most": 3}), ("allow", "job", [...]), ("forbid", "job", [...]),
    ("within", "a", "-5%", 2), ("becomes", "job", value), ("stays", "job"),
    ("linear", {"a": 1.0, "job=cook": -2.0}, ">=", 0.5), ("max_changes", 2), ("implies", "job", rule) where "job" stands for
    changed("job"), and ("implies", rule, rule); ("apart", ["a", "b"], 1), of which at most one changes.
    terms: (factor, "L1" or "L2", weights) or (factor, "L1" or "L2", up, down); weights are None, a number, a list or a dict.
    """

    tree: cl.Tree
    schema: cl.Schema
    row: dict
    target: list
    rules: list
    terms: list
    scale: np.ndarray  # (F,) the size of each feature
    Q: np.ndarray = None  # over the numbers, in their order: what their changes cost together
    pool: np.ndarray = None  # (n, F) codes of rows of the table
    charges: np.ndarray = None  # (F,) what changing a feature costs at all

    def constraints(self):
        return [_constraint(rule) for rule in self.rules if rule[0] != "apart"]

    def cost(self):
        parts = []
        for factor, kind, *weights in self.terms:
            norm = getattr(cl, kind)
            parts.append(factor * (norm(weights[0]) if len(weights) == 1 else norm(up=weights[0], down=weights[1])))
        if self.Q is not None:
            parts.append(cl.Quadratic(self.Q))
        if self.charges is not None:
            parts.append(cl.Changes(self.charges))
        return sum(parts[1:], parts[0])

    @property
    def coupling(self):
        """(F, F) Q with zeros for features that are no numbers."""
        numbers = [d for d, f in enumerate(self.schema) if isinstance(f, cl.Numeric)]
        out = np.zeros((len(self.schema), len(self.schema)))
        if self.Q is not None:
            out[np.ix_(numbers, numbers)] = self.Q
        return out

    @property
    def source(self):
        return codes_of(self.schema, [self.row])[0]

    def prices(self):
        """Per feature: (curve up, curve down, slope up, slope down) of a number; what each value costs of any other."""
        names, out = self.schema.names, []
        for d, (feature, at) in enumerate(zip(self.schema, self.source, strict=True)):
            per = np.zeros(4) if isinstance(feature, cl.Numeric) else np.zeros(len(feature.values))
            usual = (
                [] if self.terms or self.charges is not None or isinstance(feature, cl.Numeric) else [(1.0, "L2", None)]
            )  # under a Quadratic alone
            for factor, kind, *weights in [*self.terms, *usual]:
                up = factor * _weight(weights[0], names, d)
                down = factor * _weight(weights[-1], names, d)
                if isinstance(feature, cl.Numeric):
                    per += [up, down, 0, 0] if kind == "L2" else [0, 0, up, down]
                elif feature.costs is not None:
                    per += 0.5 * (up + down) * np.array(feature.costs)[int(at)]
                elif isinstance(feature, cl.Categorical):
                    per += (up + down) * (np.arange(len(per)) != at)
                else:
                    moved = np.arange(len(per)) - at
                    per += np.where(moved > 0, up, down) * np.abs(moved) ** (2 if kind == "L2" else 1)
            out.append(per)
        return out

    def price(self, codes):
        """(n,) what rows given as (n, F) codes cost."""
        change = np.atleast_2d(codes) - self.source
        return self.alone(codes) + ((change @ self.coupling) * change).sum(axis=1)

    def alone(self, codes):
        """(n,) the same without what changes cost together."""
        codes, total = np.atleast_2d(codes), 0.0
        if self.charges is not None:
            total = total + (codes != self.source) @ self.charges
        for d, (feature, per) in enumerate(zip(self.schema, self.prices(), strict=True)):
            if isinstance(feature, cl.Numeric):
                up, down = np.maximum(codes[:, d] - self.source[d], 0), np.maximum(self.source[d] - codes[:, d], 0)
                total = total + per[0] * up**2 + per[1] * down**2 + per[2] * up + per[3] * down
            else:
                total = total + per[codes[:, d].astype(int)]
        return total

    def obeys(self, codes, slack=1e-9):
        """(n,) whether rows given as (n, F) codes lie in the table and obey the rules, sums to ``slack`` of their terms."""
        codes, source = np.atleast_2d(codes), self.source
        ok = np.ones(len(codes), bool)
        for d, feature in enumerate(self.schema):
            if isinstance(feature, cl.Numeric):
                ok &= (feature.lower <= codes[:, d]) & (codes[:, d] <= feature.upper)
                if feature.values is not None:
                    ok &= np.isin(codes[:, d], feature.values) | (codes[:, d] == source[d])
                elif feature.grid is not None:
                    near = np.round(codes[:, d] / float(feature.grid)).tolist()
                    on_grid = codes[:, d] == [on(feature, k) for k in near]
                    ok &= on_grid | (codes[:, d] == source[d])
        for rule in self.rules:
            ok &= self.holds(rule, codes, slack)
        return ok

    def holds(self, rule, codes, slack=1e-9):
        """(n,) whether rows obey one rule."""
        changed = codes != self.source
        if rule[0] == "max_changes":
            return changed.sum(axis=1) <= rule[1]
        if rule[0] == "apart":
            return changed[:, [self.schema.names.index(name) for name in rule[1]]].sum(axis=1) <= rule[2]
        if rule[0] == "implies":
            return ~self._is_met(rule[1], codes) | self.holds(rule[2], codes, slack)
        if rule[0] == "among":
            return (codes[:, None] == codes_of(self.schema, rule[1])[None]).all(axis=2).any(axis=1)
        if rule[0] == "linear":
            value, size = np.full(len(codes), -rule[3]), np.full(len(codes), abs(rule[3]))
            for name, a in rule[1].items():
                d, k = place(self.schema, name)
                term = a * (codes[:, d] if k is None else codes[:, d] == k)
                value, size = value + term, size + np.abs(term)
            off = {">=": -value, "<=": value, "==": np.abs(value)}[rule[2]]
            return off <= slack * size
        return self._within(rule, codes)

    def _is_met(self, condition, codes):
        """(n,) whether rows meet the condition of an implication."""
        if isinstance(condition, str):
            return codes[:, self.schema.names.index(condition)] != self.source[self.schema.names.index(condition)]
        met = self.holds(condition, codes)
        return met & ~self.holds(condition, self.source[None])[0] if condition[0] == "becomes" else met

    def _within(self, rule, codes):
        ok = np.ones(len(codes), bool)
        for d, allowed in meaning(rule, self.schema, self.source):
            inside = isinstance(self.schema.features[d], cl.Numeric)
            ok &= (allowed[0] <= codes[:, d]) & (codes[:, d] <= allowed[1]) if inside else allowed[codes[:, d].astype(int)]
        return ok


def _constraint(rule):
    verb, *rest = rule
    if verb in ("only_increase", "only_decrease"):
        return getattr(cl, verb)(rest[0], **rest[1])
    if verb == "implies":
        condition = cl.changed(rest[0]) if isinstance(rest[0], str) else _constraint(rest[0])
        return cl.implies(condition, _constraint(rest[1]))
    if verb == "among":
        return cl.among(pd.DataFrame(rest[0]))
    return getattr(cl, verb)(*rest)


def _weight(weights, names, d):
    if weights is None:
        return 1.0
    if isinstance(weights, dict):
        return weights.get(names[d], 1.0)
    return weights if isinstance(weights, float) else weights[d]


def meaning(rule, schema, source):
    """[(feature, (lower, upper) of a number or (values,) mask)] of a rule on single features."""
    verb, name, *rest = rule
    verb = {"becomes": "fix", "stays": "freeze"}.get(verb, verb)
    out = []
    for each in (name, *rest) if verb == "freeze" else (name,):
        d = schema.names.index(each)
        feature, at = schema.features[d], source[d]
        low, high = -math.inf, math.inf
        if verb == "freeze":
            low = high = at
        elif verb == "between":
            low, high = (open_ if end is None else end for end, open_ in zip(rest, (low, high), strict=True))
        elif verb == "within":
            low, high = (open_ if end is None else _from(at, end) for end, open_ in zip(rest, (low, high), strict=True))
        elif verb == "only_increase":
            low, high = _from(at, rest[0].get("by", 0)), _from(at, rest[0].get("at_most", math.inf))
        elif verb == "only_decrease":
            low, high = -_from(-at, rest[0].get("at_most", math.inf)), -_from(-at, rest[0].get("by", 0))
        elif verb == "fix" and isinstance(feature, cl.Numeric):
            low = high = rest[0]
        if isinstance(feature, cl.Numeric):
            out.append((d, (low, high)))
        elif verb in ("allow", "forbid", "fix"):
            listed = rest[0] if verb != "fix" else [rest[0]]
            out.append((d, np.array([(value in listed) == (verb != "forbid") for value in feature.values])))
        else:
            k = np.arange(len(feature.values))
            out.append((d, (low <= k) & (k <= high)))
    return out


def _from(at, distance):
    """The number at a distance from the source's, which may be a percentage of its absolute value."""
    return at + (float(distance.rstrip("%")) / 100 * abs(at) if isinstance(distance, str) else distance)


def table_case(rng, groups=None, categories=None, numerics=None, depth=None, axis=None, off_grid=False, bounded=False):
    """A whole question; most have an answer.

    groups, numerics: how many finite features and numbers; categories: the most values of a feature; axis: True for an
    axis-aligned tree, False for an oblique one; off_grid: the source may be off its grid, in one feature;
    bounded: all numbers are.
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
    return TableCase(tree, schema, row, target, rules, _terms(rng, schema, scale), scale, pool=pool)


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
    """Now and then a table of prices, in which some changes are free."""
    if rng.random() < 0.75:
        return None
    table = np.exp(rng.normal(size=(size, size))) * (rng.random((size, size)) > 0.05)
    np.fill_diagonal(table, 0.0)
    return table


def _tree(rng, schema, scale, pool, depth, kind):
    """A tree that cuts between the rows of the pool, so that most leaves can be reached; about one cut in twelve is stray."""
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
        out.append(("max_changes", int(rng.integers(1, min(5, len(schema)) + 1))))
    for _ in range(int(rng.choice([0, 0, 1, 2]))):
        out.append(("implies", schema.names[int(rng.integers(len(schema)))], _rule(rng, schema, scale, source)))
    return out


def _rule(rng, schema, scale, source):
    """A rule on one feature; two in three let it stay."""
    d = int(rng.integers(len(schema)))
    f, at, s = schema.features[d], source[d], scale[d]
    verbs = ["between", "between", "only_increase", "only_decrease", "fix", "freeze"]
    if not isinstance(f, cl.Numeric):
        verbs = ["allow", "allow", "forbid", "forbid", "fix", "freeze"]
        verbs += [] if isinstance(f, cl.Categorical) else ["only_increase", "only_increase", "only_decrease"]
    verb = str(rng.choice(verbs))
    if verb == "freeze":
        return verb, f.name
    if verb in ("only_increase", "only_decrease"):
        aside = rng.spawn(1)[0]  # leaves the stream of the other draws as it is
        by = 0 if rng.random() < 0.6 else _distance(rng, f, s)
        most = by + _distance(aside, f, s) if aside.random() < 0.4 else None
        return verb, f.name, {"by": by} if most is None else {"by": by, "at_most": most}
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
    source_label = f.values[int(at)]
    if rng.random() < 0.6:
        values = [v for v in values if v != source_label] + [source_label] * (verb == "allow")
    return (verb, f.name, values) if values else ("freeze", f.name)


def rich_rules(rng, schema, scale, source, pool, count):
    """Implications of all kinds, and limits relative to the row."""
    out = []
    for _ in range(count):
        then = rich_rule(rng, schema, scale, source, pool)
        out.append(("implies", rich_condition(rng, schema, scale, source), then) if rng.random() < 0.8 else then)
    return out


def rich_condition(rng, schema, scale, source):
    """A condition on one feature, or on two."""
    kind = rng.choice(["changed", "becomes", "stays", "box", "box", "freeze"])
    names = [schema.names[d] for d in rng.permutation(len(schema))[:2].tolist()]
    if kind == "changed":
        return names[0]
    if kind == "freeze":
        return ("freeze", *names)
    if kind == "stays":
        return ("stays", names[0])
    if kind == "box":
        return _relative(rng, schema, scale, source) if rng.random() < 0.4 else _rule(rng, schema, scale, source)
    return ("becomes", names[0], _value(rng, schema, scale, source, names[0]))


def rich_rule(rng, schema, scale, source, pool):
    """A consequence of any kind."""
    kind = rng.choice(["box", "box", "relative", "becomes", "stays", "linear", "max_changes", "among", "implies"])
    name = schema.names[int(rng.integers(len(schema)))]
    if kind == "relative":
        return _relative(rng, schema, scale, source)
    if kind == "becomes":
        return ("becomes", name, _value(rng, schema, scale, source, name))
    if kind == "stays":
        return ("stays", name)
    if kind == "linear" and len(schema) > 1:
        return _linear(rng, schema, scale, source, pool)
    if kind == "max_changes":
        return ("max_changes", int(rng.integers(0, 3)))
    if kind == "among":
        return ("among", [row_of(schema, codes) for codes in pool[:25]])
    if kind == "implies":
        return ("implies", rich_condition(rng, schema, scale, source), rich_rule(rng, schema, scale, source, pool))
    return _rule(rng, schema, scale, source)


def _relative(rng, schema, scale, source):
    """A limit relative to the row, in units, levels or percent."""
    ordered = [d for d, f in enumerate(schema) if not isinstance(f, cl.Categorical)]
    if not ordered:
        return ("stays", schema.names[0])
    d = ordered[int(rng.integers(len(ordered)))]
    f, s = schema.features[d], scale[d]
    if not isinstance(f, cl.Numeric):
        low, high = sorted(rng.integers(-2, 3, size=2).tolist())
    elif rng.random() < 0.5:
        low, high = sorted(round(100 * x) for x in rng.normal(size=2) * s / max(abs(source[d]), s / 10))
        low, high = f"{low}%", f"{high}%"
    else:
        unit = 1.0 if f.grid is None else float(f.grid)
        off = 0.0 if f.step is None else 0.5  # between two points of a grid, as in _distance
        low, high = sorted(((np.round(rng.normal(size=2) * s / unit) + off) * unit).tolist())
    side = rng.random()
    if side < 0.4:
        return ("within", f.name, low, high)
    return ("within", f.name, None, high) if side < 0.7 else ("within", f.name, low, None)


def _value(rng, schema, scale, source, name):
    """A value that a feature may become; often that of the source."""
    d = schema.names.index(name)
    f = schema.features[d]
    if not isinstance(f, cl.Numeric):
        return f.values[int(source[d]) if rng.random() < 0.3 else int(rng.integers(len(f.values)))]
    to = float(np.clip(source[d] + 0.5 * (rng.random() < 0.7) * rng.normal() * scale[d], f.lower, f.upper))
    return to if f.grid is None or to == source[d] else on(f, within(f, round(to / float(f.grid))))


def _distance(rng, feature, size):
    """How far a feature may move; between two points of a grid where decimals are not exact in binary."""
    if not isinstance(feature, cl.Numeric):
        return int(rng.integers(1, 3)) if len(feature.values) > 2 else 1
    if feature.integer:
        return 2
    return float(size * rng.uniform(0.2, 1)) if feature.step is None else 1.5 * feature.step


def _linear(rng, schema, scale, source, pool):
    """A row over two to four features, often one that the source obeys; an equation only where a plain number can settle it."""
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
    """A question whose cost couples its numbers: definite, singular or banded, alone or in a sum."""
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
