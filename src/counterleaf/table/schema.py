"""The features of the user's table, and how a row becomes the solver's vector and back.

A number is one variable of the solver. A feature with finitely many values is one 0/1 variable per value, exactly one of which
is 1. The columns of a tree differ only for ordered features (one column, the number of the level) and booleans (one 0/1
column); ``Schema.columns_of`` is the linear map from variables to columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterleaf.errors import (
    CounterleafError,
    MissingNumbersError,
    brief,
    check_flag,
    near,
    number,
    real_array,
    single,
    some,
    values_of,
)
from counterleaf.sparse import CSR
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal, variable_names
from counterleaf.table.frames import by_name, cells_of, column_names, columns, first_row, is_frame, is_series, numbers_of
from counterleaf.table.infer import ends_of, guess, named
from counterleaf.table.row_types import fitting, retype_series, rewrite_row
from counterleaf.table.words import describe, with_name, with_words, words_of
from counterleaf.types import Array, is_missing


@dataclass(frozen=True, slots=True)
class Schema:
    """The features of a table, in order.

    Parameters
    ----------
    features : iterable of Feature
        The features: Numeric, Ordinal, Categorical and Boolean, under different names.
    inferred : bool, default=False
        Whether the bounds come from data. Inferred bounds are widened to include the source row; others are not.
    fills : mapping, optional
        The number by which the model replaces a missing one, by feature.
    columns : tuple of str, optional
        The columns of a row, if the model ignores some of them; these keep their values.
    domains : mapping, optional
        The lowest and the highest number that the model takes, by feature. Unlike bounds, they are never widened.
    gaps : mapping, optional
        The numbers that may be missing in this question, by feature: the number from which it is filled in, or None if the
        row has a number that an answer may leave out. Such a feature has a second variable, which is 1 where it is missing.

    Attributes
    ----------
    names : list of str
        The names of the features.
    variables : list of str
        The names of the solver's variables: a number's name, or ``feature=value``.
    starts : (F + 1,) array
        The first variable of each feature.
    plain : bool
        Whether every feature is a number without a grid or list.
    numeric : bool
        Whether every feature is a number that is not missing, and so one variable.
    lists : tuple of int
        The numbers that are restricted to a list.
    kept : list of int
        The variables that stand for a missing value: they may stay 1, but not become 1.

    Raises
    ------
    CounterleafError
        If there are no features, or if two have the same name.

    Examples
    --------
    >>> schema = Schema([Numeric("age", lower=0, integer=True), Categorical("job", ["clerk", "cook"])])
    >>> [feature.name for feature in schema]
    ['age', 'job']
    >>> schema.encode({"age": 40, "job": "cook"})
    array([40.,  0.,  1.])
    """

    features: Sequence[Feature]
    inferred: bool = False
    fills: Mapping[str, float] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    domains: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    gaps: Mapping[str, float | None] = field(default_factory=dict)
    names: list[str] = field(init=False, repr=False, compare=False)
    variables: list[str] = field(init=False, repr=False, compare=False)
    starts: Array = field(init=False, repr=False, compare=False)
    plain: bool = field(init=False, repr=False, compare=False)
    numeric: bool = field(init=False, repr=False, compare=False)
    lists: tuple[int, ...] = field(init=False, repr=False, compare=False)
    kept: list[int] = field(init=False, repr=False, compare=False)
    _index: dict[Any, int] = field(init=False, repr=False, compare=False)  # name -> position
    _finite: Array = field(init=False, repr=False, compare=False)  # (F,) whether a feature has finitely many values
    _box: tuple[Array, Array] = field(init=False, repr=False, compare=False)  # bounds of the variables
    # for each feature: the type of values that equal their codes, and the codes of texts; other values are checked
    _kinds: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    _places: tuple[dict[Any, int], ...] = field(init=False, repr=False, compare=False)
    _gaps: tuple[tuple[int, float], ...] = field(init=False, repr=False, compare=False)  # features of gaps, numbers to fill

    def __post_init__(self) -> None:
        features, index = _checked(self.features)
        check_flag(self.inferred, "inferred")
        for what in ("fills", "domains", "gaps"):
            if not isinstance(came := getattr(self, what), Mapping):
                raise CounterleafError(f"the schema's {what} are {brief(came)}; expected a dict by feature name")
        gaps = _checked_gaps(self.gaps, features, index)
        finite = np.array([not isinstance(f, Numeric) for f in features])
        starts = np.cumsum([0, *(feature.size + (d in gaps) for d, feature in enumerate(features))])
        lower, upper = np.zeros(starts[-1]), np.ones(starts[-1])
        for at, feature in zip(starts, features, strict=False):
            if isinstance(feature, Numeric):
                ends = ends_of(self.domains.get(feature.name, (-np.inf, np.inf)))
                lower[at], upper[at] = max(feature.lower, ends[0]), min(feature.upper, ends[1])
        derived = {
            "features": features,
            "names": list(index),
            "variables": [name for d, f in enumerate(features) for name in variable_names(f, d in gaps)],
            "starts": starts,
            "plain": not gaps and all(isinstance(f, Numeric) and f.any_number for f in features),
            "lists": tuple(d for d, f in enumerate(features) if isinstance(f, Numeric) and f.values is not None),
            "numeric": not gaps and not finite.any(),
            "kept": [
                int(starts[d + 1]) - 1
                for d, f in enumerate(features)
                if (f.missing != "allowed" if d in gaps else f.missing and not isinstance(f, Numeric))
            ],
            "_index": index,
            "_finite": finite,
            "_box": (lower, upper),
            "_kinds": tuple(float if isinstance(f, Numeric) and not f.integer else None for f in features),
            "_places": tuple({} if isinstance(f, Numeric) else f._places for f in features),
            "_gaps": tuple(gaps.items()),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @classmethod
    def infer(cls, data: Any, bounds: bool = True, finite: Iterable[str] = (), leave: Iterable[str] = ()) -> Schema:
        """Infer the features of a table; ``print`` shows them.

        Text becomes categories, ordered categories of pandas become levels, bool a Boolean, integer columns whole numbers.

        Parameters
        ----------
        data : DataFrame or (n, D) array-like
            A pandas or polars frame, or an array.
        bounds : bool, default=True
            Whether numbers stay within the range of the data.
        finite : iterable of str, optional
            Columns that hold categories even if they are numbers.
        leave : iterable of str, optional
            Columns to leave out.

        Returns
        -------
        Schema
            One feature per column, with ``inferred`` set.

        Examples
        --------
        >>> import pandas as pd
        >>> print(Schema.infer(pd.DataFrame({"age": [20, 61], "pay": [1.5, 2.0], "job": ["cook", "clerk"]})))
        3 features, inferred from the data:
          age  whole number, 20 to 61
          pay  number, 1.5 to 2
          job  one of 2: clerk, cook
        """
        finite, leave, bounds = named(finite, "finite"), named(leave, "leave"), check_flag(bounds, "bounds")
        found = [guess(name, column, bounds, name in finite) for name, column in columns(data) if name not in leave]
        return cls(found, inferred=True)

    def __str__(self) -> str:
        head = f"{len(self)} features" + (", inferred from the data:" if self.inferred else ":")
        width = max(map(len, self.names))
        return "\n".join([head, *(f"  {feature.name.ljust(width)}  {describe(feature)}" for feature in self)])

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    @property
    def width(self) -> int:
        """The number of variables."""
        return int(self.starts[-1])

    def span(self, d: int) -> slice:
        """Return the variables of a feature.

        Parameters
        ----------
        d : int
            The position of the feature.
        """
        return slice(int(self.starts[d]), int(self.starts[d + 1]))

    def columns_of(self) -> CSR:
        """Return the sparse (columns, variables) matrix that turns a vector of variables into the columns of a tree."""
        rows, cols, data, at = [], [], [], 0
        for start, feature in zip(self.starts.tolist(), self, strict=False):
            if isinstance(feature, (Ordinal, Boolean)) and feature.missing:
                raise CounterleafError(f"feature {feature.name!r}: a tree has no column for a missing level; leave missing out")
            one = isinstance(feature, (Ordinal, Boolean))
            for k in range(feature.size):
                rows.append(at if one else at + k)
                cols.append(start + k)
                data.append(float(k) if one else 1.0)
            if feature.name in self.gaps:
                raise CounterleafError(f"feature {feature.name!r}: a tree has no column for a missing number")
            at += 1 if one else feature.size
        return CSR.from_entries(rows, cols, data, (at, self.width))

    def bounds(self) -> tuple[Array, Array]:
        """Return new arrays of the lower and the upper bounds of the variables."""
        lower, upper = self._box
        return lower.copy(), upper.copy()

    def index(self, name: Any) -> int:
        """Return the position of a feature.

        Parameters
        ----------
        name : str or int
            The name of the feature, or its position.
        """
        name = single(name, "a feature", "its name or its position")
        found = self._index.get(str(name))  # columns may be named 1, 2, 3
        if found is not None:
            return found
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(self):
            return int(name)
        raise CounterleafError(f"no feature {brief(name)}; the features are {some(self.names, 8)}{near(name, self.names)}")

    def terms(self, name: Any) -> dict[int, float]:
        """Return a quantity of the table as a sum over variables.

        Parameters
        ----------
        name : str or int
            A number, an ordered feature (the number of its level), or ``"feature=value"``, which is 1 or 0.
        """
        chosen = self._value_variable(name)
        if chosen is not None:
            return {chosen: 1.0}
        d = self.index(name)
        feature, start = self.features[d], int(self.starts[d])
        if isinstance(feature, Numeric):
            return {start: 1.0}
        if isinstance(feature, Categorical):
            raise CounterleafError(
                f"feature {feature.name!r} is a category, not a number; name one of its values, as in {feature.column(0)!r}"
            )
        if feature.missing:
            raise CounterleafError(
                f"feature {feature.name!r} may be missing, which is not a level; name a value, as in {feature.column(0)!r}"
            )
        return {start + k: float(k) for k in range(1, feature.size)}

    def _value_variable(self, name: Any) -> int | None:
        """Return the 0/1 variable called ``"feature=value"``, None if ``name`` has another form."""
        if not isinstance(name, str) or name in self._index or "=" not in name:
            return None
        for feature, start in zip(self, self.starts.tolist(), strict=False):
            if not isinstance(feature, Numeric) and name.startswith(f"{feature.name}="):
                wanted = name[len(feature.name) + 1 :]
                for k, value in enumerate(feature.values):
                    if str(value) == wanted:
                        return int(start + k)
                raise CounterleafError(
                    f"{name!r}: feature {feature.name!r} has no value {wanted!r}; expected one of {some(feature.values)}"
                )
        return None

    def vector(self, values: Any, what: str, default: float) -> Array:
        """Return one number per feature.

        Parameters
        ----------
        values : float, array-like, dict or Series
            One number for all features, one per feature, or some by name.
        what : str
            What the numbers are, for error messages.
        default : float
            The number for features that ``values`` does not name.
        """
        values = by_name(values)
        if isinstance(values, Mapping):
            out = np.full(len(self), default)
            for name, value in values.items():
                out[self.index(name)] = number(value, f"{what} of {brief(name)}")
            return out
        array = real_array(values, what, "a number, an array or a dict by feature name")
        if array.ndim == 0:
            return np.full(len(self), float(array))
        if array.shape != (len(self),):
            raise CounterleafError(f"{what} has shape {array.shape}; expected {len(self)} numbers, one per feature")
        return array

    def encode(self, row: Any) -> Array:
        """Return the solver's vector of a row, one entry per variable.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            One value per feature; a frame (pandas or polars) has one row.
        """
        codes = self.codes(row)
        return codes if self.numeric else self.spread(codes[None])[0]

    def codes(self, row: Any) -> Array:
        """Return one number per feature: its value, or the position of its value.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            One value per feature.
        """
        cells: Any
        if type(row) is dict and not self.columns and row.keys() == self._index.keys():
            cells = [row[name] for name in self.names]  # the common case: no need to look at each name
        elif type(row) in (np.ndarray, list) and not self.columns:
            cells = row
        else:
            cells = _cells(self, row)
        if not (self.plain and isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub"):
            cells = _encode_cells(self, cells)
        x = np.array(cells, dtype=np.float64)
        if x.shape != (len(self),):
            raise CounterleafError(f"the row has shape {x.shape}; expected {len(self)} numbers, one per feature")
        if not np.isfinite(x).all():
            _check_finite(self, x)
        if self.gaps and not self.inferred:
            _check_bounds(self, x)
        for name, (low, high) in self.domains.items():
            value = x[self.index(name)]
            if value < low or value > high:
                raise CounterleafError(
                    f"feature {name!r} of the row is {value:g}; the model takes numbers from {low:g} to {high:g}"
                )
        return x

    def spread(self, codes: Array) -> Array:
        """Return codes as variables.

        Parameters
        ----------
        codes : (n, F) array
            One row of codes per row of the table.
        """
        out = np.zeros((len(codes), self.width))
        if self._gaps:
            codes = codes.copy()
        for d, fill in self._gaps:
            gap = np.isnan(codes[:, d])
            out[gap, self.starts[d] + 1], codes[gap, d] = 1.0, fill
        at = self.starts[:-1] + np.where(self._finite, codes, 0.0).astype(np.int64)
        out[np.arange(len(codes))[:, None], at] = np.where(self._finite, 1.0, codes)
        return out

    def gather(self, x: Array) -> Array:
        """Return variables as codes, the inverse of ``spread``.

        Parameters
        ----------
        x : (D,) or (n, D) array
            One vector of variables, or several in rows.
        """
        if self.numeric:
            return x
        out = np.empty((*x.shape[:-1], len(self)))
        for d, feature in enumerate(self):
            block = x[..., self.span(d)]
            out[..., d] = block[..., 0] if isinstance(feature, Numeric) else block.argmax(axis=-1)
        for d, _ in self._gaps:
            out[x[..., self.starts[d] + 1] == 1.0, d] = np.nan
        return out

    def without_gaps(self, x: Array) -> Array:
        """Return vectors without the variables of gaps, NaN where a number is missing.

        Parameters
        ----------
        x : (n, D) array
            Vectors of variables.
        """
        if not self._gaps:
            return x
        out, at = x.copy(), [int(self.starts[d]) for d, _ in self._gaps]
        for v in at:
            out[x[:, v + 1] == 1.0, v] = np.nan
        return np.delete(out, [v + 1 for v in at], axis=1)

    def changed(self, x: Array, source: Array) -> list[int]:
        """Return the features in which two vectors differ.

        Parameters
        ----------
        x, source : (D,) array
            The vectors.
        """
        differ = np.flatnonzero(x != source)
        if self.numeric:
            return list(differ.tolist())
        idle = {d for d, _ in self._gaps if x[self.starts[d] + 1] == source[self.starts[d] + 1] == 1.0}  # missing in both
        return sorted(set((np.searchsorted(self.starts, differ, side="right") - 1).tolist()) - idle)

    def decode(self, x: Array, like: Any) -> Any:
        """Return the row of a vector; unchanged cells stay as they are, integers stay integers.

        Parameters
        ----------
        x : (D,) array
            One entry per variable.
        like : dict, Series, DataFrame or array-like
            A row whose type the result has.
        """
        if self.plain and not self.columns and isinstance(like, np.ndarray) and like.dtype.kind in "fiub":
            return x.astype(fitting(x, like.dtype))  # the common case: no need to look at each cell
        source, target = self.codes(like), self.gather(x)
        new: dict[str, Any] = {}
        for d in np.flatnonzero((target != source) & ~(np.isnan(target) & np.isnan(source))).tolist():
            feature = self.features[d]
            new[feature.name] = float(target[d]) if isinstance(feature, Numeric) else feature.values[int(target[d])]
        names = list(self.columns or self.names)
        # a Series whose type has a value for gaps that is not a number, as Int64 and boolean of pandas
        if not (new and is_series(like) and not isinstance(like.dtype, np.dtype) and any(map(is_missing, like))):
            return rewrite_row(like, new, names)
        return retype_series(rewrite_row(like.astype(object), new, names), like.dtype)

    def values(self, row: Any) -> list[Any]:
        """Return the values of a row in the order of the features.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            One value per feature.
        """
        row = row.tolist() if isinstance(row, np.ndarray) else row
        by_name = _by_name(self, row)
        if by_name is None:
            return list(row)
        found = [by_name[name] for name in self.names]
        return [value.item() if isinstance(value, np.generic) else value for value in found]

    def replace(self, *features: Feature) -> Schema:
        """Return the same schema with some features replaced by others of the same name.

        Labels, units and descriptions stay unless the new feature has others.

        Parameters
        ----------
        *features : Feature
            The new features.

        Returns
        -------
        Schema
            A new schema.

        Examples
        --------
        >>> schema = Schema([Numeric("age", 18, 90), Numeric("pay", 0, 9000)])
        >>> print(schema.replace(Numeric("pay", 0, 9000, step=100)))
        2 features:
          age  number, 18 to 90
          pay  number in steps of 100, 0 to 9000
        """
        new = {name: features[k] for name, k in _checked(features)[1].items()} if features else {}
        list(map(self.index, new))
        kept = {old.name: with_words(new[old.name], words_of(old)) for old in self if old.name in new}
        return replace(self, features=[kept.get(feature.name, feature) for feature in self])

    def renamed(self, names: Sequence[str]) -> Schema:
        """Return the same features under other names.

        Parameters
        ----------
        names : sequence of str
            One name per feature.
        """
        names = values_of(names, "names", "one name per feature")
        if len(names) == len(self):
            return replace(self, features=list(map(with_name, self, names)))
        raise CounterleafError(f"names is {brief(names)}; expected {len(self)}, one per feature")


def _checked_gaps(gaps: Mapping[str, float | None], features: tuple[Feature, ...], index: dict[Any, int]) -> dict[int, float]:
    """Return the numbers from which missing ones are filled in, by the position of the feature, in order; 0 for None."""
    for name, value in gaps.items():
        if name not in index or not isinstance(features[index[name]], Numeric):
            raise CounterleafError(f"the schema's gaps are {brief(dict(gaps))}; expected finite numbers by numeric feature")
        number(0.0 if value is None else value, f"the gap of {brief(name)}")
    return dict(sorted((index[name], 0.0 if value is None else float(value)) for name, value in gaps.items()))


def _checked(features: Any) -> tuple[tuple[Feature, ...], dict[Any, int]]:
    """Return the features of a schema and the position of each by name."""
    features = tuple(values_of(features, "features", "a list of features, as in [Numeric('age')]"))
    if not features:
        raise CounterleafError("a schema needs at least one feature; the list is empty: pass some, as in [Numeric('age')]")
    index: dict[Any, int] = {}
    for k, feature in enumerate(features):
        if not isinstance(feature, Feature):
            raise CounterleafError(
                f"schema entry {k} is a {type(feature).__name__}; expected Numeric, Ordinal, Categorical or Boolean"
            )
        if feature.name in index:
            raise CounterleafError(f"feature {feature.name!r} is in the schema twice; names must differ")
        index[feature.name] = k
    return features, index


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
    by_name = _by_name(schema, row)
    if by_name is None:
        return row
    missing = [name for name in schema.names if name not in by_name]
    if missing:
        extra = [name for name in by_name if name not in schema._index and name not in schema.columns]
        also = f" and has the other columns [{some(extra)}]" if extra else ""
        raise CounterleafError(
            f"the row lacks the features [{some(missing)}]{also}; expected the features [{some(schema.names)}]"
        )
    return [by_name[name] for name in schema.names]


def _by_name(schema: Schema, row: Any) -> dict[str, Any] | None:
    """Return the cells of a row by name; None for one without names, unless the model ignores some of its columns."""
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
        if not schema.columns or isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
            return None
        cells = list(row)
        if len(cells) != len(schema.columns):
            raise CounterleafError(
                f"the row has {len(cells)} values; expected {len(schema.columns)}, one per column [{some(schema.columns)}]"
            )
        return dict(zip(schema.columns, cells, strict=True))
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
    code = value if type(value) is float else number(value, f"feature {feature.name!r}", infinite=True)
    if feature.integer and math.isfinite(code) and not code.is_integer():
        raise CounterleafError(f"feature {feature.name!r} is {brief(value)}; expected a whole number")
    return code


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
