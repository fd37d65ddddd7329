"""What an answer must obey, in the units of the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.table.features import Categorical, Finite, Numeric, some
from counterleaf.table.schema import Array, Schema, number

_ROUNDING = 1e-9  # rows hold to this share of their terms


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
class AtMost(_Said):
    """No more than ``count`` features change."""

    count: int


@dataclass(frozen=True, slots=True, repr=False)
class Changes(_Said):
    """The named feature changes: a condition for ``implies``."""

    name: Any


@dataclass(frozen=True, slots=True, repr=False)
class Implies(_Said):
    """If the condition holds, so does the constraint."""

    condition: Changes
    then: Limit | Choice


Constraint = Limit | Choice | Row | Among | AtMost | Implies
Box = list[tuple[int, Any, Any]]  # (variable, lower, upper): numbers, or arrays of one per source


@dataclass(slots=True, eq=False)
class Limits:
    """Constraints as arrays: one line per source, one column per variable."""

    lower: Array
    upper: Array
    rows: list[tuple[dict[int, float], str, float]] = field(default_factory=list)  # over several variables
    pool: Array | None = None  # rows to choose among
    most: int = -1  # features that may change, -1 for any number
    clauses: list[tuple[Box, Box]] = field(default_factory=list)  # in one box or in the other


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


def increase(*names: Any, by: float = 0.0) -> Limit:
    """The named features do not fall, or rise by at least ``by`` (for ordered levels: that many)."""
    by = _by("increase", by)
    return Limit(_call("increase", *names, by=by), _named("increase", names), lower=by, from_lower=True)


def decrease(*names: Any, by: float = 0.0) -> Limit:
    """The named features do not rise, or fall by at least ``by`` (for ordered levels: that many)."""
    by = _by("decrease", by)
    return Limit(_call("decrease", *names, by=by), _named("decrease", names), upper=-by, from_upper=True)


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
    from counterleaf.table.frames import columns

    columns(rows)
    return Among(f"among({len(rows)} rows)", rows.copy() if hasattr(rows, "copy") else rows)


def at_most(count: int) -> AtMost:
    """No more than ``count`` features change; a category counts as one."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise CounterleafError(f"at_most got {count!r}; expected a whole number from 0")
    return AtMost(_call("at_most", int(count)), int(count))


def changes(name: Any) -> Changes:
    """The condition, for ``implies``, that the feature changes."""
    return Changes(_call("changes", name), name)


