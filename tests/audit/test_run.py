"""counterleaf audit: parts of files, the manifest, interruptions, and folders that do not fit."""

import json
import multiprocessing
import os
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.audit_cases import TARGET, answers, audit, contents, differences, numbers, write_model, write_rows
from support.cli_cases import call, mistake, rows_of, small
from support.seeds import seeds

import counterleaf as cl
from counterleaf.audit.folder import Folder
from counterleaf.audit.manifest import read_manifest
from counterleaf.audit.reading.parquet_rows import divide


@pytest.fixture
def folder(tmp_path):
    write_model(tmp_path)
    return tmp_path


def test_the_answers_are_those_of_explain_many(folder):
    frame = rows_of(300)
    rows = write_rows(folder / "rows.parquet", frame, row_group_size=70)
    table = audit(folder, rows, *TARGET, "--part-rows", 50)
    assert not differences(small(), frame, table, target=[2])
    assert table["row"].to_pylist() == list(range(300))
    assert set(table["file"].to_pylist()) == {0}
    assert table.schema.names[:3] == ["file", "row", "status"]
    assert str(table.schema.field("file").type) == "int32"
    manifest = json.loads((folder / "audit/manifest.json").read_text())
    assert manifest["words"] == ["target: 2", "cost: L2()"]
    assert manifest["rows"] == 300
    assert json.loads((folder / "audit/sample.json").read_text())["failed"] == 0


def test_several_files_folders_and_patterns(folder):
    frame = rows_of(60)
    (folder / "rows/more").mkdir(parents=True)
    for k, name in enumerate(("b.parquet", "a.parquet", "more/c.parquet")):
        write_rows(folder / "rows" / name, frame.iloc[20 * k : 20 * k + 20])
    expected = [frame.iloc[20:40], frame.iloc[:20], frame.iloc[40:]]
    table = audit(folder, folder / "rows", *TARGET, "--keep", "age")
    assert table["age"].to_pylist() == [age for part in expected for age in part["age"]]
    assert table["file"].to_pylist() == [0] * 20 + [1] * 20 + [2] * 20
    again = audit(folder, folder / "rows/**/*.parquet", *TARGET, "--keep", "age", out="b")
    assert again["age"].to_pylist() == table["age"].to_pylist()
    assert len(audit(folder, folder / "rows/a.parquet", folder / "rows/*.parquet", *TARGET, out="c")) == 40


