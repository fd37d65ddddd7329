"""Projected Newton on the dual of one region's problem, with an exact line search.

Primal, over the n features that the rows touch (see ``separable`` for phi):

    min sum_j phi_j(d_j)   s.t.   A d >= r  (the first ``equal`` rows: A d = r),   lower <= d <= upper.

Dual, one variable per row:

    q(lam) = lam @ r + sum_j min_{lower_j <= d_j <= upper_j} phi_j(d_j) - price_j d_j,   price = A' lam,

concave, once differentiable and piecewise quadratic where every phi_j is curved. Its gradient is
r - A d(lam), its curvature A D A' with D_j = 1 / phi_j'' on the features strictly between the kink and
a bound. Any lam with lam >= 0 on the inequalities gives a lower bound, so no failure can make one wrong.
"""

import math

from counterleaf.kernels.compiler import pure, summing
from counterleaf.kernels.memory import grid

CONVERGED, INFEASIBLE, STUCK = 0, 1, 2

_STEPS = 300
_TOLERANCE = 1e-13  # of the terms of a row
_SMALL = 1e-2  # of the largest row's terms: a row whose own terms are smaller is judged by these
_ROUNDING = 1e-12  # below this share of its terms a sum of a few rows counts as zero
_STEEP = 1e300  # the response of a feature without curvature, which a bound stops


@pure
def blend(A, weights, out):
    """out = A' weights."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for t in range(A.shape[0]):
        w = weights[t]
        if w != 0.0:
            for j in range(out.shape[0]):
                out[j] += w * A[t, j]


@pure
def ease(curve, out):
    """How far a feature moves per unit of price: one over its second derivative."""
    for j in range(curve.shape[0]):
        out[j] = 0.5 / curve[j] if curve[j] > 0.0 else _STEEP


@summing
def respond_all(price, cu, gu, cd, gd, ease_up, ease_down, lower, upper, delta, weight):
    """Write every feature's response to its price (see ``separable.respond``), and in ``weight`` how it would move on.

    Returns the sum of phi.
    """
    value = 0.0
    for j in range(price.shape[0]):  # what is chosen from is loaded first: only so are several done at once
        p, gain, loss, up, down, low, high = price[j], gu[j], gd[j], ease_up[j], ease_down[j], lower[j], upper[j]
        rise, fall = p - gain, p - loss
        rise = rise if rise > 0.0 else 0.0
        fall = fall if fall < 0.0 else 0.0
        d = rise * up + fall * down
        d = d if d > low else low
        delta[j] = d if d < high else high
    for j in range(price.shape[0]):
        d, up, down, low, high = delta[j], ease_up[j], ease_down[j], lower[j], upper[j]
        w = up if d > 0.0 else down
        w = w if low < d else 0.0
        w = w if d < high else 0.0
        weight[j] = w if d != 0.0 else 0.0
    for j in range(price.shape[0]):
        d, curve, slope, other_curve, other_slope = delta[j], cu[j], gu[j], cd[j], gd[j]
        curve = curve if d > 0.0 else other_curve
        slope = slope if d > 0.0 else other_slope
        value += (curve * d + slope) * d
    return value


@summing
def sums(A, t, delta):
    """(sum of A[t, j] delta[j], sum of their sizes)."""
    total, size = 0.0, 0.0
    for j in range(delta.shape[0]):
        term = A[t, j] * delta[j]
        total += term
        size += abs(term)
    return total, size


@summing
def _gram(A, free, count, weight, scaled, R):
    """R = A_F D A_F', its lower half."""
    for a in range(count):
        t = free[a]
        for j in range(weight.shape[0]):
            scaled[j] = weight[j] * A[t, j]
        for c in range(a + 1):
            i = free[c]
            total = 0.0
            for j in range(weight.shape[0]):
                total += A[i, j] * scaled[j]
            R[a, c] = total


@summing
def _slope_at(t, price, turn, gu, gd, ease_up, ease_down, lower, upper):
    """(turn @ d, curvature, size of the terms) at the prices ``price`` + t ``turn``."""
    total, bend, size = 0.0, 0.0, 0.0
    for j in range(turn.shape[0]):
        a, gain, loss, up, down, low, high = turn[j], gu[j], gd[j], ease_up[j], ease_down[j], lower[j], upper[j]
        p = price[j] + t * a
        rise, fall = p - gain, p - loss
        rise = rise if rise > 0.0 else 0.0
        fall = fall if fall < 0.0 else 0.0
        d = rise * up + fall * down
        d = d if d > low else low
        d = d if d < high else high
        total += a * d
        size += abs(a * d)
        w = up if d > 0.0 else down
        w = w if low < d else 0.0
        w = w if d < high else 0.0
        w = w if d != 0.0 else 0.0
        bend += a * a * w
    return total, bend, size


