"""Answers as values: what changed, what it costs, what is proved, what the model said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from counterleaf.certificate import Certificate
from counterleaf.errors import CounterleafError
from counterleaf.schema import Schema
from counterleaf.search import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Counterfactual:
    """The best row of one leaf.

    ``row`` has the type and units of the source; ``changes`` maps each changed feature to (from, to).
    ``cost`` is the whole objective, class cost included, and no row of this leaf costs less than ``lower_bound``.
    ``verified`` is True if the user's own model returned ``label`` for this very row.
    """

    row: Any
    changes: dict[str, tuple[Any, Any]]
    cost: float
    lower_bound: float
    label: Any
    leaf: int
    verified: bool


@dataclass(frozen=True, slots=True, eq=False)
class Explanation(Sequence[Counterfactual]):
    """Counterfactuals in order of cost, with a status and a proof.

    ``status`` is "optimal", "infeasible" (no such row exists: no counterfactuals) or "limit" (stopped early: the
    best so far). No row that reaches the target costs less than ``lower_bound``.
    """

    status: Status
    counterfactuals: tuple[Counterfactual, ...]
    lower_bound: float
    row: Any
    label: Any
    target: tuple[Any, ...]
    schema: Schema = field(repr=False)
    certificate: Certificate = field(repr=False)

    @property
    def source(self) -> dict[str, Any]:
        """The row that was asked about, by feature name."""
        return dict(zip(self.schema.names, self.schema.values(self.row), strict=True))

    @overload
    def __getitem__(self, index: int) -> Counterfactual: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Counterfactual, ...]: ...
    def __getitem__(self, index: int | slice) -> Counterfactual | tuple[Counterfactual, ...]:
        return self.counterfactuals[index]

    def __len__(self) -> int:
        return len(self.counterfactuals)

    def __iter__(self) -> Iterator[Counterfactual]:
        return iter(self.counterfactuals)

    def __str__(self) -> str:
        lines = [self._sentence()]
        if self.counterfactuals:
            lines += ["", *_table(self)]
            lines += ["", self._proof()]
        return "\n".join(lines)

    def _sentence(self) -> str:
        wanted = " or ".join(map(str, self.target)) or "anything else"
        if self.status is Status.INFEASIBLE:
            return f"No row that obeys the constraints makes the model say {wanted}. This is proved."
        if not self.counterfactuals:
            return f"Stopped before a row was found; no row costs less than {self.lower_bound:.6g}."
        best = self.counterfactuals[0]
        if not best.changes:
            return f"Nothing has to change: the model says {best.label} for this row."
        parts = [f"{name} were {_told(new, old)} instead of {_told(old, new)}" for name, (old, new) in best.changes.items()]
        said = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        return f"If {said}, the model would say {best.label} instead of {self.label}."

    def _proof(self) -> str:
        best = self.counterfactuals[0]
        said = "confirmed by the model" if all(c.verified for c in self) else "NOT confirmed by the model"
        if self.status is Status.OPTIMAL:
            return f"Cost {best.cost:.6g}; proved: no row costs less than {self.lower_bound:.6g}; {said}."
        return f"Cost {best.cost:.6g}; not proved least: no row costs less than {self.lower_bound:.6g}; {said}."

    def to_frame(self) -> pd.DataFrame:
        """The source, then one row per counterfactual: the features, cost, lower_bound, label, leaf, verified."""
        import pandas as pd

        taken = {"cost", "lower_bound", "label", "leaf", "verified"} & set(self.schema.names)
        if taken:
            raise CounterleafError(f"features named {sorted(taken)} collide with the frame's own columns; rename them")
        rows = [{**self.source, "cost": 0.0, "lower_bound": 0.0, "label": self.label, "leaf": None, "verified": None}]
        for c in self:
            values = {name: c.changes[name][1] if name in c.changes else old for name, old in self.source.items()}
            rows.append(
                {
                    **values,
                    "cost": c.cost,
                    "lower_bound": c.lower_bound,
                    "label": c.label,
                    "leaf": c.leaf,
                    "verified": c.verified,
                }
            )
        frame = pd.DataFrame(rows, index=["source", *range(1, len(self) + 1)])
        return frame.astype({"leaf": "Int64", "verified": "boolean"})

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
        kind : "changes" (what changes and its share of the cost), "regions" (the leaves over two features),
            "image" (the row as an image), "tree" (the paths of source and answer); by default "image" if a shape is
            given, "regions" if features are or if the tree has two, else "changes".
        shape : (height, width) or (height, width, 3) of the image.
        features : the two features that span the regions; the others stay as in the source.
        count : most answers to show; by default 1 for "changes", 3 for "image", 9 for "regions". "tree" shows one.

        Raises
        ------
        CounterleafError
            If there is no such picture of this answer, or if matplotlib is not installed.
        """
        from counterleaf.plot import draw

        return draw(self, kind, shape, features, count)

    def to_json(self) -> str:
        """Source, answers, bounds and status; numbers come back bit for bit."""
        return json.dumps(
            {
                "format": "counterleaf-explanation",
                "version": 1,
                "status": str(self.status),
                "lower_bound": _finite(self.lower_bound),
                "label": _plain(self.label),
                "target": [_plain(label) for label in self.target],
                "source": {name: _plain(value) for name, value in self.source.items()},
                "counterfactuals": [
                    {
                        "row": {
                            name: _plain(c.changes[name][1] if name in c.changes else old) for name, old in self.source.items()
                        },
                        "changes": {name: [_plain(old), _plain(new)] for name, (old, new) in c.changes.items()},
                        "cost": c.cost,
                        "lower_bound": c.lower_bound,
                        "label": _plain(c.label),
                        "leaf": c.leaf,
                        "verified": c.verified,
                    }
                    for c in self
                ],
            },
            allow_nan=False,
            default=str,
        )


def _table(answer: Explanation) -> list[str]:
    """Features that change in some alternative, one line each: the source, then the alternatives, "=" for unchanged."""
    names = [name for name in answer.source if any(name in c.changes for c in answer)]
    head = ["", "source", *(f"#{k + 1}" for k in range(len(answer)))]
    body = [
        [name, f"{answer.source[name]:.6g}", *(f"{c.changes[name][1]:.6g}" if name in c.changes else "=" for c in answer)]
        for name in names
    ]
    body.append(["cost", "", *(f"{c.cost:.6g}" for c in answer)])
    body.append(["model says", str(answer.label), *(str(c.label) if c.verified else "?" for c in answer)])
    widths = [max(len(line[k]) for line in [head, *body]) for k in range(len(head))]
    return [
        "  ".join([line[0].ljust(widths[0]), *(v.rjust(w) for v, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in [head, *body]
    ]


def _told(value: Any, other: Any) -> str:
    """Six digits, or as many as it takes to tell two values apart."""
    return f"{value:.6g}" if f"{value:.6g}" != f"{other:.6g}" else repr(_plain(value))


def _plain(value: Any) -> Any:
    """A NumPy scalar as the Python value that JSON knows."""
    return value.item() if hasattr(value, "item") else value


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
