"""Axis-aligned trees, many rows: depth first with undo, each feature on its own (theorems 3.2 and 3.3).

A region is a product of intervals, grids and sets of values, and the cheapest row in it takes the cheapest value of every
feature. A split moves one feature at most, so a bound costs O(1); the cheaper child is followed first, and whatever costs more
than the best leaf so far is passed over. Here a row has one number per feature: its value, or the place of its value.
"""

import math
from typing import NamedTuple

import numpy as np

from counterleaf.kernels.compiler import kernel, pure
from counterleaf.kernels.memory import FOUND, NONE, UNASKED
from counterleaf.kernels.separable import charge
from counterleaf.kernels.table import above, below

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


class BoxNodes(NamedTuple):
    """The N nodes of the tree."""

    left: np.ndarray  # (N,) the child of the low side; -1 at a leaf
    right: np.ndarray
    feature: np.ndarray
    sides: np.ndarray  # of a feature with finitely many values: where in ``Fields.sides`` its values begin
    cut_left: np.ndarray  # of a number: the last one sent left
    cut_right: np.ndarray  # the first one sent right


@pure
def _price(size, prices, places, moves, d, own, value):
    """What it costs to change feature d from ``own`` to ``value``."""
    if size[d] == 0:
        return charge(value - own, prices[0, d], prices[1, d], prices[2, d], prices[3, d])
    return moves[places[d] + int(own) * size[d] + int(value)]


@pure
def _choice(fields, nodes, trail, depth, d, own, upper, line):
    """The cheapest value of a feature that goes down every split of the trail; of equals its own, or the first. -1: none."""
    size, start, place = fields.size[d], fields.start[d], fields.places[d]
    moves, sides, feature, where = fields.moves, fields.sides, nodes.feature, nodes.sides
    best, least = -1, math.inf
    for v in range(size):
        price = moves[place + own * size + v]
        if upper[line, start + v] == 0.0 or price > least or (price == least and v != own):
            continue
        goes = True
        for t in range(depth):
            node = trail[t] >> 1
            goes = goes and (feature[node] != d or sides[where[node] + v] == (trail[t] & 1))
        if goes:
            best, least = v, price
    return best


