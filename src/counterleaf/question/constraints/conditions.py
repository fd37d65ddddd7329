"""Conditions, and the constraints that hold only under a condition."""

from __future__ import annotations

from typing import Any

from counterleaf.errors import CounterleafError, brief
from counterleaf.question.constraints.kinds import (
    Becomes,
    Changed,
    Choice,
    Constraint,
    Implies,
    Limit,
    Stays,
    call_text,
    feature_name,
    single_value,
)


def becomes(name: Any, value: Any) -> Becomes:
    """Give a feature one value; as a condition, state that it changes to that value.

    As a constraint it is the same as ``fix``. As the condition of ``implies`` it is true if the answer has the value and the
    row has another one.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.
    value : float, str or bool
        A number, or one of the feature's values.

    Returns
    -------
    Constraint
        For ``constraints=``, or a condition for ``implies``.

    Raises
    ------
    CounterleafError
        If the value is NaN or infinite.

    Examples
    --------
    >>> from counterleaf import only_increase
    >>> implies(becomes("job", "manager"), only_increase("age", by=2))
    implies(becomes('job', 'manager'), only_increase('age', by=2))
    """
    name, value = feature_name("becomes", name), single_value(value, f"the value that {brief(name)} becomes")
    return Becomes(call_text("becomes", name, value), (name,), value, value)


def stays(name: Any) -> Stays:
    """Keep a feature at the row's value, bit for bit; as a condition, state that it does.

    Parameters
    ----------
    name : str or int
        The feature, by name or by position.

    Returns
    -------
    Constraint
        For ``constraints=``, or a condition for ``implies``.

    Examples
    --------
    >>> from counterleaf import freeze
    >>> implies(stays("job"), freeze("income"))
    implies(stays('job'), freeze('income'))
    """
    name = feature_name("stays", name)
    return Stays(call_text("stays", name), (name,), 0.0, 0.0, True, True)


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
    >>> from counterleaf import freeze
    >>> implies(changed("job"), freeze("income"))
    implies(changed('job'), freeze('income'))
    """
    name = feature_name("changed", name)
    return Changed(call_text("changed", name), name)


def implies(condition: Changed | Constraint, then: Constraint) -> Implies:
    """Apply a constraint only where a condition holds.

    Parameters
    ----------
    condition : Changed or Constraint
        ``changed(...)``, ``becomes(...)``, ``stays(...)``, or a constraint on single features (between, within, fix, freeze,
        only_increase, only_decrease, allow, forbid), which is true if the answer satisfies it.
    then : Constraint
        Any constraint, also another ``implies``.

    Returns
    -------
    Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If the condition is of another kind, or the consequence is not a constraint.

    Examples
    --------
    >>> from counterleaf import between, max_changes, only_increase
    >>> implies(changed("education"), only_increase("age", by=2))
    implies(changed('education'), only_increase('age', by=2))
    >>> implies(between("hours", 60, None), max_changes(1))
    implies(between('hours', lower=60), max_changes(1))
    """
    if not isinstance(condition, (Changed, Limit, Choice)):
        raise CounterleafError(
            f"implies got the condition {brief(condition)}; expected changed, becomes or stays, or a constraint on single "
            f"features such as between"
        )
    if not isinstance(then, Constraint):
        reason = "; it is a condition, the first argument" if isinstance(then, Changed) else ""
        came = f"implies got the consequence {brief(then)}"
        raise CounterleafError(f"{came}; expected a constraint such as freeze('age'){reason}")
    return Implies(f"implies({condition!r}, {then!r})", condition, then)
