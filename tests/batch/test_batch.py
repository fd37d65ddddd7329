"""explain_many gives the answers of explain for every row, for any kind of rows and queries, threads and chunk sizes."""

import functools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.batch_cases import KINDS, RESULT_COLUMNS, column, compare, number_batch, table_batch
from support.seeds import seeds
from support.strategies import coupled_case

import counterleaf as cl

RNG = np.random.default_rng(0)
X = RNG.uniform(5, 10, size=(300, 4))
Y = np.array(["low", "mid", "high"])[np.digitize(X[:, 0] + X[:, 1] - X[:, 2], [6.5, 8.5])]
TREE = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, Y)
# right iff x + y >= 1
LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


@functools.cache
def tree_explainer(bounds=True):
    return cl.Explainer(TREE, data=X, infer_bounds=bounds)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_random_questions_are_answered_as_one_by_one(kind):
    seen = set()
    for seed in [*seeds(5, 45), *seeds(1005, 1045)]:
        out = compare(*(made := KINDS[kind](np.random.default_rng(seed)))[:2], **made[2])
        seen |= set(out["status"].to_list())
    assert {"optimal", "infeasible"} <= seen


@pytest.mark.slow
@pytest.mark.parametrize("make", [number_batch, table_batch, functools.partial(number_batch, make=coupled_case)])
def test_workers_and_chunks_change_nothing(make):
    for seed in seeds(60, 64):
        explainer, rows, question = make(np.random.default_rng(seed), n=39)
        alone = explainer.explain_many(rows, **question)
        for more in ({"n_jobs": 2, "chunk_size": 7}, {"n_jobs": -1}, {"chunk_size": 1}, {"n_jobs": 2, "chunk_size": 1000}):
            pd.testing.assert_frame_equal(explainer.explain_many(rows, **question, **more), alone)


QUESTIONS = {
    "any other class": {},
    "a class": {"target": "high"},
    "two classes": {"target": ["high", "mid"]},
    "class costs": {"target": {"high": 0.0, "mid": 0.05, "low": 0.3}},
    "margin": {"target": "high", "margin": 0.2},
    "L2": {"target": "low", "cost": cl.L2()},
    "sum": {"target": "low", "cost": cl.L2("std") + 0.3 * cl.L1("mad")},
    "up and down": {"target": "mid", "cost": cl.L1(up=1.0, down=[3.0, 1.0, 0.5, 0.0])},
    "gains": {"target": "mid", "cost": cl.L1() + cl.LinearCost([0.5, -2.0, 0, 0])},
    "Quadratic": {"target": "mid", "cost": cl.Quadratic(np.eye(4) + 0.3)},
    "freeze": {"target": "high", "constraints": cl.freeze("x0")},
    "increase": {"target": "mid", "constraints": [cl.only_increase("x0", by=0.5), cl.only_decrease("x2")]},
    "between": {"target": "high", "constraints": cl.between("x0", 6, 8)},
    "fix": {"target": "mid", "constraints": [cl.fix("x3", 7.25), cl.linear({"x1": 2}, "<=", 19)]},
    "linear": {"target": "high", "constraints": cl.linear({"x0": 1, "x1": -1}, ">=", 0.25)},
    "max_changes": {"target": "high", "constraints": cl.max_changes(1)},
    "implies": {"target": "high", "constraints": cl.implies(cl.changed("x0"), cl.only_increase("x1", by=0.1))},
    "among": {"target": "high", "constraints": cl.among(X[100:])},
    "nothing works": {"target": "high", "constraints": [cl.freeze("x0", "x1", "x2"), cl.between("x3", 6, 7)]},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_about_a_float32_tree(name):
    outside = [[0.0, 6, 6, 6], [20, 30, 6, 6], [9, 9, -4, 9]]
    rows = np.vstack([X[:12], outside, np.float32(X[:3])])
    out = compare(tree_explainer(), rows, **QUESTIONS[name])
    assert out["confirmed"].dropna().all()
    if name != "Quadratic":
        compare(tree_explainer(bounds=False), rows, **QUESTIONS[name])


def test_inferred_bounds_are_those_of_the_row_and_not_of_zero():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-3.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, data=np.array([[5.0], [10.0]]))
    out = compare(explainer, np.array([[6.0], [3.5], [2.5]]), target="no")
    assert out["status"].tolist() == ["infeasible", "infeasible", "optimal"]