@pure
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
def nearest_boxes(nodes, labels, prices, least, rows, lower, upper, limit, outcome, leaf, cost, after):
    """As ``cheapest_boxes``, faster, for numbers without grids, one box and no margin; a row outside of that box is UNASKED.

    If ``least`` has several lines, a row's is told by the label of the leaf it is in.

    No cut lies outside its node's box (``Boxes`` sees to that), so that only moves across a cut must be remembered: down the
    side on which a feature is, nothing changes.
    """
    left, right, feature, cut_left, cut_right = nodes.left, nodes.right, nodes.feature, nodes.cut_left, nodes.cut_right
    width, deep = rows.shape[1], left.shape[0] // 2 + 1
    value, paid, moved = np.empty(width), np.zeros(width), np.empty(deep, np.int64)
    undo, undo_at = np.empty(deep, np.int64), np.empty((deep, 3))
    later, later_at = np.empty((deep, 3), np.int64), np.empty((deep, 3))
    for k in range(rows.shape[0]):
        kind, inside = 0, True
        for d in range(width):
            own = rows[k, d]
            value[d] = own
            after[k, d] = own
            inside = inside & (abs(own) <= limit) & (lower[0, d] <= own) & (own <= upper[0, d])
        outcome[k], leaf[k], cost[k] = NONE if inside else UNASKED, -1, math.inf
        node = 0
        while least.shape[0] > 1 and inside and left[node] >= 0:
            node = left[node] if value[feature[node]] <= cut_left[node] else right[node]
        if least.shape[0] > 1:
            kind = labels[node]
        if not inside or least[kind, 0] == math.inf:
            continue
        best_cost, best_leaf, total = math.inf, -1, 0.0
        node, crossed, waiting = 0, 0, 0
        while True:
            while node >= 0 and left[node] >= 0:
                d = feature[node]
                to_left = value[d] <= cut_left[node]
                near, far = (left[node], right[node]) if to_left else (right[node], left[node])
                at = cut_right[node] if to_left else cut_left[node]
                if least[kind, far] < math.inf and lower[0, d] <= at <= upper[0, d]:
                    price = charge(at - rows[k, d], prices[0, d], prices[1, d], prices[2, d], prices[3, d])
                    bound = total - paid[d] + price + least[kind, far]
                    if bound - _TIE * abs(bound) <= best_cost:
                        later[waiting, 0], later[waiting, 1], later[waiting, 2] = far, d, crossed
                        later_at[waiting, 0], later_at[waiting, 1], later_at[waiting, 2] = bound, at, price
                        waiting += 1
                node = near if least[kind, near] < math.inf else -1
            if node >= 0:
                exact = _sum_in_order(paid, moved, 0, undo, crossed) + least[kind, node]
                if exact < best_cost or (exact == best_cost and node < best_leaf):
                    best_cost, best_leaf = exact, node
                    for d in range(width):
                        after[k, d] = value[d]
            node = -1
            while node < 0 and waiting > 0:
                waiting -= 1
                if later_at[waiting, 0] - _TIE * abs(later_at[waiting, 0]) <= best_cost:
                    while crossed > later[waiting, 2]:
                        crossed -= 1
                        d = undo[crossed]
                        value[d], paid[d], total = undo_at[crossed, 0], undo_at[crossed, 1], undo_at[crossed, 2]
                    node, d = later[waiting, 0], later[waiting, 1]
                    undo[crossed] = d
                    undo_at[crossed, 0], undo_at[crossed, 1], undo_at[crossed, 2] = value[d], paid[d], total
                    crossed += 1
                    total += later_at[waiting, 2] - paid[d]
                    value[d], paid[d] = later_at[waiting, 1], later_at[waiting, 2]
            if node < 0:
                break
        while crossed > 0:
            crossed -= 1
            paid[undo[crossed]] = 0.0
        if best_leaf >= 0:
            outcome[k], leaf[k], cost[k] = FOUND, best_leaf, best_cost


