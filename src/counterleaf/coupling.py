"""The matrix of a quadratic cost: checked, scaled, and put into an order in which its factors stay narrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.errors import CounterleafError
from counterleaf.schema import Array

_SKEW = 1e-9  # of the largest entry: how far two that mirror each other may differ by rounding
_LARGEST = 1e100  # entry, and one over the smallest
_NEGATIVE = 1e-10  # an eigenvalue this far below 0, of the matrix scaled to a unit diagonal, is rounding
_STRONG = 1e-6  # above this one, it is positive definite for all that a solver can tell


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """Q of d' Q d, raw and as the solver takes it: P[i, j] = Q[o_i, o_j] / (size[o_i] size[o_j]), o the elimination order."""

    matrix: Any  # (D, D) CSR
    order: Array  # (D,)
    scaled: tuple[Array, Array, Array]  # P in CSR
    theta: float  # P - theta is positive semidefinite; 0 where P is singular

    def core(self) -> _core.Coupling:
        """The same for the core."""
        Q = self.matrix
        raw = Q.indptr.astype(np.int64), Q.indices.astype(np.int64), Q.data
        return _core.Coupling(raw, self.order, self.scaled, self.theta)


def read_matrix(given: Any) -> Any:
    """A symmetric positive semidefinite matrix in CSR, from a dense or sparse one."""
    from scipy import linalg, sparse  # as below: questions without such a matrix need not wait for it

    if np.iscomplexobj(given):
        raise CounterleafError("Q holds complex numbers; expected real ones")
    try:
        Q = sparse.csr_array(given, dtype=np.float64) if sparse.issparse(given) else np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise CounterleafError(f"Q is a {type(given).__name__} that is no matrix of numbers; expected a square one") from None
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1] or Q.shape[0] == 0:
        raise CounterleafError(f"Q has shape {Q.shape}; expected a square matrix, one row and column per feature")
    Q = sparse.csr_array(Q)
    if not np.isfinite(Q.data).all():
        raise CounterleafError("Q holds NaN or infinity; expected finite numbers")
    largest = float(abs(Q).max())
    if largest > _LARGEST or 0 < np.abs(Q.data[Q.data != 0]).min(initial=1.0) < 1 / _LARGEST:
        raise CounterleafError(f"Q has entries beyond {_LARGEST:g} or below {1 / _LARGEST:g}; scale the cost")
    gap = abs(Q - Q.T).tocoo()
    if gap.nnz and gap.data.max() > _SKEW * largest:
        i, j = (int(c[gap.data.argmax()]) for c in gap.coords)
        raise CounterleafError(
            f"Q is not symmetric: Q[{i}, {j}] is {Q[i, j]:.9g} and Q[{j}, {i}] is {Q[j, i]:.9g}; pass (Q + Q.T) / 2"
        )
    Q = sparse.csr_array((Q + Q.T) / 2)
    size = np.sqrt(np.maximum(Q.diagonal(), 0.0))
    size = np.where(size > 0, size, max(float(size.max()), 1.0))
    if not _positive(_banded(_scale(Q, size), _narrow_order(Q)), -_NEGATIVE):
        band = _banded(Q, _narrow_order(Q))
        least = linalg.eig_banded(band, lower=True, eigvals_only=True, select="i", select_range=(0, 0))[0]
        raise CounterleafError(
            f"Q is not positive semidefinite: its smallest eigenvalue is {least:.3g}; expected 0 or more: a cost must be convex"
        )
    Q = Q + sparse.diags_array(np.maximum(-Q.diagonal(), 0.0))  # negative by rounding only
    Q.eliminate_zeros()
    return sparse.csr_array(Q)


def couple(Q: Any, size: Array) -> Coupling:
    """The matrix ready for the solver, its features scaled by ``size`` (where that is 0 the matrix has no entries)."""
    P = _scale(Q, np.where(size > 0, size, 1.0))
    order = _narrow_order(Q)
    theta = _STRONG if _positive(_banded(P, order), _STRONG) else 0.0
    P = P[order][:, order]
    P.sort_indices()
    return Coupling(Q, order, (P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data), theta)


def is_convex(coupling: Coupling, size: Array) -> bool:
    """Q is symmetric, and less theta size^2 on its diagonal positive semidefinite, to 1e-9 of its own diagonal."""
    Q = coupling.matrix
    if abs(Q - Q.T).max() > 0:
        return False
    own = np.sqrt(np.maximum(Q.diagonal(), 0.0))
    own = np.where(own > 0, own, max(float(own.max()), 1.0))
    band = _banded(_scale(Q, own), coupling.order)
    band[0] -= coupling.theta * ((size / own) ** 2)[coupling.order]
    return _positive(band, -1e-9)


def _scale(Q: Any, size: Array) -> Any:
    P, by = Q.copy(), 1.0 / size
    P.data = Q.data * np.repeat(by, np.diff(Q.indptr)) * by[Q.indices]
    return P


def _narrow_order(Q: Any) -> Array:
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    return np.asarray(reverse_cuthill_mckee(Q, symmetric_mode=True), dtype=np.int64)


def _banded(Q: Any, order: Array) -> Array:
    """The lower band of the permuted matrix, LAPACK's way: entry (i - j, j)."""
    entries = Q[order][:, order].tocoo()
    row, column = entries.coords
    low = row >= column
    width = int((row - column).max(initial=0))
    band = np.zeros((width + 1, Q.shape[0]), order="F")
    band[(row - column)[low], column[low]] = entries.data[low]
    return band


def _positive(band: Array, shift: float) -> bool:
    """The matrix less ``shift`` times the identity has a Cholesky factor."""
    shifted = band.copy(order="F")
    shifted[0] -= shift
    from scipy.linalg.lapack import dpbtrf

    return bool(dpbtrf(shifted, lower=1)[1] == 0)
