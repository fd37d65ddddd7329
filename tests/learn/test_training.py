"""A tree from a table: the treatment of every kind of column and label, and agreement of explainer and pipeline."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from support.cli_cases import loans
from support.seeds import seeds

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.learn import training

QUICK = {"learner": "cart", "depth": 3, "alpha": None, "test": 0.25, "seed": 0}


def prepare(frame, label="says", drop=(), category=(), task="auto"):
    return training.prepare(frame, label, list(drop), list(category), "t.csv", task)


def priced(n=300):
    """Numbers, gaps and words that determine a price, by one formula for each side of a slanted line."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": rng.normal(100, 20, n).round(1), "age": rng.integers(0, 60, n), "town": rng.choice(["a", "b"], n)}
    )
    new = table["size"] - 2 * table["age"] > 40
    price = np.where(new, 3 * table["size"], 100 - table["age"]) + 20 * (table["town"] == "a") + rng.normal(0, 2, n)
    return table.assign(price=price.round(2))


def wild():
    """Every kind of column that a table may have."""
    table = loans()
    n, rng = len(table), np.random.default_rng(3)
    table["flag"] = rng.random(n) < 0.5
    table["gaps"] = table["flag"].astype(object).where(rng.random(n) < 0.9, None)
    table["x"] = table["x"].where(rng.random(n) < 0.9)
    table["k"] = table["k"].where(rng.random(n) < 0.9)
    table["w"] = table["w"].where(rng.random(n) < 0.9, None)
    table["same"], table["word"], table["nothing"] = 5, "one", None
    table["day"] = pd.date_range("2020-01-01", periods=n)
    table["id"] = [f"u{k:04d}" for k in range(n)]
    table["whole"] = pd.array(rng.integers(0, 9, n), dtype="Int64")
    table["maybe"] = pd.array(rng.random(n) < 0.5, dtype="boolean")
    table.loc[[2, 3], ["whole", "maybe"]] = pd.NA
    table["real"] = pd.array(rng.normal(size=n), dtype="Float64")
    table["small"] = rng.normal(size=n).astype(np.float32)
    table["sort"] = pd.Categorical(rng.choice(["p", "q"], n))
    table["list"] = [[1]] * n
    table["mixed"] = ["a", 1] * (n // 2)
    table.loc[[7, 8, 9], "says"] = None
    return table


def test_columns_that_a_tree_cannot_learn_from_are_left_out_and_reported():
    table = prepare(wild())
    assert table.left_out == {
        "3 rows": "without says",
        "nothing": "no value at all",
        "day": "dates",
        "id": "157 different words",
        "list": "neither words nor numbers",
        "mixed": "words among numbers",
    }
    assert len(table.X) == len(table.y) == 157
    assert not {"says", *table.left_out} & set(table.X.columns)


@pytest.mark.parametrize("learner", training.LEARNERS)
def test_the_explainer_predicts_what_the_pipeline_predicts(learner):
    table = prepare(wild())
    trained = training.train(table, **{**QUICK, "learner": learner, "depth": 2, "alpha": 1.0 if learner == "tao" else None})
    again = cl.Explainer.from_json(trained.explainer.to_json())
    codes = np.array([again.schema.encode(row) for row in table.X[again.schema.names].to_dict("records")])
    assert again.tree.predict(codes).tolist() == trained.model.predict(table.X).tolist()
    found = again.explain_many(table.X.iloc[:20], progress=False)
    rows = table.X.iloc[:20].copy()
    for name in [name for name in found.columns if name in again.schema.names]:
        rows[name] = found[name].to_numpy()
    assert trained.model.predict(rows).tolist() == found["label"].tolist()


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["a", "b"], ["a", "b"]),
        ([1, 0], [0, 1]),
        ([1.0, 2.0], [1, 2]),
        ([True, False], [False, True]),
        (pd.array([True, False] * 80, dtype="boolean"), [False, True]),
        (pd.array([3, 4] * 80, dtype="Int64"), [3, 4]),
        (pd.Categorical(["p", "q"] * 80), ["p", "q"]),
        (np.array([True, False] * 80, dtype=object), [False, True]),
    ],
    ids=["words", "numbers", "floats", "booleans", "maybe", "nullable", "categories", "objects"],
)
def test_labels_come_back_as_they_are(labels, classes):
    says = list(labels) * 80 if isinstance(labels, list) else labels
    trained = training.train(prepare(loans().assign(says=says)), **QUICK)
    assert trained.explainer.tree.classes.tolist() == classes
    assert [type(one) for one in trained.explainer.tree.classes.tolist()] == [type(one) for one in classes]
    assert cl.Explainer.from_json(trained.explainer.to_json()).tree.classes.tolist() == classes


