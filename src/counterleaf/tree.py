"""The former place of ``Tree``, which older pickles and skops files name."""

from counterleaf.model.tree import Tree

__all__ = ["Tree"]