MODELS = {
    "tree": lambda X: DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int)),
    "line": lambda X: LogisticRegression().fit(X, (X[:, 0] + X[:, 1] > 0).astype(int)),
    "forest": lambda X: RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int)),
}
QUESTIONS = {
    "plain": ((), {}),
    "limits": (
        ("--freeze", "x0", "--max-changes", "1", "--cost", "L1:mad + 0.1*changes"),
        {"constraints": [cl.freeze("x0"), cl.max_changes(1)], "cost": cl.L1("mad") + 0.1 * cl.Changes()},
    ),
    "margin": (("--margin", "0.01", "--support", "5"), {"margin": 0.01, "support": 5}),
    "implies": (
        ("--implies", "x0: only-increase x1=0.1", "--between", "x1=-2:2"),
        {"constraints": [cl.between("x1", -2, 2), cl.implies(cl.changed("x0"), cl.only_increase("x1", by=0.1))]},
    ),
    "time": (("--time-limit", "60"), {"time_limit": 60.0}),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_models_and_questions(tmp_path, model, question):
    frame = numbers(40 if model == "forest" else 120)
    explainer = cl.Explainer(MODELS[model](frame.to_numpy()), data=frame.to_numpy())
    write_model(tmp_path, explainer)
    rows = write_rows(tmp_path / "rows.parquet", frame)
    options, named = QUESTIONS[question]
    table = audit(tmp_path, rows, "--target", "1", *options, "--part-rows", 50, "--jobs", 1)
    again = cl.Explainer.from_json(explainer.to_json())
    assert not differences(again, frame, table, target=[1], **named)
    assert read_manifest(tmp_path / "audit").arguments["question"].target == 1
    assert call("verify", tmp_path / "audit", "--jobs", 1).code == 0


def test_regression_and_gaps(tmp_path):
    frame = numbers(200)
    X = frame.to_numpy().copy()
    X[::3, 0] = np.nan
    explainer = cl.Explainer(DecisionTreeRegressor(max_leaf_nodes=9, random_state=0).fit(X, X[:, 1] * X[:, 2]), data=X)
    write_model(tmp_path, explainer)
    table = audit(tmp_path, write_rows(tmp_path / "rows.parquet", frame.assign(x0=X[:, 0])), "--at-least", "0.5")
    explainer = cl.Explainer.from_json(explainer.to_json())
    assert not differences(explainer, frame.assign(x0=X[:, 0]), table, target=cl.value(at_least=0.5))
    assert call("verify", tmp_path / "audit").code == 0


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "rows.csv.gz", "rows.jsonl", "rows.jsonl.gz"])
def test_an_interrupted_audit_goes_on(folder, name):
    rows = write_rows(folder / name, rows_of(200))
    audit(folder, rows, *TARGET, "--part-rows", 30, out="whole")
    audit(folder, rows, *TARGET, "--part-rows", 30, "--jobs", 1)
    whole = contents(folder / "whole")
    assert contents(folder / "audit") == whole
    for gone in ([0], [1, 4], range(7)):
        for number in gone:
            (folder / f"audit/parts/part-{number:08d}.parquet").unlink()
        (folder / "audit/sample.json").unlink()
        (folder / "audit/parts/.part-00000001.parquet.99.abc.tmp").write_text("left")
        kept = {path: path.stat().st_mtime_ns for path in (folder / "audit/parts").glob("part*")}
        audit(folder, rows, *TARGET, "--jobs", 2)
        assert contents(folder / "audit") == whole
        assert all(path.stat().st_mtime_ns == time for path, time in kept.items())


def test_damaged_parts_are_done_again(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(100))
    audit(folder, rows, *TARGET, "--part-rows", 30)
    whole = contents(folder / "audit")
    part = folder / "audit/parts/part-00000001.parquet"
    for damage in (b"", b"PAR1", part.read_bytes()[:-100], b"x" * 500):
        part.write_bytes(damage)
        audit(folder, rows, *TARGET)
        assert contents(folder / "audit") == whole


def test_another_audit_in_the_same_folder_is_refused(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(60))
    audit(folder, rows, *TARGET, "--part-rows", 20)
    whole = contents(folder / "audit")
    command = ["audit", folder / "model.json", rows, "--out", folder / "audit"]
    other = write_rows(folder / "other.parquet", rows_of(60, seed=5))
    for arguments, what in (
        ([*command, "--target", "1"], "another question"),
        ([*command, *TARGET, "--freeze", "age"], "another question"),
        ([*command, *TARGET, "--cost", "L1"], "another question"),
        ([*command, *TARGET, "--part-rows", 21], "another part size"),
        ([*command, *TARGET, "--keep", "age"], "other columns to keep"),
        ([*command, *TARGET, "--words"], "another choice of --words"),
        ([*command, *TARGET, "--proofs"], "another choice of --proofs"),
        ([*command, *TARGET, "--range", "age=0:80"], "another model"),
        (["audit", folder / "model.json", other, "--out", folder / "audit", *TARGET], "other input files"),
        ([*command, other, *TARGET], "other input files"),
    ):
        asked = " (target: 2; cost: L2())" if what == "another question" else ""
        assert mistake(*arguments) == f"{folder}/audit holds an audit of {what}{asked}; pass another --out"
    write_rows(rows, rows_of(60, seed=6))
    assert mistake(*command, *TARGET) == (
        f"{rows} was changed since the audit began; restore it, or start a new audit with another --out"
    )
    assert contents(folder / "audit") == whole


