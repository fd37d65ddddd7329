"""The smallest set of constraints that cannot hold together."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

_T = TypeVar("_T")
_SOLVES = 1000  # most questions need fewer than a tenth of these
_STEPS = 20_000  # of the search for sets of constraints, some tens of milliseconds


def smallest_conflict(
    constraints: tuple[_T, ...], is_feasible: Callable[[tuple[_T, ...]], bool | Collection[int]]
) -> tuple[_T, ...]:
    """Find a smallest subset of some constraints that no row satisfies, given that no row satisfies them all.

    The subset is empty if no row exists even without constraints. Among several smallest subsets, the first in order is
    preferred.

    ``is_feasible(subset)`` returns False only with a proof, so the result is proved infeasible. Otherwise it returns True, or
    the positions of all constraints that a row which it found satisfies; they make the search faster. The result is smallest
    because every conflict meets the complement of every feasible set: a smallest set that meets all complements found so far
    is a smallest conflict if it is infeasible; otherwise it grows into a feasible set with a new complement. If
    ``is_feasible`` returns True for lack of a proof, or if a thousand solves are not enough, the result is a conflict without
    the constraints that were found to be unnecessary, but perhaps not a smallest one.

    Examples
    --------
    >>> smallest_conflict(tuple("abcd"), lambda subset: not (set("abc") <= set(subset) or set("bd") <= set(subset)))
    ('b', 'd')
    """
    families = _Families(len(constraints), lambda subset: is_feasible(tuple(constraints[k] for k in subset)))
    return tuple(constraints[k] for k in families.smallest_conflict())


class _Families:
    """The sets of constraints that are known to be feasible, by their complements, which every conflict meets."""

    def __init__(self, n: int, feasible: Callable[[list[int]], bool | Collection[int]]) -> None:
        self.n, self._feasible = n, feasible
        self.complements: list[set[int]] = []
        self.solves = 0

    def smallest_conflict(self) -> list[int]:
        n = self.n
        if n == 0 or self.rest_of([]) is None:
            return []
        known = self.reduce(list(range(n)), list(range(n)))
        size, steps = 1, [_STEPS]
        # invariant: known is a conflict, and none has fewer than size constraints
        while size < len(known) and self.solves + n <= _SOLVES:
            candidate = _meeting(self.complements, size, steps)
            if steps[0] <= 0:
                break
            if candidate is None:
                size += 1
            elif (rest := self.rest_of(candidate)) is None:
                return candidate
            else:
                self.grow(rest)
        return known

    def rest_of(self, subset: list[int]) -> set[int] | None:
        """The complement of a feasible set that contains a subset; None if the subset is proved to be infeasible."""
        for known in self.complements:
            if known.isdisjoint(subset):
                return known
        self.solves += 1
        found = self._feasible(subset)
        if found is False:
            return None
        others = set(range(self.n)).difference(subset)
        rest = others.difference(() if found is True else found) or others  # no row satisfies all n, up to rounding
        self.complements.append(rest)
        return rest

    def reduce(self, known: list[int], part: list[int]) -> list[int]:
        """Remove the unnecessary constraints of a part from a conflict, from the last one, several at once if possible."""
        rest = [k for k in known if not part[0] <= k <= part[-1]]
        if rest and self.rest_of(rest) is None:
            return rest
        if len(part) == 1:
            return known
        middle = len(part) // 2
        return self.reduce(self.reduce(known, part[middle:]), part[:middle])

    def grow(self, rest: set[int]) -> None:
        """Extend a feasible set by as many constraints as possible; ``rest`` is its complement."""
        for k in sorted(rest):
            if k in rest and len(rest) > 1:
                less = self.rest_of(sorted(set(range(self.n)) - rest | {k}))
                rest = rest if less is None else less


def _meeting(sets: list[set[int]], size: int, steps: list[int], start: int = 0) -> list[int] | None:
    """Up to ``size`` numbers from ``start`` that meet all sets, the first such list in order; None if there is none.

    ``steps`` holds the number of steps that are left; at 0 the result is None.
    """
    if not sets:
        return []
    steps[0] -= 1
    apart: set[int] = set()
    need = 0
    for s in sets:
        if apart.isdisjoint(s):  # sets with nothing in common need a number each
            apart |= s
            need += 1
    if need > size or steps[0] <= 0:
        return None
    for k in range(start, min(map(max, sets)) + 1):
        missed = [s for s in sets if k not in s]
        if len(missed) < len(sets):
            rest = _meeting(missed, size - 1, steps, k + 1)
            if rest is not None:
                return [k, *rest]
    return None
