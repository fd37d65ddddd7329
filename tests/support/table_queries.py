"""Queries over tables as plain tuples and numbers.

Both sides of a comparison are built from them: the library's objects, and an independent price and feasibility of a row.
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import counterleaf as cl


@dataclass
class TableCase:
    """A query. ``constraints()`` and ``cost()`` build the library's objects from the tuples in ``rules`` and ``terms``.

    rules: ("freeze", "a", "b"), ("fix", "a", value), ("between", "a", 1, 5), ("increase", "a", {"by": 2}),
    ("decrease", "a", {}), ("allow", "job", [...]), ("forbid", "job", [...]), ("linear", {"a": 1.0, "job=cook": -2.0},
    ">=", 0.5), ("at_most", 2), ("implies", "job", rule).
    terms: (factor, "L1" or "L2", weights) or (factor, "L1" or "L2", up, down); weights are None, a number, a list or a dict.
    """

    tree: cl.Tree
    schema: cl.Schema
    row: dict
    target: list
    rules: list
    terms: list
    scale: np.ndarray  # (F,) the size of each feature
    Q: np.ndarray = None  # the coupling of the numbers, in their order

    def constraints(self):
        return [_constraint(rule) for rule in self.rules]

    def cost(self):
        parts = []
        for factor, kind, *weights in self.terms:
            norm = getattr(cl, kind)
            parts.append(factor * (norm(weights[0]) if len(weights) == 1 else norm(up=weights[0], down=weights[1])))
        if self.Q is not None:
            parts.append(cl.Quadratic(self.Q))
        return sum(parts[1:], parts[0])

    @property
    def coupling(self):
        """(F, F) Q with zeros for features that are not numbers."""
        numbers = [d for d, f in enumerate(self.schema) if isinstance(f, cl.Numeric)]
        out = np.zeros((len(self.schema), len(self.schema)))
        if self.Q is not None:
            out[np.ix_(numbers, numbers)] = self.Q
        return out

    @property
    def source(self):
        return codes_of(self.schema, [self.row])[0]

    def prices(self):
        """Per feature: (curve up, curve down, slope up, slope down) for a number, the cost of each value for any other."""
        names, out = self.schema.names, []
        for d, (feature, at) in enumerate(zip(self.schema, self.source, strict=True)):
            per = np.zeros(4) if isinstance(feature, cl.Numeric) else np.zeros(len(feature.values))
            usual = [] if self.terms or isinstance(feature, cl.Numeric) else [(1.0, "L2", None)]  # under a Quadratic alone
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
        """(n,) the cost of rows with (n, F) codes."""
        change = np.atleast_2d(codes) - self.source
        return self.alone(codes) + ((change @ self.coupling) * change).sum(axis=1)

    def alone(self, codes):
        """(n,) the same without the coupling."""
        codes, total = np.atleast_2d(codes), 0.0
        for d, (feature, per) in enumerate(zip(self.schema, self.prices(), strict=True)):
            if isinstance(feature, cl.Numeric):
                up, down = np.maximum(codes[:, d] - self.source[d], 0), np.maximum(self.source[d] - codes[:, d], 0)
                total = total + per[0] * up**2 + per[1] * down**2 + per[2] * up + per[3] * down
            else:
                total = total + per[codes[:, d].astype(int)]
        return total

    def obeys(self, codes, slack=1e-9):
        """(n,) whether rows with (n, F) codes lie in the table and obey the rules, sums within ``slack`` of their terms."""
        codes, source = np.atleast_2d(codes), self.source
        ok = np.ones(len(codes), bool)
        for d, feature in enumerate(self.schema):
            if isinstance(feature, cl.Numeric):
                ok &= (feature.lower <= codes[:, d]) & (codes[:, d] <= feature.upper)
                if feature.grid is not None:
                    near = np.round(codes[:, d] / float(feature.grid)).tolist()
                    on_grid = codes[:, d] == [on(feature, k) for k in near]
                    ok &= on_grid | (codes[:, d] == source[d])
        changed = codes != source
        for rule in self.rules:
            if rule[0] == "at_most":
                ok &= changed.sum(axis=1) <= rule[1]
            elif rule[0] == "implies":
                ok &= ~changed[:, self.schema.names.index(rule[1])] | self._within(rule[2], codes)
            elif rule[0] == "linear":
                value, size = np.full(len(codes), -rule[3]), np.full(len(codes), abs(rule[3]))
                for name, a in rule[1].items():
                    d, k = place(self.schema, name)
                    term = a * (codes[:, d] if k is None else codes[:, d] == k)
                    value, size = value + term, size + np.abs(term)
                off = {">=": -value, "<=": value, "==": np.abs(value)}[rule[2]]
                ok &= off <= slack * size
            else:
                ok &= self._within(rule, codes)
        return ok

    def _within(self, rule, codes):
        ok = np.ones(len(codes), bool)
        for d, allowed in meaning(rule, self.schema, self.source):
            inside = isinstance(self.schema.features[d], cl.Numeric)
            ok &= (allowed[0] <= codes[:, d]) & (codes[:, d] <= allowed[1]) if inside else allowed[codes[:, d].astype(int)]
        return ok


def _constraint(rule):
    verb, *rest = rule
    if verb in ("increase", "decrease"):
        return getattr(cl, f"only_{verb}")(rest[0], **rest[1])
    if verb == "at_most":
        return cl.max_changes(*rest)
    if verb == "implies":
        return cl.implies(cl.changed(rest[0]), _constraint(rest[1]))
    return getattr(cl, verb)(*rest)


def _weight(weights, names, d):
    if weights is None:
        return 1.0
    if isinstance(weights, dict):
        return weights.get(names[d], 1.0)
    return weights if isinstance(weights, float) else weights[d]


@functools.lru_cache(100_000)
def on(feature, count):
    """A number of steps of a grid, as the float64 nearest to the decimal."""
    return float(Fraction(int(count)) * feature.grid)


def codes_of(schema, rows):
    """(n, F) one number per cell of a list of dicts: the number itself, or the position of a value."""
    return np.array(
        [[row[f.name] if isinstance(f, cl.Numeric) else f.values.index(row[f.name]) for f in schema] for row in rows], float
    )


def row_of(schema, codes):
    """The dict of one vector of codes; whole numbers as int."""
    out = {}
    for feature, code in zip(schema, codes.tolist(), strict=True):
        number = int(code) if isinstance(feature, cl.Numeric) and feature.integer else code
        out[feature.name] = number if isinstance(feature, cl.Numeric) else feature.values[int(code)]
    return out


def columns(schema, codes):
    """(n, C) the tree's columns of (n, F) codes: one per number, ordered or yes-or-no feature, one 0/1 per category."""
    blocks = [
        codes[:, d, None] == np.arange(len(f.values)) if isinstance(f, cl.Categorical) else codes[:, d, None]
        for d, f in enumerate(schema)
    ]
    return np.hstack(blocks).astype(float)


