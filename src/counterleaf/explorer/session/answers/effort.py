"""The effort of a change in words and as a share: of the usual range of a number, or as other choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterleaf.explainer import Explainer
from counterleaf.explorer.session.words import percent, series, value_text
from counterleaf.table.features import Feature, Numeric, Ordinal, is_missing

_SMALL, _MODERATE = 0.05, 0.25  # of the usual range
FILLED, REMOVED, OTHER, MORE, LESS = "filled in", "left out", "another choice", "more", "less"


@dataclass(frozen=True, slots=True)
class Move:
    """How far one feature moves."""

    share: float | None  # of the usual range; None for another choice and for a gap that is filled in
    direction: int  # 1 up, -1 down, 0 for a change without a direction
    text: str


def measure_move(explainer: Explainer, d: int, before: Any, after: Any) -> Move:
    """Measure the move of feature ``d`` between two values."""
    feature = explainer.schema.features[d]
    if is_missing(after):
        return Move(None, 0, REMOVED)
    if is_missing(before):
        fill = explainer.schema.fills.get(feature.name)
        if fill is None or not isinstance(feature, Numeric):
            return Move(None, 0, FILLED)
        move = _numeric_move(float(after) - fill, usual_range(explainer, d))
        return Move(move.share, move.direction, f"{FILLED}, {move.text} away from {value_text(feature, fill)}")
    if isinstance(feature, Numeric):
        step = float(after) - float(before)
        return _numeric_move(step, usual_range(explainer, d))
    if isinstance(feature, Ordinal):
        steps = feature.place(after) - feature.place(before)
        levels = f"{abs(steps)} level{'s' * (abs(steps) != 1)} {'up' if steps > 0 else 'down'}"
        return Move(abs(steps) / max(len(feature.values) - 1, 1), 1 if steps > 0 else -1, levels)
    return Move(None, 0, OTHER)


def _numeric_move(step: float, usual: float | None) -> Move:
    direction = (step > 0) - (step < 0)
    if usual is None:
        return Move(None, direction, MORE if direction > 0 else LESS)
    share = abs(step) / usual
    return Move(share, direction, f"{percent(share)} of the usual range")


def usual_range(explainer: Explainer, d: int) -> float | None:
    """The width of the usual values of a number: the middle 98 % of the data, or the bounds; None if neither is known."""
    feature = explainer.schema.features[d]
    if explainer.spreads is not None:
        width = float(explainer.spreads.range[d])
    else:
        width = feature.upper - feature.lower if isinstance(feature, Numeric) else math.inf
    return width if 0.0 < width < math.inf else None


def describe_effort(features: Sequence[Feature], moves: Sequence[Move], cost: str) -> dict[str, Any]:
    """The effort of one way: ``total`` adds up the shares, and 1 for each other choice; ``share`` maps it to a bar."""
    total = sum(1.0 if move.share is None else move.share for move in moves)
    return {
        "share": round(total / (1.0 + total), 4),
        "total": round(total, 6),
        "words": effort_words(features, moves),
        "cost": cost,
    }


def effort_words(features: Sequence[Feature], moves: Sequence[Move]) -> str:
    """The effort of some moves in words, such as "small: 2.6 % of the usual range" or "1 other choice"."""
    if not moves:
        return "nothing has to change"
    ranges = [m.share for f, m in zip(features, moves, strict=True) if isinstance(f, Numeric) and m.share is not None]
    levels = [m for f, m in zip(features, moves, strict=True) if isinstance(f, Ordinal) and m.share is not None]
    filled = sum(m.text == FILLED for m in moves)
    removed = sum(m.text == REMOVED for m in moves)
    choices = sum(m.text == OTHER for m in moves)
    unscaled = sum(m.text in (MORE, LESS) for m in moves)
    parts = []
    if choices:
        parts.append(f"{choices} other choice{'s' * (choices > 1)}")
    if len(levels) == 1:
        parts.append(levels[0].text)
    elif levels:
        parts.append(f"{len(levels)} changes of level")
    if ranges:
        where = "the usual range" if len(ranges) == 1 else "the usual ranges in total"
        parts.append(f"{percent(sum(ranges))} of {where}")
    if unscaled:
        parts.append(f"{unscaled} number{'s' * (unscaled > 1)} changed")
    if filled:
        parts.append(f"{filled} gap{'s' * (filled > 1)} filled in")
    if removed:
        parts.append(f"{removed} value{'s' * (removed > 1)} left out")
    return f"{_size(sum(ranges))}: {parts[0]}" if len(ranges) == len(moves) else series(parts)


def _size(total: float) -> str:
    return "small" if total <= _SMALL else "moderate" if total <= _MODERATE else "large"
