"""Write the bits of the answers to thousands of fixed random questions, to compare them before and after a change.

    python bench/answers.py before.txt
    python bench/answers.py after.txt --against before.txt    # prints the questions whose answers differ, exit code 1

The questions come from the generators of the tests: oblique and axis-aligned trees, coupled costs, ensembles of every library,
pipelines, alternatives and batches. A line has the question's name, what the answer says, and a hash of its bits.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import warnings
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support import forest_questions, strategies

import counterleaf as cl

TREES, ENSEMBLES = ("random", "whole", "coupled"), ("RandomForest", "GradientBoosting", "HistGradientBoosting", "AdaBoost",
    "Bagging", "VotingHard", "xgboost", "lightgbm", "catboost", "ydf")  # fmt: skip
BLOCK = 25  # questions of one kind that a worker answers at a time


def bits(answer: Any) -> str:
    """Return what an answer says, and a hash of its bits."""
    words = [str(answer.status), answer.lower_bound, answer.source_label, answer.certificate.check()]
    for one in answer:
        words += [one.cost, one.lower_bound, one.label, one.leaf, one.confirmed, one.number, np.asarray(one.row).tolist()]
    said = f"{answer.status} {answer[0].cost:.9g} {len(answer)}" if len(answer) else str(answer.status)
    return f"{said} {hashlib.sha256(repr(words).encode()).hexdigest()[:16]}"


def tree_questions(kind: str, seed: int) -> Iterator[tuple[str, Any]]:
    """Ask a random tree: one answer, alternatives, a batch."""
    rng = np.random.default_rng(seed)
    case = getattr(strategies, f"{kind}_case")(rng)
    explainer = cl.Explainer(case.tree, schema=case.schema)
    question = {"target": case.target, "cost": case.cost, "constraints": case.constraints, "margin": case.margin}
    yield "explain", lambda: bits(explainer.explain(case.row, **question))
    yield "leaves", lambda: bits(explainer.explain(case.row, count=3, distinct="leaves", **question))
    yield "features", lambda: bits(explainer.explain(case.row, count=2, **question))
    rows = (
        case.row + case.scale * rng.normal(size=(3, len(case.row)))
        if kind == "random"
        else case.row + rng.integers(-2, 3, (3, len(case.row)))
    )
    yield "batch", lambda: frame_bits(explainer.explain_many(rows, progress=False, **question))


def frame_bits(frame: Any) -> str:
    """Return a hash of every cell of a frame."""
    text = repr([(name, [repr(value) for value in frame[name].tolist()]) for name in sorted(frame.columns)])
    return f"{len(frame)} rows {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def ensemble_questions(library: str, seed: int) -> Iterator[tuple[str, Any]]:
    """Ask a random ensemble: one answer, and a batch."""
    rng = np.random.default_rng(seed)
    kinds = ("plain",) if library == "ydf" else ("plain", "mixed pipeline", "gappy pipeline")
    kind = kinds[seed % len(kinds)]
    explainer, question, target, row = forest_questions.random_question(
        rng, library, seed, bool(seed % 2), 2 + seed % 3 // 2, kind
    )
    options = {"target": target, "cost": question.cost, "constraints": [rule.constraint for rule in question.rules]}
    yield "explain", lambda: bits(explainer.explain(row, **options))
    rows = question.frame.iloc[:3]
    yield "batch", lambda: frame_bits(explainer.explain_many(rows, progress=False, **options))


def answers(task: tuple[str, int]) -> list[str]:
    """Return the lines of a block of questions."""
    warnings.simplefilter("ignore")
    kind, block = task
    lines = []
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        try:
            questions = list(tree_questions(kind, seed) if kind in TREES else ensemble_questions(kind, seed))
        except cl.CounterleafError as error:
            questions = [("model", lambda error=error: f"refused: {error}")]
        for name, ask in questions:
            try:
                said = ask()
            except cl.CounterleafError as error:
                said = f"refused: {error}"
            lines.append(f"{kind} {seed} {name}: {said}")
    return lines


def main() -> None:
    """Ask, write, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--against", type=Path, help="the file of another run")
    parser.add_argument("--trees", type=int, default=1600, help="seeds of each kind of tree, four questions each")
    parser.add_argument("--ensembles", type=int, default=100, help="seeds of each library, two questions each")
    options = parser.parse_args()
    tasks = [(kind, block) for kind in TREES for block in range(options.trees // BLOCK)]
    tasks += [(kind, block) for kind in ENSEMBLES for block in range(options.ensembles // BLOCK)]
    with get_context("spawn").Pool(2) as pool:
        lines = sorted(line for block in pool.imap_unordered(answers, tasks) for line in block)
    options.out.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} answers in {options.out}")
    if options.against:
        before, after = (
            dict(line.split(": ", 1) for line in path.read_text().splitlines()) for path in (options.against, options.out)
        )
        different = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        for name in different:
            print(f"{name}:\n  {before.get(name)}\n  {after.get(name)}")
        sys.exit(f"{len(different)} answers differ" if different else 0)


if __name__ == "__main__":
    main()
