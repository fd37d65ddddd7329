"""One question posed as arrays, in NumPy alone: from the tree, the source, the prices and the constraints.

The search poses it again in the compiled core. A proof reads the arrays made here, which owe nothing to the search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterleaf.model.decision import Decision
from counterleaf.model.tree import Tree
from counterleaf.question.arrays import ChangeLimit, Features, Grids, LinearRow, Posed, Table
from counterleaf.question.constraints.lowering import Interval, Limits
from counterleaf.question.costs.prices import Prices
from counterleaf.question.splits import Margin, Splits, aim, prepare
from counterleaf.question.variables import Variables
from counterleaf.table.infer import Spreads
from counterleaf.types import Array


class Basis(NamedTuple):
    """What the arrays of a question depend on besides the trees, the features, the row and the question."""

    spreads: Spreads | None = None  # behind named weights and margins
    guard: float = 0.0  # of its terms: the accuracy of a sum if the model adds in its own order


GUARDS = (1e-12, 2.0**-34, 2.0**-28, 2.0**-22, 2.0**-18)  # of the terms of a split; see ``Guard``


class Guard(NamedTuple):
    """How far the answers about a model may keep from splits that it sums in its own order, as shares of their terms.

    A leaf computes each output by itself, a row of the plain tree their difference. Rounding in float64 rarely refutes an
    answer, and a guard would exclude rows that lie exactly on a split: a search has ``least`` first, and larger ones only for
    answers that the model refutes.
    """

    least: float
    paid: float  # the largest one whose price an optimal answer may cost more than its bound
    larger: tuple[float, ...]  # () if the model sums as its tree does

    @classmethod
    def of(cls, guard: float, decision: Decision) -> Guard:
        """The guards for a model whose sums are accurate to a share of their terms, and a target of it."""
        least, own = guard if guard > GUARDS[0] else 0.0, not decision.same_splits
        larger = tuple(max(one, least) for one in GUARDS) if guard > 0.0 or own else ()
        return cls(least, max(guard, GUARDS[0] if own else 0.0), larger)


class TargetTree(NamedTuple):
    """A tree with a margin and a target: the part of a question that does not depend on its row."""

    tree: Tree
    splits: Splits
    nodes: Array  # of the target, see ``aim``
    variables: Variables
    guard: float  # of its terms: the distance that answers keep from a split that the model sums in its own order
    paid: float = 0.0  # the part of it whose price an optimal answer may cost more than its bound


def stump(margin: Margin, variables: Variables) -> TargetTree:
    """The question of an ensemble, which is one about a tree with a single leaf: it is about the row, not about the trees."""
    tree = Tree([-1], [-1], np.zeros((1, len(variables.group))), [0.0], [0])  # type: ignore[arg-type]  # lists
    splits = prepare(tree, margin, variables)
    return TargetTree(tree, splits, aim(tree, splits, {0: 0.0}), variables, 0.0)


class RowArrays(NamedTuple):
    """Rows data @ x + bias in CSR."""

    indptr: Array
    indices: Array
    data: Array
    bias: Array


class ClauseArrays(NamedTuple):
    """The two boxes of every clause, one after another."""

    starts: Array  # (C, 3) where the first box begins, where the second one begins, and where it ends
    where: Array  # (L,) the variables
    lower: Array  # (n, L) the bounds for each source
    upper: Array


def pose(
    model: TargetTree, source: Array, prices: Prices, limits: Limits, avoided: tuple[ChangeLimit, ...], widened: bool = False
) -> tuple[Posed, Table | None]:
    """The question about a source, and its table, None if the question has none.

    ``limits`` are the constraints on this source alone, ``avoided`` further limits on the features that change.
    """
    tree, w, coupling = model.tree, model.tree.weights, prices.coupling
    lower, upper, table = constrained(model.variables, source, limits, avoided, prices.charges)
    rows, equal = stacked(limits.rows)
    posed = Posed(
        nodes=model.nodes,
        indptr=np.concatenate([w.indptr, w.indptr[-1] + rows.indptr[1:]]),
        indices=np.concatenate([w.indices, rows.indices]),
        data=np.concatenate([w.data, rows.data]),
        bias=np.concatenate([tree.bias, rows.bias]),
        features=Features(source.copy(), lower, upper, *_priced(prices, table)),
        equal=equal,
        margins=model.splits.margins,
        guard=model.guard,
        paid=min(model.guard, model.paid),
        right_closed=tree.closed == "right",
        narrow=tree.dtype == "float32",
        widened=widened,
        matrix=None if coupling is None else coupling.matrix,
        tangent_curve=None if coupling is None else coupling.tangent_curve,
    )
    return posed, table


def constrained(
    variables: Variables, source: Array, limits: Limits, avoided: tuple[ChangeLimit, ...], charges: Array
) -> tuple[Array, Array, Table | None]:
    """The bounds of a source, and the groups, grids, clauses, limits on changes and charges, None if there are none.

    Bounds move inwards to the next number on their grid.
    """
    lower, upper = limits.lower[0].copy(), limits.upper[0].copy()
    members, most = change_arrays(limits, avoided, variables.count)
    on = variables.grids.on.nonzero()[0]
    if not (len(variables.first) or len(on) or len(most) or len(charges) or limits.clauses):
        return lower, upper, None
    _snap(variables.grids.at(on), source[on], lower, upper, on)
    starts, where, (low,), (high,) = clause_boxes(limits, 1)
    if len(where):
        gridded = variables.grids.on[where].nonzero()[0]
        places = where[gridded]
        _snap(variables.grids.at(places), source[places], low, high, gridded)
    changes = members, most, charges if len(charges) else np.zeros(variables.count)
    return lower, upper, variables.table(variables.values_of(source), changes, starts, (where, low, high))


def _snap(grids: Grids, source: Array, lower: Array, upper: Array, at: Array) -> None:
    """Move some bounds inwards to the next number of their grids."""
    lower[at], upper[at] = grids.above(source, lower[at]), grids.below(source, upper[at])
    upper += 0.0  # not -0.0


def _priced(prices: Prices, table: Table | None) -> Array:
    """The lines of the cost; a value of a group costs what the change from the source's value to it costs."""
    lines = np.array(prices.separable)
    if table is not None:
        moved = np.zeros(lines.shape[1])
        for costs, first, last, stay in zip(prices.moves, table.first, table.last, table.source_value, strict=True):
            moved[first:last] = costs[stay - first]
        lines[1::2] += moved  # the slopes
    return lines


