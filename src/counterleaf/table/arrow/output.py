"""The answers as a record batch of pyarrow, whose columns are known before any row is read; and pandas frames as batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.errors import CounterleafError, flat, some
from counterleaf.table.features import Feature, Numeric
from counterleaf.table.output import STATUSES, Results, answer_columns
from counterleaf.table.schema import Schema
from counterleaf.types import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from counterleaf.table.arrow.rows import ArrowRows

NEW = "new_{}"  # the name of the column with the new values of a feature
_APART = "; "  # between the names of removed features
_WHOLE = 2.0**63  # whole numbers from here on do not fit into 64 bits


def output_schema(schema: Schema, classes: Array, *, regression: bool, probability: bool, words: bool) -> pa.Schema:
    """Return the columns of the answers."""
    import pyarrow as pa

    label = pa.float64() if regression else _type_of(classes.tolist(), "the classes of the model")
    fields = [
        ("status", pa.string()),
        ("cost", pa.float64()),
        ("lower_bound", pa.float64()),
        ("leaf", pa.int64()),
        ("source_label", label),
        ("label", label),
        ("n_changed", pa.int64()),
        ("confirmed", pa.bool_()),
        *([("probability", pa.float64())] if probability else []),
        *([("changed", pa.string())] if words else []),
        ("problem", pa.string()),
        *([("removed", pa.string())] if any(feature.missing == "allowed" for feature in schema) else []),
        *((NEW.format(feature.name), _new_type(feature)) for feature in schema),
    ]
    return pa.schema(fields)


def _new_type(feature: Feature) -> pa.DataType:
    import pyarrow as pa

    if isinstance(feature, Numeric):
        return pa.int64() if feature.integer else pa.float64()
    return _type_of(feature.values, f"the values of feature {feature.name!r}")


def _type_of(values: Any, what: str) -> pa.DataType:
    """Return the type of a column that holds some values; numbers among text are written as text."""
    import pyarrow as pa

    if all(isinstance(value, bool) for value in values):
        return pa.bool_()
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < _WHOLE for value in values):
        return pa.int64()
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) and float(value) == value for value in values):
        return pa.float64()
    odd = [value for value in values if not isinstance(value, (str, bool, int, float))]
    if odd or len(set(map(str, values))) < len(values):
        raise CounterleafError(f"{what} are {some(values)}; a column of pyarrow needs text, numbers or booleans: rename them")
    return pa.string()


def answer_batch(results: Results, rows: ArrowRows, classes: Array, value: Array) -> pa.RecordBatch:
    """Return one line per row, with the columns of ``rows.output``; a new value is null where a feature does not change."""
    import pyarrow as pa

    schema, output = rows.schema, rows.output
    _refuse_large(results, schema)
    answered, codes = results.leaves >= 0, results.codes
    columns = answer_columns(results, classes, value)
    features = {NEW.format(feature.name): d for d, feature in enumerate(schema)}

    def column(name: str, type_: pa.DataType) -> pa.Array:
        if name in features:
            d = features[name]
            return _new_values(schema.features[d], codes[d], type_) if d in codes else pa.nulls(rows.n, type_)
        if name == "removed":
            return _removed(codes, schema, rows.n)
        if name not in columns:
            return pa.nulls(rows.n, type_)
        kind, cells, values = columns[name]
        if kind == "place":
            return _chosen(values, cells, type_)
        if kind == "text":
            return pa.array(cells.tolist(), type_)
        return _numbers(cells) if kind == "number" else _array(cells, answered)

    return pa.RecordBatch.from_arrays([column(field.name, field.type) for field in output], schema=output)


def _refuse_large(results: Results, schema: Schema) -> None:
    """Make rows invalid whose answer has a whole number that 64 bits do not hold."""
    for d, codes in results.codes.items():
        feature = schema.features[d]
        if isinstance(feature, Numeric) and feature.integer:
            for k in np.flatnonzero(np.isfinite(codes) & (np.abs(codes) >= _WHOLE)).tolist():
                problem = f"feature {feature.name!r} would become {codes[k]:g}, which a column of whole numbers cannot hold"
                results.discard(k, problem)


def _array(values: Array, valid: Array | None = None) -> pa.Array:
    """Return NumPy's numbers or booleans as a column, null where they are not ``valid``; faster than pa.array."""
    import pyarrow as pa

    content = np.packbits(values, bitorder="little") if values.dtype == bool else np.ascontiguousarray(values)
    mask = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [mask, pa.py_buffer(content)])


