"""Audits of files in stores, into stores, and addresses that cannot be read or written, each refused in one line."""

import fsspec
import numpy as np
import pytest
from support.audit_cases import TARGET, contents, write_model, write_rows
from support.cli_cases import call, mistake, rows_of, small

import counterleaf as cl
from counterleaf.audit.checking.verify import verify_audit
from counterleaf.audit.files import place
from counterleaf.audit.manifest import Settings
from counterleaf.audit.run import RunOptions, run_audit

QUESTION = cl.Question(2)


@pytest.fixture
def store():
    """A store in memory; it is empty in the end."""
    found = fsspec.filesystem("memory")
    yield found
    for path in found.ls("/", detail=False):
        found.rm(path, recursive=True)


def put(store, folder, names):
    for k, name in enumerate(names):
        store.pipe(f"/bucket/rows/{name}", write_rows(folder / name, rows_of(70, seed=k)).read_bytes())


def parts(store, out):
    return {path.rpartition("/")[2]: store.cat(path) for path in store.find(f"/bucket/{out}/parts")}


@pytest.mark.parametrize(
    ("names", "pattern", "proofs"),
    [
        (("a.parquet", "b.parquet"), "memory://bucket/rows", True),
        (("a.csv", "b.csv", "c.csv.gz"), "memory://bucket/**/[a-c].csv*", False),
        (("a.jsonl", "b.jsonl.gz"), "memory://bucket/rows/*", False),
    ],
)
def test_the_parts_in_a_store_are_those_of_a_folder(store, tmp_path, names, pattern, proofs):
    put(store, tmp_path, names)
    settings, options = Settings(("age",), proofs=proofs), RunOptions(jobs=1)
    run_audit(small(), [pattern], "memory://bucket/out", QUESTION, part_rows=30, settings=settings, options=options)
    local = [tmp_path / name for name in names]
    run_audit(small(), local, tmp_path / "out", QUESTION, part_rows=30, settings=settings, options=options)
    whole = parts(store, "out")
    assert whole == {path.name: path.read_bytes() for path in (tmp_path / "out/parts").iterdir()}
    found = verify_audit("memory://bucket/out", 1)
    assert (found.rows, found.failures) == (70 * len(names), [])
    report = cl.Audit.read("memory://bucket/out", by="age:40", conflicts=0)
    assert str(report) == str(cl.Audit.read(tmp_path / "out", by="age:40", conflicts=0))
    damaged = "part-00000001.parquet"
    store.pipe(f"/bucket/out/parts/{damaged}", whole[damaged][:-9])
    store.rm("/bucket/out/parts/part-00000002.parquet")
    with pytest.raises(cl.CounterleafError, match=r"^memory://bucket/out is not complete: 1 of"):
        verify_audit("memory://bucket/out", 1)
    done = run_audit(small(), [pattern], "memory://bucket/out", QUESTION, settings=settings, options=options)
    assert done.counts["rows"] - done.done_before <= 60
    assert parts(store, "out") == whole
    store.pipe("/bucket/out/parts/part-00000099.parquet", whole[damaged])
    with pytest.raises(cl.CounterleafError, match=r"part-00000099.parquet is not part of the audit; remove it"):
        verify_audit("memory://bucket/out", 1)


def test_folders_of_a_store_that_do_not_fit(store, tmp_path):
    put(store, tmp_path, ["a.csv"])
    rows, options = "memory://bucket/rows/a.csv", RunOptions(jobs=1)
    store.pipe("/bucket/full/letter.txt", b"Dear")
    for out, expected in (
        ("memory://bucket/full", "memory://bucket/full holds letter.txt and no manifest of an audit; pass another --out"),
        ("memory://bucket/rows", "memory://bucket/rows/a.csv is in the folder of the audit; pass another --out"),
        ("memory://bucket", "memory://bucket/rows/a.csv is in the folder of the audit; pass another --out"),
    ):
        with pytest.raises(cl.CounterleafError) as caught:
            run_audit(small(), [rows], out, QUESTION, options=options)
        assert str(caught.value) == expected
    run_audit(small(), [rows], "memory://bucket/rows/out", QUESTION, options=options)  # a folder below is left out
    again = run_audit(small(), ["memory://bucket/rows"], "memory://bucket/rows/out", QUESTION, options=options)
    assert again.done_before == 70


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("memory://bucket/none", "there is no file memory://bucket/none"),
        ("memory://bucket/no*.csv", "no file matches memory://bucket/no*.csv"),
        ("memory://bucket/rows?a=b", "options of memory:// are not known; omit what follows the ?"),
        ("s3://key:secret@bucket/rows", "the s3:// address holds a password, which the manifest would keep"),
        ("nothing://bucket/rows", "no file system for nothing:// (Protocol not known: nothing); expected a path, s3://"),
        ("file://host/rows", "file://host/rows is on another machine; expected file:///folder/name"),
    ],
)
@pytest.mark.parametrize("side", ["rows", "--out"])
def test_addresses_that_cannot_be_used(tmp_path, monkeypatch, address, expected, side):
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path)
    rows = write_rows(tmp_path / "rows.csv", rows_of(5))
    if side == "--out" and not expected.startswith(("there is", "no file matches")):
        assert expected in mistake("audit", "model.json", rows, *TARGET, "--out", address)
        assert expected in mistake("verify", address)
        assert expected in mistake("report", address)
    elif side == "rows":
        message = mistake("audit", "model.json", address, *TARGET, "--out", "audit")
        assert expected in message
        assert "secret" not in message
    assert {path.name for path in tmp_path.iterdir()} == {"model.json", "rows.csv"}


