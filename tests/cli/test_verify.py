"""``counterleaf verify``: true answers pass, changed ones do not."""

import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from support.cli_cases import call as command
from support.cli_cases import mistake, rows_of, small

import counterleaf as cl
from counterleaf.storage.explanations import _digest

MODEL, ROWS = small(), rows_of(4)
TRUSTED = "the model and its features are taken on trust from the file"
HOLDS = f"every proof holds, and the tree in the file confirms every answer; {TRUSTED}"


def call(*words, **options):
    """Run a command; the lines that list the queries are left out."""
    done = command(*words, **options)
    return replace(
        done, out="".join(line for line in done.out.splitlines(keepends=True) if not re.match(r"[\d,]+ answers? for ", line))
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.json").write_text(MODEL.to_json())
    ROWS.to_csv("rows.csv", index=False)
    call("explain", "model.json", "rows.csv", "--out", "a.jsonl", "--count", "2")
    return tmp_path


def held_by(name, whole=False):
    """The verdict with a model; ``whole`` if it is an explainer, which has its own bounds."""
    rest = "; the bounds, steps, costs of categories, spreads and fills are those of the answers' file"
    return f"every proof holds and is about {name}, which confirms every answer{'' if whole else rest}"


def lines_of(folder):
    return (folder / "a.jsonl").read_text().splitlines()


def test_true_answers_hold(folder):
    assert call("verify", "a.jsonl").out.splitlines()[-1] == f"a.jsonl: 4 cheapest: {HOLDS}"
    done = call("verify", "a.jsonl", "--model", "model.json")
    assert (done.code, done.out, done.err) == (0, f"a.jsonl: 4 cheapest: {held_by('model.json', True)}\n", "")
    piped = call("verify", "-", stdin=(folder / "a.jsonl").read_bytes())
    assert piped.out.splitlines()[-1] == f"standard input: 4 cheapest: {HOLDS}"


def test_every_kind_of_line_is_counted(folder):
    rows = ROWS.astype({"level": object})
    rows.loc[0, "level"] = "top"
    rows.to_csv("rows.csv", index=False)
    call("explain", "model.json", "rows.csv", "--max-changes", "0", "--target", "2", "--out", "b.jsonl")
    done = call("verify", "b.jsonl")
    assert done.code == 0
    assert "1 not explained" in done.out
    assert "impossible" in done.out


def _changed(line, change, sign=True):
    content = json.loads(line)
    content.pop("digest")
    change(content)
    return json.dumps({**content, "digest": _digest(content) if sign else "0" * 64})


def _cheaper(content):
    content["counterfactuals"][0]["cost"] /= 2


def _cheaper_everywhere(content):
    _cheaper(content)
    content["certificate"]["costs"][0] /= 2
    content["certificate"]["bounds"][0] /= 2
    content["counterfactuals"][0]["lower_bound"] /= 2
    content["lower_bound"] /= 2


def _other_label(content):
    content["counterfactuals"][0]["label"] = 7


def _other_tree(content):
    content["model"]["tree"]["bias"][0] += 0.125


def _no_proof(content):
    content["certificate"]["parts"] = []


def _doubted(content):
    content["counterfactuals"][0]["confirmed"] = False


@pytest.mark.parametrize("change", [_cheaper, _cheaper_everywhere, _other_label, _other_tree, _no_proof, _doubted])
@pytest.mark.parametrize("sign", [True, False], ids=["signed again", "digest"])
def test_a_tampered_line_is_found(folder, change, sign):
    lines = lines_of(folder)
    lines[2] = _changed(lines[2], change, sign)
    (folder / "a.jsonl").write_text("\n".join(lines))
    done = call("verify", "a.jsonl", "--model", "model.json")
    assert (done.code, done.err) == (4, "")
    found = done.out.splitlines()
    assert len(found) == 2
    assert found[0].startswith("FAIL line 3: ")
    assert sign or "was changed after it was written: its digest differs" in found[0]
    assert (
        sign is False
        or change is not _doubted
        or found[0] == "FAIL line 3: the model did not confirm it when the row was explained"
    )
    assert found[1].endswith(": 1 of 4 failed")


NEWER = '{"format": "counterleaf-explanation", "version": 9}'


@pytest.mark.parametrize(
    "line", ["{", "[1]", "null", "{}", "[" * 100_000, NEWER], ids=["half", "list", "null", "empty", "deep", "newer"]
)
def test_what_is_no_answer_is_a_failure(folder, line):
    (folder / "a.jsonl").write_text("\n".join([*lines_of(folder), "", line]))
    done = call("verify", "a.jsonl")
    assert done.code == 4
    assert done.out.splitlines()[0].startswith("FAIL line 6: ")
    assert re.fullmatch("a.jsonl: 4 cheapest, 1 (unreadable|not an answer): 1 of 5 failed", done.out.splitlines()[-1])


def test_a_half_line_is_found(folder):
    (folder / "a.jsonl").write_text((folder / "a.jsonl").read_text()[:-50])
    assert call("verify", "a.jsonl").code == 4


def test_another_model_is_found(folder):
    tree = json.loads(MODEL.tree.to_json())
    tree["bias"][0] += 0.5
    (folder / "other.json").write_text(json.dumps(tree))
    done = call("verify", "a.jsonl", "--model", "other.json")
    assert done.code == 4
    assert done.out.splitlines()[0] == "FAIL line 1: the proof does not hold for other.json: its tree is a different one"


def _iris(folder):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    (folder / "iris.pkl").write_bytes(pickle.dumps(model))
    (folder / "plain.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X.to_numpy(), y)))
    (folder / "other.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)))
    (folder / "narrow.pkl").write_bytes(pickle.dumps(DecisionTreeClassifier().fit(X.to_numpy()[:, :2], y)))
    (folder / "own.pkl").write_bytes(pickle.dumps(cl.Explainer(model, data=X)))
    (folder / "dict.pkl").write_bytes(pickle.dumps({}))
    (folder / "iris.json").write_text(cl.Explainer(model, data=X).to_json())
    X.iloc[::30].to_csv(folder / "iris.csv", index=False)
    call("explain", "iris.json", "iris.csv", "--target", "2", "--out", "i.jsonl")


def test_the_model_itself_is_queried(folder):
    _iris(folder)
    for name in ("iris.pkl", "plain.pkl", "own.pkl"):
        done = call("verify", "i.jsonl", "--model", name, "--allow-pickle")
        assert (done.code, done.err) == (0, "")
        assert done.out.splitlines()[-1] == f"i.jsonl: 5 cheapest: {held_by(name, name == 'own.pkl')}"
    done = call("verify", "i.jsonl", "--model", "other.pkl", "--allow-pickle")
    assert done.code == 4
    assert done.out.splitlines()[0] == "FAIL line 1: the proof does not hold for other.pkl: its tree is a different one"
    done = call("verify", "i.jsonl", "--model", "narrow.pkl", "--allow-pickle")
    assert done.code == 4
    assert done.out.startswith("FAIL line 1: the proof does not hold for narrow.pkl: ")
    done = call("verify", "a.jsonl", "--model", "iris.pkl", "--allow-pickle")
    assert done.code == 4
    assert done.out.startswith("FAIL line 1: the proof does not hold for iris.pkl: ")
    line = mistake("verify", "i.jsonl", "--model", "dict.pkl", "--allow-pickle")
    assert line == "dict.pkl contains a dict; expected a model with predict"
    assert mistake("verify", "i.jsonl", "--model", "iris.pkl").startswith("iris.pkl is a pickle, which can run any code")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("empty.jsonl", "empty.jsonl is empty; expected a line of JSON per answer"),
        ("rows.csv", "rows.csv contains no proofs; expected JSON lines: counterleaf explain ... --format json"),
        ("a.parquet", "a.parquet contains no proofs; expected JSON lines: counterleaf explain ... --format json"),
        ("absent.jsonl", "absent.jsonl: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(folder, name, line):
    (folder / "empty.jsonl").write_text("\n \n")
    assert mistake("verify", name) == line


def test_a_proof_about_another_tree_does_not_pass_as_the_model_s(folder):
    _iris(folder)
    call("explain", "iris.json", "iris.csv", "--target", "2", "--between", "petal length (cm)=0:3", "--out", "none.jsonl")
    assert call("verify", "none.jsonl", "--model", "iris.pkl", "--allow-pickle").code == 0
    done = call("verify", "none.jsonl", "--model", "other.pkl", "--allow-pickle")
    assert done.code == 4
    assert done.out.startswith("FAIL line 1: the proof does not hold for other.pkl: its tree is a different one")


def test_other_names_for_the_features_are_found(folder):
    schema = cl.Schema([cl.Numeric("age", 0, 9), cl.Numeric("pay", 0, 9)])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-5.0, 0, 0], [-1, 0, 1])
    (folder / "m.json").write_text(cl.Explainer(tree, schema=schema).to_json())
    turned = cl.Schema([schema.features[1], schema.features[0]])
    answer = cl.Explainer(tree, schema=turned).explain({"pay": 1.0, "age": 1.0}, target=1)
    (folder / "turned.jsonl").write_text(answer.to_json())
    done = call("verify", "turned.jsonl", "--model", "m.json")
    assert done.code == 4
    assert done.out.startswith("FAIL line 1: the proof does not hold for m.json: its features differ, or have other names")


def test_bounds_are_those_of_the_model(folder):
    """A proof within narrower bounds says nothing about those of the model; one within wider bounds does if its row fits."""
    schema = cl.Schema([cl.Numeric("age", 0, 9), cl.Numeric("pay", 0, 9)])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-5.0, 0, 0], [-1, 0, 1])
    (folder / "m.json").write_text(cl.Explainer(tree, schema=schema).to_json())
    for ends, code in (("0:20", 0), ("0:1", 4)):
        call("explain", "m.json", '{"age": 1, "pay": 1}', "--range", f"age={ends}", "--out", "b.jsonl")
        assert call("verify", "b.jsonl").code == 0
        done = call("verify", "b.jsonl", "--model", "m.json")
        assert done.code == code
    assert done.out.startswith(
        "FAIL line 1: the proof does not hold for m.json: its features have other bounds, steps or values"
    )


