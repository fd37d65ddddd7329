"""The matrix of a quadratic cost: checks, scaling, and an elimination order in which its factors have a narrow band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.errors import CounterleafError, real_array
from counterleaf.exact import is_convex
from counterleaf.sparse import CSR
from counterleaf.types import Array

_SKEW = 1e-9  # of the largest entry: the most by which rounding may make the matrix asymmetric
_LARGEST = 1e100  # entry, and one over the smallest
_NEGATIVE = 1e-10  # a negative eigenvalue of this size, of the matrix scaled to a unit diagonal, is taken for rounding
_STRONG = 1e-6  # with all eigenvalues above this, a solver may treat the matrix as positive definite
_FAIR = 1e-10  # with all eigenvalues above this, the proof may use them, but a solver may not


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """The matrix Q of a cost d' Q d over the variables of a question, with the data that the solver needs.

    Q - diag(tangent_curve) is positive semidefinite in exact arithmetic (see ``_proves``), and ``tangent_curve`` is positive
    for every variable that has entries in Q. ``scaled`` is P[i, j] = Q[o_i, o_j] / (s[o_i] s[o_j]), where o is the
    elimination order and s the greatest power of two up to each size.
    """

    matrix: CSR  # (D, D), no entries for 0/1 variables
    tangent_curve: Array  # (D,) the curvature that remains in a tangent to the cost, 0 for variables without entries in Q
    order: Array  # (D,)
    scaled: CSR  # P
    theta: float  # tangent_curve is theta size^2; 0 if P is nearly singular, so that tangent_curve is the most that is provable

    def core(self) -> _core.Coupling:
        """The same values, as the core reads them."""
        Q, P = ((one.indptr, one.indices, one.data) for one in (self.matrix, self.scaled))
        return _core.Coupling(Q, self.tangent_curve, self.order, P, self.theta)


def read_matrix(matrix: Any) -> Any:
    """Check that a dense or sparse matrix is symmetric and positive semidefinite, and convert it to CSR."""
    from scipy import linalg, sparse  # as below: SciPy loads slowly, and most questions do not need it

    if np.iscomplexobj(getattr(matrix, "data", 0.0)):
        raise CounterleafError("Q holds complex numbers; expected real ones")
    if sparse.issparse(matrix):
        Q = sparse.csr_array(matrix, dtype=np.float64)
    else:
        Q = real_array(matrix, "Q", "a square matrix of numbers")
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
    diagonal = Q.diagonal()
    Q = Q + sparse.diags_array(np.maximum(-diagonal, 0.0))  # negative by rounding only
    Q.eliminate_zeros()
    bare = (diagonal <= 0) & (np.diff(Q.indptr) > 0)  # entries that are rounding; with a diagonal they are convex
    return sparse.csr_array(Q + sparse.diags_array(np.where(bare, _NEGATIVE * diagonal.max(), 0.0))) if bare.any() else Q


def make_convex(Q: Any) -> Any:
    """Raise the diagonal of Q until Q is provably positive semidefinite; not at all if it already is.

    If Q is singular, or if rounding hides its least eigenvalue, the diagonal is raised by a few times that rounding.
    """
    from scipy import sparse

    order, least = _narrow_order(Q), _least_curve(Q)
    lift, most = 6.0 * least, 2.0 * _NEGATIVE * (least > 0) / _units(Q) ** 2 + 6.0 * least
    raised = Q
    while not _proves(raised, _least_curve(raised), order) and (lift <= most).all():
        raised = sparse.csr_array(Q + sparse.diags_array(lift))
        lift = 2.0 * lift
    return raised


def couple(matrix: Any, size: Array, numbers: Array) -> Coupling:
    """Prepare a matrix for the solver, its variables scaled by ``size`` (where that is 0 the matrix has no entries).

    ``numbers`` are the variables that are not 0/1.
    """
    Q = matrix.to_scipy() if isinstance(matrix, CSR) else matrix
    order, used = _narrow_order(Q), np.diff(Q.indptr) > 0
    order = np.concatenate([order[used[order]], order[~used[order]]])
    theta, curve = _STRONG, np.where(used, _STRONG * size**2, 0.0)
    if not (used[numbers].all() and _proves(Q, curve, order)):
        theta, curve = 0.0, np.where(used, _FAIR * np.maximum(Q.diagonal(), 0.0), 0.0)
        if not _proves(Q, curve, order):
            curve = _least_curve(Q)
    P = _scale(Q, np.ldexp(1.0, np.frexp(np.where(size > 0, size, 1.0))[1] - 1))[order][:, order]
    return Coupling(CSR.of(Q), curve, order, CSR.of(P), theta)


def without(Q: Any, variables: list[int]) -> Any:
    """Q without the entries of some variables."""
    entries = Q.tocoo()
    left = ~np.isin(entries.coords, variables).any(axis=0)
    row, column = entries.coords
    return type(Q)((entries.data[left], (row[left], column[left])), shape=Q.shape)


def _least_curve(Q: Any) -> Array:
    """(D,) the curvature of a tangent if Q is nearly singular: half of the effect of rounding on its factor."""
    unit = _units(Q)
    return np.asarray(np.where(np.diff(Q.indptr) > 0, 0.5 * _rounding(Q, unit) / unit**2, 0.0))


def _proves(Q: Any, curve: Array, order: Array) -> bool:
    """Whether Q - diag(curve) is positive semidefinite, proved by a Cholesky factor that exists in spite of a shift.

    The shift exceeds the rounding of the factor (Rump 2006), for a matrix scaled by powers of two to a diagonal between 1/4
    and 1.
    """
    used, unit = np.diff(Q.indptr) > 0, _units(Q)
    order = order[used[order]]
    band = _banded(_scale(Q, 1.0 / unit), order)
    band[0] -= (curve * unit**2)[order]
    if len(order) and not _positive(band, _rounding(Q, unit)):
        return False
    return is_convex(Q, curve)  # the check of a certificate factors the matrix in another order


def _units(Q: Any) -> Array:
    """(D,) powers of two that scale Q to a diagonal between 1/4 and 1; a diagonal of 0 is scaled like the largest one."""
    diagonal = np.maximum(Q.diagonal(), 0.0)
    diagonal = np.where(diagonal > 0, diagonal, max(float(diagonal.max(initial=0.0)), 2.0**-1000))
    return np.asarray(np.ldexp(1.0, -((np.frexp(diagonal)[1] + 1) // 2)))


def _rounding(Q: Any, unit: Array) -> float:
    """A bound on the effect of rounding on the least eigenvalue of the scaled matrix when it is factored."""
    used = np.diff(Q.indptr) > 0
    return float((used.sum() + 2) * 2.0**-52 * (np.maximum(Q.diagonal(), 0.0) * unit**2)[used].sum())


def _scale(Q: Any, size: Array) -> Any:
    P, by = Q.copy(), 1.0 / size
    P.data = Q.data * np.repeat(by, np.diff(Q.indptr)) * by[Q.indices]
    return P


def _narrow_order(Q: Any) -> Array:
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    return np.asarray(reverse_cuthill_mckee(Q, symmetric_mode=True), dtype=np.int64)


def _banded(Q: Any, order: Array) -> Array:
    """The lower band of the permuted matrix in LAPACK's layout: entry (i - j, j)."""
    entries = Q[order][:, order].tocoo()
    row, column = entries.coords
    low = row >= column
    width = int((row - column).max(initial=0))
    band = np.zeros((width + 1, len(order)), order="F")
    band[(row - column)[low], column[low]] = entries.data[low]
    return band


def _positive(band: Array, shift: float) -> bool:
    """Whether the matrix less ``shift`` times the identity has a Cholesky factor."""
    shifted = band.copy(order="F")
    shifted[0] -= shift
    from scipy.linalg.lapack import dpbtrf

    return bool(dpbtrf(shifted, lower=1)[1] == 0)
