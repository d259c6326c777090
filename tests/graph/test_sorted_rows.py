"""Rows are built of edges in little memory, by any cut into pieces the same ones."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import thorough

from cusubmatch import Graph
from cusubmatch.errors import GraphError
from cusubmatch.frames import code_table, family_named, numbering, sorted_numbering
from cusubmatch.graph import build, csr, sorted_rows


@given(
    edges=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40),
    symmetric=st.booleans(),
    piece=st.sampled_from([None, 1, 5]),
    in_one_array=st.booleans(),
)
def test_rows_are_the_distinct_arcs_in_order(edges, symmetric, piece, in_one_array):
    codes = [np.array([edge[end] for edge in edges], np.int32) for end in (0, 1)]
    if in_one_array:
        codes = np.split(np.concatenate(codes), 2)
    codes = sorted_rows.without_loops(np, codes)
    rank = np.random.default_rng(0).permutation(9).astype(np.int32)
    arcs = {(rank[a], rank[b]) for a, b in edges if a != b}
    arcs |= {(b, a) for a, b in arcs} if symmetric else set()
    sorted_rows.replace_by_ranks(codes, rank)
    offsets, targets = sorted_rows.sorted_rows(np, codes, len(rank), symmetric=symmetric, piece=piece)
    sources = np.repeat(np.arange(9), np.diff(offsets))
    assert list(zip(sources, targets, strict=True)) == sorted(arcs)
    assert not codes
    assert (targets.dtype, offsets.dtype) == (np.int32, np.int64)


@pytest.mark.parametrize("values", [[], [False], [True], [False, True, True], [True] * 300])
def test_truths_are_counted(values):
    mask = np.array(values, bool)
    assert (csr.any_of(mask), csr.all_of(mask)) == (any(values), all(values))
    assert int(csr.number_of(np, mask)) == int(csr.number_of(None, mask)) == sum(values)


@pytest.mark.parametrize("range_arcs", [3, 1 << 16])
def test_the_higher_targets_of_each_row_begin_where_a_search_says(monkeypatch, range_arcs):
    monkeypatch.setattr(csr, "RANGE_ARCS", range_arcs)
    edges = pd.DataFrame(np.random.default_rng(2).integers(0, 40, (150, 2)) ** 2 // 40, columns=["src", "dst"])
    graph = Graph.from_edgelist(edges, directed=True, vertices=pd.DataFrame({"vertex": [-1, -2]}))
    rows = np.split(graph.targets, graph.offsets[1:-1])
    expected = [begin + (row <= x).sum() for x, (begin, row) in enumerate(zip(graph.offsets[:-1], rows, strict=True))]
    assert csr.first_higher(np, graph.offsets, graph.targets).tolist() == expected
    assert csr.first_higher(np, np.zeros(1, np.int64), np.zeros(0, np.int32)).tolist() == []


def test_steps_change_nothing(monkeypatch):
    edges = pd.DataFrame(np.random.default_rng(1).integers(-300, 300, (4000, 2)), columns=["src", "dst"])
    whole = Graph.from_edgelist(edges)
    for name in ("STEP", "HOST_STEP"):
        monkeypatch.setattr(numbering, name, 16)
    for name, value in (("STEP", 7), ("STEPS", 500)):
        monkeypatch.setattr(sorted_rows, name, value)
    stepwise = Graph.from_edgelist(edges)
    for name in ("offsets", "targets", "_ids"):
        np.testing.assert_array_equal(getattr(stepwise, name), getattr(whole, name))


@pytest.mark.parametrize("symmetric", [True, *thorough(False)])
def test_sorting_in_pieces_takes_the_codes_the_rows_and_little_more(symmetric):
    random, vertices, edges = np.random.default_rng(4), 250_000, 4_000_000
    piece = 2 * edges // sorted_rows.PIECES if symmetric else edges // sorted_rows.DIRECTED_PIECES
    tracemalloc.start()
    try:
        codes = [random.integers(0, vertices, edges, np.int32) for _ in range(2)]
        tracemalloc.reset_peak()
        offsets, targets = sorted_rows.sorted_rows(np, codes, vertices, symmetric=symmetric, piece=piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 2.2 * (offsets.nbytes + targets.nbytes)


def test_vertices_stand_by_ascending_degree_and_those_of_one_degree_in_order():
    degrees = np.array([3, 0, 2**32 - 1, 3, 1, 2**40, 0])
    assert build._ascending(np, degrees).tolist() == [1, 6, 4, 0, 3, 2, 5]
    assert build._ascending(np, np.zeros(0, np.int64)).tolist() == []


@pytest.mark.parametrize("spread", [1, 10**6], ids=["table", "hashed"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32])
def test_integers_are_numbered_alike_by_tables_and_hashes(spread, dtype, monkeypatch):
    monkeypatch.setattr(numbering, "STEP", 16)
    monkeypatch.setattr(numbering, "HOST_STEP", 16)
    monkeypatch.setattr(code_table, "LEAST_STEP", 256)
    values = np.random.default_rng(2).integers(0, 100, 200).astype(dtype) * dtype(min(spread, 10**6)) + dtype(5)
    codes, ids = family_named("pandas").factorize([pd.Series(values[:120]), pd.Series(values[120:])])
    np.testing.assert_array_equal(np.asarray(ids)[np.concatenate(codes)], values)
    assert len(ids) == len(np.unique(values))
    assert np.asarray(ids).dtype == dtype


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("step", [7, 1 << 20])
def test_integers_are_numbered_by_sorting_in_slices(step, dtype, monkeypatch):
    monkeypatch.setattr(sorted_numbering, "LEAST_STEP", step)
    values = np.random.default_rng(3).integers(0, 90, 300).astype(dtype) << dtype(56)
    parts = [[values[:40], values[40:40], values[40:200]], [values[200:]]]
    codes, ids = sorted_numbering.number_by_sorting(np, parts, np.dtype(dtype))
    np.testing.assert_array_equal(ids, np.unique(values))
    np.testing.assert_array_equal(ids[np.concatenate(codes)], values)
    assert [(len(array), array.dtype) for array in codes] == [(200, np.int32), (100, np.int32)]
    codes, ids = sorted_numbering.number_by_sorting(np, [[values[:0]], []], np.dtype(dtype))
    assert [len(array) for array in (*codes, ids)] == [0, 0, 0]


@pytest.mark.parametrize("small", [0, 700 + 256])
def test_a_code_table_numbers_full_blocks(small, monkeypatch):
    monkeypatch.setattr(code_table, "SMALL", small)
    table = code_table.CodeTable(np, 700)
    some = np.concatenate([np.arange(300), np.arange(400, 700, 7)])
    table.mark(some)
    np.testing.assert_array_equal(table.number(), some)
    np.testing.assert_array_equal(table.codes(some), np.arange(len(some)))


def test_a_graph_that_does_not_fit_is_refused_before_it_is_built(monkeypatch):
    monkeypatch.setattr(build, "CHECKED_BYTES", 0)
    monkeypatch.setattr(build, "free_bytes", lambda _: 30)
    with pytest.raises(GraphError, match=r"2 rows takes about 32 bytes of host memory .* 30 are free; free some"):
        Graph.from_edgelist(pd.DataFrame({"src": [1, 2], "dst": [2, 3]}))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ids", "directed", "most"),
    [("dense", False, 2.2), ("hashed", False, 2.2), ("dense", True, 2.2), ("wide", True, 2.2), ("hashed", True, 2.4)],
)
def test_building_takes_little_more_than_twice_the_graph(ids, directed, most):
    random = np.random.default_rng(3)
    vertices = 250_000 if directed else 500_000  # arcs a vertex alike
    names = random.integers(0, 1 << 60, vertices) if ids == "hashed" else np.arange(vertices)
    names *= 19 if ids == "wide" else 1  # as far as a lookup table goes
    edges = pd.DataFrame({end: names[random.integers(0, len(names), 5_000_000)] for end in ("src", "dst")})
    Graph.from_edgelist(edges.head())  # what is imported for it
    tracemalloc.start()
    try:
        graph = Graph.from_edgelist(edges, directed=directed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= most * (graph.offsets.nbytes + graph.targets.nbytes)
