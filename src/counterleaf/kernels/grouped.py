"""Projected Newton on the dual of a region's problem on a table, each group of 0/1 variables in closed form.

The problem is that of ``newton`` with groups beside the numbers: the columns start[g] to start[g + 1] are y_k = s z_k with z in
the unit simplex, charged a_k z_k + e z_k^2 with s^2 = 2 e. Given the prices of the rows, z is the projection of
(price_k - a_k / s) / s on the simplex, so a group needs no row of its own: the dual has as many variables as the path has rows.
Its curvature over a group is that of the columns in the support, less their mean.
"""

import math

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.memory import grid
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE, STUCK, blend, factor, next_break, orthogonalise, substitute, sums
from counterleaf.kernels.separable import charge, respond

_STEPS = 100
_TOLERANCE = 1e-12  # of the terms of a row
_ENOUGH = 1e-8  # where rounding stops progress: a bound is off by the square of this; a row is solved for again
_SMALL = 1e-2


@pure
def project(price, turn, t, slope, s, begin, end, z):
    """z = the projection of (price + t turn - slope) / s on the unit simplex, entries begin to end; returns its threshold.

    Only entries within 1 of the largest can be positive; of those, the ones below the mean excess drop out until none does.
    """
    top = -math.inf
    for k in range(begin, end):
        z[k] = (price[k] + t * turn[k] - slope[k]) / s
        top = max(top, z[k])
    total, left = 0.0, 0
    for k in range(begin, end):
        z[k] -= top  # so that large prices leave no rounding behind, and the threshold is below 0
        if z[k] > -1.0:
            total += z[k]
            left += 1
    level = (total - 1.0) / left
    while left > 1:
        total, kept = 0.0, 0
        for k in range(begin, end):
            if z[k] > level:
                total += z[k]
                kept += 1
        if kept == left:
            break
        left = kept
        level = (total - 1.0) / left
    for k in range(begin, end):
        z[k] = max(z[k] - level, 0.0)
    return level + top


@pure
def _slope_at(t, price, turn, rise, numbers, cu, gu, cd, gd, lower, upper, start, scale, home, z):
    """(slope, curvature, size of the terms) of the dual along a direction."""
    slope, bend, size = rise, 0.0, abs(rise)
    for j in range(numbers):
        a = turn[j]
        if a == 0.0:
            continue
        d = respond(price[j] + t * a, cu[j], gu[j], cd[j], gd[j], lower[j], upper[j])
        slope -= a * d
        size += abs(a * d)
        if lower[j] < d < upper[j] and d != 0.0:
            bend += a * a / (2.0 * (cu[j] if d > 0.0 else cd[j]))
    for g in range(start.shape[0] - 1):
        s = scale[g]
        moves = False
        for k in range(start[g], start[g + 1]):
            moves = moves or turn[k] != 0.0
        if not moves:
            continue
        project(price, turn, t, gu, s, start[g], start[g + 1], z)
        first, second, support = 0.0, 0.0, 0
        for k in range(start[g], start[g + 1]):
            if z[k] > 0.0:
                first += turn[k]
                second += turn[k] * turn[k]
                support += 1
            moved = turn[k] * (z[k] - home[k]) * s
            slope -= moved
            size += abs(moved)
        if support > 1:
            bend += max(second - first * first / support, 0.0)
    return slope, bend, size


@pure
def _next_break(t, price, turn, numbers, cu, gu, cd, gd, lower, upper, start, scale, z):
    """The next t' > t at which a number changes its piece or a group its support; inf if there is none."""
    first = next_break(t, price, turn[:numbers], gu, gd, cu, cd, lower, upper)
    for g in range(start.shape[0] - 1):
        begin, end = start[g], start[g + 1]
        level = project(price, turn, t, gu, scale[g], begin, end, z)
        mean, support = 0.0, 0
        for k in range(begin, end):
            if z[k] > 0.0:
                mean += turn[k]
                support += 1
        mean /= support
        for k in range(begin, end):
            gains = turn[k] - mean
            if (z[k] == 0.0 and gains > 0.0) or (z[k] > 0.0 and gains < 0.0):
                ahead = level * scale[g] - (price[k] + t * turn[k] - gu[k])
                at = t + ahead / gains
                if t < at < first:
                    first = at
    return first


