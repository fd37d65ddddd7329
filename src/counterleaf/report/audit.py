"""``Audit``: the report on the answers for many rows, with its tables as frames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from counterleaf.errors import CounterleafError, brief, check_whole_number, near, number, some
from counterleaf.plot.audits import draw_audit
from counterleaf.question.query import known_options
from counterleaf.report.cases import Collector, block_of
from counterleaf.report.figures import Figures, Settings
from counterleaf.report.groups import MOST, By, GroupColumn, Grouping, read_by
from counterleaf.report.measures import conflicts as in_the_way
from counterleaf.report.measures.comparisons import MIN_ROWS
from counterleaf.report.page.page import fragment, page
from counterleaf.report.page.text import text
from counterleaf.report.provenance import (
    UNCHECKED,
    Provenance,
    model_hash,
    model_words,
    now,
    question_words,
    target_words,
    versions,
)
from counterleaf.report.saving import save
from counterleaf.table.frames import Frame, column_names, kind_of, make_frame
from counterleaf.table.rows import TableRows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from counterleaf.explainer import Explainer

_QUESTION = ("cost", "constraints", "margin", "time_limit", "max_nodes", "support")
_RUN = ("n_jobs", "progress", "chunk_size")


class AuditOptions(TypedDict, total=False):
    """The options of ``Explainer.audit``; see there."""

    cost: Any
    constraints: Any
    margin: Any
    time_limit: float | None
    max_nodes: int | None
    support: int | None
    n_jobs: int | None
    progress: bool
    chunk_size: int | None
    search: Any
    min_rows: int
    budgets: Any
    conflicts: int
    seed: int


class Audit:
    """Report who can reach a target, at what cost, and how groups differ.

    Printing it gives a summary; a notebook shows its tables and pictures. Each table is a pandas frame.

    Parameters
    ----------
    explainer : Explainer
        The model.
    rows : DataFrame or array-like
        The rows, in the units of the table; columns that are not features may be used for groups.
    answers : DataFrame, optional
        What ``explainer.explain_many(rows, ...)`` returned for the same question; by default the rows are explained here.
    target : class, list, dict, Probability or Value, optional
        As in ``Explainer.explain``.
    by : str, list or dict, optional
        The columns whose values are groups. Numbers are cut at bounds: ``"age:25,40"``, ``{"age": [25, 40]}``.
    **options : optional
        The rest of the question (``cost``, ``constraints``, ``margin``, ``support``, ``time_limit``, ``max_nodes``) and of the
        run (``n_jobs``, ``progress``, ``chunk_size``), as in ``explain_many``. ``search=True`` also looks for groups that
        differ among all other columns, ``search=["job"]`` among some. ``min_rows`` is the least size of such groups (30).
        ``budgets`` are costs for which groups are compared. ``conflicts`` is the number of rows without recourse whose
        constraints in the way are determined (1,000). ``seed`` seeds samples and bootstrap (0).

    Raises
    ------
    CounterleafError
        If an argument does not fit, a column does not exist, or there are no rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from counterleaf import Audit, Explainer, Tree
    >>> tree = Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-4.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    >>> rows = pd.DataFrame({"x0": np.arange(8.0), "sex": list("ffffmmmm")})
    >>> audit = Audit(Explainer(tree), rows, target="yes", by="sex")
    >>> print(audit.groups[["group", "rows", "has", "can", "cost_median"]])
          group  rows  has  can  cost_median
    0  all rows     8    3    5          4.0
    1         f     4    0    4          4.0
    2         m     4    3    1          0.0
    """

    def __init__(
        self,
        explainer: Explainer,
        rows: Any,
        answers: Frame | None = None,
        *,
        target: Any = None,
        by: Any = (),
        **options: Unpack[AuditOptions],
    ) -> None:
        known_options("audit", options, AuditOptions)
        settings, most = _settings(options)
        table = TableRows(rows, explainer.schema)
        if not table.n:
            raise CounterleafError("the table has no rows; an audit needs at least one")
        columns = _columns(table)
        chosen = read_by(by, list(columns))
        searched = _searched(options.get("search", False), list(columns), chosen)
        question = {name: options[name] for name in _QUESTION if name in options}  # type: ignore[literal-required]
        query = explainer._query(target, **{"cost": None, "constraints": (), **question})
        if answers is None:
            run = {name: options[name] for name in _RUN if name in options}  # type: ignore[literal-required]
            answers = explainer.explain_many(rows, target=target, words=False, **question, **run)
        _check_answers(answers, table.n)
        collector = Collector(settings.seed)
        collector.add(block_of(table, answers, target))
        cases = collector.cases()
        groupings, notes = _groupings(columns, chosen)
        others = [one for one in (_other(columns[name], name) for name in searched) if one is not None]
        sample = in_the_way.sampled(cases, settings.seed, most)
        found = None
        if most and len(sample):
            total = int((cases.state == in_the_way.State.CANNOT).sum())
            found = in_the_way.find_conflicts(
                lambda k: explainer.explain(table.one(int(sample[k])), target=target, **question), sample, total
            )
        origin = f"{table.n:,} rows in memory"
        provenance = Provenance(
            target_words(target),
            question_words(query, explainer.schema),
            model_words(explainer),
            model_hash(explainer),
            origin,
            UNCHECKED,
            versions(),
            now(),
        )
        self._figures = Figures(
            cases, explainer.schema, groupings, (*groupings, *others), found, provenance, tuple(notes), settings
        )

    @classmethod
    def _of(cls, figures: Figures) -> Audit:
        made = cls.__new__(cls)
        made._figures = figures
        return made

    def __repr__(self) -> str:
        whole = self._figures.whole
        columns = f", by {', '.join(self._figures.groups)}" if self._figures.groups else ""
        return f"<Audit: {whole.rows:,} rows, {whole.can:,} can reach the target, {whole.cannot:,} cannot{columns}>"

    def __str__(self) -> str:
        return text(self._figures)

    def _repr_html_(self) -> str:
        return fragment(self._figures)

    @property
    def groups(self) -> Frame:
        """One line for all rows and for each group: counts, shares, costs, changes, and the cost for half of the group."""
        figures = self._figures
        return _frame([figures.whole.line(), *(one.line() for column in figures.groups.values() for one in column)])

    @property
    def pairs(self) -> Frame:
        """The same for each pair of groups of two columns."""
        found = [one.line() for groups in self._figures.pairs.values() for one in groups]
        return _frame(found, list(self._figures.whole.line()))

    @property
    def differences(self) -> Frame:
        """The differences between the groups of each column, with bootstrap intervals."""
        names = ["by", "group", "other", "measure", "value", "other_value", "difference", "low", "high", "level", "bootstrap"]
        return _frame([one.line() for one in self._figures.differences], names)

    @property
    def features(self) -> Frame:
        """The features that change: in how many rows, by how much, and to which values, for each group and pair."""
        names = ["by", "group", "feature", "rows", "share", "increases", "decreases", "q25", "median", "q75", "new_values"]
        return _frame(self._figures.features, names)

    @property
    def search(self) -> Frame:
        """Each group and pair of groups against the rest, those that differ most first, with Holm's correction."""
        names = ["group", "columns", "figure", "rows", "rest_rows", "value", "rest_value", "effect", "p", "p_holm", "test"]
        return _frame([one.line() for one in self._figures.comparisons], names)

    @property
    def fairness(self) -> Frame:
        """The notions of recourse fairness of the literature, for the groups of each column."""
        return _frame(self._figures.fairness, ["by", "notion", "parameter", "group", "other", "value"])

    @property
    def conflicts(self) -> Frame:
        """The smallest sets of constraints in the way of the rows without recourse, counted for each group."""
        names = ["by", "group", "constraints", "size", "rows", "examined", "share"]
        return _frame(self._figures.conflict_lines, names)

    def plot(self, by: str | None = None) -> Figure:
        """Draw the shares of each group, and the share that reaches the target against the cost.

        Parameters
        ----------
        by : str, optional
            The column whose groups are drawn; by default the first.

        Returns
        -------
        Figure
            A matplotlib figure.

        Raises
        ------
        CounterleafError
            If the report has no such column, or matplotlib is not installed.
        """
        names = list(self._figures.groups)
        if by is not None and by not in names:
            raise CounterleafError(f"the report has no groups by {by!r}{near(by, names) or f'; it has {some(names)}'}")
        chosen = by if by is not None else names[0] if names else None
        groups = [self._figures.whole] if chosen is None else self._figures.groups[chosen]
        return draw_audit(groups, chosen or "", self._figures.provenance.target)

    def to_html(self) -> str:
        """Return the report as one page that needs no other file.

        Returns
        -------
        str
            The HTML text.
        """
        return page(self._figures)

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the page, and its tables as CSV and Parquet files next to it; each file is written atomically.

        Parquet files need pyarrow and are left out without it. Text in CSV files that a spreadsheet would take for a formula
        begins with an apostrophe.

        Parameters
        ----------
        path : str or path-like
            The page, such as ``"report.html"``; the tables are ``report_groups.csv``, ``report_groups.parquet`` and so on.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        CounterleafError
            If the name does not end in .html, or a file cannot be written.
        """
        names = ("groups", "pairs", "differences", "features", "search", "fairness", "conflicts")
        return save(Path(path), self.to_html(), {name: getattr(self, name) for name in names})


def _frame(lines: Sequence[dict[str, Any]], names: Sequence[str] | None = None) -> Frame:
    return make_frame(lines, names if not lines else None)


def _settings(options: Any) -> tuple[Settings, int]:
    """Check the options of the report."""
    least, seed, most = options.get("min_rows", MIN_ROWS), options.get("seed", 0), options.get("conflicts", in_the_way.MOST)
    for name, value, lowest in (("min_rows", least, 2), ("seed", seed, 0), ("conflicts", most, 0)):
        check_whole_number(name, value, lowest)
    budgets = options.get("budgets", ())
    if isinstance(budgets, str) or not isinstance(budgets, Iterable):
        raise CounterleafError(f"budgets is {brief(budgets)}; expected a list of costs")
    costs = tuple(number(budget, "a budget") for budget in budgets)
    most = in_the_way.MOST if most is None else int(most)
    return Settings(int(seed or 0), int(least or MIN_ROWS), costs), most


def _columns(table: TableRows) -> dict[str, Any]:
    """Return the columns of the user's table by name, features and others."""
    if table.named:
        return dict(zip(column_names(table.rows), (table.rows[name] for name in table.rows.columns), strict=True))
    return dict(zip(table.schema.names, table.columns, strict=True))


