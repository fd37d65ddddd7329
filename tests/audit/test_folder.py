"""Reports on folders: the same figures as in memory, for every kind of file; folders that are damaged or not finished."""

import json
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.cli_cases import call, mistake
from support.report_cases import RULES, applicants, bank

import counterleaf as cl
from counterleaf.audit.manifest import Settings
from counterleaf.audit.run import run_audit

TABLES = ("schema", "groups", "pairs", "differences", "features", "search", "fairness", "choices", "conflicts")
BY = ["sex", "age:25,40,60"]
QUESTION = cl.Question("granted", constraints=list(RULES))


def write(rows, folder, kind):
    """Write the rows as two files of one kind."""
    folder.mkdir(exist_ok=True)
    for k, part in enumerate((rows[:150], rows[150:])):
        path = folder / f"rows{k}.{kind}"
        if kind == "parquet":
            part.to_parquet(path, index=False)
        elif kind.startswith("csv"):
            part.to_csv(path, index=False)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in part.to_dict("records")))
    return folder


def check_same(one, other):
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_dtype=False)


@pytest.fixture(scope="module")
def expected():
    return bank().audit(applicants(), QUESTION, by=BY, search=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished audit of Parquet files in small parts."""
    place = tmp_path_factory.mktemp("audits")
    rows = write(applicants(), place / "rows", "parquet")
    run_audit(bank(), [rows], place / "audit", QUESTION, part_rows=64)
    return place


@pytest.fixture
def copied(folder, tmp_path):
    shutil.copytree(folder / "audit", tmp_path / "audit")
    return tmp_path / "audit"


@pytest.mark.parametrize(
    ("kind", "keep"),
    [("parquet", ()), ("parquet", ("all",)), ("csv", ("sex", "savings")), ("csv.gz", ()), ("jsonl", ("all",))],
)
def test_a_folder_gives_the_figures_of_the_frame(tmp_path, expected, kind, keep):
    rows = write(applicants(), tmp_path / "rows", kind)
    run_audit(bank(), [rows], tmp_path / "audit", QUESTION, part_rows=64, settings=Settings(keep))
    if keep == ("all",):
        shutil.rmtree(rows)  # nothing more is needed
    audit = cl.Audit.read(tmp_path / "audit", by=BY, search=True)
    check_same(audit, expected)
    assert str(audit) == str(expected)


def test_groups_from_columns_that_are_not_features(tmp_path):
    """Cells of a CSV file are text unless the model has the column; numbers among them are found all the same."""
    rows = applicants(200).assign(income=np.linspace(0, 100, 200).round(1), children=np.arange(200) % 3, town=["a", None] * 100)
    (tmp_path / "rows").mkdir()
    rows.to_csv(tmp_path / "rows" / "rows.csv", index=False)
    run_audit(bank(), [tmp_path / "rows"], tmp_path / "audit", QUESTION, part_rows=64)
    for by in (["income:20,50", "town"], ["income", "children"]):
        audit, again = cl.Audit.read(tmp_path / "audit", by=by, search=True), bank().audit(rows, QUESTION, by=by, search=True)
        check_same(audit, again)
    with pytest.raises(cl.CounterleafError, match=r"^column 'town' of the data holds 'a'; expected numbers$"):
        cl.Audit.read(tmp_path / "audit", by="town:1")


def test_invalid_rows_with_their_reasons(tmp_path):
    rows = applicants(60)
    rows.loc[[3, 4], "job"] = "pilot"
    (tmp_path / "rows").mkdir()
    rows.to_csv(tmp_path / "rows" / "rows.csv", index=False)
    run_audit(bank(), [tmp_path / "rows"], tmp_path / "audit", QUESTION, part_rows=20)
    text = str(cl.Audit.read(tmp_path / "audit", by="sex"))
    assert text == str(bank().audit(rows, QUESTION, by="sex"))
    assert "Note: 2 rows could not be explained. The most frequent reasons: feature 'job' is 'pilot';" in text


def test_the_page_says_what_was_checked(folder):
    text = cl.Audit.read(folder / "audit", by=BY).to_html()
    assert "A random sample of 400 rows was explained again and checked by the independent checker" in text
    manifest = json.loads((folder / "audit" / "manifest.json").read_text())
    assert manifest["model"]["sha256"] in text
    assert manifest["run"] in text
    assert "rows0.parquet (" in text
    assert str(folder) not in text  # the paths of a machine are nobody's business


def test_proofs_that_are_kept(tmp_path):
    rows = write(applicants(20), tmp_path / "rows", "parquet")
    run_audit(bank(), [rows], tmp_path / "audit", QUESTION, settings=Settings(proofs=True))
    assert (
        "All proofs are kept with the audit. None was checked again for this report"
        in cl.Audit.read(tmp_path / "audit").to_html()
    )


def test_without_a_sample(copied):
    (copied / "sample.json").unlink()
    assert "No proof was checked again." in cl.Audit.read(copied).to_html()


def test_a_failed_check_is_reported(copied):
    content = json.loads((copied / "sample.json").read_text())
    content["failures"] = [{"file": 0, "row": 3, "problem": "cost"}]
    (copied / "sample.json").write_text(json.dumps(content))
    assert "1 of them FAILED." in cl.Audit.read(copied).to_html()


def test_gaps_numbers_that_are_removed_and_invalid_rows(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.random((300, 2)).round(3), columns=["a", "b"])
    data.loc[::5, "a"] = np.nan
    labels = np.where(data["a"].fillna(0) + data["b"] > 1, "yes", "no")
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(data, labels)
    schema = cl.Schema([cl.Numeric("a", 0, 1, missing="allowed"), cl.Numeric("b", 0, 1)])
    explainer = cl.Explainer(tree, data=data, schema=schema)
    data.loc[7, "b"] = np.inf
    write(data, tmp_path / "rows", "parquet")
    for target in ("yes", "no"):
        question = cl.Question(target, constraints=cl.freeze("b"))
        run_audit(explainer, [tmp_path / "rows"], tmp_path / target, question, part_rows=50)
        check_same(cl.Audit.read(tmp_path / target), explainer.audit(data, question))
    removed = cl.Audit.read(tmp_path / "no").features
    again = explainer.explain_many(data, target="no", constraints=cl.freeze("b"), words=False)
    count = (data["a"].notna() & again["a"].isna() & (again["n_changed"] == 1)).sum()
    assert count == 0 or f"({count:,})" in removed.loc[0, "new_values"]


def test_classes_and_targets_of_other_types(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.random((120, 3)), columns=list("abc"))
    write(data, tmp_path / "rows", "parquet")
    for k, labels in enumerate(((data["a"] > 0.5), np.digitize(data["a"] + data["b"], [0.7, 1.3]))):
        explainer = cl.Explainer(DecisionTreeClassifier(max_depth=3, random_state=0).fit(data, labels), data=data)
        goals = [explainer.tree.classes[0].item(), None, {explainer.tree.classes[1].item(): 0.2}]
        goals.append(cl.probability(explainer.tree.classes[1].item(), at_least=0.8))
        for j, target in enumerate(goals):
            run_audit(explainer, [tmp_path / "rows"], tmp_path / f"{k}{j}", cl.Question(target), part_rows=32)
            check_same(cl.Audit.read(tmp_path / f"{k}{j}", by="a:0.5"), explainer.audit(data, target=target, by="a:0.5"))


def test_an_ensemble_with_limits(tmp_path):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.random((200, 4)), columns=list("abcd"))
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(data, data.sum(axis=1) > 2)
    explainer = cl.Explainer(forest, data=data)
    write(data, tmp_path / "rows", "parquet")
    question = cl.Question(True, max_nodes=3)
    run_audit(explainer, [tmp_path / "rows"], tmp_path / "audit", question, part_rows=70)
    check_same(cl.Audit.read(tmp_path / "audit", by="a:0.5"), explainer.audit(data, question, by="a:0.5"))


def test_an_audit_that_is_not_finished(copied):
    (copied / "parts" / "part-00000001.parquet").unlink()
    with pytest.raises(cl.CounterleafError, match=r"audit is not finished: 64 of 400 rows are missing; run the audit again to"):
        cl.Audit.read(copied)
    audit = cl.Audit.read(copied, by="sex", partial=True)
    assert audit.groups.loc[0, "rows"] == 336
    assert "The audit is not finished: 64 of 400 rows are missing in this report." in str(audit)
    rest = applicants().drop(index=range(64, 128)).reset_index(drop=True)
    pd.testing.assert_frame_equal(audit.groups, bank().audit(rest, QUESTION, by="sex").groups)
    for path in (copied / "parts").iterdir():
        path.unlink()
    with pytest.raises(cl.CounterleafError, match=r"400 of 400 rows are missing; run the audit again to finish it$"):
        cl.Audit.read(copied, partial=True)


def test_damaged_and_foreign_folders(copied, tmp_path):
    with pytest.raises(cl.CounterleafError, match=r"is not a folder; expected the folder of an audit$"):
        cl.Audit.read(tmp_path / "none")
    with pytest.raises(cl.CounterleafError, match=r"has no manifest.json; expected the folder of an audit$"):
        cl.Audit.read(tmp_path)
    part = copied / "parts" / "part-00000002.parquet"
    part.write_bytes(part.read_bytes()[:-40])
    with pytest.raises(cl.CounterleafError, match=r"part-00000002.parquet is damaged; remove it and run the audit again$"):
        cl.Audit.read(copied)
    shutil.copy(copied / "parts" / "part-00000001.parquet", part)
    with pytest.raises(cl.CounterleafError, match=r"part-00000002.parquet belongs to another audit; remove it and run"):
        cl.Audit.read(copied)


def test_inputs_that_were_changed(tmp_path):
    rows = write(applicants(40), tmp_path / "rows", "csv")
    run_audit(bank(), [rows], tmp_path / "audit", QUESTION)
    (rows / "rows0.csv").write_text((rows / "rows0.csv").read_text() + "\n")
    with pytest.raises(cl.CounterleafError, match=r"rows0.csv was changed since the audit began"):
        cl.Audit.read(tmp_path / "audit", by="sex")
    (rows / "rows0.csv").unlink()
    with pytest.raises(cl.CounterleafError, match=r"there is no file .*rows0.csv; it is an input of the audit"):
        cl.Audit.read(tmp_path / "audit", by="sex")


def test_the_command(folder, tmp_path, monkeypatch, expected):
    monkeypatch.chdir(tmp_path)
    done = call("report", folder / "audit", "--by", "sex", "--by", "age:25,40,60", "--search", "--out", "r.html")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{expected}\n\nWrote r.html and 20 tables next to it\n"
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    again = call("report", folder / "audit", "--budget", "0.1", "--conflicts", "3", "--seed", "4", "--min-rows", "50")
    assert again.code == 0
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "sexx"], "the input has no column 'sexx' to group by; did you mean 'sex'?"),
        (["--by", "age:40,25"], "the bounds of 'age' are [40.0, 25.0]; expected increasing numbers"),
        (["--by", "sex:1,2"], "column 'sex' of the data holds 'f'; expected numbers"),
        (["--out", "report.pdf"], "--out is report.pdf; expected a name that ends in .html"),
    ],
)
def test_mistakes_on_the_command_line(folder, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    found = mistake("report", folder / "audit", *options)
    assert found.split(" holds ")[0] == message.split(" holds ")[0]
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow(folder, monkeypatch):
    for name in ("counterleaf.audit.finished", "counterleaf.audit.report.folder"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert mistake("report", folder / "audit") == "a report on a folder needs pyarrow; install with: pip install pyarrow"


def test_text_that_looks_like_numbers_is_not_one_group(tmp_path):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-0.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree, schema=cl.Schema([cl.Numeric("a", -3, 3), cl.Numeric("b", -3, 3)]))
    frame = pd.DataFrame({"a": np.linspace(-3, 3, 200), "b": 0.0, "zip": ["007", "7", "7.0", "nan"] * 50})
    frame.to_parquet(tmp_path / "rows.parquet")
    run_audit(explainer, [tmp_path / "rows.parquet"], tmp_path / "audit", cl.Question("yes"))
    read = cl.Audit.read(tmp_path / "audit", by=["zip"], conflicts=0).groups
    made = explainer.audit(frame, target="yes", by=["zip"], conflicts=0).groups
    assert read["group"].tolist() == made["group"].tolist() == ["all rows", "007", "7", "7.0", "nan"]
    assert read["rows"].tolist() == [200, 50, 50, 50, 50]
    frame.assign(zip=["007", "7"] * 100).to_csv(tmp_path / "rows.csv", index=False)
    run_audit(explainer, [tmp_path / "rows.csv"], tmp_path / "text", cl.Question("yes"))
    assert cl.Audit.read(tmp_path / "text", by=["zip"], conflicts=0).groups["group"].tolist() == ["all rows", "007", "7"]


def test_a_removed_feature_whose_name_holds_the_separator(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a; z", "b"])
    X.iloc[::3, 0] = np.nan
    model = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(X, np.where(X["a; z"].isna() | (X.b > 0), "yes", "no"))
    schema = cl.Schema([cl.Numeric("a; z", -4, 4, missing="allowed"), cl.Numeric("b", -4, 4)])
    X.to_csv(tmp_path / "rows.csv", index=False)
    run_audit(cl.Explainer(model, schema=schema), [tmp_path / "rows.csv"], tmp_path / "audit", cl.Question("yes"))
    features = cl.Audit.read(tmp_path / "audit", conflicts=0).features.set_index("feature")
    assert features.loc["a; z", "removed"] > 0
