"""Rows that lack numbers, on the command line and in the explorer."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.cli_cases import call
from support.explorer_cases import small_session

import counterleaf as cl


@pytest.fixture
def gappy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)).round(2), columns=["a", "b", "c"]).mask(rng.random((80, 3)) < 0.25)
    y = np.where(table["a"].fillna(1.0) + table["b"].fillna(-1.0) > 0, "yes", "no")
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(table, y)
    table.to_csv("gaps.csv", index=False)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    return model, table


def test_the_command_explains_and_verifies_rows_with_gaps(gappy):
    done = call("convert", "m.pkl", "--allow-pickle", "--data", "gaps.csv", "--out", "m.json")
    assert (done.code, done.err) == (0, "")
    assert "agrees with the model on all 80 rows tried" in done.out
    done = call("explain", "m.json", "gaps.csv", "--format", "json")
    assert done.code == 0
    assert len(done.out.splitlines()) == 80
    Path("a.jsonl").write_text(done.out)
    for model in (["m.json"], ["m.pkl", "--allow-pickle"]):
        checked = call("verify", "a.jsonl", "--model", *model)
        assert checked.code == 0
        assert "which confirms every answer" in checked.out
    one = call("explain", "m.json", '{"a": null, "b": null, "c": 1}', "--target", "yes", "--cost", "L1", "--freeze", "a")
    assert one.code == 0
    assert "instead of (missing)" in one.out


def test_the_explorer_shows_rows_with_gaps(gappy):
    model, table = gappy
    session = small_session(cl.Explainer(model, table), table)
    filled = 0
    for row in range(30):
        question = {"scene": "test", "row": row, "target": [], "cost": "L1", "spread": "range", "controls": {}}
        question["controls"] = {name: {"multiplier": 0.05 if np.isnan(table[name][row]) else 20.0} for name in table}
        reply = session.handle("answer", question)
        json.dumps(reply, allow_nan=False)
        assert all(one["confirmed"] for one in reply["ways"])
        filled += any(change["from_value"] is None for change in reply["ways"][0]["changes"])
        json.dumps(session.handle("tree", question), allow_nan=False)
        assert session.handle("row", {"scene": "test", "row": row})["label"] == model.predict(table.iloc[[row]])[0]
    assert filled > 5
