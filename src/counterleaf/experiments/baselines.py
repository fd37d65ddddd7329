"""Other people's methods behind the Explainer's call, so that anyone can compare.

Both propose rows and take the cheapest that the model classifies as wanted. Their answers are Explanations like any other:
``confirmed`` is the model's own word, and what is proved is that no other proposed row costs less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError, check_whole_number, number
from counterleaf.explainer import Explainer
from counterleaf.model.tree import Tree
from counterleaf.question.constraint import Among, among, listed
from counterleaf.question.target import read_target
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

__all__ = ["FeatureTweaking", "NearestRow"]


class NearestRow:
    """The nearest row of a data set that the model classifies as the target, as in the What-If tool (Wexler et al. 2020).

    Parameters
    ----------
    model, schema : as for ``Explainer``.
    rows : the frame or array to choose from; features that ``schema`` does not give are read off it.

    Examples
    --------
    >>> from counterleaf import L2, Tree
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    >>> NearestRow(tree, [[0.0, 0.5], [1.0, 1.0], [0.0, 1.5]]).explain([0.0, 0.0], target="yes", cost=L2())[0].row
    [1.0, 1.0]
    """

    def __init__(self, model: Any, rows: Any, schema: Schema | None = None) -> None:
        self.explainer = Explainer(model, data=rows if schema is None else None, schema=schema)
        self._rows = rows if hasattr(rows, "columns") else np.asarray(rows)
        vectors = among(self._rows).vectors(self.explainer.schema)
        tree = self.explainer.tree
        self._said = tree.value[tree.apply(vectors)]
        self._chosen: dict[tuple[int, ...], Among] = {}

    def explain(
        self, row: Any, *, target: Any = None, cost: Any = None, constraints: Any = (), count: int | None = 1
    ) -> Explanation:
        """The nearest rows; the parameters are those of ``Explainer.explain``, but there are no limits."""
        tree, schema = self.explainer.tree, self.explainer.schema
        own = int(tree.value[tree.leaf_of(schema.encode(row))])
        wanted = tuple(read_target(target, tree.classes, own))
        if wanted not in self._chosen:
            places = np.flatnonzero(np.isin(self._said, wanted))
            places = places if len(places) else np.arange(len(self._said))  # none will do: that is the answer
            self._chosen[wanted] = among(self._rows.iloc[places] if hasattr(self._rows, "iloc") else self._rows[places])
        return self.explainer.explain(
            row, target=target, cost=cost, constraints=[*listed(constraints), self._chosen[wanted]], count=count
        )


class FeatureTweaking:
    """Feature Tweaking (Tolomei et al. 2017) on one tree whose tests look at one column each.

    For every leaf of the target, the source is made to pass the tests on the way by ``epsilon``: a number goes to the threshold
    plus or minus that. Of the results that reach the target the nearest in Euclidean distance is kept. It knows numbers only:
    categories are tweaked as 0/1 columns and in the end the largest column of each wins, the rounding that Carreira-Perpiñán
    and Hada describe (section 3.7); then the model may disagree, and there is no answer. It takes no constraints; numbers are
    cut off at the bounds of their features and rounded to their grids.

    Parameters
    ----------
    model, data, schema : as for ``Explainer``.
    epsilon : by how much a test is passed, in the units of the table.
    only_failed : False tweaks the column of every test on the way, as in the article; True only of those that the source
        fails, which is never farther.

    Examples
    --------
    >>> from counterleaf import Tree
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
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
        """The nearest tweaks; the parameters are those of ``Explainer.explain``, but ``constraints`` must be empty."""
        if listed(constraints):
            raise CounterleafError("Feature Tweaking takes no constraints; use Explainer or NearestRow")
        check_whole_number("count", count, 1)
        tree, schema = self._tree, self.explainer.schema
        source = schema.encode(row)
        wanted = list(read_target(target, tree.classes, int(tree.value[self.explainer.tree.leaf_of(source)])))
        leaves = [leaf for leaf in tree.leaves.tolist() if tree.value[leaf] in wanted]
        tweaked = np.array([self._pass(source, leaf) for leaf in leaves]).reshape(-1, schema.width)
        tweaked = tweaked[np.isin(tree.value[tree.apply(tweaked)], wanted)]
        near = tweaked[np.argsort(((tweaked - source) ** 2).sum(axis=1), kind="stable")[:count]]
        rows = [schema.values(schema.decode(_rounded(schema, x), row)) for x in (near if len(near) else source[None])]
        proposed = Among(f"among({len(near)} tweaked rows)", pd.DataFrame(rows, columns=schema.names))
        return self.explainer.explain(row, target=target, cost=cost, constraints=proposed, count=count)

    def _pass(self, source: Array, leaf: int) -> Array:
        """The source made to pass the tests on the path to a leaf; the last one on a column stands."""
        x = source.copy()
        for column, threshold, above in self._tests[leaf]:
            if not self.only_failed or (source[column] > threshold) != above:
                x[column] = threshold + (self.epsilon if above else -self.epsilon)
        return x


def _by_column(tree: Tree, schema: Schema) -> Tree:
    """The same tree with one column per test: one about a single category, however it is written, looks at its 0/1 column."""
    given, weights, bias = tree.weights.toarray(), np.zeros(tree.weights.shape), tree.bias.copy()
    for node in np.flatnonzero(tree.left >= 0).tolist():
        columns = np.flatnonzero(given[node])
        if len(columns) == 1:
            weights[node] = given[node]
            continue
        span = schema.span(int(np.searchsorted(schema.starts, min(columns, default=0), side="right")) - 1)
        sums = given[node, span] + tree.bias[node]
        right = sums >= 0 if tree.closed == "right" else sums > 0
        if not len(columns) or columns.max() >= span.stop or 1 not in (right.sum(), (~right).sum()):
            raise CounterleafError("Feature Tweaking needs tests of one column each; for an oblique tree use Explainer")
        alone = right if right.sum() == 1 else ~right
        sign = 1.0 if right.sum() == 1 else -1.0
        weights[node, span.start + int(alone.argmax())], bias[node] = sign, -0.5 * sign
    return Tree(tree.left, tree.right, weights, bias, tree.value, tree.classes, tree.closed, tree.dtype)


def _tests(tree: Tree) -> dict[int, list[tuple[int, float, bool]]]:
    """By leaf, the tests on its path from the root: column, threshold, and whether the leaf lies above it."""
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
    """The row nearest to a vector: numbers inside their bounds and on their grids, of 0/1 columns the largest."""
    lower, upper = schema.bounds()
    codes = schema.gather(np.clip(x, lower, upper))  # of the columns of a category the largest
    for d, feature in enumerate(schema):
        if isinstance(feature, Numeric) and feature.grid is not None:
            codes[d] = round(codes[d] / float(feature.grid)) * float(feature.grid)
    return codes if schema.numeric else schema.spread(codes[None])[0]
