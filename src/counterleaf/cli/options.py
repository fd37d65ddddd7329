"""The texts of options as constraints, costs, margins, targets and values, checked against the features and the classes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from counterleaf.errors import CounterleafError, near, some
from counterleaf.question.constraints.bounds import Limit, between, fix, freeze, only_decrease, only_increase, within
from counterleaf.question.constraints.choices import Choice, allow, forbid
from counterleaf.question.constraints.conditions import changed, implies
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.constraints.several import linear
from counterleaf.question.costs.terms import L1, L2, Changes
from counterleaf.table.features import Boolean, Feature, Numeric
from counterleaf.table.schema import Schema

_SCALES = ("range", "std", "mad", "none")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TERM = re.compile(rf"(?:({_NUMBER})\s*\*?\s*)?(L1|L2)(?::(\w+)|\(\s*[\"']?(\w*)[\"']?\s*\))?", re.ASCII | re.IGNORECASE)
_CHANGES = re.compile(rf"(?:({_NUMBER})\s*\*?\s*)?changes", re.ASCII | re.IGNORECASE)
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


def read_cost(text: str, multiplier: dict[str, float] | None = None, usual: str = "range") -> Any:
    """Read a cost from ``"L1:mad + 0.1*L2:mad + 0.05*changes"``, or from ``L1("mad")`` as in Python.

    ``usual`` is the scale where none is named: that of the default cost.
    """
    out: Any = 0
    for part in text.split("+"):
        if charge := _CHANGES.fullmatch(part.strip()):
            out = out + Changes(1.0 if charge[1] is None else float(charge[1]))
            continue
        found = _TERM.fullmatch(part.strip())
        named = (found[3], "none" if found[4] == "" else found[4], usual) if found else ("",)  # L1() is what Python has
        scale = next(one for one in named if one is not None).lower()
        if found is None or scale not in _SCALES:
            raise CounterleafError(
                f"--cost is {text!r}; expected L1 or L2, each with :range, :std, :mad or :none, changes, and sums such as "
                f"'L1:range + 0.1*L2:range + 0.05*changes'"
            )
        kind = L1 if found[2].upper() == "L1" else L2
        term = kind(None if scale == "none" else scale, multiplier=multiplier or None)
        out = out + (term if found[1] is None else float(found[1]) * term)
    return out


def read_count(text: str) -> int | None:
    """Read a number of alternatives from ``"3"``, or None for every leaf from ``"all"``."""
    if text == "all":
        return None
    if not re.fullmatch(r"[1-9]\d{0,8}", text, re.ASCII):
        raise CounterleafError(f"--count is {text!r}; expected a whole number from 1, or all")
    return int(text)


def read_distinct(text: str | None) -> Any:
    """Read how alternatives differ from ``"features"``, ``"leaves"`` or a number of features."""
    if text is None or text in ("features", "leaves"):
        return text
    if not re.fullmatch(r"[1-9]\d{0,8}", text, re.ASCII):
        raise CounterleafError(f"--distinct is {text!r}; expected features, leaves, or a number of features from 1")
    return {"features": int(text)}


def read_margin(texts: list[str] | None, schema: Schema) -> Any:
    """Read a margin from a number, from a percentage of each range, or from several ``NAME=DISTANCE``."""
    named = [text for text in texts or () if "=" in text]
    if named and len(named) < len(texts or ()):
        raise CounterleafError("--margin is a number and NAME=DISTANCE; expected one number, or a distance for each feature")
    if named:
        return read_by_name(named, schema, "--margin", "NAME=DISTANCE")
    if len(texts or ()) > 1:
        raise CounterleafError(f"--margin is used {len(texts or ())} times; expected one number, or NAME=DISTANCE each time")
    (text,) = texts or ["0"]
    return text if text.endswith("%") else read_number(text, "--margin")


def read_by_name(texts: Iterable[str], schema: Schema, option: str, form: str) -> dict[str, float]:
    """Read ``NAME=NUMBER`` of several features."""
    pairs = [read_pair(schema, text, option, form) for text in texts]
    return {feature.name: read_number(value, f"{option} of {feature.name!r}") for feature, value in pairs}


def read_value(feature: Feature, text: str) -> Any:
    """Read a value of a feature."""
    if isinstance(feature, Numeric):
        return read_number(text, f"the value of {feature.name!r}")
    if isinstance(feature, Boolean) and text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    for value in feature.values:
        if _matches(text, value):
            return value
    raise CounterleafError(
        f"feature {feature.name!r} has no value {text!r}; expected one of {some(feature.values)}{near(text, feature.values)}"
    )


def _parts(text: str, known: Callable[[str], Any]) -> list[str]:
    """Split at commas, but not inside a known part that contains one; at every comma if a part is unknown."""
    pieces = [piece.strip() for piece in text.split(",")]
    out, part = [], ""
    for piece in text.split(","):
        part = f"{part},{piece}" if part else piece
        if known(part.strip()):
            out.append(part.strip())
            part = ""
    return pieces if part.strip() or not out else out


def read_pair(schema: Schema, text: str, option: str, form: str) -> tuple[Feature, str]:
    """Split ``NAME=VALUE``; a name may contain a "=" itself."""
    fitting = [name for name in schema.names if text.startswith(f"{name}=")]
    if not fitting:
        if "=" in text:
            schema.index(text.split("=")[0])
        raise CounterleafError(f"{option} is {text!r}; expected {form}")
    name = max(fitting, key=len)
    return schema.features[schema.index(name)], text[len(name) + 1 :]


def read_number(text: str, what: str) -> float:
    """Read a number; ``what`` names it in the message if it is none."""
    try:
        out = float(text)
    except ValueError:
        out = math.nan
    if math.isnan(out):
        raise CounterleafError(f"{what} is {text!r}; expected a number")
    return out


def read_ends(feature: Feature, text: str, whole: str, option: str) -> tuple[Any, Any]:
    """Read ``LOW:HIGH``, numbers or levels; one of the two can be omitted."""
    if text.count(":") != 1 or text == ":":
        raise CounterleafError(f"{option} is {whole!r}; expected NAME=LOW:HIGH, where LOW or HIGH can be omitted")
    low, high = (part.strip() for part in text.split(":"))
    return (
        read_value(feature, low) if low else -math.inf,
        read_value(feature, high) if high else math.inf,
    )


def _distance(text: str, what: str) -> float | str:
    """Read a distance from the row's value: a number or a percentage."""
    return text if text.rstrip().endswith("%") else read_number(text, what)


