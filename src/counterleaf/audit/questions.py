"""The question of an audit as JSON and back, so that its answers can be found again and checked elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.question.constraints.kinds import Near, Support, listed
from counterleaf.question.costs.terms import L1, L2, Changes, LinearCost, Part, Quadratic
from counterleaf.question.query import Probability, Value
from counterleaf.storage.constraints import constraint_in, constraint_out
from counterleaf.strict_json import plain
from counterleaf.table.frames import by_name, make_frame

LIMITS = ("time_limit", "max_nodes", "support")
_TERMS = {kind.__name__: kind for kind in (L1, L2, LinearCost, Changes)}
_ENDS = ("at_least", "at_most")


def question_out(question: Mapping[str, Any]) -> dict[str, Any]:
    """Write the arguments of ``Explainer.arrow`` that make up a question as data that JSON can hold.

    Raises
    ------
    CounterleafError
        If the question has a constraint that only Python can hold.
    """
    constraints = listed(question.get("constraints", ()))
    for one in constraints:
        if isinstance(one, Near):
            raise CounterleafError(f"an audit cannot keep {one}, which holds all of its rows; use explainer.arrow in Python")
    cost = question.get("cost")
    return {
        "target": _target_out(question.get("target")),
        "cost": None if cost is None else [_term_out(factor, term) for factor, term in cost.parts()],
        "constraints": [constraint_out(one) for one in constraints if not isinstance(one, Support)],
        "margin": _numbers_out(question.get("margin", 0.0)),
        **{name: plain(question.get(name)) for name in LIMITS},
    }


def question_in(content: Mapping[str, Any]) -> dict[str, Any]:
    """Read what ``question_out`` wrote.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the content is anything else.
    """
    cost: Any = None
    if content["cost"] is not None:
        terms = [_term_in(entry) for entry in content["cost"]]
        cost = sum(terms[1:], terms[0])
    margin = content["margin"]
    return {
        "target": _target_in(content["target"]),
        "cost": cost,
        "constraints": [constraint_in(one) for one in content["constraints"]],
        "margin": margin,
        **{name: content[name] for name in LIMITS},
    }


def question_words(question: Mapping[str, Any], explainer: Explainer) -> list[str]:
    """Return the question in words, one line each for target, cost, constraints, margin and limits."""
    target, cost = question.get("target"), question.get("cost")
    if target is None:
        aim = "any class except that of the row"
    elif isinstance(target, Mapping):
        aim = ", ".join(f"{label} (at a cost of {price:g})" for label, price in target.items())
    else:
        aim = ", ".join(map(str, target)) if isinstance(target, (list, tuple, np.ndarray)) else str(target)
    lines = [f"target: {aim}", f"cost: {explainer.default_cost if cost is None else cost}"]
    lines += [str(one) for one in listed(question.get("constraints", ())) if not isinstance(one, Support)]
    margin = by_name(question.get("margin", 0.0))
    if isinstance(margin, Mapping):
        lines.append("margin: " + ", ".join(f"{distance:g} of {name}" for name, distance in margin.items()))
    elif margin:
        lines.append(f"margin: {margin}")
    return lines + [f"{name}: {question[name]:g}" for name in LIMITS if question.get(name) is not None]


def _target_out(target: Any) -> Any:
    if isinstance(target, (Probability, Value)):
        ends = {name: getattr(target, name) for name in _ENDS}
        return {"probability": plain(target.label), **ends} if isinstance(target, Probability) else {"value": True, **ends}
    if target is None:
        return None
    if isinstance(target, Mapping):
        return {"costs": [[plain(label), float(cost)] for label, cost in target.items()]}
    several = isinstance(target, (list, tuple, set, frozenset, np.ndarray))
    return {"classes": [plain(label) for label in (target if several else [target])]}


def _target_in(content: Any) -> Any:
    if content is None:
        return None
    if "classes" in content:
        return list(content["classes"])
    if "costs" in content:
        return {label: float(cost) for label, cost in content["costs"]}
    ends = [content[name] for name in _ENDS]
    return Probability(content["probability"], *ends) if "probability" in content else Value(*ends)


def _term_out(factor: float, term: Part) -> dict[str, Any]:
    if isinstance(term, Quadratic):
        matrix = term.Q.toarray() if hasattr(term.Q, "toarray") else np.asarray(term.Q)
        return {"factor": factor, "kind": "Quadratic", "Q": matrix.tolist(), "names": term.names and list(term.names)}
    values = {one.name: _numbers_out(getattr(term, one.name)) for one in fields(term)}
    return {"factor": factor, "kind": type(term).__name__, **values}


def _term_in(content: Mapping[str, Any]) -> Any:
    factor, kind = float(content["factor"]), content["kind"]
    if kind == "Quadratic":
        names = content["names"]
        matrix = np.array(content["Q"], float)
        return factor * Quadratic(matrix if names is None else make_frame(matrix, names, names))
    made = _TERMS[kind](**{name: value for name, value in content.items() if name not in ("factor", "kind")})
    return factor * made


def _numbers_out(value: Any) -> Any:
    """Write a number, several, or some by name."""
    value = by_name(value)
    if isinstance(value, Mapping):
        return {str(name): plain(number) for name, number in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(number) for number in np.asarray(value).tolist()]
    return plain(value)