def test_foreign_files_are_noticed(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(60))
    audit(folder, rows, *TARGET, "--part-rows", 20)
    audit(folder, rows, "--target", "1", "--part-rows", 20, out="other")
    parts = folder / "audit/parts"
    shutil.copy(folder / "other/parts/part-00000001.parquet", parts)
    command = ["audit", folder / "model.json", rows, "--out", folder / "audit", *TARGET]
    assert mistake(*command).startswith(f"{parts}/part-00000001.parquet belongs to another audit; remove it")
    shutil.copy(parts / "part-00000000.parquet", parts / "part-00000001.parquet")  # of this audit, in another place
    assert "part-00000001.parquet belongs to another audit" in mistake(*command)
    (parts / "part-00000001.parquet").unlink()
    (parts / "part-00000077.parquet").write_text("")
    assert mistake(*command) == f"{parts}/part-00000077.parquet is not part of the audit; remove it, or pass another --out"
    (folder / "full").mkdir()
    (folder / "full/letter.txt").write_text("Dear")
    assert "holds letter.txt and no manifest of an audit; pass another --out" in mistake(*command[:4], folder / "full", *TARGET)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is not valid JSON"),
        ("[]", 'expected an object with "format": "counterleaf-audit"'),
        ('{"format": "counterleaf-audit", "version": 9}', "has version 9; this counterleaf reads version 2"),
        ('{"format": "counterleaf-audit", "version": 2}', "lacks or garbles a part (KeyError: 'inputs')"),
        ('{"format": "counterleaf-audit", "version": 2, "inputs": [{"kind": "Parquet"}]}', "lacks or garbles a part"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_manifests_of_others(folder, text, expected):
    rows = write_rows(folder / "rows.parquet", rows_of(10))
    (folder / "audit").mkdir()
    (folder / "audit/manifest.json").write_text(text)
    for command in (["audit", folder / "model.json", rows, "--out", folder / "audit", *TARGET], ["verify", folder / "audit"]):
        assert expected in mistake(*command)


def test_a_manifest_that_was_changed(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(10))
    audit(folder, rows, *TARGET)
    path = folder / "audit/manifest.json"
    content = json.loads(path.read_text())
    for name, value in (("question", {**content["question"], "margin": 0.5}), ("part_rows", 7), ("rows", 9), ("part_rows", -1)):
        path.write_text(json.dumps({**content, name: value}))
        assert "manifest.json" in mistake("verify", folder / "audit")
    path.write_text(json.dumps(content))
    (folder / "audit/model.json").write_text("{}")
    assert "model.json was changed after the audit began" in mistake("verify", folder / "audit")


def hold(path, ready, end):
    with Folder(path).locked():
        ready.set()
        end.wait(60)


def test_two_runs_at_once_are_refused(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(10))
    audit(folder, rows, *TARGET)
    context = multiprocessing.get_context("spawn")
    ready, end = context.Event(), context.Event()
    process = context.Process(target=hold, args=(folder / "audit", ready, end))
    process.start()
    assert ready.wait(60)
    command = ["audit", folder / "model.json", rows, *TARGET, "--out", folder / "audit"]
    try:
        assert mistake(*command).startswith(f"another process is writing to {folder}/audit; wait until it ends")
    finally:
        process.kill()  # the lock disappears with the process
        process.join()
    assert call(*command).code == 0


def test_bad_arguments(folder):
    rows, out = write_rows(folder / "rows.parquet", rows_of(10)), folder / "audit"
    command = ["audit", folder / "model.json"]
    assert mistake(*command, folder / "no*.parquet", *TARGET, "--out", out) == f"no file matches {folder}/no*.parquet"
    assert mistake(*command, folder / "no.parquet", *TARGET, "--out", out) == f"there is no file {folder}/no.parquet"
    (folder / "rows.txt").write_text("a")
    assert mistake(*command, folder / "rows.txt", *TARGET, "--out", out).startswith(f"{folder}/rows.txt: unknown file type")
    (folder / "none").mkdir()
    assert "none has no file of a known type; expected .parquet, .csv" in mistake(
        *command, folder / "none", *TARGET, "--out", out
    )
    (folder / "empty.parquet").write_text("")
    assert "empty.parquet is empty" in mistake(*command, folder / "empty.parquet", *TARGET, "--out", out)
    (folder / "odd.parquet").write_text("odd")
    assert "odd.parquet cannot be read as Parquet" in mistake(*command, folder / "odd.parquet", *TARGET, "--out", out)
    fewer = write_rows(folder / "fewer.parquet", rows_of(10).drop(columns=["age", "floor"]))
    message = mistake(*command, rows, fewer, *TARGET, "--out", out)
    assert message.startswith(f"{fewer} lacks the columns ['age', 'floor']")
    nothing = write_rows(folder / "nothing.parquet", rows_of(10).iloc[:0])
    assert "there are no rows" in mistake(*command, nothing, *TARGET, "--out", out)
    mixed = write_rows(folder / "mixed.csv", rows_of(10))
    assert "is CSV and" in mistake(*command, rows, mixed, *TARGET, "--out", out)
    assert "it, or a folder above it, is a file" in mistake(*command, rows, *TARGET, "--out", folder / "rows.txt")
    assert "--engine is 'sparks'; expected local" in mistake(*command, rows, *TARGET, "--engine", "sparks", "--out", out)
    assert "--jobs is 0" in mistake(*command, rows, *TARGET, "--jobs", 0, "--out", out)
    assert "--keep names 'agee'" in mistake(*command, rows, *TARGET, "--keep", "agee", "--out", out)
    assert "did you mean 'age'?" in mistake(*command, rows, *TARGET, "--keep", "agee", "--out", out)
    assert "is in the folder of the audit" in mistake(*command, rows, *TARGET, "--out", folder)
    named = write_rows(folder / "named.parquet", rows_of(10).assign(row=1, status="a"))
    assert "--keep names 'row'" in mistake(*command, named, *TARGET, "--keep", "row", "--out", folder / "n1")
    assert "two columns of the result are named 'status'" in mistake(
        *command, named, *TARGET, "--keep", "status", "--out", folder / "n2"
    )
    (folder / "bare.json").write_text(small().tree.to_json())
    assert "without the names of its columns" in mistake("audit", folder / "bare.json", rows, *TARGET, "--out", out)
    assert "Missing option '--out'" in mistake(*command, rows, *TARGET)


def test_kept_columns_have_one_type(folder):
    frame = rows_of(10)
    a = write_rows(folder / "a.parquet", frame.assign(id=range(10)))
    b = write_rows(folder / "b.parquet", frame.assign(id=[str(k) for k in range(10)]))
    message = mistake("audit", folder / "model.json", a, b, *TARGET, "--keep", "id", "--out", folder / "audit")
    assert "column 'id' is int64 in" in message
    table = audit(folder, a, *TARGET, "--keep", "all", out="kept")
    assert table.schema.names[2:9] == [*frame.columns, "id"]
    assert call("verify", folder / "kept").code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(10))
    (folder / "locked").mkdir(mode=0o500)
    assert "ermission denied" in mistake("audit", folder / "model.json", rows, *TARGET, "--out", folder / "locked/audit")


