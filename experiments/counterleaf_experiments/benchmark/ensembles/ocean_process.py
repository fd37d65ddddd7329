"""OCEAN's constraint programming on a forest or boosted trees, in a separate Python that answers one question at a time."""

from __future__ import annotations

import base64
import json
import math
import pickle
import queue
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from counterleaf.table.features import Numeric
from counterleaf_experiments.benchmark.ensembles.measurement import LIMIT, OPTIMAL, Ask, ProcessGoneError, Reply
from counterleaf_experiments.benchmark.ensembles.questions import Cell
from counterleaf_experiments.benchmark.methods.ocean import WORKER

NAME = "OCEAN-CP"
_START = 60.0  # seconds for the imports
_STATUS = {"OPTIMAL": OPTIMAL, "FEASIBLE": LIMIT, "UNKNOWN": LIMIT, "INFEASIBLE": "infeasible"}


@dataclass(frozen=True, slots=True)
class Ocean:
    """OCEAN in the given Python, with one thread."""

    python: str  # empty if there is none
    found: str  # OCEAN's version
    name: str = NAME
    all_rows: bool = False

    @property
    def version(self) -> str:
        """The version of oceanpy; empty if there is none."""
        return self.found if self.python else ""

    @contextmanager
    def prepare(self, cell: Cell, budget: float, seed: int) -> Iterator[Ask]:
        """Start the process and let it build its model; ends the process afterwards."""
        request = {
            "model": base64.b64encode(pickle.dumps(cell.model)).decode(),
            # names without blanks: OCEAN finds the columns of XGBoost's splits by their names
            "features": [(f"f{d}", f.size, isinstance(f, Numeric)) for d, f in enumerate(cell.data.schema)],
            "power": 1,
            "budget": budget,
            "seed": seed,
        }
        with _Process([self.python, "-P", str(WORKER), "--serve"]) as process:
            ready = process.send(request, _START + 10 * budget)
            yield _Asker(process, cell, budget, float(ready["cpu"]))


@dataclass(frozen=True, slots=True)
class _Asker:
    """Send a question to the process, and read its answer."""

    process: _Process
    cell: Cell
    budget: float
    prepare: float  # processor seconds

    def __call__(self, k: int) -> Reply:
        question = {"row": self.cell.source(k).tolist(), "target": self.cell.targets[k]}
        reply = self.process.send(question, _START + 3 * self.budget)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        x = None if reply["x"] is None else np.array(reply["x"], np.float64)
        claimed = math.nan if reply["cost"] is None else float(reply["cost"])
        return Reply(_STATUS.get(reply["status"], reply["status"]), x, claimed, reply["cpu"], reply["wall"])


class _Process:
    """A process that answers a line of JSON with a line of JSON."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[str] = self._process.stdin
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def _read(self, output: IO[str]) -> None:
        """Pass on the lines of the process; an empty one says that it has ended."""
        with output:
            for line in output:
                self._lines.put(line)
        self._lines.put("")

    def send(self, message: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a message, and return the answer to it."""
        try:
            self._input.write(json.dumps(message) + "\n")
            self._input.flush()
            line = self._lines.get(timeout=seconds)
            answer = json.loads(line)
        except queue.Empty:
            raise ProcessGoneError(f"no answer within {seconds:g} s") from None
        except (OSError, ValueError):
            raise ProcessGoneError("its process ended without an answer") from None
        if not isinstance(answer, dict):
            raise ProcessGoneError("its output is not an answer")
        if "failed" in answer:
            raise ProcessGoneError(str(answer["failed"]))
        return answer

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        with suppress(OSError):  # a line that the process did not read
            self._input.close()
