"""``counterleaf demo``: what it tells is true, and the files it writes are whole."""

import io
import pickle
import re
import subprocess

import pandas as pd
import pytest
from cli_cases import call, mistake

import counterleaf as cl
from counterleaf import samples, tour, warm
from counterleaf.cli.demo import _ended


class Compiled:
    """A process that has ended; the kernels are compiled already."""

    @classmethod
    def start(cls, *crews):
        return [cls()]

    def wait(self, seconds=None):
        return 0

    def kill(self):
        pass


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(warm, "start", Compiled.start)
    done = call("demo")
    assert (done.code, done.err) == (0, "")
    return done.out


def test_the_tour_tells_what_is_true(told):
    assert [int(number) for number in re.findall(r"^(\d)\. ", told, re.MULTILINE)] == [1, 2, 3, 4, 5, 6]
    assert "4 of 4 proofs hold" in told
    explainer, rows = samples.load("german"), samples.applicants()
    first = explainer.explain(rows.iloc[tour.ROW], target="granted", constraints=[tour.GIVEN])
    assert first.label == "refused"
    assert str(first) in told
    table = explainer.explain_many(rows, target="granted", constraints=[tour.GIVEN, tour.MONEY], progress=False)
    still = int((table["n_changed"] == 0).sum())
    assert f": {still} need no change, {len(rows) - still} have a cheapest one;" in told
    assert f"the model confirms {len(rows)} of {len(rows)}." in told
    assert told.rstrip().endswith("counterleaf --help")
    counts = [int(count) for count in re.findall(r"^ +(\d+)  \w+$", told, re.MULTILINE)]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) >= 2


def test_the_tour_has_no_colours_where_there_is_no_terminal(told):
    assert "\x1b" not in told


def test_a_machine_that_must_compile_first_is_told_the_first_part_meanwhile(monkeypatch):
    class Slow(Compiled):
        def wait(self, seconds=None):
            if seconds is not None:
                raise subprocess.TimeoutExpired("warm", seconds)
            return 0

    told = []

    def run(command, env, check):
        told.append((command[1:], env["NUMBA_DISABLE_JIT"], check))

    monkeypatch.setattr(warm, "start", Slow.start)
    monkeypatch.setattr(subprocess, "run", run)
    done = call("demo")
    assert done.code == 0
    assert told == [(["-m", "counterleaf.tour"], "1", True)]
    assert "1. " not in done.out
    assert "6. All 200 applicants" in done.out


def test_a_process_that_goes_on_has_not_ended():
    process = subprocess.Popen(["sleep", "5"])
    assert not _ended(process, 0.01)
    process.kill()
    assert _ended(process, 5)


def test_the_files_are_what_the_examples_need(tmp_path):
    done = call("demo", "--save", tmp_path / "new")
    names = ["loans.csv", "applicants.csv", "model.json", "pipeline.pkl"]
    assert done.out == "".join(f"Wrote {tmp_path / 'new' / name}\n" for name in names)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(names)
    loans, applicants = (pd.read_csv(tmp_path / "new" / name, keep_default_na=False) for name in names[:2])
    assert loans.shape == (800, 21)
    assert set(loans["decision"]) == {"granted", "refused"}
    pd.testing.assert_frame_equal(
        applicants, pd.read_csv(io.StringIO(samples.applicants().to_csv(index=False)), keep_default_na=False)
    )
    assert cl.Explainer.from_json((tmp_path / "new/model.json").read_text()).to_json() == samples.load("german").to_json()
    model = pickle.loads((tmp_path / "new/pipeline.pkl").read_bytes())
    assert (model.predict(loans) == loans["decision"]).mean() > 0.7


def test_a_second_run_writes_the_same_and_nothing_over_what_is_another_s(tmp_path):
    call("demo", "--save", tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "loans.csv").unlink()
    assert call("demo", "--save", tmp_path).code == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "model.json").write_text("mine")
    (tmp_path / "loans.csv").unlink()
    line = f"{tmp_path / 'model.json'} is there already and holds something else; give another folder, such as --save try"
    assert mistake("demo", "--save", tmp_path) == line
    assert not (tmp_path / "loans.csv").exists()
    assert (tmp_path / "model.json").read_text() == "mine"


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path):
    (tmp_path / "here").write_text("a file")
    assert mistake("demo", "--save", tmp_path / "here").endswith("cannot be written: what its folder is named like is a file")
