"""Proofs forged with care and sealed with a new digest: a false claim must not be accepted."""

import json

import numpy as np
import pytest
from support.forgeries import holds, keep_only
from support.seeds import seeds, share
from support.strategies import coupled_case, random_case, whole_case

import counterleaf as cl

SCALES = [0.0, 0.5, 0.999, 1.001, 2.0, 1e6, 1e15, 1e100, -1.0]


def honest(make, seed):
    """All answers of a question that has several."""
    case = make(np.random.default_rng(seed))
    answer = cl.Explainer(case.tree, schema=case.schema).explain(
        case.row, target=case.target, cost=case.cost, constraints=case.constraints, count=None, margin=case.margin
    )
    return answer if answer.status == "optimal" and len(answer) > 1 and answer[0].cost < answer[-1].cost * (1 - 1e-6) else None


def entries(content):
    """The parts of the proof, without its forks."""
    return [entry for _, some in content["certificate"]["parts"] for entry in some if isinstance(entry[0], list)]


def spoil(content, rng):
    """Change the proof at random: multipliers, tangents, and the claims that a part is empty, or empty by divisibility."""
    found = entries(content)
    for _ in range(int(rng.integers(1, 6))):
        entry = found[rng.integers(len(found))]
        way = rng.integers(5)
        if way == 0 and entry[0]:
            k = rng.integers(len(entry[0]))
            entry[0][k] = float(entry[0][k]) * float(rng.choice(SCALES)) + float(rng.choice([0.0, 0.0, 1e-9, 1.0, 1e12]))
        elif way == 1 and entry[0]:
            entry[0] = (np.array(entry[0], float) * float(rng.choice(SCALES))).tolist()
        elif way == 2 and entry[3]:
            entry[3] = (np.array(entry[3], float) * float(rng.choice([0.0, 2.0, 1e8, -1.0]))).tolist()
        elif way == 3:
            entry[2] = not entry[2]
        else:
            entry[1], entry[2] = [float(rng.choice([1.0, 2.0, 3.0]))], True


def answers(make, count):
    """Honest answers, each with its seed and a random generator."""
    for seed in seeds(count):
        answer = honest(make, seed)
        if answer is not None:
            yield seed, answer, np.random.default_rng(seed)


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_case, whole_case, coupled_case])
def test_no_forged_proof_makes_an_expensive_answer_the_cheapest(make):
    tried = 0
    for seed, answer, rng in answers(make, 60):
        text = answer.to_json()
        assert holds(json.loads(text)), seed
        for _ in range(15):
            content = keep_only(json.loads(text), int(rng.integers(1, len(answer))))
            dear = next(c for c in answer.certificate.answers if c.leaf == content["counterfactuals"][0]["leaf"])
            size = answer.certificate.problem.size_of(dear.row, dear.leaf, terms=True)
            if dear.cost - answer[0].cost <= 1e-6 * size:  # if Q is singular, almost all of the terms cancel
                continue
            spoil(content, rng)
            assert not holds(content), seed
            tried += 1
    assert tried > share(50)


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_case, whole_case, coupled_case])
def test_what_has_an_answer_is_not_impossible(make):
    tried = 0
    for seed, answer, rng in answers(make, 60):
        for _ in range(10):
            content = json.loads(answer.to_json())
            content["counterfactuals"], content["status"], content["lower_bound"] = [], "infeasible", "inf"
            for name in ("leaves", "points", "costs", "bounds"):
                content["certificate"][name] = []
            for entry in entries(content):
                entry[2] = True
            spoil(content, rng)
            content["certificate"]["widened"] = bool(rng.integers(2))
            assert not holds(content), seed
            tried += 1
    assert tried > share(50)


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_case, whole_case, coupled_case])
def test_a_bound_that_is_too_high_by_a_hair_fails(make):
    """By about 1e-9, which is far above rounding: a claimed bound must be a bound."""
    tried = 0
    for seed, answer, _ in answers(make, 40):
        if answer[0].cost < 1e-3:
            continue
        content = json.loads(answer.to_json())
        shown, proof = content["counterfactuals"], content["certificate"]
        cost = proof["costs"][0]
        if cost - float(proof["bounds"][0]) > 1e-12 * cost:
            continue
        for name, low, high in (("cost", "costs", 1 + 3e-9), ("lower_bound", "bounds", 1 + 3e-9)):
            shown[0][name] = proof[low][0] = cost * high
        content["lower_bound"] = cost * (1 + 3e-9)
        assert not holds(content), seed
        tried += 1
    assert tried > share(3)
