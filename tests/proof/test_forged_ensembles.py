"""Forged proofs about ensembles: a false claim must not be accepted, and a broken proof is refused without an exception."""

import functools
import math
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from support.seeds import seeds

import counterleaf as cl
from counterleaf.proof.certificate import Findings, Status
from counterleaf.proof.ensembles.box import Links
from counterleaf.proof.ensembles.certificate import nothing
from counterleaf.proof.ensembles.steps import StepKind

INTEGERS = [-(2**63), -(2**62), -(2**31), -3, -2, -1, 0, 1, 2, 3, 7, 8, 2**20, 2**31 - 1, 2**31, 2**62, 2**63 - 1]
NUMBERS = [-math.inf, -1e300, -1.0, -1e-300, 0.0, 1e-300, 1e-9, 0.5, 1.0, 2.0, 1e9, 1e300, math.inf, math.nan]
STEPS = ("node", "kind", "multipliers", "coordinate", "cells")


def whole(*numbers):
    return np.array(numbers, np.int64)


@functools.cache
def question(seed):
    """(explainer, row, target, options) of a question whose proof takes several steps."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=160) for name in "abc"})
    X["n"] = rng.integers(0, 6, 160)
    options = {}
    if seed % 4 == 1:
        X["job"] = pd.Categorical(rng.choice(["clerk", "cook", "smith", "vet"], 160))
        score = X["a"] + X["b"] * X["c"] + 2.0 * (X["job"] == "cook") - (X["job"] == "vet") * X["n"]
        model = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6, categorical_features="from_dtype")
    else:
        score = X["a"] + X["b"] * X["c"] + 0.2 * X["n"]
        model = RandomForestClassifier(8, max_depth=4, random_state=seed)
    y = np.digitize(score, [0.0] if seed % 2 else [-0.7, 0.7])
    target = 1
    if seed % 4 == 2:
        model, y = GradientBoostingRegressor(n_estimators=8, max_depth=3, random_state=seed), score
        target = cl.value(at_least=float(np.quantile(score, 0.8)))
    if seed % 4 == 3:
        options = {"constraints": cl.max_changes(2)}
    model.fit(X, y)
    found = model.predict(X)
    low = found < np.median(found) if seed % 4 == 2 else found != 1
    return cl.Explainer(model, data=X), X[low].iloc[[0]], target, options


@functools.cache
def proved(seed):
    """(honest certificate, a valid but dearer answer or None) of a question."""
    explainer, row, target, options = question(seed)
    best = explainer.explain(row, target=target, **options)
    assert best.certificate.check()
    dear = None
    for name in best[0].changes if len(best) else ():
        limits = options.get("constraints")
        limits = [cl.freeze(name), *([] if limits is None else [limits])]
        other = explainer.explain(row, target=target, constraints=limits)
        if len(other) and other[0].cost > best[0].cost * (1 + 1e-6):
            dear = other.certificate
    return best.certificate, dear


def dearer(certificate, other):
    """The claim that the answer of another certificate is the cheapest one."""
    found = other.findings
    return replace(certificate, findings=replace(found, bounds=found.costs.copy(), lower_bound=float(found.costs[0])))


def impossible(certificate):
    """The claim that there is no answer."""
    return replace(certificate, findings=nothing(Status.INFEASIBLE, len(certificate.problem.source), math.inf))


def claims(seed):
    """False claims about a question, with the proofs of true ones."""
    honest, dear = proved(seed)
    out = [impossible(honest)]
    if dear is not None:
        out += [dearer(honest, dear), dearer(replace(dear, problem=honest.problem), dear)]
        raised = float(dear.findings.costs[0])
        out.append(replace(honest, findings=nothing(Status.LIMIT, len(honest.problem.source), raised)))
        out.append(replace(out[1], findings=replace(out[1].findings, status=Status.LIMIT)))
    return out


def with_proof(certificate, k, **parts):
    proofs = list(certificate.proofs)
    proofs[k] = replace(proofs[k], **parts)
    return replace(certificate, proofs=tuple(proofs))


def changed(rng, array):
    """An array with one or some entries changed, an entry more or less, or another order."""
    out = np.array(array)
    if not out.size:
        return np.array([rng.choice(INTEGERS)], dtype=out.dtype) if out.dtype.kind in "iu" and out.dtype != np.uint8 else out
    way = int(rng.integers(7))
    flat = out.reshape(-1)
    at = rng.integers(flat.size, size=1 if way < 4 else max(1, flat.size // 3))
    if way == 6:
        if out.ndim > 1:
            return out[: rng.integers(len(out) + 1)]
        return [out[:-1], np.append(out, out[-1]), np.roll(out, 1), out[::-1].copy(), np.zeros_like(out)][int(rng.integers(5))]
    if out.dtype == np.uint8:
        flat[at] = rng.integers(0, 256, len(at))
    elif out.dtype.kind in "iu":
        info = np.iinfo(out.dtype)
        if way % 2:
            flat[at] = [min(max(int(v), info.min), info.max) for v in rng.choice(INTEGERS, len(at))]
        else:
            flat[at] += rng.integers(-3, 4, len(at)).astype(out.dtype)
    elif out.dtype.kind == "f":
        flat[at] = rng.choice(NUMBERS, len(at)) if way % 2 else flat[at] * rng.choice([-1.0, 0.0, 0.5, 2.0, 1e6], len(at))
    return out


def mutated(rng, certificate):
    """A certificate whose proof was changed at random, in several places."""
    out = certificate
    for _ in range(int(rng.integers(1, 5))):
        if not out.proofs:
            return out
        k = int(rng.integers(len(out.proofs)))
        proof = out.proofs[k]
        names = [f.name for f in fields(proof)]
        name = names[int(rng.integers(len(names)))]
        if name == "links":
            part = Links._fields[int(rng.integers(4))]
            array = changed(rng, getattr(proof.links, part))
            if part == "pieces" and len(array) and array.max(initial=0) > 10**6:
                continue  # is tested on its own
            out = with_proof(out, k, links=proof.links._replace(**{part: array}))
        else:
            out = with_proof(out, k, **{name: changed(rng, getattr(proof, name))})
    return out


@pytest.mark.parametrize("seed", seeds(8))
def test_honest_proofs_do_not_prove_false_claims(seed):
    for forged in claims(seed):
        assert not forged.check()


@pytest.mark.parametrize("seed", seeds(8))
def test_mutated_proofs_do_not_prove_false_claims(seed):
    rng = np.random.default_rng(seed)
    for forged in claims(seed):
        for _ in range(25):
            assert mutated(rng, forged).check() is False


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(24))
def test_many_mutated_proofs_do_not_prove_false_claims(seed):
    rng = np.random.default_rng(1000 + seed)
    for forged in claims(seed):
        for _ in range(250):
            assert mutated(rng, forged).check() is False


@pytest.mark.parametrize("seed", seeds(4))
def test_mutations_of_a_true_claim_never_raise(seed):
    rng, (honest, _) = np.random.default_rng(seed), proved(seed)
    for _ in range(60):
        assert mutated(rng, honest).check() in (True, False)


def one_step(certificate, kind, multipliers=-1, links=None, **sets):
    """A proof of one box that one step closes, with one set of multipliers."""
    proof = certificate.proofs[0]
    nothing_used = {"set_links": whole(0, 0), "set_messages": whole(0, 0), "links_used": whole(), "messages": whole()}
    made = replace(
        proof,
        parent=whole(-1),
        side=whole(0),
        node=whole(0),
        kind=whole(kind),
        multipliers=whole(multipliers),
        coordinate=whole(-1),
        cells=whole(0),
        marks=np.zeros(64, np.uint8),
        **{"mu": np.zeros(1), "unit": np.ones(1), "weights": np.zeros((1, proof.weights.shape[1])), **nothing_used, **sets},
        links=proof.links if links is None else links,
    )
    return replace(impossible(certificate), proofs=(made,) * len(certificate.proofs))


@pytest.mark.parametrize("seed", seeds(4))
@pytest.mark.parametrize("kind", list(StepKind))
def test_one_step_does_not_close_everything(seed, kind):
    honest = proved(seed)[0]
    assert not one_step(honest, kind).check()
    assert not one_step(honest, kind, 0).check()
    width = honest.proofs[0].weights.shape[1]
    for number in (-1.0, -1e300, 1e300, math.nan, math.inf, 5e-324):
        assert not one_step(honest, kind, 0, mu=np.array([number])).check()
        assert not one_step(honest, kind, 0, unit=np.array([number])).check()
        assert not one_step(honest, kind, 0, weights=np.full((1, width), number)).check()
        assert not one_step(honest, kind, 0, mu=np.array([number]), weights=np.full((1, width), number)).check()


def two_links(forest, tree, coordinates):
    sizes = [int(forest.first_cell[j + 1] - forest.first_cell[j]) for j in coordinates]
    return Links(whole(tree, tree), whole(*coordinates), whole(1, 1), np.zeros(sum(sizes), np.int64))


@pytest.mark.parametrize("message", [-(2**63), 2**63 - 1, 2**62, -(2**62), 2**31, -(2**31), 2**31 - 1, -1, 1])
@pytest.mark.parametrize("unit", [1.0, 1e-300, 1e300, 2.0**-63])
def test_messages_do_not_wrap_around(message, unit):
    """Two messages of -2**63 add up to 0 in 64 bits, and the absolute value of each is negative."""
    honest = proved(0)[0]
    for tree in range(len(honest.forest.roots)):
        links = two_links(honest.forest, tree, (0, 1))
        sets = {
            "set_links": whole(0, 2),
            "set_messages": whole(0, 2),
            "links_used": whole(0, 1),
            "messages": whole(message, message),
        }
        assert not one_step(honest, StepKind.CLOSE, 0, links, unit=np.array([unit]), **sets).check()


@pytest.mark.parametrize("seed", seeds(4))
def test_links_name_a_tree_and_a_coordinate(seed):
    """A coordinate of -2 would take the cells of the last coordinate and the leaves of the last but one."""
    honest = proved(seed)[0]
    forged = impossible(honest)
    for part, size in (("tree", len(honest.forest.roots)), ("coordinate", honest.forest.size)):
        for wrong in (-size, -2, -1, size, 2**62, -(2**63)):
            links = honest.proofs[0].links
            if not len(links.tree):
                continue
            array = np.array(getattr(links, part))
            array[0] = wrong
            for claim in (honest, forged):
                assert not with_proof(claim, 0, links=links._replace(**{part: array})).check() or _is_unused(claim)


def _is_unused(certificate):
    """Whether no step of the first proof uses multipliers, so that its links do not matter."""
    return not (certificate.proofs[0].multipliers >= 0).any()


@pytest.mark.parametrize("pieces", [0, -1, 10**9, 2**40, 2**62])
def test_links_with_impossibly_many_pieces_are_refused(pieces):
    honest = proved(0)[0]
    links = honest.proofs[0].links
    for wrong in (np.full_like(links.pieces, pieces), np.append(links.pieces[:-1], pieces)):
        assert not with_proof(impossible(honest), 0, links=links._replace(pieces=wrong)).check()


@pytest.mark.parametrize("seed", seeds(8))
def test_claims_without_a_proof_are_refused(seed):
    honest, dear = proved(seed)
    width = len(honest.problem.source)
    for bound in (-math.inf, -1.0, 0.0, 1.0, math.nan):
        assert not replace(honest, findings=nothing(Status.INFEASIBLE, width, bound)).check()
    assert not replace(honest, findings=nothing(Status.OPTIMAL, width, math.inf)).check()
    assert not replace(honest, findings=nothing(Status.OPTIMAL, width, -math.inf)).check()
    found = honest.findings
    assert not replace(honest, findings=replace(found, status=Status.INFEASIBLE)).check()
    assert not replace(honest, findings=replace(found, lower_bound=float(found.costs[0]) * 1.001 + 1e-6)).check()
    assert not replace(honest, findings=replace(found, lower_bound=math.nan)).check()
    assert not replace(honest, findings=replace(found, bounds=found.costs * (1 + 1e-6) + 1e-9)).check()
    assert not replace(honest, findings=replace(found, costs=found.costs * (1 - 1e-6))).check()
    assert not replace(honest, findings=replace(found, costs=found.costs * (1 + 1e-6) + 1e-9)).check()
    limit = replace(found, status=Status.LIMIT, lower_bound=-math.inf)  # its answers claim a bound that nothing proves
    assert not replace(honest, findings=limit, proofs=()).check()
    assert not replace(honest, proofs=()).check()
    assert not replace(honest, proofs=honest.proofs * 2).check()
    if dear is not None:
        both = [
            np.concatenate([getattr(c.findings, name) for c in (honest, dear)])
            for name in ("leaves", "costs", "bounds", "points")
        ]
        assert not replace(honest, findings=Findings(Status.OPTIMAL, *both, honest.lower_bound)).check()


@pytest.mark.parametrize("seed", seeds(8))
def test_an_answer_must_be_valid(seed):
    """Another row with the same cost, or the source itself, is not an answer."""
    honest = proved(seed)[0]
    found = honest.findings
    source = honest.problem.source
    moved = 2.0 * source - found.points
    for row in (
        source[None],
        moved,
        np.full_like(found.points, np.nan),
        found.points + 1e-3,
        np.full_like(found.points, np.inf),
    ):
        assert not replace(honest, findings=replace(found, points=row)).check()


@pytest.mark.parametrize("seed", seeds(8))
def test_steps_that_do_not_cover_the_box_are_refused(seed):
    """Drop steps, swap children, name a side twice, make a box its own parent."""
    for claim in claims(seed)[:2]:
        for k, proof in enumerate(claim.proofs):
            for step in range(min(len(proof.node), 12)):
                kept = np.arange(len(proof.node)) != step
                assert not with_proof(claim, k, **{name: getattr(proof, name)[kept] for name in STEPS}).check()
            for wrong in (np.zeros_like(proof.side), np.ones_like(proof.side), 1 - proof.side):
                assert not with_proof(claim, k, side=wrong).check()
            boxes = np.arange(len(proof.parent))
            for wrong in (boxes, boxes + 1, boxes[::-1], np.full_like(proof.parent, -1), np.zeros_like(proof.parent)):
                assert not with_proof(claim, k, parent=wrong).check()
            for kind in range(-1, 7):
                assert not with_proof(claim, k, kind=np.full_like(proof.kind, kind)).check()
            assert not with_proof(claim, k, marks=np.full_like(proof.marks, 255)).check()
            assert not with_proof(claim, k, marks=np.zeros_like(proof.marks)).check()


@pytest.mark.parametrize("seed", seeds(8))
def test_a_hair_above_the_optimum_is_refused(seed):
    """The claim that every row costs 1e-8 more than the optimum."""
    honest = proved(seed)[0]
    if not len(honest.findings.costs):
        return
    above = float(honest.findings.costs[0]) * (1 + 1e-8)
    width = len(honest.problem.source)
    assert not replace(honest, findings=nothing(Status.LIMIT, width, above)).check()
    below = float(honest.findings.bounds[0])
    assert replace(honest, findings=nothing(Status.LIMIT, width, below)).check()
