"""``spark``, ``dask`` and ``ray``: a query about every row of a Spark DataFrame, a Dask DataFrame or a Ray Dataset."""

from __future__ import annotations

from typing import Any, Unpack

from counterleaf.distributed.task import FrameOptions, FrameTask, make_task
from counterleaf.errors import CounterleafError, not_installed, with_article
from counterleaf.question.question import Question


def spark(
    df: Any, explainer: Any, question: Question | None = None, *, keep: Any = "all", **options: Unpack[FrameOptions]
) -> Any:
    """Add the cheapest answer for every row to a Spark DataFrame.

    The answers are those of ``Explainer.arrow``, bit for bit. Nothing runs before an action of the result.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows, with a column for each feature.
    explainer : Explainer
        The model and the features. It is pickled once and sent to the workers, which need counterleaf and the model's library.
    question : Question, optional
        As in ``Explainer.arrow``, instead of its parts.
    keep : "all", None or list of str, default="all"
        The columns of the rows that the result has, in front of the answers. Spark and Ray do not guarantee an order of rows:
        keep a column that identifies them.
    **options : optional
        The parts of the question (``target``, ``cost``, ``constraints``, ``margin``, ``time_limit``, ``max_nodes`` and
        ``support``), ``words`` and ``n_jobs`` (threads per task), as in ``Explainer.arrow``.

    Returns
    -------
    pyspark.sql.DataFrame
        The kept columns, then those of ``Explainer.arrow``.

    Raises
    ------
    CounterleafError
        If an argument does not fit, a column is missing, a kept column has the name of an answer's column, or pyspark is not
        installed.

    Examples
    --------
    >>> import counterleaf as cl
    >>> answers = cl.distributed.spark(rows, explainer, target="granted")  # doctest: +SKIP
    >>> answers.groupBy("sex").avg("cost").show()  # doctest: +SKIP
    """
    try:
        from pyspark.sql import DataFrame
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType
    except ImportError:
        raise not_installed("distributed.spark", "pyspark", "pyarrow") from None
    _check_frame(df, DataFrame, "a pyspark.sql.DataFrame")
    task, step = make_task("spark", explainer, df.columns, question, keep, options)
    fields = {field.name: field for field in df.schema.fields}
    schema = StructType([*(fields[name] for name in task.keep), *from_arrow_schema(step.answers).fields])
    if df.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
        _refuse_case(schema.names)
    chosen = df.select(*("`{}`".format(name.replace("`", "``")) for name in task.columns))
    if any("." in name or "`" in name for name in task.columns):  # mapInArrow would look for a field of a column
        return chosen.toDF(*(f"c{k}" for k in range(len(task.columns)))).mapInArrow(task.unnamed_batches, schema)
    return chosen.mapInArrow(task.batches, schema)


def _refuse_case(names: list[str]) -> None:
    """Refuse names that differ in case alone: Spark could not tell the columns apart."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise CounterleafError(
                f"the result would have the columns {other!r} and {name!r}, which Spark does not tell apart; "
                "rename one, or set spark.sql.caseSensitive to true"
            )


def dask(
    ddf: Any, explainer: Any, question: Question | None = None, *, keep: Any = "all", **options: Unpack[FrameOptions]
) -> Any:
    """Add the cheapest answer for every row to a Dask DataFrame.

    The answers are those of ``Explainer.arrow``, bit for bit. Nothing runs before the result is computed.

    Parameters
    ----------
    ddf : dask.dataframe.DataFrame
        The rows, with a column for each feature.
    explainer, question, keep, **options : optional
        As in ``spark``; the explainer is sent to each worker once.

    Returns
    -------
    dask.dataframe.DataFrame
        The kept columns, then those of ``Explainer.arrow``, with the partitions and the index of ``ddf``. Answers have the
        types of pyarrow, such as ``int64[pyarrow]``, so that whole numbers stay whole where some are missing.

    Raises
    ------
    CounterleafError
        As in ``spark``, or if Dask is not installed.

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
    _check_frame(ddf, dd.DataFrame, "a dask.dataframe.DataFrame")
    task, _ = make_task("dask", explainer, list(ddf.columns), question, keep, options)
    meta = task.frame(ddf._meta[task.columns])
    once = delayed(task, traverse=False)  # with a key of its own: sent to a worker once and not with every task
    return ddf[task.columns].map_partitions(_answered, once, meta=meta, align_dataframes=False)


def _answered(frame: Any, task: FrameTask) -> Any:
    """Return the kept columns and the answers of one partition."""
    return task.frame(frame)


def ray(
    ds: Any, explainer: Any, question: Question | None = None, *, keep: Any = "all", **options: Unpack[FrameOptions]
) -> Any:
    """Add the cheapest answer for every row to a Ray Dataset.

    The answers are those of ``Explainer.arrow``, bit for bit. Nothing runs before the result is read. If Ray does not know the
    columns of ``ds`` yet, it runs what comes before on a few rows to find them.

    Parameters
    ----------
    ds : ray.data.Dataset
        The rows, with a column for each feature.
    explainer, question, keep, **options : optional
        As in ``spark``.

    Returns
    -------
    ray.data.Dataset
        The kept columns, then those of ``Explainer.arrow``.

    Raises
    ------
    CounterleafError
        As in ``spark``, or if Ray is not installed.

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
    _check_frame(ds, Dataset, "a ray.data.Dataset")
    task, _ = make_task("ray", explainer, list(ds.columns() or ()), question, keep, options)
    chosen = ds.select_columns(task.columns)
    return chosen.map_batches(task.table, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)


def _check_frame(frame: Any, kind: Any, expected: str) -> None:
    if not isinstance(frame, kind):
        found = type(frame)
        raise CounterleafError(f"the rows are {with_article(f'{found.__module__}.{found.__name__}')}; expected {expected}")
