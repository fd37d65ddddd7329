"""Ask OCEAN's constraint programming about rows; run by a Python that has it, without counterleaf.

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
    """The milliseconds and the columns proposed for each row, or what went wrong with it."""
    import numpy as np
    import pandas as pd
    from ocean import ConstraintProgrammingExplainer
    from ocean.abc import Mapper
    from ocean.feature import Feature

    asked = json.load(sys.stdin)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # another scikit-learn than the one that wrote it
        model = pickle.loads(base64.b64decode(asked["model"]))
    warnings.simplefilter("ignore")
    features: dict[Any, Any] = {}
    columns: list[tuple[str, str]] = []
    for name, size, number in asked["features"]:
        if number:  # one interval beyond each end, as its own parser leaves them
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
    until = time.perf_counter() + asked["budget"]
    for row, target in zip(asked["rows"], asked["targets"], strict=True):
        source = np.array(row)
        start = time.perf_counter()
        try:
            found = tool.explain(source, y=target, norm=asked["power"], max_time=asked["budget"], random_seed=asked["seed"])
            x = None if found is None else found.to_numpy().tolist()
            out.append({"ms": 1e3 * (time.perf_counter() - start), "x": x})
        except Exception as error:
            out.append({"ms": 1e3 * (time.perf_counter() - start), "error": f"{type(error).__name__}: {error}"})
        if time.perf_counter() > until:
            break
    return {"answers": out}


if __name__ == "__main__":
    try:
        said = main()
    except Exception as failure:
        said = {"failed": f"{type(failure).__name__}: {failure}"}
    print(json.dumps(said))