def refused(explainer, rows, bad, **question):
    """Check that exactly the rows at ``bad`` are invalid; return their messages, which are those of ``explain``."""
    out = compare(explainer, rows, **question)
    problems = column(out, "problem")
    assert [k for k, status in enumerate(out["status"].to_list()) if status == "invalid"] == bad
    assert [k for k, problem in enumerate(problems) if problem is not None] == bad
    return [problems[k] for k in bad]


def test_rows_that_cannot_be_queried():
    rows = X[:8].copy()
    rows[1, 2], rows[3, 0], rows[4, 3] = np.nan, np.inf, 1e300
    explainer = cl.Explainer(tree_explainer().tree)  # a Tree has no route for a missing number
    messages = refused(explainer, rows, [1, 3, 4])
    assert messages[0] == "feature 'x2' of the row is nan; expected a finite number: fill it in first"
    assert "the model takes float32, up to 3.403e+38" in messages[2]
    refused(explainer, rows, [1, 3, 4], target="high", constraints=cl.linear({"x0": 1, "x1": 1}, "<=", 18))
    refused(explainer, rows, [1, 3, 4], target="high", cost=cl.Quadratic(np.eye(4)), constraints=cl.freeze("x1"))
    refused(tree_explainer(), rows, [3, 4])
    words = X[:6].astype(object)
    words[0, 0], words[1, 1], words[2, 2], words[3, 3] = "ten", None, 10**400, 1j
    messages = refused(explainer, words, [0, 1, 2, 3])
    assert messages[0] == "feature 'x0' is 'ten'; expected a number"


def loans(n=160, seed=3):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": rng.gamma(2, 300, n).round(2),
            "rate": rng.random(n).astype(np.float32),
            "job": rng.choice(["clerk", "cook", "nurse", "smith"], n),
            "zone": rng.integers(1, 5, n),
            "owner": rng.random(n) < 0.4,
        }
    )
    points = frame["pay"] / 400 + frame["age"] / 30 + 2 * frame["owner"] + 2 * frame["job"].isin(["nurse"]) + frame["rate"]
    return frame, np.where(points + (frame["zone"] == 2) > 5, "granted", "refused")


def loan_model(frame, y):
    columns = make_column_transformer(
        (OneHotEncoder(), ["job", "zone"]), (StandardScaler(), ["age", "pay", "rate"]), remainder="passthrough"
    )
    return make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(frame, y)


@functools.cache
def loan_explainer():
    frame, y = loans()
    return cl.Explainer(loan_model(frame, y), data=frame), frame


DTYPES = {
    "unchanged": {},
    "objects": {"job": object, "age": object, "owner": object},
    "categories": {"job": "category", "zone": "category"},
    "nullable": {"age": "Int64", "pay": "Float64", "owner": "boolean", "job": "string", "zone": "Int16"},
    "narrow": {"age": np.int8, "pay": np.float32, "zone": np.uint8},
    "floats": {"age": float, "zone": float},
    "arrow": {"age": "int64[pyarrow]", "pay": "double[pyarrow]", "job": "string[pyarrow]"},
}
LOAN_QUESTIONS = {
    "free": {},
    "dear": {"target": "granted", "cost": cl.L1({"pay": 9.0, "age": 0.1, "zone": 0.2, "job": 0.3})},
    "by the row": {"target": "granted", "constraints": [cl.freeze("owner", "pay"), cl.only_increase("age", by=2)]},
    "chosen": {
        "target": "granted",
        "constraints": [cl.forbid("job", ["nurse"]), cl.allow("zone", [1, 2, 4]), cl.max_changes(2)],
    },
    "tight": {"target": "granted", "constraints": [cl.freeze("job", "owner", "zone", "rate"), cl.between("pay", 0, 700)]},
    "numbers frozen": {"target": "granted", "constraints": [cl.freeze("pay", "age", "rate")]},
}


