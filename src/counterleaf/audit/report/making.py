"""From answers to the figures of a report: the options, the columns that are searched, and all that the figures need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from counterleaf.audit.measures.comparisons import MIN_ROWS
from counterleaf.audit.measures.features import input_lines
from counterleaf.audit.measures.searches import ModelQuestion, RowsAt
from counterleaf.audit.report.cases import Cases
from counterleaf.audit.report.figures import Figures, ReportSettings
from counterleaf.audit.report.groups import MOST, By, GroupColumn, Grouping, read_by
from counterleaf.audit.report.provenance import Provenance
from counterleaf.errors import CounterleafError, brief, check_flag, check_whole_number, number, values_of

_MANY = 1_000_000  # rows of a file after which the quartiles of a column that is only searched are fixed


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
