"""OCEAN, in a separate Python environment: it needs Python 3.12 and pins the version of its solver."""

from __future__ import annotations

import base64
import json
import math
import pickle
import shutil
import subprocess
from pathlib import Path

import numpy as np

from counterleaf.table.features import Numeric
from counterleaf_experiments.benchmark.cases import Case
from counterleaf_experiments.benchmark.measurement import Answer, Measurement, short_message

NAME = "OCEAN, constraint programming"
WORKER = Path(__file__).with_name("ocean_worker.py")
_START = 60.0  # seconds for the imports
_VERSION = "import ocean, importlib.metadata; print(importlib.metadata.version('oceanpy'))"


def find(python: Path | None) -> tuple[str, str]:
    """Find a Python with OCEAN; returns its path, empty if there is none, and OCEAN's version."""
    command = str(python) if python is not None else shutil.which("python3.12")
    if command is None:
        return "", "absent"
    try:
        done = subprocess.run([command, "-c", _VERSION], capture_output=True, text=True, timeout=_START, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "", "absent"
    return (command, done.stdout.strip()) if done.returncode == 0 else ("", "absent")


def measure(case: Case, python: str, rows: int, budget: float, seed: int) -> Measurement:
    """Measure OCEAN on a case; an error in its process becomes a note."""
    if not python:
        return Measurement(case.title, NAME, note="absent")
    subject, rows = case.subject, min(rows, len(case.subject.places))
    labels = subject.model.classes_.tolist()
    request = {
        "model": base64.b64encode(pickle.dumps(subject.model)).decode(),
        "features": [(f.name, f.size, isinstance(f, Numeric)) for f in subject.data.schema],
        "rows": [case.source(k).tolist() for k in range(rows)],
        "targets": [labels.index(subject.targets[k]) for k in range(rows)],
        "power": case.power,
        "budget": budget,
        "seed": seed,
    }
    try:
        done = subprocess.run(
            [python, "-P", str(WORKER)],  # without the folder on the path, whose files have common names
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=2 * budget + _START,
            check=False,
        )
        response = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return Measurement(case.title, NAME, note=f"no answer within {2 * budget + _START:g} s")
    except (OSError, ValueError, IndexError) as error:
        return Measurement(case.title, NAME, note=f"failed: {short_message(error)}")
    if not isinstance(response, dict) or not response:
        return Measurement(case.title, NAME, note="failed: its output is not an answer")
    if "failed" in response:
        return Measurement(case.title, NAME, note=f"failed: {short_message(RuntimeError(response['failed']))}")
    answers = []
    for k, one in enumerate(response["answers"]):
        x = None if one.get("x") is None else np.array(one["x"])
        answers.append(Answer(one["ms"], case.valid_cost(k, x), math.nan, one.get("error", "")))
    if answers and all(answer.error for answer in answers):
        return Measurement(case.title, NAME, note=f"failed: {short_message(RuntimeError(answers[0].error))}")
    return Measurement(case.title, NAME, tuple(answers))
