"""Answers in older formats, brought to the current one: one function per version step, on the parsed JSON.

Version 2 was written before the proofs were rewritten. It has neither the cost nor the constraints in words, so they stay
unknown. Its bounds may end at the horizon of the search, its parts carry slacks, and its tangents leave a curvature that
follows from the scales. Today's check may find such a proof insufficient; the answer is then read, and is not proved.

Version 3 differs from version 4 in names only. Version 4 knows classes as targets only. Version 5 knows neither charges for
changes nor limits on sets of features. Version 6 knows trees only: version 7 adds ensembles.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from counterleaf.exact import is_convex
from counterleaf.sparse import CSR
from counterleaf.strict_json import numbers_in, numbers_out
from counterleaf.types import Array

Content = dict[str, Any]
VERSION = 7
FEATURES = ("source", "lower", "upper", "curve_up", "slope_up", "curve_down", "slope_down", "tangent_curve")
_STRONG = 1e-6  # version 2: of the squared scales, the curvature that its tangents leave wherever the matrix allows it
_POLARS = re.compile(r"U?Int(8|16|32|64)|Float(32|64)|Boolean|String")
_OLD_NAMES = {
    "increase(": "only_increase(",
    "decrease(": "only_decrease(",
    "at_most(": "max_changes(",
    "changes(": "changed(",
    "times=": "multiplier=",
    "Linear(": "LinearCost(",
}
_TOKENS = re.compile(
    r"'(?:[^'\\]|\\.)*(?:'|\\?\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|(?<![\w.])(?:"  # text in quotes, also if it does not end
    + "|".join(map(re.escape, _OLD_NAMES))
    + r")",
    re.DOTALL,
)


def migrate(content: Content) -> Content:
    """Bring an answer of a known version to the current one."""
    while content["version"] != VERSION:
        content = STEPS[content["version"]](content)
    return content


def _from_2(content: Content) -> Content:
    certificate = dict(content["certificate"])
    del certificate["method"], certificate["home"]
    features = np.array([numbers_in(line) for line in certificate["features"]])
    if features.ndim != 2 or len(features) != 9 or np.isnan(features).any():
        raise ValueError("features that are not nine rows of numbers")
    source, lower, upper, *cost, scale, horizon = features
    lower = np.where(horizon < 0, -np.inf, lower)
    upper = np.where(horizon > 0, np.inf, upper)
    remaining = _tangent_curve(certificate["coupling"], scale)
    lines = [source, lower, upper, *cost, remaining, np.zeros_like(remaining)]
    certificate["features"] = [numbers_out(line) for line in lines]
    certificate["rows"] = {**certificate["rows"], "widened": False}
    certificate["parts"] = [[node, [_without_slack(entry) for entry in part]] for node, part in certificate["parts"]]
    row = dict(content["row"])
    if row["type"] == "polars":  # other types were read as text
        row["dtypes"] = [dtype if _POLARS.fullmatch(dtype) else "String" for dtype in row["dtypes"]]
    return {**content, "version": 3, "asked": None, "row": row, "certificate": certificate}


def _tangent_curve(coupling: list[Any] | None, scale: Array) -> Array:
    """The curvature that the tangents of version 2 left to each variable: none where the matrix is nearly singular."""
    if coupling is None:
        return np.zeros(len(scale))
    indptr, indices, data = np.array(coupling[0], np.int64), np.array(coupling[1], np.int64), numbers_in(coupling[2])
    matrix = CSR(indptr, indices, data, (len(scale), len(scale)))  # a ValueError if the arrays do not fit together
    remaining = np.where(np.isin(np.arange(len(scale)), matrix.indices), _STRONG * scale**2, 0.0)
    return remaining if is_convex(matrix, remaining) else np.zeros(len(scale))


def _without_slack(entry: list[Any]) -> list[Any]:
    """A part without its slacks; a fork as it is."""
    if not isinstance(entry[0], list):
        return entry
    multipliers, slack, empty, tangent = entry
    if len(slack) != len(multipliers):
        raise ValueError("a part whose slacks and multipliers differ in number")
    return [multipliers, [], empty, tangent]


def _from_3(content: Content) -> Content:
    certificate = dict(content["certificate"])
    *lines, _ = certificate["features"]  # the last one follows from the others
    certificate["features"] = dict(zip(FEATURES, lines, strict=True))
    if certificate["table"] is not None:
        table = dict(certificate["table"])
        certificate["table"] = {"max_changes": table.pop("most"), **table}
    question = content["asked"]
    if question is not None:
        question = {
            "constraints": [_renamed_constraint(one) for one in question["constraints"]],
            "cost": _renamed(question["cost"]),
            **{name: value for name, value in question.items() if name not in ("constraints", "cost")},
        }
    new = {
        "version": 4,
        "source_label": content["label"],
        "counterfactuals": [_confirmed(one) for one in content["counterfactuals"]],
        "question": question,
        "conflict": [_renamed_constraint(one) for one in content["conflict"]],
        "source_row": content["row"],
        "certificate": certificate,
    }
    return {**{name: value for name, value in content.items() if name not in ("label", "asked", "row")}, **new}


def _confirmed(counterfactual: Content) -> Content:
    out = dict(counterfactual)
    out["confirmed"] = out.pop("verified")
    return out


def _renamed_constraint(constraint: Content) -> Content:
    out = {**constraint, "words": _renamed(constraint["words"])}
    if out["kind"] == "at_most":
        out["kind"] = "max_changes"
    if out["kind"] == "implies":
        out["then"] = _renamed_constraint(out["then"])
    return out


def _renamed(words: str) -> str:
    """An expression with today's names, names of features in quotes left alone."""
    return _TOKENS.sub(lambda found: _OLD_NAMES.get(found[0], found[0]), words)


def _from_4(content: Content) -> Content:
    return {
        **content,
        "version": 5,
        "counterfactuals": [{**one, "number": None} for one in content["counterfactuals"]],
        "certificate": {**content["certificate"], "guard": 0.0, "range": None, "tangents": []},
    }


def _from_5(content: Content) -> Content:
    certificate = dict(content["certificate"])
    if certificate["table"] is not None:
        table = dict(certificate["table"])
        most, every = table.pop("max_changes"), list(range(len(content["schema"]["features"])))
        certificate["table"] = {"change_limits": [] if most < 0 else [[every, most]], "charges": [], **table}
    return {**content, "version": 6, "certificate": certificate, "rounds": None}


def _from_6(content: Content) -> Content:
    if "tree" not in content["certificate"]:
        raise ValueError("an answer of version 6 without a tree")
    return {**content, "version": 7}


STEPS: dict[int, Callable[[Content], Content]] = {2: _from_2, 3: _from_3, 4: _from_4, 5: _from_5, 6: _from_6}
