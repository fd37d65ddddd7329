"""The functions that make constraints, which an answer must satisfy in addition to reaching the target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, number
from counterleaf.question.constraints.kinds import (
    Among,
    Changed,
    Choice,
    Implies,
    Limit,
    MaxChanges,
    Row,
    bound,
    call_text,
    change_range,
    feature_names,
    value_list,
)
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
    return Limit(call_text("freeze", *names), feature_names("freeze", names), 0.0, 0.0, True, True)


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
    return Limit(call_text("fix", name, value), (name,), value, value)


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
        return Limit(call_text("between", name, lower, upper), (name,), lower, upper)
    lower, upper = bound(name, lower), bound(name, upper)
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise CounterleafError(f"between({name!r}, {lower}, {upper}): no number lies between; expected lower <= upper")
    return Limit(call_text("between", name, lower, upper), (name,), lower, upper)


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
    least, most = change_range("only_increase", by, at_most)
    shown = call_text("only_increase", *names, by=least, at_most=at_most)
    return Limit(shown, feature_names("only_increase", names), least, most, True, at_most is not None)


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
    least, most = change_range("only_decrease", by, at_most)
    shown = call_text("only_decrease", *names, by=least, at_most=at_most)
    return Limit(shown, feature_names("only_decrease", names), -most, -least, at_most is not None, True)


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
    values = value_list("allow", values)
    return Choice(call_text("allow", name, list(values)), name, values, True)


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
    values = value_list("forbid", values)
    return Choice(call_text("forbid", name, list(values)), name, values, False)


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
    return Row(call_text("linear", numbers, relation, rhs), numbers, relation, rhs)


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
    return MaxChanges(call_text("max_changes", int(count)), int(count))


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
    return Changed(call_text("changed", name), name)


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
