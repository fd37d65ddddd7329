"""Models that XGBoost saved as JSON, read without XGBoost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError, flat
from counterleaf.model.ensembles.ensemble import Ensemble, heap
from counterleaf.model.readers.shared.probing import with_noise
from counterleaf.model.readers.xgboost_trees import assembled, decoded, labels_of, trees_of
from counterleaf.sparse import CSR

_CHOICE = 2.0**100  # the weight of a category: it decides its split alone, and exactly
_MOST_COLUMNS = 1_000_000


def is_xgboost(content: Any) -> bool:
    """Return whether the content of a JSON file is a model that XGBoost saved."""
    return isinstance(content, Mapping) and "learner" in content and "version" in content


def read_xgboost(content: Mapping[str, Any]) -> tuple[Ensemble, list[str], dict[int, list[Any]]]:
    """Return the ensemble of a model that XGBoost saved as JSON.

    XGBoost itself does not predict, so the noise of the scores is a bound on the rounding of its sums in any order. A
    classifier of the scikit-learn interface has the classes 0, 1, ...; another model predicts the numbers of its objective.
    """
    try:
        learner: Any = content["learner"]
        best = learner.get("attributes", {}).get("best_iteration")
        rounds = 0 if best is None else int(best) + 1
        found, starts = assembled(learner, "XGBoost model", rounds, labels_of(None, learner))
        first, *others = starts
        names = [str(name) for name in learner.get("feature_names", ())]
        if len(names) not in (0, found.n_features) or found.n_features > _MOST_COLUMNS:
            raise ValueError(f"{len(names)} names for {found.n_features} columns")
        kinds = learner.get("feature_types", ())
        stored = trees_of(learner).get("cats", {}).get("enc", [])
        known = {d: decoded(stored[d]) if d < len(stored) else [] for d, kind in enumerate(kinds) if kind == "c"}
        for d, values in known.items():
            if not values:
                raise CounterleafError(
                    f"the file does not tell the categories of column {names[d] if names else d!r}; fit it again with XGBoost "
                    f"3.1 or later, on a pandas frame with categories"
                )
    except CounterleafError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, UnicodeDecodeError, ValueError) as error:
        raise CounterleafError(
            f"the XGBoost model is damaged or of an unknown version ({type(error).__name__}: {flat(error)}); save it again "
            f"with save_model('model.json')"
        ) from None
    found = replace(found, start=first)
    sums = 2.0 if "weight_drop" in learner["gradient_booster"] else 1.0  # dart weighs its trees before it adds
    noise = sums * found.rounding + max((float(np.abs(one - first).max()) for one in others), default=0.0)
    found = with_noise(found, noise)
    return (_one_hot(found, {d: len(values) for d, values in known.items()}) if known else found), names, known


def _one_hot(ensemble: Ensemble, sizes: Mapping[int, int]) -> Ensemble:
    """Return an ensemble of category codes with one column per category in their place."""
    tree, width = ensemble.splits, ensemble.n_features
    starts = np.append(0, np.cumsum([sizes.get(d, 1) for d in range(width)]))
    rows, columns, data = [], [], []
    bias = tree.bias[: tree.n_nodes // 2].copy()
    for k in range(len(bias)):
        held, weights = tree.weights.row(k)
        codes: Sequence[int] = range(sizes.get(int(held[0]), 0)) if k in ensemble.subsets else ()
        right = set(ensemble.subsets[k].tolist()) if k in ensemble.subsets else set()
        if k in ensemble.subsets:
            bias[k] = 0.0
            rows += [k] * len(codes)
            columns += [int(starts[held[0]]) + code for code in codes]
            data += [_CHOICE if code in right else -_CHOICE for code in codes]
        else:
            rows += [k] * len(held)
            columns += starts[held].tolist()
            data += weights.tolist()
    weights = CSR.from_entries(rows, columns, data, (tree.n_nodes, int(starts[-1])))
    column = None if ensemble.gap_column is None else starts[ensemble.gap_column]
    return replace(ensemble, splits=heap(weights, bias, tree.closed, tree.dtype), subsets={}, gap_column=column)
