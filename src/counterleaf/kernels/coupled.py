"""One region's problem where the cost couples features: block principal pivoting on its optimality conditions.

    min  z' P z + sum_j phi_j(z_j) + pull_j (z_j - centre_j)^2   s.t.  A z >= r (= on the first ``equal``), low <= z <= high

A feature stands at its low end, on the down side of phi, at the kink of phi in 0, on the up side, or at its high end;
a row is active or not. Given all of that the conditions are one linear system, solved by a banded Cholesky factor of the
free features (P comes in an order that keeps the band narrow) and a small orthogonal basis of the active rows. Whatever then
stands on the wrong piece changes it, all at once while that leaves fewer of them, else one at a time. When nothing is wrong,
the point is the optimum.

Any lam >= 0 and any y prove a bound, since z' P z >= theta z' z + 2 y' (P - theta) z - y' (P - theta) y where P - theta
is positive semidefinite: the rest is the separable dual of ``newton``.
"""

import math

import numpy as np

from counterleaf.kernels.band import backward, bandwidth, factor, forward, multiply
from counterleaf.kernels.best_first import narrow
from counterleaf.kernels.compiler import kernel, pure
from counterleaf.kernels.newton import CONVERGED, STUCK
from counterleaf.kernels.region import collect, exact_score
from counterleaf.kernels.separable import charge, respond

LOW, DOWN, KINK, UP, HIGH = -2, -1, 0, 1, 2  # the pieces
CUT = 9  # status: the bound passed the level at which the caller has better things to do

_ROUNDING = 1e-13  # a sign smaller than this share of its terms is no sign
_PATIENCE = 12  # rounds without fewer wrong pieces before they change one at a time
_KEPT = 1e-11  # a row misses by more than this share of its terms, or it holds
_LOST = 1e-13  # of the terms of a bound: what rounding may have added to it, and more
_PIVOT = 1e-11  # a row that the other active ones explain to this share is left out of the system


@kernel
def gather(q, order, pool, state):
    """The region of ``state`` as (A in CSR, r, norm, box), and (piece, lam, z) from which to start.

    Rows have unit length, features are scaled and in elimination order.

    ``box`` is (8, n): curve and slope up, curve and slope down, low, high, and low and high as changes in table units.
    """
    m = pool.states[state].rows
    row, sign = np.empty(m, np.int64), np.empty(m)
    collect(q, pool.states, state, row, sign)
    n = order.shape[0]
    f = q.features
    lower, upper = f[1].copy(), f[2].copy()
    narrow(q, pool.states, state, lower, upper)
    place, piece, z = np.empty(n, np.int64), np.empty(n, np.int8), np.empty(n)
    box = np.empty((8, n))
    for j in range(n):
        d = order[j]
        s = f[7, d]
        place[d] = j
        piece[j], z[j] = pool.seats[state, d], pool.delta[state, d] * s
        box[0, j], box[1, j] = f[3, d] / (s * s), f[4, d] / s
        box[2, j], box[3, j] = f[5, d] / (s * s), f[6, d] / s
        box[6, j], box[7, j] = lower[d] - f[0, d], upper[d] - f[0, d]
        box[4, j], box[5, j] = box[6, j] * s, box[7, j] * s
    users = q.bias.shape[0] - q.nodes.shape[0]
    start, r, norm, lam = np.zeros(m + 1, np.int64), np.empty(m), np.empty(m), np.empty(m)
    for t in range(m):
        start[t + 1] = start[t] + q.indptr[row[t] + 1] - q.indptr[row[t]]
    column, value = np.empty(start[m], np.int64), np.empty(start[m])
    for t in range(m):
        length = 0.0
        for k in range(start[t], start[t + 1]):
            at = q.indptr[row[t]] + k - start[t]
            column[k] = place[q.indices[at]]
            value[k] = sign[t] * q.data[at] / f[7, q.indices[at]]
            length += value[k] * value[k]
        norm[t] = math.sqrt(length) if length > 0.0 else 1.0
        offset = (q.margin if t >= users else 0.0) + pool.lam[state, 1, t]
        r[t] = (offset - sign[t] * exact_score(q, row[t])) / norm[t]
        lam[t] = pool.lam[state, 0, t] * norm[t]
        for k in range(start[t], start[t + 1]):
            value[k] /= norm[t]
    return start, column, value, r, norm, box, piece, lam, z


