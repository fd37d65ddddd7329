"""From instances to the paper's tables, with the paper's numbers beside ours, and to the verdicts on the whole run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterleaf.experiments.paper import paper
from counterleaf.experiments.paper.instances import LEVELS, NORMS
from counterleaf.experiments.paper.trees import AXIS, OBLIQUE

AGREE = 1e-7  # relative; the solver's own tolerances are 1e-9
_PAPER = {OBLIQUE: paper.OBLIQUE, AXIS: paper.AXIS}
_OTHER = {OBLIQUE: "nearest", AXIS: "tweaking"}  # the paper's baseline


def comparison(instances: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Table 2 or 3: a line per data set and level of constraints."""
    lines = []
    of_kind = instances[instances["tree"] == kind]
    for key in of_kind["set"].unique():
        for level in range(LEVELS):
            asked = of_kind[(of_kind["set"] == key) & (of_kind["level"] == level)]
            by_norm = {norm: asked[asked["norm"] == norm] for norm in NORMS}
            told = _PAPER[kind][key][level] if key in _PAPER[kind] else None
            line: dict[str, object] = {
                "set": asked["title"].iloc[0],
                "frozen %": float(asked["frozen"].iloc[0]),
                "paper frozen %": getattr(told, "percent", None),
                "instances": len(by_norm["l2"]),
            }
            for norm, part in by_norm.items():
                line |= {
                    f"{norm} ms": part["ms"].mean(),
                    f"paper {norm} ms": getattr(told, f"{norm}_ms", None),
                    f"{norm}": _spread(part["cost"]),
                    f"{norm} median": part["cost"].median(),
                    f"paper {norm}": getattr(told, norm, ""),
                }
            line["feasible %"] = 100.0 * by_norm["l2"]["cost"].notna().mean()
            for name in ("nearest", "tweaking") if kind == AXIS else ("nearest",):
                line |= _baseline(by_norm["l2"], name, told if name == _OTHER[kind] else None)
            for norm, part in by_norm.items():
                line |= {
                    f"referee {norm}": part["referee"].iloc[0],
                    f"referee {norm} ms": _mean(part, "optimum_ms"),
                    f"{norm} off by": _largest_gap(part),
                }
            lines.append(line)
    return pd.DataFrame(lines)


def _baseline(part: pd.DataFrame, name: str, told: paper.Line | None) -> dict[str, object]:
    out: dict[str, object] = {
        f"{name} ms": _mean(part, f"{name}_ms"),
        f"{name} l2": _spread(part[f"{name}_cost"]),
        f"{name} feasible %": 100.0 * part[f"{name}_cost"].notna().mean() if part[f"{name}_ms"].notna().any() else math.nan,
        f"{name} over ours": (part[f"{name}_cost"] / part["cost"]).median(),
    }
    if told is not None:
        out |= {
            f"paper {name} ms": told.other_ms,
            f"paper {name} l2": told.other,
            f"paper {name} feasible %": told.feasible,
        }
    return out


def _mean(part: pd.DataFrame, column: str) -> float:
    return float(part[column].mean()) if column in part and part[column].notna().any() else math.nan


def _spread(costs: pd.Series) -> str:
    """Mean ± deviation, as the paper prints them."""
    found = costs.dropna()
    if not len(found):
        return ""
    mean, deviation = float(found.mean()), float(found.std(ddof=0))
    return f"{short(mean)}±{short(deviation if deviation > 1e-9 * abs(mean) else 0.0)}"  # equal but for rounding


def short(value: float) -> str:
    """Three digits, with a power of ten where there would be many noughts."""
    return f"{value:.3g}" if value == 0 or 1e-3 <= value < 1e3 else f"{value:.1e}".replace("e+0", "e").replace("e-0", "e-")


def _gaps(part: pd.DataFrame) -> pd.Series:
    """How far our cost is from the independent optimum, relative to it."""
    known = part[part["optimum"].notna()] if "optimum" in part else part.iloc[:0]
    if not len(known):
        return pd.Series(dtype=float)
    ours, other = known["cost"].fillna(np.inf), known["optimum"]
    gaps = (ours - other).abs() / other.abs().clip(lower=1e-300)
    gaps[np.isinf(ours) ^ np.isinf(other)] = np.inf
    return gaps.fillna(0.0)  # both say that there is no such row


