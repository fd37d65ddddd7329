"""The bound of one region where the cost couples features: pivoting in compiled code, PIQP where that does not settle it.

``kernels.best_first`` hands the region of a state over and goes on with what is written back.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from counterleaf.kernels.coupled import CUT, DOWN, HIGH, KINK, LOW, UP, gather, pivot, prove, scatter
from counterleaf.kernels.memory import ASKED, DISCARDED, FRESH, OPEN, OPEN_ENDS, QUEUED, Pool, Question, new_space
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE, STUCK
from counterleaf.kernels.simplex import simplex
from counterleaf.kernels.states import enqueue, offer, postpone
from counterleaf.problem import Problem
from counterleaf.schema import Array

_STEPS = 80  # pivots before another method is asked
_PUT_OFF = 20  # times that a state may give way to others before it is solved to the end
_PULL = 1e-7  # towards the source, where some changes cost nothing: of several best rows, the one of least norm
_ROUNDS = 6  # of that pull, each from the last point, so that it biases nothing
_FAR = 1e6  # in units of the cost: what moved further without meeting a bound runs away
_ATTEMPTS = 50  # requests about a state, doublings of its slack among them
_SOLVED = 3e-8  # a point within this share of its bound is the optimum, where nothing better was found


Proof = tuple[Array, Array]  # multipliers and the point of a tangent


class Region(NamedTuple):
    """The problem of ``kernels.coupled``: scaled, in elimination order."""

    rows: tuple[Array, Array, Array]
    r: Array
    equal: int
    P: tuple[Array, Array, Array]
    theta: float
    box: Array
    pull: Array  # towards the source; 0 where P is definite


def answer(problem: Problem, pool: Pool) -> None:
    """Solve the region that the search asked for and queue its state again."""
    q, coupling = problem.question, problem.coupling
    assert coupling is not None
    state = int(pool.counts[ASKED])
    entry = pool.states[state]
    fresh = entry["kind"] == FRESH
    entry["asked"] += 1
    order = coupling.order
    start, column, value, r, norm, box, piece, lam, z = gather(q, order, pool, state)
    pull = _pull(q.features[7][order], coupling.theta)
    region = Region((start, column, value), r, q.equal, coupling.scaled, coupling.theta, box, pull)
    m = len(r)
    cut = math.inf
    if fresh and pool.counts[QUEUED] and entry["asked"] < _PUT_OFF:
        cut = float(pool.states[pool.heap[0]]["key"]) - float(q.nodes[entry["node"]]["below"])
        cut += 1e-9 * abs(cut)
    status, bound, proof = _solve(region, cut, bool(q.features[8].any()), piece, lam, z)
    if status == INFEASIBLE:
        pool.lam[state, 0, :m] = lam / norm
        pool.states[state]["kind"] = DISCARDED
        return
    if fresh or status == CONVERGED:  # otherwise the last point is the better one
        scatter(q, order, pool, state, box, piece, z)
    if not fresh:
        _again(pool, state, status)
        return
    if q.features[8].any() and _runs_away(q, pool.delta[state], status == STUCK):
        bound = -math.inf
    known = float(entry["bound"] - q.nodes[entry["node"]]["below"])
    if bound >= known:
        pool.lam[state, 0, :m] = proof[0] / norm
        pool.tangent[state, order] = proof[1] / q.features[7][order]
    else:
        bound = known
    if status == CUT:
        postpone(pool, state, bound + q.nodes[entry["node"]]["below"])
    else:
        offer(q, pool, state, status, bound)


def _pull(scale: Array, theta: float) -> Array:
    """Weights that add a little of |change|^2, in table units, to a cost that is not definite.

    Features whose scales differ by more than 30 are pulled less unevenly than their units say: the factor must exist.
    """
    if theta:
        return np.zeros(len(scale))
    weight = scale**-2.0
    return np.asarray(np.maximum(_PULL * weight / weight.max(), 1e-3 * _PULL))


def _runs_away(q: Question, delta: Array, unsolved: bool) -> bool:
    """True if only the horizon, or the pull to the source, stops a feature that earns by moving; it is put on the horizon."""
    for d in np.flatnonzero(q.features[8]).tolist():
        source, lower, upper, way, scale = q.features[[0, 1, 2, 8, 7], d].tolist()
        end = (upper if way > 0 else lower) - source
        if way * (delta[d] - end) >= 0 or (unsolved and way * delta[d] * scale > _FAR):
            delta[d] = end
            return True
    return False


def _again(pool: Pool, state: int, status: int) -> None:
    """Queue a leaf whose point was moved inwards, to be tried again; or leave it open after too many attempts."""
    entry = pool.states[state]
    if entry["asked"] > _ATTEMPTS or status != CONVERGED:
        pool.counts[OPEN_ENDS] += 1
        return
    enqueue(pool, state, OPEN, entry["key"], entry["rank"])


def _solve(region: Region, cut: float, runs: bool, piece: Array, lam: Array, z: Array) -> tuple[int, float, Proof]:
    """(status, bound, what proves it); ``piece``, ``lam`` and ``z`` are the warm start and the result, ``lam`` a Farkas vector
    where the region is empty."""
    status, bound, proof = _pivot(region, cut, piece, lam, z)
    if status != STUCK:
        return status, bound, proof
    if _empty(region, lam):
        return INFEASIBLE, math.inf, proof
    reached = z.copy()
    found = _interior(region)
    if found is None:
        return STUCK, bound, proof
    z[:], lam[:], piece[:] = found
    again = _pivot(region, cut, piece, lam, z)
    if again[0] != STUCK:
        return again
    if runs and np.abs(reached).max(initial=0.0) > _FAR:  # nothing but the pull stops it, and no solver will
        z[:] = reached
        return STUCK, bound, proof
    z[:], lam[:], piece[:] = found
    for tried in ((lam.copy(), z.copy()), _balanced(region, piece, lam, z)):
        level = _level(region, tried)
        if level > bound:
            bound, proof = level, tried
    np.clip(z, region.box[4], region.box[5], out=z)
    return CONVERGED if _met(region, z, bound, _SOLVED, 1e-3) else STUCK, bound, proof


def _pivot(region: Region, cut: float, piece: Array, lam: Array, z: Array) -> tuple[int, float, Proof]:
    proof = np.zeros(len(lam)), np.zeros(len(z))
    best = -math.inf
    if not region.theta:  # each feature on its own, where that may be all there is to prove
        best = _level(region, proof)
    centre = np.zeros(len(z))
    for _ in range(1 if region.theta else _ROUNDS):
        tried = np.zeros(len(lam)), np.zeros(len(z))
        status, bound = pivot(*region, centre, cut, _STEPS, piece, lam, z, *tried)
        if bound > best:
            best, proof = bound, tried
        if status != CONVERGED or region.theta or _met(region, z, best, 1e-14, 1.0):
            return status, best, proof
        centre = z.copy()
    tried = _balanced(region, piece, lam, z)
    bound = _level(region, tried)
    if bound > best:
        best, proof = bound, tried
    return status if _met(region, z, best, _SOLVED, 1e-3) else STUCK, best, proof


def _level(region: Region, proof: Proof) -> float:
    """The bound that multipliers and a tangent prove; negative multipliers of inequalities are set to 0."""
    lam, y = proof
    return float(prove(*region[:6], y, lam, np.empty(len(y)), np.empty(len(y))))


def _met(region: Region, z: Array, bound: float, share: float, least: float) -> bool:
    """The point costs what is proved, but for a share of it."""
    return math.isfinite(bound) and _cost(region, z) - bound <= share * (least + abs(bound))


def _balanced(region: Region, piece: Array, lam: Array, z: Array) -> Proof:
    """Multipliers and point moved as little as makes every free feature's price meet its slope.

    On a feature that is free, unbounded and without curvature of its own, any residual would void the proof.
    """
    cu, gu, cd, gd = region.box[:4]
    m, n = len(lam), len(z)
    A, P = _sparse(region.rows, (m, n)), _sparse(region.P, (n, n))
    free, held = np.flatnonzero((piece == UP) | (piece == DOWN)), np.flatnonzero(lam)
    curve, slope = np.where(piece == UP, cu, cd), np.where(piece == UP, gu, gd)
    system = np.hstack([2.0 * (P[free][:, free].toarray() + np.diag(curve[free])), -A[held][:, free].toarray().T])
    miss = (A.T @ lam - 2.0 * (P @ z + curve * z) - slope)[free]
    lam, z = lam.copy(), z.copy()
    for _ in range(2):
        step = np.linalg.lstsq(system, miss, rcond=1e-12)[0]
        z[free] += step[: len(free)]
        lam[held] += step[len(free) :]
        miss = (A.T @ lam - 2.0 * (P @ z + curve * z) - slope)[free]
    largest = np.abs(z).max(initial=0.0)  # P has entries of the size of 1: prices are of that size, or rounding
    z[np.abs(z) < 1e-14 * largest] = 0.0
    lam[np.abs(lam) < 1e-14 * max(largest, np.abs(lam).max(initial=0.0))] = 0.0
    return lam, z


def _empty(region: Region, ray: Array) -> bool:
    """True if no point obeys the rows within the box; ``ray`` then proves it."""
    m, n = len(region.r), region.box.shape[1]
    A = _sparse(region.rows, (m, n)).toarray()
    zero = np.zeros(n)
    found = simplex(
        A, region.r, region.equal, zero, zero, region.box[4], region.box[5],
        -1 - np.arange(m), np.zeros(m, np.int64), np.zeros(n, np.int8), np.empty(m), np.empty(n), ray,
        new_space(m, n), 0,
    )  # fmt: skip
    return bool(found == INFEASIBLE)


def _interior(region: Region) -> tuple[Array, Array, Array] | None:
    """(point, multipliers, pieces) by PIQP's interior point; None if it fails.

    A feature with a kink, or with other curves up and down, is the difference of two that are nonnegative.
    """
    import piqp

    cu, gu, cd, gd, low, high = region.box[:6]
    m, n = len(region.r), len(cu)
    A, P = _sparse(region.rows, (m, n)), _sparse(region.P, (n, n))
    split = np.flatnonzero((gu != gd) | (cu != cd))
    eye = sparse.eye_array(n, format="csc")
    T = sparse.hstack([eye, -eye[:, split]], format="csc")  # z = T w
    curve, slope = np.concatenate([cu, cd[split]]), np.concatenate([gu, -gd[split]])
    least, most = low.copy(), high.copy()
    least[split], most[split] = np.maximum(low[split], 0.0), np.maximum(high[split], 0.0)
    least = np.concatenate([least, np.maximum(-high[split], 0.0)])
    most = np.concatenate([most, np.maximum(-low[split], 0.0)])
    H = sparse.csc_matrix(2.0 * (T.T @ P @ T + sparse.diags_array(curve)))
    G = sparse.csc_matrix(A @ T)
    solver = piqp.SparseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-11)
    top = np.where(np.arange(m) < region.equal, region.r, np.inf)
    solver.setup(H, slope, None, None, G, region.r, top, least, most)
    status = solver.solve()
    if status not in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED) or not np.isfinite(solver.result.x).all():
        return None
    found = solver.result
    z, lam = T @ found.x, np.where(found.z_l > found.s_l, found.z_l, 0.0)
    lam[: region.equal] = (found.z_l - found.z_u)[: region.equal]
    at_least, at_most = found.z_bl > found.x - least, found.z_bu > most - found.x  # the multiplier outweighs the room
    piece = np.select([at_least[:n], at_most[:n], z >= 0], [LOW, HIGH, UP], DOWN)
    # of a feature that was split: both halves rest at the point of the box nearest to 0, or one of them moves
    rest = np.select([low > 0, high < 0, gu > gd], [LOW, HIGH, KINK], UP)[split]
    move = np.where(z[split] >= 0, np.where(at_most[split], HIGH, UP), np.where(at_most[n:], LOW, DOWN))
    piece[split] = np.where(at_least[split] & at_least[n:], rest, move)
    piece[low >= high] = LOW
    return z, lam, piece.astype(np.int8)


def _sparse(csr: tuple[Array, Array, Array], shape: tuple[int, int]) -> Any:
    indptr, indices, data = csr
    return sparse.csr_array((data, indices, indptr), shape=shape)


def _cost(region: Region, z: Array) -> float:
    cu, gu, cd, gd = region.box[:4]
    up, down = np.maximum(z, 0.0), np.minimum(z, 0.0)
    return float(z @ (_sparse(region.P, (len(z), len(z))) @ z) + ((cu * up + gu) * up + (cd * down + gd) * down).sum())
