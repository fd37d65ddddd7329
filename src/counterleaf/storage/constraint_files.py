"""Constraints in a file that people write and read; its JSON Schema is ``docs/_static/constraints.schema.json``."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
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
    listed,
    opposite,
    short,
    size_of,
)
from counterleaf.storage.files import write
from counterleaf.strict_json import check_whole, loads, plain
from counterleaf.table.frames import column_names, is_frame, make_frame

VERSION = 1
_LONGEST = 10_000_000  # characters of a file
_MOST = 10_000  # constraints in a file
_DEEPEST = 16  # implications within each other
_GREATEST = sys.float_info.max


def load_constraints(path_or_text: str | bytes | Path) -> list[Constraint]:
    """Read a file of constraints.

    Parameters
    ----------
    path_or_text : str, bytes or Path
        The file, or its text, which begins with ``{``.

    Returns
    -------
    list of Constraint
        For ``constraints=``.

    Raises
    ------
    CounterleafError
        If the text is anything else; the message names the constraint by its position, counted from 1.

    Examples
    --------
    >>> text = '{"version": 1, "constraints": [{"freeze": ["age", "sex"]}, {"only_increase": "income", "at_most": "10%"}]}'
    >>> load_constraints(text)
    [freeze('age', 'sex'), only_increase('income', at_most='10%')]
    """
    name, text = _text(path_or_text)
    if len(text) > _LONGEST:
        raise CounterleafError(f"{name} has {len(text):,} characters; expected at most {_LONGEST:,}")
    try:
        content = loads(text, _Object)
        json.dumps(content, ensure_ascii=False).encode()  # refuses half a character
    except (ValueError, RecursionError) as error:
        raise CounterleafError(f"{name} is not valid JSON ({flat(error)[:200]}); expected {_FORM}") from None
    if not isinstance(content, dict):
        raise CounterleafError(f"{name} holds {brief(content)}; expected {_FORM}")
    _check_keys(content, ("version", "constraints"), (), name)
    if type(content["version"]) is not int or content["version"] != VERSION:
        raise CounterleafError(f"{name}: version is {brief(content['version'])}; this counterleaf reads version {VERSION}")
    entries = content["constraints"]
    if not isinstance(entries, list) or len(entries) > _MOST:
        came = f"{len(entries):,} constraints" if isinstance(entries, list) else brief(entries)
        raise CounterleafError(f"{name}: constraints is {came}; expected a list of at most {_MOST:,}")
    return [_constraint(entry, f"constraint {k} of {name}", 0) for k, entry in enumerate(entries, start=1)]


def save_constraints(constraints: Any, path: str | Path) -> None:
    """Write constraints to a file that ``load_constraints`` and ``counterleaf explain --constraints`` read.

    Parameters
    ----------
    constraints : Constraint or list of Constraint
        The constraints.
    path : str or Path
        The file. It is written atomically.

    Raises
    ------
    CounterleafError
        If a constraint has a value that JSON cannot represent.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from counterleaf import freeze, max_changes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rules.json")
    ...     save_constraints([freeze("age", "sex"), max_changes(2)], file)
    ...     print(file.read_text(), end="")
    {
      "version": 1,
      "constraints": [
        {"freeze": ["age", "sex"]},
        {"max_changes": 2}
      ]
    }
    """
    lines = []
    for one in listed(constraints):
        try:
            lines.append(f"    {json.dumps(_entry(one), allow_nan=False, ensure_ascii=False)}")
        except CounterleafError:
            raise
        except (TypeError, ValueError) as error:
            raise CounterleafError(
                f"{one} cannot be written ({flat(error)}); expected names, text and finite numbers"
            ) from None
    body = "[\n" + ",\n".join(lines) + "\n  ]" if lines else "[]"
    write(Path(path), f'{{\n  "version": {VERSION},\n  "constraints": {body}\n}}\n')


_FORM = '{"version": 1, "constraints": [...]}'


class _Object(dict[str, Any]):
    """A JSON object that knows which of its names appeared twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice = None
        if len(self) < len(pairs):
            names = [name for name, _ in pairs]
            self.twice = next(name for name in names if names.count(name) > 1)


def _text(source: Any) -> tuple[str, str]:
    """The name of a file and its text."""
    if isinstance(source, bytes) or (isinstance(source, str) and source.lstrip().startswith("{")):
        content, name = source if isinstance(source, bytes) else source.encode("utf-8", "surrogatepass"), "the text"
    elif isinstance(source, (str, Path)):
        try:
            content, name = Path(source).read_bytes(), Path(source).name
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else flat(error)
            raise CounterleafError(f"cannot read {brief(str(source))}: {reason}; expected a file of constraints") from None
    else:
        raise CounterleafError(f"load_constraints got {brief(source)}; expected a path or the text of a file")
    try:
        return name, content.decode()
    except UnicodeDecodeError:
        raise CounterleafError(f"{name} is not text in UTF-8; expected {_FORM}") from None


def _check_keys(entry: Mapping[str, Any], needed: tuple[str, ...], optional: tuple[str, ...], where: str) -> None:
    known = (*needed, *optional)
    if getattr(entry, "twice", None) is not None:
        raise CounterleafError(f"{where} has {brief(entry.twice)} twice; names must differ")  # type: ignore[attr-defined]
    for key in entry:
        if key not in known:
            raise CounterleafError(f"{where} has {brief(key)}; expected {some(known)}{near(key, known)}")
    for key in needed:
        if key not in entry:
            raise CounterleafError(f"{where} lacks {key!r}; expected {some(known)}")


def _constraint(entry: Any, where: str, depth: int, conditions: bool = False) -> Any:
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
    _check_keys(entry, (verb, *needed), optional, where)
    arguments = [entry[key] for key in (verb, *needed)]
    options = {_PARAMETERS.get(key, key): entry[key] for key in optional if key in entry}
    _check_types(verb, entry, where)
    try:
        return make(*arguments, **options)
    except CounterleafError as error:
        raise CounterleafError(f"{where}: {error}") from None


def _implication(entry: Mapping[str, Any], where: str, depth: int) -> Implies:
    _check_keys(entry, ("implies",), (), where)
    parts = entry["implies"]
    if not isinstance(parts, dict):
        raise CounterleafError(f'{where}: implies is {brief(parts)}; expected {{"if": ..., "then": ...}}')
    if depth == _DEEPEST:
        raise CounterleafError(f"{where} is nested too deeply; expected at most {_DEEPEST} implications within each other")
    _check_keys(parts, ("if", "then"), (), f"{where}, 'implies'")
    outer = where if depth == 0 else where.removesuffix(", 'then'")
    condition = _constraint(parts["if"], f"{outer}, 'if'", depth + 1, conditions=True)
    then = _constraint(parts["then"], f"{outer}, 'then'", depth + 1)
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
    "coef": (
        "an object from feature to number",
        lambda part: isinstance(part, dict) and getattr(part, "twice", None) is None and all(map(_is_number, part.values())),
    ),
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
    "linear": (linear, ("relation", "rhs"), ()),
    "max_changes": (max_changes, (), ()),
    "among": (_among, (), ()),
}


