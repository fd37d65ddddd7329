"""The bound of one region: gather its rows and box into a small scaled problem, solve it, scatter back.

A region is the user's constraints and the splits on a path from the root. A split on one feature
narrows the box; any other split, and each of the user's rows, is a row  sign (w @ x + b) >= offset.
Only features that some row touches and that can still move enter the problem; every other feature
stays at its own cheapest value. The problem is written in d = x - source, with each feature scaled by its cost
and each row by its size, so that features in units of 1e-6 and 1e6 look alike.
"""

import math

import numpy as np

from counterleaf.kernels.compiler import kernel, pure
from counterleaf.kernels.memory import CURVED, FLAT, MIXED, OBLIQUE, SPLIT
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE, STUCK, newton
from counterleaf.kernels.proximal import pull, settle
from counterleaf.kernels.separable import charge, respond
from counterleaf.kernels.simplex import dual_value, simplex

_OUTER = 60  # proximal points before a partly flat problem is given up


@pure
def exact_score(q, row):
    """w @ source + b of a row as if in twice the precision (compensated products and sums)."""
    source, indices, data = q.features[0], q.indices, q.data
    total, rest = q.bias[row], 0.0
    for k in range(q.indptr[row], q.indptr[row + 1]):
        a, b = data[k], source[indices[k]]
        product = a * b
        if abs(a) < 1e140 and abs(b) < 1e140:
            t = 134217729.0 * a
            a_high = t - (t - a)
            a_low = a - a_high
            t = 134217729.0 * b
            b_high = t - (t - b)
            b_low = b - b_high
            rest += a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
        summed = total + product
        t = summed - total
        rest += (total - (summed - t)) + (product - t)
        total = summed
    return total + rest


@pure
def idle(f, d, lower, upper):
    """The cheapest value of feature d on its own in [lower, upper], as a change from the source; ``f`` are the features."""
    return respond(0.0, f[3, d], f[4, d], f[5, d], f[6, d], lower - f[0, d], upper - f[0, d])


@pure
def price_of(f, d, change):
    """phi of feature d at ``change``; minus infinity where the change only stops at the horizon."""
    if f[8, d] > 0.0 and change >= f[2, d] - f[0, d]:
        return -math.inf
    if f[8, d] < 0.0 and change <= f[1, d] - f[0, d]:
        return -math.inf
    return charge(change, f[3, d], f[4, d], f[5, d], f[6, d])


@pure
def collect(q, states, state, row, sign):
    """Write the rows of the region of ``state``: the user's, then its path's from the root down."""
    nodes = q.nodes
    for t in range(q.bias.shape[0] - nodes.shape[0]):
        row[t], sign[t] = nodes.shape[0] + t, 1.0
    t = states[state].rows
    while states[state].parent >= 0:
        above = states[states[state].parent].node
        if states[state].how == SPLIT and nodes[above].feature == OBLIQUE:
            t -= 1
            row[t], sign[t] = above, float(states[state].side)
        state = states[state].parent


