"""An answer as JSON and back, with its proof, so that it can be checked elsewhere.

The file contains the question as the solver's arrays (tree, source, bounds, cost, rows), the answers, and the parts that
prove them. A digest reveals accidental changes; ``Certificate.check`` decides whether the claims are true. The labels that the
model returned and the conflicting constraints are a report: the file does not contain the model. The arrays of an ensemble and
of its proofs are compressed.

Files of versions 2 to 6 are read too, see ``migrations``.
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
from counterleaf.model.decision import Range
from counterleaf.model.ensembles.decision import ScoreDecision
from counterleaf.packed_arrays import Unpacker, dumps
from counterleaf.packed_arrays import plain as comparable
from counterleaf.proof.certificate import Certificate, Status
from counterleaf.proof.compound import Compound, avoided_by
from counterleaf.proof.ensembles.certificate import EnsembleCertificate
from counterleaf.question.arrays import ChangeLimit
from counterleaf.question.constraints.cases import cases
from counterleaf.question.constraints.kinds import Constraint, Near, Support
from counterleaf.question.query import Probability, Value, read_goal
from counterleaf.storage.certificates import AnyDecision, certificate_in, certificate_out, model_out, rounds_in, rounds_out
from counterleaf.storage.constraints import check_bounds, check_constraints, constraint_in, constraint_out
from counterleaf.storage.ensembles.models import EnsembleReader
from counterleaf.storage.migrations import STEPS, VERSION, migrate
from counterleaf.storage.schemas import schema_in, schema_out
from counterleaf.strict_json import loads, number_out, plain
from counterleaf.table.row_types import describe_row, restore_row
from counterleaf.table.schema import Schema

FORMAT = "counterleaf-explanation"
UNRECORDED = "not recorded, nor are the constraints (answer format version 2)"  # in place of the cost
_VERSIONS = (*STEPS, VERSION)
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
    if type(version) is not int or version not in _VERSIONS:
        raise CounterleafError(
            f"answer format version {brief(version)}; this counterleaf reads versions {_VERSIONS[0]} to {VERSION}: "
            f"explain the row again"
        )
    digest = content.pop("digest", None)
    try:
        if digest != _digest(content):
            raise CounterleafError(
                "the answer's JSON was changed after it was written: its digest differs; explain the row again"
            )
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries that receive garbled arrays
            content = migrate(content)
            unpacker = Unpacker(len(text), "the answer's JSON")
            answer = _explanation(content, unpacker)
            consistent = comparable(_content(answer)) == unpacker.digests(content)
    except CounterleafError as error:
        raise CounterleafError(_short(error)) from None
    except Exception as error:  # a garbled file can make the libraries below raise anything
        raise CounterleafError(
            f"the answer's JSON lacks or garbles a part ({type(error).__name__}: {_short(error)}); write it again with to_json"
        ) from None
    if not consistent:
        raise CounterleafError("the answer's JSON contradicts itself: it does not show what it proves; explain the row again")
    return _with_proved_bounds(answer) if version == 2 else answer


def _with_proved_bounds(answer: Explanation) -> Explanation:
    """The same answer with the bounds that today's check confirms, if there are such bounds.

    Version 2 claimed each bound as it was summed; the parts prove it less the rounding of that sum.
    """
    claimed = answer.certificate
    if not isinstance(claimed, Certificate) or claimed.check():
        return answer
    try:
        weakened = claimed.weakened()
    except Exception:  # parts that do not fit the tree; the claims stay as they are, without a proof
        return answer
    certificate = replace(weakened, findings=replace(weakened.findings, status=claimed.status))
    if not certificate.check():
        return answer
    confirmed = [one.confirmed for one in answer]
    rows = [one.row for one in answer]
    found = describe(certificate, answer.decision, answer.schema, answer.source, rows, confirmed)
    return replace(answer, maker=lambda: found, certificate=certificate, lower_bound=certificate.lower_bound)


def _short(error: Exception) -> str:
    """An error message as one short line."""
    line = flat(error)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _content(answer: Explanation) -> dict[str, Any]:
    source, model = answer.source_values, model_out(answer.decision)
    question = {"constraints": [constraint_out(one) for one in answer.constraints], "cost": str(answer.cost)}
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
        "question": None if answer.cost == UNRECORDED else question,
        "conflict": [constraint_out(one) for one in answer.conflict],
        "source_row": describe_row(answer.source),
        "schema": schema_out(answer.schema),
        "certificate": certificate_out(next(answer.certificate.searches()), answer.decision, model),
        "rounds": rounds_out(answer.certificate, answer.decision, model),
    }


def _target_out(target: Any) -> Any:
    if isinstance(target, tuple):
        return [plain(label) for label in target]
    ends = {
        name: None if end is None else number_out(end)
        for name, end in zip(_ENDS, (target.at_least, target.at_most), strict=True)
    }
    return {"probability": plain(target.label), **ends} if isinstance(target, Probability) else {"value": True, **ends}


def _target_in(content: Any, decision: AnyDecision) -> Any:
    """Read a target, and check that the proof is about it."""
    goal, labels = decision.goal, decision.model.classes.tolist()
    target: Any
    if isinstance(content, dict):
        low, high = (None if content[name] is None else float(content[name]) for name in _ENDS)
        if "value" in content:
            target = Value(low, high)
        else:
            target = Probability(next(label for label in labels if label == content["probability"]), low, high)
        if read_goal(target, decision.model, -1) == goal:
            return target
    else:
        target = tuple(label for wanted in content for label in labels if label == wanted)
        if not isinstance(goal, Range) and {labels[k] for k in goal} == set(_reached(target, labels, decision)):
            return target
    raise CounterleafError("the answer's JSON contradicts itself: the target is not that of the proof; explain the row again")


def _reached(target: tuple[Any, ...], labels: list[Any], decision: AnyDecision) -> tuple[Any, ...]:
    """The classes of a target that the proof has to be about: those that some leaf has, if leaves have classes."""
    if isinstance(decision, ScoreDecision) or decision.tree is not decision.model:
        return target
    found = decision.tree.value[decision.tree.leaves]
    return tuple(label for label in target if labels.index(label) in found)


def _proof_in(content: dict[str, Any], reader: EnsembleReader) -> tuple[Certificate | Compound, AnyDecision]:
    status, bound = Status(content["status"]), float(content["lower_bound"])
    if content["rounds"] is None:
        return certificate_in(content["certificate"], reader, status, bound)
    compound, decision = rounds_in(content["rounds"], content["certificate"], reader)
    if compound.status is not status or compound.lower_bound != bound:
        raise CounterleafError("the answer's JSON contradicts itself: its searches claim something else; explain the row again")
    return compound, decision


def _check_constraints(constraints: tuple[Constraint, ...], schema: Schema, proof: Certificate | Compound) -> None:
    """Refuse an answer if a search is not about one of the cases of the constraints, with the answers before it excluded."""
    singly = isinstance(next(proof.searches()), EnsembleCertificate)
    split = cases(constraints, schema, proof.problem.source, singly)
    rounds = proof.rounds if isinstance(proof, Compound) else ((proof,),)
    avoided: tuple[ChangeLimit, ...] = ()
    for at, one in enumerate(rounds):
        if len(one) != len(split):
            raise CounterleafError(
                "the answer's JSON contradicts itself: its proof has other cases than its constraints; explain the row again"
            )
        for case, certificate in zip(split, one, strict=True):
            check_constraints(case, schema, certificate, avoided)
        if isinstance(proof, Compound) and at < len(rounds) - 1:
            avoided = (*avoided, avoided_by(proof.problem, proof.answers[at].row, proof.apart))


def _explanation(content: dict[str, Any], unpacker: Unpacker) -> Explanation:
    schema = schema_in(content["schema"])
    certificate, decision = _proof_in(content, EnsembleReader(schema, unpacker))
    row = restore_row(content["source_row"])
    source = certificate.problem.source
    if not np.array_equal(schema.encode(row), source):
        raise CounterleafError(
            "the answer's JSON contradicts itself: the row is not the source of the proof; explain the row again"
        )
    rows = [schema.decode(claim.row, row) for claim in certificate.answers]
    confirmed = [bool(shown["confirmed"]) for shown in content["counterfactuals"]]
    found = describe(certificate, decision, schema, row, rows, confirmed)
    target = _target_in(content["target"], decision)
    constraints: tuple[Constraint, ...] = ()
    cost, question = UNRECORDED, content["question"]
    if question is None:
        for one in certificate.searches():
            check_bounds(schema, one)
    else:
        constraints, cost = tuple(map(constraint_in, question["constraints"])), str(question["cost"])
        _check_constraints(constraints, schema, certificate)
    if decision.closed and not any(isinstance(one, Support) for one in constraints):
        raise CounterleafError(
            "the answer's JSON contradicts itself: its proof leaves out leaves without support=; explain the row again"
        )
    return Explanation(
        status=certificate.status,
        maker=lambda: found,
        lower_bound=certificate.lower_bound,
        source=row,
        source_label=decision.labels(source[None])[0],
        target=target,
        schema=schema,
        certificate=certificate,
        decision=decision,
        conflict=tuple(map(constraint_in, content["conflict"])),
        constraints=constraints,
        cost=cost,
    )