def test_among_given_rows_is_said_so(folder):
    call("explain", "model.json", "rows.csv", "--row", "0", "--among", "rows.csv", "--out", "among.jsonl")
    assert call("verify", "among.jsonl").out.startswith("among.jsonl: 1 cheapest among the allowed rows: every proof holds")


def test_a_file_without_an_answer_is_a_wrong_file(folder):
    line = "contains no answer; expected the output of explain --format json"
    assert mistake("verify", "model.json") == f"model.json {line}"
    (folder / "problems.jsonl").write_text('{"format": "counterleaf-problem", "row": 0, "problem": "a word"}')
    assert mistake("verify", "problems.jsonl") == f"problems.jsonl {line}"
    (folder / "notes.md").write_text("# Notes\n\nno answers\n[1]\n")
    assert mistake("verify", "notes.md") == f"notes.md {line}"
    cl.save_constraints([cl.freeze("age"), cl.between("pay=net", 0, 3)], "rules.json")
    assert mistake("verify", "rules.json") == f"rules.json {line}"


def test_an_answer_on_several_lines_is_read(folder):
    (folder / "wide.json").write_text(json.dumps(json.loads(lines_of(folder)[0]), indent=2))
    assert call("verify", "wide.json").out == f"wide.json: 1 cheapest: {HOLDS}\n"


