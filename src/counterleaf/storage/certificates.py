"""Certificates in JSON, and back: the question as the solver saw it, the answers, and the parts that prove them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate, Findings, Status
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, Part, Parting
from counterleaf.question.arrays import Features, Question, Table
from counterleaf.question.splits import aim, prepare
from counterleaf.question.variables import Variables
from counterleaf.sparse import CSR
from counterleaf.strict_json import number_out, numbers_in, numbers_out
from counterleaf.table.schema import Schema
from counterleaf.types import Array


def certificate_out(certificate: Certificate) -> dict[str, Any]:
    problem, found = certificate.problem, certificate.findings
    q, n = problem.question, len(problem.question.nodes)
    start = int(q.indptr[n])
    below, tree = q.nodes["below"], problem.tree
    leaves = [int(leaf) for leaf in tree.leaves if math.isfinite(below[leaf])]
    curve = np.zeros(tree.n_features) if q.tangent_curve is None else q.tangent_curve
    return {
        "tree": json.loads(tree.to_json()),
        "class_costs": sorted({(int(tree.value[leaf]), float(below[leaf])) for leaf in leaves}),
        "margin": q.margin,
        "features": [numbers_out(line) for line in (*q.features, curve, problem.references[1])],
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
        "parts": [[node, _parts_out(part)] for node, part in sorted(certificate.parts().items())],
    }


def _table_out(table: Table) -> dict[str, Any]:
    boxes = [table.where.tolist(), numbers_out(table.lower), numbers_out(table.upper)]
    return {"most": table.max_changes, "clauses": table.clauses.tolist(), "boxes": boxes}


def _parts_out(part: Part | Fork) -> list[Any]:
    """A part, or the forks and parts of a leaf, each fork before its two sides."""
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


def _parts_in(node: int, given: list[Any]) -> Part | Fork:
    made: list[Part | Fork] = []
    for entry in reversed(given):
        if isinstance(entry[0], list):
            lam, divisor, empty, tangent = entry
            (by,) = numbers_in(divisor).tolist() or (0.0,)
            made.append(Part(node, numbers_in(lam), bool(empty), numbers_in(tangent), by))
        else:
            parting, index, low, high = entry
            made.append(Fork(Parting(int(parting)), int(index), (float(low), float(high)), made.pop(), made.pop()))
    (part,) = made
    return part


def certificate_in(given: dict[str, Any], schema: Schema, status: Status, least: float) -> Certificate:
    tree = Tree.from_json(json.dumps(given["tree"]))
    margin, D, n = float(given["margin"]), tree.n_features, tree.n_nodes
    variables = Variables.of(schema)
    if schema.width != D:
        raise CounterleafError(f"the answer's JSON has {schema.width} columns for a tree of {D}; write it again with to_json")
    features = np.array([[float(v) for v in line] for line in given["features"]])
    indptr, indices, data = (given["rows"][name] for name in ("indptr", "indices", "data"))
    rows = CSR(_whole(indptr), _whole(indices), numbers_in(data), (len(given["rows"]["bias"]), D))
    bias, equal = numbers_in(given["rows"]["bias"]), int(given["rows"]["equal"])
    points, leaves = _points(given["points"], D), _whole(given["leaves"])
    costs, bounds = numbers_in(given["costs"]), numbers_in(given["bounds"])
    parts = {int(node): _parts_in(int(node), part) for node, part in given["parts"]}
    sound = (
        features.shape == (9, D)
        and np.isfinite(features[[0, 3, 4, 5, 6, 7]]).all()
        and not np.isnan(features).any()
        and (features[7] >= 0).all()
        and 0 <= margin < math.inf
        and np.isfinite(bias).all()
        and np.isfinite(rows.data).all()
        and 0 <= equal <= len(bias)
        and len(leaves) == len(points) == len(costs) == len(bounds)
        and not np.isnan(np.concatenate([costs, bounds, [least]])).any()
        and all(0 <= node < n for node in [*leaves.tolist(), *parts])
        and (given["table"] is not None or schema.plain)
    )
    if not sound:
        raise CounterleafError("the answer's JSON has arrays that do not fit together; write it again with to_json")
    splits, w = prepare(tree, margin, variables), tree.weights
    nodes = aim(tree, splits, {int(k): float(cost) for k, cost in given["class_costs"]})
    matrix = None
    if given["coupling"] is not None:
        indptr, indices, data = given["coupling"]
        matrix = CSR(_whole(indptr), _whole(indices), numbers_in(data), (D, D))
    question = Question(
        nodes=nodes,
        indptr=np.concatenate([w.indptr, w.indptr[-1] + rows.indptr[1:]]),
        indices=np.concatenate([w.indices, rows.indices]),
        data=np.concatenate([w.data, rows.data]),
        bias=np.concatenate([tree.bias, bias]),
        features=Features(*features[:7]),
        equal=equal,
        margin=margin,
        right_closed=tree.closed == "right",
        narrow=tree.dtype == "float32",
        widened=bool(given["rows"]["widened"]),
        matrix=matrix,
        tangent_curve=None if matrix is None else features[7],
    )
    table = None if given["table"] is None else _table_in(given["table"], variables, features[0])
    pool = None if given["among"] is None else _points(given["among"], D)
    problem = Problem(tree, splits, lambda: (question, table))
    return Certificate(problem, Findings(status, leaves, costs, bounds, points, least), pool, parts)


def _points(given: list[Any], width: int) -> Array:
    """Rows of finite numbers."""
    if not all(len(row) == width for row in given):
        raise ValueError(f"rows that have not {width} numbers")
    out = np.array([numbers_in(row) for row in given]).reshape(-1, width)
    if not np.isfinite(out).all():
        raise ValueError("a row that is not finite")
    return out


def _whole(given: list[Any]) -> Array:
    """Whole numbers."""
    if not all(type(one) is int for one in given):
        raise ValueError("something that is no whole number")
    return np.array(given, np.int64)


def _table_in(given: dict[str, Any], variables: Variables, source: Array) -> Table:
    clauses = np.array([_whole(line) for line in given["clauses"]], np.int64).reshape(-1, 3)
    where, lower, upper = _whole(given["boxes"][0]), numbers_in(given["boxes"][1]), numbers_in(given["boxes"][2])
    sound = (
        where.shape == lower.shape == upper.shape
        and ((where >= 0) & (where < len(source))).all()
        and not (np.isnan(lower) | np.isnan(upper)).any()
        and (np.diff(clauses, prepend=0, append=len(where)) >= 0).all()
    )
    if not sound:
        raise CounterleafError("the answer's JSON has clauses that do not fit together; write it again with to_json")
    values = variables.values_of(source)
    if not (source[values] == 1).all() or not np.isin(source[variables.group >= 0], (0, 1)).all():
        raise CounterleafError("the answer's JSON has a row without a value for some category; write it again with to_json")
    return variables.table(values, int(given["most"]), clauses, (where, lower, upper))
