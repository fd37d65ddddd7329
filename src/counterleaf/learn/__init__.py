"""Learn decision trees by tree alternating optimisation (TAO)."""

from counterleaf.learn.classifier import TAOClassifier
from counterleaf.learn.regressor import TAORegressor

__all__ = ["TAOClassifier", "TAORegressor"]