def test_whole_labels_stay_whole_where_some_are_missing():
    table = loans().assign(says=lambda t: (t.says == "yes").astype(float))
    table.loc[3, "says"] = np.nan
    assert prepare(table).y.unique().tolist() in ([0, 1], [1, 0])
    table = loans().assign(says=lambda t: (t.says == "yes").astype(object))
    table.loc[3, "says"] = None
    assert prepare(table).y.dtype == bool


def refusal(make, *arguments, **named):
    """The message of a table or setting that is refused."""
    with pytest.raises(CounterleafError) as error:
        make(*arguments, **named)
    return str(error.value)


LABEL = "the label 'says'"
TYPES = "in t.csv; expected words or whole numbers"
LIMIT = "expected numbers up to 1e+30: correct it, or leave it out with --drop"
COLUMNS = "t.csv has no column 'nope'; its columns are 'x', 'k', 'w', 'says'"


@pytest.mark.parametrize(
    ("columns", "drop", "line"),
    [
        ({}, ("nope",), COLUMNS),
        ({}, ("says",), "--drop is 'says', which is the label; expected other columns"),
        ({"says": "a"}, (), f"{LABEL} has 1 different values in t.csv; expected at least two classes"),
        ({"says": None}, (), f"{LABEL} has 0 different values in t.csv; expected at least two classes"),
        (
            {"says": [f"w{k}" for k in range(160)]},
            (),
            f"{LABEL} has 160 different values in t.csv; expected classes: cut it into ranges first",
        ),
        (
            {"says": [0.0, 1.5] * 80},
            (),
            f"{LABEL} contains the number 1.5 in t.csv; expected classes: cut it into ranges first, write the "
            "classes as words, or use --task regression",
        ),
        ({"says": ["a", 1] * 80}, (), f"{LABEL} contains values of type int and str {TYPES}"),
        ({"says": [[1]] * 160}, (), f"{LABEL} contains values of type list {TYPES}"),
        ({}, ("x", "k", "w"), "t.csv has no column to learn from except the label 'says'"),
        (
            {"x": None},
            ("k", "w"),
            "t.csv has no column to learn from except the label 'says'; left out: x (no value at all)",
        ),
        ({"x": np.inf}, (), f"the column 'x' of t.csv contains inf; {LIMIT}"),
        ({"x": -1e300}, (), f"the column 'x' of t.csv contains -1e+300; {LIMIT}"),
    ],
)
def test_a_table_without_a_usable_label_or_column_is_refused(columns, drop, line):
    assert refusal(prepare, loans().assign(**columns), "says", drop) == line


def test_a_label_that_is_absent_and_columns_of_one_name_are_refused():
    assert refusal(prepare, loans(), "nope") == COLUMNS
    twice = pd.DataFrame([[1, 2, "a"], [2, 3, "b"]], columns=["x", "x", "says"])
    assert refusal(prepare, twice) == "t.csv has two columns named 'x'; names must differ"


@pytest.mark.parametrize(
    ("table", "test", "line"),
    [
        (loans().groupby("says").head(1), 0.25, "t.csv has 2 rows, too few to hold some out; use --test 0"),
        (loans(), 0.999, "t.csv has 160 rows, too few to hold some out; use --test 0"),
        (
            loans().assign(says=[f"c{k}" for k in range(40)] * 4),
            0.9,
            "t.csv has too few rows of says c0 to hold some out; leave them out or use --test 0",
        ),
    ],
)
def test_too_few_rows_are_refused(table, test, line):
    assert refusal(training.train, prepare(table), **{**QUICK, "test": test}) == line


@pytest.mark.parametrize("seed", seeds(4))
def test_a_class_of_one_row_is_learned(seed):
    table = prepare(loans().assign(says=["rare", *["no", "yes"] * 79, "no"]))
    trained = training.train(table, **{**QUICK, "seed": seed})
    assert trained.explainer.tree.classes.tolist() == ["no", "rare", "yes"]
    assert (trained.rows, len(trained.truth), set(trained.truth)) == (120, 40, {"no", "yes"})


