"""Bounded dual simplex for one region's problem where no feature's cost is curved (pure L1, linear).

The problem is that of ``newton`` with phi_j piecewise linear: slope_down on [lower, k], slope_up on
[k, upper], with k the point of the box nearest to 0. Row t has a slack, A d - s = r, s >= 0 (s = 0 on
the first ``equal`` rows). A feature outside the basis has a seat: -1 at lower, 0 at k, 1 at upper; one in
the basis lies on its down (-1) or up (1) segment, so its price equals that slope. ``basis[i]`` is a
feature j, or -1 - t for the slack of row t. The bases hold few features, so the inverse is made afresh
at each pivot: multipliers never drift.
"""

import math

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.memory import grid
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE, STUCK, blend, farkas_gap
from counterleaf.kernels.separable import charge

_PIVOTS = 500
_GREEDY = 100  # pivots that leave by the largest violation; after that by the first, lest they cycle
_TOLERANCE = 1e-13
_ROUNDING = 1e-13
BASIC = 2


@pure
def invert(B, m, out):
    """Gauss-Jordan with partial pivoting on the first m rows and columns; destroys B; False if it is singular to rounding."""
    for i in range(m):
        for k in range(m):
            out[i, k] = 1.0 if i == k else 0.0
    for c in range(m):
        pivot = c
        for i in range(c + 1, m):
            if abs(B[i, c]) > abs(B[pivot, c]):
                pivot = i
        if abs(B[pivot, c]) < 1e-13:
            return False
        if pivot != c:
            for k in range(m):
                B[c, k], B[pivot, k] = B[pivot, k], B[c, k]
                out[c, k], out[pivot, k] = out[pivot, k], out[c, k]
        inverse = 1.0 / B[c, c]
        for k in range(m):
            B[c, k] *= inverse
            out[c, k] *= inverse
        for i in range(m):
            factor = B[i, c]
            if i != c and factor != 0.0:
                for k in range(m):
                    B[i, k] -= factor * B[c, k]
                    out[i, k] -= factor * out[c, k]
    return True


@pure
def _invert_basis(A, basis, tight, inner, K, small, inverse):
    """The inverse of the basis: that of its features on the rows whose slack is not in it, and what follows for the other rows.

    ``tight``, ``inner``, ``K``, ``small`` are room for those rows, the places of those features, their matrix and its inverse.
    """
    m, k = basis.shape[0], 0
    for t in range(m):
        tight[t] = -1
        for i in range(m):
            inverse[t, i] = 0.0
    for i in range(m):
        if basis[i] >= 0:
            inner[k] = i
            k += 1
        else:
            tight[-1 - basis[i]] = 0
    rows = 0
    for t in range(m):
        if tight[t] < 0:
            tight[rows] = t
            rows += 1
    for a in range(k):
        for b in range(k):
            K[a, b] = A[tight[a], basis[inner[b]]]
    if not invert(K, k, small):
        return False
    for b in range(k):
        for a in range(k):
            inverse[inner[b], tight[a]] = small[b, a]
    for i in range(m):
        if basis[i] < 0:
            t = -1 - basis[i]
            inverse[i, t] = -1.0
            for b in range(k):
                x = A[t, basis[inner[b]]]
                if x != 0.0:
                    for a in range(k):
                        inverse[i, tight[a]] += x * small[b, a]
    return True


