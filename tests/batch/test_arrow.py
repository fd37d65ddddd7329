"""Explainer.arrow: the answers of explain_many as batches of pyarrow, for every kind of model, query and column."""

import functools
import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.arrow_cases import batch_of, compare_arrow
from support.batch_cases import KINDS

import counterleaf as cl

RNG = np.random.default_rng(0)
X = RNG.uniform(5, 10, size=(300, 4))
Y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + X[:, 1] - X[:, 2], [6.5, 8.5])]
NAMES = ["x0", "x1", "x2", "x3"]
TREE = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, Y)


@functools.cache
def tree_explainer():
    return cl.Explainer(TREE, data=X)


@pytest.mark.parametrize("kind", KINDS)
def test_random_questions(kind):
    seen = set()
    for seed in range(300, 312):
        explainer, rows, question = KINDS[kind](np.random.default_rng(seed))
        out = compare_arrow(explainer, batch_of(rows, explainer.schema.names), **question)
        seen |= set(out.column("status").to_pylist())
    assert {"optimal", "infeasible"} <= seen


QUESTIONS = {
    "any other class": {},
    "class costs": {"target": {"high": 0.0, "mid": 0.05, "low": 0.3}},
    "margin": {"target": "high", "margin": 0.2},
    "sum": {"target": "low", "cost": cl.L2("std") + 0.3 * cl.L1("mad")},
    "Quadratic": {"target": "mid", "cost": cl.Quadratic(np.eye(4) + 0.3)},
    "freeze": {"target": "high", "constraints": cl.freeze("x0")},
    "increase": {"target": "mid", "constraints": [cl.only_increase("x0", by=0.5), cl.only_decrease("x2")]},
    "linear": {"target": "high", "constraints": cl.linear({"x0": 1, "x1": -1}, ">=", 0.25)},
    "max_changes": {"target": "high", "constraints": cl.max_changes(1)},
    "implies": {"target": "high", "constraints": cl.implies(cl.changed("x0"), cl.only_increase("x1", by=0.1))},
    "among": {"target": "high", "constraints": cl.among(X[100:])},
    "support": {"target": "high", "support": 20},
    "time_limit": {"target": "high", "time_limit": 60.0},
    "max_nodes": {"target": "high", "max_nodes": 1, "constraints": cl.max_changes(1)},
    "nothing works": {"target": "high", "constraints": [cl.freeze("x0", "x1", "x2"), cl.between("x3", 6, 7)]},
    "words": {"target": "high", "words": True},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_about_a_tree(name):
    outside = [[0.0, 6, 6, 6], [20, 30, 6, 6], [9, 9, -4, 9], [np.inf, 6, 6, 6], [1e300, 6, 6, 6]]
    compare_arrow(tree_explainer(), batch_of(np.vstack([X[:12], outside]), NAMES), **QUESTIONS[name])


def loans(n=160, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.gamma(2, 300, n).round(2),
            "job": rng.choice(["clerk", "cook", "nurse", "smith"], n),
            "zone": rng.integers(1, 5, n),
            "owner": rng.random(n) < 0.4,
        }
    )
    points = frame["pay"] / 400 + frame["age"] / 30 + 2 * frame["owner"] + 2 * frame["job"].isin(["nurse"])
    return frame, np.where(points + (frame["zone"] == 2) > 4.5, "granted", "refused")


@functools.cache
def loan_explainer():
    frame, y = loans()
    columns = make_column_transformer(
        (OneHotEncoder(), ["job", "zone"]), (StandardScaler(), ["age", "pay"]), remainder="passthrough"
    )
    model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(frame, y)
    return cl.Explainer(model, data=frame), frame


