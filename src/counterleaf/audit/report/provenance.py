"""Where the figures of a report come from: the question in words, the model, the versions, the date."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

import counterleaf
from counterleaf.audit.report.cases import classes_of
from counterleaf.errors import CounterleafError, with_article
from counterleaf.question.query import Probability, Query, Value, classes_in_words
from counterleaf.report.constraint_words import cost_words, in_words
from counterleaf.table.schema import Schema

UNCHECKED = "No proof was checked again: answers in memory keep no proofs."


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a report."""

    target: str  # in words: "granted"
    question: tuple[tuple[str, str], ...]  # name and text of each part
    model: str
    model_hash: str
    code: tuple[str, ...]  # cost and constraints as they are written in Python
    origin: str  # of the rows
    checked: str  # how many proofs were checked again
    files: tuple[tuple[str, str], ...]  # input files of a folder with their fingerprints
    versions: tuple[tuple[str, str], ...]
    date: str

    def lines(self) -> list[dict[str, str]]:
        """Return everything in full as lines of a table."""
        parts = [*self.question, *(("code", one) for one in self.code), ("model", self.model)]
        parts += [("SHA-256 of the converted model", self.model_hash), ("rows", self.origin)]
        parts += [(f"fingerprint of {name}", fingerprint) for name, fingerprint in self.files]
        parts += [("proofs", self.checked), *self.versions, ("date", self.date)]
        return [{"name": name, "value": value} for name, value in parts]


def provenance(
    question: Any, origin: str, checked: str, files: tuple[tuple[str, str], ...] = (), model: str = ""
) -> Provenance:
    """Return the origin of the report on a ``ModelQuestion``; ``model`` is the hash of the model, if it is known."""
    explainer, query = question.explainer, question.query
    return Provenance(
        target_words(query.target),
        question_words(query, explainer.schema),
        model_words(explainer),
        model or model_hash(explainer),
        (str(query.cost), *map(str, query.constraints)),
        origin,
        checked,
        files,
        versions(),
        now(),
    )


def target_words(target: Any) -> str:
    """Return a target in words."""
    if target is None:
        return "any class except the row's own"
    if isinstance(target, (Probability, Value)):
        return f"a {target}"
    prices = target.items() if isinstance(target, Mapping) else ((label, 0.0) for label in classes_of(target))
    return classes_in_words(prices, " or ")


def question_words(query: Query, schema: Schema) -> tuple[tuple[str, str], ...]:
    """Return the parts of a question in words."""
    parts = [("target", target_words(query.target)), ("cost", cost_words(query.cost))]
    parts += [("constraint", in_words(one, schema)) for one in query.constraints] or [("constraints", "none")]
    margin = query.margin
    if isinstance(margin, tuple):
        named = [f"{value:.4g} of {name}" for name, value in zip(schema.names, margin, strict=True) if value]
        parts += [("margin", ", ".join(named))] * bool(named)
    elif margin:
        parts.append(("margin", f"{margin:g}"))
    if query.time_limit is not None:
        parts.append(("time limit", f"{query.time_limit:g} seconds per row"))
    if query.max_nodes is not None:
        parts.append(("node limit", f"{query.max_nodes:,} search nodes per row"))
    return tuple(parts)


def model_words(explainer: Any) -> str:
    """Return the model in words."""
    tree, name = explainer.tree, type(explainer.model).__name__
    size = f"{len(tree.leaves):,} leaves" if tree.is_one_tree else f"{tree.n_trees:,} trees"
    return f"{with_article(name)} with {size} over {len(explainer.schema):,} features"


def model_hash(explainer: Any) -> str:
    """Return the SHA-256 of the explainer's JSON, or why there is none."""
    try:
        return hashlib.sha256(explainer.to_json().encode()).hexdigest()
    except CounterleafError as error:
        return f"not available: {error}"


def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of the software."""
    return ("counterleaf", counterleaf.__version__), ("NumPy", np.__version__), ("Python", platform.python_version())


def now() -> str:
    """Return the date and time in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