@kernel
def solve(q, pool, state, slack, lower, upper, at_source, slot, calm):
    """Bound the region of ``state`` within the box ``lower``, ``upper``, its rows tightened by ``slack``.

    The state's multipliers, basis and seats are the warm start and then the result (a Farkas vector in place
    of the multipliers if there is none); ``delta`` gets the point. Returns (status, bound without the
    class cost); the bound is valid whatever the status. ``calm``: a feature on its own costs nothing at its source.
    """
    f, indptr, indices, data = q.features, q.indptr, q.indices, q.data
    bases, seats = pool.basis, pool.seats
    method, equal, margin = q.method, q.equal, q.margin
    m = pool.states[state].rows
    row, sign, ray = np.empty(m, np.int64), np.empty(m), np.empty(m)
    collect(q, pool.states, state, row, sign)
    lam, delta = pool.lam[state, 0], pool.delta[state]
    source, scale = f[0], f[7]
    users = q.bias.shape[0] - q.nodes.shape[0]
    columns = np.empty(min(source.shape[0], indptr[-1]), np.int64)
    n = 0
    for t in range(m):
        for k in range(indptr[row[t]], indptr[row[t] + 1]):
            d = indices[k]
            if slot[d] < 0 and lower[d] < upper[d]:
                slot[d] = n
                columns[n] = d
                n += 1
    A, r, norm = np.zeros((m, n)), np.empty(m), np.empty(m)
    for t in range(m):
        i, z = row[t], sign[t]
        if math.isnan(at_source[i]):
            at_source[i] = exact_score(q, i)
        offset = margin if t >= users else 0.0
        total = offset + slack[t] - z * at_source[i]
        terms = abs(total)
        length = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            d = indices[k]
            if slot[d] >= 0:
                a = z * data[k] / scale[d]
                A[t, slot[d]] = a
                length = max(length, abs(a)) if method == FLAT else length + a * a
            else:
                fixed = data[k] * (lower[d] - source[d])
                total -= z * fixed
                terms += abs(fixed)
        if method != FLAT:
            length = math.sqrt(length)
        if length == 0.0:
            length = 1.0
            if abs(total) <= 1e-14 * terms:
                total = 0.0  # every feature of the row is fixed, on its face to rounding
        norm[t] = length
        r[t] = total / length
        for j in range(n):
            A[t, j] /= length
    wide = np.empty((10, n))
    cu, gu, cd, gd, low, high, point = wide[0], wide[1], wide[2], wide[3], wide[4], wide[5], wide[6]
    slope_up, slope_down, centre = wide[7], wide[8], wide[9]
    extra = np.empty((4, n)) if method == MIXED else wide
    flat = method == FLAT
    seat = np.empty(n, np.int8)
    for j in range(n):
        d = columns[j]
        s = scale[d]
        cu[j], gu[j] = f[3, d] / (s * s), f[4, d] / s
        cd[j], gd[j] = f[5, d] / (s * s), f[6, d] / s
        low[j], high[j] = (lower[d] - source[d]) * s, (upper[d] - source[d]) * s
        centre[j] = min(max(0.0, low[j]), high[j])
        seat[j] = seats[state, d] if flat else 0
    multiplier = np.empty(m)
    for t in range(m):
        multiplier[t] = lam[t] * norm[t]
    status, bound = STUCK, -math.inf
    strength = 1.0
    for outer in range(0 if flat else (1 if method == CURVED else _OUTER)):
        strength = max(0.1 * strength, 1e-5)
        if method == MIXED:
            pull(A, cu, gu, cd, gd, centre, strength, extra[0], extra[1], extra[2], extra[3])
        status, bound = newton(A, r, equal, extra[0], extra[1], extra[2], extra[3], low, high, multiplier, point, ray)
        if status == INFEASIBLE or method == CURVED:
            break
        for j in range(n):
            centre[j] = point[j]
        status = STUCK
        if settle(A, r, equal, cu, gu, cd, gd, low, high, outer, multiplier, point):
            status = CONVERGED
            break
    basis, segment = np.empty(m, np.int64), np.empty(m, np.int64)
    cold = not flat
    for t in range(m):
        basis[t] = bases[state, 0, t] if flat else -1 - t
        segment[t] = bases[state, 1, t] if flat else 0
        if basis[t] >= 0:
            basis[t] = slot[basis[t]]
            cold = cold or basis[t] < 0
    spare, place = np.empty(m), np.empty(n)
    while status == STUCK:
        # flat: the warm basis, then a cold one; else the method failed, and prices of zero tell if the region is empty
        for j in range(n):
            up, down = (gu[j], gd[j]) if flat else (0.0, 0.0)
            slope_up[j], slope_down[j] = up, down
            if cold:
                seat[j] = 1 if up < 0.0 else (-1 if down > 0.0 else 0)
        for t in range(m):
            if cold:
                basis[t], segment[t] = -1 - t, 0
        outcome = simplex(A, r, equal, slope_up, slope_down, low, high, basis, segment, seat, spare, place, ray)
        if flat:
            status = outcome
            for t in range(m):
                multiplier[t] = spare[t]
            for j in range(n):
                point[j] = place[j]
        elif outcome == INFEASIBLE:
            status = INFEASIBLE
        if cold:
            break
        cold = True
    if flat and status == CONVERGED:  # otherwise basis and seats no longer belong together
        for t in range(m):
            bases[state, 0, t] = columns[basis[t]] if basis[t] >= 0 else basis[t]
            bases[state, 1, t] = segment[t]
        for j in range(n):
            seats[state, columns[j]] = seat[j]
    if status == INFEASIBLE:
        bound = math.inf
        for t in range(m):
            lam[t] = ray[t] / norm[t]
    else:
        for j in range(n):
            d = columns[j]
            value = point[j] / scale[d]
            if point[j] == low[j]:
                value = lower[d] - source[d]
            elif point[j] == high[j]:
                value = upper[d] - source[d]
            delta[d] = value
            if f[8, d] > 0.0 and upper[d] == f[2, d]:
                high[j] = math.inf
            if f[8, d] < 0.0 and lower[d] == f[1, d]:
                low[j] = -math.inf
        largest = 0.0
        for t in range(m):
            largest = max(largest, abs(multiplier[t]))
        for t in range(m):
            if abs(multiplier[t]) <= 1e-14 * largest:
                multiplier[t] = 0.0  # rounding, but on a feature that is free and unbounded any price is too much
        if method != CURVED:  # there it is known, and no feature can run away
            bound = dual_value(A, r, cu, gu, cd, gd, low, high, multiplier)
        for d in range(source.shape[0]):
            if slot[d] < 0:
                delta[d] = 0.0
                if calm and lower[d] <= source[d] <= upper[d]:
                    continue
                delta[d] = idle(f, d, lower[d], upper[d])
                bound += price_of(f, d, delta[d])
        for t in range(m):
            lam[t] = multiplier[t] / norm[t]
    for j in range(n):
        slot[columns[j]] = -1
    return status, bound
