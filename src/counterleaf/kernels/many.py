"""Many questions that differ in their source, one after another in the same memory: the cheapest leaf of each."""

import math

from counterleaf.kernels.best_first import DONE, most_columns, search_in
from counterleaf.kernels.compiler import kernel, pure
from counterleaf.kernels.memory import ANSWERS, FOUND, NONE, OPEN_ENDS, UNASKED, Question, new_space


@pure
def note(pool, why, k, outcome, leaf, cost, bound, points):
    """Write down how question k ended; one that was stopped, ran out of memory or has an open end is UNASKED."""
    outcome[k], leaf[k], cost[k], bound[k] = UNASKED, -1, math.inf, math.inf
    if why != DONE or pool.counts[OPEN_ENDS] > 0:
        return
    if pool.counts[ANSWERS] == 0:
        outcome[k] = NONE
        return
    best = pool.states[pool.answers[0]]
    outcome[k], leaf[k], cost[k], bound[k] = FOUND, best.node, best.cost, best.bound
    for d in range(points.shape[1]):
        points[k, d] = pool.points[best.point, d]


@kernel
def search_many(q, nodes, kinds, features, methods, homes, pool, budget, outcome, leaf, cost, bound, points):
    """Question k has the nodes of its kind, its features, its method and its home; the rest is that of ``q``."""
    depth = pool.lam.shape[2]
    space = new_space(depth, most_columns(q, depth))
    for k in range(features.shape[0]):
        asked = Question(
            nodes[kinds[k]], q.indptr, q.indices, q.data, q.bias, features[k], q.equal, q.couples, q.coupled, q.coupling,
            methods[k], q.margin, q.right_closed, q.narrow, q.guard, homes[k],
        )  # fmt: skip
        pool.counts[:] = 0
        why = search_in(asked, pool, 1, budget, space)
        note(pool, why, k, outcome, leaf, cost, bound, points)
