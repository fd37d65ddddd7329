"""The check of a proof that was tampered with must fail."""

import dataclasses

import numpy as np
import pytest
from support.seeds import seeds, share
from support.strategies import random_case, random_tree

import counterleaf as cl


def answers():
    for seed in seeds(60):
        case = random_case(np.random.default_rng(seed))
        answer = cl.Explainer(case.tree, schema=case.schema).explain(
            case.row,
            target=case.target,
            cost=case.cost,
            constraints=case.constraints,
            count=2,
            distinct="leaves",
            margin=case.margin,
        )
        if answer.status == "optimal" and answer[0].cost > 1e-3:
            yield answer


ANSWERS = list(answers())


def changed(certificate, **fields):
    return dataclasses.replace(certificate, findings=dataclasses.replace(certificate.findings, **fields))


def test_there_is_something_to_tamper_with():
    assert len(ANSWERS) > share(15)
    assert all(answer.certificate.check() for answer in ANSWERS)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_another_cost_fails(factor):
    for answer in ANSWERS:
        found = answer.certificate.findings
        assert not changed(answer.certificate, costs=found.costs * factor).check()


def test_a_higher_bound_fails():
    for answer in ANSWERS:
        found = answer.certificate.findings
        high = found.bounds + 0.01 * np.abs(found.bounds)
        assert not changed(answer.certificate, bounds=high, costs=found.costs).check()


def test_a_bound_far_below_its_cost_is_no_proof_of_optimality():
    for answer in ANSWERS:
        found = answer.certificate.findings
        assert not changed(answer.certificate, bounds=found.bounds - 0.01 * np.abs(found.costs)).check()


def test_another_row_fails():
    for answer in ANSWERS:
        points = answer.certificate.findings.points + 0.01 * (1 + np.abs(answer.certificate.findings.points))
        assert not changed(answer.certificate, points=points).check()


def test_another_leaf_fails():
    for answer in ANSWERS:
        found = answer.certificate.findings
        other = np.where(found.leaves == 0, found.leaves, 0)
        assert not changed(answer.certificate, leaves=other).check()


def test_a_claim_of_infeasibility_fails_where_there_is_an_answer():
    for answer in ANSWERS:
        none = {name: getattr(answer.certificate.findings, name)[:0] for name in ("leaves", "costs", "bounds", "points")}
        assert not changed(answer.certificate, status=cl.Status.INFEASIBLE, **none).check()


def oblique_answer():
    rng = np.random.default_rng(7)
    tree = random_tree(rng, 6, 5, 3, "oblique", np.ones(5))
    answer = cl.Explainer(tree).explain(np.zeros(5), count=3, distinct="leaves")
    assert answer.certificate.check()
    return answer.certificate


@pytest.mark.parametrize("spoil", [lambda lam: -lam, lambda lam: 0 * lam, lambda lam: lam * np.nan])
def test_spoilt_multipliers_fail(spoil):
    certificate = oblique_answer()
    lam = certificate.findings.answer.trace()["multipliers"]
    lam[:] = spoil(lam)
    assert not certificate.check()


def test_a_part_that_went_missing_fails():
    certificate = oblique_answer()
    for node in certificate.parts():
        left_out = {k: part for k, part in certificate.parts().items() if k != node}

        class Partial(cl.Certificate):
            def parts(self, parts_left=left_out):
                return parts_left

        assert not Partial(certificate.problem, certificate.findings).check(), node


def test_an_empty_part_needs_a_true_farkas_vector():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1])
    answer = cl.Explainer(tree).explain([0.0, 0.0], target=1, constraints=[cl.between(0, 0, 0.4), cl.between(1, 0, 0.5)])
    assert answer.status == "infeasible"
    assert answer.certificate.check()
    answer.certificate.findings.answer.trace()["multipliers"][:] = 0.0
    assert not answer.certificate.check()


def test_a_margin_is_kept_to_the_rounding_of_its_terms():
    """Features of 1e4 and a margin of 1e-6: the exact sum may violate it by less than the model's sum can resolve."""
    w = [-0.7322673547034516, -0.5442589828573099, -0.31630015636915454]
    row = [9827.436889967057, 24889.393375405183, -3068.689459684756]
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [w, [0] * 3, [0] * 3], [19771.959181418122, 0, 0], [-1, 0, 1])
    assert cl.Explainer(tree).explain(row, target=1, margin=1e-6).certificate.check()
