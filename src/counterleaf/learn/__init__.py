"""Learn trees by tree alternating optimisation."""

from counterleaf.learn.classifier import TAOClassifier

__all__ = ["TAOClassifier"]
