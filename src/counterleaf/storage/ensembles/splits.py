"""The splits of an ensemble from a file: each is on one feature, as the search and the proof suppose."""

from __future__ import annotations

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.question.variables import Variables
from counterleaf.table.schema import Schema


def check_splits(ensemble: Ensemble, schema: Schema, what: str) -> None:
    """Refuse an ensemble whose splits are not on single features of a schema, or that is not over its variables.

    Parameters
    ----------
    ensemble : Ensemble
        The ensemble, with as many columns as the schema has variables.
    schema : Schema
        The features.
    what : str
        The file, for the message.

    Raises
    ------
    CounterleafError
        If a split sums over several features, or the ensemble has routes or categories of its own.
    """
    weights = ensemble.splits.weights
    terms = np.diff(weights.indptr)
    several = np.flatnonzero(terms > 1)
    first = weights.indptr[several]
    group = Variables.of(schema).group[weights.indices]
    alike = np.ones(len(group) + 1, bool)
    alike[1:-1] = (group[1:] == group[:-1]) & (group[1:] >= 0)  # as the entry before
    total = np.concatenate([[0], np.cumsum(~alike[:-1])])
    apart = total[first + terms[several]] - total[first + 1]  # entries of a split that differ from the one before
    if apart.any():
        raise CounterleafError(f"{what} has a split on several features, which no ensemble has; write it again with to_json")
    if ensemble.gap_right is not None or ensemble.subsets:
        raise CounterleafError(
            f"{what} has an ensemble over the columns of a model, not over the features of a table; write it again with to_json"
        )
