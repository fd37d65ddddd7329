"""Exact counterfactual explanations for trees, forests and boosted trees: the cheapest change that makes a model predict y.

Names are imported when they are first used. A proof can therefore be checked without the compiled core, and a query about a
plain tree needs neither pandas nor scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterleaf import datasets as datasets
    from counterleaf import distributed as distributed
    from counterleaf.answer.explanation import Counterfactual as Counterfactual
    from counterleaf.answer.explanation import Explanation as Explanation
    from counterleaf.answer.front import Front as Front
    from counterleaf.answer.front import FrontPath as FrontPath
    from counterleaf.answer.margins import MarginPath as MarginPath
    from counterleaf.answer.tree_text import export_text as export_text
    from counterleaf.errors import CounterleafError as CounterleafError
    from counterleaf.explainer import Explainer as Explainer
    from counterleaf.learn.classifier import TAOClassifier as TAOClassifier
    from counterleaf.learn.regressor import TAORegressor as TAORegressor
    from counterleaf.model.outputs import Outputs as Outputs
    from counterleaf.model.readers.table import read_tree as read_tree
    from counterleaf.model.tree import Tree as Tree
    from counterleaf.plot.trees import plot_tree as plot_tree
    from counterleaf.proof.certificate import Certificate as Certificate
    from counterleaf.proof.certificate import Status as Status
    from counterleaf.question.constraints.conditions import becomes as becomes
    from counterleaf.question.constraints.conditions import changed as changed
    from counterleaf.question.constraints.conditions import implies as implies
    from counterleaf.question.constraints.conditions import stays as stays
    from counterleaf.question.constraints.functions import allow as allow
    from counterleaf.question.constraints.functions import among as among
    from counterleaf.question.constraints.functions import between as between
    from counterleaf.question.constraints.functions import fix as fix
    from counterleaf.question.constraints.functions import forbid as forbid
    from counterleaf.question.constraints.functions import freeze as freeze
    from counterleaf.question.constraints.functions import linear as linear
    from counterleaf.question.constraints.functions import max_changes as max_changes
    from counterleaf.question.constraints.functions import near as near
    from counterleaf.question.constraints.functions import only_decrease as only_decrease
    from counterleaf.question.constraints.functions import only_increase as only_increase
    from counterleaf.question.constraints.functions import within as within
    from counterleaf.question.constraints.kinds import Constraint as Constraint
    from counterleaf.question.costs.terms import L1 as L1
    from counterleaf.question.costs.terms import L2 as L2
    from counterleaf.question.costs.terms import Changes as Changes
    from counterleaf.question.costs.terms import Cost as Cost
    from counterleaf.question.costs.terms import LinearCost as LinearCost
    from counterleaf.question.costs.terms import Quadratic as Quadratic
    from counterleaf.question.query import Probability as Probability
    from counterleaf.question.query import Value as Value
    from counterleaf.question.query import probability as probability
    from counterleaf.question.query import value as value
    from counterleaf.report.audit import Audit as Audit
    from counterleaf.shortcuts import explain as explain
    from counterleaf.storage.constraint_files import load_constraints as load_constraints
    from counterleaf.storage.constraint_files import save_constraints as save_constraints
    from counterleaf.table.features import Boolean as Boolean
    from counterleaf.table.features import Categorical as Categorical
    from counterleaf.table.features import Feature as Feature
    from counterleaf.table.features import Numeric as Numeric
    from counterleaf.table.features import Ordinal as Ordinal
    from counterleaf.table.schema import Schema as Schema

__version__ = "0.1.0"

_HOME = {
    "answer.explanation": ("Counterfactual", "Explanation"),
    "answer.front": ("Front", "FrontPath"),
    "answer.margins": ("MarginPath",),
    "answer.tree_text": ("export_text",),
    "errors": ("CounterleafError",),
    "explainer": ("Explainer",),
    "shortcuts": ("explain",),
    "learn.classifier": ("TAOClassifier",),
    "learn.regressor": ("TAORegressor",),
    "model.outputs": ("Outputs",),
    "model.readers.table": ("read_tree",),
    "model.tree": ("Tree",),
    "plot.trees": ("plot_tree",),
    "proof.certificate": ("Certificate", "Status"),
    "question.constraints.conditions": ("becomes", "changed", "implies", "stays"),
    "question.constraints.kinds": ("Constraint",),
    "question.constraints.functions": (
        "allow",
        "among",
        "between",
        "fix",
        "forbid",
        "freeze",
        "linear",
        "max_changes",
        "near",
        "only_decrease",
        "only_increase",
        "within",
    ),
    "question.costs.terms": ("L1", "L2", "Changes", "Cost", "LinearCost", "Quadratic"),
    "question.query": ("Probability", "Value", "probability", "value"),
    "report.audit": ("Audit",),
    "storage.constraint_files": ("load_constraints", "save_constraints"),
    "table.features": ("Boolean", "Categorical", "Feature", "Numeric", "Ordinal"),
    "table.schema": ("Schema",),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}

_PACKAGES = ("datasets", "distributed")

__all__ = sorted([*_MODULES, *_PACKAGES])


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
