"""An answer as JSON and back, with its proof, so that it can be checked elsewhere.

What is written holds the question as the solver saw it (tree, source, bounds, cost, rows), the answers, and the parts that
prove them. A digest tells of any change since; ``Certificate.check`` tells if what is claimed is true. What the model said, and
which constraints conflict, is a report: neither the model nor the words of the question are in the file.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from counterleaf.certificate import Certificate
from counterleaf.constraint import Among, AtMost, Choice, Constraint, Implies, Limit, Row, changes
from counterleaf.coupling import couple
from counterleaf.csr import CSR
from counterleaf.errors import CounterleafError
from counterleaf.findings import Findings, Status
from counterleaf.layout import Layout, Table, own_values
from counterleaf.notation import number_out, numbers_in, numbers_out, plain, schema_in, schema_out
from counterleaf.problem import Problem, Question, aim, prepare
from counterleaf.proof import Fork, Part
from counterleaf.result import Explanation, tell
from counterleaf.schema import Array, Schema
from counterleaf.tree import Tree

FORMAT, _VERSION = "counterleaf-explanation", 2


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
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CounterleafError(
            f"not a counterleaf answer: no valid JSON ({error}); pass the whole text that to_json gave, not a file's name"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CounterleafError(f'not a counterleaf answer: expected an object with "format": "{FORMAT}"')
    if content.get("version") != _VERSION:
        raise CounterleafError(
            f"answer format version {content.get('version')!r}; this counterleaf reads version {_VERSION}: ask for it again"
        )
    digest = content.pop("digest", None)
    try:
        if digest != _digest(content):
            raise CounterleafError("the answer's JSON was changed after it was written: its digest differs; ask for it again")
        answer = _explanation(content)
        same = json.loads(json.dumps(_content(answer))) == content
    except CounterleafError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise CounterleafError(
            f"the answer's JSON lacks or garbles a part ({type(error).__name__}: {error}); write it again with to_json"
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
        "conflict": [_constraint_out(one) for one in answer.conflict],
        "row": _row_out(answer.row),
        "schema": schema_out(answer.schema),
        "certificate": _certificate_out(answer.certificate),
    }
    out: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return out


def _certificate_out(certificate: Certificate) -> dict[str, Any]:
    problem, found = certificate.problem, certificate.findings
    q, n = problem.question, len(problem.question.nodes)
    start = int(q.indptr[n])
    below, tree = q.nodes["below"], problem.tree
    leaves = [int(leaf) for leaf in tree.leaves if math.isfinite(below[leaf])]
    Q = None if problem.coupling is None else problem.coupling.matrix
    return {
        "tree": json.loads(tree.to_json()),
        "class_costs": sorted({(int(tree.value[leaf]), float(below[leaf])) for leaf in leaves}),
        "margin": q.margin,
        "features": [numbers_out(line) for line in q.features],
        "rows": {
            "indptr": (q.indptr[n:] - start).tolist(),
            "indices": q.indices[start:].tolist(),
            "data": q.data[start:].tolist(),
            "bias": q.bias[n:].tolist(),
            "equal": q.equal,
        },
        "coupling": None if Q is None else [Q.indptr.tolist(), Q.indices.tolist(), Q.data.tolist()],
        "method": q.method,
        "home": q.home,
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
            out.append([numbers_out(at.lam), numbers_out(at.slack), at.empty, numbers_out(at.tangent)])
        else:
            out.append([at.how, at.what, *map(number_out, at.cuts)])
            stack += [at.high, at.low]
    return out


def _parts_in(node: int, given: list[Any]) -> Part | Fork:
    made: list[Part | Fork] = []
    for entry in reversed(given):
        if isinstance(entry[0], list):
            lam, slack, empty, tangent = entry
            made.append(Part(node, numbers_in(lam), numbers_in(slack), bool(empty), numbers_in(tangent)))
        else:
            how, what, low, high = entry
            made.append(Fork(int(how), int(what), (float(low), float(high)), made.pop(), made.pop()))
    (part,) = made
    return part


def _explanation(content: dict[str, Any]) -> Explanation:
    schema = schema_in(content["schema"])
    certificate = _certificate_in(content["certificate"], schema, Status(content["status"]), float(content["lower_bound"]))
    tree, row = certificate.problem.tree, _row_in(content["row"])
    labels = tree.classes.tolist()
    own = labels[tree.value[tree.leaf_of(certificate.problem.source)]]
    if not np.array_equal(schema.encode(row), certificate.problem.source):
        raise CounterleafError("the answer's JSON contradicts itself: the row is not the source of the proof; ask for it again")
    told = tuple(
        tell(schema, tree, row, certificate.problem.source, claim, schema.decode(claim.row, row), bool(shown["verified"]))
        for claim, shown in zip(certificate.answers, content["counterfactuals"], strict=True)
    )
    target = tuple(label for wanted in content["target"] for label in labels if label == wanted)
    proved = {labels[k] for k, _ in content["certificate"]["class_costs"]}
    if proved != {label for label in target if labels.index(label) in tree.value[tree.leaves]}:
        raise CounterleafError("the answer's JSON contradicts itself: the target is not that of the proof; ask for it again")
    conflict = tuple(_constraint_in(one) for one in content["conflict"])
    least = certificate.lower_bound
    return Explanation(certificate.status, lambda: told, least, row, own, target, schema, certificate, conflict)


def _certificate_in(given: dict[str, Any], schema: Schema, status: Status, least: float) -> Certificate:
    tree = Tree.from_json(json.dumps(given["tree"]))
    margin, D, n = float(given["margin"]), tree.n_features, tree.n_nodes
    layout = Layout.of(schema)
    splits = prepare(tree, margin, layout)
    nodes = aim(tree, splits, {int(k): float(cost) for k, cost in given["class_costs"]})
    features = np.array([[float(v) for v in line] for line in given["features"]])
    rows, w = given["rows"], tree.weights
    indptr, indices = np.array(rows["indptr"], np.int64), np.array(rows["indices"], np.int64)
    data, bias = np.array(rows["data"], np.float64), np.array(rows["bias"], np.float64)
    points = np.array(given["points"], np.float64).reshape(-1, D)
    leaves = np.array(given["leaves"], np.int64)
    parts = {int(node): _parts_in(int(node), part) for node, part in given["parts"]}
    sound = (
        features.shape == (9, D)
        and schema.width == D
        and np.isfinite(features[[0, 3, 4, 5, 6, 7, 8]]).all()
        and not np.isnan(features).any()
        and (features[7] > 0).all()
        and margin >= 0
        and indptr.shape == (len(bias) + 1,)
        and indptr[0] == 0
        and indptr[-1] == len(indices) == len(data)
        and (np.diff(indptr) >= 0).all()
        and ((indices >= 0) & (indices < D)).all()
        and 0 <= rows["equal"] <= len(bias)
        and ((leaves >= 0) & (leaves < n)).all()
        and all(0 <= node < n for node in parts)
        and (given["table"] is not None or schema.plain)
        and (np.diff(indices)[np.isin(np.arange(1, len(indices)), indptr, invert=True)] > 0).all()
        and _inside(schema, features)
        and all(len(part.tangent) == (D if given["coupling"] else 0) for part in parts.values() if isinstance(part, Part))
    )
    if not sound:
        raise CounterleafError("the answer's JSON has arrays that do not fit together; write it again with to_json")
    coupling = None
    if given["coupling"] is not None:
        starts, columns, values = given["coupling"]
        Q = CSR(starts, columns, values, (D, D))
        priced = (features[3:7] != 0).any(axis=0) | (Q.diagonal() > 0)
        coupling = couple(Q, np.where(priced, features[7], 0.0), np.flatnonzero(layout.group < 0))
    question = Question(
        nodes=nodes,
        indptr=np.concatenate([w.indptr, w.indptr[-1] + indptr[1:]]),
        indices=np.concatenate([w.indices, indices]),
        data=np.concatenate([w.data, data]),
        bias=np.concatenate([tree.bias, bias]),
        features=features,
        equal=int(rows["equal"]),
        method=int(given["method"]),
        margin=margin,
        right_closed=tree.closed == "right",
        narrow=tree.dtype == "float32",
        home=int(given["home"]),
    )
    table = None if given["table"] is None else _table_in(given["table"], layout, features[0])
    pool = None if given["among"] is None else np.array(given["among"], np.float64).reshape(-1, D)
    problem = Problem(tree, splits, lambda: (question, table), coupling)
    found = Findings(status, leaves, numbers_in(given["costs"]), numbers_in(given["bounds"]), points, least)
    return Certificate(problem, found, pool, parts)


def _inside(schema: Schema, features: Array) -> bool:
    """The box of the proof lies in that of the schema, unless it was guessed and had to hold the row."""
    if schema.inferred:
        return True
    low, high = schema.bounds()
    open_sides = ((features[8] <= 0) | np.isinf(high)) & ((features[8] >= 0) | np.isinf(low))
    return bool((open_sides & (features[1] >= low) & (features[2] <= high)).all())


def _table_in(given: dict[str, Any], layout: Layout, source: Array) -> Table:
    clauses = np.array(given["clauses"], np.int64).reshape(-1, 3)
    where, lower, upper = np.array(given["boxes"][0], np.int64), numbers_in(given["boxes"][1]), numbers_in(given["boxes"][2])
    starts = clauses.ravel()
    sound = (
        len(where) == len(lower) == len(upper)
        and ((where >= 0) & (where < len(source))).all()
        and not (np.isnan(lower) | np.isnan(upper)).any()
        and ((starts >= 0) & (starts <= len(where))).all()
    )
    if not sound:
        raise CounterleafError("the answer's JSON has clauses that do not fit together; write it again with to_json")
    return layout.table(own_values(layout, source), int(given["most"]), clauses, (where, lower, upper))


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
        return _typed("polars", [row[name][0] for name in row.columns], row.columns, [str(row[n].dtype) for n in row.columns])
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
    if kind == "polars":
        try:
            import polars as pl
        except ImportError:
            raise CounterleafError(
                "the answer's row is a polars frame; install polars to read it: pip install polars"
            ) from None
        return pl.DataFrame(
            [pl.Series(n, [v], getattr(pl, t, pl.String)) for n, v, t in zip(names, values, dtypes, strict=True)]
        )
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