@pure
def scatter(q, order, pool, state, box, piece, z):
    """Write the pieces and the point back, ends of the box bit for bit."""
    for j in range(order.shape[0]):
        d = order[j]
        pool.seats[state, d] = piece[j]
        if z[j] == box[4, j]:
            pool.delta[state, d] = box[6, j]
        elif z[j] == box[5, j]:
            pool.delta[state, d] = box[7, j]
        else:
            pool.delta[state, d] = z[j] / q.features[7, d]


@pure
def _miss(rows, t, r, z):
    """(a @ z - r of row t, size of its terms)."""
    start, column, value = rows
    total, size = -r[t], abs(r[t])
    for k in range(start[t], start[t + 1]):
        term = value[k] * z[column[k]]
        total += term
        size += abs(term)
    return total, size


@pure
def _prices(rows, lam, price, size):
    """Add A' lam to ``price`` and the size of its terms to ``size``."""
    start, column, value = rows
    for t in range(lam.shape[0]):
        if lam[t] != 0.0:
            for k in range(start[t], start[t + 1]):
                term = value[k] * lam[t]
                price[column[k]] += term
                size[column[k]] += abs(term)


@pure
def prove(rows, r, equal, P, theta, box, z, lam, price, size):
    """The bound that ``lam`` (made nonnegative here) and the tangent at z prove; ``price`` and ``size`` are scratch.

    Less what rounding may have added; minus infinity where that is more than a share of the bound, as with a z far out
    in a direction that costs nothing.
    """
    indptr, indices, data = P
    total, error = 0.0, 0.0
    for t in range(lam.shape[0]):
        if t >= equal:
            lam[t] = max(lam[t], 0.0)
        total += lam[t] * r[t]
        error += abs(lam[t] * r[t])
    for j in range(z.shape[0]):
        slope, terms = -theta * z[j], theta * abs(z[j])
        for k in range(indptr[j], indptr[j + 1]):
            term = data[k] * z[indices[k]]
            slope += term
            terms += abs(term)
        total -= slope * z[j]
        error += terms * abs(z[j])
        price[j], size[j] = -2.0 * slope, 2.0 * terms
    _prices(rows, lam, price, size)
    for j in range(z.shape[0]):
        cu, gu, cd, gd = box[0, j] + theta, box[1, j], box[2, j] + theta, box[3, j]
        noise = 1e-13 * (size[j] + abs(gu) + abs(gd))  # free and unbounded: a price that is only rounding costs nothing
        if cu == 0.0 and box[5, j] == math.inf and gu < price[j] <= gu + noise:
            price[j] = gu
        if cd == 0.0 and box[4, j] == -math.inf and gd - noise <= price[j] < gd:
            price[j] = gd
        d = respond(price[j], cu, gu, cd, gd, box[4, j], box[5, j])
        if abs(d) == math.inf:
            return -math.inf
        total += charge(d, cu, gu, cd, gd) - price[j] * d
        error += (size[j] + abs(gu) + abs(gd)) * abs(d)
    if _LOST * error > 1e-5 * abs(total):
        return -math.inf
    return total - 0.1 * _LOST * error


@pure
def _lay_out(P, piece, cu, cd, pull, low, high, z, free, place, diagonal, reach):
    """Put the features on their pieces (free ones at 0) and list the free ones; returns how many, and their bandwidth."""
    indptr, indices, _ = P
    f = 0
    for j in range(piece.shape[0]):
        place[j] = -1
        z[j] = 0.0
        if piece[j] == UP or piece[j] == DOWN:
            free[f], place[j] = j, f
            diagonal[f] = 2.0 * (cu[j] if piece[j] == UP else cd[j]) + 2.0 * pull[j]
            f += 1
        elif piece[j] != KINK:
            z[j] = low[j] if piece[j] == LOW else high[j]
    lowest, width = 0, 1
    for i in range(f):
        for k in range(indptr[free[i]], indptr[free[i] + 1]):
            lowest = max(lowest, place[indices[k]])
        reach[i] = max(lowest, i) - i + 1
        width = max(width, reach[i])
    return f, width


