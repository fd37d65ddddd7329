"""Costs that couple features: closed forms, equivalent costs, singular matrices, fallbacks and bad matrices."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from support.seeds import seeds
from support.strategies import coupled_case, random_case

import counterleaf as cl
from counterleaf.proof.certificate import Certificate
from counterleaf.proof.walk import Part
from counterleaf.question.costs.prices import lower_cost


def line(w, b, **kwargs):
    """No on the left of w @ x + b >= 0, yes on the right."""
    n = len(w)
    return cl.Tree([1, -1, -1], [2, -1, -1], np.array([w, [0] * n, [0] * n]), [b, 0, 0], [-1, 0, 1], ["no", "yes"], **kwargs)


def ask(case, cost, **kwargs):
    kwargs = {"count": None, "margin": case.margin, **kwargs}
    explainer = cl.Explainer(case.tree, schema=case.schema)
    return explainer.explain(case.row, target=case.target, cost=cost, constraints=case.constraints, **kwargs)


def test_one_split_has_a_closed_form():
    Q = np.array([[2.0, 0.5], [0.5, 1.0]])
    answer = cl.Explainer(line([1.0, 1.0], -1.0)).explain(np.zeros(2), target="yes", cost=cl.Quadratic(Q))
    best = np.linalg.solve(Q, [1.0, 1.0])
    best /= best.sum()
    assert answer[0].row == pytest.approx(best, abs=1e-12)
    assert answer[0].cost == pytest.approx(best @ Q @ best, rel=1e-12)
    assert answer.lower_bound == pytest.approx(answer[0].cost, rel=1e-12)
    assert answer[0].confirmed
    assert answer.certificate.check()


@pytest.mark.parametrize(
    ("w", "b", "expected"),
    [([1.0, 1.0], -1.0, [0.5, 0.5]), ([1.0, 0.0], -1.0, [1.0, 1.0]), ([1.0, 0.5], -3.0, [2.0, 2.0])],
)
def test_of_free_changes_the_least_norm_is_taken(w, b, expected):
    """Moving both features together costs nothing."""
    tree = line(w, b)
    answer = cl.Explainer(tree).explain([0.0, 0.0], target="yes", cost=cl.Quadratic([[1.0, -1.0], [-1.0, 1.0]]))
    assert answer[0].row == pytest.approx(expected, abs=1e-6)
    assert answer[0].cost == pytest.approx(0.0, abs=1e-12)
    assert answer.status == "optimal"
    assert answer.certificate.check()


def test_the_least_norm_is_in_table_units():
    """x1 and x2 are free, so of all rows with x1 + 2 x2 = 1 the nearest to the source is taken; also with other diagonals."""
    answer = cl.Explainer(line([0.0, 1.0, 2.0], -1.0)).explain([0.0] * 3, target="yes", cost=cl.Quadratic(np.diag([1.0, 0, 0])))
    assert answer[0].row == pytest.approx([0.0, 0.2, 0.4], abs=1e-6)
    v = np.array([1.0, 3.0, -2.0])
    w = np.array([1.0, 0.5, 2.0])
    answer = cl.Explainer(line(w, -1.0)).explain([0.0] * 3, target="yes", cost=cl.Quadratic(np.outer(v, v)))
    least = w - v * (w @ v) / (v @ v)  # the nearest row with v @ x = 0 and w @ x = 1
    assert answer[0].row == pytest.approx(least / (w @ least), abs=1e-5)


def test_shifting_a_whole_image_is_free():
    n = 16
    Q = np.eye(n) - np.full((n, n), 1 / n)  # Q 1 = 0
    w = np.random.default_rng(0).normal(size=n)
    answer = cl.Explainer(line(w, -2.0)).explain(np.zeros(n), target="yes", cost=cl.Quadratic(Q))
    assert answer[0].row == pytest.approx(np.full(n, 2.0 / w.sum()), abs=1e-5)
    assert answer[0].cost <= 1e-10


@pytest.mark.parametrize("seed", seeds(30))
def test_a_diagonal_matrix_is_l2(seed):
    case = random_case(np.random.default_rng(seed))
    w = 1.0 / case.scale**2
    plain, coupled = ask(case, cl.L2(w)), ask(case, cl.Quadratic(np.diag(w)))
    assert plain.status == coupled.status
    assert [c.cost for c in coupled] == pytest.approx([c.cost for c in plain], rel=1e-9, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(20))
def test_dense_and_sparse_are_the_same(seed):
    case = coupled_case(np.random.default_rng(seed))
    dense, thin = ask(case, cl.Quadratic(case.Q)), ask(case, cl.Quadratic(sparse.coo_array(case.Q)))
    assert [c.row.tobytes() for c in dense] == [c.row.tobytes() for c in thin]


def test_in_a_sum_with_l1_what_need_not_change_stays_bit_for_bit():
    rng = np.random.default_rng(0)
    n = 30
    row = rng.normal(size=n)
    w = np.where(np.arange(n) < 3, 1.0, 1e-3)
    Q = np.eye(n) - 0.3 * (np.eye(n, k=1) + np.eye(n, k=-1))
    answer = cl.Explainer(line(w, -float(w @ row) - 1)).explain(row, target="yes", cost=cl.L1() + 0.1 * cl.Quadratic(Q))
    assert 0 < len(answer[0].changes) < 10
    unchanged = [d for d in range(n) if f"x{d}" not in answer[0].changes]
    assert answer[0].row[unchanged].tobytes() == row[unchanged].tobytes()


def test_bounds_and_freezes_hold_bit_for_bit():
    rng = np.random.default_rng(1)
    n = 12
    schema = cl.Schema([cl.Numeric(f"p{k}", 0.1, 0.9) for k in range(n)])
    B = rng.normal(size=(n, n))
    row = rng.uniform(0.1, 0.9, n)
    w = rng.normal(size=n)
    explainer = cl.Explainer(line(w, -float(w @ row) - 0.8), schema=schema)
    answer = explainer.explain(
        row, target="yes", cost=cl.Quadratic(B @ B.T), constraints=[cl.freeze("p0", "p5"), cl.only_increase("p1")]
    )
    x = answer[0].row
    assert (x >= 0.1).all()
    assert (x <= 0.9).all()
    assert x[0] == row[0]
    assert x[5] == row[5]
    assert x[1] >= row[1]
    assert answer.certificate.check()


def test_a_scikit_learn_tree_confirms():
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    cost = cl.Quadratic(np.linalg.inv(np.cov(X.T)))  # Mahalanobis
    for row in X[::17]:
        for label in set(range(3)) - {int(model.predict(row[None])[0])}:
            answer = cl.Explainer(model).explain(row, target=label, cost=cost, count=None)
            assert all(c.confirmed for c in answer)
            assert answer.certificate.check()


@pytest.mark.parametrize("Q", [np.eye(2), np.array([[1.0, 0.2], [0.2, 1.0]])])
def test_at_most_and_implies(Q):
    explainer = cl.Explainer(line([1.0, 1.0], -1.0), schema=cl.Schema([cl.Numeric("a", -9, 9), cl.Numeric("b", -9, 9)]))
    both = float(Q.sum()) / 4  # half the way in each

    def best(*constraints):
        answer = explainer.explain([0.0, 0.0], target="yes", cost=cl.Quadratic(Q), constraints=constraints)
        many = explainer.explain_many(np.zeros((1, 2)), target="yes", cost=cl.Quadratic(Q), constraints=constraints)
        assert answer.status == "optimal"
        assert many["cost"].iloc[0] == answer[0].cost
        assert answer[0].cost - answer.lower_bound <= 1e-12
        return answer[0]

    assert best(cl.max_changes(2)).cost == pytest.approx(both, rel=1e-12)
    assert best(cl.max_changes(1)).cost == pytest.approx(1.0, rel=1e-12)
    assert len(best(cl.max_changes(1)).changes) == 1
    assert best(cl.implies(cl.changed("a"), cl.only_increase("b"))).cost == pytest.approx(both, rel=1e-12)
    stays = best(cl.implies(cl.changed("a"), cl.freeze("b")), cl.between("b", -9, 0.25))
    assert list(stays.row) == pytest.approx([1.0, 0.0], abs=1e-12)


def test_limits_leave_a_valid_bound():
    case = coupled_case(np.random.default_rng(3), features=10, depth=6)
    whole = ask(case, case.cost, count=1)
    for states in (1, 2, 4, 8):
        part = ask(case, case.cost, count=1, max_nodes=states)
        assert part.lower_bound <= whole.lower_bound + 1e-12
        assert part.certificate.check()


def test_a_false_bound_or_tangent_fails_the_check():
    case = coupled_case(np.random.default_rng(2))
    answer = ask(case, case.cost)
    certificate = answer.certificate
    assert certificate.check()
    parts = certificate.parts()
    found = certificate.findings
    raised = type(found)(
        found.status, found.leaves, found.costs, found.bounds + 1.0, found.points, found.lower_bound, found.answer
    )
    assert not Certificate(certificate.problem, raised).check()
    assert any(part.tangent.any() for part in parts.values())
    for part in parts.values():
        part.tangent[:] *= 1.5
    assert not certificate.check()


def test_a_tangent_far_out_proves_nothing():
    """Along a direction that costs nothing a tangent's terms cancel; the rest is rounding and does not prove anything."""
    answer = cl.Explainer(line([1.0, 0.0], -1.0)).explain(
        [0.0, 0.0], target="yes", cost=cl.Quadratic([[1.0, -1.0], [-1.0, 1.0]])
    )
    assert answer.certificate.check()
    for far in (1e6, 1e9, 1e12):
        certificate = answer.certificate
        found = certificate.findings
        parts = {n: Part(p.node, p.lam, p.empty, np.full(2, far)) for n, p in certificate.parts().items()}
        dear = type(found)(found.status, found.leaves, np.array([4.0]), np.array([4.0]), np.array([[3.0, 1.0]]), 4.0, None)
        assert not Certificate(certificate.problem, dear, None, parts).check()


