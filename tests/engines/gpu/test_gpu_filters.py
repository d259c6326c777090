"""The candidates that the GPU finds are those of the CPU, bit by bit, and those of a definition in sets.

The kernels run in the lane emulator on small graphs, with constants that make these long, and as one lane.
`Device` stands in for CuPy's arrays where it matters what would travel to the host, or meet an array that lies there.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsqb_queries import LSQB_QUERIES
from strategies import cases, skewed_rows
from targets import emulator, one_lane
from test_yeast import pattern_of
from tiers import examples, is_thorough, thorough

from cusubmatch import Graph, Pattern
from cusubmatch.engines.cpu.candidates import filters as on_cpu
from cusubmatch.engines.gpu.runtime.device import Device as GpuDevice
from cusubmatch.engines.gpu.search import filters as on_gpu
from cusubmatch.plan import constraints_of
from cusubmatch.plan.candidates import ROUNDS, candidate_constraints_of

SEMANTICS = ("monomorphism", "homomorphism")
LABELLED = "(a:A)-->(b:B|C)-->(c)--(a), (c)-->(d:B), (e:B)<--(c)"


def find(engine, graph, pattern, semantics="monomorphism", **options):
    constraints = constraints_of(pattern, graph, semantics)
    adjacency, injective = graph.adjacency(constraints.relations), semantics != "homomorphism"
    found = engine.find_candidates(graph, pattern, constraints, adjacency, injective, **options)
    return found.candidates if engine is on_cpu else found


def assert_same(found, wanted):
    assert found.masks.dtype == np.uint32
    assert found.masks.tolist() == wanted.masks.tolist()
    assert found.cardinalities == wanted.cardinalities
    assert found.filters == wanted.filters
    for vertex in range(len(wanted.filters)):
        assert found.of(vertex).dtype == np.int32
        assert found.of(vertex).tolist() == wanted.of(vertex).tolist()


def rows_of(graph, constraints):
    """The neighbours of each vertex, a set, by relation."""
    adjacency = graph.adjacency(constraints.relations)
    return [
        [set(adjacency.targets[offsets[v] : offsets[v + 1]].tolist()) for v in range(graph.n_vertices)]
        for offsets in adjacency.offsets
    ]


def defined_masks(graph, pattern, semantics):
    """The masks by sets: labels, degrees, then, unless degrees say it all, rounds of consistency along the edges."""
    constraints = constraints_of(pattern, graph, semantics)
    demands, rows = candidate_constraints_of(constraints, semantics != "homomorphism"), rows_of(graph, constraints)
    candidates = [
        {
            v
            for v in range(graph.n_vertices)
            if allowed is None or graph.vertex_labels[v] in allowed
            if all(len(rows[relation][v]) >= count for relation, count in least.items())
        }
        for allowed, least in zip(constraints.labels, demands.min_degrees, strict=True)
    ]
    for _ in range(0 if demands.uniform else ROUNDS):
        for u, w, relation in demands.edges.tolist():
            candidates[u] = {v for v in candidates[u] if rows[relation][v] & candidates[w]}
    return [sum(1 << u for u, some in enumerate(candidates) if v in some) for v in range(graph.n_vertices)]


def skewed_graph(labelled=True, directed=True):
    n, length = (200, 1100) if is_thorough() else (60, 300)
    rows = skewed_rows(n, length)
    labels = np.random.default_rng(3).choice(["A", "B", "C", "D"], n, p=(0.2, 0.1, 0.2, 0.5))
    return Graph.from_edgelist(
        pd.DataFrame({"src": rows[0], "dst": rows[1]}),
        directed=directed,
        vertices=pd.DataFrame({"vertex": range(n), "label": labels}),
        vertex_label="label" if labelled else None,
    )


@pytest.fixture(scope="module")
def lane():
    return {"gpu": gpu_of(one_lane())}


def gpu_of(target, **tuned):
    return GpuDevice(target, 1, 228 << 10).tuned(**tuned)


# A small graph is long for these: several blocks, chunks and windows of a row.
TIGHT = {"filter_block_warps": 2, "filter_chunk_vertices": 32, "filter_probed_neighbours": 1}


# What candidates are -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("semantics", SEMANTICS)
@examples(60)
@given(data=st.data())
def test_the_cpu_finds_the_candidates_of_the_definition(semantics, data):
    raw, pattern = data.draw(cases())
    graph = raw.graph()
    found = find(on_cpu, graph, pattern, semantics)
    assert found.masks.tolist() == defined_masks(graph, pattern, semantics)
    assert [int(size) for size in found.cardinalities.sizes] == [len(found.of(u)) for u in range(len(pattern))]


@examples(40)
@given(data=st.data())
def test_pairs_of_candidates_and_how_unequally_they_are_shared_are_those_of_the_definition(data):
    raw, pattern = data.draw(cases())
    graph = raw.graph()
    found, constraints = find(on_cpu, graph, pattern), constraints_of(pattern, graph, "monomorphism")
    demands, rows = candidate_constraints_of(constraints, injective=True), rows_of(graph, constraints)
    assert bool(found.cardinalities.biases) == (not demands.uniform and bool(len(demands.edges)))
    fewest = {}
    for u, w, relation in demands.edges.tolist() if found.cardinalities.biases else ():
        of_w = set(found.of(w).tolist())
        counts = [len(rows[relation][v] & of_w) for v in found.of(u).tolist()]
        bias = len(counts) * sum(c * (c - 1) for c in counts) / max(sum(counts) ** 2, 1)
        fewest.setdefault((u, w), []).append((sum(counts), max(bias, 1.0)))
    for pair, some in fewest.items():
        assert found.cardinalities.pairs[pair] == min(count for count, _ in some)
        assert (found.cardinalities.pairs[pair], pytest.approx(found.cardinalities.biases[pair])) in some


def test_a_sweep_never_looks_at_what_it_clears():
    graph = skewed_graph()
    for text in (LABELLED, "(a)-->(b)-->(c)-->(d)-->(a)-->(c)", "(a)", "(h)--(a:A), (h)--(b:B), (h)--(c)"):
        demands = candidate_constraints_of(constraints_of(Pattern.parse(text), graph, "monomorphism"), injective=True)
        assert sum(end - begin for begin, end in demands.passes) == len(demands.edges)
        for begin, end in demands.passes:
            sources, targets = (set(demands.edges[begin:end, side].tolist()) for side in (0, 1))
            assert not sources & targets


# Lane by lane --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hubs", [False, True])
@examples(30)
@given(data=st.data(), seed=st.integers(0, 99), semantics=st.sampled_from(SEMANTICS), sample=st.sampled_from((1, 2, 5)))
def test_any_schedule_finds_the_candidates_of_the_cpu(hubs, data, seed, semantics, sample):
    raw, pattern = data.draw(cases(hubs=hubs))
    graph = raw.graph()
    options = {"gpu": gpu_of(emulator(seed))}
    assert_same(
        find(on_gpu, graph, pattern, semantics, sample=sample, **options),
        find(on_cpu, graph, pattern, semantics, sample=sample),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [None, 0, 1, 2])
@pytest.mark.parametrize("sample", [3, 20])
def test_long_rows_many_chunks_and_many_blocks_change_nothing(seed, sample):
    graph, pattern = skewed_graph(), Pattern.parse(LABELLED)
    assert_same(
        find(on_gpu, graph, pattern, sample=sample, gpu=gpu_of(emulator(seed), **TIGHT)),
        find(on_cpu, graph, pattern, sample=sample),
    )


# On one lane ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", [7, *thorough(1, 4096)])
@examples(60)
@given(data=st.data(), semantics=st.sampled_from(SEMANTICS))
def test_small_graphs_of_every_kind(lane, sample, data, semantics):
    raw, pattern = data.draw(cases())
    graph = raw.graph()
    assert_same(
        find(on_gpu, graph, pattern, semantics, sample=sample, **lane),
        find(on_cpu, graph, pattern, semantics, sample=sample),
    )


@pytest.mark.thorough
@pytest.mark.parametrize("query", LSQB_QUERIES)
@pytest.mark.parametrize("semantics", SEMANTICS)
def test_the_queries_of_lsqb(data_graph, lane, query, semantics):
    graph, pattern = data_graph("lsqb-sf0.003.directed"), Pattern.parse(LSQB_QUERIES[query])
    assert_same(find(on_gpu, graph, pattern, semantics, **lane), find(on_cpu, graph, pattern, semantics))


@pytest.mark.thorough
def test_a_sample_of_the_yeast_queries(data_graph, data_path, lane):
    graph, parts = data_graph("yeast"), pd.read_parquet(data_path("yeast.queries.parquet"))
    for query in sorted(parts["query"].unique())[::24]:
        pattern = pattern_of(parts[parts["query"] == query])
        assert_same(find(on_gpu, graph, pattern, **lane), find(on_cpu, graph, pattern))


@pytest.mark.thorough
@pytest.mark.parametrize("text", ["(a)-->(b)-->(c)-->(a)", "(a)-->(b)-->(c)-->(d)<--(a)", "(a)--(b)--(c)"])
def test_a_graph_with_more_candidates_than_the_sample(data_graph, lane, text):
    graph, pattern = data_graph("soc-Epinions1.directed"), Pattern.parse(text)
    found = find(on_gpu, graph, pattern, **lane)
    assert max(found.cardinalities.sizes) > 8 * 4096
    assert_same(found, find(on_cpu, graph, pattern))


# What travels --------------------------------------------------------------------------------------------------------


class Device(np.ndarray):
    """An array that meets no host array, of which `fetched` holds the size of each part that goes to the host."""

    fetched: list[int] = []  # noqa: RUF012 - one tally for all arrays

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        alien = [x for x in inputs + out if isinstance(x, np.ndarray) and not isinstance(x, Device)]
        assert not alien, f"{ufunc.__name__} of a device array and a host array"
        inputs, out = ([plain(x) for x in some] for some in (inputs, out))
        found = getattr(ufunc, method)(*inputs, **options, **({"out": tuple(out)} if out else {}))
        return np.asarray(found).view(Device)

    def __getitem__(self, place):
        assert not isinstance(place, np.ndarray) or isinstance(place, Device)
        return np.asarray(plain(self)[plain(place)]).view(Device)

    def __setitem__(self, place, value):
        assert isinstance(value, Device)
        plain(self)[place] = plain(value)

    def nonzero(self):
        return tuple(part.view(Device) for part in plain(self).nonzero())

    def tolist(self):
        self.fetched.append(self.size)
        return plain(self).tolist()

    def __bool__(self):
        self.fetched.append(self.size)
        return bool(plain(self))

    def __iter__(self):
        raise AssertionError("a loop over a device array")

    __int__ = __float__ = __index__ = __bool__


def plain(array):
    return array.view(np.ndarray) if isinstance(array, Device) else array


def device_function(function):
    def on_device(*arguments, **options):
        alien = [x for x in arguments if isinstance(x, np.ndarray) and not isinstance(x, Device)]
        assert not alien or function is np.asarray
        return np.asarray(function(*map(plain, arguments), **{k: plain(x) for k, x in options.items()})).view(Device)

    return on_device


def on_device(graph):
    """The graph with its arrays on the pretended device."""
    names = ("asarray", "bincount", "count_nonzero", "cumsum", "empty", "full", "minimum", "zeros")
    graph.xp = SimpleNamespace(**{name: device_function(getattr(np, name)) for name in names})
    graph.offsets, graph.targets = graph.offsets.view(Device), graph.targets.view(Device)
    if graph.vertex_labels is not None:
        graph.vertex_labels = graph.vertex_labels.view(Device)
    return graph


@pytest.mark.parametrize("directed", [False, True])
def test_only_numbers_travel_to_the_host_and_few_times(lane, directed):
    pattern = Pattern.parse(LABELLED if directed else "(a:A)--(b:B)--(c)")
    graph = skewed_graph(True, directed)
    wanted = find(on_cpu, graph, pattern, sample=50)
    constraints = constraints_of(pattern, graph, "monomorphism")
    rows = graph.adjacency(constraints.relations)
    rows = rows._replace(offsets=rows.offsets.view(Device), targets=rows.targets.view(Device))
    graph = on_device(skewed_graph(True, directed))
    Device.fetched.clear()

    def to_device(array):
        assert isinstance(array, Device)
        return plain(array)

    found = on_gpu.find_candidates(
        graph, pattern, constraints, rows, True, sample=50, gpu=lane["gpu"]._replace(to_device=to_device)
    )
    assert isinstance(found.masks, Device)
    assert isinstance(found.of(0), Device)
    rounds = [size for size in Device.fetched if size == 1]
    tables = [size for size in Device.fetched if size > 1]
    assert len(rounds) <= ROUNDS
    assert len(tables) == 2  # the counts, and once a graph those of its labels
    assert max(tables) < 64
    assert_same(found, wanted)
