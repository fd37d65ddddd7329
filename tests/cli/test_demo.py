"""``counterleaf demo``: its output is true, and its files are complete."""

import io
import pickle
import re
import subprocess
import sys

import pandas as pd
import pytest
from support.cli_cases import call, mistake

import counterleaf as cl
from counterleaf.cli.commands.demo import AMOUNT, ROW
from counterleaf.datasets import samples

LOCKED = cl.freeze(*samples.IMMUTABLE["german"])


@pytest.fixture
def output():
    done = call("demo")
    assert (done.code, done.err) == (0, "")
    return done.out


def test_the_output_of_the_tour_is_true(output):
    assert [int(number) for number in re.findall(r"^(\d)\. ", output, re.MULTILINE)] == [1, 2, 3, 4, 5, 6]
    assert "4 of 4 proofs hold" in output
    explainer, rows = samples.load("german"), samples.applicants()
    first = explainer.explain(rows.iloc[ROW], target="granted", constraints=[LOCKED])
    assert first.source_label == "refused"
    assert str(first) in output
    table = explainer.explain_many(rows, target="granted", constraints=[LOCKED, AMOUNT], progress=False)
    still = int((table["n_changed"] == 0).sum())
    assert f": {still} need no change, {len(rows) - still} have a cheapest change;" in output
    assert f"the model confirms {len(rows)} of {len(rows)}." in output
    assert output.rstrip().endswith("counterleaf --help")
    counts = [int(count) for count in re.findall(r"^ +(\d+)  \w+$", output, re.MULTILINE)]
    assert counts == sorted(counts, reverse=True)
    assert len(counts) >= 2


def test_the_tour_has_no_colours_where_there_is_no_terminal(output):
    assert "\x1b" not in output


@pytest.mark.slow
def test_the_command_itself_prints_the_same_and_nothing_on_stderr(output):
    done = subprocess.run([sys.executable, "-m", "counterleaf", "demo"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    timeless = [re.sub(r"\d+\.\d\d s:", "", text) for text in (done.stdout, output)]
    assert timeless[0] == timeless[1]


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
    line = f"{tmp_path / 'model.json'} exists with other content; give another folder, such as --save try"
    assert mistake("demo", "--save", tmp_path) == line
    assert not (tmp_path / "loans.csv").exists()
    assert (tmp_path / "model.json").read_text() == "mine"


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path):
    (tmp_path / "here").write_text("a file")
    assert mistake("demo", "--save", tmp_path / "here").endswith("loans.csv: its parent directory is a file")
