"""What an answer must obey, in the units of the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.schema import Array, Schema, number, table


@dataclass(frozen=True, slots=True)
class Limit:
    """lower <= x_d <= upper for each named feature; ``from_lower``, ``from_upper``: counted from the source."""

    words: str
    names: tuple[Any, ...]
    lower: float = -math.inf
    upper: float = math.inf
    from_lower: bool = False
    from_upper: bool = False

    def __repr__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Row:
    """coef @ x (relation) rhs."""

    words: str
    coef: Mapping[Any, float]
    relation: str
    rhs: float

    def __repr__(self) -> str:
        return self.words

    def terms(self, schema: Schema) -> dict[int, float]:
        """Coefficient by place; a feature named twice, by name and by position, counts with the sum."""
        out: dict[int, float] = {}
        for name, a in self.coef.items():
            d = schema.index(name)
            out[d] = out.get(d, 0.0) + a
        return {d: a for d, a in out.items() if a}


@dataclass(frozen=True, slots=True, eq=False)
class Among:
    """x is one of the rows of a table."""

    words: str
    names: list[str] | None
    rows: Array

    def __repr__(self) -> str:
        return self.words


Constraint = Limit | Row | Among


def freeze(*names: Any) -> Limit:
    """The named features keep their value, bit for bit."""
    return Limit(_call("freeze", *names), _some("freeze", names), 0.0, 0.0, True, True)


def fix(name: Any, value: float) -> Limit:
    """The feature takes exactly this value."""
    value = number(value, f"the value to fix {name!r} to")
    return Limit(_call("fix", name, value), (name,), value, value)


def between(name: Any, lower: float, upper: float) -> Limit:
    """lower <= feature <= upper; infinities leave a side open."""
    lower, upper = _end(name, lower), _end(name, upper)
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise CounterleafError(f"between({name!r}, {lower}, {upper}): no number lies between; expected lower <= upper")
    return Limit(_call("between", name, lower, upper), (name,), lower, upper)


def increase(*names: Any) -> Limit:
    """The named features do not fall."""
    return Limit(_call("increase", *names), _some("increase", names), lower=0.0, from_lower=True)


def decrease(*names: Any) -> Limit:
    """The named features do not rise."""
    return Limit(_call("decrease", *names), _some("decrease", names), upper=0.0, from_upper=True)


def linear(coef: Mapping[Any, float], relation: str, rhs: float) -> Row:
    """sum of coef[name] * feature, compared with rhs by ">=", "<=" or "==".

    Examples
    --------
    >>> print(linear({"gain": 1, "loss": -1}, ">=", 0))
    linear({'gain': 1.0, 'loss': -1.0}, '>=', 0.0)
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
    """The answer is one of these rows (a frame or a 2-D array), as the model classifies them."""
    names, X = table(rows)
    return Among(f"among({len(X)} rows)", names if hasattr(rows, "columns") else None, X)


def listed(constraints: Any) -> list[Constraint]:
    """The constraints of a question, of which a single one need not be in a list."""
    if isinstance(constraints, Constraint):
        return [constraints]
    if not isinstance(constraints, Iterable) or isinstance(constraints, (str, Mapping)):
        raise CounterleafError(f"constraints is {constraints!r}; expected a list such as [freeze('age')]")
    given = list(constraints)
    for one in given:
        if not isinstance(one, Constraint):
            raise CounterleafError(f"constraint {one!r} is a {type(one).__name__}; expected freeze, between, linear, ...")
    return given


def lower_constraints(
    constraints: list[Constraint], schema: Schema, source: Array
) -> tuple[Array, Array, list[Row], Array | None]:
    """(lower, upper, rows over several features, rows to choose among or None) for this source row."""
    lower, upper = schema.bounds()
    if schema.inferred:
        lower, upper = np.minimum(lower, source), np.maximum(upper, source)
    rows: list[Row] = []
    pool: Array | None = None
    for given in constraints:
        if isinstance(given, Limit):
            for name in given.names:
                d = schema.index(name)
                low = given.lower + source[d] if given.from_lower else given.lower
                high = given.upper + source[d] if given.from_upper else given.upper
                lower[d], upper[d] = max(lower[d], low), min(upper[d], high)
        elif isinstance(given, Row):
            used = given.terms(schema)
            if len(used) != 1:
                if not used:
                    raise CounterleafError(f"{given}: the coefficients cancel; at least one must not be 0")
                rows.append(given)
                continue
            ((d, a),) = used.items()
            at = given.rhs / a
            if not math.isfinite(at):
                raise CounterleafError(f"{given}: {given.rhs} over {a} is no finite number; scale the constraint")
            if given.relation != ("<=" if a > 0 else ">="):
                lower[d] = max(lower[d], at)
            if given.relation != (">=" if a > 0 else "<="):
                upper[d] = min(upper[d], at)
        else:
            found = _aligned(given, schema)
            pool = found if pool is None else pool[(pool[:, None] == found[None]).all(axis=2).any(axis=1)]
    return lower, upper, rows, pool


def _aligned(given: Among, schema: Schema) -> Array:
    """The rows with their columns in the schema's order."""
    X = given.rows
    if given.names is not None:
        if sorted(given.names) != sorted(schema.names):
            raise CounterleafError(f"among got the columns {given.names}; expected {schema.names}")
        X = X[:, [given.names.index(name) for name in schema.names]]
    if X.shape[1] != len(schema):
        raise CounterleafError(f"among got rows of {X.shape[1]} numbers; expected {len(schema)}, one per feature")
    return X


def _some(verb: str, names: tuple[Any, ...]) -> tuple[Any, ...]:
    if not names:
        raise CounterleafError(f"{verb} got no feature; name at least one, as in {verb}('age')")
    for name in names:
        if isinstance(name, (list, tuple, set, dict)):
            raise CounterleafError(f"{verb} got {name!r}; give the names one by one, as in {verb}('age', 'sex')")
    return names


def _end(name: Any, value: float) -> float:
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise CounterleafError(f"a bound of {name!r} is {value!r}; expected a number") from None
    if math.isnan(value):
        raise CounterleafError(f"a bound of {name!r} is NaN; expected a number")
    return value


def _call(verb: str, *arguments: Any) -> str:
    return f"{verb}({', '.join(map(repr, arguments))})"
