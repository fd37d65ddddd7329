"""Fronts: strictly cheaper with every point, complete, proved, and the same as single questions."""

import itertools
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from support.cli_cases import ROW, call, mistake, rows_of, small
from support.seeds import seeds
from support.strategies import coupled_case, random_case, whole_case

import counterleaf as cl
from counterleaf.answer.front import Front

LINE = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def all_of(names):
    """An explainer whose target "yes" needs every one of some features above 1."""
    n = len(names)
    left, right, weights, bias, value = [], [], [], [], []
    for k in range(n):
        left += [2 * k + 1, -1]
        right += [2 * k + 2, -1]
        weights += [np.eye(n)[k], np.zeros(n)]
        bias += [-1.0, 0.0]
        value += [-1, 0]
    left, right = [*left, -1], [*right, -1]
    tree = cl.Tree(left, right, np.array([*weights, np.zeros(n)]), [*bias, 0.0], [*value, 1], classes=["no", "yes"])
    return cl.Explainer(tree, schema=cl.Schema([cl.Numeric(name, 0, 9) for name in names]))


@pytest.mark.parametrize("make", [random_case, whole_case, coupled_case])
@pytest.mark.parametrize("block", seeds(3))
def test_a_front_is_what_single_questions_give(make, block):
    lengths = set()
    for seed in range(15 * block, 15 * block + 15):
        rng = np.random.default_rng(seed)
        case = make(rng) if make is whole_case else make(rng, features=4)
        explainer = cl.Explainer(case.tree, schema=case.schema)
        question = {"target": case.target, "cost": case.cost, "constraints": case.constraints}
        front = explainer.explain_front(case.row, **question)
        lengths.add(len(front))
        assert all(a.cost > b.cost for a, b in itertools.pairwise(front)), seed
        assert all(len(a.changes) < len(b.changes) for a, b in itertools.pairwise(front)), seed
        whole = explainer.explain(case.row, **question)
        assert front.status == whole.status, seed
        assert front.check() == (front.status != "limit"), seed
        if not len(whole):
            assert (len(front), front.conflict) == (0, whole.conflict), seed
            continue
        assert front[-1].cost == pytest.approx(whole[0].cost, rel=1e-8, abs=1e-12), seed
        best = {len(one.changes): one.cost for one in front}
        for count in range(len(case.schema) + 1):
            single = explainer.explain(case.row, **{**question, "constraints": [*case.constraints, cl.max_changes(count)]})
            known = min((cost for k, cost in best.items() if k <= count), default=None)
            assert (known is None) == (not len(single)), (seed, count)
            if known is not None:
                assert known == pytest.approx(single[0].cost, rel=1e-7, abs=1e-9), (seed, count)
    assert len(lengths) > 1


def test_a_front_starts_where_the_target_can_first_be_reached():
    front = all_of(["a", "b", "c"]).explain_front([0.0, 0.0, 0.0], target="yes")
    assert [len(one.changes) for one in front] == [3]
    assert [str(one.status) for one in front.searches] == ["infeasible"] * 3 + ["optimal"]
    assert front.check()
    assert str(front).splitlines()[-1] == (
        "Proved: no allowed change of 2 features or fewer reaches the target; no allowed change costs less than this one. "
        "Your model confirms it."
    )
    two = all_of(["a", "b"]).explain_front([0.0, 0.0], target="yes")
    assert "Proved: no allowed change of one feature reaches the target; no allowed change costs less" in str(two)


def test_a_row_at_the_target_is_the_whole_front():
    front = cl.Explainer(LINE).explain_front([2.0, 0.0], target="yes")
    assert [(one.cost, one.changes) for one in front] == [(0.0, {})]
    assert front.check()
    assert str(front).splitlines() == [
        "changes  cost  what changes",
        "      0     0  nothing",
        "",
        "Proved: nothing has to change, and no allowed change costs less. Your model confirms it.",
    ]


def test_no_change_is_a_point_of_its_own_where_classes_have_costs():
    front = cl.Explainer(LINE).explain_front([0.0, 0.0], target={"no": 5.0, "yes": 0.0})
    assert [(len(one.changes), one.cost, one.label) for one in front] == [(0, 5.0, "no"), (1, 1.0, "yes"), (2, 0.5, "yes")]
    assert front.check()