def _within(schema: Schema, text: str) -> Limit:
    feature, value = read_pair(schema, text, "--within", "NAME=LOW:HIGH")
    ends = [part.strip() for part in value.split(":")]
    if len(ends) != 2 or not any(ends):
        raise CounterleafError(
            f"--within is {text!r}; expected NAME=LOW:HIGH, changes such as -5 or +10%, where LOW or HIGH can be omitted"
        )
    return within(feature.name, *(_distance(end, f"--within of {feature.name!r}") if end else None for end in ends))


def _fix(schema: Schema, text: str) -> Limit:
    feature, value = read_pair(schema, text, "--fix", "NAME=VALUE")
    return fix(feature.name, read_value(feature, value))


def _between(schema: Schema, text: str) -> Limit:
    feature, value = read_pair(schema, text, "--between", "NAME=LOW:HIGH")
    return between(feature.name, *read_ends(feature, value, text, "--between"))


def _names(schema: Schema, text: str) -> list[str]:
    names = _parts(text, schema.names.__contains__)
    list(map(schema.index, names))  # refuses unknown ones
    return names


def _directed(verb: str, make: Callable[..., Limit]) -> Callable[[Schema, str], Limit]:
    def read(schema: Schema, text: str) -> Limit:
        if "=" not in text or set(_parts(text, schema.names.__contains__)) <= set(schema.names):
            return make(*_names(schema, text))
        feature, value = read_pair(schema, text, f"--{verb}", "NAME, NAME=BY or NAME=BY:MOST")
        ends = [part.strip() for part in value.split(":")]
        if len(ends) > 2 or not any(ends):
            raise CounterleafError(f"--{verb} is {text!r}; expected NAME, NAME=BY or NAME=BY:MOST, where BY can be omitted")
        by, most = (_distance(end, f"--{verb} of {feature.name!r}") if end else None for end in (*ends, "")[:2])
        return make(feature.name, by=0.0 if by is None else by, at_most=most)

    return read


