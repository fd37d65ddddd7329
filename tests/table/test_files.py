"""Tables in files come back as they were written."""

import gzip

import numpy as np
import pandas as pd
import pytest

import counterleaf as cl
from counterleaf.storage.files import read_frame
from counterleaf.table import files

FRAME = pd.DataFrame({"pay": [0.1, 1e-300, np.nan], "job": ["None", "cook, or chef", "x"], "age": [1, 2, 3]})


@pytest.mark.parametrize("compressed", [False, True])
def test_csv_keeps_numbers_and_the_word_none(tmp_path, compressed):
    path = tmp_path / "table"
    files.write_csv(FRAME, path, compressed)
    compression = "gzip" if compressed else None
    assert files.read_header(path, compression) == ["pay", "job", "age"]
    pd.testing.assert_frame_equal(files.read_csv(path, compression), FRAME)
    assert files.read_csv(path, compression, {"age": str})["age"].tolist() == ["1", "2", "3"]


def test_compressed_files_are_the_same_bytes_each_time(tmp_path):
    for name in ("one", "two"):
        files.write_csv(FRAME, tmp_path / name, compressed=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert gzip.decompress((tmp_path / "one").read_bytes()).startswith(b"pay,job,age")


def test_an_open_file_is_rewound(tmp_path):
    files.write_csv(FRAME, tmp_path / "table.csv")
    with (tmp_path / "table.csv").open("rb") as source:
        assert files.read_header(source) == ["pay", "job", "age"]
        assert len(files.read_csv(source)) == 3


def test_a_named_index_becomes_a_column(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.set_index("age").to_parquet(tmp_path / "named")
    assert sorted(files.read_parquet(tmp_path / "named")) == ["age", "job", "pay"]
    files.write_parquet(FRAME.set_index(pd.Index([5, 6, 7])), tmp_path / "plain")
    pd.testing.assert_frame_equal(files.read_parquet(tmp_path / "plain"), FRAME)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;2\n-0,25;3\n", {"a": [1.5, -0.25], "b": [2, 3]}),
        ("a;b\n1,234;0,5\n2;1\n", {"a": [1.234, 2.0], "b": [0.5, 1.0]}),  # b shows what a comma means
        ("a;b\n12345,678;x\n", {"a": [12345.678], "b": ["x"]}),
        ("a;b\n1.5;2\n", {"a": [1.5], "b": [2]}),
        ("a;b\n1,5;\n;2\n", {"a": [1.5, None], "b": [None, 2.0]}),
        ("a;b\n1,5;one, two\n", {"a": [1.5], "b": ["one, two"]}),
        ("a;b\n1,5;x\nmany;y\n", {"a": ["1,5", "many"], "b": ["x", "y"]}),
        ("a;b\n1,5e3;x\n", {"a": [1500.0], "b": ["x"]}),
        ('"a, b";c\n1;2\n', {"a, b": [1], "c": [2]}),
        ('"a;b",c\n1,2\n', {"a;b": [1], "c": [2]}),
        ("a\tb\n1,5\tx\n", {"a": [1.5], "b": ["x"]}),
    ],
)
def test_semicolons_and_decimal_commas(tmp_path, text, expected):
    (tmp_path / "a.csv").write_text(text)
    found = read_frame(tmp_path / "a.csv")
    assert {name: [None if pd.isna(one) else one for one in found[name].tolist()] for name in found} == expected


def test_thousands_are_not_decimals(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,234;x\n12,500;y\n")
    message = "column 'a' holds '1,234', which may be a decimal or thousands; write decimal points"
    with pytest.raises(cl.CounterleafError, match=message):
        read_frame(tmp_path / "a.csv")
    assert read_frame(tmp_path / "a.csv", {"a": str})["a"].tolist() == ["1,234", "12,500"]
