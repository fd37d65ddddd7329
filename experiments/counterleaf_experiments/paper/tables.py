"""The paper's tables 1, 2, 3 and 6 with our numbers next to the paper's, and the verdicts on the whole run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from counterleaf.datasets import load_adult
from counterleaf.explainer import Explainer
from counterleaf.model.tree import Tree
from counterleaf.question.constraints.bounds import freeze
from counterleaf.question.costs.terms import L2
from counterleaf_experiments.paper import published
from counterleaf_experiments.paper.data import PaperData
from counterleaf_experiments.paper.instances import LEVELS, NORMS
from counterleaf_experiments.paper.trees import AXIS, OBLIQUE, THREADS, LearnedTree

AGREE = 1e-7  # relative; the tolerances of the solver are 1e-9
_PUBLISHED = {OBLIQUE: published.OBLIQUE, AXIS: published.AXIS}
_PAPER_BASELINE = {OBLIQUE: "nearest", AXIS: "tweaking"}
_MODELS = {"cart": AXIS, "tao": OBLIQUE}


def person_table(tree: Tree) -> pd.DataFrame:
    """Table 1: one person of the Adult data, explained three times with an oblique tree under more and more constraints.

    A line per feature has the source, our three answers and the paper's: "=" if a feature does not change, "locked" if it must
    not. Ages, gains and hours are whole numbers.
    """
    explainer = Explainer(tree, schema=load_adult().schema)
    answers = [
        explainer.explain(published.PERSON, target=">50K", cost=L2(), constraints=[freeze(*locks)] if locks else [])
        for locks in published.PERSON_LOCKS
    ]
    lines: list[dict[str, Any]] = []
    for name, value in published.PERSON.items():
        line: dict[str, Any] = {"feature": name, "source": value}
        for k, answer in enumerate(answers):
            line[f"x{k + 1}"] = _person_cell(name, k, answer[0].changes.get(name, (value, "="))[1] if len(answer) else "")
        for k, changes in enumerate(published.PERSON_ANSWERS):
            line[f"paper x{k + 1}"] = _person_cell(name, k, changes.get(name, "="))
        lines.append(line)
    for title, cell in (
        ("income", lambda answer: answer[0].label),
        ("cost (l2)", lambda answer: f"{answer[0].cost:.6g}"),
        ("proved", lambda answer: "yes" if answer.certificate.check() else "NO"),
        ("confirmed by the tree", lambda answer: "yes" if answer[0].confirmed else "NO"),
    ):
        line = {"feature": title, "source": answers[0].source_label if title == "income" else ""}
        line |= {f"x{k + 1}": cell(answer) if len(answer) else "none" for k, answer in enumerate(answers)}
        line |= {f"paper x{k + 1}": ">50K" if title == "income" else "" for k in range(len(published.PERSON_ANSWERS))}
        lines.append(line)
    return pd.DataFrame(lines)


def _person_cell(name: str, level: int, value: Any) -> str:
    """The new value of a feature, or "locked" if a constraint fixes it."""
    return "locked" if value == "=" and name in published.PERSON_LOCKS[level] else str(value)


def comparison_table(instances: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Table 2 or 3, a line per data set and level of constraints."""
    lines = []
    of_kind = instances[instances["tree"] == kind]
    for key in of_kind["set"].unique():
        for level in range(LEVELS):
            of_level = of_kind[(of_kind["set"] == key) & (of_kind["level"] == level)]
            by_norm = {norm: of_level[of_level["norm"] == norm] for norm in NORMS}
            paper = _PUBLISHED[kind][key][level] if key in _PUBLISHED[kind] else None
            line: dict[str, object] = {
                "set": of_level["title"].iloc[0],
                "frozen %": float(of_level["frozen"].iloc[0]),
                "paper frozen %": getattr(paper, "percent", None),
                "instances": len(by_norm["l2"]),
            }
            for norm, part in by_norm.items():
                line |= {
                    f"{norm} ms": part["ms"].mean(),
                    f"paper {norm} ms": getattr(paper, f"{norm}_ms", None),
                    f"{norm}": _spread(part["cost"]),
                    f"{norm} median": part["cost"].median(),
                    f"paper {norm}": getattr(paper, norm, ""),
                }
            line["feasible %"] = 100.0 * by_norm["l2"]["cost"].notna().mean()
            for name in ("nearest", "tweaking") if kind == AXIS else ("nearest",):
                line |= _baseline(by_norm["l2"], name, paper if name == _PAPER_BASELINE[kind] else None)
            for norm, part in by_norm.items():
                line |= {
                    f"referee {norm}": part["referee"].iloc[0],
                    f"referee {norm} ms": _mean(part, "optimum_ms"),
                    f"{norm} off by": _largest_gap(part),
                }
            lines.append(line)
    return pd.DataFrame(lines)


