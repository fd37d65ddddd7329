"""The files of ``counterleaf explain``: an interrupt, a full disk or a closed pipe leaves no partial file."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from support.cli_cases import call, mistake, rows_of, small

import counterleaf as cl
from counterleaf.storage import files

EXPLAINER, ROWS = small(), rows_of(12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model and its rows."""
    at = tmp_path_factory.mktemp("files")
    (at / "model.json").write_text(EXPLAINER.to_json())
    ROWS.to_csv(at / "rows.csv", index=False)
    return at


def test_a_link_stays_a_link(folder, tmp_path):
    (tmp_path / "true.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "true.csv")
    assert call("explain", folder / "model.json", folder / "rows.csv", "--out", tmp_path / "link.csv").code == 0
    assert (tmp_path / "link.csv").is_symlink()
    frame = EXPLAINER.explain_many(ROWS, digits="short", progress=False).rename_axis("row").reset_index()
    assert (tmp_path / "true.csv").read_text() == frame.to_csv(index=False)


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    line = "it is not a regular file; expected the name of a file"
    with pytest.raises(cl.CounterleafError, match=line), files.aside(tmp_path / "pipe.csv"):
        pass
    assert (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.txt"])
def test_an_interrupted_batch_leaves_the_old_file(folder, tmp_path, monkeypatch, name):
    (tmp_path / name).write_text("old")
    count = iter(range(100))

    def stop(self, *arguments, **question):
        if name in ("a.csv", "a.parquet") or next(count) == 5:
            raise KeyboardInterrupt
        return explain(self, *arguments, **question)

    explain = cl.Explainer.explain
    monkeypatch.setattr(cl.Explainer, "explain_many" if name in ("a.csv", "a.parquet") else "explain", stop)
    done = call("explain", folder / "model.json", folder / "rows.csv", "--out", tmp_path / name)
    assert (done.code, done.err) == (130, "counterleaf: interrupted; nothing was written\n")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


def test_a_full_disk_leaves_the_old_file(folder, tmp_path, monkeypatch):
    def full(self, path, **options):
        path.write_text("half")
        raise OSError(28, "No space left on device", str(path))

    (tmp_path / "a.csv").write_text("old")
    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    assert mistake("explain", folder / "model.json", folder / "rows.csv", "--out", tmp_path / "a.csv").endswith(
        "No space left on device"
    )
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.csv", "old")]


def _start(arguments, **how):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-m", "counterleaf", *map(str, arguments)], env=environment, **how)


def _stopped(folder, tmp_path, number):
    """Send a signal to a long batch once it writes its file; returns its exit code, output and directory."""
    long = pd.concat([ROWS] * 5_000)
    long.to_csv(tmp_path / "long.csv", index=False)
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.jsonl").write_text("old")
    arguments = ["explain", folder / "model.json", tmp_path / "long.csv", "--out", out / "a.jsonl"]
    process = _start(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    part, until = out / f".a.jsonl.{process.pid}.part", time.monotonic() + 60
    while not (part.exists() and part.stat().st_size > 10_000):
        assert time.monotonic() < until
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(number)
    output = process.communicate(timeout=60)
    return process.returncode, output, sorted(path.name for path in out.iterdir()), (out / "a.jsonl").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "kill"])
def test_an_interrupted_batch_is_code_130_and_leaves_nothing_half(folder, tmp_path, number):
    code, output, left, content = _stopped(folder, tmp_path, number)
    assert (code, output) == (130, ("", "counterleaf: interrupted; nothing was written\n"))
    assert (left, content) == (["a.jsonl"], "old")


@pytest.mark.slow
def test_a_kill_in_a_batch_leaves_the_old_file_whole(folder, tmp_path):
    code, _, left, content = _stopped(folder, tmp_path, signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert content == "old"
    assert [name for name in left if not name.endswith(".part")] == ["a.jsonl"]  # no command reads a .part file


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_not_an_error(folder):
    arguments = ["explain", folder / "model.json", folder / "rows.csv", "--format", "csv"]
    process = _start(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), errors) == (0, b"")


@pytest.mark.slow
def test_where_there_is_no_terminal_there_are_no_bars_and_no_colours(folder):
    arguments = ["explain", folder / "model.json", folder / "rows.csv", "--format", "json", "--count", "2"]
    done = _start(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE).communicate()
    assert done[1] == b""
    assert b"\x1b" not in done[0]
    assert done[0].count(b"\n") == len(ROWS)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.xlsx", "out.parquet", "out.txt"])
def test_answers_without_proofs_are_not_verified(folder, tmp_path, name):
    out = tmp_path / name
    assert call("explain", folder / "model.json", folder / "rows.csv", "--out", out).code in (0, 3)
    line = f"{out} contains no proofs; expected JSON lines: counterleaf explain ... --format json"
    assert mistake("verify", out) == line
    out.rename(tmp_path / "answers.jsonl")
    if not name.endswith((".csv", ".txt")):  # text is read line by line
        assert mistake("verify", tmp_path / "answers.jsonl") == line.replace(str(out), str(tmp_path / "answers.jsonl"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("taken.csv", "it is a directory; expected the name of a file"),
        ("file/x/a.csv", "its parent directory is a file"),
        ("x" * 300 + ".csv", "File name too long; expected the name of a file"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(folder, tmp_path, monkeypatch, name, reason):
    monkeypatch.setattr(cl.Explainer, "explain_many", None)
    (tmp_path / "taken.csv").mkdir()
    (tmp_path / "file").write_text("x")
    line = mistake("explain", folder / "model.json", folder / "rows.csv", "--out", tmp_path / name)
    assert line.startswith("cannot write ")
    assert line.endswith(f": {reason}")
    assert sorted(os.listdir(tmp_path)) == ["file", "taken.csv"]


@pytest.mark.parametrize("address", ["s3://bucket/a.csv", "S3://bucket/a.csv", "file:///folder/a.csv", "git+ssh://host/a.csv"])
def test_an_address_is_no_folder_of_this_machine(folder, tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    line = mistake("explain", folder / "model.json", folder / "rows.csv", "--out", address)
    assert line == f"cannot write {address}: it is an address; expected the name of a file on this machine"
    assert not os.listdir(tmp_path)


def test_folders_that_are_missing_are_made(folder, tmp_path):
    out = tmp_path / "new" / "deep" / "a.txt"
    assert call("explain", folder / "model.json", folder / "rows.csv", "--row", "0", "--out", out).code in (0, 3)
    assert out.is_file()


def test_a_table_in_another_encoding_is_said_so(folder, tmp_path):
    (tmp_path / "latin.csv").write_bytes((folder / "rows.csv").read_text().replace("cook", "k\xf6ch").encode("latin-1"))
    line = mistake("explain", folder / "model.json", tmp_path / "latin.csv")
    assert line == f"{tmp_path / 'latin.csv'} is not text in UTF-8; save it as UTF-8, which spreadsheets call CSV UTF-8"
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + (folder / "rows.csv").read_bytes())
    assert call("explain", folder / "model.json", tmp_path / "bom.csv").code in (0, 3)


def test_an_answer_is_no_model(folder, tmp_path):
    answers = tmp_path / "a.jsonl"
    call("explain", folder / "model.json", folder / "rows.csv", "--row", "0", "--out", answers)
    line = f"{answers} is an answer; expected a model: counterleaf train or convert writes one"
    assert mistake("explain", answers, folder / "rows.csv") == line
    assert mistake("verify", answers, "--model", answers) == line
    assert mistake("inspect", tmp_path) == f"{tmp_path} is a directory; expected a model as counterleaf JSON"
