"""The arithmetic of proofs: floating point never claims more than rational numbers allow."""

import ast
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.seeds import seeds, share
from support.strategies import coupled_case, random_case, whole_case

import counterleaf as cl
from counterleaf import exact
from counterleaf.proof.walk import Walk
from counterleaf.sparse import CSR

ROOM = Path(cl.__file__).parent / "proof"
OURS = (
    "counterleaf.proof",
    "counterleaf.exact",
    "counterleaf.types",
    "counterleaf.sparse",
    "counterleaf.question.arrays",
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def test_the_check_needs_numpy_and_the_standard_library_only():
    allowed = {*sys.stdlib_module_names, "numpy"}
    rest = [ROOM.parent / name for name in ("exact.py", "types.py", "question/arrays.py")]
    for file in [*ROOM.glob("*.py"), *rest]:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert all(n.split(".")[0] in allowed or n.startswith(OURS) for n in names), (file, names)


def test_every_module_of_the_proof_is_imported_without_the_core():
    """The core is blocked as if it had not been compiled; the package itself must not need it either."""
    code = (
        "import sys, importlib; sys.modules['counterleaf._core'] = None\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "print(*sorted({'scipy', 'pandas', 'sklearn', 'counterleaf.search'} & set(sys.modules)))\n"
        "try: import counterleaf.search.search\n"
        "except ImportError: print('blocked')"
    )
    names = [f"counterleaf.proof.{file.stem}" for file in sorted(ROOM.glob("*.py")) if file.stem != "__init__"]
    assert len(names) >= 5
    run = subprocess.run([sys.executable, "-c", code, "counterleaf.proof", *names], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "\nblocked\n", "")


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6), st.lists(NUMBERS, max_size=3))
def test_a_sum_of_products_is_rounded_once(pairs, more):
    a, b = (np.array([pair[k] for pair in pairs], float) for k in (0, 1))
    total = sum((Fraction(x) * Fraction(y) for x, y in pairs), sum(map(Fraction, more), Fraction()))
    assert exact.exact_dot(a, b, *more) == total
    try:
        expected = float(total)
    except OverflowError:
        expected = math.inf if total > 0 else -math.inf
    with np.errstate(over="ignore"):
        assert exact.dot(a, b, *more) == expected


@given(st.fractions())
def test_the_float_below_a_fraction(value):
    assert Fraction(exact.below(value)) <= value < Fraction(math.nextafter(exact.below(value), math.inf))


@given(
    st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=1, max_size=4),
    st.lists(st.fractions(), min_size=4, max_size=4),
)
def test_rows_are_combined_without_rounding(rows, factors):
    factors = factors[: len(rows)]
    whole = [(np.arange(3), *exact.whole(np.array(row))) for row in rows]
    expected = [sum((f * Fraction(row[d]) for f, row in zip(factors, rows, strict=True)), Fraction()) for d in range(3)]
    assert exact.combined(factors, whole, 3) == expected


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_a_matrix_is_called_convex_only_if_it_is(n):
    rng = np.random.default_rng(n)
    for least in (1.0, 1e-6, 1e-17, 0.0, -1e-17, -1e-12, -1.0):
        basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
        values = np.append(rng.uniform(0.5, 2, n - 1), least)
        Q = basis @ np.diag(values) @ basis.T * np.outer(*[10.0 ** rng.uniform(-3, 3, n)] * 2)
        Q = (Q + Q.T) / 2
        convex = exact.is_convex(CSR.of(Q), np.zeros(n))
        assert convex or least < 1e-9
        assert not (convex and least < -1e-13)
    assert not exact.is_convex(CSR.of([[1.0, 0.5], [0.4, 1.0]]), np.zeros(2))
    assert not exact.is_convex(CSR.of(np.eye(2)), np.array([0.5, 1.5]))


@pytest.mark.parametrize("make", [random_case, whole_case, coupled_case])
def test_floating_point_claims_no_more_than_rational_numbers(make):
    """The bound in floating point holds for multipliers of every size, also where terms cancel."""
    compared = 0
    for seed in seeds(25):
        rng = np.random.default_rng(seed)
        case = make(rng)
        answer = cl.Explainer(case.tree, schema=case.schema).explain(
            case.row, target=case.target, cost=case.cost, constraints=case.constraints, margin=case.margin
        )
        certificate = answer.certificate
        for place in Walk(certificate.problem, certificate.parts()).places():
            region, m = place.region, len(place.part.lam)
            for scale in (1.0, 1e-9, 1e6, 1e12):
                lam = place.part.lam + scale * np.abs(rng.normal(size=m)) * (rng.random(m) < 0.5)
                with np.errstate(all="ignore"):
                    quick = region._least(region._prices(lam, place.part.tangent))
                    excess, error = region._excess(region._prices(lam, np.empty(0)))
                exactly = region._exact_prices(exact.fractions(lam).tolist(), place.part.tangent)
                assert not quick > (-math.inf if exactly is None else region._least(exactly)), (seed, scale)
                if excess > error:
                    assert region._excess(region._exact_prices(exact.fractions(lam).tolist(), np.empty(0), free=True))[0] > 0
                compared += math.isfinite(quick)
    assert compared > share(100)


def test_a_row_chosen_among_others_may_miss_an_equality_by_as_much_as_any_answer():
    tree = cl.Tree([1, -1, -1], [2, -1, -1], [[1.0, 1.0], [0, 0], [0, 0]], [-1.0, 0, 0], [-1, 0, 1], classes=["no", "yes"])
    constraints = [cl.among(np.array([[0.7, 0.3000000003], [1.0, 1.0]])), cl.linear({"x0": 1, "x1": 1}, "==", 1)]
    answer = cl.Explainer(tree).explain([0.0, 0.0], target="yes", cost=cl.L1(), constraints=constraints)
    assert (answer.status, answer[0].row, answer.certificate.check()) == ("optimal", [0.7, 0.3000000003], True)
