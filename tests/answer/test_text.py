import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds
from support.strategies import random_case, random_tree

import counterleaf as cl
from counterleaf.answer.short_numbers import plain, round_down
from counterleaf.answer.text import apart


def steps(*thresholds, labels=("no", "yes"), dtype="float64", names=None):
    """A chain of splits, feature d at thresholds[d]: all must be reached for the last label, any miss gives the first."""
    n = len(thresholds)
    left, right, weights, bias, value = [], [], np.zeros((2 * n + 1, n)), np.zeros(2 * n + 1), []
    for d, t in enumerate(thresholds):
        weights[2 * d, d], bias[2 * d] = 1.0, -t
        left += [2 * d + 1, -1]
        right += [2 * d + 2, -1]
        value += [-1, 0]
    tree = cl.Tree([*left, -1], [*right, -1], weights, bias, [*value, 1], classes=list(labels), dtype=dtype)
    return cl.Explainer(tree, schema=cl.Schema([cl.Numeric(name) for name in names or [f"f{d}" for d in range(n)]]))


def cells(text):
    """The printed table: {line: [source, #1, ...]}."""
    table = text.split("\n\n")[1].splitlines()[1:]
    return {line[0]: line[1:] for line in (re.split(r" {2,}", row) for row in table)}


def written_rows(answer):
    """The rows as a reader copies them from the printed table: the numbers as written, the other values as in the source."""
    table = cells(str(answer))
    for k, c in enumerate(answer):
        row = answer.certificate.problem.source.copy()
        for name in c.changes:
            row[answer.schema.index(name)] = float(table[name][k + 1])
        yield row, c


def test_a_single_change_reads_as_a_sentence_with_few_digits():
    text = str(steps(44.99871, names=["hours per week"]).explain([40], cost=cl.L1()))
    assert text.splitlines() == [
        "If hours per week were 45 instead of 40, the model would say yes instead of no.",
        "",
        "                source     #1",
        "hours per week      40     45",
        "cost                    4.999",
        "model says          no    yes",
        "",
        "Proved: no allowed change costs less than this one (4.999). Your model confirms it: it says yes for this row.",
    ]


@pytest.mark.parametrize(
    ("source", "threshold", "word"),
    [
        (0.0, 0.1 + 0.2, "0.3001"),  # 0.3 itself is on the wrong side
        (1.0, 0.3 - 1e-17, "0.3"),
        (40.0, 44.99871, "45"),
        (40.0, 45.00129, "45.002"),  # 45 falls short
        (10.0, 16.795, "16.8"),  # 17 is near, but not near enough
        (0.0, 12499.87, "12500"),
        (-5.0, 1e-17, "0.001"),
        (-5.0, -1e-17, "0"),
        (0.0, -1.0, None),
        (0.0, 2e-7, "2e-07"),
        (0.0, 3e14, "300000000000000"),
    ],
)
def test_numbers_have_as_few_digits_as_keep_the_answer_valid(source, threshold, word):
    answer = steps(threshold).explain([source], target="yes")
    if word is None or source >= threshold:
        assert str(answer).startswith("Nothing has to change: the model already says yes.")
    else:
        assert f"If f0 were {word} instead of {plain(source)}, the model" in str(answer)


def test_each_written_number_is_within_a_thousandth_of_its_change():
    rng = np.random.default_rng(5)
    for _ in range(40):
        old, new = rng.normal(size=2) * 10.0 ** rng.uniform(-6, 6)
        answer = steps(max(old, new)).explain([min(old, new)])
        ((row, c),) = written_rows(answer)
        before, after = c.changes["f0"]
        assert abs(row[0] - after) <= 1e-3 * abs(after - before)
        digits = len(plain(row[0]).lstrip("-0.").split("e")[0].replace(".", "").rstrip("0"))
        assert digits <= 5 + np.log10(abs(after) / abs(after - before) + 1)


