"""Groups of rows side by side, with the figures of ``Audit``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterleaf.audit.audit import Audit
from counterleaf.audit.measures.comparisons import MIN_ROWS
from counterleaf.audit.measures.differences import TOO_FEW
from counterleaf.audit.page.words import as_number, percent, points
from counterleaf.audit.report.groups import MOST, as_bound, intervals, quartile_bounds
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.rows.answers import RowAnswers
from counterleaf.explorer.session.words import feature_number
from counterleaf.table.features import Feature, Numeric
from counterleaf.table.frames import records

_MOST_CHANGES = 3  # features that are listed for a group
_FIGURES = (
    *("rows", "has", "can", "cannot", "open", "invalid", "without_target", "share_has", "share_can", "share_cannot"),
    *("share_open", "share_invalid", "share_reaching", "cost_q25", "cost_median", "cost_q75", "changes_mean"),
)
_SHARES = ("share_has", "share_reaching")


@dataclass(frozen=True, slots=True)
class Words:
    """The words for the sentences: the goal, the labels of the features, and whether the cost is a share of ranges."""

    goal: str
    already: str  # after "rows that", such as "are granted already"
    labels: Mapping[str, str]
    is_share: bool
    groups: Mapping[str, str]  # the names of groups of dates and of large numbers

    def group(self, name: Any) -> str:
        return self.groups.get(str(name), str(name))

    def effort(self, cost: float) -> str:
        return percent(cost) if self.is_share else as_number(cost)


def audit_of(answers: RowAnswers, by: str, cuts: list[float]) -> Audit:
    """Return the report on the rows, grouped by a feature; all rows have to be answered."""
    schema = answers.explainer.schema
    feature = schema.features[schema.index(by)]
    if cuts and not isinstance(feature, Numeric):
        raise CounterleafError(f"feature {by!r} is not numeric, so it has no bounds; expected an empty list")
    options = dict(answers.question)
    target = options.pop("target", None)
    return Audit(
        answers.explainer, answers.rows, answers.frame(), target=target, by={by: cuts}, conflicts=0, choices=False, **options
    )


def name_groups(feature: Feature, values: list[float | None], cuts: list[float]) -> dict[str, str]:
    """Return the groups of a number as the report names them, each with its name in dates or with thousands separators."""
    if not isinstance(feature, Numeric):
        return {}
    bare = feature if feature.unit == "date" else replace(feature, unit=None)

    def write(value: float) -> str:
        return feature_number(bare, as_bound(value))

    there = np.array([value for value in values if value is not None])
    few = np.unique(there)
    if not cuts and len(few) <= MOST:
        return {as_bound(value): write(value) for value in few.tolist()}
    bounds = cuts or quartile_bounds(there)
    return dict(zip(intervals(bounds), intervals(bounds, write), strict=True))


def describe_groups(audit: Audit, by: str, words: Words) -> dict[str, Any]:
    """Return the figures of the groups, sentences about the largest differences, and remarks."""
    lines, features = records(audit.groups), records(audit.features)
    groups = []
    for line in lines:
        group: dict[str, Any] = {name: _plain(line[name]) for name in _FIGURES}
        mine = [one for one in features if (one["by"], one["group"]) == (line["by"], line["group"])]
        mine.sort(key=lambda one: -one["rows"])
        groups.append(
            {
                "label": "All rows" if not line["by"] else words.group(line["group"]),
                "all": not line["by"],
                **group,
                "effort": words.effort(line["cost_median"]),
                "effort_range": [words.effort(line["cost_q25"]), words.effort(line["cost_q75"])],
                "changes": [
                    {
                        "feature": one["feature"],
                        "label": words.labels.get(one["feature"], one["feature"]),
                        "share": _plain(one["share"]),
                        "direction": _direction(one),
                    }
                    for one in mine[:_MOST_CHANGES]
                ],
            }
        )
    return {
        "by": by,
        "label": words.labels.get(by, by),
        "goal": words.goal,
        "already": words.already,
        "unit": "share" if words.is_share else "cost",
        "groups": groups,
        "sentences": _sentences(records(audit.differences), words, words.labels.get(by, by)),
        "notes": audit._remarks(lambda name: words.labels.get(name, name)),
    }


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _direction(line: dict[str, Any]) -> int:
    """1 if almost all of the changes are increases, -1 if almost all are decreases, else 0."""
    up, down = (0 if _plain(line[name]) is None else int(line[name]) for name in ("increases", "decreases"))
    if not up + down:
        return 0
    return 1 if up >= 0.9 * (up + down) else -1 if down >= 0.9 * (up + down) else 0


def _sentences(differences: list[dict[str, Any]], words: Words, label: str) -> list[str]:
    """Return the largest clear difference of each figure as a sentence, or that there is none."""
    out, compared = [], False
    for measure in (*_SHARES, "cost_median"):
        found = [one for one in differences if one["measure"] == measure and one["method"] != TOO_FEW]
        compared = compared or bool(found)
        clear = [one for one in found if one["low"] > 0 or one["high"] < 0]
        if clear:
            out.append(_sentence(max(clear, key=lambda one: abs(one["difference"])), words, label))
    if out:
        return out
    if compared:
        return ["No clear difference between the groups: each 95 % interval of a difference contains 0."]
    return [f"The groups are too small to be compared: an interval needs {MIN_ROWS} rows in two groups."]


def _sentence(one: dict[str, Any], words: Words, label: str) -> str:
    """Return a difference, the group with the larger figure first."""
    more = one["difference"] > 0
    first, second = (words.group(one[name]) for name in (("group", "other") if more else ("other", "group")))
    value, other = (one["value"], one["other_value"]) if more else (one["other_value"], one["value"])
    near, far = sorted((abs(one["low"]), abs(one["high"])))
    if one["measure"] in _SHARES:
        size, low, high = (points(one).lstrip("+") for one in (value - other, near, far))
        gap = f"{size} percentage points (95 % interval {low} to {high})"
        numbers = percent(value), percent(other)
    else:
        numbers = words.effort(value), words.effort(other)
        gap = f"{words.effort(value - other)} (95 % interval {words.effort(near)} to {words.effort(far)})"
    starts = {
        "share_has": f"Rows that {words.already}, by {label}",
        "share_reaching": f"Other rows that can get there, by {label}",
        "cost_median": f"Median {'effort' if words.is_share else 'cost'}, by {label}",
    }
    return f"{starts[one['measure']]}: {numbers[0]} for {first}, {numbers[1]} for {second}, a difference of {gap}."
