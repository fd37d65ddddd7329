"""Small tables for ensembles, and the comparison of an ensemble with the model from which it was read."""

import numpy as np

from counterleaf.model.readers.shared.probing import probe_rows
from counterleaf.model.readers.table import as_model, categories_of, inputs_of, is_ensemble, read_ensemble

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(240, 5))
KIND = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * _RNG.normal(size=240), [-0.5, 0.6])
TWO = (KIND > 0).astype(int)
VALUE = 3.0 * X[:, 0] + X[:, 1] ** 2
GAPPY = np.where(_RNG.random(X.shape) < 0.15, np.nan, X)


def same(model, rows, ulps=0, exact=True):
    """Check an ensemble on the rows of a table, on random rows and at thresholds; ``ulps`` is for probabilities."""
    assert is_ensemble(model)
    ensemble, real = read_ensemble(model), as_model(model)
    sizes = {d: max(len(values), 1) for d, values in categories_of(model).items()}
    for table in (rows, probe_rows(ensemble, sizes, 300)):
        inputs = inputs_of(model, table)
        found, said = ensemble.predict(table), np.ravel(real.predict(inputs))
        if exact:
            assert np.array_equal(found, said)
        if ensemble.has_probabilities:
            near = ulps * float(np.finfo(ensemble.scoring.dtype).eps)  # exp of two libraries differs in the last digits
            assert np.abs(ensemble.predict_proba(table) - real.predict_proba(inputs)).max() <= near
    return ensemble
