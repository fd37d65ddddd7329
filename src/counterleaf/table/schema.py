"""The features of the user's table, and how a row becomes the solver's vector and back.

A number is one variable of the solver. A feature with finitely many values is one 0/1 variable per value, exactly one of which
is 1. The columns of a tree differ only for ordered features (one column, the number of the level) and booleans (one 0/1
column); ``Schema.columns_of`` is the linear map from variables to columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, check_flag, near, number, real_array, single, some, values_of
from counterleaf.sparse import CSR
from counterleaf.table import encoding
from counterleaf.table.features import Boolean, Categorical, Feature, Numeric, Ordinal, variable_names
from counterleaf.table.frames import by_name, columns
from counterleaf.table.infer import ends_of, guess, named
from counterleaf.table.words.fields import with_name, with_words, words_of
from counterleaf.table.words.values import describe
from counterleaf.types import Array


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
        """Return the solver's vector of a row.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            One value per feature; a frame (pandas or polars) has one row.

        Returns
        -------
        (D,) array
            One entry per variable.
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
        return encoding.codes(self, row)

    def spread(self, codes: Array) -> Array:
        """Return codes as variables.

        Parameters
        ----------
        codes : (n, F) array
            One row of codes per row of the table.
        """
        return encoding.spread(self, codes)

    def gather(self, x: Array) -> Array:
        """Return variables as codes, the inverse of ``spread``.

        Parameters
        ----------
        x : (D,) or (n, D) array
            One vector of variables, or several in rows.
        """
        return x if self.numeric else encoding.gather(self, x)

    def without_gaps(self, x: Array) -> Array:
        """Return vectors without the variables of gaps, NaN where a number is missing.

        Parameters
        ----------
        x : (n, D) array
            Vectors of variables.
        """
        return encoding.without_gaps(self, x) if self._gaps else x

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

        Returns
        -------
        dict, Series, DataFrame or array-like
            The row.
        """
        return encoding.decode(self, x, like)

    def values(self, row: Any) -> list[Any]:
        """Return the values of a row in the order of the features.

        Parameters
        ----------
        row : dict, Series, DataFrame or array-like
            One value per feature.
        """
        return encoding.values(self, row)

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
