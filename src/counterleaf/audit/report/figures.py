"""All figures of a report, each computed when it is first needed; and what they are made of: options, columns, searches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterleaf.audit.measures import differences as between
from counterleaf.audit.measures.comparisons import MIN_ROWS, Comparison, compare
from counterleaf.audit.measures.fairness import choice, fairness
from counterleaf.audit.measures.features import FeatureChanges, input_lines
from counterleaf.audit.measures.group import QUARTERS, Group, Groups
from counterleaf.audit.measures.searches import Choices, Conflicts, ModelQuestion, RowsAt
from counterleaf.audit.report.cases import Cases
from counterleaf.audit.report.groups import MOST, By, GroupColumn, Grouping, crossed, everyone, read_by
from counterleaf.audit.report.provenance import Provenance
from counterleaf.errors import CounterleafError, brief, check_flag, check_whole_number, number, values_of
from counterleaf.table.schema import Schema

_MANY = 1_000_000  # rows of a file after which the quartiles of a column that is only searched are fixed


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


def read_settings(options: Any) -> ReportSettings:
    """Check the options of the report."""
    least, seed, most = options.get("min_rows", MIN_ROWS), options.get("seed", 0), options.get("conflicts")
    for name, value, lowest in (("min_rows", least, 2), ("seed", seed, 0), ("conflicts", most, 0)):
        check_whole_number(name, value, lowest)
    budgets = () if options.get("budgets") is None else options["budgets"]
    costs = tuple(number(budget, "a budget") for budget in values_of(budgets, "budgets", "a list of costs"))
    texts = {name: options.get(name) for name in ("title", "note")}
    for name, text in texts.items():
        if not isinstance(text, (str, type(None))):
            raise CounterleafError(f"{name} is {brief(text)}; expected text")
    wanted = check_flag(options.get("choices", True), "choices")
    words = {name: text or "" for name, text in texts.items()}
    return ReportSettings(int(seed or 0), int(least or MIN_ROWS), costs, most, wanted, **words)


def read_search(search: Any, names: Sequence[str], by: Sequence[By]) -> list[str]:
    """Return the columns, in addition to those of ``by``, that are searched for groups that differ."""
    taken = {one.column for one in by}
    if search is True:
        return [name for name in names if name not in taken]
    if search is False or search is None:
        return []
    wanted = [search] if isinstance(search, str) else values_of(search, "search", "True, False or names of columns")
    return [one.column for one in read_by([str(name) for name in wanted], names) if one.column not in taken]


class SearchedColumn:
    """A column that is only searched: quarters of its numbers, or its values if these are few."""

    def __init__(self, name: str, text: bool = False) -> None:
        self.name, self._collected, self._fits, self._n = name, GroupColumn(By(name), text), True, 0

    def add(self, column: Any) -> None:
        """Add the next rows."""
        if self._fits:
            try:
                self._collected.add(column)
            except CounterleafError:
                self._fits = False
            before, self._n = self._n, self._n + len(column)
            if before < _MANY <= self._n and self._collected.is_numeric:
                self._collected.settle()

    def grouping(self) -> Grouping | None:
        """Return the groups; None if there are too many or just one."""
        if not self._fits:
            return None
        try:
            grouping, notes = self._collected.grouping()
        except CounterleafError:
            return None
        too_many = bool(notes) and not self._collected.is_numeric
        return None if too_many or not 1 < len(grouping) <= MOST + 2 else grouping


def assemble(
    question: ModelQuestion,
    cases: Cases,
    grouped: Sequence[GroupColumn],
    searched: Sequence[SearchedColumn],
    rows_at: RowsAt,
    provenance: Provenance,
    missing: Mapping[str, int],
    notes: Sequence[str] = (),
) -> Figures:
    """Return the figures of a report, of which ``missing`` has the missing values of each feature, and ``notes`` remarks."""
    found = [column.grouping() for column in grouped]
    groupings = tuple(grouping for grouping, _ in found)
    return Figures(
        cases,
        question.explainer.schema,
        tuple(input_lines(question.explainer, question.query, missing)),
        groupings,
        (*groupings, *(one for one in (column.grouping() for column in searched) if one is not None)),
        question.conflicts(cases, rows_at),
        question.choices(cases, rows_at),
        provenance,
        (*notes, *(remark for _, remarks in found for remark in remarks)),
        question.settings,
    )
