"""The claims of searches as JSON and back: the answers, the bounds, and the parts that prove them."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.decision import Cut
from counterleaf.packed_arrays import Unpacker
from counterleaf.proof.certificate import Findings, Status
from counterleaf.proof.walk import Fork, Part, Parting
from counterleaf.question.cells import CellForest
from counterleaf.storage.ensembles.proofs import proof_in, proof_out
from counterleaf.storage.problems import Claim, Claims
from counterleaf.strict_json import number_out, numbers_in, numbers_out
from counterleaf.types import Array

_MISFIT = "the answer's JSON has arrays that do not fit together; write it again with to_json"


def claims_out(claims: Claims, of_ensemble: bool, single: bool) -> dict[str, Any]:
    """Write the first claim, and all of them by round and case; each of these has only what differs from the first one."""
    whole = [[_claim_out(claim, of_ensemble) for claim in one] for one in claims]
    first = whole[0][0]
    if single:
        return {"certificate": first, "rounds": None}
    rounds = [
        [
            {
                "status": str(claim.findings.status),
                "lower_bound": number_out(claim.findings.lower_bound),
                **{name: value for name, value in part.items() if value != first[name]},
            }
            for claim, part in zip(one, parts, strict=True)
        ]
        for one, parts in zip(claims, whole, strict=True)
    ]
    return {"certificate": first, "rounds": rounds}


def claims_in(content: dict[str, Any], forest: CellForest | None, unpacker: Unpacker) -> list[list[Claim]]:
    """Read claims. The arrays are checked for shapes, ranges and NaN; ``Certificate.check`` judges the proof."""
    first, rounds = content["certificate"], content["rounds"]
    if rounds is None:
        rounds = [[{"status": content["status"], "lower_bound": content["lower_bound"]}]]
    return [[_claim_in({**first, **one}, forest, unpacker) for one in cases] for cases in rounds]


def _claim_out(claim: Claim, of_ensemble: bool) -> dict[str, Any]:
    found = claim.findings
    shared = {
        "leaves": found.leaves.tolist(),
        "points": found.points.tolist(),
        "costs": numbers_out(found.costs),
        "bounds": numbers_out(found.bounds),
    }
    if of_ensemble:
        return {**shared, "proofs": [proof_out(one) for one in claim.proofs]}
    return {
        **shared,
        "guard": claim.guard,
        "widened": claim.widened,
        "tangents": [[leaf, [[[c, list(at)] for c, at in cut] for cut in cuts]] for leaf, cuts in sorted(claim.cuts.items())],
        "parts": [[node, _parts_out(part)] for node, part in sorted(claim.parts.items())],
    }


def _claim_in(content: dict[str, Any], forest: CellForest | None, unpacker: Unpacker) -> Claim:
    findings = _findings_in(content)
    if forest is not None:
        return Claim(findings, proofs=tuple(proof_in(one, forest, unpacker) for one in content["proofs"]))
    parts = {int(node): _parts_in(int(node), part) for node, part in content["parts"]}
    cuts = {leaf: tuple(map(_cut_in, entries)) for leaf, entries in content["tangents"]}
    guard, widened = content["guard"], content["widened"]
    if type(guard) is not float or type(widened) is not bool or not all(type(leaf) is int for leaf in cuts):
        raise CounterleafError(_MISFIT)
    return Claim(findings, parts, (), cuts, guard, widened)


def _findings_in(content: dict[str, Any]) -> Findings:
    status, lower_bound = Status(content["status"]), float(content["lower_bound"])
    points, leaves = _points(content["points"]), _whole(content["leaves"])
    costs, bounds = numbers_in(content["costs"]), numbers_in(content["bounds"])
    together = np.concatenate([costs, bounds, [lower_bound]])
    if not len(leaves) == len(points) == len(costs) == len(bounds) or np.isnan(together).any():
        raise CounterleafError(_MISFIT)
    return Findings(status, leaves, costs, bounds, points, lower_bound)


def _parts_out(part: Part | Fork) -> list[Any]:
    """Write a part, or the forks and parts of a leaf in preorder: each fork before its two sides."""
    out, stack = [], [part]
    while stack:
        at = stack.pop()
        if isinstance(at, Part):
            divisor = [number_out(at.divisor)] if at.divisor else []
            out.append([numbers_out(at.lam), divisor, at.empty, numbers_out(at.tangent)])
        else:
            out.append([int(at.parting), at.index, *map(number_out, at.cuts)])
            stack += [at.high, at.low]
    return out


def _parts_in(node: int, entries: list[Any]) -> Part | Fork:
    """Read a part, or a tree of forks and parts, from its list in preorder."""
    stack: list[Part | Fork] = []
    for entry in reversed(entries):
        if isinstance(entry[0], list):
            multipliers, divisor, empty, tangent = entry
            (by,) = numbers_in(divisor).tolist() or (0.0,)
            stack.append(Part(node, numbers_in(multipliers), bool(empty), numbers_in(tangent), by))
        else:
            parting, index, low, high = entry
            stack.append(Fork(Parting(int(parting)), int(index), (float(low), float(high)), stack.pop(), stack.pop()))
    (part,) = stack
    return part


def _cut_in(entry: list[Any]) -> Cut:
    return tuple((float(share), tuple(numbers_in(at).tolist())) for share, at in entry)


def _points(rows: list[Any]) -> Array:
    """Read rows of finite numbers, all of the same length."""
    out = np.array([numbers_in(row) for row in rows], float)
    if not np.isfinite(out).all():
        raise ValueError("a row that is not finite")
    return out


def _whole(values: list[Any]) -> Array:
    """Read whole numbers."""
    if not all(type(value) is int for value in values):
        raise ValueError("a value that is not a whole number")
    return np.array(values, np.int64)
