"""Pictures of the page: bars of shares, and curves of the share that reaches the target over the cost as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from counterleaf.audit.measures.group import Group
from counterleaf.audit.page.html import clean
from counterleaf.audit.page.words import as_number, percent
from counterleaf.plot.audits import curve

KINDS = (
    ("has", "already has the target"),
    ("can", "can reach it"),
    ("cannot", "provably cannot"),
    ("open", "open: not known"),
    ("invalid", "could not be explained"),
)
_DASHES = ("", "9 5", "2 4", "12 4 2 4")
_WIDTH, _POINTS = 480, 240
_LEAST = 0.12  # the share from which a bar has its percentage on it


def bars(groups: Sequence[Group]) -> str:
    """Return a picture of what became of the rows of each group, with a key and a text in place of it."""
    used = [kind for kind in KINDS if any(getattr(group, kind[0]) for group in groups)]
    parts = []
    for group in groups:
        shares = [(key, getattr(group, key) / group.rows) for key, _ in used]
        pieces = "".join(
            f'<span class="{key}" style="width:{100 * share:.3f}%">'
            + (f"<strong>{clean(percent(share, 0))}</strong></span>" if share >= _LEAST else "</span>")
            for key, share in shares
            if share
        )
        rows = f"{group.rows:,} {'row' if group.rows == 1 else 'rows'}"
        parts.append(f'<div>{clean(group.label)} ({rows})</div><div class="bar">{pieces}</div>')
    said = "; ".join(
        f"{group.label}: " + ", ".join(f"{percent(getattr(group, key) / group.rows)} {text}" for key, text in used)
        for group in groups
    )
    key = "".join(f'<li><span class="{kind}"></span>{text}</li>' for kind, text in used)
    picture = f'<div role="img" aria-label="{clean(f"Shares of the rows. {said}")}">{"".join(parts)}</div>'
    return f'<figure>{picture}<ul class="key">{key}</ul></figure>'


def curves(groups: Sequence[Group], whole: Group) -> str:
    """Return a picture of the share of the rows without the target that reach it, over the cost; empty if nobody does.

    The axis ends at the cost that covers 95 % of all rows with a change.
    """
    drawn = [(k, group) for k, group in enumerate(groups) if group.affected]
    costs = [float(end) for _, group in drawn if group.can for end in (group.costs[0], group.costs[-1])]
    if not costs:
        return ""
    cut = max(whole.quantile(0.95), min(costs))
    caption = "Of the rows without the target, the share that reaches it at a cost of at most the value on the axis."
    if max(costs) > cut:
        caption += (
            f" The axis ends at the cost that covers 95 % of the rows with a change; the largest is {as_number(max(costs))}."
        )
    left, right, top, bottom, height = 58, _WIDTH - 10, 26, 204, 248
    low, high = min(0.0, *costs), max(0.0, min(cut, max(costs)))
    high = high if high > low else low + 1.0
    parts = []
    largest = max(group.within(high) for _, group in drawn) or 1.0
    most = next(end for end in (0.04, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0) if largest <= end)
    for share in (0, most / 4, most / 2, most * 3 / 4, most):
        y = bottom - share / most * (bottom - top)
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 5:.1f}" text-anchor="end">{100 * share:.4g} %</text>')
    for tick in ticks(low, high):
        x = left + (tick - low) / (high - low) * (right - left)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}"/>')
        anchor = "end" if x > right - 20 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="{anchor}">{as_number(tick)}</text>')
    parts.append(f'<line class="axis" x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}"/>')
    parts.append(f'<text x="{(left + right) / 2}" y="{bottom + 40}" text-anchor="middle">cost</text>')
    parts.append('<text x="0" y="12">share that reaches the target</text>')
    for k, group in drawn:
        xs, ys = curve(group, high, low, _POINTS)
        steps, before = [], None
        for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
            across, down = left + (x - low) / (high - low) * (right - left), bottom - y / most * (bottom - top)
            steps.append(f"M{across:.1f},{down:.1f}" if before is None else f"H{across:.1f}V{down:.1f}")
            before = y
        parts.append(f'<path class="curve" style="{_stroke(k)}" d="{"".join(steps)}"/>')
    said = "; ".join(f"{group.label}: {_curve_words(group)}" for _, group in drawn)
    key = "".join(
        f'<li><svg viewBox="0 0 36 14" aria-hidden="true"><path class="curve" style="{_stroke(k)}" d="M0,7H36"/></svg>'
        f"{escape(group.label)}</li>"
        for k, group in drawn
    )
    title = "Share that reaches the target over the cost"
    picture = (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(f"{title}. {said}")}">'
        f"<title>{escape(title)}</title><desc>{escape(said)}</desc>{''.join(parts)}</svg>"
    )
    return f'<figure>{picture}<ul class="key">{key}</ul><figcaption>{caption}</figcaption></figure>'


def _curve_words(group: Group) -> str:
    reached = percent(group.can / group.affected)
    if not group.can:
        return "nobody reaches the target"
    quarter, half = as_number(group.quantile(0.25)), as_number(group.quantile(0.5))
    return f"{reached} reach it, a quarter of these within {quarter}, half within {half}"


def _stroke(k: int) -> str:
    dash = _DASHES[(k + k // 8) % len(_DASHES)]
    return f"stroke:var(--c{k % 8})" + (f";stroke-dasharray:{dash}" if dash else "")


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two ends, both included where they are round."""
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]
