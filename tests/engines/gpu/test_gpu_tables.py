"""The GPU's kernels for tables: lane by lane on small graphs and natively on larger ones, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest
from targets import emulator, one_lane
from tiers import is_thorough, thorough

from cusubmatch import Graph
from cusubmatch.engines.cpu.tables.reverse_arcs import reverse_arcs as reverse_arcs_on_cpu
from cusubmatch.engines.cpu.tables.table_kernels import TableKernels as OnCpu
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.tables import pair_sums as pairs
from cusubmatch.engines.gpu.tables import table_kernels as tables
from cusubmatch.engines.gpu.tables.schedule import Grid
from cusubmatch.engines.gpu.tables.table_kernels import LaunchShape, TableKernels, reverse_arcs_on
from cusubmatch.generators import rmat
from cusubmatch.graph.support_graph import support_graph_of

NATIVE = one_lane()
PRIME = 2_147_483_629
SHAPES = {
    "no window": LaunchShape(Grid(64, 4, 2), Grid(64, 4, 2), Grid(64, 4, 2), Grid(64, 4, 2), window=0, long=3),
    "a narrow window": LaunchShape(Grid(64, 8, 1), Grid(64, 16, 1), Grid(32, 8, 2), Grid(32, 8, 2), window=9),
    "a wide window": LaunchShape(Grid(32, 32, 2), Grid(32, 8, 1), Grid(64, 32, 1), Grid(64, 32, 1), window=200),
}


def nothing(_share):
    pass


def support(scale, seed=3, degree=5):
    return support_graph_of(Graph.from_edgelist(rmat(scale, degree, seed=seed)), reverse_arcs_on_cpu)


def weights_of(support, how, size, seed=1):
    """Arrays over the entries: all ones, some ones, small numbers, or ones that wrap."""
    random = np.random.default_rng(seed)
    most = {"ones": 1, "some": 4, "small": 4, "residues": PRIME, "wrapping": 1 << 63}[how]
    made = [random.integers(0, most, len(support.targets)).astype(np.uint64) for _ in range(size)]
    return [None if how == "ones" or (how == "some" and i % 2) else values for i, values in enumerate(made)]


def on_gpu(support, target, shape):
    return TableKernels(support, nothing, Device(target, 1, 100_000), shape)


def both(support, target, shape):
    return OnCpu(support, nothing), on_gpu(support, target, shape)


def agree(cpu, gpu, kernel, *arguments):
    one, other = getattr(cpu, kernel)(*arguments), getattr(gpu, kernel)(*arguments)
    assert np.array_equal(one, other), kernel
    return one


def all_kernels(cpu, gpu, how, prime):
    s = cpu.support
    values = weights_of(s, how, 5)
    vertex = np.random.default_rng(2).integers(0, 5, s.vertices).astype(np.uint64)
    assert agree(cpu, gpu, "row_sums", values[0], None if how == "ones" else vertex, prime).any()
    assert agree(cpu, gpu, "path_table", values[:2], False, prime).any()
    assert agree(cpu, gpu, "path_table", values[:3], False, prime).any()
    same = [values[0], values[1], values[0]]
    symmetric = [None if v is None else v + v[s.reverse_arc] for v in same]
    symmetric = [None if v is None else v % np.uint64(prime) if prime else v for v in symmetric]
    agree(cpu, gpu, "path_table", symmetric, True, prime)
    assert agree(cpu, gpu, "cliques", values, prime).any()
    assert agree(cpu, gpu, "cycle_sum", values, prime)
    if how == "ones":
        paths = int(gpu.path_table([None] * 3, True, 0).sum())
        assert gpu.cycle_sum([None] * 4, prime) * 2 == 2 * paths % (prime or 1 << 64) > 0
    assert agree(cpu, gpu, "cycle_sum", [values[0], values[0], None, values[1], values[0]], prime)


WAYS = [("ones", 0), ("residues", PRIME), ("some", 0), ("small", 0), ("wrapping", 0), ("ones", PRIME), ("some", PRIME)]
QUICK_WAYS = [*WAYS[:2], *thorough(*WAYS[2:])]
# Plain counts in all shapes, each other way in one.
EACH_WAY = [(name, *WAYS[0]) for name in SHAPES] + [(list(SHAPES)[i % 3], *way) for i, way in enumerate(WAYS[1:])]


@pytest.mark.one_each
@pytest.mark.parametrize(("name", "how", "prime"), [*EACH_WAY[:3], *thorough(*EACH_WAY[3:])])
def test_kernels_agree_with_those_of_the_cpu_lane_by_lane(name, how, prime, monkeypatch):
    target = emulator(seed=len(how))
    if name != "a wide window":
        monkeypatch.setattr(tables, "FEW_WEDGES", 2)  # wedges of a top that a warp takes
    all_kernels(*both(support(5 if is_thorough() else 4, degree=4), target, SHAPES[name]), how, prime)


@pytest.mark.one_each
@pytest.mark.parametrize(("how", "prime"), WAYS)
@pytest.mark.thorough
def test_kernels_agree_with_those_of_the_cpu_on_one_lane(how, prime, monkeypatch):
    monkeypatch.setattr(tables, "FEW_WEDGES", 20)
    all_kernels(*both(support(9), NATIVE, LaunchShape(window=50)), how, prime)


@pytest.mark.one_each
@pytest.mark.parametrize(("how", "prime"), QUICK_WAYS)
@pytest.mark.parametrize("name", ["lanes", "one lane"])
def test_sparse_products_are_what_matrices_say(name, how, prime):
    graph = support(5, degree=4) if name == "lanes" else support(6)
    target, shape = (emulator(seed=1), SHAPES["no window"]) if name == "lanes" else (NATIVE, LaunchShape())
    cpu, gpu = both(graph, target, shape)
    values = weights_of(graph, how, 1)[0]
    columns = np.random.default_rng(3).integers(0, prime or 1 << 63, (graph.vertices, 7)).astype(np.uint64)
    found = agree(cpu, gpu, "sparse_product", values, columns, prime)
    matrix = np.zeros((graph.vertices, graph.vertices), object)
    sources = np.repeat(np.arange(graph.vertices), np.diff(graph.offsets))
    matrix[sources, graph.targets] = 1 if values is None else values.astype(object)
    assert np.array_equal(found, (matrix @ columns.astype(object)) % (prime or 1 << 64))


def between(support, values):
    """What lies between all pairs, as a matrix of Python's integers: paths of two, or bridges."""
    n, sources = support.vertices, np.repeat(np.arange(support.vertices), np.diff(support.offsets))
    matrices = []
    for array in values:
        found = np.zeros((n, n), object)
        found[sources, support.targets] = 1 if array is None else array.astype(object)
        matrices.append(found)
    if len(values) == 2:
        return matrices[0] @ matrices[1]
    xw, xz, wz, wy, zy = matrices
    found = np.zeros((n, n), object)
    for w, z in zip(sources.tolist(), support.targets.tolist(), strict=True):
        found += wz[w, z] * np.outer(xw[:, w] * xz[:, z], wy[w] * zy[z])
    return found


