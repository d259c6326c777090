"""The generators: reproducible R-MAT graphs, and Kronecker graphs that agree with their definition and their table."""

import zlib

import numpy as np
import pandas as pd
import pytest
from paths import TRUTH

from cusubmatch.generators import kronecker, kronecker_counts, rmat

TABLE = list(pd.read_csv(TRUTH / "kronecker.tsv", sep="\t").itertuples(index=False))
SMALL_LEAVES = [(1,), (3,), (1, 1), (3, 4), (2, 1, 3), (2, 2, 2, 2)]
KINDS = ["B0k", "B1k", "B2k"]


def checksum(edges):
    return zlib.crc32(np.ascontiguousarray(edges.to_numpy(), dtype="<i4").tobytes())


def adjacency_by_definition(leaves, kind):
    """The dense Kronecker product of the stars' matrices, with its diagonal cleared."""
    product = np.ones((1, 1), np.int64)
    for m in leaves:
        star = np.zeros((m + 1, m + 1), np.int64)
        star[0, 1:] = star[1:, 0] = 1
        if kind == "B1k":
            star[0, 0] = 1
        if kind == "B2k":
            star[m, m] = 1
        product = np.kron(product, star)
    np.fill_diagonal(product, 0)
    return product


def assert_simple_and_sorted(edges):
    assert list(edges.columns) == ["src", "dst"]
    assert list(edges.dtypes) == [np.int32, np.int32]
    assert (edges.src < edges.dst).all()
    assert not edges.duplicated().any()
    assert edges.equals(edges.sort_values(["src", "dst"], ignore_index=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaves", SMALL_LEAVES, ids=str)
def test_kronecker_is_the_product_of_star_matrices_without_its_loop(leaves, kind):
    edges = kronecker(leaves, kind)
    assert_simple_and_sorted(edges)
    rows, columns = np.nonzero(np.triu(adjacency_by_definition(leaves, kind)))
    assert np.array_equal(edges.src, rows)
    assert np.array_equal(edges.dst, columns)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaves", SMALL_LEAVES, ids=str)
def test_kronecker_counts_are_those_of_the_matrix(leaves, kind):
    matrix = adjacency_by_definition(leaves, kind)
    closed_walks = np.trace(np.linalg.matrix_power(matrix, 3))
    assert kronecker_counts(leaves, kind) == (len(matrix), matrix.sum() // 2, closed_walks // 6)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.leaves}-{row.kind}")
def test_kronecker_counts_are_those_of_the_published_table(row):
    leaves = [int(m) for m in row.leaves.split("-")]
    assert kronecker_counts(leaves, row.kind) == (row.vertices, row.edges, row.triangles)


@pytest.mark.parametrize("leaves", [(9, 16, 25), pytest.param((25, 81, 256), marks=pytest.mark.thorough)])
@pytest.mark.parametrize("kind", KINDS)
def test_kronecker_has_as_many_edges_and_vertices_as_the_closed_form_says(kind, leaves):
    edges, counts = kronecker(leaves, kind), kronecker_counts(leaves, kind)
    assert len(edges) == counts.edges
    assert len(np.union1d(edges.src, edges.dst)) == counts.vertices
    assert edges.dst.max() == counts.vertices - 1


def test_kronecker_counts_are_exact_beyond_64_bits():
    assert kronecker_counts([2**31, 2**31, 2**31]).vertices == (2**31 + 1) ** 3


def test_kronecker_takes_numpy_leaves():
    assert kronecker(np.array([3, 4])).equals(kronecker((3, 4)))


@pytest.mark.parametrize(
    ("arguments", "n_edges", "crc"),
    [
        ({"scale": 1, "edge_factor": 1}, 0, 0),
        ({"scale": 5, "edge_factor": 3, "seed": 7}, 62, 676580790),
        ({"scale": 10}, 10540, 3205214396),
        ({"scale": 12, "edge_factor": 8, "a": 0.45, "b": 0.22, "c": 0.22}, 31971, 1848824215),
        ({"scale": 16}, 908860, 309530869),
    ],
    ids=str,
)
def test_rmat_makes_the_same_graph_everywhere(arguments, n_edges, crc):
    edges = rmat(**arguments)
    assert_simple_and_sorted(edges)
    assert (len(edges), checksum(edges)) == (n_edges, crc)


def test_rmat_numbers_its_vertices_without_gaps():
    edges = rmat(12, 2)
    assert np.array_equal(np.union1d(edges.src, edges.dst), np.arange(edges.dst.max() + 1))


def test_rmat_differs_by_seed():
    assert not rmat(8, 4, seed=1).equals(rmat(8, 4, seed=2))


@pytest.mark.thorough
def test_rmat_at_scale_18_has_its_recorded_size():
    edges = rmat(18, 16)
    assert (edges.dst.max() + 1, len(edges)) == (173_829, 3_805_008)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": 0}, "scale: expected an integer from 1 to 31, got 0"),
        ({"scale": 32}, "scale: expected an integer from 1 to 31, got 32"),
        ({"scale": 3.0}, r"scale: expected an integer from 1 to 31, got 3\.0"),
        ({"scale": 3, "edge_factor": 0}, "edge_factor: expected an integer of at least 1, got 0"),
        ({"scale": 3, "seed": -1}, "seed: expected an integer of at least 0, got -1"),
        ({"scale": 3, "a": -0.1}, r"a: expected a probability from 0 to 1, got -0\.1"),
        ({"scale": 3, "c": "x"}, "c: expected a probability from 0 to 1, got 'x'"),
        ({"scale": 3, "a": 0.9, "b": 0.2}, "a, b, c: expected a sum of at most 1"),
    ],
    ids=str,
)
def test_rmat_names_the_argument_that_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        rmat(**arguments)


@pytest.mark.parametrize(
    ("leaves", "kind", "message"),
    [
        ((), "B1k", r"leaves: expected a sequence of positive integers such as \(25, 81, 256\), got \(\)"),
        (5, "B1k", "leaves: expected a sequence of positive integers such as .* got 5"),
        ("34", "B1k", "leaves: expected a sequence of positive integers such as .* got '34'"),
        ((3, 0), "B1k", "leaves: expected an integer of at least 1, got 0"),
        ((3, 2.5), "B1k", r"leaves: expected an integer of at least 1, got 2\.5"),
        ((3, 4), "B3k", "kind: expected one of B0k, B1k, B2k, got 'B3k'"),
        ((10**5, 10**5), "B1k", r"leaves: \(100000, 100000\) gives 10,000,200,001 vertices; fewer than 2\*\*31 fit"),
    ],
    ids=str,
)
def test_kronecker_names_the_argument_that_is_wrong(leaves, kind, message):
    with pytest.raises(ValueError, match=message):
        kronecker(leaves, kind)
