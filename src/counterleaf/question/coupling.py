"""The matrix of a quadratic cost: checked, scaled, and put into an order in which its factors stay narrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf import _core
from counterleaf.errors import CounterleafError
from counterleaf.exact import is_convex
from counterleaf.sparse import CSR
from counterleaf.types import Array

_SKEW = 1e-9  # of the largest entry: how far two that mirror each other may differ by rounding
_LARGEST = 1e100  # entry, and one over the smallest
_NEGATIVE = 1e-10  # an eigenvalue this far below 0, of the matrix scaled to a unit diagonal, is rounding
_STRONG = 1e-6  # above this one, it is positive definite for all that a solver can tell
_FAIR = 1e-10  # above this one, it proves as much though no solver may count on it


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """Q of d' Q d over the variables of a question, and what the solver asks about it.

    Q - diag(kept) is positive semidefinite in exact arithmetic (``_proves`` shows it), and ``kept`` is positive wherever Q
    has entries. ``scaled`` is P[i, j] = Q[o_i, o_j] / (s[o_i] s[o_j]), o the elimination order and s the greatest power of
    two up to each size.
    """

    matrix: CSR  # (D, D), no entries for 0/1 variables
    kept: Array  # (D,) the curvature that a tangent leaves, 0 where Q has no entries
    order: Array  # (D,)
    scaled: tuple[Array, Array, Array]  # P in CSR
    theta: float  # kept is theta size^2; 0 where P is singular or nearly so, and kept is whatever can be proved

    def core(self) -> _core.Coupling:
        """The same for the core."""
        Q = self.matrix
        return _core.Coupling((Q.indptr, Q.indices, Q.data), self.kept, self.order, self.scaled, self.theta)


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
    own = Q.diagonal()
    Q = Q + sparse.diags_array(np.maximum(-own, 0.0))  # negative by rounding only
    Q.eliminate_zeros()
    bare = (own <= 0) & (np.diff(Q.indptr) > 0)  # entries that are rounding; with a diagonal they are convex
    return sparse.csr_array(Q + sparse.diags_array(np.where(bare, _NEGATIVE * own.max(), 0.0))) if bare.any() else Q


def make_convex(Q: Any) -> Any:
    """Q as it is if that is positive semidefinite beyond rounding; else with its diagonal raised until it is.

    Of a matrix that is singular, or so nearly that rounding hides its least eigenvalue, the diagonal is raised by a few times
    that rounding.
    """
    from scipy import sparse

    order, least = _narrow_order(Q), _least_kept(Q)
    lift, most = 6.0 * least, 2.0 * _NEGATIVE * (least > 0) / _units(Q) ** 2 + 6.0 * least
    raised = Q
    while not _proves(raised, _least_kept(raised), order) and (lift <= most).all():
        raised = sparse.csr_array(Q + sparse.diags_array(lift))
        lift = 2.0 * lift
    return raised


def couple(given: Any, size: Array, numbers: Array) -> Coupling:
    """The matrix ready for the solver, its variables scaled by ``size`` (where that is 0 the matrix has no entries).

    ``numbers`` are the variables that are not 0/1.
    """
    Q = given.to_scipy() if isinstance(given, CSR) else given
    order, used = _narrow_order(Q), np.diff(Q.indptr) > 0
    order = np.concatenate([order[used[order]], order[~used[order]]])
    theta, kept = _STRONG, np.where(used, _STRONG * size**2, 0.0)
    if not (used[numbers].all() and _proves(Q, kept, order)):
        theta, kept = 0.0, np.where(used, _FAIR * np.maximum(Q.diagonal(), 0.0), 0.0)
        if not _proves(Q, kept, order):
            kept = _least_kept(Q)
    P = _scale(Q, np.ldexp(1.0, np.frexp(np.where(size > 0, size, 1.0))[1] - 1))[order][:, order]
    P.sort_indices()
    scaled = P.indptr.astype(np.int64), P.indices.astype(np.int64), P.data
    return Coupling(CSR.of(Q), kept, order, scaled, theta)


def _least_kept(Q: Any) -> Array:
    """(D,) what a tangent leaves curved where Q is as good as singular: half of what rounding does to its factor."""
    unit = _units(Q)
    return np.asarray(np.where(np.diff(Q.indptr) > 0, 0.5 * _rounding(Q, unit) / unit**2, 0.0))


def _proves(Q: Any, kept: Array, order: Array) -> bool:
    """Whether Q - diag(kept) is positive semidefinite, shown by a Cholesky factor that exists in spite of a shift.

    The shift is more than all of the factor's rounding (Rump 2006), for a matrix scaled by powers of two to a diagonal
    between 1/4 and 1.
    """
    used, unit = np.diff(Q.indptr) > 0, _units(Q)
    order = order[used[order]]
    band = _banded(_scale(Q, 1.0 / unit), order)
    band[0] -= (kept * unit**2)[order]
    if len(order) and not _positive(band, _rounding(Q, unit)):
        return False
    return is_convex((Q.indptr, Q.indices, Q.data), kept)  # as the check will find it, in another order


def _units(Q: Any) -> Array:
    """(D,) powers of two that scale Q to a diagonal between 1/4 and 1; where that is 0, as if it were the largest."""
    diagonal = np.maximum(Q.diagonal(), 0.0)
    diagonal = np.where(diagonal > 0, diagonal, max(float(diagonal.max(initial=0.0)), 2.0**-1000))
    return np.asarray(np.ldexp(1.0, -((np.frexp(diagonal)[1] + 1) // 2)))


def _rounding(Q: Any, unit: Array) -> float:
    """More than what rounding does to the least eigenvalue of the scaled matrix when it is factored."""
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
    """The lower band of the permuted matrix, LAPACK's way: entry (i - j, j)."""
    entries = Q[order][:, order].tocoo()
    row, column = entries.coords
    low = row >= column
    width = int((row - column).max(initial=0))
    band = np.zeros((width + 1, len(order)), order="F")
    band[(row - column)[low], column[low]] = entries.data[low]
    return band


def _positive(band: Array, shift: float) -> bool:
    """The matrix less ``shift`` times the identity has a Cholesky factor."""
    shifted = band.copy(order="F")
    shifted[0] -= shift
    from scipy.linalg.lapack import dpbtrf

    return bool(dpbtrf(shifted, lower=1)[1] == 0)
