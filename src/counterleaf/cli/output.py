"""The output of answers: text, a table, JSON lines with proofs; CSV, Excel and Parquet are tables of a batch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterleaf.answer import text as words
from counterleaf.answer.explanation import Explanation
from counterleaf.answer.front import Front
from counterleaf.answer.text import Terms, apart, outcome, written
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import Status
from counterleaf.table.frames import Frame
from counterleaf.table.words import label_of

FORMATS = {
    "table": (".txt",),
    "json": (".jsonl", ".json"),
    "csv": (".csv", ".csv.gz", ".parquet"),
    "xlsx": (".xlsx",),
}
PROBLEM = "counterleaf-problem"  # the format of a JSON line for a row without an answer
_UNCHANGED = "already at the target"
_KINDS = {  # of rows, by the status of their answer
    "optimal": "with an answer that is proved cheapest",
    "infeasible": "proved impossible",
    "limit": "stopped by the limit",
    "invalid": "that cannot be explained",
}
_LONGEST = 100  # characters for the changes in a line of the table


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result for one row: an answer, or the reason why there is none."""

    row: Any  # its number or its identifier
    answer: Explanation | None
    problem: str = ""


def read_format(requested: str | None, out: Path | None) -> str:
    """The format of --format, or of the suffix of the output file."""
    if requested is not None and requested not in FORMATS:
        raise CounterleafError(f"--format is {requested!r}; expected table, json, csv or xlsx")
    if out is None:
        if requested == "xlsx":
            raise CounterleafError("--format is xlsx; expected --out with a name that ends in .xlsx")
        return requested or "table"
    fitting = [name for name, suffixes in FORMATS.items() if out.name.lower().endswith(suffixes)]
    if not fitting:
        known = [suffix for suffixes in FORMATS.values() for suffix in suffixes]
        raise CounterleafError(f"--out is {out}; expected a name that ends in {', '.join(known[:-1])} or {known[-1]}")
    if requested is not None and requested not in fitting:
        suffix = FORMATS[requested][0]
        raise CounterleafError(f"--out is {out} and --format is {requested}; expected a name that ends in {suffix}")
    return fitting[0]


def text(answer: Explanation, model: Path) -> str:
    """One answer as ``print`` shows it, in the terms of a command that queried the tree or the ensemble in a file."""
    return words.text(answer, terms(model, kind_of_model(answer.decision.model)))


def terms(model: Path, kind: str) -> Terms:
    """The terms of a command that queried the tree or the ensemble in a file."""
    return Terms(f"The {kind} in {model}", "--range sets others")


def kind_of_model(model: Any) -> str:
    """Return "tree" or "ensemble"."""
    return "tree" if model.is_one_tree else "ensemble"


def json_line(result: RowResult) -> str:
    """The answer with its proof, or the problem of the row."""
    if result.answer is not None:
        return result.answer.to_json()
    return json.dumps({"format": PROBLEM, "row": result.row, "problem": result.problem}, default=str)


def table(results: list[RowResult], summary: Summary) -> str:
    """One line per answer, and a summary."""
    lines = [["row", "model says", "would say", "cost", "if"]]
    for result in results:
        lines += _lines(result)
    widths = [max(len(line[k]) for line in lines) for k in range(4)]
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip("><<>", widths, strict=True))
    rows = [f"{form.format(*line)}  {line[4]}".rstrip() for line in lines]
    return "\n".join([*rows, "", str(summary)])


def _lines(result: RowResult) -> list[list[str]]:
    name, answer = str(result.row), result.answer
    if answer is None:
        return [[name, "", "", "", f"not explained: {result.problem}"]]
    label = outcome(answer)
    if not len(answer):
        reason = "no such row" if answer.status is Status.INFEASIBLE else "stopped before a row was found"
        conflict = f": {'; '.join(map(str, answer.conflict))}" if answer.conflict else ""
        return [[name, label, "-", "", reason + conflict]]
    out = []
    for k, (one, cost) in enumerate(zip(answer, apart([one.cost for one in answer]), strict=True)):
        features = answer.schema.features
        parts = [f"{label_of(features[d])} {old} -> {new}" for d, (old, new) in written(answer, k).items()]
        more = len(one.changes) - len(parts)
        changes = ", ".join(parts + [f"{more} more"] * bool(more)) or "nothing has to change"
        shown = changes if len(changes) <= _LONGEST else f"{changes[: _LONGEST - 3]}..."
        new_label = outcome(answer, one) if one.confirmed else "NOT confirmed"
        out.append([name if not k else "", label if not k else "", new_label, cost, shown])
    return out


class Summary:
    """Counts of rows by the kind of their answer, and of answers that the tree, or the ensemble, does not confirm."""

    def __init__(self, model: str) -> None:
        self.model = model  # "tree" or "ensemble"
        self.rows: Counter[str] = Counter()
        self.answers = self.unconfirmed = 0

    def add(self, answer: Explanation | Front | None) -> None:
        """Count one row: its answer, its front, whose status is that of all of it, or None if it cannot be explained."""
        if answer is None:
            self.rows[_KINDS["invalid"]] += 1
            return
        best = answer[-1 if isinstance(answer, Front) else 0] if answer.status is Status.OPTIMAL else None
        unchanged = best is not None and not best.changes and best.confirmed
        self.rows[_UNCHANGED if unchanged else _KINDS[str(answer.status)]] += 1
        self.answers += len(answer)
        self.unconfirmed += sum(not one.confirmed for one in answer)

    @classmethod
    def of_frame(cls, found: Frame, model: str) -> Summary:
        """The summary of a batch; a row with several answers is counted once."""
        out = cls(model)
        first = found["rank"].fillna(1) == 1 if "rank" in found else found["status"].notna()
        unchanged = first & (found["n_changed"] == 0).fillna(False) & (found["status"] == "optimal")
        unchanged &= found["confirmed"].fillna(False).astype(bool)
        for kind, count in found["status"][first & ~unchanged].value_counts().items():
            out.rows[_KINDS[str(kind)]] += count
        out.rows[_UNCHANGED] += int(unchanged.sum())
        out.answers = int(found["label"].notna().sum())
        out.unconfirmed = int((~found["confirmed"].fillna(True)).sum())
        return out

    @property
    def proved(self) -> bool:
        """Whether every row has an answer that is proved cheapest."""
        return set(+self.rows) <= {_UNCHANGED, _KINDS["optimal"]}

    def __str__(self) -> str:
        kinds = ", ".join(f"{self.rows[kind]:,} {kind}" for kind in (_UNCHANGED, *_KINDS.values()) if self.rows[kind])
        doubt = f" The {self.model} does NOT confirm {self.unconfirmed:,} of {self.answers:,}."
        confirmed = "" if not self.answers else doubt if self.unconfirmed else f" The {self.model} confirms every answer."
        count = self.rows.total()
        return f"{count:,} row{'s' * (count != 1)}: {kinds}.{confirmed}"


def check_names(features: Iterable[str], taken: Iterable[str]) -> None:
    """Refuse features with the names of output columns."""
    both = sorted(set(features) & set(taken))
    if both:
        raise CounterleafError(f"features named {both} collide with the columns of the answers; use --format json")
