"""Sparse matrices of NumPy alone, against SciPy's."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy import sparse
from support.seeds import seeds

from counterleaf.sparse import CSR


def random_matrix(rng, rows, columns):
    return sparse.random_array((rows, columns), density=rng.random(), rng=rng, format=rng.choice(["coo", "csc", "csr"]))


@pytest.mark.parametrize("seed", seeds(200))
def test_it_holds_and_multiplies_what_scipy_does(seed):
    rng = np.random.default_rng(seed)
    height, width, depth = rng.integers(0, 7, 3)
    A, B = random_matrix(rng, height, width), random_matrix(rng, width, depth)
    ours, x = CSR.of(A), rng.normal(size=width)
    assert ours.shape == (height, width)
    assert ours.nnz == A.nnz
    assert np.array_equal(ours.toarray(), A.toarray())
    assert np.array_equal(np.asarray(ours), A.toarray())
    assert np.array_equal(CSR.of(A.toarray()).toarray(), A.toarray())
    assert np.array_equal(ours.to_scipy().toarray(), A.toarray())
    assert np.allclose(ours @ x, A @ x, rtol=1e-14)
    assert np.allclose(ours @ B.toarray(), (A @ B).toarray(), rtol=1e-14)
    assert np.allclose((ours @ CSR.of(B)).toarray(), (A @ B).toarray(), rtol=1e-14)
    chosen = rng.integers(0, height, 3).tolist() if height else []
    assert np.array_equal(ours[chosen].toarray(), A.toarray()[chosen])
    for i in range(height):
        columns, numbers = ours.row(i)
        assert columns.tolist() == np.flatnonzero(A.toarray()[i]).tolist()
        assert np.array_equal(numbers, A.toarray()[i, columns])


@pytest.mark.parametrize("seed", seeds(50))
def test_entries_come_in_any_order_and_several_times(seed):
    rng = np.random.default_rng(seed)
    rows, columns, data = rng.integers(0, 4, 12), rng.integers(0, 3, 12), rng.integers(-2, 3, 12).astype(float)
    ours, theirs = CSR.from_entries(rows, columns, data, (4, 3)), sparse.csr_array((data, (rows, columns)), shape=(4, 3))
    theirs.sum_duplicates()
    theirs.eliminate_zeros()
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.indptr.dtype == ours.indices.dtype == np.int64


@pytest.mark.parametrize(
    ("indptr", "indices", "data"),
    [
        ([0, 1], [0], [1.0]),
        ([1, 1, 1], [0], [1.0]),
        ([0, 2, 1], [0], [1.0]),
        ([0, 1, 2], [0], [1.0]),
        ([0, 1, 1], [0], [1.0, 2.0]),
        ([0, 1, 1], [3], [1.0]),
        ([0, 1, 1], [-1], [1.0]),
        ([0, 10**15, 1], [0], [1.0]),
        ([], [], []),
    ],
)
def test_arrays_that_are_no_matrix_are_refused(indptr, indices, data):
    with pytest.raises(ValueError, match="do not describe a matrix of shape \\(2, 3\\)"):
        CSR(indptr, indices, data, (2, 3))


def test_products_of_other_shapes_are_refused():
    matrix = CSR.of(np.eye(2))
    for other in (np.ones(3), np.ones((1, 2)), CSR.of(np.eye(3))):
        with pytest.raises(ValueError, match="cannot multiply a matrix of shape \\(2, 2\\) by one of shape "):
            matrix @ other


def test_it_is_a_value():
    indices = np.array([0, 1])
    matrix = CSR([0, 1, 2], indices, [1.0, 2.0], (2, 2))
    indices[:] = 0
    assert matrix.toarray().tolist() == [[1, 0], [0, 2]]
    for array in (matrix.indptr, matrix.indices, matrix.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        matrix.data = np.zeros(2)
    assert pickle.loads(pickle.dumps(matrix)).toarray().tolist() == matrix.toarray().tolist()
    assert dataclasses.replace(matrix, data=3 * matrix.data).toarray().tolist() == [[3, 0], [0, 6]]
    matrix.to_scipy().data[:] = 0
    assert matrix.nnz == 2
