"""The columns of the user's table and how a row becomes the solver's vector and back.

A number is one variable of the solver. A feature with finitely many values is one 0/1 variable per value, of which exactly
one is 1. The columns of a tree are nearly the same: one per number, per ordered feature (the number of its level) and per
yes-or-no feature, one per category; ``Schema.columns_of`` is the linear map from variables to columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, near, number, some
from counterleaf.sparse import CSR
from counterleaf.table import encoding
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal
from counterleaf.table.frames import columns
from counterleaf.table.infer import guess
from counterleaf.types import Array


@dataclass(frozen=True, slots=True)
class Schema:
    """The features of a table, in order.

    ``inferred`` bounds are widened to hold the row asked about; given ones are not.

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
    fills: Mapping[str, float] = field(default_factory=dict)  # what the model takes a missing number for
    columns: tuple[str, ...] = ()  # those of a row, where the model does not look at some: these stay as they are
    names: list[str] = field(init=False, repr=False, compare=False)
    variables: list[str] = field(init=False, repr=False, compare=False)  # names: features, or one feature=value per value
    starts: Array = field(init=False, repr=False, compare=False)  # (F + 1,) the first variable of each feature
    plain: bool = field(init=False, repr=False, compare=False)  # nothing but numbers, any number
    _index: dict[Any, int] = field(init=False, repr=False, compare=False)
    _finite: Array = field(init=False, repr=False, compare=False)  # (F,) whether a feature has finitely many values
    numeric: bool = field(init=False, repr=False, compare=False)  # every feature is a number, and so a variable
    _box: tuple[Array, Array] = field(init=False, repr=False, compare=False)
    # of each feature: the type of values that are their own code, and the codes of texts; any other value is looked at
    _kinds: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    _places: tuple[dict[Any, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.features, Iterable):
            raise CounterleafError(f"a schema is made of a list of features; got {self.features!r}")
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features:
            raise CounterleafError("a schema needs at least one feature; the list is empty: give some, as in [Numeric('age')]")
        index: dict[Any, int] = {}
        for k, feature in enumerate(self.features):
            if not isinstance(feature, Feature):
                raise CounterleafError(
                    f"schema entry {k} is a {type(feature).__name__}; expected Numeric, Ordinal, Categorical or Boolean"
                )
            if feature.name in index:
                raise CounterleafError(f"feature {feature.name!r} is in the schema twice; names must differ")
            index[feature.name] = k
        starts = np.cumsum([0, *(feature.size for feature in self.features)])
        lower, upper = np.zeros(starts[-1]), np.ones(starts[-1])
        for at, feature in zip(starts, self.features, strict=False):
            if isinstance(feature, Numeric):
                lower[at], upper[at] = feature.lower, feature.upper
        object.__setattr__(self, "names", list(index))
        variables = [f.name if isinstance(f, Numeric) else f.column(k) for f in self.features for k in range(f.size)]
        object.__setattr__(self, "variables", variables)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "plain", all(isinstance(f, Numeric) and f.grid is None for f in self.features))
        object.__setattr__(self, "_index", index)
        finite = np.array([not isinstance(f, Numeric) for f in self.features])
        object.__setattr__(self, "_finite", finite)
        object.__setattr__(self, "numeric", not finite.any())
        object.__setattr__(self, "_box", (lower, upper))
        kinds = tuple(float if isinstance(f, Numeric) and not f.integer else None for f in self.features)
        object.__setattr__(self, "_kinds", kinds)
        object.__setattr__(self, "_places", tuple({} if isinstance(f, Numeric) else f._places for f in self.features))

    @classmethod
    def infer(cls, data: Any, bounds: bool = True, finite: Iterable[str] = (), leave: Iterable[str] = ()) -> Schema:
        """Guess the features of a table (a pandas or polars frame or a 2-D array); ``print`` shows the guess.

        Text becomes categories, pandas' ordered categories levels, bool a yes or no, integer columns whole numbers. With
        ``bounds``, numbers stay in the range seen. The columns named in ``finite`` are categories whatever they hold, those in
        ``leave`` are left out.

        Examples
        --------
        >>> import pandas as pd
        >>> print(Schema.infer(pd.DataFrame({"age": [20, 61], "pay": [1.5, 2.0], "job": ["cook", "clerk"]})))
        3 features, as guessed from the data:
          age  whole number, 20 to 61
          pay  number, 1.5 to 2
          job  one of 2: clerk, cook
        """
        finite, leave = set(finite), set(leave)
        found = [guess(name, column, bounds, name in finite) for name, column in columns(data) if name not in leave]
        return cls(found, inferred=True)

    def __str__(self) -> str:
        head = f"{len(self)} features" + (", as guessed from the data:" if self.inferred else ":")
        width = max(map(len, self.names))
        return "\n".join([head, *(f"  {feature.name.ljust(width)}  {_kind(feature)}" for feature in self)])

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    @property
    def width(self) -> int:
        """The number of variables."""
        return int(self.starts[-1])

    def span(self, d: int) -> slice:
        """The variables of feature ``d``."""
        return slice(int(self.starts[d]), int(self.starts[d + 1]))

    def columns_of(self) -> CSR:
        """(columns of a tree, variables) the sparse matrix that turns a vector of variables into a tree's columns."""
        rows, cols, data, at = [], [], [], 0
        for start, feature in zip(self.starts.tolist(), self, strict=False):
            if isinstance(feature, (Ordinal, Boolean)) and feature.missing:
                raise CounterleafError(f"feature {feature.name!r}: a tree has no column for a missing level; leave missing out")
            one = isinstance(feature, (Ordinal, Boolean))
            for k in range(feature.size):
                rows.append(at if one else at + k)
                cols.append(start + k)
                data.append(float(k) if one else 1.0)
            at += 1 if one else feature.size
        return CSR.from_entries(rows, cols, data, (at, self.width))

    def bounds(self) -> tuple[Array, Array]:
        """Fresh arrays of lower and upper bounds of the variables."""
        lower, upper = self._box
        return lower.copy(), upper.copy()

    def index(self, name: Any) -> int:
        """The place of a feature given by name or by position."""
        found = self._index.get(name if isinstance(name, str) else str(name))  # columns may be named 1, 2, 3
        if found is not None:
            return found
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < len(self):
            return int(name)
        raise CounterleafError(f"no feature {name!r}; the features are {some(self.names, 8)}{near(name, self.names)}")

    def terms(self, name: Any) -> dict[int, float]:
        """A number of the table as a sum over variables: a feature, its level, or ``"feature=value"``, 1 or 0."""
        if isinstance(name, str) and name not in self._index and "=" in name:
            for feature, start in zip(self, self.starts.tolist(), strict=False):
                if not isinstance(feature, Numeric) and name.startswith(f"{feature.name}="):
                    told = name[len(feature.name) + 1 :]
                    for k, value in enumerate(feature.values):
                        if str(value) == told:
                            return {start + k: 1.0}
                    raise CounterleafError(
                        f"{name!r}: feature {feature.name!r} has no value {told!r}; expected one of {some(feature.values)}"
                    )
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
                f"feature {feature.name!r} may be missing, which is no level; name a value, as in {feature.column(0)!r}"
            )
        return {start + k: float(k) for k in range(1, feature.size)}

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
        """The solver's vector of a row: a dict, a Series, a one-row frame (pandas or polars) or a 1-D array."""
        codes = self.codes(row)
        return codes if self.numeric else self.spread(codes[None])[0]

    def codes(self, row: Any) -> Array:
        """One number per feature: its value, or the place of its value."""
        return encoding.codes(self, row)

    def spread(self, codes: Array) -> Array:
        """(n, F) codes as (n, width) variables."""
        out = np.zeros((len(codes), self.width))
        at = self.starts[:-1] + np.where(self._finite, codes, 0.0).astype(np.int64)
        out[np.arange(len(codes))[:, None], at] = np.where(self._finite, 1.0, codes)
        return out

    def gather(self, x: Array) -> Array:
        """The inverse of ``spread`` for one vector, or several in rows."""
        if self.numeric:
            return x
        out = np.empty((*x.shape[:-1], len(self)))
        for d, feature in enumerate(self):
            block = x[..., self.span(d)]
            out[..., d] = block[..., 0] if isinstance(feature, Numeric) else block.argmax(axis=-1)
        return out

    def changed(self, x: Array, source: Array) -> list[int]:
        """The features in which two vectors differ."""
        differ = np.flatnonzero(x != source)
        if self.numeric:
            return list(differ.tolist())
        return sorted(set((np.searchsorted(self.starts, differ, side="right") - 1).tolist()))

    def decode(self, x: Array, like: Any) -> Any:
        """The row of vector ``x`` in the type of the row ``like``; unchanged cells stay as they are, integers stay integers."""
        return encoding.decode(self, x, like)

    def values(self, row: Any) -> list[Any]:
        """The values of a row of any type that ``encode`` takes, in the order of the features."""
        return encoding.values(self, row)

    def replace(self, *features: Feature) -> Schema:
        """The same schema with some features, known by their names, given anew.

        Examples
        --------
        >>> schema = Schema([Numeric("age", 18, 90), Numeric("pay", 0, 9000)])
        >>> print(schema.replace(Numeric("pay", 0, 9000, step=100)))
        2 features:
          age  number, 18 to 90
          pay  number in steps of 100, 0 to 9000
        """
        new = {feature.name: feature for feature in features}
        for name in new:
            self.index(name)
        return replace(self, features=[new.get(feature.name, feature) for feature in self])

    def renamed(self, names: Sequence[str]) -> Schema:
        """The same features under other names."""
        return replace(self, features=[_named(f, name) for f, name in zip(self, names, strict=True)])


