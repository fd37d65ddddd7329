"""Table 6: how often CART, TAO and a random forest err."""

from __future__ import annotations

from typing import Any

import pandas as pd

from counterleaf.experiments.paper import paper
from counterleaf.experiments.paper.grounds import Ground
from counterleaf.experiments.paper.trees import AXIS, OBLIQUE, THREADS, Grown

MODELS = {"cart": AXIS, "tao": OBLIQUE}


def measure(ground: Ground, grown: dict[str, Grown], seed: int) -> pd.DataFrame:
    """One line per model on one split."""
    lines: list[dict[str, Any]] = []
    for name, kind in MODELS.items():
        train, test = grown[kind].errors(ground)
        tree = grown[kind].tree
        lines.append({"model": name, "train": train, "test": test, "depth": tree.depth, "leaves": len(tree.leaves)})
    train, test = _forest(ground, seed)
    lines.append({"model": "forest", "train": train, "test": test, "depth": None, "leaves": None})
    return pd.DataFrame([{"set": ground.key, "title": ground.title, "split": seed, **line} for line in lines])


def _forest(ground: Ground, seed: int) -> tuple[float, float]:
    """scikit-learn's defaults, as in the paper."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(random_state=seed, n_jobs=THREADS).fit(ground.X[ground.train], ground.y[ground.train])
    train, test = (100.0 * (1.0 - model.score(ground.X[k], ground.y[k])) for k in (ground.train, ground.test))
    return float(train), float(test)


def table(measured: pd.DataFrame) -> pd.DataFrame:
    """A line per set: errors on the split of the other tables, on all splits where there are several, and the paper's."""
    lines = []
    for key, of_set in measured.groupby("set", sort=False):
        line: dict[str, Any] = {"set": of_set["title"].iloc[0], "splits": of_set["split"].nunique()}
        for name, of_model in of_set.groupby("model", sort=False):
            told = paper.ERRORS[str(key)][str(name)] if key in paper.ERRORS else None
            first = of_model.iloc[0]
            for part in ("train", "test"):
                line |= {f"{name} {part}": first[part], f"paper {name} {part}": getattr(told, part, None)}
            if len(of_model) > 1:
                line[f"{name} test, all splits"] = f"{of_model['test'].mean():.1f}±{of_model['test'].std(ddof=0):.1f}"
            if name != "forest":
                line |= {f"{name} depth": int(first["depth"]), f"paper {name} depth": getattr(told, "depth", None)}
                line[f"{name} leaves"] = int(first["leaves"])
        lines.append(line)
    return pd.DataFrame(lines)
