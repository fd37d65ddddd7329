"""Questions as JSON and back: targets, costs and constraints, each in the words of the functions that make them.

This is the only JSON of a question: files of constraints, answers and audits hold it. ``docs/_static/question.schema.json`` is
its JSON Schema. Words are never stored: reading makes every constraint from its numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, brief, flat, near, some
from counterleaf.question.constraints.conditions import becomes, changed, implies, stays
from counterleaf.question.constraints.functions import (
    allow,
    among,
    between,
    fix,
    forbid,
    freeze,
    linear,
    max_changes,
    only_decrease,
    only_increase,
    within,
)
from counterleaf.question.constraints.kinds import (
    Among,
    Becomes,
    Changed,
    Choice,
    Constraint,
    Implies,
    Limit,
    MaxChanges,
    Near,
    Percent,
    Row,
    Stays,
    opposite,
    short,
    size_of,
)
from counterleaf.question.costs.terms import L1, L2, Changes, LinearCost, Part, Quadratic, numbers_out
from counterleaf.question.query import Probability, Value
from counterleaf.strict_json import check_whole, plain
from counterleaf.table.frames import by_name, column_names, is_frame, make_frame

_DEEPEST = 16  # implications within each other
_GREATEST = sys.float_info.max
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
    verbs = {**_READERS, "changed": (changed, (), ())} if conditions else _READERS
    found = [key for key in entry if key in (*verbs, "implies")]
    if len(found) != 1:
        known = [key for key in (*verbs, "implies") if key != "implies" or not conditions]
        came = f"has {some(found)}" if found else f"has {some(entry)}" if entry else "is empty"
        hint = near(next(iter(entry)), known) if entry and not found else ""
        raise CounterleafError(f"{where} {came}; expected exactly one of {', '.join(known)}{hint}")
    verb = found[0]
    if verb == "implies":
        return _implication(entry, where, depth)
    make, needed, optional = verbs[verb]
    check_keys(entry, (verb, *needed), optional, where)
    arguments = [entry[key] for key in (verb, *needed)]
    options = {_PARAMETERS.get(key, key): entry[key] for key in optional if key in entry}
    _check_types(verb, entry, where)
    try:
        return make(*arguments, **options)
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


def _check_types(verb: str, entry: Mapping[str, Any], where: str) -> None:
    """Check the types of the parts of an entry, so that a wrong one is named by its key."""
    for key, part in entry.items():
        expected, fits = _TYPES.get(key if key != verb else _KINDS.get(verb, "name"), _TYPES["value"])
        if not fits(part):
            raise CounterleafError(f"{where}: {key} is {brief(part)}; expected {expected}")


def _is_name(part: Any) -> bool:
    return isinstance(part, str) or (type(part) is int and part >= 0)


def _is_number(part: Any) -> bool:
    return type(part) in (int, float) and abs(part) <= _GREATEST


def _is_value(part: Any) -> bool:
    return isinstance(part, (str, bool)) or _is_number(part)


def _is_list(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda part: isinstance(part, list) and len(part) > 0 and all(map(fits, part))


def _is_row(part: Any) -> bool:
    cells = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return len(cells) > 0 and getattr(part, "twice", None) is None and all(cell is None or _is_value(cell) for cell in cells)


def _are_rows(part: Any) -> bool:
    shapes = {tuple(sorted(row)) if isinstance(row, dict) else len(row) for row in part} if _is_list(_is_row)(part) else ()
    return len(shapes) == 1


def _within(name: Any, lower: Any = None, upper: Any = None) -> Limit:
    return within(name, lower, upper)


def _linear(coef: Any, relation: str, rhs: float) -> Row:
    return linear(coef if isinstance(coef, dict) else dict(coef), relation, rhs)


def _are_coefficients(part: Any) -> bool:
    """An object by name, or pairs where a feature is known by its position."""
    if isinstance(part, dict):
        return getattr(part, "twice", None) is None and all(map(_is_number, part.values()))
    return _are_pairs(_is_name)(part)


def _are_pairs(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Lists of two: what fits, and a number."""
    return _is_list(lambda pair: isinstance(pair, list) and len(pair) == 2 and fits(pair[0]) and _is_number(pair[1]))


def _among(rows: list[Any]) -> Among:
    """The rows of a file: objects by name, or lists in the order of the features."""
    for row in rows:
        check_whole(row.values() if isinstance(row, dict) else row, "a value of among")
    if isinstance(rows[0], dict):
        return among(make_frame([dict(row) for row in rows]))
    cells = [[math.nan if cell is None else cell for cell in row] for row in rows]
    return among(cells)


