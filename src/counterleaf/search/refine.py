"""The refinement of a numerically uncertain search: leaves in rational numbers, and the rows next to their optima.

Between nearly parallel splits the optimum of a leaf depends on digits that floating point does not have, and a row that the
model sends there may differ from it only in its last digits. This module looks for both, leaf by leaf.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from counterleaf.exact import dot, fractions
from counterleaf.proof.bound import Optimum, Region
from counterleaf.proof.certificate import Certificate, Findings, Kind, Status
from counterleaf.proof.problem import Face
from counterleaf.proof.walk import Fork, Part, Place, Walk, obeys
from counterleaf.question.arrays import SeparableCost
from counterleaf.types import Array

_TRIES = 2000  # rows around an optimum, for each distance
_DIGITS = (1, 4, 32, 1000, 20000)  # the most units in the last place by which each number is moved
_TAKEN = 50  # the number of rows that reach the leaf and are checked, cheapest first
_OFF = 1e-9  # of the terms of a face: the distance that a feature without cost keeps from it
_FEW = 6  # the largest number of faces, and of features in them, of a leaf that is solved by trying all combinations


@np.errstate(all="ignore")
def refine(found: Certificate, count: int | None, keep: bool = False) -> Certificate:
    """Improve the rows and multipliers of numerically uncertain leaves; the caller has to check the new claims.

    With ``keep``, rows that were found stay: they keep a distance from faces that rounding may move.
    """
    problem, parts = found.problem, dict(found.parts())
    trace = None if found.findings.answer is None else found.findings.answer.trace()
    left_open = set() if trace is None else set(trace["node"][trace["kind"] == Kind.UNSETTLED].tolist())
    rows = {answer.leaf: (answer.cost, answer.row) for answer in found.answers}
    for place in Walk(problem, parts).places():
        leaf = place.part.node
        if problem.tree.left[leaf] >= 0 or place.is_empty(wide=False):
            continue
        cost = rows[leaf][0] if leaf in rows else math.inf
        wide = cost - place.bound(cost - 1e-9 * abs(cost)) > 1e-9 * abs(cost)
        if not (place.part.empty or leaf in left_open or leaf in rows or wide):
            continue
        better = _improved(place, parts)
        if better is not None and better[0] < cost and not (keep and leaf in rows):
            rows[leaf] = better
    return _claim(found, parts, rows, count)


@np.errstate(all="ignore")
def runaway(found: Certificate) -> int:
    """A variable whose cost decreases without bound in a leaf that has a row; -1 if there is none."""
    problem, q = found.problem, found.problem.question
    cost, leaves = q.features.cost, set(found.findings.leaves.tolist())
    alone = np.ones(len(problem.source), bool) if q.matrix is None else np.diff(q.matrix.indptr) == 0
    for place in Walk(problem, found.parts()).places():
        region = place.region
        up = alone & (cost.curve_up == 0) & (cost.slope_up < 0) & (region.upper == np.inf)
        down = alone & (cost.curve_down == 0) & (cost.slope_down > 0) & (region.lower == -np.inf)
        for d in np.flatnonzero(up | down).tolist() if place.part.node in leaves else ():
            ways = [float(f.weights[f.columns == d].sum()) * (1 if up[d] else -1) for f in region.faces]
            if all(way == 0 or (way > 0 and not f.equal) for way, f in zip(ways, region.faces, strict=True)):
                return d
    return -1


def _improved(place: Place, parts: dict[int, Part | Fork]) -> tuple[float, Array] | None:
    """Find a row of a leaf with its cost, and put multipliers that prove the leaf's optimum into ``parts``."""
    part, region = place.part, place.region
    with np.errstate(all="ignore"):
        optimum = None if part.empty else region.optimum(part.lam, part.tangent)
    if optimum is None or not _is_inside(region, optimum[1]):
        optimum = _solved(region) or optimum
    if optimum is None:
        return None
    if parts.get(part.node) is part and place.problem.question.matrix is None:
        parts[part.node] = replace(part, lam=np.array([float(a) for a in optimum[0]]), empty=False)
    rows = [_row_near(place, change) for change in (_with_free(place, optimum[1]), *_next_door(region))]
    return min((row for row in rows if row is not None), key=lambda row: row[0], default=None)