def test_a_cost_that_falls_for_ever_is_named():
    for coef in ([-1.0, 0.0], [-1.0, -1.0]):
        cost = cl.Quadratic([[1.0, -1.0], [-1.0, 1.0]]) + cl.LinearCost(coef)
        with pytest.raises(cl.CounterleafError, match=r"keeps decreasing as feature 'x[01]' moves away"):
            cl.Explainer(line([1.0, 1.0], -1.0)).explain([0.0, 0.0], target="yes", cost=cost)
    cost = cl.Quadratic(np.diag([1.0, 0.0, 0.0])) + cl.LinearCost([0.0, -1.0, 0.0])
    with pytest.raises(cl.CounterleafError, match="keeps decreasing as feature 'x1' moves away"):
        cl.Explainer(line([1.0, 1.0, 0.0], -1.0)).explain([0.0, 0.0, 0.0], target="yes", cost=cost)


def test_a_singular_matrix_on_a_scikit_learn_tree_without_bounds():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 10)), rng.integers(0, 5, 400)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    B = rng.normal(size=(3, 10))
    explainer = cl.Explainer(model, data=X, infer_bounds=False)
    for row in X[:5]:
        answer = explainer.explain(row, cost=cl.Quadratic(B.T @ B))
        assert answer.status == "optimal"
        assert answer.certificate.check()