def _numbers(values: Array) -> pa.Array:
    return _array(values, ~np.isnan(values))


def _chosen(values: Any, places: Array, kind: pa.DataType) -> pa.Array:
    """Return the values at some places, null for -1."""
    import pyarrow as pa

    listed = [str(one) for one in values] if pa.types.is_string(kind) else list(values)
    return pa.array(listed, kind).take(_array(places, places >= 0))


def _new_values(feature: Feature, codes: Array, kind: pa.DataType) -> pa.Array:
    """Return the values of new codes, null where these are NaN (unchanged) or infinite (removed)."""
    there = np.isfinite(codes)
    if isinstance(feature, Numeric) and not feature.integer:
        return _array(codes, there)
    whole = np.where(there, codes, -1.0).astype(np.int64)
    if isinstance(feature, Numeric):
        return _array(whole, there)
    return _chosen(feature.values, whole, kind)


def _removed(codes: dict[int, Array], schema: Schema, n: int) -> pa.Array:
    """Return the names of the features that become missing in each row, null if there are none."""
    import pyarrow as pa

    names: dict[int, list[str]] = {}
    for d in sorted(codes):
        for k in np.flatnonzero(np.isinf(codes[d])).tolist():
            names.setdefault(k, []).append(schema.names[d])
    return pa.array([_APART.join(names[k]) if k in names else None for k in range(n)], pa.string())


def with_problems(answers: pa.RecordBatch, problems: dict[int, str], first: int = 0) -> pa.RecordBatch:
    """Return answers in which some rows are invalid, for the given reasons; columns before ``first`` stay as they are."""
    import pyarrow as pa
    from pyarrow import compute

    mask = np.zeros(answers.num_rows, bool)
    mask[list(problems)] = True
    reasons = pa.array([problems.get(k) for k in range(answers.num_rows)], pa.string())
    new = {"status": pa.scalar(STATUSES[-1]), "problem": reasons}
    columns = list(answers.columns)
    for k, name in enumerate(answers.schema.names):
        if k >= first:
            columns[k] = compute.if_else(_array(mask), new.get(name, pa.scalar(None, columns[k].type)), columns[k])
    return pa.RecordBatch.from_arrays(columns, schema=answers.schema)


def batch_of(frame: Any, names: Sequence[str]) -> pa.RecordBatch:
    """Return some columns of a pandas frame as a record batch, without a copy where pandas holds numbers without gaps."""
    import pyarrow as pa

    try:
        table = pa.Table.from_pandas(frame[list(names)], preserve_index=False, nthreads=1)
        columns = [column.combine_chunks() for column in table.columns]  # pandas may hold text in several chunks
        return pa.RecordBatch.from_arrays(columns, schema=table.schema)
    except pa.ArrowException as error:
        raise CounterleafError(f"a column holds values of several types, which pyarrow does not take ({flat(error)})") from None


def frame_with(frame: Any, keep: Sequence[str], answers: pa.Table) -> Any:
    """Return some columns of a pandas frame, then answers in the types of pyarrow, which are alike in every partition."""
    import pandas as pd

    found = answers.to_pandas(types_mapper=pd.ArrowDtype)
    found.index = frame.index
    return pd.concat([frame[list(keep)], found], axis=1) if keep else found