@pytest.mark.parametrize("question", LOAN_QUESTIONS)
@pytest.mark.parametrize("dtypes", DTYPES)
def test_frames_of_every_type(dtypes, question):
    explainer, frame = loan_explainer()
    rows = frame.iloc[:14].astype(DTYPES[dtypes])
    before = rows.copy()
    out = compare(explainer, rows, **LOAN_QUESTIONS[question])
    pd.testing.assert_frame_equal(rows, before)
    assert dtypes == "narrow" or out["confirmed"].dropna().all()  # there the pipeline itself computes in float32
    for name in set(out.columns) - set(RESULT_COLUMNS):
        old = rows[name].dtype
        if out[name].notna().all() and name in ("age", "job", "zone", "owner"):
            assert out[name].dtype == old, name  # whole numbers stay whole, words stay words
        elif name in ("age", "zone", "owner") and isinstance(old, np.dtype) and old.kind in "iub":
            assert isinstance(out[name].dtype, pd.api.extensions.ExtensionDtype)  # with gaps, but no floats


@pytest.mark.parametrize("question", LOAN_QUESTIONS)
def test_polars_frames(question):
    explainer, frame = loan_explainer()
    rows = pl.from_pandas(frame.iloc[:14]).with_columns(pl.col("age").cast(pl.Int8), pl.col("job").cast(pl.Categorical))
    out = compare(explainer, rows, **LOAN_QUESTIONS[question])
    assert isinstance(out, pl.DataFrame)
    assert out.schema["leaf"] == pl.Int64
    assert out.schema["confirmed"] == pl.Boolean
    for name in {"age", "job", "zone", "owner"} & set(out.columns):
        assert out.schema[name] == rows.schema[name]
    nothing = explainer.explain_many(rows[:0], **LOAN_QUESTIONS[question])
    assert nothing.schema == out.select(c for c in out.columns if c in RESULT_COLUMNS and c != "problem").schema


def test_arrays_for_named_models_and_frames_for_unnamed_ones():
    explainer, frame = loan_explainer()
    compare(explainer, frame.iloc[:8].to_numpy(), target="granted")
    named = cl.Explainer(DecisionTreeClassifier(max_depth=4, random_state=0).fit(pd.DataFrame(X, columns=list("abcd")), Y))
    compare(named, X[:8])
    compare(named, pd.DataFrame(X[:8], columns=list("abcd"))[list("dbca")])
    compare(tree_explainer(), pd.DataFrame(X[:8], columns=["x0", "x1", "x2", "x3"]))
    bare = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, Y)
    for dtype in (float, np.float32, int, object):
        compare(cl.Explainer(bare, data=X), X[:8].astype(dtype))
    words = frame[["job", "zone"]].astype(str).to_numpy()
    coded = make_pipeline(OneHotEncoder(), DecisionTreeClassifier(max_depth=3, random_state=0)).fit(words, loans()[1])
    for array in (words[:9], words[:9].astype("U8"), words[:9].astype(object)):
        compare(cl.Explainer(coded, data=words), array)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_frames_for_a_pipeline_without_names():
    bare = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, random_state=0)).fit(X, Y)
    model, calls = spied(bare)
    explainer = cl.Explainer(model, data=X)
    calls.clear()
    explainer.explain_many(pd.DataFrame(X[:8], columns=["x0", "x1", "x2", "x3"]))
    assert calls == [8, 8]  # the answers, and the rows for their own labels
    compare(explainer, pd.DataFrame(X[:8], columns=["x0", "x1", "x2", "x3"]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool])
