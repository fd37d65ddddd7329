"""Wrappers around ensembles: the threshold of two classes moves, and values are transformed."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.forest_cases import WORDS, same, table

from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import adapt

FRAME, Y = table()
PLAIN, _ = table(categories=False)
NUMBERS = ["age", "pay", "hours"]
LABELS = np.where(Y == 1, "yes", "no")


def forest():
    return RandomForestClassifier(10, min_samples_leaf=4, random_state=0)


def boosted():
    return HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=8, categorical_features="from_dtype")


@pytest.mark.parametrize("label", ["yes", "no"])
@pytest.mark.parametrize("threshold", [0.2, 0.3, 0.7])
@pytest.mark.parametrize("make", [forest, boosted])
def test_a_threshold(make, threshold, label):
    frame = FRAME[NUMBERS] if make is forest else FRAME
    model = FixedThresholdClassifier(make(), threshold=threshold, pos_label=label).fit(frame, LABELS)
    adapter = same(model, frame)
    assert adapter.tree.scoring.kind == "threshold"
    assert adapter.tree.classes.tolist() == ["no", "yes"]


def test_a_share_that_equals_the_threshold():
    """Shares of pure trees are multiples of a tenth, and a tie at the threshold says yes."""
    frame = PLAIN[["age", "pay"]]
    model = FixedThresholdClassifier(RandomForestClassifier(10, random_state=0), threshold=0.3).fit(frame, Y)
    tied = np.isclose(model.predict_proba(frame)[:, 1], 0.3)
    assert tied.any()
    adapter = adapt(model, frame, None, True)
    assert np.array_equal(adapter.tree.predict(frame), model.predict(frame))


def test_a_threshold_of_the_decision_function():
    model = FixedThresholdClassifier(boosted(), threshold=0.4, response_method="decision_function").fit(FRAME, Y)
    assert same(model, FRAME).tree.scoring.cut == 0.4


def test_a_tuned_threshold_around_a_pipeline_with_categories_and_gaps():
    steps = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), WORDS), (StandardScaler(), NUMBERS))
    same(TunedThresholdClassifierCV(make_pipeline(steps, forest()), cv=2).fit(PLAIN, Y), PLAIN)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_gives_classes_only(method):
    model = CalibratedClassifierCV(forest(), method=method, ensemble=False, cv=3).fit(FRAME[NUMBERS], Y)
    adapter = same(model, FRAME[NUMBERS])
    assert not adapter.tree.has_probabilities


def test_a_transformed_target():
    model = TransformedTargetRegressor(RandomForestRegressor(6, random_state=0), func=np.log1p, inverse_func=np.expm1)
    adapter = same(model.fit(FRAME[NUMBERS], FRAME["pay"]), FRAME[NUMBERS], exact=False)
    assert adapter.rescale is not None


def test_refusals():
    three = np.arange(len(FRAME)) % 3
    calibrated = CalibratedClassifierCV(forest(), ensemble=False, cv=3).fit(FRAME[NUMBERS], three)
    with pytest.raises(
        CounterleafError, match="cannot read a CalibratedClassifierCV around this RandomForestClassifier: expected two"
    ):
        adapt(calibrated, FRAME[NUMBERS], None, True)
    inner = CalibratedClassifierCV(forest(), ensemble=False, cv=3)
    nested = FixedThresholdClassifier(inner, threshold=0.3).fit(FRAME[NUMBERS], Y)
    with pytest.raises(CounterleafError, match="FixedThresholdClassifier around another wrapper of a RandomForestClassifier"):
        adapt(nested, FRAME[NUMBERS], None, True)
    several = CalibratedClassifierCV(forest(), cv=2).fit(FRAME[NUMBERS], Y)
    with pytest.raises(CounterleafError, match="averages 2 calibrated models"):
        adapt(several, FRAME[NUMBERS], None, True)
    bent = TransformedTargetRegressor(RandomForestRegressor(3), func=np.abs, inverse_func=np.cos, check_inverse=False)
    with pytest.raises(CounterleafError, match="TransformedTargetRegressor is not monotone"):
        adapt(bent.fit(FRAME[NUMBERS], FRAME["pay"]), FRAME[NUMBERS], None, True)
