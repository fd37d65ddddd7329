"""The functions that make constraints, which an answer must satisfy in addition to reaching the target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from counterleaf.errors import CounterleafError, brief, number, whole
from counterleaf.question.constraints.kinds import (
    Among,
    Choice,
    Limit,
    MaxChanges,
    Near,
    Row,
    call_text,
    change_range,
    distance,
    feature_name,
    feature_names,
    opposite,
    short,
    single_value,
    size_of,
    value_list,
)
from counterleaf.table.frames import columns, copy_of


def freeze(*names: Any) -> Limit:
    """Keep the named features at the source's values, bit for bit.

    Parameters
    ----------
    *names : str, int or list
        The features, by name or by position, one by one or in lists.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If no feature is named.

    Examples
    --------
    >>> freeze("age", "sex")
    freeze('age', 'sex')
    """
    names = feature_names("freeze", names)
    return Limit(call_text("freeze", *names), names, 0.0, 0.0, True, True)


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
    name, value = feature_name("fix", name), single_value(value, f"the value to fix {brief(name)} to")
    return Limit(call_text("fix", name, value), (name,), value, value)


def between(name: Any, lower: Any = None, upper: Any = None) -> Limit:
    """Bound a number, or an ordered feature by its levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    lower, upper : float or str, optional
        The bounds, both included: numbers, or levels of an ordered feature. None leaves a side open, and so does infinity.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If both sides are open, a bound is not a number or a level, or the lower bound exceeds the upper one.

    Examples
    --------
    >>> between("age", 18, 65)
    between('age', 18, 65)
    >>> between("age", lower=18)
    between('age', lower=18)
    """
    name, what = feature_name("between", name), f"a bound of {brief(name)}"
    if lower is None and upper is None:
        raise CounterleafError(f"between({brief(name)}) has no bound; pass lower, upper or both")
    both = lower is not None and upper is not None
    texts = [isinstance(end, str) for end in (lower, upper)]
    lower, upper = (
        end if end is None or text else number(end, what, infinite=True)
        for end, text in zip((lower, upper), texts, strict=True)
    )
    words = call_text("between", name, lower, upper) if both else call_text("between", name, lower=lower, upper=upper)
    lower, upper = -math.inf if lower is None else lower, math.inf if upper is None else upper
    if any(texts):
        for end, other in ((lower, upper), (upper, lower)):
            if not isinstance(other, str) and not math.isinf(other):
                raise CounterleafError(
                    f"{what} is {brief(end)}; expected a number, because the other bound is {other:g}, or two levels"
                )
        return Limit(words, (name,), lower, upper)
    if lower > upper or lower == math.inf or upper == -math.inf:
        raise CounterleafError(f"between({brief(name)}, {lower}, {upper}): no number lies between; expected lower <= upper")
    return Limit(words, (name,), lower, upper)


def within(name: Any, lower: Any, upper: Any) -> Limit:
    """Bound the change of a number, or of an ordered feature in levels.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    lower, upper : float, str or None
        The least and the greatest change, both included: a number to add to the row's value, or a percentage of its absolute
        value, as in ``"-5%"``. For levels, a number of levels. None leaves a side open.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If both sides are open, an end is not a number or a percentage, or the lower end exceeds the upper one.

    Notes
    -----
    A percentage of 0 is 0. If the number is missing, it stays missing.

    Examples
    --------
    >>> within("income", "-5%", "+10%")
    within('income', '-5%', '10%')
    >>> within("age", 0, 3)
    within('age', 0, 3)
    """
    name = feature_name("within", name)
    if lower is None and upper is None:
        raise CounterleafError(f"within({brief(name)}, None, None) has no limit; pass the least change, the greatest, or both")
    ends = [None if end is None else distance(end, f"a limit of within({brief(name)})") for end in (lower, upper)]
    low, high = ends
    if low is not None and high is not None and type(low) is type(high) and size_of(low) > size_of(high):
        came = f"within({brief(name)}, {brief(lower)}, {brief(upper)})"
        raise CounterleafError(f"{came}: no change lies between; expected lower <= upper")
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    return Limit(call_text("within", name, *ends), (name,), low, high, lower is not None, upper is not None)


def only_increase(*names: Any, by: float | str = 0.0, at_most: float | str | None = None) -> Limit:
    """Let the named features keep their value or increase.

    Parameters
    ----------
    *names : str, int or list
        The features, by name or by position, one by one or in lists: numbers, or features with ordered levels.
    by : float or str, default 0
        The smallest increase; above 0 the features must change. A number, or a percentage of the absolute value of the row's
        number, as in ``"5%"``. For levels, a number of levels.
    at_most : float or str, optional
        The largest increase, in the same way. By default it is not limited.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If no feature is named, if ``by`` is negative, or if ``at_most`` is less than ``by``.

    Notes
    -----
    A percentage of 0 is 0. If the number is missing, it stays missing.

    Examples
    --------
    >>> only_increase("age", by=2, at_most=10)
    only_increase('age', by=2, at_most=10)
    >>> only_increase("income", at_most="10%")
    only_increase('income', at_most='10%')
    """
    names, (least, most) = feature_names("only_increase", names), change_range("only_increase", by, at_most)
    shown = call_text("only_increase", *names, by=least or None, at_most=None if at_most is None else most)
    return Limit(shown, names, least, most, True, at_most is not None)


def only_decrease(*names: Any, by: float | str = 0.0, at_most: float | str | None = None) -> Limit:
    """Let the named features keep their value or decrease.

    Parameters
    ----------
    *names : str, int or list
        The features, by name or by position, one by one or in lists: numbers, or features with ordered levels.
    by : float or str, default 0
        The smallest decrease; above 0 the features must change. A number, or a percentage of the absolute value of the row's
        number, as in ``"5%"``. For levels, a number of levels.
    at_most : float or str, optional
        The largest decrease, in the same way. By default it is not limited.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If no feature is named, if ``by`` is negative, or if ``at_most`` is less than ``by``.

    Notes
    -----
    A percentage of 0 is 0. If the number is missing, it stays missing.

    Examples
    --------
    >>> only_decrease("debt", at_most=500)
    only_decrease('debt', at_most=500)
    """
    names, (least, most) = feature_names("only_decrease", names), change_range("only_decrease", by, at_most)
    shown = call_text("only_decrease", *names, by=least or None, at_most=None if at_most is None else most)
    return Limit(shown, names, opposite(most), opposite(least), at_most is not None, True)


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
    name, values = feature_name("allow", name), value_list("allow", values)
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
    name, values = feature_name("forbid", name), value_list("forbid", values)
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
        raise CounterleafError(f"linear got the coefficients {brief(coef)}; expected a dict from feature to number")
    if not isinstance(relation, str) or relation not in (">=", "<=", "=="):
        raise CounterleafError(f'linear got the relation {brief(relation)}; expected ">=", "<=" or "=="')
    numbers = {feature_name("linear", name): number(value, f"the coefficient of {brief(name)}") for name, value in coef.items()}
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


def near(data: Any, quantile: float = 0.99, metric: str = "L1") -> Near:
    """Keep the answer near the data: as close to a row of its class as most rows are to each other.

    The distance of two rows is the sum over the features of their difference, relative to the range of the feature in ``data``;
    two different categories differ by 1. The radius is a quantile, over the rows of ``data``, of the distance to the nearest
    other row to which the model assigns the same class. The distance of the answer to some row of its class is at most the
    radius.

    Parameters
    ----------
    data : DataFrame or array-like of shape (n_rows, n_features)
        Typical rows, such as the training data. They are copied.
    quantile : float, default=0.99
        The share of the rows that are as near to another row of their class as the answer has to be; above 0 and at most 1.
    metric : {"L1", "L2"}, default="L1"
        The sum of the differences, or of their squares.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If ``data`` is not a table, or another argument does not fit.

    Examples
    --------
    >>> near([[0.0, 1.0], [2.0, 3.0]], quantile=0.9)
    near(2 rows, quantile=0.9)
    """
    columns(data)
    share = number(quantile, "quantile= of near")
    if not 0.0 < share <= 1.0:
        raise CounterleafError(f"quantile= of near is {brief(quantile)}; expected a number above 0 and at most 1")
    if not isinstance(metric, str) or metric not in ("L1", "L2"):
        raise CounterleafError(f'metric= of near is {brief(metric)}; expected "L1" or "L2"')
    words = f"near({len(data)} rows, quantile={short(share)}" + (")" if metric == "L1" else f", metric={metric!r})")
    return Near(words, copy_of(data), share, metric)


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
    if not whole(count, 0):
        raise CounterleafError(f"max_changes got {brief(count)}; expected a whole number from 0")
    most = min(int(count), 1 << 62)  # more than any table has features
    return MaxChanges(call_text("max_changes", most), most)
