"""Axis-aligned trees, many rows: depth first with undo, each feature on its own (theorems 3.2 and 3.3).

A region is a product of intervals, grids and sets of values, and the cheapest row in it takes the cheapest value of every
feature. A split moves one feature at most, so a bound costs O(1); the cheaper child is followed first, and whatever costs more
than the best leaf so far is passed over. Here a row has one number per feature: its value, or the place of its value.
"""

import math
from typing import NamedTuple

import numpy as np

from counterleaf.kernels.compiler import kernel
from counterleaf.kernels.memory import FOUND, NONE, UNASKED
from counterleaf.kernels.separable import charge
from counterleaf.kernels.table import above, below

BOX_NODE = np.dtype(
    [
        ("left", np.int64),  # the child of the low side; -1 at a leaf
        ("right", np.int64),
        ("feature", np.int64),
        ("sides", np.int64),  # of a feature with finitely many values: where in ``Fields.sides`` its values begin
        ("cut_left", np.float64),  # of a number: the last one sent left
        ("cut_right", np.float64),  # the first one sent right
    ]
)

_TIE = 1e-12  # bounds are sums in another order than costs: a leaf is passed over only if it is dearer by more than this


class Fields(NamedTuple):
    """F features as the search sees them."""

    start: np.ndarray  # (F,) the first variable
    size: np.ndarray  # (F,) how many values, 0 for a number
    step: np.ndarray  # (2, F) numerator and denominator of a grid, 0 where any number will do
    prices: np.ndarray  # (4, F) of numbers: curve up, slope up, curve down, slope down
    places: np.ndarray  # (F,) where in ``moves`` a feature begins
    moves: np.ndarray  # what each change of value costs, from by to, one feature after another
    sides: np.ndarray  # for each split on such a feature and each value: 1 right, 0 left, 2 neither (a margin)


@kernel
def _price(fields, d, own, value):
    """What it costs to change feature d from ``own`` to ``value``."""
    if fields.size[d] == 0:
        p = fields.prices
        return charge(value - own, p[0, d], p[1, d], p[2, d], p[3, d])
    return fields.moves[fields.places[d] + int(own) * fields.size[d] + int(value)]


@kernel
def _choice(fields, nodes, trail, depth, d, own, upper):
    """The cheapest value of a feature that goes down every split of the trail; of equals its own, or the first. -1: none."""
    best, least = -1, math.inf
    for v in range(fields.size[d]):
        price = fields.moves[fields.places[d] + own * fields.size[d] + v]
        if upper[fields.start[d] + v] == 0.0 or price > least or (price == least and v != own):
            continue
        goes = True
        for t in range(depth):
            node = nodes[trail[t] >> 1]
            goes = goes and (node.feature != d or fields.sides[node.sides + v] == (trail[t] & 1))
        if goes:
            best, least = v, price
    return best


@kernel
def _enter(fields, d, own, lower, upper, widen, nodes, trail):
    """(value, lower, upper) of a feature at the root: in the user's box, on its grid, as near as can be."""
    v = fields.start[d]
    if fields.size[d] > 0:
        best = int(own) if upper[v + int(own)] > 0.0 else _choice(fields, nodes, trail, 0, d, int(own), upper)
        return float(best), 0.0, float(min(best, 0))
    low, high = lower[v], upper[v]
    if widen:
        low, high = min(low, own), max(high, own)
    low = above(fields.step[0, d], fields.step[1, d], own, low)
    high = below(fields.step[0, d], fields.step[1, d], own, high)
    if low == math.inf or high == -math.inf:
        return own, 1.0, 0.0
    return min(max(own, low), high), low, high


@kernel
def _turn(fields, nodes, trail, depth, d, own, value, low, high, upper):
    """(value, lower, upper) of feature d after the last split of the trail; lower > upper: nothing is left."""
    node, right = nodes[trail[depth - 1] >> 1], trail[depth - 1] & 1
    if fields.size[d] > 0:
        if fields.sides[node.sides + int(value)] == right:
            return value, low, high
        best = _choice(fields, nodes, trail, depth, d, int(own), upper)
        return float(best), 0.0, float(min(best, 0))
    if right == 1:
        low = max(low, above(fields.step[0, d], fields.step[1, d], own, node.cut_right))
        if low == math.inf:
            return value, 1.0, 0.0
        return max(value, low), low, high
    high = min(high, below(fields.step[0, d], fields.step[1, d], own, node.cut_left))
    if high == -math.inf:
        return value, 1.0, 0.0
    return min(value, high), low, high


@kernel
def _sum_in_order(paid, moved, count, undo, depth):
    """The price of all moves in the order of the features: of those moved at the root, and of those on the way."""
    size = count
    for t in range(depth):
        d = undo[t]
        if paid[d] != 0.0:
            at = size
            while at > 0 and moved[at - 1] > d:
                at -= 1
            if at > 0 and moved[at - 1] == d:
                continue
            for b in range(size, at, -1):
                moved[b] = moved[b - 1]
            moved[at] = d
            size += 1
    total = 0.0
    for a in range(size):
        total += paid[moved[a]]
    return total