def place(schema, name):
    """(feature, value) of a term of ``linear``: the value is None if the number of the feature is meant."""
    if name in schema.names:
        return schema.names.index(name), None
    feature, value = name.split("=")
    d = schema.names.index(feature)
    return d, [str(v) for v in schema.features[d].values].index(value)


def meaning(rule, schema, source):
    """[(feature, (lower, upper) of a number or (values,) mask)] of a rule on single features."""
    verb, name, *rest = rule
    out = []
    for each in (name, *rest) if verb == "freeze" else (name,):
        d = schema.names.index(each)
        feature, at = schema.features[d], source[d]
        low, high = -math.inf, math.inf
        if verb == "freeze":
            low = high = at
        elif verb == "between":
            low, high = rest
        elif verb == "increase":
            low = at + rest[0].get("by", 0)
        elif verb == "decrease":
            high = at - rest[0].get("by", 0)
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


def within(feature, count):
    """Move a number of steps to the nearest one within the bounds of a grid."""
    while on(feature, count) < feature.lower:
        count += 1
    while on(feature, count) > feature.upper:
        count -= 1
    return count


def values_of(feature, at):
    """Every value that a bounded grid, or any finite feature, can take from ``at``, as codes."""
    if not isinstance(feature, cl.Numeric):
        return np.arange(len(feature.values), dtype=float)
    low, high = (round(end / float(feature.grid)) for end in (feature.lower, feature.upper))
    out = [on(feature, k) for k in range(low - 1, high + 2)]
    return np.array(sorted({at, *(x for x in out if feature.lower <= x <= feature.upper)}))
