"""Batches compared with explain row by row, and random queries turned into batches: one query, several rows."""

import functools

import numpy as np
import pandas as pd
import polars as pl
from support.strategies import coupled_case, random_case, whole_case
from support.table_cases import table_case
from support.table_codes import row_of

import counterleaf as cl
from counterleaf.answer.text import written
from counterleaf.table.features import is_missing

RESULT_COLUMNS = (
    "status",
    "cost",
    "lower_bound",
    "leaf",
    "source_label",
    "label",
    "n_changed",
    "changed",
    "confirmed",
    "probability",
    "problem",
)


def one_of(rows, k):
    """Row k as ``explain`` takes it."""
    if isinstance(rows, pd.DataFrame):
        return rows.iloc[[k]]
    return rows[k]


def cells(row, names):
    """The values of a row of any kind by feature name, in Python's types, missing values as None."""
    if isinstance(row, (pd.DataFrame, pl.DataFrame)):
        values = {str(name): row[name].to_list()[0] for name in row.columns}
    else:
        values = dict(zip(names, row.tolist(), strict=True))
    return {name: None if is_missing(value) else value for name, value in values.items()}


def alike(a, b):
    """Whether numbers of any type have the same bits as floats; other values must have the same value and type."""
    if isinstance(a, (bool, np.bool_)) or isinstance(b, (bool, np.bool_)) or isinstance(a, str) or a is None or b is None:
        return type(a) is type(b) and a == b
    return np.float64(a).tobytes() == np.float64(b).tobytes()


def column(out, name):
    """A column of a frame in Python's types, missing values as None."""
    return [None if is_missing(value) else value for value in out[name].to_list()]


def in_words(answer):
    """The changes of the first answer with the numbers of ``print``."""
    pieces = [f"{answer.schema.names[d]} {old} -> {new}" for d, (old, new) in sorted(written(answer, 0).items())]
    more = len(answer[0].changes) - len(pieces)
    return "; ".join([*pieces, *[f"{more} more"] * bool(more)])


def reads_as(text, answer):
    """Whether words are those of ``print``, up to the digits of the new numbers where several splits decide about them."""
    expected = in_words(answer)
    if text == expected or text == expected.replace(".0 -> ", " -> ").removesuffix(".0") or len(answer[0].changes) > 40:
        return True
    problem, schema, places = answer.certificate.problem, answer.schema, answer.schema.starts
    row = answer.certificate.answers[0].row.copy()
    for piece, other in zip(text.split("; "), expected.split("; "), strict=True):
        name = next(one for one in schema.names if piece.startswith(f"{one} "))
        if not other.startswith(f"{name} ") or len(set(piece.split(" -> "))) == 1:
            return False
        if isinstance(schema.features[schema.index(name)], cl.Numeric) and "missing" not in piece:
            row[places[schema.index(name)]] = float(piece.split(" -> ")[1])
    together = problem.splits.oblique or answer.decision.tree is not answer.decision.model or len(answer[0].changes) > 1
    return (
        bool(together or answer.constraints)
        and problem.tree.leaf_of(row) == answer.certificate.answers[0].leaf
        and problem.keeps(row)
    )


def differences(explainer, rows, out, **question):
    """The differences between the frame of a batch and ``explain`` for each of its rows."""
    limits = {name: value for name, value in question.items() if name not in ("n_jobs", "chunk_size", "progress")}
    columns = {name: column(out, name) for name in out.columns}
    order = list(explainer.schema.columns or explainer.schema.names)
    moved, wrong = set(), []
    for k in range(len(rows)):
        got = {name: values[k] for name, values in columns.items()}
        row = one_of(rows, k)
        try:
            answer = explainer.explain(row, **limits)
        except cl.CounterleafError as error:
            expected = dict.fromkeys(columns, None) | {"status": "invalid", "problem": str(error)}
            wrong += [(k, name, got[name], expected[name]) for name in expected if got.get(name) != expected[name]]
            continue
        best = answer[0] if len(answer) else None
        expected = dict.fromkeys(columns, None) | {"status": str(answer.status), "lower_bound": answer.lower_bound}
        expected["source_label"] = answer.source_label
        expected.pop("probability", None)
        if best is not None:
            named = ("cost", "lower_bound", "label", "confirmed", *(() if answer.schema.gaps else ("leaf",)))
            expected.pop("leaf", None)  # with gaps, explain counts the leaves of an expanded tree, a batch those of the model
            expected |= {name: getattr(best, name) for name in named} | {"n_changed": len(best.changes)}
            expected["changed"] = got["changed"] if reads_as(got["changed"], answer) else in_words(answer)
            new = cells(best.row, order)
            expected |= {name: new[name] for name in columns if name not in RESULT_COLUMNS}
            moved |= best.changes.keys()
        wrong += [(k, name, got[name], expected[name]) for name in expected if not alike(got[name], expected[name])]
    if moved != set(columns) - set(RESULT_COLUMNS):
        wrong.append(("columns", sorted(set(columns) - set(RESULT_COLUMNS)), sorted(moved)))
    return wrong


def compare(explainer, rows, **question):
    """The frame of a batch, after a comparison of every row with ``explain``."""
    out = explainer.explain_many(rows, **question)
    assert len(out) == len(rows)
    wrong = differences(explainer, rows, out, **question)
    assert not wrong, wrong[:6]
    return out


def number_batch(rng, n=5, make=random_case, **shape):
    """(explainer, rows, query) from a random query about numbers; some rows lie within its bounds, some far away."""
    case = make(rng, **shape)
    scale = np.ones(len(case.row)) if case.scale is None else case.scale
    spread = rng.choice([0.3, 1.0, 3.0], size=(n, 1))
    rows = np.vstack([case.row, case.row + spread * rng.normal(size=(n, len(case.row))) * scale])
    if make is not random_case:
        rows = np.round(rows)
    target = case.target if rng.random() < 0.8 else None
    question = {"target": target, "cost": case.cost, "constraints": case.constraints, "margin": case.margin}
    return cl.Explainer(case.tree, schema=case.schema), rows, question


def table_batch(rng, n=5, **shape):
    """The same over a table, as a frame whose numbers and categories are shuffled."""
    case = table_case(rng, **shape)
    codes = np.repeat(case.source[None], n + 1, axis=0)
    for d, feature in enumerate(case.schema):
        if not isinstance(feature, cl.Numeric):
            codes[1:, d] = rng.integers(len(feature.values), size=n)
        elif feature.grid is None:
            codes[1:, d] += case.scale[d] * rng.normal(size=n)
        else:
            codes[1:, d] += float(feature.grid) * rng.integers(-9, 10, size=n)
    rows = pd.DataFrame([row_of(case.schema, line) for line in codes])
    target = list(case.target) if rng.random() < 0.8 else None
    question = {"target": target, "cost": case.cost(), "constraints": case.constraints()}
    return cl.Explainer(case.tree, schema=case.schema), rows, question


KINDS = {
    "numbers": number_batch,
    "whole": functools.partial(number_batch, make=whole_case),
    "coupled": functools.partial(number_batch, make=coupled_case),
    "tables": table_batch,
    "axis-aligned tables": functools.partial(table_batch, axis=True),
    "off the grid": functools.partial(table_batch, off_grid=True),
}
