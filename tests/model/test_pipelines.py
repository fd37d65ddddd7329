"""Queries about whole pipelines as users write them: the pipeline predicts every answer again."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.pipeline_cases import DROPPING, PREPARATIONS, SCHOOLS, back, confirm, fitted, people, taken
from support.seeds import seeds

import counterleaf as cl

pytestmark = pytest.mark.slow  # the whole file takes many seconds

CASES = [(name, kind) for name in PREPARATIONS for kind in ("pandas", "polars", "array")]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_answers_of_every_step_on_every_table(name, kind):
    columns, prepare = PREPARATIONS[name]
    pipeline, table = fitted(columns, prepare, kind)
    explainer = cl.Explainer(pipeline, data=table)
    names = explainer.schema.names
    assert names == (columns if kind != "array" else [f"x{k}" for k in range(len(columns))])
    forms = {"pandas": ["frame", "dict", "series", "list"], "polars": ["frame", "dict", "list"], "array": ["array"]}[kind]
    gap = pd.isna(pd.DataFrame(np.asarray(table), columns=columns)).any(axis=1).to_numpy()
    places = [0, 1, 2, *np.flatnonzero(gap)[:2].tolist()]
    assert name not in ("mean", "constant", "ordinal with gaps", "nested") or len(places) == 5
    for k, i in enumerate(places):
        for form in forms if k == 0 else [forms[k % len(forms)]]:
            row = taken(table, i, form)
            answer = explainer.explain(row, count=2)
            assert answer.source_label == pipeline.predict(back(row, table))[0]
            confirm(pipeline, table, answer, row, names)


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output(output, kind):
    columns, prepare = PREPARATIONS["largest, unknown ignored"]
    pipeline, table = fitted(columns, prepare, kind, output=output)
    explainer = cl.Explainer(pipeline, data=table)
    row = taken(table, 3, "frame")
    confirm(pipeline, table, explainer.explain(row, count=3), row, columns)


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
@pytest.mark.parametrize("name", DROPPING)
def test_columns_that_the_pipeline_drops_stay_as_they_are(name, kind):
    columns = ["rate", "age", "city", "pay", "job", "owner"]
    pipeline, table = fitted(columns, DROPPING[name], kind)
    explainer = cl.Explainer(pipeline, data=table)
    for form in ["array"] if kind == "array" else ["frame", "dict"]:
        for i in range(4):
            row = taken(table, i, form)
            answer = explainer.explain(row)
            confirm(pipeline, table, answer, row, columns if kind != "array" else [f"x{k}" for k in range(6)])
            assert not {"rate", "city", "owner", "x0", "x2", "x5"} & answer[0].changes.keys()


def test_an_array_for_a_pipeline_that_knows_names():
    """The columns of an array take the names of the fit, also if the pipeline drops some or encodes numbers."""
    frame, y = people()
    frame = frame[["age", "pay", "rate", "job", "owner"]].assign(zone=np.arange(len(frame)) % 3)
    steps = ColumnTransformer([("n", StandardScaler(), ["age", "pay"]), ("c", OneHotEncoder(), ["job", "zone"])])
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(frame, y)
    one, other = cl.Explainer(model, data=frame), cl.Explainer(model, data=frame.to_numpy())
    assert other.schema.names == one.schema.names == ["age", "pay", "job", "zone"]
    assert str(other.schema) == str(one.schema)
    assert np.array_equal(other.spreads.mad, one.spreads.mad)
    answers = [explainer.explain(frame.iloc[[0]], cost=cl.L1("mad")) for explainer in (one, other)]
    assert answers[0][0].changes == answers[1][0].changes
    confirm(model, frame, answers[1], frame.iloc[[0]], list(frame))


def test_an_array_of_floats():
    frame, y = people()
    X = frame[["age", "pay", "rate"]].to_numpy(dtype=np.float64)
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=5, random_state=0)).fit(X, y)
    explainer = cl.Explainer(pipeline, data=X)
    for i in range(5):
        answer = explainer.explain(X[i], count=None)
        confirm(pipeline, X, answer, X[i], ["x0", "x1", "x2"])


def test_kinds_of_pandas_columns():
    """Nullable and categorical columns keep their types; ordered categories are levels."""
    frame, y = people()
    table = pd.DataFrame(
        {
            "age": frame["age"].astype("Int64"),
            "job": frame["job"].astype("category"),
            "school": pd.Categorical(frame["school"], SCHOOLS, ordered=True),
            "owner": frame["owner"],
        }
    )
    prepare = make_column_transformer((OneHotEncoder(), ["job", "school", "owner"]), remainder=StandardScaler())
    pipeline = make_pipeline(prepare, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(table, y)
    explainer = cl.Explainer(pipeline, data=table)
    assert "4 levels: none < HS < BA < MA" in str(explainer.schema)
    for i in range(4):
        row = table.iloc[[i]]
        confirm(pipeline, table, explainer.explain(row, count=2), row, list(table.columns))


def test_a_row_whose_columns_come_in_another_order():
    columns, prepare = PREPARATIONS["standard"]
    for kind in ("pandas", "polars"):
        pipeline, table = fitted(columns, prepare, kind)
        explainer = cl.Explainer(pipeline, data=table)
        row = taken(table, 0, "frame")[columns[::-1]]
        answer = explainer.explain(row)
        confirm(pipeline, table, answer, row, columns[::-1])
        assert answer[0].changes == explainer.explain(taken(table, 0, "frame"))[0].changes


def test_from_a_file_to_an_answer_to_keep():
    """A file with gaps, a pipeline, a query, an answer that is written and read again."""
    frame, y = people(200, 7)
    text = frame.drop(columns="rate").assign(label=y).to_csv(index=False)
    table = pd.read_csv(io.StringIO(text))
    X, y = table.drop(columns="label"), table["label"]
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    prepare = make_column_transformer((numbers, ["age", "pay", "hours"]), (words, ["job", "school", "city", "owner"]))
    model = make_pipeline(prepare, DecisionTreeClassifier(max_depth=5, random_state=0)).fit(X, y)
    printed = str(cl.Schema.infer(X)).splitlines()
    assert printed[0] == "7 features, inferred from the data:"
    assert re.fullmatch(r"  age     whole number, \d+ to \d+", printed[1])
    assert printed[4:] == [
        "  job     one of 4: clerk, cook, nurse, smith",
        "  school  one of 4: BA, HS, MA, none",
        "  city    one of 2: Oslo, Rome, may be missing",
        "  owner   yes or no",
    ]
    features = {f.name: f for f in cl.Schema.infer(X)}
    features |= {"school": cl.Ordinal("school", SCHOOLS), "hours": cl.Numeric("hours", 0, 80, step=5)}
    explainer = cl.Explainer(model, data=X, schema=cl.Schema(features.values()))
    refused = X[model.predict(X) == "no"]
    for row in (refused.iloc[[0]], refused[refused["hours"].isna()].iloc[[0]], refused[refused["city"].isna()].iloc[[0]]):
        constraints = [
            cl.only_increase("school"),
            cl.implies(cl.changed("school"), cl.only_increase("age", by=2)),
            cl.freeze("city"),
        ]
        answer = explainer.explain(row, target="yes", constraints=constraints, count=3)
        assert (model.predict(answer.to_frame()[list(X.columns)].iloc[1:]) == "yes").all()
        assert answer.certificate.check() is True
        assert str(answer).startswith("If ")
        again = cl.Explanation.from_json(answer.to_json())
        assert str(again) == str(answer)
        assert again.certificate.check() is True
        assert answer.plot().axes
        for c in answer:
            assert c.confirmed
            assert "hours" not in c.changes or c.changes["hours"][1] % 5 == 0
            if "school" in c.changes:
                assert SCHOOLS.index(c.changes["school"][1]) > SCHOOLS.index(c.changes["school"][0])
                assert c.row["age"].iloc[0] >= row["age"].iloc[0] + 2


class Grown(ClassifierMixin, BaseEstimator):
    """A tree that was not learned, as an estimator."""

    def __init__(self, tree=None):
        self.tree = tree

    def fit(self, X=None, y=None):
        self.tree_, self.classes_ = self.tree, self.tree.classes
        return self

    def predict(self, X):
        return self.tree_.predict(np.asarray(X))


@pytest.mark.parametrize("seed", seeds(6))
def test_an_oblique_tree_behind_scalers_confirms_every_answer(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": 1e3 * rng.normal(size=50), "b": rng.integers(0, 50, 50), "c": rng.choice(list("xyz"), 50)})
    prepare = make_column_transformer(
        (StandardScaler(), ["a"]), (OneHotEncoder(sparse_output=False), ["c"]), (MinMaxScaler(), ["b"])
    )
    weights = np.vstack([rng.normal(size=(3, 5)), np.zeros((4, 5))])
    tree = cl.Tree(
        [1, 3, 5, *[-1] * 4], [2, 4, 6, *[-1] * 4], weights, [*0.3 * rng.normal(size=3), *[0] * 4], [-1, -1, -1, 0, 1, 1, 0]
    )
    explainer = cl.Explainer(Pipeline([("prepare", prepare.fit(table)), ("tree", Grown(tree).fit())]), data=table)
    for i in range(4):
        for cost in (cl.L1("range"), cl.L2("range")):
            answer = explainer.explain(table.iloc[i], cost=cost, count=None)
            assert all(c.confirmed for c in answer)
            assert answer.certificate.check()


def test_rows_as_lists_hold_the_dropped_columns_too():
    pipeline, table = fitted(["rate", "age", "city", "pay", "job", "owner"], DROPPING["the rest"], "pandas")
    explainer = cl.Explainer(pipeline, data=table)
    row = table.iloc[0].tolist()
    best = explainer.explain(row)[0]
    assert (len(best.row), best.confirmed, best.row[2]) == (6, True, row[2])
    with pytest.raises(cl.CounterleafError, match=r"the row has 2 values; expected 6, one per column .*'rate', 'age'"):
        explainer.explain(row[:2])


def test_a_feature_of_a_guessed_schema_is_replaced():
    pipeline, table = fitted(["age", "pay", "job"], DROPPING["the rest"], "pandas")
    schema = cl.Explainer(pipeline, data=table).schema.replace(cl.Numeric("pay", 0, 1e6, step=500))
    best = cl.Explainer(pipeline, data=table, schema=schema).explain(table.iloc[0], constraints=cl.freeze("age", "job"))
    assert all(c.row["pay"] % 500 == 0 for c in best)
    with pytest.raises(cl.CounterleafError, match="no feature 'wage'"):
        schema.replace(cl.Numeric("wage"))


@pytest.mark.parametrize("with_data", [True, False])
def test_rows_may_leave_out_the_columns_that_a_pipeline_drops(with_data):
    X = pd.DataFrame(
        {"id": ["a", "b", "c", "d"] * 5, "age": [20, 30, 40, 50] * 5, "job": ["cook", "nurse"] * 10, "when": [1] * 20}
    )
    columns = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age"]))
    model = make_pipeline(columns, DecisionTreeClassifier(random_state=0)).fit(X, X["age"] > 35)
    schema = cl.Schema([cl.Numeric("age", 0, 90, integer=True), cl.Categorical("job", ["cook", "nurse"])])
    explainer = cl.Explainer(model, data=X) if with_data else cl.Explainer(model, schema=schema)
    for row in ({"age": 20, "job": "cook"}, pd.Series({"age": 20, "job": "cook"})):
        answer = explainer.explain(row, target=True)
        assert answer[0].confirmed
        assert set(answer[0].changes) == {"age"}
