"""The bundled data sets and MNIST: content, schemas, splits, checksums and error messages."""

import dataclasses
import gzip
import hashlib
import json
import lzma
import re
import subprocess
import sys
from http.client import IncompleteRead
from importlib import resources
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split
from support.seeds import seeds

import counterleaf as cl
from counterleaf import datasets
from counterleaf.datasets import mnist
from counterleaf.datasets.words import MEANINGS

SHARED = Path(__file__).resolve().parents[3] / "shared/data"
needs_raw_files = pytest.mark.skipif(not SHARED.is_dir(), reason="the raw files are not next to the repository")
LOADERS = {
    "adult": datasets.load_adult,
    "breast_cancer": datasets.load_breast_cancer,
    "german_credit": datasets.load_german_credit,
    "letter": datasets.load_letter,
    "spambase": datasets.load_spambase,
}


@pytest.mark.parametrize(
    ("name", "line", "columns", "classes"),
    [
        (
            "adult",
            "<Adult: 45,222 rows, 12 features, 2 classes; the first 30,162 rows train>",
            102,
            {"<=50K": 34014, ">50K": 11208},
        ),
        ("breast_cancer", "<Breast Cancer: 699 rows, 9 features, 2 classes>", 9, {"benign": 458, "malignant": 241}),
        ("german_credit", "<German Credit: 1,000 rows, 20 features, 2 classes>", 61, {"good": 700, "bad": 300}),
        ("spambase", "<Spambase: 4,601 rows, 57 features, 2 classes>", 57, {"not spam": 2788, "spam": 1813}),
    ],
)
def test_rows_classes_and_columns(name, line, columns, classes):
    found = LOADERS[name]()
    assert repr(found) == line
    assert found.schema.columns_of().shape == (columns, columns)
    assert found.target.value_counts().to_dict() == classes
    assert not found.data.isna().any(axis=None)


def test_letter_has_its_documented_counts():
    counts = "789 766 736 805 768 775 773 734 755 747 739 761 792 783 753 803 783 758 748 796 813 764 752 787 786 734"
    assert datasets.load_letter().target.value_counts().sort_index().tolist() == [int(count) for count in counts.split()]


@pytest.mark.parametrize("load", LOADERS.values())
def test_the_schema_covers_every_row(load):
    found = load()
    assert found.schema.names == list(found.data.columns)
    for feature, (_, column) in zip(found.schema, found.data.items(), strict=True):
        if isinstance(feature, cl.Numeric):
            assert (feature.lower, feature.upper) == (column.min(), column.max())
            assert feature.integer == (column.dtype.kind == "i")
        else:
            assert list(feature.categories) == sorted(set(column))
    for row in (0, len(found.data) - 1):
        line = found.data.iloc[[row]]
        pd.testing.assert_frame_equal(found.schema.decode(found.schema.encode(line), line), line)
    assert found.shape is None
    assert found.licence == "CC BY 4.0"
    assert "UCI" in found.origin
    assert "doi:10.24432/" in found.citation


@pytest.mark.parametrize("load", LOADERS.values())
def test_rows_and_labels_alone(load):
    data, target = load(return_X_y=True)
    pd.testing.assert_frame_equal(data, load().data)
    pd.testing.assert_series_equal(target, load().target)


def test_a_data_set_is_a_value():
    with pytest.raises(dataclasses.FrozenInstanceError):
        datasets.load_letter().name = "letters"


def test_the_official_parts_of_adult():
    X_train, X_test, y_train, y_test = datasets.load_adult().split(random_state=7)
    assert (len(X_train), len(X_test)) == (30162, 15060)
    assert ((y_train == ">50K").sum(), (y_test == ">50K").sum()) == (7508, 3700)
    assert X_test["native-country"].nunique() == 40


def test_a_random_split_keeps_the_shares_and_its_seed():
    credit = datasets.load_german_credit()
    X_train, X_test, y_train, y_test = credit.split()
    assert (len(X_train), len(X_test)) == (800, 200)
    assert ((y_train == "bad").sum(), (y_test == "bad").sum()) == (240, 60)
    assert X_train.index.equals(y_train.index)
    assert X_train.index.equals(credit.split(0)[0].index)
    assert not X_train.index.equals(credit.split(1)[0].index)


