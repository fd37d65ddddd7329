"""One sweep over a tree of fixed shape: where rows go, what each split decides about them, better splits.

Arrays by node: ``left``, ``right`` (-1 at leaves), ``W`` and ``b`` (right iff x @ w + b >= 0), ``sure`` (the label of every
leaf below, -1 where they differ). The training rows are ``indptr``, ``indices``, ``values``; ``start`` and ``stop`` bound
those of a call. Kernels write disjoint places, so that pieces of the work may run side by side with the same result.
"""

import numpy as np

from counterleaf.kernels.compiler import kernel
from counterleaf.learn.kernels.logistic import fit_narrow, fit_wide, strength
from counterleaf.learn.kernels.rows import dot


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
def improve(indptr, indices, values, rows, wanted, weight, w, b, alpha, cautious, narrow, steps, passes, tol):
    """A better split for one node, in place of w; returns b, whether it changed, and whether solving again would not help.

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
    before = misses(indptr, indices, values, rows, wanted, weight, w, b)
    if up == 0.0 or up == total:
        if before > 0.0:
            w[:] = 0.0
            return (1.0 if up > 0.0 else -1.0), True, True
        return b, False, True
    lam = strength(alpha, total)
    v = w.copy()
    if narrow:
        c, settled = fit_narrow(indptr, indices, values, rows, t, s, v, b, lam, steps, passes, tol)
    else:
        c, settled = fit_wide(indptr, indices, values, rows, t, s, v, b, lam, steps, passes, tol)
    if not v.any():
        c = 1.0 if 2.0 * up >= total else -1.0
    if cautious and misses(indptr, indices, values, rows, wanted, weight, v, c) > before:
        return b, False, settled
    w[:] = v
    return c, True, settled


@kernel
def fingerprint(rows, wanted):
    """A 64-bit hash of the rows and the sides they want (FNV-1a by words); never 0."""
    code = np.uint64(14695981039346656037)
    for r in rows:
        code = (code ^ np.uint64(2 * r + (wanted[r] > 0))) * np.uint64(1099511628211)
    return code | np.uint64(1)


@kernel
def improve_all(
    indptr, indices, values, nodes, starts, rows, chosen, wanted, weight, W, b,
    alpha, cautious, narrow, steps, passes, tol, seen, changed,
):  # fmt: skip
    """Better splits for ``nodes[chosen]``, whose rows are those of the same places in ``starts``.

    ``seen`` is a fingerprint of the question that a node's split last settled: the same question is not solved again.
    """
    for k in chosen:
        node = nodes[k]
        own = rows[starts[k] : starts[k + 1]]
        question = fingerprint(own, wanted)
        if own.shape[0] == 0 or question == seen[node]:
            continue
        b[node], changed[node], settled = improve(
            indptr, indices, values, own, wanted, weight, W[node], b[node],
            alpha, cautious, narrow, steps, passes, tol,
        )  # fmt: skip
        seen[node] = question if settled else 0
