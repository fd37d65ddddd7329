"""One answer of an audit, compared with an explanation of the same row and with the proof that is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.batch.arrow.step import ArrowStep
from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.question.constraints.bounds import fix, freeze
from counterleaf.question.query import Probability
from counterleaf.storage.explanations import reread
from counterleaf.storage.grounds import ground_of
from counterleaf.table.arrow.output import NEW
from counterleaf.table.features import Numeric
from counterleaf.types import is_missing

_TOLERANCE = 1e-9  # of a bound above a cost


def check_row(
    step: ArrowStep,
    row: dict[str, Any],
    fresh: Explanation | CounterleafError,
    lines: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> str:
    """Check the proof of a row that was explained again, and return how the audit differs, "" if it does not.

    If a limit ended one of the two searches, the answers may differ; then their costs and bounds must be consistent, and the
    answer of the audit must be valid.
    """
    line, again = lines
    kept = different_cell(line, again, () if step.keep is None else step.keep.names)
    if kept or isinstance(fresh, CounterleafError) or "invalid" in (line["status"], again["status"]):
        return kept or different_cell(line, again)
    failure = check_proof(fresh)
    if step.is_limited and "limit" in (line["status"], again["status"]):
        return failure or _contradiction(step, row, again, line)
    if not step.is_limited or str(fresh.status) != "limit":
        failure = failure or difference(fresh, line)
    return failure or different_cell(line, again)


def different_cell(line: Mapping[str, Any], again: Mapping[str, Any], names: Iterable[str] | None = None) -> str:
    """Return how a line of an audit differs from the same line computed again, "" if it does not."""
    for name in again if names is None else names:
        if repr(line[name]) != repr(again[name]):  # numbers with other bits are written differently
            return f"{name} is {brief(line[name])} in the audit; computed again, it is {brief(again[name])}"
    return ""


def _contradiction(step: ArrowStep, row: dict[str, Any], again: Mapping[str, Any], line: Mapping[str, Any]) -> str:
    """Return why two answers for a row cannot both be true, "" if they can; a limit ended at least one search."""
    if line["status"] not in ("optimal", "infeasible", "limit") or line["source_label"] != again["source_label"]:
        name = "status" if line["source_label"] == again["source_label"] else "source_label"
        return different_cell(line, again, [name])
    for one, other in ((line, again), (again, line), (line, line)):
        if one["status"] == "infeasible" and other["cost"] is not None:
            return f"the status is {brief(line['status'])} in the audit; computed again, it is {brief(again['status'])}"
        if _exceeds(one["lower_bound"], other["cost"]):
            return (
                f"cost and lower_bound are {brief(line['cost'])} and {brief(line['lower_bound'])} in the audit, which "
                f"contradicts {brief(again['cost'])} and {brief(again['lower_bound'])}, computed again"
            )
    if line["cost"] is None:
        names = [name for name in step.answers.names if name not in ("status", "lower_bound", "source_label")]
        return different_cell(line, dict.fromkeys(names))
    return "" if line.get("removed") else _invalid(step, row, line)


def _exceeds(bound: float | None, cost: float | None) -> bool:
    return bound is not None and cost is not None and not bound <= cost + _TOLERANCE * max(1.0, abs(cost))


def _invalid(step: ArrowStep, row: dict[str, Any], line: Mapping[str, Any]) -> str:
    """Return why the answer of a line does not reach the target at its cost within the constraints, "" if it does."""
    new = {name: line[NEW.format(name)] for name in step.explainer.schema.names}
    fixed = [freeze(name) if value is None else fix(name, value) for name, value in new.items()]
    question = replace(step.question, constraints=[*step.question.constraints, *fixed], time_limit=None, max_nodes=None)
    try:
        found = step.explainer.explain(row, question)
    except CounterleafError as error:
        return f"the answer is not valid: {error}"
    if not len(found):
        return "the answer does not reach the target within the constraints"
    if _exceeds(found[0].cost, line["cost"]) or _exceeds(line["cost"], found[0].cost):
        return f"cost is {brief(line['cost'])} in the audit; the answer costs {brief(found[0].cost)}"
    names = [name for name in ("label", "n_changed", "confirmed", "probability", *map(NEW.format, new)) if name in line]
    return _differing(_line_of(found), line, names)


def check_proof(answer: Explanation) -> str:
    """Return what is wrong with the proof of an answer, or ""."""
    try:
        return "" if answer.certificate.check() else "the proof does not hold"
    except Exception as error:  # a proof may contain anything
        return f"the proof cannot be checked ({type(error).__name__}: {flat(error)})"


def check_kept(step: ArrowStep, text: str, row: dict[str, Any] | None, answer: Mapping[str, Any]) -> str:
    """Return what is wrong with a proof that was kept, or ""."""
    try:
        kept = Explanation.from_json(text)
    except CounterleafError as error:
        return str(error)
    failure = check_proof(kept)
    if failure:
        return failure
    if kept.question != step.question:
        return "the proof is about another question"
    try:
        source = kept.source if row is None else row
        ground = ground_of(step.explainer, source, kept.question.support)
        values = zip(ground.schema.values(source), ground.schema.values(kept.source), strict=True)
        if not all(_alike(one, other) for one, other in values):
            return "the proof is about another row"
        again = reread(kept, ground)
    except CounterleafError as error:
        return f"the proof does not hold for the audit's model: {error}"
    failure = check_proof(again)
    return f"{failure} for the audit's model" if failure else difference(again, answer)


def difference(answer: Explanation, line: Mapping[str, Any]) -> str:
    """Return how a line of an audit differs from an explanation of its row, "" if it does not."""
    expected = _line_of(answer)
    return _differing(expected, line, [name for name in expected if name != "leaf" or not answer.schema.gaps])


def _line_of(answer: Explanation) -> dict[str, Any]:
    """Return the cells that an audit has about an explanation."""
    best = answer[0] if len(answer) else None
    expected: dict[str, Any] = {"status": str(answer.status), "source_label": answer.source_label}
    expected["lower_bound"] = answer.lower_bound if best is None else best.lower_bound
    names = ("cost", "label", "confirmed", "leaf")
    expected |= {name: None if best is None else getattr(best, name) for name in names}
    expected["n_changed"] = None if best is None else len(best.changes)
    for feature in answer.schema:
        new: Any = None if best is None or feature.name not in best.changes else best.changes[feature.name][1]
        is_number = isinstance(feature, Numeric) and not is_missing(new)
        expected[NEW.format(feature.name)] = float(new) if is_number else new
    if isinstance(answer.target, Probability):
        expected["probability"] = None if best is None else best.number
    if any(feature.missing == "allowed" for feature in answer.schema):
        gone = [name for name, (_, new) in best.changes.items() if is_missing(new)] if best is not None else []
        expected["removed"] = "; ".join(gone) or None
    return expected


def _differing(expected: Mapping[str, Any], line: Mapping[str, Any], names: Iterable[str]) -> str:
    for name in names:
        if name in expected and not _alike(line[name], expected[name]):
            return f"{name} is {brief(line[name])} in the audit; the proof has {brief(expected[name])}"
    return ""


def _alike(one: Any, other: Any) -> bool:
    """Whether two cells have the same value; numbers have the same bits."""
    if is_missing(one) or is_missing(other):
        return is_missing(one) and is_missing(other)
    if isinstance(one, (str, bool, np.bool_)) or isinstance(other, str):
        return str(one) == str(other)
    return bool(np.float64(one).tobytes() == np.float64(other).tobytes())