def test_whole_numbers_stay_whole_next_to_rows_without_an_answer(dtype):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-0.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    kind = cl.Boolean("x") if dtype is bool else cl.Numeric("x", 0, 5, integer=True)
    explainer = cl.Explainer(tree, schema=cl.Schema([kind, cl.Numeric("y")]))
    rows = pd.DataFrame({"x": np.array([0, 1, 0], dtype), "y": [0.0, 0.0, -9.0]})
    out = compare(explainer, rows, target="yes", constraints=cl.freeze("y"))
    assert out["status"].tolist() == ["optimal", "optimal", "infeasible"]
    assert out["x"].dtype == {np.int8: "Int8", np.uint16: "UInt16", np.int64: "Int64", bool: "boolean"}[dtype]
    whole = compare(explainer, rows[:2], target="yes", constraints=cl.freeze("y"))
    assert whole["x"].dtype == dtype


def test_missing_values():
    frame, y = loans()
    frame = frame.astype({"job": object, "age": float})
    frame.loc[::5, "job"], frame.loc[::7, "age"] = None, np.nan
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job", "zone"]), (SimpleImputer(), ["age"]), remainder="passthrough"
    )
    model = make_pipeline(columns, DecisionTreeClassifier(max_leaf_nodes=20, random_state=0)).fit(frame, y)
    explainer = cl.Explainer(model, data=frame)
    for rows in (frame.iloc[:16], frame.iloc[:16].astype({"age": "Int64", "job": "category"}), pl.from_pandas(frame.iloc[:16])):
        compare(explainer, rows)
        compare(explainer, rows, target="granted", constraints=[cl.only_increase("age"), cl.freeze("pay")])
    levels = cl.Ordinal("job", ["clerk", "cook", "nurse", "smith"], missing=True)
    ordered = cl.Explainer(model, data=frame, schema=explainer.schema.replace(levels))
    rows = frame.iloc[:12]
    gaps = np.flatnonzero(rows["job"].isna()).tolist()
    messages = refused(ordered, rows, gaps, target="granted", constraints=cl.only_increase("job"))
    assert "feature 'job' of the row is missing" in messages[0]
    assert "use allow" in messages[0]


def test_bad_cells_of_a_table_harm_no_other_row():
    explainer, frame = loan_explainer()
    rows = frame.iloc[:9].astype(object)
    rows.loc[1, "job"], rows.loc[2, "age"], rows.loc[3, "pay"], rows.loc[4, "owner"] = "king", 30.5, "much", None
    rows.at[5, "job"] = ["cook"]
    messages = refused(explainer, rows, [1, 2, 3, 4, 5], target="granted")
    assert messages[0] == "feature 'job' is 'king'; expected one of 'clerk', 'cook', 'nurse', 'smith'"
    assert messages[1] == "feature 'age' is 30.5; expected a whole number"
    text = frame.iloc[:4].astype({"pay": str})
    refused(explainer, text, [0, 1, 2, 3])
    refused(explainer, pl.from_pandas(text), [0, 1, 2, 3])
    kings = frame["job"].iloc[:4].astype("category").cat.rename_categories({"cook": "king"})
    refused(explainer, frame.iloc[:4].assign(job=kings), np.flatnonzero(kings == "king").tolist(), target="granted")


@pytest.mark.parametrize(
    "index",
    [
        list("aabbc"),
        [7, 7, 7, 1, 0],
        pd.MultiIndex.from_tuples([(0, "a"), (0, "a"), (1, "b"), (2, "c"), (2, "d")], names=["k", "l"]),
    ],
    ids=["words", "numbers", "two levels"],
)
def test_the_index_does_not_change(index):
    explainer, frame = loan_explainer()
    rows = frame.iloc[:5].set_axis(index)
    out = compare(explainer, rows, target="granted", chunk_size=2)
    pd.testing.assert_index_equal(out.index, rows.index)
    compare(explainer, rows.iloc[[0]])
    out = explainer.explain_many(rows.iloc[:0])
    assert list(out.columns) == [name for name in RESULT_COLUMNS if name not in ("probability", "problem")]
    assert len(out) == 0


