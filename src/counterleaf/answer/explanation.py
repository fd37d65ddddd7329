"""``Explanation`` and ``Counterfactual``: the changes, their cost, the proof, and the confirmation by the user's model."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from counterleaf.answer import text as as_text
from counterleaf.errors import CounterleafError, check_flag
from counterleaf.model.decision import Decision, ScoreDecision
from counterleaf.proof.certificate import Certificate, Status
from counterleaf.proof.compound import Compound
from counterleaf.question.constraints.kinds import Constraint
from counterleaf.question.posing import Basis
from counterleaf.question.question import Question
from counterleaf.table.frames import make_frame, side_by_side
from counterleaf.table.row_types import frame_of_rows
from counterleaf.table.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FILE = "an answer that Explanation.save wrote"
_COLUMNS = ("cost", "lower_bound", "label", "leaf", "confirmed")  # of to_frame, after the features


@dataclass(frozen=True, slots=True, eq=False)
class Counterfactual:
    """The cheapest row of one leaf, or of an ensemble.

    Parameters
    ----------
    row : dict, Series, DataFrame or array-like
        The changed row, in the type and units of the source.
    changes : dict
        The old and the new value of each changed feature, by name.
    cost : float
        The whole objective, class cost included.
    lower_bound : float
        No row of this leaf costs less; for an ensemble, no row at all that the question allows.
    label : class
        The class that the tree or the ensemble predicts for the row.
    leaf : int
        The node of the tree that the row falls into; 0 for an ensemble, in which a row falls into one leaf of every tree.
    confirmed : bool
        Whether the user's model predicted ``label``, or reached the interval of the target, for exactly this row.
    number : float or None
        The probability or value that the target is about, as the tree computes it; None if the target is a class.
    """

    row: Any = field(repr=False)
    changes: dict[str, tuple[Any, Any]]
    cost: float
    lower_bound: float
    label: Any
    leaf: int
    confirmed: bool
    number: float | None = None

    @property
    def gap(self) -> float:
        """Difference between ``cost`` and ``lower_bound``."""
        return self.cost - self.lower_bound


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Sequence[Counterfactual]):
    """Counterfactuals in order of cost, with a status and a proof.

    ``print`` and notebooks write numbers with as few digits as keep the row valid; the rows themselves are exact.

    Parameters
    ----------
    status : Status
        "optimal", "infeasible" (no such row exists, so there are no counterfactuals) or "limit" (the search stopped early, and
        these are the best rows so far).
    maker : callable
        Returns the counterfactuals; it is called when they are first read.
    lower_bound : float
        No row that reaches the target costs less.
    source : dict, Series, DataFrame or array-like
        The row that was explained, in the user's type.
    source_label : class
        The class of the source; its value for regression.
    target : tuple, Probability or Value
        The classes that an answer may have, or the interval of its probability or value.
    schema : Schema
        The features of the table.
    certificate : Certificate or Compound
        The proof; ``certificate.check()`` verifies it.
    decision : Decision or ScoreDecision
        The plain tree that the proof is about, and the model's tree that it comes from; or the ensemble and the goal.
    conflict : tuple of Constraint, default=()
        If the status is "infeasible", a smallest set of constraints that leave no row, proved by searches; empty if no row
        exists even without constraints. If a limit stopped these searches, the constraints still leave no row, but a smaller
        set may do so as well.
    constraints : tuple of Constraint, default=()
        The constraints of the query.
    cost : Cost or str, default=""
        The cost of the query; its text if the explanation was read from a file.
    question : Question
        The question.
    types : mapping, default={}
        The dtype of each column of the user's pandas table.
    basis : Basis
        The spreads of the data and the accuracy of the model's sums, from which a file poses the question again.
    """

    status: Status
    maker: Callable[[], tuple[Counterfactual, ...]] = field(repr=False)
    lower_bound: float
    source: Any
    source_label: Any
    target: Any
    schema: Schema = field(repr=False)
    certificate: Certificate | Compound = field(repr=False)
    decision: Any = field(repr=False)
    conflict: tuple[Constraint, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    cost: Any = ""
    question: Question = field(default_factory=Question)
    types: Mapping[str, Any] = field(default_factory=dict, repr=False)
    basis: Basis = field(default_factory=Basis, repr=False)

    @functools.cached_property
    def counterfactuals(self) -> tuple[Counterfactual, ...]:
        """The counterfactuals, cheapest first."""
        return self.maker()

    def __getstate__(self) -> dict[str, Any]:
        made = self.counterfactuals
        return {**self.__dict__, "maker": None, "counterfactuals": made}

    @functools.cached_property
    def proof_holds(self) -> bool:
        """Whether the proof holds; that of an explanation read from a file is checked first."""
        return self.certificate.is_fresh or self.certificate.check()

    @property
    def proved(self) -> bool:
        """Whether the answer is proved to be the cheapest, or proved not to exist."""
        return self.status is not Status.LIMIT and self.proof_holds

    @property
    def best(self) -> Counterfactual:
        """The cheapest counterfactual; an error says why if there is none."""
        if not len(self):
            raise CounterleafError(f"there is no counterfactual: the status is {self.status}; print the explanation to see why")
        return self[0]

    @property
    def gap(self) -> float:
        """Difference between the cost of the best row and ``lower_bound``.

        It is 0 on axis-aligned trees, rounding error on oblique ones, and more if a limit stopped the search.
        """
        return self[0].cost - self.lower_bound if len(self) else 0.0

    @property
    def words(self) -> tuple[str, ...]:
        """The question as text: target (with the prices of classes), cost, constraints, margin and limits, one string each."""
        return self.question.words(self.cost, self.target)

    @property
    def class_prices(self) -> dict[Any, float]:
        """The classes of the target and the price of each, which is part of the cost; empty if the target is an interval."""
        if not isinstance(self.target, tuple):
            return {}
        decision = self.decision
        labels, goal = decision.model.classes.tolist(), decision.goal
        if isinstance(decision, Decision) and decision.tree is decision.model:
            # no row pays for a class that no leaf has, and files leave its price out
            goal = {k: goal.get(k, 0.0) for k in set(decision.tree.value[decision.tree.leaves].tolist())}
        return {label: goal.get(labels.index(label), 0.0) for label in self.target}

    @property
    def margin_text(self) -> str:
        """The margin in words; empty if it is 0."""
        margin = self.certificate.problem.splits.margin
        if not isinstance(margin, tuple):
            return f"{margin:g}" if margin else ""
        named = [f"{value:.4g} of {name}" for name, value in zip(self.schema.names, margin, strict=True) if value]
        return ", ".join(named) if len(named) <= 3 else f"{named[0]} and margins of {len(named) - 1} other features"

    @property
    def source_number(self) -> float | None:
        """The probability or value of the source that the target is about; None if the target is a class."""
        numbers = self.decision.numbers(self.certificate.problem.source[None])
        return None if numbers is None else numbers[0]

    def target_text(self, between: str = " or ") -> str:
        """Return the target in words.

        Parameters
        ----------
        between : str, default=" or "
            The text between several classes.

        Returns
        -------
        str
            The classes, or the interval.
        """
        return between.join(map(str, self.target)) if isinstance(self.target, tuple) else str(self.target)

    @property
    def source_values(self) -> dict[str, Any]:
        """The values of the source, by feature name."""
        return dict(zip(self.schema.names, self.schema.values(self.source), strict=True))

    @overload
    def __getitem__(self, index: int) -> Counterfactual: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Counterfactual, ...]: ...
    def __getitem__(self, index: int | slice) -> Counterfactual | tuple[Counterfactual, ...]:
        if not isinstance(index, slice) and not len(self):
            raise IndexError(f"the explanation has no counterfactuals: its status is {self.status}; print it to see why")
        return self.counterfactuals[index]

    def __len__(self) -> int:
        return len(self.certificate.findings.leaves)

    def __iter__(self) -> Iterator[Counterfactual]:
        return iter(self.counterfactuals)

    def __repr__(self) -> str:
        best = f", cost {self[0].cost:.4g}, {self[0].label} instead of {self.source_label}" if len(self) else ""
        return f"<Explanation: {self.status}, {len(self)} {'row' if len(self) == 1 else 'rows'}{best}>"

    def __str__(self) -> str:
        return as_text.text(self)

    def _repr_html_(self) -> str:
        return as_text.html(self)

    def to_frame(self, only_changed: bool = False) -> Any:
        """Return the source and the counterfactuals as a pandas frame, one row each, in the dtypes of the user's table.

        Parameters
        ----------
        only_changed : bool, default=False
            Whether to leave out the features that keep their value in every counterfactual.

        Returns
        -------
        DataFrame
            The columns are those of the source, then cost, lower_bound, label, leaf and confirmed. A column that is
            not a feature is left out if it has one of these names.

        Raises
        ------
        CounterleafError
            If a feature that is not left out has the name of one of the other columns.
        """
        check_flag(only_changed, "only_changed")
        changed = {name for c in self for name in c.changes}
        if taken := set(_COLUMNS) & (changed if only_changed else set(self.schema.names)):
            raise CounterleafError(f"features named {sorted(taken)} collide with columns of the result; rename them")
        rows = frame_of_rows([self.source, *(c.row for c in self)], self.schema, self.types)
        kept = [name for name in rows.columns if (str(name) in changed if only_changed else name not in _COLUMNS)]
        first = dict(zip(_COLUMNS, (0.0, 0.0, self.source_label, None, None), strict=True))
        lines = [first, *({name: getattr(c, name) for name in _COLUMNS} for c in self)]
        labels = ["source", *range(1, len(self) + 1)]
        more = make_frame(lines, index=labels, types={"leaf": "Int64", "confirmed": "boolean"})
        return side_by_side(rows[kept], more)

    def plot(
        self,
        kind: str | None = None,
        shape: tuple[int, ...] | None = None,
        features: tuple[Any, Any] | None = None,
        count: int | None = None,
    ) -> Figure:
        """Draw the explanation as a matplotlib figure, which notebooks show and ``savefig`` saves.

        Parameters
        ----------
        kind : {"changes", "regions", "image", "tree"}, optional
            "changes" shows each change and its share of the cost, "regions" the leaves over two numeric features, "image" the
            row as an image, "tree" the paths of source and answer. An ensemble has only "changes" and "image". By default
            "image" if ``shape`` is passed, "regions" if ``features`` is passed or the table of a single tree has just two
            numeric features, else "changes".
        shape : tuple of int, optional
            The height and width of the image; (height, width, 3) for colours.
        features : tuple of str, optional
            The two numeric features that span the regions; the others stay as in the source.
        count : int, optional
            The largest number of answers to show; by default 1 for "changes", 3 for "image" and 9 for "regions". "tree" shows
            one.

        Returns
        -------
        Figure
            The figure; it is pyplot's current figure if pyplot is in use.

        Raises
        ------
        CounterleafError
            If this explanation cannot be drawn so, or if matplotlib is not installed.
        """
        from counterleaf.plot import draw  # a later package

        return draw(self, kind, shape, features, count)

    def to_json(self) -> str:
        """Write the whole explanation, proof included, as JSON; numbers are read back bit for bit.

        Returns
        -------
        str
            The JSON text.

        Raises
        ------
        CounterleafError
            If a class or a value of the source cannot be written as JSON.
        """
        from counterleaf.storage import explanations  # a later package

        return explanations.write(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanation:
        """Read an explanation that ``to_json`` wrote, to print or check it anywhere.

        ``certificate.check()`` verifies the proof again. ``confirmed`` is the result from the time of writing.

        Parameters
        ----------
        text : str or bytes
            The JSON text.

        Returns
        -------
        Explanation
            The same explanation.

        Raises
        ------
        CounterleafError
            If the text is anything else.
        """
        from counterleaf.storage import explanations  # a later package

        return explanations.read(text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole explanation, proof included, to a file; the file is written atomically.

        Parameters
        ----------
        path : str or path-like
            The file, such as ``"answer.json"``.

        Raises
        ------
        CounterleafError
            If a value cannot be written as JSON, or the file cannot be one.
        """
        from counterleaf.storage.files import path_of, write  # a later package

        write(path_of(path), self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Explanation:
        """Read an explanation that ``save`` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Explanation
            The same explanation, see ``from_json``.

        Raises
        ------
        CounterleafError
            If the file holds anything else.

        Examples
        --------
        >>> import tempfile
        >>> from counterleaf import Explanation, explain
        >>> from counterleaf.datasets import example_tree
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explain(example_tree(), [0.0, 0.0], target="yes").save(f"{folder}/answer.json")
        ...     Explanation.load(f"{folder}/answer.json").best.cost
        0.5
        """
        from counterleaf.storage.files import contents, what_is  # a later package

        content = contents(path, _FILE)
        try:
            return cls.from_json(content)
        except CounterleafError as error:
            kind = what_is(content)
            reason = f": {error}" if kind == "an answer" else f" is {kind}; expected {_FILE}"
            raise CounterleafError(f"{path}{reason}") from None


def describe(
    certificate: Certificate | Compound,
    decision: Decision | ScoreDecision,
    schema: Schema,
    source: Any,
    rows: Sequence[Any],
    confirmed: Sequence[bool],
) -> tuple[Counterfactual, ...]:
    """Return the answers of a certificate in the terms of the table.

    ``source`` and ``rows`` are the source and the answers in the user's type; ``confirmed`` says for each answer whether the
    model predicted its label or reached the interval of the target.
    """
    vector, before, points = certificate.problem.source, schema.values(source), certificate.findings.points
    labels, numbers = decision.labels(points), decision.numbers(points)
    out = []
    for k, (found, row, agrees) in enumerate(zip(certificate.answers, rows, confirmed, strict=True)):
        after = schema.values(row)
        changes = {schema.names[d]: (before[d], after[d]) for d in schema.changed(found.row, vector)}
        number, leaf = None if numbers is None else numbers[k], leaf_of(certificate, decision, k)
        out.append(Counterfactual(row, changes, found.cost, found.bound, labels[k], leaf, agrees, number))
    return tuple(out)


def leaf_of(certificate: Certificate | Compound, decision: Decision | ScoreDecision, k: int) -> int:
    """Return the leaf of the model's tree that holds answer k; each search may be about a plain tree of its own."""
    origin = (certificate.owner(k).decision or decision).origin
    return int(origin[certificate.findings.leaves[k]])