TYPES = {
    "as they are": {},
    "dictionaries": {"job": pa.dictionary(pa.int8(), pa.string()), "zone": pa.dictionary(pa.int16(), pa.int64())},
    "large": {"job": pa.large_string()},
    "narrow": {"age": pa.uint8(), "zone": pa.int8()},
    "floats": {"age": pa.float32(), "zone": pa.float64()},
    "decimals": {"pay": pa.decimal128(12, 2), "age": pa.decimal128(20, 0)},
    "a dictionary of numbers": {"age": pa.dictionary(pa.int32(), pa.int64())},
}


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("gaps", [False, True])
def test_columns_of_every_type(types, gaps):
    explainer, frame = loan_explainer()
    batch = batch_of(frame.iloc[:24])
    if gaps:
        holes = [pa.array(np.arange(24) % 8 == d) for d in range(5)]
        columns = [
            pa.compute.if_else(hole, pa.scalar(None, column.type), column)
            for column, hole in zip(batch.columns, holes, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    columns = [
        column.dictionary_encode().cast(TYPES[types][name]) if "dictionary" in str(TYPES[types].get(name))
        else column.cast(TYPES[types].get(name, column.type))
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]  # fmt: skip
    batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    for question in ({"target": "granted"}, {"target": "granted", "constraints": [cl.freeze("owner"), cl.max_changes(2)]}):
        out = compare_arrow(explainer, batch, **question)
        assert out.column("status").to_pylist().count("invalid") == (9 if gaps else 0)
    sliced = batch.slice(5, 9)
    assert compare_arrow(explainer, sliced, target="granted").equals(explainer.arrow(target="granted")(batch).slice(5, 9))


def test_cells_that_are_refused():
    explainer, frame = loan_explainer()
    batch = batch_of(frame.iloc[:3].assign(job=["cook", "king", None], pay=["1", "2", "3"]))
    out = compare_arrow(explainer, batch, target="granted")
    assert out.column("problem").to_pylist()[0] == "feature 'pay' is '1'; expected a number"
    when = pa.array([0, 1, 2], pa.timestamp("us"))
    out = compare_arrow(explainer, batch_of(frame.iloc[:3]).set_column(1, "pay", when), target="granted")
    assert set(out.column("status").to_pylist()) == {"invalid"}
    out = compare_arrow(explainer, batch_of(frame.iloc[:3]).set_column(1, "pay", pa.nulls(3)), target="granted")
    assert out.column("status").to_pylist() == ["optimal"] * 3  # the tree has a route for a missing number


def test_missing_values():
    frame, y = loans()
    frame = frame.astype({"job": object, "age": float})
    frame.loc[::5, "job"], frame.loc[::7, "age"] = None, np.nan
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job", "zone"]), (SimpleImputer(), ["age"]), remainder="passthrough"
    )
    model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(frame, y)
    explainer = cl.Explainer(model, data=frame)
    compare_arrow(explainer, batch_of(frame.iloc[:40]), target="granted")
    compare_arrow(explainer, batch_of(frame.iloc[:40]), target="granted", constraints=[cl.only_increase("age")])


@pytest.mark.parametrize("missing", [True, "allowed"])
def test_gaps(missing):
    rows = X.copy()
    rows[::3, 0], rows[::4, 1] = np.nan, np.nan
    model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(rows, Y)
    schema = cl.Schema([cl.Numeric(name, 0, 20, missing=missing if name in ("x0", "x1") else False) for name in NAMES])
    explainer = cl.Explainer(model, schema=schema)
    out = compare_arrow(explainer, batch_of(rows[:40], NAMES), target="high")
    assert ("removed" in out.schema.names) == (missing == "allowed")
    if missing == "allowed":
        assert any(out.column("removed").to_pylist())


def test_ensembles():
    frame, y = loans()
    numbers = frame[["age", "pay", "zone"]]
    for model in (RandomForestClassifier(5, max_depth=4, random_state=0), HistGradientBoostingClassifier(max_iter=5)):
        explainer = cl.Explainer(model.fit(numbers, y), data=numbers)
        compare_arrow(explainer, batch_of(numbers.iloc[:10]), target="granted")
        compare_arrow(explainer, batch_of(numbers.iloc[:10]), target="granted", constraints=cl.max_changes(1), n_jobs=2)


def test_values_and_probabilities():
    model = DecisionTreeRegressor(max_leaf_nodes=12, random_state=0).fit(X, X[:, 0] * X[:, 1])
    out = compare_arrow(cl.Explainer(model, data=X), batch_of(X[:20], NAMES), target=cl.value(at_least=70))
    assert out.schema.field("label").type == pa.float64()
    line = LogisticRegression().fit(X, Y != "high")
    out = compare_arrow(cl.Explainer(line, data=X), batch_of(X[:20], NAMES), target=cl.probability(False, at_least=0.7))
    assert out.schema.field("label").type == pa.bool_()
    assert "probability" in out.schema.names
    out = compare_arrow(cl.Explainer(line, data=X), batch_of(X[:20], NAMES), target=False)
    assert "probability" not in out.schema.names


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([0, 1, 2], pa.int64()),
        ([1.0, 2.0, 5.0], pa.float64()),
        (["a", "b", "c"], pa.string()),
        ([False, True, True], pa.bool_()),
    ],
)
def test_classes_keep_their_type(labels, kind):
    y = np.array(labels)[np.unique(Y, return_inverse=True)[1]]
    explainer = cl.Explainer(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), data=X)
    out = compare_arrow(explainer, batch_of(X[:9], NAMES))
    assert out.schema.field("label").type == out.schema.field("source_label").type == kind