def test_two_rows_are_enough_to_learn_from_all():
    trained = training.train(prepare(loans().groupby("says").head(1)), **{**QUICK, "test": 0.0, "depth": None})
    assert (trained.rows, len(trained.truth), len(trained.explainer.tree.leaves)) == (2, 0, 2)
    assert "held out" not in training.report(prepare(loans().groupby("says").head(1)), trained)


@pytest.mark.parametrize("learner", training.LEARNERS)
def test_a_seed_gives_the_same_tree_again(learner):
    table = prepare(loans())
    settings = {**QUICK, "learner": learner, "depth": 2, "alpha": 1.0 if learner == "tao" else None}
    first, again, other = (training.train(table, **{**settings, "seed": seed}).explainer.to_json() for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_the_size_is_the_smallest_within_one_error_of_the_best():
    table = prepare(loans())
    trained = training.train(table, **{**QUICK, "depth": None, "test": 0.0})
    assert trained.chosen
    scores = {}
    for depth in training._DEPTHS:
        model = training._pipeline(table.X, table.categories, "cart", 0).set_params(tree__max_depth=depth)
        scores[depth] = cross_val_score(model, table.X, table.y, cv=StratifiedKFold(3, shuffle=True, random_state=0))
    best = max(scores, key=lambda depth: scores[depth].mean())
    least = scores[best].mean() - scores[best].std() / np.sqrt(3)
    assert trained.settings == {"max_depth": min(depth for depth in scores if scores[depth].mean() >= least)}


def test_the_figures_of_the_report_are_true():
    table = prepare(wild())
    trained = training.train(table, **QUICK)
    lines = training.report(table, trained).splitlines()
    counts = table.y.value_counts()
    assert (
        lines[0] == f"t.csv: 157 rows, 12 features; says: {', '.join(f'{label} ({count})' for label, count in counts.items())}"
    )
    assert lines[1:7] == [f"Left out: {name} ({reason})" for name, reason in table.left_out.items()]
    leaves = trained.model[-1].get_n_leaves()
    assert lines[7].startswith("Learned from 117 rows: DecisionTreeClassifier, max_depth 3; ")
    assert f"; {leaves} leaves, " in lines[7]
    held_out = table.X.loc[trained.truth.index]
    accuracy = np.mean(trained.model.predict(held_out) == table.y.loc[trained.truth.index])
    common = trained.truth.value_counts(normalize=True)
    assert lines[8] == (
        f"On the 40 rows held out: {accuracy:.1%} correct; always predicting {common.index[0]} would give {common.iloc[0]:.1%}"
    )
    counted = [int(cell) for line in lines[12:14] for cell in line.split()[1:]]
    assert sum(counted) == 40
    assert counted[0] + counted[3] == round(accuracy * 40)


def test_whole_numbers_with_gaps_stay_whole():
    trained = training.train(prepare(wild()), **QUICK)
    assert {feature.name for feature in trained.explainer.schema if getattr(feature, "integer", False)} >= {"whole"}


def test_numbers_that_are_names_become_categories():
    table = loans().assign(code=np.tile([30, 10, 20, 40], len(loans()) // 4))
    kinds = {f.name: f for f in training.train(prepare(table, category=["code"]), **QUICK).explainer.schema}
    assert kinds["code"].values == (10, 20, 30, 40)
    assert refusal(prepare, table, category=["says"]) == "--category is 'says', which is the label; expected other columns"
    assert refusal(prepare, table, category=["cod"]).startswith("t.csv has no column 'cod'; its columns are")


def test_dates_and_running_numbers_are_left_out_and_reported():
    n = len(loans())
    days = pd.date_range("2020-01-01", periods=n)
    table = loans().assign(
        iso=days.strftime("%Y-%m-%d"), german=days.strftime("%d.%m.%Y"), stamp=days.strftime("%Y-%m-%d 12:30:00"),
        number=np.arange(5_000, 5_000 + n)[::-1], pay=np.random.default_rng(0).permutation(n * 50)[:n],
    )  # fmt: skip
    left_out = prepare(table).left_out
    assert {"iso": "dates", "german": "dates", "stamp": "dates", "number": "a running number"}.items() <= left_out.items()
    assert "pay" not in left_out


def test_a_tree_without_skill_is_reported():
    table = prepare(pd.DataFrame({"x": np.random.default_rng(0).random(80), "says": ["a", "a", "a", "b"] * 20}))
    trained = training.train(table, **{**QUICK, "depth": 1})
    text = training.report(table, trained)
    assert (trained.predicted == trained.truth.to_numpy()).mean() <= 0.75
    assert "The tree is not better" in text


def test_words_of_the_rows_held_out_can_be_explained():
    table = loans()
    table["w"] = table["w"].astype(object)
    for k in range(0, len(table), 40):
        table.loc[k, "w"] = f"rare {k}"
    explainer = training.train(prepare(table), **QUICK).explainer
    for row in table.drop(columns="says").to_dict("records"):
        explainer.schema.encode(row)


@pytest.mark.parametrize(
    ("labels", "task", "regression"),
    [
        (np.linspace(0, 1, 160), "auto", True),
        (range(160), "auto", True),
        ([1, 2, 3, 4] * 40, "auto", False),
        ([1, 2, 3, 4] * 40, "regression", True),
        (["a", "b"] * 80, "auto", False),
        ([True, False] * 80, "auto", False),
    ],
    ids=str,
)
def test_a_label_of_many_numbers_is_predicted_as_a_number(labels, task, regression):
    assert prepare(loans().assign(says=labels), task=task).regression is regression


@pytest.mark.parametrize(
    ("labels", "task", "line"),
    [
        (range(160), "classification", "the label 'says' has 160 different values in t.csv; expected classes: cut it into"),
        (
            ["a", "b"] * 80,
            "regression",
            "the label 'says' is not a number in t.csv; expected numbers, or --task classification",
        ),
        ([1.5, np.inf] * 80, "regression", "the label 'says' contains inf in t.csv; expected numbers up to 1e+30: correct it"),
        ([1.5, 1.5] * 80, "regression", "the label 'says' has 1 different values in t.csv; expected numbers that differ"),
    ],
    ids=str,
)
def test_labels_that_do_not_fit_the_task_are_refused(labels, task, line):
    assert refusal(prepare, loans().assign(says=labels), task=task).startswith(line)


@pytest.mark.parametrize(
    ("learner", "leaves"), [("cart", None), ("tao", "constant"), ("tao", "linear"), ("tao", None)], ids=str
)
def test_a_tree_for_numbers_predicts_explains_and_reports(learner, leaves):
    table = prepare(priced(), "price")
    trained = training.train(table, **{**QUICK, "learner": learner, "leaves": leaves, "depth": 2})
    again = cl.Explainer.from_json(trained.explainer.to_json())
    assert again.tree.is_regression
    codes = np.array([again.schema.encode(row) for row in table.X[again.schema.names].to_dict("records")])
    np.testing.assert_allclose(again.tree.predict(codes), trained.model.predict(table.X), rtol=1e-9)
    answer = trained.explainer.explain(table.X.iloc[0], target=cl.value(at_least=float(table.y.mean())))
    assert answer[0].confirmed
    text = training.report(table, trained)
    assert "; price: " in text.splitlines()[0]
    assert "rows held out: root mean squared error" in text
    if leaves is not None or learner == "cart":  # otherwise cross-validation decides
        assert ("leaves linear, " in text) == (leaves == "linear")


def test_leaves_are_chosen_by_cross_validation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    scores = np.where(X[:, :1] > 0, X @ rng.normal(size=(3, 3)), X @ rng.normal(size=(3, 3)))
    bent = pd.DataFrame(X, columns=["a", "b", "c"]).assign(says=np.array(["p", "q", "r"])[scores.argmax(axis=1)])
    trained = training.train(prepare(bent), **{**QUICK, "learner": "tao", "depth": 2})
    assert trained.chosen
    assert trained.settings["leaves"] == "softmax"
    easy = pd.DataFrame(X, columns=["a", "b", "c"]).assign(says=np.where(X[:, 0] > 0, "p", "q"))
    assert training.train(prepare(easy), **{**QUICK, "learner": "tao", "depth": 2}).settings["leaves"] == "constant"


@pytest.mark.parametrize(
    ("label", "learner", "leaves", "fitting"),
    [
        ("price", "tao", "softmax", "tao and numbers; expected constant or linear"),
        ("says", "tao", "linear", "tao and classes; expected constant or softmax"),
        ("says", "cart", "softmax", "cart and classes; expected constant"),
    ],
)
def test_leaves_that_do_not_fit_the_label_are_refused(label, learner, leaves, fitting):
    table = prepare(priced() if label == "price" else loans(), label)
    line = refusal(training.train, table, **{**QUICK, "learner": learner, "leaves": leaves})
    assert line == f"--leaves is {leaves!r} for the learner {fitting}"
