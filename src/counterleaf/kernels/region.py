"""The bound of one region: gather its rows and box into a small scaled problem, solve it, scatter back.

A region is the user's constraints and the splits on a path from the root. A split on one feature
narrows the box; any other split, and each of the user's rows, is a row  sign (w @ x + b) >= offset.
Only features that some row touches and that can still move enter the problem; every other feature
stays at its own cheapest value. The problem is written in d = x - source, with each feature scaled by its cost
and each row by its size, so that features in units of 1e-6 and 1e6 look alike.
"""

import math

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.memory import CURVED, FLAT, MIXED, OBLIQUE, SPLIT, Space, grid
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


@pure
def _columns(q, row, lower, upper, slot, columns):
    """The features that some row touches and that can move, in order of appearance; ``slot`` gets their places."""
    indptr, indices, n = q.indptr, q.indices, 0
    for t in range(row.shape[0]):
        for k in range(indptr[row[t]], indptr[row[t] + 1]):
            d = indices[k]
            if slot[d] < 0 and lower[d] < upper[d]:
                slot[d] = n
                columns[n] = d
                n += 1
    return n


@pure
def _rows(q, row, sign, slack, lower, at_source, slot, A, r, norm):
    """Write A d >= r, each row scaled by its size, which goes to ``norm``; A holds zeros."""
    f, indptr, indices, data, flat = q.features, q.indptr, q.indices, q.data, q.method == FLAT
    users = q.bias.shape[0] - q.nodes.shape[0]
    for t in range(row.shape[0]):
        i, z = row[t], sign[t]
        if math.isnan(at_source[i]):
            at_source[i] = exact_score(q, i)
        total = (q.margin if t >= users else 0.0) + slack[t] - z * at_source[i]
        terms, length = abs(total), 0.0
        for k in range(indptr[i], indptr[i + 1]):
            d = indices[k]
            if slot[d] >= 0:
                a = z * data[k] / f[7, d]
                A[t, slot[d]] = a
                length = max(length, abs(a)) if flat else length + a * a
            else:
                fixed = data[k] * (lower[d] - f[0, d])
                total -= z * fixed
                terms += abs(fixed)
        length = length if flat else math.sqrt(length)
        if length == 0.0:
            length = 1.0
            if abs(total) <= 1e-14 * terms:
                total = 0.0  # every feature of the row is fixed, on its face to rounding
        norm[t] = length
        r[t] = total / length
        for j in range(A.shape[1]):
            A[t, j] /= length


@pure
def _costs(f, columns, lower, upper, cu, gu, cd, gd, low, high):
    """Write phi and the box of the features, each scaled by its cost."""
    for j in range(cu.shape[0]):
        d = columns[j]
        s = f[7, d]
        cu[j], gu[j] = f[3, d] / (s * s), f[4, d] / s
        cd[j], gd[j] = f[5, d] / (s * s), f[6, d] / s
        low[j], high[j] = (lower[d] - f[0, d]) * s, (upper[d] - f[0, d]) * s


@pure
def _pivot(bases, seats, flat, columns, slot, A, r, equal, gu, gd, low, high, multiplier, point, ray, space, at):
    """Flat costs: the dual simplex, from the state's basis, then from none. Other costs: only whether there is a point."""
    m, n = A.shape
    whole, seat, w = space.whole, space.small[:n], m + n
    basis, segment = whole[w : w + m], whole[w + m : w + 2 * m]
    wide, spare = grid(space.real, at, 3, n), space.real[at + 3 * n : at + 3 * n + m]
    slope_up, slope_down, place = wide[0], wide[1], wide[2]
    at += 3 * n + m
    cold = not flat
    for t in range(m):
        basis[t] = bases[0, t] if flat else -1 - t
        segment[t] = bases[1, t] if flat else 0
        if basis[t] >= 0:
            basis[t] = slot[basis[t]]
            cold = cold or basis[t] < 0
    for j in range(n):
        seat[j] = seats[columns[j]] if flat else 0
        slope_up[j], slope_down[j] = (gu[j], gd[j]) if flat else (0.0, 0.0)
    while True:
        if cold:
            for j in range(n):
                seat[j] = 1 if slope_up[j] < 0.0 else (-1 if slope_down[j] > 0.0 else 0)
            for t in range(m):
                basis[t], segment[t] = -1 - t, 0
        status = simplex(A, r, equal, slope_up, slope_down, low, high, basis, segment, seat, spare, place, ray, space, at)
        if status != STUCK or cold:
            break
        cold = True
    if not flat:
        return INFEASIBLE if status == INFEASIBLE else STUCK
    for t in range(m):
        multiplier[t] = spare[t]
    for j in range(n):
        point[j] = place[j]
    if status == CONVERGED:  # otherwise basis and seats no longer belong together
        for t in range(m):
            bases[0, t] = columns[basis[t]] if basis[t] >= 0 else basis[t]
            bases[1, t] = segment[t]
        for j in range(n):
            seats[columns[j]] = seat[j]
    return status