@kernel
def cheapest_boxes(fields, nodes, least, kinds, rows, lower, upper, widen, limit, outcome, leaf, cost, after):
    """For each row the cheapest target leaf (of equals the first) and the row's value of every feature there.

    ``least`` (K, nodes) is the least class cost below a node, one line per kind of target; ``lower`` and ``upper`` hold one
    line for all rows or one for each. The outcome is FOUND, NONE, or UNASKED where the row holds NaN or a number beyond
    ``limit``.
    """
    width, deep = rows.shape[1], nodes.shape[0] // 2 + 1
    now, best_row = np.empty((4, width)), np.empty(width)
    value, low, high, paid = now[0], now[1], now[2], now[3]
    trail, undo, old = np.empty(deep, np.int64), np.empty(deep, np.int64), np.empty((deep, 5))
    later, later_at = np.empty((deep, 2), np.int64), np.empty((deep, 4))
    first_moved, moved = np.empty(width, np.int64), np.empty(width + deep, np.int64)
    for k in range(rows.shape[0]):
        line = k if lower.shape[0] > 1 else 0
        below_it, own = least[kinds[k]], rows[k]
        fits, room, count, total = True, True, 0, 0.0
        for d in range(width):
            fits = fits and abs(own[d]) <= limit
        outcome[k], leaf[k], cost[k] = UNASKED if not fits else NONE, -1, math.inf
        if not fits or below_it[0] == math.inf:
            continue
        for d in range(width):
            value[d], low[d], high[d] = _enter(fields, d, own[d], lower[line], upper[line], widen, nodes, trail)
            room = room and low[d] <= high[d]
            paid[d] = 0.0
            if room and value[d] != own[d]:
                paid[d] = _price(fields, d, own[d], value[d])
                first_moved[count] = d
                count += 1
                total += paid[d]
        if not room:
            continue
        node, depth, waiting = 0, 0, 0
        while node >= 0:
            here = nodes[node]
            step, bound, to, to_low, to_high = -1, math.inf, 0.0, 0.0, 0.0
            d = here.feature
            if here.left < 0:
                for a in range(count):
                    moved[a] = first_moved[a]
                exact = _sum_in_order(paid, moved, count, undo, depth) + below_it[node]
                if exact < cost[k] or (exact == cost[k] and node < leaf[k]):
                    cost[k], leaf[k] = exact, node
                    for e in range(width):
                        best_row[e] = value[e]
            else:
                for right in range(2):
                    child = here.right if right == 1 else here.left
                    if below_it[child] == math.inf:
                        continue
                    trail[depth] = 2 * node + right
                    at, a, b = _turn(fields, nodes, trail, depth + 1, d, own[d], value[d], low[d], high[d], upper[line])
                    if a > b:
                        continue
                    bound_at = total + below_it[child]
                    if at != value[d]:
                        bound_at += _price(fields, d, own[d], at) - paid[d]
                    if bound_at - _TIE * abs(bound_at) > cost[k]:
                        continue
                    if step >= 0:  # the dearer of the two waits
                        keep = bound_at < bound
                        later[waiting, 0], later[waiting, 1] = (step if keep else trail[depth]), depth
                        later_at[waiting, 0], later_at[waiting, 1] = (bound, to) if keep else (bound_at, at)
                        later_at[waiting, 2], later_at[waiting, 3] = (to_low, to_high) if keep else (a, b)
                        waiting += 1
                    if step < 0 or bound_at < bound:
                        step, bound, to, to_low, to_high = trail[depth], bound_at, at, a, b
            while step < 0 and waiting > 0:
                waiting -= 1
                if later_at[waiting, 0] - _TIE * abs(later_at[waiting, 0]) <= cost[k]:
                    step, to = later[waiting, 0], later_at[waiting, 1]
                    to_low, to_high = later_at[waiting, 2], later_at[waiting, 3]
                    while depth > later[waiting, 1]:
                        depth -= 1
                        d, total = undo[depth], old[depth, 4]
                        value[d], low[d], high[d], paid[d] = old[depth, 0], old[depth, 1], old[depth, 2], old[depth, 3]
            if step < 0:
                break
            here = nodes[step >> 1]
            d = here.feature
            trail[depth], undo[depth] = step, d
            old[depth, 0], old[depth, 1], old[depth, 2], old[depth, 3] = value[d], low[d], high[d], paid[d]
            old[depth, 4] = total
            depth += 1
            low[d], high[d] = to_low, to_high
            if to != value[d]:
                price = _price(fields, d, own[d], to)
                total += price - paid[d]
                value[d], paid[d] = to, price
            node = here.right if step & 1 == 1 else here.left
        if leaf[k] >= 0:
            outcome[k] = FOUND
            for d in range(width):
                after[k, d] = best_row[d]
