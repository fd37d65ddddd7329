"""Probabilities and values on the command line: --at-least and --at-most, their texts, files and checks."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from support.cli_cases import call

import counterleaf as cl


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("targets")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 80, 200), "pay": rng.normal(3000, 800, 200).round(2)})
    says = np.where(table["pay"] + 20 * table["age"] > 4000, "yes", "no")
    price = 2 * table["pay"] + 10 * table["age"]
    for name, model, label in (
        ("class", make_pipeline(StandardScaler(), LogisticRegression()), says),
        ("number", DecisionTreeRegressor(max_depth=4, random_state=0), price),
    ):
        model.fit(table, label)
        (out / f"{name}.pkl").write_bytes(pickle.dumps(model))
        (out / f"{name}.json").write_text(cl.Explainer(model, data=table).to_json())
    table.iloc[np.flatnonzero(says == "no")[:5]].to_csv(out / "rows.csv", index=False)
    return out


def test_a_probability(folder):
    done = call("explain", folder / "class.json", folder / "rows.csv", "--row", 0, "--target", "yes", "--at-least", 0.8)
    assert done.code == 0
    assert "the model would give yes a probability of 0.8 instead of" in done.out
    assert "confirms it: it gives yes a probability of at least 0.8 for this row." in done.out


def test_a_value(folder):
    done = call("explain", folder / "number.json", folder / "rows.csv", "--row", 0, "--at-least", 7000)
    assert done.code == 0
    assert "the model would predict" in done.out
    many = call("explain", folder / "number.json", folder / "rows.csv", "--at-least", 7000, "--format", "csv")
    found = pd.read_csv(pd.io.common.StringIO(many.out))
    assert (found["label"] >= 7000).all()
    table = call("explain", folder / "number.json", folder / "rows.csv", "--at-least", 7000)
    assert "5 rows: 5" in table.out


@pytest.mark.parametrize(
    ("name", "options"), [("class", ("--target", "yes", "--at-least", "0.8")), ("number", ("--at-most", "4000"))]
)
def test_answers_are_verified_with_their_model(folder, name, options):
    done = call("explain", folder / f"{name}.json", folder / "rows.csv", *options, "--out", folder / f"{name}.jsonl")
    assert done.code == 0
    for model, more in ((f"{name}.json", ()), (f"{name}.pkl", ("--allow-pickle",))):
        done = call("verify", folder / f"{name}.jsonl", "--model", folder / model, *more)
        assert done.code == 0, done.out
    lines = (folder / f"{name}.jsonl").read_text().splitlines()
    content = json.loads(lines[0])
    assert set(content["target"]) == (
        {"probability", "at_least", "at_most"} if name == "class" else {"value", "at_least", "at_most"}
    )


def test_inspect_shows_values(folder):
    done = call("inspect", folder / "number.json")
    assert done.code == 0
    assert "|--- value: " in done.out


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("number", (), "the model predicts numbers; expected --at-least or --at-most with the value to reach"),
        ("number", ("--target", "yes"), "--target is 'yes', and the model predicts numbers; use --at-least, --at-most"),
        ("class", ("--at-least", "0.5"), "--at-least and --at-most limit a probability; expected one --target with its class"),
        ("class", ("--target", "yes", "--at-least", "7"), "probability got 7; expected a number from 0 to 1"),
    ],
)
def test_options_that_do_not_fit(folder, name, options, message):
    done = call("explain", folder / f"{name}.json", folder / "rows.csv", *options)
    assert done.code == 2
    assert message in done.err


def test_the_explorer_opens_a_model_of_numbers(folder):
    pytest.importorskip("fastapi")
    from counterleaf.explorer.session.session import open_session

    session = open_session({"model": str(folder / "number.json"), "data": str(folder / "rows.csv")})
    (scene,) = session.handle("scenes", {})
    assert scene["kind"] == "value"
    reply = session.handle("answer", {"scene": scene["key"]})
    assert reply["goal"]["text"].startswith("at ")
    assert reply["ways"][0]["confirmed"]