def _chosen(verb: str, make: Callable[..., Choice]) -> Callable[[Schema, str], Choice]:
    def read(schema: Schema, text: str) -> Choice:
        feature, listed = read_pair(schema, text, f"--{verb}", "NAME=VALUE,VALUE")
        known = [] if isinstance(feature, Numeric) else [str(value) for value in feature.values]
        values = _parts(listed, known.__contains__) if known and listed not in known else [listed]
        return make(feature.name, [read_value(feature, value) for value in values])

    return read


def _freeze(schema: Schema, text: str) -> Limit:
    return freeze(*_names(schema, text))


VERBS: dict[str, Callable[[Schema, str], Limit | Choice]] = {
    "freeze": _freeze,
    "only-increase": _directed("only-increase", only_increase),
    "only-decrease": _directed("only-decrease", only_decrease),
    "between": _between,
    "within": _within,
    "fix": _fix,
    "allow": _chosen("allow", allow),
    "forbid": _chosen("forbid", forbid),
}


def read_linear(text: str) -> Constraint:
    """Read ``"gain=1,loss=-2 >= 0"``; a category is named with its value: ``"job=cook=1,age=0.1 <= 6"``."""
    found = re.fullmatch(rf"(.+?)\s*(>=|<=|==)\s*({_NUMBER})", text.strip())
    parts = _parts(found[1], re.compile(rf".+=\s*{_NUMBER}").fullmatch) if found else []
    terms = [(name.strip(), value.strip()) for name, _, value in (part.rpartition("=") for part in parts)]
    if found is None or not all(name and re.fullmatch(_NUMBER, value) for name, value in terms):
        raise CounterleafError(f"--linear is {text!r}; expected 'NAME=FACTOR,NAME=FACTOR >= NUMBER', or <= or ==")
    names = [name for name, _ in terms]
    if len(set(names)) < len(names):
        raise CounterleafError(f"--linear is {text!r}, which has two factors for one feature; expected one factor for each")
    return linear({name: float(value) for name, value in terms}, found[2], float(found[3]))


def read_implies(schema: Schema, text: str) -> Constraint:
    """Read ``"education: only-increase age=2"``."""
    text = text.strip()
    name = max((name for name in schema.names if text.startswith(f"{name}:")), key=len, default=text.partition(":")[0].strip())
    verb, _, argument = text[len(name) :].strip().removeprefix(":").strip().partition(" ")
    if verb not in VERBS or not argument.strip():
        raise CounterleafError(
            f"--implies is {text!r}; expected NAME: VERB ..., as in 'education: only-increase age=2', where VERB is one of "
            f"{', '.join(VERBS)}"
        )
    schema.index(name)
    return implies(changed(name), VERBS[verb](schema, argument.strip()))


def read_classes(labels: Sequence[Any], texts: Iterable[str]) -> Any:
    """Read classes, each by its name or as ``CLASS=COST``: None without any, a list, or {class: cost}."""
    found: dict[Any, float | None] = {}
    for text in texts:
        name, sign, cost = text.rpartition("=")
        plain = [label for label in labels if _matches(text, label)]
        priced = [label for label in labels if sign and _matches(name, label)]
        if not plain and not priced:
            known = list(map(str, labels))
            raise CounterleafError(f"--target is {text!r}; expected one of {some(known)}{near(text, known)}")
        found[(plain or priced)[0]] = None if plain else read_number(cost, f"the cost of class {name!r}")
    if any(cost is not None for cost in found.values()):
        return {label: cost or 0.0 for label, cost in found.items()}
    return list(found) or None


def _matches(text: str, value: Any) -> bool:
    """Whether a text denotes a value: 3 matches 3.0, and true matches True."""
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    number = not isinstance(value, str) and re.fullmatch(_NUMBER, text) is not None
    return text == str(value) or (number and float(text) == value)
