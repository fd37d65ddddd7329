"""The user's own model and table: every format that is read, and one line for every file that is not."""

import json

import numpy as np
import pandas as pd
import pytest
from support.explorer_cases import agrees, ask, every_kind

import counterleaf as cl
from counterleaf.errors import CounterleafError
from counterleaf.explorer.desk import open_desk

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
    return open_desk({"model": str(folder / "model.json"), "data": data, "time_limit": 30.0, **arguments})


def only(at):
    """The scene of a desk that has one."""
    (scene,) = at.scenes.values()
    return scene


def first(at, **said):
    scene = at.handle("scenes", {})[0]
    json.dumps(scene, allow_nan=False)
    return {"scene": scene["key"], "row": scene["row"], "spread": scene["spreads"][0]} | said


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".parquet"])
def test_an_explainer_with_a_table(tmp_path, suffix):
    explainer, rows = every_kind()
    at = opened(tmp_path, explainer, rows, suffix, row=2)
    scene = at.handle("scenes", {})[0]
    assert scene["key"].startswith("own-")
    assert (scene["title"], scene["row"], scene["rows"]) == ("model", 2, 40)
    assert scene["given"] is True
    for row in range(40):
        read, given = only(at).values(row, {}), rows.iloc[row]
        assert all(read[name] == given[name] or (pd.isna(read[name]) and pd.isna(given[name])) for name in rows)
        agrees(first(at, row=row, count=12), at)
    told, _ = ask(first(at, row=1), at)
    assert told["cells"]["job"]["source"] == "(missing)"
    assert at.handle("row", {"scene": only(at).key, "row": 1})["values"][3] == 3.0


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".parquet"])
def test_a_plain_tree_with_a_table(tmp_path, suffix):
    at = opened(tmp_path, TREE, TABLE, suffix)
    scene = at.handle("scenes", {})[0]
    assert scene["spreads"] == ["range", "std", "mad", "none"]
    assert [feature["name"] for feature in scene["features"]] == ["a", "b"]
    assert only(at).values(2, {}) == {"a": 1 / 3, "b": 1.5}
    for spread in scene["spreads"]:
        agrees(first(at, spread=spread), at)


def test_a_plain_tree_alone(tmp_path):
    at = opened(tmp_path, TREE)
    scene = at.handle("scenes", {})[0]
    assert scene["given"] is False
    assert (scene["rows"], scene["spreads"]) == (1, ["none"])
    assert all(feature["lower"] is None and feature["upper"] is None for feature in scene["features"])
    told, answer = agrees(first(at, cost="L2"), at)
    assert answer.source_values == {"x0": 0.0, "x1": 0.0}
    assert told["status"] == "optimal"
    agrees(first(at, edits={"x0": 3.0, "x1": -1.0}, target=["no"]), at)
    at.handle("plane", {"question": first(at), "across": "x0", "up": "x1"})


def test_an_explainer_alone_starts_in_the_middle(tmp_path):
    at = opened(tmp_path, every_kind()[0])
    _, answer = ask(first(at), at)
    assert answer.source_values == {"age": 49.0, "rate": 0.5, "school": "none", "job": "clerk", "owner": False}
    with pytest.raises(CounterleafError, match="needs data to measure"):
        at.handle("answer", first(at, spread="range"))


def test_more_columns_than_the_model_needs_are_left_out(tmp_path):
    explainer, rows = every_kind()
    at = opened(tmp_path, explainer, rows.assign(label="yes", note="x"))
    assert ask(first(at), at)[0]["status"] == "optimal"


def test_columns_in_another_order(tmp_path):
    explainer, rows = every_kind()
    at = opened(tmp_path, explainer, rows[rows.columns[::-1]])
    expected = opened(tmp_path, explainer, rows)
    assert [at.handle("answer", first(at, row=k))["answers"] for k in range(9)] == [
        expected.handle("answer", first(expected, row=k))["answers"] for k in range(9)
    ]


