"""What an answer must obey, in the units of the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, number
from counterleaf.table.encoding import encode_table
from counterleaf.table.frames import column_names, columns, copy_of, is_frame
from counterleaf.table.schema import Schema
from counterleaf.types import Array


@dataclass(frozen=True, slots=True, repr=False)
class _Said:
    """What the user said, shown as it was said."""

    words: str

    def __repr__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True, repr=False)
class Limit(_Said):
    """lower <= x_d <= upper for each named feature; ``from_lower``, ``from_upper``: counted from the source."""

    names: tuple[Any, ...]
    lower: Any = -math.inf
    upper: Any = math.inf
    from_lower: bool = False
    from_upper: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class Choice(_Said):
    """The named feature takes one of ``values``, or none of them."""

    name: Any
    values: tuple[Any, ...]
    allowed: bool


@dataclass(frozen=True, slots=True, repr=False)
class Row(_Said):
    """coef @ x (relation) rhs."""

    coef: Mapping[Any, float]
    relation: str
    rhs: float

    def terms(self, schema: Schema) -> dict[int, float]:
        """Coefficient by variable; a feature named twice, by name and by position, counts with the sum."""
        out: dict[int, float] = {}
        for name, a in self.coef.items():
            for d, share in schema.terms(name).items():
                out[d] = out.get(d, 0.0) + a * share
        return {d: a for d, a in out.items() if a}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Among(_Said):
    """x is one of the rows of a table."""

    rows: Any
    _last: list[tuple[Schema, Array]] = field(init=False, default_factory=list)  # the vectors that were asked for last

    def vectors(self, schema: Schema) -> Array:
        """The rows as variables of a schema."""
        known = self._last[0] if self._last else None
        if known is None or known[0] is not schema:
            known = schema, _aligned(self.rows, schema)
            self._last[:] = [known]
        return known[1]


@dataclass(frozen=True, slots=True, repr=False)
class MaxChanges(_Said):
    """No more than ``count`` features change."""

    count: int


@dataclass(frozen=True, slots=True, repr=False)
class Changed(_Said):
    """The named feature changes: a condition for ``implies``."""

    name: Any


@dataclass(frozen=True, slots=True, repr=False)
class Implies(_Said):
    """If the condition holds, so does the constraint."""

    condition: Changed
    then: Limit | Choice


Constraint = Limit | Choice | Row | Among | MaxChanges | Implies


def freeze(*names: Any) -> Limit:
    """The named features keep their value, bit for bit."""
    return Limit(_call("freeze", *names), _named("freeze", names), 0.0, 0.0, True, True)


def fix(name: Any, value: Any) -> Limit:
    """The feature takes exactly this value."""
    if not isinstance(value, (str, bytes)):
        value = number(value, f"the value to fix {name!r} to") if not isinstance(value, bool) else value
    return Limit(_call("fix", name, value), (name,), value, value)


def between(name: Any, lower: Any, upper: Any) -> Limit:
    """lower <= feature <= upper, numbers or ordered levels; infinities leave a side open."""
    if all(isinstance(end, str) or end in (-math.inf, math.inf) for end in (lower, upper)) and str in (
        type(lower),
        type(upper),
    ):
        return Limit(_call("between", name, lower, upper), (name,), lower, upper)
    lower, upper = _end(name, lower), _end(name, upper)
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise CounterleafError(f"between({name!r}, {lower}, {upper}): no number lies between; expected lower <= upper")
    return Limit(_call("between", name, lower, upper), (name,), lower, upper)


def only_increase(*names: Any, by: float = 0.0, at_most: float | None = None) -> Limit:
    """Let the named features stay or rise: by at least ``by`` and, if given, by no more than ``at_most``.

    Of ordered levels these are numbers of levels.

    Examples
    --------
    >>> only_increase("age", by=2, at_most=10)
    only_increase('age', by=2, at_most=10)
    """
    by, most = _range("only_increase", by, at_most)
    shown = _call("only_increase", *names, by=by, at_most=at_most)
    return Limit(shown, _named("only_increase", names), by, most, True, at_most is not None)


def only_decrease(*names: Any, by: float = 0.0, at_most: float | None = None) -> Limit:
    """Let the named features stay or fall: by at least ``by`` and, if given, by no more than ``at_most``.

    Of ordered levels these are numbers of levels.
    """
    by, most = _range("only_decrease", by, at_most)
    shown = _call("only_decrease", *names, by=by, at_most=at_most)
    return Limit(shown, _named("only_decrease", names), -most, -by, at_most is not None, True)


def allow(name: Any, values: Any) -> Choice:
    """The feature takes one of these values: categories or levels."""
    values = _values("allow", values)
    return Choice(_call("allow", name, list(values)), name, values, True)


def forbid(name: Any, values: Any) -> Choice:
    """The feature takes none of these values: categories or levels."""
    values = _values("forbid", values)
    return Choice(_call("forbid", name, list(values)), name, values, False)


def linear(coef: Mapping[Any, float], relation: str, rhs: float) -> Row:
    """sum of coef[name] * feature, compared with rhs by ">=", "<=" or "==".

    A name is a number of the table, an ordered level (its place from 0), or ``"feature=value"``: 1 if so, else 0.

    Examples
    --------
    >>> print(linear({"education=Masters": 1, "age": -0.1}, "<=", -2))
    linear({'education=Masters': 1, 'age': -0.1}, '<=', -2)
    """
    if not isinstance(coef, Mapping) or not coef:
        raise CounterleafError(f"linear got the coefficients {coef!r}; expected a dict from feature to number")
    if relation not in (">=", "<=", "=="):
        raise CounterleafError(f'linear got the relation {relation!r}; expected ">=", "<=" or "=="')
    numbers = {name: number(value, f"the coefficient of {name!r}") for name, value in coef.items()}
    if not any(numbers.values()):
        raise CounterleafError("linear got coefficients that are all 0; at least one must not be")
    rhs = number(rhs, "the right-hand side of linear")
    return Row(_call("linear", numbers, relation, rhs), numbers, relation, rhs)


def among(rows: Any) -> Among:
    """The answer is one of the rows of this table (a frame or a 2-D array), as the model classifies them."""
    columns(rows)
    return Among(f"among({len(rows)} rows)", copy_of(rows))


def max_changes(count: int) -> MaxChanges:
    """No more than ``count`` features change; a category counts as one."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise CounterleafError(f"max_changes got {count!r}; expected a whole number from 0")
    return MaxChanges(_call("max_changes", int(count)), int(count))


