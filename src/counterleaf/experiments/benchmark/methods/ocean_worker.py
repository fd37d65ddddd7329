"""Explain rows with OCEAN's constraint programming; run by a Python that has OCEAN, without counterleaf.

One JSON object on stdin (see ``ocean.py``), one on stdout. OCEAN needs Python 3.12.
"""

from __future__ import annotations

import base64
import json
import pickle
import sys
import time
import warnings
from typing import Any


def main() -> dict[str, Any]:
    """Return the milliseconds and the proposed columns of each row, or its error."""
    import numpy as np
    import pandas as pd
    from ocean import ConstraintProgrammingExplainer
    from ocean.abc import Mapper
    from ocean.feature import Feature

    request = json.load(sys.stdin)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # for a scikit-learn other than the one that pickled it
        model = pickle.loads(base64.b64decode(request["model"]))
    warnings.simplefilter("ignore")
    features: dict[Any, Any] = {}
    columns: list[tuple[str, str]] = []
    for name, size, number in request["features"]:
        if number:  # one interval beyond each end, as in OCEAN's parser
            features[name] = Feature(Feature.Type.CONTINUOUS, levels=(-0.5, 1.5))
            columns.append((name, ""))
        else:
            values = [f"v{k}" for k in range(size)]
            features[name] = Feature(Feature.Type.ONE_HOT_ENCODED, codes=values)
            columns += [(name, value) for value in values]
    mixed = any(value for _, value in columns)
    index: Any = pd.MultiIndex.from_tuples(columns) if mixed else pd.Index([name for name, _ in columns])
    tool = ConstraintProgrammingExplainer([model], mapper=Mapper(features, columns=index))
    out: list[dict[str, Any]] = []
    until = time.perf_counter() + request["budget"]
    for row, target in zip(request["rows"], request["targets"], strict=True):
        source = np.array(row)
        start = time.perf_counter()
        try:
            found = tool.explain(
                source, y=target, norm=request["power"], max_time=request["budget"], random_seed=request["seed"]
            )
            x = None if found is None else found.to_numpy().tolist()
            out.append({"ms": 1e3 * (time.perf_counter() - start), "x": x})
        except Exception as error:
            out.append({"ms": 1e3 * (time.perf_counter() - start), "error": f"{type(error).__name__}: {error}"})
        if time.perf_counter() > until:
            break
    return {"answers": out}


if __name__ == "__main__":
    try:
        response = main()
    except Exception as failure:
        response = {"failed": f"{type(failure).__name__}: {failure}"}
    print(json.dumps(response))
