"""What a reader needs to judge the figures: features, prices, constraints in words, imputed values, small groups."""

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from support.cli_cases import call
from support.report_cases import RULES, applicants, bank, smallest_covering

import counterleaf as cl
from counterleaf.audit.measures.searches import by_feature
from counterleaf.question.words import cost_words

NUMBERS = ["income", "debts"]
LIMITS = [cl.freeze("town"), cl.only_increase("income", at_most="40%"), cl.only_decrease("debts", at_most="40%")]


@functools.cache
def gappy():
    """A table with missing numbers, and the explainer of a pipeline that imputes their medians."""
    rng = np.random.default_rng(0)
    n = 600
    rows = pd.DataFrame({"income": rng.gamma(4, 500, n).round(2), "debts": rng.gamma(2, 900, n).round(2)})
    rows["town"] = rng.choice(["A", "B"], n)
    rows.loc[rng.random(n) < 0.15, "income"] = np.nan
    rows.loc[rng.random(n) < 0.1, "debts"] = np.nan
    points = rows["income"].fillna(1500) - 0.5 * rows["debts"].fillna(1500)
    steps = make_column_transformer((SimpleImputer(strategy="median"), NUMBERS), (OneHotEncoder(), ["town"]))
    model = make_pipeline(steps, DecisionTreeClassifier(max_leaf_nodes=12, random_state=0))
    return rows, cl.Explainer(model.fit(rows, np.where(points > 1100, "yes", "no")), data=rows)


def check_sizes(found, rows, answers):
    can = ((answers["source_label"].astype(str) == "no") & answers["cost"].notna()).to_numpy()
    for name in NUMBERS:
        old, new = rows[name], answers[name].astype(float)
        changed = can & new.notna().to_numpy() & (old != new).to_numpy()
        moves = (new - old)[changed].dropna().tolist()
        line = found.set_index("feature").loc[name]
        assert 0 < line["filled"] == (changed & old.isna().to_numpy()).sum()
        assert (line["rows"], line["increases"] + line["decreases"]) == (changed.sum(), len(moves))
        for column, share in (("q25", 0.25), ("median", 0.5), ("q75", 0.75)):
            assert line[column] == pytest.approx(smallest_covering(moves, share))


def test_imputed_values_are_not_old_values(tmp_path):
    rows, explainer = gappy()
    answers = explainer.explain_many(rows, target="yes", constraints=LIMITS, words=False)
    audit = explainer.audit(rows, target="yes", constraints=LIMITS)
    check_sizes(audit.features, rows, answers)
    assert audit.schema.set_index("feature")["missing"].to_dict() == rows.isna().sum().to_dict()
    fills = audit.schema.set_index("feature")["imputed"]
    assert fills["income"] == pytest.approx(rows["income"].median())
    assert f"Changes that fill in a missing value: income in {audit.features['filled'].max():,} rows" in str(audit)
    assert "count from the value that the pipeline imputes" in audit.to_html()
    rows.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "model.json").write_text(explainer.to_json())
    text = ["--freeze", "town", "--within", "income=0%:40%", "--within", "debts=-40%:0%"]
    done = call("audit", tmp_path / "model.json", tmp_path / "rows.parquet", "--target", "yes", *text, "--out", tmp_path / "a")
    assert done.code == 0, done.err
    again = cl.Audit.read(tmp_path / "a")
    check_sizes(again.features, rows, answers)
    assert again.schema["missing"].tolist() == audit.schema["missing"].tolist()
    origin = again.origin.set_index("name")["value"]
    assert len(origin["fingerprint of rows.parquet"]) == 64
    assert f"rows.parquet ({origin['fingerprint of rows.parquet'][:16]}...)" in again.to_html()
    assert "The converted model, which is kept with the audit, predicted" in again.to_html()


