"""OCEAN, in another Python: it needs 3.12 and pins its solver, so it runs beside us and not among us."""

from __future__ import annotations

import base64
import json
import math
import pickle
import shutil
import subprocess
from pathlib import Path

import numpy as np

from counterleaf.experiments.benchmark.cases import Case
from counterleaf.experiments.benchmark.line import Answer, Line, one_line
from counterleaf.table.features import Numeric

NAME = "OCEAN, constraint programming"
_WORKER = Path(__file__).with_name("ocean_worker.py")
_START = 60.0  # seconds for its imports
_VERSION = "import ocean, importlib.metadata; print(importlib.metadata.version('oceanpy'))"


def find(python: Path | None) -> tuple[str, str]:
    """(the Python that has OCEAN, its version); the Python is empty where there is none."""
    command = str(python) if python is not None else shutil.which("python3.12")
    if command is None:
        return "", "absent"
    try:
        done = subprocess.run([command, "-c", _VERSION], capture_output=True, text=True, timeout=_START, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "", "absent"
    return (command, done.stdout.strip()) if done.returncode == 0 else ("", "absent")


def measure(case: Case, python: str, rows: int, budget: float, seed: int) -> Line:
    """Its line on a case; whatever happens over there becomes a note."""
    if not python:
        return Line(case.title, NAME, note="absent")
    subject, rows = case.subject, min(rows, len(case.subject.places))
    labels = subject.model.classes_.tolist()
    asked = {
        "model": base64.b64encode(pickle.dumps(subject.model)).decode(),
        "features": [(f.name, f.size, isinstance(f, Numeric)) for f in subject.ground.schema],
        "rows": [case.source(k).tolist() for k in range(rows)],
        "targets": [labels.index(subject.targets[k]) for k in range(rows)],
        "power": case.power,
        "budget": budget,
        "seed": seed,
    }
    try:
        done = subprocess.run(
            [python, "-P", str(_WORKER)],  # without its folder on the path: the files there have common names
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=2 * budget + _START,
            check=False,
        )
        said = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return Line(case.title, NAME, note=f"no answer within {2 * budget + _START:g} s")
    except (OSError, ValueError, IndexError) as error:
        return Line(case.title, NAME, note=f"failed: {one_line(error)}")
    if not isinstance(said, dict) or not said:
        return Line(case.title, NAME, note="failed: what it wrote is no answer")
    if "failed" in said:
        return Line(case.title, NAME, note=f"failed: {one_line(RuntimeError(said['failed']))}")
    answers = []
    for k, one in enumerate(said["answers"]):
        x = None if one.get("x") is None else np.array(one["x"])
        answers.append(Answer(one["ms"], case.judge(k, x), math.nan, one.get("error", "")))
    if answers and all(answer.error for answer in answers):
        return Line(case.title, NAME, note=f"failed: {one_line(RuntimeError(answers[0].error))}")
    return Line(case.title, NAME, tuple(answers))
