"""``counterleaf-experiments bench``: a small run, the parts of it, and the reference solvers."""

import functools
import math
import re
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import counterleaf as cl
from counterleaf_experiments import solvers
from counterleaf_experiments.benchmark import cases, measurement, run, tables, trees
from counterleaf_experiments.benchmark.methods import coupled_pixels, large_batches, ocean, other_tools, per_leaf
from counterleaf_experiments.benchmark.scaled_data import load_scaled
from counterleaf_experiments.commands import app


@functools.cache
def data_of(key):
    return load_scaled(key, 0)


@functools.cache
def subject_of(key):
    """A small axis-aligned tree and ten rows."""
    return cases.Subject(data_of(key), trees.axis_aligned(data_of(key), 0), 10, 0)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The command end to end."""
    out = tmp_path_factory.mktemp("bench") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ocean, "find", lambda _: ("", "absent"))
        patch.setitem(sys.modules, "treecf", None)  # as if it were not installed
        patch.setitem(other_tools.TOOLS, "DiCE", broken)
        arguments = ["bench", "--quick", "--set", "breast", "--rows", "2", "--out", str(out)]
        return out, CliRunner().invoke(app, arguments)


def broken(case, budget):
    """A tool that starts and then always fails."""

    def propose(k):
        raise ValueError("a pipe | and\na second line")

    return propose


def cells(text):
    return [cell.strip() for cell in text.strip().strip("|").split("|")]


def test_a_run_prints_one_table_with_the_machine_and_keeps_it(finished):
    out, done = finished
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert re.match(r"\d+ cores, .*Python 3\.\d+\.\d+; counterleaf .*, oceanpy absent$", lines[0])
    assert lines[2] == tables.table_head(tables.MAIN).splitlines()[0]
    other = lines.index(tables.table_head(tables.LINEAR).splitlines()[0])
    rows = [cells(text) for text in lines[4:other] if text.startswith("|")]
    assert {len(row) for row in rows} == {len(tables.MAIN)}
    linear = [cells(text) for text in lines[other + 2 :] if text.startswith("|")]
    assert {len(row) for row in linear} == {len(tables.LINEAR)}
    assert len(linear) == 4  # one set with softmax leaves, and linear leaves, by two costs
    assert all(row[4] == f"{row[1].split()[0]} of {row[1].split()[0]}" for row in linear)  # proved and confirmed
    assert [row[0].rpartition(", ")[2] for row in rows if row[0]] == ["L1", "L2"] * 2
    assert sum("axis-aligned" in row[0] for row in rows) == 2
    assert (out / "bench.md").read_text() == done.stdout
    assert not list(out.rglob(".*"))  # nothing half-written


def test_every_line_of_ours_is_valid_and_exact_and_the_solvers_agree(finished):
    out, _ = finished
    found = pd.read_csv(out / "rows.csv")
    ours = found[found["method"].str.startswith("counterleaf")]
    assert ours["valid cost"].notna().all()
    np.testing.assert_allclose(ours["valid cost"], ours["optimum"], rtol=1e-9)
    exact = found[found["method"].str.startswith("every target leaf with ") & ~found["method"].str.endswith("SCIP")]
    assert {"Gurobi", "HiGHS", "NumPy", "PIQP"} <= set(exact["method"].str.rpartition(" ")[2])
    np.testing.assert_allclose(exact["claimed optimum"], exact["optimum"], rtol=1e-5)


def test_an_absent_and_a_failing_tool_are_reported_in_their_lines(finished):
    _, done = finished
    rows = [cells(text) for text in done.stdout.splitlines() if text.startswith("|")]
    notes = {row[1]: row[2] for row in rows if row[1] in ("treecf", "DiCE", ocean.NAME)}
    assert notes == {"treecf": "absent", "DiCE": "failed: a pipe / and a second line", ocean.NAME: "absent"}


def test_a_second_run_does_not_learn_again(finished, monkeypatch):
    out, _ = finished
    monkeypatch.setattr("counterleaf_experiments.paper.trees._tao", lambda *_: pytest.fail("learned again"))
    monkeypatch.setattr("counterleaf_experiments.paper.trees._restored", lambda *_: None)
    tree = trees.oblique(data_of("breast"), 0, out / "trees", None)
    assert tree.n_features == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "iris"], "unknown data set 'iris'; expected some of breast, spambase, letter, adult, german, digits"),
        (["--set", "mnist"], "MNIST is not bundled; pass --mnist FOLDER with its four files"),
        (["--rows", "0"], "--rows is 0; expected a whole number from 1"),
        (["--seed", "-1"], "--seed is -1; expected a whole number from 0 to 4000000000"),
        (["--trees", "nowhere"], "--trees is nowhere, which is not a folder; expected one with files such as letter.json"),
        (
            ["--ocean-python", "nowhere"],
            "--ocean-python is nowhere, which does not exist; expected a Python with oceanpy installed",
        ),
    ],
)
def test_a_wrong_argument_is_one_line(arguments, message, tmp_path):
    done = CliRunner().invoke(app, ["bench", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert done.stderr == f"counterleaf: {message}\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "page", "sets"),
    [
        ("bench", "bench.md", "breast, spambase, letter, adult, german, digits"),
        ("reproduce", "report.html", "digits, adult, breast, spambase, letter, german"),
    ],
)
def test_the_folder_may_exist_but_be_neither_a_file_nor_an_address(command, page, sets, tmp_path):
    def line(out):
        return CliRunner().invoke(app, [command, "--set", "iris", "--out", str(out)]).stderr

    assert line(tmp_path) == f"counterleaf: unknown data set 'iris'; expected some of {sets}\n"
    (tmp_path / "file").write_text("mine")
    assert line(tmp_path / "file") == f"counterleaf: cannot write {tmp_path / 'file' / page}: its parent directory is a file\n"
    address = f"counterleaf: cannot write s3://b/{page}: it is an address; expected the name of a file on this machine\n"
    assert line("s3://b") == address


def test_a_folder_without_trees_or_with_a_wrong_one_is_one_line(tmp_path):
    with pytest.raises(cl.CounterleafError, match=r"has no tree; expected files such as letter\.json, named by set: breast"):
        run.make_plan(True, (), None, 0, tmp_path, None, None)
    data = data_of("breast")
    path = tmp_path / "breast.json"
    path.write_text("{}")
    with pytest.raises(cl.CounterleafError, match=r"breast\.json: not a counterleaf tree"):
        trees.oblique(data, 0, tmp_path, tmp_path)
    path.write_text(cl.Tree([-1], [-1], [[0.0]], [0.0], [0]).to_json())
    with pytest.raises(cl.CounterleafError, match=r"breast\.json: the tree has 1 columns; Breast Cancer has 9"):
        trees.oblique(data, 0, tmp_path, tmp_path)


@pytest.mark.parametrize("key", ["breast", "german"])
def test_a_users_tree_is_in_the_units_of_the_data(key, tmp_path):
    data = data_of(key)
    raw = data.X * data.width + data.low
    weights = np.random.default_rng(0).normal(size=(3, raw.shape[1]))
    bias = -float(np.median(raw @ weights[0]))
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [bias, 0, 0], [-1, 0, 1])
    (tmp_path / f"{key}.json").write_text(tree.to_json())
    moved = trees.oblique(data, 0, tmp_path / "none", tmp_path)
    assert (moved.predict(data.X) == tree.predict(raw)).mean() > 0.999  # the sums are rounded differently
    assert not (tmp_path / "none").exists()


def test_classes_alternate_and_of_several_classes_one_is_the_target_of_all():
    data = data_of("letter")
    model = DecisionTreeClassifier(max_leaf_nodes=80, random_state=0).fit(data.X, data.y)
    subject = cases.Subject(data, model, 60, 0)
    predicted = model.predict(data.X[subject.places])
    assert len(predicted) == 60
    assert set(subject.targets) == {subject.target}
    assert subject.target not in predicted
    others = len(set(model.predict(data.X[data.test]))) - 1
    assert len(set(predicted[:others])) == others


def test_an_answer_is_valid_by_the_model_and_by_its_categories():
    data = data_of("german")
    subject = subject_of(data.key)
    case = cases.Case(subject, 1)
    answer = subject.explainer.explain(case.row(0), target=subject.targets[0], cost=case.cost)
    x = data.schema.encode(answer[0].row)
    assert case.valid_cost(0, x) == pytest.approx(answer[0].cost)
    assert math.isnan(case.valid_cost(0, None))
    assert math.isnan(case.valid_cost(0, case.source(0)))  # the model predicts the same class as before
    torn = x.copy()
    torn[data.spans[0]] = 0.5
    assert math.isnan(case.valid_cost(0, torn))


def test_a_budget_ends_a_slow_method():
    case = cases.Case(subject_of("breast"), 1)
    assert len(measurement.measure_rows(case, "slow", 5, -1.0, lambda k: (math.nan, None)).answers) == 1

    def late(k):
        raise measurement.OutOfTimeError

    assert measurement.measure_rows(case, "late", 5, 2.0, late).note == "no row within 2 s"
    some = measurement.measure_rows(case, "some", 4, 9.0, lambda k: (math.nan, case.source(k)) if k else 1 / 0).with_optima(
        (1.0,) * 4
    )
    assert len(some.answers) == 4
    assert some.answers[0].error == "division by zero"
    assert some.valid == 0
    assert math.isnan(some.over)
    assert tables.main_rows([some])[0].endswith("| - | 0 % | - |")


def test_solvers_that_are_not_installed_or_not_made_for_a_case(monkeypatch):
    data = data_of("german")
    subject = subject_of(data.key)
    assert per_leaf.with_solver(cases.Case(subject, 2), "HiGHS", 1, 1.0) is None  # squares with 0/1 columns
    assert per_leaf.with_solver(cases.Case(subject, 1), "PIQP", 1, 1.0) is None
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert per_leaf.with_solver(cases.Case(subject, 1), "HiGHS", 1, 1.0).note == "absent"

    def unlicensed(_):
        raise solvers.SolverError("Gurobi: no licence")

    monkeypatch.setitem(per_leaf.SOLVERS, "Gurobi", unlicensed)
    assert per_leaf.with_solver(cases.Case(subject, 1), "Gurobi", 1, 1.0).note == "failed: Gurobi: no licence"


def test_ocean_is_absent_without_a_python_that_has_it(tmp_path):
    assert ocean.find(tmp_path / "python") == ("", "absent")
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    assert ocean.find(script) == ("", "absent")
    script.write_text("#!/bin/sh\necho 9.9\n")
    assert ocean.find(script) == (str(script), "9.9")
    case = cases.Case(subject_of("breast"), 1)
    assert ocean.measure(case, str(script), 1, 1.0, 0).note == "failed: its output is not an answer"
    script.write_text("""#!/bin/sh\necho '{"failed": "no such thing"}'\n""")
    assert ocean.measure(case, str(script), 1, 1.0, 0).note == "failed: no such thing"
    row = case.source(0).tolist()
    script.write_text(f"""#!/bin/sh\necho '{{"answers": [{{"ms": 1.5, "x": {row}}}]}}'\n""")
    found = ocean.measure(case, str(script), 1, 1.0, 0)
    assert [(a.ms, math.isnan(a.cost)) for a in found.answers] == [(1.5, True)]


