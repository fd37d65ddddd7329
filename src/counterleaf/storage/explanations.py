"""An answer as JSON and back, with its proof, so that it can be checked elsewhere.

The file contains the model's trees and features, the row, the question, the answers, and the parts that prove them. Reading
poses the problems again, so that nothing about them is taken from the proof. A digest reveals accidental changes;
``Certificate.check`` decides whether the claims are true. The labels that the model returned and the conflicting constraints
are a report. The arrays of an ensemble and of its proofs are compressed.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation, describe
from counterleaf.errors import CounterleafError, brief, flat
from counterleaf.model.decision import Range, ScoreDecision
from counterleaf.packed_arrays import Unpacker, dumps
from counterleaf.packed_arrays import plain as comparable
from counterleaf.proof.certificate import Certificate
from counterleaf.proof.compound import Compound
from counterleaf.question.codec import constraint_in, constraint_out
from counterleaf.question.constraints.kinds import Constraint, Near, Support
from counterleaf.question.query import Probability, wanted
from counterleaf.question.question import Question
from counterleaf.storage.certificates import claims_in, claims_out
from counterleaf.storage.grounds import ground_in, ground_out
from counterleaf.storage.problems import AnyDecision, Ground, MisfitError, Poser, claims_of
from counterleaf.storage.schemas import types_in, types_out
from counterleaf.strict_json import loads, number_out, plain
from counterleaf.table.frames import is_frame
from counterleaf.table.row_types import describe_row, restore_row
from counterleaf.table.schema import Schema

FORMAT = "counterleaf-explanation"
VERSION = 8
_ENDS = ("at_least", "at_most")  # of the interval of a probability or value
_LONGEST = 300  # characters of an error message from a library that fails on a garbled file


def write(answer: Explanation) -> str:
    """The answer as JSON; numbers are read back bit for bit."""
    for one in answer.constraints:
        if isinstance(one, Near):
            raise CounterleafError(f"an answer with {one} has no JSON, which would hold all of these rows; pickle it instead")
    try:
        content = json.loads(dumps(_content(answer)))
        return json.dumps({**content, "digest": _digest(content)}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CounterleafError(
            f"the answer contains a value that JSON cannot represent ({error}); "
            f"expected rows, names and labels of plain numbers and text"
        ) from None


def read(text: str | bytes) -> Explanation:
    """The answer that ``write`` wrote; any other text is refused with the reason."""
    if not isinstance(text, (str, bytes)):
        raise CounterleafError(f"an answer is read from text; got a {type(text).__name__}: pass Path(file).read_text()")
    try:
        content = loads(text)
    except (ValueError, RecursionError) as error:
        raise CounterleafError(
            f"not a counterleaf answer: not valid JSON ({_short(error)}); pass the whole text of to_json, not a file name"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CounterleafError(f'not a counterleaf answer: expected an object with "format": "{FORMAT}"')
    version = content.get("version")
    if type(version) is not int or version != VERSION:
        raise CounterleafError(
            f"answer format version {brief(version)}; this counterleaf reads version {VERSION}: explain the row again"
        )
    digest = content.pop("digest", None)
    try:
        if digest != _digest(content):
            raise CounterleafError(
                "the answer's JSON was changed after it was written: its digest differs; explain the row again"
            )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries that receive garbled arrays
            unpacker = Unpacker(len(text), "the answer's JSON")
            answer = _explanation(content, unpacker)
            consistent = comparable(_content(answer)) == unpacker.digests(content)
    except MisfitError as error:
        raise CounterleafError(f"the answer's JSON contradicts itself: {_short(error)}; explain the row again") from None
    except CounterleafError as error:
        raise CounterleafError(_short(error)) from None
    except Exception as error:  # a garbled file can make the libraries below raise anything
        raise CounterleafError(
            f"the answer's JSON lacks or garbles a part ({type(error).__name__}: {_short(error)}); write it again with to_json"
        ) from None
    if not consistent:
        raise CounterleafError("the answer's JSON contradicts itself: it does not show what it proves; explain the row again")
    return answer


def _short(error: Exception) -> str:
    """An error message as one short line."""
    line = flat(error)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _content(answer: Explanation) -> dict[str, Any]:
    source, decision, proof = answer.source_values, answer.decision, answer.certificate
    if isinstance(decision.goal, Range) and decision.goal.rescale is not None:
        raise CounterleafError("an answer about a transformed target has no JSON; explain the model without its transform")
    ground = Ground(decision.model, answer.schema, answer.basis, decision.closed)
    return {
        "format": FORMAT,
        "version": VERSION,
        "status": str(answer.status),
        "lower_bound": number_out(answer.lower_bound),
        "source_label": plain(answer.source_label),
        "target": _target_out(answer.target),
        "source": {name: plain(value) for name, value in source.items()},
        "counterfactuals": [
            {
                "row": {name: plain(c.changes[name][1] if name in c.changes else old) for name, old in source.items()},
                "changes": {name: [plain(old), plain(new)] for name, (old, new) in c.changes.items()},
                "cost": number_out(c.cost),
                "lower_bound": number_out(c.lower_bound),
                "label": plain(c.label),
                "leaf": c.leaf,
                "confirmed": c.confirmed,
                "number": None if c.number is None else number_out(c.number),
            }
            for c in answer
        ],
        "question": json.loads(answer.question.to_json()),
        "conflict": [_conflict_out(one) for one in answer.conflict],
        "source_row": describe_row(answer.source),
        **({} if is_frame(answer.source) else types_out(answer.types)),
        "model": ground_out(ground),
        **claims_out(claims_of(proof, decision), isinstance(decision, ScoreDecision), isinstance(proof, Certificate)),
    }


def _conflict_out(one: Constraint) -> dict[str, Any]:
    return {"support": one.least} if isinstance(one, Support) else constraint_out(one)


def _conflict_in(content: dict[str, Any]) -> Constraint:
    if "support" in content:
        return Question(support=content["support"]).rules[0]
    found: Constraint = constraint_in(content, "a constraint of the conflict")
    return found


def _target_out(target: Any) -> Any:
    if isinstance(target, tuple):
        return [plain(label) for label in target]
    ends = {
        name: None if end is None else number_out(end)
        for name, end in zip(_ENDS, (target.at_least, target.at_most), strict=True)
    }
    return {"probability": plain(target.label), **ends} if isinstance(target, Probability) else {"value": True, **ends}


def _source_label(content: dict[str, Any], decision: AnyDecision, source: Any) -> Any:
    """Return the label of the source: that of the tree, or the other one that the model was recorded to say."""
    label, recorded = decision.labels(source[None])[0], content["source_label"]
    if plain(label) == recorded:
        return label
    if decision.model.is_regression:
        return float(recorded)
    return next(one for one in decision.model.classes.tolist() if plain(one) == recorded)


def _explanation(content: dict[str, Any], unpacker: Unpacker) -> Explanation:
    ground = ground_in(content["model"], unpacker)
    question = Question.from_json(json.dumps(content["question"]))
    if ground.closed and question.support is None:
        raise MisfitError("its model leaves out leaves without support=")
    row = restore_row(content["source_row"])
    poser = Poser(ground, question, ground.schema.encode(row))
    certificate, decision = poser.proof(claims_in(content, poser.forest, unpacker))
    confirmed = [bool(shown["confirmed"]) for shown in content["counterfactuals"]]
    return Explanation(
        status=certificate.status,
        maker=_maker(certificate, decision, ground.schema, row, confirmed),
        lower_bound=certificate.lower_bound,
        source=row,
        source_label=_source_label(content, decision, certificate.problem.source),
        target=wanted(question.target, decision),
        schema=ground.schema,
        certificate=certificate,
        decision=decision,
        conflict=tuple(map(_conflict_in, content["conflict"])),
        constraints=question.rules,
        cost=poser.cost,
        question=question,
        types=types_in(content),
        basis=ground.basis,
    )


def _maker(proof: Certificate | Compound, decision: AnyDecision, schema: Schema, row: Any, confirmed: list[bool]) -> Any:
    """The counterfactuals of a proof, which are described at once: a proof that does not fit the features fails here."""
    found = describe(proof, decision, schema, row, [schema.decode(claim.row, row) for claim in proof.answers], confirmed)
    return lambda: found


def reread(answer: Explanation, ground: Ground) -> Explanation:
    """Return an answer with the same proof, over the problems that its row and its question pose to another model.

    Parameters
    ----------
    answer : Explanation
        The answer.
    ground : Ground
        The model and the features; those of the answer do not matter.

    Returns
    -------
    Explanation
        The answer, whose ``certificate.check()`` decides whether the proof holds for that model.

    Raises
    ------
    CounterleafError
        If the row or the question does not fit the model, or the proof cannot be about it.
    """
    try:
        poser = Poser(ground, answer.question, ground.schema.encode(answer.source))
        certificate, decision = poser.proof(claims_of(answer.certificate, answer.decision))
        confirmed = [one.confirmed for one in answer]
        return replace(
            answer,
            status=certificate.status,
            maker=_maker(certificate, decision, ground.schema, answer.source, confirmed),
            lower_bound=certificate.lower_bound,
            target=wanted(answer.question.target, decision),
            schema=ground.schema,
            certificate=certificate,
            decision=decision,
            cost=poser.cost,
            basis=ground.basis,
        )
    except CounterleafError:
        raise
    except Exception as error:  # a proof about another model can make the libraries below raise anything
        raise MisfitError(f"{type(error).__name__}: {_short(error)}") from None
