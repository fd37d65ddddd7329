"""``explain_many``: for every row the answer that ``explain`` gives, without its proof."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from counterleaf.answer.explanation import leaf_of
from counterleaf.batch.few_digits import shorten_answer
from counterleaf.batch.progress import shown
from counterleaf.batch.shares import cost_change, costs_by_feature, shares_of
from counterleaf.batch.solving import Solver
from counterleaf.batch.words import ChangeWords
from counterleaf.core.outcomes import Outcome, Outcomes
from counterleaf.errors import CounterleafError, brief, check_flag, whole
from counterleaf.model.decision import Range
from counterleaf.proof.certificate import Status
from counterleaf.question.posing import GUARDS
from counterleaf.search.targets import Solved
from counterleaf.table.arrow.output import answer_batch
from counterleaf.table.arrow.rows import ArrowRows
from counterleaf.table.output import COLUMNS, SHARE, STATUSES, Order, Results, results_frame
from counterleaf.table.rows import differs
from counterleaf.types import Array

_OPTIMAL, _INFEASIBLE, _, _INVALID = range(len(STATUSES))
_MOST_THREADS = 1024


class Options(TypedDict, total=False):
    """The options of ``Explainer.explain_many``; see there."""

    time_limit: float | None
    max_nodes: int | None
    support: int | None
    chunk_size: int | None
    progress: bool
    count: int | None
    distinct: Any
    digits: str | None
    words: bool
    shares: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """What is written for each answer: numbers with few digits, the changes in words, the shares of the cost."""

    short: bool = False
    words: bool = True
    shares: bool = False

    @classmethod
    def read(cls, digits: Any = None, words: Any = True, shares: Any = False) -> Columns:
        """Check the options of the same names."""
        if digits is not None and not (isinstance(digits, str) and digits in ("short", "full")):
            raise CounterleafError(f'digits is {brief(digits)}; expected "short", "full" or None')
        return cls(digits == "short", check_flag(words, "words"), check_flag(shares, "shares"))


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Answers that are known already, one per line: what was found, the places of their statuses, and rows of few digits."""

    outcomes: Outcomes
    status: Array
    short: Array