def _named(feature: Feature, name: str) -> Feature:
    if isinstance(feature, Numeric):
        return replace(feature, name=name)
    if isinstance(feature, Boolean):
        return Boolean(name, feature.costs, feature.missing)
    return type(feature)(name, feature.values, feature.costs, feature.missing)


def _kind(feature: Feature) -> str:
    """A feature in words."""
    if isinstance(feature, Numeric):
        what = "whole number" if feature.integer else "number"
        if feature.step is not None:
            what += f" in steps of {float(feature.step):g}"
        low, high = (None if math.isinf(end) else f"{end:g}" for end in (feature.lower, feature.upper))
        if low and high:
            return f"{what}, {low} to {high}"
        return what + (f", at least {low}" if low else f", at most {high}" if high else "")
    gap = ", may be missing" if feature.missing else ""
    if isinstance(feature, Boolean):
        return f"yes or no{gap}"
    shown = [str(value) for value in feature.values]
    shown = shown if len(shown) <= 8 else [*shown[:6], f"... {len(shown) - 6} more"]
    if isinstance(feature, Ordinal):
        return f"{len(feature.values)} levels: {' < '.join(shown)}{gap}"
    return f"one of {len(feature.values)}: {', '.join(shown)}{gap}"


def labelled(index: Any) -> bool:
    """True if a pandas index holds names, not just the positions 0, 1, ..."""
    return list(index) != list(range(len(index)))
