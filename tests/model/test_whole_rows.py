"""Answers of pipelines are confirmed on the whole row as it is handed back, whatever columns the steps declare."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, SplineTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import counterleaf as cl

RNG = np.random.default_rng(0)
N = 300
X = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "b": RNG.normal(size=N),
        "age": pd.array(RNG.integers(18, 80, N), dtype="Int64"),
        "owns": pd.array(RNG.random(N) < 0.5, dtype="boolean"),
        "job": pd.Categorical(RNG.choice(["cook", "clerk", "smith"], N)),
        "size": pd.Categorical(RNG.choice(["S", "M", "L"], N), ["S", "M", "L"], ordered=True),
        "town": pd.array(RNG.choice(["Ulm", "Bonn"], N), dtype="string"),
        "when": pd.date_range("2020-01-01", periods=N),
    },
    index=np.arange(1000, 1000 + N),
)
score = X["a"] + X["b"] / 2 + X["age"].astype(float) / 60 + (X["job"] == "cook") + X["owns"].astype(float)
Y = np.where(score > score.median(), "yes", "no")


class Own(TransformerMixin, BaseEstimator):
    """A user's own step, which tells nothing about its columns."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.function(X)


class Named(Own):
    """A step that names only one of the columns that it reads."""

    def fit(self, X, y=None):
        self.feature_names_in_ = np.array(["a"])
        return self


def coded(X):
    return pd.DataFrame(
        {
            "a": X["a"],
            "job": X["job"].map({"cook": 2, "clerk": 1, "smith": 0}).astype(float),
            "large": (X["size"] == "L").astype(int),
            "ulm": (X["town"] == "Ulm").astype(int),
            "age": X["age"].astype(float),
            "owns": X["owns"].astype(float),
        }
    )


def optional(X):
    return X[["a"]] + (X["b"].to_frame("a") * 3 if "b" in X else 0)


def tree():
    return DecisionTreeClassifier(max_depth=4, random_state=0)


def forest():
    return RandomForestClassifier(8, max_depth=4, random_state=0)


ENCODED = make_column_transformer(
    (StandardScaler(), ["a", "b", "age"]), (OneHotEncoder(), ["job", "size", "town"]), ("passthrough", ["owns"])
)
STEPS = {
    "twice": Own(lambda X: X[["a", "b"]] * 2.0),
    "adds": Own(lambda X: X[["a", "b"]].assign(c=np.exp(X["a"]))),
    "renames": Own(lambda X: X[["a", "b", "age"]].rename(columns=str.upper)),
    "reorders": Own(lambda X: X[["age", "b", "a"]]),
    "array": Own(lambda X: np.c_[X["b"]]),
    "codes": Own(coded),
    "columns": ENCODED,
}
SUMS = {
    "sum": Own(lambda X: X[["a"]].assign(a=X["a"] + X["b"])),
    "optional": Own(optional),
    "names one": Named(optional),
}


def fitted(step, last):
    return make_pipeline(step, last).fit(X, Y)


def check_rows(model, explainer, k):
    """Every answer for a row, in any form, is what the model predicts for the row as it is handed back."""
    row = X.iloc[[k]]
    for options in ({}, {"count": 2}, {"margin": 0.01}, {"constraints": [cl.max_changes(1)]}):
        answer = explainer.explain(row, target="yes", **options)
        assert answer.source_label == model.predict(row)[0]
        for one in answer:
            assert one.confirmed
            assert model.predict(one.row).tolist() == ["yes"]
            assert one.row.dtypes.equals(X.dtypes)
            assert one.row.index.equals(row.index)
        shown = answer.to_frame()[list(X.columns)]
        assert shown.dtypes.equals(X.dtypes)
        assert model.predict(shown.iloc[1:]).tolist() == ["yes"] * len(answer) if len(answer) else True
    series = explainer.explain(X.iloc[k], target="yes")[0]
    assert isinstance(series.row, pd.Series)
    assert series.confirmed
    assert model.predict(series.row.to_frame().T.astype(X.dtypes)).tolist() == ["yes"]
    named = explainer.explain(X.iloc[k].to_dict(), target="yes")
    assert named[0].confirmed
    assert named.to_frame()[list(X.columns)].dtypes.equals(X.dtypes)


