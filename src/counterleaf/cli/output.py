"""Answers as people read them and as files hold them: a table, JSON lines with proofs, CSV or Parquet."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterleaf.answer import text as words
from counterleaf.answer.explanation import Explanation
from counterleaf.answer.text import Terms, apart, written
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import Status

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {"table": (".txt",), "json": (".jsonl", ".json"), "csv": (".csv", ".csv.gz", ".parquet")}
PROBLEM = "counterleaf-problem"  # the format of a line of JSON in place of an answer
_STILL = "already as wanted"
_KINDS = {  # of rows, by the status of their answer
    "optimal": "with an answer that is proved cheapest",
    "infeasible": "proved impossible",
    "limit": "stopped by the limit",
    "invalid": "that cannot be asked about",
}
_LONGEST = 100  # characters of what changes in a line of the table


@dataclass(frozen=True, slots=True)
class Reply:
    """What there is to say of one row: an answer, or why it could not be asked about."""

    row: Any  # its number or its name
    answer: Explanation | None
    problem: str = ""


def read_format(wanted: str | None, out: Path | None) -> str:
    """The format that was asked for, or that the suffix of the file says."""
    if wanted is not None and wanted not in FORMATS:
        raise CounterleafError(f"--format is {wanted!r}; expected table, json or csv")
    if out is None:
        return wanted or "table"
    fitting = [name for name, suffixes in FORMATS.items() if out.name.lower().endswith(suffixes)]
    if not fitting:
        known = [suffix for suffixes in FORMATS.values() for suffix in suffixes]
        raise CounterleafError(f"--out is {out}; expected a name that ends in {', '.join(known[:-1])} or {known[-1]}")
    if wanted is not None and wanted not in fitting:
        raise CounterleafError(f"--out is {out} and --format is {wanted}; expected a name that ends in {FORMATS[wanted][0]}")
    return fitting[0]


def text(answer: Explanation, model: Path) -> str:
    """One answer as ``print`` writes it, in the terms of a command that asked the tree in a file."""
    return words.text(answer, Terms(f"The tree in {model}", "--range sets others"))


def json_line(reply: Reply) -> str:
    """The answer with its proof, or the row's problem."""
    if reply.answer is not None:
        return reply.answer.to_json()
    return json.dumps({"format": PROBLEM, "row": reply.row, "problem": reply.problem}, default=str)


def table(replies: list[Reply], tally: Tally) -> str:
    """A line per answer and a summary."""
    lines = [["row", "model says", "would say", "cost", "if"]]
    for reply in replies:
        lines += _lines(reply)
    widths = [max(len(line[k]) for line in lines) for k in range(4)]
    rows = [
        "  ".join(
            [line[0].rjust(widths[0]), line[1].ljust(widths[1]), line[2].ljust(widths[2]), line[3].rjust(widths[3]), line[4]]
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*rows, "", str(tally)])


def _lines(reply: Reply) -> list[list[str]]:
    name, answer = str(reply.row), reply.answer
    if answer is None:
        return [[name, "", "", "", f"not asked: {reply.problem}"]]
    says = str(answer.source_label)
    if not len(answer):
        why = "no such row" if answer.status is Status.INFEASIBLE else "stopped before a row was found"
        held = f": {'; '.join(map(str, answer.conflict))}" if answer.conflict else ""
        return [[name, says, "-", "", why + held]]
    out = []
    for k, (one, cost) in enumerate(zip(answer, apart([one.cost for one in answer]), strict=True)):
        values = {answer.schema.names[d]: ends for d, ends in written(answer, k).items()}
        parts = [f"{feature} {old} -> {new}" for feature, (old, new) in values.items()]
        more = len(one.changes) - len(parts)
        told = ", ".join(parts + [f"{more} more"] * bool(more)) or "nothing has to change"
        shown = told if len(told) <= _LONGEST else f"{told[: _LONGEST - 3]}..."
        label = str(one.label) if one.confirmed else "NOT confirmed"
        out.append([name if not k else "", says if not k else "", label, cost, shown])
    return out


class Tally:
    """How many rows have an answer, and what it is worth."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self.answers = self.doubted = 0

    def add(self, reply: Reply) -> None:
        answer = reply.answer
        if answer is None:
            self.rows[_KINDS["invalid"]] += 1
            return
        still = answer.status is Status.OPTIMAL and not answer[0].changes
        self.rows[_STILL if still else _KINDS[str(answer.status)]] += 1
        self.answers += len(answer)
        self.doubted += sum(not one.confirmed for one in answer)

    @classmethod
    def of_frame(cls, found: pd.DataFrame) -> Tally:
        """Of a batch."""
        out = cls()
        still = (found["n_changed"] == 0).fillna(False) & (found["status"] == "optimal")
        for kind, count in found["status"][~still].value_counts().items():
            out.rows[_KINDS[str(kind)]] += count
        out.rows[_STILL] += int(still.sum())
        out.answers = int(found["label"].notna().sum())
        out.doubted = int((~found["confirmed"].fillna(True)).sum())
        return out

    @property
    def proved(self) -> bool:
        """Every row has an answer that nothing undercuts."""
        return set(+self.rows) <= {_STILL, _KINDS["optimal"]}

    def __str__(self) -> str:
        told = ", ".join(f"{self.rows[kind]:,} {kind}" for kind in (_STILL, *_KINDS.values()) if self.rows[kind])
        doubt = f" The tree does NOT confirm {self.doubted:,} of {self.answers:,}."
        said = "" if not self.answers else doubt if self.doubted else " The tree confirms every answer."
        count = self.rows.total()
        return f"{count:,} row{'s' * (count != 1)}: {told}.{said}"


def frame(replies: Iterable[Reply], features: list[str], name: str) -> pd.DataFrame:
    """A line per alternative: the row, which alternative, what was found, and all values; for a row without any, its status."""
    import pandas as pd

    fixed = [name, "rank", "status", "cost", "lower_bound", "leaf", "label", "n_changed", "confirmed"]
    check_names(features, [*fixed, "problem"])
    lines: list[dict[str, Any]] = []
    for reply in replies:
        answer = reply.answer
        if answer is None:
            lines.append({name: reply.row, "status": "invalid", "problem": reply.problem})
        elif not len(answer):
            lines.append({name: reply.row, "status": str(answer.status), "lower_bound": answer.lower_bound})
        else:
            lines += [
                {
                    name: reply.row,
                    "rank": k + 1,
                    "status": str(answer.status),
                    "cost": one.cost,
                    "lower_bound": one.lower_bound,
                    "leaf": one.leaf,
                    "label": one.label,
                    "n_changed": len(one.changes),
                    "confirmed": one.confirmed,
                    **{feature: one.changes.get(feature, (old, old))[1] for feature, old in answer.source_values.items()},
                }
                for k, one in enumerate(answer)
            ]
    problem = ["problem"] * any("problem" in line for line in lines)
    out = pd.DataFrame(lines, columns=[*fixed, *problem, *features], dtype=object)
    return out.apply(_typed)


def _typed(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column in the type of its values: whole numbers, and yes and no, stay what they are beside gaps."""
    kinds = {type(value) for value in column.dropna()}
    if kinds == {int}:
        return column.astype("Int64")
    return column.astype("boolean") if kinds == {bool} else column.infer_objects()


def check_names(features: Iterable[str], taken: Iterable[str]) -> None:
    """Refuse features that are called like the columns beside them."""
    both = sorted(set(features) & set(taken))
    if both:
        raise CounterleafError(f"features named {both} collide with the columns of the answers; use --format json")