def test_one_column_and_no_rows():
    one = cl.Explainer(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:, :1], Y), data=X[:, :1])
    some, none = compare(one, X[:6, :1]), one.explain_many(X[:0, :1])
    pd.testing.assert_frame_equal(none, some.iloc[:0].drop(columns="x0"))
    frame = pd.DataFrame({"x0": X[:6, 0]})
    compare(one, frame)
    locked = X[:6, :1].copy()
    locked.setflags(write=False)
    compare(one, locked, cost=cl.Quadratic(np.eye(1)), target="high")


def test_rows_that_are_there_already():
    out = compare(tree_explainer(), X[:40], target=["low", "mid", "high"])
    assert (out["cost"] == 0).all()
    assert out["n_changed"].tolist() == [0] * 40
    assert list(out.columns) == [name for name in RESULT_COLUMNS if name not in ("probability", "problem")]


def test_classes_keep_their_type():
    for labels in ([0, 1, 2], [1.0, 2.0, 5.0], ["a", "b", "c"], [False, True, True], [0, 1, 1], [0.0, 1.0, 1.0]):
        y = np.array(labels)[np.unique(Y, return_inverse=True)[1]]
        out = compare(cl.Explainer(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), data=X), X[:5])
        assert type(out["label"].tolist()[0]) is type(y.tolist()[0])


def test_cells_of_the_answer_can_be_changed_one_by_one():
    rows = X[:4].copy()
    out = tree_explainer().explain_many(rows, target="high", constraints=cl.freeze("x0", "x1", "x2"))
    gaps = out["confirmed"].isna().tolist()
    assert any(gaps)
    out.loc[:, "leaf"] = 1
    out.iloc[:, 9:] = 0.0
    assert out["confirmed"].isna().tolist() == out["n_changed"].isna().tolist() == gaps
    assert (rows == X[:4]).all()


def test_limits():
    explainer, rows, question = number_batch(np.random.default_rng(7), n=8, features=30, depth=8)
    assert "limit" in compare(explainer, rows, **question, max_nodes=3)["status"].tolist()
    assert "limit" not in compare(explainer, rows, **question, time_limit=60)["status"].tolist()
    out = compare(tree_explainer(), X[:30], target="high", max_nodes=1)
    assert out["status"].tolist().count("limit") > 5
    assert out["lower_bound"].notna().all()
    out = explainer.explain_many(rows, **question, time_limit=1e-9)
    assert "limit" in out["status"].tolist()
    assert out["cost"].isna().tolist() == out["leaf"].isna().tolist()


MISTAKES = [
    ({"target": "top"}, "no class 'top'; the model's classes are 'high', 'low', 'mid'"),
    ({"target": []}, "target is empty; name at least one class"),
    ({"cost": "cheap"}, "cost is 'cheap'; expected L1, L2"),
    ({"cost": cl.L1({"x9": 1.0})}, "no feature 'x9'; the features are 'x0'"),
    ({"constraints": cl.freeze("x9")}, "no feature 'x9'; the features are 'x0'"),
    ({"constraints": "x0"}, "constraints is 'x0'; expected a list"),
    ({"constraints": cl.allow("x0", [1])}, "feature 'x0' is a number; use between or fix"),
    ({"margin": -1.0}, "margin is -1.0; expected 0 or more"),
    ({"margin": "wide"}, "margin is 'wide'; expected a number"),
    ({"time_limit": 0}, "time_limit is 0.0; expected seconds above 0"),
    ({"max_nodes": 0}, "max_nodes is 0; expected a whole number from 1"),
    ({"n_jobs": 0}, "n_jobs is 0; expected a number of workers from 1, or -1 for every core"),
    ({"n_jobs": 1.5}, "n_jobs is 1.5; expected a number of workers"),
    ({"n_jobs": True}, "n_jobs is True; expected a number of workers"),
    ({"chunk_size": 0}, "chunk_size is 0; expected a number of rows from 1, or None"),
    ({"chunk_size": "10"}, "chunk_size is '10'; expected a number of rows"),
    ({"rows": X[0]}, r"the rows have shape \(4,\); expected a frame or a 2-D array, one line per row"),
    ({"rows": [[1.0], [1.0, 2.0]]}, "expected a frame or a 2-D array, one line per row"),
    ({"rows": X[:, :3]}, "the rows have 3 columns; expected 4, one per feature"),
    (
        {"rows": pd.DataFrame(X[:2, :3], columns=["x0", "x1", "y"])},
        r"the frame lacks the columns \['x2', 'x3'\] and has the other columns \['y'\]; "
        r"expected the columns \['x0', 'x1', 'x2', 'x3'\]",
    ),
    (
        {"rows": pd.DataFrame(X[:2], columns=["x0", "x1", "x2", "x2"])},
        "the frame has two columns named 'x2'; names must differ",
    ),
]


