"""Kernels as plain Python (NUMBA_DISABLE_JIT=1) answer as the compiled ones do, up to rounding, and prove it."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from batch_cases import column, number_batch, table_batch
from strategies import coupled_case, random_case, whole_case
from table_cases import table_case

import counterleaf as cl

STATES = 60  # a state takes a hundred times as long


def answers(kind):
    """What each of some random questions got, in plain numbers."""
    out = []
    if kind == "batch":
        for seed in range(4):
            explainer, rows, question = (number_batch if seed % 2 else table_batch)(np.random.default_rng(seed))
            frame = explainer.explain_many(rows, **question, max_states=STATES, progress=False)
            out += [column(frame, name) for name in ("status", "label", "leaf", "cost", "lower_bound")]
        return out
    make = {"numbers": random_case, "whole": whole_case, "coupled": coupled_case, "table": table_case}[kind]
    for seed in range(12 if kind == "coupled" else 30):
        case = make(np.random.default_rng(seed))
        explainer = cl.Explainer(case.tree, schema=case.schema)
        if kind == "table":
            question = {"cost": case.cost(), "constraints": case.constraints()}
        else:
            question = {"cost": case.cost, "constraints": case.constraints, "margin": case.margin}
        answer = explainer.explain(case.row, target=case.target, **question, count=2, max_states=STATES)
        out.append([str(answer.status), answer.certificate.check(), *([str(c.label), c.leaf, c.cost] for c in answer)])
        out[-1].append(answer.lower_bound)
    return out


def interpreted(kind):
    """The same answers from another process, which refuses every warning."""
    paths = [str(Path(cl.__file__).parents[1]), str(Path(__file__).parent)]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, __file__, kind], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not done.stderr  # no word of compiling, however long a question takes
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["numbers", "whole", "coupled", "table", "batch"])
def test_interpreted_kernels_answer_alike(kind):
    slowly, compiled = interpreted(kind), json.loads(json.dumps(answers(kind)))
    assert len(slowly) == len(compiled)
    for seed, (ours, theirs) in enumerate(zip(slowly, compiled, strict=True)):
        assert alike(ours, theirs), (seed, ours, theirs)
    assert kind == "batch" or all(line[1] for line in slowly if line[0] == "optimal")


def alike(ours, theirs):
    """Equal, costs to rounding."""
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or (ours != ours and theirs != theirs) or abs(ours - theirs) <= 1e-9 * (1e-9 + abs(theirs))
    return ours == theirs


if __name__ == "__main__":
    warnings.simplefilter("error")
    print(json.dumps(answers(sys.argv[1])))