@pytest.mark.parametrize(
    ("Q", "message"),
    [
        (np.ones((2, 3)), r"Q has shape \(2, 3\); expected a square matrix"),
        (np.ones(3), r"Q has shape \(3,\); expected a square matrix"),
        ([["a", "b"], ["c", "d"]], r"^Q is \[\['a', 'b'\], \['c', 'd'\]\]; expected a square matrix of numbers$"),
        ([[1.0, 0.5], [0.0, 1.0]], r"Q is not symmetric: Q\[0, 1\] is 0.5 and Q\[1, 0\] is 0; pass \(Q \+ Q.T\) / 2"),
        ([[1.0, 2.0], [2.0, 1.0]], "Q is not positive semidefinite: its smallest eigenvalue is -1; expected 0 or more"),
        ([[0.0, 1.0], [1.0, 0.0]], "Q is not positive semidefinite: its smallest eigenvalue is -1;"),
        (np.eye(2) * 1e308, "Q has entries beyond 1e.100 or below 1e-100; scale the cost"),
        (sparse.eye_array(2) * 1j, "Q holds complex numbers; expected real ones"),
        (sparse.diags_array([1.0, -3.0]), "its smallest eigenvalue is -3;"),
        ([[np.nan, 0.0], [0.0, 1.0]], "Q holds NaN or infinity"),
    ],
)
def test_a_bad_matrix_gets_one_line(Q, message):
    with pytest.raises(cl.CounterleafError, match=message) as caught:
        cl.Quadratic(Q)
    assert "\n" not in str(caught.value)


