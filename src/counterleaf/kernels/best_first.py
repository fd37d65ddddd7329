"""Best-first search over the tree: the leaves in order of cost, each with a proof.

A state is a tree node with the splits on its path; its bound is the least cost over that region (see
``region``), so it bounds every leaf below. Invariant of the queue: every target leaf not yet answered
lies below a queued, discarded or stuck state. At a node, the state's own point lies in one of the two
children, which inherits point and bound unsolved; the other one, with one more row, is bounded at once
(see ``early``) and solved when it comes up. A leaf that is popped is realised (put on the model's numbers,
inside the leaf as the model routes it) and queued again at its realised cost; popped again, it is an answer.
"""

import math

import numpy as np

from counterleaf.kernels.compiler import kernel, pure
from counterleaf.kernels.early import alone, eases, pushed
from counterleaf.kernels.memory import (
    ANSWERED,
    ANSWERS,
    ASKED,
    BOX,
    COUPLED,
    CURVED,
    DISCARDED,
    EXPANDED,
    FLAT,
    FRESH,
    OPEN_ENDS,
    POINTS,
    QUEUED,
    REALISED,
    RUNAWAY,
    SOLVED,
    STATES,
    UNSETTLED,
    new_space,
)
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE
from counterleaf.kernels.queue import pop
from counterleaf.kernels.realise import cost_of, length, place, routed
from counterleaf.kernels.region import collect, exact_score, idle, price_of, solve
from counterleaf.kernels.states import enqueue, just_below, new_state, offer, postpone

DONE, PAUSED, FULL, UNBOUNDED, ASK = 0, 1, 2, 3, 4  # why a search stopped

_FEW = 8  # target leaves
_ATTEMPTS = 30  # doublings of a slack, from rounding up; a leaf without a row by then is thinner than 1e-9 of its terms


@pure
def narrow(q, states, state, lower, upper):
    """Intersect the box with the one-feature splits on the path of ``state``."""
    nodes = q.nodes
    while states[state].parent >= 0:
        node = nodes[states[states[state].parent].node]
        d = node.feature
        if d >= 0:
            if states[state].side > 0:
                lower[d] = max(lower[d], node.cut_right)
            else:
                upper[d] = min(upper[d], node.cut_left)
        state = states[state].parent


@pure
def _widen(q, states, state, lower, upper):
    """Undo ``narrow``."""
    nodes, f = q.nodes, q.features
    while states[state].parent >= 0:
        d = nodes[states[states[state].parent].node].feature
        if d >= 0:
            lower[d], upper[d] = f[1, d], f[2, d]
        state = states[state].parent


@pure
def _has_room(lower, upper):
    room = True
    for d in range(lower.shape[0]):
        room = room and lower[d] <= upper[d] and lower[d] < math.inf and upper[d] > -math.inf
    return room


@pure
def _box_bound(q, lower, upper):
    f, total = q.features, 0.0
    for d in range(lower.shape[0]):
        total += price_of(f, d, idle(f, d, lower[d], upper[d]))
    return total


@pure
def _is_calm(q, lower, upper):
    """True if every feature on its own stays at its source, at no cost."""
    f, calm = q.features, True
    for d in range(lower.shape[0]):
        calm = calm & (lower[d] <= f[0, d]) & (f[0, d] <= upper[d]) & (f[4, d] >= 0.0) & (f[6, d] <= 0.0) & (f[8, d] == 0.0)
    return calm


@pure
def most_columns(q, depth):
    """How many features a path of so many rows can touch."""
    indptr, most = q.indptr, 0
    for i in range(q.bias.shape[0]):
        most = max(most, indptr[i + 1] - indptr[i])
    return min(q.features.shape[1], most * depth)


@kernel
def search(q, pool, count, budget):
    """As ``search_in``, in room of its own."""
    depth = pool.lam.shape[2]
    return search_in(q, pool, count, budget, new_space(depth, most_columns(q, depth)))


