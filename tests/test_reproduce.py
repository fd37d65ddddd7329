import base64
import json
import math
import re
import subprocess
import sys
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import counterleaf as cl
from counterleaf import cli
from counterleaf.datasets import load_adult
from counterleaf.learn import TAOClassifier
from counterleaf.reproduce import figures, grounds, paper, person, referee, run, tables, trees
from counterleaf.reproduce.instances import LEVELS, NORMS, Contest
from counterleaf.reproduce.trees import AXIS, OBLIQUE

TEX = Path(__file__).resolve().parents[2] / "shared/paper/counterfactuals-for-oblique-trees.tex"


@contextmanager
def quietly(title, steps):
    yield lambda: None


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "counterleaf", "reproduce", *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run of the command: two data sets, one instance per class."""
    folder = tmp_path_factory.mktemp("run") / "out"
    asked = ("--set", "breast", "--set", "digits", "--quick", "--per-class", "1", "--out", folder)
    return folder, asked, command(*asked)


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


def test_a_run_tells_what_holds_and_where_the_report_is(finished):
    folder, _, done = finished
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line[:4] for line in lines[:-2]] == ["ok  "] * 10
    assert "Our mean time, on this machine, is below the paper's" in lines[-2]  # a busy machine may be slow
    assert lines[-1] == f"Report: {folder / 'report.html'}"
    assert "\r" not in done.stderr  # no bars where stderr is no terminal


def test_the_report_is_one_sound_page_with_both_sides_numbers(finished):
    folder, _, _ = finished
    page = Page((folder / "report.html").read_text())
    assert page.sound
    assert not page.open
    for words in (
        "Table 2",
        "Table 3",
        "Table 6",
        "Figures 1 and 2",
        "claim that was tried holds.",
        "MNIST was not run",
        "0.35±0.33",
        "counterleaf reproduce",
    ):
        assert words in page.text
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", page.text)
    assert len(page.links) == 5  # pictures, inside the page
    for link in page.links:
        assert base64.b64decode(link.removeprefix("data:image/png;base64,"))[:4] == b"\x89PNG"
    assert str(folder.parent.parent) not in page.text.replace(str(folder), "")


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
    assert len(digits) == len(paper.DIGITS) * len(figures.Digits.columns)
    assert digits["proved"].all()
    assert digits[digits["cost"].notna()]["model_agrees"].all()


def test_a_stopped_run_goes_on_and_gives_the_same(finished):
    folder, asked, _ = finished
    lost, kept = folder / "instances/breast-axis-1-l2.csv", folder / "instances/breast-axis-1-l1.csv"
    before, stamp = pd.read_csv(lost), kept.stat().st_mtime_ns
    lost.unlink()
    (folder / "report.html").unlink()
    assert command(*asked).returncode == 0
    after = pd.read_csv(lost)
    same = [name for name in before if not name.endswith("ms")]
    pd.testing.assert_frame_equal(after[same], before[same])
    assert kept.stat().st_mtime_ns == stamp
    told = json.loads((folder / "run.json").read_text())["runs"]
    assert len(told) == 2
    assert all(re.fullmatch(r"\d+ seconds", one["took"]) and "numpy " in one["versions"] for one in told)
    assert (folder / "report.html").exists()
    assert not list(folder.rglob(".*"))  # nothing half-written


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
        (["--set", "iris"], "no data set 'iris'; expected some of digits, adult, breast, spambase, letter, german"),
        (["--set", "mnist"], "MNIST does not come along; pass --mnist FOLDER with its four files, or --download"),
        (["--per-class", "0"], "--per-class is 0; expected a whole number from 1"),
        (["--seed", "-1"], "--seed is -1; expected a whole number from 0 to 4000000000"),
        (["--seed", "5000000000"], "--seed is 5000000000; expected a whole number from 0 to 4000000000"),
        (["--mnist", "nowhere", "--set", "breast"], "MNIST is given, but --set asks for breast only; add --set mnist"),
        (
            ["--mnist", "nowhere"],
            "nowhere has no train-images-idx3-ubyte, plain or .gz; expected the four IDX files of MNIST there",
        ),
        (["--mnist", "nowhere", "--download"], "folder is 'nowhere' and download is True; pass one of them"),
    ],
)
def test_a_wrong_argument_is_one_line(arguments, message, tmp_path):
    done = CliRunner().invoke(cli.app, ["reproduce", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert done.stderr == f"counterleaf: {message}\n"
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    done = CliRunner().invoke(cli.app, ["reproduce", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "is not empty and holds no earlier run; name another folder with --out" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_in_place_of_a_folder_is_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file/below"):
        done = CliRunner().invoke(cli.app, ["reproduce", "--set", "breast", "--out", str(out)])
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
        cl.CounterleafError, match="holds a run with other settings; name another folder with --out, or pass --fresh"
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
    done = CliRunner().invoke(cli.app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 130
    assert done.stderr == "counterleaf: interrupted; the same command goes on from here\n"


def test_a_claim_that_fails_is_exit_code_4(tmp_path, monkeypatch):
    class Failed:
        verdicts = (tables.Verdict("All is well", 3, 1, "not quite"),)

    monkeypatch.setattr(run, "reproduce", lambda *_: Failed)
    done = CliRunner().invoke(cli.app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 4
    assert "FAIL All is well (2 of 3) not quite" in done.stdout
    Failed.verdicts = (tables.Verdict("All is fast", 3, 1, of_speed=True),)
    done = CliRunner().invoke(cli.app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert "slow All is fast (2 of 3)" in done.stdout


def test_matplotlib_is_asked_for_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = CliRunner().invoke(cli.app, ["reproduce", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert 'the report needs matplotlib; install it with: pip install "counterleaf[plots]"' in done.stderr


def test_the_plan_is_the_papers_unless_told_otherwise():
    assert run.make_plan(False, 0, None, (), True) == run.Plan(
        ("mnist", "adult", "breast", "spambase", "letter", "german"), 20, 0, 5
    )
    assert run.make_plan(True, 0, None, ("german", "breast"), False).sets == ("breast", "german")


@pytest.mark.parametrize(
    ("key", "columns", "shares"),
    [("breast", 9, (0, 11, 22)), ("spambase", 57, (0, 18, 53)), ("letter", 16, (0, 25, 62)), ("german", 61, (0, 7, 15)),
     ("adult", 102, (0, 7, 14))],
)  # fmt: skip
def test_grounds_are_the_papers(key, columns, shares):
    ground = grounds.load(key, 0)
    assert ground.X.shape[1] == columns
    assert tuple(math.floor(ground.share(level) + 0.5 - 1e-9) for level in range(LEVELS)) == shares
    assert set(ground.levels[0]) <= set(ground.levels[1]) <= set(ground.levels[2])
    if ground.table is None:
        assert ground.X.min() == 0
        assert ground.X.max() == 1
    assert not set(ground.train) & set(ground.test)
    assert len(ground.train) + len(ground.test) == len(ground.X)
    np.testing.assert_array_equal(ground.schema.encode(ground.row(3)), ground.X[3])


def test_a_tree_is_learned_once_and_restored_bit_for_bit(tmp_path, monkeypatch):
    ground = grounds.load("breast", 0)
    first = {kind: trees.grow(ground, kind, 0, tmp_path) for kind in trees.KINDS}
    for kind, grown in first.items():
        np.testing.assert_array_equal(grown.predict(ground.X), grown.tree.predict(ground.X))
        assert grown.errors(ground)[1] < 15
    monkeypatch.setattr(TAOClassifier, "fit", None)
    again = trees.grow(ground, OBLIQUE, 0, tmp_path)
    assert again.tree.to_json() == first[OBLIQUE].tree.to_json()
    np.testing.assert_array_equal(again.predict(ground.X), first[OBLIQUE].predict(ground.X))
    monkeypatch.undo()
    path = tmp_path / "breast-oblique.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"bias": [2 * b for b in kept["bias"]]}))  # no longer the tree that was learned
    assert trees.grow(ground, OBLIQUE, 0, tmp_path).tree.to_json() == first[OBLIQUE].tree.to_json()
    assert trees.grow(ground, OBLIQUE, 1, tmp_path).settings["seed"] == 1
    (tmp_path / "breast-axis.json").write_text("{")
    assert trees.grow(ground, AXIS, 0, tmp_path).tree.to_json() == first[AXIS].tree.to_json()


def test_scikit_learn_agrees_on_the_two_sides_of_a_threshold():
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.normal(size=2).astype(np.float32).astype(float) * 10.0 ** rng.integers(-3, 4)
        model = DecisionTreeClassifier().fit(values[:, None], [0, 1])
        last, first = referee._sides(float(model.tree_.threshold[0]))
        left = model.tree_.children_left[0]
        assert model.apply([[last], [first]]).tolist() == [left, model.tree_.children_right[0]]
        assert math.nextafter(last, math.inf) == first


@pytest.mark.parametrize("key", ["breast", "german"])
def test_referees_agree_with_the_search_and_with_each_other(key):
    ground = grounds.load(key, 1)
    for kind in trees.KINDS:
        contest = Contest(ground, trees.grow(ground, kind, 1))
        drawn = contest.draw(2, 5)
        assert len(drawn) == 4
        for level in range(LEVELS):
            for norm in NORMS:
                lines = contest.run(drawn, level, norm, lambda: None)
                assert (lines["cost"] - lines["optimum"]).abs().max() <= 1e-7 * lines["optimum"].max()
    rows = ground.X[ground.test[:3]]
    free = np.zeros(rows.shape[1], bool)
    target = contest.explainer.tree.classes.tolist()[0]
    enumeration = referee.Enumeration(trees.grow(ground, OBLIQUE, 1).tree, ground.schema)
    for power in (1, 2):
        costs = [enumeration.cost(row, target, free, power) for row in rows]
        enumeration.gurobi, env = None, enumeration.gurobi
        others = [enumeration.cost(row, target, free, power) for row in rows] if enumeration.solver(power) else costs
        assert enumeration.solver(power) == {1: "HiGHS", 2: "PIQP" if key == "breast" else ""}[power]
        enumeration.gurobi = env
        np.testing.assert_allclose(others, costs, rtol=1e-6, atol=1e-8)  # the interior point ends at 1e-10 of the terms


def test_a_row_from_which_nothing_leads_to_the_target_is_passed_over():
    ground = grounds.load("letter", 0)
    model = DecisionTreeClassifier(max_leaf_nodes=30, random_state=0).fit(ground.X[ground.train], ground.y[ground.train])
    contest = Contest(ground, trees.Grown(cl.read(model), model, np.ones(16), {"kind": AXIS}))
    drawn = contest.draw(1, 0)
    assert drawn["passed"].sum() > 0
    assert drawn["unproved"].sum() == 0
    asked = []
    explain = contest.explainer.explain
    contest.explainer.explain = lambda **question: asked.append(1) or explain(**question)
    drawn = contest.draw(1, 0)
    assert len(asked) == len(drawn) + drawn["passed"].sum()  # none is forgotten
    contest.explainer.explain = explain
    assert contest.run(drawn, LEVELS - 1, "l2", lambda: None)["cost"].notna().all()


def lines_of(**changed):
    """Two instances that pass every check, and what is to be wrong with them."""
    line = {
        "set": "breast", "title": "Breast Cancer", "level": 0, "frozen": 0.0, "norm": "l2", "status": "optimal", "cost": 1.0,
        "ms": 0.5, "proved": True, "tree_agrees": True, "model_agrees": True, "constraints_hold": True, "nearest_cost": 2.0,
        "nearest_ms": 1.0, "tweaking_cost": 1.5, "tweaking_ms": 1.0, "referee": "Gurobi", "optimum": 1.0, "optimum_ms": 3.0,
    }  # fmt: skip
    every = [
        line | {"tree": kind, "level": level, "norm": norm} for kind in trees.KINDS for level in range(LEVELS) for norm in NORMS
    ]
    every[0] |= changed
    return pd.DataFrame(every)


def test_where_no_class_leads_to_another_there_is_one_line():
    ground = grounds.load("breast", 0)
    alone = DecisionTreeClassifier(max_depth=1, random_state=0).fit(
        ground.X[ground.train], np.full(len(ground.train), "benign")
    )
    contest = Contest(ground, trees.Grown(cl.read(alone), alone, np.ones(9), {"kind": AXIS}))
    with pytest.raises(cl.CounterleafError, match="Breast Cancer: from no row does anything lead to another class"):
        contest.draw(1, 0)


def judged(frame, passed=0, unproved=0):
    drawn = pd.DataFrame({"passed": [passed], "unproved": [unproved]})
    return tables.verdicts(frame, drawn, {kind: tables.comparison(frame, kind) for kind in trees.KINDS})


def test_all_claims_hold_where_nothing_is_wrong():
    assert all(verdict.holds for verdict in judged(lines_of(), passed=3))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"proved": False}, "is proved cheapest"),
        ({"tree_agrees": False}, "The tree says"),
        ({"model_agrees": None}, "own predict"),
        ({"constraints_hold": False}, "bit for bit"),
        ({"cost": 2.5, "optimum": 2.5}, "nearest row"),
        ({"cost": 1.7, "optimum": 1.7}, "Feature Tweaking"),
        ({"optimum": 1.0 + 1e-6}, "the solver's"),
        ({"optimum": math.inf}, "the solver's"),
        ({"cost": math.nan}, "the solver's"),
        ({"ms": 4.5}, "below the paper's"),
    ],
)
def test_each_claim_can_fail(changed, words):
    failed = [verdict.claim for verdict in judged(lines_of(**changed)) if not verdict.holds]
    assert any(words in claim for claim in failed)


def test_digits_and_table_1_are_judged_too():
    digits = pd.DataFrame(
        {"cost": [1.0, math.nan], "proved": [True, True], "tree_agrees": [True, None], "model_agrees": [True, None]}
    )
    table = pd.DataFrame(
        {"feature": ["age", "proved", "confirmed by the tree"], **{f"x{k}": ["=", "yes", "yes"] for k in (1, 2, 3)}}
    )
    frame = lines_of()
    drawn = pd.DataFrame({"passed": [0], "unproved": [0]})
    lines = {kind: tables.comparison(frame, kind) for kind in trees.KINDS}
    assert all(verdict.holds for verdict in tables.verdicts(frame, drawn, lines, digits, table))
    for name in ("proved", "tree_agrees", "model_agrees"):
        wrong = digits.assign(**{name: [False, *digits[name][1:]]})
        assert [v.claim[:6] for v in tables.verdicts(frame, drawn, lines, wrong, table) if not v.holds] == ["Digits"]
    wrong = table.assign(x2=["=", "yes", "NO"])
    assert [v.claim[:7] for v in tables.verdicts(frame, drawn, lines, digits, wrong) if not v.holds] == ["Table 1"]


def test_questions_without_a_solver_are_told():
    frame = lines_of()
    frame.loc[frame["norm"] == "l2", "optimum"] = math.nan
    notes = [verdict.note for verdict in judged(frame) if "the cost is" in verdict.claim]
    assert notes == ["largest difference 0; 3 more had no solver"] * 2


def test_an_unproved_impossibility_fails():
    assert [v.failed for v in judged(lines_of(), passed=3, unproved=1) if "passed over" in v.claim] == [1]


def test_the_person_of_table_1_is_asked_three_times():
    schema = load_adult().schema
    columns = schema.variables
    weights = np.zeros((3, len(columns)))
    weights[0, columns.index("education=Masters")] = 3.0
    weights[0, columns.index("race=White")] = 2.0
    weights[0, columns.index("age")] = 1.0
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-27.5, 0, 0], [-1, 0, 1], classes=["<=50K", ">50K"])
    table = person.illustrate(tree).set_index("feature")
    assert table.loc["education"].tolist() == ["11th", "Masters", "Masters", "locked", "=", "Assoc-voc", "locked"]
    assert table.loc["age"].tolist() == [25, "=", "=", "28", "=", "=", "="]
    assert table.loc["cost (l2)", "x3"] == "9"
    assert set(table.loc["proved", ["x1", "x2", "x3"]]) == {"yes"}
    assert set(table.loc["confirmed by the tree", ["x1", "x2", "x3"]]) == {"yes"}


def test_q_is_the_papers():
    Q = figures.neighbours((3, 4)).toarray()
    assert (Q.diagonal() == 1).all()
    assert np.unique(Q).tolist() == [-0.25, 0.0, 1.0]
    assert (Q == Q.T).all()
    assert sorted((Q == -0.25).sum(axis=1)) == [2] * 4 + [3] * 6 + [4] * 2
    assert np.linalg.eigvalsh(Q).min() > 0


def test_the_planes_show_a_confirmed_answer_in_every_leaf():
    for answer in (figures.axis_plane(0), figures.oblique_plane(0)):
        tree = answer.certificate.problem.tree
        assert len(answer) == (tree.classes[tree.value[tree.leaves]] == "B").sum()
        assert all(found.verified for found in answer)
        assert answer.certificate.check()


@pytest.mark.skipif(not TEX.exists(), reason="the paper's text does not lie beside the repository")
def test_the_papers_numbers_are_the_papers():
    text = TEX.read_text()
    for told, label in ((paper.OBLIQUE, "t:obliqueEval"), (paper.AXIS, "t:AxisAlignedeval")):
        body = text[: text.index(rf"\label{{{label}}}")]
        body = body[body.rindex(r"\begin{tabular}") :]
        found = [
            [cell.strip() for cell in re.sub(r"\$\s*\\pm\s*\$", "±", line).split(r"\\")[0].split("&")[1:]]
            for line in body.splitlines()
            if re.match(r"\s*&\s*\d+\s*&", line)
        ]
        ours = [line for of_set in told.values() for line in of_set]
        assert len(found) == len(ours) == 18
        for cells, line in zip(found, ours, strict=True):
            cells = [cell.replace(" ", "").replace("---", "-") for cell in cells]
            expected = [line.percent, line.l2_ms, line.l2, line.l1_ms, line.l1]
            expected += [line.other_ms, line.other, line.feasible]
            for cell, number in zip(cells, expected, strict=True):
                if number is None or number == "":
                    assert cell == "-"
                else:
                    assert cell == number if isinstance(number, str) else float(cell) == number
    errors = text[: text.index(r"\label{t:comparison}")]
    lines = re.findall(r"(MNIST|Adult|Breast-Cancer|Spambase|Letter|German Credit)\s*((?:&\s*[\d.]+\s*){8})", errors)
    assert len(lines) == 6
    for (_, cells), told in zip(lines, paper.ERRORS.values(), strict=True):
        numbers = [float(cell) for cell in cells.split("&")[1:]]
        assert numbers == [x for m in told.values() for x in (m.train, m.test, m.depth) if x is not None]
    shown = [float(x) for x in re.findall(r"(?:ell_[12]|\\Q)\$?\(([\d.]+)\)", text)]
    assert shown == [x for _, _, told in paper.DIGITS for x in told]
