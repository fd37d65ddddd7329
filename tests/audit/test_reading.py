"""The rows of text files: the numbers of read_csv, and one invalid row for each that cannot be read."""

import gzip
import io
import itertools
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.audit_cases import TARGET, audit, contents, differences, write_model, write_rows
from support.cli_cases import call, mistake, rows_of, small
from support.seeds import seeds

import counterleaf as cl
from counterleaf.audit.reading.records import ends_inside_quotes, record_ends, split
from counterleaf.storage.models import read_rows


@pytest.fixture
def folder(tmp_path):
    write_model(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.jsonl", "r.ndjson", "r.jsonl.gz"])
@pytest.mark.parametrize("part_rows", [7, 1000])
def test_every_format_gives_the_same_answers(folder, name, part_rows):
    frame = rows_of(90)
    table = audit(folder, write_rows(folder / name, frame), *TARGET, "--part-rows", part_rows, "--keep", "age")
    assert not differences(small(), frame, table, target=[2])
    assert table["age"].to_pylist() == frame["age"].tolist()
    assert call("verify", folder / "audit").code == 0


def test_numbers_are_those_of_read_csv(tmp_path):
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    explainer = cl.Explainer(tree)
    write_model(tmp_path, explainer)
    rng = np.random.default_rng(3)
    numbers = [repr(value) for value in (rng.normal(size=300) * 10.0 ** rng.integers(-20, 20, 300)).tolist()]
    numbers += ["0.1", ".5", "5.", "+3", " 7 ", "1e5", "-0", "9007199254740993", "123456789012345678901234567890", "4.9e-324"]
    text = "x0,x1\n" + "".join(f"{value},{k}\n" for k, value in enumerate(numbers))
    (tmp_path / "rows.csv").write_text(text)
    for extra in ("", '"1",2\n', "inf,1\n", "x,1\n"):  # these go through the slower parser
        (tmp_path / "rows.csv").write_text(text + extra)
        table = audit(tmp_path, tmp_path / "rows.csv", "--target", "yes", "--keep", "x0", out=f"out{len(extra)}{extra[:1]}")
        frame = read_rows(tmp_path / "rows.csv", explainer.schema)
        kept = table["x0"].to_pylist()[: len(numbers)]
        assert [float(value).hex() for value in kept] == [float(value).hex() for value in frame["x0"][: len(numbers)]]


def test_missing_values_and_text_that_looks_like_numbers(tmp_path):
    schema = cl.Schema(
        [cl.Categorical("code", ["007", "1", "None"], missing=True), cl.Categorical("zone", [1, 2]), cl.Boolean("own")]
    )
    tree = cl.Tree(
        [1, -1, -1], [2, -1, -1], [[1.0, 0, 0, 0, 0, 0, 0], [0] * 7, [0] * 7], [-0.5, 0, 0], [-1, 0, 1], classes=["no", "yes"]
    )
    explainer = cl.Explainer(tree, schema=schema)
    write_model(tmp_path, explainer)
    (tmp_path / "rows.csv").write_text(
        "own,code,zone\nTrue,007,1\nfalse,1,2.0\n1,None,1\nTRUE,NA,1\nTrue,,2\nFalse,7,1\nyes,007,1\n,007,1\nTrue,007,3\nTrue,007,\n"
    )
    table = audit(tmp_path, tmp_path / "rows.csv", "--target", "yes", "--keep", "all")
    assert table["status"].to_pylist() == ["optimal"] * 5 + ["invalid"] * 5
    assert table["code"].to_pylist()[:5] == ["007", "1", "None", None, None]
    assert table["own"].to_pylist()[:4] == [True, False, True, True]
    problems = table["problem"].to_pylist()[5:]
    assert problems[0] == "feature 'code' is '7'; expected one of '007', '1', 'None'"
    assert problems[1] == "feature 'own' is 'yes'; expected one of False, True"
    assert "feature 'own' of the row is missing" in problems[2]
    assert problems[3] == "feature 'zone' is 3.0; expected one of 1, 2"
    assert "feature 'zone' of the row is missing" in problems[4]
    assert call("verify", tmp_path / "audit").code == 0


BAD = {
    "not a number": ("{age},x,cook,True,low,1", "feature 'pay=net' is 'x'; expected a number"),
    "too few": ("30,1.5,cook,True,low", "the row has 5 cells; the header has 6 columns"),
    "too many": ("30,1.5,cook,True,low,1,9", "the row has 7 cells; the header has 6 columns"),
    "unknown": ("30,1.5,king,True,low,1", "feature 'job, main' is 'king'; expected one of 'cook', 'clerk, paid', 'a=b'"),
    "not whole": ("30.5,1.5,cook,True,low,1", "feature 'age' is 30.5; expected a whole number"),
    "infinite": ("30,inf,cook,True,low,1", "feature 'pay=net' of the row is inf; expected a finite number: fill it in first"),
    "not text": (b"30,1.5,\xff,True,low,1", "the row is not text in UTF-8"),
    "groups": ("30,1_0,cook,True,low,1", "feature 'pay=net' is '1_0'; expected a number"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_bad_line_of_csv_is_one_invalid_row(folder, kind, suffix):
    frame = rows_of(20)
    lines = frame.to_csv(index=False).encode().splitlines(keepends=True)
    line, reason = BAD[kind]
    line = line.replace("{age}", "30").encode() if isinstance(line, str) else line
    content = b"".join([*lines[:6], line, b"\n", *lines[6:]])
    path = folder / f"rows{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    table = audit(folder, path, *TARGET, "--part-rows", 8)
    assert len(table) == 21
    assert table["status"].to_pylist().index("invalid") == 5
    assert [text for text in table["problem"].to_pylist() if text] == [reason]
    row = table.slice(5, 1).to_pylist()[0]
    assert {name for name, value in row.items() if value is not None} == {"file", "row", "status", "problem"}
    others = table.filter([k != 5 for k in range(21)])
    assert not differences(small(), frame, others, target=[2])
    assert call("verify", folder / "audit").code == 0


def test_bad_lines_of_json_are_invalid_rows(folder):
    good = [json.dumps(row) for row in rows_of(4).to_dict("records")]
    one = json.loads(good[0])
    bad = [
        ("[1]", "the row is not a JSON object"),
        ("{", "the row is not valid JSON (Expecting property name"),
        (json.dumps({**one, "age": [1]}), "feature 'age' is [1]; expected a number"),
        (json.dumps({**one, "age": "old"}), "feature 'age' is 'old'; expected a number"),
        (json.dumps({name: one[name] for name in one if name != "age"}), "feature 'age' of the row is nan"),
        (json.dumps({**one, "level": 3}), "feature 'level' is 3; expected one of 'low'"),
        (json.dumps({**one, "floor": 10**400}), "feature 'floor' is inf; expected one of 1, 2, 3"),
        ("9" * 5000, "the row is not"),
        ("[" * 5000, "the row is not"),
    ]
    (folder / "rows.jsonl").write_text("\n".join([*good[:2], "", *(line for line, _ in bad), "   ", *good[2:]]))
    table = audit(folder, folder / "rows.jsonl", *TARGET, "--part-rows", 3)
    problems = table["problem"].to_pylist()
    assert len(table) == 4 + len(bad)
    for problem, (_, reason) in zip(problems[2:-2], bad, strict=True):
        assert problem.startswith(reason), problem
    assert problems[:2] + problems[-2:] == [None] * 4
    text = json.dumps({**one, "age": "31"})
    (folder / "text.jsonl").write_text(text)
    assert audit(folder, folder / "text.jsonl", *TARGET, out="text")["status"].to_pylist() == ["optimal"]


def test_other_forms_of_csv(folder):
    frame = rows_of(30)
    expected = audit(folder, write_rows(folder / "plain.csv", frame), *TARGET)
    text = frame.to_csv(index=False)
    forms = {
        "semicolons": frame.to_csv(index=False, sep=";"),
        "tabs": frame.to_csv(index=False, sep="\t"),
        "decimal commas": frame.to_csv(index=False, sep=";", decimal=","),
        "a mark": "\ufeff" + text,
        "carriage returns": text.replace("\n", "\r\n"),
        "blank lines": text.replace("\n", "\n\n   \n"),
        "no last line break": text.rstrip("\n"),
        "quotes everywhere": frame.to_csv(index=False, quoting=1),
        "another order": frame[frame.columns[::-1]].to_csv(index=False),
    }
    for k, (name, form) in enumerate(forms.items()):
        path = folder / f"form{k}.csv"
        path.write_bytes(form.encode())
        assert audit(folder, path, *TARGET, "--part-rows", 7, out=f"out{k}").equals(expected), name


def test_decimal_commas_that_may_be_thousands(folder):
    frame = rows_of(5).assign(**{"pay=net": ["1,234", "2", "3", "4", "5"]})
    frame.to_csv(folder / "rows.csv", index=False, sep=";")
    table = audit(folder, folder / "rows.csv", *TARGET)
    assert table["problem"].to_pylist()[0] == "feature 'pay=net' is '1,234'; expected a number"


def test_line_breaks_in_quotes(folder):
    frame = rows_of(40).assign(note=['a\nb "c", d', "x,y", '5" pipe', "", "\r\n"] * 8)
    frame.to_csv(folder / "rows.csv", index=False)
    table = audit(folder, folder / "rows.csv", *TARGET, "--part-rows", 3, "--keep", "note")
    assert [text or "" for text in table["note"].to_pylist()] == frame["note"].tolist()
    assert not differences(small(), frame[frame.columns[:-1]], table, target=[2])


def test_headers_that_do_not_fit(folder):
    command = ["audit", folder / "model.json", folder / "rows.csv", *TARGET, "--out", folder / "audit"]
    for text, expected in (
        ("a,b\n1,2\n", "rows.csv lacks the columns ['age', 'pay=net'"),
        ("age,age\n1,2\n", "rows.csv has two columns named 'age'"),
        ("\n\n", "rows.csv lacks the columns"),
        (rows_of(3).to_csv(index=False).split("\n")[0], "there are no rows"),
    ):
        (folder / "rows.csv").write_text(text)
        assert expected in mistake(*command)
    (folder / "rows.csv").write_bytes(b"\xff\xfe\x00a,b\n")
    assert "has no header that can be read" in mistake(*command)
    whole = gzip.compress(rows_of(3000).to_csv(index=False).encode())
    for damaged in (whole[: len(whole) // 2], b"not gzip", whole[:-4] + b"abcd"):
        (folder / "rows.csv.gz").write_bytes(damaged)
        assert "rows.csv.gz cannot be read" in mistake(*command[:2], folder / "rows.csv.gz", *command[3:])
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    assert "rows.jsonl lacks the columns" in mistake(*command[:2], folder / "rows.jsonl", *command[3:])


CELLS = ["a", "", "1", 'b "c"', "x,y", "two\nlines", '"', '5" pipe', " "]


@pytest.mark.parametrize("seed", seeds(20))
def test_records_are_those_of_pandas(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.choice(CELLS, size=(30, 3)), columns=["p", "q", "r"])
    frame["p"] = frame["p"] + "z"  # so that no line is blank
    text = frame.to_csv(index=False).encode()
    monkeypatch.setattr("counterleaf.audit.reading.records._BLOCK", int(rng.integers(1, 60)))
    ends = [end for block in record_ends(io.BytesIO(text), 0, b",") for end in block.tolist()]
    assert len(ends) == 31
    assert ends[-1] == len(text)
    assert len(split(text, b",")) == 31
    for begin, end in itertools.pairwise(ends):
        assert len(pd.read_csv(io.BytesIO(text[begin:end]), header=None, skip_blank_lines=False)) == 1


def test_quotes():
    assert ends_inside_quotes(b'1,"a', b",", False)
    assert not ends_inside_quotes(b'b",2', b",", True)
    assert not ends_inside_quotes(b'5" pipe,2', b",", False)
    assert ends_inside_quotes(b'"a""', b",", False)
    assert not ends_inside_quotes(b'"a"""', b",", False)
    assert ends_inside_quotes(b'b","c', b",", True)
    assert ends_inside_quotes(b"plain", b",", True)


def test_a_quote_that_is_not_closed(folder, monkeypatch):
    monkeypatch.setattr("counterleaf.audit.reading.records._LONGEST", 100)
    monkeypatch.setattr("counterleaf.audit.reading.records._BLOCK", 1000)
    text = rows_of(100).assign(**{"job, main": "cook"}).to_csv(index=False)
    lines = text.split("\n")
    (folder / "rows.csv").write_text("\n".join([*lines[:50], '"' + lines[50], *lines[51:]]))
    message = mistake("audit", folder / "model.json", folder / "rows.csv", *TARGET, "--out", folder / "audit")
    assert "a row, or a quoted cell that is not closed, at byte" in message


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({6: '"{}'}, "the quote in line 6 opens a cell and is not closed, so that the rest of the file would be this cell"),
        ({6: '"{}', 20: '"{}'}, "a quoted cell holds the line breaks of lines 6 to 20, and text follows a quote that closes"),
        (
            {6: '"{}', 9: '{}"'},
            "a quoted cell holds the line breaks of lines 6 to 9, and the number of cells is 1, that of the header 6",
        ),
        ({6: '"{}', 41: '{}"'}, "a quoted cell holds the line breaks of lines 6 to 41, and the number of cells is 1"),
        ({41: '"{}'}, "the quote in line 41 opens a cell"),
        ({1: '"{}'}, "the quote in line 1 opens a cell"),
        ({3: '"a""\nb",{}', 12: 'x,"{}'}, "a quoted cell holds the line breaks of lines 3 to 4, and the number of cells is 7"),
        ({12: '{},"a""\nb', 20: '1","2{}'}, "the quote in line 21 opens a cell"),
    ],
)
@pytest.mark.parametrize("block", [50, 1 << 22])
def test_a_quote_that_swallows_rows_is_refused(folder, monkeypatch, suffix, edit, expected, block):
    monkeypatch.setattr("counterleaf.audit.reading.records._BLOCK", block)
    text = rows_of(40).assign(**{"job, main": "cook"}).to_csv(index=False).replace('"', "").replace("job, main", "job main")
    lines = text.rstrip("\n").split("\n")
    for number, change in edit.items():
        lines[number - 1] = change.format(lines[number - 1])
    path = folder / f"rows{suffix}"
    content = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    message = mistake("audit", folder / "model.json", path, *TARGET, "--out", folder / "audit")
    assert message.startswith(f"{path}: {expected}")
    assert message.endswith("close the quote, or double a quote that is text")
    assert not (folder / "audit/parts").exists() or not list((folder / "audit/parts").iterdir())


def test_a_quote_in_the_middle_of_a_name_with_another_separator(tmp_path):
    two_numbers(tmp_path)
    (tmp_path / "rows.csv").write_text('a;x,"y;b\n1;7;1\n')
    assert audit(tmp_path, tmp_path / "rows.csv", "--target", "yes").num_rows == 1


def test_compressed_files_are_read_once_for_all_workers(folder):
    frame = rows_of(300)
    rows = write_rows(folder / "rows.csv.gz", frame)
    alone = audit(folder, rows, *TARGET, "--part-rows", 20, "--jobs", 1)
    audit(folder, rows, *TARGET, "--part-rows", 20, "--jobs", 3, out="three")
    assert contents(folder / "audit") == contents(folder / "three")
    assert not differences(small(), frame, alone, target=[2])


def two_numbers(folder):
    """The file of a tree that says yes if a is at least 0.5."""
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 0.0], [0, 0], [0, 0]], [-0.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    write_model(folder, cl.Explainer(tree, schema=cl.Schema([cl.Numeric("a", -3, 3), cl.Numeric("b", -3, 3)])))


@pytest.mark.parametrize(
    ("text", "statuses", "problem"),
    [
        ("a;b\n0,25;1\n1,500;1\nx;1\n", ["optimal", "optimal", "invalid"], "feature 'a' is 'x'; expected a number"),
        ("a;b\n0,25;1\n1.500;1\n", ["optimal", "invalid"], "feature 'a' is '1.500'; expected a number"),
        ('a;b\n0,25;"1"\n1,500;1\n', ["optimal", "optimal"], None),
        ("a,b,name\n-1,1,Jos\xe9\nx,1,Bob\n", ["optimal", "invalid"], "feature 'a' is 'x'; expected a number"),
        ("a,b\nnan(1),1\n1,1\n", ["invalid", "optimal"], "feature 'a' is 'nan(1)'; expected a number"),
        ("a;b\n0,25;1\n\r1;\r2\n", ["optimal", "invalid"], "the row cannot be read as CSV"),
    ],
)
def test_a_cell_does_not_depend_on_the_other_rows_of_its_part(tmp_path, text, statuses, problem):
    two_numbers(tmp_path)
    (tmp_path / "rows.csv").write_bytes(text.encode("latin-1"))
    for part_rows in (1, 10):
        table = audit(tmp_path, tmp_path / "rows.csv", "--target", "yes", "--part-rows", part_rows, out=f"out{part_rows}")
        assert table["status"].to_pylist() == statuses
        found = [one for one in table["problem"].to_pylist() if one]
        assert [one.startswith(problem) for one in found] == [True] * statuses.count("invalid") if problem else not found


def test_bytes_that_are_not_text_in_a_column_that_is_kept(tmp_path):
    two_numbers(tmp_path)
    (tmp_path / "rows.csv").write_bytes("a,b,name\n-1,1,Jos\xe9\n-1,1,Bob\n".encode("latin-1"))
    table = audit(tmp_path, tmp_path / "rows.csv", "--target", "yes", "--keep", "name")
    assert table["problem"].to_pylist() == ["the row is not text in UTF-8", None]
    assert table["name"].to_pylist() == [None, "Bob"]


def test_a_long_cell(tmp_path):
    two_numbers(tmp_path)
    (tmp_path / "rows.csv").write_text("a;b;c\n1;1;" + 200_000 * "x" + "\n")
    assert audit(tmp_path, tmp_path / "rows.csv", "--target", "yes")["status"].to_pylist() == ["optimal"]


def test_whole_numbers_of_json_keep_their_digits(tmp_path):
    two_numbers(tmp_path)
    numbers = [1234567890123456789, -123456789012345678, 2**63 - 1, -(2**63), 10**25]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"id": one, "a": 1, "b": 1}) + "\n" for one in numbers))
    table = audit(tmp_path, tmp_path / "rows.jsonl", "--target", "yes", "--keep", "id")
    assert table["id"].to_pylist() == [*map(str, numbers[:4]), "1e+25"]


