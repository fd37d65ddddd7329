"""counterleaf verify for audits: intact folders pass, and forged, swapped or damaged parts and proofs are found."""

import hashlib
import json
import shutil

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.audit_cases import TARGET, audit, contents, numbers, write_model, write_rows
from support.cli_cases import call, mistake, rows_of, small

import counterleaf as cl
from counterleaf.audit.checking.sample import choose
from counterleaf.audit.checking.sealed import write_sealed
from counterleaf.audit.folder import KEY
from counterleaf.audit.manifest import read_manifest


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """A folder with an audit that keeps its proofs, one of another question, and their inputs."""
    folder = tmp_path_factory.mktemp("proved")
    write_model(folder)
    frame = rows_of(24)
    frame.loc[5, "age"] = -1  # outside of its bounds, and still a row
    frame["floor"] = frame["floor"].where(frame.index != 7, 9)
    rows = write_rows(folder / "rows.parquet", frame)
    limits = ("--proofs", "--part-rows", 8, "--freeze", "age", "--jobs", 1)
    audit(folder, rows, *TARGET, *limits)
    audit(folder, rows, "--target", "1", *limits, out="other")
    return folder


@pytest.fixture
def folder(proved, tmp_path):
    shutil.copytree(proved, tmp_path / "copy")
    return tmp_path / "copy"


def change(path, edit):
    """Rewrite a part; its metadata stays."""
    table = parquet.read_table(path)
    write_sealed(path, edit(table), json.loads(table.schema.metadata[KEY]))


def put(name, row, value):
    def edit(table):
        cells = table[name].to_pylist()
        cells[row] = value
        return table.set_column(table.schema.names.index(name), name, pa.array(cells, table.schema.field(name).type))

    return edit


def failures(folder):
    done = call("verify", folder / "audit", "--jobs", 1)
    assert done.code == 4, done
    return done.out


def test_proofs_that_hold(folder):
    done = call("verify", folder / "audit", "--jobs", 1)
    assert done.code == 0
    digest = hashlib.sha256((folder / "audit/model.json").read_bytes()).hexdigest()
    assert done.out.splitlines() == [
        "Question: target: 2; cost: L2(); freeze('age')",
        f"Model: SHA-256 {digest}",
        f"{folder}/audit: 24 rows: every proof holds, and all cells agree with the proofs, the model and the inputs",
    ]
    table = parquet.read_table(folder / "audit/proofs/part-00000000.parquet")
    assert table.schema.names == ["file", "row", "proof"]
    assert table["row"].to_pylist() == [0, 1, 2, 3, 4, 5, 6]  # row 7 is invalid
    assert json.loads(table["proof"].to_pylist()[0])["format"] == "counterleaf-explanation"
    assert not (folder / "audit/sample.json").exists()


def test_several_processes_check_the_same(folder):
    change(folder / "audit/parts/part-00000002.parquet", put("cost", 3, 0.125))
    alone = call("verify", folder / "audit", "--jobs", 1)
    together = call("verify", folder / "audit", "--jobs", 2)
    assert (together.code, together.out) == (alone.code, alone.out) == (4, alone.out)
    assert "1 of 24 that were checked failed" in alone.out


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cost", 0.125, "cost is 0.125 in the audit; the proof has"),
        ("lower_bound", 0.125, "lower_bound is 0.125 in the audit"),
        ("new_age", 40, "new_age is 40 in the audit; the proof has None"),
        ("label", 0, "label is 0 in the audit"),
        ("leaf", 99, "leaf is 99 in the audit"),
    ],
)
def test_answers_that_differ_from_their_proofs(folder, name, value, expected):
    change(folder / "audit/parts/part-00000001.parquet", put(name, 2, value))
    out = failures(folder)
    assert f"FAIL file 0, row 10: {expected}" in out
    assert "1 of 24" in out


@pytest.mark.parametrize(("name", "value"), [("status", "infeasible"), ("n_changed", 9), ("confirmed", False), ("row", 99)])
def test_parts_whose_counts_or_places_were_changed(folder, name, value):
    change(folder / "audit/parts/part-00000001.parquet", put(name, 2, value))
    assert "part-00000001.parquet was changed after it was written" in mistake("verify", folder / "audit", "--jobs", 1)


def swap(folder, edit):
    change(folder / "audit/proofs/part-00000001.parquet", edit)
    return failures(folder)


def test_swapped_proofs(folder):
    proofs = parquet.read_table(folder / "audit/proofs/part-00000001.parquet")["proof"].to_pylist()
    out = swap(folder, put("proof", 0, proofs[1]))
    assert "FAIL file 0, row 8: the proof is about another row" in out


def test_proofs_of_another_question(folder):
    proofs = parquet.read_table(folder / "other/proofs/part-00000001.parquet")["proof"].to_pylist()
    assert "row 8: the proof is about another question" in swap(folder, put("proof", 0, proofs[0]))


@pytest.mark.parametrize(
    "change_question",
    [
        {"constraints": []},
        {"cost": cl.L1()},
        {"margin": 0.01},
        {"target": [2, 1]},
        {"constraints": [cl.freeze("age"), cl.max_changes(5)]},
    ],
    ids=str,
)
def test_honest_proofs_of_similar_questions(folder, change_question):
    row = parquet.read_table(folder / "rows.parquet").to_pylist()[8]
    question = {"target": [2], "constraints": [cl.freeze("age")], **change_question}
    text = small().explain(row, **question).to_json()
    assert "row 8: the proof is about another question" in swap(folder, put("proof", 0, text))


