"""What the best answer is: the measures that the user chooses from, in words and in the terms of the field."""

from __future__ import annotations

from counterleaf.explorer.session.question import Question

# For each cost: its name, what it leads to, and the term. A sum of shares tends to change few features, but not the fewest.
MEASURES = {
    "L1": ("few changes", "few features change, maybe by a lot", "L1, the sum of the changes"),
    "L2": ("small changes", "several features may change, each of them a little", "L2, the sum of the squared changes"),
    "mixed": ("both", "few changes, none of them large", "L1 + L2"),
    "Q": (
        "smooth changes",
        "neighbouring pixels change together",
        "Q, the squared changes and the squared differences between the changes of neighbouring pixels",
    ),
}
_SCALES = {
    "range": "each divided by the usual range of its feature",
    "std": "each in standard deviations",
    "mad": "each in median absolute deviations",
    "none": "each in the unit of its feature",
}


def describe_measure(question: Question) -> str:
    """How changes are measured, in words and in the terms of the field."""
    name, meaning, term = MEASURES[question.cost]
    name = "both few and small changes" if question.cost == "mixed" else name
    harder = any(control.multiplier != 1.0 for control in question.controls.values())
    return f"{name}: {meaning} ({term}, {_SCALES[scale_of(question)]}{', times the factors of the settings' * harder})"


def scale_of(question: Question) -> str:
    """The unit of the changes in the cost."""
    return "none" if question.cost == "Q" else question.spread


def is_effort(question: Question) -> bool:
    """Whether the cost is the effort that the page shows: the sum of the shares of the usual ranges."""
    plain = question.cost == "L1" and question.spread == "range"
    return plain and all(control.multiplier == 1.0 for control in question.controls.values())