@pytest.mark.parametrize("sizes", [(700, 300), (5, 5, 5, 4), (6, 6, 6, 6, 6), (17, 4, 9), (30, 5)])
@pytest.mark.parametrize("seed", seeds(5))
def test_a_random_split_is_that_of_scikit_learn(sizes, seed):
    labels = pd.Series(np.random.default_rng(seed).permutation(np.repeat(list("dbaec")[: len(sizes)], sizes)))
    data = pd.DataFrame({"x": range(len(labels))})
    made = dataclasses.replace(datasets.load_german_credit(), data=data, target=labels).split(seed)
    expected = train_test_split(data, labels, test_size=0.2, stratify=labels, random_state=seed)
    assert all(ours.equals(theirs) for ours, theirs in zip(made, expected, strict=True))


def test_adult_with_its_gaps_and_all_columns():
    whole = datasets.load_adult(missing="keep", all_columns=True)
    assert whole.data.shape == (48842, 14)
    assert whole.n_train == 32561
    gaps = whole.data.isna()
    assert gaps.any(axis=1)[:32561].sum() == 2399
    assert gaps.any(axis=1)[32561:].sum() == 1221
    assert gaps[:32561].sum()[lambda n: n > 0].to_dict() == {"workclass": 1836, "occupation": 1843, "native-country": 583}
    assert {f.name for f in whole.schema if not isinstance(f, cl.Numeric) and f.missing} == {
        "workclass",
        "occupation",
        "native-country",
    }
    row = whole.data[gaps.any(axis=1)].iloc[[0]]
    assert whole.schema.encode(row).sum() > 0
    assert list(datasets.load_adult().data) == [n for n in whole.data if n not in ("fnlwgt", "education-num")]


def test_the_gaps_of_breast_cancer():
    whole = datasets.load_breast_cancer(missing="keep")
    gaps = whole.data["bare_nuclei"].isna()
    assert gaps.sum() == 16
    assert whole.data.isna().sum().sum() == 16
    assert whole.schema.features[5] == cl.Numeric("bare_nuclei", 1, 10, integer=True)
    filled = datasets.load_breast_cancer().data
    assert filled["bare_nuclei"].dtype == np.int64
    assert set(filled["bare_nuclei"][gaps]) == {int(whole.data["bare_nuclei"].median())}
    dropped = datasets.load_breast_cancer(missing="drop")
    assert dropped.target.value_counts().to_dict() == {"benign": 444, "malignant": 239}
    assert dropped.data["bare_nuclei"].dtype == np.int64


def test_german_codes_and_their_meanings():
    codes, words = datasets.load_german_credit(codes=True).data, datasets.load_german_credit().data
    assert set(MEANINGS) == {name for name in codes if codes[name].dtype.kind not in "if"}
    for name, meaning in MEANINGS.items():
        assert set(meaning) == set(codes[name])
        assert len(set(meaning.values())) == len(meaning)
        assert (codes[name].map(meaning) == words[name]).all()
    assert words["status_of_checking_account"][0] == "below 0 DM"


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (
            lambda: datasets.load_adult(missing="median"),
            "missing is 'median'; expected one of 'drop', 'keep': pass one of them",
        ),
        (
            lambda: datasets.load_breast_cancer(missing=None),
            "missing is None; expected one of 'median', 'drop', 'keep': pass one of them",
        ),
        (datasets.load_mnist, "MNIST is not bundled; pass folder= with its four IDX files, or download=True"),
        (lambda: datasets.load_mnist("here", download=True), "folder is 'here' and download is True; pass one of them"),
    ],
)
def test_wrong_settings_get_one_clear_line(load, message):
    with pytest.raises(cl.CounterleafError, match=f"^{re.escape(message)}$"):
        load()


@pytest.mark.parametrize("name", LOADERS)
def test_the_files_are_those_of_their_readme(name):
    folder = resources.files("counterleaf.datasets") / "files"
    content = lzma.decompress((folder / f"{name}.csv.xz").read_bytes())
    line = next(line for line in (folder / "README.md").read_text().splitlines() if line.startswith(f"| `{name}.csv.xz`"))
    assert hashlib.sha256(content).hexdigest() in line
    assert LOADERS[name]().citation.split("doi:")[1] in line