def test_the_types_of_new_values():
    step = loan_explainer()[0].arrow(target="granted")
    kinds = {field.name: str(field.type) for field in step.schema if field.name.startswith("new_")}
    assert kinds == {"new_age": "int64", "new_pay": "double", "new_job": "string", "new_zone": "int64", "new_owner": "bool"}


def test_whole_numbers_that_do_not_fit_are_a_problem_of_their_row():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-1e25, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x", integer=True)]))
    out = explainer.arrow(target="yes", words=True)(pa.RecordBatch.from_pydict({"x": [1.0, 2e25]}))
    assert out.column("status").to_pylist() == ["invalid", "optimal"]
    assert out.column("problem").to_pylist()[0] == "feature 'x' would become 1e+25, which a column of whole numbers cannot hold"
    assert [out.column(name).to_pylist()[0] for name in ("cost", "leaf", "new_x", "changed", "source_label")] == [None] * 5


def test_tables_and_kept_columns():
    explainer, frame = loan_explainer()
    table = pa.Table.from_batches(
        [batch_of(frame.iloc[:10].assign(id=range(10), note="a")), batch_of(frame.iloc[10:13].assign(id=[7, 8, 9], note="b"))]
    )
    keep = pa.schema([("id", pa.int64()), ("note", pa.string()), ("age", pa.int64())])
    step = explainer.arrow(target="granted", keep=keep)
    out = step(table)
    assert isinstance(out, pa.Table)
    assert out.schema.names[:4] == ["id", "note", "age", "status"]
    assert out.select(["id", "note", "age"]).to_pylist() == table.select(["id", "note", "age"]).to_pylist()
    assert out.drop_columns(["id", "note", "age"]).equals(explainer.arrow(target="granted")(table))
    assert step(table.slice(0, 0)).schema == step.schema
    encoded = table.set_column(table.schema.names.index("note"), "note", table["note"].dictionary_encode())
    assert step(encoded).equals(out)


def refusal(call, *args, **named):
    with pytest.raises(cl.CounterleafError) as caught:
        call(*args, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_refusals():
    explainer, frame = loan_explainer()
    batch = batch_of(frame.iloc[:2])
    for name, value in (("count", 2), ("distinct", "features"), ("shares", True), ("digits", "short")):
        message = refusal(explainer.arrow, target="granted", **{name: value})
        assert message == f"arrow writes one answer for each row, with all digits, and does not take {name}; use explain_many"
    assert "keep is ['id']; expected a pyarrow.Schema" in refusal(explainer.arrow, keep=["id"])
    keep = pa.schema([("status", pa.string())])
    assert "two columns of the result are named 'status'" in refusal(explainer.arrow, keep=keep)
    step = explainer.arrow(keep=pa.schema([("id", pa.int64())]))
    assert "keep names the column 'id'; the batch has the columns ['age', 'pay'" in refusal(step, batch)
    step = explainer.arrow(keep=pa.schema([("job", pa.int64())]))
    assert "keep has the column 'job' as int64, and the batch has" in refusal(step, batch)
    step = explainer.arrow(target="granted")
    assert refusal(step, batch.drop_columns(["age"])).startswith("the batch lacks the columns ['age']; expected ['age', ")
    assert "expected a pyarrow.RecordBatch" in refusal(step, frame)
    twice = pa.RecordBatch.from_arrays([*batch.columns, batch.column(0)], names=[*batch.schema.names, "age"])
    assert "the batch has two columns named 'age'" in refusal(step, twice)
    assert "--target" not in refusal(explainer.arrow, target="maybe")
    assert "n_jobs is 0" in refusal(explainer.arrow, n_jobs=0)
    assert "words is 1; expected True or False" in refusal(explainer.arrow, words=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'time_limits'"):
        explainer.arrow(time_limits=1)


def test_values_that_no_column_holds():
    rows = [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")]
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-0.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Categorical("day", rows)]))
    assert "the values of feature 'day' are" in refusal(explainer.arrow, target="yes")
    mixed = cl.Explainer(tree, schema=cl.Schema([cl.Categorical("day", ["1", 1])]))
    assert "a column of pyarrow needs text, numbers or booleans" in refusal(mixed.arrow, target="yes")
    mixed = cl.Explainer(tree, schema=cl.Schema([cl.Categorical("day", ["a", 1])]))
    assert mixed.arrow(target="yes").schema.field("new_day").type == pa.string()


