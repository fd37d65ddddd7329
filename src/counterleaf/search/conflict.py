"""The smallest set of constraints that cannot hold together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
_SOLVES = 1000  # most questions need fewer than a tenth of these


def smallest_conflict(constraints: tuple[_T, ...], is_feasible: Callable[[tuple[_T, ...]], bool]) -> tuple[_T, ...]:
    """Find a smallest subset of some constraints that no row satisfies, given that no row satisfies them all.

    The subset is empty if no row exists even without constraints. Among several smallest subsets, the first in order is
    preferred.

    ``is_feasible(subset)`` returns False only with a proof, so the result is proved infeasible. It is smallest because every
    conflict meets the complement of every feasible set: a smallest set that meets all complements found so far is a smallest
    conflict if it is infeasible; otherwise it grows into a feasible set with a new complement. If ``is_feasible`` returns True
    for lack of a proof, or if a thousand solves are not enough, the result is a conflict without the constraints that were
    found to be unnecessary, but perhaps not a smallest one.

    Examples
    --------
    >>> smallest_conflict(tuple("abcd"), lambda subset: not (set("abc") <= set(subset) or set("bd") <= set(subset)))
    ('b', 'd')
    """
    chosen = _smallest(len(constraints), lambda subset: is_feasible(tuple(constraints[k] for k in subset)))
    return tuple(constraints[k] for k in chosen)


def _smallest(n: int, feasible: Callable[[list[int]], bool]) -> tuple[int, ...]:
    if n == 0 or not feasible([]):
        return ()
    known = list(range(n))
    for k in reversed(range(n)):
        rest = [i for i in known if i != k]
        if rest and not feasible(rest):
            known = rest
    candidate: list[int] = []
    complements: list[set[int]] = []
    size, solves = 1, n
    # invariant: known is a conflict, none has fewer than size constraints, candidate is feasible
    while size < len(known) and solves + n <= _SOLVES:
        for k in range(n):
            if k not in candidate and len(candidate) < n - 1:  # all n are infeasible
                solves += 1
                wider = sorted([*candidate, k])
                candidate = wider if feasible(wider) else candidate
        complements.append(set(range(n)).difference(candidate))
        while (found := _meeting(complements, size)) is None:
            size += 1
        candidate = found
        solves += 1
        if size < len(known) and not feasible(candidate):
            return tuple(candidate)
    return tuple(known)


def _meeting(sets: list[set[int]], size: int, start: int = 0) -> list[int] | None:
    """Up to ``size`` numbers from ``start`` that meet all sets, the first such list in order; None if there is none."""
    if not sets:
        return []
    apart: set[int] = set()
    need = 0
    for s in sets:
        if apart.isdisjoint(s):  # sets with nothing in common need a number each
            apart |= s
            need += 1
    if need > size:
        return None
    for k in range(start, min(map(max, sets)) + 1):
        missed = [s for s in sets if k not in s]
        if len(missed) < len(sets):
            rest = _meeting(missed, size - 1, k + 1)
            if rest is not None:
                return [k, *rest]
    return None
