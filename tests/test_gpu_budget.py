"""Every kernel compiles for three generations of GPUs, within a budget of registers, without spills: no GPU needed."""

import pytest
from budget import ARCHITECTURES, budget_of, lower
from numba import types, void

from cusubmatch.engines.gpu.cliques import cliques, triangles
from cusubmatch.engines.gpu.runtime.cuda import gpu
from cusubmatch.engines.gpu.runtime.device import REGISTERS, SUFFIX_REGISTERS, WIDE_REGISTERS
from cusubmatch.engines.gpu.search import filters
from cusubmatch.engines.gpu.search.extend_frontier import extend_frontier_signature, make_extend_frontier
from cusubmatch.engines.gpu.search.graph_view import make_first, make_mark
from cusubmatch.engines.gpu.search.leaf import COUNT, PAIRS, ROWS, SUFFIX, WEIGHTS
from cusubmatch.engines.gpu.search.warp_walker import make_walk
from cusubmatch.engines.gpu.tables import (
    clique_tables,
    five_cycles,
    four_cycles,
    pair_kernels,
    reverse_arcs,
    sparse_product,
    triangle_lists,
    triangle_tables,
)
from cusubmatch.engines.gpu.tables.table_kernels import LaunchShape

# Registers of a thread: with 64 a multiprocessor holds 32 warps, with 48 it holds 40.
MOST = {
    "walk": REGISTERS,
    "wide walk": WIDE_REGISTERS,
    "walk by task": WIDE_REGISTERS,
    "walk with a suffix": SUFFIX_REGISTERS,
    "cliques": 64,
    "triangles": 40,
    "filters": 48,
    "rows": 40,
    "extend_frontier": 56,
    "tables": 72,
    "wedges": 64,  # a block of 1024 threads has no more
}
STATIC_SHARED = 48 << 10
U32, I32, I64, U64 = (types.Array(dtype, 1, "C") for dtype in (types.uint32, types.int32, types.int64, types.uint64))


def walkers():
    for wide in (False, True):
        offsets = I64 if wide else U32
        walk = void(U32, offsets, U32, U32, U32, U32, offsets, I64, I32, I32, U32, U32, I32, U64, types.int64)
        for mode in (COUNT, PAIRS, WEIGHTS, ROWS):
            yield f"{'wide ' * wide}walk", mode, make_walk(gpu(), 32, wide, mode).py_func, walk
        yield "walk with a suffix", "wide" if wide else "", make_walk(gpu(), 32, wide, SUFFIX).py_func, walk
        for mode in (COUNT, PAIRS, WEIGHTS):
            yield "walk by task", f"{mode}{' wide' * wide}", make_walk(gpu(), 32, wide, mode, tasks=True).py_func, walk
            deepen = make_extend_frontier(gpu(), 32, wide, mode).py_func
            yield "extend_frontier", f"{mode}{' wide' * wide}", deepen, extend_frontier_signature(wide)
        width = types.int64
        mark = void(offsets, U32, U32, width, width, width, width, width)
        yield "rows", f"mark hubs{' wide' * wide}", make_mark(gpu(), wide).py_func, mark
        first = void(U32, offsets, U32, U32, offsets, I64)
        yield "rows", f"first candidates{' wide' * wide}", make_first(gpu(), wide).py_func, first


def table_signatures():
    shape = LaunchShape()
    yield from five_cycles.signatures(gpu(), shape.tops.threads, shape.tops.lanes)
    yield from pair_kernels.signatures(gpu(), shape.pairs.threads, shape.pairs.lanes)
    for module in (triangle_tables, triangle_lists):
        yield from module.signatures(gpu(), shape.edges.threads, shape.edges.lanes)
    for module in (clique_tables, reverse_arcs, sparse_product):
        yield from module.signatures(gpu(), shape.edges.threads)


def kernels():
    yield from walkers()
    for module, found in {
        "triangles": triangles.signatures(gpu()),
        "cliques": cliques.signatures(gpu()),
        "filters": filters.signatures(),
        "tables": table_signatures(),
        "wedges": four_cycles.signatures(gpu(), LaunchShape().wedges.threads, LaunchShape().wedges.lanes),
    }.items():
        for name, function, signature in found:
            yield module, name, function, signature


@pytest.mark.parametrize(
    ("module", "name", "function", "signature"), [pytest.param(*k, id=f"{k[0]}-{k[1]}") for k in kernels()]
)
def test_a_kernel_keeps_its_budget(module, name, function, signature):
    library = lower(function, signature)
    for architecture in ARCHITECTURES:
        budget = budget_of(library, architecture)
        print(f"{module} {name} sm_{architecture[0]}{architecture[1]}: {budget}")
        assert budget.registers <= MOST[module]
        assert budget.spilled == budget.stack == 0
        assert budget.shared <= STATIC_SHARED