@pure
def violation(A, r, equal, delta):
    """The largest miss of a row, as a share of its terms."""
    most, worst = 0.0, 0.0
    for t in range(A.shape[0]):
        most = max(most, abs(r[t]) + sums(A, t, delta)[1])
    for t in range(A.shape[0]):
        total, size = sums(A, t, delta)
        off = abs(r[t] - total) if t < equal else r[t] - total
        share = max(abs(r[t]) + size, _SMALL * most)
        if off > worst * share:
            worst = off / share
    return worst


@pure
def farkas_gap(A, r, equal, lower, upper, ray):
    """How far ``ray`` proves A d >= r empty: ray @ r - max over the box of (A' ray) @ d, over the size of its terms.

    Positive: no d in the box satisfies the rows. Rows with a negative or negligible multiplier count as absent.
    """
    gap, size, largest = 0.0, 0.0, 0.0
    for t in range(A.shape[0]):
        largest = max(largest, abs(ray[t]))
    for t in range(A.shape[0]):
        if (t >= equal and ray[t] < 0.0) or abs(ray[t]) <= 1e-12 * largest:
            ray[t] = 0.0
        gap += ray[t] * r[t]
        size += abs(ray[t] * r[t])
    for j in range(A.shape[1]):
        a = 0.0
        terms = 0.0
        for t in range(A.shape[0]):
            a += ray[t] * A[t, j]
            terms += abs(ray[t] * A[t, j])
        reach = upper[j] if a > 0.0 else lower[j]
        if abs(a) <= _ROUNDING * terms and math.isinf(reach):
            continue
        if math.isinf(reach):
            return -math.inf
        gap -= a * reach
        size += abs(a * reach)
    return gap / size if size > 0.0 else 0.0


@pure
def factor(A, free, count, weight, damping, R, scaled):
    """R R' = A_F D A_F' + damping I on the free rows by Cholesky; False if they are nearly dependent.

    Where rows are nearly parallel the product squares their angle away: then ``orthogonalise`` makes the factor instead.
    ``scaled`` is room for a row.
    """
    _gram(A, free, count, weight, scaled, R)
    for a in range(count):
        R[a, a] += damping
        full = R[a, a]
        for c in range(a):
            total = R[a, c]
            for k in range(c):
                total -= R[a, k] * R[c, k]
            R[a, c] = total / R[c, c]
            full -= R[a, c] * R[a, c]
        if full < 1e-9 * R[a, a] or R[a, a] < 1e-9:  # the latter: no feature of the row can move
            return False
        R[a, a] = math.sqrt(full)
    return True


@pure
def orthogonalise(A, free, count, weight, damping, R, M):
    """The same without forming the product: Gram-Schmidt on D^(1/2) A_F', twice. ``M``: room, (count, features + count)."""
    n = A.shape[1]
    for a in range(count):
        for j in range(n):
            M[a, j] = A[free[a], j] * math.sqrt(weight[j])
        for c in range(count):
            M[a, n + c] = 0.0
        M[a, n + a] = math.sqrt(damping)
        for c in range(a):
            R[a, c] = 0.0
        for again in range(2):
            for c in range(a):
                total = 0.0
                for j in range(n + count):
                    total += M[c, j] * M[a, j]
                R[a, c] += total
                for j in range(n + count):
                    M[a, j] -= total * M[c, j]
        total = 0.0
        for j in range(n + count):
            total += M[a, j] * M[a, j]
        R[a, a] = math.sqrt(total)
        for j in range(n + count):
            M[a, j] /= R[a, a]


@pure
def substitute(R, free, count, gradient, out):
    """Solve R R' out = gradient on the free rows."""
    for a in range(count):
        total = gradient[free[a]]
        for k in range(a):
            total -= R[a, k] * out[k]
        out[a] = total / R[a, a]
    for a in range(count - 1, -1, -1):
        total = out[a]
        for k in range(a + 1, count):
            total -= R[k, a] * out[k]
        out[a] = total / R[a, a]