@pytest.mark.parametrize("seed", seeds(12))
def test_rows_copied_from_the_table_reach_the_same_leaf_of_the_users_model(seed):
    X, y = make_classification(400, 6, n_informative=4, n_classes=3, random_state=seed)
    X = X * 10.0 ** np.random.default_rng(seed).integers(-4, 5, 6)
    model = DecisionTreeClassifier(max_leaf_nodes=30, random_state=seed).fit(X, y)
    answer = cl.Explainer(model, data=X).explain(X[seed], count=8, distinct="leaves")
    assert len(answer) == 8
    for row, c in written_rows(answer):
        assert model.predict(row[None])[0] == c.label
        assert model.apply(row[None])[0] == model.apply(np.asarray(c.row)[None])[0]


@pytest.mark.slow
def test_rows_copied_from_the_table_of_random_questions_are_valid():
    """Oblique trees, margins, bounds, constraints over several features."""
    rng = np.random.default_rng(11)
    checked = 0
    while checked < 150:
        case = random_case(rng)
        answer = cl.Explainer(case.tree, schema=case.schema).explain(
            case.row, target=case.target, cost=case.cost, constraints=case.constraints, count=3, margin=case.margin
        )
        if not len(answer) or not any(c.changes for c in answer):
            continue
        lower, upper = case.schema.bounds()
        for row, c in written_rows(answer):
            assert case.tree.apply(row[None])[0] == c.leaf
            assert ((lower <= row) & (row <= upper)).all()
            for rule in case.constraints:
                if hasattr(rule, "coef"):
                    terms = [a * row[case.schema.index(name)] for name, a in rule.coef.items()]
                    miss = (sum(terms) - rule.rhs) * (-1 if rule.relation == "<=" else 1)
                    size = 1e-8 * (sum(map(abs, terms)) + abs(rule.rhs))
                    assert (abs(miss) if rule.relation == "==" else -miss) <= size
        checked += 1


def test_numbers_in_a_corner_of_several_faces_stay_short():
    rng = np.random.default_rng(2)
    tree = random_tree(rng, 5, 6, 3, "oblique", np.ones(6))
    texts = []
    for _ in range(20):
        answer = cl.Explainer(tree).explain(rng.normal(size=6), cost=cl.L1(), count=5)
        table = cells(str(answer))
        texts += [table[name][k + 1] for k, c in enumerate(answer) for name in c.changes]
    assert np.median([len(text) for text in texts]) <= 6
    assert max(len(text) for text in texts) <= 11


def test_an_answer_that_fails_its_own_check_is_written_in_full():
    answer = steps(44.99871).explain([40.0])
    arrays, table = answer.certificate.problem.question, answer.certificate.problem.table
    problem = replace(
        answer.certificate.problem, pose=lambda: (arrays._replace(margins=np.full(len(arrays.margins), 9.0)), table)
    )
    assert "were 44.99871 instead of 40" in str(replace(answer, certificate=replace(answer.certificate, problem=problem)))


def test_names_of_two_lines_and_costs_beyond_all_floats_print():
    lines = str(steps(5.0, names=["a\nb"]).explain([1])).splitlines()
    assert lines[3].split() == ["a", "b", "1", "5"]
    assert "If f0 were 1e+300 instead of -1e+300, the model" in str(steps(1e300).explain([-1e300]))


def test_rows_of_among_are_written_in_full():
    rows = [[44.99871], [50.0]]
    assert "were 44.99871 instead of 40" in str(steps(42.0).explain([40.0], constraints=cl.among(rows)))


def test_values_of_the_source_are_written_with_six_digits():
    explainer = steps(10.0, 1e9, 10.0, 10.0, 10.0)
    table = cells(str(explainer.explain([0.1 + 0.2, 123456789, np.float32(0.1), True, -0.123456789012])))
    assert [table[f"f{d}"][0] for d in range(5)] == ["0.3", "123456789", "0.1", "1", "-0.123457"]


def test_numbers_that_must_add_up_do_so_in_few_digits():
    weights = np.zeros((3, 3))
    weights[0] = [1.0, 2.0, 0.3]
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-1.2345678, 0, 0], [-1, 0, 1])
    shares = cl.linear({"x0": 1, "x1": 1, "x2": 1}, "==", 1)
    answer = cl.Explainer(tree).explain([0.5, 0.25, 0.25], target=1, constraints=shares)
    (row, _), table = next(written_rows(answer)), cells(str(answer))
    assert sum(row) == pytest.approx(1, abs=1e-12)
    assert all(len(table[name][1]) <= 7 for name in answer[0].changes)


