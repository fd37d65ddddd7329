"""One region's problem where some features' costs are curved and others are flat: proximal points, then exact.

Adding c (d - centre)^2 to a flat feature keeps phi's form (its slopes fall by 2 c centre), so ``newton`` applies; moving
the centre to each answer leads to the optimum. Long before it gets there, the answer shows which rows are tight
and which flat features rest between their kinks. Those name one small linear system whose solution is exact.
"""

import math

import numpy as np
from numba import njit

from counterleaf.kernels.newton import CONVERGED, INFEASIBLE, STUCK, newton, violation
from counterleaf.kernels.separable import charge, respond
from counterleaf.kernels.simplex import dual_value, invert

_OUTER = 60


@njit(cache=True, nogil=True)
def proximal(A, r, equal, cu, gu, cd, gd, lower, upper, lam, delta, ray):
    """Solve the problem of ``newton`` with phi_j of any kind; returns its statuses."""
    m, n = A.shape
    u, v, s, w, centre, size = cu.copy(), gu.copy(), cd.copy(), gd.copy(), np.empty(n), np.empty(n)
    exact_lam, exact_delta = np.empty(m), np.empty(n)
    for j in range(n):
        centre[j] = min(max(0.0, lower[j]), upper[j])
        size[j] = 0.0
        for t in range(m):
            size[j] = max(size[j], A[t, j] * A[t, j])
    c = 1.0
    status = STUCK
    for outer in range(_OUTER):
        c = max(0.1 * c, 1e-5)
        for j in range(n):
            if cu[j] == 0.0 or cd[j] == 0.0:
                pull = c * size[j]
                u[j], s[j] = cu[j] + pull, cd[j] + pull
                v[j], w[j] = gu[j] - 2.0 * pull * centre[j], gd[j] - 2.0 * pull * centre[j]
        status, _ = newton(A, r, equal, u, v, s, w, lower, upper, lam, delta, ray)
        if status == INFEASIBLE:
            return INFEASIBLE
        largest, rhs = 0.0, 0.0
        for t in range(m):
            largest, rhs = max(largest, abs(lam[t])), max(rhs, abs(r[t]))
        # which rows count as tight? rows of size 1: lam is of the size of r; a slow pull leaves more than rounding
        tight = max((1e-9, 1e-7, 1e-5)[outer % 3] * largest, 1e-13 * rhs)
        for t in range(m):
            exact_lam[t] = lam[t] if abs(lam[t]) > tight else 0.0
        for j in range(n):
            centre[j] = delta[j]
        if _optimal(A, r, equal, cu, gu, cd, gd, lower, upper, exact_lam, delta):
            for t in range(m):
                lam[t] = exact_lam[t]
            return CONVERGED
        if _settle(A, r, equal, cu, gu, cd, gd, lower, upper, lam, delta, tight, exact_lam, exact_delta):
            for t in range(m):
                lam[t] = exact_lam[t]
            for j in range(n):
                delta[j] = exact_delta[j]
            return CONVERGED
    return STUCK


@njit(cache=True, nogil=True)
def _optimal(A, r, equal, cu, gu, cd, gd, lower, upper, lam, delta):
    """True if ``delta`` obeys the rows and costs no more than ``lam`` proves."""
    cost, terms, largest = 0.0, 0.0, 0.0
    for j in range(A.shape[1]):
        if math.isinf(delta[j]):
            return False
        cost += charge(delta[j], cu[j], gu[j], cd[j], gd[j])
    for t in range(A.shape[0]):
        terms += abs(lam[t] * r[t])
        largest = max(largest, abs(r[t]))
    if violation(A, r, equal, delta) > 1e-11:
        return False
    value = dual_value(A, r, cu, gu, cd, gd, lower, upper, lam)
    return value > -math.inf and cost - value <= 1e-11 * (abs(cost) + abs(value)) + 1e-15 * terms + 1e-26 * largest * largest


@njit(cache=True, nogil=True)
def _adds(frame, k):
    """Orthonormalise row k of ``frame`` against those before it; False if it depends on them."""
    before, after = 0.0, 0.0
    for j in range(frame.shape[1]):
        before += frame[k, j] ** 2
    for again in range(2):
        for i in range(k):
            dot = 0.0
            for j in range(frame.shape[1]):
                dot += frame[i, j] * frame[k, j]
            for j in range(frame.shape[1]):
                frame[k, j] -= dot * frame[i, j]
    for j in range(frame.shape[1]):
        after += frame[k, j] ** 2
    if after <= 1e-20 * before:
        return False
    for j in range(frame.shape[1]):
        frame[k, j] /= math.sqrt(after)
    return True


