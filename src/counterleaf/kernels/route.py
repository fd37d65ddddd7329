"""Send rows down a tree in the model's own arithmetic."""

import numpy as np

from counterleaf.kernels.compiler import pure


@pure
def score(row, start, stop, indices, data, bias, narrow):
    """w @ x + b summed in column order; ``narrow`` casts x to float32 first, as scikit-learn does."""
    total = 0.0
    for k in range(start, stop):
        x = row[indices[k]]
        total += data[k] * (np.float64(np.float32(x)) if narrow else x)
    return total + bias


@pure
def apply(rows, left, right, indptr, indices, data, bias, right_closed, narrow, leaves):
    """Write the leaf of each row into ``leaves``."""
    for r in range(rows.shape[0]):
        node = 0
        while left[node] >= 0:
            f = score(rows[r], indptr[node], indptr[node + 1], indices, data, bias[node], narrow)
            node = right[node] if f > 0.0 or (right_closed and f == 0.0) else left[node]
        leaves[r] = node
