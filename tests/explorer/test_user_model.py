"""The user's model and table: every format that is read, and a message of one line for every other file."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from support.explorer_cases import agrees, ask, every_kind

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.explorer.session.session import open_session

TREE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
TABLE = pd.DataFrame({"a": [0.0, 0.25, 1 / 3], "b": [0.5, 0.1, 1.5]})


def saved(frame, path):
    if path.name.endswith((".csv", ".csv.gz")):
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        lines = [{name: None if pd.isna(value) else value for name, value in row.items()} for row in frame.to_dict("records")]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    else:
        frame.to_parquet(path, index=False)
    return path


def opened(folder, model, frame=None, suffix=".csv", **arguments):
    (folder / "model.json").write_text(model if isinstance(model, str) else model.to_json())
    data = None if frame is None else str(saved(frame, folder / f"data{suffix}"))
    return open_session({"model": str(folder / "model.json"), "data": data, "time_limit": 30.0, **arguments})


def only(session):
    """The only scene of a session."""
    (scene,) = session.scenes.values()
    return scene


def first_question(session, **fields):
    scene = session.handle("scene", {"scene": next(iter(session.scenes))})
    json.dumps(scene, allow_nan=False)
    return {"scene": scene["key"], "row": scene["first_row"], "spread": scene["spreads"][0]} | fields


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".parquet"])
def test_an_explainer_with_a_table(tmp_path, suffix):
    explainer, rows = every_kind()
    session = opened(tmp_path, explainer, rows, suffix, row=2)
    scene = session.handle("scene", {"scene": next(iter(session.scenes))})
    assert scene["key"].startswith("user-")
    assert (scene["title"], scene["first_row"], scene["n_rows"]) == ("model", 2, 40)
    assert scene["has_table"] is True
    for row in range(40):
        values, expected = only(session).values(row, {}), rows.iloc[row]
        assert all(values[name] == expected[name] or (pd.isna(values[name]) and pd.isna(expected[name])) for name in rows)
        agrees(first_question(session, row=row, count=12), session)
    reply, _ = ask(first_question(session, row=1), session)
    assert {change["from"] for way in reply["ways"] for change in way["changes"] if change["feature"] == "job"} == {"(missing)"}
    assert session.handle("row", {"scene": only(session).key, "row": 1})["values"][3] == 3.0


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".parquet"])
def test_a_plain_tree_with_a_table(tmp_path, suffix):
    session = opened(tmp_path, TREE, TABLE, suffix)
    scene = session.handle("scene", {"scene": next(iter(session.scenes))})
    assert scene["spreads"] == ["range", "std", "mad", "none"]
    assert [feature["name"] for feature in scene["features"]] == ["a", "b"]
    assert only(session).values(2, {}) == {"a": 1 / 3, "b": 1.5}
    for spread in scene["spreads"]:
        agrees(first_question(session, spread=spread), session)


def test_a_plain_tree_alone(tmp_path):
    session = opened(tmp_path, TREE)
    scene = session.handle("scene", {"scene": next(iter(session.scenes))})
    assert scene["has_table"] is False
    assert (scene["n_rows"], scene["spreads"]) == (1, ["none"])
    assert all(feature["lower"] is None and feature["upper"] is None for feature in scene["features"])
    reply, answer = agrees(first_question(session, cost="L2"), session)
    assert answer.source_values == {"x0": 0.0, "x1": 0.0}
    assert reply["status"] == "optimal"
    agrees(first_question(session, edits={"x0": 3.0, "x1": -1.0}, target=["no"]), session)
    session.handle("plane", {"question": first_question(session), "x_feature": "x0", "y_feature": "x1"})


def test_an_explainer_alone_starts_in_the_middle(tmp_path):
    session = opened(tmp_path, every_kind()[0])
    _, answer = ask(first_question(session), session)
    assert answer.source_values == {"age": 49.0, "rate": 0.5, "school": "none", "job": "clerk", "owner": False}
    with pytest.raises(CounterleafError, match="needs data to measure"):
        session.handle("answer", first_question(session, spread="range"))


def test_columns_that_the_model_does_not_use_are_ignored(tmp_path):
    explainer, rows = every_kind()
    session = opened(tmp_path, explainer, rows.assign(label="yes", note="x"))
    assert ask(first_question(session), session)[0]["status"] == "optimal"


def test_columns_in_another_order(tmp_path):
    explainer, rows = every_kind()
    session = opened(tmp_path, explainer, rows[rows.columns[::-1]])
    expected = opened(tmp_path, explainer, rows)
    assert [session.handle("answer", first_question(session, row=k))["ways"] for k in range(9)] == [
        expected.handle("answer", first_question(expected, row=k))["ways"] for k in range(9)
    ]


def test_a_user_model_of_images(tmp_path):
    rng = np.random.default_rng(4)
    weights = np.zeros((3, 6))
    weights[0] = rng.normal(size=6)
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [0.3, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    frame = pd.DataFrame(rng.random((5, 6)), columns=[f"x{k}" for k in range(6)])
    session = opened(tmp_path, tree, frame, shape=(2, 3))
    scene = session.handle("scene", {"scene": next(iter(session.scenes))})
    assert (list(scene["shape"]), scene["costs"]) == ([2, 3], ["L1", "L2", "mixed", "Q"])
    for cost in scene["costs"]:
        agrees(first_question(session, cost=cost, spread="none", ink="add", locked_pixels=[0]), session)
    assert session.handle("tree", first_question(session))["nodes"][0]["kind"] == "image"


def test_a_model_with_one_class(tmp_path):
    leaf = cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], [0], classes=["yes"])
    session = opened(tmp_path, leaf)
    reply, _ = ask(first_question(session), session)
    assert reply["status"] == "infeasible"
    assert reply["conflict"] == []
    json.dumps(session.handle("tree", first_question(session)), allow_nan=False)


def test_invalid_rows_are_errors_and_are_skipped_by_find(tmp_path):
    explainer, rows = every_kind()
    rows = rows.assign(age=rows["age"].astype(float))
    rows.loc[1, "school"] = "PhD"
    rows.loc[2, "rate"] = np.nan
    rows.loc[3, "age"] = np.inf
    rows.loc[4, "age"] = 20.5
    session = opened(tmp_path, explainer, rows)
    for row, word in ((1, "PhD"), (2, "rate"), (3, "age"), (4, "whole number")):
        problem = session.handle("row", {"scene": only(session).key, "row": row})["problem"]
        assert re.search(word, problem)
        for verb, arguments in (
            ("answer", first_question(session, row=row)),
            ("tree", first_question(session, row=row)),
        ):
            with pytest.raises(CounterleafError, match=word) as caught:
                session.handle(verb, arguments)
            assert "\n" not in str(caught.value)
    assert session.handle("find", {"scene": only(session).key, "start": 1, "direction": 1, "label": None})["row"] == 5
    reply, _ = ask(first_question(session, row=2, edits={"rate": 0.5}), session)
    assert reply["status"] == "optimal"


def test_a_string_in_a_numeric_column(tmp_path):
    explainer, rows = every_kind()
    rows = rows.astype({"age": object})
    rows.loc[1, "age"] = "old"
    session = opened(tmp_path, explainer, rows, ".jsonl")
    row = session.handle("row", {"scene": only(session).key, "row": 1})
    assert (row["values"], row["problem"]) == (None, "feature 'age' is 'old'; expected a number")
    with pytest.raises(CounterleafError, match="feature 'age' is 'old'; expected a number"):
        session.handle("answer", first_question(session, row=1))


BAD_MODELS = {
    "not JSON": ("not JSON", "JSON"),
    "nothing": ("", "JSON"),
    "a list": ("[1, 2]", "expected"),
    "another format": ('{"format": "onnx"}', "format"),
    "half a tree": ('{"format": "counterleaf-tree", "version": 1}', "expected|lacks|tree"),
    "deep": ("[" * 100_000, "JSON|nested|deep"),
}


@pytest.mark.parametrize("which", BAD_MODELS)
def test_files_that_are_not_models(tmp_path, which):
    text, word = BAD_MODELS[which]
    with pytest.raises(CounterleafError, match=word) as caught:
        opened(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def is_refused(folder, message, *files, **arguments):
    with pytest.raises(CounterleafError, match=message) as caught:
        opened(folder, *files, **arguments)
    assert "\n" not in str(caught.value)


def test_tables_that_do_not_fit(tmp_path):
    explainer, rows = every_kind()
    is_refused(tmp_path, "lacks the columns \\['job'\\]; the model needs", explainer, rows.drop(columns="job"))
    is_refused(tmp_path, "has no rows", explainer, rows[:0])
    is_refused(tmp_path, "no row 40 in model, which has 40; expected 0 to 39", explainer, rows, row=40)
    is_refused(tmp_path, "no row -1 in model", explainer, rows, row=-1)
    is_refused(tmp_path, "no row 1 in model, which has 1; expected 0 to 0", explainer, row=1)
    is_refused(tmp_path, "shape 2x2 has 4 pixels, but the model has 5 features", explainer, rows, shape=(2, 2))
    is_refused(tmp_path, "'school' is 'PhD'; expected one of", explainer, rows.replace({"school": {rows["school"][0]: "PhD"}}))
    is_refused(tmp_path, "missing", explainer, rows.assign(school=None))
    is_refused(tmp_path, "rate", explainer, rows.assign(rate=np.nan))
    is_refused(tmp_path, "columns|features", TREE, TABLE.assign(c=1.0))
    is_refused(tmp_path, "columns|features", TREE, TABLE.assign(a=["x", "y", "z"]))


def test_an_image_needs_numeric_features(tmp_path):
    explainer, rows = every_kind()
    is_refused(tmp_path, "an image needs numeric features; 'school' is not numeric", explainer, rows, shape=(1, 5))


def test_files_that_are_not_tables(tmp_path):
    (tmp_path / "model.json").write_text(TREE.to_json())
    for name, content, word in (
        ("data.xls", b"x", "unknown file type; expected .csv, .csv.gz, .jsonl, .xlsx or .parquet"),
        ("data.xlsx", b"x", "cannot be read as a table"),
        ("data.csv", b"", "cannot be read as a table"),
        ("data.csv", b'a,b\n"1,2\n', "cannot be read as a table|number"),
        ("data.csv", b"\xff\xfe\x00", "is not text in UTF-8; save it as UTF-8, which spreadsheets call CSV UTF-8$"),
        ("data.jsonl", b"{", "cannot be read as a table"),
        ("data.parquet", b"no parquet", "cannot be read as a table"),
        ("data.csv", b"a,b\n", "has no rows"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CounterleafError, match=word) as caught:
            open_session({"model": str(tmp_path / "model.json"), "data": str(tmp_path / name)})
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        open_session({"model": str(tmp_path / "model.json"), "data": str(tmp_path / "absent.csv")})
    with pytest.raises(FileNotFoundError):
        open_session({"model": str(tmp_path / "absent.json")})


def test_data_without_a_model():
    with pytest.raises(CounterleafError, match="--data needs a model; pass the model"):
        open_session({"data": "table.csv"})


def test_a_file_of_constraints_holds_in_every_answer(tmp_path):
    rules = tmp_path / "rules.json"
    cl.save_constraints([cl.freeze("a"), cl.max_changes(1)], rules)
    session = opened(tmp_path, TREE, TABLE, constraints=str(rules))
    reply = session.handle("answer", first_question(session))
    assert {"a must not change, always required", "at most 1 feature may change, always required"} <= set(reply["settings"])
    assert all(one["n_changes"] <= 1 for one in reply["ways"])
    cl.save_constraints([cl.freeze("a", "b")], rules)
    reply = opened(tmp_path, TREE, TABLE, constraints=str(rules)).handle("answer", first_question(session))
    (conflict,) = reply["conflict"]
    assert (conflict["kind"], conflict["description"]) == ("required", "unchanged: a, b, always required")
    cl.save_constraints([cl.freeze("z")], rules)
    with pytest.raises(CounterleafError, match="'z'"):
        opened(tmp_path, TREE, TABLE, constraints=str(rules))
    with pytest.raises(CounterleafError, match="--constraints needs a model"):
        open_session({"constraints": str(rules)})
