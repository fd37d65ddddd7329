"""Best-first search over the tree: the leaves in order of cost, each with a proof.

A state is a tree node with the splits on its path; its bound is the least cost over that region (see
``region``), so it bounds every leaf below. Invariant of the queue: every target leaf not yet answered
lies below a queued, discarded or stuck state. At a node, the state's own point lies in one of the two
children, which inherits point and bound unsolved; only the other one is solved, with one more row.
A leaf that is popped is realised (put on the model's numbers, inside the leaf as the model routes it) and
queued again at its realised cost; popped again, it is an answer.
"""

import math

import numpy as np

from counterleaf.kernels.compiler import kernel, pure
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
    OBLIQUE,
    OPEN,
    OPEN_ENDS,
    POINTS,
    QUEUED,
    REALISED,
    RUNAWAY,
    SOLVED,
    SPLIT,
    STATES,
    UNSETTLED,
    new_space,
)
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE
from counterleaf.kernels.queue import pop, push
from counterleaf.kernels.region import collect, exact_score, idle, price_of, solve
from counterleaf.kernels.route import score
from counterleaf.kernels.separable import charge

DONE, PAUSED, FULL, UNBOUNDED, ASK = 0, 1, 2, 3, 4  # why a search stopped

_FEW = 8  # target leaves
_TIE = 1e-14  # bounds closer than this share are equal: both are realised before either is answered
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
def _place(q, pool, state, lower, upper, x):
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
def _length(q, x):
    """The square of the change, each feature in units of its cost."""
    f, total = q.features, 0.0
    for d in range(x.shape[0]):
        total += ((x[d] - f[0, d]) * f[7, d]) ** 2
    return total


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


@pure
def _eases(f, ease):
    """One over the curvature that each feature has wherever it can move; 0 where it cannot."""
    for d in range(ease.shape[0]):
        up, down = f[2, d] > f[0, d], f[1, d] < f[0, d]
        curve = min(f[3, d] if up else math.inf, f[5, d] if down else math.inf)
        ease[d] = 1.0 / curve if up or down else 0.0


@pure
def _pushed(q, row, miss, lower, upper, ease, lam, place):
    """What a region costs more, at least, once a row holds that its point misses by ``miss``; writes the row's multiplier.

    The Lagrangian of the region has its least value at the point and curves upwards from there: the cheapest way to the
    row's face costs miss^2 / sum_j a_j^2 / c_j. The dual, along that multiplier, says the same.
    """
    indptr, indices, data, reach = q.indptr, q.indices, q.data, 0.0
    for k in range(indptr[row], indptr[row + 1]):
        d = indices[k]
        if lower[d] < upper[d]:
            reach += data[k] * data[k] * ease[d]
    if not 0.0 < reach < math.inf or miss <= 0.0:
        return 0.0
    lam[place] = 2.0 * miss / reach
    return miss * miss / reach


@pure
def _alone(q, row, side, miss, lower, upper, known, lam, place):
    """What a row that the source misses by ``miss`` costs on its own where costs are flat, or ``known`` if that is more.

    Writes the multipliers that prove it.
    """
    f, indptr, indices, data = q.features, q.indptr, q.indices, q.data
    least = math.inf
    for k in range(indptr[row], indptr[row + 1]):
        d, a = indices[k], side * data[k]
        if lower[d] < upper[d]:
            least = min(least, f[4, d] / a if a > 0.0 else f[6, d] / a)
    if not least * miss > known or least == math.inf:
        return known
    for t in range(place):
        lam[t] = 0.0
    lam[place] = least
    return least * miss


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
    _eases(f, ease)
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
                _place(q, pool, trial, lower, upper, x)
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
                if method == COUPLED and entry.cost - entry.bound <= 1e-13 * _length(q, x):
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
                        bound += _pushed(q, here, margin - side * side_of, lower, upper, ease, last, entry.rows)
                    elif d < 0 and method == FLAT and calm:
                        bound = _alone(q, here, side, margin - side * at_source[here], lower, upper, bound, last, entry.rows)
                    postpone(pool, new, bound + nodes[child].below)
            if d >= 0:
                lower[d], upper[d] = old_lower, old_upper
        _widen(q, states, state, lower, upper)
    return DONE