@pytest.mark.parametrize("name", ["k.parquet", "k.csv", "k.jsonl"])
def test_large_whole_numbers_as_categories(tmp_path, name):
    first = 2**53
    schema = cl.Schema([cl.Categorical("k", [first, first + 1, first + 2]), cl.Numeric("z", 0, 1)])
    weights = np.zeros((3, 4))
    weights[0, 1] = 1
    tree = cl.Tree([1, -1, -1], [2, -1, -1], weights, [-0.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    write_model(tmp_path, cl.Explainer(tree, schema=schema))
    rows = write_rows(tmp_path / name, pd.DataFrame({"k": [first, first + 1, first + 2], "z": 0.5}))
    table = audit(tmp_path, rows, "--target", "yes")
    assert table["source_label"].to_pylist() == ["no", "yes", "no"]
    assert table["new_k"].to_pylist() == [first + 1, None, first + 1]


def test_names_that_do_not_fit(tmp_path):
    two_numbers(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"a": 1, "b": 1, "\\ud800": 2}\n')
    command = ("audit", tmp_path / "model.json", "--target", "yes", "--out", tmp_path / "out")
    assert mistake(*command, tmp_path / "rows.jsonl", "--keep", "all") == (
        f"{tmp_path}/rows.jsonl has a column whose name holds half a character; rename it"
    )
    table = pa.table([[1.0], [1.0], [1], [2]], ["a", "b", "y", "y"])
    parquet.write_table(table, tmp_path / "twice.parquet")
    assert mistake(*command, tmp_path / "twice.parquet", "--keep", "y") == (
        f"{tmp_path}/twice.parquet has two columns named 'y'; names must differ"
    )
