"""Faults that a review found in the explorer's desk and server, each by the question that showed it."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from support.explorer_cases import small_desk
from support.running_explorer import running
from typer.testing import CliRunner

import counterleaf as cl
from counterleaf import cli
from counterleaf.errors import CounterleafError
from counterleaf.explorer.desk import open_desk


def stump(width=1, cut=0.5, classes=("no", "yes")):
    """yes where the sum of all features is greater than the cut."""
    weights = np.vstack([np.ones(width), np.zeros((2, width))])
    return cl.Tree([1, -1, -1], [2, -1, -1], weights, [-cut, 0, 0], [-1, 0, 1], classes=list(classes))


def band():
    """yes for x in 150 to 180 only."""
    weights = [[1.0], [0.0], [1.0], [0.0], [0.0]]
    return cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], weights, [-150.0, 0, -180.0, 0, 0], [-1, 0, -1, 1, 0], ["no", "yes"])


def opened(folder, model, table=None, **arguments):
    (folder / "model.json").write_text(model if isinstance(model, str) else model.to_json())
    data = None
    if table is not None:
        data = str(folder / "rows.csv")
        table.to_csv(data, index=False) if isinstance(table, pd.DataFrame) else (folder / "rows.csv").write_text(table)
    return open_desk({"model": str(folder / "model.json"), "data": data, "time_limit": 30.0, **arguments})


def key_of(at):
    return next(iter(at.scenes))


# Scenes


def test_two_models_of_ones_own_have_keys_of_their_own(tmp_path):
    """Links and kept steps are about one model, also where both were opened at the same address."""
    first, again, second = (opened(tmp_path, stump(2, cut)) for cut in (1.0, 1.0, 1.5))
    assert key_of(first) == key_of(again)
    assert key_of(first) != key_of(second)
    with pytest.raises(CounterleafError, match="no scene"):
        second.handle("answer", {"scene": key_of(first), "spread": "none"})


def test_a_picture_of_whole_numbers_is_answered_for_every_cost_that_it_offers(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 256, (12, 6)), columns=[f"p{k}" for k in range(6)])
    at = opened(tmp_path, stump(6, 700.0), frame, shape=(2, 3))
    assert list(at.handle("scenes", {})[0]["costs"]) == ["L1", "L2", "mixed"]
    for cost in ("L1", "L2", "mixed"):
        assert at.handle("answer", {"scene": key_of(at), "cost": cost})["status"] == "optimal"


def test_a_range_beyond_the_table_is_named_only_where_it_is_in_the_way():
    rows = pd.DataFrame({"x": [0.0, 50.0, 100.0], "y": [0.0, 1.0, 2.0]})
    weights = np.hstack([band().weights.toarray(), np.zeros((5, 1))])
    tree = cl.Tree(band().left, band().right, weights, band().bias, band().value, ["no", "yes"])
    at = small_desk(cl.Explainer(tree, data=rows), rows)

    def asked(**x):
        return at.handle("answer", {"scene": "own", "target": ["yes"], "controls": {"x": x}})

    told = asked(low=200.0, high=300.0)
    assert (told["status"], told["conflict"]) == ("infeasible", [])
    assert asked(low=100.0, high=170.0)["status"] == "optimal"
    for other in ({"lock": True}, {"way": "down"}):  # without these the wider range works
        told = asked(low=0.0, high=170.0, **other)
        assert [one["part"] for one in told["conflict"]] == list(other)


def test_a_range_beyond_the_table_does_not_hide_what_is_in_the_way_within_it():
    """y has to rise: with x out of place and y locked, first the range is told, then the lock."""
    rows = pd.DataFrame({"x": [0.0, 50.0, 100.0], "y": [0.0, 1.0, 2.0]})
    weights = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    tree = cl.Tree(
        *([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], weights),
        *([-1.5, -400.0, -180.0, 0, 0, 0, 0], [-1, -1, -1, 0, 1, 1, 0], ["no", "yes"]),
    )
    at = small_desk(cl.Explainer(tree, data=rows), rows)
    asked = {"x": {"low": 200.0, "high": 300.0}, "y": {"lock": True}}
    for controls, feature in ((asked, "x"), ({"y": asked["y"]}, "y")):
        told = at.handle("answer", {"scene": "own", "target": ["yes"], "controls": controls})
        assert [one["feature"] for one in told["conflict"]] == [feature]
    assert at.handle("answer", {"scene": "own", "target": ["yes"]})["status"] == "optimal"


# Exports


def test_exports_say_what_was_asked(tmp_path):
    frame = pd.DataFrame({"a": [0.0, 0.25, 1.0], "b": [0.5, 0.125, 1.5]})
    at = opened(tmp_path, stump(2, 2.0), frame)
    asked = {"scene": key_of(at), "row": 1, "target": ["yes"], "cost": "L2", "spread": "std", "edits": {"b": 0.75}}
    asked["controls"] = {"a": {"way": "up"}}
    text = at.handle("export", {"format": "csv", "questions": [asked]})["text"]
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 2
    for line in lines:
        assert [line[key] for key in ("table_row", "target", "cost_kind", "scale")] == ["1", "yes", "L2", "std"]
        assert line["asked"] == "b set to 0.75; a may only rise"
    text = at.handle("export", {"format": "html", "questions": [asked]})["text"]
    for told in (
        "Row 2 of 3. The model says no; it should say yes.",
        "Asked: b set to 0.75; a may only rise.",
        "Cost: the sum of the squared changes, each in standard deviations.",
    ):
        assert told in text


# Files of one's own


def model_of_words():
    schema = cl.Schema([cl.Categorical("kind", ["1", "2", "3"]), cl.Numeric("age", 0, 100)])
    weights = np.zeros((3, 4))
    weights[0, 3] = 1.0
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-50.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    return cl.Explainer(tree, schema=schema)


def test_categories_that_look_like_numbers(tmp_path):
    at = opened(tmp_path, model_of_words(), "kind,age\n1,20\n2,30\n")
    assert [at.scene(key_of(at)).values(row, {})["kind"] for row in (0, 1)] == ["1", "2"]
    told = at.handle("answer", {"scene": key_of(at), "row": 1, "spread": "none"})
    assert told["status"] == "optimal"
    assert set(told["cells"]) == {"age"}


def refused(folder, *given, **arguments):
    with pytest.raises(CounterleafError) as caught:
        opened(folder, *given, **arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_word_in_a_column_of_numbers_is_told_for_its_row_alone(tmp_path):
    at = opened(tmp_path, model_of_words(), "kind,age\n1,20\n2,old\n")
    assert at.handle("answer", {"scene": key_of(at), "row": 0, "spread": "none"})["status"] == "optimal"
    with pytest.raises(CounterleafError, match="feature 'age' is 'old'; expected a number"):
        at.handle("row", {"scene": key_of(at), "row": 1})
    assert refused(tmp_path, model_of_words(), "kind,age\n1,20\n2,old\n", row=1).startswith("feature 'age' is 'old'")


def test_a_plain_tree_with_a_column_too_many_gets_the_remedy(tmp_path):
    line = refused(tmp_path, stump(2), "a,b,label\n0,1,no\n1,0,yes\n")
    assert "and this tree has 2; leave out what it does not know, such as the label, or save the model with" in line


def test_what_is_no_json_is_told_how_a_model_is_saved(tmp_path):
    line = refused(tmp_path, "PK\x03\x04")
    assert "model.json is no counterleaf JSON; expected what explainer.to_json() gives, as in Path('model.json')" in line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["absent.json"], "absent.json: No such file or directory"),
        (["model.json", "--data", "absent.csv"], "absent.csv: No such file or directory"),
        (["model.json", "--mnist", "folder"], "--mnist was given beside a model, and goes with those that come along"),
        (["--shape", "2x3"], "--shape was given without a model; expected the model's JSON before it"),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path, monkeypatch, arguments, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").write_text(stump(2).to_json())
    done = CliRunner().invoke(cli.app, ["explore", "--no-browser", *arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"counterleaf: {line}")
    assert done.stderr.count("\n") == 1


# Server


def test_the_description_needs_the_cookie_and_the_cookie_lasts(tmp_path):
    with running(tmp_path / "page") as explorer:
        assert explorer.call("GET", "/openapi.json")[0] == 401
        _, headers, _ = explorer.enter()
        assert "; Max-Age=604800" in headers["set-cookie"]
        status, said = explorer.json("GET", "/openapi.json")
        assert status == 200
        assert "/api/answer" in said["paths"]


# The clock


@pytest.mark.parametrize(("time_limit", "start"), [(1e-9, "Stopped at the limit of 1e-09 s before"), (600.0, "Stopped before")])
def test_a_search_is_said_to_be_stopped_by_the_clock_only_where_it_was(monkeypatch, time_limit, start):
    """By the clock, or by the bound on memory."""
    from counterleaf.explorer import desk

    rows = pd.DataFrame(np.random.default_rng(0).random((20, 8)), columns=[f"x{k}" for k in range(8)])
    monkeypatch.setattr(desk, "_STATES", 1)
    at = small_desk(cl.Explainer(stump(8, 7.0), data=rows), rows, limit=time_limit)
    asked = {"scene": "own", "target": ["yes"], "controls": {"x0": {"step": 0.01}, "x1": {"step": 0.01}}}
    told = at.handle("answer", asked)
    assert told["status"] == "limit"
    assert told["sentence"].startswith(start)
    assert told["limit"] == (time_limit if time_limit < 1 else None)
