"""The comparison of learners: results are saved, reused and put into a table."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from counterleaf_experiments import learners

NAMES = ["CART", "TAO, linear leaves"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A small table in a file, of which a few learners are compared."""
    X = np.random.default_rng(0).normal(size=(120, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=X[:, 0] - X[:, 1] + np.abs(X[:, 2]), w=["u", "v"] * 60)
    frame.to_csv(tmp_path / "small.csv", index=False)
    monkeypatch.setattr(learners, "learners", lambda table: NAMES)
    monkeypatch.setattr(sys, "argv", ["learners", "--splits", "2", "--out", str(tmp_path / "out")])
    return tmp_path / "small.csv"


@pytest.mark.slow
def test_a_table_of_the_user_is_compared_once(table, capsys):
    sys.argv += ["--table", str(table), "--target", "y"]
    learners.main()
    out, err = capsys.readouterr()
    assert err.count("split 2 of 2") == 2
    lines = out.splitlines()
    assert lines[0] == "| " + " | ".join(learners.COLUMNS) + " |"
    assert [line.split(" | ")[1] for line in lines[2:]] == NAMES
    found = json.loads((table.parent / "out/results.json").read_text())
    assert found[1]["error"] < found[0]["error"]  # a bent plane suits linear leaves
    assert (table.parent / "out/table.md").read_text() == out
    learners.main()
    assert capsys.readouterr() == (out, "")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--sets", "nope"], "unknown: nope; the sets are diabetes"),
        (["--target", "y"], "--table and --target belong together"),
        (["--table", "TABLE", "--target", "z"], "has no column 'z'; expected the column to predict"),
    ],
)
def test_mistakes_are_one_line(table, capsys, options, line):
    sys.argv += [str(table) if option == "TABLE" else option for option in options]
    with pytest.raises(SystemExit):
        learners.main()
    assert line in capsys.readouterr().err