def test_data_sets_are_imported_on_first_use_and_without_scikit_learn():
    code = (
        "import sys, counterleaf as cl; assert 'counterleaf.datasets' not in sys.modules; "
        "cl.datasets.load_letter(); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@needs_raw_files
@pytest.mark.slow
def test_the_values_are_those_of_the_raw_files():
    about = json.loads((SHARED / "attributes.json").read_text())

    def raw(folder, file, **form):
        names = [each["name"] for each in about[folder]["attributes"]]
        names = ["label", *names] if folder == "letter" else [*names, "label"]
        form = {"sep": about[folder]["separator"], "engine": "python", **form}
        return pd.read_csv(SHARED / folder / f"{file}.gz", names=names, na_values="?", keep_default_na=False, **form)

    def same(found, frame, labels=None):
        labels = frame.pop("label") if labels is None else frame.pop("label").map(labels)
        pd.testing.assert_frame_equal(found.data, frame)
        assert found.target.tolist() == labels.tolist()

    adult = pd.concat([raw("adult", "adult.data"), raw("adult", "adult.test", skiprows=1)], ignore_index=True)
    adult["label"] = adult["label"].str.rstrip(".")
    same(datasets.load_adult(missing="keep", all_columns=True), adult)
    breast = raw("breast_cancer", "breast-cancer-wisconsin.data").drop(columns="sample_code_number")
    same(datasets.load_breast_cancer(missing="keep"), breast, {2: "benign", 4: "malignant"})
    same(datasets.load_german_credit(codes=True), raw("german", "german.data"), {1: "good", 2: "bad"})
    same(datasets.load_letter(), raw("letter", "letter-recognition.data"))
    same(datasets.load_spambase(), raw("spambase", "spambase.data"), {0: "not spam", 1: "spam"})


@pytest.fixture
def tiny(tmp_path):
    """A folder with the four files of two pictures each."""
    for part in ("train", "t10k"):
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(np.array([2051, 2, 28, 28], ">u4").tobytes() + bytes(2 * 784))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(
            gzip.compress(np.array([2049, 2], ">u4").tobytes() + b"\x03\x09")
        )
    return tmp_path


def sums(monkeypatch, pixels, labels):
    found = {"pixels": pixels, "labels": labels}
    monkeypatch.setattr(mnist, "_SUMS", {what: hashlib.sha256(content).hexdigest() for what, content in found.items()})


def test_idx_files_plain_and_gzipped(tiny, monkeypatch):
    train = tiny / "train-images-idx3-ubyte"
    train.write_bytes(train.read_bytes()[:-1] + b"\xff")  # the last pixel of the second training picture
    sums(monkeypatch, bytes(2 * 784 - 1) + b"\xff" + bytes(2 * 784), b"\x03\x09" * 2)
    found = datasets.load_mnist(tiny)
    assert found.data.shape == (4, 784)
    assert found.data["p27_27"].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert (found.data.columns[1], found.data.columns[28]) == ("p0_1", "p1_0")
    assert found.target.tolist() == [3, 9, 3, 9]
    assert found.shape == (28, 28)
    assert set(found.schema) == {cl.Numeric(name, 0, 1) for name in found.data}
    data, target = datasets.load_mnist(str(tiny), return_X_y=True)
    pd.testing.assert_frame_equal(data, found.data)
    pd.testing.assert_series_equal(target, found.target)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "train-images-idx3-ubyte",
            None,
            "has no train-images-idx3-ubyte, plain or .gz; expected the four IDX files of MNIST there",
        ),
        (
            "t10k-labels-idx1-ubyte",
            b"\0\0\x08\x03\0\0\0\0",
            "starts with the bytes 00 00 08 03; expected an IDX file, 00000801",
        ),
        ("t10k-labels-idx1-ubyte", b"", "starts with the bytes ; expected an IDX file, 00000801: check the file"),
        (
            "t10k-labels-idx1-ubyte",
            b"\0\0\x08\x01\0\0\0\x02\x03",
            "has 1 bytes of content; the header says 2: get it again",
        ),
        ("t10k-labels-idx1-ubyte.gz", b"no gzip", "t10k-labels-idx1-ubyte.gz cannot be unpacked (Not a gzipped file"),
        (
            "t10k-labels-idx1-ubyte.gz",
            gzip.compress(bytes(99), mtime=0)[:-9],
            "t10k-labels-idx1-ubyte.gz cannot be unpacked (Compressed",
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            gzip.compress(b"", mtime=0)[:10] + b"\xff" * 9,
            "t10k-labels-idx1-ubyte.gz cannot be unpacked (Error",
        ),
    ],
    ids=["missing", "images", "empty", "short", "no gzip", "cut", "garbled"],  # the bytes contain no time
)
def test_broken_idx_files_get_one_clear_line(tiny, name, content, message):
    if content is None:
        (tiny / name).unlink()
    else:
        (tiny / name).write_bytes(content)
    with pytest.raises(cl.CounterleafError, match=re.escape(message)) as error:
        datasets.load_mnist(tiny)
    assert "\n" not in str(error.value)