@pure
def next_break(t, price, turn, gu, gd, cu, cd, lower, upper):
    """The next t' > t at which the response of some feature changes its piece; inf if there is none."""
    first = math.inf
    for j in range(turn.shape[0]):
        a = turn[j]
        if a == 0.0:
            continue
        for edge in range(4):
            if edge == 0:
                level = gu[j]
            elif edge == 1:
                level = gd[j]
            elif edge == 2:
                level = gu[j] + 2.0 * cu[j] * upper[j] if upper[j] > 0.0 else gd[j] + 2.0 * cd[j] * upper[j]
            else:
                level = gd[j] + 2.0 * cd[j] * lower[j] if lower[j] < 0.0 else gu[j] + 2.0 * cu[j] * lower[j]
            at = (level - price[j]) / a
            if t < at < first:
                first = at
    return first


@pure
def _line_search(price, turn, rise, ascent, sound, reach, cu, gu, cd, gd, ease_up, ease_down, lower, upper):
    """The maximiser of q on 0 <= t <= reach along a direction with prices ``turn``; inf if q grows for ever.

    The slope rise - turn @ d(price + t turn), ``ascent`` at t = 0, falls monotonically and is piecewise linear:
    Newton on it inside a bracket ends at its root. Invariant: slope(low) > 0 >= slope(high).
    """
    low, high, nudged = 0.0, math.inf, False
    t = min(1.0, reach)
    if not sound:  # a step that damping alone holds back: no root lies before ascent / most, so start there
        most = 0.0
        for j in range(turn.shape[0]):
            a = turn[j]
            if a != 0.0:
                bend = min(cu[j] if upper[j] > 0.0 else math.inf, cd[j] if lower[j] < 0.0 else math.inf)
                most += 0.5 * a * a / bend
        if ascent < 1e-3 * most * t:
            t = min(ascent / most, t)
    for trial in range(200):
        total, bend, size = _slope_at(t, price, turn, gu, gd, ease_up, ease_down, lower, upper)
        slope = rise - total
        size += abs(rise)
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
        if bend > 0.0:
            t += slope / bend
        elif slope > 0.0:
            t = next_break(low, price, turn, gu, gd, cu, cd, lower, upper)
            if t == math.inf and reach == math.inf and high == math.inf:
                if nudged:
                    return math.inf
                t = low  # it may stand exactly on the last break: one look behind it
                nudged = True
            t *= 1.0 + 1e-12
        else:
            t = low
        if not low < t < high:
            t = 0.5 * (low + high) if high < math.inf else 2.0 * low + 1e-300
        t = min(t, reach)
    return low if low > 0.0 else t


