"""The columns of the user's table and how a row becomes the solver's vector and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from counterleaf.errors import CounterleafError

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Numeric:
    """A feature that takes any number in [lower, upper]."""

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    integer: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise CounterleafError(f"a feature is named {self.name!r}; expected a string")
        for end in (self.lower, self.upper):
            if isinstance(end, (str, bytes)) or not hasattr(end, "__float__"):
                raise CounterleafError(f"feature {self.name!r}: a bound is {end!r}; expected a number")
        if math.isnan(self.lower) or math.isnan(self.upper) or self.lower > self.upper:
            raise CounterleafError(
                f"feature {self.name!r}: lower is {self.lower} and upper is {self.upper}; expected lower <= upper"
            )
        if self.lower == math.inf or self.upper == -math.inf:
            raise CounterleafError(f"feature {self.name!r}: no finite number lies in [{self.lower}, {self.upper}]")


@dataclass(frozen=True, slots=True)
class Spreads:
    """How widely each feature varies in the data: three arrays, one entry per feature."""

    range: Array
    std: Array
    mad: Array

    @classmethod
    def of(cls, X: Array) -> Spreads:
        """Range, standard deviation and median absolute deviation; a 0 falls back to the range, then to 1."""
        width = np.ptp(X, axis=0)
        mad = np.median(np.abs(X - np.median(X, axis=0)), axis=0)
        width = np.where(width > 0, width, 1.0)
        std = X.std(axis=0)
        return cls(width, np.where(std > 0, std, width), np.where(mad > 0, mad, width))


@dataclass(frozen=True, slots=True)
class Schema:
    """The features of a table, in order.

    ``inferred`` bounds are widened to hold the row asked about; given ones are not.

    Examples
    --------
    >>> schema = Schema([Numeric("age", lower=0), Numeric("hours", 0, 100)])
    >>> [feature.name for feature in schema]
    ['age', 'hours']
    """

    features: Sequence[Numeric]
    inferred: bool = False
    names: list[str] = field(init=False, repr=False, compare=False)
    _index: dict[Any, int] = field(init=False, repr=False, compare=False)
    _box: tuple[Array, Array] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.features, Iterable):
            raise CounterleafError(f"a schema is made of a list of features; got {self.features!r}")
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise CounterleafError("a schema needs at least one feature")
        index: dict[Any, int] = {}
        for k, feature in enumerate(self.features):
            if not isinstance(feature, Numeric):
                raise CounterleafError(f"schema entry {k} is a {type(feature).__name__}; expected a Numeric feature")
            if feature.name in index:
                raise CounterleafError(f"feature {feature.name!r} is in the schema twice; names must differ")
            if feature.integer or feature.step is not None:
                raise CounterleafError(f"feature {feature.name!r}: integer and step are not supported yet; leave them out")
            index[feature.name] = k
        box = np.array([f.lower for f in self.features], float), np.array([f.upper for f in self.features], float)
        object.__setattr__(self, "names", list(index))
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_box", box)

    @classmethod
    def infer(cls, data: Any, bounds: bool = True) -> Schema:
        """Names and, with ``bounds``, ranges from a table (a frame or a 2-D array)."""
        names, X = table(data)
        low, high = (X.min(axis=0), X.max(axis=0)) if bounds else (np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf))
        return cls([Numeric(n, float(a), float(b)) for n, a, b in zip(names, low, high, strict=True)], inferred=bounds)

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Numeric]:
        return iter(self.features)

    def bounds(self) -> tuple[Array, Array]:
        """Fresh arrays of lower and upper bounds."""
        lower, upper = self._box
        return lower.copy(), upper.copy()

    def index(self, name: Any) -> int:
        """The place of a feature given by name or by position."""
        found = self._index.get(name if isinstance(name, str) else str(name))  # columns may be named 1, 2, 3
        if found is not None:
            return found
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(self):
            return int(name)
        shown = ", ".join(map(repr, self.names[:8])) + (", ..." if len(self) > 8 else "")
        raise CounterleafError(f"no feature {name!r}; the features are {shown}")

    def vector(self, given: Any, what: str, other: float) -> Array:
        """One number per feature from a number, an array, or a dict or Series by name (``other`` where it has none)."""
        if hasattr(given, "index") and hasattr(given, "to_dict") and labelled(given.index):
            given = given.to_dict()
        if isinstance(given, Mapping):
            out = np.full(len(self), other)
            for name, value in given.items():
                out[self.index(name)] = number(value, f"{what} of {name!r}")
            return out
        try:
            array = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise CounterleafError(f"{what} is {given!r}; expected a number, an array or a dict by feature name") from None
        if array.ndim == 0:
            return np.full(len(self), float(array))
        if array.shape != (len(self),):
            raise CounterleafError(f"{what} has shape {array.shape}; expected {len(self)} numbers, one per feature")
        return array

    def encode(self, row: Any) -> Array:
        """The solver's vector of a row: a dict, a Series, a one-row frame or a 1-D array."""
        if hasattr(row, "columns"):
            if len(row) != 1:
                raise CounterleafError(
                    f"the frame has {len(row)} rows; explain takes one: pass frame.iloc[[i]] or frame.iloc[i]"
                )
            row = row.iloc[0]
        if hasattr(row, "index") and hasattr(row, "to_dict"):
            if not row.index.is_unique:
                raise CounterleafError("the row names a feature twice; names must differ")
            row = row.to_dict()
        if isinstance(row, Mapping):
            row = {str(name): value for name, value in row.items()}
            missing = [name for name in self.names if name not in row]
            extra = [name for name in row if name not in self._index]
            if missing or extra:
                told = [f"lacks {_some(missing)}"] * bool(missing) + [f"has the unknown {_some(extra)}"] * bool(extra)
                raise CounterleafError(f"the row {' and '.join(told)}; expected exactly the features {_some(self.names)}")
            row = [row[name] for name in self.names]
        if not (isinstance(row, np.ndarray) and row.dtype.kind in "fiub"):
            if not isinstance(row, Iterable) or isinstance(row, (str, bytes)):
                raise CounterleafError(f"the row is {row!r}; expected a dict, a Series, a one-row frame or numbers")
            row = list(row)
            if not any(isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) for value in row):
                row = [_real(value, name) for name, value in zip(self.names, row, strict=False)] + row[len(self) :]
        x = np.array(row, dtype=np.float64)
        if x.shape != (len(self),):
            raise CounterleafError(f"the row has shape {x.shape}; expected {len(self)} numbers, one per feature")
        if not np.isfinite(x).all():
            bad = int(np.flatnonzero(~np.isfinite(x))[0])
            raise CounterleafError(
                f"feature {self.names[bad]!r} of the row is {x[bad]}; expected a finite number: fill it in first"
            )
        return x

    def decode(self, x: Array, like: Any) -> Any:
        """The row of vector ``x`` in the type of the row ``like``; integers stay integers where the value allows."""
        if hasattr(like, "columns"):
            out = like.copy()
            for name, value in zip(like.columns, self._ordered(x, like.columns), strict=True):
                out[name] = np.array([value]).astype(_fitting(value, like[name].dtype))
            return out
        if hasattr(like, "index") and hasattr(like, "to_dict"):
            values = self._ordered(x, like.index)
            dtype = like.dtype
            if dtype.kind == "O":
                values = np.array([_as(value, old) for value, old in zip(values, like, strict=True)], dtype=object)
                return type(like)(values, index=like.index, name=like.name)
            return type(like)(values.astype(_fitting(values, dtype)), index=like.index, name=like.name)
        if isinstance(like, Mapping):
            return {name: _as(x[self._index[str(name)]], old) for name, old in like.items()}
        if type(like) in (list, tuple):
            return type(like)(_as(value, old) for value, old in zip(x, like, strict=True))
        return x.astype(_fitting(x, like.dtype)) if isinstance(like, np.ndarray) else x

    def values(self, row: Any) -> list[Any]:
        """The values of a row of any type that ``encode`` takes, in the order of the features."""
        if isinstance(row, np.ndarray):
            return list(row.tolist())
        if hasattr(row, "columns"):
            found = {str(name): row[name].iloc[0] for name in row.columns}
        elif (hasattr(row, "index") and hasattr(row, "to_dict")) or isinstance(row, Mapping):
            found = {str(name): value for name, value in row.items()}
        else:
            return list(row)
        return [found[name].item() if isinstance(found[name], np.generic) else found[name] for name in self.names]

    def _ordered(self, x: Array, names: Any) -> Array:
        return x[[self._index[str(name)] for name in names]]