@kernel
def cheapest_boxes(fields, nodes, least, kinds, rows, lower, upper, limit, outcome, leaf, cost, after):
    """For each row the cheapest target leaf (of equals the first) and the row's value of every feature there.

    ``least`` (K, nodes) is the least class cost below a node, one line per kind of target; ``lower`` and ``upper`` hold one
    line for all rows or one for each. The outcome is FOUND, NONE, or UNASKED where the row holds NaN or a number beyond
    ``limit``.
    """
    start, size, step, prices = fields.start, fields.size, fields.step, fields.prices
    places, moves, sides = fields.places, fields.moves, fields.sides
    left, right, feature, where = nodes.left, nodes.right, nodes.feature, nodes.sides
    cut_left, cut_right = nodes.cut_left, nodes.cut_right
    width, deep = rows.shape[1], left.shape[0] // 2 + 1
    value, low, high, paid = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    trail, undo, old = np.empty(deep, np.int64), np.empty(deep, np.int64), np.empty((deep, 5))
    later, later_at = np.empty((deep, 2), np.int64), np.empty((deep, 4))
    first_moved, moved = np.empty(width, np.int64), np.empty(width + deep, np.int64)
    for k in range(rows.shape[0]):
        line, kind = (k if lower.shape[0] > 1 else 0), kinds[k]
        fits, room, count, total = True, True, 0, 0.0
        for d in range(width):
            fits = fits & (abs(rows[k, d]) <= limit)
        outcome[k], leaf[k], cost[k] = UNASKED if not fits else NONE, -1, math.inf
        if not fits or least[kind, 0] == math.inf:
            continue
        for d in range(width):
            own = rows[k, d]
            v = start[d]
            if size[d] > 0:
                place = int(own)
                if upper[line, v + place] == 0.0:
                    place = _choice(fields, nodes, trail, 0, d, place, upper, line)
                value[d], low[d], high[d] = float(place), 0.0, float(min(place, 0))
            else:
                a, b = lower[line, v], upper[line, v]
                if step[0, d] > 0.0:
                    a, b = above(step[0, d], step[1, d], own, a), below(step[0, d], step[1, d], own, b)
                low[d], high[d] = a, b
                value[d] = min(max(own, a), b)
                room = room and a < math.inf and b > -math.inf
            room = room and low[d] <= high[d]
            paid[d] = 0.0
            if room and value[d] != own:
                paid[d] = _price(size, prices, places, moves, d, own, value[d])
                first_moved[count] = d
                count += 1
                total += paid[d]
        if not room:
            continue
        node, depth, waiting = 0, 0, 0
        best_cost, best_leaf = math.inf, -1
        while True:
            turn, bound, to, to_low, to_high = -1, math.inf, 0.0, 0.0, 0.0
            d = feature[node]
            if left[node] < 0:
                for a in range(count):
                    moved[a] = first_moved[a]
                exact = _sum_in_order(paid, moved, count, undo, depth) + least[kind, node]
                if exact < best_cost or (exact == best_cost and node < best_leaf):
                    best_cost, best_leaf = exact, node
                    for e in range(width):
                        after[k, e] = value[e]
            else:
                own = rows[k, d]
                for side in range(2):
                    child = right[node] if side == 1 else left[node]
                    if least[kind, child] == math.inf:
                        continue
                    at, a, b = value[d], low[d], high[d]
                    if size[d] > 0:
                        if sides[where[node] + int(at)] != side:
                            trail[depth] = 2 * node + side
                            at = float(_choice(fields, nodes, trail, depth + 1, d, int(own), upper, line))
                            if at < 0.0:
                                continue
                    else:
                        if side == 1:
                            cut = cut_right[node]
                            if step[0, d] > 0.0:
                                cut = above(step[0, d], step[1, d], own, cut)
                            a = max(a, cut)
                            at = max(at, a)
                        else:
                            cut = cut_left[node]
                            if step[0, d] > 0.0:
                                cut = below(step[0, d], step[1, d], own, cut)
                            b = min(b, cut)
                            at = min(at, b)
                        if a > b or a == math.inf or b == -math.inf:
                            continue
                    bound_at = total + least[kind, child]
                    if at != value[d]:
                        bound_at += _price(size, prices, places, moves, d, own, at) - paid[d]
                    if bound_at - _TIE * abs(bound_at) > best_cost:
                        continue
                    if turn >= 0:  # the dearer of the two waits
                        if bound_at < bound:
                            later[waiting, 0], later_at[waiting, 0] = turn, bound
                            later_at[waiting, 1], later_at[waiting, 2], later_at[waiting, 3] = to, to_low, to_high
                        else:
                            later[waiting, 0], later_at[waiting, 0] = 2 * node + side, bound_at
                            later_at[waiting, 1], later_at[waiting, 2], later_at[waiting, 3] = at, a, b
                        later[waiting, 1] = depth
                        waiting += 1
                    if turn < 0 or bound_at < bound:
                        turn, bound, to, to_low, to_high = 2 * node + side, bound_at, at, a, b
            while turn < 0 and waiting > 0:
                waiting -= 1
                if later_at[waiting, 0] - _TIE * abs(later_at[waiting, 0]) <= best_cost:
                    turn, to = later[waiting, 0], later_at[waiting, 1]
                    to_low, to_high = later_at[waiting, 2], later_at[waiting, 3]
                    while depth > later[waiting, 1]:
                        depth -= 1
                        d, total = undo[depth], old[depth, 4]
                        value[d], low[d], high[d], paid[d] = old[depth, 0], old[depth, 1], old[depth, 2], old[depth, 3]
            if turn < 0:
                break
            node = turn >> 1
            d = feature[node]
            trail[depth], undo[depth] = turn, d
            old[depth, 0], old[depth, 1], old[depth, 2], old[depth, 3] = value[d], low[d], high[d], paid[d]
            old[depth, 4] = total
            depth += 1
            low[d], high[d] = to_low, to_high
            if to != value[d]:
                price = _price(size, prices, places, moves, d, rows[k, d], to)
                total += price - paid[d]
                value[d], paid[d] = to, price
            node = right[node] if turn & 1 == 1 else left[node]
        if best_leaf >= 0:
            outcome[k], leaf[k], cost[k] = FOUND, best_leaf, best_cost
