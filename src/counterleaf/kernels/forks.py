"""Where a leaf whose point is no row of the table forks, and the row nearest to its point."""

import math

import numpy as np

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.memory import CLAUSE, COUNT, CUT
from counterleaf.kernels.table import above, after, below, within

_WHOLE = 1e-7  # a 0/1 variable or a step this close to a whole number is taken for it; the row's own cost is then what counts


@pure
def place(q, table, delta, lower, upper, x):
    """The point as a row: groups and grids on their nearest values, bounds and what is unchanged bit for bit."""
    source = q.features[0]
    for d in range(x.shape[0]):
        change = delta[d]
        x[d] = source[d] + change
        if change == 0.0:
            x[d] = source[d]
        elif change == lower[d] - source[d]:
            x[d] = lower[d]
        elif change == upper[d] - source[d]:
            x[d] = upper[d]
        over, under = table.step[0, d], table.step[1, d]
        if over > 0.0:
            low, high = below(over, under, source[d], x[d]), above(over, under, source[d], x[d])
            x[d] = low if x[d] - low <= high - x[d] else high
        x[d] = min(max(x[d], lower[d]), upper[d])
    for g in range(table.first.shape[0]):
        best = table.first[g]
        for v in range(table.first[g], table.last[g]):
            if source[v] + delta[v] > source[best] + delta[best]:
                best = v
        for v in range(table.first[g], table.last[g]):
            x[v] = 1.0 if v == best else 0.0


@pure
def fork(q, table, states, state, delta, lower, upper, x):
    """Where to fork a leaf whose point is no row of the table (x is the nearest that is): (how, what, low cut, high cut).

    how = 0 if the point is a row.
    """
    source = q.features[0]
    for i in range(table.clauses.shape[0]):
        if not within(table, i, -1, x) and not within(table, i, 1, x):
            return CLAUSE, i, 0.0, 0.0
    if table.most >= 0:
        changed, best, most = 0, -1, 0.0
        feature, moved = -1, 0.0
        for d in range(x.shape[0] + 1):
            here = table.feature[d] if d < x.shape[0] else -1
            if here != feature:
                if moved > 0.0:
                    changed += 1
                    decided = False
                    at = state
                    while states[at].parent >= 0 and not decided:
                        decided = states[at].how == COUNT and states[at].what == feature
                        at = states[at].parent
                    if not decided and moved > most:
                        best, most = feature, moved
                feature, moved = here, 0.0
            if d < x.shape[0]:
                if table.group[d] >= 0:
                    moved = max(moved, abs(delta[d]) if abs(delta[d]) > _WHOLE else 0.0)
                elif x[d] != source[d]:
                    moved = max(moved, abs(x[d] - source[d]) * q.features[7, d])
        if changed > table.most and best >= 0:
            return COUNT, best, 0.0, 0.0
    best, most = -1, _WHOLE
    for g in range(table.first.shape[0]):
        largest, top = -1.0, -1
        for v in range(table.first[g], table.last[g]):
            z = source[v] + delta[v]
            if z > largest and lower[v] < upper[v]:
                largest, top = z, v
        if top >= 0 and 1.0 - largest > most:
            best, most = top, 1.0 - largest
    if best >= 0:
        return CUT, best, 0.0, 1.0
    most = _WHOLE
    for d in range(x.shape[0]):
        if table.step[0, d] > 0.0 and lower[d] < upper[d]:
            value = source[d] + delta[d]
            off = abs(value - x[d]) * table.step[1, d] / table.step[0, d]
            if off > most:
                best, most = d, off
    if best >= 0:
        value = source[best] + delta[best]
        over, under = table.step[0, best], table.step[1, best]
        low = below(over, under, source[best], value)
        return CUT, best, low, after(over, under, source[best], low)
    return 0, 0, 0.0, 0.0


@pure
def any_choice(q, table, lower, upper, x):
    """A choice that is still open: (variable, low cut, high cut) such that x lies on one side, -1 if there is none."""
    source = q.features[0]
    for d in range(x.shape[0]):
        if lower[d] < upper[d]:
            if table.group[d] >= 0 and x[d] == 1.0:
                return d, 0.0, 1.0
            over, under = table.step[0, d], table.step[1, d]
            if over > 0.0:
                if x[d] > lower[d]:
                    return d, below(over, under, source[d], np.nextafter(x[d], -math.inf)), x[d]
                return d, x[d], after(over, under, source[d], x[d])
    return -1, 0.0, 0.0


@pure
def fixed(q, table, x, lower, upper, low, high):
    """The part of the box in which every choice is as in the row x; clauses and counts that x keeps stay kept."""
    for d in range(x.shape[0]):
        low[d], high[d] = lower[d], upper[d]
        if table.group[d] >= 0 or table.step[0, d] > 0.0 or (table.most >= 0 and x[d] == q.features[0, d]):
            low[d], high[d] = x[d], x[d]
    for i in range(table.clauses.shape[0]):
        side = 0 if within(table, i, -1, x) else 1
        for k in range(table.clauses[i, side], table.clauses[i, side + 1]):
            v = table.where[k]
            low[v], high[v] = max(low[v], table.lower[k]), min(high[v], table.upper[k])
