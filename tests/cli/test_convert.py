"""``counterleaf convert``: scikit-learn's files in, JSON that says the same out."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from lightgbm import LGBMClassifier
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from support.cli_cases import call, mistake

import counterleaf as cl
from counterleaf.learn import TAOClassifier

X, Y = load_iris(return_X_y=True, as_frame=True)


def fitted():
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X.assign(species=Y).to_csv("iris.csv", index=False)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(fitted()))
    skops.io.dump(fitted(), "m.skops")
    return tmp_path


@pytest.mark.parametrize("arguments", [["m.pkl", "--allow-pickle"], ["m.skops"]], ids=["pickle", "skops"])
def test_a_model_is_json_that_says_the_same(folder, arguments):
    done = call("convert", *arguments, "--data", "iris.csv", "--out", "m.json")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "DecisionTreeClassifier: 4 features, 5 leaves; agrees with the model on all 150 rows tried\nWrote m.json\n"
    )
    explainer = cl.Explainer.from_json((folder / "m.json").read_text())
    assert explainer.to_json() == cl.Explainer(fitted(), data=X).to_json()
    assert explainer.tree.predict(X.to_numpy()).tolist() == fitted().predict(X).tolist()


def test_without_out_the_json_is_the_data(folder):
    done = call("convert", "m.skops")
    assert json.loads(done.out)["format"] == "counterleaf-explainer"
    assert done.err == (
        "DecisionTreeClassifier: 4 features, 5 leaves\n"
        "Without --data, numbers have no bounds, and a change costs its square in its own units\n"
    )


def test_a_pickle_is_refused_unless_it_is_allowed(folder):
    line = mistake("convert", "m.pkl", "--out", "m.json")
    assert line.startswith("m.pkl is a pickle, which can run any code when it is opened; ")
    assert not (folder / "m.json").exists()


def test_a_model_without_names_takes_those_of_the_data(folder):
    (folder / "m.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier(max_depth=2).fit(X.to_numpy(), Y)))
    X.to_csv("plain.csv", index=False)
    done = call("convert", "m.pkl", "--allow-pickle", "--data", "plain.csv", "--out", "m.json")
    assert (done.code, done.err) == (0, "")
    assert cl.Explainer.from_json((folder / "m.json").read_text()).schema.names == list(X.columns)
    assert mistake("convert", "m.pkl", "--allow-pickle", "--data", "iris.csv") == "data has 5 columns; the model needs 4"


def explainer():
    return cl.Explainer(fitted(), data=X)


def tao():
    return TAOClassifier(max_depth=2, random_state=0).fit(X, Y)


@pytest.mark.parametrize("make", [explainer, tao])
def test_our_own_objects_are_taken_too(folder, make):
    (folder / "own.pkl").write_bytes(pickle.dumps(make()))
    done = call("convert", "own.pkl", "--allow-pickle", "--data", "iris.csv", "--out", "m.json")
    assert done.code == 0
    assert "agrees with the model on all 150 rows tried" in done.out


def test_a_model_that_the_json_does_not_follow_is_code_4_and_not_written(folder, monkeypatch):
    predict, first = cl.Tree.predict, X.to_numpy()[:2]

    def wrong(self, rows):
        out = np.array(predict(self, rows))
        out[(np.asarray(rows)[:, None] == first).all(axis=2).any(axis=1)] = 2
        return out

    monkeypatch.setattr(cl.Tree, "predict", wrong)
    done = call("convert", "m.skops", "--data", "iris.csv", "--out", "m.json")
    assert (done.code, done.out) == (4, "")
    assert done.err == "counterleaf: the JSON and the model disagree on 2 of 150 rows; nothing was written\n"
    assert not (folder / "m.json").exists()


def _write(folder):
    (folder / "raw.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier()))
    (folder / "dict.pkl").write_bytes(pickle.dumps({"a": 1}))
    pd.DataFrame({"sepal length (cm)": [1.0]}).to_csv(folder / "less.csv", index=False)
    words = X.astype(object)
    words.iloc[3, 1] = "old"
    words.to_csv(folder / "words.csv", index=False)


KNOWN = (
    "expected a counterleaf Tree or TAOClassifier, a decision tree or a linear model of scikit-learn, "
    "a forest, boosted trees, or a Pipeline that ends with one"
)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["dict.pkl"], f"cannot read a dict; {KNOWN}"),
        (["raw.pkl"], "this DecisionTreeClassifier is not fitted; call fit first"),
        (["absent.pkl"], "absent.pkl: No such file or directory"),
        (["iris.csv"], "iris.csv: unknown file type; expected .skops, .pkl, .pickle or .joblib"),
        (["m.pkl", "--data", "absent.csv"], "absent.csv: No such file or directory"),
        (
            ["m.pkl", "--data", "less.csv"],
            f"less.csv lacks the columns {list(X.columns[1:])}; the model was fitted with {list(X.columns)}",
        ),
        (["m.pkl", "--out", "m.pkl"], "--out is m.pkl; expected a name that ends in .json"),
    ],
)
def test_a_mistake_is_one_line(folder, arguments, line):
    _write(folder)
    assert mistake("convert", *arguments, "--allow-pickle") == line


def test_data_that_does_not_fit_is_one_line(folder):
    _write(folder)
    line = mistake("convert", "m.pkl", "--allow-pickle", "--data", "words.csv")
    assert line == "column 'sepal width (cm)' of the data holds text, and this model takes numbers: pass the whole pipeline"


def test_text_becomes_the_categories_of_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"job": rng.choice(["cook", "nurse", "smith"], 300), "age": rng.integers(18, 80, 300)})
    y = (table["job"] == "nurse") ^ (table["age"] > 50)
    model = LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(table.astype({"job": "category"}), y)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    table.to_csv("rows.csv", index=False)
    done = call("convert", "m.pkl", "--allow-pickle", "--data", "rows.csv", "--out", "m.json")
    assert (done.code, done.err) == (0, "")
    assert "agrees with the model on all 300 rows tried" in done.out
    assert call("explain", "m.json", "rows.csv", "--row", 1, "--target", str(not y[1]), "--out", "a.jsonl").code == 0
    checked = call("verify", "a.jsonl", "--model", "m.pkl", "--allow-pickle")
    assert (checked.code, checked.err) == (0, "")
