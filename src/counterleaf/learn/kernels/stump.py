"""The best axis-aligned split of weighted rows that each want one side: exact, by sorting every column."""

import numpy as np

from counterleaf.kernels.compiler import kernel
from counterleaf.learn.kernels.logistic import strength


@kernel
def best_cut(X, rows, wanted, weight, lam):
    """(feature, threshold, sign, missed): the split ``sign (x[feature] - threshold) >= 0`` goes right.

    It sends the least weight to the wrong side; feature -1 sends every row right (sign 1) or left (-1), which a real split
    must undercut by lam. Ties go to the first feature and the lowest threshold.
    """
    n = rows.shape[0]
    up, down = 0.0, 0.0
    for r in rows:
        if wanted[r] > 0:
            up += weight[r]
        else:
            down += weight[r]
    feature, threshold, sign = -1, 0.0, 1.0 if up >= down else -1.0
    missed = min(up, down)
    least = missed - lam
    x = np.empty(n)
    for j in range(X.shape[1]):
        for i in range(n):
            x[i] = X[rows[i], j]
        order = np.argsort(x, kind="mergesort")
        # invariant: up_left, down_left are the weights below the cut
        up_left, down_left = 0.0, 0.0
        for i in range(n - 1):
            r = rows[order[i]]
            if wanted[r] > 0:
                up_left += weight[r]
            else:
                down_left += weight[r]
            low, high = x[order[i]], x[order[i + 1]]
            if low == high:
                continue
            straight = up_left + (down - down_left)
            turned = down_left + (up - up_left)
            if min(straight, turned) < least:
                least = missed = min(straight, turned)
                feature, sign = j, (1.0 if straight <= turned else -1.0)
                threshold = low / 2.0 + high / 2.0
                # neighbouring numbers have no middle: the cut is the one that the split's closed side keeps
                if sign > 0.0 and threshold <= low:
                    threshold = high
                elif sign < 0.0 and threshold >= high:
                    threshold = low
    return feature, threshold, sign, missed


@kernel
def improve_cuts(X, nodes, starts, rows, chosen, wanted, weight, W, b, alpha, changed):
    """Better axis-aligned splits for ``nodes[chosen]``: the best cut of each, unless the present split misses no more."""
    for k in chosen:
        node = nodes[k]
        own = rows[starts[k] : starts[k + 1]]
        if own.shape[0] == 0:
            continue
        column = np.argmax(np.abs(W[node]))
        w, total, before = W[node, column], 0.0, 0.0
        for r in own:
            total += weight[r]
            if (w * X[r, column] + b[node] >= 0.0) != (wanted[r] > 0):
                before += weight[r]
        lam = strength(alpha, total)
        feature, threshold, sign, missed = best_cut(X, own, wanted, weight, lam)
        if missed + (lam if feature >= 0 else 0.0) < before + (lam if w != 0.0 else 0.0):
            W[node] = 0.0
            changed[node] = True
            b[node] = sign
            if feature >= 0:
                W[node, feature] = sign
                b[node] = -sign * threshold
