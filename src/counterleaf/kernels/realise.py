"""A region's point as a row: on the model's numbers, routed as the model does, priced."""

import numpy as np

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.memory import BOX, COUPLED
from counterleaf.kernels.region import idle
from counterleaf.kernels.route import score
from counterleaf.kernels.separable import charge


@pure
def place(q, pool, state, lower, upper, x):
    """The region's point as a row: bounds and unchanged features bit for bit, the rest on the model's numbers."""
    f, delta, method = q.features, pool.delta[state], q.method
    coarse = q.narrow and pool.states[state].rows > 0 and q.bias.shape[0] == q.nodes.shape[0]
    for d in range(x.shape[0]):
        origin = f[0, d]
        change = delta[d] if method != BOX else idle(f, d, lower[d], upper[d])
        if change == 0.0:
            x[d] = origin
        elif change == lower[d] - origin:
            x[d] = lower[d]
        elif change == upper[d] - origin:
            x[d] = upper[d]
        else:
            x[d] = origin + change
            # where splits are sums of float32; rows of the user's may need more digits
            if coarse:
                x[d] = np.float64(np.float32(x[d]))
            x[d] = min(max(x[d], lower[d]), upper[d])


@pure
def routed(q, x, row, sign, users, slack):
    """True if the model sends x down every split of the path, with the margin.

    The slack of a split that it misses is raised: to twice the rounding of its sum, then twofold.
    """
    indptr, indices, data, bias, features = q.indptr, q.indices, q.data, q.bias, q.features
    through = True
    for t in range(users, row.shape[0]):
        i = row[t]
        start, stop = indptr[i], indptr[i + 1]
        f = score(x, start, stop, indices, data, bias[i], q.narrow)
        right = f > 0.0 or (q.right_closed and f == 0.0)
        if q.narrow:
            f = score(x, start, stop, indices, data, bias[i], False)
        least = q.margin
        if q.guard > 0.0:
            size = abs(bias[i])
            for k in range(start, stop):
                size += abs(data[k] * x[indices[k]])
            least = max(least, q.guard * size)
        if right == (sign[t] > 0.0) and (least == 0.0 or f * sign[t] >= least):
            continue
        through = False
        # what rounding can do to the sum, through the sum itself and through x = source + change; and, where all
        # of that is zero, a change too small to matter in the units of the cost
        terms, least = abs(bias[i]), 0.0
        for k in range(start, stop):
            d = indices[k]
            terms += abs(data[k]) * (abs(x[d]) + abs(features[0, d]))
            least += abs(data[k]) / features[7, d]
        error = (6e-8 if q.narrow else 1.2e-16 * (stop - start + 2)) * terms + 1e-16 * least
        slack[t] = max(2.0 * slack[t], 2.0 * error)
    return through


@pure
def cost_of(q, x):
    """What the row x costs, class cost left out."""
    alone, together = 0.0, 0.0
    f, couples, coupled, coupling, method = q.features, q.couples, q.coupled, q.coupling, q.method
    for d in range(x.shape[0]):
        change = x[d] - f[0, d]
        if change != 0.0:
            alone += charge(change, f[3, d], f[4, d], f[5, d], f[6, d])
        if method == COUPLED:
            for k in range(couples[d], couples[d + 1]):
                e = coupled[k]
                together += coupling[k] * change * (x[e] - f[0, e])
    return alone + max(together, 0.0)  # negative by rounding only


@pure
def length(q, x):
    """The square of the change, each feature in units of its cost."""
    f, total = q.features, 0.0
    for d in range(x.shape[0]):
        total += ((x[d] - f[0, d]) * f[7, d]) ** 2
    return total