@pure
def newton(A, r, equal, cu, gu, cd, gd, lower, upper, lam, delta, ray, space, at):
    """Solve the problem above from the multipliers ``lam``; every phi_j must be curved where it can move.

    Returns (CONVERGED, q) with the solution in ``lam`` and ``delta``; (INFEASIBLE, inf) with a Farkas
    vector in ``ray``; or (STUCK, q) where rounding stops progress: q is still a valid lower bound.
    The room of ``space`` from ``at`` on is used, (2 m n + 6 n + 3 m m + 4 m) numbers.
    """
    m, n = A.shape
    real, free = space.real, space.whole[:m]
    wide, tall, R = grid(real, at, 6, n), grid(real, at + 6 * n, 4, m), grid(real, at + 6 * n + 4 * m, m, m)
    at += 6 * n + 4 * m + m * m
    price, turn, weight, terms, ease_up, ease_down = wide[0], wide[1], wide[2], wide[3], wide[4], wide[5]
    gradient, size, step, best = tall[0], tall[1], tall[2], tall[3]
    best_value, idle, damping = -math.inf, 0, 1e-14
    ease(cu, ease_up)
    ease(cd, ease_down)
    for iteration in range(_STEPS):
        blend(A, lam, price)
        value = respond_all(price, cu, gu, cd, gd, ease_up, ease_down, lower, upper, delta, weight)
        for t in range(m):
            total, terms_of = sums(A, t, delta)
            gradient[t], size[t] = r[t] - total, abs(r[t]) + terms_of
        most = 0.0
        for t in range(m):
            value += lam[t] * gradient[t]
            most = max(most, size[t])
        solved = True
        for t in range(m):
            size[t] = max(size[t], _SMALL * most)
            off = abs(gradient[t]) if t < equal or lam[t] > 0.0 else gradient[t]
            # a warm start must be as good as rounding allows: a row moved by its rounding error is to be noticed
            solved = solved and off <= (_TOLERANCE if iteration > 0 else 1e-16) * size[t]
        if value - best_value > 1e-15 * abs(value) or solved:
            best_value, idle = value, 0
            for t in range(m):
                best[t] = lam[t]
        else:
            idle += 1
        if solved:
            return CONVERGED, value
        if idle >= 4:
            break
        count = 0
        for t in range(m):
            if t < equal or lam[t] > 0.0 or gradient[t] > _TOLERANCE * size[t]:
                free[count] = t
                count += 1
        while True:
            sound = factor(A, free, count, weight, damping, R, turn)
            if not sound:
                orthogonalise(A, free, count, weight, damping, R, grid(real, at, count, n + count))
            substitute(R, free, count, gradient, step)
            kept = 0  # a row at lam = 0 that the direction would push below leaves the free set
            for a in range(count):
                if free[a] < equal or lam[free[a]] > 0.0 or step[a] > 0.0:
                    free[kept] = free[a]
                    kept += 1
            if kept == count:
                break
            count = kept
        reach, hit = math.inf, -1
        rise, ascent = 0.0, 0.0
        for t in range(m):
            ray[t] = 0.0
        for a in range(count):
            t = free[a]
            ray[t] = step[a]
            rise += step[a] * r[t]
            ascent += step[a] * gradient[t]
            if t >= equal and step[a] < 0.0 and -lam[t] / step[a] < reach:
                reach, hit = -lam[t] / step[a], t
        for j in range(n):
            turn[j], terms[j] = 0.0, 0.0
        for a in range(count):
            for j in range(n):
                term = step[a] * A[free[a], j]
                turn[j] += term
                terms[j] += abs(term)
        for j in range(n):
            if abs(turn[j]) <= 1e-2 * _ROUNDING * terms[j]:
                turn[j] = 0.0
        t_best = _line_search(price, turn, rise, ascent, sound, reach, cu, gu, cd, gd, ease_up, ease_down, lower, upper)
        if t_best == math.inf:
            if farkas_gap(A, r, equal, lower, upper, ray) > 1e-12:
                return INFEASIBLE, math.inf
            return STUCK, best_value
        largest = 0.0
        for a in range(count):
            t = free[a]
            lam[t] += t_best * step[a]
            largest = max(largest, abs(lam[t]))
            if t == hit and t_best >= reach:
                lam[t] = 0.0
        for t in range(equal, m):
            if lam[t] <= 1e-16 * largest:  # rounding of a row that has let go
                lam[t] = 0.0
        if t_best < 1e-2:
            damping = min(1.0, damping * 100.0)
        elif t_best > 0.5:
            damping = max(1e-14, damping * 1e-2)
    # Rounding, not the method, ends here. Prices made of large multipliers that cancel cannot place the point any
    # better, but small corrections to the point itself can: they never meet the large numbers.
    for t in range(m):
        lam[t], ray[t] = best[t], best[t]
    if farkas_gap(A, r, equal, lower, upper, ray) > 1e-12:
        return INFEASIBLE, math.inf
    blend(A, lam, price)
    respond_all(price, cu, gu, cd, gd, ease_up, ease_down, lower, upper, delta, weight)
    count, largest = 0, 0.0
    for t in range(m):
        largest = max(largest, abs(lam[t]))
    for t in range(m):
        if t < equal or lam[t] > 1e-12 * largest:
            free[count] = t
            count += 1
    for again in range(3):
        for t in range(m):
            gradient[t] = r[t] - sums(A, t, delta)[0]
        if not factor(A, free, count, weight, 1e-14, R, turn):
            orthogonalise(A, free, count, weight, 1e-14, R, grid(real, at, count, n + count))
        substitute(R, free, count, gradient, step)
        for j in range(n):
            if weight[j] > 0.0:
                move = 0.0
                for a in range(count):
                    move += step[a] * A[free[a], j]
                delta[j] = min(max(delta[j] + weight[j] * move, lower[j]), upper[j])
    return (CONVERGED if violation(A, r, equal, delta) <= 1e-11 else STUCK), best_value
