"""counterleaf verify finds forged cells of every column, and honest audits with a time limit pass."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.audit_cases import answers, numbers, write_model, write_rows
from support.cli_cases import call, mistake

import counterleaf as cl
from counterleaf.audit.checking.sealed import write_sealed
from counterleaf.audit.folder import KEY, Folder
from counterleaf.audit.manifest import read_explainer, read_manifest, write_manifest
from counterleaf.audit.parts import Task


def forge(out, **columns):
    """Rewrite cells of the first part, with counts and checksums that fit."""
    path = out / "parts/part-00000000.parquet"
    table = parquet.read_table(path)
    about = json.loads(table.schema.metadata[KEY])
    for name, edit in columns.items():
        k, field = table.schema.names.index(name), table.schema.field(name)
        table = table.set_column(k, field, pa.array(edit(table[name].to_pylist()), field.type))
    manifest = read_manifest(Folder(out))
    step = read_explainer(Folder(out), manifest).arrow(**manifest.arguments)
    about["counts"] = Task("", manifest.run, step, (), ()).count(table)
    write_sealed(path, table, about)


def failures(out):
    done = call("verify", out, "--jobs", 1)
    assert done.code == 4, done
    return done.out


def line(at=0.5, **limits):
    """yes if the first feature is above ``at``."""
    weights = np.zeros((3, 2))
    weights[0, 0] = 1
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-at, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    first = cl.Numeric("a", **{"lower": -3, "upper": 3, **limits})
    return cl.Explainer(tree, schema=cl.Schema([first, cl.Numeric("b", -3, 3)]))


def audit(folder, rows, *options, out="audit"):
    done = call("audit", folder / "model.json", rows, "--target", "yes", *options, "--jobs", 1, "--out", folder / out)
    assert done.code in (0, 3), done
    return done


@pytest.mark.parametrize("proofs", [("--proofs",), ()], ids=str)
@pytest.mark.parametrize(
    ("name", "value"), [("sex", "x"), ("changed", "nothing"), ("problem", "odd"), ("b", -0.0), ("probability", 0.125)]
)
def test_forged_cells_of_any_column_are_found(tmp_path, proofs, name, value):
    frame = numbers(40, columns=2).rename(columns={"x0": "a", "x1": "b"})
    model = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(frame, np.where(frame.a + frame.b > 0, "yes", "no"))
    write_model(tmp_path, cl.Explainer(model, data=frame))
    frame.loc[7, "b"] = 0.0
    rows = write_rows(tmp_path / "rows.parquet", frame.assign(sex=["f", "m"] * 20))
    audit(tmp_path, rows, "--at-least", 0.9, "--keep", "sex,b", "--words", *proofs)
    assert call("verify", tmp_path / "audit", "--jobs", 1).code == 0
    forge(tmp_path / "audit", **{name: lambda cells: [value if k == 7 else cell for k, cell in enumerate(cells)]})
    assert f"FAIL file 0, row 7: {name} is " in failures(tmp_path / "audit")
    if proofs and name == "probability":
        rows.unlink()
        found = failures(tmp_path / "audit")
        assert "FAIL file 0, row 7: probability is 0.125 in the audit; the proof has " in found
        assert "1 of 40" in found


@pytest.mark.parametrize("proofs", [("--proofs",), ()], ids=str)
def test_forged_invalid_rows_and_removed_numbers_are_found(tmp_path, proofs):
    frame = numbers(60, columns=2).rename(columns={"x0": "a", "x1": "b"})
    frame.iloc[::3, 0] = np.nan
    model = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(
        frame, np.where(frame.a.isna() | (frame.b > 0), "yes", "no")
    )
    schema = cl.Schema([cl.Numeric("a", -4, 4, missing="allowed"), cl.Numeric("b", -4, 4)])
    write_model(tmp_path, cl.Explainer(model, schema=schema))
    frame.loc[5, "b"] = np.inf
    audit(tmp_path, write_rows(tmp_path / "rows.parquet", frame), *proofs)
    assert call("verify", tmp_path / "audit", "--jobs", 1).code == 0
    before = answers(tmp_path / "audit")["removed"].to_pylist()
    assert any(before)
    forge(tmp_path / "audit", removed=lambda cells: [None] * len(cells), cost=lambda cells: [*cells[:5], 1.0, *cells[6:]])
    found = failures(tmp_path / "audit")
    assert f"row {next(k for k, one in enumerate(before) if one)}: removed is None in the audit" in found
    assert "FAIL file 0, row 5: cost is 1.0 in the audit; computed again, it is None" in found
    if proofs:
        (tmp_path / "rows.parquet").unlink()
        found = failures(tmp_path / "audit")
        assert found.count("removed is None in the audit; the proof has 'a'") == sum(map(bool, before))


@pytest.fixture(scope="module")
def forest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forest")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 8)), columns=list("abcdefgh"))
    label = np.where(frame.sum(axis=1) + frame.a * frame.b > 0, "yes", "no")
    model = RandomForestClassifier(30, max_depth=6, random_state=0).fit(frame, label)
    write_model(folder, cl.Explainer(model, data=frame))
    write_rows(folder / "rows.csv", frame.head(24))
    return folder


@pytest.mark.parametrize("limit", [0.001, 0.003, 0.01])
@pytest.mark.parametrize("proofs", [("--proofs", "--words"), ("--words",)], ids=str)
def test_an_honest_audit_with_a_time_limit_passes(forest, tmp_path, limit, proofs):
    done = audit(forest, forest / "rows.csv", "--time-limit", limit, *proofs, out=f"{tmp_path.name}")
    assert "FAIL" not in done.out
    checked = call("verify", forest / tmp_path.name, "--jobs", 1)
    assert checked.code == 0, checked


@pytest.mark.parametrize("proofs", [("--proofs",), ()], ids=str)
@pytest.mark.parametrize("limit", [0.0003, 10])
def test_an_honest_audit_of_a_tree_with_a_time_limit_passes(tmp_path, proofs, limit):
    frame = numbers(60)
    tree = cl.Tree(
        [1, -1, -1], [2, -1, -1], [[1.0, 1.3, 0, 0], [0] * 4, [0] * 4], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"]
    )
    write_model(tmp_path, cl.Explainer(tree, data=frame.to_numpy()))
    done = audit(tmp_path, write_rows(tmp_path / "rows.csv", frame), "--time-limit", limit, "--words", *proofs)
    assert "FAIL" not in done.out
    assert call("verify", tmp_path / "audit", "--jobs", 1).code == 0


@pytest.mark.parametrize("proofs", [("--proofs",), ()], ids=str)
@pytest.mark.parametrize(
    ("name", "value"), [("cost", 1e-4), ("label", "no"), ("source_label", "yes"), ("new_a", 99.0), ("lower_bound", 1e9)]
)
def test_forged_rows_that_a_limit_ended_are_found(forest, tmp_path, proofs, name, value):
    out = forest / tmp_path.name
    audit(forest, forest / "rows.csv", "--time-limit", 0.001, *proofs, out=out.name)
    table = answers(out).to_pylist()
    ended = [k for k, one in enumerate(table) if one["status"] == "limit" and one["cost"] is not None]
    assert ended
    forge(out, **{name: lambda cells: [value if k in ended else cell for k, cell in enumerate(cells)]})
    found = failures(out)
    assert all(f"FAIL file 0, row {row}: " in found for row in ended[:20])
    assert "Status." not in found


def test_answers_beyond_64_bits(tmp_path):
    write_model(tmp_path, line(2.0**64, lower=0, upper=2.0**70, integer=True))
    (tmp_path / "rows.csv").write_text("a,b\n5,0.5\n")
    done = audit(tmp_path, tmp_path / "rows.csv")
    assert answers(tmp_path / "audit")["status"].to_pylist() == ["invalid"]
    assert "1 random rows were read again, and are invalid again: there is no proof to check." in done.out
    audit(tmp_path, tmp_path / "rows.csv", "--proofs", out="proved")
    for out in ("audit", "proved"):
        done = call("verify", tmp_path / out)
        assert done.code == 0
        assert "there is no proof to check, since all rows are invalid" in done.out
        assert "hold" not in done.out


def test_a_division_or_columns_that_are_not_those_of_the_inputs(tmp_path):
    write_model(tmp_path, line())
    frame = pd.DataFrame({"a": np.repeat([3.0, -3.0], 20), "b": 0.0})
    for what in ("parts", "columns"):
        out = Folder(tmp_path / what)
        audit(tmp_path, write_rows(tmp_path / "rows.csv", frame), "--part-rows", 20, "--proofs", out=what)
        manifest = read_manifest(out)
        plan = manifest.plan
        form = replace(plan.forms[0], columns=plan.forms[0].columns[::-1])
        plan = replace(plan, parts=plan.parts[:1]) if what == "parts" else replace(plan, forms=(form,))
        forged = replace(manifest, plan=plan)
        write_manifest(out, forged, out.model.read_text())
        for path in [*out.path.glob("*/*.parquet")]:
            table = parquet.read_table(path)
            about = {**json.loads(table.schema.metadata[KEY]), "run": forged.run}
            write_sealed(path, table, about)
        assert f"manifest.json was changed: the {what} of the inputs are others" in mistake("verify", out.path, "--jobs", 1)


def test_the_words_of_a_constraint_are_made_from_its_numbers(tmp_path):
    """An audit of one interval cannot say another one."""
    write_model(tmp_path, line())
    write_rows(tmp_path / "rows.parquet", pd.DataFrame({"a": [-1.0, -2.0], "b": [0.0, 1.0]}))
    audit(tmp_path, tmp_path / "rows.parquet", "--between", "a=-3:1", "--proofs")
    manifest = tmp_path / "audit/manifest.json"
    content = json.loads(manifest.read_text())
    assert "between('a', -3, 1)" in call("verify", tmp_path / "audit", "--jobs", 1).out
    content["question"]["constraints"][0]["words"] = "between('a', -3, 3)"
    manifest.write_text(json.dumps(content))
    assert "words" in mistake("verify", tmp_path / "audit", "--jobs", 1)
