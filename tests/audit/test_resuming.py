"""counterleaf audit in a folder that holds one: inputs that were changed or moved, damaged parts and models."""

import json

import pytest
from pyarrow import parquet
from sklearn.tree import DecisionTreeClassifier
from support.audit_cases import TARGET, audit, contents, numbers, write_model, write_rows
from support.cli_cases import call, mistake, rows_of

import counterleaf as cl
from counterleaf.audit.folder import KEY
from counterleaf.audit.manifest import read_manifest
from counterleaf.audit.parts import Task


@pytest.fixture
def folder(tmp_path):
    write_model(tmp_path)
    return tmp_path


def tree(X):
    return DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int))


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_a_change_in_the_middle_of_a_large_text_file_is_noticed(tmp_path, name):
    frame = numbers(60_000, columns=2)
    write_model(tmp_path, cl.Explainer(tree(frame.to_numpy()), data=frame.to_numpy()))
    rows = write_rows(tmp_path / name, frame)
    options = ("--target", "1", "--part-rows", 20_000)
    audit(tmp_path, rows, *options)
    (tmp_path / "audit/parts/part-00000001.parquet").unlink()
    whole = bytearray(rows.read_bytes())
    assert len(whole) > 1 << 21
    at = next(k for k in range(len(whole) // 2, len(whole)) if whole[k : k + 1] == b"1")
    whole[at] += 1
    rows.write_bytes(whole)
    message = mistake("audit", tmp_path / "model.json", rows, *options, "--out", tmp_path / "audit")
    assert message.startswith(f"{rows} was changed since the audit began")


def test_inputs_that_change_while_they_are_read(folder, monkeypatch):
    rows = write_rows(folder / "rows.csv", rows_of(60))
    whole = rows.read_bytes()
    finish = Task.finish

    def change(*args, **named):
        rows.write_bytes(whole.replace(b"2", b"3"))
        return finish(*args, **named)

    monkeypatch.setattr(Task, "finish", change)
    command = ["audit", folder / "model.json", rows, *TARGET, "--part-rows", 20, "--jobs", 1, "--out", folder / "audit"]
    assert "rows.csv was changed since the audit began" in mistake(*command)
    assert list((folder / "audit/parts").iterdir()) == []
    monkeypatch.undo()
    rows.write_bytes(whole)
    assert call(*command).code == 0


@pytest.mark.parametrize("proofs", [("--proofs",), ()], ids=str)
def test_damaged_pages_and_changed_counts_are_done_again(folder, proofs):
    rows = write_rows(folder / "rows.parquet", rows_of(100))
    audit(folder, rows, *TARGET, "--part-rows", 50, "--jobs", 1, *proofs)
    whole = contents(folder / "audit")
    for place in ("parts", "proofs") if proofs else ("parts",):
        part = folder / f"audit/{place}/part-00000001.parquet"
        damaged = bytearray(part.read_bytes())
        damaged[len(damaged) // 3] ^= 0x55
        part.write_bytes(damaged)
        audit(folder, rows, *TARGET, "--jobs", 1, *proofs)
        assert contents(folder / "audit") == whole
    part = folder / "audit/parts/part-00000001.parquet"
    table = parquet.read_table(part)
    about = json.loads(table.schema.metadata[KEY])
    about["counts"]["can"] += 7
    parquet.write_table(table.replace_schema_metadata({KEY: json.dumps(about)}), part)
    audit(folder, rows, *TARGET, "--jobs", 1, *proofs)
    assert contents(folder / "audit") == whole


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_a_damaged_model_is_written_again(folder, content):
    rows = write_rows(folder / "rows.parquet", rows_of(30))
    audit(folder, rows, *TARGET)
    whole = contents(folder / "audit")
    (folder / "audit/model.json").unlink()
    if content is not None:
        (folder / "audit/model.json").write_bytes(content)
    done = call("audit", folder / "model.json", rows, *TARGET, "--out", folder / "audit")
    assert contents(folder / "audit") == whole
    assert "explained again" not in done.out
    assert "An earlier run has checked 30 random rows: all passed." in done.out
    assert call("verify", folder / "audit").code == 0


def test_moved_inputs(folder):
    rows = write_rows(folder / "rows.csv", rows_of(40))
    audit(folder, rows, *TARGET, "--part-rows", 20)
    created = read_manifest(folder / "audit").created
    (folder / "new").mkdir()
    moved = rows.rename(folder / "new/moved.csv")
    assert "inputs are not there" in mistake("verify", folder / "audit")
    audit(folder, moved, *TARGET)
    manifest = read_manifest(folder / "audit")
    assert [one.path for one in manifest.plan.inputs] == [str(moved)]
    assert manifest.created == created
    assert call("verify", folder / "audit").code == 0
