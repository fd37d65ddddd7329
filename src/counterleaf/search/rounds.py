"""Questions that take several searches: one per case of the constraints, and one round per alternative."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from counterleaf import _core
from counterleaf.core.stopping import current, has_ended
from counterleaf.model.decision import Decision, ScoreDecision
from counterleaf.proof.certificate import Certificate, Status
from counterleaf.proof.compound import Compound, Round, avoided_by, round_status
from counterleaf.question.constraints.cases import cases
from counterleaf.question.query import Query
from counterleaf.search.prepared import Source
from counterleaf.search.targets import Targets

Solved = tuple[Certificate | Compound, Decision | ScoreDecision]


def solve(
    targets: Targets,
    source: Source,
    query: Query,
    until: float,
    *,
    keep: bool = False,
    earlier: _core.Answer | None = None,
    guard: float = 0.0,
) -> Solved:
    """Find the answers to a query about one source, with their proof and the plain tree that it is about.

    Parameters
    ----------
    targets : Targets
        The searches of the model.
    source : Source
        The row.
    query : Query
        The query.
    until : float
        The time at which the search stops; infinity for no limit.
    keep : bool, default=False
        Whether the search can be continued with a larger margin.
    earlier : Answer of the core, optional
        The answer to the query with a smaller margin.
    guard : float, default=0.0
        The least guard of the search, see ``Search``.

    Returns
    -------
    tuple
        A certificate, or a compound of several, and the decision.
    """
    split = cases(query.constraints, targets.schema, source.vector, targets.splits_implications) if query.constraints else [()]
    rounds = query.apart > 0 and query.count != 1
    if len(split) == 1 and not rounds:
        one = query if not query.constraints or split[0] == query.constraints else replace(query, constraints=split[0])
        return targets.certify(source, one, _budget(query, until, keep), earlier, guard)
    parts = [replace(query, constraints=case, count=1 if rounds else query.count) for case in split]
    found: list[Round] = []
    decision: Decision | ScoreDecision | None = None
    while True:
        solved = [targets.certify(source, part, _budget(part, until, False), None, guard) for part in parts]
        found.append(tuple(certificate for certificate, _ in solved))
        decision = decision or solved[0][1]
        last = Compound((found[-1],), query.apart, 1)
        if not rounds or not last.answers or len(found) == query.count or round_status(found[-1]) is Status.LIMIT:
            break
        avoided = avoided_by(last.owner(0).problem, last.answers[0].row, query.apart)
        if not avoided.features or has_ended(until):
            break
        parts = [replace(part, avoided=(*part.avoided, avoided)) for part in parts]
    if len(found) == 1 and len(found[0]) == 1 and query.count == 1:
        return found[0][0], decision
    return Compound(tuple(found), query.apart, query.count), decision


def _budget(query: Query, until: float, keep: bool) -> _core.Budget:
    left = None if until == math.inf else max(until - time.perf_counter(), 0.0)
    return _core.Budget(query.count, query.max_nodes, left, keep, current())