def pairs_by_matrices(support, ends, paths, apart, prime):
    """The sum over pairs, by matrices of Python's integers."""
    n = support.vertices
    x, y = (np.ones(n, object) if weights is None else weights.astype(object) for weights in ends)
    found = x[:, None] * y[None, :]
    for values, power in paths:
        found = found * between(support, values) ** power
    if apart:
        found = found - np.diag(np.diag(found))
    return int(found.sum()) % (prime or 1 << 64)


@pytest.mark.one_each
@pytest.mark.parametrize(("how", "prime"), QUICK_WAYS)
@pytest.mark.parametrize("name", ["lanes", "one lane"])
def test_pairs_are_what_matrices_say(name, how, prime, monkeypatch):
    scale = 6 if is_thorough() else 5
    graph = support(scale - 1, degree=4) if name == "lanes" else support(scale)
    target, shape = (emulator(seed=1), SHAPES["no window"]) if name == "lanes" else (NATIVE, LaunchShape())
    gpu = on_gpu(graph, target, shape)
    values, vertex = weights_of(graph, how, 5), np.arange(graph.vertices).astype(np.uint64) % 7
    bridge, path, other = tuple(values), tuple(values[:2]), tuple(values[2:4])
    for kinds in ([((None, None), 2)], [((None, None), 1), ((None,) * 5, 1)]):
        halves = gpu.pairs((None, None), kinds, True, True, prime)
        assert halves * 2 % (prime or 1 << 64) == pairs_by_matrices(graph, (None, None), kinds, True, prime)
    cases = [
        ([(path, 2)], (vertex, None), False),
        ([(path, 1), (other, 2)], (None, vertex), True),
        ([(path, 1), (bridge, 1)], (None, None), False),
        ([(bridge, 2), ((None,) * 5, 1)], (vertex, vertex), True),
    ]
    for some, ends, apart in cases:
        assert gpu.pairs(ends, some, False, apart, prime) == pairs_by_matrices(graph, ends, some, apart, prime)
    monkeypatch.setattr(pairs, "LISTS_BYTES", 5000)
    assert gpu.pairs(ends, some, False, True, prime) == pairs_by_matrices(graph, ends, some, True, prime)


@pytest.mark.parametrize("target", [emulator(seed=4), NATIVE], ids=["lanes", "one lane"])
def test_each_arc_finds_its_reverse_arc(target):
    graph = support(6 if target.WARP > 1 else 10)
    found = reverse_arcs_on(Device(target, 1, 0), graph.offsets, graph.targets)
    assert np.array_equal(found, graph.reverse_arc)
