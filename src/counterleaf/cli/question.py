"""The options that pose a question, declared once for all commands that ask one, and the ``Question`` that they make."""

from __future__ import annotations

import functools
import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from counterleaf.cli import options as read
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.constraints.several import max_changes
from counterleaf.question.constraints.tables import among
from counterleaf.question.query import probability
from counterleaf.question.query import value as value_target
from counterleaf.question.question import Question
from counterleaf.storage.constraint_files import load_constraints
from counterleaf.storage.models import read_rows
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema

Repeated = list[str] | None
_PANEL = "Constraints"


def complete_features(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the names of features; after a comma the next one."""
    complete, comma, _ = incomplete.rpartition(",")
    names = [one[1] for one in _content(ctx, "schema", "features")]
    return [f"{complete}{comma}{name}" for name in names if f"{complete}{comma}{name}".startswith(incomplete)]


def complete_classes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the names of classes."""
    labels = _content(ctx, "tree", "classes") or _content(ctx, "ensemble", "classes")
    return [name for name in map(str, labels) if name.startswith(incomplete)]


def _content(ctx: typer.Context, part: str, inner: str) -> list[Any]:
    """A list from the model's JSON; empty if it cannot be read, since completion cannot show errors."""
    model = ctx.params.get("model") or next(iter(ctx.args), "")  # an option without its value leaves all arguments unparsed
    try:
        return list(json.loads(Path(model).read_text(encoding="utf-8"))[part][inner])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _constraint(help: str, metavar: str, *names: str) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=_PANEL, autocompletion=complete_features)