def implies(condition: Changes, then: Limit | Choice) -> Implies:
    """If the condition holds, so does the constraint.

    Examples
    --------
    >>> implies(changes("education"), increase("age", by=2))
    implies(changes('education'), increase('age', by=2))
    """
    if not isinstance(condition, Changes):
        raise CounterleafError(f"implies got the condition {condition!r}; expected changes('feature')")
    if not isinstance(then, (Limit, Choice)):
        raise CounterleafError(
            f"implies got the consequence {then!r}; expected freeze, fix, between, increase, decrease, allow or forbid"
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
        if isinstance(one, Changes):
            raise CounterleafError(f"{one!r} is a condition; use it in implies({one!r}, ...)")
        if not isinstance(one, Constraint):
            raise CounterleafError(f"constraint {one!r} is a {type(one).__name__}; expected freeze, between, linear, ...")
    return given


def lower_constraints(constraints: list[Constraint], schema: Schema, sources: Array) -> Limits:
    """The constraints on source rows as arrays."""
    lower, upper = (np.repeat(end[None], len(sources), axis=0) for end in schema.bounds())
    if schema.inferred:
        lower, upper = np.minimum(lower, sources, out=lower), np.maximum(upper, sources, out=upper)
    out = Limits(lower, upper)
    for d, feature in enumerate(() if schema.numeric else schema):
        if not isinstance(feature, Numeric) and feature.missing:  # to stay at, not to move to
            last = schema.span(d).stop - 1
            upper[:, last] = sources[:, last]
    for given in constraints:
        if isinstance(given, (Limit, Choice)):
            _intersect(out, _box(given, schema, sources))
        elif isinstance(given, Row):
            _add_row(out, given, schema)
        elif isinstance(given, AtMost):
            most = min(given.count, len(schema))  # more is no limit
            out.most = most if out.most < 0 else min(out.most, most)
        elif isinstance(given, Implies):
            frozen = _box(freeze(given.condition.name), schema, sources)
            out.clauses.append((frozen, _box(given.then, schema, sources)))
        else:
            found = given.vectors(schema)
            out.pool = found if out.pool is None else out.pool[(out.pool[:, None] == found[None]).all(axis=2).any(axis=1)]
    return out


def _intersect(limits: Limits, box: Box) -> None:
    for d, low, high in box:
        lower, upper = limits.lower[:, d], limits.upper[:, d]
        np.maximum(lower, low, out=lower)
        np.minimum(upper, high, out=upper)


def _box(given: Limit | Choice, schema: Schema, sources: Array) -> Box:
    """The bounds that a constraint on single features puts on their variables."""
    if isinstance(given, Choice):
        d = schema.index(given.name)
        feature, start = schema.features[d], schema.span(d).start
        if isinstance(feature, Numeric):
            raise CounterleafError(f"{given}: feature {feature.name!r} is a number; use between or fix")
        named = {_place(given, feature, value) for value in given.values}
        return _only(
            feature, start, [k for k in range(len(feature.values)) if (k in named) == given.allowed], keep=not given.allowed
        )
    out: Box = []
    for name in given.names:
        d = schema.index(name)
        feature, at = schema.features[d], schema.span(d)
        frozen = given.from_lower and given.from_upper
        if isinstance(feature, Numeric):
            for end in (given.lower, given.upper):
                if isinstance(end, (str, bytes)):
                    raise CounterleafError(f"{given}: feature {feature.name!r} is a number; {end!r} is none")
            own = sources[:, at.start]
            low = _from(feature, given.lower, own) if given.from_lower else float(given.lower)
            high = _from(feature, given.upper, own) if given.from_upper else float(given.upper)
            out.append((at.start, own, own) if frozen else (at.start, low, high))
        elif frozen:
            out += [(v, sources[:, v], sources[:, v]) for v in range(at.start, at.stop)]
        elif not (given.from_lower or given.from_upper) and given.lower == given.upper:
            out += _only(feature, at.start, [_place(given, feature, given.lower)])
        elif isinstance(feature, Categorical):
            raise CounterleafError(f"{given}: feature {feature.name!r} has categories without an order; use allow or forbid")
        else:
            own = sources[:, at].argmax(axis=1)
            if (own == len(feature.values)).any():
                raise CounterleafError(f"{given}: feature {feature.name!r} of the row is missing, which is no level; use allow")
            first = own + given.lower if given.from_lower else _level(given, feature, given.lower)
            last = own + given.upper if given.from_upper else _level(given, feature, given.upper)
            if not (given.from_lower or given.from_upper) and first > last:
                raise CounterleafError(f"{given}: no level lies between; the levels are {some(feature.values)}")
            for k in range(feature.size):
                left = np.broadcast_to((first <= k) & (k <= last) & (k < len(feature.values)), len(own))
                if not left.all():
                    out.append((at.start + k, 0.0, np.where(left, 1.0, 0.0)))
    return out


def _level(given: Limit, feature: Finite, end: Any) -> float:
    """The place of a level given by its value, infinity where a side is open."""
    return end if isinstance(end, float) and math.isinf(end) else float(_place(given, feature, end))


def _place(given: Limit | Choice, feature: Finite, value: Any) -> int:
    """The place of a value that a constraint names."""
    try:
        return feature.place(value)
    except CounterleafError:
        raise CounterleafError(
            f"{given}: feature {feature.name!r} has no value {value!r}; expected one of {some(feature.values)}"
        ) from None


def _only(feature: Finite, start: int, places: list[int], keep: bool = False) -> Box:
    """Rule out every value of a feature but those at ``places``; ``keep``: a missing one may stay."""
    left = {*places, *(range(len(feature.values), feature.size) if keep else ())}
    return [(start + k, 0.0, 0.0) for k in range(feature.size) if k not in left]


def _add_row(limits: Limits, given: Row, schema: Schema) -> None:
    """A row over one variable is a bound, over one group a choice, else a row."""
    used = given.terms(schema)
    if not used:
        raise CounterleafError(f"{given}: the coefficients cancel; at least one must not be 0")
    features = {int(np.searchsorted(schema.starts, d, side="right")) - 1 for d in used}
    if len(features) > 1:
        limits.rows.append((used, given.relation, given.rhs))
        return
    (d,) = features
    feature = schema.features[d]
    if not isinstance(feature, Numeric):
        start = schema.span(d).start
        for k in range(feature.size):
            a = used.get(start + k, 0.0)
            off = (a - given.rhs) / max(abs(a), abs(given.rhs), 1e-300)
            if (given.relation != "<=" and off < -_ROUNDING) or (given.relation != ">=" and off > _ROUNDING):
                _intersect(limits, [(start + k, 0.0, 0.0)])
        return
    ((v, a),) = used.items()
    at = given.rhs / a
    if not math.isfinite(at):
        raise CounterleafError(f"{given}: {given.rhs} over {a} is no finite number; scale the constraint")
    at = float(_near(feature, at))
    low = at if given.relation != ("<=" if a > 0 else ">=") else -math.inf
    high = at if given.relation != (">=" if a > 0 else "<=") else math.inf
    _intersect(limits, [(v, low, high)])


def _from(feature: Numeric, by: Any, own: Array) -> Any:
    """What lies by so much from the source's own numbers; these themselves, bit for bit, if that is nothing."""
    return own if by == 0 else _near(feature, by + own)


def _near(feature: Numeric, at: Any) -> Any:
    """Numbers that rounding has put beside a point of the feature's grid, on that point."""
    grid = feature.grid
    if grid is None:
        return at
    near = np.round(at / float(grid)) * grid.numerator / grid.denominator
    return np.where(np.abs(near - at) <= _ROUNDING * np.abs(at), near, at)


def _aligned(rows: Any, schema: Schema) -> Array:
    """The rows as variables."""
    from counterleaf.table.frames import codes

    if hasattr(rows, "columns"):
        names = [str(name) for name in rows.columns]
        if sorted(names) != sorted(schema.names):
            raise CounterleafError(f"among got the columns {names}; expected {schema.names}")
    elif np.shape(rows)[1] != len(schema):
        raise CounterleafError(f"among got rows of {np.shape(rows)[1]} numbers; expected {len(schema)}, one per feature")
    found = codes(rows, schema)
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


def _by(verb: str, by: Any) -> float:
    out = number(by, f"by= of {verb}")
    if out < 0:
        raise CounterleafError(f"by= of {verb} is {by!r}; expected 0 or more")
    return out


def _end(name: Any, value: float) -> float:
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise CounterleafError(f"a bound of {name!r} is {value!r}; expected a number") from None
    if math.isnan(value):
        raise CounterleafError(f"a bound of {name!r} is NaN; expected a number")
    return value


def _call(verb: str, *arguments: Any, by: float = 0.0) -> str:
    told = [repr(_short(one)) for one in arguments] + [f"by={_short(by)}"] * bool(by)
    return f"{verb}({', '.join(told)})"


def _short(given: Any) -> Any:
    """Whole numbers as people write them."""
    if isinstance(given, Mapping):
        return {name: _short(value) for name, value in given.items()}
    return int(given) if isinstance(given, float) and given.is_integer() else given
