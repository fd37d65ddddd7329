"""``spark``: a query about every row of a Spark DataFrame."""

from __future__ import annotations

from typing import Any, Unpack

from counterleaf.distributed.task import Options, make_task, wrong_frame
from counterleaf.errors import CounterleafError, not_installed


def spark(
    df: Any,
    explainer: Any,
    *,
    target: Any = None,
    cost: Any = None,
    constraints: Any = (),
    margin: Any = 0.0,
    keep: Any = "all",
    **options: Unpack[Options],
) -> Any:
    """Add the cheapest answer for every row to a Spark DataFrame.

    The answers are those of ``Explainer.arrow``, bit for bit. Nothing runs before an action of the result.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows, with a column for each feature.
    explainer : Explainer
        The model and the features. It is pickled once and sent to the workers, which need counterleaf and the model's library.
    target, cost, constraints, margin : optional
        As in ``Explainer.explain_many``.
    keep : "all", None or list of str, default="all"
        The columns of ``df`` that the result has, in front of the answers. Spark does not guarantee an order of rows: keep a
        column that identifies them.
    **options : optional
        Further options: ``words``, ``n_jobs`` (threads per task), ``time_limit``, ``max_nodes`` and ``support``, as in
        ``Explainer.arrow``.

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
    if not isinstance(df, DataFrame):
        raise wrong_frame(df, "a pyspark.sql.DataFrame")
    question = {"target": target, "cost": cost, "constraints": constraints, "margin": margin}
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