def _with_free(place: Place, change: Array) -> Array:
    """Changes in which the variables that cost nothing also satisfy the faces that have no multiplier.

    The conditions of optimality leave such a variable where it is. It is moved just far enough, with the others fixed.
    """
    region, problem, cost = place.region, place.problem, place.problem.question.features.cost
    free = (cost.curve_up == 0) & (cost.curve_down == 0) & (cost.slope_up == 0) & (cost.slope_down == 0)
    free &= (region.lower < region.upper) & (True if problem.table is None else problem.table.is_plain)
    if place.part.empty or problem.question.matrix is not None or not free.any():
        return change
    for multiplier, face in zip(place.part.lam.tolist(), region.faces, strict=True):
        if multiplier or face.equal:
            free[face.columns] = False
    out, weights = change.copy(), [region.weight(t) for t in range(len(region.faces))]
    for d in sorted({d for face in region.faces for d in face.columns[free[face.columns]].tolist()}):
        low: Fraction | float = -math.inf
        high: Fraction | float = math.inf
        for face, weight in zip(region.faces, weights, strict=True):
            if weight.get(d):
                total = sum((w * out[e] for e, w in weight.items()), Fraction()) - problem.exact_miss(face)
                terms = float(np.abs(face.weights * problem.source[face.columns]).sum()) + sum(map(abs, face.constants))
                step = (Fraction(_OFF * terms if math.isfinite(terms) else 0.0) - total) / weight[d]
                low, high = (max(low, step), high) if weight[d] > 0 else (low, min(high, step))
        if low <= high:
            out[d] += Fraction(min(max(Fraction(), low), high))
    return out


def _next_door(region: Region) -> Iterator[Array]:
    """The optima of a leaf without one of its faces: rounding inside the model may send rows there to the leaf."""
    for t in range(len(region.faces)):
        reduced = replace(region, faces=[*region.faces[:t], *region.faces[t + 1 :]])
        nothing = np.full(len(region.lower), Fraction())
        found = None if _is_inside(reduced, nothing) else _solved(reduced)
        if found is not None:
            yield found[1]


def _claim(
    found: Certificate, parts: dict[int, Part | Fork], rows: dict[int, tuple[float, Array]], count: int | None
) -> Certificate:
    """A certificate with the rows in order of cost and the bounds that the parts prove."""
    problem, least = found.problem, math.inf
    bounds: dict[int, float] = {}
    for place in Walk(problem, parts).places():
        node = place.part.node
        enough = rows[node][0] if node in rows else max((cost for cost, _ in rows.values()), default=0.0)
        bound = math.inf if place.is_empty(wide=False) else place.bound(enough)
        least, bounds[node] = min(least, bound), min(bounds.get(node, math.inf), bound)
    order = sorted(rows, key=lambda leaf: (rows[leaf][0], leaf))[:count]
    costs = np.array([rows[leaf][0] for leaf in order])
    proved = np.minimum(np.array([bounds.get(leaf, least) for leaf in order]), costs)
    points = np.array([rows[leaf][1] for leaf in order]).reshape(-1, len(problem.source))
    status = Status.OPTIMAL if order else Status.INFEASIBLE
    least = min([least, *proved.tolist()])
    claims = Findings(status, np.array(order, np.int64), costs, proved, points, least, found.findings.answer)
    return replace(found, findings=claims, stored_parts=parts)


def _is_inside(region: Region, change: Array) -> bool:
    """Whether changes lie in the box and satisfy every face, in rational numbers."""
    x = fractions(region.problem.source) + change
    if not ((region.lower <= x) & (x <= region.upper)).all():
        return False
    for t, face in enumerate(region.faces):
        total = sum((w * change[d] for d, w in region.weight(t).items()), Fraction()) - region.problem.exact_miss(face)
        tolerance = Fraction(face.tolerance)
        if not (-tolerance <= total and (not face.equal or total <= tolerance)):
            return False
    return True


def _solved(region: Region) -> Optimum | None:
    """The optimum of a leaf with few faces and features, found by trying which faces are tight and which features move."""
    cost, low, high = region.problem.question.features.cost, region.lower, region.upper
    free = sorted({d for face in region.faces for d in face.columns.tolist() if low[d] < high[d]})
    if not _is_simple(region, free):
        return None
    flat, nothing = not (cost.curve_up[free].any() or cost.curve_down[free].any()), np.full(len(low), Fraction())
    best: tuple[Fraction, Optimum] | None = None
    for ups, priced in _guesses(len(region.faces), free, flat):
        found = region.equations(ups, list(priced), nothing)
        if found is None or not _is_sound(region, found, ups, flat):
            continue
        paid = _exact_cost(cost, found[1])
        if best is None or paid < best[0]:
            best = paid, found
    return None if best is None else best[1]


def _is_simple(region: Region, free: list[int]) -> bool:
    """Whether a leaf is small, and its cost flat, or curved without slopes, with the least cost at the source."""
    problem, source = region.problem, region.problem.source
    cost = problem.question.features.cost
    if problem.table is not None or problem.question.matrix is not None:
        return False
    if not (0 < len(region.faces) <= _FEW and 0 < len(free) <= _FEW):
        return False
    here = cost.at(np.array(free))
    curved = bool((here.curve_up > 0).all() and (here.curve_down > 0).all()) and not (
        here.slope_up.any() or here.slope_down.any()
    )
    flat = not (here.curve_up.any() or here.curve_down.any())
    still = (region.lower <= source) & (source <= region.upper) & (cost.slope_up >= 0) & (cost.slope_down <= 0)
    return (curved or flat) and bool(still.all())