def test_prices_are_those_of_the_costs():
    rows, explainer = gappy()
    audit = explainer.audit(rows, target="yes", conflicts=0)
    prices = audit.schema.set_index("feature")["price"]
    low, high = np.quantile(rows["income"].dropna(), [0.01, 0.99], method="inverted_cdf")
    assert prices["income"] == f"1 per {high - low:,.0f}"
    assert prices["town"] == "1 for any change"
    answers = explainer.explain_many(rows, target="yes", constraints=cl.freeze("town"), words=False)
    changed = answers["cost"].notna().to_numpy()
    fills = audit.schema.set_index("feature")["imputed"]
    again = sum(
        (answers[name].astype(float) - rows[name])
        .abs()
        .where(rows[name].notna(), (answers[name] - fills[name]).abs())
        .fillna(0)
        / float(prices[name].removeprefix("1 per ").replace(",", ""))
        for name in NUMBERS
    )
    assert again[changed].to_numpy() == pytest.approx(answers.loc[changed, "cost"].to_numpy(float), rel=1e-3, abs=1e-6)
    cost = cl.L1(up={"income": 0.5}, down={"income": 0.25}) + cl.Changes()
    prices = explainer.audit(rows, target="yes", cost=cost, conflicts=0).schema["price"].tolist()
    assert prices[:2] == ["1 for any change, and 1 per 2 upwards, 1 per 4 downwards", "1 for any change, and 1 per 1"]
    assert explainer.audit(rows, target="yes", cost=cl.L2(0.25), conflicts=0).schema["price"].tolist()[0] == (
        "1 for 2, growing with the square"
    )


def test_which_features_the_model_uses():
    audit = bank().audit(applicants(60), target="granted", conflicts=0)
    names = {"hours", "savings", "job", "owner"}  # the points of the applicants do not depend on their age
    importance = bank().model[-1].feature_importances_
    columns = [one.rpartition("__")[2] for one in bank().model[0].get_feature_names_out()]
    used = {name.partition("_")[0] for name, value in zip(columns, importance, strict=True) if value > 0}
    assert used <= names
    assert set(audit.schema.loc[audit.schema["used"], "feature"]) == used


def test_features_that_the_model_does_not_use_are_not_in_the_way():
    rows = applicants()
    audit = bank().audit(rows, target="granted", constraints=[cl.freeze("age", "owner", "job", "hours"), RULES[1]])
    unused = set(audit.schema.loc[~audit.schema["used"], "feature"])
    assert "age" in unused
    assert len(audit.conflicts)
    assert not audit.conflicts["constraints"].str.contains("age").any()
    assert "unchanged: owner" in str(audit)


def test_constraints_on_several_features_are_split():
    rules = [cl.freeze("a", "b"), cl.only_increase("a", "b", at_most="5%"), cl.max_changes(2)]
    texts = ["freeze('a')", "freeze('b')", "only_increase('a', at_most='5%')", "only_increase('b', at_most='5%')"]
    assert list(map(str, by_feature(rules))) == [*texts, "max_changes(2)"]
    assert list(map(str, [cl.freeze("a"), cl.only_increase("a", at_most="5%")])) == [texts[0], texts[2]]
    assert by_feature(rules)[2] == cl.only_increase("a", at_most="5%")


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (cl.freeze("age", 1), "unchanged: age, income"),
        (cl.freeze("age"), "age must not change"),
        (cl.within("income", "0%", "20%"), "income may only rise, by at most 20 %"),
        (cl.within("income", -3, 2), "income may fall by at most 3 or rise by at most 2"),
        (cl.within("income", None, 2), "income may rise by at most 2"),
        (cl.only_increase("age"), "age may only rise"),
        (cl.only_increase("age", by=2, at_most=5), "age must rise, by at least 2 and by at most 5"),
        (cl.only_decrease("age", at_most="50%"), "age may only fall, by at most 50 %"),
        (cl.between("income", -5, 6000), "income must be at least \N{MINUS SIGN}5 and at most 6,000"),
        (cl.between("income", lower=18), "income must be at least 18"),
        (cl.fix("job", "cook"), "job must be cook"),
        (cl.allow("job", ["cook", "smith"]), "job must be cook or smith"),
        (cl.forbid("job", ["cook"]), "job must not be cook"),
        (cl.linear({"age": 1, "income": -2}, "<=", 3), "age plus \N{MINUS SIGN}2 times income must be at most 3"),
        (cl.linear({"job=cook": 1, 0: 1}, ">=", 1), "job=cook plus age must be at least 1"),
        (cl.near([[1.0, 2.0, 0.0]]), "the changed row must be as near to a row of its class as 99 % of the data are"),
        (cl.among([[1.0, 2.0, 0.0]]), "the changed row must be one of 1 given rows"),
        (cl.max_changes(1), "at most 1 feature may change"),
        (cl.implies(cl.changed("job"), cl.freeze("age")), "if job changes, then age must not change"),
        (cl.implies(cl.becomes("job", "cook"), cl.stays("age")), "if job becomes cook, then age stays the same"),
    ],
)
def test_constraints_in_words(constraint, words):
    schema = cl.Schema([cl.Numeric("age"), cl.Numeric("income"), cl.Categorical("job", ["cook", "smith"])])
    assert constraint.in_words(schema) == words


