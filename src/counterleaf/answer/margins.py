"""Answers for a range of margins, from barely passing to safe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from counterleaf.answer.explanation import Explanation
from counterleaf.table.frames import make_frame, records, take

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class MarginPath(Sequence[Explanation]):
    """One Explanation per margin, in the order in which the margins were given."""

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

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.explanations)

    def __str__(self) -> str:
        lines = [["margin", "cost", "model says", "changed features"]]
        for margin, answer in zip(self.margins, self, strict=True):
            if len(answer):
                best = answer[0]
                lines.append([f"{margin:.6g}", f"{best.cost:.4g}", str(best.label), str(len(best.changes))])
            else:
                lines.append([f"{margin:.6g}", "", f"no row ({answer.status})", ""])
        widths = [max(len(line[k]) for line in lines) for k in range(4)]
        return "\n".join("  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) for line in lines)

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False, na_rep=""))

    def to_frame(self) -> Any:
        """One row per margin: margin, status, and the best answer as in ``Explanation.to_frame``; gaps where there is none."""
        rows = []
        for margin, answer in zip(self.margins, self, strict=True):
            best = records(take(answer.to_frame(), slice(1, 2)))
            rows.append({"margin": margin, "status": str(answer.status), **(best[0] if best else {})})
        return make_frame(rows)

    def plot(self) -> Figure:
        """The cost against the margin, as a matplotlib figure; margins that leave no room are marked."""
        from counterleaf.plot import draw_path

        costs = [answer[0].cost if len(answer) else None for answer in self]
        return draw_path(self.margins, costs, [answer.lower_bound if len(answer) else None for answer in self])