MODEL = typer.Argument(help="The output of `train` or `convert`, or of `explainer.to_json()`.")
_TARGET = typer.Option(
    help="The class to reach. Repeated: any of the classes; `A=0.5`: class A at that extra cost.",
    autocompletion=complete_classes,
)
_AT_LEAST = typer.Option(help="The least probability of the target class, or the least value of a regression model.")
_AT_MOST = typer.Option(help="The highest probability of the target class, or the highest value of a regression model.")
_ONLY_INCREASE = _constraint(
    "The feature may only increase; `age=2`: by at least 2; `income=:20%`: by at most 20 %.", "NAME[=BY[:MOST]]"
)
_ONLY_DECREASE = _constraint(
    "The feature may only decrease; `debt=100`: by at least 100; `debt=:5%`: by at most 5 %.", "NAME[=BY[:MOST]]"
)
_BETWEEN = _constraint("The feature stays within these limits; LOW or HIGH can be omitted.", "NAME=LOW:HIGH")
_WITHIN = _constraint("The feature changes by no less and no more than this, as in `income=-5%:10%`.", "NAME=LOW:HIGH")
_LINEAR = _constraint("A weighted sum of features with >=, <= or ==.", "'A=1,B=-2 >= 0'")
_IMPLIES = _constraint("If feature A changes, this constraint holds.", "'A: only-increase B=2'")
_MAX_CHANGES = typer.Option(min=0, help="At most this many features change.", rich_help_panel=_PANEL)
_AMONG = typer.Option(help="The answer is one of the rows of this file.", rich_help_panel=_PANEL)
_FILE = typer.Option(
    "--constraints", metavar="FILE", help="A JSON file of constraints, in addition to these options.", rich_help_panel=_PANEL
)
_RANGE = typer.Option(metavar="NAME=LOW:HIGH", help="Bounds that replace those of the model's data.", rich_help_panel=_PANEL)
_COST = typer.Option(
    metavar="COST",
    help="L1 (few changes) or L2 (small changes), each relative to `:range`, `:std`, `:mad` or `:none`, `changes` (how many), "
    "and sums such as 'L1:mad + 0.1*L2:mad + 0.05*changes'. `L1` alone is `L1:range`, the default: "
    "each change as a share of its range in the model's data. With `:none`, one unit of every column costs the same.",
)
_MULTIPLIER = typer.Option(metavar="NAME=FACTOR", help="Multiply the cost of changing this feature.")
_MARGIN = typer.Option(
    metavar="DISTANCE|PERCENT|NAME=DISTANCE",
    help="Distance that the answer keeps from every split: a number, `1%` of each range, or by feature, as in `age=1`. For an "
    "ensemble, a number is the distance of the scores from the target.",
)
_SUPPORT = typer.Option(min=1, help="Only leaves that at least this many rows of the model's data reach count, in every tree.")


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """The options of a question as typed; each entry of a list is one use of its option."""

    target: Annotated[Repeated, _TARGET] = None
    at_least: Annotated[float | None, _AT_LEAST] = None
    at_most: Annotated[float | None, _AT_MOST] = None
    freeze: Annotated[Repeated, _constraint("These features do not change.", "NAME,...")] = None
    only_increase: Annotated[Repeated, _ONLY_INCREASE] = None
    only_decrease: Annotated[Repeated, _ONLY_DECREASE] = None
    between: Annotated[Repeated, _BETWEEN] = None
    within: Annotated[Repeated, _WITHIN] = None
    fix: Annotated[Repeated, _constraint("The feature gets this value.", "NAME=VALUE")] = None
    allow: Annotated[Repeated, _constraint("Only these categories are allowed.", "NAME=VALUE,...")] = None
    forbid: Annotated[Repeated, _constraint("These categories are not allowed.", "NAME=VALUE,...")] = None
    linear: Annotated[Repeated, _LINEAR] = None
    implies: Annotated[Repeated, _IMPLIES] = None
    max_changes: Annotated[int | None, _MAX_CHANGES] = None
    among: Annotated[Path | None, _AMONG] = None
    constraints_file: Annotated[Path | None, _FILE] = None
    range: Annotated[Repeated, _RANGE] = None
    step: Annotated[Repeated, _constraint("The feature changes in steps of this size.", "NAME=STEP")] = None
    cost: Annotated[str | None, _COST] = None
    multiplier: Annotated[Repeated, _MULTIPLIER] = None
    margin: Annotated[Repeated, _MARGIN] = None
    support: Annotated[int | None, _SUPPORT] = None
    time_limit: Annotated[float | None, typer.Option(help="Seconds for each row.")] = None

    def pose(self, explainer: Explainer, count: str = "1", distinct: str | None = None) -> tuple[Explainer, Question]:
        """The explainer with the ranges and steps of the options, and the question about it."""
        explainer = self._with_ranges(explainer)
        schema = explainer.schema
        if self.time_limit is not None and not 0 < self.time_limit < math.inf:
            raise CounterleafError(f"--time-limit is {self.time_limit:g}; expected seconds above 0")
        return explainer, Question(
            self._read_target(explainer.tree),
            self._read_cost(explainer),
            self.constraints(schema),
            read.read_margin(self.margin, schema),
            read.read_count(count),
            read.read_distinct(distinct),
            self.time_limit,
            support=self.support,
        )

    def constraints(self, schema: Schema) -> list[Constraint]:
        """The constraints of the file, then those of all options, in the order of ``--help``."""
        out: list[Constraint] = [] if self.constraints_file is None else load_constraints(self.constraints_file)
        for verb, reader in read.VERBS.items():
            out += [reader(schema, text) for text in getattr(self, verb.replace("-", "_")) or ()]
        out += [read.read_linear(text) for text in self.linear or ()]
        out += [read.read_implies(schema, text) for text in self.implies or ()]
        if self.max_changes is not None:
            out.append(max_changes(self.max_changes))
        if self.among is not None:
            out.append(among(read_rows(self.among, schema)))
        return out

    def _read_cost(self, explainer: Explainer) -> Any:
        """The cost, or None without --cost and --multiplier."""
        multiplier = read.read_by_name(self.multiplier or (), explainer.schema, "--multiplier", "NAME=FACTOR")
        if self.cost is None:
            return replace(explainer.default_cost, multiplier=multiplier) if multiplier else None
        return read.read_cost(self.cost, multiplier, "none" if explainer.spreads is None else "range")

    def _read_target(self, tree: Tree | Ensemble) -> Any:
        """The target: None, a class, several, {class: cost}, or the interval of a probability or value."""
        labels, ends = tree.classes.tolist(), {"at_least": self.at_least, "at_most": self.at_most}
        limited = any(end is not None for end in ends.values())
        if tree.is_regression:
            if self.target:
                raise CounterleafError(
                    f"--target is {self.target[0]!r}, and the model predicts numbers; use --at-least, --at-most"
                )
            if not limited:
                raise CounterleafError("the model predicts numbers; expected --at-least or --at-most with the value to reach")
            return value_target(**ends)
        if not limited:
            return read.read_classes(labels, self.target or ())
        if len(self.target or ()) != 1:
            raise CounterleafError("--at-least and --at-most limit a probability; expected one --target with its class")
        return probability(next(iter(read.read_classes(labels, self.target or ()))), **ends)

    def _with_ranges(self, explainer: Explainer) -> Explainer:
        new: dict[str, Numeric] = {}
        for option, texts in (("--range", self.range), ("--step", self.step)):
            for text in texts or ():
                form = "NAME=LOW:HIGH" if option == "--range" else "NAME=STEP"
                feature, value = read.read_pair(explainer.schema, text, option, form)
                if not isinstance(feature, Numeric):
                    raise CounterleafError(f"{option} {text}: feature {feature.name!r} is not a number; use --allow")
                old = new.get(feature.name, feature)
                if option == "--step":
                    step = read.read_number(value, f"--step of {feature.name!r}")
                    new[feature.name] = replace(old, step=step, values=None)
                else:
                    low, high = read.read_ends(feature, value, text, option)
                    new[feature.name] = replace(old, lower=low, upper=high, values=None)
        return explainer.with_features(*new.values()) if new else explainer


def asks(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``QuestionOptions`` in place of its parameter ``question``."""
    hints = get_type_hints(QuestionOptions, include_extras=True)
    options = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(QuestionOptions)
    ]
    own = list(inspect.signature(command, eval_str=True).parameters.values())
    at = [parameter.name for parameter in own].index("question")
    parameters = [*own[:at], *options, *own[at + 1 :]]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        question = QuestionOptions(**{one.name: arguments.pop(one.name) for one in options})
        command(question=question, **arguments)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