def test_several_changes_and_several_classes():
    answer = steps(10.0, 20.0, 30.0).explain({"f0": 1, "f1": 2, "f2": 3}, target=["yes", "no"], count=None)
    text = str(answer)
    assert text.startswith("Nothing has to change: the model already says no.\n\n")
    assert "leaving the row as it is (0); each of the others is the cheapest in a different leaf of the tree." in text
    assert text.endswith("Your model confirms all 4: it says no or yes for these rows.")
    assert cells(text)["f1"] == ["2", "=", "=", "20", "20"]
    assert cells(text)["model says"] == ["no", "no", "no", "no", "yes"]
    text = str(steps(10.0, 20.0, 30.0).explain([1, 2, 3], target=["yes"]))
    changes = "f0 were 10 instead of 1, f1 were 20 instead of 2 and f2 were 30 instead of 3"
    assert text.startswith(f"If {changes}, the model would say yes instead of no.")


def test_nothing_has_to_change():
    assert str(steps(10.0).explain([11.0], target="yes")) == (
        "Nothing has to change: the model already says yes. Proved: no allowed change costs less than leaving the row as it is "
        "(0). Your model confirms it: it says yes for this row."
    )


def test_a_change_that_keeps_the_class_and_one_with_a_margin():
    text = str(steps(10.0).explain([11.0], target="yes", constraints=[cl.fix("f0", 12.25)]))
    assert text.startswith("If f0 were 12.25 instead of 11, the model would still say yes.")
    text = str(steps(10.0).explain([9.0], target="yes", margin=0.5))
    assert text.startswith("If f0 were 10.5 instead of 9, the model would say yes instead of no with a margin of 0.5.")


def test_class_costs_are_in_the_cost():
    text = str(steps(10.0).explain([9.0], target={"yes": 2.0}, cost=cl.L1()))
    assert cells(text)["cost"] == ["3"]


def test_a_search_that_stopped_says_so():
    rng = np.random.default_rng(0)
    explainer = cl.Explainer(random_tree(rng, 6, 4, 2, "oblique", np.ones(4)))
    row = rng.normal(size=4)
    answers = [explainer.explain(row, max_nodes=most, count=4, distinct="leaves") for most in range(1, 12)]
    nothing = next(answer for answer in answers if answer.status == "limit" and not len(answer))
    assert str(nothing).startswith("The search stopped before it found a change that makes the model say ")
    if nothing.lower_bound > 0:
        assert float(re.search(r"Any such change costs at least (\S+)\.$", str(nothing))[1]) <= nothing.lower_bound
    first = str(next(answer for answer in answers if answer.status == "limit" and len(answer)))
    assert first.startswith("If ")
    assert "Proved: no allowed change costs less than this one" in first
    assert "The search stopped early, so alternatives may be missing." in first
    answer = steps(10.0).explain([9.0], cost=cl.L1(2.0))
    best = str(replace(answer, status=cl.Status.LIMIT, lower_bound=1.23456))
    assert best.startswith(
        "The best change found before the search stopped: if f0 were 10 instead of 9, the model would say yes"
    )
    assert "There may be cheaper changes, but none costs less than 1.234: this one is at most 63 % from the cheapest. " in best


def test_a_model_that_disagrees_is_named():
    answer = steps(10.0).explain([9.0], target=["yes", "no"], count=2, distinct="leaves")
    refuted = replace(answer, maker=lambda: (answer[0], replace(answer[1], confirmed=False)))
    assert str(refuted).endswith("NOT confirmed: your model does not say yes for #2.")
    assert cells(str(refuted))["model says"] == ["no", "no", "?"]


