"""``counterleaf-experiments bench --part ensembles``: a small run with a substitute for the search, and the parts of it."""

import functools
import io
import json
import math
import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

import counterleaf as cl
from counterleaf_experiments.benchmark.ensembles import measurement, models, ocean_process, ours, questions, report, run
from counterleaf_experiments.benchmark.ensembles.measurement import ERROR, LIMIT, OPTIMAL, Answer, Measurement, Reply, Store
from counterleaf_experiments.benchmark.ensembles.treecf_calls import Treecf
from counterleaf_experiments.benchmark.methods import ocean, ocean_worker
from counterleaf_experiments.commands import app


@functools.cache
def data_of(key):
    return models.load(key, 0)


@functools.cache
def cell_of(key, rows=6):
    """Questions about a forest of three small trees."""
    data = data_of(key)
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(data.X[data.train], data.y[data.train])
    return questions.draw(data, "forest 3 x 3", model, rows, 0)


class NearestRow:
    """In place of counterleaf's explainer: the nearest row of the data with the target."""

    def __init__(self, model, *, schema):
        self.schema = schema
        data = next(data_of(key) for key in models.SETS if data_of(key).schema.names == schema.names)
        self._model, self._data, self._predicted = model, data, model.predict(data.X)

    def explain(self, row, *, target, cost, time_limit):
        source = np.asarray(self.schema.encode(row))
        places = np.flatnonzero(self._predicted == target)
        costs = np.abs(self._data.X[places] - source) @ self._data.weight
        best = places[costs.argmin()]
        return Found(self._data.row(best), float(costs.min()))


class Found(list):
    """An explanation with one answer."""

    status = "optimal"

    def __init__(self, row, cost):
        super().__init__([SimpleNamespace(row=row, cost=cost, confirmed=True)])


@pytest.fixture
def nearest(monkeypatch):
    monkeypatch.setattr(ours, "Explainer", NearestRow)


def method_of(reply, name="scripted", version="1", all_rows=False):
    """A method that answers question k by ``reply(k)``."""

    @contextmanager
    def prepare(cell, budget, seed):
        yield reply

    return SimpleNamespace(name=name, version=version, all_rows=all_rows, prepare=prepare)


def measured(reply, store=None, **named):
    return measurement.measure(method_of(reply, **named), cell_of("breast"), 10.0, 0, store)


@pytest.mark.parametrize("key", models.SETS)
def test_columns_are_float32_values_and_labels_whole_numbers(key):
    data = data_of(key)
    assert (data.X.astype(np.float32) == data.X).all()
    assert data.X.min() == 0
    assert data.X.max() == 1
    assert sorted(set(data.y.tolist())) == list(range(data.y.max() + 1))
    assert (data.y.max() == 1) == (key in models.TWO_CLASSES)
    assert not set(data.train) & set(data.test)
    for place in data.test[:3]:
        np.testing.assert_array_equal(data.schema.encode(data.row(place)), data.X[place])


def test_a_change_of_category_costs_as_much_as_the_range_of_a_number():
    data = data_of("german")
    assert all(data.weight[span].tolist() == [0.5] * (span.stop - span.start) for span in data.spans)
    assert (np.delete(data.weight, np.concatenate([np.r_[span] for span in data.spans])) == 1).all()


@pytest.mark.parametrize("key", ["breast", "digits"])
def test_questions_change_the_class_and_do_not_depend_on_their_number(key):
    cell = cell_of(key)
    predicted = cell.model.predict(cell.data.X[cell.places])
    assert all(target != label for target, label in zip(cell.targets, predicted, strict=True))
    assert len(set(predicted)) == min(6, cell.data.y.max() + 1)  # the classes take turns
    fewer = questions.draw(cell.data, "", cell.model, 2, 0)
    assert fewer.places.tolist() == cell.places[:2].tolist()
    assert fewer.targets == cell.targets[:2]
    assert fewer.digest == cell.digest
    other = RandomForestClassifier(3, max_depth=3, random_state=1).fit(cell.data.X, cell.data.y)
    assert questions.draw(cell.data, "", other, 2, 0).digest != cell.digest