# what the parts of an entry must be, by key; the part that a verb names has a kind of its own
_TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("the name of a feature", _is_name),
    "names": ("the name of a feature, or a list of names", lambda part: _is_name(part) or _is_list(_is_name)(part)),
    "value": ("text, a number, true or false", _is_value),
    "values": ("a list of values", _is_list(_is_value)),
    "end": ("a number or a level", lambda part: part is None or isinstance(part, str) or _is_number(part)),
    "distance": (
        "a number, or a percentage such as '10%'",
        lambda part: part is None or isinstance(part, str) or _is_number(part),
    ),
    "relation": ("'>=', '<=' or '=='", lambda part: isinstance(part, str)),
    "rhs": ("a number", _is_number),
    "count": ("a whole number from 0", lambda part: type(part) is int and part >= 0),
    "coef": ("an object from feature to number", _are_coefficients),
    "rows": ("a list of rows, all with the same columns; for the rows of a table file use --among", _are_rows),
}
for _alias, _kind in {"lower": "end", "upper": "end", "from": "distance", "to": "distance"}.items():
    _TYPES[_alias] = _TYPES[_kind]
_TYPES["by"] = _TYPES["at_most"] = _TYPES["distance"]
_KINDS = {
    "freeze": "names",
    "only_increase": "names",
    "only_decrease": "names",
    "linear": "coef",
    "max_changes": "count",
    "among": "rows",
}
_PARAMETERS = {"from": "lower", "to": "upper"}
# by verb: the function, and the keys that an entry has in addition to the verb: those that it needs, and others
_READERS: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]] = {
    "freeze": (freeze, (), ()),
    "fix": (fix, ("value",), ()),
    "between": (between, (), ("lower", "upper")),
    "within": (_within, (), ("from", "to")),
    "only_increase": (only_increase, (), ("by", "at_most")),
    "only_decrease": (only_decrease, (), ("by", "at_most")),
    "allow": (allow, ("values",), ()),
    "forbid": (forbid, ("values",), ()),
    "becomes": (becomes, ("value",), ()),
    "stays": (stays, (), ()),
    "linear": (_linear, ("relation", "rhs"), ()),
    "max_changes": (max_changes, (), ()),
    "among": (_among, (), ()),
}


def constraint_out(one: Changed | Constraint) -> dict[str, Any]:
    """Write a constraint, or a condition, as an object."""
    if isinstance(one, Changed):
        return {"changed": plain(one.name)}
    if isinstance(one, Limit):
        return _limit_out(one)
    if isinstance(one, Choice):
        return {"allow" if one.allowed else "forbid": plain(one.name), "values": [plain(value) for value in one.values]}
    if isinstance(one, Row):
        coef = short({plain(name): a for name, a in one.coef.items()})
        named = all(isinstance(name, str) for name in coef)
        return {"linear": coef if named else list(map(list, coef.items())), "relation": one.relation, "rhs": short(one.rhs)}
    if isinstance(one, MaxChanges):
        return {"max_changes": one.count}
    if isinstance(one, Implies):
        return {"implies": {"if": constraint_out(one.condition), "then": constraint_out(one.then)}}
    if isinstance(one, Near):
        raise CounterleafError(f"{one} cannot be written, because it refers to a whole table; make it in Python with near(...)")
    if not isinstance(one, Among):
        raise TypeError("it is part of a case")
    cells = [[plain(value) for value in row] for row in np.asarray(one.rows).tolist()]
    names = column_names(one.rows) if is_frame(one.rows) else None
    return {"among": cells if names is None else [dict(zip(names, row, strict=True)) for row in cells]}


