"""Numbers with few digits for many answers at once, by the rules of ``counterleaf.answer.short_numbers``."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from counterleaf.answer.short_numbers import CLOSE, DEARER, TINY, shorten
from counterleaf.batch.shares import cost_change, cost_of
from counterleaf.model.decision import Range
from counterleaf.proof.certificate import Answer, Certificate
from counterleaf.proof.compound import Compound
from counterleaf.proof.problem import Problem
from counterleaf.question.arrays import Form
from counterleaf.question.constraints.lowering import Limits
from counterleaf.question.query import Query
from counterleaf.search.tree import TreeTarget
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_DIGITS = 15  # the most that every program keeps: spreadsheets store no more
_DECIMALS = 10  # those that pandas writes as JSON
_EXACT = 22  # the largest power of ten that is a float
_POWERS = 10.0 ** np.arange(_EXACT + 1)
_TRIALS = 6  # with more and more digits
_MOST_NUMBERS = 64  # that are rounded one after another, in rows whose numbers cannot be rounded together
_ROUNDING = 1e-12  # of its terms: how far a sum of the user's may be off

Moved = tuple[Array, Array]  # of the numbers that may be rounded: their rows and their variables


class FewDigits:
    """Rounds the answers to one target."""

    def __init__(self, target: TreeTarget, query: Query) -> None:
        self.decision, self.schema, self.prices = target.decision, target.search.schema, query.prices
        self.tree, self.splits = target.decision.tree, target.search.splits(query.margin)
        # tangents and the margin of an oblique split do not show in the leaf of a row
        self.alone = self.decision.curved or (self.splits.oblique and bool(self.splits.margins.any()))
        self._ends: dict[int, tuple[Array, Array]] = {}

    def shorten(self, sources: Array, exact: Array, limits: Limits) -> tuple[Array, Array]:
        """Return the answers with few digits, and for which of them no trial is valid; ``limits`` are for all or for each."""
        rows, variables = np.nonzero(steps(self.schema, sources, exact))
        out, moved = exact.copy(), (rows, variables)
        left = np.zeros(len(exact), bool)
        left[moved[0]] = True
        if self.alone or limits.clauses or limits.pool is not None or limits.near is not None:
            return out, left
        leaves, most = self.tree.apply(exact), DEARER * np.abs(cost_of(self.prices, self.schema, sources, exact))
        reach = CLOSE * np.maximum(np.abs(exact[moved] - sources[moved]), TINY * np.abs(sources[moved]))
        low, high = self._bounds(exact, leaves, moved, limits)
        away = self._away(exact, leaves, moved, reach) if self.splits.oblique else None
        used = np.zeros(len(moved[0]), np.int64)  # the digits of the last trial
        for trial in range(_TRIALS):
            here = left[moved[0]]
            if not here.any():
                break
            x, down, up = exact[moved][here], reach[here].copy(), reach[here].copy()
            if trial and away is not None:
                down[away[here] > 0], up[away[here] < 0] = 0.0, 0.0
            if trial > (away is not None):
                used[here] += 1
            rows, ends = out.copy(), (np.maximum(x - down, low[here]), np.minimum(x + up, high[here]))
            rows[moved[0][here], moved[1][here]], used[here] = few(x, *ends, reach[here], used[here])
            lines = np.flatnonzero(left)
            dearer = cost_change(self.prices, self.schema, sources[lines], exact[lines], rows[lines])
            good = lines[self._valid(rows[lines], leaves[lines], limits) & (dearer <= most[lines])]
            out[good], left[good] = rows[good], False
        return out, left

    def survives(self, rows: Array) -> Array:
        """Return which rows reach the same leaf with ten decimals, and with the digits that a spreadsheet keeps."""
        goal, leaves, out = self.decision.goal, self.tree.apply(rows), np.ones(len(rows), bool)
        for image in rounded_images(self.schema, rows):
            if isinstance(goal, Range):  # a probability or a value has to stay in its interval
                out &= goal.holds(np.array(self.decision.numbers(image)))
            else:
                out &= self.tree.apply(image) == leaves
        return out

    def _valid(self, rows: Array, leaves: Array, limits: Limits) -> Array:
        """Return which rows are in the leaf of the answer and obey the linear constraints."""
        good = self.tree.apply(rows) == leaves
        for row in limits.rows:
            variables, weights = np.array(list(row.terms)), np.array(list(row.terms.values()))
            terms = weights * rows[:, variables]
            off = (terms.sum(axis=1) - row.rhs) * (-1.0 if row.relation == "<=" else 1.0)
            allowed = _ROUNDING * (np.abs(terms).sum(axis=1) + abs(row.rhs))
            good &= (np.abs(off) <= allowed) if row.relation == "==" else off >= -allowed
        return np.asarray(good)

    def _bounds(self, exact: Array, leaves: Array, moved: Moved, limits: Limits) -> tuple[Array, Array]:
        """Return the ends between which each number stays in its bounds and on its side of the splits on one number."""
        rows, variables = moved
        line = rows if len(limits.lower) == len(exact) else np.zeros(len(rows), np.int64)
        low, high = limits.lower[line, variables], limits.upper[line, variables]
        for v in np.flatnonzero(np.bincount(variables)).tolist():
            here = variables == v
            from_, to = self._leaf_ends(v)
            low[here] = np.maximum(low[here], from_[leaves[rows[here]]])
            high[here] = np.minimum(high[here], to[leaves[rows[here]]])
        return np.minimum(low, exact[moved]), np.maximum(high, exact[moved])  # shared bounds are widened for some rows

    def _leaf_ends(self, v: int) -> tuple[Array, Array]:
        """Return the least and the largest value of a number that the splits on it alone let into each node."""
        if v not in self._ends:
            nodes, low, high = self.splits.nodes, np.full(self.tree.n_nodes, -np.inf), np.full(self.tree.n_nodes, np.inf)
            for inner in self.splits.levels:
                left, right = nodes["left"][inner], nodes["right"][inner]
                for child in (left, right):
                    low[child], high[child] = low[inner], high[inner]
                on = (nodes["form"][inner] == Form.NUMBER) & (nodes["index"][inner] == v)
                high[left[on]] = np.minimum(high[left[on]], nodes["cut_left"][inner[on]])
                low[right[on]] = np.maximum(low[right[on]], nodes["cut_right"][inner[on]])
            self._ends[v] = low, high
        return self._ends[v]

    @functools.cached_property
    def _parent(self) -> Array:
        tree, out = self.tree, np.full(self.tree.n_nodes, -1)
        inner = np.flatnonzero(tree.left >= 0)
        out[tree.left[inner]] = out[tree.right[inner]] = inner
        return out

    def _away(self, exact: Array, leaves: Array, moved: Moved, reach: Array) -> Array:
        """Return for each number the direction that leads away from the splits that rounding could cross; 0 for either."""
        far = np.zeros(exact.shape)
        far[moved] = reach
        ways = np.zeros(exact.shape)
        for leaf in np.unique(leaves[moved[0]]).tolist():
            lines, node = np.flatnonzero(leaves == leaf), leaf
            while node > 0:
                parent = int(self._parent[node])
                side = 1.0 if self.tree.right[parent] == node else -1.0
                columns, weights = self.tree.weights.row(parent)
                slack = side * (exact[np.ix_(lines, columns)] @ weights + self.tree.bias[parent])
                size = far[np.ix_(lines, columns)] @ np.abs(weights)
                push = np.where(slack <= size, 1.0 / np.where(size > 0, size, 1.0), 0.0)
                ways[np.ix_(lines, columns)] += push[:, None] * (side * weights)
                node = parent
        return np.asarray(ways[moved])


def rounded_images(schema: Schema, rows: Array) -> Iterator[Array]:
    """Yield rows, given as variables, with their numbers rounded as other programs do."""
    numbers = schema.starts[[d for d, one in enumerate(schema) if isinstance(one, Numeric)]]
    values, image = rows[:, numbers], rows.copy()
    for rounded in (np.round(values, _DECIMALS), _significant(values)):
        image[:, numbers] = rounded
        yield image


def steps(schema: Schema, sources: Array, exact: Array) -> Array:
    """Return which numbers of each answer may be rounded: those that change, are on no grid and are not missing."""
    free = np.zeros(schema.width, bool)
    free[schema.starts[[d for d, one in enumerate(schema) if isinstance(one, Numeric) and one.any_number]]] = True
    out = np.asarray(free & (exact != sources))
    for name in schema.gaps:
        v = schema.starts[schema.index(name)]
        out[:, v] &= exact[:, v + 1] == 0.0
    return out


def shorten_one(schema: Schema, problem: Problem, answer: Answer) -> Array:
    """Return one answer with few digits, as ``print`` writes it."""
    places = np.flatnonzero(steps(schema, problem.source[None], answer.row[None])[0]).tolist()
    return shorten(problem, answer, places) if len(places) <= _MOST_NUMBERS else answer.row


def shorten_answer(schema: Schema, proof: Certificate | Compound, rank: int = 0) -> Array:
    """Return the codes of an answer of a proof with few digits; the rows of ``among`` stay as they are."""
    exact, owner = proof.answers[rank].row, proof.owner(rank)
    if owner.pool is not None:
        return schema.gather(exact)
    short = shorten_one(schema, *proof.rounding_problem(rank))
    return schema.gather(short if owner.admits(short) else exact)


def few(exact: Array, low: Array, high: Array, reach: Array, used: Array) -> tuple[Array, Array]:
    """Return for each number the decimal of fewest digits between two ends, of two such decimals the nearer one.

    ``used`` are the digits to begin with, counted from the first one of the number or of its ``reach``; they are returned too.
    A number without such a decimal of 15 digits stays as it is.

    Examples
    --------
    >>> ends = np.array([0.07, 20.0]), np.array([0.0709, 20.1])
    >>> few(np.array([0.07082000002, 20.0000009]), *ends, np.array([1e-3, 0.1]), np.array([1, 0]))
    (array([ 0.07, 20.  ]), array([1, 0]))
    """
    out, used, left = exact.copy(), used.copy(), np.flatnonzero(low < high)
    with np.errstate(divide="ignore"):
        first = np.floor(np.log10(np.maximum(np.abs(exact), reach)))
    while len(left):
        decimals = np.nan_to_num(used[left] - first[left], posinf=_EXACT, neginf=-_EXACT)
        near, other = _neighbours(exact[left], np.clip(decimals, -_EXACT, _EXACT).astype(np.int64))
        fits, fits_other = ((low[left] <= one) & (one <= high[left]) for one in (near, other))
        found = fits | fits_other
        out[left[found]] = np.where(fits, near, other)[found]
        left = left[~found]
        used[left] += 1
        left = left[used[left] < _DIGITS]
    return out, used


def _neighbours(x: Array, decimals: Array) -> tuple[Array, Array]:
    """Return the decimals on either side of each number, the nearer one first; each is the float nearest to its digits."""
    scale, coarse = _POWERS[np.abs(decimals)], decimals < 0

    def decimal(count: Array) -> Array:
        return np.asarray(np.where(coarse, count * scale, count / scale) + 0.0)

    floor = np.floor(np.where(coarse, x / scale, x * scale))
    floor -= decimal(floor) > x
    below, above = decimal(floor), decimal(floor + 1)
    nearer = x - below <= above - x
    return np.where(nearer, below, above), np.where(nearer, above, below)


def _significant(x: Array) -> Array:
    """Return numbers with the digits that a spreadsheet keeps, or one less."""
    digits = _DIGITS - (np.frexp(x)[1] * 77 >> 8)  # log10(2) is 77 / 256, or hardly more
    scale = _POWERS[np.clip(digits, 0, _EXACT)]
    return np.where(np.abs(x) < 10.0**_DIGITS, np.round(x * scale) / scale, x)
