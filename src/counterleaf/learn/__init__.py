"""Learn decision trees by tree alternating optimisation (TAO)."""

from counterleaf.learn.classifier import TAOClassifier

__all__ = ["TAOClassifier"]