@pytest.mark.parametrize("last", [tree, forest])
@pytest.mark.parametrize("name", STEPS)
def test_answers_are_confirmed_on_the_row_as_it_is_handed_back(name, last):
    model = fitted(STEPS[name], last())
    explainer = cl.Explainer(model, data=X)
    for k in np.flatnonzero(model.predict(X) == "no")[:3].tolist():
        check_rows(model, explainer, k)


@pytest.mark.parametrize("name", SUMS)
def test_a_step_that_reads_more_columns_than_it_makes_or_names(name):
    model = fitted(SUMS[name], tree())
    explainer = cl.Explainer(model, data=X)
    assert not explainer.tree.is_axis_aligned()
    for k in np.flatnonzero(model.predict(X) == "no")[:3].tolist():
        check_rows(model, explainer, k)
    with pytest.raises(cl.CounterleafError, match=r"mix columns \('a', 'b'\) before the trees; an ensemble needs splits on"):
        cl.Explainer(fitted(SUMS[name], forest()), data=X)


@pytest.mark.parametrize("name", ["codes", "optional", "columns"])
def test_tables_of_whole_rows(name):
    pa = pytest.importorskip("pyarrow")
    model = fitted({**STEPS, **SUMS}[name], tree())
    explainer, rows = cl.Explainer(model, data=X), X.head(40)
    out = explainer.explain_many(rows, target="yes")
    assert out["confirmed"].all()
    assert out["source_label"].tolist() == model.predict(rows).tolist()
    new = rows.assign(**{name: out[name] for name in X if name in out})
    assert new.dtypes.equals(X.dtypes)
    assert set(model.predict(new)) == {"yes"}
    assert explainer.explain_many(rows, target="yes", count=2)["confirmed"].all()
    batch = explainer.arrow(target="yes")(pa.RecordBatch.from_pandas(rows, preserve_index=False)).to_pandas()
    assert batch["confirmed"].all()
    assert batch["source_label"].tolist() == out["source_label"].tolist()


def test_the_source_has_the_label_that_the_model_says():
    explainer = cl.Explainer(fitted(Own(optional), tree()), data=X)
    answer = explainer.explain(X.iloc[[0]], target="yes")
    explainer.model.steps.insert(0, ("away", Own(lambda X: X.assign(a=-100.0))))  # the model changes after it was read
    again = explainer.explain(X.iloc[[0]], target="yes")
    assert again.source_label == "no"
    assert not again[0].confirmed
    assert explainer.explain_many(X.head(5), target="yes")["source_label"].tolist() == ["no"] * 5
    assert cl.Explanation.from_json(again.to_json()).source_label == "no"
    assert cl.Explanation.from_json(answer.to_json()).source_label == answer.source_label


def test_values_of_a_pipeline():
    model = make_pipeline(Own(coded), DecisionTreeRegressor(max_depth=4, random_state=0)).fit(X, np.asarray(score, float))
    explainer = cl.Explainer(model, data=X)
    answer = explainer.explain(X.iloc[[0]], target=cl.value(at_least=2.5))
    assert answer.source_label == model.predict(X.iloc[[0]])[0]
    assert answer[0].confirmed
    assert model.predict(answer[0].row)[0] >= 2.5
    assert explainer.explain_many(X.head(9), target=cl.value(at_least=2.5))["source_label"].tolist() == list(
        model.predict(X.head(9))
    )


def test_a_date_that_the_steps_read_is_refused_by_name():
    model = fitted(Own(lambda X: np.c_[X["a"], X["when"].dt.month]), tree())
    with pytest.raises(
        cl.CounterleafError, match=r"column 'when' of the data holds datetime64.*read it; expected numbers or cat"
    ):
        cl.Explainer(model, data=X)