def test_a_tool_runs_in_process_without_output(capsys, monkeypatch):
    case = cases.Case(subject_of("breast"), 1)

    def loud(case, budget):
        print("starting")

        def propose(k):
            print("a bar", file=sys.stderr)
            answer = case.subject.explainer.explain(case.row(k), target=case.subject.targets[k], cost=case.cost)
            return np.asarray(answer[0].row)

        return propose

    monkeypatch.setitem(other_tools.TOOLS, "loud", loud)
    found = other_tools.measure(case, "loud", 3, 9.0)
    assert len(found.answers) == 3
    assert all(math.isfinite(answer.cost) for answer in found.answers)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setitem(sys.modules, "treecf", ModuleType("treecf"))
    assert other_tools.measure(case, "treecf", 1, 1.0).note.startswith("failed: ")


@pytest.mark.parametrize(("name", "package"), [("treecf", "treecf"), ("DiCE", "dice_ml")])
def test_another_tool_if_it_is_installed(name, package):
    pytest.importorskip(package, exc_type=ImportError)
    case = cases.Case(subject_of("german"), 1)
    found = other_tools.measure(case, name, 1, 5.0)
    best = case.subject.explainer.explain(case.row(0), target=case.subject.targets[0], cost=case.cost)
    assert not found.note
    assert found.answers[0].cost >= best.lower_bound * (1 - 1e-6)


