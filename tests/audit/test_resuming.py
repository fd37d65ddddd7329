"""counterleaf audit in a folder that holds one: inputs that were changed or moved, damaged parts and models."""

import json
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.tree import DecisionTreeClassifier
from support.audit_cases import TARGET, audit, contents, numbers, write_model, write_rows
from support.cli_cases import call, mistake, rows_of

import counterleaf as cl
from counterleaf.audit.checking.sealed import write_sealed
from counterleaf.audit.checking.verify import verify_audit
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
    write_sealed(part, table, about)
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


@pytest.mark.parametrize("proofs", [("--proofs",), ()], ids=str)
def test_any_changed_byte_of_a_part_is_found_and_mended(folder, proofs, monkeypatch):
    monkeypatch.setattr("counterleaf.audit.checking.sample.SIZE", 10)
    rows = write_rows(folder / "rows.parquet", rows_of(20))
    audit(folder, rows, *TARGET, "--part-rows", 10, "--keep", "age", "--jobs", 1, *proofs)
    out, chance = folder / "audit", random.Random(0)
    whole = contents(out)
    for path in sorted(out.glob("*/*.parquet")):
        content = path.read_bytes()
        for at in [0, *chance.sample(range(len(content)), 12), *range(len(content) - 12, len(content), 2)]:
            damaged = bytearray(content)
            damaged[at] ^= chance.randint(1, 255)
            path.write_bytes(damaged)
            with pytest.raises(cl.CounterleafError, match=rf"^{path} is damaged; remove it and run the audit again$"):
                verify_audit(out, 1)
            if path.parent.name == "parts":
                with pytest.raises(cl.CounterleafError, match=rf"^{path} is damaged; remove it and run the audit again$"):
                    cl.Audit.read(out)
        for other in (b"", content[:-1], content + b"\0", content[: len(content) // 2], damaged):
            path.write_bytes(other)
            audit(folder, rows, *TARGET, "--keep", "age", "--jobs", 1, *proofs)
            assert contents(out) == whole


def refusal(out):
    """Why an audit is refused; empty if nothing is wrong with it."""
    try:
        assert not verify_audit(out, 1).failures
    except cl.CounterleafError as error:
        return str(error)
    return ""


def test_any_changed_byte_of_the_manifest_or_the_model_is_found(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(20))
    audit(folder, rows, *TARGET)
    out, chance = folder / "audit", random.Random(1)
    for path in (out / "manifest.json", out / "model.json"):
        content = path.read_bytes()
        at = content.index(b'"created"') if path.name == "manifest.json" else 0
        date = range(at, content.index(b"\n", at)) if at else range(0)
        for at in chance.sample(range(len(content)), 150):
            damaged = bytearray(content)
            damaged[at] ^= chance.randint(1, 255)
            path.write_bytes(damaged)
            quiet = at in date or chr(content[at]) in " \n"  # the date, and blanks between the pieces of JSON
            said = refusal(out)
            assert said or quiet, (path, at, content[at - 20 : at + 20])
            assert "\n" not in said
        path.write_bytes(content)


def test_parts_of_other_types_are_not_intact(folder):
    rows = write_rows(folder / "rows.parquet", rows_of(30))
    audit(folder, rows, *TARGET, "--jobs", 1)
    whole, part = contents(folder / "audit"), folder / "audit/parts/part-00000000.parquet"
    table = parquet.read_table(part)
    about = json.loads(table.schema.metadata[KEY])
    place = table.schema.names.index("cost")
    for other in (
        table.set_column(table.schema.names.index("status"), "status", table["status"].cast("binary")),
        table.set_column(place, "cost", table["cost"].cast("float32")),
        table.append_column("more", table["cost"]),
        table.remove_column(place),
        table.select(table.schema.names[::-1]),
    ):
        write_sealed(part, other, about)
        with pytest.raises(cl.CounterleafError, match=r"part-00000000.parquet was changed after it was written; remove it"):
            cl.Audit.read(folder / "audit")
        audit(folder, rows, *TARGET, "--jobs", 1)
        assert contents(folder / "audit") == whole


KEPT = {
    "seconds": pa.array(range(20), pa.timestamp("s")),
    "large": pa.array(["a"] * 20, pa.large_string()),
    "days": pa.array(range(20), pa.date32()),
    "money": pa.array([Decimal("1.50")] * 20),
    "codes": pa.array(["a", "b"] * 10).dictionary_encode(),
    "lists": pa.array([[1]] * 20),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept_columns_of_any_type_are_intact_when_they_are_read_again(folder, name):
    table = pa.Table.from_pandas(rows_of(20), preserve_index=False).append_column(name, KEPT[name])
    parquet.write_table(table, folder / "rows.parquet")
    command = ["audit", folder / "model.json", folder / "rows.parquet", *TARGET, "--keep", name, "--out", folder / "audit"]
    assert call(*command).code == 0
    assert "20 rows were there before" in call(*command).out
    assert call("verify", folder / "audit").code == 0
