"""The steps of a pipeline: what they do to each column, and which steps and schemas are refused in one line."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from support.fold_cases import FULL, labels, people, schema_of, stump, tree

from counterleaf import Categorical, CounterleafError, Numeric, Schema
from counterleaf.model.pipelines import probing
from counterleaf.model.pipelines.fold import fold
from counterleaf.model.pipelines.probing import frame_of
from counterleaf.model.pipelines.steps import survey
from counterleaf.model.wrappers import is_pipeline


def test_survey_follows_each_column():
    frame = people()
    prepare = ColumnTransformer(
        [
            ("a", OneHotEncoder(), ["city", "job"]),
            ("b", OrdinalEncoder(categories=[["smith", "nurse", "cook", "clerk", "king"]]), ["job"]),
            ("n", SimpleImputer(), ["hours"]),
        ]
    )
    model = make_pipeline(prepare, tree()).fit(frame, labels())
    found = survey(model)
    assert found.names == list(frame.columns)
    assert found.named
    assert found.finite == {"city", "job"}
    assert found.unused == {"age", "pay", "tiny", "size", "flag", "code"}
    assert found.known == {"job": ["clerk", "cook", "nurse", "smith"], "city": ["Oslo", "Rome"]}
    assert found.tree is model[-1]
    assert is_pipeline(model)
    assert not is_pipeline(model[-1])
    folded = fold(model, schema_of(found, frame), frame)
    assert folded.fills == {"hours": pytest.approx(frame["hours"].mean(), rel=1e-15)}
    assert folded.tree.left.tolist() == model[-1].tree_.children_left.tolist()
    assert folded.tree.classes.tolist() == model.classes_.tolist()


def refused(step, match, columns=FULL):
    frame = people()[columns]
    model = Pipeline([("first", FunctionTransformer()), ("it", step), ("tree", tree())]).fit(frame, labels())
    with pytest.raises(CounterleafError, match=match) as caught:
        survey(model)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("step", "match"),
    [
        (
            PolynomialFeatures(),
            r"step 'it' .*\(PolynomialFeatures\) cannot be folded: it mixes columns; apply it to the table beforehand",
        ),
        (Normalizer(), r"step 'it' .*\(Normalizer\) cannot be folded: it mixes columns"),
        (KNNImputer(), r"step 'it' .*\(KNNImputer\) cannot be folded: it mixes columns"),
        (
            make_pipeline(StandardScaler(), OneHotEncoder()),
            r"step 'it__onehotencoder' .* column 'age' is scaled before it; encode the",
        ),
        (
            ColumnTransformer([("n", make_pipeline(FunctionTransformer(np.log1p), Normalizer()), ["age"])]),
            r"step 'it__n__normalizer' of the pipeline \(Normalizer\) cannot be folded",
        ),
    ],
)
def test_steps_that_cannot_be_folded_are_named(step, match):
    refused(step, match)


def test_a_pipeline_without_a_tree_is_refused():
    frame, y = people()[FULL], labels()
    for last, reason in (
        (KNeighborsClassifier(3), "its regions are not those of a tree"),
        (StandardScaler(), "it has no predict"),
    ):
        match = rf"step 'end' of the pipeline \({type(last).__name__}\) cannot be folded: {reason}"
        with pytest.raises(CounterleafError, match=match):
            survey(Pipeline([("scale", StandardScaler()), ("end", last)]))
    with pytest.raises(CounterleafError, match="the pipeline has no steps; expected it to end with a decision tree"):
        survey(Pipeline([("a", "passthrough")]))
    with pytest.raises(CounterleafError, match="got a DecisionTreeClassifier; expected a fitted scikit-learn Pipeline"):
        survey(tree().fit(frame, y))


def test_steps_that_are_not_fitted_or_not_fitted_together():
    frame, y = people()[FULL], labels()
    unfitted = "this Pipeline is not fitted; call fit first"
    with pytest.raises(CounterleafError, match=unfitted):
        survey(make_pipeline(StandardScaler(), tree()))
    fitted = tree().fit(frame.to_numpy(), y)
    with pytest.raises(CounterleafError, match=unfitted):
        survey(make_pipeline(StandardScaler(), fitted))
    with pytest.raises(CounterleafError, match=unfitted):
        survey(make_pipeline(ColumnTransformer([("a", StandardScaler(), [0])]), fitted))
    one, two = StandardScaler().fit(frame[["age"]]), StandardScaler().fit(frame[["age", "pay"]])
    with pytest.raises(CounterleafError, match="the steps make 1 columns but the tree takes 3; fit the pipeline as a whole"):
        survey(make_pipeline(one, fitted))
    match = r"step 'b' of the pipeline \(StandardScaler\) was fitted on 2 columns but gets 1; fit the pipeline as a whole"
    with pytest.raises(CounterleafError, match=match):
        survey(Pipeline([("a", one), ("b", two), ("tree", fitted)]))


def test_schemas_that_do_not_fit():
    frame, y = people()[["age", "job", "city", "hours"]], labels()
    strict = ColumnTransformer([("c", OneHotEncoder(), ["job"])], remainder="drop")
    model = make_pipeline(strict, tree()).fit(frame, y)
    rest = [Categorical("city", ["Rome"], missing=True), Numeric("hours")]
    with pytest.raises(
        CounterleafError, match="category 'pilot' of column 'job' is unseen by the encoder; leave it out, fit the pipeline"
    ):
        fold(model, Schema([Numeric("age"), Categorical("job", ["cook", "pilot"]), *rest]), frame)
    with pytest.raises(CounterleafError, match="category 'pilot' of column 'job' is unseen by the encoder"):
        fold(model, Schema([Numeric("age"), Categorical("job", ["pilot"]), *rest]), frame)
    with pytest.raises(
        CounterleafError, match=r"feature 'job' may be missing, but the pipeline refuses that .*; add a SimpleImputer"
    ):
        fold(model, Schema([Numeric("age"), Categorical("job", ["cook"], missing=True), *rest]), frame)
    with pytest.raises(
        CounterleafError, match="feature 'job' is a number in the schema, but the pipeline encodes its values; make it"
    ):
        fold(model, Schema([Numeric("age"), Numeric("job"), *rest]), frame)
    with pytest.raises(
        CounterleafError, match="the schema has the features 'age', 'city'; the pipeline was fitted on the columns 'age'"
    ):
        fold(model, Schema([Numeric("age"), rest[0]]), frame)
    assert fold(model, Schema([Categorical("job", ["cook"])]), frame).exact  # the others are dropped
    scaled = make_pipeline(ColumnTransformer([("n", StandardScaler(), ["age"])]), tree()).fit(frame, y)
    with pytest.raises(
        CounterleafError, match="the pipeline fails on 'old' in column 'age': could not convert string to float"
    ):
        fold(scaled, Schema([Categorical("age", [3, "old"]), Categorical("job", ["cook"]), *rest]), frame)
    marked = make_pipeline(ColumnTransformer([("n", SimpleImputer(missing_values=-1), ["age"])]), tree()).fit(frame, y)
    with pytest.raises(CounterleafError, match="feature 'age' is a number, but an imputer takes -1 for missing; make that NaN"):
        fold(marked, Schema([Numeric("age"), Categorical("job", ["cook"]), *rest]), frame)
    marked = make_pipeline(StandardScaler(), SimpleImputer(missing_values=0.0), tree()).fit(frame[["age"]], y)
    with pytest.raises(CounterleafError, match=r"feature 'age' is a number, but an imputer takes 0\.0 for missing"):
        fold(marked, Schema([Numeric("age")]))
    both = frame.assign(city=pd.Series([None, np.nan, *["Rome"] * 238], dtype=object))
    with pytest.raises(
        CounterleafError,
        match=r"^column 'city' of the data marks missing values by None and nan, which are two categories to an",
    ):
        fold(model, Schema([Numeric("age"), Categorical("job", ["cook"]), *rest]), both)


def test_an_oblique_split_on_a_clipped_number_is_refused():
    frame = people()[["age", "pay"]]
    clip = MinMaxScaler(clip=True).fit(frame)
    model = Pipeline([("clip", clip), ("tree", stump([1.0, 2.0], -0.5, "left"))])
    with pytest.raises(
        CounterleafError, match="column 'age' is clipped by MinMaxScaler, and the tree has oblique splits on it; use"
    ):
        fold(model, Schema([Numeric("age"), Numeric("pay")]), frame)


def test_steps_that_do_not_do_what_they_should(monkeypatch):
    frame, y = people()[["age", "pay"]], labels()
    schema = Schema([Numeric("age"), Numeric("pay")])
    model = make_pipeline(StandardScaler(), tree(max_depth=3)).fit(frame, y)
    scale = model[0]
    honest = scale.transform
    scale.transform = lambda X: honest(X)[:, [0, 1, 1]]
    with pytest.raises(CounterleafError, match=r"the pipeline fails on 1.0 in column 'age': X has 3 features"):
        fold(model, schema, frame)
    scale.transform = lambda X: honest(X)[:, ::-1]
    with pytest.raises(
        CounterleafError, match="column 'age' changes what the steps make of 'pay'; report your scikit-learn version"
    ):
        fold(model, schema, frame)
    scale.transform = lambda X: honest(X) if len(X) == 1 else honest(X)[:, :1]
    with pytest.raises(CounterleafError, match="the pipeline fails on rows of the schema: X has 1 features"):
        fold(model, schema, frame)
    scale.transform = honest
    first = probing.first
    monkeypatch.setattr(probing, "first", lambda *arguments: np.nextafter(first(*arguments), np.inf))
    with pytest.raises(CounterleafError, match="the pipeline does not route rows as its steps say; report"):
        fold(model, schema, frame)


def test_frame_of_keeps_the_types_of_the_table():
    frame = people().astype({"job": "category", "age": np.int8})
    found = survey(make_pipeline(ColumnTransformer([("c", OneHotEncoder(), ["job"])]), tree()).fit(frame, labels()))
    row = [30.0, 1.5, 2, None, "cook", "S", None, True, 7]
    made = frame_of([row, row], found, frame)
    assert made.dtypes.to_dict() == frame.dtypes.to_dict()
    assert made["city"].tolist() == [None, None]
    odd = frame_of([[300.0, 1.5, 2, 1.0, "pilot", "S", "Oslo", None, 7.5]], found, frame)
    assert [str(odd[name].dtype) for name in ("age", "job", "flag", "code")] == ["float64", "object", "object", "float64"]
    bare = frame_of([row], found, None)
    assert list(bare.columns) == list(frame.columns)
    assert bare["age"].tolist() == [30.0]
    many = frame_of([row], found, pl.from_pandas(frame))
    assert many.schema == pl.from_pandas(frame).schema
    odd = frame_of([[30.5, 1.5, 2, 1.0, "pilot", "S", "Oslo", None, 7.5]], found, pl.from_pandas(frame))
    assert odd["age"].to_list() == [30.5]
    assert odd["job"].to_list() == ["pilot"]


def test_frame_of_arrays():
    X = people()[["age", "hours"]].to_numpy()
    found = survey(make_pipeline(SimpleImputer(), tree()).fit(X, labels()))
    np.testing.assert_array_equal(frame_of([[1, None], [2, 3.5]], found, X), [[1, np.nan], [2, 3.5]])
    mixed = people()[["age", "city"]].to_numpy()
    found = survey(make_pipeline(ColumnTransformer([("c", OneHotEncoder(), [1])]), tree()).fit(mixed, labels()))
    assert frame_of([[1.0, None], [2.0, "Oslo"]], found, mixed).tolist() == [[1.0, None], [2.0, "Oslo"]]
    assert frame_of([[1.0, np.nan], [2.0, "Oslo"]], found, None).tolist() == [[1.0, None], [2.0, "Oslo"]]