@pure
def _line_search(price, turn, rise, ascent, reach, numbers, cu, gu, cd, gd, lower, upper, start, scale, home, z):
    """The maximiser of the dual on 0 <= t <= reach along a direction; inf if it grows for ever.

    Its slope falls and is piecewise linear: Newton on it inside a bracket ends at its root. slope(low) > 0 >= slope(high).
    """
    low, high, nudged = 0.0, math.inf, False
    t = min(1.0, reach)
    most = (
        0.0  # the curvature where all moves: a step that damping alone holds back overshoots, and the root lies near this one
    )
    for j in range(numbers):
        if turn[j] != 0.0:
            bend = min(cu[j] if upper[j] > 0.0 else math.inf, cd[j] if lower[j] < 0.0 else math.inf)
            most += 0.5 * turn[j] * turn[j] / bend
    for g in range(start.shape[0] - 1):
        least, largest = math.inf, -math.inf
        for k in range(start[g], start[g + 1]):
            least, largest = min(least, turn[k]), max(largest, turn[k])
        most += 0.5 * (largest - least) ** 2
    if ascent < 1e-2 * most * t:
        t = ascent / most
    for trial in range(200):
        slope, bend, size = _slope_at(t, price, turn, rise, numbers, cu, gu, cd, gd, lower, upper, start, scale, home, z)
        if abs(slope) <= 1e-15 * size:
            return t
        if slope > 0.0:
            low = t
            if t >= reach:
                return t
        else:
            high = t
        if high < math.inf and high - low <= 1e-15 * high:
            return low if low > 0.0 else high
        if bend > 1e-14 * size:
            t += slope / bend
        elif slope > 0.0:
            t = _next_break(low, price, turn, numbers, cu, gu, cd, gd, lower, upper, start, scale, z)
            if t == math.inf and reach == math.inf and high == math.inf:
                if nudged:
                    return math.inf
                t = low
                nudged = True
            t *= 1.0 + 1e-12
        else:
            t = low
        if not low < t < high:
            t = 0.5 * (low + high) if high < math.inf else 2.0 * low + 1e-300
        t = min(t, reach)
    return low if low > 0.0 else t


@pure
def _farkas_gap(A, r, equal, ray, numbers, lower, upper, start, scale, home):
    """How far ``ray`` proves the region empty, over the size of its terms; see ``newton.farkas_gap``."""
    gap, size = 0.0, 0.0
    for t in range(A.shape[0]):
        if t >= equal and ray[t] < 0.0:
            ray[t] = 0.0
        gap += ray[t] * r[t]
        size += abs(ray[t] * r[t])
    for j in range(numbers):
        a, terms = 0.0, 0.0
        for t in range(A.shape[0]):
            a += ray[t] * A[t, j]
            terms += abs(ray[t] * A[t, j])
        reach = upper[j] if a > 0.0 else lower[j]
        if math.isinf(reach):
            if abs(a) <= 1e-12 * terms:
                continue
            return -math.inf
        gap -= a * reach
        size += abs(a * reach)
    for g in range(start.shape[0] - 1):
        best, own, most = -math.inf, 0.0, 0.0
        for k in range(start[g], start[g + 1]):
            a = 0.0
            for t in range(A.shape[0]):
                a += ray[t] * A[t, k]
            best = max(best, a)
            own += a * home[k]
            most = max(most, abs(a))
        gap -= (best - own) * scale[g]
        size += most * scale[g]
    return gap / size if size > 0.0 else 0.0


