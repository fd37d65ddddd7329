"""Answers and times of one method on one model, kept in a file so that an interrupted run can continue."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from counterleaf.storage.files import write
from counterleaf.types import Array
from counterleaf_experiments.benchmark.ensembles.questions import Cell
from counterleaf_experiments.benchmark.measurement import short_message

OPTIMAL, LIMIT, ERROR = "optimal", "limit", "error"
CELL_BUDGETS = 5  # a method stops on a model once its questions took this many budgets
HOPELESS = 3  # a method stops on a model if it proves none of this many questions


@dataclass(frozen=True, slots=True)
class Reply:
    """What a method says about one question."""

    status: str  # OPTIMAL if the method claims a proof, LIMIT if time ran out; other words are shown as they are
    x: Array | None
    claimed: float  # the cost that the method reports; NaN if it reports none
    cpu: float  # seconds
    wall: float
    confirmed: bool = True  # what the method says about the model's prediction


@dataclass(frozen=True, slots=True)
class Answer:
    """One question and its answer, evaluated."""

    place: int
    target: int
    status: str
    cpu: float
    wall: float
    claimed: float
    cost: float  # of the proposed row; NaN unless the model predicts the target for it
    changes: int  # columns
    confirmed: bool = True
    error: str = ""

    @property
    def proved(self) -> bool:
        """Whether the method claims that its answer is optimal."""
        return self.status == OPTIMAL


Ask = Callable[[int], Reply]  # from the index of a question


class Method(Protocol):
    """A way to answer questions about a model."""

    @property
    def name(self) -> str:
        """The name in the tables."""

    @property
    def version(self) -> str:
        """The version; empty if the method is not installed."""

    @property
    def all_rows(self) -> bool:
        """Whether the method answers every row, even if it is slow."""

    def prepare(self, cell: Cell, budget: float, seed: int) -> AbstractContextManager[Ask]:
        """Read the model; the budget is in seconds per question."""


@dataclass(frozen=True)
class Measurement:
    """The answers of a method for the questions about a model."""

    method: str
    answers: tuple[Answer, ...] = ()
    prepare: float = math.nan  # processor seconds before the first question
    note: str = ""  # instead of numbers: absent, failed
    restored: int = 0  # answers from an earlier run

    @property
    def proved(self) -> list[Answer]:
        """The answers with a proof."""
        return [answer for answer in self.answers if answer.proved]

    def quantile(self, share: float, *, wall: bool = False, proved: bool = False) -> float:
        """A quantile of the seconds per question; NaN if there are none."""
        answers = self.proved if proved else self.answers
        return float(np.quantile([a.wall if wall else a.cpu for a in answers], share)) if answers else math.nan

    def within(self, seconds: float) -> float:
        """The share of questions that were proved within some seconds of wall time."""
        return sum(a.proved and a.wall <= seconds for a in self.answers) / len(self.answers) if self.answers else math.nan

    @property
    def confirmed(self) -> bool:
        """Whether the model predicts the target for every proposed row, and the method says so."""
        proposed = [answer for answer in self.answers if answer.proved or answer.changes]
        return all(answer.confirmed and math.isfinite(answer.cost) for answer in proposed)

    @property
    def remark(self) -> str:
        """What went wrong after some answers; empty if nothing did."""
        errors = [answer.error for answer in self.answers if answer.status == ERROR]
        return self.note or (f"{len(errors)} failed: {errors[0]}" if errors else "")


@dataclass
class Store:
    """The answers of a method about a model in a file; the answers of another model, version or budget are not read."""

    path: Path
    signature: dict[str, Any]
    answers: dict[tuple[int, int], Answer] = field(default_factory=dict)
    prepare: float = math.nan
    note: str = ""

    @classmethod
    def open(cls, path: Path, **signature: Any) -> Store:
        """Read the file if it has this signature."""
        out = cls(path, signature)
        try:
            content = json.loads(path.read_text())
            if content["signature"] == signature:
                found = [Answer(**one) for one in content["answers"]]
                out.answers = {(one.place, one.target): one for one in found}
                out.prepare, out.note = float(content["prepare"]), str(content["note"])
        except (OSError, ValueError, KeyError, TypeError):  # no file, or not one of ours
            pass
        return out

    def save(self) -> None:
        """Write the file."""
        content = {
            "signature": self.signature,
            "prepare": self.prepare,
            "note": self.note,
            "answers": [asdict(answer) for answer in self.answers.values()],
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write(self.path, json.dumps(content, indent=1))


def measure(
    method: Method, cell: Cell, budget: float, seed: int, store: Store | None, tick: Callable[[], None] = lambda: None
) -> Measurement:
    """Answer one question after another; an exception is recorded as the answer to its question.

    Unless the method answers all rows, it stops if it proves none of the first questions, or if all of them together took too
    long.
    """
    if not method.version:
        return Measurement(method.name, note="absent")
    store = Store(Path(), {}) if store is None else store
    saved = store.path != Path()
    known = len(store.answers)
    answers: list[Answer] = []
    todo = list(range(len(cell.places)))
    while todo and (found := store.answers.get(_key(cell, todo[0]))) is not None:
        answers.append(found)
        todo.pop(0)
        tick()
    if todo and not store.note and (method.all_rows or not _enough(answers, budget)):
        begun = time.process_time()
        try:
            with method.prepare(cell, budget, seed) as ask:
                store.prepare = getattr(ask, "prepare", time.process_time() - begun)
                for k in todo:
                    answers.append(_answer(ask, cell, k))
                    store.answers[_key(cell, k)] = answers[-1]
                    if saved:
                        store.save()
                    tick()
                    if not method.all_rows and _enough(answers, budget):
                        break
        except Exception as error:  # in third-party code: the table reports it, and the run continues
            store.note = f"failed: {short_message(error)}"
            if saved:
                store.save()
    if store.note and not answers:
        return Measurement(method.name, note=store.note)
    if answers and all(answer.status == ERROR for answer in answers):
        return Measurement(method.name, note=f"failed: {answers[0].error}")
    return Measurement(method.name, tuple(answers), store.prepare, store.note, min(known, len(answers)))


def _key(cell: Cell, k: int) -> tuple[int, int]:
    """What identifies a question about a model."""
    return int(cell.places[k]), cell.targets[k]


def _enough(answers: list[Answer], budget: float) -> bool:
    """Whether a method would only continue to run out of time."""
    hopeless = len(answers) >= HOPELESS and not any(answer.proved for answer in answers)
    return hopeless or sum(answer.wall for answer in answers) > CELL_BUDGETS * budget


def _answer(ask: Ask, cell: Cell, k: int) -> Answer:
    """Ask one question, and evaluate the reply."""
    place, target = _key(cell, k)
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        reply = ask(k)
    except ProcessGoneError:
        raise
    except Exception as error:
        times = time.process_time() - cpu, time.perf_counter() - wall
        return Answer(place, target, ERROR, *times, math.nan, math.nan, 0, False, short_message(error))
    cost = cell.valid_cost(k, reply.x)
    changes = cell.changes(k, reply.x)
    return Answer(place, target, reply.status, reply.cpu, reply.wall, reply.claimed, cost, changes, reply.confirmed)


class ProcessGoneError(Exception):
    """The process that answers has ended or does not reply."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The proved optima of two methods on the same questions."""

    both: int  # questions that both proved
    ratio: float  # of the median seconds of the other method to ours, over the questions that it proved
    wall_ratio: float
    cheaper: int  # the model confirms an answer of the other method that is cheaper than our optimum
    dearer: int  # the other method proved an optimum that is more expensive than ours
    unconfirmed: int  # the model does not predict the target for the row that the other method proved to be optimal


def compare(ours: Measurement, other: Measurement) -> Comparison:
    """Compare times and optima; each column that an answer changes may round its cost by the precision of float32."""
    mine = {(a.place, a.target): a for a in ours.answers}
    pairs = [(mine[a.place, a.target], a) for a in other.proved if (a.place, a.target) in mine]
    proved = [(our, their) for our, their in pairs if our.proved]
    gaps = [(their.cost - our.cost, 1e-6 * abs(our.cost) + 1e-7 * (their.changes + our.changes)) for our, their in proved]
    return Comparison(
        len(proved),
        _ratio((their.cpu, our.cpu) for our, their in pairs),
        _ratio((their.wall, our.wall) for our, their in pairs),
        sum(gap < -tolerance for gap, tolerance in gaps),
        sum(gap > tolerance for gap, tolerance in gaps),
        sum(math.isnan(their.cost) for their in other.proved),
    )


def _ratio(pairs: Iterable[tuple[float, float]]) -> float:
    """The ratio of the medians of two lists."""
    found = list(pairs)
    if not found:
        return math.nan
    theirs, ours = (float(np.median(part)) for part in zip(*found, strict=True))
    return theirs / ours if ours > 0 else math.inf
