"""All figures of a report, each computed when it is first needed."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterleaf.audit.measures import differences as between
from counterleaf.audit.measures.comparisons import Comparison, compare
from counterleaf.audit.measures.fairness import choice, fairness
from counterleaf.audit.measures.features import FeatureChanges
from counterleaf.audit.measures.group import QUARTERS, Group, Groups
from counterleaf.audit.measures.searches import Choices, Conflicts
from counterleaf.audit.report.cases import Cases
from counterleaf.audit.report.groups import Grouping, crossed, everyone
from counterleaf.audit.report.provenance import Provenance
from counterleaf.table.schema import Schema


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """How the figures are computed."""

    seed: int = 0
    min_rows: int = 30
    budgets: tuple[float, ...] = ()
    conflicts: int | None = None  # rows without recourse that are examined; None for the usual number
    choices: bool = True  # whether the ways to the target are counted, which takes further searches
    title: str = ""  # of the page
    note: str = ""  # free text on the page


@dataclass(frozen=True, eq=False)
class Figures:
    """The figures of a report.

    ``by`` are the columns of the user's groups; ``searched`` are the columns among which groups that differ are sought.
    """

    cases: Cases
    schema: Schema
    inputs: tuple[dict[str, Any], ...]  # a line for each feature: its use by the model, values, constraints, price, gaps
    by: tuple[Grouping, ...]
    searched: tuple[Grouping, ...]
    conflicts: Conflicts | None  # what is in the way of rows without recourse; None if it was not sought
    choices: Choices | None  # the ways to the target, likewise
    provenance: Provenance
    notes: tuple[str, ...]
    settings: ReportSettings

    @functools.cached_property
    def _divided(self) -> Groups:
        return Groups(self.cases)

    @functools.cached_property
    def whole(self) -> Group:
        """All rows."""
        return next(self._divided.of(everyone(len(self.cases))))

    @functools.cached_property
    def groups(self) -> dict[str, list[Group]]:
        """The groups of each column."""
        return {grouping.name: list(self._divided.of(grouping)) for grouping in self.by}

    @functools.cached_property
    def _crossed(self) -> list[Grouping]:
        return [crossed(a, b) for a, b in itertools.combinations(self.by, 2)]

    @functools.cached_property
    def pairs(self) -> dict[str, list[Group]]:
        """The pairs of groups of each two columns."""
        return {grouping.name: list(self._divided.of(grouping)) for grouping in self._crossed}

    @functools.cached_property
    def differences(self) -> list[between.Difference]:
        """The differences between the groups of each column."""
        return [
            one
            for groups in self.groups.values()
            for one in between.differences(groups, self.settings.seed, self.settings.min_rows)
        ]

    @functools.cached_property
    def features(self) -> list[dict[str, Any]]:
        """The features that change, for all rows, every group and every pair."""
        changes = FeatureChanges(self.cases, self.schema)
        divisions = [everyone(len(self.cases)), *self.by, *self._crossed]
        return [line for grouping in divisions for line in changes.lines(grouping)]

    @functools.cached_property
    def comparisons(self) -> list[Comparison]:
        """The groups against the rest, those that differ most first."""
        return compare(self.cases, self.searched, self.settings.min_rows)

    @functools.cached_property
    def budgets(self) -> Sequence[float]:
        """The costs for which the effectiveness is compared: those of the user, or the quartiles of all costs."""
        found = self.settings.budgets or tuple(map(self.whole.quantile, QUARTERS))
        return [cost for cost in dict.fromkeys(found) if cost == cost]

    @functools.cached_property
    def fairness(self) -> list[dict[str, Any]]:
        """The notions of fairness of the literature, for each column."""
        lines = [line for groups in self.groups.values() for line in fairness(groups, self.budgets, self.settings.min_rows)]
        for grouping in self.by if self.choices is not None else ():
            lines += choice(grouping, [line for line in self.choice_lines if line["by"] == grouping.name])
        return lines

    @functools.cached_property
    def choice_lines(self) -> list[dict[str, Any]]:
        """The sets of features that reach the target, for all rows and every group."""
        if self.choices is None:
            return []
        divisions, least = (everyone(len(self.cases)), *self.by), self.settings.min_rows
        return [line for grouping in divisions for line in self.choices.lines(grouping, least)]

    @functools.cached_property
    def conflict_lines(self) -> list[dict[str, Any]]:
        """The smallest conflicts, counted for all rows and every group."""
        if self.conflicts is None:
            return []
        divisions = [everyone(len(self.cases)), *self.by, *self._crossed]
        return [line for grouping in divisions for line in self.conflicts.lines(grouping)]
