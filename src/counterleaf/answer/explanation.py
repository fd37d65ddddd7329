"""Answers as values: what changed, what it costs, what is proved, what the model said."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from counterleaf.answer import text as words
from counterleaf.errors import CounterleafError
from counterleaf.proof.certificate import Certificate, Status
from counterleaf.question.constraint import Constraint
from counterleaf.table.frames import make_frame
from counterleaf.table.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Counterfactual:
    """The best row of one leaf.

    ``row`` has the type and units of the source; ``changes`` maps each changed feature to (from, to).
    ``cost`` is the whole objective, class cost included, and no row of this leaf costs less than ``lower_bound``.
    ``confirmed`` is True if the user's own model returned ``label`` for this very row.
    """

    row: Any = field(repr=False)
    changes: dict[str, tuple[Any, Any]]
    cost: float
    lower_bound: float
    label: Any
    leaf: int
    confirmed: bool

    @property
    def gap(self) -> float:
        """What the row costs above ``lower_bound``."""
        return self.cost - self.lower_bound


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Sequence[Counterfactual]):
    """Counterfactuals in order of cost, with a status and a proof.

    ``status`` is "optimal", "infeasible" (no such row exists: no counterfactuals) or "limit" (stopped early: the
    best so far). No row that reaches the target costs less than ``lower_bound``.

    ``conflict`` is, where the status is "infeasible", a smallest set of the question's own constraints that leave no
    row, each such claim proved by solving; empty if no row exists even without them. Where a limit of time or states cut the
    solving short, they still leave no row but may not be the fewest.

    ``print`` and notebooks write numbers with as few digits as leave the row valid; the rows themselves are exact.
    """

    status: Status
    maker: Callable[[], tuple[Counterfactual, ...]] = field(repr=False)  # called when they are first read
    lower_bound: float
    source: Any  # the row, in the user's own type
    source_label: Any
    target: tuple[Any, ...]
    schema: Schema = field(repr=False)
    certificate: Certificate = field(repr=False)
    conflict: tuple[Constraint, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    cost: Any = ""  # or, of an answer that was read from a file, what it was called

    @functools.cached_property
    def counterfactuals(self) -> tuple[Counterfactual, ...]:
        """The answers, in order of cost."""
        return self.maker()

    def __getstate__(self) -> dict[str, Any]:
        made = self.counterfactuals
        return {**self.__dict__, "maker": None, "counterfactuals": made}

    @functools.cached_property
    def proof_holds(self) -> bool:
        """Whether what is claimed has its proof. The proof of an answer that was read from a file is checked to know."""
        return self.certificate.findings.answer is not None or self.certificate.check()

    @property
    def proved(self) -> bool:
        """Whether the answer is proved cheapest, or proved impossible."""
        return self.status is not Status.LIMIT and self.proof_holds

    @property
    def gap(self) -> float:
        """What the best row costs above ``lower_bound``: 0 on axis-aligned trees, else rounding, more after a limit."""
        return self[0].cost - self.lower_bound if len(self) else 0.0

    @property
    def question(self) -> tuple[str, ...]:
        """What was asked, in words: the target, the cost, the constraints, the margin."""
        margin = self.certificate.problem.question.margin
        asked = [f"target: {', '.join(map(str, self.target))}", f"cost: {self.cost}"]
        return *asked, *(str(one) for one in self.constraints), *([f"margin: {margin:g}"] if margin else [])

    @property
    def source_values(self) -> dict[str, Any]:
        """The values of the source by feature name."""
        return dict(zip(self.schema.names, self.schema.values(self.source), strict=True))

    @overload
    def __getitem__(self, index: int) -> Counterfactual: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Counterfactual, ...]: ...
    def __getitem__(self, index: int | slice) -> Counterfactual | tuple[Counterfactual, ...]:
        if not isinstance(index, slice) and not len(self):
            raise IndexError(f"the answer holds no row: its status is {self.status}; print it to see why")
        return self.counterfactuals[index]

    def __len__(self) -> int:
        return len(self.certificate.findings.leaves)

    def __iter__(self) -> Iterator[Counterfactual]:
        return iter(self.counterfactuals)

    def __repr__(self) -> str:
        best = f", cost {self[0].cost:.4g}, {self[0].label} instead of {self.source_label}" if len(self) else ""
        return f"<Explanation: {self.status}, {len(self)} {'row' if len(self) == 1 else 'rows'}{best}>"

    def __str__(self) -> str:
        return words.text(self)

    def _repr_html_(self) -> str:
        return words.html(self)

    def to_frame(self, only_changed: bool = False) -> Any:
        """The source, then one row per counterfactual: the features, cost, lower_bound, label, leaf, confirmed.

        ``only_changed`` leaves out the features that keep their value in all of them.
        """
        source = {
            name: old for name, old in self.source_values.items() if not only_changed or any(name in c.changes for c in self)
        }
        taken = {"cost", "lower_bound", "label", "leaf", "confirmed"} & set(source)
        if taken:
            raise CounterleafError(f"features named {sorted(taken)} collide with the frame's own columns; rename them")
        rows = [{**source, "cost": 0.0, "lower_bound": 0.0, "label": self.source_label, "leaf": None, "confirmed": None}]
        for c in self:
            values = {name: c.changes[name][1] if name in c.changes else old for name, old in source.items()}
            rows.append(
                {
                    **values,
                    "cost": c.cost,
                    "lower_bound": c.lower_bound,
                    "label": c.label,
                    "leaf": c.leaf,
                    "confirmed": c.confirmed,
                }
            )
        labels = ["source", *range(1, len(self) + 1)]
        return make_frame(rows, index=labels, types={"leaf": "Int64", "confirmed": "boolean"})

    def plot(
        self,
        kind: str | None = None,
        shape: tuple[int, ...] | None = None,
        features: tuple[Any, Any] | None = None,
        count: int | None = None,
    ) -> Figure:
        """A picture of the answer, as a matplotlib figure that notebooks show and ``savefig`` saves.

        Parameters
        ----------
        kind : "changes" (what changes and its share of the cost), "regions" (the leaves over two numbers),
            "image" (the row as an image), "tree" (the paths of source and answer); by default "image" if a shape is
            given, "regions" if features are or if the table is just two numbers, else "changes".
        shape : (height, width) or (height, width, 3) of the image.
        features : the two numbers that span the regions; the others stay as in the source.
        count : most answers to show; by default 1 for "changes", 3 for "image", 9 for "regions". "tree" shows one.

        Raises
        ------
        CounterleafError
            If there is no such picture of this answer, or if matplotlib is not installed.
        """
        from counterleaf.plot import draw

        return draw(self, kind, shape, features, count)

    def to_json(self) -> str:
        """The whole answer, proof included, as JSON; numbers come back bit for bit."""
        from counterleaf.storage import explanations

        return explanations.write(self)

    @classmethod
    def from_json(cls, text: str) -> Explanation:
        """An answer that ``to_json`` wrote, to read, print or check anywhere; anything else is refused with the reason.

        ``certificate.check()`` proves it again. ``confirmed`` is what the model said when it was asked.
        """
        from counterleaf.storage import explanations

        return explanations.read(text)


def describe(
    certificate: Certificate, schema: Schema, source: Any, rows: Sequence[Any], confirmed: Sequence[bool]
) -> tuple[Counterfactual, ...]:
    """The answers of a certificate in the user's terms.

    ``source`` and ``rows`` are the source and the answers in the user's own type; ``confirmed`` says of which answers the model
    returned the label.
    """
    tree, vector, before = certificate.problem.tree, certificate.problem.source, schema.values(source)
    labels = tree.classes.tolist()
    out = []
    for found, row, agrees in zip(certificate.answers, rows, confirmed, strict=True):
        after = schema.values(row)
        changes = {schema.names[d]: (before[d], after[d]) for d in schema.changed(found.row, vector)}
        out.append(Counterfactual(row, changes, found.cost, found.bound, labels[tree.value[found.leaf]], found.leaf, agrees))
    return tuple(out)
