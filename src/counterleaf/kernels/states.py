"""The states of a search: made, queued at what is known of them, discarded with their proof."""

import math

from counterleaf.kernels.compiler import pure
from counterleaf.kernels.memory import COUPLED, DISCARDED, FRESH, OBLIQUE, OPEN, QUEUED, SPLIT, STATES
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE
from counterleaf.kernels.queue import push

_TIE = 1e-14  # bounds closer than this share are equal: both are realised before either is answered


@pure
def enqueue(pool, state, kind, key, rank):
    """Queue a state by (key, rank)."""
    entry = pool.states[state]
    entry.kind = kind
    entry.key = key
    entry.rank = rank
    pool.counts[QUEUED] = push(pool.heap, pool.counts[QUEUED], pool.states, state)


@pure
def offer(q, pool, state, status, bound):
    """Queue a solved state, or discard it with its proof. ``bound`` is without the class cost."""
    entry = pool.states[state]
    if status == INFEASIBLE:
        entry.kind = DISCARDED
        return
    if entry.parent >= 0:  # a region within another costs no less
        above = pool.states[entry.parent]
        known = above.bound - q.nodes[above.node].below
        if bound < known:  # then the parent's multipliers are the better proof
            bound = known
            lams, tangents = pool.lam, pool.tangent
            for t in range(entry.rows):
                lams[state, 0, t] = lams[entry.parent, 0, t] if t < above.rows else 0.0
            for d in range(tangents.shape[1]):
                tangents[state, d] = tangents[entry.parent, d]
    bound += q.nodes[entry.node].below
    entry.bound = bound
    entry.exact = 1 if status == CONVERGED else 0
    enqueue(pool, state, OPEN, just_below(bound), entry.node)


@pure
def just_below(bound):
    """A bound less its rounding: with what is equal to it, it comes first."""
    return bound - _TIE * abs(bound) if bound > -math.inf else bound


@pure
def postpone(pool, state, bound):
    """Queue a state at a bound known without its own solve (or before the end of it)."""
    pool.states[state].bound = bound
    enqueue(pool, state, FRESH, just_below(bound), pool.states[state].node)


@pure
def new_state(q, pool, node, parent, side, like):
    """A fresh state that starts from the multipliers, point and basis of the state ``like`` (-1: from nothing)."""
    state = pool.counts[STATES]
    pool.counts[STATES] += 1
    entry = pool.states[state]
    entry.node = node
    entry.parent = parent
    entry.side = side
    entry.how = SPLIT
    entry.kind = OPEN
    entry.point = -1
    entry.exact = 0
    entry.asked = 0
    entry.bound = -math.inf
    entry.cost = math.inf
    entry.rows = q.bias.shape[0] - q.nodes.shape[0]
    if parent >= 0:
        entry.rows = pool.states[parent].rows
        if node != pool.states[parent].node and q.nodes[pool.states[parent].node].feature == OBLIQUE:
            entry.rows += 1
    known = pool.states[like].rows if like >= 0 else 0
    lams, bases, tangents, seats, deltas, f = pool.lam, pool.basis, pool.tangent, pool.seats, pool.delta, q.features
    for t in range(lams.shape[2]):
        lams[state, 0, t] = lams[like, 0, t] if t < known else 0.0
        lams[state, 1, t] = 0.0
    for t in range(bases.shape[2]):
        bases[state, 0, t] = bases[like, 0, t] if t < known else -1 - t
        bases[state, 1, t] = bases[like, 1, t] if t < known else 0
    for d in range(tangents.shape[1]):
        tangents[state, d] = tangents[like, d] if like >= 0 else 0.0
    if like >= 0:
        for d in range(seats.shape[1]):
            seats[state, d] = seats[like, d]
        for d in range(deltas.shape[1] if q.method == COUPLED else 0):
            deltas[state, d] = deltas[like, d]
        return state
    for d in range(seats.shape[1]):
        if q.method == COUPLED:
            seats[state, d] = 1  # all free: those that should not be are soon told
            deltas[state, d] = 0.0
        else:
            seats[state, d] = 1 if f[4, d] < 0.0 else (-1 if f[6, d] > 0.0 else 0)
    return state
