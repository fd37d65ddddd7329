"""Published baselines with the interface of ``Explainer``, for comparisons.

Both propose rows and choose the cheapest one that the model assigns to the target. They return an ``Explanation``: the model
confirms the answer, and the certificate proves that no other proposed row costs less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError, check_whole_number, number
from counterleaf.explainer import Explainer
from counterleaf.model.tree import Tree
from counterleaf.question.constraints.kinds import listed
from counterleaf.question.constraints.tables import Among, aligned, among
from counterleaf.question.query import read_target
from counterleaf.table.features import Numeric
from counterleaf.table.frames import is_frame, make_frame, take
from counterleaf.table.schema import Schema
from counterleaf.types import Array

__all__ = ["FeatureTweaking", "NearestRow"]


class NearestRow:
    """The nearest row of a data set that the model assigns to the target, as in the What-If tool (Wexler et al. 2020).

    Parameters
    ----------
    model : object
        A model or pipeline, as for ``Explainer``.
    rows : DataFrame or array-like
        The rows to choose from. The features are inferred from them if there is no ``schema``.
    schema : Schema or None, default=None
        The features, as for ``Explainer``.

    Examples
    --------
    >>> from counterleaf import L2
    >>> from counterleaf.datasets import example_tree
    >>> NearestRow(example_tree(), [[0.0, 0.5], [1.0, 1.0], [0.0, 1.5]]).explain([0.0, 0.0], target="yes", cost=L2())[0].row
    [1.0, 1.0]
    """

    def __init__(self, model: Any, rows: Any, schema: Schema | None = None) -> None:
        self.explainer = Explainer(model, data=rows if schema is None else None, schema=schema)
        self._rows = rows if is_frame(rows) else np.asarray(rows)
        vectors = aligned("among", self._rows, self.explainer.schema)
        tree = self.explainer.tree
        self._predicted = tree.value[tree.apply(vectors)]
        self._of_target: dict[tuple[int, ...], Among] = {}

    def explain(
        self, row: Any, *, target: Any = None, cost: Any = None, constraints: Any = (), count: int | None = 1
    ) -> Explanation:
        """Find the nearest rows of the target.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            The source row.
        target : label, collection of labels or None, default=None
            The wanted class, as for ``Explainer.explain``.
        cost : Cost or None, default=None
            The cost of a change, as for ``Explainer.explain``.
        constraints : Constraint or list of Constraint, default=()
            Constraints on the answer.
        count : int or None, default=1
            Number of answers, each from a different leaf; None for all.

        Returns
        -------
        Explanation
            The nearest rows, cheapest first.
        """
        tree, schema = self.explainer.tree, self.explainer.schema
        source_class = int(tree.value[tree.leaf_of(schema.encode(row))])
        wanted = tuple(read_target(target, tree.classes, source_class))
        if wanted not in self._of_target:
            places = np.flatnonzero(np.isin(self._predicted, wanted))
            places = (
                places if len(places) else np.arange(len(self._predicted))
            )  # then no row reaches the target, and the answer says so
            self._of_target[wanted] = among(take(self._rows, places))
        return self.explainer.explain(
            row,
            target=target,
            cost=cost,
            constraints=[*listed(constraints), self._of_target[wanted]],
            count=count,
            distinct="leaves",
        )


class FeatureTweaking:
    """Feature Tweaking (Tolomei et al. 2017) on one axis-aligned tree.

    For every leaf of the target, the source is changed to satisfy the tests on the path by ``epsilon``: a number is set to the
    threshold plus or minus ``epsilon``. Of the results that reach the target, the nearest in Euclidean distance is chosen. The
    method handles only numbers: categories are tweaked as 0/1 columns and then rounded to the largest column, as described by
    Carreira-Perpiñán and Hada (section 3.7). If the model does not confirm the rounded row, there is no answer. Constraints
    are not supported; numbers are clipped to the bounds of their features and rounded to their grids.

    Parameters
    ----------
    model : object
        A model or pipeline, as for ``Explainer``.
    data : DataFrame, array-like or None, default=None
        Rows from which the features are inferred, as for ``Explainer``.
    schema : Schema or None, default=None
        The features, as for ``Explainer``.
    epsilon : float, default=0.01
        By how much a test is satisfied, in the units of the table.
    only_failed : bool, default=False
        Tweak only the columns of tests that the source fails, which never gives a larger distance. By default the column of
        every test on the path is tweaked, as in the article.

    Examples
    --------
    >>> from counterleaf import Tree
    >>> weights = [[1.0, 0.0], [0, 0], [0, 0]]  # x0 - 1 >= 0 goes right
    >>> tree = Tree([1, -1, -1], [2, -1, -1], weights, bias=[-1.0, 0, 0], value=[-1, 0, 1], classes=["no", "yes"])
    >>> FeatureTweaking(tree, epsilon=0.25).explain([0.0, 0.0], target="yes")[0].row
    [1.25, 0.0]
    """

    def __init__(
        self, model: Any, data: Any = None, schema: Schema | None = None, epsilon: float = 0.01, only_failed: bool = False
    ) -> None:
        self.explainer = Explainer(model, data, schema)
        self.epsilon, self.only_failed = number(epsilon, "epsilon"), only_failed
        if self.epsilon <= 0:
            raise CounterleafError(f"epsilon is {epsilon}; expected a number above 0")
        self._tree = _by_column(self.explainer.tree, self.explainer.schema)
        self._tests = _tests(self._tree)

    def explain(
        self, row: Any, *, target: Any = None, cost: Any = None, constraints: Any = (), count: int | None = 1
    ) -> Explanation:
        """Find the nearest tweaked rows.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            The source row.
        target : label, collection of labels or None, default=None
            The wanted class, as for ``Explainer.explain``.
        cost : Cost or None, default=None
            The cost of a change, as for ``Explainer.explain``.
        constraints : tuple, default=()
            Must be empty.
        count : int or None, default=1
            Number of answers; None for all.

        Returns
        -------
        Explanation
            The nearest tweaked rows, cheapest first.
        """
        if listed(constraints):
            raise CounterleafError("Feature Tweaking does not support constraints; use Explainer or NearestRow")
        check_whole_number("count", count, 1)
        tree, schema = self._tree, self.explainer.schema
        source = schema.encode(row)
        wanted = list(read_target(target, tree.classes, int(tree.value[self.explainer.tree.leaf_of(source)])))
        leaves = [leaf for leaf in tree.leaves.tolist() if tree.value[leaf] in wanted]
        tweaked = np.array([self._tweak(source, leaf) for leaf in leaves]).reshape(-1, schema.width)
        tweaked = tweaked[np.isin(tree.value[tree.apply(tweaked)], wanted)]
        near = tweaked[np.argsort(((tweaked - source) ** 2).sum(axis=1), kind="stable")[:count]]
        rows = [schema.values(schema.decode(_rounded(schema, x), row)) for x in (near if len(near) else source[None])]
        proposed = Among(f"among({len(near)} tweaked rows)", make_frame(rows, schema.names))
        return self.explainer.explain(row, target=target, cost=cost, constraints=proposed, count=count, distinct="leaves")

    def _tweak(self, source: Array, leaf: int) -> Array:
        """Change the source to satisfy the tests on the path to a leaf; of several tests on one column the last one counts."""
        x = source.copy()
        for column, threshold, above in self._tests[leaf]:
            if not self.only_failed or (source[column] > threshold) != above:
                x[column] = threshold + (self.epsilon if above else -self.epsilon)
        return x


def _by_column(tree: Tree, schema: Schema) -> Tree:
    """Rewrite the tree with one column per test: a test for a single category, in any form, tests its 0/1 column."""
    dense, weights, bias = tree.weights.toarray(), np.zeros(tree.weights.shape), tree.bias.copy()
    for node in np.flatnonzero(tree.left >= 0).tolist():
        columns = np.flatnonzero(dense[node])
        if len(columns) == 1:
            weights[node] = dense[node]
            continue
        span = schema.span(int(np.searchsorted(schema.starts, min(columns, default=0), side="right")) - 1)
        sums = dense[node, span] + tree.bias[node]
        right = sums >= 0 if tree.closed == "right" else sums > 0
        if not len(columns) or columns.max() >= span.stop or 1 not in (right.sum(), (~right).sum()):
            raise CounterleafError("Feature Tweaking needs tests of one column each; for an oblique tree use Explainer")
        alone = right if right.sum() == 1 else ~right
        sign = 1.0 if right.sum() == 1 else -1.0
        weights[node, span.start + int(alone.argmax())], bias[node] = sign, -0.5 * sign
    return Tree(tree.left, tree.right, weights, bias, tree.value, tree.classes, tree.closed, tree.dtype)


def _tests(tree: Tree) -> dict[int, list[tuple[int, float, bool]]]:
    """The tests on the path to each leaf: column, threshold, and whether the leaf is above the threshold."""
    out: dict[int, list[tuple[int, float, bool]]] = {}
    stack: list[tuple[int, list[tuple[int, float, bool]]]] = [(0, [])]
    while stack:
        node, path = stack.pop()
        if tree.left[node] < 0:
            out[node] = path
            continue
        (column,), (weight,) = (part.tolist() for part in tree.weights.row(node))
        threshold = -float(tree.bias[node]) / weight
        stack.append((int(tree.left[node]), [*path, (column, threshold, weight < 0)]))
        stack.append((int(tree.right[node]), [*path, (column, threshold, weight > 0)]))
    return out


def _rounded(schema: Schema, x: Array) -> Array:
    """Round a vector to a row: numbers to their bounds and grids, 0/1 columns to the category with the largest one."""
    lower, upper = schema.bounds()
    codes = schema.gather(np.clip(x, lower, upper))  # the category with the largest column
    for d, feature in enumerate(schema):
        if isinstance(feature, Numeric) and feature.values is not None:
            codes[d] = feature.nearest(codes[d], feature.lower, feature.upper)
        elif isinstance(feature, Numeric) and feature.grid is not None:
            codes[d] = round(codes[d] / float(feature.grid)) * float(feature.grid)
    return codes if schema.numeric else schema.spread(codes[None])[0]
