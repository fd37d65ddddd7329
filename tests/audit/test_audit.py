"""The tables of a report against plain pandas on the same frames."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from support.report_cases import FEATURES, RULES, applicants, bank, figures_of, smallest_covering

import counterleaf as cl

BY = ["sex", "age:25,40,60"]


@pytest.fixture(scope="module")
def rows():
    return applicants()


@pytest.fixture(scope="module")
def answers(rows):
    return bank().explain_many(rows, target="granted", constraints=RULES, words=False)


@pytest.fixture(scope="module")
def audit(rows):
    return bank().audit(rows, target="granted", constraints=RULES, by=BY, search=True)


def masks(rows):
    bins = pd.cut(rows["age"], [-np.inf, 25, 40, 60, np.inf], right=False, labels=False)
    names = ["under 25", "25 to under 40", "40 to under 60", "60 or more"]
    ages = {name: (bins == k).to_numpy() for k, name in enumerate(names)}
    sexes = {name: (rows["sex"] == name).to_numpy() for name in "fm"}
    return sexes, ages


def check_line(line, expected):
    for name, value in expected.items():
        assert line[name] == pytest.approx(value, rel=1e-12), name


def test_every_group_has_the_figures_of_its_rows(audit, rows, answers):
    sexes, ages = masks(rows)
    found = audit.groups.set_index(["by", "group"])
    check_line(found.loc[("", "all rows")], figures_of(answers))
    for by, groups in (("sex", sexes), ("age", ages)):
        for label, mask in groups.items():
            check_line(found.loc[(by, label)], figures_of(answers[mask]))
    assert len(found) == 7
    shares = audit.groups[["share_has", "share_can", "share_cannot", "share_open", "share_invalid"]].sum(axis=1)
    assert shares.to_numpy() == pytest.approx(np.ones(7))


def test_every_pair_has_the_figures_of_its_rows(audit, rows, answers):
    sexes, ages = masks(rows)
    found = audit.pairs.set_index("group")
    assert set(found["by"]) == {"sex and age"}
    for sex, one in sexes.items():
        for age, other in ages.items():
            check_line(found.loc[f"{sex}, {age}"], figures_of(answers[one & other]))


def differ(answers, rows, name):
    return (answers[name] != rows[name]).fillna(True).to_numpy(bool)


@pytest.mark.parametrize("cost", [None, cl.L1("range", multiplier={"savings": 20, "hours": 4})])
def test_features_that_change(rows, cost):
    answers = bank().explain_many(rows, target="granted", constraints=RULES, cost=cost, words=False)
    audit = bank().audit(rows, target="granted", constraints=RULES, by="sex", cost=cost, conflicts=0)
    sexes, _ = masks(rows)
    assert ("job" in answers) == (cost is not None)
    found = audit.features.set_index(["by", "group", "feature"])
    reached = (answers["source_label"].astype(str) == "refused") & answers["cost"].notna()
    for label, mask in {"all rows": np.ones(len(rows), bool), **sexes}.items():
        by = "" if label == "all rows" else "sex"
        here = mask & reached.to_numpy()
        for name in FEATURES:
            if name not in answers or not (changed := here & differ(answers, rows, name)).any():
                assert (by, label, name) not in found.index
                continue
            line = found.loc[(by, label, name)]
            assert line["rows"] == changed.sum()
            assert line["share"] == pytest.approx(changed.sum() / here.sum())
            if name == "job":
                counts = answers.loc[changed, "job"].value_counts()
                first, count = line["new_values"].split(",")[0].split(" (")
                assert (counts[first], int(count.rstrip(")"))) == (counts.max(), counts.max())
            else:
                moves = (answers.loc[changed, name].astype(float) - rows.loc[changed, name]).tolist()
                for column, share in (("q25", 0.25), ("median", 0.5), ("q75", 0.75)):
                    assert line[column] == pytest.approx(smallest_covering(moves, share))
                assert (line["increases"], line["decreases"]) == (sum(m > 0 for m in moves), sum(m < 0 for m in moves))


def test_differences_are_signed_and_within_their_intervals(audit):
    found, groups = audit.differences, audit.groups.set_index(["by", "group"])
    assert set(found["by"]) == {"sex", "age"}
    for line in found.itertuples():
        name = line.measure
        one, other = groups.loc[(line.by, line.group), name], groups.loc[(line.by, line.other), name]
        assert line.value == pytest.approx(one)
        assert line.difference == pytest.approx(one - other, nan_ok=True)
        few = min(line.rows, line.other_rows) < 30
        assert np.isnan(line.low) == few or not np.isfinite(line.difference)
        assert (line.method == "too few rows") == few
        if np.isfinite(line.difference) and not few:
            assert line.low <= line.difference + 1e-12
            assert line.high >= line.difference - 1e-12
    counts = {"share_has": "rows", "share_reaching": "without_target", "cost_median": "can"}
    for measure, column in counts.items():
        mine = found[found["measure"] == measure]
        expected = [groups.loc[(line.by, line.group), column] for line in mine.itertuples()]
        assert mine["rows"].tolist() == expected
    again = bank().audit(applicants(), target="granted", constraints=RULES, by=BY).differences
    pd.testing.assert_frame_equal(again, found)
    other = bank().audit(applicants(), target="granted", constraints=RULES, by=BY, seed=7).differences
    assert not other["low"].equals(found["low"])
    assert other["difference"].equals(found["difference"])


def test_fairness_in_the_terms_of_the_literature(audit, rows, answers):
    sexes, _ = masks(rows)
    found = audit.fairness
    costs = {}
    for label, mask in sexes.items():
        part = answers[mask & (answers["source_label"].astype(str) == "refused").to_numpy()]
        costs[label] = part["cost"].fillna(np.inf).to_numpy()
        mine = found[(found["by"] == "sex") & (found["group"] == label)].set_index(["notion", "parameter"])["value"]
        assert mine["equal effectiveness"].iloc[0] == pytest.approx(np.isfinite(costs[label]).mean())
        assert mine["equal conditional mean recourse"].iloc[0] == pytest.approx(part["cost"].mean())
        for budget, value in mine["equal effectiveness within budget"].items():
            assert value == pytest.approx((costs[label] <= budget).mean())
        for share, value in mine["equal cost of effectiveness"].items():
            assert value == smallest_covering(costs[label], share)
    line = found[(found["by"] == "sex") & (found["notion"] == "fair effectiveness-cost trade-off")].iloc[0]
    at = np.unique(np.concatenate(list(costs.values())))
    gaps = np.array([(costs["f"] <= c).mean() - (costs["m"] <= c).mean() for c in at[np.isfinite(at)]])
    assert line["value"] == pytest.approx(gaps[np.argmax(np.abs(gaps))])
    assert (line["group"], line["other"]) == ("f", "m")


def test_budgets_of_the_user(rows):
    audit = bank().audit(rows, target="granted", by="sex", budgets=[0.1, 0.2], conflicts=0)
    lines = audit.fairness[audit.fairness["notion"] == "equal effectiveness within budget"]
    assert sorted(set(lines["parameter"])) == [0.1, 0.2]


def test_choices_can_be_left_out(rows):
    plain, without = (bank().audit(rows, target="granted", by="sex", conflicts=0, choices=wanted) for wanted in (True, False))
    assert len(plain.choices) > 0
    assert len(without.choices) == 0
    assert plain.groups.equals(without.groups)
    assert without.to_html()


def test_choices_are_decided_by_searches(audit, rows, answers):
    found = audit.choices[audit.choices["by"] == "sex"]
    refused = (answers["source_label"].astype(str) == "refused").to_numpy()
    for features in set(found["features"]):
        others = [name for name in FEATURES if name not in features.split(", ")]
        again = bank().explain_many(rows, target="granted", constraints=[*RULES, cl.freeze(others)], words=False)
        for label in "fm":
            here = refused & (rows["sex"] == label).to_numpy()
            line = found[(found["features"] == features) & (found["group"] == label)].iloc[0]
            assert (line["examined"], line["reaching"]) == (here.sum(), again["cost"].notna().to_numpy()[here].sum())
    notion = audit.fairness[(audit.fairness["notion"] == "equal choice of recourse") & (audit.fairness["by"] == "sex")]
    for line in notion.itertuples():
        mine = found[found["group"] == line.group]
        assert line.value == (mine["share"] >= line.parameter).sum()
        assert line.low == (mine["low"] >= line.parameter).sum()
        assert line.high == (mine["high"] >= line.parameter).sum()
    ends = [stats.binomtest(one.reaching, one.examined).proportion_ci(method="wilson") for one in found.itertuples()]
    assert found[["low", "high"]].to_numpy() == pytest.approx(np.array([[one.low, one.high] for one in ends]))


def test_conflicts_are_those_of_the_explanations(audit, rows, answers):
    stuck = np.flatnonzero((answers["status"] == "infeasible") & (answers["source_label"].astype(str) == "refused"))
    assert 0 < len(stuck) < (answers["status"] == "infeasible").sum()  # some have the target outside of the constraints
    assert "rows count as having the target, because the model says it" in str(audit)
    counts, split = {}, [cl.freeze("age"), cl.freeze("owner"), *RULES[1:]]
    for k in stuck.tolist():
        answer = bank().explain(rows.iloc[k], target="granted", constraints=split)
        text = "; ".join(map(str, answer.conflict))
        counts[text] = counts.get(text, 0) + 1
    found = audit.conflicts[audit.conflicts["by"] == ""]
    assert dict(zip(found["constraints"], found["rows"], strict=True)) == counts
    assert found["examined"].tolist() == [len(stuck)] * len(found)
    by_sex = audit.conflicts[audit.conflicts["by"] == "sex"]
    assert by_sex["rows"].sum() == len(stuck)


def test_a_sample_of_the_rows_without_recourse(rows):
    audit = bank().audit(rows, target="granted", constraints=RULES, conflicts=5)
    assert audit.conflicts["examined"].tolist()[0] == 5
    assert "5 of the" in str(audit)
    assert "random sample" in str(audit)


def test_a_row_that_no_constraint_stops_is_counted_as_such():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-5.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("x", 0, 3)]))
    audit = explainer.audit(np.arange(4.0)[:, None], target="yes")
    assert audit.conflicts["constraints"].tolist() == [
        "no constraint: no row within the bounds of the features reaches the target"
    ]
    assert "No row has the target, and none was found to reach it." in str(audit)


def test_answers_may_be_passed(rows, answers):
    audit = cl.Audit(bank(), rows, answers, target="granted", by=BY, constraints=RULES, search=True)
    made = bank().audit(rows, target="granted", by=BY, constraints=RULES, search=True)
    for name in ("schema", "groups", "pairs", "differences", "features", "search", "fairness", "choices", "conflicts"):
        pd.testing.assert_frame_equal(getattr(audit, name), getattr(made, name))


def test_polars_arrays_and_categoricals_give_the_same_figures(rows):
    expected = bank().audit(rows, target="granted", constraints=RULES, by=BY)
    for other in (pl.DataFrame(rows.to_dict("list")), rows.astype({"sex": "category", "job": "category", "age": "Int64"})):
        audit = bank().audit(other, target="granted", constraints=RULES, by=BY)
        pd.testing.assert_frame_equal(audit.groups, expected.groups)
        pd.testing.assert_frame_equal(audit.features, expected.features)
    array = rows[FEATURES].to_numpy(object)
    assert bank().audit(array, target="granted", constraints=RULES).groups.iloc[0].equals(expected.groups.iloc[0])


def test_an_ordered_category_keeps_its_order(rows):
    levels = pd.Categorical(np.where(rows["age"] < 30, "young", "old"), ["young", "old"], ordered=True)
    audit = bank().audit(rows.assign(stage=levels), target="granted", by="stage", conflicts=0)
    assert audit.groups["group"].tolist() == ["all rows", "young", "old"]


def test_boolean_and_missing_groups(rows):
    part = rows.assign(region=np.where(rows["age"] < 30, None, "north"), owner2=rows["owner"])
    audit = bank().audit(part, target="granted", by=["region", "owner2"], conflicts=0)
    assert audit.groups["group"].tolist() == ["all rows", "north", "(missing)", "False", "True"]
    assert audit.groups["rows"].tolist()[2] == int((rows["age"] < 30).sum())


def test_invalid_rows_are_counted(rows):
    part = rows.head(50).copy()
    part.loc[[1, 2], "job"] = "astronaut"
    audit = bank().audit(part, target="granted", by="sex")
    assert audit.groups.loc[0, ["rows", "invalid"]].tolist() == [50, 2]
    assert "4.0 % could not be explained" in str(audit)
    nobody = bank().audit(part.assign(job="astronaut"), target="granted", by="sex")
    assert "No row could be explained, so there is nothing to report." in str(nobody)
    reason = "feature 'job' is 'astronaut'; expected one of 'clerk', 'cook', 'nurse', 'smith' (2)"
    assert f"Note: 2 rows could not be explained. The most frequent reasons: {reason}." in str(audit)
    assert "</html>" in nobody.to_html()


def test_costs_that_are_negative_zero_or_huge(rows):
    free = cl.L1({"savings": 0.0, "hours": 0.0, "age": 1.0, "job": 1.0, "owner": 1.0})
    costs = [cl.L1("range") + cl.LinearCost({"savings": -1e-6}), free, 1e15 * cl.L1("range"), cl.Changes()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for cost in costs:
            audit = bank().audit(rows, target="granted", cost=cost, by="sex", conflicts=0)
            answers = bank().explain_many(rows, target="granted", cost=cost, words=False)
            refused = (answers["source_label"].astype(str) == "refused").to_numpy()
            assert audit.groups.loc[0, "cost_median"] == smallest_covering(answers.loc[refused, "cost"].tolist(), 0.5)
            assert "</html>" in audit.to_html()


def test_limits_are_reported_as_such():
    rng = np.random.default_rng(0)
    data = rng.random((200, 6))
    forest = RandomForestClassifier(30, max_depth=6, random_state=0).fit(data, data.sum(axis=1) > 3)
    audit = cl.Explainer(forest, data=data).audit(data[:30], target=True, max_nodes=1)
    line = audit.groups.iloc[0]
    assert line["open"] + line["not_proved_cheapest"] > 0
    assert line[["has", "can", "cannot", "open", "invalid"]].sum() == 30
    text = str(audit)
    assert ("upper bounds" in text) == (line["not_proved_cheapest"] > 0)
    assert ("are open" in text) == (line["open"] > 0)
    assert audit.choices.empty  # each search of an ensemble takes long


def test_gaps_that_the_model_routes():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.random((300, 2)), columns=["a", "b"])
    data.loc[::5, "a"] = np.nan
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(
        data, np.where(data["a"].fillna(0) + data["b"] > 1, "yes", "no")
    )
    schema = cl.Schema([cl.Numeric("a", 0, 1, missing="allowed"), cl.Numeric("b", 0, 1)])
    explainer = cl.Explainer(tree, data=data, schema=schema)
    answers = explainer.explain_many(data, target="no", words=False)
    audit = explainer.audit(data, target="no")
    check = figures_of(answers, "no")
    check_line(audit.groups.iloc[0], {name: check[name] for name in ("rows", "has", "can", "cost_median", "changes_mean")})
    filled = explainer.audit(data, target="yes", constraints=cl.freeze("b")).features.iloc[0]
    again = explainer.explain_many(data, target="yes", constraints=cl.freeze("b"), words=False)
    gaps = data["a"].isna().to_numpy() & again["a"].notna().to_numpy()
    assert filled["filled"] == gaps.sum()


def test_targets_of_all_kinds():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.random((200, 3)), columns=list("abc"))
    regressor = DecisionTreeRegressor(max_leaf_nodes=8, random_state=0).fit(data, data.sum(axis=1))
    audit = cl.Explainer(regressor, data=data).audit(data, target=cl.value(at_least=1.8))
    assert audit.groups.loc[0, "has"] == (regressor.predict(data) >= 1.8).sum()
    assert "(a value at least 1.8)" in str(audit)
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(data, np.digitize(data["a"] + data["b"], [0.7, 1.3]))
    explainer, said = cl.Explainer(tree, data=data), tree.predict(data)
    audit = explainer.audit(data, target=cl.probability(1, at_least=0.9))
    assert audit.groups.loc[0, "has"] == (tree.predict_proba(data)[:, 1] >= 0.9).sum()
    audit = explainer.audit(data)
    assert audit.groups.loc[0, ["has", "can"]].tolist() == [0, 200]
    assert "any class except the row's own" in str(audit)
    assert explainer.audit(data, target=[0, 2]).groups.loc[0, "has"] == np.isin(said, [0, 2]).sum()
    priced = explainer.audit(data, target={0: 0.5, 2: 0.1})
    assert priced.groups.loc[0, "has"] == np.isin(said, [0, 2]).sum()
    everyone = explainer.audit(data[said == 1], target=1, by="a:0.5")
    assert everyone.groups.loc[0, "has"] == (said == 1).sum()
    assert "Nobody needs a change" in str(everyone)
    assert "<p>" in everyone._repr_html_()
    assert "</html>" in everyone.to_html()


def test_a_margin_asks_more_than_the_label(rows):
    plain = bank().audit(rows, target="granted", conflicts=0)
    safe = bank().audit(rows, target="granted", margin={"savings": 200}, conflicts=0)
    assert safe.groups.loc[0, "has"] == plain.groups.loc[0, "has"]
    assert safe.groups.loc[0, "cost_median"] > plain.groups.loc[0, "cost_median"]


def test_one_row_and_groups_of_one_row(rows):
    audit = bank().audit(rows.head(1), target="granted", by="sex")
    assert "Of 1 row, " in str(audit)
    assert "sex has one group only" in str(audit)
    audit = bank().audit(rows.head(3).assign(who=["a", "b", "c"]), target="granted", by="who")
    assert audit.groups["rows"].tolist() == [3, 1, 1, 1]
    assert "Fewer than 30 rows without the target: who = a (" in str(audit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit.to_html()


def test_printing(audit):
    text = str(audit)
    assert text.startswith("Of 400 rows, ")
    assert "sex = f" in text
    assert "95 % interval" in text
    assert "comparisons of a group or pair of groups with all other rows" in text
    assert repr(audit).startswith("<Audit: 400 rows, ")


def test_values_of_many_changes_are_a_random_part(rows):
    from counterleaf.audit.report.cases import Collector, block_of
    from counterleaf.table.rows import TableRows

    answers = bank().explain_many(rows, target="granted", words=False)
    block = block_of(TableRows(rows, bank().schema), answers, "granted")
    whole, part = Collector(0), Collector(0, most=50)
    for collector in (whole, part):
        collector.add(block)
    full, thin = whole.cases(), part.cases()
    assert full.kept == 1.0
    assert 0 < thin.kept < 0.5
    assert sum(len(one.rows) for one in thin.values.values()) <= 50
    assert (thin.patterns == full.patterns).all()
    for d, values in thin.values.items():
        at = np.searchsorted(full.values[d].rows, values.rows)
        assert (full.values[d].rows[at] == values.rows).all()
        assert (full.values[d].new[at] == values.new).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "sexx"}, r"the frame has no column 'sexx' to group by; did you mean 'sex'\?"),
        ({"by": ["sex", "sex"]}, r"by names 'sex' twice; expected each column once"),
        ({"by": "age:40,25"}, r"the bounds of 'age' are \[40.0, 25.0\]; expected increasing numbers"),
        ({"by": "age:a,25"}, r"a bound of 'age' is 'a'; expected a number, as in age:25,40"),
        ({"by": {"age": "25"}}, r"the bounds of 'age' are '25'; expected numbers, such as \[25, 40\]"),
        ({"by": {"age": [np.inf]}}, r"a bound of 'age' is inf; expected a finite number"),
        ({"by": 3}, r'by is 3; expected names of columns, such as \["sex", "age:25,40"\]'),
        ({"by": [3]}, r'by contains 3; expected the name of a column, such as "sex" or "age:25,40"'),
        ({"by": "job:1,2"}, r"column 'job' of the data holds '.*'; expected numbers"),
        ({"search": 3}, r"search is 3; expected True, False or names of columns"),
        ({"search": "jobb"}, r"the frame has no column 'jobb' to group by; did you mean 'job'\?"),
        ({"budgets": "0.1"}, r"budgets is '0.1'; expected a list of costs"),
        ({"budgets": ["a"]}, r"a budget is 'a'; expected a number"),
        ({"min_rows": 0}, r"min_rows is 0; expected a whole number from 2, or None"),
        ({"choices": 3}, r"choices is 3; expected True or False"),
        ({"conflicts": -1}, r"conflicts is -1; expected a whole number from 0, or None"),
        ({"seed": "x"}, r"seed is 'x'; expected a whole number from 0, or None"),
        ({"target": "yes"}, r"no class 'yes'; the model's classes are 'granted', 'refused'"),
    ],
)
def test_wrong_arguments(rows, options, message):
    with pytest.raises(cl.CounterleafError, match=f"^{message}$"):
        bank().audit(rows, **{"target": "granted", **options})


def test_other_mistakes(rows, answers):
    with pytest.raises(cl.CounterleafError, match=r"^the table has no rows; an audit needs at least one$"):
        bank().audit(rows.head(0), target="granted")
    with pytest.raises(
        TypeError, match=r"audit\(\) got an unexpected keyword argument 'constraint'; did you mean 'constraints'\?"
    ):
        bank().audit(rows, target="granted", constraint=())
    with pytest.raises(cl.CounterleafError, match=r"^answers has 400 lines and rows has 3; expected one answer per row$"):
        cl.Audit(bank(), rows.head(3), answers, target="granted")
    with pytest.raises(cl.CounterleafError, match=r"^answers is not a table of explain_many with one answer per row"):
        cl.Audit(bank(), rows, rows, target="granted")
    lists = rows.head(2).assign(tags=[[1], [2]])
    with pytest.raises(cl.CounterleafError, match=r"^column 'tags' has values that cannot be groups, such as lists$"):
        bank().audit(lists, target="granted", by="tags")


def test_plots(audit, rows):
    pytest.importorskip("matplotlib")
    for by in (None, "age"):
        figure = audit.plot(by)
        assert len(figure.axes) == 2
    assert len(bank().audit(rows, target="granted", conflicts=0).plot().axes) == 2
    with pytest.raises(cl.CounterleafError, match=r"^the report has no groups by 'sexx'; did you mean 'sex'\?$"):
        audit.plot("sexx")