class Batch:
    """One query about many rows, and what is written about them."""

    def __init__(self, solver: Solver, columns: Columns, known: Found | None = None) -> None:
        self.solver, self.rows, self.columns, self.known = solver, solver.rows, columns, known
        computed = solver.model.computes or isinstance(solver.decision.goal, Range)
        values = solver.model.is_regression if computed else None
        self.results = Results(self.rows.n, values, columns.short, columns.words)
        self._words = ChangeWords(solver.schema) if columns.words else None
        self._short_known: dict[int, Array] = {}  # rows of few digits of a chunk, from the searches of single rows

    def answer(self, at: slice, advance: Callable[[int], None]) -> None:
        """Find the answers for a chunk of rows and add them to the results; ``advance`` takes the number of further rows."""
        codes, results, solver = self.rows.codes(at), self.results, self.solver
        found = self._found(at, codes, advance)
        answered = found.leaves >= 0
        short = self._short(at, codes, found, answered)
        exact = found.points.copy(), found.costs.copy()
        if self.columns.short:
            results.full[at] = ~self._replace(codes, found, short, answered)
        if results.labels is not None:
            self._note_labels(at, codes, found.points, answered)
        confirmed = self._confirm(at, codes, found, answered)
        if self.columns.short:
            self._take_back(at, codes, found, exact, answered & ~confirmed)
            confirmed |= self._confirm(at, codes, found, answered & ~confirmed)
        may_round = self.known is None and solver.may_round
        for k in np.flatnonzero(answered & ~confirmed).tolist() if may_round else ():
            confirmed[k] = self._clear_of_rounding(at, codes, k, found)
            short[k] = found.points[k]
        results.confirmed[at] = confirmed
        results.costs[at] = found.costs if answered.all() else np.where(answered, found.costs, np.nan)
        results.bounds[at], results.leaves[at] = found.bounds, found.leaves
        for part, here in solver.each_part(codes, np.flatnonzero(results.status[at] != _INVALID)):
            results.sources[at.start + here] = part.source_labels(codes[here], at.start + here)
        self._note_changes(at, codes, (found.points, short), answered)

    def _found(self, at: slice, codes: Array, advance: Callable[[int], None]) -> Outcomes:
        """Return what is found for each row, and note its status."""
        status, self._short_known = self.results.status, {}
        if self.known is not None:
            advance(len(codes))
            status[at], found = self.known.status[at], self.known.outcomes
            return Outcomes(*(getattr(found, name)[at] for name in ("outcome", "leaves", "costs", "bounds", "points")))
        found = self.solver.found(codes)
        status[at] = np.where(found.outcome == Outcome.FOUND, _OPTIMAL, _INFEASIBLE)
        alone = np.flatnonzero(found.outcome == Outcome.UNANSWERED)
        advance(len(codes) - len(alone))
        for k, solved in zip(alone.tolist(), self.solver.solved_alone((at.start + alone).tolist(), codes[alone]), strict=True):
            status[at.start + k] = self._noted(at.start + k, codes[k], k, found, solved)
            advance(1)
        return found

    def _short(self, at: slice, codes: Array, found: Outcomes, answered: Array) -> Array:
        """Return the answers with few digits, if they are written or put into words."""
        if not (self.columns.short or self.columns.words):
            return found.points
        if self.known is not None:
            return self.known.short[at]
        out = found.points.copy()
        moved = answered & differs(codes, found.points).any(axis=1)
        for k, code in self._short_known.items():
            out[k], moved[k] = code, False
        for part, here in self.solver.each_part(codes, np.flatnonzero(moved)):
            out[here], left = part.shorten(codes[here], found.points[here])
            for k in here[left].tolist() if self.columns.short else ():
                out[k] = part.shortened(at.start + k, found.points[k])
        return out

    def _replace(self, codes: Array, found: Outcomes, short: Array, answered: Array) -> Array:
        """Put the rows of few digits in place of the answers; return which of them survive rounding by other programs."""
        survives = answered.copy()
        for part, here in self.solver.each_part(codes, np.flatnonzero(answered)):
            survives[here] = part.survives(codes[here], short[here])
            moved = here[differs(short[here], found.points[here]).any(axis=1)]
            if len(moved):
                rows = (part.spread(one[moved]) for one in (codes, found.points, short))
                found.costs[moved] += cost_change(part.query.prices, part.schema, *rows)
                found.bounds[moved] = np.minimum(found.bounds[moved], found.costs[moved])  # less by rounding only
                found.points[moved] = short[moved]
        return survives

    def _take_back(self, at: slice, codes: Array, found: Outcomes, exact: tuple[Array, Array], refuted: Array) -> None:
        """Put the answers and their costs back where the model refutes the rows of few digits."""
        found.points[refuted], found.costs[refuted] = exact[0][refuted], exact[1][refuted]
        self.results.full[at.start + np.flatnonzero(refuted)] = True
        if self.results.labels is not None:
            self._note_labels(at, codes, found.points, refuted)

    def _clear_of_rounding(self, at: slice, codes: Array, k: int, found: Outcomes) -> bool:
        """Solve a row whose answer the model refutes again, further from the splits; return whether it confirms that."""
        line, only = at.start + k, np.arange(len(codes)) == k
        for guard in () if line in self.results.problems else GUARDS:
            solved = self.solver.solved(line, codes[k], guard)
            self.results.status[line] = self._noted(line, codes[k], k, found, solved, guard)
            if self.results.labels is not None:
                self._note_labels(at, codes, found.points, only)
            if self._confirm_alone(line, codes[k], found.points[k], int(found.leaves[k])):
                return True
        return False

    def _noted(
        self, line: int, code: Array, k: int, found: Outcomes, solved: Solved | CounterleafError, guard: float = 0.0
    ) -> int:
        """Write what the search for one row found into ``found`` at k, and return the place of its status."""
        found.bounds[k] = found.bounds[k] if guard else np.nan
        if isinstance(solved, CounterleafError):
            self.results.problems[line] = str(solved)
            return _INVALID
        part, (certificate, decision) = self.solver.part(code), solved
        answer = certificate.findings
        if guard and not len(answer.leaves):
            return int(self.results.status[line])  # the answer that was found stays
        found.bounds[k] = answer.lower_bound
        if len(answer.leaves):
            leaf = part.model_leaves(np.array([leaf_of(certificate, decision, 0)]))[0]
            found.leaves[k], found.costs[k], found.bounds[k] = leaf, answer.costs[0], answer.bounds[0]
            found.points[k] = part.schema.gather(answer.points[0])
            if part.digits_by_proof and (self.columns.short or (self.columns.words and part.words_by_proof)):
                self._short_known[k] = shorten_answer(part.schema, certificate)
        return list(Status).index(answer.status)

    def _note_labels(self, at: slice, before: Array, after: Array, answered: Array) -> None:
        """Keep the class or value of each answer, and its probability if the target is about one."""
        labels, decision = self.results.labels, self.solver.decision
        assert labels is not None
        for part, here in self.solver.each_part(before, np.flatnonzero(answered)):
            points = part.spread(after[here])
            targets = part.lines_of(part.sources(before[here]))
            classes, said = self.solver.model.classes.tolist(), part.labels(points)
            for k, label in zip(here.tolist(), said, strict=True):
                labels[at.start + k] = label
            if isinstance(decision.goal, Range):
                self.results.reached[at.start + here] = True
            else:
                wanted = [{classes[t] for t in target} for target in self.solver.class_costs]
                pairs = zip(said, targets.tolist(), strict=True)
                self.results.reached[at.start + here] = [label in wanted[place] for label, place in pairs]
            if decision.predicted >= 0:
                self.results.probabilities[at.start + here] = part.numbers(points)

    def _note_changes(self, at: slice, before: Array, after: tuple[Array, Array], answered: Array) -> None:
        """Count the changed features of each row and keep their new codes; ``after`` are those, and those of few digits."""
        exact, short = after
        differ = before != exact if self.solver.parts is None else differs(before, exact)
        if not answered.all():
            differ &= answered[:, None]
        changed = np.flatnonzero(_any_line(differ)).tolist()
        if self.columns.shares:
            self._note_shares(at, before, exact, answered, changed)
        if self._words is not None:
            self.results.words[at] = self._words.of(before, short, differ, changed, answered)
        if self.solver.leaves_out:
            exact = np.where(differ & np.isnan(exact), np.inf, exact)
        counts = self.results.counts[at]
        for d in changed:
            counts += differ[:, d]
            codes_are_cells = self.rows.holds_codes(d)  # then a cell that does not change is its code
            self.results.column(d)[at] = exact[:, d] if codes_are_cells else np.where(differ[:, d], exact[:, d], np.nan)

    def _note_shares(self, at: slice, before: Array, after: Array, answered: Array, changed: list[int]) -> None:
        """Keep the share of each changed feature in the cost."""
        for part, here in self.solver.each_part(before, np.flatnonzero(answered)):
            sources, rows = part.spread(before[here]), part.spread(after[here])
            found = shares_of(costs_by_feature(part.query.prices, part.schema, sources, rows))
            for d in changed:
                self.results.share(d)[at.start + here] = found[:, d]

    def _confirm(self, at: slice, codes: Array, found: Outcomes, answered: Array) -> Array:
        """Return whether the model predicts for each answer the class of its leaf, or reaches the interval of the target."""
        out, after = np.zeros(len(codes), bool), found.points
        lines, output, predict = np.flatnonzero(answered), self.solver.decision.predicted, self.solver.adapter.predictions_many
        try:
            if len(lines) == len(codes) > 0:
                out[:] = self._agree(predict(self.rows, at, (codes, after), output), at.start + lines, found.leaves)
            elif len(lines):
                predicted = predict(self.rows, at.start + lines, (codes[lines], after[lines]), output)
                out[lines] = self._agree(predicted, at.start + lines, found.leaves[lines])
        except CounterleafError:  # the model fails on some row
            for k in lines.tolist():
                out[k] = self._confirm_alone(at.start + k, codes[k], after[k], int(found.leaves[k]))
        return out

    def _agree(self, predicted: Array, lines: Array, leaves: Array) -> Array:
        """Return whether predictions are those that the answers to some lines claim."""
        goal, labels, model = self.solver.decision.goal, self.results.labels, self.solver.model
        if isinstance(goal, Range):
            return np.asarray(goal.holds(predicted))
        if labels is None:
            return np.asarray(predicted == model.classes[model.value[leaves]])
        return np.asarray((predicted == labels[lines]) & self.results.reached[lines])

    def _confirm_alone(self, line: int, before: Array, code: Array, leaf: int) -> bool:
        """Return whether the model agrees with one answer; if it fails, note the error as the row's problem."""
        part = self.solver.part(before)
        point = part.spread(code[None])[0]
        try:
            rows = [part.schema.decode(point, self.rows.one(line))]
            predicted = part.adapter.predictions(point[None], rows, self.solver.decision.predicted)
            return bool(self._agree(predicted, np.array([line]), np.array([leaf]))[0])
        except CounterleafError as error:
            self.results.problems[line] = str(error)
            return False