def _entry(one: Changed | Constraint) -> dict[str, Any]:
    """Write a constraint, or a condition, as an object."""
    if isinstance(one, Changed):
        return {"changed": plain(one.name)}
    if isinstance(one, Limit):
        return _limit_entry(one)
    if isinstance(one, Choice):
        return {"allow" if one.allowed else "forbid": plain(one.name), "values": [plain(value) for value in one.values]}
    if isinstance(one, Row):
        if not all(isinstance(name, str) for name in one.coef):
            raise ValueError("a feature is given by its position")
        return {"linear": short(dict(one.coef)), "relation": one.relation, "rhs": short(one.rhs)}
    if isinstance(one, MaxChanges):
        return {"max_changes": one.count}
    if isinstance(one, Implies):
        return {"implies": {"if": _entry(one.condition), "then": _entry(one.then)}}
    if isinstance(one, Near):
        raise CounterleafError(f"{one} cannot be written, because it refers to a whole table; make it in Python with near(...)")
    if not isinstance(one, Among):
        raise TypeError("it is part of a case")
    cells = [[plain(value) for value in row] for row in np.asarray(one.rows).tolist()]
    names = column_names(one.rows) if is_frame(one.rows) else None
    return {"among": cells if names is None else [dict(zip(names, row, strict=True)) for row in cells]}


def _limit_entry(one: Limit) -> dict[str, Any]:
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