def test_a_full_disk(folder, monkeypatch):
    rows = write_rows(folder / "rows.parquet", rows_of(60))

    def full(*args, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", full)
    done = call("audit", folder / "model.json", rows, *TARGET, "--out", folder / "audit")
    assert done.code == 2
    assert "No space left on device" in done.line
    assert list((folder / "audit/parts").iterdir()) == []
    monkeypatch.undo()
    assert len(audit(folder, rows, *TARGET)) == 60


def test_parts_follow_row_groups():
    assert list(divide([10, 10, 10], 20)) == [(20, 0, 2, 0), (10, 2, 3, 0)]
    assert list(divide([50, 5, 5], 20)) == [(20, 0, 1, 0), (20, 0, 1, 20), (10, 0, 1, 40), (10, 1, 3, 0)]
    assert list(divide([5, 50], 20)) == [(5, 0, 1, 0), (20, 1, 2, 0), (20, 1, 2, 20), (10, 1, 2, 40)]
    assert list(divide([0, 3, 0], 20)) == [(3, 1, 3, 0)]
    assert list(divide([], 20)) == []


@pytest.mark.parametrize("seed", seeds(6))
def test_any_division_gives_the_same_answers(folder, seed):
    rng = np.random.default_rng(seed)
    frame = rows_of(150, seed)
    rows = write_rows(folder / "rows.parquet", frame, row_group_size=int(rng.integers(5, 160)))
    table = audit(folder, rows, *TARGET, "--part-rows", int(rng.integers(1, 100)), "--jobs", int(rng.integers(1, 4)))
    expected = audit(folder, rows, *TARGET, out="whole")
    assert table.equals(expected)


def test_exit_codes_and_the_last_line(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(50))
    done = call("audit", folder / "model.json", rows, *TARGET, "--freeze", "age,level", "--out", folder / "audit")
    assert done.code == 0
    counts = {kind: answers(folder / "audit")["status"].to_pylist().count(kind) for kind in ("optimal", "infeasible")}
    assert "50 rows: " in done.out
    assert "already have the target" in done.out
    assert sum(counts.values()) == 50
    assert "50 random rows were explained again and their proofs checked in " in done.out
    assert " s: all passed." in done.out
    assert done.err == ""
    again = call("audit", folder / "model.json", rows, *TARGET, "--freeze", "age,level", "--out", folder / "audit")
    assert "0 rows took 0.0 s, and 50 rows were there before." in again.out


def test_a_row_that_has_the_target_and_has_to_change_has_it_already(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(60))
    free = call("audit", folder / "model.json", rows, *TARGET, "--out", folder / "free")
    forced = call("audit", folder / "model.json", rows, *TARGET, "--only-increase", "age=1", "--out", folder / "forced")
    found = answers(folder / "forced")
    same = [one for one in found.to_pylist() if one["status"] == "optimal" and one["source_label"] == one["label"]]
    assert same
    assert min(one["n_changed"] for one in same) == 1
    assert f"{len(same)} already have the target (the question asks more of {len(same)} of them)" in forced.out
    assert "already have the target" in free.out


def test_files_that_do_not_fit_leave_no_folder(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(20).drop(columns="age"))
    assert "lacks the columns ['age']" in mistake("audit", folder / "model.json", rows, *TARGET, "--out", folder / "audit")
    assert not (folder / "audit").exists()
    (folder / "mine").mkdir()
    mistake("audit", folder / "model.json", rows, *TARGET, "--out", folder / "mine")
    assert (folder / "mine").exists()


def test_a_check_says_how_many_searches_stopped(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(30))
    for words in ((), ("--proofs",)):
        out = folder / f"audit{len(words)}"
        done = call("audit", folder / "model.json", rows, *TARGET, "--time-limit", "1e-9", *words, "--out", out)
        stopped = answers(out)["status"].to_pylist().count("limit")
        assert done.code == (3 if stopped else 0)
        assert stopped > 0
        verdict = call("verify", out).out.splitlines()[-1]
        assert verdict.endswith(f"; {stopped} of the searches stopped, and prove a lower bound only")


@pytest.mark.parametrize("goal", [TARGET, ("--target", "0", "--target", "2"), ("--target", "0=0.1", "--target", "1=0")])
def test_a_row_that_has_the_target_is_not_counted_among_those_that_cannot_reach_it(folder, goal):
    """No change within the rules keeps it there, but the model says the target already; the report counts it so too."""
    rows = write_rows(folder / "rows.parquet", rows_of(60))
    rules = ("--freeze", "age", "--between", "age=0:20")
    done = call("audit", folder / "model.json", rows, *goal, *rules, "--out", folder / "audit")
    wanted = {int(text[0]) for text in goal[1::2]}
    lines = answers(folder / "audit").to_pylist()
    has = [one for one in lines if one["source_label"] in wanted]
    cannot = [one for one in lines if one["source_label"] not in wanted and one["status"] == "infeasible"]
    asked = sum(one["status"] == "infeasible" or one["n_changed"] > 0 for one in has)
    assert asked > 0
    assert f"{len(has)} already have the target (the question asks more of {asked} of them), " in done.out
    assert (f" {len(cannot)} cannot (proved)" in done.out) == bool(cannot)
    whole = cl.Audit.read(folder / "audit").groups.iloc[0]
    assert (whole["has"], whole["cannot"]) == (len(has), len(cannot))


def test_an_audit_without_a_target_says_so(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(20))
    done = call("audit", folder / "model.json", rows, "--out", folder / "audit")
    assert "20 can get another class than their own (there is no --target)" in done.out


def test_a_folder_that_holds_its_audit(folder):
    write_rows(folder / "rows.parquet", rows_of(30))
    first = audit(folder, folder, *TARGET, "--part-rows", 10)
    (folder / "audit/parts/part-00000001.parquet").unlink()
    assert audit(folder, folder, *TARGET).equals(first)
    assert audit(folder, folder / "**/*.parquet", *TARGET).equals(first)


def test_rows_without_a_proof(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(30))
    done = call("audit", folder / "model.json", rows, *TARGET, "--time-limit", "1e-9", "--out", folder / "audit", "--jobs", 1)
    assert done.code == 3
    assert "stopped before a proof" in done.out
    assert "limit" in answers(folder / "audit")["status"].to_pylist()


@pytest.mark.parametrize("proofs", [("--proofs",), ()], ids=str)
def test_an_audit_of_which_every_row_is_invalid(folder, proofs):
    rows = write_rows(folder / "rows.csv", rows_of(6).assign(level="huge"))
    for _ in range(2):
        done = call("audit", folder / "model.json", rows, *TARGET, *proofs, "--out", folder / "audit")
        assert done.code == 3
        expected = "No row could be explained. Row 0 of file 0: feature 'level' is 'huge'; expected one of 'low'"
        assert expected in done.out
    pd.concat([rows_of(6).assign(level="huge"), rows_of(1)]).to_csv(rows, index=False)
    done = call("audit", folder / "model.json", rows, *TARGET, *proofs, "--out", folder / "some")
    assert done.code == 0
    assert "6 invalid" in done.out
    assert "No row" not in done.out


def test_tables_of_every_type(folder):
    frame = rows_of(60)
    batch = pa.Table.from_pandas(frame, preserve_index=False)
    typed = batch.set_column(2, "job, main", batch["job, main"].dictionary_encode())
    typed = typed.set_column(0, "age", typed["age"].cast(pa.int16()))
    typed = typed.set_column(1, "pay=net", typed["pay=net"].cast(pa.decimal128(20, 3)))
    parquet.write_table(batch, folder / "plain.parquet")
    parquet.write_table(typed, folder / "typed.parquet")
    plain = audit(folder, folder / "plain.parquet", *TARGET)
    assert audit(folder, folder / "typed.parquet", *TARGET, out="typed").equals(plain)
    assert call("verify", folder / "typed").code == 0


def test_a_folder_whose_name_is_not_text(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(10))
    message = mistake("audit", folder / "model.json", rows, *TARGET, "--out", f"{folder}/out\udcff")
    assert message == f"the name of the folder '{folder}/out\\udcff' is not text in UTF-8; choose another one"
