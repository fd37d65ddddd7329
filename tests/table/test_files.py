"""Tables in files come back as they were written."""

import gzip

import numpy as np
import pandas as pd
import pytest

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
