"""``Front``: the cheapest answer with one change, with two, and so on, until further changes gain nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, overload

from counterleaf.answer.explanation import Counterfactual, Explanation
from counterleaf.answer.text import Terms, apart, html_row, laid_out, text, written
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import GAP, Status
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.constraints.several import max_changes
from counterleaf.table.frames import make_frame, records, take
from counterleaf.table.words import label_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST = 100  # characters for the changes in a line of the table
_HEAD = ["changes", "cost", "what changes"]
_ADDED = ("n_changed", "status")  # the first columns of to_frame


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Front(Sequence[Counterfactual]):
    """Counterfactuals with fewer changes and with lower cost: each is the cheapest with its number of changes.

    The number of changes increases and the cost decreases from one counterfactual to the next. The last one is the cheapest of
    all. The front is empty if no row reaches the target. It has one counterfactual, without changes, if the row has to stay as
    it is.

    Parameters
    ----------
    explanations : tuple of Explanation
        The explanation of each counterfactual, with its proof.
    searches : tuple of Explanation
        All explanations that prove the front, in order of the number of changes that they allow: also those that rule out a
        number of changes, or show that it gains nothing. The last one has no limit on the number of changes.
    """

    explanations: tuple[Explanation, ...]
    searches: tuple[Explanation, ...] = field(repr=False)

    @property
    def status(self) -> Status:
        """The status "infeasible" if no row reaches the target, "limit" if a search stopped early, else "optimal"."""
        if self.searches[-1].status is Status.INFEASIBLE:
            return Status.INFEASIBLE
        return Status.LIMIT if any(one.status is Status.LIMIT for one in self.searches) else Status.OPTIMAL

    @property
    def conflict(self) -> tuple[Constraint, ...]:
        """A smallest set of constraints that leave no row, if the status is "infeasible"."""
        return self.searches[-1].conflict

    @property
    def source(self) -> Any:
        """The row that was explained."""
        return self.searches[-1].source

    def check(self) -> bool:
        """Check all proofs of the front, without the search.

        Returns
        -------
        bool
            True if each counterfactual is proved to be the cheapest with its number of changes, if no cheaper one is missing
            between them or after the last, and if none has fewer changes than the first. False if a search stopped early.
        """
        if self.status is Status.LIMIT or not all(one.certificate.check() for one in self.searches):
            return False
        own = self.searches[-1].constraints
        if any(one.constraints != (*own, max_changes(k)) for k, one in enumerate(self.searches[:-1])):
            return False
        return [id(one) for one in _points(self.searches)] == [id(one) for one in self.explanations]

    @overload
    def __getitem__(self, index: int) -> Counterfactual: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Counterfactual, ...]: ...
    def __getitem__(self, index: int | slice) -> Counterfactual | tuple[Counterfactual, ...]:
        if isinstance(index, slice):
            return tuple(one[0] for one in self.explanations[index])
        if not len(self):
            raise IndexError(f"the front has no counterfactuals: its status is {self.status}; print it to see why")
        return self.explanations[index][0]

    def __len__(self) -> int:
        return len(self.explanations)

    def __repr__(self) -> str:
        points = ", ".join(f"{one.cost:.4g} with {len(one.changes)}" for one in self)
        return f"<Front: {self.status}{', cost ' * bool(points)}{points}>"

    def __str__(self) -> str:
        return self.text()

    def text(self, terms: Terms | None = None) -> str:
        """Return the table and the sentence that ``print`` shows.

        Parameters
        ----------
        terms : Terms, optional
            Terms that depend on where the text is read.

        Returns
        -------
        str
            The text.
        """
        terms = Terms() if terms is None else terms
        if not len(self):
            return text(self.searches[-1], terms)
        return "\n".join([*laid_out([_HEAD, *_lines(self)], 2), "", _proved(self, terms)])

    def _repr_html_(self) -> str:
        if not len(self):
            return self.searches[-1]._repr_html_()
        rows = [html_row("th", _HEAD, 2), *(html_row("td", line, 2) for line in _lines(self))]
        table = f'<table style="border-collapse: collapse">{"".join(rows)}</table>'
        return f'<div>{table}<p style="opacity: 0.75">{escape(_proved(self, Terms()))}</p></div>'

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per counterfactual.

        Returns
        -------
        DataFrame
            The columns are n_changed, status, and those of ``Explanation.to_frame``.
        """
        return make_frame(_frame_rows(self))

    def plot(self) -> Figure:
        """Draw the cost against the number of changes as a matplotlib figure; labels name the changed features.

        Returns
        -------
        Figure
            The figure, which is not registered with pyplot.
        """
        from counterleaf.plot import draw_fronts  # a later package

        return draw_fronts([_drawn(self)], [""])


