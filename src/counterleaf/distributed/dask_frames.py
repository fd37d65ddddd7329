"""``dask``: a query about every row of a Dask DataFrame."""

from __future__ import annotations

from typing import Any, Unpack

from counterleaf.distributed.task import Options, Task, make_task, wrong_frame
from counterleaf.errors import not_installed


def dask(
    ddf: Any,
    explainer: Any,
    *,
    target: Any = None,
    cost: Any = None,
    constraints: Any = (),
    margin: Any = 0.0,
    keep: Any = "all",
    **options: Unpack[Options],
) -> Any:
    """Add the cheapest answer for every row to a Dask DataFrame.

    The answers are those of ``Explainer.arrow``, bit for bit. Nothing runs before the result is computed.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        The rows, with a column for each feature.
    explainer : Explainer
        The model and the features. It is pickled once and sent to each worker once; workers need counterleaf and the model's
        library.
    target, cost, constraints, margin : optional
        As in ``Explainer.explain_many``.
    keep : "all", None or list of str, default="all"
        The columns of ``ddf`` that the result has, in front of the answers.
    **options : optional
        Further options: ``words``, ``n_jobs`` (threads per task), ``time_limit``, ``max_nodes`` and ``support``, as in
        ``Explainer.arrow``.

    Returns
    -------
    dask.dataframe.DataFrame
        The kept columns, then those of ``Explainer.arrow``, with the partitions and the index of ``ddf``. Answers have the
        types of pyarrow, such as ``int64[pyarrow]``, so that whole numbers stay whole where some are missing.

    Raises
    ------
    CounterleafError
        If an argument does not fit, a column is missing, a kept column has the name of an answer's column, or Dask is not
        installed.

    Examples
    --------
    >>> import counterleaf as cl
    >>> answers = cl.distributed.dask(rows, explainer, target="granted")  # doctest: +SKIP
    >>> answers.groupby("sex")["cost"].mean().compute()  # doctest: +SKIP
    """
    try:
        import dask.dataframe as dd
        import pyarrow  # noqa: F401  # the types of the answers need it
        from dask import delayed
    except ImportError:
        raise not_installed("distributed.dask", "dask[dataframe,distributed]", "pyarrow") from None
    if not isinstance(ddf, dd.DataFrame):
        raise wrong_frame(ddf, "a dask.dataframe.DataFrame")
    question = {"target": target, "cost": cost, "constraints": constraints, "margin": margin}
    task, _ = make_task("dask", explainer, list(ddf.columns), question, keep, options)
    meta = task.frame(ddf._meta[task.columns])
    once = delayed(
        task, traverse=False
    )  # a key of its own, which the tasks name: sent to a worker once and not with every task
    return ddf[task.columns].map_partitions(_answered, once, meta=meta, align_dataframes=False)


def _answered(frame: Any, task: Task) -> Any:
    """Return the kept columns and the answers of one partition."""
    return task.frame(frame)
