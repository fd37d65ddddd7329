"""The functions that make constraints: what an answer must satisfy besides the target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, number
from counterleaf.question.kinds import Among as Among
from counterleaf.question.kinds import Changed as Changed
from counterleaf.question.kinds import Choice as Choice
from counterleaf.question.kinds import Constraint as Constraint
from counterleaf.question.kinds import Implies as Implies
from counterleaf.question.kinds import Limit as Limit
from counterleaf.question.kinds import MaxChanges as MaxChanges
from counterleaf.question.kinds import Row as Row
from counterleaf.table.frames import columns, copy_of


def freeze(*names: Any) -> Limit:
    """Keep the named features at the source's values, bit for bit.

    Parameters
    ----------
    *names : str or int
        The features, by name or by position.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If no feature is named, or if the names come in a list.

    Examples
    --------
    >>> freeze("age", "sex")
    freeze('age', 'sex')
    """
    return Limit(_call("freeze", *names), _named("freeze", names), 0.0, 0.0, True, True)


def fix(name: Any, value: Any) -> Limit:
    """Set a feature to one value.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    value : float, str or bool
        A number, or one of the feature's values.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If the value is NaN or infinite.

    Examples
    --------
    >>> fix("job", "cook")
    fix('job', 'cook')
    """
    if not isinstance(value, (str, bytes)):
        value = number(value, f"the value to fix {name!r} to") if not isinstance(value, bool) else value
    return Limit(_call("fix", name, value), (name,), value, value)


def between(name: Any, lower: Any, upper: Any) -> Limit:
    """Bound a number, or an ordered feature by its levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    lower, upper : float or str
        The bounds, both included: numbers, or levels of an ordered feature. ``-inf`` and ``inf`` leave a side open.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If a bound is not a number or a level, or if the lower bound exceeds the upper one.

    Examples
    --------
    >>> between("age", 18, 65)
    between('age', 18, 65)
    """
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
    """Let the named features keep their value or increase.

    Parameters
    ----------
    *names : str or int
        The features, by name or by position: numbers, or features with ordered levels.
    by : float, default 0
        The smallest increase; above 0 the features must change. For levels, a number of levels.
    at_most : float, optional
        The largest increase. By default it is not limited.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If no feature is named, if ``by`` is negative, or if ``at_most`` is less than ``by``.

    Examples
    --------
    >>> only_increase("age", by=2, at_most=10)
    only_increase('age', by=2, at_most=10)
    """
    least, most = _range("only_increase", by, at_most)
    shown = _call("only_increase", *names, by=least, at_most=at_most)
    return Limit(shown, _named("only_increase", names), least, most, True, at_most is not None)


def only_decrease(*names: Any, by: float = 0.0, at_most: float | None = None) -> Limit:
    """Let the named features keep their value or decrease.

    Parameters
    ----------
    *names : str or int
        The features, by name or by position: numbers, or features with ordered levels.
    by : float, default 0
        The smallest decrease; above 0 the features must change. For levels, a number of levels.
    at_most : float, optional
        The largest decrease. By default it is not limited.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If no feature is named, if ``by`` is negative, or if ``at_most`` is less than ``by``.

    Examples
    --------
    >>> only_decrease("debt", at_most=500)
    only_decrease('debt', at_most=500)
    """
    least, most = _range("only_decrease", by, at_most)
    shown = _call("only_decrease", *names, by=least, at_most=at_most)
    return Limit(shown, _named("only_decrease", names), -most, -least, at_most is not None, True)


def allow(name: Any, values: Any) -> Choice:
    """Restrict a feature to some of its categories or levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    values : list
        The values that an answer may have.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Examples
    --------
    >>> allow("job", ["cook", "clerk"])
    allow('job', ['cook', 'clerk'])
    """
    values = _values("allow", values)
    return Choice(_call("allow", name, list(values)), name, values, True)


def forbid(name: Any, values: Any) -> Choice:
    """Rule out some of a feature's categories or levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    values : list
        The values that an answer must not have.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Examples
    --------
    >>> forbid("job", ["smith"])
    forbid('job', ['smith'])
    """
    values = _values("forbid", values)
    return Choice(_call("forbid", name, list(values)), name, values, False)


def linear(coef: Mapping[Any, float], relation: str, rhs: float) -> Row:
    """Compare a weighted sum of features with a number.

    Parameters
    ----------
    coef : dict
        From feature to coefficient. A key names a number, a feature with ordered levels (which counts as its level's
        position from 0), or ``"feature=value"``, which is 1 if the feature has that value and 0 otherwise.
    relation : {">=", "<=", "=="}
        How the sum compares with ``rhs``.
    rhs : float
        The right-hand side.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If the coefficients are not a dict of finite numbers, are all 0, or the relation is unknown.

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
    """Choose the answer from the rows of a table.

    Parameters
    ----------
    rows : DataFrame or array-like of shape (n_rows, n_features)
        The candidates. They are copied.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If ``rows`` is not a table.

    Examples
    --------
    >>> among([[0.0, 1.0], [2.0, 3.0]])
    among(2 rows)
    """
    columns(rows)
    return Among(f"among({len(rows)} rows)", copy_of(rows))


def max_changes(count: int) -> MaxChanges:
    """Limit the number of features that change.

    Parameters
    ----------
    count : int
        The largest number of changed features. A category counts as one feature.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If ``count`` is negative or not a whole number.

    Examples
    --------
    >>> max_changes(2)
    max_changes(2)
    """
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise CounterleafError(f"max_changes got {count!r}; expected a whole number from 0")
    return MaxChanges(_call("max_changes", int(count)), int(count))


def changed(name: Any) -> Changed:
    """State, as the condition of ``implies``, that a feature changes.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.

    Returns
    -------
    Changed
        The condition. It is not a constraint.

    Examples
    --------
    >>> implies(changed("job"), freeze("income"))
    implies(changed('job'), freeze('income'))
    """
    return Changed(_call("changed", name), name)


def implies(condition: Changed, then: Limit | Choice) -> Implies:
    """Apply a constraint only where a feature changes.

    Parameters
    ----------
    condition : Changed
        The condition, ``changed("feature")``.
    then : Constraint
        A constraint on single features: freeze, fix, between, only_increase, only_decrease, allow or forbid.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If the condition is not ``changed(...)``, or the consequence is not a constraint on single features.

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
    """Check the constraints of a question, which are a list or a single constraint.

    Raises
    ------
    CounterleafError
        If something else than a constraint is among them.
    """
    if isinstance(constraints, (tuple, list)) and not constraints:
        return []
    if isinstance(constraints, Constraint):
        return [constraints]
    if not isinstance(constraints, Iterable) or isinstance(constraints, (str, Mapping)):
        raise CounterleafError(f"constraints is {constraints!r}; expected a list such as [freeze('age')]")
    out = list(constraints)
    for one in out:
        if isinstance(one, Changed):
            raise CounterleafError(f"{one!r} is a condition; use it in implies({one!r}, ...)")
        if not isinstance(one, Constraint):
            raise CounterleafError(f"constraint {one!r} is a {type(one).__name__}; expected freeze, between, linear, ...")
    return out


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
    """Check the smallest and the largest change of a feature."""
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


def _short(value: Any) -> Any:
    """Show whole numbers without a decimal point."""
    if isinstance(value, Mapping):
        return {name: _short(one) for name, one in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
