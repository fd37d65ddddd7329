"""Table 1: one person of the Adult data, asked about under more and more constraints."""

from __future__ import annotations

from typing import Any

import pandas as pd

from counterleaf.answer.explanation import Explanation
from counterleaf.datasets import load_adult
from counterleaf.experiments.paper import paper
from counterleaf.explainer import Explainer
from counterleaf.model.tree import Tree
from counterleaf.question.constraint import freeze
from counterleaf.question.cost import L2


def answers(tree: Tree) -> list[Explanation]:
    """The person's questions to an oblique tree; ages, gains and hours are whole numbers."""
    explainer = Explainer(tree, schema=load_adult().schema)
    return [
        explainer.explain(paper.PERSON, target=">50K", cost=L2(), constraints=[freeze(*locks)] if locks else [])
        for locks in paper.PERSON_LOCKS
    ]


def illustrate(tree: Tree) -> pd.DataFrame:
    """A line per feature: the source, our three answers and the paper's; "=" for what stays, a lock for what must."""
    found = answers(tree)
    lines: list[dict[str, Any]] = []
    for name, value in paper.PERSON.items():
        line: dict[str, Any] = {"feature": name, "source": value}
        for k, answer in enumerate(found):
            line[f"x{k + 1}"] = _cell(name, k, answer[0].changes.get(name, (value, "="))[1] if len(answer) else "")
        for k, told in enumerate(paper.PERSON_ANSWERS):
            line[f"paper x{k + 1}"] = _cell(name, k, told.get(name, "="))
        lines.append(line)
    for title, ours in (
        ("income", lambda answer: answer[0].label),
        ("cost (l2)", lambda answer: f"{answer[0].cost:.6g}"),
        ("proved", lambda answer: "yes" if answer.certificate.check() else "NO"),
        ("confirmed by the tree", lambda answer: "yes" if answer[0].confirmed else "NO"),
    ):
        line = {"feature": title, "source": found[0].source_label if title == "income" else ""}
        line |= {f"x{k + 1}": ours(answer) if len(answer) else "none" for k, answer in enumerate(found)}
        line |= {f"paper x{k + 1}": ">50K" if title == "income" else "" for k in range(len(paper.PERSON_ANSWERS))}
        lines.append(line)
    return pd.DataFrame(lines)


def _cell(name: str, level: int, value: Any) -> str:
    return "locked" if value == "=" and name in paper.PERSON_LOCKS[level] else str(value)