def test_a_matrix_of_the_wrong_size_or_sign():
    explainer = cl.Explainer(line([1.0, 1.0], -1.0))
    with pytest.raises(cl.CounterleafError, match=r"Q has shape \(3, 3\); expected \(2, 2\), one row per feature"):
        explainer.explain([0.0, 0.0], target="yes", cost=cl.Quadratic(np.eye(3)))
    with pytest.raises(cl.CounterleafError, match=r"Quadratic has the factor -1\.0; expected 0 or more"):
        explainer.explain([0.0, 0.0], target="yes", cost=-1.0 * cl.Quadratic(np.eye(2)))


def test_a_frame_is_aligned_by_its_names():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    explainer = cl.Explainer(model, data=X)
    Q = pd.DataFrame(np.diag([1.0, 2.0, 3.0, 4.0]), index=X.columns, columns=X.columns)
    plain = explainer.explain(X.iloc[0], target=2, cost=cl.Quadratic(Q.to_numpy()))
    turned = explainer.explain(X.iloc[0], target=2, cost=cl.Quadratic(Q.iloc[::-1, ::-1]))
    assert turned[0].row.tolist() == plain[0].row.tolist()
    weights = pd.Series([4.0, 3.0, 2.0, 1.0], index=X.columns[::-1])
    by_name = explainer.explain(X.iloc[0], target=2, cost=cl.L2(weights))
    assert by_name[0].cost == pytest.approx(plain[0].cost, rel=1e-12)
    with pytest.raises(cl.CounterleafError, match="Q is a frame whose rows and columns are named differently"):
        cl.Quadratic(Q.iloc[::-1])
    with pytest.raises(cl.CounterleafError, match=r"Q and the table differ in the names \['PETAL"):
        explainer.explain(X.iloc[0], target=2, cost=cl.Quadratic(Q.rename(index=str.upper, columns=str.upper)))
    with pytest.raises(cl.CounterleafError, match="no feature 'sepal'"):
        explainer.explain(X.iloc[0], target=2, cost=cl.L1(pd.Series({"sepal": 1.0})))


def test_a_matrix_that_is_semidefinite_but_for_rounding_passes():
    B = np.random.default_rng(0).normal(size=(3, 40))
    for matrix in (B.T @ B, np.zeros((2, 2)), [[-1e-12, 0.0], [0.0, 1.0]], [[1.0, 0.5 + 1e-12], [0.5, 1.0]]):
        Q = cl.Quadratic(matrix).Q.toarray()
        assert np.abs(Q - matrix).max() <= 1e-10 * np.abs(matrix).max()
        assert np.array_equal(Q, Q.T)
        assert (Q.diagonal() >= 0).all()


@pytest.mark.parametrize("seed", seeds(40))
def test_q_without_the_curvature_of_tangents_is_convex(seed):
    """In exact arithmetic: every pivot of Q - diag(tangent_curve) is positive."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    B = rng.normal(size=(int(rng.integers(1, n + 1)), n)) * 10.0 ** rng.uniform(-4, 4, n)
    Q = cl.Quadratic(B.T @ B).Q
    schema = cl.Schema([cl.Numeric(f"x{k}") for k in range(n)])
    coupling = lower_cost(cl.Quadratic(Q), schema, None).coupling
    raised = coupling.matrix.toarray()
    assert np.abs(raised - Q.toarray()).max() <= 1e-13 * Q.max()
    assert (raised == raised.T).all()
    assert (coupling.tangent_curve > 0).all()
    M = [[Fraction(float(v)) for v in row] for row in raised]
    for k in range(n):
        M[k][k] -= Fraction(float(coupling.tangent_curve[k]))
    for k in range(n):
        assert M[k][k] > 0
        for i in range(k + 1, n):
            share = M[i][k] / M[k][k]
            M[i] = [a - share * b for a, b in zip(M[i], M[k], strict=True)]


def test_a_definite_matrix_is_left_as_it_is():
    schema = cl.Schema([cl.Numeric("a"), cl.Numeric("b")])
    Q = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert lower_cost(cl.Quadratic(Q), schema, None).coupling.matrix.toarray().tolist() == Q.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("block", seeds(4))
def test_no_question_is_left_open(block):
    """Singular and nearly singular matrices under many constraints: each has an answer, or a proof that none exists."""
    for seed in range(20_000 + 100 * block, 20_100 + 100 * block):
        case = coupled_case(np.random.default_rng(seed))
        answer = ask(case, case.cost)
        assert answer.status != "limit", seed
        for c in answer:
            d = np.abs(c.row - case.row)
            assert c.cost - c.lower_bound <= 1e-7 * abs(c.cost) + 1e-12 * float(d @ np.abs(case.Q) @ d) + 1e-11, seed
