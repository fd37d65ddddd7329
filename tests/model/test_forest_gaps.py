"""Rows that lack numbers: the expanded ensemble, the counts of rows in leaves, and the refusals."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, StandardScaler
from support.forest_cases import MIXED, points, table

from counterleaf import Categorical, Numeric, Schema
from counterleaf.errors import CounterleafError
from counterleaf.model import gaps
from counterleaf.model.adapter import adapt
from counterleaf.model.ensembles import fold
from counterleaf.model.gaps import adapter_with_gaps, count_rows, tree_with_gaps
from counterleaf.model.pipelines import check

FRAME, Y = table()
NUMBERS = ["age", "pay", "hours"]


def forest():
    return RandomForestClassifier(8, max_depth=5, random_state=0)


def boosted():
    return HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=8, categorical_features="from_dtype")


def test_counts_are_those_of_the_models_own_leaves():
    model = forest().fit(FRAME[NUMBERS], Y)
    adapter = adapt(model, FRAME[NUMBERS], None, True)
    counts = count_rows(adapter, adapter.spread_codes(FRAME[NUMBERS]))
    leaves = model.apply(FRAME[NUMBERS])
    ends = np.append(adapter.tree.roots, len(adapter.tree.left))
    for t in range(8):
        expected = np.bincount(leaves[:, t], minlength=ends[t + 1] - ends[t])
        assert np.array_equal(counts[ends[t] : ends[t + 1]], expected)


def test_counts_with_categories_and_gaps():
    adapter = adapt(boosted().fit(FRAME, Y), FRAME, None, True)
    counts = count_rows(adapter, adapter.spread_codes(FRAME))
    assert counts.sum() == len(FRAME) * adapter.tree.n_trees
    assert not counts[adapter.tree.left >= 0].any()


def test_an_expanded_ensemble_has_the_leaves_of_the_old_one():
    adapter = adapt(boosted().fit(FRAME, Y), FRAME, None, True)
    wider = adapter_with_gaps(adapter, ["hours", "age"])
    assert wider.schema.width == adapter.schema.width + 2
    assert wider.tree.splits.n_nodes == adapter.tree.splits.n_nodes + 4
    assert len(wider.origin) == len(wider.tree.left) <= 2 * len(adapter.tree.left)
    assert (np.maximum(wider.tree.left, wider.tree.right)[wider.tree.left >= 0] > np.flatnonzero(wider.tree.left >= 0)).all()
    whole = points(adapter)
    moved = np.insert(whole, [wider.schema.starts[d] + 1 - k for k, d in enumerate((0, 2))], 0.0, axis=1)
    assert np.array_equal(wider.origin[wider.tree.apply(moved)], adapter.tree.apply(whole))
    assert tree_with_gaps(adapter, {}) is adapter.tree
    assert tree_with_gaps(adapter, {"age": 0.0}).n_features == adapter.schema.width + 1


def test_numbers_that_cannot_be_missing():
    frame = FRAME[["age", "pay"]]
    adapter = adapt(GradientBoostingClassifier(n_estimators=9).fit(frame, Y), frame, None, True)
    with pytest.raises(CounterleafError, match="the model has no route for missing numbers; fill them in first"):
        adapter_with_gaps(adapter, ["age"])
    steps = make_column_transformer((StandardScaler(), ["age", "pay"]), (OneHotEncoder(), ["job"]))
    adapter = adapt(make_pipeline(steps, GradientBoostingClassifier(n_estimators=9)).fit(FRAME, Y), FRAME, None, True)
    with pytest.raises(CounterleafError, match="feature 'age' may be missing, but the pipeline refuses that"):
        adapter_with_gaps(adapter, ["age"])


def test_too_many_nodes(monkeypatch):
    monkeypatch.setattr(gaps, "_MOST_OF_TREES", 10)
    adapter = adapt(boosted().fit(FRAME, Y), FRAME, None, True)
    with pytest.raises(CounterleafError, match="would need more than 10 nodes for the missing numbers; fill them in first"):
        adapter_with_gaps(adapter, ["hours"])
    monkeypatch.setattr(fold, "_MOST_NODES", 10)
    steps = make_column_transformer((KBinsDiscretizer(6), ["age", "pay"]))
    with pytest.raises(CounterleafError, match="the ensemble needs more than 10 nodes; use fewer bins"):
        adapt(make_pipeline(steps, forest()).fit(FRAME, Y), FRAME, None, True)


def test_steps_that_mix_columns():
    model = make_pipeline(make_column_transformer((PCA(2), ["age", "pay"])), forest()).fit(FRAME, Y)
    with pytest.raises(
        CounterleafError, match=r"mix columns \('age', 'pay'\) before the trees; an ensemble needs splits on single"
    ):
        adapt(model, FRAME, None, True)


def test_a_number_that_the_model_takes_for_a_category():
    codes = FRAME[["age", "pay"]].assign(code=np.arange(len(FRAME)) % 4)
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=["code"]).fit(codes, codes["code"] % 2)
    with pytest.raises(CounterleafError, match="feature 'code' is a number in the schema, but the pipeline encodes its values"):
        adapt(model, codes, Schema([Numeric("age"), Numeric("pay"), Numeric("code")]), True)
    steps = FunctionTransformer(lambda Z: Z + 0, feature_names_out="one-to-one")
    model = make_pipeline(steps, HistGradientBoostingClassifier(max_iter=5, categorical_features=[2])).fit(
        codes, codes["code"] % 2
    )
    message = "^feature 'code' is a number in the schema, but the model takes it for a category; make it Categorical$"
    with pytest.raises(CounterleafError, match=message):
        adapt(model, codes, None, True)
    old = codes["age"] > codes["age"].median()
    ignores = make_pipeline(steps, HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=2, categorical_features=[2]))
    assert adapt(ignores.fit(codes, old), codes, None, True).schema.domains == {}


def test_schemas_and_data_that_do_not_fit():
    model = boosted().fit(FRAME, Y)
    with pytest.raises(CounterleafError, match="the schema has the features 'age'; the pipeline was fitted on the columns"):
        adapt(model, None, Schema([Numeric("age")]), True)
    with pytest.raises(CounterleafError, match=r"data lacks the columns \['city'\]"):
        adapt(model, FRAME[MIXED[:-1]], None, True)
    with pytest.raises(CounterleafError, match="data has 2 columns; the model needs 3"):
        adapt(forest().fit(FRAME[NUMBERS].to_numpy(), Y), FRAME[NUMBERS].to_numpy()[:, :2], None, True)
    two = RandomForestClassifier(3).fit(FRAME[NUMBERS], np.c_[Y, Y])
    with pytest.raises(CounterleafError, match="2 outputs"):
        adapt(two, FRAME[NUMBERS], None, True)


def test_a_model_that_predicts_something_else(monkeypatch):
    """A pipeline whose predict does not follow its trees is noticed when it is read."""
    model = make_pipeline(StandardScaler(), forest()).fit(FRAME[["age", "pay"]], Y)
    schema = Schema([Numeric("age"), Numeric("pay")])
    monkeypatch.setattr(check, "agrees", lambda *_: False)
    with pytest.raises(
        CounterleafError, match="does not predict as its trees and the steps before them say; report the versions"
    ):
        adapt(model, FRAME[["age", "pay"]], schema, True)


def test_a_category_that_the_model_does_not_know():
    model = boosted().fit(FRAME, Y)
    schema = adapt(model, FRAME, None, True).schema
    features = [Categorical("job", ["cook", "pilot"]) if feature.name == "job" else feature for feature in schema]
    adapter = adapt(model, FRAME, Schema(features), True)  # it goes where missing categories go
    assert adapter.schema.features[3].values == ("cook", "pilot")