def _limit_out(one: Limit) -> dict[str, Any]:
    names = [plain(name) for name in one.names]
    name = names[0] if len(names) == 1 else names
    if isinstance(one, Stays):
        return {"stays": name}
    if isinstance(one, Becomes) or (one.lower == one.upper and not (one.from_lower or one.from_upper)):
        return {"becomes" if isinstance(one, Becomes) else "fix": name, "value": short(one.lower)}
    if not (one.from_lower or one.from_upper):
        ends = {key: end for key, end in (("lower", one.lower), ("upper", one.upper)) if not _is_open(end)}
        if not ends:
            raise ValueError("it has no bound")
        return {"between": name, **short(ends)}
    if one.from_lower and one.from_upper and one.lower == one.upper == 0:
        return {"freeze": name}
    low = _distance(one.lower) if one.from_lower else None
    high = _distance(one.upper) if one.from_upper else None
    if one.words.startswith("within("):
        return {"within": name, **_present({"from": low, "to": high})}
    if one.from_lower and size_of(one.lower) >= 0:
        return {"only_increase": name, **_present({"by": low or None, "at_most": high})}
    most = _distance(opposite(one.lower)) if one.from_lower else None
    return {"only_decrease": name, **_present({"by": _distance(opposite(one.upper)) or None, "at_most": most})}


def _is_open(end: Any) -> bool:
    return isinstance(end, float) and math.isinf(end)


def _distance(end: Any) -> Any:
    """A distance as a file has it: a number, or text such as ``"10%"``."""
    return f"{short(end.value)}%" if isinstance(end, Percent) else short(end)


def _present(parts: dict[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in parts.items() if part is not None}


def question_out(question: Any) -> dict[str, Any]:
    """Write a question; what is as usual is left out.

    Raises
    ------
    CounterleafError
        If a part is not text or a finite number, or is a table that only Python holds.
    """
    margin = by_name(question.margin)
    content = {
        "target": _target_out(question.target),
        "cost": None if question.cost is None else [_term_out(factor, term) for factor, term in question.cost.parts()],
        "constraints": [constraint_out(one) for one in question.constraints],
        "margin": None if isinstance(margin, (int, float)) and margin == 0 else numbers_out(margin),
        "count": "all" if question.count is None else plain(question.count) if question.count != 1 else None,
        "distinct": question.distinct,
        **{name: plain(getattr(question, name)) for name in LIMITS},
    }
    return {name: part for name, part in content.items() if part is not None and part != []}


def question_in(content: Any, where: str) -> dict[str, Any]:
    """Read the arguments of a question.

    Raises
    ------
    CounterleafError
        If the content is anything else; the message names the part.
    """
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
        ends = _present({name: getattr(target, name) for name in _ENDS})
        return {"probability": plain(target.label), **ends} if isinstance(target, Probability) else ends
    if isinstance(target, Mapping):
        return {"prices": [[plain(label), short(float(price))] for label, price in target.items()]}
    if isinstance(target, (str, bytes)) or not isinstance(target, Iterable) or getattr(target, "shape", None) == ():
        return plain(target)
    labels = [plain(label) for label in target]
    return labels[0] if len(labels) == 1 else labels


def _target_in(content: Any, where: str) -> Any:
    expected = 'a class, a list of classes, {"prices": [[class, price], ...]}, or an object with at_least or at_most'
    if isinstance(content, list) and content and all(map(_is_value, content)):
        return content
    if not isinstance(content, dict):
        if _is_value(content):
            return content
        raise CounterleafError(f"{where}: target is {brief(content)}; expected {expected}")
    if "prices" in content:
        check_keys(content, ("prices",), (), f"{where}, 'target'")
        pairs = content["prices"]
        if not _is_list(lambda pair: isinstance(pair, list) and len(pair) == 2 and _is_value(pair[0]) and _is_number(pair[1]))(
            pairs
        ):
            raise CounterleafError(f"{where}: prices is {brief(pairs)}; expected pairs of a class and a number")
        return {label: float(price) for label, price in pairs}
    check_keys(content, (), ("probability", *_ENDS), f"{where}, 'target'")
    ends = {name: content.get(name) for name in _ENDS}
    if not all(end is None or _is_number(end) for end in ends.values()):
        raise CounterleafError(f"{where}: target is {brief(content)}; expected {expected}")
    return Probability(content["probability"], **ends) if "probability" in content else Value(**ends)


def _term_out(factor: float, term: Part) -> dict[str, Any]:
    kind = type(term).__name__
    scale = {} if factor == 1 else {"factor": short(float(factor))}
    if isinstance(term, Quadratic):
        matrix = term.Q.toarray() if hasattr(term.Q, "toarray") else np.asarray(term.Q)
        return {kind: _present({"Q": matrix.tolist(), "names": term.names and list(term.names)}), **scale}
    return {kind: _present({one.name: numbers_out(getattr(term, one.name)) for one in fields(term)}), **scale}


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
    if not _is_number(entry.get("factor", 1)):
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
