"""The bound of one region on a table: groups and grids relaxed to solve, kept whole to prove.

To solve, a group's 0/1 variables may be fractions that add up to 1 and a grid is an interval; one more row per group that the
path touches. Since z^2 = z, a 0/1 variable is charged linearly, which is the tightest convex charge; where the method needs
curvature, ``soft`` of it is moved into a square. To prove, multipliers of the path alone are enough: given their prices, the
best value of each group and the best point of each grid are found one by one (``proved``), which bounds every row of the
table, never less than the relaxation does.
"""

import math

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.grouped import grouped
from counterleaf.kernels.memory import CURVED, FLAT, MIXED, Space, grid
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE, STUCK, newton
from counterleaf.kernels.proximal import pull, settle
from counterleaf.kernels.region import collect, exact_score
from counterleaf.kernels.separable import charge, respond
from counterleaf.kernels.simplex import simplex
from counterleaf.kernels.table import above, below, cheapest

_OUTER = 60  # proximal points before a partly flat problem is given up


@pure
def settled(price, cu, gu, cd, gd, own, lower, upper, over, under):
    """The best change of a number at a price, on its grid, and what it costs less what it is worth."""
    change = respond(price, cu, gu, cd, gd, lower - own, upper - own)
    if math.isinf(change):
        return change, -math.inf
    worth = charge(change, cu, gu, cd, gd) - price * change
    if over > 0.0 and change != 0.0:
        x = own + change
        low, high = below(over, under, own, x), above(over, under, own, x)
        if low < high:
            a, b = max(low, lower) - own, min(high, upper) - own
            worth_a = charge(a, cu, gu, cd, gd) - price * a
            worth_b = charge(b, cu, gu, cd, gd) - price * b
            return (a, worth_a) if worth_a <= worth_b else (b, worth_b)
    return change, worth


@pure
def proved(q, table, row, sign, at_source, lam, lower, upper, price, size):
    """What the multipliers ``lam`` of the rows prove about every row of the table in the box, class cost left out.

    ``price`` and ``size`` are room for a number per variable.
    """
    f, indptr, indices, data = q.features, q.indptr, q.indices, q.data
    group, step, first, last, own = table.group, table.step, table.first, table.last, table.own
    users = q.bias.shape[0] - q.nodes.shape[0]
    for d in range(lower.shape[0]):
        price[d], size[d] = 0.0, 0.0
    total = 0.0
    for t in range(row.shape[0]):
        if lam[t] == 0.0:
            continue
        i, z = row[t], lam[t] * sign[t]
        total += lam[t] * ((q.margin if t >= users else 0.0) - sign[t] * at_source[i])
        for k in range(indptr[i], indptr[i + 1]):
            term = z * data[k]
            price[indices[k]] += term
            size[indices[k]] += abs(term)
    for d in range(lower.shape[0]):
        if group[d] >= 0:
            continue
        low = -math.inf if f[8, d] < 0.0 and lower[d] == f[1, d] else lower[d]
        high = math.inf if f[8, d] > 0.0 and upper[d] == f[2, d] else upper[d]
        p = price[d]
        room = 1e-12 * (size[d] + abs(f[4, d]) + abs(f[6, d]))
        if high == math.inf and f[3, d] == 0.0 and f[4, d] < p <= f[4, d] + room:
            p = f[4, d]  # rounding, but on a number without bound any price is too much
        if low == -math.inf and f[5, d] == 0.0 and f[6, d] > p >= f[6, d] - room:
            p = f[6, d]
        _, worth = settled(p, f[3, d], f[4, d], f[5, d], f[6, d], f[0, d], low, high, step[0, d], step[1, d])
        total += worth
    for g in range(first.shape[0]):
        best = math.inf
        for v in range(first[g], last[g]):
            if upper[v] > 0.0:
                best = min(best, f[4, v] - price[v])
        total += best - f[4, own[g]] + price[own[g]]
    return total


