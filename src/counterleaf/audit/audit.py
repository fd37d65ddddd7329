"""``Audit``: the report on the answers for many rows, with its tables as frames."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from counterleaf.audit.measures.searches import ModelQuestion
from counterleaf.audit.page.page import fragment, page
from counterleaf.audit.page.words import remarks, text
from counterleaf.audit.report.cases import Collector, block_of, missing_in
from counterleaf.audit.report.figures import SearchedColumn, assemble, read_search, read_settings
from counterleaf.audit.report.groups import GroupColumn, read_by
from counterleaf.audit.report.provenance import UNCHECKED, provenance
from counterleaf.errors import CounterleafError, near, not_installed, some
from counterleaf.plot.audits import draw_audit
from counterleaf.question.query import known_options
from counterleaf.question.question import Question, ask
from counterleaf.storage.files import write, write_frame
from counterleaf.table.files import without_formulas
from counterleaf.table.frames import Frame, column_names, make_frame
from counterleaf.table.rows import TableRows
from counterleaf.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from counterleaf.explainer import Explainer

_QUESTION = ("cost", "constraints", "margin", "time_limit", "max_nodes", "support")
_RUN = ("n_jobs", "progress", "chunk_size")


class ReportOptions(TypedDict, total=False):
    """The options of ``Audit.read``; see there."""

    search: Any
    min_rows: int
    budgets: Any
    conflicts: int
    choices: bool
    seed: int
    title: str
    note: str


class AuditOptions(ReportOptions, total=False):
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
    question : Question, optional
        As in ``Explainer.explain``, instead of its parts.
    target : class, list, dict, Probability or Value, optional
        As in ``Explainer.explain``.
    by : str, list or dict, optional
        The columns whose values are groups. Numbers are cut at bounds: ``"age:25,40"``, ``{"age": [25, 40]}``.
    **options : optional
        The rest of the question (``cost``, ``constraints``, ``margin``, ``support``, ``time_limit``, ``max_nodes``) and of the
        run (``n_jobs``, ``progress``, ``chunk_size``), as in ``explain_many``. ``search=True`` also looks for groups that
        differ among all other columns, ``search=["job"]`` among some. ``min_rows`` is the number of rows that a group needs
        to be compared (30). ``budgets`` are costs for which groups are compared. ``conflicts`` is the number of rows without
        recourse whose constraints in the way are determined (1,000; for an ensemble 100). ``choices=False`` leaves out the
        table ``choices``, which takes further searches. ``seed`` seeds samples and bootstrap (0). ``title`` and ``note`` are
        the title of the page and a text on it, such as its author and purpose.

    Raises
    ------
    CounterleafError
        If an argument does not fit, a column does not exist, or there are no rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from counterleaf import Audit, Explainer
    >>> from counterleaf.datasets import example_tree
    >>> rows = pd.DataFrame({"x0": np.arange(8) / 4, "x1": 0.0, "sex": list("ffffmmmm")})
    >>> audit = Audit(Explainer(example_tree()), rows, target="yes", by="sex")
    >>> print(audit.groups[["group", "rows", "has", "can", "cost_median"]])
          group  rows  has  can  cost_median
    0  all rows     8    4    4        0.125
    1         f     4    0    4        0.125
    2         m     4    4    0          NaN
    """

    def __init__(
        self,
        explainer: Explainer,
        rows: Any,
        answers: Frame | None = None,
        *,
        question: Question | None = None,
        target: Any = None,
        by: Any = (),
        **options: Unpack[AuditOptions],
    ) -> None:
        known_options("audit", options, AuditOptions)
        settings, table = read_settings(options), TableRows(rows, explainer.schema)
        if not table.n:
            raise CounterleafError("the table has no rows; an audit needs at least one")
        columns = _columns(table)
        chosen = read_by(by, list(columns))
        searched = [SearchedColumn(name) for name in read_search(options.get("search", False), list(columns), chosen)]
        parts = {name: value for name, value in options.items() if name in _QUESTION}
        posed = ModelQuestion(explainer, ask("audit", question, target=target, **parts), settings)
        if answers is None:
            run: dict[str, Any] = {name: value for name, value in options.items() if name in _RUN}
            answers = explainer.explain_many(rows, posed.question, words=False, **run)
        _check_answers(answers, table.n)
        collector = Collector(settings.seed)
        collector.add(block_of(table, answers, posed.question.target))
        grouped = [GroupColumn(one) for one in chosen]
        sought: list[GroupColumn | SearchedColumn] = [*grouped, *searched]
        for one in sought:
            one.add(columns[one.name])
        source = provenance(posed, f"{table.n:,} rows in memory", UNCHECKED)
        missing = {name: int(missing_in(column).sum()) for name, column in zip(table.schema.names, table.columns, strict=True)}

        def rows_at(places: Array) -> TableRows:
            return TableRows(table.part(places), table.schema)

        self._figures = assemble(posed, collector.cases(), grouped, searched, rows_at, source, missing)

    @classmethod
    def read(
        cls, folder: str | os.PathLike[str], *, by: Any = (), partial: bool = False, **options: Unpack[ReportOptions]
    ) -> Audit:
        """Report on the folder that ``counterleaf audit`` wrote; it may have more rows than fit into memory.

        Parameters
        ----------
        folder : str or path-like
            The folder.
        by : str, list or dict, optional
            The columns of the input whose values are groups.
        partial : bool, default=False
            Whether to report on an audit of which parts are missing.
        **options : optional
            ``search``, ``min_rows``, ``budgets``, ``conflicts``, ``choices``, ``seed``, ``title`` and ``note`` of ``Audit``.

        Returns
        -------
        Audit
            The report.

        Raises
        ------
        CounterleafError
            If the folder is not that of an audit, is not finished, or its inputs were changed or removed.
        """
        known_options("read", options, ReportOptions)
        try:
            from counterleaf.audit.report.folder import figures_of_folder  # needs pyarrow, which is optional
        except ImportError:
            raise not_installed("a report on a folder", "pyarrow") from None
        made = cls.__new__(cls)
        made._figures = figures_of_folder(folder, by, partial, options)
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
    def schema(self) -> Frame:
        """One line for each feature, with its use by the model, values, constraints, price and missing values."""
        return _frame(self._figures.inputs)

    @property
    def groups(self) -> Frame:
        """One line for all rows and for each group, with counts, shares, costs, changes, and the cost for half of the group."""
        figures = self._figures
        return _frame([figures.whole.line(), *(one.line() for column in figures.groups.values() for one in column)])

    def remarks(self, label: Callable[[str], str] = str) -> list[str]:
        """Return what a reader of the figures has to know: open rows, samples, missing values and small groups.

        Parameters
        ----------
        label : callable, default=str
            Returns what a column is called.

        Returns
        -------
        list of str
            The remarks.
        """
        return remarks(self._figures, label, divisions=False)

    @property
    def pairs(self) -> Frame:
        """The same for each pair of groups of two columns."""
        found = [one.line() for groups in self._figures.pairs.values() for one in groups]
        return _frame(found, list(self._figures.whole.line()))

    @property
    def differences(self) -> Frame:
        """The differences between the groups of each column, with intervals where both groups have ``min_rows`` rows."""
        names = ["by", "group", "other", "measure", "value", "other_value", "rows", "other_rows", "difference", "low", "high"]
        names += ["level", "method"]
        return _frame([one.line() for one in self._figures.differences], names)

    @property
    def features(self) -> Frame:
        """The features that change, in how many rows, by how much, and to which values, for each group and pair."""
        names = ["by", "group", "feature", "rows", "share", "filled", "removed", "increases", "decreases"]
        return _frame(self._figures.features, [*names, "q25", "median", "q75", "new_values"])

    @property
    def search(self) -> Frame:
        """Each group and pair of groups against the rest, those that differ most first, with Holm's correction."""
        names = ["group", "columns", "figure", "rows", "rest_rows", "value", "rest_value", "effect", "p", "p_holm", "test"]
        return _frame([one.line() for one in self._figures.comparisons], names)

    @property
    def fairness(self) -> Frame:
        """The notions of recourse fairness of the literature, for the groups of each column."""
        return _frame(self._figures.fairness, ["by", "notion", "parameter", "group", "other", "rows", "value", "low", "high"])

    @property
    def choices(self) -> Frame:
        """The sets of features whose change alone reaches the target, and for how many of the examined rows of each group."""
        return _frame(self._figures.choice_lines, ["by", "group", "features", "examined", "reaching", "share", "low", "high"])

    @property
    def conflicts(self) -> Frame:
        """The smallest sets of constraints in the way of the rows without recourse, counted for each group."""
        names = ["by", "group", "constraints", "size", "rows", "examined", "share"]
        return _frame(self._figures.conflict_lines, names)

    @property
    def origin(self) -> Frame:
        """The question, the model, the input files with their fingerprints, the versions and the date, in full."""
        return _frame(self._figures.provenance.lines())

    def plot(self, by: str | None = None) -> Figure:
        """Draw the shares of each group, and the share that reaches the target against the cost.

        The cost axis ends at the cost that covers 95 % of all rows with a change. Groups with fewer than ``min_rows`` rows
        without the target have no curve.

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
        figures = self._figures
        groups = [figures.whole] if chosen is None else figures.groups[chosen]
        return draw_audit(groups, (chosen or "", figures.provenance.target), figures.whole, figures.settings.min_rows)

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
        names = ("schema", "groups", "pairs", "differences", "features", "search", "fairness", "choices", "conflicts", "origin")
        path = Path(path)
        if path.suffix.lower() not in (".html", ".htm"):
            raise CounterleafError(f"the report is {path}; expected a name that ends in .html")
        content, files = self.to_html(), [path]
        parquet = importlib.util.find_spec("pyarrow") is not None
        for name in names:
            frame, csv = getattr(self, name), path.with_name(f"{path.stem}_{name}.csv")
            write_frame(csv, without_formulas(frame))
            files.append(csv)
            if parquet:
                write_frame(csv.with_suffix(".parquet"), frame)
                files.append(csv.with_suffix(".parquet"))
        write(path, content)  # last, so that the page of a report that is complete has its tables
        return files


def _frame(lines: Sequence[dict[str, Any]], names: Sequence[str] | None = None) -> Frame:
    return make_frame(lines, names if not lines else None)


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