def test_a_tie_keeps_the_row_with_fewer_changes():
    explainer = cl.Explainer(LINE, schema=cl.Schema([cl.Numeric("x", 0, 9), cl.Numeric("y", 0, 9)]))
    front = explainer.explain_front([0.0, 0.0], target="yes", cost=cl.L1())
    assert [(len(one.changes), one.cost) for one in front] == [(1, 1.0)]
    assert front.check()


def test_the_text_the_page_and_the_frame():
    front = cl.Explainer(LINE).explain_front([0.0, 0.0], target="yes")
    assert str(front).splitlines() == [
        "changes  cost  what changes",
        "      1     1  x0 0 -> 1" if "x0" in front[0].changes else "      1     1  x1 0 -> 1",
        "      2   0.5  x0 0 -> 0.5, x1 0 -> 0.5",
        "",
        "Proved: each row is the cheapest with its number of changes; no allowed change costs less than the last row. "
        "Your model confirms every row.",
    ]
    assert repr(front) == "<Front: optimal, cost 1 with 1, 0.5 with 2>"
    assert front._repr_html_().count("<tr>") == 3
    frame = front.to_frame()
    assert frame["n_changed"].tolist() == [1, 2]
    assert frame["cost"].tolist() == [1.0, 0.5]
    assert frame["status"].tolist() == ["optimal", "optimal"]
    assert [one.cost for one in front[1:]] == [0.5]
    assert front.source == [0.0, 0.0]
    again = pickle.loads(pickle.dumps(front))
    assert (again[0].cost, again.check(), str(again)) == (1.0, True, str(front))


def test_names_are_escaped_and_collisions_refused():
    front = all_of(["<b>", "n_changed"]).explain_front([0.0, 0.0], target="yes")
    assert "&lt;b&gt;" in front._repr_html_()
    assert "<b>" not in front._repr_html_()
    with pytest.raises(cl.CounterleafError, match=r"features named \['n_changed'\] collide with columns of the result; rename"):
        front.to_frame()
    path = all_of(["margin"]).explain_front([0.0], target="yes", margins=[0.0])
    with pytest.raises(cl.CounterleafError, match=r"features named \['margin'\] collide"):
        path.to_frame()


def test_an_infeasible_question_has_an_empty_front_with_its_conflict():
    frozen = cl.freeze("a")
    front = all_of(["a", "b"]).explain_front([0.0, 0.0], target="yes", constraints=[frozen, cl.between("b", 0, 5)])
    assert (len(front), str(front.status), front.conflict, front.check()) == (0, "infeasible", (frozen,), True)
    assert "This constraint rules it out: freeze('a')" in str(front)
    assert "This constraint rules it out" in front._repr_html_()
    assert repr(front) == "<Front: infeasible>"
    assert front.to_frame().empty
    with pytest.raises(IndexError, match="the front has no counterfactuals: its status is infeasible; print it to see why"):
        front[0]
    with pytest.raises(cl.CounterleafError, match="the front has no row, so there is nothing to draw"):
        front.plot()


def test_a_limit_of_the_user_ends_the_front():
    explainer = cl.Explainer(LINE)
    front = explainer.explain_front([0.0, 0.0], target="yes", constraints=cl.max_changes(1))
    assert [(len(one.changes), one.cost) for one in front] == [(1, 1.0)]
    assert front.check()


def test_limits_are_reported():
    case = random_case(np.random.default_rng(3), features=10, depth=6)
    explainer = cl.Explainer(case.tree, schema=case.schema)
    front = explainer.explain_front(case.row, target=case.target, cost=cl.L2(), max_nodes=2)
    assert (str(front.status), front.check()) == ("limit", False)
    words = "Not proved: a search stopped early" if len(front) else "The search stopped before it found"
    assert words in str(front)
    assert all(a.cost > b.cost for a, b in itertools.pairwise(front))
    path = explainer.explain_front(case.row, target=case.target, cost=cl.L2(), max_nodes=2, margins=[0.0])
    assert "Not proved: a search stopped early, so cheaper rows may be missing." in str(path)
    with pytest.raises(TypeError, match=r"explain_front\(\) got an unexpected keyword argument 'count'"):
        explainer.explain_front(case.row, count=2)


