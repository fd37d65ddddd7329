"""From answers to the figures of a report: the groups, and the searches that explain what is in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from counterleaf.audit.measures import choices, conflicts
from counterleaf.audit.measures.comparisons import MIN_ROWS
from counterleaf.audit.measures.inputs import input_lines
from counterleaf.audit.report.cases import Cases, State, status_codes
from counterleaf.audit.report.figures import Figures, Settings
from counterleaf.audit.report.groups import MOST, By, GroupColumn, Grouping, read_by
from counterleaf.audit.report.provenance import Provenance, model_hash, model_words, now, question_words, target_words, versions
from counterleaf.errors import CounterleafError, brief, check_flag, check_whole_number, number, values_of
from counterleaf.question.constraints.functions import freeze
from counterleaf.question.constraints.kinds import Constraint, Support
from counterleaf.question.query import Query
from counterleaf.question.question import Question
from counterleaf.table.frames import Frame, numbers_of
from counterleaf.table.output import STATUSES
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

if TYPE_CHECKING:
    from counterleaf.explainer import Explainer

_OF_ENSEMBLES = 100  # rows of an ensemble without recourse that are examined: each takes several searches
_MANY = 1_000_000  # rows of a file after which the quartiles of a column that is only searched are fixed
RowsAt = Callable[[Array], TableRows]  # the rows at increasing positions


@dataclass(frozen=True, slots=True, eq=False)
class ModelQuestion:
    """A question about a model."""

    explainer: Explainer
    question: Question

    @property
    def target(self) -> Any:
        """The target of the question."""
        return self.question.target

    @property
    def constraints(self) -> tuple[Any, ...]:
        """The constraints of the question."""
        return tuple(self.question.constraints)

    def query(self) -> Query:
        """Return the question as the search reads it; a wrong question is refused."""
        return self.explainer.lower(self.question)

    def stuck(self, rows: Any, constraints: Sequence[Constraint]) -> Array:
        """Return which rows provably cannot reach the target within some of the constraints."""
        support = self.question.support if any(isinstance(one, Support) for one in constraints) else None
        rules = [one for one in constraints if not isinstance(one, Support)]
        try:
            found = self._explained(rows, rules, support)
        except CounterleafError:  # without some constraint, the cost may be unbounded
            return np.zeros(len(rows), bool)
        return np.asarray(status_codes(found["status"]) == STATUSES.index("infeasible"))

    def reached(self, rows: TableRows, features: Sequence[str]) -> Array:
        """Return which rows reach the target if only these features change."""
        others = [name for name in self.explainer.schema.names if name not in features]
        rules = [*self.constraints, *([freeze(*others)] if others else [])]
        return ~np.isnan(numbers_of(self._explained(rows.rows, rules, self.question.support)["cost"], "cost"))

    def _explained(self, rows: Any, constraints: Any, support: int | None) -> Frame:
        question = replace(self.question, constraints=constraints, support=support)
        return self.explainer.explain_many(rows, question, words=False, progress=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows come from, whether proofs were checked, and how many values are missing."""

    rows: str
    checked: str
    missing: Mapping[str, int]  # values of each feature
    files: tuple[tuple[str, str], ...] = ()  # with their fingerprints


def read_settings(options: Any) -> Settings:
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
    return Settings(int(seed or 0), int(least or MIN_ROWS), costs, most, wanted, texts["title"] or "", texts["note"] or "")


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
    columns: tuple[Sequence[GroupColumn], Sequence[SearchedColumn]],
    rows_at: RowsAt,
    origin: Origin,
    settings: Settings,
    notes: Sequence[str] = (),
) -> Figures:
    """Return the figures of a report."""
    explainer, remarks = question.explainer, list(notes)
    query = question.query()
    groupings = []
    for column in columns[0]:
        grouping, said = column.grouping()
        groupings.append(grouping)
        remarks += said
    others = [one for one in (column.grouping() for column in columns[1]) if one is not None]
    provenance = Provenance(
        target_words(question.target),
        question_words(query, explainer.schema),
        model_words(explainer),
        model_hash(explainer),
        (str(query.cost), *map(str, query.constraints)),
        origin.rows,
        origin.checked,
        origin.files,
        versions(),
        now(),
    )
    searched = (*groupings, *others)
    found = _conflicts(question, cases, rows_at, settings), _choices(question, cases, rows_at, settings)
    inputs = tuple(input_lines(explainer, query, origin.missing))
    return Figures(cases, (explainer.schema, inputs), tuple(groupings), searched, found, provenance, tuple(remarks), settings)


def samples(question: ModelQuestion, cases: Cases, settings: Settings) -> Array:
    """Return the positions of all rows that ``assemble`` will ask for, increasing."""
    return np.union1d(_stuck(question, cases, settings), _affected(question, cases, settings))


def _stuck(question: ModelQuestion, cases: Cases, settings: Settings) -> Array:
    usual = conflicts.MOST if question.explainer.tree.is_one_tree else _OF_ENSEMBLES
    most = usual if settings.conflicts is None else settings.conflicts
    return conflicts.sampled(cases, settings.seed, most)


def _affected(question: ModelQuestion, cases: Cases, settings: Settings) -> Array:
    """Return the rows whose ways to the target are counted; none for ensembles, where each search takes long."""
    if not question.explainer.tree.is_one_tree or not settings.choices or not len(cases.reached):
        return np.zeros(0, np.int64)
    return choices.sampled(cases, settings.seed)


def _conflicts(question: ModelQuestion, cases: Cases, rows_at: RowsAt, settings: Settings) -> conflicts.Conflicts | None:
    sample = _stuck(question, cases, settings)
    if not len(sample):
        return None
    rows = rows_at(sample)
    total = int(np.count_nonzero(cases.state == State.CANNOT))
    rules = conflicts.by_feature(question.query().constraints)
    return conflicts.find_conflicts(lambda places, some: question.stuck(rows.part(places), some), rules, sample, total)


def _choices(question: ModelQuestion, cases: Cases, rows_at: RowsAt, settings: Settings) -> choices.Choices | None:
    sample = _affected(question, cases, settings)
    if not len(sample):
        return None
    rows, sets = rows_at(sample), choices.frequent_sets(cases, question.explainer.schema)
    return choices.find_choices(lambda features: question.reached(rows, features), sample, sets)