def random_question(rng, power, mixed):
    n = int(rng.integers(2, 6))
    source = rng.normal(size=n)
    lower, upper = source - 3 * rng.random(n), source + 3 * rng.random(n)
    lower[0], upper[0] = (source[0], source[0]) if rng.random() < 0.3 else (lower[0], upper[0])
    weight, spans = 0.2 + rng.random(n), []
    for size in rng.integers(2, 5, size=2 if mixed else 0):
        spans.append(slice(len(source), len(source) + int(size)))
        source = np.concatenate([source, np.eye(size)[rng.integers(size)]])
        lower, upper = np.concatenate([lower, np.zeros(size)]), np.concatenate([upper, np.ones(size)])
        weight = np.concatenate([weight, np.full(size, 0.5)])
    A = rng.normal(size=(3, len(source)))
    regions = [(A, A @ source + 0.5 * rng.normal(size=3)) for _ in range(2)]
    return regions, solvers.Question(source, lower, upper, weight, power, tuple(spans))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("mixed", [False, True])
def test_solvers_agree(power, mixed):
    makers = [solvers.Gurobi, lambda: solvers.Gurobi(tight=True), solvers.Highs, solvers.ScipyHighs, solvers.Scip, solvers.Piqp,
              lambda: solvers.Piqp(tight=True), solvers.Daqp]  # fmt: skip
    known = []
    for make in makers:
        try:
            known.append(make())
        except ImportError:  # of the group bench
            assert make in (solvers.Scip, solvers.Daqp)
    rng = np.random.default_rng(power)
    for _ in range(12):
        regions, question = random_question(rng, power, mixed)
        able = [solver for solver in known if not solver.refuses(question)]
        assert len(able) >= 2
        for solver in able:
            cost, x = solvers.enumerate_leaves(solver, regions, question)
            if solver is able[0]:
                least = cost
            assert cost == pytest.approx(least, rel=1e-5, abs=1e-6)
            if x is not None:
                assert ((x >= question.lower - 1e-5) & (x <= question.upper + 1e-5)).all()
                assert any((A @ x >= r - 1e-4).all() for A, r in regions)
                assert all(x[span].sum() == 1 for span in question.spans)