def test_a_first_step_without_columns_needs_data():
    model = make_pipeline(Own(lambda X: X * 2.0), tree()).fit(X[["a", "b"]], Y)
    with pytest.raises(
        cl.CounterleafError, match=r"\(Own\) does not tell which columns it takes; pass data= with typical rows"
    ):
        cl.Explainer(model)
    by_schema = cl.Explainer(model, schema=cl.Schema([cl.Numeric("a"), cl.Numeric("b")]))
    assert by_schema.explain({"a": 0.0, "b": 0.0})[0].confirmed
    array = make_pipeline(Own(lambda X: X * 2.0), tree()).fit(X[["a", "b"]].to_numpy(), Y)
    answer = cl.Explainer(array, data=X[["a", "b"]].to_numpy()).explain(np.array([0.0, 0.0]))
    assert answer[0].confirmed
    assert array.predict(answer[0].row[None])[0] == answer[0].label != answer.source_label


def test_a_row_with_other_columns_in_another_order():
    model = fitted(ENCODED, tree())
    explainer, row = cl.Explainer(model, data=X.assign(label=Y)), X.iloc[[0]].assign(extra=1.0)
    for form in (row, row[row.columns[::-1]], row.drop(columns="when"), X.iloc[[0]].assign(label="no")):
        answer = explainer.explain(form, target="yes")[0]
        assert answer.confirmed
        assert list(answer.row.columns) == list(form.columns)


@pytest.mark.parametrize("last", [tree, forest])
@pytest.mark.parametrize("step", [FunctionTransformer(np.sin), SplineTransformer()])
@pytest.mark.parametrize("gaps", [False, True])
def test_an_imputer_before_a_curve(step, gaps, last):
    months = pd.DataFrame({"month": RNG.integers(1, 13, 400)})
    said = np.where(np.sin(months["month"]) > 0.3, "yes", "no")
    if gaps:
        months["month"] = months["month"].where(RNG.random(400) < 0.9)
    model = make_pipeline(SimpleImputer(), step, last()).fit(months, said)
    explainer = cl.Explainer(model, data=months)
    for k in range(12):
        answer = explainer.explain(months.iloc[[k]], target="yes")
        assert answer.source_label == model.predict(months.iloc[[k]])[0]
        assert answer[0].confirmed
        assert model.predict(answer[0].row)[0] == "yes"


def test_nullable_floats_stay_nullable():
    narrow = X[["a"]].astype({"a": "Float32"})
    model = make_pipeline(StandardScaler(), tree()).fit(narrow, Y)
    explainer = cl.Explainer(model, data=narrow)
    for k in np.flatnonzero(model.predict(narrow) == "no")[:5].tolist():
        answer = explainer.explain(narrow.iloc[[k]], target="yes")[0]
        assert answer.confirmed
        assert str(answer.row["a"].dtype) in ("Float32", "Float64")
        assert model.predict(answer.row)[0] == "yes"


@pytest.mark.parametrize("dtype", ["float32", "Float32"])
@pytest.mark.parametrize("kind", [dict, list, pd.Series], ids=["dict", "list", "series"])
def test_rows_without_types_are_confirmed_as_they_are_handed_back(kind, dtype):
    """A number that float32 cannot hold is not rounded to float32: beyond a split, that would be another prediction."""
    narrow = X[["a", "b"]].astype({"a": dtype})
    model = make_pipeline(StandardScaler(), tree()).fit(narrow, Y)
    explainer = cl.Explainer(model, data=narrow)
    wide = 0
    for k in np.flatnonzero(model.predict(narrow) == "no")[:20].tolist():
        row = narrow.iloc[k].astype(float)
        answer = explainer.explain(
            row if kind is pd.Series else kind(row.to_dict() if kind is dict else row), target="yes", count=2
        )
        assert answer.source_label == "no"
        for one in answer:
            a, b = [one.row[name] for name in ("a", "b")] if kind is not list else one.row
            wide += float(np.float32(a)) != a
            held = dtype if float(np.float32(a)) == a else dtype.replace("32", "64")
            assert one.confirmed
            assert model.predict(pd.DataFrame({"a": pd.array([a], held), "b": [b]}))[0] == "yes"
    assert wide > 0


