"""Regions of whole numbers that hold no row because of divisibility."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from counterleaf.exact import ROUNDING, combined
from counterleaf.proof.bound import Region
from counterleaf.types import Array


def is_off_lattice(region: Region, lam: Array, divisor: float, wide: bool) -> bool:
    """Whether lam / divisor combines equalities into one over whole numbers whose constant is not a whole number.

    Every variable in it that can move must move in whole steps and have a coefficient that is a whole number, or nearly so.
    """
    table = region.problem.table
    inequality = any(a and not face.equal for a, face in zip(lam.tolist(), region.faces, strict=True))
    if table is None or not divisor > 0 or inequality:
        return False
    y = [Fraction(a) / Fraction(divisor) for a in lam.tolist()]
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
    for group in region.groups():
        left = group.left
        apart = [price[v] - price[left[0]] for v in left]
        constant += price[left[0]]
        slack += max(abs(one - round(one)) for one in apart)
    return abs(constant - round(constant)) > slack


def _off(region: Region, d: int, price: Fraction) -> Fraction | None:
    """How far a price times a number on a grid may be from a whole number; None if there is no such grid."""
    table, low, high = region.problem.table, float(region.lower[d]), float(region.upper[d])
    assert table is not None
    over, under = table.grids.step[:, d].tolist()
    if not over:
        return None
    source, alone = region.problem.source[[d]], np.array([-np.inf])
    if low <= source[0] <= high and table.grids.at(np.array([d])).below(alone, source)[0] != source[0]:
        return None
    unit = Fraction(over) / Fraction(under)
    off, far = abs(price * unit - round(price * unit)), max(abs(low), abs(high))
    whole = unit.denominator == 1  # else numbers on the grid are floats close to it
    if math.isinf(far):
        return Fraction() if whole and not off else None
    return (off / unit + (0 if whole else abs(price) * Fraction(2 * ROUNDING))) * Fraction(far)
