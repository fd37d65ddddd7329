"""Where the figures of a report come from: the question in words, the model, the versions, the date."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

import counterleaf
from counterleaf.errors import CounterleafError, with_article
from counterleaf.question.words import question_in_words, target_in_words

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
        target_in_words(query.question.target),
        question_in_words(query, explainer.schema),
        model_words(explainer),
        model or model_hash(explainer),
        (str(query.cost), *map(str, query.constraints)),
        origin,
        checked,
        files,
        versions(),
        now(),
    )


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
