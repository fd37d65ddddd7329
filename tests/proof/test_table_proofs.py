"""Proofs of questions on tables: forks, limits, and files that were forged."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from support.forgeries import holds
from support.seeds import seeds
from support.table_cases import table_case

import counterleaf as cl
from counterleaf.proof.certificate import Certificate
from counterleaf.proof.walk import Fork, Part, Parting
from counterleaf.storage import explanations


def explain(case, **more):
    question = {"target": list(case.target), "cost": case.cost(), "constraints": case.constraints(), "count": None, **more}
    return cl.Explainer(case.tree, schema=case.schema).explain(case.row, **question)


def ask(row, tree, schema, **question):
    return cl.Explainer(tree, schema=schema).explain(row, **{"target": "yes", **question})


def forked_answer():
    """An answer whose proof has forks of every kind."""
    for seed in range(100):
        case = table_case(np.random.default_rng(seed), groups=6, categories=6, numerics=1, depth=5)
        constraints = [cl.implies(cl.changed(a), cl.freeze(b)) for a, b in itertools.pairwise(case.schema.names)]
        answer = explain(case, constraints=[cl.max_changes(2), *constraints], cost=cl.L2(), count=2, distinct="leaves")
        kinds = {fork.parting for part in answer.certificate.parts().values() for fork in forks(part)}
        if len(answer) == 2 and kinds == {Parting.CUT, Parting.COUNT, Parting.CLAUSE}:
            assert answer.certificate.check()
            return answer
    raise AssertionError("no case forks in every way")


def forks(part):
    if isinstance(part, Fork):
        yield part
        yield from forks(part.low)
        yield from forks(part.high)


def replaced(part, old, new):
    if part is old:
        return new
    if isinstance(part, Fork):
        return dataclasses.replace(part, low=replaced(part.low, old, new), high=replaced(part.high, old, new))
    return part


def test_a_fork_that_leaves_rows_out_fails():
    certificate = forked_answer().certificate
    parts = certificate.parts()
    found = dataclasses.replace(certificate.findings, answer=None)
    assert Certificate(certificate.problem, found, None, parts).check()
    for leaf, part in parts.items():
        for fork in forks(part):
            spoilt = [{"parting": 9}]
            if fork.parting is Parting.CUT:
                spoilt += [{"cuts": (fork.cuts[0] - 1e3, fork.cuts[1] + 1e3)}, {"index": 10_000}]
            if fork.parting is Parting.CLAUSE:
                spoilt += [{"index": 7}]
            for change in spoilt:
                other = replaced(part, fork, dataclasses.replace(fork, **change))
                assert not Certificate(certificate.problem, found, None, {**parts, leaf: other}).check(), (fork.parting, change)


def test_a_part_of_a_fork_without_its_proof_fails():
    certificate = forked_answer().certificate
    parts = certificate.parts()
    found = dataclasses.replace(certificate.findings, answer=None)
    failed = 0
    for leaf, part in parts.items():
        for fork in forks(part):
            for side in (fork.low, fork.high):
                if isinstance(side, Part):
                    other = replaced(part, side, dataclasses.replace(side, lam=0 * side.lam, empty=False))
                    failed += not Certificate(certificate.problem, found, None, {**parts, leaf: other}).check()
    assert failed > 5


def test_a_row_off_the_table_is_no_answer():
    certificate = forked_answer().certificate
    table, source = certificate.problem.table, certificate.problem.source
    for spoil in ("group", "count"):
        points = certificate.findings.points.copy()
        if spoil == "group":
            points[0, table.first[0] : table.last[0]] = 0.5
        else:
            points[0] = np.where(table.group < 0, source + 1.0, points[0])
        assert not Certificate(certificate.problem, dataclasses.replace(certificate.findings, points=points)).check()


@pytest.mark.slow
def test_a_limit_keeps_one_row_per_leaf_and_proves_its_bound():
    for seed in seeds(30):
        case = table_case(np.random.default_rng(910080 + seed), groups=5, categories=6, numerics=3, depth=4)
        for states in (1, 5, 20, 80):
            answer = explain(case, max_nodes=states)
            leaves = [c.leaf for c in answer]
            assert len(set(leaves)) == len(leaves)
            assert answer.certificate.check(), (seed, states)


def forged(answer, change):
    content = json.loads(answer.to_json())
    change(content, content["certificate"])
    content.pop("digest")
    return cl.Explanation.from_json(json.dumps({**content, "digest": explanations._digest(content)}))


def test_multipliers_so_large_that_terms_cancel_prove_nothing():
    tree = cl.Tree(
        [1, 3, -1, -1, -1],
        [2, 4, -1, -1, -1],
        [[1.0, 1, 0], [0, 0, 1], [0] * 3, [0] * 3, [0] * 3],
        [-5.0, -100, 0, 0, 0],
        [-1, -1, 1, 0, 1],
        classes=["no", "yes"],
    )
    schema = cl.Schema([cl.Numeric("a", 0, 3, integer=True), cl.Numeric("b", 0, 2, integer=True), cl.Numeric("y", 0, 1000)])
    answer = ask({"a": 2, "b": 2, "y": 0.0}, tree, schema, cost=cl.L1(), count=2, distinct="leaves")
    assert [c.cost for c in answer] == [1.0, 100.0]

    def only_the_dear_one(content, certificate):
        leaf = certificate["leaves"][0]
        for name in ("leaves", "points", "costs", "bounds"):
            del certificate[name][0]
        del content["counterfactuals"][0]
        content["lower_bound"] = certificate["bounds"][0]
        certificate["parts"] = [[p[0], [[[1e13], [], False, []]]] if p[0] == leaf else p for p in certificate["parts"]]

    assert not forged(answer, only_the_dear_one).certificate.check()


def test_a_wide_box_does_not_make_a_leaf_thin():
    tree = cl.Tree(
        [1, -1, 3, -1, -1],
        [2, -1, 4, -1, -1],
        [[1.0, 1], [0, 0], [1, 1], [0, 0], [0, 0]],
        [0.0, 0, -100, 0, 0],
        [-1, 0, -1, 1, 0],
    )
    schema = cl.Schema([cl.Numeric("x", -1e12, 1e12), cl.Numeric("y", -1e12, 1e12)])
    answer = ask({"x": -1.0, "y": -1.0}, tree, schema, target=1)

    def nothing(content, certificate):
        content.update(counterfactuals=[], status="infeasible", lower_bound="inf")
        certificate.update(leaves=[], points=[], costs=[], bounds=[], parts=[[3, [[[1.0, 1.0], [], True, []]]]])

    assert not forged(answer, nothing).certificate.check()


def test_a_file_that_hides_the_table_is_refused():
    schema = cl.Schema([cl.Numeric("n"), cl.Numeric("m")])
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1], [0, 0], [0, 0]], [-2.5, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    answer = ask({"n": 0.0, "m": 0.0}, tree, schema, constraints=cl.linear({"n": 1, "m": 1}, ">=", 2))

    def whole(content, certificate):
        for feature in content["model"]["schema"]["features"]:
            feature[4] = True

    def narrow(content, certificate):
        for feature in content["model"]["schema"]["features"]:
            feature[3] = 1.0

    def twice(content, certificate):
        content["question"]["constraints"][0]["rhs"] = 5.0

    assert forged(answer, lambda content, certificate: None).certificate.check()
    for change in (whole, narrow, twice):
        content = json.loads(answer.to_json())
        change(content, content["certificate"])
        assert not holds(content)
