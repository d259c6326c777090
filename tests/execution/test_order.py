"""Rows in order: the least of each orbit, whatever order the edges came in, and ids of every kind that has an order."""

from __future__ import annotations

import random
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_cases import rows as frame_rows
from hypothesis import assume, given
from naive import NaiveGraph, sorted_rows
from strategies import cases
from tiers import examples

import cusubmatch as csm
from cusubmatch import Pattern
from cusubmatch.execution.results import row_order as sort

pytestmark = pytest.mark.filterwarnings("ignore::cusubmatch.AbsentLabelWarning")

PARTLY_NAMED = [
    "(x)--()",
    "(x)-->()-->(y)",
    "(x)--()--()--(y)",
    "()--(x)--()",
    "()--(y)--(x)--()",
    "(a)--(b)--()--(a)",
    "(a)--()--()--(a)",
    "(a)--()--(b)--()--(a)",
    "(a)--(b)--()--()--(a)",
    "(h)--(x), (h)--(), (h)--()",
    "()--(x)--(h)--(y)--()",
    "(b)--()--(a), (b)--(a)",
]


def edges_of(seed, vertices=7, edges=12):
    """Rows between vertices a, b, c, ... without repeats."""
    chance = random.Random(seed)
    names = "abcdefghijkl"[:vertices]
    pairs = [(a, b) for a in names for b in names if a < b]
    return [tuple(chance.sample(pair, 2)) for pair in chance.sample(pairs, min(edges, len(pairs)))]


def shuffled(rows, seed, directed):
    chance = random.Random(seed)
    rows = chance.sample(rows, len(rows))
    return rows if directed else [tuple(chance.sample(row, 2)) for row in rows]


def graph_of(rows, directed):
    return csm.Graph.from_edgelist(pd.DataFrame(rows, columns=["src", "dst"]), directed=directed)


def objects(values):
    return pd.Series(values, dtype=object)


def tuples(frame):
    return list(frame.itertuples(index=False, name=None))


@pytest.mark.one_each
@pytest.mark.parametrize("text", PARTLY_NAMED)
@pytest.mark.parametrize("semantics", ["monomorphism", "induced"])
def test_sorted_rows_are_the_least_of_their_orbits_where_vertices_are_anonymous(text, semantics):
    pattern = Pattern.parse(text)
    for seed in range(2):
        rows = edges_of(seed)
        expected = sorted_rows(NaiveGraph(rows, pattern.directed), pattern, semantics)
        for again in range(3):
            graph = graph_of(shuffled(rows, again, pattern.directed), pattern.directed)
            assert tuples(csm.subgraph_match(graph, pattern, semantics=semantics, sort=True)) == expected


@examples(40)
@given(case=cases(anonymous=True, max_vertices=8))
def test_sorted_rows_are_those_of_the_definition(case):
    raw, pattern = case
    assume(pattern.columns)
    assume(len(pattern) < 6)
    found = csm.subgraph_match(raw.graph(), pattern, sort=True)
    assert tuples(found) == sorted_rows(raw.naive(), pattern, "monomorphism")


@pytest.mark.parametrize("text", ["(x)--()", "(h)--(x), (h)--(), (h)--()", "(a)--()--()--(a)"])
def test_batches_and_files_hold_the_same_sorted_rows_at_any_memory(text, tmp_path):
    rows = edges_of(3, vertices=12, edges=40)
    expected = sorted_rows(NaiveGraph(rows, False), Pattern.parse(text), "monomorphism")
    for number, memory in enumerate((1 << 10, 1 << 12, None)):
        graph, options = graph_of(shuffled(rows, number, False), False), {"sort": True, "memory_limit": memory}
        batches = csm.iter_matches(graph, text, batch_rows=5, **options)
        assert [row for batch in batches for row in tuples(batch)] == expected
        path = tmp_path / f"{number}.csv"
        assert csm.write_matches(graph, text, path, batch_rows=5, **options) == len(expected)
        assert tuples(pd.read_csv(path)) == expected


def test_a_limit_of_sorted_rows_is_that_many_least_rows_of_orbits():
    rows = edges_of(4)
    expected = sorted_rows(NaiveGraph(rows, False), Pattern.parse("(x)--()"), "monomorphism")
    found = tuples(csm.subgraph_match(graph_of(rows, False), "(x)--()", sort=True, limit=5))
    assert found == sorted(found)
    assert len(found) == 5
    assert all(found.count(row) <= expected.count(row) for row in found)


