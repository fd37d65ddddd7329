"""A row of any type as numbers, and numbers as a row of that type.

The code of a feature is its number, or the position of its value among the feature's values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.errors import CounterleafError, MissingNumbersError, brief, number, single, some
from counterleaf.table.features import Feature, Numeric
from counterleaf.table.frames import cells_of, column_names, columns, first_row, is_frame, is_series, numbers_of
from counterleaf.table.row_types import fitting, retype_series, rewrite_row
from counterleaf.types import Array, is_missing

if TYPE_CHECKING:
    from counterleaf.table.schema import Schema


def codes(schema: Schema, row: Any) -> Array:
    """Return the code of each feature of a row, checked."""
    cells: Any
    if type(row) is dict and not schema.columns and row.keys() == schema._index.keys():
        cells = [row[name] for name in schema.names]  # the common case: no need to look at each name
    elif type(row) in (np.ndarray, list) and not schema.columns:
        cells = row
    else:
        cells = _cells(schema, row)
    if not (schema.plain and isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub"):
        cells = _encode_cells(schema, cells)
    x = np.array(cells, dtype=np.float64)
    if x.shape != (len(schema),):
        raise CounterleafError(f"the row has shape {x.shape}; expected {len(schema)} numbers, one per feature")
    if not np.isfinite(x).all():
        _check_finite(schema, x)
    if schema.gaps and not schema.inferred:
        _check_bounds(schema, x)
    for name, (low, high) in schema.domains.items():
        value = x[schema.index(name)]
        if value < low or value > high:
            raise CounterleafError(
                f"feature {name!r} of the row is {value:g}; the model takes numbers from {low:g} to {high:g}"
            )
    return x


def _check_bounds(schema: Schema, x: Array) -> None:
    """Refuse a number that may be left out and lies outside of its bounds: an answer may leave it out, but not keep it."""
    for d, _ in schema._gaps:
        feature, value = schema.features[d], x[d]
        if isinstance(feature, Numeric) and (value < feature.lower or value > feature.upper):
            raise CounterleafError(
                f'feature {feature.name!r} of the row is {value:g}, outside of its bounds, and has missing="allowed"; '
                f"widen the bounds"
            )


def _check_finite(schema: Schema, x: Array) -> None:
    """Refuse infinite numbers, and missing ones except where the schema has gaps."""
    infinite, missing = np.flatnonzero(np.isinf(x)).tolist(), np.flatnonzero(np.isnan(x)).tolist()
    bad = [*infinite, *(d for d in missing if schema.names[d] not in schema.gaps)]
    if not bad:
        return
    message = f"feature {schema.names[bad[0]]!r} of the row is {x[bad[0]]}; expected a finite number: fill it in first"
    if infinite:
        raise CounterleafError(message)
    raise MissingNumbersError(message, tuple(schema.names[d] for d in missing))


def _cells(schema: Schema, row: Any) -> Any:
    """Return the cells of a row in the order of the features; those of an unnamed row may be too few or too many."""
    by_name = _by_name(row)
    if by_name is None:
        if not schema.columns or isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
            return row
        cells = list(row)
        if len(cells) != len(schema.columns):
            raise CounterleafError(
                f"the row has {len(cells)} values; expected {len(schema.columns)}, one per column [{some(schema.columns)}]"
            )
        by_name = dict(zip(schema.columns, cells, strict=True))
        return [by_name[name] for name in schema.names]
    missing = [name for name in schema.names if name not in by_name]
    if missing:
        extra = [name for name in by_name if name not in schema._index and name not in schema.columns]
        also = f" and has the other columns [{some(extra)}]" if extra else ""
        raise CounterleafError(
            f"the row lacks the features [{some(missing)}]{also}; expected the features [{some(schema.names)}]"
        )
    return [by_name[name] for name in schema.names]


def _by_name(row: Any) -> dict[str, Any] | None:
    """Return the cells of a one-row frame, a Series or a mapping by name, None for any other row."""
    if is_series(row):
        if not row.index.is_unique:
            twice = row.index[row.index.duplicated()][0]
            raise CounterleafError(f"the row names the feature {str(twice)!r} twice; names must differ")
        row = row.to_dict()
    elif is_frame(row):
        if len(row) != 1:
            raise CounterleafError(f"the frame has {len(row)} rows; explain takes one: pass frame.iloc[[i]] or frame.iloc[i]")
        names = column_names(row)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise CounterleafError(f"the row has two columns named {twice!r}; names must differ")
        return first_row(row)
    if not isinstance(row, Mapping):
        return None
    return {name if isinstance(name, str) else str(single(name, "a name in the row")): value for name, value in row.items()}


def _encode_cells(schema: Schema, cells: Any) -> list[float]:
    """Return the code of each cell; floats and known texts take the short way."""
    if not isinstance(cells, Iterable) or isinstance(cells, (str, bytes)) or getattr(cells, "shape", None) == ():
        raise CounterleafError(f"the row is {brief(cells)}; expected a dict, a Series, a one-row frame or numbers")
    cells = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    if len(cells) != len(schema):
        nested = cells and isinstance(cells[0], (Sequence, np.ndarray)) and not isinstance(cells[0], str)
        shape = (len(cells), len(cells[0])) if nested else (len(cells),)
        raise CounterleafError(f"the row has shape {shape}; expected {len(schema)} numbers, one per feature")
    return [
        value
        if type(value) is kind and value == value
        else places[value]
        if type(value) is str and value in places
        else _code(schema, feature, value)
        for feature, kind, places, value in zip(schema.features, schema._kinds, schema._places, cells, strict=True)
    ]


def _code(schema: Schema, feature: Feature, value: Any) -> float:
    if not isinstance(feature, Numeric):
        return float(feature.place(value))
    if is_missing(value):
        return schema.fills.get(feature.name, math.nan)
    code = _real(value, feature.name)
    if feature.integer and math.isfinite(code) and not code.is_integer():
        raise CounterleafError(f"feature {feature.name!r} is {brief(value)}; expected a whole number")
    return code


def _real(value: Any, name: str) -> float:
    """Return a cell as a float; NaN and infinity pass here, since ``codes`` checks for them."""
    return value if type(value) is float else number(value, f"feature {name!r}", infinite=True)


def spread(schema: Schema, codes: Array) -> Array:
    """Return codes as variables; NaN stays NaN except where the schema has gaps."""
    out = np.zeros((len(codes), schema.width))
    if schema._gaps:
        codes = codes.copy()
    for d, fill in schema._gaps:
        gap = np.isnan(codes[:, d])
        out[gap, schema.starts[d] + 1], codes[gap, d] = 1.0, fill
    at = schema.starts[:-1] + np.where(schema._finite, codes, 0.0).astype(np.int64)
    out[np.arange(len(codes))[:, None], at] = np.where(schema._finite, 1.0, codes)
    return out


def gather(schema: Schema, x: Array) -> Array:
    """Return variables as codes, NaN for a missing number."""
    out = np.empty((*x.shape[:-1], len(schema)))
    for d, feature in enumerate(schema):
        block = x[..., schema.span(d)]
        out[..., d] = block[..., 0] if isinstance(feature, Numeric) else block.argmax(axis=-1)
    for d, _ in schema._gaps:
        out[x[..., schema.starts[d] + 1] == 1.0, d] = np.nan
    return out


def without_gaps(schema: Schema, x: Array) -> Array:
    """Return vectors without the variables of gaps, NaN where a number is missing."""
    out, at = x.copy(), [int(schema.starts[d]) for d, _ in schema._gaps]
    for v in at:
        out[x[:, v + 1] == 1.0, v] = np.nan
    return np.delete(out, [v + 1 for v in at], axis=1)


def decode(schema: Schema, x: Array, like: Any) -> Any:
    """Return the row of vector ``x`` in the type of the row ``like``; unchanged cells stay, integers stay integers."""
    if schema.plain and not schema.columns and isinstance(like, np.ndarray) and like.dtype.kind in "fiub":
        return x.astype(fitting(x, like.dtype))  # the common case: no need to look at each cell
    source, target = schema.codes(like), schema.gather(x)
    new: dict[str, Any] = {}
    for d in np.flatnonzero((target != source) & ~(np.isnan(target) & np.isnan(source))).tolist():
        feature = schema.features[d]
        new[feature.name] = float(target[d]) if isinstance(feature, Numeric) else feature.values[int(target[d])]
    names = list(schema.columns or schema.names)
    if not (new and _has_typed_gaps(like)):
        return rewrite_row(like, new, names)
    return retype_series(rewrite_row(like.astype(object), new, names), like.dtype)


def _has_typed_gaps(row: Any) -> bool:
    """Whether the row is a Series whose type has a value for gaps that is not a number, as Int64 and boolean of pandas."""
    return is_series(row) and not isinstance(row.dtype, np.dtype) and any(map(is_missing, row))


def values(schema: Schema, row: Any) -> list[Any]:
    """Return the values of a row of any type that ``codes`` takes, in the order of the features."""
    if isinstance(row, np.ndarray):
        row = row.tolist()
    if is_frame(row):
        by_name = first_row(row)
    elif is_series(row) or isinstance(row, Mapping):
        by_name = {str(name): value for name, value in row.items()}
    elif schema.columns:
        by_name = dict(zip(schema.columns, row, strict=True))
    else:
        return list(row)
    found = [by_name[name] for name in schema.names]
    return [value.item() if isinstance(value, np.generic) else value for value in found]


def encode_table(schema: Schema, data: Any) -> Array:
    """Return (rows, features) codes of a table; NaN where a number is missing."""
    found = columns(data)
    if is_frame(data):
        by_name = dict(found)
        for name in schema.names:
            if name not in by_name:
                raise CounterleafError(f"data lacks the column {name!r}; expected the columns [{some(schema.names)}]")
        found = [(name, by_name[name]) for name in schema.names]
    elif len(found) != len(schema):
        raise CounterleafError(f"data has {len(found)} columns; expected {len(schema)}, one per feature")
    out = np.empty((len(data), len(schema)))
    for d, ((_, column), feature) in enumerate(zip(found, schema, strict=True)):
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