@pytest.mark.parametrize(("question", "reason"), MISTAKES, ids=[f"{k}" for k in range(len(MISTAKES))])
def test_a_mistake_in_the_query_is_reported_before_any_work(question, reason):
    model, calls = spied(DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, Y))
    explainer = cl.Explainer(model, data=X)
    calls.clear()
    with pytest.raises(cl.CounterleafError, match=reason):
        explainer.explain_many(**{"rows": X[:3], **question})
    assert not calls


@pytest.mark.parametrize("name", ["cost", "status", "problem"])
def test_names_that_collide(name):
    explainer = cl.Explainer(LINE, schema=cl.Schema([cl.Numeric(name), cl.Numeric("y")]))
    with pytest.raises(cl.CounterleafError, match=rf"features named \['{name}'\] collide with columns of the result; rename"):
        explainer.explain_many(np.zeros((1, 2)))


def spied(model, most=np.inf, error=ValueError):
    """A model whose ``predict`` counts its calls, and fails if the first column has a value above ``most``."""
    calls = []
    inner = model.predict

    def predict(X):
        calls.append(len(X))
        first = np.asarray(X.iloc[:, 0] if hasattr(X, "iloc") else X[:, 0], dtype=float)
        if (first > most).any():
            raise error("too large")
        return inner(X)

    model.predict = predict
    return model, calls


def test_the_model_predicts_in_batches():
    frame, y = loans()
    for rows in (frame.iloc[:30], pl.from_pandas(frame.iloc[:30]), frame.iloc[:30].to_numpy()):
        model, calls = spied(loan_model(frame, y))
        explainer = cl.Explainer(model, data=frame)
        calls.clear()
        out = explainer.explain_many(rows, target="granted", constraints=cl.freeze("job"), chunk_size=10)
        assert len(calls) == 6  # for each chunk, the answers, and the rows for their own labels
        assert sum(calls[::2]) == 30 - column(out, "leaf").count(None)
        assert calls[1::2] == [10, 10, 10]


def test_a_model_that_fails_on_some_row():
    model, _ = spied(DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, Y), most=9.5)
    out = cl.Explainer(model, data=X).explain_many(X[:40], target="high", cost=cl.L1([9.0, 1, 1, 1]))
    plain = tree_explainer().explain_many(X[:40], target="high", cost=cl.L1([9.0, 1, 1, 1]))
    bad = plain["x0"].to_numpy() > 9.5 if "x0" in plain else X[:40, 0] > 9.5
    assert 0 < bad.sum() < 40
    assert out["confirmed"].tolist() == (~bad).tolist()
    assert set(out["problem"][bad]) == {"the model's predict raised ValueError: too large"}
    assert out["problem"][~bad].isna().all()
    same = [name for name in plain if name != "confirmed"]
    pd.testing.assert_frame_equal(out[same], plain[same])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_stops_it(n_jobs):
    model = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, Y)
    explainer = cl.Explainer(model, data=X)
    _, calls = spied(model, most=0.0, error=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        explainer.explain_many(X, chunk_size=5, n_jobs=n_jobs)
    assert len(calls) < 30