def test_pickles_are_small_and_start_quickly():
    frame, y = loans(40_000)
    columns = make_column_transformer((OneHotEncoder(), ["job", "zone"]), remainder="passthrough")
    frame["job"] = frame["job"].astype(object)
    frame.loc[::5, "job"] = None
    model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(frame, y)
    explainer = cl.Explainer(model, data=frame)
    pickled = pickle.dumps(explainer.arrow(target="granted"))
    assert len(pickled) < 40_000
    again = pickle.loads(pickled)
    batch = batch_of(frame.iloc[:50])
    assert again(batch).equals(explainer.arrow(target="granted")(batch))
    row = frame.iloc[0].to_dict()
    assert again.explainer.explain(row, target="granted")[0].row == explainer.explain(row, target="granted")[0].row


def test_a_worker_does_not_load_scikit_learn_for_a_plain_tree(tmp_path):
    explainer = cl.Explainer.from_json(tree_explainer().to_json())
    (tmp_path / "step").write_bytes(pickle.dumps(explainer.arrow(target="high")))
    code = (
        "import pickle, sys, pyarrow as pa; from pathlib import Path;"
        f"step = pickle.loads(Path({str(tmp_path / 'step')!r}).read_bytes());"
        "out = step(pa.RecordBatch.from_pydict({f'x{k}': [6.0] for k in range(4)}));"
        "print(out.num_rows, sorted({'sklearn', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1 []\n"


def test_decimals_are_read_exactly():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-0.1, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree)
    values = [Decimal("0.1"), Decimal("0.30000000000000004"), None]
    batch = pa.RecordBatch.from_arrays([pa.array(values, pa.decimal128(25, 20))], names=["x0"])
    out = compare_arrow(explainer, batch, target="yes")
    assert out.column("n_changed").to_pylist() == [0, 0, None]


def test_columns_that_pandas_cannot_hold():
    explainer, frame = loan_explainer()
    loans_step, batch = explainer.arrow(target="granted"), batch_of(frame.iloc[:4])
    place = batch.schema.get_field_index("job")
    jobs = batch.column(place).to_pylist()
    values = pa.array([*dict.fromkeys(jobs), jobs[0], None])
    codes = pa.array([values.to_pylist().index(job) for job in jobs], pa.int8())
    odd = batch.set_column(place, "job", pa.DictionaryArray.from_arrays(codes, values))
    assert loans_step(odd).equals(loans_step(batch))  # pandas refuses a dictionary with equal or missing values
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1]), pa.array(["a", "b"]).dictionary_encode())
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-0.5, 0, 0], [-1, 0, 1])
    step = cl.Explainer(tree, schema=cl.Schema([cl.Categorical("k", ["a", "b"])])).arrow(target=1)
    assert step(pa.RecordBatch.from_arrays([twice], ["k"]))["n_changed"].to_pylist() == [0, 1, 0, 1]
    dates = pa.array([2**30], pa.int32()).cast(pa.date32())
    numbers = cl.Explainer(tree).arrow(target=1)
    message = refusal(numbers, pa.RecordBatch.from_arrays([dates, pa.array([1.0])], ["x0", "x1"]))
    assert message == "column 'x0' holds values that pandas cannot represent (year 2941775 is out of range)"
