"""TAORegressor, and TAOClassifier with softmax leaves: scikit-learn's contract, and leaves that compute."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine, make_friedman1
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import counterleaf as cl

pytestmark = pytest.mark.slow  # the whole file takes many seconds

SETTINGS = [{}, {"init": "random"}, {"axis_aligned": True}, {"leaves": "constant"}, {"leaves": "constant", "axis_aligned": True}]


@parametrize_with_checks(
    [
        *(cl.TAORegressor(max_depth=2, **settings) for settings in SETTINGS),
        cl.TAOClassifier(max_depth=2, leaves="softmax"),
        cl.TAOClassifier(max_depth=2, leaves="softmax", axis_aligned=True),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
