"""From a located row to explanations: search, confirm with the model, find conflicts, translate back."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from counterleaf.answer.explanation import Counterfactual, Explanation, describe
from counterleaf.answer.front import Front, find_front
from counterleaf.core.stopping import has_ended
from counterleaf.errors import CounterleafError
from counterleaf.model.adapter import ModelAdapter
from counterleaf.proof.certificate import Status
from counterleaf.question.constraints.kinds import Boxed, Constraint
from counterleaf.question.posing import GUARDS, Basis
from counterleaf.question.query import Query, wanted
from counterleaf.search.conflict import smallest_conflict
from counterleaf.search.targets import Solved, Source, Targets
from counterleaf.strict_json import plain
from counterleaf.table.frames import copy_of

_ROUNDING = 1e-9  # of a sum in another order
_Predicted = tuple[list[Any] | None, Any, Any]  # the rows, the predictions for them, and the label of the source


class Answering:
    """Answers queries about rows of one model."""

    def __init__(self, adapter: ModelAdapter, targets: Targets, basis: Basis) -> None:
        self._adapter, self.schema, self._basis = adapter, adapter.schema, basis
        self._targets = targets

    def answers(self, row: Any, source: Source, query: Query, margins: list[float] | None) -> list[Explanation]:
        """Return one explanation per margin, which increase; by default for the margin of the query."""
        row = copy_of(row)
        answers: list[Explanation] = []
        last: Any = None
        for margin in [query.margin] if margins is None else margins:
            if margin != query.margin:
                query = replace(query, margin=margin, question=replace(query.question, margin=margin))
            found, last = self._answer(row, source, query, last, margins is not None)
            answers.append(found)
        return answers

    def front(self, row: Any, source: Source, query: Query) -> Front:
        """Return the cheapest answers with few changes, see ``Front``."""
        row = copy_of(row)

        def solve(constraints: tuple[Constraint, ...], explain_conflict: bool) -> Explanation:
            rules = [*query.question.constraints, *constraints]
            question = replace(query.question, constraints=rules)
            part = replace(query, constraints=(*query.constraints, *constraints), question=question)
            return self._answer(row, source, part, None, False, explain_conflict)[0]

        return find_front(solve, len(self.schema))

    def _answer(
        self, row: Any, source: Source, query: Query, last: Any, keep: bool, explain_conflict: bool = True
    ) -> tuple[Explanation, Any]:
        """Return the explanation, and the core's answer; ``last`` is that with a smaller margin, from which it continues."""
        until = query.until
        certificate, decision = self._targets.solve(source, query, until, keep=keep, earlier=last)
        unlimited = query.question.time_limit is None and query.question.max_nodes is None
        if last is not None and certificate.status is Status.LIMIT and unlimited:
            certificate, decision = self._targets.solve(
                source, query, until, keep=keep
            )  # the warm start, not a limit, stopped it
        is_empty = certificate.status is Status.INFEASIBLE and explain_conflict
        conflict = self._conflict(source, query, until) if is_empty else ()
        solved = self._confirmed(row, source, query, until, (certificate, decision))
        return self._explanation(row, source, query, solved, conflict), certificate.findings.answer

    def _confirmed(self, row: Any, source: Source, query: Query, until: float, solved: Solved) -> tuple[Solved, _Predicted]:
        """Return what was found and what the model predicts; found again if the model sums otherwise and refutes an answer."""
        predicted = self._predicted(row, source, solved)
        for guard in GUARDS if self._targets.may_round(solved[1]) else ():
            if all(solved[1].confirms(solved[0].findings.points, predicted[1])) or time.perf_counter() >= until:
                break
            again = self._targets.solve(source, query, until, guard=guard)
            if len(again[0].findings.leaves):
                solved, predicted = again, self._predicted(row, source, again)
        return solved, predicted

    def _predicted(self, row: Any, source: Source, solved: Solved) -> _Predicted:
        """Return the answers as rows, if the model needs them, and what the model predicts for them and for the source."""
        found, output = solved[0].findings, solved[1].predicted
        label = self._targets.label(source, solved[1])
        if not self._adapter.labels_sources:
            return None, self._adapter.predictions(found.points, [], output) if len(found.leaves) else (), label
        rows = [self.schema.decode(x, row) for x in found.points]
        points, every = np.concatenate([source.vector[None], found.points]), [row, *rows]
        said = self._adapter.predictions(points, every, output)
        own = said[0] if output < 0 else self._adapter.predictions(points[:1], [row])[0]
        return rows, said[1:], said_or(own, label)

    def _conflict(self, source: Source, query: Query, until: float) -> tuple[Constraint, ...]:
        """Return a smallest set of the query's constraints that no row satisfies."""

        def is_feasible(constraints: tuple[Constraint, ...]) -> bool | Collection[int]:
            """Return False only if infeasibility is proved, not if the search stopped or the cost is unbounded."""
            part = replace(query, constraints=constraints, count=1)
            try:
                if has_ended(until):
                    return True
                found = self._targets.solve(source, part, until)[0]
            except CounterleafError:
                return True
            if found.status is Status.INFEASIBLE:
                return False
            if not len(found.findings.points):
                return True
            row = found.findings.points[0]
            return {k for k, box in boxes.items() if all(low <= row[d] <= high for d, low, high in box)}

        boxes = {
            k: [(d, np.ravel(low)[0], np.ravel(high)[0]) for d, low, high in one.box(self.schema, source.vector[None])]
            for k, one in enumerate(query.constraints)
            if isinstance(one, Boxed)
        }
        return smallest_conflict(query.constraints, is_feasible)

    def _explanation(
        self,
        row: Any,
        source: Source,
        query: Query,
        confirmed: tuple[Solved, _Predicted],
        conflict: tuple[Constraint, ...],
    ) -> Explanation:
        """Translate the findings back into the user's table; the counterfactuals are made when they are first read."""
        (certificate, decision), (rows, predicted, label) = confirmed
        found = certificate.findings

        def make() -> tuple[Counterfactual, ...]:
            decoded = [self.schema.decode(x, row) for x in found.points] if rows is None else rows
            return describe(certificate, decision, self.schema, row, decoded, decision.confirms(found.points, predicted))

        return Explanation(
            status=found.status,
            maker=make,
            lower_bound=found.lower_bound,
            source=row,
            source_label=label,
            target=wanted(query.question.target, decision),
            schema=self.schema,
            certificate=certificate,
            decision=decision,
            conflict=conflict,
            constraints=query.constraints,
            cost=query.cost,
            question=query.question,
            types=self._adapter.types,
            basis=self._basis,
        )


def said_or(said: Any, label: Any) -> Any:
    """Return what the model says of a row: ``label``, that of its tree, if they agree, for numbers up to rounding."""
    if isinstance(label, float):
        return label if math.isclose(said, label, rel_tol=_ROUNDING, abs_tol=_ROUNDING) else float(said)
    return label if said == label else plain(said)
