"""``counterleaf train``: a table in, a model that answers and a short report out."""

import json

import numpy as np
import pandas as pd
import pytest
from support.cli_cases import call, loans, mistake

import counterleaf as cl
from counterleaf.learn import training

CART = ["--label", "says", "--learner", "cart", "--depth", "3"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loans().to_csv("t.csv", index=False)
    return tmp_path


def test_a_table_becomes_a_model_that_answers(folder):
    done = call("train", "t.csv", "--label", "says", "--depth", "2", "--alpha", "1", "--out", "tree.json")
    assert (done.code, done.err) == (0, "")
    assert "TAOClassifier, max_depth 2, alpha 1; " in done.out
    assert done.out.splitlines()[-1] == "Wrote tree.json. Next: counterleaf explain tree.json t.csv --row 0"
    assert call("explain", "tree.json", "t.csv", "--row", "0").code == 0
    assert call("inspect", "tree.json").code == 0


def test_a_table_of_numbers_becomes_a_model_that_answers(folder):
    done = call("train", "t.csv", "--label", "x", "--drop", "says", "--leaves", "linear", "--depth", "1", "--out", "tree.json")
    assert (done.code, done.err) == (0, "")
    assert "TAORegressor, max_depth 1, alpha 1, leaves linear, leaf_alpha " in done.out
    assert "rows held out: root mean squared error " in done.out
    last = done.out.splitlines()[-1]
    assert last.startswith("Wrote tree.json. Next: counterleaf explain tree.json t.csv --row 0 --at-least ")
    assert call(*last.partition("counterleaf ")[2].split()).code == 0


def test_softmax_leaves_are_written_and_explained(folder):
    options = ["--label", "says", "--leaves", "softmax", "--depth", "1", "--alpha", "1", "--out", "tree.json"]
    assert "leaves softmax" in call("train", "t.csv", *options).out
    assert call("explain", "tree.json", "t.csv", "--row", "0").code == 0


def test_the_json_says_what_the_pipeline_says(folder):
    call("train", "t.csv", *CART, "--out", "tree.json")
    table = training.prepare(pd.read_csv("t.csv"), "says", [], [], "t.csv")
    trained = training.train(table, "cart", 3, None, 0.25, 0)
    explainer = cl.Explainer.from_json((folder / "tree.json").read_text())
    codes = np.array([explainer.schema.encode(row) for row in table.X.to_dict("records")])
    assert explainer.tree.predict(codes).tolist() == trained.model.predict(table.X).tolist()


def test_without_out_the_model_is_the_data_and_the_report_is_beside_it(folder):
    done = call("train", "t.csv", *CART)
    to_file = call("train", "t.csv", *CART, "--out", "tree.json")
    assert done.out == f"{(folder / 'tree.json').read_text()}\n"
    assert to_file.out.startswith(done.err.rstrip())


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "csv.gz"])
def test_every_form_of_table_gives_the_same_model(folder, form):
    table, path = loans(), folder / f"u.{form}"
    if form == "jsonl":
        table.to_json(path, orient="records", lines=True, double_precision=15)
    elif form == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
    ours, theirs = call("train", "t.csv", *CART), call("train", f"u.{form}", *CART)
    piped = call("train", "-", *CART, stdin=(folder / f"u.{form}").read_bytes())
    for done in (theirs, piped):
        mine, other = json.loads(ours.out), json.loads(done.out)
        assert mine["tree"]["left"] == other["tree"]["left"]
        assert np.allclose(mine["tree"]["bias"], other["tree"]["bias"])
        assert [feature[:2] for feature in mine["schema"]["features"]] == [
            feature[:2] for feature in other["schema"]["features"]
        ]
    assert piped.err.startswith("standard input: 160 rows, 3 features; says: ")


def test_a_model_from_standard_input_is_queried_with_a_file(folder):
    done = call("train", "-", *CART, "--out", "my tree.json", stdin=(folder / "t.csv").read_bytes())
    assert done.out.splitlines()[-1] == "Wrote my tree.json. Next: counterleaf explain 'my tree.json' rows.csv --row 0"


def test_columns_are_dropped(folder):
    done = call("train", "t.csv", *CART, "--drop", "w", "--drop", "k")
    assert [feature[1] for feature in json.loads(done.out)["schema"]["features"]] == ["x"]


