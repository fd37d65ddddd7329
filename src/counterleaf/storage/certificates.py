"""Certificates as JSON and back: the question as the solver's arrays, the answers, and the parts that prove them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.decision import Decision, Range, decide
from counterleaf.model.ensembles.decision import ScoreDecision
from counterleaf.model.ensembles.ensemble_json import content_of
from counterleaf.model.tangents import Cut
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate, Findings, Status
from counterleaf.proof.compound import Compound
from counterleaf.proof.ensembles.certificate import EnsembleCertificate
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, Part, Parting
from counterleaf.question.arrays import Features, Question, Table
from counterleaf.question.splits import Margin, Splits, aim, prepare
from counterleaf.question.variables import Variables
from counterleaf.search.ensembles.region import region
from counterleaf.sparse import CSR
from counterleaf.storage.ensembles.models import EnsembleReader, goal_out
from counterleaf.storage.ensembles.proofs import proof_out
from counterleaf.storage.migrations import FEATURES
from counterleaf.strict_json import number_out, numbers_in, numbers_out
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_GUARD = 2.0**-16  # of its terms: the most that an answer may keep from a split
_MISFIT = "the answer's JSON has arrays that do not fit together; write it again with to_json"


AnyDecision = Decision | ScoreDecision


def model_out(decision: AnyDecision) -> dict[str, Any]:
    """Write the model of an answer: its tree, or its ensemble; all searches of an answer share it."""
    if isinstance(decision, ScoreDecision):
        return {"ensemble": content_of(decision.model)}
    return {"tree": json.loads(decision.model.to_json())}


def rounds_out(proof: Certificate | Compound, decision: AnyDecision, model: dict[str, Any]) -> dict[str, Any] | None:
    """Write the searches of a compound; each holds only the parts that differ from the first one. None for a single search."""
    if isinstance(proof, Certificate):
        return None
    first = certificate_out(proof.rounds[0][0], decision, model)
    rounds = []
    for one in proof.rounds:
        whole = [certificate_out(case, case.decision or decision, model) for case in one]
        claims = [{"status": str(case.status), "lower_bound": number_out(case.lower_bound)} for case in one]
        differing = [{name: value for name, value in case.items() if value != first[name]} for case in whole]
        rounds.append([{**claim, **case} for claim, case in zip(claims, differing, strict=True)])
    return {"apart": proof.apart, "count": proof.count, "rounds": rounds}


def rounds_in(content: dict[str, Any], first: dict[str, Any], reader: EnsembleReader) -> tuple[Compound, AnyDecision]:
    """Read a compound that ``rounds_out`` wrote."""
    apart, count, rounds = content["apart"], content["count"], []
    decision = None
    for one in content["rounds"]:
        cases = []
        for case in one:
            status, bound = Status(case["status"]), float(case["lower_bound"])
            certificate, made = certificate_in({**first, **case}, reader, status, bound)
            decision = decision or made
            cases.append(certificate)
        rounds.append(tuple(cases))
    whole = type(apart) is int and apart >= 0 and (count is None or (type(count) is int and count > 0))
    if not whole or decision is None or not all(rounds):
        raise CounterleafError(_MISFIT)
    return Compound(tuple(rounds), apart, count), decision


def certificate_out(certificate: Certificate, decision: AnyDecision, model: dict[str, Any]) -> dict[str, Any]:
    """Write the question as arrays, the answers and the parts of the proof.

    The tree is that of the model; the plain tree of the proof follows from it and from the goal. The cells of an ensemble are
    not written either.
    """
    if isinstance(decision.goal, Range) and decision.goal.rescale is not None:
        raise CounterleafError("an answer about a transformed target has no JSON; explain the model without its transform")
    if isinstance(certificate, EnsembleCertificate):
        goal = goal_out(certificate.decision)
        return {**model, **goal, **_question_out(certificate), "proofs": [proof_out(one) for one in certificate.proofs]}
    assert isinstance(decision, Decision)
    parts = [[node, _parts_out(part)] for node, part in sorted(certificate.parts().items())]
    return {**model, **_goal_out(certificate.problem.tree, decision), **_question_out(certificate), "parts": parts}


def _goal_out(tree: Tree, decision: Decision) -> dict[str, Any]:
    goal, reached = decision.goal, set(tree.value[tree.leaves].tolist())
    costs = sorted((label, cost) for label, cost in decision.target.items() if label in reached)
    if not isinstance(goal, Range) and tree is not decision.model:
        costs = list(goal.items())  # in this order, on which the plain tree depends
    return {
        "class_costs": costs,
        "range": [goal.output, number_out(goal.low), number_out(goal.high)] if isinstance(goal, Range) else None,
        "tangents": [
            [leaf, [[[c, list(at)] for c, at in cut] for cut in cuts]] for leaf, cuts in sorted(decision.cuts.items())
        ],
        **({"closed": sorted(decision.closed)} if decision.closed else {}),
    }


def _question_out(certificate: Certificate) -> dict[str, Any]:
    """Write the parts of a certificate that do not depend on the kind of model."""
    problem, found = certificate.problem, certificate.findings
    q, n = problem.question, len(problem.question.nodes)
    start = int(q.indptr[n])
    tangent_curve = np.zeros(problem.tree.n_features) if q.tangent_curve is None else q.tangent_curve
    return {
        "margin": problem.splits.margin,
        "guard": q.guard,
        "features": {name: numbers_out(line) for name, line in zip(FEATURES, (*q.features, tangent_curve), strict=True)},
        "rows": {
            "indptr": (q.indptr[n:] - start).tolist(),
            "indices": q.indices[start:].tolist(),
            "data": q.data[start:].tolist(),
            "bias": q.bias[n:].tolist(),
            "equal": q.equal,
            "widened": q.widened,
        },
        "coupling": None
        if q.matrix is None
        else [line.tolist() for line in (q.matrix.indptr, q.matrix.indices, q.matrix.data)],
        "among": None if certificate.pool is None else certificate.pool.tolist(),
        "leaves": found.leaves.tolist(),
        "points": found.points.tolist(),
        "costs": numbers_out(found.costs),
        "bounds": numbers_out(found.bounds),
        "table": None if problem.table is None else _table_out(problem.table),
    }


def _table_out(table: Table) -> dict[str, Any]:
    boxes = [table.where.tolist(), numbers_out(table.lower), numbers_out(table.upper)]
    limits = [[np.flatnonzero(line).tolist(), most] for line, most in zip(table.members, table.most.tolist(), strict=True)]
    charges = table.charges.tolist() if table.charges.any() else []
    return {"change_limits": limits, "charges": charges, "clauses": table.clauses.tolist(), "boxes": boxes}


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


def certificate_in(
    content: dict[str, Any], reader: EnsembleReader, status: Status, lower_bound: float
) -> tuple[Certificate, AnyDecision]:
    """Read a certificate and the plain tree, or the ensemble, that it is about.

    The arrays are checked for shapes, ranges and NaN; ``Certificate.check`` judges the proof.
    """
    if "ensemble" in content:
        return _ensemble_in(content, reader, status, lower_bound)
    decision, schema = _decision_in(content), reader.schema
    tree = decision.tree
    if schema.width != tree.n_features:
        raise CounterleafError(
            f"the answer's JSON has {schema.width} columns for a tree of {tree.n_features}; write it again with to_json"
        )
    splits = prepare(tree, _margin_in(content["margin"], schema), reader.variables, decision.sums)
    nodes = aim(tree, splits, decision.target, decision.closed_nodes)
    problem, findings, pool = _posed_in(content, reader, splits, nodes, tree, (status, lower_bound))
    parts = {int(node): _parts_in(int(node), part) for node, part in content["parts"]}
    if not all(0 <= node < tree.n_nodes for node in parts):
        raise CounterleafError(_MISFIT)
    made = decision if tree is not decision.model else None
    return Certificate(problem, findings, pool, parts, made), decision


def _ensemble_in(
    content: dict[str, Any], reader: EnsembleReader, status: Status, lower_bound: float
) -> tuple[EnsembleCertificate, ScoreDecision]:
    """Read a certificate about an ensemble; its question is one about a tree with a single leaf."""
    decision, tree, margin = reader.decision(content), reader.stump, _margin_in(content["margin"], reader.schema)
    splits = prepare(tree, margin, reader.variables)
    posed = _posed_in(content, reader, splits, aim(tree, splits, {0: 0.0}), tree, (status, lower_bound))
    problem, findings, pool = posed
    forest = reader.forest(decision, margin)
    proofs, around = reader.proofs(content, forest), region if pool is None else None
    return EnsembleCertificate(problem, findings, pool, None, decision, forest, proofs, region=around), decision


def _posed_in(
    content: dict[str, Any], reader: EnsembleReader, splits: Splits, nodes: Array, tree: Tree, claim: tuple[Status, float]
) -> tuple[Problem, Findings, Array | None]:
    """Read the question, the claims and the rows of ``among``."""
    if not 0 <= float(content["guard"]) <= _GUARD or (content["table"] is None and not reader.schema.plain):
        raise CounterleafError(_MISFIT)
    findings = _findings_in(content, tree, *claim)
    question = _question_in(content, tree, splits, nodes)
    table = None if content["table"] is None else _table_in(content["table"], reader.variables, question.features.source)
    pool = None if content["among"] is None else _points(content["among"], tree.n_features)
    return Problem(tree, splits, lambda: (question, table)), findings, pool


def _margin_in(content: Any, schema: Schema) -> Margin:
    """Read a margin: one number, or one per feature."""
    values = numbers_in(content if isinstance(content, list) else [content])
    if not ((values >= 0) & (values < math.inf)).all() or (isinstance(content, list) and len(values) != len(schema)):
        raise CounterleafError(_MISFIT)
    return tuple(values.tolist()) if isinstance(content, list) else float(values[0])


def _decision_in(content: dict[str, Any]) -> Decision:
    """Build the plain tree from the model's tree and the goal."""
    tree, span = Tree.from_json(json.dumps(content["tree"])), content["range"]
    closed = frozenset(_whole(content.get("closed", [])).tolist())
    if not closed <= set(tree.leaves.tolist()):
        raise CounterleafError(_MISFIT)
    if span is None:
        goal = {int(label): float(cost) for label, cost in content["class_costs"]}
        if not all(0 <= label < len(tree.classes) for label in goal) or not np.isfinite(list(goal.values())).all():
            raise CounterleafError(_MISFIT)
        return decide(tree, goal, closed=closed)
    output, low, high = span[0], float(span[1]), float(span[2])
    if type(output) is not int or not -1 <= output < len(tree.classes) or tree.outputs is None or not low <= high:
        raise CounterleafError(_MISFIT)
    if (output < 0) != tree.is_regression or tree.outputs.kind == "score":
        raise CounterleafError(_MISFIT)
    cuts = {leaf: tuple(map(_cut_in, entries)) for leaf, entries in content["tangents"]}
    for leaf, entries in cuts.items():
        points = [at for cut in entries for _, at in cut]
        fits = type(leaf) is int and 0 <= leaf < tree.n_nodes and all(len(at) == tree.outputs.count for at in points)
        if not fits or not np.isfinite(points).all() or not all(0 < c < math.inf for cut in entries for c, _ in cut):
            raise CounterleafError(_MISFIT)
    return decide(tree, Range(output, low, high), cuts, closed)


