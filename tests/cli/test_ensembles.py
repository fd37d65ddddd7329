"""The command with ensembles: convert, inspect, explain, verify; explore refuses them."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.cli_cases import call, mistake

import counterleaf as cl
from counterleaf.cli.question import complete_classes
from counterleaf.model.readers.table import read_model

X, Y = load_iris(return_X_y=True, as_frame=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
OWN = "the bounds, steps, costs of categories, spreads and fills are those of the answers' file"
TRUSTED = "the model and its features are taken on trust from the file"
HOLDS = f"every proof holds, and the ensemble in the file confirms every answer; {TRUSTED}"


def forest():
    return RandomForestClassifier(10, random_state=0).fit(X, NAMES[Y])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X.to_csv("iris.csv", index=False)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(forest()))
    (tmp_path / "m.json").write_text(cl.Explainer(forest(), data=X).to_json())
    return tmp_path


@pytest.mark.parametrize("arguments", [["m.pkl", "--allow-pickle"], ["m.skops"]], ids=["pickle", "skops"])
def test_a_forest_is_json_that_says_the_same(folder, arguments):
    skops.io.dump(forest(), "m.skops")
    leaves = int((read_model(forest()).left < 0).sum())
    done = call("convert", *arguments, "--data", "iris.csv", "--out", "new.json")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        f"RandomForestClassifier: 4 features, 10 trees with {leaves} leaves; agrees with the model on all 150 rows tried\n"
        f"Wrote new.json\n"
    )
    assert (folder / "new.json").read_text() == (folder / "m.json").read_text()


def test_a_pipeline_is_converted_and_explained(folder):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"age": rng.integers(18, 80, 90), "job": rng.choice(["cook", "smith"], 90)})
    prepare = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age"]))
    says = np.where((data.job == "smith") & (data.age > 40), "yes", "no")
    (folder / "p.pkl").write_bytes(
        pickle.dumps(make_pipeline(prepare, RandomForestClassifier(5, random_state=0)).fit(data, says))
    )
    data.to_csv("people.csv", index=False)
    assert call("convert", "p.pkl", "--allow-pickle", "--data", "people.csv", "--out", "p.json").code == 0
    done = call("explain", "p.json", "people.csv", "--row", "0", "--out", "a.jsonl")
    assert (done.code, done.err) == (0, "")
    for model in (["p.json"], ["p.pkl", "--allow-pickle"]):
        done = call("verify", "a.jsonl", "--model", *model)
        assert (done.code, done.err) == (0, "")
        own = "" if model == ["p.json"] else f"; {OWN}"
        assert done.out.endswith(f"every proof holds and is about {model[0]}, which confirms every answer{own}\n")


def test_inspect_describes_a_forest(folder):
    done = call("inspect", "m.json")
    head, _, features = done.out.partition("\n\n")
    lines = head.splitlines()
    assert lines[0] == "m.json: an ensemble of 10 trees over 4 features"
    assert lines[1] == "  predicts  setosa, versicolor, virginica"
    assert lines[2].startswith("  nodes     ")
    assert "are leaves" in lines[2]
    assert "in the deepest tree" in lines[3]
    assert "different ones, used" in lines[4]
    assert lines[5] == (
        "  sums      3 sums, one for each class, in float64, divided by 10; the largest wins; "
        "each sum is the probability of its class"
    )
    assert "petal width (cm)" in features
    assert "different thresholds" in features


def test_inspect_describes_boosted_trees_and_bare_ensembles(folder):
    data, numbers = load_diabetes(return_X_y=True)
    model = read_model(GradientBoostingRegressor(n_estimators=3, random_state=0).fit(data, numbers))
    (folder / "bare.json").write_text(model.to_json())
    out = call("inspect", "bare.json").out
    assert "bare.json: an ensemble of 3 trees over 10 features\n  predicts  numbers\n" in out
    assert "  depth     3\n" in out
    assert out.endswith("one sum over all trees, in float64, from a start of its own; the sum is the prediction\n")
    two = HistGradientBoostingClassifier(max_iter=2).fit(X, Y > 0)
    (folder / "two.json").write_text(cl.Explainer(two).to_json())
    out = call("inspect", "two.json").out
    assert "True wins above 0; a logistic function of the sum is a probability" in out
    assert "; unused\n" in out


def test_inspect_does_not_draw_an_ensemble(folder):
    for option in (["--png", "t.png"], ["--depth", "2"], ["--shape", "2x2"]):
        said = mistake("inspect", "m.json", *option)
        assert said == "m.json is an ensemble, and --png, --shape and --depth draw single trees; omit them"
    assert not (folder / "t.png").exists()


def test_a_row_is_explained_in_sentences(folder):
    done = call("explain", "m.json", "iris.csv", "--row", "0", "--target", "virginica", "--at-least", "0.6")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(
        "The ensemble in m.json confirms it: it gives virginica a probability of at least 0.6 for this row.\n"
    )
    assert "leaf" not in done.out
    front = call("explain", "m.json", "iris.csv", "--row", "0", "--front")
    assert "The ensemble in m.json confirms it." in front.out


def test_a_table_is_explained_and_verified(folder):
    done = call("explain", "m.json", "iris.csv", "--out", "all.csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "Wrote all.csv. 150 rows: 150 with an answer that is proved cheapest. The ensemble confirms every answer.\n"
    )
    assert (pd.read_csv("all.csv")["status"] == "optimal").all()
    X.iloc[[0, 60, 120]].to_csv("three.csv", index=False)
    assert call("explain", "m.json", "three.csv", "--out", "a.jsonl", "--count", "2").code == 0
    done = call("verify", "a.jsonl")
    assert (done.code, done.out.splitlines()[-1]) == (0, f"a.jsonl: 3 cheapest: {HOLDS}")


def test_verify_finds_another_ensemble_and_changed_answers(folder):
    call("explain", "m.json", "iris.csv", "--row", "0", "--out", "a.jsonl")
    other = RandomForestClassifier(10, random_state=1).fit(X, NAMES[Y])
    (folder / "other.json").write_text(cl.Explainer(other, data=X).to_json())
    (folder / "other.pkl").write_bytes(pickle.dumps(other))
    for model in (["other.json"], ["other.pkl", "--allow-pickle"]):
        done = call("verify", "a.jsonl", "--model", *model)
        assert done.code == 4
        assert f"FAIL line 1: the proof does not hold for {model[0]}: its ensemble is a different one\n" in done.out
    content = json.loads((folder / "a.jsonl").read_text())
    content["model"]["ensemble"]["value"]["zlib"] = "AAAA"
    (folder / "b.jsonl").write_text(json.dumps(content))
    assert call("verify", "b.jsonl").code == 4


def test_what_needs_leaves_is_refused(folder):
    said = mistake("explain", "m.json", "iris.csv", "--row", "0", "--count", "all")
    assert said == "--count is all, and m.json is an ensemble, whose answers have no single leaf; use --count with a number"
    said = mistake("explain", "m.json", "iris.csv", "--row", "0", "--count", "2", "--distinct", "leaves")
    assert said.startswith("--distinct is leaves, and m.json is an ensemble")


def test_an_ensemble_without_names_takes_the_columns_of_the_rows(folder):
    (folder / "bare.json").write_text(read_model(forest()).to_json())
    assert call("explain", "bare.json", "iris.csv", "--row", "0").code == 0
    X.iloc[:, :3].to_csv("three.csv", index=False)
    said = mistake("explain", "bare.json", "three.csv", "--row", "0")
    assert said.startswith("three.csv has 3 columns, and this ensemble has 4; remove the other columns")


def test_the_explorer_opens_an_ensemble(folder):
    """Also one without names."""
    pytest.importorskip("fastapi")
    from counterleaf.explorer.session.session import open_session

    (folder / "bare.json").write_text(read_model(forest()).to_json())
    for model, data in (("m.json", "iris.csv"), ("bare.json", None)):
        session = open_session({"model": model, "data": data})
        (scene,) = session.handle("scenes", {})
        assert "forest" in session.handle("scene", {"scene": scene["key"]})["model"]
        reply = session.handle("answer", {"scene": scene["key"], "spread": "none"})
        assert reply["ways"][0]["confirmed"]


def test_classes_are_completed(folder):
    class Context:
        params, args = {"model": "m.json"}, ()

    assert complete_classes(Context(), "v") == ["versicolor", "virginica"]
