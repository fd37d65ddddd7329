"""A smallest set of constraints that cannot hold together."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

_T = TypeVar("_T")
_SOLVES = 1000  # most questions need fewer than a tenth of these
_STEPS = 20_000  # of the search for sets of constraints; all of them took 0.15 to 1.4 s on synthetic sets


def smallest_conflict(
    constraints: tuple[_T, ...], is_feasible: Callable[[tuple[_T, ...]], bool | Collection[int]]
) -> tuple[_T, ...]:
    """Find a smallest subset of some constraints that no row satisfies, given that no row satisfies them all.

    ``is_feasible(subset)`` returns False only with a proof, so the result is proved infeasible. Otherwise it returns True, or
    the positions of all constraints that a row which it found satisfies; they make the search faster. The result is smallest
    because every conflict meets the complement of every feasible set: a smallest set that meets all complements found so far
    is a smallest conflict if it is infeasible; otherwise it grows into a feasible set with a new complement. It may be larger
    if the search reaches a limit, or if ``is_feasible`` returns True for lack of a proof.

    Examples
    --------
    >>> smallest_conflict(tuple("abcd"), lambda subset: not (set("abc") <= set(subset) or set("bd") <= set(subset)))
    ('b', 'd')
    """
    families = _Families(len(constraints), lambda subset: is_feasible(tuple(constraints[k] for k in subset)))
    return tuple(constraints[k] for k in families.smallest_conflict())


class _Families:
    """The sets of constraints that are known to be feasible, by their complements, which every conflict meets.

    Sets are bit masks. No complement contains another one, which would be met anyway.
    """

    def __init__(self, n: int, feasible: Callable[[list[int]], bool | Collection[int]]) -> None:
        self.all, self._feasible = (1 << n) - 1, feasible
        self.complements: list[int] = []
        self.solves = 0

    def smallest_conflict(self) -> list[int]:
        n = self.all.bit_length()
        if n == 0 or self.rest_of(0) is None:
            return []
        known = self.reduce(self.all, list(range(n)))
        size, search = 1, _Meeting(_STEPS)
        # invariant: known is a conflict, and none has fewer than size constraints
        while size < known.bit_count() and self.solves + n <= _SOLVES:
            candidate = search.first(self.complements, size)
            if search.steps <= 0:
                break
            if candidate is None:
                size += 1
            elif (rest := self.rest_of(candidate)) is None:
                return _members(candidate)
            else:
                self.grow(rest)
        return _members(known)

    def rest_of(self, subset: int) -> int | None:
        """The complement of a feasible set that contains a subset; None if the subset is proved to be infeasible."""
        for known in self.complements:
            if not known & subset:
                return known
        self.solves += 1
        found = self._feasible(_members(subset))
        if found is False:
            return None
        rest = others = self.all & ~subset
        for k in () if found is True else found:
            rest &= ~(1 << k)
        rest = rest or others  # no row satisfies all n, up to rounding
        self.complements = [known for known in self.complements if known & rest != rest]
        self.complements.append(rest)
        return rest

    def reduce(self, known: int, part: list[int]) -> int:
        """Remove the unnecessary constraints of a part from a conflict, from the last one, several at once if possible."""
        rest = known & ~((2 << part[-1]) - (1 << part[0]))
        if rest and self.rest_of(rest) is None:
            return rest
        if len(part) == 1:
            return known
        middle = len(part) // 2
        return self.reduce(self.reduce(known, part[middle:]), part[:middle])

    def grow(self, rest: int) -> None:
        """Extend a feasible set by as many constraints as possible; ``rest`` is its complement."""
        for k in _members(rest):
            if rest >> k & 1 and rest.bit_count() > 1:
                less = self.rest_of(self.all & ~rest | 1 << k)
                rest = rest if less is None else less


class _Meeting:
    """The search for a few numbers that meet all of some sets, with a limit on its steps."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def first(self, sets: list[int], size: int) -> int | None:
        """Up to ``size`` numbers that meet all sets; None if there are none, or if no steps are left."""
        return self._extend(sorted(sets, key=int.bit_count), size, 0)

    def _extend(self, sets: list[int], size: int, without: int) -> int | None:
        """The same with sets from the smallest one, without some numbers."""
        if not sets:
            return 0
        self.steps -= 1
        apart = need = 0
        fewest, branch = 0, 0
        for one in sets:
            left = one & ~without
            if not left:
                return None
            if not apart & left:  # sets with nothing in common need a number each
                apart |= left
                need += 1
                if need > size:
                    return None
            if not branch or left.bit_count() < fewest:
                fewest, branch = left.bit_count(), left
        if self.steps <= 0:
            return None
        for k in _members(branch):
            bit = 1 << k
            rest = self._extend([one for one in sets if not one & bit], size - 1, without)
            if rest is not None:
                return rest | bit
            without |= bit
        return None


def _members(mask: int) -> list[int]:
    """The numbers of a bit mask, in order."""
    out = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out