def test_a_picture_of_ones_own(tmp_path):
    rng = np.random.default_rng(4)
    weights = np.zeros((3, 6))
    weights[0] = rng.normal(size=6)
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [0.3, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    frame = pd.DataFrame(rng.random((5, 6)), columns=[f"x{k}" for k in range(6)])
    at = opened(tmp_path, tree, frame, shape=(2, 3))
    scene = at.handle("scenes", {})[0]
    assert (list(scene["shape"]), scene["costs"]) == ([2, 3], ["L1", "L2", "mixed", "Q"])
    for cost in scene["costs"]:
        agrees(first(at, cost=cost, spread="none", ink="add", locked=[0]), at)
    assert at.handle("tree", first(at))["nodes"][0]["kind"] == "picture"


def test_a_model_that_says_one_thing_only(tmp_path):
    leaf = cl.Tree([-1], [-1], [[0.0, 0.0]], [0.0], [0], classes=["yes"])
    at = opened(tmp_path, leaf)
    told, _ = ask(first(at), at)
    assert told["status"] == "infeasible"
    assert told["conflict"] == []
    json.dumps(at.handle("tree", first(at)), allow_nan=False)


def test_rows_that_cannot_be_read_are_told_and_passed_over(tmp_path):
    explainer, rows = every_kind()
    rows = rows.assign(age=rows["age"].astype(float))
    rows.loc[1, "school"] = "PhD"
    rows.loc[2, "rate"] = np.nan
    rows.loc[3, "age"] = np.inf
    rows.loc[4, "age"] = 20.5
    at = opened(tmp_path, explainer, rows)
    for row, word in ((1, "PhD"), (2, "rate"), (3, "age"), (4, "whole number")):
        for verb, given in (
            ("row", {"scene": only(at).key, "row": row}),
            ("answer", first(at, row=row)),
            ("tree", first(at, row=row)),
        ):
            with pytest.raises(CounterleafError, match=word) as caught:
                at.handle(verb, given)
            assert "\n" not in str(caught.value)
    assert at.handle("find", {"scene": only(at).key, "start": 1, "way": 1, "says": None})["row"] == 5
    told, _ = ask(first(at, row=2, edits={"rate": 0.5}), at)
    assert told["status"] == "optimal"


def test_words_in_a_column_of_numbers(tmp_path):
    explainer, rows = every_kind()
    rows = rows.astype({"age": object})
    rows.loc[1, "age"] = "old"
    at = opened(tmp_path, explainer, rows, ".jsonl")
    for verb, given in (("row", {"scene": only(at).key, "row": 1}), ("answer", first(at, row=1))):
        with pytest.raises(CounterleafError, match="age"):
            at.handle(verb, given)


BAD_MODELS = {
    "not JSON": ("this is no JSON", "JSON"),
    "nothing": ("", "JSON"),
    "a list": ("[1, 2]", "expected"),
    "another format": ('{"format": "onnx"}', "format"),
    "half a tree": ('{"format": "counterleaf-tree", "version": 1}', "expected|lacks|tree"),
    "deep": ("[" * 100_000, "JSON|nested|deep"),
}


@pytest.mark.parametrize("which", BAD_MODELS)
def test_files_that_are_no_model(tmp_path, which):
    text, word = BAD_MODELS[which]
    with pytest.raises(CounterleafError, match=word) as caught:
        opened(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def refused(folder, word, *given, **arguments):
    with pytest.raises(CounterleafError, match=word) as caught:
        opened(folder, *given, **arguments)
    assert "\n" not in str(caught.value)


def test_tables_that_do_not_fit(tmp_path):
    explainer, rows = every_kind()
    refused(tmp_path, "lacks the columns \\['job'\\]; the model needs", explainer, rows.drop(columns="job"))
    refused(tmp_path, "has no rows", explainer, rows[:0])
    refused(tmp_path, "row 40 .*there are 40", explainer, rows, row=40)
    refused(tmp_path, "row -1 ", explainer, rows, row=-1)
    refused(tmp_path, "row 1 .*there are 1 ", explainer, row=1)
    refused(tmp_path, "shape 2x2 holds 4 pixels; the model has 5", explainer, rows, shape=(2, 2))
    refused(tmp_path, "'school' is 'PhD'; expected one of", explainer, rows.replace({"school": {rows["school"][0]: "PhD"}}))
    refused(tmp_path, "missing", explainer, rows.assign(school=None))
    refused(tmp_path, "rate", explainer, rows.assign(rate=np.nan))
    refused(tmp_path, "columns|features", TREE, TABLE.assign(c=1.0))
    refused(tmp_path, "columns|features", TREE, TABLE.assign(a=["x", "y", "z"]))


def test_a_picture_is_made_of_numbers(tmp_path):
    explainer, rows = every_kind()
    refused(tmp_path, "a picture is made of numbers; 'school' is none", explainer, rows, shape=(1, 5))


def test_files_that_are_no_table(tmp_path):
    (tmp_path / "model.json").write_text(TREE.to_json())
    for name, content, word in (
        ("data.xlsx", b"x", "no suffix that is known; expected .csv, .csv.gz, .jsonl or .parquet"),
        ("data.csv", b"", "does not read as a table"),
        ("data.csv", b'a,b\n"1,2\n', "does not read as a table|number"),
        ("data.csv", b"\xff\xfe\x00", "does not read as a table"),
        ("data.jsonl", b"{", "does not read as a table"),
        ("data.parquet", b"no parquet", "does not read as a table"),
        ("data.csv", b"a,b\n", "has no rows"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(CounterleafError, match=word) as caught:
            open_desk({"model": str(tmp_path / "model.json"), "data": str(tmp_path / name)})
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        open_desk({"model": str(tmp_path / "model.json"), "data": str(tmp_path / "absent.csv")})
    with pytest.raises(FileNotFoundError):
        open_desk({"model": str(tmp_path / "absent.json")})


def test_data_without_a_model():
    with pytest.raises(CounterleafError, match="--data was given without a model"):
        open_desk({"data": "table.csv"})