def test_the_size_of_a_model():
    pytest.importorskip("xgboost")
    data = data_of("breast")
    assert models.size(models.RECIPES[0].fit(data, 0))[0] == 50
    recipe = next(recipe for recipe in models.RECIPES if recipe.title == "XGBoost 100 x 4")
    trees, leaves = models.size(recipe.fit(data, 0))
    assert trees == 100
    assert 100 < leaves <= 1600


def test_a_tool_stops_if_it_is_hopeless_or_too_slow_and_ours_does_not():
    late = Reply(LIMIT, None, math.nan, 9.0, 10.0)
    assert len(measured(lambda k: late).answers) == measurement.HOPELESS
    assert len(measured(lambda k: late, all_rows=True).answers) == 6
    slow = Reply(OPTIMAL, None, 1.0, 26.0, 26.0)
    assert len(measured(lambda k: slow).answers) == 2
    found = measured(lambda k: late if k == 0 else Reply(OPTIMAL, None, 1.0, k, 2 * k))
    assert [answer.proved for answer in found.answers] == [False, True, True, True, True, True]
    assert found.quantile(0.5, proved=True) == 3
    assert found.quantile(0.5, proved=True, wall=True) == 6
    assert found.quantile(1.0) == 9
    assert found.within(4.0) == 2 / 6
    assert not found.confirmed  # a proof without a row
    assert measured(lambda k: late).confirmed  # no row was proposed


def test_a_failing_question_is_recorded_and_a_failing_method_is_noted():
    def fails(k):
        raise ValueError("a pipe | and\na second line")

    assert measured(fails).note == "failed: a pipe / and a second line"
    cell = cell_of("breast")
    found = measured(lambda k: fails(k) if k == 1 else Reply(OPTIMAL, cell.source(k), 0.0, 1.0, 1.0))
    assert [answer.status for answer in found.answers] == [OPTIMAL, ERROR, *[OPTIMAL] * 4]
    assert math.isnan(found.answers[0].cost)  # the model predicts the same class as before
    assert found.remark == "1 failed: a pipe / and a second line"

    @contextmanager
    def prepare(cell, budget, seed):
        raise MemoryError
        yield

    broken = SimpleNamespace(name="broken", version="1", all_rows=False, prepare=prepare)
    assert measurement.measure(broken, cell, 1.0, 0, None).note == "failed: MemoryError"
    assert measured(fails, version="").note == "absent"


def test_a_run_continues_where_it_was_interrupted(tmp_path):
    path, calls = tmp_path / "folder/one.json", []

    def reply(k):
        calls.append(k)
        if k == 3:
            raise KeyboardInterrupt
        return Reply(OPTIMAL, None, 0.5, 1.0, 1.0)

    with pytest.raises(KeyboardInterrupt):
        measured(reply, Store.open(path, model="m"))
    found = measured(lambda k: calls.append(k) or Reply(OPTIMAL, None, 0.5, 1.0, 1.0), Store.open(path, model="m"))
    assert calls == [0, 1, 2, 3, 3, 4, 5]
    assert found.restored == 3
    assert len(found.answers) == 6
    again = measured(lambda k: pytest.fail("asked again"), Store.open(path, model="m"))
    assert str(again.answers) == str(found.answers)
    assert Store.open(path, model="another").answers == {}
    path.write_text("{")
    assert Store.open(path, model="m").answers == {}


def test_a_failure_is_not_tried_again(tmp_path):
    def gone(k):
        raise measurement.ProcessGoneError("no answer within 3 s")

    assert measured(gone, Store.open(tmp_path / "one.json")).note == "failed: no answer within 3 s"
    found = measured(lambda k: pytest.fail("asked again"), Store.open(tmp_path / "one.json"))
    assert found.note == "failed: no answer within 3 s"


