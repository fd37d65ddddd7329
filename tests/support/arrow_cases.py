"""Answers of pyarrow compared with the frame of explain_many, cell by cell."""

import pickle

import pandas as pd
import pyarrow as pa
from support.batch_cases import alike, column

NUMBERS = ("cost", "lower_bound", "probability")
SHARED = ("status", "cost", "lower_bound", "leaf", "source_label", "label", "n_changed", "confirmed", "probability", "changed")


def batch_of(rows, names=None):
    """A frame or an array as a record batch."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=names)
    return pa.RecordBatch.from_pandas(frame, preserve_index=False)


def wrong_cells(explainer, batch, out, **question):
    """The cells of ``out`` that differ from those of explain_many about the same rows."""
    frame = batch.to_pandas()
    options = {"words": "changed" in out.schema.names, "progress": False, **question}
    expected = explainer.explain_many(frame, **options)
    lists = {name: out.column(name).to_pylist() for name in out.schema.names}
    wrong = []
    for name in SHARED:
        if name in expected and name in lists:
            pairs = enumerate(zip(lists[name], column(expected, name), strict=True))
            wrong += [(k, name, a, b) for k, (a, b) in pairs if not alike(a, b)]
    problems = column(expected, "problem") if "problem" in expected else [None] * len(frame)
    wrong += [("problem", a, b) for a, b in zip(lists["problem"], problems, strict=True) if a != b]
    removed = [(text or "").split("; ") for text in lists.get("removed", [None] * len(frame))]
    for name in explainer.schema.names:
        wrong += _wrong_values(name, lists, expected, frame, removed)
    changed = [
        sum(lists[f"new_{name}"][k] is not None or name in removed[k] for name in explainer.schema.names)
        for k in range(len(frame))
    ]
    wrong += [("n_changed", k) for k, count in enumerate(lists["n_changed"]) if (count or 0) != changed[k]]
    return wrong


def _wrong_values(name, lists, expected, frame, removed):
    before, new, wrong = column(frame, name), lists[f"new_{name}"], []
    after = column(expected, name) if name in expected else before
    for k, (old, value, then) in enumerate(zip(before, new, after, strict=True)):
        if lists["leaf"][k] is None:
            fits = value is None
        elif name in removed[k]:
            fits = value is None and then is None and old is not None
        elif value is None:
            fits = then == old
        else:
            fits = float(value) == float(then) if not isinstance(value, str) else value == str(then)
        if not fits:
            wrong.append((k, name, old, value, then))
    return wrong


def compare_arrow(explainer, batch, **question):
    """The answers for a batch, after a comparison with explain_many; the function goes through a pickle on its way."""
    step = pickle.loads(pickle.dumps(explainer.arrow(**question)))
    out = step(batch)
    assert out.schema == step.schema
    assert out.num_rows == batch.num_rows
    out.validate(full=True)
    wrong = wrong_cells(explainer, batch, out, **{name: value for name, value in question.items() if name != "keep"})
    assert not wrong, wrong[:6]
    return out
