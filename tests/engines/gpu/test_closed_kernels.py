"""Triangles and cliques by their own kernels: lane by lane on tiny graphs, natively on large ones."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from paths import TRUTH
from targets import emulator, one_lane
from tiers import thorough

from cusubmatch.engines.gpu.cliques import edge_split
from cusubmatch.engines.gpu.cliques import orientation as oriented
from cusubmatch.engines.gpu.cliques.cliques import Cliques, Limits, usual_limits
from cusubmatch.engines.gpu.cliques.orientation import orient
from cusubmatch.engines.gpu.cliques.triangles import Triangles

NATIVE = one_lane()
TINY = {"processors": 1, "threads": 64}
COUNTS = pd.read_csv(TRUTH / "counts.tsv", sep="\t").set_index(["graph", "pattern"]).unique_count


def rows_of(n, edges):
    """Full symmetric rows; vertices keep their numbers."""
    edges = np.asarray(sorted(edges), np.int64).reshape(-1, 2)
    keys = np.unique(np.concatenate([edges[:, 0] << 32 | edges[:, 1], edges[:, 1] << 32 | edges[:, 0]]))
    return np.searchsorted(keys, np.arange(n + 1) << 32), (keys & 0xFFFFFFFF).astype(np.int32)


def by_degree(n, edges):
    """The same graph with its vertices numbered by ascending degree."""
    rank = np.argsort(np.argsort(np.bincount(np.ravel(list(edges)), minlength=n), kind="stable"))
    return {tuple(sorted((int(rank[a]), int(rank[b])))) for a, b in edges}


def tiny_graph(seed):
    """A dense core, a fringe, a vertex that touches nearly all, and some without an edge."""
    random = np.random.default_rng(seed)
    pairs = combinations(range(44), 2)
    edges = {(a, b) for a, b in pairs if random.random() < (0.6 if b < 24 else 0.06)}
    return by_degree(50, edges | {(a, 45) for a in range(40)})


def cliques_by_sets(graph, k, roots=None):
    """The k-cliques of oriented rows, lowest vertex first: the obvious way."""
    rows = [set(part.tolist()) for part in np.split(graph.targets, graph.offsets[1:-1].astype(int))]

    def extend(size, candidates):
        return len(candidates) if size == 1 else sum(extend(size - 1, candidates & rows[v]) for v in candidates)

    return sum(extend(k - 1, rows[int(v)]) for v in (range(len(rows)) if roots is None else roots))


def in_64_bits(graph):
    """The graph with the offsets of one of over 2**32 edges."""
    return graph._replace(offsets=graph.offsets.astype(np.int64))


def layered(tops, groups, size):
    """A few vertices, without edges between them, below many that form disjoint cliques; and its 3-, 4-, 5-cliques.

    The members of a clique lie far apart, so that they meet in different words.
    """
    below = range(tops, tops + groups * size)
    edges = {(a, b) for a in range(tops) for b in below}
    for group in range(groups):
        edges |= set(combinations(below[group::groups], 2))
    of = [1, *(groups * len(list(combinations(range(size), k))) for k in (1, 2, 3, 4, 5))]
    return orient(np, *rows_of(tops + groups * size, edges)), {k: of[k] + tops * of[k - 1] for k in (3, 4, 5)}


CLASSES = {
    "a word a row": Limits(),
    "a warp a vertex": Limits(word=3, warp=64),
    "a block a vertex": Limits(word=3, warp=3),
    "every class": Limits(word=4, warp=7, block=10),
    "matrices in one batch": Limits(word=3, warp=3, block=3),
    "matrices in many batches": Limits(word=3, warp=3, block=3, scratch_words=600),
}


def test_orientation_keeps_each_edge_once_and_rows_sorted():
    edges = tiny_graph(0)
    graph = orient(np, *rows_of(50, edges))
    sources = np.repeat(np.arange(50), graph.degrees)
    assert list(zip(sources.tolist(), graph.targets.tolist(), strict=True)) == sorted(edges)
    assert graph.offsets.dtype == graph.targets.dtype == np.uint32


def test_orientation_in_slices_is_the_same(monkeypatch):
    rows = rows_of(50, tiny_graph(1))
    whole = orient(np, *rows)
    for length in (1, 7, 64):
        monkeypatch.setattr(oriented, "SLICE", length)
        for ours, theirs in zip(orient(np, *rows), whole, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_orientation_leaves_out_vertices_that_are_not_allowed():
    edges, allowed = tiny_graph(2), np.arange(50) % 3 != 0
    ours = orient(np, *rows_of(50, edges), allowed)
    theirs = orient(np, *rows_of(50, {(a, b) for a, b in edges if allowed[a] and allowed[b]}))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("slice_length", [5, 1 << 23])
def test_every_edge_with_two_lists_is_short_or_has_a_partner(monkeypatch, slice_length):
    monkeypatch.setattr(oriented, "SLICE", slice_length)
    graph = orient(np, *rows_of(50, tiny_graph(3)))
    items, short = edge_split.split(np, graph, long=4, least_work=1, blocks=1000)
    found = {tuple(sorted(pair)) for pair in np.stack(short, 1).tolist()}
    assert len(items.vertices) > len(set(items.vertices.tolist())), "no vertex was cut into several items"
    for vertex, begin, length in zip(items.vertices, items.begins, items.lengths, strict=True):
        partners = items.partners[begin : begin + length]
        assert length > 0
        assert (graph.degrees[partners] <= graph.degrees[vertex]).all()
        found |= {tuple(sorted((int(vertex), int(partner)))) for partner in partners}
    sources = np.repeat(np.arange(50), graph.degrees)
    expected = {(int(u), int(v)) for u, v in zip(sources, graph.targets, strict=True) if graph.degrees[v]}
    assert found == expected
    assert len(short.sources) + items.lengths.sum() == len(expected)


@pytest.mark.one_each
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("window", [64, 32])
def test_triangles_lane_by_lane(seed, window):
    graph = orient(np, *rows_of(50, tiny_graph(seed)))
    triangles = Triangles(emulator(seed), np, graph, **TINY, window=window, long=4)
    assert len(triangles._items.vertices)
    assert triangles.count() == cliques_by_sets(graph, 3)


def test_vertices_of_a_warps_size_go_to_blocks_where_they_are_few():
    degrees = np.array([32] * 100 + [40] * 15 + [80] * 100)
    assert usual_limits(degrees, warps=10) == Limits()
    assert usual_limits(degrees, warps=11) == Limits(warp=32)


@pytest.mark.one_each
@pytest.mark.parametrize("k", [4, *thorough(5)])
@pytest.mark.parametrize("name", ["every class", *thorough(*[name for name in CLASSES if name != "every class"])])
def test_cliques_of_each_size_class_lane_by_lane(name, k):
    limits = CLASSES[name]
    seed = 7 * k + limits.warp
    graph = orient(np, *rows_of(50, tiny_graph(seed)))
    cliques = Cliques(emulator(seed), np, graph, k, **TINY, limits=limits)
    assert len(cliques.unsupported) == 0
    assert cliques.count() == cliques_by_sets(graph, k)


@pytest.mark.one_each
@pytest.mark.parametrize("k", [4, 5])
@pytest.mark.parametrize("limits", [Limits(word=8, warp=96), Limits(word=8, warp=8), Limits(8, 8, 8)])
def test_rows_of_several_words_lane_by_lane(limits, k):
    graph, expected = layered(tops=1, groups=11, size=6)
    assert Cliques(emulator(k), np, graph, k, **TINY, limits=limits).count() == expected[k]


@pytest.mark.parametrize("window", [32, 64])
def test_neighbourhoods_that_span_more_or_fewer_ranks_than_the_window(window):
    graph, expected = layered(tops=1, groups=8, size=6)
    spans = [row.max() - row.min() for row in np.split(graph.targets, graph.offsets[1:-1].astype(int)) if len(row) > 3]
    assert (window == 32) == (max(spans) >= window)
    with patch("cusubmatch.engines.gpu.cliques.cliques.WINDOW", window):
        for k in (4, 5):
            cliques = Cliques(emulator(window), np, graph, k, **TINY, limits=Limits(word=3, warp=3))
            assert cliques.count() == expected[k]


def test_wide_offsets_lane_by_lane():
    graph = in_64_bits(orient(np, *rows_of(50, tiny_graph(4))))
    assert Triangles(emulator(4), np, graph, **TINY, window=64, long=4).count() == cliques_by_sets(graph, 3)
    cliques = Cliques(emulator(4), np, graph, 4, **TINY, limits=Limits(word=4, warp=7, block=10))
    assert cliques.count() == cliques_by_sets(graph, 4)


@pytest.mark.parametrize(("n", "edges"), [(0, []), (1, []), (9, []), (9, [(2, 7)]), (9, [(0, 8), (3, 8), (5, 8)])])
def test_graphs_without_triangles_have_no_cliques(n, edges):
    graph = orient(np, *rows_of(n, edges))
    assert Triangles(NATIVE, np, graph).count() == 0
    assert Cliques(NATIVE, np, graph, 4).count() == Cliques(NATIVE, np, graph, 5).count() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["facebook_combined", "soc-Epinions1"])
def test_data_graphs_have_their_known_counts(data_graph, name):
    graph = orient(np, data_graph(name).offsets, data_graph(name).targets)
    assert Triangles(NATIVE, np, graph).count() == COUNTS[name, "triangle"]
    assert Triangles(NATIVE, np, graph, window=1024).count() == COUNTS[name, "triangle"]
    for k, limits in ((4, Limits()), (5, Limits()), (4, Limits(16, 16, 64)), (5, Limits(16, 16, 64))):
        assert Cliques(NATIVE, np, graph, k, limits=limits).count() == COUNTS[name, f"clique{k}"]


@pytest.mark.parametrize("tops", [3])
@pytest.mark.parametrize(("groups", "size"), thorough((50, 6), (150, 7), (60, 10)))
def test_long_neighbourhoods_fill_many_words(tops, groups, size):
    graph, expected = layered(tops, groups, size)
    assert Triangles(NATIVE, np, graph).count() == expected[3]
    for k in (4, 5):
        assert Cliques(NATIVE, np, graph, k, limits=Limits(8, 8, 512)).count() == expected[k]


@pytest.mark.parametrize("k", [4, 5])
def test_vertices_whose_rows_fit_nowhere_are_named_and_left_out(k):
    graph = orient(np, *rows_of(50, tiny_graph(5)))
    cliques = Cliques(NATIVE, np, graph, k, limits=Limits(3, 3, 3, scratch_words=8 * 9))
    assert sorted(cliques.unsupported.tolist()) == np.nonzero(graph.degrees > 9)[0].tolist()
    left_out = cliques_by_sets(graph, k, roots=cliques.unsupported)
    assert left_out > 0
    assert cliques.count() == cliques_by_sets(graph, k) - left_out


def counters():
    graph = orient(np, *rows_of(50, tiny_graph(6)))
    yield "triangles", Triangles(NATIVE, np, graph, long=4), cliques_by_sets(graph, 3)
    for k in (4, 5):
        for limits in (Limits(word=4, warp=6), Limits(4, 6, 9, scratch_words=1000)):
            yield f"clique {k}", Cliques(NATIVE, np, graph, k, limits=limits), cliques_by_sets(graph, k)


@pytest.mark.thorough  # compiles for seconds
def test_pieces_give_the_same_count_and_tell_how_far_they_are():
    for name, counter, expected in counters():
        seen = []
        assert counter.count(lambda *told, seen=seen: seen.append(told), piece_s=1e-12) == expected, name
        assert len(seen) > 12, name
        assert all(0 < done <= 1 for done, _ in seen), name
        assert all(one <= other for one, other in pairwise(seen)), name
        assert 0 < seen[-1][1] <= expected, name
        assert counter.count() == expected, f"{name} again, whole"


@pytest.mark.thorough
def test_a_graph_of_few_edges_is_one_piece(data_graph):
    graph = orient(np, data_graph("soc-Epinions1").offsets, data_graph("soc-Epinions1").targets)
    seen = []
    Triangles(NATIVE, np, graph).count(lambda *told: seen.append(told))
    Cliques(NATIVE, np, graph, 5).count(lambda *told: seen.append(told))
    assert seen == []


def test_a_check_that_raises_stops_the_count():
    class Enough(Exception):
        pass

    calls = []

    def check(done, count):
        calls.append(done)
        if len(calls) == 3:
            raise Enough

    for name, counter, _ in counters():
        calls.clear()
        with pytest.raises(Enough):
            counter.count(check, piece_s=1e-12)
        assert len(calls) == 3, name


def recorder(recordings):
    """The native target, with a list of what was recorded for how often it was done again."""

    def record(first, others):
        place = len(recordings)
        recordings.append(0)

        def again():
            recordings[place] += 1
            first()
            for launch in reversed(others):
                launch()

        return again

    return NATIVE._replace(record=record)


def test_launches_are_recorded_once_and_then_done_again():
    recordings, graph = [], orient(np, *rows_of(50, tiny_graph(6)))
    target = recorder(recordings)
    for counter, k in ((Triangles(target, np, graph), 3), (Cliques(target, np, graph, 5), 5)):
        recordings.clear()
        assert [counter.count() for _ in range(5)] == 5 * [cliques_by_sets(graph, k)]
        assert recordings == [4]
        counter.count(lambda *_: None)  # in one piece, it has nothing to look at
        assert recordings == [5]
        counter.count(lambda *_: None, piece_s=1e-12)
        assert recordings == [5]


def test_launches_that_cannot_be_recorded_are_done_one_by_one_and_tried_once():
    tried, graph = [], orient(np, *rows_of(50, tiny_graph(6)))
    cliques = Cliques(NATIVE._replace(record=lambda *launches: tried.append(launches)), np, graph, 4)
    assert [cliques.count() for _ in range(4)] == 4 * [cliques_by_sets(graph, 4)]
    assert len(tried) == 1


@pytest.mark.thorough  # compiles for seconds
def test_launches_of_matrices_are_not_recorded():
    recordings, graph = [], orient(np, *rows_of(50, tiny_graph(6)))
    cliques = Cliques(recorder(recordings), np, graph, 4, limits=Limits(4, 6, 9, scratch_words=1000))
    assert [cliques.count() for _ in range(3)] == 3 * [cliques_by_sets(graph, 4)]
    assert recordings == []


@pytest.mark.thorough
def test_threads_count_at_once_in_words_of_their_own():
    graph = orient(np, *rows_of(50, tiny_graph(6)))
    inside, expected = threading.Barrier(4), cliques_by_sets(graph, 4)
    recordings: list[int] = []
    cliques = Cliques(recorder(recordings), np, graph, 4)

    def count(_):
        inside.wait()
        return [cliques.count() for _ in range(20)]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(count, range(4))) == 4 * [20 * [expected]]
    assert 1 <= len(recordings) <= 4


def test_other_sizes_of_clique_are_refused():
    with pytest.raises(ValueError, match="k: got 6"):
        Cliques(NATIVE, np, orient(np, *rows_of(3, [])), 6)
