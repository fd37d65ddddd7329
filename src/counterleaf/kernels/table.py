"""What holds in the region of a state on a table: a box over the variables, kept as tight as groups and grids allow.

Of the 0/1 variables of a group exactly one is 1: upper = 0 rules a value out, lower = 1 chooses it. A number on a grid takes
the multiples of its step, or stays as it is. A state is parted from its sibling by a split of the tree or, at a leaf, by a
fork: a CUT (variable ``what`` at most, or at least, ``cut``), a COUNT (feature ``what`` stays, or is one of those that
change), a CLAUSE (the first, or the second, box of a clause). In each case the two sides hold every row of the state.
"""

import math

import numpy as np

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.memory import CLAUSE, COUNT, CUT, SPLIT


@pure
def above(over, under, own, value):
    """The least multiple of over / under, or the source's ``own`` number, at or above ``value``; any number if over is 0."""
    if over == 0.0 or abs(value) * under >= 9007199254740992.0 * over:  # 2^53: there floats are no finer than the grid
        return value
    k = math.ceil(value / over * under)
    while k * over / under < value:
        k += 1.0
    while (k - 1.0) * over / under >= value:
        k -= 1.0
    point = k * over / under
    return own if value <= own < point else point


@pure
def below(over, under, own, value):
    """The greatest such number at or below ``value``."""
    return 0.0 - above(over, under, -own, -value)  # not -0.0


@pure
def after(over, under, own, value):
    """The next such number above ``value``."""
    return above(over, under, own, np.nextafter(value, math.inf))


@pure
def _goes(right_closed, margin, f, side):
    """True if a row whose split sums to f goes to that side, with the margin."""
    right = f > 0.0 or (right_closed and f == 0.0)
    return right == (side > 0) and (margin == 0.0 or f * side >= margin)


@pure
def tidy(first, last, lower, upper):
    """Groups: a value chosen rules out the others, the last one left is chosen. False if some variable has no value left."""
    for g in range(first.shape[0]):
        left, only, chosen, choice = 0, -1, 0, -1
        for v in range(first[g], last[g]):
            if lower[v] > 0.0:
                chosen += 1
                choice = v
            if upper[v] > 0.0:
                left += 1
                only = v
        if chosen == 1:
            for v in range(first[g], last[g]):
                if v != choice:
                    upper[v] = 0.0
        elif left == 1:
            lower[only] = 1.0
        if left == 0 or chosen > 1:
            return False
    room = True
    for d in range(lower.shape[0]):
        room = room and lower[d] <= upper[d] and lower[d] < math.inf and upper[d] > -math.inf
    return room


@pure
def region_box(q, table, states, state, lower, upper):
    """The box of a state, from the question's own; False if it is empty."""
    source = q.features[0]
    for d in range(lower.shape[0]):
        lower[d], upper[d] = q.features[1, d], q.features[2, d]
    counted = 0
    at = state
    while states[at].parent >= 0:
        entry = states[at]
        how, what, side = entry.how, entry.what, entry.side
        at = entry.parent
        if how == SPLIT:
            node = states[at].node
            d = q.nodes[node].feature
            if d >= 0 and side > 0:
                cut = above(table.step[0, d], table.step[1, d], source[d], q.nodes[node].cut_right)
                lower[d] = max(lower[d], cut)
            elif d >= 0:
                cut = below(table.step[0, d], table.step[1, d], source[d], q.nodes[node].cut_left)
                upper[d] = min(upper[d], cut)
            elif d < -1:  # each value of the group goes to one side
                k, stop = q.indptr[node], q.indptr[node + 1]
                for v in range(table.first[-2 - d], table.last[-2 - d]):
                    f = q.bias[node]
                    if k < stop and q.indices[k] == v:
                        f += q.data[k]
                        k += 1
                    if not _goes(q.right_closed, q.margin, f, side):
                        upper[v] = 0.0
        elif how == CUT and side > 0:
            lower[what] = max(lower[what], entry.cut)
        elif how == CUT:
            upper[what] = min(upper[what], entry.cut)
        elif how == COUNT and side > 0:
            counted += 1
        elif how == COUNT:
            for v in range(lower.shape[0]):
                if table.feature[v] == what:
                    lower[v], upper[v] = max(lower[v], source[v]), min(upper[v], source[v])
        elif how == CLAUSE:
            for k in range(table.clauses[what, 0 if side < 0 else 1], table.clauses[what, 1 if side < 0 else 2]):
                v = table.where[k]
                lower[v], upper[v] = max(lower[v], table.lower[k]), min(upper[v], table.upper[k])
    if table.most >= 0 and counted >= table.most:  # whatever is not counted stays
        for v in range(lower.shape[0]):
            free = False
            at = state
            while states[at].parent >= 0 and not free:
                free = states[at].how == COUNT and states[at].side > 0 and states[at].what == table.feature[v]
                at = states[at].parent
            if not free:
                lower[v], upper[v] = max(lower[v], source[v]), min(upper[v], source[v])
    return tidy(table.first, table.last, lower, upper)


@pure
def within(table, i, side, x):
    """True if x lies in the first (-1) or second (1) box of clause i."""
    inside = True
    for k in range(table.clauses[i, 0 if side < 0 else 1], table.clauses[i, 1 if side < 0 else 2]):
        v = table.where[k]
        inside = inside and table.lower[k] <= x[v] <= table.upper[k]
    return inside


@pure
def cheapest(costs, own, start, stop, upper):
    """The cheapest value left in a group: of equals the source's own, else the first."""
    best = -1
    for v in range(start, stop):
        if upper[v] > 0.0 and (best < 0 or costs[v] < costs[best] or (costs[v] == costs[best] and v == own)):
            best = v
    return best
