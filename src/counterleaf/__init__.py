"""Exact counterfactual explanations for decision trees: the cheapest change that makes a tree say y."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterleaf.answer.explanation import Counterfactual, Explanation
from counterleaf.answer.margins import MarginPath
from counterleaf.answer.tree_text import export_text, plot_tree
from counterleaf.errors import CounterleafError
from counterleaf.explainer import Explainer
from counterleaf.model.readers import read
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate, Status
from counterleaf.question.constraint import (
    allow,
    among,
    at_most,
    between,
    changes,
    decrease,
    fix,
    forbid,
    freeze,
    implies,
    increase,
    linear,
)
from counterleaf.question.cost import L1, L2, Linear, Quadratic
from counterleaf.table.features import Boolean, Categorical, Numeric, Ordinal
from counterleaf.table.schema import Schema

if TYPE_CHECKING:
    from counterleaf.learn import TAOClassifier

__version__ = "0.1.0"

__all__ = [
    "L1",
    "L2",
    "Boolean",
    "Categorical",
    "Certificate",
    "Counterfactual",
    "CounterleafError",
    "Explainer",
    "Explanation",
    "Linear",
    "MarginPath",
    "Numeric",
    "Ordinal",
    "Quadratic",
    "Schema",
    "Status",
    "TAOClassifier",
    "Tree",
    "allow",
    "among",
    "at_most",
    "between",
    "changes",
    "decrease",
    "export_text",
    "fix",
    "forbid",
    "freeze",
    "implies",
    "increase",
    "linear",
    "plot_tree",
    "read",
]


def __getattr__(name: str) -> Any:
    """The learner needs scikit-learn and the data sets need pandas, which take long to import: only their users wait."""
    if name == "TAOClassifier":
        return import_module("counterleaf.learn").TAOClassifier
    if name == "datasets":
        return import_module("counterleaf.datasets")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "datasets"})
