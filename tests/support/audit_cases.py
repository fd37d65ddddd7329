"""Small audits: a model and rows in files, the answers of a folder, and what they should be."""

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from support.arrow_cases import batch_of, wrong_cells
from support.cli_cases import call, small

MODEL = "model.json"
TARGET = ("--target", "2")


def write_model(folder, explainer=None):
    """The file of a model; by default that of ``small``."""
    path = folder / MODEL
    path.write_text((explainer or small()).to_json())
    return path


def write_rows(path, frame, **options):
    """A file of rows in the format of its suffix."""
    name = path.name
    if name.endswith(".parquet"):
        parquet.write_table(pa.Table.from_batches([batch_of(frame)]), path, **options)
    elif ".csv" in name:
        frame.to_csv(path, index=False, **options)
    else:
        text = "".join(f"{json.dumps(row)}\n" for row in frame.to_dict("records"))
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode())
    return path


def audit(folder, *arguments, out="audit"):
    """Run an audit that succeeds; the answers as one table."""
    done = call("audit", folder / MODEL, *arguments, "--out", folder / out)
    assert done.code == 0, done.err
    return answers(folder / out)


def answers(out):
    """All parts of a folder as one table, in order."""
    return pa.concat_tables([parquet.read_table(path) for path in sorted((out / "parts").glob("*.parquet"))])


def contents(out):
    """The bytes of all files of a folder but for the date in its manifest."""
    found = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    manifest = json.loads(found.pop("manifest.json"))
    manifest.pop("created")
    return {**found, "manifest.json": manifest}


def differences(explainer, frame, table, **question):
    """The cells of an audit that differ from explain_many about the same rows."""
    return wrong_cells(explainer, batch_of(frame), table.combine_chunks().to_batches()[0], **question)


def numbers(n=400, seed=0, columns=4):
    """A frame of random numbers."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, columns)), columns=[f"x{k}" for k in range(columns)])