def _some(names: list[str]) -> str:
    """A list of names, cut where it gets long."""
    return str(names) if len(names) <= 12 else f"{str(names[:8])[:-1]}, ... {len(names) - 8} more]"


def labelled(index: Any) -> bool:
    """True if a pandas index holds names, not just the positions 0, 1, ..."""
    return list(index) != list(range(len(index)))


def number(value: Any, what: str) -> float:
    """``value`` as a finite float, or an error that says what it should have been."""
    try:
        out = float("nothing" if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError, OverflowError):
        raise CounterleafError(f"{what} is {value!r}; expected a number") from None
    if not math.isfinite(out):
        raise CounterleafError(f"{what} is {value!r}; expected a finite number")
    return out


def _real(value: Any, name: str) -> float:
    """A number of a row; NaN and infinity pass, to be named later."""
    if isinstance(value, (str, bytes)):
        raise CounterleafError(f"feature {name!r} is {value!r}; expected a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise CounterleafError(f"feature {name!r} is {value!r}; expected a number") from None


def table(data: Any) -> tuple[list[str], Array]:
    """(names, 2-D array) of a frame or array of numbers without gaps."""
    names = [str(name) for name in data.columns] if hasattr(data, "columns") else None
    try:
        X = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise CounterleafError("data holds something that is no number; only numeric columns are supported yet") from None
    if X.ndim != 2 or 0 in X.shape:
        raise CounterleafError(f"data has shape {X.shape}; expected a table with rows and columns")
    names = names or [f"x{k}" for k in range(X.shape[1])]
    if not np.isfinite(X).all():
        bad = names[int(np.flatnonzero(~np.isfinite(X).all(axis=0))[0])]
        raise CounterleafError(f"data has NaN or infinity in column {bad!r}; fill it in or drop those rows")
    return names, X


def _fitting(value: Any, dtype: Any) -> Any:
    """``dtype`` if it holds ``value`` exactly, else float64."""
    dtype = getattr(dtype, "numpy_dtype", dtype)  # of pandas' nullable columns
    if dtype == np.float64 or not isinstance(dtype, np.dtype):
        return np.float64
    with np.errstate(all="ignore"):
        cast = np.asarray(value).astype(dtype)
    return dtype if np.array_equal(cast.astype(np.float64), value) else np.float64


def _as(value: float, old: Any) -> Any:
    """``value`` in the type of ``old`` where that loses nothing, else a float."""
    kind = type(old)
    if kind is float:
        return float(value)
    if isinstance(old, (bool, np.bool_)):
        kind = int
    try:
        cast = kind(value)
        return cast if float(cast) == value else float(value)
    except (TypeError, ValueError, OverflowError):
        return float(value)
