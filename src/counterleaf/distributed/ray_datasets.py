"""``ray``: a query about every row of a Ray Dataset."""

from __future__ import annotations

from typing import Any, Unpack

from counterleaf.distributed.task import Options, make_task, wrong_frame
from counterleaf.errors import not_installed


def ray(
    ds: Any,
    explainer: Any,
    *,
    target: Any = None,
    cost: Any = None,
    constraints: Any = (),
    margin: Any = 0.0,
    keep: Any = "all",
    **options: Unpack[Options],
) -> Any:
    """Add the cheapest answer for every row to a Ray Dataset.

    The answers are those of ``Explainer.arrow``, bit for bit. Nothing runs before the result is read. If Ray does not know the
    columns of ``ds`` yet, it runs what comes before on a few rows to find them.

    Parameters
    ----------
    ds : ray.data.Dataset
        The rows, with a column for each feature.
    explainer : Explainer
        The model and the features. It is pickled once and sent to the workers, which need counterleaf and the model's library.
    target, cost, constraints, margin : optional
        As in ``Explainer.explain_many``.
    keep : "all", None or list of str, default="all"
        The columns of ``ds`` that the result has, in front of the answers. Ray does not guarantee an order of rows: keep a
        column that identifies them.
    **options : optional
        Further options: ``words``, ``n_jobs`` (threads per task), ``time_limit``, ``max_nodes`` and ``support``, as in
        ``Explainer.arrow``.

    Returns
    -------
    ray.data.Dataset
        The kept columns, then those of ``Explainer.arrow``.

    Raises
    ------
    CounterleafError
        If an argument does not fit, a column is missing, a kept column has the name of an answer's column, or Ray is not
        installed.

    Examples
    --------
    >>> import counterleaf as cl
    >>> answers = cl.distributed.ray(rows, explainer, target="granted")  # doctest: +SKIP
    >>> answers.groupby("sex").mean("cost").show()  # doctest: +SKIP
    """
    try:
        from ray.data import Dataset
    except ImportError:
        raise not_installed("distributed.ray", "ray[data]") from None
    if not isinstance(ds, Dataset):
        raise wrong_frame(ds, "a ray.data.Dataset")
    question = {"target": target, "cost": cost, "constraints": constraints, "margin": margin}
    task, _ = make_task("ray", explainer, list(ds.columns() or ()), question, keep, options)
    chosen = ds.select_columns(task.columns)
    return chosen.map_batches(task.table, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
