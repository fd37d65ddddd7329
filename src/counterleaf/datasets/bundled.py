"""The five bundled tables; ``files/README.md`` gives the origin of each and lists the changes made to it."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pandas as pd

from counterleaf.datasets.dataset import Dataset, infer_schema
from counterleaf.datasets.words import ADULT, GERMAN, MEANINGS, Words, described
from counterleaf.errors import CounterleafError

_LICENCE = "CC BY 4.0"
_UCI = "UCI Machine Learning Repository"


def load_adult(*, missing: str = "drop", all_columns: bool = False, return_X_y: bool = False) -> Any:
    """Load Adult, a sample of the US census of 1994.

    The label is whether a person earns more than 50,000 dollars. By default only complete rows and 12
    columns are loaded, as in the paper.

    Parameters
    ----------
    missing : {"drop", "keep"}, default="drop"
        What to do with the 3,620 rows that have missing values.
    all_columns : bool, default=False
        Include the census weight and the years of education.
    return_X_y : bool, default=False
        Return (data, target) instead of a ``Dataset``.

    Returns
    -------
    Dataset or tuple of (DataFrame, Series)
        The data set, or its rows and labels if ``return_X_y``.

    Raises
    ------
    CounterleafError
        If ``missing`` has another value.

    Examples
    --------
    >>> load_adult()
    <Adult: 45,222 rows, 12 features, 2 classes; the first 30,162 rows train>
    """
    _check(missing, "drop", "keep")
    frame, n_train = _read("adult"), 32_561
    if missing == "drop":
        complete = frame.notna().all(axis=1)
        n_train = int(complete[:n_train].sum())
        frame = frame[complete].reset_index(drop=True)
    if not all_columns:
        frame = frame.drop(columns=["fnlwgt", "education-num"])
    about = (f"{_UCI}, Adult (Census Income)", "Becker, B. and Kohavi, R. (1996). Adult. doi:10.24432/C5XW20")
    return _dataset("Adult", frame, n_train, about, return_X_y, ADULT)


def load_breast_cancer(*, missing: str = "median", return_X_y: bool = False) -> Any:
    """Load Breast Cancer Wisconsin (Original).

    The label is whether a tumour is benign or malignant; the features are 9 gradings from 1 to 10.

    Parameters
    ----------
    missing : {"median", "drop", "keep"}, default="median"
        What to do with the 16 rows without a value of ``bare_nuclei``: fill in the median, drop the rows, or keep NaN (an
        ``Explainer`` does not accept such rows).
    return_X_y : bool, default=False
        Return (data, target) instead of a ``Dataset``.

    Returns
    -------
    Dataset or tuple of (DataFrame, Series)
        The data set, or its rows and labels if ``return_X_y``.

    Raises
    ------
    CounterleafError
        If ``missing`` has another value.

    Examples
    --------
    >>> load_breast_cancer()
    <Breast Cancer: 699 rows, 9 features, 2 classes>
    """
    _check(missing, "median", "drop", "keep")
    frame = _read("breast_cancer")
    if missing == "drop":
        frame = frame.dropna().reset_index(drop=True)
    if missing == "median":
        frame["bare_nuclei"] = frame["bare_nuclei"].fillna(frame["bare_nuclei"].median())
    if missing != "keep":
        frame["bare_nuclei"] = frame["bare_nuclei"].astype("int64")  # the missing values had made it float
    about = (
        f"{_UCI}, Breast Cancer Wisconsin (Original)",
        "Wolberg, W. (1990). Breast Cancer Wisconsin (Original). doi:10.24432/C5HP4Z",
    )
    return _dataset("Breast Cancer", frame, None, about, return_X_y)


def load_german_credit(*, codes: bool = False, return_X_y: bool = False) -> Any:
    """Load German Credit, applicants for a credit at a German bank.

    The label is whether an applicant is a good or a bad credit risk.

    Parameters
    ----------
    codes : bool, default=False
        Keep the codes of the original file, such as A11, instead of readable categories.
    return_X_y : bool, default=False
        Return (data, target) instead of a ``Dataset``.

    Returns
    -------
    Dataset or tuple of (DataFrame, Series)
        The data set, or its rows and labels if ``return_X_y``.

    Examples
    --------
    >>> credit = load_german_credit()
    >>> credit
    <German Credit: 1,000 rows, 20 features, 2 classes>
    >>> credit.data["purpose"][0]
    'radio/television'
    """
    frame = _read("german_credit")
    if not codes:
        for name, meaning in MEANINGS.items():
            frame[name] = frame[name].map(meaning)
    about = (
        f"{_UCI}, Statlog (German Credit Data)",
        "Hofmann, H. (1994). Statlog (German Credit Data). doi:10.24432/C5NC77",
    )
    return _dataset("German Credit", frame, None, about, return_X_y, GERMAN)


def load_letter(*, return_X_y: bool = False) -> Any:
    """Load Letter, images of capital letters.

    The label is the letter; the features are 16 measurements of the image, each from 0 to 15.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return (data, target) instead of a ``Dataset``.

    Returns
    -------
    Dataset or tuple of (DataFrame, Series)
        The data set, or its rows and labels if ``return_X_y``.

    Examples
    --------
    >>> load_letter().target[:5].tolist()
    ['T', 'I', 'D', 'N', 'G']
    """
    about = (f"{_UCI}, Letter Recognition", "Slate, D. (1991). Letter Recognition. doi:10.24432/C5ZP40")
    return _dataset("Letter", _read("letter"), 15_000, about, return_X_y)


def load_spambase(*, return_X_y: bool = False) -> Any:
    """Load Spambase, a collection of e-mails.

    The label is whether an e-mail is spam; the features are the percentages of 48 words and 6 characters, and three statistics
    of the runs of capital letters.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return (data, target) instead of a ``Dataset``.

    Returns
    -------
    Dataset or tuple of (DataFrame, Series)
        The data set, or its rows and labels if ``return_X_y``.

    Examples
    --------
    >>> load_spambase()
    <Spambase: 4,601 rows, 57 features, 2 classes>
    """
    about = (
        f"{_UCI}, Spambase",
        "Hopkins, M., Reeber, E., Forman, G. and Suermondt, J. (1999). Spambase. doi:10.24432/C53G6X",
    )
    return _dataset("Spambase", _read("spambase"), None, about, return_X_y)


def _check(missing: Any, *choices: str) -> None:
    if missing not in choices:
        raise CounterleafError(f"missing is {missing!r}; expected one of {', '.join(map(repr, choices))}: pass one of them")


def _read(name: str) -> pd.DataFrame:
    """Read a bundled file as a frame with the label last; only an empty cell is a missing value."""
    with (resources.files("counterleaf.datasets") / "files" / f"{name}.csv.xz").open("rb") as file:
        return pd.read_csv(file, compression="xz", keep_default_na=False, na_values=[""])


def _dataset(
    name: str, frame: pd.DataFrame, n_train: int | None, about: tuple[str, str], return_X_y: bool, words: Words | None = None
) -> Any:
    """Split off the label and return the form that the caller of a loader wants."""
    target = frame.pop(frame.columns[-1])
    if return_X_y:
        return frame, target
    return Dataset(name, frame, target, described(infer_schema(frame), words or {}), n_train, *about, _LICENCE)