def answer(place, cpu, cost, status=OPTIMAL, changes=1):
    return Answer(place, 1, status, cpu, 2 * cpu, cost, cost, changes)


def test_times_and_optima_are_compared_on_the_same_questions():
    mine = Measurement("ours", tuple(answer(k, 0.1 * (k + 1), 1.0) for k in range(5)))
    theirs = (answer(0, 1.0, 1.0 + 1e-7), answer(1, 3.0, 0.9), answer(2, 8.0, 1.1), answer(3, 9.0, 1.0, LIMIT))
    found = measurement.compare(mine, Measurement("other", (*theirs, answer(4, 7.0, math.nan))))
    assert (found.both, found.cheaper, found.dearer, found.unconfirmed) == (4, 1, 1, 1)
    assert found.ratio == pytest.approx(5.0 / 0.25)  # question 3 was not proved
    assert found.wall_ratio == pytest.approx(20.0)
    nothing = measurement.compare(mine, Measurement("other", theirs[3:]))
    assert nothing.both == 0
    assert math.isnan(nothing.ratio)


def test_the_table_and_the_summary_name_the_weakest_models():
    mine = Measurement("counterleaf", (answer(0, 0.1, 1.0), answer(1, 3.0, 1.0)), 0.5)
    other = Measurement("OCEAN-CP", (answer(0, 2.0, 0.9), answer(1, 9.0, 1.0, LIMIT)), 2.0, restored=2)
    late = Measurement("treecf", (answer(0, 9.0, 1.0, LIMIT),), 0.1)
    cells = [
        report.CellReport("A, default forest", (100, 2000), (mine, other, late)),
        report.CellReport("B, XGBoost", note="absent: no module"),
        report.CellReport("C", (3, 9), (Measurement("counterleaf", note="failed: x"), Measurement("treecf", note="absent"))),
    ]
    lines = [text for cell in cells for text in report.cell_rows(cell)]
    assert all(text.count("|") == len(report.COLUMNS) + 1 for text in lines)
    assert lines[0].startswith("| A, default forest | 100, 2,000 | counterleaf | 2 | 2 | 50 % | 1.55 | ")
    assert (
        "| OCEAN-CP | 2 | 1 | 0 % | 2.00 | 2.00 | 2.00 | 4.00 | 20.0 | 20.0 | 0 | 1 cheaper, 0 more expensive | 2.00 |"
        in lines[1]
    )
    assert "| treecf | 1 | 0 | 0 % | - | - | - | - | - | - | 0 |" in lines[2]
    assert lines[3].startswith("| B, XGBoost |  | absent: no module |")
    assert report.summary(cells) == [
        "- counterleaf proved 2 of 2 questions; within 2 s at least 50 % on every model (A, default forest).",
        "- The largest median is 1.55 s (A, default forest); of default forests, 1.55 s (A, default forest).",
        "- OCEAN-CP: at least 20.0 times counterleaf's median on the 1 models where it proves an optimum (A, default forest); "
        "it proves none on 0 models. Of 1 questions that both proved, its answer is cheaper for 1 and more expensive for 0; "
        "the model does not confirm 0 of its answers.",
        "- treecf: no optimum proved on 1 models.",
        "- 2 answers of other tools are from an earlier run with the same directory.",
    ]
    assert report.summary(cells[1:]) == []
    assert len(report.answers(cells)) == 5


