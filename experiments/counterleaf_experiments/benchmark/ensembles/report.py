"""The tables of the part on ensembles in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from counterleaf_experiments.benchmark.ensembles import ocean_process, ours, treecf_calls
from counterleaf_experiments.benchmark.ensembles.measurement import CELL_BUDGETS, HOPELESS, Measurement, compare
from counterleaf_experiments.benchmark.ensembles.models import DEFAULT
from counterleaf_experiments.benchmark.tables import number, table_row

PACKAGES = ("counterleaf", "numpy", "scikit-learn", "xgboost", "treecf")
METHODS = (ours.NAME, ocean_process.NAME, treecf_calls.NAME)
PROMPT = 2.0  # seconds in which a question should be proved
COLUMNS = (
    "model", "trees, leaves", "method", "questions", "proved", f"proved within {PROMPT:g} s", "median s", "p90 s", "worst s",
    "wall, median s", "times counterleaf", "by wall time", "not confirmed", "optimum differs", "prepare s",
)  # fmt: skip
NOTES = f"""\
Every method has the same rows, targets, cost and seconds per question. Seconds are processor time unless "wall" says otherwise;
{ocean_process.NAME} uses one thread. The median, p90 and worst of counterleaf are over all questions; those of
the other tools are over the questions that they proved. "Times counterleaf" is the ratio of the medians over the questions that
the tool proved. A tool stops on a model if it proves none of the first {HOPELESS} questions, or after {CELL_BUDGETS} budgets in
total. "Not confirmed" counts proved answers for which the model predicts another class than the target. "Optimum differs"
counts the questions that both proved: answers that are cheaper than counterleaf's and those that are more expensive, by more
than 1e-6 of the cost and 1e-7 for each changed column, the precision of float32. Numbers go from 0 to 1 and cost their change;
a change of category costs 1. Machines are noisy: compare the ratios."""


@dataclass(frozen=True)
class CellReport:
    """The measurements of all methods on one model; without measurements if the model could not be fitted."""

    title: str
    size: tuple[int, int] = (0, 0)  # trees and leaves
    measured: tuple[Measurement, ...] = ()
    note: str = ""

    def of(self, method: str) -> Measurement | None:
        """The measurement of a method; None if it has no answers."""
        return next((one for one in self.measured if one.method == method and one.answers), None)


def cell_rows(cell: CellReport) -> list[str]:
    """The lines of a model, with its title in the first."""
    if cell.note:
        return [table_row([cell.title, "", cell.note, *[""] * (len(COLUMNS) - 3)])]
    mine = cell.of(ours.NAME)
    out = []
    for k, one in enumerate(cell.measured):
        first = [cell.title, "{:,}, {:,}".format(*cell.size)] if k == 0 else ["", ""]
        if not one.answers:
            out.append(table_row([*first, one.method, one.note, *[""] * (len(COLUMNS) - 4)]))
            continue
        all_of_them = one.method == ours.NAME
        times = [one.quantile(share, proved=not all_of_them) for share in (0.5, 0.9, 1.0)]
        times.append(one.quantile(0.5, wall=True, proved=not all_of_them))
        versus = None if mine is None or all_of_them else compare(mine, one)
        ratios = ["", ""] if versus is None else [number(versus.ratio), number(versus.wall_ratio)]
        differ = "" if versus is None else f"{versus.cheaper} cheaper, {versus.dearer} more expensive"
        wrong = sum(math.isnan(answer.cost) for answer in one.proved)
        cells = [f"{len(one.answers)}", f"{len(one.proved)}", f"{100 * one.within(PROMPT):.4g} %", *map(number, times)]
        note = f" ({one.remark})" if one.remark else ""
        out.append(table_row([*first, one.method + note, *cells, *ratios, f"{wrong}", differ, number(one.prepare)]))
    return out


def summary(cells: Sequence[CellReport]) -> list[str]:
    """The weakest models for counterleaf: the smallest ratios, the smallest share proved in time, the largest median."""
    mine = [(cell, one) for cell in cells if (one := cell.of(ours.NAME)) is not None]
    if not mine:
        return []
    least, where = min((one.within(PROMPT), cell.title) for cell, one in mine)
    medians = [(one.quantile(0.5), cell.title) for cell, one in mine]
    forests = [(median, title) for median, title in medians if title.endswith(DEFAULT)]
    questions = sum(len(one.answers) for _, one in mine)
    out = [
        f"- counterleaf proved {sum(len(one.proved) for _, one in mine):,} of {questions:,} questions; within {PROMPT:g} s at "
        f"least {100 * least:.4g} % on every model ({where}).",
        f"- The largest median is {_largest(medians)}" + (f"; of default forests, {_largest(forests)}." if forests else "."),
    ]
    out += [text for method in METHODS[1:] if (text := _versus(method, mine))]
    restored = sum(one.restored for cell in cells for one in cell.measured)
    if restored:
        out.append(f"- {restored:,} answers of other tools are from an earlier run with the same directory.")
    return out


def _largest(medians: Sequence[tuple[float, str]]) -> str:
    """The largest of some medians, and its model."""
    median, title = max(medians)
    return f"{number(median)} s ({title})"


def _versus(method: str, mine: Sequence[tuple[CellReport, Measurement]]) -> str:
    """One line on another tool: its smallest ratio, and where the optima differ; empty if it answered nothing."""
    found = [(compare(one, other), cell.title) for cell, one in mine if (other := cell.of(method)) is not None]
    ratios = [(versus.ratio, title) for versus, title in found if not math.isnan(versus.ratio)]
    none = len(found) - len(ratios)
    if not ratios:
        return f"- {method}: no optimum proved on {none} models." if found else ""
    least, where = min(ratios)
    both, cheaper, dearer, wrong = (
        sum(getattr(versus, name) for versus, _ in found) for name in ("both", "cheaper", "dearer", "unconfirmed")
    )
    return (
        f"- {method}: at least {number(least)} times counterleaf's median on the {len(ratios)} models where it proves an "
        f"optimum ({where}); it proves none on {none} models. Of {both:,} questions that both proved, its answer is cheaper "
        f"for {cheaper:,} and more expensive for {dearer:,}; the model does not confirm {wrong:,} of its answers."
    )


def answers(cells: Sequence[CellReport]) -> pd.DataFrame:
    """Every answer behind the tables, one row each."""
    return pd.DataFrame(
        [
            {
                "model": cell.title,
                "method": one.method,
                "row": answer.place,
                "target": answer.target,
                "status": answer.status,
                "cpu s": answer.cpu,
                "wall s": answer.wall,
                "claimed optimum": answer.claimed,
                "valid cost": answer.cost,
                "changed columns": answer.changes,
                "error": answer.error,
            }
            for cell in cells
            for one in cell.measured
            for answer in one.answers
        ]
    )
