"""Regression tests for the session and the server."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from support.explorer_cases import changed_names, small_session
from support.running_explorer import running
from typer.testing import CliRunner

import counterleaf as cl
from counterleaf import cli
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session import question as question_module
from counterleaf.explorer.session.session import open_session


def stump(width=1, cut=0.5, classes=("no", "yes")):
    """A tree that predicts yes if the sum of all features is greater than the cut."""
    weights = np.vstack([np.ones(width), np.zeros((2, width))])
    return cl.Tree([1, -1, -1], [2, -1, -1], weights, [-cut, 0, 0], [-1, 0, 1], classes=list(classes))


def band():
    """A tree that predicts yes for x between 150 and 180 only."""
    weights = [[1.0], [0.0], [1.0], [0.0], [0.0]]
    return cl.Tree([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], weights, [-150.0, 0, -180.0, 0, 0], [-1, 0, -1, 1, 0], ["no", "yes"])


def opened(folder, model, table=None, **arguments):
    (folder / "model.json").write_text(model if isinstance(model, str) else model.to_json())
    data = None
    if table is not None:
        data = str(folder / "rows.csv")
        table.to_csv(data, index=False) if isinstance(table, pd.DataFrame) else (folder / "rows.csv").write_text(table)
    return open_session({"model": str(folder / "model.json"), "data": data, "time_limit": 30.0, **arguments})


def key_of(session):
    return next(iter(session.scenes))


# Scenes


def test_two_user_models_have_different_keys(tmp_path):
    """Links and pinned steps belong to one model, even if both models were opened at the same address."""
    first, again, second = (opened(tmp_path, stump(2, cut)) for cut in (1.0, 1.0, 1.5))
    assert key_of(first) == key_of(again)
    assert key_of(first) != key_of(second)
    with pytest.raises(CounterleafError, match="no scene"):
        second.handle("answer", {"scene": key_of(first), "spread": "none"})


def test_an_image_of_whole_numbers_is_answered_for_every_cost_that_it_offers(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 256, (12, 6)), columns=[f"p{k}" for k in range(6)])
    session = opened(tmp_path, stump(6, 700.0), frame, shape=(2, 3))
    assert list(session.handle("scene", {"scene": key_of(session)})["costs"]) == ["L1", "L2", "mixed"]
    for cost in ("L1", "L2", "mixed"):
        assert session.handle("answer", {"scene": key_of(session), "cost": cost})["status"] == "optimal"


def test_a_range_wider_than_the_data_is_named_only_if_it_is_part_of_the_conflict():
    rows = pd.DataFrame({"x": [0.0, 50.0, 100.0], "y": [0.0, 1.0, 2.0]})
    weights = np.hstack([band().weights.toarray(), np.zeros((5, 1))])
    tree = cl.Tree(band().left, band().right, weights, band().bias, band().value, ["no", "yes"])
    session = small_session(cl.Explainer(tree, data=rows), rows)

    def answer(**x):
        return session.handle("answer", {"scene": "test", "target": ["yes"], "controls": {"x": x}})

    reply = answer(low=200.0, high=300.0)
    assert (reply["status"], reply["conflict"]) == ("infeasible", [])
    assert answer(low=100.0, high=170.0)["status"] == "optimal"
    for other in ({"lock": True}, {"direction": "only_decrease"}):  # without this setting the wider range suffices
        reply = answer(low=0.0, high=170.0, **other)
        assert [one["kind"] for one in reply["conflict"]] == list(other)


def test_a_range_wider_than_the_data_does_not_hide_other_conflicts():
    """y has to increase: with x out of range and y locked, first the range is named, then the lock."""
    rows = pd.DataFrame({"x": [0.0, 50.0, 100.0], "y": [0.0, 1.0, 2.0]})
    weights = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    tree = cl.Tree(
        *([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], weights),
        *([-1.5, -400.0, -180.0, 0, 0, 0, 0], [-1, -1, -1, 0, 1, 1, 0], ["no", "yes"]),
    )
    session = small_session(cl.Explainer(tree, data=rows), rows)
    lock = {"y": {"lock": True}}
    for controls, feature in (({"x": {"low": 200.0, "high": 300.0}, **lock}, "x"), (lock, "y")):
        reply = session.handle("answer", {"scene": "test", "target": ["yes"], "controls": controls})
        assert [one["feature"] for one in reply["conflict"]] == [feature]
    assert session.handle("answer", {"scene": "test", "target": ["yes"]})["status"] == "optimal"


# Exports


def test_exports_contain_the_question(tmp_path):
    frame = pd.DataFrame({"a": [0.0, 0.25, 1.0], "b": [0.5, 0.125, 1.5]})
    session = opened(tmp_path, stump(2, 2.0), frame)
    question = {"scene": key_of(session), "row": 1, "target": ["yes"], "cost": "L2", "spread": "std", "edits": {"b": 0.75}}
    question["controls"] = {"a": {"direction": "only_increase"}}
    text = session.handle("export", {"format": "csv", "questions": [question]})["text"]
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 2
    for line in lines:
        assert [line[key] for key in ("table_row", "target", "cost_kind", "scale")] == ["1", "yes", "L2", "std"]
        assert line["settings"] == "b set to 0.75; a may only increase"
    text = session.handle("export", {"format": "html", "questions": [question]})["text"]
    for sentence in (
        "Row 1 (rows are counted from 0 to 2)",
        "b set to 0.75",
        "with these settings: a may only increase",
        "small changes: several features may change, each of them a little "
        "(L2, the sum of the squared changes, each in standard deviations)",
    ):
        assert sentence in text


# Files of the user


def categorical_model():
    schema = cl.Schema([cl.Categorical("kind", ["1", "2", "3"]), cl.Numeric("age", 0, 100)])
    weights = np.zeros((3, 4))
    weights[0, 3] = 1.0
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-50.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    return cl.Explainer(tree, schema=schema)


def test_categories_that_look_like_numbers(tmp_path):
    session = opened(tmp_path, categorical_model(), "kind,age\n1,20\n2,30\n")
    assert [session.scene(key_of(session)).values(row, {})["kind"] for row in (0, 1)] == ["1", "2"]
    reply = session.handle("answer", {"scene": key_of(session), "row": 1, "spread": "none"})
    assert reply["status"] == "optimal"
    assert changed_names(reply) == {"age"}


def error_of(folder, *files, **arguments):
    with pytest.raises(CounterleafError) as caught:
        opened(folder, *files, **arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_invalid_number_is_an_error_in_its_row_only(tmp_path):
    session = opened(tmp_path, categorical_model(), "kind,age\n1,20\n2,old\n")
    assert session.handle("answer", {"scene": key_of(session), "row": 0, "spread": "none"})["status"] == "optimal"
    row = session.handle("row", {"scene": key_of(session), "row": 1})
    assert row == {
        "row": 1,
        **{"label": None, "class_index": None, "number": None, "values": None, "imputed": {}},
        "problem": "feature 'age' is 'old'; expected a number",
    }
    with pytest.raises(CounterleafError, match="feature 'age' is 'old'; expected a number"):
        session.handle("answer", {"scene": key_of(session), "row": 1, "spread": "none"})
    assert error_of(tmp_path, categorical_model(), "kind,age\n1,20\n2,old\n", row=1).startswith("feature 'age' is 'old'")


def test_a_table_with_too_many_columns_for_a_plain_tree(tmp_path):
    line = error_of(tmp_path, stump(2), "a,b,label\n0,1,no\n1,0,yes\n")
    assert "but the model has 2; remove the columns that it does not use, such as the label, or save the model with" in line


def test_a_file_that_is_not_json(tmp_path):
    line = error_of(tmp_path, "PK\x03\x04")
    assert (
        "model.json is not counterleaf JSON; expected the output of counterleaf train or convert, or of Path('model.json')"
        in line
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["absent.json"], "absent.json: No such file or directory"),
        (["model.json", "--data", "absent.csv"], "absent.csv: No such file or directory"),
        (
            ["model.json", "--mnist", "folder"],
            "--mnist adds a scene to the bundled ones and cannot be combined with a model; remove one of them",
        ),
        (["--shape", "2x3"], "--shape needs a model; pass the model's JSON file as the first argument"),
    ],
)
def test_the_command_fails_with_a_message_of_one_line(tmp_path, monkeypatch, arguments, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").write_text(stump(2).to_json())
    done = CliRunner().invoke(cli.app, ["explore", "--no-browser", *arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"counterleaf: {line}")
    assert done.stderr.count("\n") == 1


# Server


def test_the_schema_needs_the_cookie_and_the_cookie_lasts_a_week(tmp_path):
    with running(tmp_path / "page") as explorer:
        assert explorer.call("GET", "/openapi.json")[0] == 401
        _, headers, _ = explorer.enter()
        assert "; Max-Age=604800" in headers["set-cookie"]
        status, schema = explorer.json("GET", "/openapi.json")
        assert status == 200
        assert "/api/answer" in schema["paths"]


# The time limit


@pytest.mark.parametrize(
    ("time_limit", "start"), [(1e-9, "The search stopped after 1e-09 s, before"), (600.0, "The search stopped, before")]
)
def test_the_time_limit_is_named_only_if_it_ended_the_search(monkeypatch, time_limit, start):
    """The other limit is the bound on memory."""
    rows = pd.DataFrame(np.random.default_rng(0).random((20, 8)), columns=[f"x{k}" for k in range(8)])
    monkeypatch.setattr(question_module, "_MAX_NODES", 1)
    session = small_session(cl.Explainer(stump(8, 7.0), data=rows), rows, limit=time_limit)
    question = {"scene": "test", "target": ["yes"], "controls": {"x0": {"step": 0.01}, "x1": {"step": 0.01}}}
    reply = session.handle("answer", question)
    assert reply["status"] == "limit"
    assert reply["sentence"].startswith(start)
    assert reply["stopped_after"] == (time_limit if time_limit < 1 else None)
