"""A query from the text of options: constraints, costs, targets and features, checked against the model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from counterleaf.errors import CounterleafError, near, some
from counterleaf.explainer import Explainer
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.question.constraints.bounds import Limit, between, fix, freeze, only_decrease, only_increase, within
from counterleaf.question.constraints.choices import Choice, allow, forbid
from counterleaf.question.constraints.conditions import changed, implies
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.constraints.several import linear, max_changes
from counterleaf.question.constraints.tables import among
from counterleaf.question.costs.terms import L1, L2, Changes
from counterleaf.question.query import probability
from counterleaf.question.query import value as value_target
from counterleaf.storage.constraint_files import load_constraints
from counterleaf.storage.models import read_rows
from counterleaf.table.features import Boolean, Feature, Numeric
from counterleaf.table.schema import Schema

_SCALES = ("range", "std", "mad", "none")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TERM = re.compile(rf"(?:({_NUMBER})\s*\*?\s*)?(L1|L2)(?::(\w+)|\(\s*[\"']?(\w*)[\"']?\s*\))?", re.ASCII | re.IGNORECASE)
_CHANGES = re.compile(rf"(?:({_NUMBER})\s*\*?\s*)?changes", re.ASCII | re.IGNORECASE)
_TRUE, _FALSE = ("true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """The options of a query as typed; each entry of a list is one use of its option."""

    target: list[str] | None = None
    at_least: float | None = None
    at_most: float | None = None
    freeze: list[str] | None = None
    fix: list[str] | None = None
    between: list[str] | None = None
    within: list[str] | None = None
    only_increase: list[str] | None = None
    only_decrease: list[str] | None = None
    allow: list[str] | None = None
    forbid: list[str] | None = None
    linear: list[str] | None = None
    implies: list[str] | None = None
    among: Path | None = None
    max_changes: int | None = None
    constraints_file: Path | None = None
    cost: str | None = None
    multiplier: list[str] | None = None
    range: list[str] | None = None
    step: list[str] | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> QueryOptions:
        """The options of a query among the arguments of a command, whose names avoid those of Python."""
        renamed = {"range": "range_", "constraints_file": "constraints"}
        return cls(**{one.name: arguments[renamed.get(one.name, one.name)] for one in fields(cls)})

    def constraints(self, schema: Schema) -> list[Constraint]:
        """The constraints of the file, then those of all options, in the order of ``--help``."""
        out: list[Constraint] = [] if self.constraints_file is None else load_constraints(self.constraints_file)
        for verb, read in _VERBS.items():
            out += [read(schema, text) for text in getattr(self, verb.replace("-", "_")) or ()]
        out += [_linear(text) for text in self.linear or ()]
        out += [_implies(schema, text) for text in self.implies or ()]
        if self.max_changes is not None:
            out.append(max_changes(self.max_changes))
        if self.among is not None:
            out.append(among(read_rows(self.among, schema)))
        return out

    def read_cost(self, explainer: Explainer) -> Any:
        """The cost, or None without --cost and --multiplier."""
        schema = explainer.schema
        pairs = [_pair(schema, text, "--multiplier", "NAME=FACTOR") for text in self.multiplier or ()]
        multiplier = {feature.name: _number(value, f"--multiplier of {feature.name!r}") for feature, value in pairs}
        if self.cost is None:
            return replace(explainer.default_cost, multiplier=multiplier) if multiplier else None
        return read_cost(self.cost, multiplier, "none" if explainer.spreads is None else "range")

    def read_target(self, tree: Tree | Ensemble) -> Any:
        """The target: None, a class, several, {class: cost}, or the interval of a probability or value."""
        labels, ends = tree.classes.tolist(), {"at_least": self.at_least, "at_most": self.at_most}
        if tree.is_regression:
            if self.target:
                raise CounterleafError(
                    f"--target is {self.target[0]!r}, and the model predicts numbers; use --at-least, --at-most"
                )
            if ends == {"at_least": None, "at_most": None}:
                raise CounterleafError("the model predicts numbers; expected --at-least or --at-most with the value to reach")
            return value_target(**ends)
        if ends != {"at_least": None, "at_most": None}:
            if len(self.target or ()) != 1:
                raise CounterleafError("--at-least and --at-most limit a probability; expected one --target with its class")
            return probability(_class(labels, (self.target or [""])[0])[0], **ends)
        return self.read_classes(labels)

    def read_classes(self, labels: list[Any]) -> Any:
        """The target classes: None, a list, or {class: cost}."""
        found: dict[Any, float | None] = {}
        for text in self.target or ():
            label, cost = _class(labels, text)
            found[label] = cost
        if not found:
            return None
        if any(cost is not None for cost in found.values()):
            return {label: cost or 0.0 for label, cost in found.items()}
        return list(found)

    def apply_ranges(self, explainer: Explainer) -> Explainer:
        """The explainer with the ranges and steps of the options."""
        new: dict[str, Numeric] = {}
        for option, texts in (("--range", self.range), ("--step", self.step)):
            for text in texts or ():
                form = "NAME=LOW:HIGH" if option == "--range" else "NAME=STEP"
                feature, value = _pair(explainer.schema, text, option, form)
                if not isinstance(feature, Numeric):
                    raise CounterleafError(f"{option} {text}: feature {feature.name!r} is not a number; use --allow")
                old = new.get(feature.name, feature)
                if option == "--step":
                    step = _number(value, f"--step of {feature.name!r}")
                    new[feature.name] = replace(old, step=step, values=None)
                else:
                    low, high = _ends(feature, value, text, option)
                    new[feature.name] = replace(old, lower=low, upper=high, values=None)
        return explainer.with_features(*new.values()) if new else explainer


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
        pairs = [_pair(schema, text, "--margin", "NAME=DISTANCE") for text in named]
        return {feature.name: _number(value, f"--margin of {feature.name!r}") for feature, value in pairs}
    if len(texts or ()) > 1:
        raise CounterleafError(f"--margin is used {len(texts or ())} times; expected one number, or NAME=DISTANCE each time")
    (text,) = texts or ["0"]
    return text if text.endswith("%") else _number(text, "--margin")


def read_value(feature: Feature, text: str) -> Any:
    """Read a value of a feature."""
    if isinstance(feature, Numeric):
        return _number(text, f"the value of {feature.name!r}")
    if isinstance(feature, Boolean) and text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    for value in feature.values:
        if _matches(text, value):
            return value
    raise CounterleafError(
        f"feature {feature.name!r} has no value {text!r}; expected one of {some(feature.values)}{near(text, feature.values)}"
    )


def _names(schema: Schema, text: str) -> list[str]:
    """One name, or several separated by commas."""
    names = _parts(text, schema.names.__contains__)
    for name in names:
        schema.index(name)
    return names


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


def _pair(schema: Schema, text: str, option: str, form: str) -> tuple[Feature, str]:
    """Split ``NAME=VALUE``; a name may contain a "=" itself."""
    fitting = [name for name in schema.names if text.startswith(f"{name}=")]
    if not fitting:
        if "=" in text:
            schema.index(text.split("=")[0])
        raise CounterleafError(f"{option} is {text!r}; expected {form}")
    name = max(fitting, key=len)
    return schema.features[schema.index(name)], text[len(name) + 1 :]


def _number(text: str, what: str) -> float:
    try:
        out = float(text)
    except ValueError:
        out = math.nan
    if math.isnan(out):
        raise CounterleafError(f"{what} is {text!r}; expected a number")
    return out


def _ends(feature: Feature, text: str, whole: str, option: str) -> tuple[Any, Any]:
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
    return text if text.rstrip().endswith("%") else _number(text, what)


def _within(schema: Schema, text: str) -> Limit:
    feature, value = _pair(schema, text, "--within", "NAME=LOW:HIGH")
    ends = [part.strip() for part in value.split(":")]
    if len(ends) != 2 or not any(ends):
        raise CounterleafError(
            f"--within is {text!r}; expected NAME=LOW:HIGH, changes such as -5 or +10%, where LOW or HIGH can be omitted"
        )
    return within(feature.name, *(_distance(end, f"--within of {feature.name!r}") if end else None for end in ends))


def _fix(schema: Schema, text: str) -> Limit:
    feature, value = _pair(schema, text, "--fix", "NAME=VALUE")
    return fix(feature.name, read_value(feature, value))


def _between(schema: Schema, text: str) -> Limit:
    feature, value = _pair(schema, text, "--between", "NAME=LOW:HIGH")
    return between(feature.name, *_ends(feature, value, text, "--between"))


def _directed(verb: str, make: Callable[..., Limit]) -> Callable[[Schema, str], Limit]:
    def read(schema: Schema, text: str) -> Limit:
        if "=" not in text or set(_parts(text, schema.names.__contains__)) <= set(schema.names):
            return make(*_names(schema, text))
        feature, value = _pair(schema, text, f"--{verb}", "NAME, NAME=BY or NAME=BY:MOST")
        ends = [part.strip() for part in value.split(":")]
        if len(ends) > 2 or not any(ends):
            raise CounterleafError(f"--{verb} is {text!r}; expected NAME, NAME=BY or NAME=BY:MOST, where BY can be omitted")
        by, most = (_distance(end, f"--{verb} of {feature.name!r}") if end else None for end in (*ends, "")[:2])
        return make(feature.name, by=0.0 if by is None else by, at_most=most)

    return read


def _chosen(verb: str, make: Callable[..., Choice]) -> Callable[[Schema, str], Choice]:
    def read(schema: Schema, text: str) -> Choice:
        feature, listed = _pair(schema, text, f"--{verb}", "NAME=VALUE,VALUE")
        known = [] if isinstance(feature, Numeric) else [str(value) for value in feature.values]
        values = _parts(listed, known.__contains__) if known and listed not in known else [listed]
        return make(feature.name, [read_value(feature, value) for value in values])

    return read


def _freeze(schema: Schema, text: str) -> Limit:
    return freeze(*_names(schema, text))


_VERBS: dict[str, Callable[[Schema, str], Limit | Choice]] = {
    "freeze": _freeze,
    "only-increase": _directed("only-increase", only_increase),
    "only-decrease": _directed("only-decrease", only_decrease),
    "between": _between,
    "within": _within,
    "fix": _fix,
    "allow": _chosen("allow", allow),
    "forbid": _chosen("forbid", forbid),
}


def _linear(text: str) -> Constraint:
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


def _implies(schema: Schema, text: str) -> Constraint:
    """Read ``"education: only-increase age=2"``."""
    text = text.strip()
    name = max((name for name in schema.names if text.startswith(f"{name}:")), key=len, default=text.partition(":")[0].strip())
    verb, _, argument = text[len(name) :].strip().removeprefix(":").strip().partition(" ")
    if verb not in _VERBS or not argument.strip():
        raise CounterleafError(
            f"--implies is {text!r}; expected NAME: VERB ..., as in 'education: only-increase age=2', where VERB is one of "
            f"{', '.join(_VERBS)}"
        )
    schema.index(name)
    return implies(changed(name), _VERBS[verb](schema, argument.strip()))


def _class(labels: Iterable[Any], text: str) -> tuple[Any, float | None]:
    """Read a class by its name, and its cost from ``CLASS=COST``."""
    labels = list(labels)
    name, sign, cost = text.rpartition("=")
    for label in labels:
        if _matches(text, label):
            return label, None
    for label in labels:
        if sign and _matches(name, label):
            return label, _number(cost, f"the cost of class {name!r}")
    raise CounterleafError(f"--target is {text!r}; expected one of {some(map(str, labels))}{near(text, map(str, labels))}")


def _matches(text: str, value: Any) -> bool:
    """Whether a text denotes a value: 3 matches 3.0, and true matches True."""
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    number = not isinstance(value, str) and re.fullmatch(_NUMBER, text) is not None
    return text == str(value) or (number and float(text) == value)
