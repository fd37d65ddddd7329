"""``MarginPath``: explanations for several margins, from barely passing to safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from counterleaf.answer.explanation import Explanation
from counterleaf.errors import CounterleafError, number, values_of
from counterleaf.table.frames import make_frame, records, take

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class MarginPath(Sequence[Explanation]):
    """One explanation per margin.

    Parameters
    ----------
    margins : tuple of float
        The margins, in the order in which they were passed to ``explain_margins``.
    explanations : tuple of Explanation
        The explanation for each margin.
    """

    margins: tuple[float, ...]
    explanations: tuple[Explanation, ...]

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Explanation, ...]: ...
    def __getitem__(self, index: int | slice) -> Explanation | tuple[Explanation, ...]:
        return self.explanations[index]

    def __len__(self) -> int:
        return len(self.explanations)

    def __str__(self) -> str:
        lines = [["margin", "cost", "model says", "changed features"]]
        for margin, answer in zip(self.margins, self, strict=True):
            if len(answer):
                best = answer[0]
                label = str(best.label) if best.confirmed else "NOT confirmed"
                lines.append([f"{margin:.6g}", f"{best.cost:.4g}", label, str(len(best.changes))])
            else:
                lines.append([f"{margin:.6g}", "", f"no row ({answer.status})", ""])
        widths = [max(len(line[k]) for line in lines) for k in range(4)]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False, na_rep=""))

    def to_frame(self) -> Any:
        """Return a pandas frame with one row per margin.

        Returns
        -------
        DataFrame
            The columns are margin, status, and those of ``Explanation.to_frame`` for the best answer; they are missing where
            there is none.
        """
        rows = []
        for margin, answer in zip(self.margins, self, strict=True):
            best = records(take(answer.to_frame(), slice(1, 2)))
            rows.append({"margin": margin, "status": str(answer.status), **(best[0] if best else {})})
        return make_frame(rows)

    def plot(self) -> Figure:
        """Draw the cost against the margin as a matplotlib figure; margins without an answer are shaded.

        Returns
        -------
        Figure
            The figure; it is pyplot's current figure if pyplot is in use.
        """
        from counterleaf.plot import draw_margins  # a later package

        costs = [answer[0].cost if len(answer) else None for answer in self]
        return draw_margins(self.margins, costs, [answer.lower_bound if len(answer) else None for answer in self])


def read_margins(margins: Any) -> list[float]:
    """Return the margins of ``explain_margins`` as numbers."""
    listed = values_of(margins, "margins", "a list of numbers such as [0.0, 0.1, 0.2]")
    values = [number(margin, "a margin") for margin in listed]
    if not values:
        raise CounterleafError("margins is empty; expected at least one, such as [0.0]")
    return values
