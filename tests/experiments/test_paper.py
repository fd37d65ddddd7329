"""``counterleaf-experiments reproduce``: a small run, its files, and the errors of its options."""

import base64
import json
import re
import sys
from html.parser import HTMLParser

import pandas as pd
import pytest
from typer.testing import CliRunner

import counterleaf as cl
from counterleaf_experiments.commands import app
from counterleaf_experiments.paper import figures, published, run, tables
from counterleaf_experiments.paper.instances import LEVELS, NORMS


def command(*arguments):
    """``counterleaf-experiments reproduce`` in this process, where scikit-learn and matplotlib are imported already."""
    line = ["reproduce", *map(str, arguments)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["counterleaf-experiments", *line])
        return CliRunner().invoke(app, line)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run of the command: two data sets, one instance per class."""
    folder = tmp_path_factory.mktemp("run") / "out"
    arguments = ("--set", "breast", "--set", "digits", "--quick", "--per-class", "1", "--out", folder)
    return folder, arguments, command(*arguments)


class Page(HTMLParser):
    """The text of a page, its links, and whether tags close as they open."""

    def __init__(self, text):
        super().__init__()
        self.text, self.links, self.open, self.sound = "", [], [], True
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.sound = self.sound and bool(self.open) and self.open.pop() == tag

    def handle_data(self, data):
        self.text += f" {data}"


@pytest.mark.slow
def test_a_run_reports_what_holds_and_where_the_report_is(finished):
    folder, _, done = finished
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert [line[:4] for line in lines[:-2]] == ["ok  "] * 10
    assert "Our mean time, on this machine, is below the paper's" in lines[-2]  # a busy machine may be slow
    assert lines[-1] == f"Report: {folder / 'report.html'}"
    assert "\r" not in done.stderr  # no bars if stderr is not a terminal


@pytest.mark.slow
def test_the_report_is_one_well_formed_page_with_our_and_the_papers_numbers(finished):
    folder, _, _ = finished
    page = Page((folder / "report.html").read_text())
    assert page.sound
    assert not page.open
    for words in (
        "Table 2",
        "Table 3",
        "Table 6",
        "Figures 1 and 2",
        "claim that was tested holds.",
        "MNIST was not run",
        "100 % answered",
        "0.35±0.33",
        "counterleaf-experiments reproduce",
    ):
        assert words in page.text
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", page.text)
    assert len(page.links) == 5  # pictures, inside the page
    for link in page.links:
        assert base64.b64decode(link.removeprefix("data:image/png;base64,"))[:4] == b"\x89PNG"
    assert str(folder.parent.parent) not in page.text.replace(str(folder), "")


@pytest.mark.slow
def test_the_tables_are_filled_and_ours_is_the_least(finished):
    folder, _, _ = finished
    for name, other in (("table2", "nearest"), ("table3", "tweaking")):
        table = pd.read_csv(folder / f"{name}.csv")
        assert table["set"].tolist() == ["Digits 8 by 8"] * LEVELS + ["Breast Cancer"] * LEVELS
        ours = table[[f"{norm}{what}" for norm in NORMS for what in ("", " ms", " off by")]]
        assert ours.notna().all(axis=None)
        assert (table["feasible %"] == 100).all()
        assert f"{other} l2" in table
    lines = pd.concat(pd.read_csv(path) for path in (folder / "instances").glob("*-[0-2]-l?.csv"))
    assert len(lines) == (10 + 2) * 2 * LEVELS * len(NORMS)
    assert (lines["status"] == "optimal").all()
    assert lines[["proved", "tree_agrees", "model_agrees", "constraints_hold"]].all(axis=None)
    for name in ("nearest_cost", "tweaking_cost"):
        valid = lines[lines[name].notna()]
        assert len(valid)
        assert (valid["cost"] <= valid[name]).all()
    errors = pd.read_csv(folder / "table6.csv")
    assert errors["paper tao test"].tolist()[1] == 2.1
    digits = pd.read_csv(folder / "digits.csv")
    assert len(digits) == len(published.DIGITS) * len(figures.Digits.columns)
    assert digits["proved"].all()
    assert digits[digits["cost"].notna()]["model_agrees"].all()


@pytest.mark.slow
def test_a_stopped_run_continues_and_gives_the_same(finished):
    folder, arguments, _ = finished
    lost, other = folder / "instances/breast-axis-1-l2.csv", folder / "instances/breast-axis-1-l1.csv"
    before, stamp = pd.read_csv(lost), other.stat().st_mtime_ns
    lost.unlink()
    (folder / "report.html").unlink()
    assert command(*arguments).exit_code == 0
    after = pd.read_csv(lost)
    same = [name for name in before if not name.endswith("ms")]
    pd.testing.assert_frame_equal(after[same], before[same])
    assert other.stat().st_mtime_ns == stamp
    runs = json.loads((folder / "run.json").read_text())["runs"]
    assert len(runs) == 2
    assert all(re.fullmatch(r"\d+ seconds", one["took"]) and "numpy " in one["versions"] for one in runs)
    assert (folder / "report.html").exists()
    assert not list(folder.rglob(".*"))  # nothing half-written


@pytest.mark.slow
def test_the_trees_are_counterleaf_json_with_their_settings(finished):
    folder, _, _ = finished
    for path in (folder / "trees").iterdir():
        tree, settings = cl.Tree.from_json(path.read_text()), json.loads(path.read_text())["settings"]
        assert tree.n_features == {"breast": 9, "digits": 64}[settings["set"]]
        assert settings["seed"] == 0
        assert settings["chosen"]["random_state"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "iris"], "unknown data set 'iris'; expected some of digits, adult, breast, spambase, letter, german"),
        (["--set", "mnist"], "MNIST is not bundled; pass --mnist FOLDER with its four files, or --download"),
        (["--per-class", "0"], "--per-class is 0; expected a whole number from 1"),
        (["--seed", "-1"], "--seed is -1; expected a whole number from 0 to 4000000000"),
        (["--seed", "5000000000"], "--seed is 5000000000; expected a whole number from 0 to 4000000000"),
        (["--mnist", "nowhere", "--set", "breast"], "MNIST is selected, but --set names only breast; add --set mnist"),
        (
            ["--mnist", "nowhere"],
            "nowhere has no train-images-idx3-ubyte, plain or .gz; expected the four IDX files of MNIST there",
        ),
        (["--mnist", "nowhere", "--download"], "folder is 'nowhere' and download is True; pass one of them"),
    ],
)
def test_a_wrong_argument_is_one_line(arguments, message, tmp_path):
    done = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert done.stderr == f"counterleaf: {message}\n"
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    done = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "is not empty and contains no earlier run; name another folder with --out" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_in_place_of_a_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file/below"):
        done = CliRunner().invoke(app, ["reproduce", "--set", "breast", "--out", str(out)])
        assert done.exit_code == 2
        assert len(done.stderr.splitlines()) == 1
        assert str(out) in done.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_other_settings_need_another_folder_or_a_fresh_start(tmp_path):
    small = run.make_plan(True, 0, None, ("breast",), False)
    assert run.claim(tmp_path / "out", small, False) == []
    (tmp_path / "out/instances").mkdir()
    run.claim(tmp_path / "out", small, False)
    with pytest.raises(
        cl.CounterleafError, match="contains a run with other settings; name another folder with --out, or pass --fresh"
    ):
        run.claim(tmp_path / "out", run.make_plan(True, 1, None, ("breast",), False), False)
    assert (tmp_path / "out/instances").exists()
    (tmp_path / "out/run.json").write_text("{")
    with pytest.raises(cl.CounterleafError, match="other settings"):
        run.claim(tmp_path / "out", small, False)
    run.claim(tmp_path / "out", run.make_plan(True, 1, None, ("breast",), False), True)
    assert not (tmp_path / "out/instances").exists()


def test_an_interrupt_is_one_line_and_130(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "reproduce", interrupted)
    done = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 130
    assert done.stderr == "counterleaf: interrupted; the same command continues from here\n"


def test_a_claim_that_fails_is_exit_code_4(tmp_path, monkeypatch):
    class Failed:
        verdicts = (tables.Verdict("All is well", 3, 1, "not quite"),)

    monkeypatch.setattr(run, "reproduce", lambda *_: Failed)
    done = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 4
    assert "FAIL All is well (2 of 3) not quite" in done.stdout
    Failed.verdicts = (tables.Verdict("All is fast", 3, 1, of_speed=True),)
    done = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert "slow All is fast (2 of 3)" in done.stdout


def test_packages_are_checked_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = CliRunner().invoke(app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "reproduce needs matplotlib; install with: pip install matplotlib" in done.stderr


def test_the_default_plan_is_the_papers():
    assert run.make_plan(False, 0, None, (), True) == run.Plan(
        ("mnist", "adult", "breast", "spambase", "letter", "german"), 20, 0, 5
    )
    assert run.make_plan(True, 0, None, ("german", "breast"), False).sets == ("breast", "german")