def test_proofs_about_another_model(folder):
    row = parquet.read_table(folder / "rows.parquet").to_pylist()[8]
    best = small().explain(row, target=[2], constraints=[cl.freeze("age")])[0]
    old, new = best.changes["pay=net"]
    ends = (min(old, (old + new) / 2), max(old, (old + new) / 2))  # the cheapest change is outside
    narrow = small().with_features(cl.Numeric("pay=net", *ends))
    text = narrow.explain(row, target=[2], constraints=[cl.freeze("age")]).to_json()
    assert cl.Explanation.from_json(text).certificate.check()
    assert "row 8: the proof does not hold for the audit's model" in swap(folder, put("proof", 0, text))


def test_forged_proofs(folder):
    proofs = parquet.read_table(folder / "audit/proofs/part-00000001.parquet")["proof"].to_pylist()
    content = json.loads(proofs[0])
    content["certificate"]["costs"] = [0.0]
    assert "row 8: the answer's JSON was changed after it was written" in swap(folder, put("proof", 0, json.dumps(content)))
    assert "row 8: not a counterleaf answer" in swap(folder, put("proof", 0, "{"))


def test_proofs_that_are_missing(folder):
    path = folder / "audit/proofs/part-00000001.parquet"
    change(path, lambda table: table.slice(1))
    assert "does not have one proof for each answer" in failures(folder)
    path.unlink()
    assert "part-00000001.parquet is missing; run the audit again" in mistake("verify", folder / "audit", "--jobs", 1)
    audit(folder, folder / "rows.parquet", *TARGET, "--proofs", "--freeze", "age", "--jobs", 1)
    assert call("verify", folder / "audit", "--jobs", 1).code == 0


def test_damaged_and_foreign_files(folder):
    part = folder / "audit/parts/part-00000001.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:-30])
    assert "part-00000001.parquet is damaged" in mistake("verify", folder / "audit", "--jobs", 1)
    at = len(whole) // 3
    part.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
    assert "part-00000001.parquet" in mistake("verify", folder / "audit", "--jobs", 1)
    shutil.copy(folder / "other/parts/part-00000001.parquet", part)
    assert "part-00000001.parquet belongs to another audit" in mistake("verify", folder / "audit", "--jobs", 1)
    part.unlink()
    assert "is not complete: 1 of 3 parts are missing; run the audit again" in mistake("verify", folder / "audit")


def test_inputs_that_moved_or_changed(folder, proved):
    for out in ("audit", "other"):  # the manifest names the files of the first folder
        manifest = folder / out / "manifest.json"
        content = json.loads(manifest.read_text())
        content["inputs"][0]["path"] = str(folder / "rows.parquet")
        manifest.write_text(json.dumps(content))
    assert call("verify", folder / "audit", "--jobs", 1).code == 0
    (folder / "rows.parquet").rename(folder / "moved.parquet")
    done = call("verify", folder / "audit", "--jobs", 1)
    assert done.code == 0
    assert "the inputs are not there, so that the rows, the columns that are kept, the invalid rows, the changes" in done.out
    write_rows(folder / "rows.parquet", rows_of(24, seed=9))
    assert "rows.parquet was changed since the audit began" in mistake("verify", folder / "audit", "--jobs", 1)


def test_the_sample(tmp_path):
    frame = numbers(1500)
    X = frame.to_numpy()
    tree = cl.Tree(
        [1, -1, -1], [2, -1, -1], [[1.0, 1.0, 0, 0], [0] * 4, [0] * 4], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"]
    )
    write_model(tmp_path, cl.Explainer(tree, data=X))
    rows = write_rows(tmp_path / "rows.parquet", frame)
    audit(tmp_path, rows, "--target", "yes", "--part-rows", 200)
    manifest = read_manifest(tmp_path / "audit")
    chosen = choose(manifest)
    assert sum(map(len, chosen.values())) == 1000
    assert choose(manifest) == chosen
    sample = json.loads((tmp_path / "audit/sample.json").read_text())
    assert sample["checked"] == 1000
    assert sample["rows"] == [[0, 200 * part + row] for part, some in chosen.items() for row in some]
    done = call("verify", tmp_path / "audit")
    assert done.code == 0
    assert (
        "no proofs are kept: 1,000 random rows were explained again, their proofs hold, and all of their cells agree"
        in done.out
    )
    part, row = 3, chosen[3][0]
    change(tmp_path / f"audit/parts/part-{part:08d}.parquet", put("cost", row, 0.5))
    done = call("verify", tmp_path / "audit")
    assert done.code == 4
    assert f"FAIL file 0, row {200 * part + row}: cost is 0.5 in the audit" in done.out
    (tmp_path / "audit/sample.json").unlink()
    again = call("audit", tmp_path / "model.json", rows, "--target", "yes", "--out", tmp_path / "audit")
    assert again.code == 4
    assert "1,000 random rows were explained again and their proofs checked in " in again.out
    assert ": 1 failed." in again.out
    rows.unlink()
    assert "keeps no proofs, and its inputs are not there" in mistake("verify", tmp_path / "audit")


def test_bad_calls(folder, tmp_path):
    (tmp_path / "none").mkdir()
    assert "none has no manifest.json; expected the folder of an audit" in mistake("verify", tmp_path / "none").replace("'", "")
    assert "holds its own model" in mistake("verify", folder / "audit", "--model", folder / "model.json")
    assert "--jobs is 0" in mistake("verify", folder / "audit", "--jobs", 0)


def test_proofs_do_not_change_the_answers(folder):
    plain = audit(folder, folder / "rows.parquet", *TARGET, "--freeze", "age", "--part-rows", 8, out="plain")
    kept = {name: content for name, content in contents(folder / "audit").items() if name.startswith("parts/")}
    assert len(kept) == 3
    table = pa.concat_tables([parquet.read_table(folder / "audit" / name) for name in sorted(kept)])
    assert table.equals(plain)
