"""``explain``: one call from a model and a row to an explanation."""

from __future__ import annotations

from typing import Any

from counterleaf.answer.explanation import Explanation
from counterleaf.explainer import Explainer
from counterleaf.table.schema import Schema


def explain(
    model: Any,
    row: Any,
    *,
    data: Any = None,
    schema: Schema | None = None,
    target: Any = None,
    cost: Any = None,
    constraints: Any = (),
    **options: Any,
) -> Explanation:
    """Find the cheapest rows that a model classifies as ``target``, in one call.

    It makes an ``Explainer`` and calls its method ``explain``. For several rows, make the explainer once.

    Parameters
    ----------
    model : Tree, estimator or Pipeline
        A tree, a forest, boosted trees or another model, as in ``Explainer``.
    row : dict, Series, DataFrame or array-like
        One row, in the units of the table.
    data, schema : optional
        As in ``Explainer``.
    target, cost, constraints : optional
        As in ``Explainer.explain``.
    **options : optional
        Further options: ``infer_bounds`` of ``Explainer``; ``count``, ``margin``, ``time_limit`` and ``max_nodes`` of
        ``Explainer.explain``.

    Returns
    -------
    Explanation
        The answers with their proof.

    Raises
    ------
    CounterleafError
        If the model cannot be read, an argument does not fit, or the model fails on the answer.

    Examples
    --------
    >>> from counterleaf import explain
    >>> from counterleaf.datasets import example_tree
    >>> explain(example_tree(), [0.0, 0.0], target="yes").best.changes
    {'x0': (0.0, 0.5), 'x1': (0.0, 0.5)}
    """
    explainer = Explainer(model, data, schema, options.pop("infer_bounds", True))
    return explainer.explain(row, target=target, cost=cost, constraints=constraints, **options)