@njit(cache=True, nogil=True)
def _settle(A, r, equal, cu, gu, cd, gd, lower, upper, lam, delta, tight, new_lam, new_delta):
    """Solve exactly on the pieces that ``lam`` and ``delta`` show; True if the result is feasible and closes the gap.

    Tight rows F: A_F d = r_F. Resting flat features B: (A' lam)_B = slope_B. Curved features inside a piece
    follow their price. Together  [A_F D A_F'  A_FB; A_FB'  0] (lam_F, d_B) = (r_F - A_F d0, slope_B).
    """
    m, n = A.shape
    rows, columns, slopes = np.empty(m, np.int64), np.empty(n, np.int64), np.empty(n)
    inside, resting = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for j in range(n):
        d = delta[j]
        slack = 1e-9 * abs(d)
        if (cu[j] if d > 0.0 else cd[j]) > 0.0:
            inside[j] = d != 0.0 and lower[j] < d < upper[j]
        else:
            resting[j] = d != 0.0 and lower[j] + slack < d < upper[j] - slack
    # tight rows, the largest multiplier first; one that depends on those before it says nothing new
    frame, used = np.empty((m, n)), np.zeros(m, np.bool_)
    f = 0
    for turn in range(m):
        t = -1
        for i in range(m):
            tighter = t < 0 or abs(lam[i]) > abs(lam[t])
            if not used[i] and (i < equal or lam[i] > tight) and tighter:
                t = i
        if t < 0:
            break
        used[t] = True
        for j in range(n):
            frame[f, j] = A[t, j] if inside[j] or resting[j] else 0.0
        if _adds(frame, f):
            rows[f] = t
            f += 1
    b = 0
    frame = np.empty((f, f))
    for j in range(n):  # flat features at rest whose place the tight rows tell; another stays where it is
        if resting[j] and b < f:
            for a in range(f):
                frame[b, a] = A[rows[a], j]
            if _adds(frame, b):
                columns[b], slopes[b] = j, gu[j] if delta[j] > 0.0 else gd[j]
                b += 1
    k = f + b
    K, inverse, right = np.zeros((k, k)), np.empty((k, k)), np.empty(k)
    for a in range(f):
        right[a] = r[rows[a]]
    for j in range(n):
        d = delta[j]
        curve = cu[j] if d > 0.0 else cd[j]
        if inside[j]:
            slope = gu[j] if d > 0.0 else gd[j]
            for a in range(f):
                right[a] += A[rows[a], j] * slope / (2.0 * curve)
                for c in range(f):
                    K[a, c] += A[rows[a], j] * A[rows[c], j] / (2.0 * curve)
        else:
            if d != 0.0 and curve == 0.0 and not resting[j]:
                d = upper[j] if d > 0.5 * (lower[j] + upper[j]) else lower[j]
            for a in range(f):
                right[a] -= A[rows[a], j] * d
    for i in range(b):
        for a in range(f):  # its place is to be found: take it out of what is known
            right[a] += A[rows[a], columns[i]] * delta[columns[i]]
        right[f + i] = slopes[i]
        for a in range(f):
            K[a, f + i] = A[rows[a], columns[i]]
            K[f + i, a] = A[rows[a], columns[i]]
    if not invert(K, inverse):
        return False
    new_lam[:] = 0.0
    for a in range(f):
        total = 0.0
        for i in range(k):
            total += inverse[a, i] * right[i]
        new_lam[rows[a]] = total
    for t in range(equal, m):
        new_lam[t] = max(new_lam[t], 0.0)
    for j in range(n):
        price = 0.0
        for t in range(m):
            price += new_lam[t] * A[t, j]
        new_delta[j] = delta[j] if resting[j] else respond(price, cu[j], gu[j], cd[j], gd[j], lower[j], upper[j])
    for i in range(b):
        total = 0.0
        for c in range(k):
            total += inverse[f + i, c] * right[c]
        j = columns[i]
        new_delta[j] = min(max(total, lower[j]), upper[j])
    for again in range(2):  # correct the point itself, where large multipliers cancel in the prices
        for a in range(f):
            right[a] = r[rows[a]]
            for j in range(n):
                right[a] -= A[rows[a], j] * new_delta[j]
        for j in range(n):
            curve = cu[j] if delta[j] > 0.0 else cd[j]
            if inside[j]:
                move = 0.0
                for a in range(f):
                    for c in range(f):
                        move += A[rows[a], j] * inverse[a, c] * right[c]
                new_delta[j] = min(max(new_delta[j] + move / (2.0 * curve), lower[j]), upper[j])
        for i in range(b):
            move = 0.0
            for c in range(f):
                move += inverse[f + i, c] * right[c]
            j = columns[i]
            new_delta[j] = min(max(new_delta[j] + move, lower[j]), upper[j])
    return _optimal(A, r, equal, cu, gu, cd, gd, lower, upper, new_lam, new_delta)