def test_a_search_that_stopped_proves_a_bound_only(folder):
    answer = MODEL.explain(ROWS.iloc[0], target=2, max_nodes=1)
    assert answer.status == "limit"
    (folder / "stopped.jsonl").write_text(answer.to_json())
    done = call("verify", "stopped.jsonl")
    assert done.code == 0
    assert done.out == f"stopped.jsonl: 1 stopped early: {HOLDS}; those that stopped early prove a lower bound only\n"


@pytest.mark.parametrize(
    "name", ["x" * 5000, "a\nb", "\u2028", "a\x00b", "\ud800"], ids=["long", "lines", "separator", "null", "half"]
)
def test_the_name_of_a_file_never_breaks_the_line(folder, name):
    for words in (("verify", name), ("verify", "a.jsonl", "--model", name), ("explain", name, "rows.csv"), ("inspect", name)):
        line = mistake(*words)
        assert line.isprintable()
        assert len(line) <= 500


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OneHotEncoder(handle_unknown="ignore")], ids=["strict", "ignoring"])
def test_a_gap_is_put_to_the_model_as_its_table_has_it(folder, encoder):
    table = pd.DataFrame({"plan": ["basic", "pro", np.nan, "basic"] * 15, "pay": np.arange(60.0)})
    fill = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)
    columns = make_column_transformer((fill, ["plan"]), remainder="passthrough")
    y = np.where((table["plan"] == "pro") | (table["pay"] > 40.5), "stays", "leaves")
    model = make_pipeline(columns, DecisionTreeClassifier(random_state=0)).fit(table, y)
    (folder / "m.pkl").write_bytes(pickle.dumps(model))
    table.to_csv("t.csv", index=False)
    assert call("convert", "m.pkl", "--allow-pickle", "--data", "t.csv", "--out", "m.json").code == 0
    assert call("explain", "m.json", "t.csv", "--target", "stays", "--out", "t.jsonl").code == 0
    done = call("verify", "t.jsonl", "--model", "m.pkl", "--allow-pickle")
    assert (done.code, done.out) == (0, f"t.jsonl: 60 cheapest: {held_by('m.pkl')}\n")


def test_a_multiplier_beyond_all_sums_proves_nothing(folder):
    def burst(content):
        for _, parts in content["certificate"]["parts"]:
            for part in parts:
                if isinstance(part[0], list):
                    part[0] = [1e308] * len(part[0])

    (folder / "a.jsonl").write_text(_changed(lines_of(folder)[0], burst))
    done = call("verify", "a.jsonl")
    assert (done.code, done.err) == (4, "")