@pure
def _pivot(
    bases, seats, flat, heads, rooms, hot, local, columns, slot, A, r, equal, gu, gd, low, high, multiplier, point, ray,
    space, at,
):  # fmt: skip
    """Flat costs: the dual simplex, from the basis of the state, then from none. Other costs: only if there is a point at all.

    The first ``heads`` rows are those of the groups ``hot``. In the memory of a state the slack of path row t is known as that
    of row t, and the slack of group g as that of row rooms + g.
    """
    m, n = A.shape
    basis, segment, seat = space.whole[:m], space.whole[m : 2 * m], space.small[:n]
    wide, spare = grid(space.real, at, 3, n), space.real[at + 3 * n : at + 3 * n + m]
    slope_up, slope_down, place = wide[0], wide[1], wide[2]
    cold = not flat
    for t in range(m):
        basis[t], segment[t] = -1 - t, 0
        if flat:
            spot = t - heads if t >= heads else rooms + hot[t]
            known = bases[0, spot]
            segment[t] = bases[1, spot]
            if known >= 0:
                basis[t] = slot[known]
                cold = cold or slot[known] < 0
            elif -1 - known >= rooms:
                basis[t] = -1 - local[-1 - known - rooms]
                cold = cold or local[-1 - known - rooms] < 0
            else:
                basis[t] = known - heads
    for j in range(n):
        seat[j] = seats[columns[j]] if flat else 0
        slope_up[j], slope_down[j] = (gu[j], gd[j]) if flat else (0.0, 0.0)
    while True:
        if cold:
            for j in range(n):
                seat[j] = 1 if slope_up[j] < 0.0 else (-1 if slope_down[j] > 0.0 else 0)
            for t in range(m):
                basis[t], segment[t] = -1 - t, 0
        status = simplex(
            A, r, equal, slope_up, slope_down, low, high, basis, segment, seat, spare, place, ray, space, at + 3 * n + m
        )
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
            spot = t - heads if t >= heads else rooms + hot[t]
            known = basis[t]
            if known >= 0:
                known = columns[known]
            else:
                k = -1 - known
                known = -1 - (k - heads if k >= heads else rooms + hot[k])
            bases[0, spot] = known
            bases[1, spot] = segment[t]
        for j in range(n):
            seats[columns[j]] = seat[j]
    return status


@pure
def _touch(q, table, row, lower, upper, slot, columns, hot, local, start):
    """The variables of the problem: numbers first, then group by group; returns (numbers, variables, groups).

    A group is in if some row touches it, with the values that rows name and, of the others, the cheapest, which stands for all.
    """
    f, indptr, indices = q.features, q.indptr, q.indices
    group, first, last = table.group, table.first, table.last
    n, touched = 0, 0
    for t in range(row.shape[0]):
        for k in range(indptr[row[t]], indptr[row[t] + 1]):
            d = indices[k]
            if slot[d] == -1 and lower[d] < upper[d]:
                slot[d] = -2
                g = group[d]
                if g < 0:
                    slot[d] = n
                    columns[n] = d
                    n += 1
                elif local[g] < 0:
                    local[g] = touched
                    hot[touched] = g
                    touched += 1
    numbers = n
    for i in range(touched):
        best = -1
        start[i] = n
        for v in range(first[hot[i]], last[hot[i]]):
            if slot[v] == -2:
                slot[v] = n
                columns[n] = v
                n += 1
            elif upper[v] > 0.0 and (best < 0 or f[4, v] < f[4, best] or (f[4, v] == f[4, best] and f[0, v] > 0.0)):
                best = v
        if best >= 0:
            slot[best] = n
            columns[n] = best
            n += 1
    start[touched] = n
    return numbers, n, touched