@kernel
def search_in(q, pool, count, budget, space):
    """Go on until ``count`` leaves are answered (DONE), no state is left (DONE), ``budget`` states were
    taken up (PAUSED), the pool is FULL, the cost falls for ever on a target leaf (UNBOUNDED), or the caller must
    solve the region of state counts[ASKED] (ASK): bound it if it is FRESH, else move its point inwards by its slack."""
    f, nodes, indptr, indices, data = q.features, q.nodes, q.indptr, q.indices, q.data
    states, heap, lams, deltas, points = pool.states, pool.heap, pool.lam, pool.delta, pool.points
    answers, counts, method, margin = pool.answers, pool.counts, q.method, q.margin
    width = f.shape[1]
    nowhere = nodes.shape[0]
    users = q.bias.shape[0] - nowhere
    lower, upper = np.empty(width), np.empty(width)
    slot = np.empty(width, np.int64)
    x = np.empty(width)
    at_source = np.empty(q.bias.shape[0])
    rows, signs, zero = np.empty(lams.shape[2], np.int64), np.empty(lams.shape[2]), np.zeros(lams.shape[2])
    for d in range(width):
        lower[d], upper[d] = f[1, d], f[2, d]
        slot[d] = -1
    for i in range(at_source.shape[0]):
        at_source[i] = math.nan
    if nodes[0].below == math.inf:
        return DONE
    calm, ease = _is_calm(q, lower, upper), np.empty(width if method == CURVED else 0)
    eases(f, ease)
    if counts[STATES] == 0:
        state = new_state(q, pool, 0, -1, 0, -1)
        if not _has_room(lower, upper):
            states[state].kind = DISCARDED
            return DONE
        bound = _box_bound(q, lower, upper) + nodes[0].below  # with no multipliers at all
        if method == BOX:
            offer(q, pool, state, CONVERGED, bound - nodes[0].below)
        else:
            postpone(pool, state, bound)
    limit = counts[SOLVED] + budget
    while counts[QUEUED] > 0 and counts[ANSWERS] < count:
        if states[heap[0]].kind == REALISED:
            counts[QUEUED] = pop(heap, counts[QUEUED], states)
            state = heap[counts[QUEUED]]
            states[state].kind = ANSWERED
            answers[counts[ANSWERS]] = state
            counts[ANSWERS] += 1
            continue
        if counts[SOLVED] >= limit:
            return PAUSED
        if counts[STATES] + 2 > states.shape[0] or counts[POINTS] + 1 > points.shape[0]:
            return FULL
        counts[SOLVED] += 1
        counts[QUEUED] = pop(heap, counts[QUEUED], states)
        state = heap[counts[QUEUED]]
        entry = states[state]
        here = entry.node
        node = nodes[here]
        # a bound of a node with target leaves on one side only serves no purpose that the child's own does not; and where
        # a bound costs much, neither does that of a node with few of them
        few = node.left >= 0 and method == COUPLED and node.leaves <= _FEW
        lone = node.left >= 0 and (nodes[node.left].below == math.inf or nodes[node.right].below == math.inf)
        fresh = entry.kind == FRESH and not few and not lone
        narrow(q, states, state, lower, upper)
        if entry.kind == FRESH and not _has_room(lower, upper):  # with a larger margin than when the state was made
            entry.kind = DISCARDED
            _widen(q, states, state, lower, upper)
            continue
        if fresh and method == COUPLED:
            counts[ASKED] = state
            return ASK
        if fresh:
            if method == BOX:
                offer(q, pool, state, CONVERGED, _box_bound(q, lower, upper))
            else:
                status, bound = solve(q, pool, state, zero, lower, upper, at_source, slot, calm, space)
                offer(q, pool, state, status, bound)
            _widen(q, states, state, lower, upper)
            continue
        if node.left < 0:
            if entry.bound == -math.inf:
                for d in range(width):
                    change = deltas[state, d] if method != BOX else idle(f, d, lower[d], upper[d])
                    if price_of(f, d, change) == -math.inf:
                        counts[RUNAWAY] = d
                        return UNBOUNDED
            m = entry.rows
            row, sign, slack = rows[:m], signs[:m], lams[state, 1, :m]
            collect(q, states, state, row, sign)
            found = False
            entry.kind = UNSETTLED
            if here == q.home:
                inside = True
                for d in range(width):
                    x[d] = f[0, d]
                    inside = inside and lower[d] <= x[d] <= upper[d]  # a margin may have moved the cuts past it
                found = inside and routed(q, x, row, sign, users, slack)
            trial = state
            for attempt in range(0 if found or entry.exact == 0 else _ATTEMPTS):
                if attempt > 0 and method == COUPLED:
                    counts[ASKED] = state
                    return ASK
                if attempt > 0:  # the same region, the faces that were missed moved inwards, from the last answer
                    if attempt == 1:
                        trial = new_state(q, pool, here, entry.parent, entry.side, state)
                        counts[STATES] -= 1  # scratch, behind the last state
                    status, _ = solve(q, pool, trial, slack, lower, upper, at_source, slot, calm, space)
                    if status == INFEASIBLE:
                        entry.kind = DISCARDED
                        for t in range(m):
                            lams[state, 0, t] = lams[trial, 0, t]
                        break
                    if status != CONVERGED:  # empty by less than rounding can tell: further in
                        for t in range(m):
                            slack[t] *= 2.0
                        continue
                place(q, pool, trial, lower, upper, x)
                found = routed(q, x, row, sign, users, slack)
                if found:
                    break
            if found:
                for d in range(width):
                    points[counts[POINTS], d] = x[d]
                entry.point = counts[POINTS]
                counts[POINTS] += 1
                entry.cost = cost_of(q, x) + node.below
                if method == BOX or entry.bound > entry.cost:
                    entry.bound = entry.cost  # the same sum, in another order
                key, rank = entry.cost, nowhere + here
                if method == COUPLED and entry.cost - entry.bound <= 1e-13 * length(q, x):
                    key, rank = (
                        just_below(entry.bound),
                        -1,
                    )  # where much is free, a leaf on its bound need not wait for its equals
                enqueue(pool, state, REALISED, key, rank)
            elif entry.kind == UNSETTLED:
                counts[OPEN_ENDS] += 1
            _widen(q, states, state, lower, upper)
            continue
        entry.kind = EXPANDED
        d = node.feature
        side_of = 0.0
        if d < 0:
            if math.isnan(at_source[here]):
                at_source[here] = exact_score(q, here)
            side_of = at_source[here]
            for k in range(indptr[here], indptr[here + 1]):
                side_of += data[k] * deltas[state, indices[k]]
        for side in (-1, 1):
            child = node.right if side > 0 else node.left
            if nodes[child].below == math.inf:
                continue
            inherits = entry.exact == 1
            old_lower, old_upper = 0.0, 0.0
            if d < 0:
                inherits = inherits and side * side_of >= margin
            else:
                old_lower, old_upper = lower[d], upper[d]
                if side > 0:
                    lower[d] = max(old_lower, node.cut_right)
                else:
                    upper[d] = min(old_upper, node.cut_left)
                if method != BOX:
                    at = f[0, d] + deltas[state, d]
                    inherits = inherits and lower[d] <= at <= upper[d]
            if d < 0 or (lower[d] <= upper[d] and lower[d] < math.inf and upper[d] > -math.inf):
                new = new_state(q, pool, child, state, side, state)
                bound = entry.bound - node.below
                if method == BOX:
                    if bound > -math.inf:
                        before = price_of(f, d, idle(f, d, old_lower, old_upper))
                        bound += price_of(f, d, idle(f, d, lower[d], upper[d])) - before
                    else:
                        bound = _box_bound(q, lower, upper)
                    offer(q, pool, new, CONVERGED, bound)
                elif inherits:
                    for e in range(width):
                        deltas[new, e] = deltas[state, e]
                    offer(q, pool, new, CONVERGED, bound)
                else:  # to be solved when it comes up, if it does
                    last = lams[new, 0]
                    if d < 0 and method == CURVED and entry.exact == 1:
                        bound += pushed(q, here, margin - side * side_of, lower, upper, ease, last, entry.rows)
                    elif d < 0 and method == FLAT and calm:
                        bound = alone(q, here, side, margin - side * at_source[here], lower, upper, bound, last, entry.rows)
                    postpone(pool, new, bound + nodes[child].below)
            if d >= 0:
                lower[d], upper[d] = old_lower, old_upper
        _widen(q, states, state, lower, upper)
    return DONE