def _watched(monkeypatch, change=lambda labels: labels):
    """The sizes of the tables that a scikit-learn tree predicts."""
    calls, inner = [], DecisionTreeClassifier.predict

    def predict(self, X, check_input=True):
        calls.append(len(X))
        return change(inner(self, X, check_input))

    monkeypatch.setattr(DecisionTreeClassifier, "predict", predict)
    return calls


@pytest.mark.parametrize("name", ["iris.pkl", "plain.pkl"])
def test_the_model_is_queried_once_about_a_whole_file(folder, monkeypatch, name):
    _iris(folder)
    call("explain", "iris.json", "iris.csv", "--target", "2", "--count", "2", "--out", "two.jsonl")
    rows = sum(len(json.loads(line)["counterfactuals"]) for line in (folder / "two.jsonl").read_text().splitlines())
    calls = _watched(monkeypatch)
    assert call("verify", "two.jsonl", "--model", name, "--allow-pickle").code == 0
    assert calls == [rows]
    assert rows > 5


def test_a_model_that_says_otherwise_is_queried_again_row_by_row(folder, monkeypatch):
    _iris(folder)
    calls = _watched(monkeypatch, lambda labels: labels * 0)
    done = call("verify", "i.jsonl", "--model", "iris.pkl", "--allow-pickle")
    assert done.code == 4
    assert done.out.splitlines()[0] == "FAIL line 1: iris.pkl says 0 for alternative 1, not 2"
    assert done.out.splitlines()[-1].endswith("5 of 5 failed")
    assert calls == [5, 1, 1, 1, 1, 1]


def test_a_model_that_gives_a_column_of_labels_or_fails(folder, monkeypatch):
    _iris(folder)
    with monkeypatch.context() as patch:
        _watched(patch, lambda labels: labels[:, None])
        assert call("verify", "i.jsonl", "--model", "iris.pkl", "--allow-pickle").code == 0
    _watched(monkeypatch, lambda labels: 1 / 0)
    done = call("verify", "i.jsonl", "--model", "iris.pkl", "--allow-pickle")
    assert done.code == 4
    assert done.out.startswith("FAIL line 1: iris.pkl fails on alternative 1 (ZeroDivisionError: division by zero)\n")


def test_only_unreadable_lines_are_failures_too(folder):
    (folder / "a.jsonl").write_text("{\n\n" + NEWER)
    done = call("verify", "a.jsonl")
    assert (done.code, done.err) == (4, "")
    assert done.out.splitlines()[-1] == "a.jsonl: 2 unreadable: 2 of 2 failed"


def test_the_question_that_was_proved_is_reported(folder, monkeypatch):
    monkeypatch.setattr(cl.Explanation, "words", ("the model says 2", "age stays\n\ud800"))
    done = command("verify", "a.jsonl")
    assert done.code == 0
    assert done.out.splitlines() == ["4 answers for the model says 2; age stays \\ud800", f"a.jsonl: 4 cheapest: {HOLDS}"]


def test_a_proof_that_breaks_its_checker_does_not_end_the_others(folder, monkeypatch):
    seen = []

    def check(self):
        seen.append(self)
        return len(seen) != 2 or 1 / 0

    monkeypatch.setattr("counterleaf.proof.certificate.Certificate.check", check)
    monkeypatch.setattr("counterleaf.proof.compound.Compound.check", check)
    done = call("verify", "a.jsonl")
    assert (done.code, done.err) == (4, "")
    assert done.out.startswith("FAIL line 2: the proof cannot be checked (ZeroDivisionError: division by zero)\n")
    assert len(seen) == 4


def test_a_pipeline_that_drops_columns_confirms_answers_without_them(folder):
    X = pd.DataFrame({"id": ["a", "b", "c", "d"] * 5, "age": [20, 30, 40, 50] * 5, "job": ["cook", "nurse"] * 10})
    columns = make_column_transformer((OneHotEncoder(), ["job"]), ("passthrough", ["age"]))
    model = make_pipeline(columns, DecisionTreeClassifier(random_state=0)).fit(X, X["age"] > 35)
    (folder / "mine.pkl").write_bytes(pickle.dumps(model))
    X.to_csv("mine.csv", index=False)
    assert call("convert", "mine.pkl", "--allow-pickle", "--data", "mine.csv", "--out", "mine.json").code == 0
    assert call("explain", "mine.json", "mine.csv", "--target", "true", "--out", "mine.jsonl").code == 0
    done = call("verify", "mine.jsonl", "--model", "mine.pkl", "--allow-pickle")
    assert (done.code, done.out) == (0, f"mine.jsonl: 20 cheapest: {held_by('mine.pkl')}\n")