@pure
def _rows(q, table, row, sign, slack, lower, upper, at_source, slot, hot, heads, A, r, norm):
    """Write A d >= r, each row scaled by its size, which goes to ``norm``; first the sums of ``heads`` groups. A is zero."""
    f, indptr, indices, data = q.features, q.indptr, q.indices, q.data
    first, last, own = table.first, table.last, table.own
    users, flat = q.bias.shape[0] - q.nodes.shape[0], q.method == FLAT
    for i in range(heads):
        g = hot[i]
        r[i] = 1.0 if slot[own[g]] < 0 and upper[own[g]] == 0.0 else 0.0
        for v in range(first[g], last[g]):
            if slot[v] >= 0:
                A[i, slot[v]] = 1.0 / f[7, v]
    for t in range(row.shape[0]):
        i, z = row[t], sign[t]
        if math.isnan(at_source[i]):
            at_source[i] = exact_score(q, i)
        total = (q.margin if t >= users else 0.0) + slack[t] - z * at_source[i]
        terms, stuck = abs(total), True
        for k in range(indptr[i], indptr[i + 1]):
            d = indices[k]
            if slot[d] >= 0:
                A[heads + t, slot[d]] = z * data[k] / f[7, d]
                stuck = False
            else:
                fixed = data[k] * (lower[d] - f[0, d])
                total -= z * fixed
                terms += abs(fixed)
        r[heads + t] = 0.0 if stuck and abs(total) <= 1e-14 * terms else total
    for t in range(A.shape[0]):
        length = 0.0
        for j in range(A.shape[1]):
            length = max(length, abs(A[t, j])) if flat else length + A[t, j] * A[t, j]
        length = length if flat else math.sqrt(length)
        norm[t] = length if length > 0.0 else 1.0
        r[t] /= norm[t]
        for j in range(A.shape[1]):
            A[t, j] /= norm[t]


@pure
def _costs(q, table, columns, lower, upper, closed, cu, gu, cd, gd, low, high, centre):
    """Write phi, box and centre of the variables, each scaled by its cost; ``closed``: groups in z, not in its change."""
    f, group, softs = q.features, table.group, table.soft
    for j in range(cu.shape[0]):
        d = columns[j]
        s = f[7, d]
        cu[j], gu[j] = f[3, d] / (s * s), f[4, d] / s
        cd[j], gd[j] = f[5, d] / (s * s), f[6, d] / s
        low[j], high[j] = (lower[d] - f[0, d]) * s, (upper[d] - f[0, d]) * s
        centre[j] = min(max(0.0, low[j]), high[j])
        if group[d] < 0 or q.method == FLAT:
            continue
        if closed:
            gu[j], centre[j] = (f[4, d] - 0.5 * s * s) / s, f[0, d]
            continue
        soft = softs[group[d]]
        cu[j] = soft / (s * s)
        gu[j] += (soft if f[0, d] > 0.0 else -soft) / s
        cd[j], gd[j] = cu[j], gu[j]


@pure
def _scatter(q, table, slot, local, lower, upper, low, high, point, delta):
    """The point as a change of every variable; what is outside of the problem at its own best."""
    f, group, step = q.features, table.group, table.step
    first, last, own = table.first, table.last, table.own
    for d in range(delta.shape[0]):
        if slot[d] >= 0:
            j = slot[d]
            delta[d] = point[j] / f[7, d]
            if point[j] == low[j]:
                delta[d] = lower[d] - f[0, d]
            elif point[j] == high[j]:
                delta[d] = upper[d] - f[0, d]
        elif group[d] < 0:
            delta[d], _ = settled(0.0, f[3, d], f[4, d], f[5, d], f[6, d], f[0, d], lower[d], upper[d], step[0, d], step[1, d])
        else:
            delta[d] = -f[0, d]
    for g in range(first.shape[0]):
        if local[g] < 0:
            delta[cheapest(f[4], own[g], first[g], last[g], upper)] += 1.0