def _any_line(flags: Array) -> Array:
    """Return ``flags.any(axis=0)``, computed 64 lines side by side, since NumPy is fast along long lines only."""
    whole = len(flags) // 64 * 64
    side_by_side = flags[:whole].reshape(-1, 64 * flags.shape[1]).any(axis=0).reshape(64, -1)
    return np.asarray(side_by_side.any(axis=0) | flags[whole:].any(axis=0))


def check(names: Sequence[str], chunk_size: Any, shares: bool = False) -> None:
    """Refuse features that are named like a column of the results, and a chunk size that is not a number of rows."""
    taken = {*COLUMNS, "digits", "probability", "problem", "rank", *(SHARE.format(name) for name in names if shares)} & set(
        names
    )
    if taken:
        raise CounterleafError(f"features named {sorted(taken)} collide with columns of the result; rename them")
    if chunk_size is not None and not whole(chunk_size, 1):
        raise CounterleafError(f"chunk_size is {brief(chunk_size)}; expected a number of rows from 1, or None")


def run(batch: Batch, chunk: int | None, progress: bool, order: Order | None = None) -> Any:
    """Solve all rows, one chunk after another, and return one frame; the core shares each chunk among its threads."""
    n, size, model = batch.rows.n, chunk or batch.solver.chunk, batch.solver.model
    with shown(n, progress) as advance:
        for start in range(0, n, size):
            at = slice(start, min(start + size, n))
            batch.answer(at, advance)
    if isinstance(batch.rows, ArrowRows):
        return answer_batch(batch.results, batch.rows, model.classes, model.value)
    return results_frame(batch.results, batch.rows, model.classes, model.value, order)


def workers(n_jobs: Any) -> int:
    """Return the number of threads; as in scikit-learn, -1 is every core and -2 all but one."""
    if n_jobs is None:
        return 1
    if not whole(n_jobs, -(1 << 62)) or n_jobs == 0:
        raise CounterleafError(f"n_jobs is {brief(n_jobs)}; expected a number of workers from 1, or -1 for every core")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(n_jobs), _MOST_THREADS) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
