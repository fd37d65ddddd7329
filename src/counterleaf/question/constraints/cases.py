"""Constraints as cases: implications that two boxes cannot express are split into cases, which are solved one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.question.constraints.boxes import box_of
from counterleaf.question.constraints.kinds import Becomes, Changed, Choice, Constraint, Either, Implies, Limit, Outside
from counterleaf.question.constraints.lowering import alternatives, lower_constraints
from counterleaf.table.features import Numeric
from counterleaf.table.schema import Schema
from counterleaf.types import Array

_MOST = 64  # cases of one question
_Box = Limit | Choice | Outside


def cases(
    constraints: Sequence[Constraint], schema: Schema, source: Array | None = None, singly: bool = False
) -> list[tuple[Constraint, ...]]:
    """Split constraints into cases without implications of more than two boxes; a row satisfies them if it satisfies a case.

    Parameters
    ----------
    constraints : sequence of Constraint
        The constraints of a question.
    schema : Schema
        The features.
    source : (D,) array, optional
        The source. With it, cases in which it leaves no row are left out. Without it, the cases are right for every source.
    singly : bool, default=False
        Whether every implication is split into cases of one box each, for searches that do not take two boxes.

    Returns
    -------
    list of tuple
        For each case its constraints, which ``lower_constraints`` takes. At least one, and most often the constraints as they
        are.

    Raises
    ------
    CounterleafError
        If there are more than 64 cases, or a constraint does not fit the schema or the source.
    """
    whole = tuple(constraints)
    if not any(_needs_choices(one, singly) for one in whole):
        return [whole]
    choices = [
        _choices(one, schema, source, singly) if isinstance(one, Implies) and _needs_choices(one, singly) else [one]
        for one in whole
    ]
    count = math.prod(map(len, choices))
    if count > _MOST:
        raise CounterleafError(
            f"the implications lead to {count} cases; expected at most {_MOST}: use fewer of them, or conditions on categories"
        )
    return [tuple(one for one in case if one is not None) for case in product(*choices)]


def _needs_choices(one: Constraint, singly: bool) -> bool:
    """Whether a constraint is an implication other than one of two boxes, the first of which holds for the source."""
    simple = isinstance(one, Implies) and isinstance(one.condition, Changed) and isinstance(one.then, (Limit, Choice))
    return isinstance(one, Implies) and (singly or not simple)


def _choices(one: Implies, schema: Schema, source: Array | None, singly: bool) -> list[Constraint | None]:
    """The constraints of which at least one must hold, boxes in pairs; None for one that always holds."""
    found = alternatives(one, schema)
    if len(found) == 2 and not singly and all(isinstance(part, (Limit, Choice, Outside)) for part in found):
        return [one]  # two boxes, which the core takes as they are
    if source is not None:
        if any(isinstance(part, Outside) and _has_become(part, schema, source) for part in found):
            return [None]
        found = [part for part in found if _is_possible(part, schema, source)] or found[-1:]
    if singly:
        return list(found)
    boxes = [part for part in found if isinstance(part, (Limit, Choice, Outside))]
    pairs = [Either(str(one), *pair) if len(pair) == 2 else pair[0] for pair in _in_pairs(boxes)]
    return [*(part for part in found if part not in boxes), *pairs]


def _in_pairs(boxes: list[_Box]) -> list[list[_Box]]:
    """Boxes in pairs; the last one may be alone."""
    return [boxes[k : k + 2] for k in range(0, len(boxes), 2)]


def _has_become(part: Outside, schema: Schema, source: Array) -> bool:
    """Whether the source has the value that it should become, so that the condition is never met."""
    return isinstance(part.constraint, Becomes) and _holds(part.constraint, schema, source)


def _holds(box: _Box, schema: Schema, source: Array) -> bool:
    """Whether the source lies in a box."""
    return all(np.all((low <= source[v]) & (source[v] <= high)) for v, low, high in box_of(box, schema, source[None]))


def _is_possible(part: Constraint, schema: Schema, source: Array) -> bool:
    """Whether the bounds that a constraint leaves are not empty."""
    limits = lower_constraints((part,), schema, source[None])
    if (limits.lower > limits.upper).any():
        return False
    groups = [schema.span(d) for d, feature in enumerate(schema) if not isinstance(feature, Numeric)]
    return all(np.any(limits.upper[0, at] > 0) for at in groups)
