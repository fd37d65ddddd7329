"""One answer of an audit, compared with an explanation of the same row and with the proof that is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation
from counterleaf.batch.arrow.step import ArrowStep
from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.table.arrow.output import NEW
from counterleaf.table.features import Numeric
from counterleaf.types import is_missing

_FOUND = ("leaves", "points", "costs", "bounds", "parts", "proofs", "tangents", "status", "lower_bound")  # not the question
_POSED = ("target", "source", "question", "schema")


def check_row(step: ArrowStep, row: dict[str, Any], answer: Mapping[str, Any]) -> str:
    """Explain a row again, check the proof, and return how an answer of an audit differs, "" if it does not.

    Parameters
    ----------
    step : ArrowStep
        The question.
    row : dict
        The row as the inputs have it.
    answer : mapping
        The line of the audit about it.
    """
    try:
        fresh = step.explain(row)
    except CounterleafError as error:
        return "" if answer["status"] == "invalid" else f"the row cannot be explained again: {error}"
    return check_proof(fresh) or difference(fresh, answer)


def check_proof(answer: Explanation) -> str:
    """Return what is wrong with the proof of an answer, or ""."""
    try:
        return "" if answer.certificate.check() else "the proof does not hold"
    except Exception as error:  # a proof may contain anything
        return f"the proof cannot be checked ({type(error).__name__}: {flat(error)})"


def check_kept(step: ArrowStep, text: str, row: dict[str, Any] | None, answer: Mapping[str, Any]) -> str:
    """Return what is wrong with a proof that was kept, or "".

    Parameters
    ----------
    step : ArrowStep
        The question.
    text : str
        The proof.
    row : dict or None
        The row as the inputs have it; None if they are not at hand.
    answer : mapping
        The line of the audit about it.
    """
    try:
        kept = Explanation.from_json(text)
    except CounterleafError as error:
        return str(error)
    failure = check_proof(kept)
    if failure:
        return failure
    try:
        source = kept.source if row is None else row
        fresh = step.explain(source)
        same = _posed(text) == _posed(fresh.to_json())
    except CounterleafError as error:
        return f"the row cannot be explained again: {error}"
    if not same:
        what = "row, question or model" if row is not None else "question or model"
        return f"the proof is about another {what}"
    return difference(kept, answer)


def _posed(text: str) -> Any:
    """Return the question that an explanation's JSON proves: all that does not depend on the search."""
    content = json.loads(text)
    first, rounds = content["certificate"], content["rounds"]
    cases = [[{}]] if rounds is None else rounds["rounds"]
    searches = [[_question({**first, **case}) for case in one] for one in cases]
    whole = None if rounds is None else [rounds["apart"], rounds["count"]]
    return [{name: content[name] for name in _POSED}, whole, searches]


def _question(certificate: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in certificate.items() if name not in _FOUND}


def difference(answer: Explanation, line: Mapping[str, Any]) -> str:
    """Return how a line of an audit differs from an explanation of its row, "" if it does not."""
    if str(answer.status) == "limit" or line["status"] == "limit":
        return "" if str(answer.status) == line["status"] else _differs("status", line["status"], answer.status)
    best = answer[0] if len(answer) else None
    expected: dict[str, Any] = {"status": str(answer.status), "source_label": answer.source_label}
    expected["lower_bound"] = answer.lower_bound if best is None else best.lower_bound
    names = ("cost", "label", "confirmed", *(() if answer.schema.gaps else ("leaf",)))
    expected |= {name: None if best is None else getattr(best, name) for name in names}
    expected["n_changed"] = None if best is None else len(best.changes)
    for feature in answer.schema:
        new: Any = None if best is None or feature.name not in best.changes else best.changes[feature.name][1]
        is_number = isinstance(feature, Numeric) and not is_missing(new)
        expected[NEW.format(feature.name)] = float(new) if is_number else new
    for name, value in expected.items():
        if not _alike(line[name], value):
            return _differs(name, line[name], value)
    return ""


def _differs(name: str, found: Any, expected: Any) -> str:
    return f"{name} is {brief(found)} in the audit; the proof has {brief(expected)}"


def _alike(one: Any, other: Any) -> bool:
    """Whether two cells have the same value; numbers have the same bits."""
    if is_missing(one) or is_missing(other):
        return is_missing(one) and is_missing(other)
    if isinstance(one, (str, bool, np.bool_)) or isinstance(other, str):
        return str(one) == str(other)
    return bool(np.float64(one).tobytes() == np.float64(other).tobytes())
