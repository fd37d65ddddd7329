"""Numbers with few digits: the rows stay valid, cost what the table says, and survive spreadsheets, JSON and rounding."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.batch_cases import KINDS, one_of

import counterleaf as cl
from counterleaf.answer.text import shares, written
from counterleaf.batch.few_digits import few
from counterleaf.proof.walk import obeys
from counterleaf.table.files import exact_numbers


def replaced(row, line, names):
    """A row as a dict with the values of a line of the result."""
    values = dict(zip(names, row.tolist(), strict=True)) if isinstance(row, np.ndarray) else row.iloc[0].to_dict()
    return {name: line[name] if name in line and not pd.isna(line[name]) else old for name, old in values.items()}


def check_rows(explainer, rows, out, **question):
    """Check each written row against the problem of ``explain``; return how many have fewer digits than the answer."""
    shorter = 0
    for k in range(len(rows)):
        line = out.iloc[k]
        if pd.isna(line["leaf"]):
            continue
        answer = explainer.explain(one_of(rows, k), **question)
        problem, best = answer.certificate.problem, answer.certificate.answers[0]
        x = answer.schema.encode(replaced(one_of(rows, k), line, answer.schema.names))
        assert problem.tree.leaf_of(x) == best.leaf
        assert obeys(problem, best.leaf, x)
        cost = float(problem.cost_of(x[None])[0] + problem.question.nodes["below"][best.leaf])
        size = problem.size_of(x, best.leaf, terms=True)
        assert abs(line["cost"] - cost) <= 1e-9 * max(size, 1e-9)
        assert cost <= best.cost + 3e-3 * size + 1e-12
        assert line["lower_bound"] <= line["cost"]
        shorter += len(repr(x.tolist())) < len(repr(best.row.tolist()))
    return shorter


@pytest.mark.parametrize("kind", KINDS)
def test_random_rows_stay_valid_and_cost_what_is_written(kind):
    shorter = 0
    for seed in range(5, 17):
        explainer, rows, question = KINDS[kind](np.random.default_rng(seed))
        out = explainer.explain_many(rows, **question, digits="short", progress=False)
        assert out["confirmed"].dropna().all()
        shorter += check_rows(explainer, rows, out, **question)
    assert shorter > 10 or kind in ("whole", "axis-aligned tables")


CONSTRAINTS = {
    "linear": [cl.linear({"mean radius": 1, "mean texture": 1}, "<=", 40.0)],
    "equality": [cl.linear({"mean radius": 2.0, "worst radius": -1.0, "mean concave points": 30.0}, "==", 14.0)],
    "implies": [cl.implies(cl.changed("worst radius"), cl.only_increase("mean texture", by=0.3))],
    "between": [cl.between("worst radius", 15.1234567891, 16.7895678912)],
    "by the row": [cl.only_decrease("worst radius", by=0.1234567891), cl.max_changes(2)],
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_hold_for_the_written_rows(name):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(X, y)
    explainer, question = cl.Explainer(model, data=X), {"target": 1, "constraints": CONSTRAINTS[name]}
    out = explainer.explain_many(X[:25], **question, digits="short")
    assert out["label"].notna().sum() > 5
    check_rows(explainer, X[:25], out, **question)


def test_a_margin_is_kept():
    X, y = load_wine(return_X_y=True, as_frame=True)
    for model in (DecisionTreeClassifier(max_depth=3, random_state=0), cl.TAOClassifier(max_depth=2, random_state=0)):
        explainer = cl.Explainer(model.fit(X, y), data=X)
        question = {"target": 1, "margin": 0.01}
        check_rows(explainer, X[:20], explainer.explain_many(X[:20], **question, digits="short"), **question)


# --- round trips


def trips(frame):
    """The frame after it was written and read by pandas with its defaults."""
    yield "csv", pd.read_csv(io.StringIO(frame.to_csv(index=False)), **exact_numbers())
    file = io.BytesIO()
    frame.to_excel(file, index=False)
    yield "xlsx", pd.read_excel(io.BytesIO(file.getvalue()))
    table = frame.reset_index(drop=True)
    yield "json", pd.read_json(io.StringIO(table.to_json()), precise_float=True)
    yield "lines", pd.read_json(io.StringIO(table.to_json(orient="records", lines=True)), lines=True, precise_float=True)
    yield "round", frame.round(10)


def cancer(model, **types):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.astype(types.get("dtype", float)).mask(np.random.default_rng(0).random(X.shape) < types.get("gaps", 0.0))
    return model.fit(X, y), X, 1


def wine(model, scale=1.0):
    X, y = load_wine(return_X_y=True, as_frame=True)
    return model.fit(X * scale, y), X * scale, None


def loans(model):
    data = cl.datasets.load_german_credit()
    rng, X = np.random.default_rng(0), data.data
    numbers = X.select_dtypes("number").columns
    X = X.assign(**{name: X[name] + rng.normal(size=len(X)) * 0.3 for name in numbers[:4]})
    columns = make_column_transformer((StandardScaler(), list(numbers)), remainder=OneHotEncoder())
    return make_pipeline(columns, model).fit(X, data.target), X, None


def cart(**options):
    return DecisionTreeClassifier(random_state=0, **({"max_leaf_nodes": 12} | options))


CASES = {
    "axis-aligned": lambda: cancer(cart()),
    "float32": lambda: cancer(cart(), dtype=np.float32),
    "gaps": lambda: cancer(cart(), gaps=0.02),
    "oblique": lambda: cancer(cl.TAOClassifier(max_depth=3, random_state=0)),
    "three classes": lambda: wine(cart(max_leaf_nodes=8)),
    "scaled": lambda: wine(make_pipeline(StandardScaler(), cart(max_leaf_nodes=8))),
    "sums": lambda: wine(make_pipeline(StandardScaler(), PCA(4), cart(max_leaf_nodes=8))),
    "linear": lambda: wine(make_pipeline(StandardScaler(), LogisticRegression())),
    "categories": lambda: loans(cart()),
    "1e-7": lambda: wine(cart(max_leaf_nodes=8), 1e-7),
    "1e-7 scaled": lambda: wine(make_pipeline(StandardScaler(), cart(max_leaf_nodes=8)), 1e-7),
    "1e9": lambda: wine(cart(max_leaf_nodes=8), 1e9),
}
TINY = ("1e-7", "1e-7 scaled")  # ten decimals are few digits for these


def confirmed(model, rows, back, label):
    """How many rows the model still classifies so."""
    table = rows.copy()
    for name in set(rows.columns) & set(back.columns):
        table[name] = back[name].to_numpy(float if rows[name].dtype.kind == "f" else object)
    return float(np.mean(model.predict(table.infer_objects()) == label))


@pytest.mark.parametrize("case", CASES)
def test_round_trips(case):
    model, X, target = CASES[case]()
    explainer, rows = cl.Explainer(model, data=X), X[:70]
    out = explainer.explain_many(rows, target=target, digits="short")
    exact = explainer.explain_many(rows, target=target)
    assert (out["status"] == exact["status"]).all()
    assert out["confirmed"].all()
    assert (out["label"] == exact["label"]).all()
    short = (out["digits"] == "short").to_numpy()
    assert short.all() if case not in TINY else short.sum() > 30
    for name, back in trips(out[short]):
        assert confirmed(model, rows[short], back, out["label"][short].to_numpy()) == 1.0, name
    lost = [confirmed(model, rows, back, exact["label"].to_numpy()) for _, back in trips(exact)]
    assert min(lost) < 1.0  # otherwise this test tests nothing


def test_full_rows_are_marked_and_valid_as_they_are():
    model, X, _ = CASES["1e-7 scaled"]()
    out = cl.Explainer(model, data=X).explain_many(X[:70], digits="short")
    full = (out["digits"] == "full").to_numpy()
    assert full.any()
    (_, back), *_ = trips(out[full])
    assert confirmed(model, X[:70][full], back, out["label"][full].to_numpy()) == 1.0


def test_a_target_that_is_a_number_survives_too():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = DecisionTreeRegressor(max_leaf_nodes=20, random_state=0).fit(X, X["mean area"] + y)
    out = cl.Explainer(forest, data=X).explain_many(X[:60], target=cl.value(at_least=900.0), digits="short")
    for name, back in trips(out):
        table = X[:60].assign(**{name: back[name].to_numpy() for name in set(X.columns) & set(back.columns)})
        assert (forest.predict(table) >= 900.0).all(), name
    line = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    target = cl.probability(1, at_least=0.8)
    out = cl.Explainer(line, data=X).explain_many(X[:40], target=target, digits="short", count=2)
    assert (out["probability"] >= 0.8).all()
    for name, back in trips(out):
        rows = X.loc[out.index]
        table = rows.assign(**{name: back[name].to_numpy() for name in set(X.columns) & set(back.columns)})
        assert (line.predict_proba(table)[:, 1] >= 0.8).all(), name


def test_rows_that_the_model_refutes_keep_all_digits():
    class Picky(DecisionTreeClassifier):
        """Refuses rows whose numbers have few digits."""

        def predict(self, X):
            short = np.round(np.asarray(X, float), 6) == np.asarray(X, float)
            return np.where(short.all(axis=1), -1, super().predict(X))

    X = np.random.default_rng(0).normal(size=(200, 2)).round(3)
    model = Picky(max_depth=2, random_state=0).fit(X, (X.sum(axis=1) > 0).astype(int))
    out = cl.Explainer(model, data=X).explain_many(X[:40], target=1, digits="short")
    exact = cl.Explainer(model, data=X).explain_many(X[:40], target=1)
    moved = (out["n_changed"] > 0).to_numpy()
    assert (out["digits"][moved] == "full").all()
    pd.testing.assert_frame_equal(out[moved].drop(columns="digits"), exact[moved])


def test_polars_and_arrays_get_the_same_digits():
    model, X, target = CASES["categories"]()
    explainer = cl.Explainer(model, data=X)
    out = explainer.explain_many(X[:30], target=target, digits="short", shares=True)
    other = explainer.explain_many(pl.from_pandas(X[:30]), target=target, digits="short", shares=True)
    assert isinstance(other, pl.DataFrame)
    assert other.columns == list(out.columns)
    for name in out.columns:
        assert other[name].to_list() == [None if pd.isna(one) else one for one in out[name].tolist()], name
    again = explainer.explain_many(X[:30], target=target, digits="short", shares=True, chunk_size=7, n_jobs=2)
    pd.testing.assert_frame_equal(out, again)


def test_the_numbers_are_those_of_print_on_an_axis_aligned_tree():
    model, X, _ = CASES["axis-aligned"]()
    explainer = cl.Explainer(model, data=X)
    out = explainer.explain_many(X[:60], target=1, digits="short")
    for k in range(60):
        answer = explainer.explain(X.iloc[k], target=1)
        for d, (_, new) in written(answer, 0).items():
            assert out[X.columns[d]].iloc[k] == float(new)


def test_rows_of_among_are_written_as_they_are():
    model, X, _ = CASES["axis-aligned"]()
    explainer = cl.Explainer(model, data=X)
    question = {"target": 1, "constraints": cl.among(X[100:200])}
    short, exact = (explainer.explain_many(X[:20], **question, digits=digits) for digits in ("short", "full"))
    pd.testing.assert_frame_equal(short.drop(columns="digits"), exact)


def test_decimals_are_found_on_every_scale():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000) * 10.0 ** rng.integers(-12, 18, 2000)
    reach = np.abs(x) * 10.0 ** rng.uniform(-9, -1, 2000)
    found, digits = few(x, x - reach, x + reach, reach, np.zeros(2000, np.int64))
    assert (np.abs(found - x) <= reach).all()
    for value, exact, far, count in zip(found.tolist(), x.tolist(), reach.tolist(), digits.tolist(), strict=True):
        written = f"{value:.{count + 1}g}"
        assert float(written) == value  # no more digits than that
        if count:
            fewer = [float(f"{exact + way * far:.{count}g}") for way in (-0.999, -0.5, 0, 0.5, 0.999)]
            assert not any(abs(one - exact) < 0.999 * far for one in fewer)


# --- words and shares


@pytest.mark.parametrize("kind", ["numbers", "coupled", "tables"])
def test_shares_are_those_of_the_picture(kind):
    found = 0
    for seed in range(5, 13):
        explainer, rows, question = KINDS[kind](np.random.default_rng(seed))
        out = explainer.explain_many(rows, **question, shares=True)
        for k in range(len(rows)):
            if pd.isna(out["leaf"].iloc[k]):
                assert out.filter(like="share of ").iloc[k].isna().all()
                continue
            answer = explainer.explain(one_of(rows, k), **question)
            costs = shares(answer, answer.certificate.answers[0].row)
            part = costs / (np.abs(costs).sum() or 1.0)
            for d, name in enumerate(explainer.schema.names):
                if f"share of {name}" in out:
                    assert out[f"share of {name}"].iloc[k] == pytest.approx(part[d], abs=1e-9)
                    found += part[d] != 0
                else:
                    assert abs(part[d]) < 1e-12
    assert found > 20


def test_words():
    X = pd.DataFrame({"age": [30, 60, 18], "job": ["clerk", "nurse", "cook"], "pay": [0.1, 2.5, 1 / 3]})
    schema = cl.Schema(
        [cl.Numeric("age", 0, 90, integer=True), cl.Categorical("job", ["clerk", "cook", "nurse"]), cl.Numeric("pay")]
    )
    weights = np.array([[1.0, 0, 0, 9.0, 0], [0] * 5, [0] * 5])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-40.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, schema=schema)
    out = explainer.explain_many(X, target="yes", cost=cl.L1({"age": 1.0, "job": 1.0, "pay": 1.0}))
    assert out["changed"].tolist() == ["age 30 -> 31; job clerk -> nurse", "", "age 18 -> 31; job cook -> nurse"]
    assert out["source_label"].tolist() == ["no", "yes", "no"]
    stuck = explainer.explain_many(X, target="yes", constraints=cl.freeze("age", "job"))
    assert stuck["changed"].tolist() == [None, "", None]
    assert "changed" not in explainer.explain_many(X, target="yes", words=False)
    assert "changed" not in explainer.explain_many(pl.from_pandas(X), target="yes", words=False).columns


def test_words_of_many_changes_are_cut():
    n = 60
    tree = cl.Tree([1, -1, -1], [2, -1, -1], np.vstack([np.ones(n), np.zeros((2, n))]), [-60.0, 0, 0], [-1, 0, 1])
    (text,) = cl.Explainer(tree).explain_many(np.zeros((1, n)), target=1)["changed"]
    assert text.startswith("x0 0 -> 1; x1 0 -> 1; ")
    assert text.endswith("; x39 0 -> 1; 20 more")


def test_an_old_number_that_looks_like_the_new_one_gets_more_digits():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-0.3, 0, 0], [-1, 0, 1], dtype="float64")
    (text,) = cl.Explainer(tree).explain_many(np.array([[0.2999999999]]), target=1)["changed"]
    old, new = text.removeprefix("x0 ").split(" -> ")
    assert old != new
    assert float(old) == 0.2999999999


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"digits": "few"}, 'digits is \'few\'; expected "short", "full" or None'),
        ({"digits": 3}, 'digits is 3; expected "short", "full" or None'),
        ({"words": "no"}, "words is 'no'; expected True or False"),
        ({"shares": 1}, "shares is 1; expected True or False"),
        ({"count": 0}, "count is 0; expected a whole number from 1, or None for every leaf"),
    ],
)
def test_options_that_do_not_fit(options, message):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-0.3, 0, 0], [-1, 0, 1])
    with pytest.raises(cl.CounterleafError) as caught:
        cl.Explainer(tree).explain_many(np.zeros((1, 1)), **options)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["changed", "source_label", "rank", "digits", "share of x1"])
def test_features_with_the_names_of_columns(name):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-0.3, 0, 0], [-1, 0, 1])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric(name), cl.Numeric("x1")]))
    with pytest.raises(cl.CounterleafError, match=rf"features named \['{name}'\] collide with columns of the result"):
        explainer.explain_many(np.zeros((1, 2)), shares=True)
