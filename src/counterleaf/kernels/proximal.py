"""One region's problem where some features' costs are curved and others are flat: proximal points, then exact.

Adding c (d - centre)^2 to a flat feature keeps phi's form (its slopes fall by 2 c centre), so ``newton`` applies; moving
the centre to each answer leads to the optimum. Long before it gets there, the answer shows which rows are tight
and which flat features rest between their kinks. Those name one small linear system whose solution is exact.
"""

import math

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.memory import grid
from counterleaf.kernels.newton import violation
from counterleaf.kernels.separable import charge, respond
from counterleaf.kernels.simplex import dual_value, invert


@pure
def pull(A, cu, gu, cd, gd, centre, strength, curves_up, slopes_up, curves_down, slopes_down):
    """phi with c (d - centre)^2 added to its flat features, c = strength times the largest squared entry of the column."""
    for j in range(A.shape[1]):
        curves_up[j], slopes_up[j], curves_down[j], slopes_down[j] = cu[j], gu[j], cd[j], gd[j]
        if cu[j] == 0.0 or cd[j] == 0.0:
            size = 0.0
            for t in range(A.shape[0]):
                size = max(size, A[t, j] * A[t, j])
            extra = strength * size
            curves_up[j] += extra
            curves_down[j] += extra
            slopes_up[j] -= 2.0 * extra * centre[j]
            slopes_down[j] -= 2.0 * extra * centre[j]


@pure
def _optimal(A, r, equal, cu, gu, cd, gd, lower, upper, lam, delta, price, terms_of):
    """True if ``delta`` obeys the rows and costs no more than ``lam`` proves; the last two are room for ``dual_value``."""
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
    value = dual_value(A, r, cu, gu, cd, gd, lower, upper, lam, price, terms_of)
    return value > -math.inf and cost - value <= 1e-11 * (abs(cost) + abs(value)) + 1e-15 * terms + 1e-26 * largest * largest


@pure
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


@pure
def settle(A, r, equal, cu, gu, cd, gd, lower, upper, turn, lam, delta, space, at):
    """Make ``lam`` and ``delta`` exact, if the pieces they show are the right ones; True if they are now optimal.

    Tight rows F: A_F d = r_F. Resting flat features B: (A' lam)_B = slope_B. Curved features inside a piece
    follow their price. Together  [A_F D A_F'  A_FB; A_FB'  0] (lam_F, d_B) = (r_F - A_F d0, slope_B).
    ``turn`` varies what counts as tight: a slow pull leaves more than rounding on rows that have let go.
    The room of ``space`` from ``at`` on is used, (m n + 4 n + 9 m m + 3 m) numbers.
    """
    m, n = A.shape
    real, whole, small = space.real, space.whole, space.small
    wide, new_lam = grid(real, at, 4, n), real[at + 4 * n : at + 4 * n + m]
    new_delta, slopes, prices, terms = wide[0], wide[1], wide[2], wide[3]
    at += 4 * n + m
    largest, rhs = 0.0, 0.0
    for t in range(m):
        largest, rhs = max(largest, abs(lam[t])), max(rhs, abs(r[t]))
    tight = max(1e-9 * 100.0 ** (turn % 3) * largest, 1e-13 * rhs)  # rows of size 1: lam is of the size of r
    for t in range(m):
        new_lam[t] = lam[t] if abs(lam[t]) > tight else 0.0
    if _optimal(A, r, equal, cu, gu, cd, gd, lower, upper, new_lam, delta, prices, terms):
        for t in range(m):
            lam[t] = new_lam[t]
        return True
    rows, columns = whole[:m], whole[m : m + n]
    inside, resting, used = small[:n], small[n : 2 * n], small[2 * n : 2 * n + m]
    small[: 2 * n + m] = 0
    for j in range(n):
        d = delta[j]
        slack = 1e-9 * abs(d)
        if (cu[j] if d > 0.0 else cd[j]) > 0.0:
            inside[j] = 1 if d != 0.0 and lower[j] < d < upper[j] else 0
        else:
            resting[j] = 1 if d != 0.0 and lower[j] + slack < d < upper[j] - slack else 0
    # tight rows, the largest multiplier first; one that depends on those before it says nothing new
    frame = grid(real, at, m, n)
    f = 0
    for rank in range(m):
        t = -1
        for i in range(m):
            tighter = t < 0 or abs(lam[i]) > abs(lam[t])
            if used[i] == 0 and (i < equal or lam[i] > tight) and tighter:
                t = i
        if t < 0:
            break
        used[t] = 1
        for j in range(n):
            frame[f, j] = A[t, j] if inside[j] + resting[j] > 0 else 0.0
        if _adds(frame, f):
            rows[f] = t
            f += 1
    b = 0
    square = grid(real, at + m * n, f, f)
    for j in range(n):  # flat features at rest whose place the tight rows tell; another stays where it is
        if resting[j] == 1 and b < f:
            for a in range(f):
                square[b, a] = A[rows[a], j]
            if _adds(square, b):
                columns[b], slopes[b] = j, gu[j] if delta[j] > 0.0 else gd[j]
                b += 1
    k = f + b
    at += m * n + m * m
    K, inverse, right = grid(real, at, k, k), grid(real, at + k * k, k, k), real[at + 2 * k * k : at + 2 * k * k + k]
    K[:] = 0.0
    for a in range(f):
        right[a] = r[rows[a]]
    for j in range(n):
        d = delta[j]
        curve = cu[j] if d > 0.0 else cd[j]
        if inside[j] == 1:
            slope = gu[j] if d > 0.0 else gd[j]
            for a in range(f):
                right[a] += A[rows[a], j] * slope / (2.0 * curve)
                for c in range(f):
                    K[a, c] += A[rows[a], j] * A[rows[c], j] / (2.0 * curve)
        else:
            if d != 0.0 and curve == 0.0 and resting[j] == 0:
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
    if not invert(K, k, inverse):
        return False
    for t in range(m):
        new_lam[t] = 0.0
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
        new_delta[j] = delta[j] if resting[j] == 1 else respond(price, cu[j], gu[j], cd[j], gd[j], lower[j], upper[j])
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
            if inside[j] == 1:
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
    if not _optimal(A, r, equal, cu, gu, cd, gd, lower, upper, new_lam, new_delta, prices, terms):
        return False
    for t in range(m):
        lam[t] = new_lam[t]
    for j in range(n):
        delta[j] = new_delta[j]
    return True
