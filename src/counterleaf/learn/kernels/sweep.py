"""One sweep over a tree of fixed shape: where rows go, what each split decides about them, better splits.

Arrays by node: ``left``, ``right`` (-1 at leaves), ``W`` and ``b`` (right iff x @ w + b >= 0), ``sure`` (the label of every
leaf below, -1 where they differ). The training rows are ``indptr``, ``indices``, ``values``; ``start`` and ``stop`` bound
those of a call. Kernels write disjoint places, so that pieces of the work may run side by side with the same result.
"""

import numpy as np

from counterleaf.kernels.compiler import kernel
from counterleaf.learn.kernels.logistic import fit_narrow, fit_wide, strength
from counterleaf.learn.kernels.rows import dot

# One Newton step of three passes at each visit: the next sweep goes on from there, with the rows that the split then decides
# about. Solving each problem to the end took longer and generalised worse (Letter, 12,000 rows to learn from: 10.4 % of 3,000
# held-out ones wrong at alpha 0.3, 9.2 % with single steps; Spambase 7.6 and 7.0 %).
STEPS, PASSES = 1, 3


@kernel
def route(indptr, indices, values, left, right, W, b, path, start, stop):
    """path[d, n]: the node of row n at depth d; a row that has reached its leaf stays there."""
    for n in range(start, stop):
        node = 0
        path[0, n] = 0
        for depth in range(1, path.shape[0]):
            if left[node] >= 0:
                node = right[node] if dot(indptr, indices, values, n, W[node]) + b[node] >= 0.0 else left[node]
            path[depth, n] = node


@kernel
def judge(indptr, indices, values, left, right, W, b, sure, y, here, below, now, sides, wanted, start, stop):
    """What the split of each row's node decides: ``wanted`` 1 (right), -1 (left), 0 (either is right, or neither is).

    ``here`` and ``below`` are the row's nodes at this depth and the next, ``now`` the label it gets through ``below``;
    ``sides`` gets its labels through the left and the right child.
    """
    for n in range(start, stop):
        node = here[n]
        wanted[n] = 0
        if left[node] < 0:
            continue
        goes_right = below[n] == right[node]
        other = left[node] if goes_right else right[node]
        while sure[other] < 0:
            other = right[other] if dot(indptr, indices, values, n, W[other]) + b[other] >= 0.0 else left[other]
        sides[0, n] = sure[other] if goes_right else now[n]
        sides[1, n] = now[n] if goes_right else sure[other]
        if (sides[0, n] == y[n]) != (sides[1, n] == y[n]):
            wanted[n] = 1 if sides[1, n] == y[n] else -1


@kernel
def gather(here, slot, wanted, count):
    """The rows that a split of this depth decides, node by node: slot k has ``rows[starts[k]:starts[k + 1]]``."""
    starts = np.zeros(count + 1, np.int64)
    for n in range(here.shape[0]):
        if wanted[n] != 0:
            starts[slot[here[n]] + 1] += 1
    for k in range(count):
        starts[k + 1] += starts[k]
    place = starts[:count].copy()
    rows = np.empty(starts[count], np.int64)
    for n in range(here.shape[0]):
        if wanted[n] != 0:
            k = slot[here[n]]
            rows[place[k]] = n
            place[k] += 1
    return starts, rows


@kernel
def refresh(indptr, indices, values, left, right, W, b, here, changed, sides, now, start, stop):
    """The label of each row through its node of this depth, whose split may have changed."""
    for n in range(start, stop):
        node = here[n]
        if left[node] >= 0 and changed[node]:
            now[n] = sides[1, n] if dot(indptr, indices, values, n, W[node]) + b[node] >= 0.0 else sides[0, n]


@kernel
def misses(indptr, indices, values, rows, wanted, weight, w, b):
    """The weight of the rows sent to the wrong side."""
    total = 0.0
    for r in rows:
        if (dot(indptr, indices, values, r, w) + b >= 0.0) != (wanted[r] > 0):
            total += weight[r]
    return total


@kernel
def improve(indptr, indices, values, rows, wanted, weight, w, b, alpha, cautious, narrow):
    """A better split for one node, in place of w; returns b and whether it changed.

    ``cautious`` keeps the old split if the new one sends more weight to the wrong side.
    """
    n = rows.shape[0]
    t, s = np.empty(n), np.empty(n)
    total, up = 0.0, 0.0
    for i in range(n):
        t[i], s[i] = wanted[rows[i]], weight[rows[i]]
        total += s[i]
        if t[i] > 0.0:
            up += s[i]
    one_sided = up == 0.0 or up == total
    before = misses(indptr, indices, values, rows, wanted, weight, w, b) if one_sided or cautious else 0.0
    if one_sided:
        if before > 0.0:
            w[:] = 0.0
            return (1.0 if up > 0.0 else -1.0), True
        return b, False
    lam = strength(alpha, total)
    v = w.copy()
    if narrow:
        c = fit_narrow(indptr, indices, values, rows, t, s, v, b, lam, STEPS, PASSES, 0.0)
    else:
        c = fit_wide(indptr, indices, values, rows, t, s, v, b, lam, STEPS, PASSES, 0.0)
    if not v.any():
        c = 1.0 if 2.0 * up >= total else -1.0
    if cautious and misses(indptr, indices, values, rows, wanted, weight, v, c) > before:
        return b, False
    w[:] = v
    return c, True


@kernel
def improve_all(indptr, indices, values, nodes, starts, rows, chosen, wanted, weight, W, b, alpha, cautious, narrow, changed):
    """Better splits for ``nodes[chosen]``, whose rows are those of the same places in ``starts``."""
    for k in chosen:
        node, own = nodes[k], rows[starts[k] : starts[k + 1]]
        b[node], changed[node] = improve(
            indptr, indices, values, own, wanted, weight, W[node], b[node], alpha, cautious, narrow
        )
