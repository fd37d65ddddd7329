"""The options that several commands share: the model and the question."""

from __future__ import annotations

from typing import Any

import typer

from counterleaf.cli.completion import classes, features

Repeated = list[str] | None
_PANEL = "Constraints"


def _constraint(help: str, metavar: str) -> Any:
    return typer.Option(help=help, metavar=metavar, rich_help_panel=_PANEL, autocompletion=features)


MODEL = typer.Argument(help="The output of `train` or `convert`, or of `explainer.to_json()`.")
TARGET = typer.Option(
    help="The class to reach. Repeated: any of the classes; `A=0.5`: class A at that extra cost.", autocompletion=classes
)
AT_LEAST = typer.Option(help="The least probability of the target class, or the least value of a regression model.")
AT_MOST = typer.Option(help="The highest probability of the target class, or the highest value of a regression model.")
FREEZE = _constraint("These features do not change.", "NAME,...")
ONLY_INCREASE = _constraint(
    "The feature may only increase; `age=2`: by at least 2; `income=:20%`: by at most 20 %.", "NAME[=BY[:MOST]]"
)
ONLY_DECREASE = _constraint(
    "The feature may only decrease; `debt=100`: by at least 100; `debt=:5%`: by at most 5 %.", "NAME[=BY[:MOST]]"
)
BETWEEN = _constraint("The feature stays within these limits; LOW or HIGH can be omitted.", "NAME=LOW:HIGH")
WITHIN = _constraint("The feature changes by no less and no more than this, as in `income=-5%:10%`.", "NAME=LOW:HIGH")
FIX = _constraint("The feature gets this value.", "NAME=VALUE")
ALLOW = _constraint("Only these categories are allowed.", "NAME=VALUE,...")
FORBID = _constraint("These categories are not allowed.", "NAME=VALUE,...")
LINEAR = _constraint("A weighted sum of features with >=, <= or ==.", "'A=1,B=-2 >= 0'")
IMPLIES = _constraint("If feature A changes, this constraint holds.", "'A: only-increase B=2'")
MAX_CHANGES = typer.Option(min=0, help="At most this many features change.", rich_help_panel=_PANEL)
AMONG = typer.Option(help="The answer is one of the rows of this file.", rich_help_panel=_PANEL)
CONSTRAINTS = typer.Option(
    "--constraints", metavar="FILE", help="A JSON file of constraints, in addition to these options.", rich_help_panel=_PANEL
)
RANGE = typer.Option(
    "--range", metavar="NAME=LOW:HIGH", help="Bounds that replace those of the model's data.", rich_help_panel=_PANEL
)
STEP = _constraint("The feature changes in steps of this size.", "NAME=STEP")
COST = typer.Option(
    metavar="COST",
    help="L1 (few changes) or L2 (small changes), each relative to `:range`, `:std`, `:mad` or `:none`, `changes` (how many), "
    "and sums such as 'L1:mad + 0.1*L2:mad + 0.05*changes'. `L1` alone is `L1:range`, the default: "
    "each change as a share of its range in the model's data. With `:none`, one unit of every column costs the same.",
)
MULTIPLIER = typer.Option(metavar="NAME=FACTOR", help="Multiply the cost of changing this feature.")
MARGIN = typer.Option(
    metavar="DISTANCE|PERCENT|NAME=DISTANCE",
    help="Distance that the answer keeps from every split: a number, `1%` of each range, or by feature, as in `age=1`. For an "
    "ensemble, a number is the distance of the scores from the target.",
)
SUPPORT = typer.Option(min=1, help="Only leaves that at least this many rows of the model's data reach count, in every tree.")
TIME_LIMIT = typer.Option(help="Seconds for each row.")