@pytest.mark.parametrize("key", ["breast", "german"])
@pytest.mark.parametrize("kind", ["forest", "XGBoost"])
def test_treecf_if_it_is_installed_has_our_cost(key, kind, nearest):
    pytest.importorskip("treecf", exc_type=ImportError)
    cell = cell_of(key)
    if kind == "XGBoost":
        xgboost = pytest.importorskip("xgboost")
        model = xgboost.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1)
        model.fit(cell.data.X[cell.data.train], cell.data.y[cell.data.train])
        cell = questions.draw(cell.data, "XGBoost 3 x 3", model, 6, 0)
    found = measurement.measure(Treecf(), cell, 10.0, 0, None)
    assert len(found.proved) == 6
    assert found.confirmed
    assert all(one.cost == pytest.approx(one.claimed, rel=1e-6, abs=1e-7) for one in found.answers)
    mine = measurement.measure(ours.Counterleaf(), cell, 10.0, 0, None)
    assert mine.confirmed
    versus = measurement.compare(mine, found)
    assert versus.both == 6
    assert versus.dearer == 0  # the nearest row of the data is not cheaper than the optimum


@pytest.mark.parametrize("key", ["breast", "german"])
def test_the_optima_of_counterleaf_and_treecf_agree(key):
    pytest.importorskip("treecf", exc_type=ImportError)
    data, xgboost = data_of(key), pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(data.X[data.train], data.y[data.train])
    cell = questions.draw(data, "XGBoost 4 x 3", model, 6, 0)
    mine, other = (measurement.measure(method, cell, 10.0, 0, None) for method in (ours.Counterleaf(), Treecf()))
    assert mine.confirmed
    versus = measurement.compare(mine, other)
    assert (versus.both, versus.cheaper, versus.dearer, versus.unconfirmed) == (6, 0, 0, 0)


def test_treecf_may_propose_a_tie_which_goes_to_the_first_class():
    pytest.importorskip("treecf", exc_type=ImportError)
    data = data_of("breast")
    model = RandomForestClassifier(100, random_state=0).fit(data.X[data.train], data.y[data.train])  # its leaves are pure
    cell = questions.draw(data, "default forest", model, 5, 0)
    with Treecf().prepare(cell, 10.0, 0) as ask:
        proposed = [ask(k).x for k in range(5) if cell.targets[k] == 0]
    assert any((model.predict_proba(x[None]) == 0.5).all() for x in proposed)
    assert all(model.predict(x[None]) == 0 for x in proposed)


def test_treecf_refuses_several_classes():
    pytest.importorskip("treecf", exc_type=ImportError)
    assert measurement.measure(Treecf(), cell_of("digits"), 1.0, 0, None).note == "failed: two classes only"


def python_that(tmp_path, body):
    """A command that runs a few lines instead of OCEAN's worker."""
    (tmp_path / "worker.py").write_text(f"import json, sys, time\n{body}")
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "worker.py"}"\n')
    script.chmod(0o755)
    return ocean_process.Ocean(str(script), "9.9")


def test_ocean_answers_in_its_own_process(tmp_path):
    method = python_that(
        tmp_path,
        """
request = json.loads(sys.stdin.readline())
print(json.dumps({"cpu": 1.5}), flush=True)
replies = [{"status": "OPTIMAL", "cost": 0.5}, {"status": "FEASIBLE", "cost": 0.5}, {"status": "INFEASIBLE", "cost": None}]
for reply, line in zip(replies, sys.stdin):
    row = json.loads(line)["row"]
    print(json.dumps({**reply, "x": reply["cost"] and row, "cpu": 0.25, "wall": 0.5}), flush=True)
sys.stdin.readline()
print(json.dumps({"error": "no", "cpu": 0, "wall": 0}), flush=True)
""",
    )
    cell = cell_of("breast")
    with method.prepare(cell, 10.0, 0) as ask:
        assert ask.prepare == 1.5
        first, second, third = ask(0), ask(1), ask(2)
        with pytest.raises(RuntimeError, match="no"):
            ask(3)
    assert (first.status, second.status, third.status) == (OPTIMAL, LIMIT, "infeasible")
    np.testing.assert_array_equal(first.x, cell.source(0))
    assert (first.claimed, first.cpu, first.wall) == (0.5, 0.25, 0.5)
    assert third.x is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(1)", "its process ended without an answer"),
        ("print('hello')", "its process ended without an answer"),
        ("print('[]')", "its output is not an answer"),
        ("print(json.dumps({'failed': 'no such thing'}))", "no such thing"),
        ("sys.stdin.readline(); time.sleep(60)", "no answer within 0.6 s"),
    ],
)
def test_a_process_that_ends_or_hangs_is_noted(tmp_path, monkeypatch, body, message):
    monkeypatch.setattr(ocean_process, "_START", 0.5 if "sleep" in body else 30.0)
    found = measurement.measure(python_that(tmp_path, body), cell_of("breast"), 0.01, 0, None)
    assert found.note == f"failed: {message}"