@pure
def grouped(A, r, equal, numbers, cu, gu, cd, gd, lower, upper, start, scale, home, lam, delta, ray, space, at):
    """Solve from the multipliers ``lam``; ``delta`` gets the scaled change. Every number must be curved where it can move.

    CONVERGED, INFEASIBLE with a Farkas vector in ``ray``, or STUCK; any ``lam`` bounds the region, see ``relaxed.proved``.
    The room of ``space`` from ``at`` on is used, (2 m n + 4 n + 3 m m + 3 m) numbers.
    """
    m, n = A.shape
    real, free = space.real, space.whole[:m]
    wide, tall, C = grid(real, at, 4, n), grid(real, at + 4 * n, 3, m), grid(real, at + 4 * n + 3 * m, m, n)
    price, turn, weight, z = wide[0], wide[1], wide[2], wide[3]
    gradient, size, step = tall[0], tall[1], tall[2]
    at += 4 * n + 3 * m + m * n
    R = grid(real, at, m, m)
    at += m * m
    C[:] = 0.0
    damping, best_value, idle = 1e-12, -math.inf, 0
    for k in range(n):
        turn[k] = 0.0
    for iteration in range(_STEPS):
        blend(A, lam, price)
        value, inside = 0.0, 0
        for j in range(numbers):
            d = respond(price[j], cu[j], gu[j], cd[j], gd[j], lower[j], upper[j])
            delta[j] = d
            value += charge(d, cu[j], gu[j], cd[j], gd[j])
            if lower[j] < d < upper[j] and d != 0.0:
                weight[inside] = 0.5 / (cu[j] if d > 0.0 else cd[j])
                for t in range(m):
                    C[t, inside] = A[t, j]
                inside += 1
        for g in range(start.shape[0] - 1):
            s = scale[g]
            project(price, price, 0.0, gu, s, start[g], start[g + 1], z)
            support = 0
            for k in range(start[g], start[g + 1]):
                delta[k] = (z[k] - home[k]) * s
                value += s * z[k] * gu[k] + 0.5 * s * s * z[k] * z[k]
                if z[k] > 0.0:
                    support += 1
            if support > 1:
                for t in range(m):
                    mean = 0.0
                    for k in range(start[g], start[g + 1]):
                        if z[k] > 0.0:
                            mean += A[t, k]
                    mean /= support
                    place = inside
                    for k in range(start[g], start[g + 1]):
                        if z[k] > 0.0:
                            C[t, place] = A[t, k] - mean
                            weight[place] = 1.0
                            place += 1
                inside += support
        for j in range(inside, n):
            weight[j] = 0.0
        for t in range(m):
            total, terms = sums(A, t, delta)
            gradient[t], size[t] = r[t] - total, abs(r[t]) + terms
        most = 0.0
        for t in range(m):
            value += lam[t] * gradient[t]
            most = max(most, size[t])
        worst = 0.0
        for t in range(m):
            size[t] = max(size[t], _SMALL * most)
            off = abs(gradient[t]) if t < equal or lam[t] > 0.0 else gradient[t]
            if off > worst * size[t]:
                worst = off / size[t]
        if worst <= _TOLERANCE:
            return CONVERGED
        if value - best_value > 1e-14 * abs(value):
            best_value, idle = value, 0
        else:
            idle += 1
            if idle >= 2 and worst <= _ENOUGH:
                return CONVERGED
            if idle >= 4:
                break
        count = 0
        for t in range(m):
            if t < equal or lam[t] > 0.0 or gradient[t] > _TOLERANCE * size[t]:
                free[count] = t
                count += 1
        while True:
            if not factor(C, free, count, weight, damping, R, turn):
                orthogonalise(C, free, count, weight, damping, R, grid(real, at, count, n + count))
            substitute(R, free, count, gradient, step)
            kept = 0
            for a in range(count):
                if free[a] < equal or lam[free[a]] > 0.0 or step[a] > 0.0:
                    free[kept] = free[a]
                    kept += 1
            if kept == count:
                break
            count = kept
        reach, hit, rise, ascent = math.inf, -1, 0.0, 0.0
        for t in range(m):
            ray[t] = 0.0
        for j in range(n):
            turn[j] = 0.0
        for a in range(count):
            t = free[a]
            ray[t] = step[a]
            rise += step[a] * r[t]
            ascent += step[a] * gradient[t]
            if t >= equal and step[a] < 0.0 and -lam[t] / step[a] < reach:
                reach, hit = -lam[t] / step[a], t
            for j in range(n):
                turn[j] += step[a] * A[t, j]
        far = _line_search(price, turn, rise, ascent, reach, numbers, cu, gu, cd, gd, lower, upper, start, scale, home, z)
        if far == math.inf:
            if _farkas_gap(A, r, equal, ray, numbers, lower, upper, start, scale, home) > 1e-12:
                return INFEASIBLE
            return STUCK
        largest = 0.0
        for a in range(count):
            t = free[a]
            lam[t] += far * step[a]
            largest = max(largest, abs(lam[t]))
            if t == hit and far >= reach:
                lam[t] = 0.0
        for t in range(equal, m):
            if lam[t] <= 1e-16 * largest:
                lam[t] = 0.0
        if far < 1e-2:
            damping = min(1.0, damping * 100.0)
        elif far > 0.5:
            damping = max(1e-12, damping * 1e-2)
    for t in range(m):
        ray[t] = lam[t]
    if _farkas_gap(A, r, equal, ray, numbers, lower, upper, start, scale, home) > 1e-12:
        return INFEASIBLE
    return STUCK