def changed(name: Any) -> Changed:
    """The condition, for ``implies``, that the feature changes."""
    return Changed(_call("changed", name), name)


def implies(condition: Changed, then: Limit | Choice) -> Implies:
    """If the condition holds, so does the constraint.

    Examples
    --------
    >>> implies(changed("education"), only_increase("age", by=2))
    implies(changed('education'), only_increase('age', by=2))
    """
    if not isinstance(condition, Changed):
        raise CounterleafError(f"implies got the condition {condition!r}; expected changed('feature')")
    if not isinstance(then, (Limit, Choice)):
        raise CounterleafError(
            f"implies got the consequence {then!r}; "
            f"expected freeze, fix, between, only_increase, only_decrease, allow or forbid"
        )
    return Implies(f"implies({condition!r}, {then!r})", condition, then)


def listed(constraints: Any) -> list[Constraint]:
    """The constraints of a question, of which a single one need not be in a list."""
    if isinstance(constraints, (tuple, list)) and not constraints:
        return []
    if isinstance(constraints, Constraint):
        return [constraints]
    if not isinstance(constraints, Iterable) or isinstance(constraints, (str, Mapping)):
        raise CounterleafError(f"constraints is {constraints!r}; expected a list such as [freeze('age')]")
    given = list(constraints)
    for one in given:
        if isinstance(one, Changed):
            raise CounterleafError(f"{one!r} is a condition; use it in implies({one!r}, ...)")
        if not isinstance(one, Constraint):
            raise CounterleafError(f"constraint {one!r} is a {type(one).__name__}; expected freeze, between, linear, ...")
    return given


def _aligned(rows: Any, schema: Schema) -> Array:
    """The rows as variables."""
    if is_frame(rows):
        names = column_names(rows)
        if sorted(names) != sorted(schema.names):
            raise CounterleafError(f"among got the columns {names}; expected {schema.names}")
    elif np.shape(rows)[1] != len(schema):
        raise CounterleafError(f"among got rows of {np.shape(rows)[1]} numbers; expected {len(schema)}, one per feature")
    found = encode_table(schema, rows)
    for d, name in enumerate(schema.names):
        if name in schema.fills:
            found[np.isnan(found[:, d]), d] = schema.fills[name]
    if not np.isfinite(found).all():
        bad = schema.names[int(np.flatnonzero(~np.isfinite(found).all(axis=0))[0])]
        raise CounterleafError(f"among got NaN or infinity in column {bad!r}; fill it in or drop those rows")
    return found if schema.numeric else schema.spread(found)


def _named(verb: str, names: tuple[Any, ...]) -> tuple[Any, ...]:
    if not names:
        raise CounterleafError(f"{verb} got no feature; name at least one, as in {verb}('age')")
    for name in names:
        if isinstance(name, (list, tuple, set, dict)):
            raise CounterleafError(f"{verb} got {name!r}; give the names one by one, as in {verb}('age', 'sex')")
    return names


def _values(verb: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise CounterleafError(f"{verb} got {values!r}; expected a list of values such as ['a', 'b']")
    out = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    if not out:
        raise CounterleafError(f"{verb} got no values; expected a list such as ['a', 'b']")
    return out


def _range(verb: str, by: Any, at_most: Any) -> tuple[float, float]:
    """The least and the most by which a feature changes."""
    least = number(by, f"by= of {verb}")
    most = math.inf if at_most is None else number(at_most, f"at_most= of {verb}")
    if least < 0:
        raise CounterleafError(f"by= of {verb} is {by!r}; expected 0 or more")
    if most < least:
        raise CounterleafError(f"at_most= of {verb} is {at_most!r}; expected {least:g} or more")
    return least, most


def _end(name: Any, value: float) -> float:
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise CounterleafError(f"a bound of {name!r} is {value!r}; expected a number") from None
    if math.isnan(value):
        raise CounterleafError(f"a bound of {name!r} is NaN; expected a number")
    return value


def _call(verb: str, *arguments: Any, by: float = 0.0, at_most: Any = None) -> str:
    shown = [repr(_short(one)) for one in arguments] + [f"by={_short(by)}"] * bool(by)
    if at_most is not None:
        shown.append(f"at_most={_short(float(at_most))}")
    return f"{verb}({', '.join(shown)})"


def _short(given: Any) -> Any:
    """Whole numbers as people write them."""
    if isinstance(given, Mapping):
        return {name: _short(value) for name, value in given.items()}
    return int(given) if isinstance(given, float) and given.is_integer() else given