@pure
def relax(q, table, pool, state, slack, lower, upper, at_source, slot, closed, space):
    """Bound the region of ``state`` within the box ``lower``, ``upper``, its rows tightened by ``slack``.

    As ``region.solve``: the state's multipliers and basis are the warm start and then the result; ``delta`` gets the point of
    the relaxation. ``closed``: groups in closed form, for curved costs; else each has a row, which is slower and sees more.
    Returns (status, bound without the class cost).
    """
    f, method, equal, paths, groups = q.features, q.method, q.equal, pool.states[state].rows, table.first.shape[0]
    lam, delta, real, whole, all_of = pool.lam[state, 0], pool.delta[state], space.real, space.whole, f.shape[1]
    row, hot, local = whole[:paths], whole[paths : paths + groups], whole[paths + groups : paths + 2 * groups]
    start, w = whole[paths + 2 * groups : paths + 3 * groups + 1], paths + 3 * groups + 1
    columns = whole[w : w + all_of]
    rest = Space(real, whole[w + all_of :], space.small)
    sign, width, room = real[:paths], real[paths : paths + groups], grid(real, paths + groups, 2, all_of)
    at = paths + groups + 2 * all_of
    local[:] = -1
    collect(q, pool.states, state, row, sign)
    numbers, n, touched = _touch(q, table, row, lower, upper, slot, columns, hot, local, start)
    heads = 0 if closed else touched
    m = heads + paths
    A, tall, wide = grid(real, at, m, n), grid(real, at + m * n, 4, m), grid(real, at + m * n + 4 * m, 8, n)
    at += m * n + 4 * m + 8 * n
    r, norm, ray, multiplier = tall[0], tall[1], tall[2], tall[3]
    cu, gu, cd, gd, low, high, point, centre = wide[0], wide[1], wide[2], wide[3], wide[4], wide[5], wide[6], wide[7]
    A[:] = 0.0
    _rows(q, table, row, sign, slack, lower, upper, at_source, slot, hot, heads, A, r, norm)
    grouply = closed and touched > 0
    _costs(q, table, columns, lower, upper, grouply, cu, gu, cd, gd, low, high, centre)
    for i in range(heads):
        multiplier[i] = 0.0
    for t in range(paths):
        multiplier[heads + t] = lam[t] * norm[heads + t]
    status = STUCK
    if grouply:
        for i in range(touched):
            width[i] = f[7, columns[start[i]]]
        status = grouped(
            A, r, equal, numbers, cu, gu, cd, gd, low, high, start[: touched + 1], width, centre, multiplier, point, ray,
            rest, at,
        )  # fmt: skip
    elif method == CURVED:
        status, _ = newton(A, r, heads + equal, cu, gu, cd, gd, low, high, multiplier, point, ray, rest, at)
    elif method == MIXED:
        extra, strength = grid(real, at, 4, n), 1.0
        up, slope_up, down, slope_down = extra[0], extra[1], extra[2], extra[3]
        for outer in range(_OUTER):
            strength = max(0.1 * strength, 1e-5)
            pull(A, cu, gu, cd, gd, centre, strength, up, slope_up, down, slope_down)
            status, _ = newton(
                A, r, heads + equal, up, slope_up, down, slope_down, low, high, multiplier, point, ray, rest, at + 4 * n
            )
            if status == INFEASIBLE:
                break
            for j in range(n):
                centre[j] = point[j]
            status = STUCK
            if settle(A, r, heads + equal, cu, gu, cd, gd, low, high, outer, multiplier, point, rest, at + 4 * n):
                status = CONVERGED
                break
    if status == STUCK and not grouply:
        status = _pivot(
            pool.basis[state], pool.seats[state], method == FLAT, heads, pool.lam.shape[2], hot, local, columns, slot,
            A, r, heads + equal, gu, gd, low, high, multiplier, point, ray, rest, at,
        )  # fmt: skip
    bound = math.inf
    if status == INFEASIBLE:
        for t in range(paths):
            lam[t] = ray[heads + t] / norm[heads + t]
    else:
        largest = 0.0
        for t in range(m):
            largest = max(largest, abs(multiplier[t]))
        for t in range(paths):
            value = multiplier[heads + t]
            lam[t] = value / norm[heads + t] if abs(value) > 1e-14 * largest else 0.0
        bound = proved(q, table, row, sign, at_source, lam[:paths], lower, upper, room[0], room[1])
        _scatter(q, table, slot, local, lower, upper, low, high, point, delta)
    for j in range(n):
        slot[columns[j]] = -1
    return status, bound
