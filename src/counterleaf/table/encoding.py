"""A row of any type as numbers, and numbers as a row of that type."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.errors import CounterleafError, some
from counterleaf.table.features import Feature, Numeric, is_missing
from counterleaf.table.frames import cells_of, columns, numbers_of
from counterleaf.table.rewrite import fitting, rewrite_row
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.table.schema import Schema


def codes(schema: Schema, row: Any) -> Array:
    """One number per feature: its value, or the place of its value."""
    if (
        type(row) is dict and not schema.columns and row.keys() == schema._index.keys()
    ):  # the usual case, without a look at every name
        row = [row[name] for name in schema.names]
    if hasattr(row, "columns"):
        if len(row) != 1:
            raise CounterleafError(f"the frame has {len(row)} rows; explain takes one: pass frame.iloc[[i]] or frame.iloc[i]")
        names = [str(name) for name in row.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise CounterleafError(f"the row has two columns named {twice!r}; names must differ")
        row = {str(name): row[name].to_list()[0] for name in row.columns}
    if hasattr(row, "index") and hasattr(row, "to_dict"):
        if not row.index.is_unique:
            twice = row.index[row.index.duplicated()][0]
            raise CounterleafError(f"the row names the feature {str(twice)!r} twice; names must differ")
        row = row.to_dict()
    if isinstance(row, Mapping):
        row = {str(name): value for name, value in row.items()}
        missing = [name for name in schema.names if name not in row]
        extra = [name for name in row if name not in schema._index and name not in schema.columns]
        if missing or extra:
            told = [f"lacks [{some(missing)}]"] * bool(missing) + [f"has the unknown [{some(extra)}]"] * bool(extra)
            raise CounterleafError(f"the row {' and '.join(told)}; expected exactly the features [{some(schema.names)}]")
        row = [row[name] for name in schema.names]
    elif schema.columns and not isinstance(row, (str, bytes)) and isinstance(row, Iterable):
        cells = dict(zip(schema.columns, row, strict=False))
        row = [cells[name] for name in schema.names if name in cells]
    if not (schema.plain and isinstance(row, np.ndarray) and row.dtype.kind in "fiub"):
        if not isinstance(row, Iterable) or isinstance(row, (str, bytes)):
            raise CounterleafError(f"the row is {row!r}; expected a dict, a Series, a one-row frame or numbers")
        row = row.tolist() if isinstance(row, np.ndarray) else list(row)
        if len(row) != len(schema):
            inner = (len(row[0]),) if row and isinstance(row[0], (Sequence, np.ndarray)) and not isinstance(row[0], str) else ()
            raise CounterleafError(f"the row has shape {(len(row), *inner)}; expected {len(schema)} numbers, one per feature")
        row = [
            value
            if type(value) is kind and value == value
            else places[value]
            if type(value) is str and value in places
            else _code(schema, feature, value)
            for feature, kind, places, value in zip(schema.features, schema._kinds, schema._places, row, strict=True)
        ]
    x = np.array(row, dtype=np.float64)
    if x.shape != (len(schema),):
        raise CounterleafError(f"the row has shape {x.shape}; expected {len(schema)} numbers, one per feature")
    if not np.isfinite(x).all():
        bad = int(np.flatnonzero(~np.isfinite(x))[0])
        raise CounterleafError(
            f"feature {schema.names[bad]!r} of the row is {x[bad]}; expected a finite number: fill it in first"
        )
    return x


def _code(schema: Schema, feature: Feature, value: Any) -> float:
    if not isinstance(feature, Numeric):
        return float(feature.place(value))
    if is_missing(value):
        return schema.fills.get(feature.name, math.nan)
    code = _real(value, feature.name)
    if feature.integer and math.isfinite(code) and not code.is_integer():
        raise CounterleafError(f"feature {feature.name!r} is {value!r}; expected a whole number")
    return code


def decode(schema: Schema, x: Array, like: Any) -> Any:
    """The row of vector ``x`` in the type of the row ``like``; what is unchanged stays as it is, integers stay integers."""
    if schema.plain and not schema.columns and isinstance(like, np.ndarray) and like.dtype.kind in "fiub":
        return x.astype(fitting(x, like.dtype))  # the usual case, without a look at every cell
    source, codes = schema.codes(like), schema.gather(x)
    new: dict[str, Any] = {}
    for d in np.flatnonzero(codes != source).tolist():
        feature = schema.features[d]
        new[feature.name] = float(codes[d]) if isinstance(feature, Numeric) else feature.values[int(codes[d])]
    names = list(schema.columns or schema.names)
    if not (new and _has_gaps(like)):
        return rewrite_row(like, new, names)
    return _retyped(rewrite_row(like.astype(object), new, names), like.dtype)


def values(schema: Schema, row: Any) -> list[Any]:
    """The values of a row of any type that ``encode`` takes, in the order of the features."""
    if isinstance(row, np.ndarray):
        row = row.tolist()
    if hasattr(row, "columns"):
        found = {str(name): row[name].to_list()[0] for name in row.columns}
    elif (hasattr(row, "index") and hasattr(row, "to_dict")) or isinstance(row, Mapping):
        found = {str(name): value for name, value in row.items()}
    elif schema.columns:
        found = dict(zip(schema.columns, row, strict=True))
    else:
        return list(row)
    return [found[name].item() if isinstance(found[name], np.generic) else found[name] for name in schema.names]


def _has_gaps(row: Any) -> bool:
    """Whether the row is a Series of a type that marks a gap by a value that is no number: pandas' boolean, Int64, ..."""
    if not (hasattr(row, "index") and hasattr(row, "to_dict") and hasattr(row, "dtype")):
        return False
    return not isinstance(row.dtype, np.dtype) and any(map(is_missing, row))


def _retyped(row: Any, dtype: Any) -> Any:
    """A Series of cells in ``dtype`` where that holds them all, else as numbers that may have gaps."""
    try:
        typed = row.astype(dtype)
    except (TypeError, ValueError):
        return row.astype("Float64")
    kept = all(is_missing(old) or bool(old == new) for old, new in zip(row, typed.astype(object), strict=True))
    return typed if kept else row.astype("Float64")


def _real(value: Any, name: str) -> float:
    """A number of a row; NaN and infinity pass, to be named later."""
    if isinstance(value, (str, bytes)):
        raise CounterleafError(f"feature {name!r} is {value!r}; expected a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise CounterleafError(f"feature {name!r} is {value!r}; expected a number") from None


def encode_table(schema: Schema, data: Any) -> Array:
    """(rows, features) one number per cell as ``Schema.codes`` has it; NaN where a number is missing."""
    given = columns(data)
    if hasattr(data, "columns"):
        by_name = dict(given)
        for name in schema.names:
            if name not in by_name:
                raise CounterleafError(f"data lacks the column {name!r}; expected the columns {schema.names}")
        given = [(name, by_name[name]) for name in schema.names]
    elif len(given) != len(schema):
        raise CounterleafError(f"data has {len(given)} columns; expected {len(schema)}, one per feature")
    out = np.empty((len(data), len(schema)))
    for d, ((_, column), feature) in enumerate(zip(given, schema, strict=True)):
        if isinstance(feature, Numeric):
            out[:, d] = numbers_of(column, feature.name)
            continue
        place: dict[Any, int] = {}
        for k, value in enumerate(cells_of(column)):
            key = None if is_missing(value) else value
            if key not in place:
                place[key] = feature.place(key)
            out[k, d] = place[key]
    return out
