"""The proofs of an answer over problems that are posed again: from the model, the features, the row and the question.

Nothing about a problem is taken from a proof. What a search brings are its claims and the parts that prove them, see ``Claim``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from counterleaf.errors import CounterleafError
from counterleaf.model.decision import Cuts, Decision, ScoreDecision, decide
from counterleaf.model.ensembles.ensemble import Ensemble
from counterleaf.model.tree import Tree
from counterleaf.proof.certificate import Certificate, Findings
from counterleaf.proof.compound import Compound, Round, avoided_by
from counterleaf.proof.ensembles.certificate import EnsembleCertificate
from counterleaf.proof.ensembles.steps import ForestProof
from counterleaf.proof.problem import Problem
from counterleaf.proof.walk import Fork, Part
from counterleaf.question.arrays import ChangeLimit
from counterleaf.question.constraints.cases import cases
from counterleaf.question.constraints.kinds import Constraint, Near
from counterleaf.question.constraints.lowering import lower_constraints
from counterleaf.question.costs.prices import default_cost, lower_cost
from counterleaf.question.margin import read_margin
from counterleaf.question.posing import Basis, Guard, TargetTree, pose
from counterleaf.question.query import read_goal
from counterleaf.question.question import Question
from counterleaf.question.splits import aim, prepare
from counterleaf.question.variables import Variables
from counterleaf.search.ensembles.cells import cell_forest
from counterleaf.search.ensembles.region import region
from counterleaf.table.schema import Schema
from counterleaf.types import Array

AnyDecision = Decision | ScoreDecision


class MisfitError(CounterleafError):
    """A proof that is not one about the model and the question that it is said to be about."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The model of an answer and its features: what its problems follow from, together with the row and the question.

    Parameters
    ----------
    model : Tree or Ensemble
        The trees over the variables of the schema.
    schema : Schema
        The features.
    basis : Basis
        The spreads of the data, and the accuracy of the model's sums.
    closed : frozenset of int
        The leaves that ``support=`` leaves out.
    """

    model: Tree | Ensemble
    schema: Schema
    basis: Basis
    closed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """What a search brings to its proof.

    Parameters
    ----------
    findings : Findings
        The answers, their costs and the bounds.
    parts : dict
        The multipliers, by tree node.
    proofs : tuple of ForestProof
        Those of an ensemble, one per class of the target.
    cuts : dict
        By leaf, the outputs at which tangents touch the region of a target that is curved.
    guard : float
        The guard of the search.
    widened : bool
        Whether the linear constraints hold only to a share of their terms, because no row meets them to rounding.
    """

    findings: Findings
    parts: dict[int, Part | Fork] = field(default_factory=dict)
    proofs: tuple[ForestProof, ...] = ()
    cuts: Cuts = field(default_factory=dict)
    guard: float = 0.0
    widened: bool = False

    @classmethod
    def of(cls, certificate: Certificate, decision: AnyDecision) -> Claim:
        """The claim of a certificate; ``decision`` is that of its explanation."""
        if isinstance(certificate, EnsembleCertificate):
            return cls(certificate.findings, proofs=certificate.proofs)
        question, own = certificate.problem.question, certificate.decision or decision
        assert isinstance(own, Decision)
        return cls(certificate.findings, certificate.parts(), (), own.cuts, question.guard, question.widened)


Claims = Sequence[Sequence[Claim]]  # by round and case


def claims_of(proof: Certificate | Compound, decision: AnyDecision) -> list[list[Claim]]:
    """Return the claims of a proof, by round and case."""
    rounds = proof.rounds if isinstance(proof, Compound) else ((proof,),)
    return [[Claim.of(case, decision) for case in one] for one in rounds]


class Poser:
    """Poses the problems of one question about one row, and makes certificates of the claims about them.

    Parameters
    ----------
    ground : Ground
        The model and the features.
    question : Question
        The question.
    source : array of shape (n_variables,)
        The row as variables.

    Raises
    ------
    CounterleafError
        If the question does not fit the model or the features.
    """

    def __init__(self, ground: Ground, question: Question, source: Array) -> None:
        model, schema, spreads = ground.model, ground.schema, ground.basis.spreads
        self.ground, self.question, self.source = ground, question, source
        self.variables = Variables.of(schema)
        self.prices = lower_cost(self.cost, schema, spreads)
        self.margin = read_margin(question.margin, schema, spreads)
        self.goal = read_goal(question.target, model, self._source_class())
        self.cases = cases(question.rules, schema, source, not model.is_one_tree)
        self.has_rounds = question.apart > 0 and question.count != 1
        self._decisions: dict[Any, Decision] = {}

    @property
    def cost(self) -> Any:
        """The cost of the question."""
        return default_cost(self.ground.basis.spreads) if self.question.cost is None else self.question.cost

    @property
    def is_single(self) -> bool:
        """Whether the question takes a single search."""
        return len(self.cases) == 1 and not self.has_rounds

    def _source_class(self) -> int:
        """The place of the class of the source, -1 for regression."""
        model = self.ground.model
        if model.is_regression:
            return -1
        return int(model.classes.tolist().index(model.predict(self.source[None]).tolist()[0]))

    def proof(self, claims: Claims) -> tuple[Certificate | Compound, AnyDecision]:
        """Return the proof that claims make, and the tree or the ensemble that it is about.

        Raises
        ------
        MisfitError
            If the claims are not about as many searches as the question takes, or cannot be about this model.
        """
        if self.is_single:
            if [len(one) for one in claims] != [1]:
                raise MisfitError("its proof has other searches than its question takes")
            return self._certificate(claims[0][0], self.cases[0], ())
        rounds: list[Round] = []
        avoided: tuple[ChangeLimit, ...] = ()
        decision: AnyDecision | None = None
        for one in claims:
            if len(one) != len(self.cases) or (rounds and not self.has_rounds):
                raise MisfitError("its proof has other searches than its question takes")
            if rounds:
                last = Compound((rounds[-1],), self.question.apart, 1)
                if not last.answers:
                    raise MisfitError("its proof continues after its last answer")
                avoided = (*avoided, avoided_by(last.owner(0).problem, last.answers[0].row, self.question.apart))
            made = [self._certificate(claim, case, avoided) for claim, case in zip(one, self.cases, strict=True)]
            decision = decision or made[0][1]
            rounds.append(tuple(certificate for certificate, _ in made))
        if decision is None:
            raise MisfitError("its proof has other searches than its question takes")
        return Compound(tuple(rounds), self.question.apart, self.question.count), decision

    def _certificate(
        self, claim: Claim, case: tuple[Constraint, ...], avoided: tuple[ChangeLimit, ...]
    ) -> tuple[Certificate, AnyDecision]:
        if any(isinstance(one, Near) for one in case):
            raise MisfitError("its question is about the rows of a table, which no file holds")
        many = 1 if self.has_rounds else self.question.count
        if many is not None and len(claim.findings.leaves) > many:
            raise MisfitError("its proof has more answers than its question")
        if not len(claim.findings.leaves):
            claim = replace(claim, findings=replace(claim.findings, points=np.empty((0, self.ground.schema.width))))
        if not self.ground.model.is_one_tree:
            return self._of_ensemble(claim, case, avoided)
        decision = self._decision(claim.cuts)
        tree, guards = decision.tree, Guard.of(self.ground.basis.guard, decision)
        if claim.guard not in (guards.least, *guards.larger):
            raise MisfitError("its proof keeps another distance from the splits than a search about its model")
        splits = prepare(tree, self.margin, self.variables, decision.sums)
        nodes = aim(tree, splits, decision.target, decision.closed_nodes)
        target = TargetTree(tree, splits, nodes, self.variables, claim.guard, guards.paid)
        problem, pool = self._problem(target, case, avoided, claim)
        made = decision if tree is not decision.model else None
        return Certificate(problem, claim.findings, pool, claim.parts, made), decision

    def _of_ensemble(
        self, claim: Claim, case: tuple[Constraint, ...], avoided: tuple[ChangeLimit, ...]
    ) -> tuple[Certificate, AnyDecision]:
        """The question of an ensemble is one about a tree with a single leaf."""
        stump = self._stump
        splits = prepare(stump, self.margin, self.variables)
        target = TargetTree(stump, splits, aim(stump, splits, {0: 0.0}), self.variables, 0.0)
        problem, pool = self._problem(target, case, avoided, claim)
        around = region if pool is None else None
        parts = problem, claim.findings, pool, None, self.score_decision, self.forest, claim.proofs
        return EnsembleCertificate(*parts, region=around), self.score_decision

    def _problem(
        self, target: TargetTree, case: tuple[Constraint, ...], avoided: tuple[ChangeLimit, ...], claim: Claim
    ) -> tuple[Problem, Array | None]:
        """The problem of a search, and the rows of ``among``."""
        found, tree = claim.findings, target.tree
        nodes = np.concatenate([found.leaves, list(claim.parts)]).astype(np.int64)
        if found.points.shape != (len(found.leaves), tree.n_features) or not ((nodes >= 0) & (nodes < tree.n_nodes)).all():
            raise MisfitError("its proof is about another tree or other features")
        limits = lower_constraints(case, self.ground.schema, self.source[None])
        posed = pose(target, self.source, self.prices, limits, avoided, claim.widened)
        return Problem(tree, target.splits, lambda: posed), limits.pool

    def _decision(self, cuts: Cuts) -> Decision:
        """The plain tree of the goal with the tangents of a search."""
        model = self.ground.model
        assert isinstance(model, Tree)
        key = tuple(sorted(cuts.items()))
        if key not in self._decisions:
            if cuts:
                _check_cuts(model, cuts)
            made = decide(model, self.goal, cuts, self.ground.closed)
            if cuts and not made.curved:
                raise MisfitError("its proof has tangents, and its target needs none")
            self._decisions[key] = made
        return self._decisions[key]

    @functools.cached_property
    def _stump(self) -> Tree:
        width = self.ground.schema.width
        return Tree([-1], [-1], np.zeros((1, width)), [0.0], [0])  # type: ignore[arg-type]  # lists, as elsewhere

    @functools.cached_property
    def score_decision(self) -> ScoreDecision:
        """The ensemble and the goal."""
        model: Any = self.ground.model
        return ScoreDecision(model, self.goal, self.ground.closed)

    @functools.cached_property
    def forest(self) -> Any:
        """The ensemble as cells, cut again for a margin by feature; None for a tree."""
        model: Any = self.ground.model
        return None if model.is_one_tree else cell_forest(model, self.variables, self.margin, self.ground.closed)


def _check_cuts(tree: Tree, cuts: Cuts) -> None:
    """Refuse tangents that are not at outputs of a leaf."""
    for leaf, entries in cuts.items():
        points, count = [at for cut in entries for _, at in cut], 0 if tree.outputs is None else tree.outputs.count
        fits = 0 <= leaf < tree.n_nodes and tree.left[leaf] < 0 and all(len(at) == count > 0 for at in points)
        if not fits or not np.isfinite(points).all() or not all(0 < c < np.inf for cut in entries for c, _ in cut):
            raise MisfitError("its proof has tangents that do not fit its tree")