class FakeExplainer:
    """In place of OCEAN's explainer: proposes the row itself, and fails for class 7."""

    def __init__(self, ensemble, mapper):
        self.names = ensemble.get_booster().feature_names

    def explain(self, source, *, y, norm, max_time, num_workers, random_seed):
        assert (norm, max_time, num_workers, random_seed) == (1, 5.0, 1, 3)
        if y == 7:
            raise ValueError("no class 7")
        return None if y == 0 else SimpleNamespace(to_numpy=lambda: source)

    def get_solving_status(self):
        return "OPTIMAL"

    def get_objective_value(self):
        return 0.25

    def cleanup(self):
        print(json.dumps(self.names))


def test_the_worker_serves_one_question_per_line(monkeypatch, capsys):
    fake, abc, feature = ModuleType("ocean"), ModuleType("ocean.abc"), ModuleType("ocean.feature")
    fake.ConstraintProgrammingExplainer = FakeExplainer
    abc.Mapper = lambda features, columns: None
    feature.Feature = lambda *_, **__: None
    feature.Feature.Type = SimpleNamespace(CONTINUOUS=0, ONE_HOT_ENCODED=1)
    for name, module in (("ocean", fake), ("ocean.abc", abc), ("ocean.feature", feature)):
        monkeypatch.setitem(sys.modules, name, module)
    booster = SimpleNamespace()
    monkeypatch.setattr(ocean_worker.pickle, "loads", lambda _: SimpleNamespace(get_booster=lambda: booster))
    request = {"model": "", "features": [("f0", 1, True), ("f1", 2, False)], "power": 1, "budget": 5.0, "seed": 3}
    lines = [request, *({"row": [0.5, 1.0, 0.0], "target": target} for target in (1, 0, 7))]
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(json.dumps(line) + "\n" for line in lines)))
    ocean_worker.serve()
    ready, first, second, names, third = map(json.loads, capsys.readouterr().out.splitlines())
    assert ready["cpu"] >= 0
    assert (first["status"], first["x"], first["cost"]) == ("OPTIMAL", [0.5, 1.0, 0.0], 0.25)
    assert (second["x"], second["cost"]) == (None, None)
    assert names == ["f0", "f1 v0", "f1 v1"]
    assert third["error"] == "ValueError: no class 7"


@pytest.fixture
def tiny(monkeypatch, nearest):
    """One small model per set."""
    forest = models.Recipe("forest 3 x 3", lambda seed: RandomForestClassifier(3, max_depth=3, random_state=seed))

    def absent(seed):
        raise ImportError("No module named 'xgboost'")

    monkeypatch.setattr(models, "RECIPES", (forest, models.Recipe("boosted", absent)))
    monkeypatch.setattr(ocean, "find", lambda _: ("", "absent"))


def bench(*arguments):
    return CliRunner().invoke(app, ["bench", "--part", "ensembles", *map(str, arguments)])


