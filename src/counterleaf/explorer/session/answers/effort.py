"""The effort of a change in words and as a share: of the usual range of a number, or as other choices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

import counterleaf as cl
from counterleaf.explorer.session.scene import encode_value
from counterleaf.explorer.session.words import filled_text, percent, series
from counterleaf.table.features import is_missing
from counterleaf.types import Array

_SMALL, _MODERATE = 0.05, 0.25  # of the usual range


class Kind(StrEnum):
    """What kind of move a change is."""

    RANGE = "range"  # of a number, as a share of its usual range
    NUMBER = "number"  # of a number without a usual range
    LEVEL = "level"  # of an ordinal feature
    CHOICE = "choice"  # another category
    FILLED = "filled"  # a missing value that does not count as a number
    REMOVED = "removed"  # a value that becomes missing


@dataclass(frozen=True, slots=True)
class Move:
    """How far one feature moves."""

    kind: Kind
    share: float | None  # of the usual range or of the levels; None if there is none: it counts as 1
    direction: int  # 1 up, -1 down, 0 for a change without a direction
    text: str


def measure_move(explainer: cl.Explainer, d: int, before: Any, after: Any) -> Move:
    """Measure the move of feature ``d`` between two values."""
    feature = explainer.schema.features[d]
    if is_missing(after):
        return Move(Kind.REMOVED, None, 0, "left out")
    codes = (math.nan if (code := encode_value(feature, value)) is None else code for value in (before, after))
    old, new = (np.array([code]) for code in codes)
    share: float | None = float(measure_shares(explainer, d, old, new)[0])
    share = None if math.isnan(share or 0.0) else share
    if isinstance(feature, cl.Numeric):
        fill = explainer.schema.fills.get(feature.name) if is_missing(before) else None
        if is_missing(before) and fill is None:
            return Move(Kind.FILLED, None, 0, "filled in")
        return _numeric_move(feature, share, float(after), fill if fill is not None else float(before), fill is not None)
    if is_missing(before):
        return Move(Kind.FILLED, None, 0, "filled in")
    if isinstance(feature, cl.Ordinal):
        steps = int(new[0] - old[0])
        levels = f"{abs(steps)} level{'s' * (abs(steps) != 1)} {'up' if steps > 0 else 'down'}"
        return Move(Kind.LEVEL, share, 1 if steps > 0 else -1, levels)
    return Move(Kind.CHOICE, None, 0, "another choice")


def _numeric_move(feature: cl.Numeric, share: float | None, after: float, before: float, filled: bool) -> Move:
    """The move of a number; ``filled`` if it replaces a missing value that counts as ``before``."""
    direction = (after > before) - (after < before)
    kind = Kind.NUMBER if share is None else Kind.RANGE
    size = "" if share is None else f"{percent(share)} of the usual range"
    if not filled:
        return Move(kind, share, direction, size or ("more" if direction > 0 else "less"))
    counted = filled_text(feature, before)
    where = "above" if direction > 0 else "below"
    text = f"{size} {where} {counted}".strip() if direction else f"as {counted}"
    return Move(kind, share, direction, f"filled in, {text}")


def moves_of(explainer: cl.Explainer, c: cl.Counterfactual) -> list[Move]:
    """The moves of an option, in the order of its changes."""
    return [measure_move(explainer, explainer.schema.index(name), *ends) for name, ends in c.changes.items()]


def measure_shares(explainer: cl.Explainer, d: int, old: Array, new: Array) -> Array:
    """How far feature ``d`` moves between encoded values, as shares of its usual range or of its levels.

    A missing number moves from the value that it counts as. NaN is another choice, a number that is filled in or left out, or
    one without a usual range: each of them counts as 1 in an effort.
    """
    feature = explainer.schema.features[d]
    if isinstance(feature, cl.Ordinal):
        gaps = (old >= len(feature.values)) | (new >= len(feature.values))
        return np.where(gaps, np.nan, np.abs(new - old) / max(len(feature.values) - 1, 1))
    usual = usual_range(explainer, d) if isinstance(feature, cl.Numeric) else None
    if usual is None:
        return np.full(len(old), np.nan)
    fill = explainer.schema.fills.get(feature.name, np.nan)
    return np.asarray(np.abs(new - np.where(np.isnan(old), fill, old)) / usual)


def usual_range(explainer: cl.Explainer, d: int) -> float | None:
    """The width of the usual values of a number: the middle 98 % of the data, or the bounds; None if neither is known."""
    feature = explainer.schema.features[d]
    if explainer.spreads is not None:
        width = float(explainer.spreads.range[d])
    else:
        width = feature.upper - feature.lower if isinstance(feature, cl.Numeric) else math.inf
    return width if 0.0 < width < math.inf else None


def total_effort(moves: Sequence[Move]) -> float:
    """The sum of the shares, and 1 for each move without a share."""
    return sum(1.0 if move.share is None else move.share for move in moves)


def describe_effort(moves: Sequence[Move], cost: str) -> dict[str, Any]:
    """The effort of one option.

    ``total`` is a sum of shares, ``share`` the part of the bar, which is full at 1. ``words`` consists of ``size``, which is
    None if something other than numbers changes, and ``short``.
    """
    total = total_effort(moves)
    size = None
    if moves and all(move.kind is Kind.RANGE for move in moves):
        size = "small" if total <= _SMALL else "moderate" if total <= _MODERATE else "large"
    short = series(_effort_parts(moves)) if moves else "nothing has to change"
    return {
        "share": round(min(total, 1.0), 4),
        "total": round(total, 6),
        "words": short if size is None else f"{size}: {short}",
        "size": size,
        "short": short,
        "cost": cost,
    }


def _effort_parts(moves: Sequence[Move]) -> list[str]:
    counts = Counter(move.kind for move in moves)

    def counted(kind: Kind, what: str, after: str = "") -> list[str]:
        return [f"{counts[kind]} {what}{'s' * (counts[kind] > 1)}{after}"] if counts[kind] else []

    levels = [move.text for move in moves if move.kind is Kind.LEVEL]
    ranges = [move.share or 0.0 for move in moves if move.kind is Kind.RANGE]
    return [
        *counted(Kind.CHOICE, "other choice"),
        *([f"{len(levels)} changes of level"] if len(levels) > 1 else levels),
        *([f"{percent(sum(ranges))} of the usual range{'s in total' * (len(ranges) > 1)}"] if ranges else []),
        *counted(Kind.NUMBER, "number", " changed"),
        *counted(Kind.FILLED, "missing value", " filled in"),
        *counted(Kind.REMOVED, "value", " left out"),
    ]
