"""Numbers with as few digits as an answer needs to stay valid."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

from counterleaf.proof.certificate import Answer
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import obeys
from counterleaf.question.arrays import Posed
from counterleaf.types import Array

CLOSE = 1e-3  # how far a number may be rounded, as a share of its change
DEARER = 3e-3  # how much the rounding may add to the cost, as a share of it
TINY = 0.05  # smaller changes count as this share of the number, so that 20 does not become 20.000000954
_FLAT = 1e-9  # smaller slopes count as 0
_DECIMAL = Context(prec=40)


def shorten(problem: Problem, found: Answer, places: list[int]) -> Array:
    """Return the row of an answer with the numbers at ``places`` rounded, each by at most a thousandth of its change.

    ``places`` are variables that may take any value: not those of a group and not those on a grid. All other numbers stay.
    A tiny change may be written as a larger one as long as the row costs hardly more. Like the answer itself, the rounded row
    reaches the leaf, keeps the margin and obeys the constraints.
    """
    exact, q = found.row, problem.question
    reach = CLOSE * np.maximum(np.abs(exact - problem.source), TINY * np.abs(problem.source)) * (exact != problem.source)
    most = found.cost + DEARER * abs(float(problem.cost_of(exact[None])[0]))
    partners = _partners(q, places)

    def valid(row: Array) -> bool:
        if problem.tree.leaf_of(row) != found.leaf or (np.abs(row - exact) > reach).any():
            return False
        cost = float(problem.cost_of(row[None])[0] + q.nodes["below"][found.leaf])
        return cost <= most and obeys(problem, found.leaf, row)

    def near(d: int, *centres: float) -> Iterator[float]:
        return (value for value in _decimals(reach[d], centres) if abs(value - exact[d]) <= reach[d])

    def with_number(row: Array, d: int, value: float) -> Array:
        row = row.copy()
        row[d] = value
        for partner, (columns, weights, bias) in partners.items():
            if d != partner and d in columns:
                row[partner] -= (weights @ row[columns] + bias) / weights[columns == partner][0]
        return row

    if not places or not valid(exact):
        return exact
    row = exact.copy()
    for d in places:
        row[d] = next(near(d, float(exact[d])))
    if valid(row):
        return row
    row = exact
    if problem.splits.oblique or len(q.bias) > len(q.nodes):
        # in a corner between several faces, rounding any single number leaves the leaf; further inside it rarely does
        inside = _inside(problem, found, places, reach)
        row = inside if valid(inside) else row
    for d in sorted(places, key=partners.__contains__):
        trials = (with_number(row, d, value) for value in near(d, float(exact[d]), float(row[d])))
        row = next(filter(valid, trials), row)  # always valid: the numbers so far have few digits, the others all of theirs
    return row


def plain(value: Any) -> str:
    """Return a number in full, without an exponent from 1e-4 to 1e15; whole numbers without a point.

    Examples
    --------
    >>> plain(12500.0), plain(0.1), plain(1e-7), plain(-0.0)
    ('12500', '0.1', '1e-07', '0')
    """
    return repr(float(value) + 0.0).removesuffix(".0")


def round_down(value: float, digits: int) -> float:
    """Return the largest decimal with this number of digits that is not above ``value``."""
    exact = Decimal(value)
    return float(exact.quantize(_unit(exact.adjusted() - digits + 1), ROUND_FLOOR, _DECIMAL))


def _decimals(reach: float, centres: tuple[float, ...]) -> Iterator[float]:
    """Yield decimals on either side of each centre, the nearer one first, in ever finer steps, and last the centres.

    The steps begin at the first digit of the centres or of ``reach``, the larger one; so near 0 the first decimal is 0.
    """
    exact = [Decimal(centre) for centre in centres]
    first = max(decimal.adjusted() for decimal in [Decimal(reach), *exact])
    for power in range(first, first - 17, -1):
        for centre, decimal in zip(centres, exact, strict=True):
            sides = [float(decimal.quantize(_unit(power), way, _DECIMAL)) for way in (ROUND_FLOOR, ROUND_CEILING)]
            yield from sorted(sides, key=lambda side: abs(side - centre))
    yield from centres


def _unit(power: int) -> Decimal:
    return Decimal((0, (1,), power))


def _partners(q: Posed, places: list[int]) -> dict[int, tuple[Array, Array, float]]:
    """Return, for each equality over several features, one number that makes up for the rounding of the others."""
    out: dict[int, tuple[Array, Array, float]] = {}
    for i in range(len(q.nodes), len(q.nodes) + q.equal):
        inside = slice(q.indptr[i], q.indptr[i + 1])
        free = [d for d in places if d in q.indices[inside] and d not in out]
        if free:
            out[free[-1]] = (q.indices[inside], q.data[inside], float(q.bias[i]))
    return out


def _inside(problem: Problem, found: Answer, places: list[int], reach: Array) -> Array:
    """Return a row near the answer, as deep inside its leaf, box and constraints as half of ``reach`` allows.

    Let z be the move of each number in units of its reach, and G the faces in those units:

        max t   over |z| <= 1/2, t   such that   slack + G z >= t |G|_1

    Then every number may be off by t of its reach, all at once. Numbers of an equality do not move.
    """
    q, tree, exact = problem.question, problem.tree, found.row
    faces, node = [], found.leaf
    while node > 0:
        parent = int(np.flatnonzero((tree.left == node) | (tree.right == node))[0])
        faces.append((parent, 1.0 if tree.right[parent] == node else -1.0, q.margins[parent]))
        node = parent
    first = len(q.nodes) + q.equal
    faces += [(i, 1.0, 0.0) for i in range(first, len(q.bias))]
    place = {d: k for k, d in enumerate(places)}
    G, slack = np.zeros((len(faces), len(places))), np.empty(len(faces))
    for t, (i, side, margin) in enumerate(faces):
        columns = q.indices[q.indptr[i] : q.indptr[i + 1]]
        weights = side * q.data[q.indptr[i] : q.indptr[i + 1]]
        slack[t] = weights @ exact[columns] + side * q.bias[i] - margin
        for d, w in zip(columns.tolist(), weights.tolist(), strict=True):
            if d in place:
                G[t, place[d]] = w * reach[d]
    size = np.abs(G).sum(axis=1)
    G, slack = G[size > 0] / size[size > 0, None], np.minimum(slack[size > 0] / size[size > 0], 2.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # the reach of a tiny change underflows to 0
        low, high = (np.nan_to_num((side - exact)[places] / reach[places]) for side in (q.features.lower, q.features.upper))
    tied = np.isin(places, q.indices[q.indptr[len(q.nodes)] : q.indptr[first]])
    low, high = np.where(tied, 0.0, np.clip(low, -0.5, 0.0)), np.where(tied, 0.0, np.clip(high, 0.0, 0.5))
    row = exact.copy()
    row[places] += _deepest(G, np.maximum(slack, 0.0), low, high) * reach[places]
    return row


def _deepest(G: Array, slack: Array, low: Array, high: Array) -> Array:
    """Solve the program above (rows of G have |G|_1 = 1, slack >= 0) by the primal simplex method from z = 0, t = 0.

    With s for the remaining slack of each face, G z - t - s = -slack. Every iterate is feasible, so the last one is returned if
    the steps run out; a number that does not help stays at 0.
    """
    m, n = G.shape
    A = np.hstack([G, -np.ones((m, 1)), -np.eye(m)])
    lower = np.concatenate([low, np.zeros(1 + m)])
    upper = np.concatenate([high, [1.0], np.full(m, np.inf)])
    x = np.concatenate([np.zeros(n + 1), slack])
    gain = np.zeros(len(x))
    gain[n] = 1.0
    basis = np.arange(n + 1, len(x))
    for step in range(4 * (m + n)):
        B = A[:, basis]
        rate = gain - np.linalg.solve(B.T, gain[basis]) @ A  # how fast t grows with each variable outside the basis
        rate[basis] = 0.0
        worth = np.where(np.where(rate > 0, upper - x, x - lower) > 0, np.abs(rate), 0.0)
        useful = np.flatnonzero(worth > _FLAT)
        if not len(useful):
            break
        j = int(worth.argmax() if step < 2 * (m + n) else useful[0])  # in the end Bland's rule, which cannot cycle
        move = np.zeros(len(x))
        move[j] = np.sign(rate[j])
        move[basis] = -move[j] * np.linalg.solve(B, A[:, j])
        end = np.where(move > 0, upper, lower)
        room = np.full(len(x), np.inf)
        np.divide(end - x, move, out=room, where=np.abs(move) > _FLAT)
        k = int(room.argmin())
        x = np.clip(x + room[k] * move, lower, upper)
        x[k] = end[k]
        basis[basis == k] = j
    return x[:n]