@pure
def _scatter(f, columns, slot, lower, upper, low, high, point, delta, calm):
    """The point as a change of every feature; returns what those outside of the problem cost. Opens sides at the horizon."""
    alone = 0.0
    for d in range(delta.shape[0]):
        if slot[d] >= 0:
            continue
        delta[d] = 0.0
        if not (calm and lower[d] <= f[0, d] <= upper[d]):
            delta[d] = idle(f, d, lower[d], upper[d])
            alone += price_of(f, d, delta[d])
    for j in range(point.shape[0]):
        d = columns[j]
        delta[d] = point[j] / f[7, d]
        if point[j] == low[j]:
            delta[d] = lower[d] - f[0, d]
        elif point[j] == high[j]:
            delta[d] = upper[d] - f[0, d]
        if f[8, d] > 0.0 and upper[d] == f[2, d]:
            high[j] = math.inf
        if f[8, d] < 0.0 and lower[d] == f[1, d]:
            low[j] = -math.inf
    return alone


@pure
def _finish(q, pool, state, status, bound, A, r, norm, multiplier, ray, wide, columns, slot, lower, upper, calm, room):
    """Write what was found about a region back into its state; ``room``: two numbers per feature. Returns the bound."""
    f, m, n = q.features, A.shape[0], A.shape[1]
    lam, delta = pool.lam[state, 0], pool.delta[state]
    cu, gu, cd, gd, low, high, point = wide[0], wide[1], wide[2], wide[3], wide[4], wide[5], wide[6]
    if status == INFEASIBLE:
        bound = math.inf
        for t in range(m):
            lam[t] = ray[t] / norm[t]
    else:
        alone = _scatter(f, columns, slot, lower, upper, low, high, point, delta, calm)
        largest = 0.0
        for t in range(m):
            largest = max(largest, abs(multiplier[t]))
        for t in range(m):
            if abs(multiplier[t]) <= 1e-14 * largest:
                multiplier[t] = 0.0  # rounding, but on a feature that is free and unbounded any price is too much
            lam[t] = multiplier[t] / norm[t]
        if q.method != CURVED:  # there it is known, and no feature can run away
            bound = dual_value(A, r, cu, gu, cd, gd, low, high, multiplier, room[0], room[1])
        bound += alone
    for j in range(n):
        slot[columns[j]] = -1
    return bound


@pure
def solve(q, pool, state, slack, lower, upper, at_source, slot, calm, space):
    """Bound the region of ``state`` within the box ``lower``, ``upper``, its rows tightened by ``slack``.

    The state's multipliers, basis and seats are the warm start and then the result (a Farkas vector in place
    of the multipliers if there is none); ``delta`` gets the point. Returns (status, bound without the
    class cost); the bound is valid whatever the status. ``calm``: a feature on its own costs nothing at its source.
    """
    f, method, equal, m = q.features, q.method, q.equal, pool.states[state].rows
    real, row, columns = space.real, space.whole[:m], space.whole[m:]
    lam, tall = pool.lam[state, 0], grid(real, 0, 5, m)
    sign, ray, r, norm, multiplier = tall[0], tall[1], tall[2], tall[3], tall[4]
    collect(q, pool.states, state, row, sign)
    n = _columns(q, row, lower, upper, slot, columns)
    at = 5 * m + m * n + 9 * n
    A, wide, room = grid(real, 5 * m, m, n), grid(real, 5 * m + m * n, 7, n), grid(real, at - 2 * n, 2, n)
    cu, gu, cd, gd, low, high, point = wide[0], wide[1], wide[2], wide[3], wide[4], wide[5], wide[6]
    A[:] = 0.0
    _rows(q, row, sign, slack, lower, at_source, slot, A, r, norm)
    _costs(f, columns, lower, upper, cu, gu, cd, gd, low, high)
    for t in range(m):
        multiplier[t] = lam[t] * norm[t]
    status, bound = STUCK, -math.inf
    rest = Space(real, space.whole[m + n :], space.small)
    if method == CURVED:
        status, bound = newton(A, r, equal, cu, gu, cd, gd, low, high, multiplier, point, ray, rest, at)
    elif method == MIXED:
        extra, strength = grid(real, at, 5, n), 1.0
        up, slope_up, down, slope_down, centre = extra[0], extra[1], extra[2], extra[3], extra[4]
        for j in range(n):
            centre[j] = min(max(0.0, low[j]), high[j])
        for outer in range(_OUTER):
            strength = max(0.1 * strength, 1e-5)
            pull(A, cu, gu, cd, gd, centre, strength, up, slope_up, down, slope_down)
            status, _ = newton(A, r, equal, up, slope_up, down, slope_down, low, high, multiplier, point, ray, rest, at + 5 * n)
            if status == INFEASIBLE:
                break
            for j in range(n):
                centre[j] = point[j]
            status = STUCK
            if settle(A, r, equal, cu, gu, cd, gd, low, high, outer, multiplier, point, rest, at + 5 * n):
                status = CONVERGED
                break
    if status == STUCK:
        status = _pivot(
            pool.basis[state], pool.seats[state], method == FLAT, columns, slot, A, r, equal, gu, gd, low, high,
            multiplier, point, ray, space, at,
        )  # fmt: skip
    return status, _finish(
        q, pool, state, status, bound, A, r, norm, multiplier, ray, wide, columns, slot, lower, upper, calm, room
    )