@pure
def blend_sizes(A, weights, out):
    """out = |A|' |weights|: the size of the terms of ``blend``."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for t in range(A.shape[0]):
        w = weights[t]
        if w != 0.0:
            for j in range(out.shape[0]):
                out[j] += abs(w * A[t, j])


@pure
def _earlier(at, item, turn, a, b):
    """Order of thresholds: by step; of equal steps the one with the larger pivot, for a well-conditioned basis."""
    if at[a] != at[b]:
        return at[a] < at[b]
    return abs(turn[item[a]]) > abs(turn[item[b]])


@pure
def _sift(at, item, turn, hole, size):
    """Restore the heap order below ``hole``."""
    while True:
        below = 2 * hole + 1
        if below >= size:
            break
        if below + 1 < size and _earlier(at, item, turn, below + 1, below):
            below += 1
        if not _earlier(at, item, turn, below, hole):
            break
        at[hole], at[below] = at[below], at[hole]
        item[hole], item[below] = item[below], item[hole]
        hole = below


@pure
def _step_to(level, price, turn):
    """The step at which a price reaches a level; what is behind, or ahead only by rounding, is here."""
    t = (level - price) / turn
    return t if t > 1e-13 else 0.0


@pure
def dual_value(A, r, cu, gu, cd, gd, lower, upper, lam, price, terms):
    """q(lam) of ``newton``'s docstring for any phi; minus infinity only where a price truly leaves its slopes.

    ``price`` and ``terms`` are room for a number per feature.
    """
    value = 0.0
    for t in range(A.shape[0]):
        value += lam[t] * r[t]
    blend(A, lam, price)
    blend_sizes(A, lam, terms)
    for j in range(A.shape[1]):
        p = price[j]
        if p > gu[j]:
            d = (p - gu[j]) / (2.0 * cu[j]) if cu[j] > 0.0 else math.inf
        elif p < gd[j]:
            d = (p - gd[j]) / (2.0 * cd[j]) if cd[j] > 0.0 else -math.inf
        else:
            d = 0.0
        d = min(max(d, lower[j]), upper[j])
        if d == 0.0:
            continue
        if math.isinf(d):
            excess = p - gu[j] if d > 0.0 else gd[j] - p
            if excess > 1e-12 * (terms[j] + abs(gu[j]) + abs(gd[j])):
                return -math.inf
            d = min(max(0.0, lower[j]), upper[j])
            p = gu[j] if p > gu[j] else gd[j]
        value += charge(d, cu[j], gu[j], cd[j], gd[j]) - p * d
    return value


@pure
def _is_tight(basis, t):
    """True if the slack of row t is not in the basis."""
    tight = True
    for i in range(basis.shape[0]):
        tight = tight and basis[i] != -1 - t
    return tight


@pure
def simplex(A, r, equal, gu, gd, lower, upper, basis, segment, seat, lam, delta, ray, space, at):
    """Solve from a basis whose prices respect every unbounded feature (seats all at 0 and slacks basic: prices 0).

    Returns CONVERGED with ``lam`` and ``delta``, INFEASIBLE with a Farkas vector in ``ray``, or STUCK
    with the last ``lam``, whose dual value is still a valid lower bound. The room of ``space`` from ``at`` on is used,
    (3 m m + 2 m + 5 n + 1) numbers, and that for whole ones but the first 4 m + n.
    """
    m, n = A.shape
    real, whole, w = space.real, space.whole, 4 * m + n
    inverse, K, small = grid(real, at, m, m), grid(real, at + m * m, m, m), grid(real, at + 2 * m * m, m, m)
    at += 3 * m * m
    tall, wide, steps = grid(real, at, 2, m), grid(real, at + 2 * m, 3, n), real[at + 2 * m + 3 * n : at + 2 * m + 5 * n + 1]
    rest, rho, price, turn, terms = tall[0], tall[1], wide[0], wide[1], wide[2]
    tight, inner, item = whole[w : w + m], whole[w + m : w + 2 * m], whole[w + 2 * m : w + 2 * m + 2 * n + 1]
    for pivot in range(_PIVOTS):
        if not _invert_basis(A, basis, tight, inner, K, small, inverse):
            return STUCK
        for t in range(m):
            lam[t] = 0.0
            rest[t] = r[t]
        for i in range(m):
            if basis[i] >= 0:
                slope = gu[basis[i]] if segment[i] > 0 else gd[basis[i]]
                for t in range(m):
                    lam[t] += slope * inverse[i, t]
        for j in range(n):
            if seat[j] == BASIC:
                continue
            d = min(max(0.0, lower[j]), upper[j]) if seat[j] == 0 else upper[j] if seat[j] > 0 else lower[j]
            delta[j] = d
            if d != 0.0:
                for t in range(m):
                    rest[t] -= A[t, j] * d
        noise = 0.0
        for t in range(m):
            noise = max(noise, 1e-15 * abs(rest[t]))
        # leave: the basic variable furthest outside its segment
        leave, below, worst = -1, False, 0.0
        for i in range(m):
            total, size, spread = 0.0, 0.0, 0.0
            for t in range(m):
                spread = max(spread, abs(inverse[i, t]))
                total += inverse[i, t] * rest[t]
                size += abs(inverse[i, t] * rest[t])
            j = basis[i]
            if j >= 0:
                kink = min(max(0.0, lower[j]), upper[j])
                least = kink if segment[i] > 0 else lower[j]
                most = upper[j] if segment[i] > 0 else kink
                delta[j] = min(max(total, least), most)
            else:
                least, most = 0.0, (0.0 if -1 - j < equal else math.inf)
            if leave >= 0 and pivot > _GREEDY:
                continue
            if least - total > max(worst, _TOLERANCE * (size + abs(least)), spread * noise):
                leave, below, worst = i, True, least - total
            if total - most > max(worst, _TOLERANCE * (size + abs(most)), spread * noise):
                leave, below, worst = i, False, total - most
        if leave < 0:
            for t in range(equal, m):
                lam[t] = max(lam[t], 0.0)
            return CONVERGED
        # ratio test: lam moves along rho, the price of the leaving variable falls (below) or rises
        sign = -1.0 if below else 1.0
        largest = 0.0
        for t in range(m):
            rho[t] = sign * inverse[leave, t]
            largest = max(largest, abs(rho[t]))
        for t in range(m):
            if abs(rho[t]) <= _ROUNDING * largest:
                rho[t] = 0.0  # noise, but it would offer pivots of its own size
        blend(A, rho, turn)
        blend_sizes(A, rho, terms)
        blend(A, lam, price)
        count = 0
        for j in range(n):
            a, p = turn[j], price[j]
            if seat[j] == BASIC or abs(a) <= _ROUNDING * terms[j]:
                turn[j] = 0.0
                continue
            # the thresholds ahead of the price, with the segment each one releases
            if a > 0.0:
                if seat[j] < 0:
                    steps[count], item[count] = _step_to(gd[j], p, a), j
                    count += 1
                if seat[j] <= 0:
                    steps[count], item[count] = _step_to(gu[j], p, a), j
                    count += 1
            else:
                if seat[j] > 0:
                    steps[count], item[count] = _step_to(gu[j], p, a), j
                    count += 1
                if seat[j] >= 0:
                    steps[count], item[count] = _step_to(gd[j], p, a), j
                    count += 1
        out = basis[leave]
        if out >= 0:
            turn[out] = sign
            seat[out] = (0 if segment[leave] > 0 else -1) if below else (1 if segment[leave] > 0 else 0)
            if seat[out] == 0:  # the price may run on from one kink slope to the other
                steps[count], item[count] = gu[out] - gd[out], out
                count += 1
        stop, slack = math.inf, -1
        for t in range(equal, m):
            if rho[t] < 0.0 and _is_tight(basis, t):
                bound = max(lam[t] / -rho[t], 0.0)
                if bound < stop:
                    stop, slack = bound, t
        for hole in range(count // 2 - 1, -1, -1):
            _sift(steps, item, turn, hole, count)
        enter = -1
        slope = worst
        while count > 0 and steps[0] < stop:
            j = item[0]
            count -= 1
            steps[0], item[0] = steps[count], item[count]
            _sift(steps, item, turn, 0, count)
            kink = min(max(0.0, lower[j]), upper[j])
            if turn[j] > 0.0:
                span = upper[j] - kink if seat[j] == 0 else kink - lower[j]
            else:
                span = kink - lower[j] if seat[j] == 0 else upper[j] - kink
            slope -= abs(turn[j]) * span
            if slope <= _TOLERANCE * worst:
                enter = j
                break
            seat[j] += 1 if turn[j] > 0.0 else -1  # long step: pass this threshold
        if enter >= 0:
            rising = turn[enter] > 0.0
            segment[leave] = 1 if (seat[enter] == 0) == rising else -1
            seat[enter] = BASIC
            basis[leave] = enter
        elif slack >= 0:
            basis[leave], segment[leave] = -1 - slack, 0
        else:
            for t in range(m):
                ray[t] = rho[t]
            return INFEASIBLE if farkas_gap(A, r, equal, lower, upper, ray) > 1e-12 else STUCK
    for t in range(equal, m):
        lam[t] = max(lam[t], 0.0)
    return STUCK