def stacked(rows: list[LinearRow]) -> tuple[RowArrays, int]:
    """The user's rows as data @ x + bias >= 0, equalities (= 0) first; and the number of equalities."""
    equalities = [row for row in rows if row.relation == "=="]
    indptr, indices, data, bias = [0], [], [], []
    for terms, relation, rhs in equalities + [row for row in rows if row.relation != "=="]:
        sign = -1.0 if relation == "<=" else 1.0
        used = sorted((d, sign * a) for d, a in terms.items())
        indices += [d for d, _ in used]
        data += [a for _, a in used]
        indptr.append(len(indices))
        bias.append(-sign * rhs)
    whole = np.array(indptr, np.int64), np.array(indices, np.int64)
    return RowArrays(*whole, np.array(data, float), np.array(bias, float)), len(equalities)


def change_arrays(limits: Limits, more: tuple[ChangeLimit, ...], count: int) -> tuple[Array, Array]:
    """The limits on the changes of ``count`` features: (K, F) marks, and (K,) how many of the marked features may change."""
    all_of = [] if limits.max_changes < 0 else [ChangeLimit(tuple(range(count)), limits.max_changes)]
    every = [*all_of, *more]
    members, most = np.zeros((len(every), count), bool), np.array([one.most for one in every], np.int64)
    for line, one in zip(members, every, strict=True):
        line[list(one.features)] = True
    return members, most


def clause_boxes(limits: Limits, n: int) -> ClauseArrays:
    """The boxes of all clauses as arrays, for ``n`` sources."""
    starts: list[tuple[int, int, int]] = []
    intervals: list[Interval] = []
    for first, second in limits.clauses:
        begin = len(intervals)
        starts.append((begin, begin + len(first), begin + len(first) + len(second)))
        intervals += [*first, *second]
    lower, upper = np.empty((n, len(intervals))), np.empty((n, len(intervals)))
    for k, interval in enumerate(intervals):
        lower[:, k], upper[:, k] = interval.lower, interval.upper
    where = np.array([interval.variable for interval in intervals], np.int64)
    return ClauseArrays(np.array(starts, np.int64).reshape(-1, 3), where, lower, upper)
