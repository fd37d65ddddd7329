"""Questions as JSON and back: targets, costs and constraints, each in the words of the functions that make them.

This is the only JSON of a question: files of constraints, answers and audits hold it. ``docs/_static/question.schema.json`` is
its JSON Schema. Words are never stored: reading makes every constraint from its numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, flat, near, some
from counterleaf.question.constraints.conditions import Implies, implies
from counterleaf.question.constraints.kinds import VERBS, are_pairs, is_list, is_number, is_value, present, short
from counterleaf.question.costs.terms import L1, L2, Changes, LinearCost, Part, Quadratic, numbers_out
from counterleaf.question.query import Probability, Value
from counterleaf.strict_json import plain
from counterleaf.table.frames import by_name, make_frame

_DEEPEST = 16  # implications within each other
_TERMS = {kind.__name__: kind for kind in (L1, L2, LinearCost, Changes, Quadratic)}
_ENDS = ("at_least", "at_most")
_MOST = 10_000  # constraints
LIMITS = ("time_limit", "max_nodes", "support")
PARTS = ("target", "cost", "constraints", "margin", "count", "distinct", *LIMITS)


class Object(dict[str, Any]):
    """A JSON object that knows which of its names appeared twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice = None
        if len(self) < len(pairs):
            names = [name for name, _ in pairs]
            self.twice = next(name for name in names if names.count(name) > 1)


def check_keys(entry: Mapping[str, Any], needed: tuple[str, ...], optional: tuple[str, ...], where: str) -> None:
    """Refuse an object that has a key twice, lacks one, or has another one."""
    known = (*needed, *optional)
    if getattr(entry, "twice", None) is not None:
        raise CounterleafError(f"{where} has {brief(entry.twice)} twice; names must differ")  # type: ignore[attr-defined]  # of an Object
    for key in entry:
        if key not in known:
            raise CounterleafError(f"{where} has {brief(key)}; expected {some(known)}{near(key, known)}")
    for key in needed:
        if key not in entry:
            raise CounterleafError(f"{where} lacks {key!r}; expected {some(known)}")


def constraint_in(entry: Any, where: str, depth: int = 0, conditions: bool = False) -> Any:
    """Read one constraint, or one condition."""
    if not isinstance(entry, dict):
        raise CounterleafError(f'{where} is {brief(entry)}; expected an object such as {{"freeze": "age"}}')
    known = [*(name for name, one in VERBS.items() if conditions or not one.is_condition), *([] if conditions else ["implies"])]
    found = [key for key in entry if key in known or key == "implies"]
    if len(found) != 1:
        came = f"has {some(found)}" if found else f"has {some(entry)}" if entry else "is empty"
        hint = near(next(iter(entry)), known) if entry and not found else ""
        raise CounterleafError(f"{where} {came}; expected exactly one of {', '.join(known)}{hint}")
    if found[0] == "implies":
        return _implication(entry, where, depth)
    verb = VERBS[found[0]]
    check_keys(entry, tuple(verb.needed), tuple(verb.optional), where)
    for key, part in entry.items():
        expected, fits = verb.needed.get(key) or verb.optional[key]
        if not fits(part):
            raise CounterleafError(f"{where}: {key} is {brief(part)}; expected {expected}")
    first, *others = (entry[key] for key in verb.needed)
    try:
        return verb.make(first, *others, **{key: entry[key] for key in verb.optional if key in entry})
    except CounterleafError as error:
        raise CounterleafError(f"{where}: {error}") from None


def _implication(entry: Mapping[str, Any], where: str, depth: int) -> Implies:
    check_keys(entry, ("implies",), (), where)
    parts = entry["implies"]
    if not isinstance(parts, dict):
        raise CounterleafError(f'{where}: implies is {brief(parts)}; expected {{"if": ..., "then": ...}}')
    if depth == _DEEPEST:
        raise CounterleafError(f"{where} is nested too deeply; expected at most {_DEEPEST} implications within each other")
    check_keys(parts, ("if", "then"), (), f"{where}, 'implies'")
    outer = where if depth == 0 else where.removesuffix(", 'then'")
    condition = constraint_in(parts["if"], f"{outer}, 'if'", depth + 1, conditions=True)
    then = constraint_in(parts["then"], f"{outer}, 'then'", depth + 1)
    try:
        return implies(condition, then)
    except CounterleafError as error:
        raise CounterleafError(f"{where}: {error}") from None


def question_out(question: Any) -> dict[str, Any]:
    """Write a question; what is as usual is left out."""
    margin = by_name(question.margin)
    content = {
        "target": _target_out(question.target),
        "cost": None if question.cost is None else [_term_out(factor, term) for factor, term in question.cost.parts()],
        "constraints": [one.to_json() for one in question.constraints],
        "margin": None if isinstance(margin, (int, float)) and margin == 0 else numbers_out(margin),
        "count": "all" if question.count is None else plain(question.count) if question.count != 1 else None,
        "distinct": question.distinct,
        **{name: plain(getattr(question, name)) for name in LIMITS},
    }
    return {name: part for name, part in content.items() if part is not None and part != []}


