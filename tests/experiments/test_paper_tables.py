"""The tables of the paper's experiments, their verdicts, and the published numbers."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import counterleaf as cl
from counterleaf.datasets import load_adult
from counterleaf_experiments.paper import published, tables, trees
from counterleaf_experiments.paper.instances import LEVELS, NORMS

TEX = Path(__file__).resolve().parents[3] / "shared/paper/counterfactuals-for-oblique-trees.tex"


def lines_of(**changed):
    """Instances that pass every check, the first of them changed."""
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


def judged(frame, passed=0, unproved=0):
    drawn = pd.DataFrame({"passed": [passed], "unproved": [unproved]})
    return tables.verdicts(frame, drawn, {kind: tables.comparison_table(frame, kind) for kind in trees.KINDS})


def test_all_claims_hold_where_nothing_is_wrong():
    assert all(verdict.holds for verdict in judged(lines_of(), passed=3))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"proved": False}, "is proved cheapest"),
        ({"tree_agrees": False}, "The tree predicts"),
        ({"model_agrees": None}, "predict method of the estimator"),
        ({"constraints_hold": False}, "bit for bit"),
        ({"cost": 2.5, "optimum": 2.5}, "nearest row"),
        ({"cost": 1.7, "optimum": 1.7}, "Feature Tweaking"),
        ({"optimum": 1.0 + 1e-6}, "optimum of a solver"),
        ({"optimum": math.inf}, "optimum of a solver"),
        ({"cost": math.nan}, "optimum of a solver"),
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
    lines = {kind: tables.comparison_table(frame, kind) for kind in trees.KINDS}
    assert all(verdict.holds for verdict in tables.verdicts(frame, drawn, lines, digits, table))
    for name in ("proved", "tree_agrees", "model_agrees"):
        wrong = digits.assign(**{name: [False, *digits[name][1:]]})
        assert [v.claim[:6] for v in tables.verdicts(frame, drawn, lines, wrong, table) if not v.holds] == ["Digits"]
    wrong = table.assign(x2=["=", "yes", "NO"])
    assert [v.claim[:7] for v in tables.verdicts(frame, drawn, lines, digits, wrong) if not v.holds] == ["Table 1"]


def test_questions_without_a_solver_are_reported():
    frame = lines_of()
    frame.loc[frame["norm"] == "l2", "optimum"] = math.nan
    notes = [verdict.note for verdict in judged(frame) if "our cost is" in verdict.claim]
    assert notes == ["largest difference 0; 3 more had no solver"] * 2


def test_an_unproved_impossibility_fails():
    assert [v.failed for v in judged(lines_of(), passed=3, unproved=1) if "skipped" in v.claim] == [1]


def test_the_person_of_table_1_is_explained_three_times():
    schema = load_adult().schema
    columns = schema.variables
    weights = np.zeros((3, len(columns)))
    weights[0, columns.index("education=Masters")] = 3.0
    weights[0, columns.index("race=White")] = 2.0
    weights[0, columns.index("age")] = 1.0
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-27.5, 0, 0], [-1, 0, 1], classes=["<=50K", ">50K"])
    table = tables.person_table(tree).set_index("feature")
    assert table.loc["education"].tolist() == ["11th", "Masters", "Masters", "locked", "=", "Assoc-voc", "locked"]
    assert table.loc["age"].tolist() == [25, "=", "=", "28", "=", "=", "="]
    assert table.loc["cost (l2)", "x3"] == "9"
    assert set(table.loc["proved", ["x1", "x2", "x3"]]) == {"yes"}
    assert set(table.loc["confirmed by the tree", ["x1", "x2", "x3"]]) == {"yes"}


@pytest.mark.skipif(not TEX.exists(), reason="the paper's text is not next to the repository")
def test_the_papers_numbers_are_the_papers():
    text = TEX.read_text()
    for rows, label in ((published.OBLIQUE, "t:obliqueEval"), (published.AXIS, "t:AxisAlignedeval")):
        body = text[: text.index(rf"\label{{{label}}}")]
        body = body[body.rindex(r"\begin{tabular}") :]
        found = [
            [cell.strip() for cell in re.sub(r"\$\s*\\pm\s*\$", "±", line).split(r"\\")[0].split("&")[1:]]
            for line in body.splitlines()
            if re.match(r"\s*&\s*\d+\s*&", line)
        ]
        ours = [line for of_set in rows.values() for line in of_set]
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
    for (_, cells), models in zip(lines, published.ERRORS.values(), strict=True):
        numbers = [float(cell) for cell in cells.split("&")[1:]]
        assert numbers == [x for m in models.values() for x in (m.train, m.test, m.depth) if x is not None]
    shown = [float(x) for x in re.findall(r"(?:ell_[12]|\\Q)\$?\(([\d.]+)\)", text)]
    assert shown == [x for _, _, distances in published.DIGITS for x in distances]


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([1.0, 3.0, math.nan], "2±1"),
        ([56.4, 56.4 + 1e-14], "56.4±0"),
        ([3.0e4, 1.0e4], "2.0e4±1.0e4"),
        ([0.00012, 0.00014], "1.3e-4±1.0e-5"),
        ([math.nan], ""),
    ],
)
def test_distances_are_written_as_the_paper_writes_them(costs, words):
    assert tables._spread(pd.Series(costs)) == words