def test_infeasible_answers_name_the_conflict():
    explainer = steps(10.0, 20.0)
    many = [cl.only_increase("f0"), cl.freeze("f1"), cl.between("f0", 0, 9)]
    assert str(explainer.explain([1.0, 21.0], target="yes", constraints=many)) == (
        "No change within your constraints makes the model say yes. This constraint rules it out: between('f0', 0, 9). "
        "This is proved."
    )
    many = [cl.only_increase("f0"), cl.fix("f1", 22), cl.linear({"f0": 1, "f1": 1}, "<=", 25)]
    assert str(explainer.explain([1.0, 2.0], target="yes", constraints=many)) == (
        "No change within your constraints makes the model say yes. This constraint rules it out: "
        "linear({'f0': 1, 'f1': 1}, '<=', 25). This is proved."
    )
    many[2] = cl.linear({"f0": 1, "f1": 1}, "<=", 31)
    assert (
        "These constraints cannot all hold: fix('f1', 22); linear({'f0': 1, 'f1': 1}, '<=', 31). Relax at least one of them."
        in str(explainer.explain([1.0, 2.0], target="yes", constraints=many))
    )


def test_infeasible_without_constraints():
    explainer = steps(10.0)
    narrow = cl.Explainer(explainer.tree, schema=cl.Schema([cl.Numeric("f0", 0, 9)]))
    for constraints in ([], [cl.freeze("f0")]):
        assert str(narrow.explain([1.0], target="yes", constraints=constraints)) == (
            "No row within the feature bounds makes the model say yes, even without constraints. This is proved."
        )
    alone = cl.Tree([-1], [-1], [[0.0]], [0.0], [0], classes=["no"])
    assert str(cl.Explainer(alone).explain([1.0])).startswith("No row makes the model say anything else, even without")


def test_many_features_are_cut_to_the_costliest():
    d = 100
    weights = np.zeros((3, d))
    weights[0] = np.linspace(1, 2, d)
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-1.0, 0, 0], [-1, 0, 1])
    answer = cl.Explainer(tree).explain(np.zeros(d), cost=cl.L2())
    lines = str(answer).splitlines()
    assert lines[0].count(" were ") == 12
    assert lines[0].startswith("If x99 were ")
    assert "and 88 other features changed as well, the model would say 1 instead of 0." in lines[0]
    assert lines[43].startswith("... and 60 more features")
    assert [line.split()[0] for line in lines[3:43]] == [f"x{k}" for k in range(99, 59, -1)]
    row = np.asarray(answer[0].row).copy()
    for line in lines[3:43]:
        row[int(line.split()[0][1:])] = float(line.split()[2])
    assert tree.predict(row[None])[0] == 1
    row[:60] = 0.0
    assert tree.predict(row[None])[0] == 0  # those left out are part of the answer


