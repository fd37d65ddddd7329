"""Regions of whole numbers that divisibility leaves without a row."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from counterleaf.exact import ROUNDING, combined
from counterleaf.proof.bound import Region
from counterleaf.question.discrete import at_or_below
from counterleaf.types import Array


def is_off_lattice(region: Region, lam: Array, over: float, wide: bool) -> bool:
    """Whether lam / over makes equalities into one over whole numbers whose constant is no whole number.

    Everything in it that can move must come in whole steps, and be multiplied by a whole number, or nearly so.
    """
    table = region.problem.table
    if table is None or not over > 0 or any(a and not face.equal for a, face in zip(lam.tolist(), region.faces, strict=True)):
        return False
    y = [Fraction(a) / Fraction(over) for a in lam.tolist()]
    price = combined(y, [face.whole for face in region.faces], len(region.lower))
    rest = [(a, face) for a, face in zip(y, region.faces, strict=True) if a]
    constant = sum((a * Fraction(c) for a, face in rest for c in face.constants), Fraction())
    slack = sum((abs(a) * Fraction(room) for a, room in zip(y, region.room(wide), strict=True)), Fraction())
    for d, p in enumerate(price):
        if not p or table.group[d] >= 0:
            continue
        if region.lower[d] == region.upper[d]:
            constant += p * Fraction(float(region.lower[d]))
            continue
        off = _off(region, d, p)
        if off is None:
            return False
        slack += off
    for _, _, _, left in region.groups():
        apart = [price[v] - price[left[0]] for v in left]
        constant += price[left[0]]
        slack += max(abs(one - round(one)) for one in apart)
    return abs(constant - round(constant)) > slack


def _off(region: Region, d: int, price: Fraction) -> Fraction | None:
    """How far a price times a number on a grid may be from a whole number; None if there is no such grid."""
    table, low, high = region.problem.table, float(region.lower[d]), float(region.upper[d])
    assert table is not None
    step, own = table.step[:, [d]], region.problem.source[[d]]
    if not step[0, 0] or (low <= own[0] <= high and at_or_below(step, np.array([-np.inf]), own)[0] != own[0]):
        return None
    unit = Fraction(float(step[0, 0])) / Fraction(float(step[1, 0]))
    off, far = abs(price * unit - round(price * unit)), max(abs(low), abs(high))
    whole = unit.denominator == 1  # else numbers on the grid are floats close to it
    if math.isinf(far):
        return Fraction() if whole and not off else None
    return (off / unit + (0 if whole else abs(price) * Fraction(2 * ROUNDING))) * Fraction(far)
