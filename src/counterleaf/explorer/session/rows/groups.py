"""Groups of rows side by side, with the figures of ``Audit``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.audit.measures.comparisons import MIN_ROWS
from counterleaf.audit.measures.differences import TOO_FEW
from counterleaf.audit.page.words import as_number, percent, points
from counterleaf.audit.report.groups import MOST, as_bound, intervals, quartile_bounds
from counterleaf.explorer.session.question import Posed, is_effort
from counterleaf.explorer.session.rows.answers import RowAnswers, columns_of
from counterleaf.explorer.session.words import feature_number, label_of
from counterleaf.table.frames import records

_MOST_CHANGES = 3  # features that are listed for a group
_FIGURES = (
    *("rows", "has", "can", "cannot", "open", "invalid", "without_target", "share_has", "share_can", "share_cannot"),
    *("share_open", "share_invalid", "share_reaching", "cost_q25", "cost_median", "cost_q75", "changes_mean"),
)
_SHARES = ("share_has", "share_reaching")


@dataclass(frozen=True, slots=True)
class Words:
    """The words for the sentences."""

    already: str  # after "rows that", such as "are granted already"
    is_share: bool  # whether the cost is a share of ranges
    groups: Mapping[str, str]  # the names of groups of dates and of large numbers

    def group(self, name: Any) -> str:
        return self.groups.get(str(name), str(name))

    def effort(self, cost: float) -> str:
        return percent(cost) if self.is_share else as_number(cost)


def describe_groups(posed: Posed, answers: RowAnswers, by: str, cuts: list[float]) -> dict[str, Any]:
    """The figures of the groups by a feature, sentences about the largest differences, and remarks.

    All rows have to be answered.
    """
    schema, goal = posed.scene.explainer.schema, posed.goal
    feature = schema.features[schema.index(by)]
    if cuts and not isinstance(feature, cl.Numeric):
        raise cl.CounterleafError(f"feature {by!r} is not numeric, so it has no bounds; expected an empty list")
    values = columns_of(posed.scene, [by])["columns"][by]
    already = "are there already" if goal.target is None else f"are {goal.text} already"
    words = Words(already, is_effort(posed.request), _name_groups(feature, values, cuts))
    labels = {one.name: label_of(one) for one in schema}
    audit = cl.Audit(
        answers.explainer,
        answers.rows,
        answers.frame(),
        question=answers.question,
        by={by: cuts},
        conflicts=0,
        choices=False,
    )
    features, groups = records(audit.features), []
    for line in records(audit.groups):
        mine = [one for one in features if (one["by"], one["group"]) == (line["by"], line["group"])]
        mine.sort(key=lambda one: -one["rows"])
        groups.append(
            {
                "label": "All rows" if not line["by"] else words.group(line["group"]),
                "all": not line["by"],
                **{name: _plain(line[name]) for name in _FIGURES},
                "effort": words.effort(line["cost_median"]),
                "effort_range": [words.effort(line["cost_q25"]), words.effort(line["cost_q75"])],
                "changes": [
                    {
                        "feature": one["feature"],
                        "label": labels.get(one["feature"], one["feature"]),
                        "share": _plain(one["share"]),
                        "direction": _direction(one),
                    }
                    for one in mine[:_MOST_CHANGES]
                ],
            }
        )
    return {
        "by": by,
        "label": labels[by],
        "goal": goal.text,
        "already": already,
        "unit": "share" if words.is_share else "cost",
        "groups": groups,
        "sentences": _sentences(records(audit.differences), words, labels[by]),
        "notes": audit.remarks(lambda name: labels.get(name, name)),
    }


def _name_groups(feature: cl.Feature, values: list[float | None], cuts: list[float]) -> dict[str, str]:
    """The groups of a number as the report names them, each with its name in dates or with thousands separators."""
    if not isinstance(feature, cl.Numeric):
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