class TableParser(HTMLParser):
    """The open tags, all tags, and the text of every cell."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.cells = [], set(), []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "tr" in self.open:
            self.cells[-1][-1] += data


def test_the_html_holds_the_same_table_and_escapes_every_name():
    explainer = steps(10.0, -20.0, names=['<b>&"', "<script>alert(1)</script>"], labels=["<no>", "y&s"])
    tree = replace(explainer.tree, weights=explainer.tree.weights.toarray() * [1.0, -1.0])
    answer = cl.Explainer(tree, schema=explainer.schema).explain([1.0, 30.0], target=["<no>", "y&s"], count=None)
    page = answer._repr_html_()
    parsed = TableParser(page)
    assert not parsed.open
    assert parsed.tags == {"div", "p", "table", "tr", "th", "td", "span"}
    assert parsed.cells == [
        ["", "source", "#1", "#2", "#3"],
        ['<b>&"', "1", "=", "▲ 10", "▲ 10"],
        ["<script>alert(1)</script>", "30", "=", "=", "▼ 20"],
        ["cost", "", *cells(str(answer))["cost"][-3:]],
        ["model says", "<no>", "<no>", "<no>", "y&s"],
    ]
    assert "<script" not in page
    assert "http" not in page
    assert "&lt;b&gt;&amp;&quot;" in page


def test_html_of_no_answer_has_no_table():
    page = steps(10.0, names=["<i>"]).explain([1.0], target="yes", constraints=cl.freeze("<i>"))._repr_html_()
    assert page.startswith("<div><p>No change within your constraints makes the model say yes.")
    assert "freeze(&#x27;&lt;i&gt;&#x27;)" in page
    assert "<table" not in page


def test_costs_differ_and_bounds_are_rounded_down():
    assert apart([0.123449, 0.5]) == ["0.1234", "0.5"]
    assert apart([0.123441, 0.123449]) == ["0.12344", "0.12345"]
    assert apart([1.0, 1.0 + 1e-12]) == ["1", "1"]
    assert [round_down(v, 4) for v in (0.296178, -0.296178, 0.5, 0.0, 123456.0)] == [0.2961, -0.2962, 0.5, 0.0, 123400.0]


def test_frames_print_like_the_rest():
    X = pd.DataFrame({"a": [0, 1, 2, 3], "b": [0.5, 1.5, 2.5, 3.5]})
    model = DecisionTreeClassifier(random_state=0).fit(X, ["no", "no", "yes", "yes"])
    answer = cl.Explainer(model, data=X).explain(X.iloc[[0]], target="yes")
    assert re.match(r"If (a were 2 instead of 0|b were 2.001 instead of 0.5), the model would say yes instead", str(answer))


def test_a_tiny_change_is_written_as_one_that_can_be_typed():
    """scikit-learn sends 20 left and the next float32 right: 20.001 costs a little more and says the same."""
    X = np.array([[20.0, 0.0], [20.0, 5.0], [30.0, 0.0], [30.0, 5.0]] * 5)
    model = DecisionTreeClassifier(random_state=0).fit(X, ["no", "no", "no", "yes"] * 5)
    tree = cl.read_tree(model)
    cut = float(-tree.bias[0])
    row = [cut, 0.0] if tree.weights.indices[0] == 0 else [0.0, cut]
    answer = cl.Explainer(model).explain(row, target="yes", cost=cl.L1())
    (line,) = [line for line in str(answer).splitlines() if line.startswith(f"x{tree.weights.indices[0]} ")]
    assert len(line.split()[-1]) <= 7
    assert model.predict([[float(cells(str(answer))[f"x{d}"][1]) for d in range(2)]]) == ["yes"]


def test_the_bounds_of_the_data_are_named_with_a_conflict():
    X = np.array([[0.0], [5.0], [10.0]])
    explainer = cl.Explainer(cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-8.0, 0, 0], [-1, 0, 1]), data=X)
    text = str(explainer.explain([0.0], target=1, constraints=cl.fix("x0", 1000.0)))
    assert text.startswith("No change within the feature bounds and your constraints makes the model say 1.")
    assert "(Unless others were given, the bounds are the ranges seen in the data; infer_bounds=False lifts them.)" in text


@pytest.mark.parametrize(
    ("target", "start"),
    [
        (
            "granted",
            "The model already says granted, but no change within the feature bounds and your constraints keeps it so.",
        ),
        (
            cl.probability("granted", at_least=0.5),
            "The model already gives granted a probability of 0.75, but no change within ",
        ),
    ],
)
def test_a_row_that_has_the_target_and_no_allowed_change_keeps_it(target, start):
    X = pd.DataFrame({"income": [1.0, 2.0, 8.0, 9.0, 9.0, 9.0], "debt": [1.0, 5.0, 2.0, 7.0, 3.0, 4.0]})
    model = DecisionTreeClassifier(max_depth=1).fit(X, ["refused", "refused", "granted", "granted", "granted", "refused"])
    explainer = cl.Explainer(model, data=X)
    rules = [cl.freeze("debt"), cl.between("debt", upper=3)]
    answer = explainer.explain([9.0, 7.0], target=target, constraints=rules)
    assert answer.status == "infeasible"
    assert str(answer).startswith(start)
    still = explainer.explain([9.0, 7.0], target=target, constraints=rules[1:])
    assert still.best.changes["debt"] == (7.0, 3.0)
    assert str(still).startswith("If debt were 3 instead of 7, the model would still ")
