"""Tables on the GPU at their limits: counters that are full, windows of any size, launches in pieces, little memory."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from targets import emulator
from test_decomposition import table_run, walked
from test_gpu_tables import NATIVE, PRIME, all_kernels, nothing, on_gpu, pairs_by_matrices, support
from tiers import is_thorough, thorough

from cusubmatch import Graph
from cusubmatch.engines.cpu import CpuEngine
from cusubmatch.engines.cpu.tables.reverse_arcs import reverse_arcs as reverse_arcs_on_cpu
from cusubmatch.engines.cpu.tables.table_kernels import TableKernels as OnCpu
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.tables import schedule as team
from cusubmatch.engines.gpu.tables import table_kernels as tables
from cusubmatch.engines.gpu.tables.schedule import Grid
from cusubmatch.engines.gpu.tables.table_kernels import LaunchShape, TableKernels, reverse_arcs_on
from cusubmatch.execution.strategies import table_count as counting
from cusubmatch.graph.support_graph import support_graph_of

BLOCKS = LaunchShape(Grid(64, 8, 2), Grid(64, 8, 3), Grid(32, 8, 2), long=3)


def of_edges(edges):
    return support_graph_of(Graph.from_edgelist(pd.DataFrame(edges, columns=["src", "dst"])), reverse_arcs_on_cpu)


def hubs(leaves, *between):
    """Three hubs and what all of them are adjacent to; some edges between hubs."""
    edges = [(hub, leaf) for hub in range(3) for leaf in range(3, 3 + leaves)]
    return of_edges([*edges, *between])


def counted_ones_agree(gpu):
    """What is counted in counters and hash tables: paths of three, cycles of four and of five."""
    cpu = OnCpu(gpu.support, nothing)
    assert np.array_equal(cpu.path_table([None] * 3, True, 0), gpu.path_table([None] * 3, True, 0))
    assert cpu.four_cycles(0) == gpu.four_cycles(0)
    assert (cpu.five_cycles() - gpu.five_cycles()) % (1 << 64) == 0
    assert not gpu.team._zeros.any()
    return gpu.four_cycles(0), gpu.five_cycles()


@pytest.mark.thorough
@pytest.mark.parametrize("most", [tables.MOST_PACKED, 0], ids=["packed", "words"])
@pytest.mark.parametrize("window", [7, 0, 1, 3, 40])
@pytest.mark.parametrize(
    ("target", "scale", "degree"),
    [(emulator(seed=7), 5, 4), (NATIVE, 9, 8)],
    ids=["lanes", "one lane"],
)
def test_counters_of_either_width_agree_with_the_cpu_in_any_window(window, most, target, scale, degree, monkeypatch):
    monkeypatch.setattr(tables, "MOST_PACKED", most)
    graph = support(scale, degree=degree)
    for few in (0, 30):
        monkeypatch.setattr(tables, "FEW_WEDGES", few)
        gpu = on_gpu(graph, target, BLOCKS._replace(window=window))
        assert gpu.packed == (most > 0)
        assert gpu._highest(2).busy > 0
        fours, fives = counted_ones_agree(gpu)
        assert fours > 0 < fives


@pytest.mark.parametrize("window", [0, 1, 2, 3, 100])
@pytest.mark.thorough
def test_counters_of_half_a_word_do_not_run_into_each_other_when_they_are_full(window):
    bipartite = on_gpu(hubs(tables.MOST_PACKED), NATIVE, LaunchShape(window=window))
    assert bipartite.packed
    assert counted_ones_agree(bipartite) == (3 * math.comb(tables.MOST_PACKED, 2), 0)
    adjacent = on_gpu(hubs(tables.MOST_PACKED - 2, (0, 1), (0, 2), (1, 2)), NATIVE, LaunchShape(window=window))
    assert adjacent.packed
    assert counted_ones_agree(adjacent)[1] > 0
    larger = on_gpu(hubs(tables.MOST_PACKED + 1), NATIVE, LaunchShape(window=window))
    assert not larger.packed
    assert counted_ones_agree(larger) == (3 * math.comb(tables.MOST_PACKED + 1, 2), 0)


@pytest.mark.parametrize("slots", [tables.FEW_WEDGES, tables.SLOTS])
def test_a_hash_table_holds_as_many_ends_as_there_may_be(slots, monkeypatch):
    monkeypatch.setattr(tables, "SLOTS", slots)
    width = math.isqrt(tables.FEW_WEDGES)
    middles = [(0, 1 + i) for i in range(width)]
    ends = [(1 + i, 100 + width * i + j) for i in range(width) for j in range(width)]
    leaves = [(0, 1000 + i) for i in range(2 * width)]
    closing = [(1, 100 + width)]  # one cycle of four: its end comes with two middles
    for edges, fours in (([*middles, *ends, *leaves], 0), ([*middles, *ends[:-1], *leaves, *closing], 1)):
        graph = of_edges(edges)
        for target in (NATIVE, emulator(seed=1)):
            gpu = on_gpu(graph, target, LaunchShape(edges=Grid(64, 8, 1)))
            tops = gpu._highest(2)
            assert tops.busy == 0
            assert tops.work >= tables.FEW_WEDGES
            assert gpu.four_cycles(0) == fours


@pytest.mark.one_each
@pytest.mark.parametrize("seconds", [1e-6, *thorough(1e-7)])
@pytest.mark.parametrize(("how", "prime"), [("ones", 0), *thorough(("residues", PRIME), ("some", 0))])
@pytest.mark.thorough
def test_pieces_add_up_to_the_whole(how, prime, seconds, monkeypatch):
    monkeypatch.setattr(team, "PIECE_S", seconds)
    monkeypatch.setattr(tables, "FEW_WEDGES", 20)
    graph, looks = support(8), []
    gpu = TableKernels(graph, looks.append, Device(NATIVE, 1, 100_000), LaunchShape(window=30))
    all_kernels(OnCpu(graph, nothing), gpu, how, prime)
    assert len(looks) > 20
    assert all(0 <= share <= 1 for share in looks)
    kinds = [((None, None), 1), ((None,) * 5, 1)]
    assert gpu.pairs((None, None), kinds, False, True, prime) == OnCpu(graph, nothing).pairs(
        (None, None), kinds, False, True, prime
    )


@pytest.mark.thorough
def test_pairs_with_many_bridges_are_cut_into_more_pieces(monkeypatch):
    ends = [(i, j) for i in range(40) for j in range(i)]
    graph, looks = of_edges(ends), []
    gpu = TableKernels(graph, looks.append, Device(NATIVE, 1, 100_000), LaunchShape())
    monkeypatch.setattr(team, "PIECE_S", 40**3 / 2e9)
    for values, least in ((None,) * 2, 0), ((None,) * 5, 10):
        looks.clear()
        found = gpu.pairs((None, None), [(values, 1)], False, True, 0)
        assert found == pairs_by_matrices(graph, (None, None), [(values, 1)], True, 0)
        assert len(looks) >= least


class Stopped(Exception):
    pass


@pytest.mark.thorough
def test_kernels_that_were_stopped_between_pieces_count_right_afterwards(monkeypatch):
    monkeypatch.setattr(team, "PIECE_S", 1e-9)
    monkeypatch.setattr(tables, "FEW_WEDGES", 20)
    graph, left = support(7), [0]

    def check_deadline(_share):
        left[0] -= 1
        if left[0] == 0:
            raise Stopped

    gpu = TableKernels(graph, check_deadline, Device(NATIVE, 1, 100_000), LaunchShape(window=30))
    ones = [None] * 5
    weights = [np.arange(len(graph.targets), dtype=np.uint64) % np.uint64(3)] * 5
    kinds = [((None, None), 1), ((None,) * 5, 1)]
    calls = [
        lambda kernels: kernels.four_cycles(0),
        lambda kernels: kernels.cycle_sum(ones, 0),
        lambda kernels: kernels.cycle_sum(weights, 0),
        lambda kernels: kernels.pairs((None, None), kinds, False, True, 0),
        lambda kernels: kernels.path_table(weights[:3], False, 0).tolist(),
        lambda kernels: kernels.path_table(ones[:3], False, 0).tolist(),
    ]
    for call in calls:
        for after in (1, 2, 5):
            left[0] = after
            with pytest.raises(Stopped):
                call(gpu)
            assert not gpu.team._zeros.any()
        left[0] = 0
        assert call(gpu) == call(OnCpu(graph, nothing))


@pytest.fixture(params=[1, 2000])
def room(request, monkeypatch):
    """Bytes for the rows of blocks."""
    monkeypatch.setattr(team, "ROWS_BYTES", request.param)
    monkeypatch.setattr(tables, "ROWS_BYTES", request.param)
    return request.param


def test_rows_that_would_take_too_much_memory_leave_fewer_blocks(room):
    graph = support(5, degree=4)
    gpu = on_gpu(graph, emulator(seed=3), BLOCKS._replace(window=5))
    rows = gpu.team.rows(np.uint64, graph.vertices, gpu.shape.vertices, 4)
    assert rows.blocks == max(1, room // (32 * graph.vertices))
    assert gpu.four_cycles(0) == OnCpu(graph, nothing).four_cycles(0)


@pytest.mark.thorough
def test_fewer_blocks_agree_with_the_cpu_in_every_kernel(room):
    graph = support(5, degree=4)
    gpu = on_gpu(graph, emulator(seed=3), BLOCKS._replace(window=5))
    all_kernels(OnCpu(graph, nothing), gpu, "some", 0)


@pytest.mark.one_each
@pytest.mark.parametrize("edges", [[(0, 1)], *thorough([(0, 1), (1, 2)], [(0, i) for i in range(1, 40)])], ids=len)
@pytest.mark.parametrize("target", [*thorough(emulator(seed=2)), NATIVE], ids=["lanes", "one lane"])
def test_graphs_with_nothing_to_count(edges, target):
    everything_agrees(of_edges(edges), target)


@pytest.mark.parametrize("target", [emulator(seed=2), NATIVE], ids=["lanes", "one lane"])
def test_a_skeleton_without_entries(target):
    whole = of_edges([(0, 1), (1, 2), (2, 0)])
    empty = type(whole)(np, np.zeros(4, np.int64), whole.targets[:0], lambda: np.zeros(0, np.int64))
    everything_agrees(empty, target)


PATTERNS = {
    "house": "(a)--(b)--(c)--(d)--(a)--(e)--(b)",
    "cycle of five with tails": "(a)--(b)--(c)--(d)--(e)--(a)--(f), (c)--(g)",
    "clique with a tail": "(a)--(b)--(c)--(a)--(d)--(b), (c)--(d)--(e)",
    "wheel less a spoke": "(a)--(x)--(b)--(y)--(a), (x)--(z)--(b), (y)--(z)",
    "directed": "(a:A)-->(b)-->(c)<--(d)--(a), (a)-->(e:B)-->(b)",
    "labels that few have": "(a:Rare)--(b)--(c:Rare)--(d)--(a)--(e)",
    "labels that none can meet": "(a:Rare)--(b:Rare)--(c:Rare)--(a)--(d)--(e)",
    "a hidden nothing": "(a:A)--(b:B)--(c:A)--(d:B)--(a)--(c), (a)--(e:Rare)--(f:Rare)--(g:Rare)--(e)",
}
SLOW = "cycle of five with tails"


@pytest.mark.one_each
@pytest.mark.parametrize("primes", [None, [2**31 - 1, 2**31 - 19, 2**31 - 61]], ids=["words", "primes"])
@pytest.mark.parametrize("name", [name for name in PATTERNS if name != SLOW] + thorough(SLOW))
def test_whole_counts_are_those_of_the_cpu(name, primes, monkeypatch):
    random, n = np.random.default_rng(1), 150 if is_thorough() else 75
    labels = np.where(np.arange(n) % (4 * n // 15) == 7, "Rare", random.choice(["A", "B"], n))
    graph = Graph.from_edgelist(
        pd.DataFrame(random.integers(0, n, (6 * n, 2)) ** 2 // n, columns=["src", "dst"]),
        directed=name == "directed",
        vertices=pd.DataFrame({"vertex": range(n), "label": labels}),
        vertex_label="label",
    )
    expected = table_run(graph, PATTERNS[name]).count()
    if primes:
        monkeypatch.setattr(counting, "moduli", lambda _: primes)
    monkeypatch.setattr(tables, "FEW_WEDGES", 10)
    run = table_run(graph, PATTERNS[name])
    machine, made = Device(NATIVE, 1, 100_000), []

    class Engine(CpuEngine):
        def reverse_arcs(self, *rows):
            return reverse_arcs_on(machine, *rows)

        def table_kernels(self, *given):
            made.append(TableKernels(*given, machine, LaunchShape(window=21)))
            return made[-1]

    run.engine = Engine()
    assert run.count() == expected == walked(graph, PATTERNS[name])
    assert len(made) == len(primes or [0])
    assert not any(kernels.team._zeros.any() for kernels in made)


def everything_agrees(graph, target):
    cpu, gpu = OnCpu(graph, nothing), on_gpu(graph, target, BLOCKS)
    ones, some = [None] * 5, [np.ones(len(graph.targets), np.uint64)] * 5
    for values in (ones, some):
        for kernels in (cpu, gpu):
            assert kernels.cycle_sum(values, 0) == kernels.cycle_sum(ones[:4], 0) == 0
        for prime in (0, PRIME):
            for size in (2, 3):
                assert np.array_equal(
                    cpu.path_table(values[:size], False, prime), gpu.path_table(values[:size], False, prime)
                )
            assert np.array_equal(cpu.cliques(values, prime), gpu.cliques(values, prime))
            assert np.array_equal(cpu.row_sums(values[0], None, prime), gpu.row_sums(values[0], None, prime))
            for kinds in ([(tuple(values[:2]), 2)], [(tuple(values), 1)]):
                found = gpu.pairs((None, None), kinds, False, True, prime)
                assert found == pairs_by_matrices(graph, (None, None), kinds, True, prime)


@pytest.mark.thorough
def test_a_star_of_four_million_leaves():
    leaves = 4_000_000
    graph = support_graph_of(
        Graph.from_edgelist(pd.DataFrame({"src": np.zeros(leaves, int), "dst": np.arange(1, leaves + 1)})),
        reverse_arcs_on_cpu,
    )
    gpu = on_gpu(graph, NATIVE, LaunchShape())
    assert not gpu.packed
    assert gpu.four_cycles(0) == gpu.cycle_sum([None] * 5, 0) == 0
    assert not gpu.path_table([None] * 3, True, 0).any()
    assert not gpu.path_table([None] * 2, True, 0).any()
    assert gpu.row_sums(None, None, 0).max() == leaves


@pytest.mark.parametrize("target", [*thorough(emulator(seed=5)), NATIVE], ids=["lanes", "one lane"])
def test_sums_that_come_back_to_zero_modulo_a_word_do_not_overflow_the_list_of_ends(target):
    graph = of_edges([(i, j) for i in range(12) for j in range(12, 24)] + [(0, 1), (12, 13)])
    half = np.full(len(graph.targets), 1 << 63, np.uint64)
    gpu = TableKernels(
        graph, nothing, Device(target, 2, 100_000), LaunchShape(Grid(32, 8, 1), Grid(32, 8, 1), Grid(32, 8, 1))
    )
    cpu = OnCpu(graph, nothing)
    some = half.copy()
    some[::5] = 3
    for array in (half, some):
        assert gpu.cycle_sum([array, None, None, None, None], 0) == cpu.cycle_sum([array, None, None, None, None], 0)
        for kinds in ([((None, array), 1)], [((array, None), 1), ((None, None), 1)], [((array, *[None] * 4), 1)]):
            expected = pairs_by_matrices(graph, (None, None), kinds, False, 0)
            for kernels in (cpu, gpu):
                assert kernels.pairs((None, None), kinds, False, False, 0) == expected
        assert not gpu.team._zeros.any()