def _cut_out(cut: Cut) -> list[Any]:
    return [[share, list(at)] for share, at in cut]


def _cut_in(entry: list[Any]) -> Cut:
    return tuple((float(share), tuple(numbers_in(at).tolist())) for share, at in entry)


def _findings_in(content: dict[str, Any], tree: Tree, status: Status, lower_bound: float) -> Findings:
    points, leaves = _points(content["points"], tree.n_features), _whole(content["leaves"])
    costs, bounds = numbers_in(content["costs"]), numbers_in(content["bounds"])
    sound = (
        len(leaves) == len(points) == len(costs) == len(bounds)
        and not np.isnan(np.concatenate([costs, bounds, [lower_bound]])).any()
        and ((leaves >= 0) & (leaves < tree.n_nodes)).all()
    )
    if not sound:
        raise CounterleafError(_MISFIT)
    return Findings(status, leaves, costs, bounds, points, lower_bound)


def _question_in(content: dict[str, Any], tree: Tree, splits: Splits, nodes: Array) -> Question:
    rows = content["rows"]
    size = tree.n_features
    features = np.array([numbers_in(content["features"][name]) for name in FEATURES])
    bias, equal = numbers_in(rows["bias"]), int(rows["equal"])
    limits = CSR(_whole(rows["indptr"]), _whole(rows["indices"]), numbers_in(rows["data"]), (len(bias), size))
    sound = (
        features.shape == (len(FEATURES), size)
        and np.isfinite(features[[0, 3, 4, 5, 6, 7]]).all()
        and not np.isnan(features).any()
        and (features[7] >= 0).all()
        and np.isfinite(bias).all()
        and np.isfinite(limits.data).all()
        and 0 <= equal <= len(bias)
    )
    if not sound:
        raise CounterleafError(_MISFIT)
    matrix, w = None, tree.weights
    if content["coupling"] is not None:
        indptr, indices, data = content["coupling"]
        matrix = CSR(_whole(indptr), _whole(indices), numbers_in(data), (size, size))
    return Question(
        nodes=nodes,
        indptr=np.concatenate([w.indptr, w.indptr[-1] + limits.indptr[1:]]),
        indices=np.concatenate([w.indices, limits.indices]),
        data=np.concatenate([w.data, limits.data]),
        bias=np.concatenate([tree.bias, bias]),
        features=Features(*features[:7]),
        equal=equal,
        margins=splits.margins,
        guard=float(content["guard"]),
        right_closed=tree.closed == "right",
        narrow=tree.dtype == "float32",
        widened=bool(rows["widened"]),
        matrix=matrix,
        tangent_curve=None if matrix is None else features[7],
    )