@dataclass(frozen=True, slots=True, eq=False)
class FrontPath(Sequence[Front]):
    """One front per margin.

    Parameters
    ----------
    margins : tuple of float
        The margins, in the order in which they were passed to ``explain_front``.
    fronts : tuple of Front
        The front for each margin.
    """

    margins: tuple[float, ...]
    fronts: tuple[Front, ...]

    @overload
    def __getitem__(self, index: int) -> Front: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Front, ...]: ...
    def __getitem__(self, index: int | slice) -> Front | tuple[Front, ...]:
        return self.fronts[index]

    def __len__(self) -> int:
        return len(self.fronts)

    def check(self) -> bool:
        """Check all proofs of all fronts, see ``Front.check``.

        Returns
        -------
        bool
            True if every front is proved.
        """
        return all(front.check() for front in self)

    def __str__(self) -> str:
        lines = []
        for margin, front in zip(self.margins, self, strict=True):
            lines += [[f"{margin:.6g}", *line] for line in _lines(front) or [["", "", f"no row ({front.status})"]]]
        proved = (
            "Proved: for each margin, each row is the cheapest with its number of changes, and no allowed change costs less."
        )
        doubt = "Not proved: a search stopped early, so cheaper rows may be missing."
        is_limited = any(front.status is Status.LIMIT for front in self)
        return "\n".join([*laid_out([["margin", *_HEAD], *lines], 3), "", doubt if is_limited else proved])

    def _repr_html_(self) -> str:
        titled = zip(self.margins, self, strict=True)
        return "".join(f"<p>margin {margin:.6g}</p>{front._repr_html_()}" for margin, front in titled)

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per margin and counterfactual.

        Returns
        -------
        DataFrame
            The columns are margin and those of ``Front.to_frame``; an empty front has one row with its margin and status.
        """
        rows: list[dict[str, Any]] = []
        for margin, front in zip(self.margins, self, strict=True):
            found = _frame_rows(front, "margin") or [{"status": str(front.status)}]
            rows += [{"margin": margin, **row} for row in found]
        return make_frame(rows)

    def plot(self) -> Figure:
        """Draw the fronts of all margins in one matplotlib figure, see ``Front.plot``.

        Returns
        -------
        Figure
            The figure, which is not registered with pyplot.
        """
        from counterleaf.plot import draw_fronts  # a later package

        return draw_fronts([_drawn(front) for front in self], [f"margin {margin:.6g}" for margin in self.margins])


def find_front(solve: Callable[[tuple[Constraint, ...], bool], Explanation], features: int) -> Front:
    """Return the front of a question about a row with some number of features.

    ``solve(constraints, conflict)`` explains the row with further constraints, and finds a conflict if there is no answer.
    """
    whole = solve((), True)
    searches: list[Explanation] = []
    if whole.status is not Status.INFEASIBLE:
        # as many changes as the cheapest row has suffice; without a row, until the limit stops a search with fewer changes
        enough = len(whole[0].changes) if len(whole) else features + 1
        for count in range(enough):
            found = solve((max_changes(count),), False)
            searches.append(found)
            if found.status is Status.LIMIT if not len(whole) else len(found) and not _is_cheaper(whole, found):
                break
    searches.append(whole)
    return Front(tuple(_points(searches)), tuple(searches))


def _points(searches: Sequence[Explanation]) -> list[Explanation]:
    """Return the explanations that are cheaper than all before."""
    out: list[Explanation] = []
    for one in searches:
        if len(one) and (not out or _is_cheaper(one, out[-1])):
            out.append(one)
    return out


def _is_cheaper(one: Explanation, other: Explanation) -> bool:
    """Return whether an answer costs less than another one by more than rounding, and less than the other's proved bound."""
    cost, limit = one[0].cost, other[0].cost
    proved = other.lower_bound if other.status is Status.OPTIMAL else limit
    return cost < min(limit - GAP * abs(limit), proved)


def _lines(front: Front) -> list[list[str]]:
    """Return the number of changes, the cost and the changes of each point, in words."""
    costs = apart([one.cost for one in front])
    return [[str(len(one[0].changes)), cost, _changes(one)] for one, cost in zip(front.explanations, costs, strict=True)]


def _changes(answer: Explanation) -> str:
    parts = [f"{label_of(answer.schema.features[d])} {old} -> {new}" for d, (old, new) in written(answer, 0).items()]
    more = len(answer[0].changes) - len(parts)
    shown = " ".join(", ".join(parts + [f"{more} more"] * bool(more)).split()) or "nothing"
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."


def _proved(front: Front, terms: Terms) -> str:
    """Return what was proved about a front and whether the model confirms it, in words."""
    refuted = sum(not one.confirmed for one in front)
    says = f"{terms.model} confirms {'it' if len(front) == 1 else 'every row'}."
    if refuted:
        says = (
            f"NOT confirmed: {terms.model[0].lower()}{terms.model[1:]} does not reach the target for {refuted} of these rows."
        )
    if not all(one.proof_holds for one in front.searches):
        return f"NOT proved: a proof stored with this front is not valid. {says}"
    if front.status is Status.LIMIT:
        return f"Not proved: a search stopped early, so there may be cheaper rows, and rows with fewer changes. {says}"
    first, several = len(front[0].changes), len(front) > 1
    if not first and not several:
        return f"Proved: nothing has to change, and no allowed change costs less. {says}"
    features = "one feature" if first == 2 else f"{first - 1} features or fewer"
    parts = [f"no allowed change of {features} reaches the target"] * (first > 1)
    parts += ["each row is the cheapest with its number of changes"] * several
    parts.append(f"no allowed change costs less than {'the last row' if several else 'this one'}")
    return f"Proved: {'; '.join(parts)}. {says}"


def _frame_rows(front: Front, *others: str) -> list[dict[str, Any]]:
    """Return one dict per point; ``others`` are the names of further columns."""
    taken = {*_ADDED, *others} & set(front.searches[-1].schema.names)
    if taken:
        raise CounterleafError(f"features named {sorted(taken)} collide with columns of the result; rename them")
    rows = []
    for answer in front.explanations:
        (best,) = records(take(answer.to_frame(), slice(1, 2)))
        rows.append({"n_changed": len(answer[0].changes), "status": str(answer.status), **best})
    return rows


def _drawn(front: Front) -> tuple[list[int], list[float], list[list[str]]]:
    """Return the number of changes, the costs and the labels of the changed features of each point."""
    labels = {feature.name: label_of(feature) for one in front.searches[:1] for feature in one.schema}
    changed = [[labels[name] for name in one.changes] for one in front]
    return [len(one.changes) for one in front], [one.cost for one in front], changed