def _baseline(part: pd.DataFrame, name: str, paper: published.ComparisonRow | None) -> dict[str, object]:
    """The cells of a baseline, and of the paper's baseline if it is the same."""
    out: dict[str, object] = {
        f"{name} ms": _mean(part, f"{name}_ms"),
        f"{name} l2": _spread(part[f"{name}_cost"]),
        f"{name} feasible %": 100.0 * part[f"{name}_cost"].notna().mean() if part[f"{name}_ms"].notna().any() else math.nan,
        f"{name} over ours": (part[f"{name}_cost"] / part["cost"]).median(),
    }
    if paper is not None:
        out |= {
            f"paper {name} ms": paper.other_ms,
            f"paper {name} l2": paper.other,
            f"paper {name} feasible %": paper.feasible,
        }
    return out


def measure_errors(data: PaperData, learned: dict[str, LearnedTree], seed: int) -> pd.DataFrame:
    """Errors of CART, TAO and a random forest on one split, a line per model."""
    lines: list[dict[str, Any]] = []
    for name, kind in _MODELS.items():
        train, test = learned[kind].errors(data)
        tree = learned[kind].tree
        lines.append({"model": name, "train": train, "test": test, "depth": tree.depth, "leaves": len(tree.leaves)})
    train, test = _forest_errors(data, seed)
    lines.append({"model": "forest", "train": train, "test": test, "depth": None, "leaves": None})
    return pd.DataFrame([{"set": data.key, "title": data.title, "split": seed, **line} for line in lines])


def _forest_errors(data: PaperData, seed: int) -> tuple[float, float]:
    """Training and test error in % of a random forest with scikit-learn's defaults, as in the paper."""
    model = RandomForestClassifier(random_state=seed, n_jobs=THREADS).fit(data.X[data.train], data.y[data.train])
    train, test = (100.0 * (1.0 - model.score(data.X[k], data.y[k])) for k in (data.train, data.test))
    return float(train), float(test)


def error_table(measured: pd.DataFrame) -> pd.DataFrame:
    """Table 6, a line per set: errors on the split of the other tables, on all splits if there are several, and the paper's."""
    lines = []
    for key, of_set in measured.groupby("set", sort=False):
        line: dict[str, Any] = {"set": of_set["title"].iloc[0], "splits": of_set["split"].nunique()}
        for name, of_model in of_set.groupby("model", sort=False):
            paper = published.ERRORS[str(key)][str(name)] if key in published.ERRORS else None
            first = of_model.iloc[0]
            for part in ("train", "test"):
                line |= {f"{name} {part}": first[part], f"paper {name} {part}": getattr(paper, part, None)}
            if len(of_model) > 1:
                line[f"{name} test, all splits"] = f"{of_model['test'].mean():.1f}±{of_model['test'].std(ddof=0):.1f}"
            if name != "forest":
                line |= {f"{name} depth": int(first["depth"]), f"paper {name} depth": getattr(paper, "depth", None)}
                line[f"{name} leaves"] = int(first["leaves"])
        lines.append(line)
    return pd.DataFrame(lines)


def _mean(part: pd.DataFrame, column: str) -> float:
    """The mean of a column; NaN if it has no values."""
    return float(part[column].mean()) if column in part and part[column].notna().any() else math.nan


def _spread(costs: pd.Series) -> str:
    """Mean ± deviation, as printed in the paper."""
    found = costs.dropna()
    if not len(found):
        return ""
    mean, deviation = float(found.mean()), float(found.std(ddof=0))
    return f"{short(mean)}±{short(deviation if deviation > 1e-9 * abs(mean) else 0.0)}"  # equal up to rounding


def short(value: float) -> str:
    """Three digits, with a power of ten instead of many zeros."""
    return f"{value:.3g}" if value == 0 or 1e-3 <= value < 1e3 else f"{value:.1e}".replace("e+0", "e").replace("e-0", "e-")