def question_in(content: Any, where: str) -> dict[str, Any]:
    """Read the arguments of a question; a message names the part that is wrong."""
    check_keys(content, (), PARTS, where)
    out = {name: content[name] for name in ("margin", "distinct", *LIMITS) if content.get(name) is not None}
    if content.get("target") is not None:
        out["target"] = _target_in(content["target"], where)
    if content.get("cost") is not None:
        out["cost"] = _cost_in(content["cost"], where)
    if content.get("count") is not None:
        out["count"] = None if content["count"] == "all" else content["count"]
    entries = content.get("constraints", [])
    if not isinstance(entries, list) or len(entries) > _MOST:
        came = f"{len(entries):,} constraints" if isinstance(entries, list) else brief(entries)
        raise CounterleafError(f"{where}: constraints is {came}; expected a list of at most {_MOST:,}")
    out["constraints"] = [constraint_in(entry, f"constraint {k} of {where}") for k, entry in enumerate(entries, start=1)]
    return out


def _target_out(target: Any) -> Any:
    if target is None:
        return None
    if isinstance(target, (Probability, Value)):
        ends = present({name: getattr(target, name) for name in _ENDS})
        return {"probability": plain(target.label), **ends} if isinstance(target, Probability) else ends
    if isinstance(target, Mapping):
        return {"prices": [[plain(label), short(float(price))] for label, price in target.items()]}
    if isinstance(target, (str, bytes)) or not isinstance(target, Iterable) or getattr(target, "shape", None) == ():
        return plain(target)
    labels = [plain(label) for label in target]
    return labels[0] if len(labels) == 1 else labels


def _target_in(content: Any, where: str) -> Any:
    expected = 'a class, a list of classes, {"prices": [[class, price], ...]}, or an object with at_least or at_most'
    if is_list(is_value)(content):
        return content
    if not isinstance(content, dict):
        if is_value(content):
            return content
        raise CounterleafError(f"{where}: target is {brief(content)}; expected {expected}")
    if "prices" in content:
        check_keys(content, ("prices",), (), f"{where}, 'target'")
        pairs = content["prices"]
        if not are_pairs(is_value)(pairs):
            raise CounterleafError(f"{where}: prices is {brief(pairs)}; expected pairs of a class and a number")
        return {label: float(price) for label, price in pairs}
    check_keys(content, (), ("probability", *_ENDS), f"{where}, 'target'")
    ends = {name: content.get(name) for name in _ENDS}
    if not all(end is None or is_number(end) for end in ends.values()):
        raise CounterleafError(f"{where}: target is {brief(content)}; expected {expected}")
    return Probability(content["probability"], **ends) if "probability" in content else Value(**ends)


def _term_out(factor: float, term: Part) -> dict[str, Any]:
    kind = type(term).__name__
    scale = {} if factor == 1 else {"factor": short(float(factor))}
    if isinstance(term, Quadratic):
        matrix = term.Q.toarray() if hasattr(term.Q, "toarray") else np.asarray(term.Q)
        return {kind: present({"Q": matrix.tolist(), "names": term.names and list(term.names)}), **scale}
    return {kind: present({one.name: numbers_out(getattr(term, one.name)) for one in fields(term)}), **scale}


def _cost_in(content: Any, where: str) -> Any:
    if not isinstance(content, list) or not content:
        raise CounterleafError(f'{where}: cost is {brief(content)}; expected a list of terms such as {{"L1": {{}}}}')
    terms = [_term_in(entry, f"term {k} of the cost of {where}") for k, entry in enumerate(content, start=1)]
    return sum(terms[1:], terms[0])


def _term_in(entry: Any, where: str) -> Any:
    if not isinstance(entry, dict):
        raise CounterleafError(f'{where} is {brief(entry)}; expected an object such as {{"L1": {{}}}}')
    found = [key for key in entry if key in _TERMS]
    if len(found) != 1:
        hint = near(next(iter(entry)), _TERMS) if entry and not found else ""
        raise CounterleafError(f"{where} has {some(entry)}; expected one of {', '.join(_TERMS)}{hint}")
    kind, parts = _TERMS[found[0]], entry[found[0]]
    check_keys(entry, (found[0],), ("factor",), where)
    if not isinstance(parts, dict):
        raise CounterleafError(f"{where}: {found[0]} is {brief(parts)}; expected an object with its parameters")
    known = ("Q", "names") if kind is Quadratic else tuple(one.name for one in fields(kind))
    check_keys(parts, ("Q",) if kind is Quadratic else (), known, where)
    if not is_number(entry.get("factor", 1)):
        raise CounterleafError(f"{where}: factor is {brief(entry['factor'])}; expected a number")
    try:
        if kind is Quadratic:
            names, matrix = parts.get("names"), np.array(parts["Q"], float)
            made: Any = Quadratic(matrix if names is None else make_frame(matrix, names, names))
        else:
            made = kind(**parts)
    except CounterleafError as error:
        raise CounterleafError(f"{where}: {error}") from None
    except (TypeError, ValueError) as error:
        raise CounterleafError(f"{where}: {flat(error)}; expected numbers") from None
    return made if "factor" not in entry else float(entry["factor"]) * made
