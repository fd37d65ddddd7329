"""Best-first search on tables: as ``best_first``, and a leaf whose point is no row of the table forks.

A leaf is popped with the point of its relaxation. Where that breaks a clause, changes too many features, or puts a group or a
grid between its values, the leaf becomes two states that hold all its rows between them (see ``table``), queued in the same
queue. Where it does not, the values are fixed and what is continuous is put on the model's numbers as ever. A row that
costs no more than its state's bound is the best of it; any other only says where to fork.
"""

import math

import numpy as np

from counterleaf.kernels.best_first import DONE, FULL, PAUSED, UNBOUNDED
from counterleaf.kernels.compiler import kernel, pure
from counterleaf.kernels.forks import any_choice, fixed, fork, place
from counterleaf.kernels.memory import (
    ANSWERED,
    ANSWERS,
    BOX,
    CURVED,
    CUT,
    DISCARDED,
    EXPANDED,
    FORKED,
    FRESH,
    OBLIQUE,
    OPEN,
    OPEN_ENDS,
    PASSED,
    POINTS,
    QUEUED,
    REALISED,
    RUNAWAY,
    SOLVED,
    SPLIT,
    STATES,
    UNSETTLED,
    grid,
    new_space,
)
from counterleaf.kernels.newton import CONVERGED, INFEASIBLE, STUCK
from counterleaf.kernels.queue import pop
from counterleaf.kernels.realise import cost_of, routed
from counterleaf.kernels.region import collect, exact_score, price_of
from counterleaf.kernels.relaxed import proved, relax, settled
from counterleaf.kernels.states import enqueue, just_below, new_state, postpone
from counterleaf.kernels.table import cheapest, region_box

_ATTEMPTS = 30  # doublings of a slack
_TIGHT = 1e-10  # a row that costs its bound to this share is the best of its state


@pure
def _box_bound(q, table, pool, state, lower, upper):
    """The bound of a state's region where boxes suffice: the best of every feature on its own."""
    total = 0.0
    delta, f = pool.delta[state], q.features
    for d in range(lower.shape[0]):
        if table.group[d] < 0:
            delta[d], worth = settled(
                0.0, f[3, d], f[4, d], f[5, d], f[6, d], f[0, d], lower[d], upper[d], table.step[0, d], table.step[1, d]
            )
            total += worth if f[8, d] == 0.0 else price_of(f, d, delta[d])
        else:
            delta[d] = -f[0, d]
    for g in range(table.first.shape[0]):
        v = cheapest(f[4], table.own[g], table.first[g], table.last[g], upper)
        delta[v] += 1.0
        total += f[4, v] - f[4, table.own[g]]
    return total


@pure
def _lifted(table, bound):
    """The least cost that a row can have at or above a bound."""
    if table.unit > 0.0:
        return max(bound, math.ceil(bound / table.unit - 1e-9) * table.unit)
    return bound


@pure
def _offer(q, table, pool, state, status, bound):
    """Queue a bounded state, or discard it with its proof. ``bound`` is without the class cost."""
    entry = pool.states[state]
    if status == INFEASIBLE:
        entry.kind = DISCARDED
        for t in range(pool.lam.shape[2]):
            pool.lam[state, 1, t] = 0.0
        return
    bound = _lifted(table, bound) + q.nodes[entry.node].below
    if entry.bound > bound:  # known before, from a larger region: its multipliers are the better proof
        bound = entry.bound
        for t in range(pool.lam.shape[2]):
            pool.lam[state, 0, t] = pool.lam[state, 1, t]
    for t in range(pool.lam.shape[2]):
        pool.lam[state, 1, t] = 0.0
    entry.bound = bound
    entry.exact = 1 if status == CONVERGED else 0
    _enqueue(q, table, pool, state, OPEN)


