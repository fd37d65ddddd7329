"""Explain rows with OCEAN's constraint programming; run by a Python that has OCEAN, without counterleaf.

One JSON object on stdin (see ``ocean.py``), one on stdout. With ``--serve``, one line of JSON on stdout for each line on stdin:
first a model (see ``ensembles/ocean_process.py``), then questions. OCEAN needs Python 3.12.
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

    request = json.load(sys.stdin)
    tool = _explainer(request, lambda model: [model])
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


def serve() -> None:
    """Answer questions about an ensemble, one line each, with one thread."""
    import numpy as np

    request = json.loads(sys.stdin.readline())
    begun = time.process_time()
    tool = _explainer(request, _with_names(request))
    _say({"cpu": time.process_time() - begun})
    for line in sys.stdin:
        question = json.loads(line)
        source = np.array(question["row"])
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            found = tool.explain(
                source,
                y=question["target"],
                norm=request["power"],
                max_time=request["budget"],
                num_workers=1,
                random_seed=request["seed"],
            )
            answer: dict[str, Any] = {
                "status": tool.get_solving_status(),
                "x": None if found is None else found.to_numpy().tolist(),
                "cost": None if found is None else tool.get_objective_value(),
            }
        except Exception as error:
            tool.cleanup()
            answer = {"error": f"{type(error).__name__}: {error}"}
        _say({**answer, "cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall})


def _explainer(request: dict[str, Any], ensemble: Any) -> Any:
    """OCEAN's explainer of a pickled model, whose features are described in the request."""
    import pandas as pd
    from ocean import ConstraintProgrammingExplainer
    from ocean.abc import Mapper
    from ocean.feature import Feature

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # for a scikit-learn other than the one that pickled it
        model = pickle.loads(base64.b64decode(request["model"]))
    warnings.simplefilter("ignore")
    features: dict[Any, Any] = {}
    columns = _columns(request)
    for name, size, number in request["features"]:
        if number:  # one interval beyond each end, as in OCEAN's parser
            features[name] = Feature(Feature.Type.CONTINUOUS, levels=(-0.5, 1.5))
        else:
            features[name] = Feature(Feature.Type.ONE_HOT_ENCODED, codes=[f"v{k}" for k in range(size)])
    mixed = any(value for _, value in columns)
    index: Any = pd.MultiIndex.from_tuples(columns) if mixed else pd.Index([name for name, _ in columns])
    return ConstraintProgrammingExplainer(ensemble(model), mapper=Mapper(features, columns=index))


def _columns(request: dict[str, Any]) -> list[tuple[str, str]]:
    """The name of each column, and the category that it has a 1 for."""
    out: list[tuple[str, str]] = []
    for name, size, number in request["features"]:
        out += [(name, "")] if number else [(name, f"v{k}") for k in range(size)]
    return out


def _with_names(request: dict[str, Any]) -> Any:
    """A function that gives a model of XGBoost the names of the columns, by which OCEAN finds the features of its splits."""

    def name(model: Any) -> Any:
        if hasattr(model, "get_booster"):
            model.get_booster().feature_names = [f"{name} {value}".strip() for name, value in _columns(request)]
        return model

    return name


def _say(message: dict[str, Any]) -> None:
    """Write one line."""
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["--serve"]:
            serve()
        else:
            _say(main())
    except Exception as failure:
        _say({"failed": f"{type(failure).__name__}: {failure}"})
