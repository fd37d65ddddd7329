"""Groups: values, bounds, quarters, the most frequent values, missing ones; a column in blocks or at once."""

import numpy as np
import pandas as pd
import pytest

import counterleaf as cl
from counterleaf.audit.report.figures import SearchedColumn
from counterleaf.audit.report.groups import By, GroupColumn, crossed, read_by


def grouped(*blocks, by=None):
    column = GroupColumn(by or By("c"))
    for block in blocks:
        column.add(pd.Series(block) if not isinstance(block, pd.Series) else block)
    grouping, notes = column.grouping()
    return [grouping.labels[k] for k in grouping.codes.tolist()], grouping.labels, notes


def test_bounds_are_half_open():
    cells, labels, _ = grouped([24, 25, 39.5, 40, None, 80], by=By("age", (25.0, 40.0)))
    assert labels == ("under 25", "25 to under 40", "40 or more", "(missing)")
    assert cells == ["under 25", "25 to under 40", "25 to under 40", "40 or more", "(missing)", "40 or more"]
    assert grouped([50, 60], by=By("age", (25.0, 40.0)))[1] == ("40 or more",)


def test_few_numbers_are_groups_and_many_are_quarters():
    assert grouped([3, 1, 2.5, None, 1])[1] == ("1", "2.5", "3", "(missing)")
    values = np.arange(100.0)
    cells, labels, (note,) = grouped(values)
    assert labels == ("under 25", "25 to under 50", "50 to under 75", "75 or more")
    assert [cells.count(label) for label in labels] == [25] * 4
    assert note == (
        "c has many different numbers and no bounds: its groups are quarters of the rows, cut at 25, 50, 75. "
        'Other bounds: "c:25,50,75".'
    )
    many = grouped(np.r_[np.zeros(80), np.arange(20.0)])
    assert many[1] == ("under 1", "1 or more")


def test_the_most_frequent_values_are_kept():
    cells, labels, (note,) = grouped([letter for k, letter in enumerate("abcdefghijklmnop") for _ in range(k + 1)])
    assert labels == (*"fghijklmnop", "(other)")
    assert cells.count("(other)") == 1 + 2 + 3 + 4 + 5
    assert note == "c has 16 different values: the 11 most frequent are groups, the others are (other)."


def test_values_that_look_like_our_own_labels():
    assert grouped(["(missing)", None, "(other)"])[1] == ("'(missing)'", "'(other)'", "(missing)")


@pytest.mark.parametrize(
    "blocks",
    [
        (["b", "a", None], ["c", "a", "b"]),
        ([1, 2, 3], [2, 5, 5]),
        ([1, 2, 3], ["x", "y", None]),
        ([True, False, True], [False, False, True]),
        (np.arange(50.0), np.arange(50.0, 90.0)),
    ],
)
def test_blocks_give_the_same_groups_as_the_whole(blocks):
    whole = [value for block in blocks for value in (block.tolist() if isinstance(block, np.ndarray) else block)]
    mixed = isinstance(blocks[0][0], int) and isinstance(blocks[1][0], str)
    expected = grouped(pd.Series(whole, dtype=object if mixed else None))
    assert grouped(*blocks) == expected


def test_categories_keep_their_order():
    levels = pd.Series(pd.Categorical(["low", "high", None], ["low", "mid", "high"], ordered=True))
    assert grouped(levels)[1] == ("low", "high", "(missing)")


def test_pairs():
    a, b = GroupColumn(By("a")), GroupColumn(By("b"))
    a.add(pd.Series(["x", "y", "x"]))
    b.add(pd.Series([1, 1, 2]))
    both = crossed(a.grouping()[0], b.grouping()[0])
    assert both.name == "a and b"
    assert [both.labels[k] for k in both.codes] == ["x, 1", "y, 1", "x, 2"]


def test_a_column_whose_name_has_a_colon():
    names = ["age:years", "sex"]
    assert read_by(["age:years", ("sex", None)], names) == (By("age:years"), By("sex"))
    assert read_by("age:years:20,30", names) == (By("age:years", (20.0, 30.0)),)
    assert read_by(None, names) == ()


def test_too_many_values(monkeypatch):
    monkeypatch.setattr("counterleaf.audit.report.groups._MOST_VALUES", 5)
    with pytest.raises(cl.CounterleafError, match=r"^column 'c' has more than 5 different values; group by another column$"):
        grouped(list("abcdefgh"))


def test_a_searched_column_of_many_rows_keeps_the_quartiles_of_the_first(monkeypatch):
    monkeypatch.setattr("counterleaf.audit.report.figures._MANY", 100)
    numbers, few, words = (SearchedColumn("c", text=True) for _ in range(3))
    for start in range(0, 300, 50):
        numbers.add(pd.Series(np.arange(start, start + 50.0)))
        few.add(pd.Series(np.arange(50) % 3))
        words.add(pd.Series([f"w{k}" for k in range(start, start + 50)]))
    found = numbers.grouping()
    assert found.labels == ("under 25", "25 to under 50", "50 to under 75", "75 or more")
    assert np.bincount(found.codes).tolist() == [25, 25, 25, 225]
    assert few.grouping().labels == ("0", "1", "2")
    assert words.grouping() is None
