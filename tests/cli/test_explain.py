"""``counterleaf explain``: every form of input and output, and the exit codes."""

import io
import json
import re
import sys

import openpyxl
import pandas as pd
import pytest
from support.cli_cases import ROW, call, mistake, rows_of, small

import counterleaf as cl
from counterleaf.model.adapter import ModelAdapter
from counterleaf.storage.files import read_frame

EXPLAINER, ROWS = small(), rows_of(12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, a plain tree, and the same rows in every form."""
    at = tmp_path_factory.mktemp("explain")
    (at / "model.json").write_text(EXPLAINER.to_json())
    (at / "tree.json").write_text(_plain().to_json())
    ROWS.to_csv(at / "rows.csv", index=False)
    ROWS.to_csv(at / "rows.csv.gz", index=False)
    ROWS.to_parquet(at / "rows.parquet")
    ROWS.to_json(at / "rows.jsonl", orient="records", lines=True)
    ROWS.to_excel(at / "rows.xlsx", index=False)
    ROWS.to_csv(at / "semicolons.csv", index=False, sep=";")
    ROWS.to_csv(at / "commas.csv", index=False, sep=";", decimal=",")
    ROWS.to_csv(at / "tabs.csv", index=False, sep="\t")
    ROWS.assign(who=[f"p{k}" for k in range(len(ROWS))]).to_csv(at / "named.csv", index=False)
    return at


def _plain():
    return cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])


def _frame(**question):
    found = EXPLAINER.explain_many(ROWS, digits="short", progress=False, **question)
    return found.rename_axis("row").reset_index()


KINDS = ["rows.csv", "rows.csv.gz", "rows.parquet", "rows.jsonl", "rows.xlsx", "semicolons.csv", "commas.csv", "tabs.csv"]


@pytest.mark.parametrize("name", KINDS)
def test_every_form_of_rows_gives_the_answers_of_python(folder, name):
    done = call("explain", folder / "model.json", folder / name, "--target", 2, "--format", "csv")
    assert (done.code, done.err) == (0, "")
    assert done.out == _frame(target=2).to_csv(index=False)


@pytest.mark.parametrize("name", KINDS)
def test_the_first_bytes_of_standard_input_give_its_form(folder, name):
    done = call("explain", folder / "model.json", "-", "--target", 2, "--format", "csv", stdin=(folder / name).read_bytes())
    assert (done.code, done.out) == (0, _frame(target=2).to_csv(index=False))


@pytest.mark.parametrize("jobs", ["1", "2", "-1"])
def test_workers_change_nothing(folder, jobs):
    done = call("explain", folder / "model.json", folder / "rows.csv", "--format", "csv", "--jobs", jobs)
    assert done.out == _frame().to_csv(index=False)


def test_files_hold_what_stdout_shows(folder, tmp_path):
    shown = call("explain", folder / "model.json", folder / "rows.csv", "--format", "csv").out
    for name in ("a.csv", "a.csv.gz", "a.parquet", "deep/er/a.csv"):
        done = call("explain", folder / "model.json", folder / "rows.csv", "--out", tmp_path / name)
        summary = "12 rows: 12 with an answer that is proved cheapest. The tree confirms every answer."
        assert (done.code, done.out, done.err) == (0, f"Wrote {tmp_path / name}. {summary}\n", "")
    assert (tmp_path / "a.csv").read_text() == shown == (tmp_path / "deep/er/a.csv").read_text()
    assert pd.read_csv(tmp_path / "a.csv.gz").to_csv(index=False) == pd.read_csv(tmp_path / "a.csv").to_csv(index=False)
    assert pd.read_parquet(tmp_path / "a.parquet").to_csv(index=False) == shown
    table = call("explain", folder / "model.json", folder / "rows.csv")
    call("explain", folder / "model.json", folder / "rows.csv", "--out", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == table.out


def printed(answer, folder):
    """As ``print`` shows it, except that the tree in the file confirms the answer."""
    return str(answer).replace("Your model confirms", f"The tree in {folder / 'model.json'} confirms")


def test_one_row_is_explained_in_words(folder):
    done = call("explain", folder / "model.json", json.dumps(ROW), "--target", 1)
    assert (done.code, done.out) == (0, f"{printed(EXPLAINER.explain(ROW, target=1), folder)}\n")
    again = call("explain", folder / "model.json", folder / "rows.csv", "--row", 3, "--target", 1)
    assert again.out == f"{printed(EXPLAINER.explain(ROWS.iloc[3].to_dict(), target=1), folder)}\n"


def test_many_rows_are_a_line_each_and_a_summary(folder):
    lines = call("explain", folder / "model.json", folder / "named.csv", "--id", "who", "--target", 2).out.splitlines()
    assert lines[0].split() == ["row", "model", "says", "would", "say", "cost", "if"]
    assert [line.split()[0] for line in lines[1:13]] == [f"p{k}" for k in range(12)]
    answers = [EXPLAINER.explain(row, target=2) for row in ROWS.to_dict("records")]
    still = sum(not answer[0].changes for answer in answers)
    assert f"{12 - still} with an answer that is proved cheapest" in lines[-1]
    assert f"{still} already at the target" in lines[-1]
    assert lines[-1].startswith("12 rows: ")
    assert lines[-1].endswith("The tree confirms every answer.")
    for line, answer in zip(lines[1:13], answers, strict=True):
        for name in answer[0].changes:
            assert f"{name} " in line


def test_every_leaf(folder):
    options = ["--row", "2", "--count", "all", "--format", "csv", "--digits", "full"]
    done = call("explain", folder / "model.json", folder / "rows.csv", *options)
    found = pd.read_csv(io.StringIO(done.out))
    answer = EXPLAINER.explain(ROWS.iloc[2].to_dict(), count=None)
    assert found["rank"].tolist() == list(range(1, len(answer) + 1))
    assert found["cost"].tolist() == [one.cost for one in answer]
    assert found["leaf"].tolist() == [one.leaf for one in answer]
    assert {name for one in answer for name in one.changes} == set(ROWS.columns) & set(found.columns)
    for name in set(ROWS.columns) & set(found.columns):
        assert found[name].tolist() == [one.row[name] for one in answer]


def test_whole_numbers_stay_whole_next_to_rows_without_an_answer(folder, tmp_path):
    ROWS.head(3).astype({"level": object}).replace({"level": {ROWS.level[1]: "none"}}).to_csv(tmp_path / "r.csv", index=False)
    for count in ("1", "2"):
        options = f"--count {count} --format csv --only-increase age=1".split()
        done = call("explain", folder / "model.json", tmp_path / "r.csv", *options)
        assert done.code == 3
        found = pd.read_csv(io.StringIO(done.out), dtype=str)
        assert found["age"].dropna().str.fullmatch(r"\d+").all()
        assert "invalid" in found["status"].tolist()


def test_lines_of_json_verify(folder, tmp_path):
    done = call("explain", folder / "model.json", folder / "rows.csv", "--format", "json", "--freeze", "age")
    (tmp_path / "a.jsonl").write_text(done.out)
    for name in ("b.jsonl", "b.json"):
        call("explain", folder / "model.json", folder / "rows.csv", "--out", tmp_path / name, "--freeze", "age")
        assert (tmp_path / name).read_text() == done.out
    answers = [cl.Explanation.from_json(line) for line in done.out.splitlines()]
    assert all(answer.certificate.check() for answer in answers)
    assert call("verify", tmp_path / "a.jsonl", "--model", folder / "model.json").code == 0


def test_a_plain_tree_takes_the_columns_in_their_order(folder, tmp_path):
    (tmp_path / "xy.csv").write_text("who,x,y\nann,0,0\nbob,2,0\n")
    done = call("explain", folder / "tree.json", tmp_path / "xy.csv", "--id", "who", "--target", "yes", "--format", "csv")
    ann, bob = done.out.splitlines()[1:]
    assert (
        re.sub(r",0\.49999999999999\d*,", ",0.5,", ann)
        == "ann,optimal,0.5,0.5,2,no,yes,2,x 0 -> 0.5; y 0 -> 0.5,True,short,0.5,0.5"
    )  # a bound, rounded down
    assert bob == "bob,optimal,0.0,0.0,2,yes,yes,0,,True,short,2.0,0.0"
    line = mistake("explain", folder / "tree.json", tmp_path / "xy.csv")
    assert line.startswith(f"{tmp_path / 'xy.csv'} has 3 columns, and this tree has 2; remove the other columns")


def _spoiled(tmp_path):
    rows = rows_of(6).astype(object)
    rows.loc[1, "age"], rows.loc[2, "level"], rows.loc[3, "age"], rows.loc[4, "floor"] = "old", "top", None, None
    rows.to_csv(tmp_path / "bad.csv", index=False)
    return tmp_path / "bad.csv"


PROBLEMS = {
    1: "feature 'age' is 'old'; expected a number",
    2: "feature 'level' is 'top'; expected one of 'low', 'mid', 'high'",
    3: "feature 'age' of the row is nan; expected a finite number: fill it in first",
    4: "feature 'floor' of the row is missing and the model has no route for that: fill it in",
}


def test_rows_that_cannot_be_explained_do_not_stop_the_others(folder, tmp_path):
    path = _spoiled(tmp_path)
    table = call("explain", folder / "model.json", path)
    csv = call("explain", folder / "model.json", path, "--format", "csv")
    lines = call("explain", folder / "model.json", path, "--format", "json")
    assert (table.code, csv.code, lines.code) == (3, 3, 3)
    found = pd.read_csv(io.StringIO(csv.out)).set_index("row")
    for row, problem in PROBLEMS.items():
        assert f"not explained: {problem}" in table.out.splitlines()[row + 1]
        assert found.loc[row, ["status", "problem"]].tolist() == ["invalid", problem]
        assert json.loads(lines.out.splitlines()[row]) == {"format": "counterleaf-problem", "row": row, "problem": problem}
    assert table.out.splitlines()[-1].startswith(
        "6 rows: 2 with an answer that is proved cheapest, 4 that cannot be explained."
    )
    assert found.loc[[0, 5], "status"].tolist() == ["optimal", "optimal"]


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_mistake_in_every_row_is_one_line(folder, tmp_path, form):
    path = _spoiled(tmp_path)
    for row, problem in PROBLEMS.items():
        assert mistake("explain", folder / "model.json", path, "--row", row, "--format", form) == problem


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_what_is_impossible_is_code_3(folder, form):
    ask = ["explain", folder / "model.json", folder / "rows.csv", "--target", 2, "--max-changes", 0, "--format", form]
    done = call(*ask)
    assert done.code == 3
    assert "infeasible" in done.out or "no such row: max_changes(0)" in done.out
    one = call(
        *ask, "--row", next(k for k, row in enumerate(ROWS.to_dict("records")) if EXPLAINER.explain(row).source_label != 2)
    )
    assert one.code == 3
    assert form != "table" or "This constraint rules it out: max_changes(0)." in one.out


@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize("count", ["1", "2"])
def test_an_answer_that_the_model_does_not_confirm_is_code_4(folder, monkeypatch, form, count):
    def wrong(self, points, *more):
        return [-1] * len(points)

    def wrong_many(self, sheet, at, codes, *more):
        return codes[1][:, 0] * 0 - 1

    monkeypatch.setattr(ModelAdapter, "predictions", wrong)
    monkeypatch.setattr(ModelAdapter, "predictions_many", wrong_many)
    done = call("explain", folder / "model.json", folder / "rows.csv", "--format", form, "--count", count)
    assert (done.code, done.err) == (4, f"counterleaf: the tree in {folder / 'model.json'} did not confirm an answer\n")
    assert form != "table" or "The tree does NOT confirm" in done.out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["rows.csv", "--out", "a.xls"],
            "--out is a.xls; expected a name that ends in .txt, .jsonl, .json, .csv, .csv.gz, .parquet or .xlsx",
        ),
        (
            ["rows.csv", "--out", "a.csv", "--format", "json"],
            "--out is a.csv and --format is json; expected a name that ends in .jsonl",
        ),
        (["rows.csv", "--format", "xml"], "--format is 'xml'; expected table, json, csv or xlsx"),
        (["rows.csv", "--out", "rows.csv"], "--out is rows.csv, which is an input file; expected another name"),
        (["rows.csv", "--out", "./model.json"], "--out is model.json, which is an input file; expected another name"),
        (["rows.csv", "--out", "folder.csv"], "cannot write folder.csv: it is a directory; expected the name of a file"),
        (["rows.csv", "--row", "12"], "--row is 12; the rows are 0 to 11"),
        (["rows.csv", "--id", "who"], f"--id is 'who'; rows.csv has the columns {list(ROWS.columns)}"),
        (
            ["rows.csv", "--id", "age", "--format", "csv"],
            "features named ['age'] collide with the columns of the answers; use --format json",
        ),
        (["rows.csv", "--format", "xlsx"], "--format is xlsx; expected --out with a name that ends in .xlsx"),
        (["rows.csv", "--digits", "few", "--format", "csv"], "--digits is 'few'; expected short or full"),
        (
            ["rows.csv", "--digits", "short"],
            "--digits is short, which is about CSV, Excel and Parquet; the output is table",
        ),
        (
            ["rows.csv", "--out", "a.csv", "--format", "xlsx"],
            "--out is a.csv and --format is xlsx; expected a name that ends in .xlsx",
        ),
        (
            ["rows.csv", "--id", "changed", "--format", "csv"],
            "--id is 'changed', which is the name of an output column; rename it in the file",
        ),
        ([], "no rows; expected a file, - for standard input, or a JSON object as the second argument"),
        (["absent.csv"], "absent.csv: No such file or directory"),
        (["model.json"], "model.json: unknown file type; expected .csv, .csv.gz, .jsonl, .xlsx or .parquet"),
        (
            ['{"age": old}'],
            "the row is not valid JSON (Expecting value: line 1 column 9 (char 8)); expected an object such as '{\"age\": 39}'",
        ),
        (
            ['{"age": 3}'],
            f"the row lacks the columns {list(ROWS.columns[1:])}; the model needs {list(ROWS.columns)}",
        ),
    ],
)
def test_a_mistake_is_one_line(folder, monkeypatch, arguments, line):
    monkeypatch.chdir(folder)
    (folder / "folder.csv").mkdir(exist_ok=True)
    before = sorted(folder.iterdir())
    assert mistake("explain", "model.json", *arguments) == line
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv cannot be read as a table (No columns to parse from file); expected the format of its suffix"),
        ("a.csv", b"age,level\n", "a.csv has no rows; expected at least one"),
        ("a.csv", b"age,age\n1,2\n", "a.csv has two columns named 'age'; names must differ"),
        ("a.csv", b"age;age\n1;2\n", "a.csv has two columns named 'age'; names must differ"),
        ("a.csv", b"age;pay=net\n1;1,234\n", "a.csv cannot be read as a table (column 'pay=net' holds '1,234', which may be a"),
        ("a.csv", "age\n1\n".encode("utf-16"), "a.csv is not text in UTF-8; save it as UTF-8"),
        ("a.csv.gz", b"age\n1\n", "a.csv.gz cannot be read as a table (Not a gzipped file (b'ag')); expected"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00junk", "a.csv.gz cannot be read as a table ("),
        ("a.jsonl", b"\n", "a.jsonl has no rows; expected at least one"),
        (
            "a.jsonl",
            b"[1]\n",
            "a.jsonl cannot be read as a table (line 1 is not a JSON object); expected the format of its suffix",
        ),
        ("a.jsonl", b'{"a": 1}\n{"a"\n', "a.jsonl cannot be read as a table (line 2: Expecting ':' delimiter"),
        ("a.jsonl", b'{"a":' + b"[" * 100_000, "a.jsonl cannot be read as a table (maximum recursion depth exceeded"),
        ("a.parquet", b"PAR1junk", "a.parquet cannot be read as a table ("),
        ("a.xlsx", b"PK", "a.xlsx cannot be read as a table (BadZipFile: File is not a zip file); expected the format of its"),
        ("a.xls", b"PK", "a.xls: unknown file type; expected .csv, .csv.gz, .jsonl, .xlsx or .parquet"),
    ],
    ids=[
        "empty",
        "head only",
        "twice",
        "semicolons",
        "thousands",
        "utf-16",
        "no gzip",
        "half gzip",
        "no lines",
        "no object",
        "half line",
        "deep",
        "half parquet",
        "half excel",
        "old excel",
    ],
)
def test_a_file_that_is_no_table_is_one_line(folder, tmp_path, monkeypatch, name, content, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    assert mistake("explain", folder / "model.json", name).startswith(message)


def test_empty_standard_input_is_one_line(folder):
    line = mistake("explain", folder / "model.json", "-", stdin=b" \n")
    assert line == "standard input is empty; expected a table as CSV, JSON lines, Excel or Parquet"
    assert mistake("explain", folder / "model.json", "-", stdin=b"\x1f\x8bjunk").endswith(
        "; expected CSV, JSON lines, Excel or Parquet"
    )


@pytest.mark.parametrize(
    "value",
    ["1" + "0" * 400, "[1]", '{"a": 1}', '"old"', "1e999", "30.5"],
    ids=["huge", "list", "object", "word", "infinite", "half"],
)
@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_cell_that_is_no_number_is_one_line(folder, tmp_path, value, form):
    text = json.dumps({**ROW, "age": "here"}).replace('"here"', value)
    (tmp_path / "a.jsonl").write_text(text)
    assert mistake("explain", folder / "model.json", tmp_path / "a.jsonl", "--format", form).startswith("feature 'age' ")


def test_a_row_too_deep_to_read_is_one_line(folder):
    assert mistake("explain", folder / "model.json", '{"a":' + "[" * 100_000).startswith(
        "the row is not valid JSON (maximum recursion"
    )


def test_features_named_like_the_columns_of_answers_are_refused(tmp_path):
    schema = cl.Schema([cl.Numeric("cost", 0, 9), cl.Numeric("y", 0, 9)])
    (tmp_path / "model.json").write_text(cl.Explainer(_plain(), schema=schema).to_json())
    (tmp_path / "a.csv").write_text("cost,y\n0,0\n")
    for count in ("1", "2"):
        line = mistake("explain", tmp_path / "model.json", tmp_path / "a.csv", "--format", "csv", "--count", count)
        assert line == "features named ['cost'] collide with the columns of the answers; use --format json"
    assert call("explain", tmp_path / "model.json", tmp_path / "a.csv", "--format", "json").code == 0


def test_numbers_that_came_as_text_are_numbers(folder, tmp_path):
    ROWS.astype({"age": str, "pay=net": str}).to_parquet(tmp_path / "a.parquet")
    done = call("explain", folder / "model.json", tmp_path / "a.parquet", "--format", "csv", "--target", 2)
    assert pd.read_csv(io.StringIO(done.out))["cost"].tolist() == _frame(target=2)["cost"].tolist()


def test_named_rows_of_parquet_are_columns(folder, tmp_path):
    ROWS.assign(who=range(12)).set_index(["who", "age"]).to_parquet(tmp_path / "a.parquet")
    done = call("explain", folder / "model.json", tmp_path / "a.parquet", "--format", "csv", "--target", 2)
    assert done.out == _frame(target=2).to_csv(index=False)


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_row_stopped_by_the_limit_is_code_3(folder, monkeypatch, form):
    from counterleaf import _core
    from counterleaf.search import search

    certify = search.Search.certify

    def tired(self, source, query, target, budget, *more):
        assert budget.seconds == pytest.approx(5, abs=1)
        return certify(self, source, query, target, _core.Budget(budget.count, 1), *more)

    monkeypatch.setattr(search.Search, "certify", tired)
    arguments = ["--time-limit", "5", "--target", 2, "--format", form]
    assert call("explain", folder / "model.json", folder / "rows.csv", *arguments).code == 3


@pytest.mark.parametrize("name", ["label", "cost", "rank", "problem"])
@pytest.mark.parametrize("count", ["1", "2"])
def test_rows_cannot_be_named_by_a_column_of_the_answers(folder, tmp_path, name, count):
    ROWS.assign(**{name: range(len(ROWS))}).to_csv(tmp_path / "r.csv", index=False)
    line = mistake("explain", folder / "model.json", tmp_path / "r.csv", "--id", name, "--format", "csv", "--count", count)
    assert line == f"--id is {name!r}, which is the name of an output column; rename it in the file"


def test_lines_of_json_end_where_lines_end(folder, tmp_path):
    text = "\n".join(json.dumps({**row, "note": "one\u2028line\x0c"}, ensure_ascii=False) for row in ROWS.to_dict("records"))
    (tmp_path / "r.jsonl").write_text(text)
    assert call("explain", folder / "model.json", tmp_path / "r.jsonl").code == 0


def test_a_class_without_a_leaf_is_reported(tmp_path):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0], [0], [0]], [-5.0, 0, 0], [-1, 0, 1], classes=["no", "yes", "maybe"])
    (tmp_path / "m.json").write_text(cl.Explainer(tree, schema=cl.Schema([cl.Numeric("age", 0, 9)])).to_json())
    done = call("explain", tmp_path / "m.json", '{"age": 1}', "--target", "maybe")
    assert done.code == 3
    assert done.out == "No leaf of the tree says maybe, so no change can make the model say it. This is proved.\n"


def test_digits_of_a_table(folder):
    def ask(*options):
        done = call("explain", folder / "model.json", folder / "rows.csv", "--target", 2, "--format", "csv", *options)
        return pd.read_csv(io.StringIO(done.out))

    short, full = ask(), ask("--digits", "full")
    assert set(short["digits"]) == {"short"}
    assert "digits" not in full
    assert (short["cost"] != full["cost"]).any()
    assert len(str(short["pay=net"].tolist())) < len(str(full["pay=net"].tolist()))
    assert (short["changed"] == full["changed"])[full["n_changed"] > 0].all()


@pytest.mark.parametrize("count", ["1", "2", "all"])
@pytest.mark.parametrize("name", ["a.csv", "a.xlsx", "a.parquet"])
def test_tables_of_alternatives(folder, tmp_path, name, count):
    done = call(
        "explain", folder / "model.json", folder / "named.csv", "--id", "who", "--count", count, "--out", tmp_path / name
    )
    assert done.code == 0
    found = read_frame(tmp_path / name)
    expected = EXPLAINER.explain_many(ROWS, digits="short", count=None if count == "all" else int(count))
    assert found["who"].tolist() == [f"p{k}" for k in expected.index]
    assert found["cost"].tolist() == pytest.approx(expected["cost"].tolist(), rel=1e-15)  # Excel keeps 16 digits
    assert found["changed"].fillna("").tolist() == expected["changed"].tolist()
    assert ("rank" in found) == (count != "1")
    if count != "1":
        assert found["rank"].tolist() == expected["rank"].tolist()
    assert done.out.startswith(f"Wrote {tmp_path / name}. {len(ROWS)} rows: ")


def test_text_is_never_a_formula(folder, tmp_path):
    names = ["=1+1", "+1", "-1", "@sum", "plain", "=cmd|' /C calc'!A0"] * 2
    ROWS.assign(who=names).to_csv(tmp_path / "rows.csv", index=False)
    call("explain", folder / "model.json", tmp_path / "rows.csv", "--id", "who", "--out", tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").active
    found = [line[0] for line in sheet.iter_rows(min_row=2)]
    assert [cell.value for cell in found] == names
    assert {cell.data_type for cell in found} == {"s"}
    assert [bool(cell.quotePrefix) for cell in found] == [name != "plain" for name in names]
    numbers = [cell for line in sheet.iter_rows(min_row=2) for cell in line if cell.data_type == "n" and cell.value is not None]
    assert all(not cell.quotePrefix for cell in numbers)


def test_excel_that_cannot_hold_a_table(folder, tmp_path, monkeypatch):
    ROWS.assign(who=["a\x01b"] * len(ROWS)).to_csv(tmp_path / "rows.csv", index=False)
    arguments = "explain", folder / "model.json", tmp_path / "rows.csv", "--id", "who", "--out", tmp_path / "a.xlsx"
    line = mistake(*arguments)
    assert line.startswith(f"cannot write {tmp_path / 'a.xlsx'}: ")
    assert line.endswith("; write a .csv file instead")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    needs = "an Excel file needs openpyxl; install with: pip install openpyxl"
    assert mistake(*arguments) == f"{tmp_path / 'a.xlsx'}: {needs}"
    assert mistake("explain", folder / "model.json", folder / "rows.xlsx") == f"{folder / 'rows.xlsx'}: {needs}"
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_header_twice_in_excel(folder, tmp_path):
    pd.DataFrame([["age", "age"], [1, 2]]).to_excel(tmp_path / "a.xlsx", index=False, header=False)
    line = mistake("explain", folder / "model.json", tmp_path / "a.xlsx")
    assert line == f"{tmp_path / 'a.xlsx'} has two columns named 'age'; names must differ"