def test_costs_in_words():
    assert "divided by the square of the standard deviation" in cost_words(cl.L2("std"))
    assert cost_words(cl.Changes()) == "Changes(1.0)"


def test_a_small_group_has_no_interval_and_does_not_make_the_largest_difference():
    rows = applicants(1000).assign(team="big")
    rows.loc[:399, "team"] = "other"
    refused = np.flatnonzero(bank().model.predict(rows[["age", "hours", "savings", "job", "owner"]]) == "refused")
    rows.loc[refused[:4], "team"] = "tiny"
    audit = bank().audit(rows, target="granted", constraints=RULES, by="team")
    found = audit.differences[audit.differences["measure"] == "share_has"].set_index(["group", "other"])
    assert found.loc[("big", "tiny"), ["value", "other_value"]].tolist()[1] == 0
    assert np.isnan(found.loc[("big", "tiny"), "low"])
    assert np.isfinite(found.loc[("big", "other"), "low"])
    assert "tiny" not in str(audit).split("\n\n")[2]  # the sentences on differences
    impact = audit.fairness[audit.fairness["notion"] == "adverse impact ratio"].set_index("group")["value"]
    shares = audit.groups.set_index("group")["share_has"]
    assert impact.to_dict() == pytest.approx(
        {one: shares[one] / max(shares["big"], shares["other"]) for one in ("big", "other")}
    )
    page = audit.to_html()
    assert page.count("too few rows") > 10
    line = page[page.index("Of those without the target, can reach it (FACTS") :].partition("</tr>")[0]
    reach = audit.groups.set_index("group")["share_reaching"]
    assert line.endswith(f"<td>{100 * abs(reach['big'] - reach['other']):.1f} points</td>")


def test_a_difference_that_rounds_to_0_keeps_its_sign():
    rows = pd.concat([applicants()] * 50, ignore_index=True)
    rows["half"] = np.where(np.arange(len(rows)) % 2, "a", "b")
    text = bank().audit(rows, target="granted", by="half", conflicts=0).to_html()
    assert "<td>+0.0</td>" not in text
    assert "\N{MINUS SIGN}0.0<" not in text


def test_identifiers_are_not_groups():
    rows = applicants(80).assign(customer=[f"c{k}" for k in range(80)])
    with pytest.raises(cl.CounterleafError, match=r"^column 'customer' has 80 different values in 80 rows; group by another"):
        bank().audit(rows, target="granted", by="customer")
    assert "customer" not in bank().audit(rows, target="granted", search=True).search["columns"].tolist()


def test_title_and_note():
    audit = bank().audit(applicants(60), target="granted", title="Loans <2026>", note="For the regulator & others")
    assert "<h1>Loans &lt;2026&gt;</h1><p>For the regulator &amp; others</p>" in audit.to_html()


def test_an_ensemble_says_that_its_ways_are_not_determined():
    from sklearn.ensemble import RandomForestClassifier

    data = pd.DataFrame(np.random.default_rng(0).random((120, 2)), columns=["a", "b"]).assign(g=["x", "y"] * 60)
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(data[["a", "b"]], data["a"] > 0.5)
    text = cl.Explainer(model, data=data[["a", "b"]]).audit(data, target=True, by="g").to_html()
    assert "are not determined for ensembles" in text


def test_the_largest_clear_difference_says_among_how_many():
    rows = applicants(3000)
    rows["team"] = np.where(rows["owner"], "x", np.where(rows["hours"] < 30, "y", "z"))
    audit = bank().audit(rows, target="granted", by="team", conflicts=0)
    found = audit.differences[audit.differences["measure"] == "share_has"]
    clear = found[(found["low"] > 0) | (found["high"] < 0)]
    start = f"By team, the groups of {len(clear)} of 3 pairs differ clearly (not adjusted for their number), these most: "
    line = next(line for line in str(audit).splitlines() if line.startswith(start))
    most = clear.loc[clear["difference"].abs().idxmax()]
    assert f"team = {most['group']} already have the target, against" in line
    assert f"{abs(100 * most['difference']):.1f} percentage points {'more' if most['difference'] > 0 else 'fewer'}" in line
