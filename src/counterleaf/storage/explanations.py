"""An answer as JSON and back, with its proof, so that it can be checked elsewhere.

What is written holds the question as the solver saw it (tree, source, bounds, cost, rows), the answers, and the parts that
prove them. A digest tells of any change since; ``Certificate.check`` tells if what is claimed is true. What the model said, and
which constraints conflict, is a report: neither the model nor the words of the question are in the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Explanation, tell
from counterleaf.core.inputs import clause_boxes, stacked
from counterleaf.errors import CounterleafError, flat
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate, Findings, Status
from counterleaf.proof.problem import Problem, Question
from counterleaf.proof.table import Table, at_or_above, at_or_below
from counterleaf.proof.walk import Fork, Part
from counterleaf.question.constraint import Among, AtMost, Choice, Constraint, Implies, Limit, Row, changes, lower_constraints
from counterleaf.question.splits import aim, prepare
from counterleaf.question.variables import Layout, own_values
from counterleaf.sparse import CSR
from counterleaf.strict_json import loads, number_out, numbers_in, numbers_out, plain, schema_in, schema_out
from counterleaf.table.features import brief
from counterleaf.table.schema import Array, Schema

FORMAT, _VERSION = "counterleaf-explanation", 3
_POLARS = {
    *(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)),
    "Float32",
    "Float64",
    "Boolean",
    "String",
}
_TYPE = re.compile(  # of a column or an array; words of at most 9,999 signs
    r"[<>=|]?([iufb][1248]|U\d{1,4})|([uU]?[iI]nt|[fF]loat)(8|16|32|64)|bool|[bB]oolean|object|str|[sS]tring|category"
    r"|string\[(python|pyarrow)\]|(int|float|double|u?int\d+|bool)\[pyarrow\]|timedelta64\[(s|ms|us|ns)\]"
    r"|datetime64\[(s|ms|us|ns)(, [A-Za-z_/+:0-9-]{1,40})?\]"
)
_LONGEST = 300  # signs of what a library says of a garbled file


def told(error: Exception) -> str:
    """What an error says, in one short line."""
    line = flat(error)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def write(answer: Explanation) -> str:
    """The answer as JSON; numbers come back bit for bit."""
    try:
        content = _content(answer)
        return json.dumps({**content, "digest": _digest(content)}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise CounterleafError(
            f"the answer holds something that JSON cannot ({error}); expected rows, names and labels of plain numbers and text"
        ) from None


def read(text: str) -> Explanation:
    """The answer that ``write`` wrote; anything else is refused with the reason."""
    if not isinstance(text, (str, bytes)):
        raise CounterleafError(f"an answer is read from text; got a {type(text).__name__}: pass Path(file).read_text()")
    try:
        content = loads(text)
    except (ValueError, RecursionError) as error:
        raise CounterleafError(
            f"not a counterleaf answer: no valid JSON ({told(error)}); pass the whole text that to_json gave, not a file's name"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CounterleafError(f'not a counterleaf answer: expected an object with "format": "{FORMAT}"')
    if content.get("version") != _VERSION:
        raise CounterleafError(
            f"answer format version {brief(content.get('version'))}; this counterleaf reads {_VERSION}: ask for it again"
        )
    digest = content.pop("digest", None)
    try:
        if digest != _digest(content):
            raise CounterleafError("the answer's JSON was changed after it was written: its digest differs; ask for it again")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a library has to say of garbled arrays
            answer = _explanation(content)
            same = json.loads(json.dumps(_content(answer))) == content
    except CounterleafError as error:
        raise CounterleafError(told(error)) from None
    except Exception as error:  # a file may hold anything, and so what it does to a library below may be anything
        raise CounterleafError(
            f"the answer's JSON lacks or garbles a part ({type(error).__name__}: {told(error)}); write it again with to_json"
        ) from None
    if not same:
        raise CounterleafError("the answer's JSON contradicts itself: what it shows is not what it proves; ask for it again")
    return answer


def _digest(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _content(answer: Explanation) -> dict[str, Any]:
    source = answer.source
    content = {
        "format": FORMAT,
        "version": _VERSION,
        "status": str(answer.status),
        "lower_bound": number_out(answer.lower_bound),
        "label": plain(answer.label),
        "target": [plain(label) for label in answer.target],
        "source": {name: plain(value) for name, value in source.items()},
        "counterfactuals": [
            {
                "row": {name: plain(c.changes[name][1] if name in c.changes else old) for name, old in source.items()},
                "changes": {name: [plain(old), plain(new)] for name, (old, new) in c.changes.items()},
                "cost": number_out(c.cost),
                "lower_bound": number_out(c.lower_bound),
                "label": plain(c.label),
                "leaf": c.leaf,
                "verified": c.verified,
            }
            for c in answer
        ],
        "asked": {"constraints": [_constraint_out(one) for one in answer.constraints], "cost": str(answer.cost)},
        "conflict": [_constraint_out(one) for one in answer.conflict],
        "row": _row_out(answer.row),
        "schema": schema_out(answer.schema),
        "certificate": _certificate_out(answer.certificate),
    }
    out: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return out


def _explanation(content: dict[str, Any]) -> Explanation:
    schema = schema_in(content["schema"])
    certificate = _certificate_in(content["certificate"], schema, Status(content["status"]), float(content["lower_bound"]))
    tree, row = certificate.problem.tree, _row_in(content["row"])
    labels = tree.classes.tolist()
    own = labels[tree.value[tree.leaf_of(certificate.problem.source)]]
    if not np.array_equal(schema.encode(row), certificate.problem.source):
        raise CounterleafError("the answer's JSON contradicts itself: the row is not the source of the proof; ask for it again")
    found = tuple(
        tell(schema, tree, row, certificate.problem.source, claim, schema.decode(claim.row, row), bool(shown["verified"]))
        for claim, shown in zip(certificate.answers, content["counterfactuals"], strict=True)
    )
    target = tuple(label for wanted in content["target"] for label in labels if label == wanted)
    proved = {labels[k] for k, _ in content["certificate"]["class_costs"]}
    if proved != {label for label in target if labels.index(label) in tree.value[tree.leaves]}:
        raise CounterleafError("the answer's JSON contradicts itself: the target is not that of the proof; ask for it again")
    given, conflict = (tuple(map(_constraint_in, some)) for some in (content["asked"]["constraints"], content["conflict"]))
    _check_constraints(given, schema, certificate)
    least, cost = certificate.lower_bound, str(content["asked"]["cost"])
    return Explanation(certificate.status, lambda: found, least, row, own, target, schema, certificate, conflict, given, cost)


def _certificate_out(certificate: Certificate) -> dict[str, Any]:
    problem, found = certificate.problem, certificate.findings
    q, n = problem.question, len(problem.question.nodes)
    start = int(q.indptr[n])
    below, tree = q.nodes["below"], problem.tree
    leaves = [int(leaf) for leaf in tree.leaves if math.isfinite(below[leaf])]
    kept = np.zeros(tree.n_features) if q.kept is None else q.kept
    return {
        "tree": json.loads(tree.to_json()),
        "class_costs": sorted({(int(tree.value[leaf]), float(below[leaf])) for leaf in leaves}),
        "margin": q.margin,
        "features": [numbers_out(line) for line in (*q.features, kept, problem.references[1])],
        "rows": {
            "indptr": (q.indptr[n:] - start).tolist(),
            "indices": q.indices[start:].tolist(),
            "data": q.data[start:].tolist(),
            "bias": q.bias[n:].tolist(),
            "equal": q.equal,
            "widened": q.widened,
        },
        "coupling": None if q.matrix is None else [line.tolist() for line in q.matrix],
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
    return {"most": table.most, "clauses": table.clauses.tolist(), "boxes": boxes}


def _parts_out(part: Part | Fork) -> list[Any]:
    """A part, or the forks and parts of a leaf, each fork before its two sides."""
    out, stack = [], [part]
    while stack:
        at = stack.pop()
        if isinstance(at, Part):
            over = [number_out(at.over)] if at.over else []
            out.append([numbers_out(at.lam), over, at.empty, numbers_out(at.tangent)])
        else:
            out.append([at.how, at.what, *map(number_out, at.cuts)])
            stack += [at.high, at.low]
    return out


def _parts_in(node: int, given: list[Any]) -> Part | Fork:
    made: list[Part | Fork] = []
    for entry in reversed(given):
        if isinstance(entry[0], list):
            lam, over, empty, tangent = entry
            (by,) = numbers_in(over).tolist() or (0.0,)
            made.append(Part(node, numbers_in(lam), bool(empty), numbers_in(tangent), by))
        else:
            how, what, low, high = entry
            made.append(Fork(int(how), int(what), (float(low), float(high)), made.pop(), made.pop()))
    (part,) = made
    return part


def _certificate_in(given: dict[str, Any], schema: Schema, status: Status, least: float) -> Certificate:
    tree = Tree.from_json(json.dumps(given["tree"]))
    margin, D, n = float(given["margin"]), tree.n_features, tree.n_nodes
    layout = Layout.of(schema)
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
    splits, w = prepare(tree, margin, layout), tree.weights
    nodes = aim(tree, splits, {int(k): float(cost) for k, cost in given["class_costs"]})
    matrix = None
    if given["coupling"] is not None:
        indptr, indices, data = given["coupling"]
        Q = CSR(_whole(indptr), _whole(indices), numbers_in(data), (D, D))
        matrix = Q.indptr, Q.indices, Q.data
    question = Question(
        nodes=nodes,
        indptr=np.concatenate([w.indptr, w.indptr[-1] + rows.indptr[1:]]),
        indices=np.concatenate([w.indices, rows.indices]),
        data=np.concatenate([w.data, rows.data]),
        bias=np.concatenate([tree.bias, bias]),
        features=features[:7],
        equal=equal,
        margin=margin,
        right_closed=tree.closed == "right",
        narrow=tree.dtype == "float32",
        widened=bool(given["rows"]["widened"]),
        matrix=matrix,
        kept=None if matrix is None else features[7],
    )
    table = None if given["table"] is None else _table_in(given["table"], layout, features[0])
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


def _check_constraints(given: tuple[Constraint, ...], schema: Schema, certificate: Certificate) -> None:
    """Refuse an answer whose proof is about other constraints than it tells."""
    q, table, source = certificate.problem.question, certificate.problem.table, certificate.problem.source
    limits = lower_constraints(list(given), schema, source[None])
    (indptr, indices, data, bias), equal = stacked(limits.rows)
    n, start = len(q.nodes), int(q.indptr[len(q.nodes)])
    told = [indptr, indices, data, bias, np.array(equal), limits.lower[0], limits.upper[0]]
    if table is not None:
        on = np.flatnonzero(table.step[0])
        told[5][on] = at_or_above(table.step[:, on], source[on], told[5][on])
        told[6][on] = at_or_below(table.step[:, on], source[on], told[6][on])
    proved = [q.indptr[n:] - start, q.indices[start:], q.data[start:], q.bias[n:], np.array(q.equal), *q.features[1:3]]
    starts, where, low, high = clause_boxes(limits, 1)
    if table is not None:
        step = table.step[:, where]
        on = step[0] > 0
        low[0, on] = at_or_above(step[:, on], source[where][on], low[0, on])
        high[0, on] = at_or_below(step[:, on], source[where][on], high[0, on])
        told += [np.array(limits.most), starts, where, low[0], high[0]]
        proved += [np.array(table.most), table.clauses, table.where, table.lower, table.upper]
    same = (limits.pool is None) == (certificate.pool is None) and (table is not None or (limits.most < 0 and not len(starts)))
    if limits.pool is not None and certificate.pool is not None:
        same = same and np.array_equal(limits.pool, certificate.pool)
    if not same or not all(np.array_equal(one, other) for one, other in zip(told, proved, strict=True)):
        raise CounterleafError(
            "the answer's JSON contradicts itself: its proof is about other bounds and constraints; ask for it again"
        )


def _table_in(given: dict[str, Any], layout: Layout, source: Array) -> Table:
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
    own = own_values(layout, source)
    if not (source[own] == 1).all() or not np.isin(source[layout.group >= 0], (0, 1)).all():
        raise CounterleafError("the answer's JSON has a row without a value for some category; write it again with to_json")
    return layout.table(own, int(given["most"]), clauses, (where, lower, upper))


def _constraint_out(one: Constraint) -> dict[str, Any]:
    if isinstance(one, Limit):
        ends = [_end_out(one.lower), _end_out(one.upper), one.from_lower, one.from_upper]
        return {"kind": "limit", "words": one.words, "names": [plain(name) for name in one.names], "ends": ends}
    if isinstance(one, Choice):
        return {
            "kind": "choice",
            "words": one.words,
            "name": plain(one.name),
            "values": list(one.values),
            "allowed": one.allowed,
        }
    if isinstance(one, Row):
        coef = [[plain(name), a] for name, a in one.coef.items()]
        return {"kind": "row", "words": one.words, "coef": coef, "relation": one.relation, "rhs": one.rhs}
    if isinstance(one, AtMost):
        return {"kind": "at_most", "words": one.words, "count": one.count}
    if isinstance(one, Implies):
        return {"kind": "implies", "words": one.words, "name": plain(one.condition.name), "then": _constraint_out(one.then)}
    names = list(map(str, one.rows.columns)) if hasattr(one.rows, "columns") else None
    rows = [[plain(value) for value in row] for row in np.asarray(one.rows).tolist()]
    return {"kind": "among", "words": one.words, "names": names, "rows": rows}


def _constraint_in(given: dict[str, Any]) -> Constraint:
    words, kind = str(given["words"]), given["kind"]
    if kind == "limit":
        lower, upper, from_lower, from_upper = given["ends"]
        return Limit(words, tuple(given["names"]), _end_in(lower), _end_in(upper), bool(from_lower), bool(from_upper))
    if kind == "choice":
        return Choice(words, given["name"], tuple(given["values"]), bool(given["allowed"]))
    if kind == "row":
        return Row(words, {name: float(a) for name, a in given["coef"]}, str(given["relation"]), float(given["rhs"]))
    if kind == "at_most":
        return AtMost(words, int(given["count"]))
    if kind == "implies":
        then = _constraint_in(given["then"])
        if not isinstance(then, (Limit, Choice)):
            raise ValueError(f"implies {then!r}")
        return Implies(words, changes(given["name"]), then)
    if given["names"] is None:
        return Among(words, np.array(given["rows"]))
    import pandas as pd

    return Among(words, pd.DataFrame(given["rows"], columns=given["names"]))


def _end_out(value: Any) -> Any:
    """A bound: a number in a list, a level as it is."""
    return [number_out(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _end_in(given: Any) -> Any:
    return float(given[0]) if isinstance(given, list) else given


def _row_out(row: Any) -> dict[str, Any]:
    """A row of any type that ``Schema.encode`` takes."""
    if hasattr(row, "with_columns"):
        types = [str(row[name].dtype) for name in row.columns]
        if not all(dtype in _POLARS for dtype in types):
            raise TypeError(f"a polars column of type {next(t for t in types if t not in _POLARS)}")
        return _typed("polars", [row[name][0] for name in row.columns], row.columns, types)
    if hasattr(row, "columns"):
        values = [row[name].iloc[0] for name in row.columns]
        return _typed("frame", values, list(row.columns), [str(dtype) for dtype in row.dtypes], row.index[0])
    if hasattr(row, "index") and hasattr(row, "to_dict"):
        return _typed("series", list(row), list(row.index), [str(row.dtype)], row.name)
    if isinstance(row, Mapping):
        return _typed("dict", list(row.values()), list(row))
    if isinstance(row, np.ndarray):
        return _typed("array", row.tolist(), dtypes=[str(row.dtype)])
    return _typed("tuple" if isinstance(row, tuple) else "list", list(row))


def _typed(kind: str, values: list[Any], names: Any = (), dtypes: Any = (), label: Any = None) -> dict[str, Any]:
    names, values, label = [plain(name) for name in names], [plain(value) for value in values], plain(label)
    for name in [*names, label]:
        if not isinstance(name, (str, int, float, bool, type(None))):
            raise TypeError(f"{name!r} is a {type(name).__name__}")
    return {"type": kind, "values": values, "names": names, "dtypes": list(dtypes), "label": label}


def _row_in(given: dict[str, Any]) -> Any:
    kind, values, names, dtypes, label = (given[key] for key in ("type", "values", "names", "dtypes", "label"))
    if not all(_TYPE.fullmatch(dtype) for dtype in dtypes):
        raise ValueError("a type of column that no row has")  # before memory is taken for it
    if kind == "polars":
        try:
            import polars as pl
        except ImportError:
            raise CounterleafError(
                "the answer's row is a polars frame; install polars to read it: pip install polars"
            ) from None
        return pl.DataFrame([pl.Series(n, [v], getattr(pl, t)) for n, v, t in zip(names, values, dtypes, strict=True)])
    if kind in ("frame", "series"):
        import pandas as pd

        if kind == "series":
            return pd.Series(values, index=names, dtype=dtypes[0], name=label)
        return pd.DataFrame({n: pd.Series([v], index=[label], dtype=t) for n, v, t in zip(names, values, dtypes, strict=True)})
    if kind == "dict":
        return dict(zip(names, values, strict=True))
    if kind == "array":
        return np.array(values, dtype=dtypes[0])
    return tuple(values) if kind == "tuple" else values