def test_a_store_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in (("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b"), ("AWS_EC2_METADATA_DISABLED", "true")):
        monkeypatch.setenv(name, value)
    write_model(tmp_path)
    rows = write_rows(tmp_path / "rows.csv", rows_of(5))
    address = "s3://bucket/out?endpoint_override=127.0.0.1:9&scheme=http&region=x"
    message = mistake("audit", "model.json", rows, *TARGET, "--out", address)
    assert message.startswith("s3://bucket/out cannot be reached: ")
    assert "\n" not in message
    assert {path.name for path in tmp_path.iterdir()} == {"model.json", "rows.csv"}


@pytest.mark.parametrize("command", [["explain", "model.json", "rows.csv", *TARGET], ["report", "audit"]], ids=str)
def test_commands_that_write_to_no_store(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path)
    write_rows(tmp_path / "rows.csv", rows_of(5))
    name = "s3://bucket/page.html" if command[0] == "report" else "s3://bucket/answers.csv"
    line = f"cannot write {name}: it is an address; expected the name of a file on this machine"
    assert mistake(*command, "--out", name) == line
    assert not (tmp_path / "s3:").exists()


def test_a_command_writes_to_no_store_that_ends_with_it(tmp_path):
    (tmp_path / "model.json").write_text(small().to_json())
    rows_of(5).to_csv(tmp_path / "rows.csv", index=False)
    line = mistake("audit", tmp_path / "model.json", tmp_path / "rows.csv", "--target", "2", "--out", "memory://bucket/audit")
    assert line == "--out is memory://bucket/audit, which ends with the command; expected a folder or a store that stays"


def test_addresses_of_this_machine(tmp_path):
    write_model(tmp_path)
    (tmp_path / "a b").mkdir()
    write_rows(tmp_path / "a b/rows.csv", rows_of(40))
    rows = f"file://{tmp_path}/a%20b/rows.csv"
    done = call("audit", tmp_path / "model.json", rows, *TARGET, "--out", f"file://{tmp_path}/audit")
    assert done.code == 0, done.err
    assert call("audit", tmp_path / "model.json", tmp_path / "a b/rows.csv", *TARGET, "--out", tmp_path / "other").code == 0
    assert contents(tmp_path / "audit") == contents(tmp_path / "other")


@pytest.mark.parametrize(
    ("pattern", "expected"), [("*", "xy"), ("**/*", "xyz"), ("d/*", "z"), ("[!x]*", "y"), ("**/z", "z"), ("d*/**/z", "z")]
)
def test_patterns(store, pattern, expected):
    from counterleaf.audit.files import matching

    for name in ("x", "y", "d/z"):
        store.pipe(f"/bucket/{name}", b"1")
    assert "".join(sorted(one.name for one in matching(place(f"memory://bucket/{pattern}")))) == expected


def test_an_object_as_a_file(store):
    path = place("memory://bucket/a") / "b"
    content = np.arange(99, dtype=np.uint8).tobytes()
    path.write_bytes(content)
    assert (path.read_bytes(), path.name, str(path)) == (content, "b", "memory://bucket/a/b")
    assert path.is_file()
    assert place("memory://bucket/a").is_dir()
    path.unlink()
    path.unlink(missing_ok=True)
    assert not path.exists()