def _guesses(faces: int, free: list[int], flat: bool) -> Iterator[tuple[dict[int, bool], tuple[int, ...]]]:
    """The combinations to try: the variables that move, each with True if it increases, and the faces that are tight.

    Under a flat cost as many variables move as faces are tight. Under a curved one all of them do, in either direction.
    """
    for size in range(1, faces + 1):
        for priced in itertools.combinations(range(faces), size):
            for moved in itertools.combinations(free, size) if flat else [tuple(free)]:
                for ups in itertools.product((True, False), repeat=len(moved)) if flat else [(True,) * len(moved)]:
                    yield dict(zip(moved, ups, strict=True)), priced


def _exact_cost(cost: SeparableCost, change: Array) -> Fraction:
    """The separable cost of changes in rational numbers."""
    total = Fraction()
    for k, d in enumerate(change):
        curve, slope = (cost.curve_up, cost.slope_up) if d >= 0 else (cost.curve_down, cost.slope_down)
        total += Fraction(float(curve[k])) * d * d + Fraction(float(slope[k])) * d
    return total


def _is_sound(region: Region, found: Optimum, ups: dict[int, bool], flat: bool) -> bool:
    """Whether a solution of the equations lies in the region, with each variable moving in the direction that was assumed."""
    y, change = found
    if any(a < 0 and not face.equal for a, face in zip(y, region.faces, strict=True)):
        return False
    if flat and any((change[d] < 0) if up else (change[d] > 0) for d, up in ups.items()):
        return False
    return _is_inside(region, change)


def _row_near(place: Place, change: Array) -> tuple[float, Array] | None:
    """The cheapest row next to the optimum of a leaf that the model sends to the leaf, with its cost."""
    problem, part, region = place.problem, place.part, place.region
    source = problem.source
    centre = np.array([float(x) for x in fractions(source) + change])
    if not np.isfinite(centre).all():
        return None
    centre = np.clip(np.where(change == 0, source, centre), region.lower, region.upper)
    inside = (region.lower < centre) & (centre < region.upper)
    if problem.table is not None:
        inside &= problem.table.is_plain
    named = np.isin(np.arange(len(source)), np.concatenate([face.columns for face in region.faces]))
    for moves in (np.flatnonzero(inside & (centre != source)), np.flatnonzero(inside & named)):
        row = _try_around(place, centre, moves)
        if row is not None:
            cost = float(problem.cost_of(row[None])[0]) + float(problem.question.nodes["below"][part.node])
            return cost, row
    return None


def _try_around(place: Place, centre: Array, moves: Array) -> Array | None:
    """The cheapest of the rows that differ from the centre only in their last digits.

    The numbers are moved at random, and then one of them back onto a face, which is how to hit the gap between two faces that
    nearly coincide.
    """
    problem, region, leaf = place.problem, place.region, place.part.node
    random = np.random.default_rng(0)
    faces: list[Face | None] = [f for f in region.faces if not f.size and np.isin(moves, f.columns).any()]
    for digits, face in itertools.product(_DIGITS, faces or [None]):
        rows = np.repeat(centre[None], _TRIES, axis=0)
        if problem.question.narrow:
            rows[:, moves] = rows[:, moves].astype(np.float32)
            unit = np.spacing(np.abs(rows[:, moves]).astype(np.float32)).astype(float)
        else:
            unit = np.spacing(np.abs(rows[:, moves]))
        rows[:, moves] += random.integers(-digits, digits + 1, (_TRIES, len(moves))) * unit
        rows[0] = centre
        if face is not None:
            at = np.flatnonzero(np.isin(face.columns, moves))
            pivot = at[np.abs(face.weights[at] * centre[face.columns[at]]).argmax()]
            d, w = int(face.columns[pivot]), float(face.weights[pivot])
            miss = dot(face.weights, centre[face.columns], *face.constants)
            off = (rows[:, face.columns] - centre[face.columns]) @ face.weights - (rows[:, d] - centre[d]) * w
            last = np.spacing(np.float32(abs(centre[d])) if problem.question.narrow else abs(centre[d]))
            rows[1:, d] = (centre[d] - (off + miss) / w + random.integers(-2, 3, _TRIES) * float(last))[1:]
            if problem.question.narrow:
                rows[:, d] = rows[:, d].astype(np.float32)
        rows = np.clip(rows, region.lower, region.upper)
        rows = rows[problem.tree.apply(rows) == leaf]
        for k in np.argsort(problem.cost_of(rows), kind="stable")[:_TAKEN].tolist():
            if obeys(problem, leaf, rows[k], tight=True):
                return np.asarray(rows[k])
    return None