@pure
def _enqueue(q, table, pool, state, kind):
    """Queue a state by its bound: before a row that costs as much, unless only leaves with higher numbers lie below it.

    Where costs come in units, bounds are exact and many are equal; elsewhere those closer than rounding count as equal.
    """
    entry = pool.states[state]
    key = entry.bound if table.unit > 0.0 else just_below(entry.bound)
    enqueue(pool, state, kind, key, 2 * q.nodes[entry.node].first + 1)


@pure
def _child(q, pool, node, parent, side):
    """A new state below ``parent``, with the parent's proof."""
    state = new_state(q, pool, node, parent, side, parent)
    deltas = pool.delta
    for d in range(deltas.shape[1]):
        deltas[state, d] = deltas[parent, d]
    for t in range(pool.basis.shape[2]):  # the groups' rows too
        pool.basis[state, 0, t] = pool.basis[parent, 0, t] if t < pool.states[parent].rows or t >= pool.lam.shape[2] else -1 - t
        pool.basis[state, 1, t] = pool.basis[parent, 1, t] if t < pool.states[parent].rows or t >= pool.lam.shape[2] else 0
    return state


@pure
def _postpone(q, table, pool, state, lower, upper, at_source, miss, space):
    """Queue a state at what its parent's multipliers prove of it, to be solved when it comes up.

    ``miss``: by how much the parent's point misses the state's new row, if it has one and the point is exact; else 0. Then the
    row gets the multiplier that pushes the point onto it if nothing else moved.
    """
    nodes = q.nodes
    entry = pool.states[state]
    above_it = pool.states[entry.parent]
    entry.bound = above_it.bound + nodes[entry.node].below - nodes[above_it.node].below
    fresh_row = entry.how == SPLIT and nodes[above_it.node].feature == OBLIQUE
    if not fresh_row or miss > 0.0:  # a row that is not yet priced adds nothing
        m, lam = entry.rows, pool.lam[state, 0]
        row, sign, room = space.whole[:m], space.real[:m], grid(space.real, m, 2, lower.shape[0])
        collect(q, pool.states, state, row, sign)
        for t in range(m):
            if math.isnan(at_source[row[t]]):
                at_source[row[t]] = exact_score(q, row[t])
        if fresh_row:
            reach = _reach(q, table, row[m - 1], lower, upper)
            lam[m - 1] = 2.0 * miss / reach if reach > 0.0 else 0.0
        bound = proved(q, table, row, sign, at_source, lam[:m], lower, upper, room[0], room[1])
        bound = _lifted(table, bound) + nodes[entry.node].below
        if bound > entry.bound:
            entry.bound = bound
        elif fresh_row:
            lam[m - 1] = 0.0
    _enqueue(q, table, pool, state, FRESH)


@pure
def _reach(q, table, row, lower, upper):
    """sum_j a_j^2 / c_j over what can move: how easily a row is reached where costs are curved."""
    f, indptr, indices, data, group, softs = q.features, q.indptr, q.indices, q.data, table.group, table.soft
    total = 0.0
    for k in range(indptr[row], indptr[row + 1]):
        d = indices[k]
        if lower[d] < upper[d]:
            curve = softs[group[d]] if group[d] >= 0 else min(f[3, d], f[5, d])
            total += data[k] * data[k] / curve if curve > 0.0 else math.inf
    return total


@pure
def _inherits(q, pool, state, lower, upper):
    """True if the state's point, its parent's, lies in its box."""
    inside = True
    for d in range(lower.shape[0]):
        x = q.features[0, d] + pool.delta[state, d]
        inside = inside and lower[d] <= x <= upper[d]
    return inside


@kernel
def search_table(q, table, pool, count, budget):
    """As ``search_table_in``, in room of its own."""
    return search_table_in(q, table, pool, count, budget, new_space(pool.lam.shape[2] + len(table.first), q.features.shape[1]))


