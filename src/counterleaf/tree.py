"""An alias for ``counterleaf.model.tree``, since older pickles and skops files refer to ``counterleaf.tree.Tree``."""

from counterleaf.model.tree import Tree

__all__ = ["Tree"]