def test_a_seed_gives_the_same_bytes_again(folder):
    first, again, other = (call("train", "t.csv", *CART, "--seed", seed).out for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.parametrize(("labels", "target"), [(["True", "False"], "false"), (["1", "0"], "0"), (["None", "no"], "None")])
def test_labels_are_queried_for_as_they_are_written(folder, labels, target):
    table = loans()
    table["says"] = np.where(table["says"] == "yes", *labels)
    table.to_csv("u.csv", index=False)
    assert call("train", "u.csv", *CART, "--out", "u.json").code == 0
    assert call("explain", "u.json", "u.csv", "--row", "0", "--target", target).code == 0


def test_gaps_are_queried_about_like_any_row(folder):
    table = loans()
    table.loc[:9, "x"], table.loc[5:14, "w"] = np.nan, None
    table.to_csv("u.csv", index=False)
    call("train", "u.csv", *CART, "--out", "u.json")
    done = call("explain", "u.json", "u.csv", "--out", "answers.csv")
    assert done.code == 0
    assert pd.read_csv("answers.csv")["confirmed"].all()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["t.csv", "--label", "nope"], "t.csv has no column 'nope'; its columns are 'x', 'k', 'w', 'says'"),
        (["t.csv", "--label", "says", "--learner", "forest"], "--learner is 'forest'; expected tao or cart"),
        (["t.csv", "--label", "says", "--alpha", "-1"], "--alpha is -1 for the learner tao; expected a number from 0, for tao"),
        (["t.csv", *CART, "--alpha", "1"], "--alpha is 1 for the learner cart; expected a number from 0, for tao"),
        (["t.csv", *CART, "--task", "guess"], "--task is 'guess'; expected auto, classification or regression"),
        (["t.csv", *CART, "--leaves", "oak"], "--leaves is 'oak'; expected constant, linear or softmax"),
        (
            ["t.csv", *CART, "--leaves", "softmax"],
            "--leaves is 'softmax' for the learner cart and classes; expected constant",
        ),
        (
            ["t.csv", *CART, "--task", "regression"],
            "the label 'says' is not a number in t.csv; expected numbers, or --task classification",
        ),
        (["t.csv", *CART, "--test", "1"], "--test is 1; expected a share of the rows from 0 to below 1"),
        (["t.csv", *CART, "--test", "nan"], "--test is nan; expected a share of the rows from 0 to below 1"),
        (["t.csv", *CART, "--out", "t.csv"], "--out is t.csv; expected a name that ends in .json"),
        (["t.csv", *CART, "--out", "tree.pkl"], "--out is tree.pkl; expected a name that ends in .json"),
        (["t.csv", *CART, "--out", "."], "--out is .; expected a name that ends in .json"),
        (["absent.csv", *CART], "absent.csv: No such file or directory"),
        (["twice.csv", *CART], "twice.csv has two columns named 'x'; names must differ"),
    ],
)
def test_a_mistake_is_one_line(folder, arguments, line):
    (folder / "twice.csv").write_text("x,x,says\n1,2,a\n2,3,b\n")
    assert mistake("train", *arguments) == line
    assert sorted(path.name for path in folder.iterdir()) == ["t.csv", "twice.csv"]


def test_a_file_in_place_of_the_folder_is_one_line(folder):
    line = mistake("train", "t.csv", *CART, "--out", "t.csv/deep/a.json")
    assert line.endswith("a.json: its parent directory is a file")


@pytest.mark.parametrize("options", [[], ["--seed", "-1"], ["--seed", "4294967296"], ["--depth", "0"], ["--depth", "99"]])
def test_a_wrong_option_is_a_usage_error(folder, options):
    done = call("train", "t.csv", *(["--label", "says", *options] if options else []))
    assert (done.code, done.out) == (2, "")


def test_a_column_has_one_type_however_long_the_file(folder):
    pd.DataFrame(
        {"code": [*map(str, range(60_000)), "x"], "k": [*range(30_000), *range(30_001)], "says": ["a", *["a", "b"] * 30_000]}
    ).to_csv("long.csv", index=False)
    done = call("train", "long.csv", "--label", "says", "--learner", "cart", "--depth", "1")
    assert done.code == 0
    assert "Left out: code (60,001 different words)" in done.err


def test_an_interrupted_run_leaves_the_old_model(folder, monkeypatch):
    def stop(*arguments, **settings):
        raise KeyboardInterrupt

    (folder / "tree.json").write_text("old")
    monkeypatch.setattr(training, "train", stop)
    done = call("train", "t.csv", *CART, "--out", "tree.json")
    assert (done.code, done.err) == (130, "counterleaf: interrupted; nothing was written\n")
    assert (folder / "tree.json").read_text() == "old"