def _check_answers(answers: Any, n: int) -> None:
    needed = {"status", "cost", "source_label", "confirmed"}
    if not hasattr(answers, "columns") or not needed <= set(column_names(answers)) or "rank" in column_names(answers):
        raise CounterleafError("answers is not a table of explain_many with one answer per row; pass what it returned")
    if len(answers) != n:
        raise CounterleafError(f"answers has {len(answers):,} lines and rows has {n:,}; expected one answer per row")


def _searched(search: Any, names: list[str], by: Sequence[By]) -> list[str]:
    """Return the columns, in addition to those of ``by``, that are searched for groups that differ."""
    taken = {one.column for one in by}
    if search is True:
        return [name for name in names if name not in taken]
    if search is False or search is None:
        return []
    wanted = [search] if isinstance(search, str) else list(search) if isinstance(search, Iterable) else None
    if wanted is None:
        raise CounterleafError(f"search is {brief(search)}; expected True, False or names of columns")
    return [one.column for one in read_by([str(name) for name in wanted], names) if one.column not in taken]


def _groupings(columns: dict[str, Any], by: Sequence[By]) -> tuple[tuple[Grouping, ...], list[str]]:
    found, notes = [], []
    for one in by:
        column = GroupColumn(one)
        column.add(columns[one.column])
        grouping, remarks = column.grouping()
        found.append(grouping)
        notes += remarks
    return tuple(found), notes


def _other(column: Any, name: str) -> Grouping | None:
    """Return the groups of a column that is only searched; None if it has too many values or just one."""
    collected = GroupColumn(By(name))
    try:
        collected.add(column)
    except CounterleafError:
        return None
    grouping, notes = collected.grouping()
    too_many = bool(notes) and kind_of(column) not in "iuf"
    return None if too_many or not 1 < len(grouping) <= MOST + 2 else grouping
