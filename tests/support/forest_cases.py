"""A table with categories and gaps, and an adapted ensemble compared with the user's model on it."""

import numpy as np
from support.fold_cases import people

from counterleaf import Numeric
from counterleaf.model.adapter import adapt
from counterleaf.model.cuts import cuts
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.gaps import adapter_with_gaps, made_up_rows, predict_rows
from counterleaf.model.readers.shared.leaf_probes import quiet

MIXED = ["age", "pay", "hours", "job", "size", "city"]
WORDS = ["job", "size", "city"]


def table(n=300, categories=True):
    """Return a table of numbers and categories, with gaps in hours and city, and labels that depend on all of them."""
    frame = people(n)[MIXED]
    noise = np.random.default_rng(7).random(n) < 0.2
    y = (
        (frame["age"] > 50).astype(int) + (frame["job"] == "cook") + (frame["hours"] > 42) + (frame["city"] == "Oslo") + noise
    ) % 2
    if categories:
        frame = frame.astype(dict.fromkeys(WORDS, "category"))
    return frame, y.to_numpy()


def points(adapter, n=150, seed=3):
    """Return random rows as codes: numbers on both sides of the cuts or of the data's size, all values of finite features."""
    rng, schema = np.random.default_rng(seed), adapter.schema
    variable, _, low, high = cuts(adapter.tree.splits)
    single = np.diff(adapter.tree.splits.weights.indptr) == 1
    codes = np.empty((n, len(schema)))
    for d, feature in enumerate(schema):
        if not isinstance(feature, Numeric):
            codes[:, d] = rng.permutation(np.arange(n) % feature.size)
            continue
        here = single & (variable == schema.starts[d])
        edges = np.concatenate([low[here], high[here], [0.0, 40.0]])
        edges = edges[np.isfinite(edges)]
        codes[:, d] = np.where(rng.random(n) < 0.7, rng.choice(edges, n), rng.normal(40, 20, n))
        codes[:, d] = np.clip(codes[:, d], *schema.domains.get(feature.name, (-np.inf, np.inf)))
        if feature.name in getattr(adapter, "whole", ()):
            codes[:, d] = np.floor(codes[:, d])
        if feature.name in schema.gaps:
            codes[rng.random(n) < 0.5, d] = np.nan
    return schema.spread(codes)


def check_points(adapter, exact=True):
    """Compare the ensemble with the model on made-up rows, which go the way of a confirmation."""
    x = points(adapter)
    rows = made_up_rows(adapter.schema, x) if adapter.takes_rows else []
    with quiet():
        found = adapter.predictions(x, rows)
    expected = adapter.tree.predict(x)
    expected = expected if adapter.rescale is None else adapter.rescale.outward(expected)
    assert np.array_equal(found, expected) if exact else np.allclose(found, expected, rtol=1e-6)
    if adapter.tree.has_probabilities and hasattr(adapter.model, "predict_proba"):
        with quiet():
            share = adapter.predictions(x, rows, output=1)
        assert np.allclose(share, adapter.tree.predict_proba(x)[:, 1], rtol=0, atol=1e-6)  # XGBoost has float32


def same(model, frame, missing=("hours",), schema=None, exact=True):
    """Compare the adapted ensemble with the model: on the table, on made-up rows at the cuts, and without some numbers."""
    adapter = adapt(model, frame, schema, True)
    assert isinstance(adapter.tree, Ensemble)
    assert adapter.tree.n_features == adapter.schema.width
    assert not adapter.tree.subsets
    with quiet():
        expected = model.predict(frame[:80])
    found = np.array(predict_rows(adapter, [frame.iloc[[i]] for i in range(80)]))
    found = found if adapter.rescale is None else adapter.rescale.outward(found)
    assert np.array_equal(found, expected) if exact else np.allclose(found, expected, rtol=1e-6)
    check_points(adapter, exact)
    if missing:
        wider = adapter_with_gaps(adapter, missing)
        assert set(wider.schema.gaps) == set(missing)
        check_points(wider, exact)
    return adapter