def test_other_content_is_refused(tiny, monkeypatch):
    expected = r"are not MNIST's: sha256 \w{16}\.\.\., expected 5b92582eb909c82a\.\.\.; get another"
    with pytest.raises(cl.CounterleafError, match=re.escape(f"the pixels in {tiny} ") + expected):
        datasets.load_mnist(tiny)
    sums(monkeypatch, bytes(4 * 784), b"other")
    with pytest.raises(cl.CounterleafError, match=r"the labels in .* are not MNIST's"):
        datasets.load_mnist(tiny)


def openml(pixels, labels):
    """A substitute for scikit-learn's download from OpenML: floats, and labels as strings."""

    def fetch(name, *, version, as_frame, return_X_y):
        assert (name, version, as_frame, return_X_y) == ("mnist_784", 1, False, True)
        return np.frombuffer(pixels, np.uint8).reshape(-1, 784).astype(float), np.array([str(k) for k in labels], object)

    return fetch


def test_a_download_is_checked_like_a_folder(tiny, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", openml(bytes(4 * 784), b"\x03\x09" * 2))
    with pytest.raises(cl.CounterleafError, match="the pixels in the OpenML copy are not MNIST's"):
        datasets.load_mnist(download=True)
    sums(monkeypatch, bytes(4 * 784), b"\x03\x09" * 2)
    found, local = datasets.load_mnist(download=True), datasets.load_mnist(tiny)
    pd.testing.assert_frame_equal(found.data, local.data)
    pd.testing.assert_series_equal(found.target, local.target)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (URLError("no route\nto host"), "URLError: <urlopen error no route to host>"),
        (IncompleteRead(b""), "IncompleteRead: IncompleteRead(0 bytes read)"),
        (ValueError("md5 checksum differs"), "ValueError: md5 checksum differs"),
    ],
)
def test_a_failed_download_gets_one_clear_line(monkeypatch, error, reason):
    def fetch(*_, **__):
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    message = f"cannot download MNIST from OpenML ({reason}); check the network, or pass folder= with its IDX files"
    with pytest.raises(cl.CounterleafError, match=f"^{re.escape(message)}$"):
        datasets.load_mnist(download=True)


@pytest.mark.skipif(not (SHARED / "mnist").is_dir(), reason="MNIST is not next to the repository")
@pytest.mark.slow
def test_mnist_itself(monkeypatch):
    digits = datasets.load_mnist(SHARED / "mnist")
    assert repr(digits) == "<MNIST: 70,000 rows, 784 features, 10 classes; the first 60,000 rows train>"
    X_train, X_test, y_train, y_test = digits.split()
    assert y_train.value_counts().sort_index().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert y_test.value_counts().sort_index().tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert (X_train.to_numpy().min(), X_test.to_numpy().max()) == (0.0, 1.0)
    pixels = np.rint(255.0 * digits.data.to_numpy()).astype(np.uint8)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", openml(pixels.tobytes(), digits.target))
    assert datasets.load_mnist(download=True).target.equals(digits.target)