@pure
def _span(rows, active, f, place, reach, B, X, S, used):
    """Orthonormal X with L^-1 A' = X' S' for the active rows; returns how many. One that others explain stays out."""
    begin, column, value = rows
    a = 0
    for t in range(active.shape[0]):
        if not active[t]:
            continue
        x = X[a, :f]
        for i in range(f):
            x[i] = 0.0
        for k in range(begin[t], begin[t + 1]):
            if place[column[k]] >= 0:
                x[place[column[k]]] = value[k]
        forward(reach, B, x)
        own, left = _square(x), math.inf
        for b in range(a):
            S[a, b] = 0.0
        while left == math.inf or (left < 1e-4 * own and left > _PIVOT * own):  # a second pass where the first lost digits
            lost = left < math.inf
            for b in range(a):
                s = 0.0
                for i in range(f):
                    s += x[i] * X[b, i]
                for i in range(f):
                    x[i] -= s * X[b, i]
                S[a, b] += s
            left = _square(x)
            if lost:
                break
        if left > _PIVOT * own and own > 1e-20:
            S[a, a] = math.sqrt(left)
            for i in range(f):
                x[i] /= S[a, a]
            used[a] = t
            a += 1
    return a


@pure
def _square(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


@kernel
def pivot(rows, r, equal, P, theta, box, pull, centre, cut, steps, piece, lam, z, best_lam, best_y):
    """Pivot from the pieces, multipliers and point given; returns (status, best bound).

    ``z`` and ``lam`` get the last point and multipliers, ``best_lam`` and ``best_y`` what proves the bound. Stops as CUT once
    the bound exceeds ``cut``.
    """
    m, n = r.shape[0], z.shape[0]
    begin, column, value = rows
    cu, gu, cd, gd, low, high = box[0], box[1], box[2], box[3], box[4], box[5]
    active, switch, turned = np.empty(m, np.bool_), np.empty(m, np.bool_), np.empty(n, np.int8)
    for t in range(m):
        miss, terms = _miss(rows, t, r, z)
        active[t] = t < equal or lam[t] > 0.0 or miss < -1e-9 * terms
    free, place, reach = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    diagonal, Pz, price, size = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    B, X = np.empty((n, bandwidth(P))), np.empty((m + 1, n))
    used = np.empty(m, np.int64)
    S, target, change, known = np.empty((m, m)), np.empty(m), np.empty(m), np.empty(m)
    f, a = 0, 0
    bound, status = -math.inf, STUCK
    fewest, patience = n + m + 1, _PATIENCE
    again = False  # the pieces are those of the last step: only its residual is left to solve for
    for step in range(steps):
        if not again:
            f, width = _lay_out(P, piece, cu, cd, pull, low, high, z, free, place, diagonal, reach)
            if not factor(P, free[:f], place, diagonal, reach, width, B, price, size):
                break
            a = _span(rows, active, f, place, reach, B, X, S, used)
            for t in range(m):
                lam[t] = 0.0
        w = X[a, :f]
        for sweep in range(2 if again or pull[0] > 0.0 else 1):
            # K z = A' lam - slopes and A z = r, for the residual of what is there
            multiply(P, z, Pz)
            for i in range(f):
                j = free[i]
                curve, slope = (cu[j], gu[j]) if piece[j] == UP else (cd[j], gd[j])
                w[i] = -2.0 * Pz[j] - 2.0 * curve * z[j] - slope - 2.0 * pull[j] * (z[j] - centre[j])
            for b in range(a):
                for k in range(begin[used[b]], begin[used[b] + 1]):
                    if place[column[k]] >= 0:
                        w[place[column[k]]] += value[k] * lam[used[b]]
            forward(reach, B, w)
            for b in range(a):
                total = -_miss(rows, used[b], r, z)[0]
                for c in range(b):
                    total -= S[b, c] * target[c]
                target[b] = total / S[b, b]
            for b in range(a):  # L^-1 A' = X' S': w moves along X until the rows hold
                s = 0.0
                for i in range(f):
                    s += X[b, i] * w[i]
                change[b] = target[b] - s
                for i in range(f):
                    w[i] += change[b] * X[b, i]
            for b in range(a - 1, -1, -1):
                for c in range(b + 1, a):
                    change[b] -= S[c, b] * change[c]
                change[b] /= S[b, b]
                lam[used[b]] += change[b]
            backward(reach, B, w)
            for i in range(f):
                z[free[i]] += w[i]
        multiply(P, z, Pz)
        for t in range(m):
            known[t] = lam[t]
        proved = prove(rows, r, equal, P, theta, box, z, known, price, size)
        if proved > bound or step == 0:
            bound = proved
            for t in range(m):
                best_lam[t] = known[t]
            for j in range(n):
                best_y[j] = z[j]
        for j in range(n):
            total = 2.0 * Pz[j] + 2.0 * pull[j] * (z[j] - centre[j])
            price[j], size[j] = -total, abs(total)
        _prices(rows, lam, price, size)
        wrong, last = 0, -1
        for j in range(n):
            turned[j] = _turned(piece[j], price[j], size[j], z[j], cu[j], gu[j], cd[j], gd[j], low[j], high[j])
        for t in range(m):
            switch[t] = active[t]
            miss, terms = _miss(rows, t, r, z)
            if not active[t]:
                switch[t] = miss < -_ROUNDING * terms
            elif lam[t] != 0.0:
                switch[t] = t < equal or lam[t] > 0.0
            elif miss < -_KEPT * terms or (t < equal and miss > _KEPT * terms):
                wrong += 1
                for j in range(n):  # no free feature can mend this row: free them all
                    if low[j] < high[j] and piece[j] != UP and piece[j] != DOWN:
                        turned[j] = UP if z[j] >= 0.0 else DOWN
            if switch[t] != active[t]:
                wrong, last = wrong + 1, n + t
        for j in range(n):
            if turned[j] != piece[j]:
                wrong += 1
                last = max(last, j)
        if wrong == 0 and again:
            status = CONVERGED
            break
        again = wrong == 0
        if again:
            continue
        if last < 0:
            break  # a row fails and nothing can help it
        if wrong < fewest:
            fewest, patience = wrong, _PATIENCE
        else:
            patience -= 1
        for j in range(n):
            if patience > 0 or j == last:
                piece[j] = turned[j]
        for t in range(m):
            if patience > 0 or n + t == last:
                active[t] = switch[t]
        if bound > cut:
            status = CUT
            break
    return status, bound


@pure
def _turned(piece, price, size, z, cu, gu, cd, gd, low, high):
    """The piece on which a feature should stand, given its price there."""
    if low >= high:
        return LOW
    if piece in (UP, DOWN):
        if z < low:
            return LOW
        if z > high:
            return HIGH
        if piece == UP and z < 0.0:
            return KINK if gu > gd else DOWN
        if piece == DOWN and z > 0.0:
            return KINK if gu > gd else UP
        return piece
    if piece == KINK and (low > 0.0 or high < 0.0):  # a box narrowed since
        return LOW if low > 0.0 else HIGH
    at = 0.0 if piece == KINK else (low if piece == LOW else high)
    noise = _ROUNDING * size
    up = 2.0 * cu * at + gu if at >= 0.0 else 2.0 * cd * at + gd  # the slope to the right, then to the left
    down = 2.0 * cd * at + gd if at <= 0.0 else 2.0 * cu * at + gu
    noise += _ROUNDING * (abs(up) + abs(down))
    if piece != HIGH and price > up + noise:
        return UP if at >= 0.0 else DOWN
    if piece != LOW and price < down - noise:
        return DOWN if at <= 0.0 else UP
    return piece