def _largest_gap(part: pd.DataFrame) -> float:
    gaps = _gaps(part)
    return float(gaps.max()) if len(gaps) else math.nan


_CHECKS = {
    "proved": "The answer is proved cheapest: its certificate, checked without the search, holds",
    "tree_agrees": "The tree says the target for the very row answered",
    "model_agrees": "So does the estimator's own predict (scikit-learn's for CART; TAOClassifier's, which holds the same tree)",
    "constraints_hold": "Bounds hold and frozen features keep their value bit for bit",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, on how many cases it was tried, and in how many it did not hold."""

    claim: str
    cases: int
    failed: int
    note: str = ""
    of_speed: bool = False  # a busy machine can make it fail, and nothing is wrong then

    @property
    def holds(self) -> bool:
        return self.failed == 0


def verdicts(
    instances: pd.DataFrame,
    drawn: pd.DataFrame,
    lines: dict[str, pd.DataFrame],
    digits: pd.DataFrame | None = None,
    person: pd.DataFrame | None = None,
) -> list[Verdict]:
    """What the run shows, counted."""
    yes = instances[list(_CHECKS)].eq(True)  # an instance without an answer has gaps here
    out = [_all(claim, yes[name]) for name, claim in _CHECKS.items()]
    passed, unproved = int(drawn["passed"].sum()), int(drawn["unproved"].sum())
    out.append(Verdict("Where a pair of row and target was passed over as impossible, that is proved", passed, unproved))
    for name, told in (("nearest", "the nearest row of the data"), ("tweaking", "Feature Tweaking")):
        both = instances[instances[f"{name}_cost"].notna()]
        out.append(_all(f"Our cost is at most that of {told}, where that is valid", both["cost"] <= both[f"{name}_cost"]))
    axis, oblique = instances[instances["tree"] == AXIS], instances[instances["tree"] == OBLIQUE]
    for part, told in (
        (axis, "Axis-aligned: the cost is brute force's"),
        (oblique, "Oblique: the cost is the solver's, leaf by leaf"),
    ):
        gaps = _gaps(part)
        note = f"largest difference {gaps.max():.1g}" if len(gaps) else ""
        if len(gaps) < len(part):
            note += f"; {len(part) - len(gaps):,} more had no solver"
        out.append(Verdict(f"{told}, to {AGREE:g} relative", len(gaps), int((gaps > AGREE).sum()), note.removeprefix("; ")))
    if digits is not None:
        agreed = digits[["tree_agrees", "model_agrees"]].eq(True).all(axis=1) | digits["cost"].isna()
        claim = "Digits: every answer, or that there is none, is proved; tree and estimator confirm"
        out.append(_all(claim, digits["proved"].eq(True) & agreed))
    if person is not None:
        words = person.set_index("feature").loc[["proved", "confirmed by the tree"], ["x1", "x2", "x3"]]
        said = pd.Series(words.to_numpy().ravel())
        out.append(_all("Table 1: every answer is proved, and confirmed by the tree", said == "yes"))
    out.append(_faster(lines))
    return out


def _all(claim: str, good: pd.Series) -> Verdict:
    return Verdict(claim, len(good), int((~good).sum()))


def _faster(lines: dict[str, pd.DataFrame]) -> Verdict:
    """Cells of the paper's time columns, above 0 ms, that ours beat."""
    cells = [
        (ours, theirs)
        for table in lines.values()
        for norm in NORMS
        for ours, theirs in zip(table[f"{norm} ms"], table[f"paper {norm} ms"], strict=True)
        if theirs is not None and theirs > 0
    ]
    least = min((theirs / ours for ours, theirs in cells), default=math.nan)
    slower = sum(ours >= theirs for ours, theirs in cells)
    claim = "Our mean time, on this machine, is below the paper's wherever that prints more than 0 ms"
    return Verdict(claim, len(cells), slower, f"at least {least:.2g} times" if cells else "", of_speed=True)