def test_margins_give_a_front_each():
    schema = cl.Schema([cl.Numeric("x", 0, 2), cl.Numeric("y", 0, 2)])
    path = cl.Explainer(LINE, schema=schema).explain_front([0.0, 0.0], target="yes", margins=[0.0, 0.5, 2.0, 9.0])
    assert [[(len(one.changes), round(one.cost, 9)) for one in front] for front in path] == [
        [(1, 1.0), (2, 0.5)],
        [(1, 2.25), (2, 1.125)],
        [(2, 4.5)],
        [],
    ]
    assert path.check()
    assert (len(path), path.margins, path[0][0].cost, len(path[1:])) == (4, (0.0, 0.5, 2.0, 9.0), 1.0, 3)
    lines = str(path).splitlines()
    assert lines[0] == "margin  changes   cost  what changes"
    assert lines[-3].split() == ["9", "no", "row", "(infeasible)"]
    assert lines[-1].startswith("Proved: for each margin")
    assert path.to_frame()["margin"].tolist() == [0.0, 0.0, 0.5, 0.5, 2.0, 9.0]
    assert "margin 0.5" in path._repr_html_()


def test_a_front_without_one_of_its_proofs_fails_the_check():
    front = all_of(["a", "b"]).explain_front([0.0, 0.0], target="yes")
    assert not Front(front.explanations, front.searches[1:]).check()
    assert not Front((), front.searches).check()
    first = front.searches[1]
    forged = replace(
        first, certificate=replace(first.certificate, findings=replace(first.certificate.findings, lower_bound=9e9))
    )
    assert Front(front.explanations, (front.searches[0], first, front.searches[2])).check()
    del forged
    other = all_of(["a", "b"]).explain_front([0.0, 2.0], target="yes")
    assert not Front(other.explanations, (front.searches[0], *other.searches)).check()


def test_pictures():
    front = cl.Explainer(LINE).explain_front([0.0, 0.0], target="yes")
    axes = front.plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("number of changes", "cost")
    assert axes.lines[0].get_xydata().tolist() == [[1.0, 1.0], [2.0, 0.5]]
    assert [text.get_text() for text in axes.texts][1] == "x0, x1"
    path = cl.Explainer(LINE).explain_front([0.0, 0.0], target="yes", margins=[0.0, 1.0])
    drawn = path.plot().axes[0]
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == ["margin 0", "margin 1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    at = tmp_path_factory.mktemp("front")
    (at / "model.json").write_text(small().to_json())
    rows_of(12).to_csv(at / "rows.csv", index=False)
    return at


def test_the_command_writes_a_front(folder):
    model, rows = folder / "model.json", folder / "rows.csv"
    front = small().explain_front(rows_of(12).iloc[8], target=0)
    done = call("explain", model, rows, "--row", 8, "--target", 0, "--front")
    assert (done.code, done.out) == (0, f"{front}\n".replace("Your model", f"The tree in {model}"))
    done = call("explain", model, rows, "--row", 8, "--target", 0, "--front", "--format", "json")
    answers = [cl.Explanation.from_json(line) for line in done.out.splitlines()]
    assert [one[0].cost for one in answers] == [one.cost for one in front]
    assert all(one.certificate.check() for one in answers)
    out = folder / "front.jsonl"
    assert call("explain", model, rows, "--row", 8, "--target", 0, "--front", "--out", out).code == 0
    assert call("verify", out, "--model", model).code == 0


def test_the_command_refuses_what_a_front_is_not(folder):
    model, rows = folder / "model.json", folder / "rows.csv"
    assert "--front explains one row, and there are 12 rows; choose one with --row" in mistake(
        "explain", model, rows, "--front"
    )
    line = mistake("explain", model, json.dumps(ROW), "--front", "--count", "2")
    assert "--front has one row for each number of changes, and --count is 2; omit --count" in line
    assert "--front has no CSV, Excel or Parquet output" in mistake(
        "explain", model, json.dumps(ROW), "--front", "--format", "csv"
    )


def test_the_command_says_that_there_is_no_front(folder):
    model, rows = folder / "model.json", folder / "rows.csv"
    done = call("explain", model, rows, "--row", 8, "--target", 0, "--front", "--max-changes", "0")
    assert done.code == 3
    assert "This constraint rules it out: max_changes(0)" in done.out
    done = call("explain", model, rows, "--row", 8, "--target", 0, "--front", "--max-changes", "0", "--format", "json")
    assert str(cl.Explanation.from_json(done.out).status) == "infeasible"
