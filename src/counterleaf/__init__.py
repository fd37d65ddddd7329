"""Exact counterfactual explanations for trees, forests and boosted trees: the cheapest change that makes a model predict y.

Names are imported when they are first used: ``__init__.pyi`` lists them. A proof can therefore be checked without the compiled
core, and a query about a plain tree needs neither pandas nor scikit-learn.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# {name: its module}, from lines such as "from counterleaf.model.tree import Tree as Tree"
_LISTED = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi").decode()
_HOME = {words[3]: words[1] for words in map(str.split, _LISTED.splitlines()) if words[:1] == ["from"]}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOME[name] == __name__:  # a package of its own
        return import_module(f"{__name__}.{name}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