def test_narrow_columns_named_by_numbers():
    table = X[["a", "b"]].astype("float32").set_axis([0, 1], axis=1)
    explainer = cl.Explainer(make_pipeline(StandardScaler(), tree()).fit(table.to_numpy(), Y), data=table)
    row = table.iloc[int(np.flatnonzero(explainer.model.predict(table.to_numpy()) == "no")[0])]
    assert [one.confirmed for one in explainer.explain(row.tolist(), target="yes", count=2)] == [True, True]


def test_a_dict_is_confirmed_as_it_is_handed_back():
    """An answer that a float32 column cannot hold is not rounded to one before the model confirms it."""
    narrow = X[["a", "b", "job"]].astype({"a": np.float32, "b": np.float32})
    steps = make_column_transformer(("passthrough", ["a", "b"]), (OrdinalEncoder(), ["job"]))
    model = make_pipeline(steps, HistGradientBoostingClassifier(max_iter=6)).fit(narrow, Y)
    explainer = cl.Explainer(model, data=narrow)
    for k in range(30):
        answers = [explainer.explain(row, count=2) for row in (narrow.iloc[[k]], narrow.iloc[k], narrow.iloc[k].to_dict())]
        for answer in answers:
            shown = answer.to_frame()
            assert all(one.confirmed for one in answer)
            assert model.predict(shown[list(narrow.columns)]).tolist() == [answer.source_label, *(one.label for one in answer)]


def test_alternatives_of_a_dict_do_not_widen_each_other():
    """Each row without types is predicted in the narrowest types that hold it, whatever the other rows need."""
    seen = []
    narrow = X[["a", "b"]].astype(np.float32)
    model = fit_types(narrow, seen)
    explainer = cl.Explainer(model, data=narrow)
    row = narrow.iloc[0].to_dict()
    seen.clear()
    explainer._adapter.predictions(np.zeros((2, 2)), [row, {"a": 0.1, "b": 0.5}])
    assert sorted(seen) == [["float32", "float32"], ["float64", "float32"]]


def fit_types(narrow, seen):
    def note(rows):
        seen.append([str(dtype) for dtype in rows.dtypes])
        return rows

    return make_pipeline(Own(note), tree()).fit(narrow, Y)


@pytest.mark.parametrize("gap", [None, np.nan])
def test_rows_of_arrow_have_the_gaps_of_the_table(gap):
    """None and NaN are two categories to an encoder; arrow knows one null."""
    pa = pytest.importorskip("pyarrow")
    towns = np.where(RNG.random(N) < 0.3, gap, X["town"].astype(object))
    data = X[["a"]].assign(town=pd.Series(towns, X.index, dtype=object))
    said = np.where(data["town"].isna() ^ (data["a"] > 0), "yes", "no")
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"]), ("passthrough", ["a"])), forest()).fit(
        data, said
    )
    explainer = cl.Explainer(model, data=data)
    expected = explainer.explain_many(data.head(60), target="yes")
    batch = pa.RecordBatch.from_pandas(data.head(60), preserve_index=False)
    found = explainer.arrow(target="yes")(batch).to_pandas()
    assert expected["confirmed"].all()
    assert found["confirmed"].all()
    assert found["source_label"].tolist() == expected["source_label"].tolist()


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_columns_of_a_model_that_was_fitted_on_an_array_are_those_of_the_data():
    data = X[["a", "town", "b"]].astype({"town": object})
    steps = ColumnTransformer([("code", OrdinalEncoder(), [1]), ("rest", "passthrough", [0, 2])])
    model = make_pipeline(steps, forest()).fit(data.to_numpy(), Y)
    explainer = cl.Explainer(model, data=data)
    assert explainer.schema.names == ["a", "town", "b"]
    for k in range(5):
        answer = explainer.explain(data.iloc[k])
        assert answer[0].confirmed
        assert model.predict(answer[0].row.to_numpy()[None])[0] == answer[0].label