def test_a_run_prints_a_table_and_marks_what_is_missing(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "treecf", None)  # as if it were not installed
    out = tmp_path / "out"
    done = bench("--set", "breast", "--set", "german", "--rows", 2, "--budget", 5, "--out", out)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].endswith("oceanpy absent; 5 s per question, seed 0")
    rows = [[cell.strip() for cell in text.strip("|").split("|")] for text in lines if text.startswith("|")][2:]
    assert {len(row) for row in rows} == {len(report.COLUMNS)}
    assert [row[0] for row in rows if row[0]] == [
        "German Credit, forest 3 x 3",
        "German Credit, boosted",
        "Breast Cancer, forest 3 x 3",
        "Breast Cancer, boosted",
    ]
    assert [row[2:4] for row in rows[:4]] == [
        ["counterleaf", "2"],
        ["OCEAN-CP", "absent"],
        ["treecf", "absent"],
        ["absent: No module named 'xgboost'", ""],
    ]
    assert (out / "ensembles.md").read_text() == done.stdout
    assert not (out / "answers").exists()
    found = pd.read_csv(out / "ensembles.csv")
    assert found["valid cost"].notna().all()
    np.testing.assert_allclose(found["valid cost"], found["claimed optimum"])


def test_a_second_run_uses_the_answers_of_other_tools_again(tiny, tmp_path):
    pytest.importorskip("treecf", exc_type=ImportError)
    arguments = (
        "--set",
        "breast",
        "--rows",
        2,
        "--budget",
        5,
        "--out",
        tmp_path,
        "--method",
        "counterleaf",
        "--method",
        "treecf",
    )
    first, second = bench(*arguments), bench(*arguments)
    assert (tmp_path / "answers/breast-forest-3-x-3-treecf.json").exists()
    assert "from an earlier run" not in first.stdout
    assert "- 2 answers of other tools are from an earlier run with the same directory." in second.stdout
    assert "OCEAN-CP |" not in second.stdout


def test_an_answer_that_the_model_does_not_confirm_fails_the_run(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(NearestRow, "explain", lambda self, row, **_: Found(row, 0.0))
    done = bench("--set", "breast", "--rows", 2, "--method", "counterleaf", "--out", tmp_path)
    assert done.exit_code == 4
    assert done.stderr.endswith("counterleaf: a model did not confirm an answer; see the lines of counterleaf in the table\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "iris"], "unknown data set 'iris'; expected some of adult, german, breast, spambase, wdbc, letter, digits"),
        (["--method", "magic"], "unknown method 'magic'; expected some of counterleaf, OCEAN-CP, treecf"),
        (["--rows", "0"], "--rows is 0; expected a whole number from 1"),
        (["--budget", "0"], "--budget is 0; expected seconds above 0"),
        (["--seed", "-1"], "--seed is -1; expected a whole number from 0 to 4000000000"),
        (["--trees", "somewhere"], "--trees does not apply to --part ensembles"),
        (["--part", "trees", "--budget", "3"], "--budget does not apply to --part trees"),
        (
            ["--set", "letter", "--model", "forest 50 x 4"],
            "no such model is fitted to letter; choose other values of --set and --model",
        ),
        (
            ["--ocean-python", "nowhere"],
            "--ocean-python is nowhere, which does not exist; expected a Python with oceanpy installed",
        ),
    ],
)
def test_a_wrong_argument_is_one_line(arguments, message, tmp_path):
    done = bench(*arguments, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert done.stderr == f"counterleaf: {message}\n"
    assert not (tmp_path / "out").exists()


def test_a_plan_has_the_models_of_its_sets():
    plan = run.make_plan(False, (), (), (), None, None, 0, None)
    assert (plan.sets, plan.rows, plan.budget, plan.methods) == (models.SETS, 20, 60.0, report.METHODS)
    assert plan.recipes == models.RECIPES
    quick = run.make_plan(True, (), (), (), None, None, 0, None)
    assert (len(quick.recipes), quick.rows, quick.budget) == (2, 3, 2.0)
    with pytest.raises(cl.CounterleafError, match="unknown model 'forest 1'; expected some of forest 50 x 4, forest 100 x 6"):
        run.make_plan(False, (), ("forest 1",), (), None, None, 0, None)