ORDERED = {
    "integers beyond 64 bits": [-(2**90), 5, 2**70],
    "unsigned integers as objects": [1, 2**63, 2**64],
    "tuples": [(1,), (1, 2), (3, 0)],
    "tuples of texts and numbers": [("a", 2), ("b", 1), ("b", 2)],
    "UUIDs": [uuid.UUID(int=number) for number in (1, 2, 2**127)],
    "decimals": [Decimal("1.5"), Decimal(10), Decimal("1e40")],
    "bytes": [b"a", b"a\0b", b"b"],
    "lone surrogates": ["a", "\ud800", "\U0001f600"],
    "periods": pd.period_range("2024-01", periods=3, freq="M").to_list(),
    "intervals": pd.interval_range(0, 3).to_list(),
}


def assert_sorted(ids, edges_of_columns):
    """The triangle of three ids, however its rows are turned, comes out as its least row."""
    for turn in (ids, ids[::-1], [ids[1], ids[2], ids[0]]):
        edges = edges_of_columns(turn, [*turn[1:], turn[0]])
        assert frame_rows(csm.subgraph_match(edges, "(x)--(y)--(z)--(x)", sort=True)) == [tuple(ids)]


@pytest.mark.parametrize("kind", ORDERED)
def test_python_objects_are_sorted_as_python_does(kind):
    assert_sorted(ORDERED[kind], lambda *ends: pd.DataFrame(dict(zip(("src", "dst"), map(objects, ends), strict=True))))


@pytest.mark.parametrize(
    ("dtype", "ids"),
    [
        (pd.CategoricalDtype(["c", "b", "a"]), ["a", "b", "c"]),
        ("period[M]", ORDERED["periods"]),
        ("interval[int64]", ORDERED["intervals"]),
    ],
    ids=str,
)
def test_pandas_columns_of_any_type_with_an_order_are_sorted(dtype, ids):
    assert_sorted(ids, lambda *ends: pd.DataFrame(dict(zip(("src", "dst"), ends, strict=True))).astype(dtype))


@pytest.mark.parametrize(
    ("dtype", "ids"),
    [
        (pa.string_view(), ["a", "a1", "b"]),
        (pa.dictionary(pa.int8(), pa.string()), ["a", "a1", "b"]),
        (pa.binary_view(), [b"a", b"a1", b"b"]),
        (pa.binary(2), [b"a1", b"a2", b"b0"]),
    ],
    ids=str,
)
def test_arrow_columns_of_any_type_with_an_order_are_sorted(dtype, ids):
    assert_sorted(ids, lambda *ends: pa.table([pa.array(end, dtype) for end in ends], ["src", "dst"]))


@pytest.mark.parametrize(
    "ids",
    [["b", 1, "c"], ["b", b"a", "c"], [(1, 2), (1, "a"), (3, 4)], [frozenset([1]), frozenset([2]), frozenset([1, 2])]],
    ids=["texts and numbers", "texts and bytes", "tuples", "sets"],
)
def test_ids_without_an_order_are_refused_before_the_search(ids):
    edges = pd.DataFrame({"src": objects(ids), "dst": objects([*ids[1:], ids[0]])})
    for find in (csm.subgraph_match, csm.iter_matches):
        with pytest.raises(csm.GraphError, match=r"^sort: the ids .* no order: .*leave sort out$"):
            find(edges, "(x)--(y)", sort=True)


@pytest.mark.parametrize("values", [1, 2, 40])
def test_blocks_sorted_on_disk_are_in_order_and_fit_their_memory(values):
    chance = np.random.default_rng(values)
    blocks = [chance.integers(0, values, (3, 500), np.int32) for _ in range(8)]
    blocks.append(np.full((3, 4000), values // 2, np.int32))  # most rows are alike
    most = 300
    found = list(sort.sorted_blocks(blocks, 3, most * sort.COPIES * 4 * 3))
    assert all(part.shape[1] <= most for part in found)
    rows = np.concatenate(blocks, axis=1)
    assert (np.concatenate(found, axis=1) == rows[:, np.lexsort(rows[::-1])]).all()


def test_rows_are_walked_with_no_more_columns_than_symmetry_asks_for():
    for text, columns in {
        "(x)--()": (0, 1),
        "(x)--()--(y)": (0, 2),
        "(a)--()--()--(b)": (0, 3),
        "(h)--(x), (h)--(), (h)--()": (0, 1, 2, 3),
        "()--(h)--(x)--()": (1, 2),
    }.items():
        assert sort.sortable_columns(Pattern.parse(text)) == columns