def _points(rows: list[Any], width: int) -> Array:
    """Read rows of finite numbers."""
    if not all(len(row) == width for row in rows):
        raise ValueError(f"a row that does not have {width} numbers")
    out = np.array([numbers_in(row) for row in rows]).reshape(-1, width)
    if not np.isfinite(out).all():
        raise ValueError("a row that is not finite")
    return out


def _whole(values: list[Any]) -> Array:
    """Read whole numbers."""
    if not all(type(value) is int for value in values):
        raise ValueError("a value that is not a whole number")
    return np.array(values, np.int64)


def _table_in(content: dict[str, Any], variables: Variables, source: Array) -> Table:
    clauses = np.array([_whole(line) for line in content["clauses"]], np.int64).reshape(-1, 3)
    columns, lower, upper = content["boxes"]
    where, lower, upper = _whole(columns), numbers_in(lower), numbers_in(upper)
    sound = (
        where.shape == lower.shape == upper.shape
        and ((where >= 0) & (where < len(source))).all()
        and not (np.isnan(lower) | np.isnan(upper)).any()
        and (np.diff(clauses, prepend=0, append=len(where)) >= 0).all()
    )
    if not sound:
        raise CounterleafError("the answer's JSON has clauses that do not fit together; write it again with to_json")
    source_values = variables.values_of(source)
    if not (source[source_values] == 1).all() or not np.isin(source[variables.group >= 0], (0, 1)).all():
        raise CounterleafError("the answer's JSON has a row without a value for some category; write it again with to_json")
    return variables.table(source_values, _changes_in(content, variables), clauses, (where, lower, upper))


def _changes_in(content: dict[str, Any], variables: Variables) -> tuple[Array, Array, Array]:
    """Read the limits on changes and the charges."""
    count, limits = variables.count, content["change_limits"]
    members, most = np.zeros((len(limits), count), bool), _whole([one for _, one in limits])
    for line, (features, _) in zip(members, limits, strict=True):
        places = _whole(features)
        if not ((places >= 0) & (places < count)).all():
            raise CounterleafError(_MISFIT)
        line[places] = True
    charges = numbers_in(content["charges"]) if content["charges"] else np.zeros(count)
    if (most < 0).any() or charges.shape != (count,) or not (np.isfinite(charges) & (charges >= 0)).all():
        raise CounterleafError(_MISFIT)
    return members, most, charges