def test_a_step_that_needs_the_whole_table_is_refused_for_that():
    dummies = FunctionTransformer(lambda rows: pd.get_dummies(rows[["job", "a"]].astype({"job": object})))
    with pytest.raises(
        cl.CounterleafError,
        match=r"\(FunctionTransformer\) fail on a row of the data alone .*treat each row alone, as OneHotEncoder does in place",
    ):
        cl.Explainer(fitted(dummies, tree()), data=X)
    narrow = X[["a", "b"]].astype({"a": np.float32})
    model = make_pipeline(Own(lambda rows: rows.select_dtypes("float32")), tree()).fit(narrow, Y)
    with pytest.raises(
        cl.CounterleafError,
        match=r"\(Own\) fail on made-up rows like those of the data .*not its index or the width of its numbers",
    ):
        cl.Explainer(model, data=narrow)


@pytest.mark.parametrize("last", [tree, forest])
def test_a_step_that_writes_to_its_rows_changes_neither_the_data_nor_the_answer(last):
    def doubles(rows):
        rows["a"] = rows["a"] * 2.0
        return rows[["a", "b"]]

    data = X[["a", "b", "when"]].copy()
    model = make_pipeline(Own(doubles), last()).fit(data.copy(), Y)
    before = data.copy()
    explainer = cl.Explainer(model, data=data)
    row = data.iloc[[0]].copy()
    answer = explainer.explain(row)
    explainer.explain_many(data.head(9), target="yes")
    assert data.equals(before)
    assert row.equals(before.iloc[[0]])
    (old, new), found = answer[0].changes.get("a", (row["a"].iloc[0],) * 2), answer[0].row["a"].iloc[0]
    assert (old, new) == (row["a"].iloc[0], found)
    assert model.predict(answer[0].row.copy())[0] == answer[0].label


def test_rows_with_gaps_in_text_are_tried_too():
    gappy = X[["a", "town"]].copy()
    gappy.loc[gappy.index[:40], "town"] = pd.NA
    ulm = Own(lambda rows: np.c_[rows["a"], (rows["town"].astype(object) == "Ulm").astype(float)])
    model = make_pipeline(ulm, tree()).fit(gappy, Y)
    answer = cl.Explainer(model, data=gappy).explain(gappy.iloc[[0]])
    assert answer[0].confirmed
    assert model.predict(answer[0].row)[0] == answer[0].label


class Contrary(DecisionTreeClassifier):
    """A user's tree that says the opposite of what it computes."""

    def predict(self, X):
        return np.where(super().predict(X) == "yes", "no", "yes")


class Picky(RandomForestClassifier):
    """A user's forest that takes frames only."""

    def predict(self, X):
        return super().predict(X[["a", "b"]])


def test_a_model_with_a_predict_of_its_own_says_the_label_of_the_source():
    rows = X[["a", "b"]]
    model = Contrary(max_depth=3).fit(rows, Y)
    explainer = cl.Explainer(model, data=rows)
    answer = explainer.explain(rows.iloc[[0]], target="no")
    assert answer.source_label == model.predict(rows.iloc[[0]])[0]
    assert [one.confirmed for one in answer] == [one.label == model.predict(one.row)[0] for one in answer] == [False]
    found = explainer.explain_many(rows.head(9), target="no")
    assert found["source_label"].tolist() == model.predict(rows.head(9)).tolist()
    assert cl.Explainer(tree().fit(rows, Y), data=rows)._adapter.labels_sources is False
    with pytest.raises(
        cl.CounterleafError, match=r"^cannot read this Picky: its own predict raised IndexError: .* arrays of num"
    ):
        cl.Explainer(Picky(3).fit(rows, Y), data=rows)