def _gaps(part: pd.DataFrame) -> pd.Series:
    """The relative difference between our cost and the independent optimum."""
    known = part[part["optimum"].notna()] if "optimum" in part else part.iloc[:0]
    if not len(known):
        return pd.Series(dtype=float)
    ours, other = known["cost"].fillna(np.inf), known["optimum"]
    gaps = (ours - other).abs() / other.abs().clip(lower=1e-300)
    gaps[np.isinf(ours) ^ np.isinf(other)] = np.inf
    return gaps.fillna(0.0)  # both find that there is no such row


def _largest_gap(part: pd.DataFrame) -> float:
    """The largest difference; NaN if there is no independent optimum."""
    gaps = _gaps(part)
    return float(gaps.max()) if len(gaps) else math.nan


_CHECKS = {
    "proved": "The answer is proved cheapest: its certificate passes a check that is independent of the search",
    "tree_agrees": "The tree predicts the target for exactly the row that was answered",
    "model_agrees": "So does the predict method of the estimator (scikit-learn's for CART, TAOClassifier's for TAO)",
    "constraints_hold": "The answer is within the bounds, and frozen features keep their value bit for bit",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, the number of cases in which it was tested, and the number in which it failed."""

    claim: str
    cases: int
    failed: int
    note: str = ""
    of_speed: bool = False  # the claim may fail on a busy machine, which is not an error

    @property
    def holds(self) -> bool:
        """Whether no case failed."""
        return self.failed == 0


def verdicts(
    instances: pd.DataFrame,
    drawn: pd.DataFrame,
    lines: dict[str, pd.DataFrame],
    digits: pd.DataFrame | None = None,
    person: pd.DataFrame | None = None,
) -> list[Verdict]:
    """Test every claim on all instances of the run."""
    passes = instances[list(_CHECKS)].eq(True)  # an instance without an answer has missing values here
    out = [_all(claim, passes[name]) for name, claim in _CHECKS.items()]
    skipped, unproved = int(drawn["passed"].sum()), int(drawn["unproved"].sum())
    out.append(Verdict("Every pair of row and target that was skipped as infeasible is proved infeasible", skipped, unproved))
    for name, method in (("nearest", "the nearest row of the data"), ("tweaking", "Feature Tweaking")):
        both = instances[instances[f"{name}_cost"].notna()]
        out.append(
            _all(
                f"Our cost is at most that of {method}, if that method has a valid answer", both["cost"] <= both[f"{name}_cost"]
            )
        )
    axis, oblique = instances[instances["tree"] == AXIS], instances[instances["tree"] == OBLIQUE]
    for part, claim in (
        (axis, "Axis-aligned: our cost is the optimum of brute force"),
        (oblique, "Oblique: our cost is the optimum of a solver, leaf by leaf"),
    ):
        gaps = _gaps(part)
        note = f"largest difference {gaps.max():.1g}" if len(gaps) else ""
        if len(gaps) < len(part):
            note += f"; {len(part) - len(gaps):,} more had no solver"
        out.append(Verdict(f"{claim}, to {AGREE:g} relative", len(gaps), int((gaps > AGREE).sum()), note.removeprefix("; ")))
    if digits is not None:
        agreed = digits[["tree_agrees", "model_agrees"]].eq(True).all(axis=1) | digits["cost"].isna()
        claim = "Digits: every answer, or its absence, is proved; tree and estimator confirm it"
        out.append(_all(claim, digits["proved"].eq(True) & agreed))
    if person is not None:
        cells = person.set_index("feature").loc[["proved", "confirmed by the tree"], ["x1", "x2", "x3"]]
        good = pd.Series(cells.to_numpy().ravel()) == "yes"
        out.append(_all("Table 1: every answer is proved, and confirmed by the tree", good))
    out.append(_faster(lines))
    return out


def _all(claim: str, passes: pd.Series) -> Verdict:
    """The verdict on a claim about every case."""
    return Verdict(claim, len(passes), int((~passes).sum()))


def _faster(lines: dict[str, pd.DataFrame]) -> Verdict:
    """Compare our times with the cells of the paper's time columns above 0 ms."""
    cells = [
        (ours, theirs)
        for table in lines.values()
        for norm in NORMS
        for ours, theirs in zip(table[f"{norm} ms"], table[f"paper {norm} ms"], strict=True)
        if theirs is not None and theirs > 0
    ]
    least = min((theirs / ours for ours, theirs in cells), default=math.nan)
    slower = sum(ours >= theirs for ours, theirs in cells)
    claim = "Our mean time, on this machine, is below the paper's wherever the paper prints more than 0 ms"
    return Verdict(claim, len(cells), slower, f"at least {least:.2g} times" if cells else "", of_speed=True)
