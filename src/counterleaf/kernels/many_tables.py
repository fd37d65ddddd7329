"""Many questions on tables that differ in their source: see ``many``."""

from counterleaf.kernels.compiler import kernel
from counterleaf.kernels.many import note
from counterleaf.kernels.memory import Question, Table, new_space
from counterleaf.kernels.table_search import search_table_in


@kernel
def search_tables(
    q, nodes, kinds, features, methods, homes, table, own, soft, lower, upper, unit, pool, budget,
    outcome, leaf, cost, bound, points,
):  # fmt: skip
    """As ``search_many``, with the table of each question."""
    space = new_space(pool.lam.shape[2] + len(table.first), features.shape[2])
    for k in range(features.shape[0]):
        asked = Question(
            nodes[kinds[k]], q.indptr, q.indices, q.data, q.bias, features[k], q.equal, q.couples, q.coupled, q.coupling,
            methods[k], q.margin, q.right_closed, q.narrow, q.guard, homes[k],
        )  # fmt: skip
        about = Table(
            table.group, table.first, table.last, own[k], table.step, table.feature, soft[k], table.most,
            table.clauses, table.where, lower[k], upper[k], unit[k],
        )  # fmt: skip
        pool.counts[:] = 0
        why = search_table_in(asked, about, pool, 1, budget, space)
        note(pool, why, k, outcome, leaf, cost, bound, points)