def test_a_solver_refuses_what_it_cannot_solve():
    question = solvers.Question(np.zeros(300), -np.ones(300), np.ones(300), np.ones(300), 2)
    assert solvers.Gurobi().refuses(question) == "too large for its free licence"
    mixed = solvers.Question(np.array([1.0, 0.0]), np.zeros(2), np.ones(2), np.ones(2), 2, (slice(0, 2),))
    assert solvers.Highs().refuses(mixed) == "no squares with 0/1 columns"
    assert solvers.ScipyHighs().refuses(mixed) == "no squares"
    assert solvers.Piqp().refuses(mixed) == "numbers only"


@pytest.mark.parametrize("maker", [solvers.Gurobi, solvers.Highs, solvers.Scip])
def test_a_solver_out_of_time_says_so(maker):
    if maker is solvers.Scip:
        pytest.importorskip("pyscipopt")
    regions, question = random_question(np.random.default_rng(3), 1, True)
    with pytest.raises(solvers.SolverTimeoutError, match="out of time"):
        maker(0.0).solve(question.program(regions[0]))


def test_coupled_pixels_and_many_rows_make_their_lines():
    rng = np.random.default_rng(0)
    data = data_of("digits")
    weights = rng.normal(size=(7, 64))
    bias = [-float(np.median(data.X @ w)) for w in weights[:3]] + [0.0] * 4
    tree = cl.Tree([1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], weights, bias, [-1, -1, -1, 0, 1, 2, 0])
    subject = cases.Subject(data, tree, 10, 0)
    for direction in coupled_pixels.DIRECTIONS[:2]:
        found = cells(coupled_pixels.measure(subject, direction, 2, 5.0))
        assert len(found) == len(tables.COUPLED)
        assert found[4] == "2 of 2"
        assert float(found[-1]) < 1e-3
    assert len(cells(large_batches.measure(data_of("letter"), 20, 200, 0))) == len(tables.MANY)


@pytest.mark.parametrize(
    ("value", "text"),
    [(math.nan, "-"), (0.0, "0"), (0.012345, "0.0123"), (1.0, "1.00"), (9.999, "10.0"), (99.96, "100"), (12345.6, "12,346")],
)
def test_numbers_are_short(value, text):
    assert tables.number(value) == text