@kernel
def search_table_in(q, table, pool, count, budget, space):
    """Go on until ``count`` leaves are answered or no state is left (DONE), ``budget`` states were taken up (PAUSED), the
    pool is FULL, or the cost falls for ever on a target leaf (UNBOUNDED)."""
    f, nodes, indptr, indices, data = q.features, q.nodes, q.indptr, q.indices, q.data
    states, heap, lams, bases, deltas = pool.states, pool.heap, pool.lam, pool.basis, pool.delta
    points, answers, counts = pool.points, pool.answers, pool.counts
    width = f.shape[1]
    nowhere = nodes.shape[0]
    users = q.bias.shape[0] - nowhere
    boxes = np.empty((4, width))
    lower, upper, low, high = boxes[0], boxes[1], boxes[2], boxes[3]
    slot, x = np.full(width, -1), np.empty(width)
    at_source, zero = np.full(q.bias.shape[0], math.nan), np.zeros(lams.shape[2])
    rows, signs = np.empty(lams.shape[2], np.int64), np.empty(lams.shape[2])
    if nodes[0].below == math.inf:
        return DONE
    if counts[STATES] == 0:
        state = new_state(q, pool, 0, -1, 0, -1)
        for t in range(bases.shape[2]):
            bases[state, 0, t], bases[state, 1, t] = -1 - t, 0
        if not region_box(q, table, states, state, lower, upper):
            states[state].kind = DISCARDED
            return DONE
        postpone(pool, state, -math.inf)
    limit = counts[SOLVED] + budget
    while counts[QUEUED] > 0 and counts[ANSWERS] < count:
        top = heap[0]
        known = False
        if nodes[states[top].node].left < 0:
            for k in range(counts[ANSWERS]):
                known = known or states[answers[k]].node == states[top].node
        if known or states[top].kind == REALISED:
            counts[QUEUED] = pop(heap, counts[QUEUED], states)
            states[top].kind = PASSED if known else ANSWERED
            if not known:
                answers[counts[ANSWERS]] = top
                counts[ANSWERS] += 1
            continue
        if counts[SOLVED] >= limit:
            return PAUSED
        if counts[STATES] + 3 > states.shape[0] or counts[POINTS] + 1 > points.shape[0]:
            return FULL
        counts[SOLVED] += 1
        counts[QUEUED] = pop(heap, counts[QUEUED], states)
        state = heap[counts[QUEUED]]
        entry = states[state]
        here = entry.node
        node = nodes[here]
        if not region_box(q, table, states, state, lower, upper):
            entry.kind = DISCARDED
            continue
        lone = node.left >= 0 and (nodes[node.left].below == math.inf or nodes[node.right].below == math.inf)
        if entry.kind == FRESH and not lone:
            for t in range(lams.shape[2]):
                lams[state, 1, t] = lams[state, 0, t]
            status, bound = CONVERGED, 0.0
            if q.method == BOX or entry.rows == 0:
                bound = _box_bound(q, table, pool, state, lower, upper)
            else:
                closed = q.method == CURVED
                while True:
                    status, bound = relax(q, table, pool, state, zero, lower, upper, at_source, slot, closed, space)
                    if status != STUCK or not closed:
                        break
                    closed = False
            _offer(q, table, pool, state, status, bound)
            continue
        how, what, cut, other = 0, -1, 0.0, 0.0
        if node.left < 0:
            if entry.bound == -math.inf:
                for d in range(width):
                    if price_of(f, d, deltas[state, d]) == -math.inf:
                        counts[RUNAWAY] = d
                        return UNBOUNDED
            m = entry.rows
            row, sign, slack = rows[:m], signs[:m], lams[state, 1, :m]
            collect(q, states, state, row, sign)
            found = False
            if here == q.home:
                inside = True
                for d in range(width):
                    x[d] = f[0, d]
                    inside = inside and lower[d] <= x[d] <= upper[d]
                found = inside and routed(q, x, row, sign, users, slack)
            empty = False
            if not found:
                place(q, table, deltas[state], lower, upper, x)
                how, what, cut, other = fork(q, table, states, state, deltas[state], lower, upper, x)
                if how == 0:
                    fixed(q, table, x, lower, upper, low, high)
                    trial = state
                    for attempt in range(_ATTEMPTS):
                        if attempt > 0:
                            if attempt == 1:
                                trial = new_state(q, pool, here, entry.parent, entry.side, state)
                                counts[STATES] -= 1  # scratch, behind the last state
                                states[trial].how, states[trial].what = entry.how, entry.what
                                states[trial].rows = m
                                for t in range(bases.shape[2]):
                                    bases[trial, 0, t] = bases[state, 0, t]
                                    bases[trial, 1, t] = bases[state, 1, t]
                            closed = attempt == 0  # False: every choice is fixed, no group is left
                            status, _ = relax(q, table, pool, trial, slack, low, high, at_source, slot, closed, space)
                            if status == INFEASIBLE:
                                empty = True
                                break
                            if status != CONVERGED:
                                for t in range(m):
                                    slack[t] *= 2.0
                                continue
                        place(q, table, deltas[trial], low, high, x)
                        found = routed(q, x, row, sign, users, slack)
                        if found or q.method == BOX:
                            break
            if found:
                cost = cost_of(q, x) + node.below
                bound = entry.bound
                if cost - bound > _TIGHT * (abs(cost) + abs(bound)) and here != q.home:
                    what, cut, other = any_choice(q, table, lower, upper, x)
                    how = CUT if what >= 0 else 0
                if how == 0:
                    for d in range(width):
                        points[counts[POINTS], d] = x[d]
                    entry.point = counts[POINTS]
                    counts[POINTS] += 1
                    entry.cost = cost
                    entry.bound = cost if q.method == BOX and cost - bound <= _TIGHT * abs(cost) else min(bound, cost)
                    enqueue(pool, state, REALISED, cost, 2 * here)
                    continue
            elif how == 0:
                what, cut, other = any_choice(q, table, lower, upper, x)
                how = CUT if what >= 0 else 0
                if how == 0:
                    entry.kind = UNSETTLED
                    if empty:
                        entry.kind = DISCARDED
                        for t in range(m):
                            lams[state, 0, t] = lams[trial, 0, t]
                    else:
                        counts[OPEN_ENDS] += 1
                    continue
            for t in range(m):
                slack[t] = 0.0
        entry.kind = FORKED if node.left < 0 else EXPANDED
        score = 0.0
        if node.left >= 0 and node.feature == OBLIQUE:
            if math.isnan(at_source[here]):
                at_source[here] = exact_score(q, here)
            score = at_source[here]
            for k in range(indptr[here], indptr[here + 1]):
                score += data[k] * deltas[state, indices[k]]
        for side in (-1, 1):
            child = here
            if node.left >= 0:
                child = node.right if side > 0 else node.left
                if nodes[child].below == math.inf:
                    continue
            new = _child(q, pool, child, state, side)
            fresh = states[new]
            if node.left < 0:
                fresh.how, fresh.what, fresh.cut = how, what, (cut if side < 0 else other)
            if not region_box(q, table, states, new, low, high):
                fresh.kind = DISCARDED
                continue
            inherits = entry.exact == 1 and _inherits(q, pool, new, low, high)
            if node.left >= 0 and node.feature == OBLIQUE:
                inherits = inherits and side * score >= q.margin
            if inherits and how == 0:
                fresh.bound = entry.bound + nodes[child].below - node.below
                fresh.exact = 1
                _enqueue(q, table, pool, new, OPEN)
            else:
                miss = 0.0
                if node.left >= 0 and node.feature == OBLIQUE and entry.exact == 1 and q.method == CURVED:
                    miss = max(q.margin - side * score, 0.0)
                _postpone(q, table, pool, new, low, high, at_source, miss, space)
    return DONE
