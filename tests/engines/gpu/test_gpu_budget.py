"""Every kernel compiles for three generations of GPUs, within a budget of registers, without spills: no GPU needed."""

import functools

import pytest
from budget import ARCHITECTURES, budget_of, lower
from numba import types, void

from cusubmatch.engines.gpu.cliques import cliques, triangles
from cusubmatch.engines.gpu.row_walk.kernel_arguments import open_tasks_signature, walk_rows_signature
from cusubmatch.engines.gpu.row_walk.open_tasks import make_open_tasks
from cusubmatch.engines.gpu.row_walk.row_walker import make_walk_rows
from cusubmatch.engines.gpu.runtime.cuda import gpu
from cusubmatch.engines.gpu.runtime.device import CONDITION_REGISTERS, REGISTERS, SUFFIX_REGISTERS, WIDE_REGISTERS
from cusubmatch.engines.gpu.search import filter_kernels
from cusubmatch.engines.gpu.search.extend_frontier import make_extend_frontier
from cusubmatch.engines.gpu.search.graph_view import make_first_candidates, make_mark_hubs
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
from cusubmatch.engines.gpu.walker.kernel_arguments import extend_frontier_signature, walk_signature
from cusubmatch.engines.gpu.walker.variant import COUNT, PAIRS, ROWS, SUFFIX, WEIGHTS, Variant
from cusubmatch.engines.gpu.walker.warp_walker import make_walk

# Registers of a thread: with 64 a multiprocessor holds 32 warps, with 48 it holds 40.
MOST = {
    "walk": REGISTERS,
    "wide walk": WIDE_REGISTERS,
    "walk by task": WIDE_REGISTERS,
    "walk with a suffix": SUFFIX_REGISTERS,
    "walk of rows": REGISTERS,
    "walk of rows with conditions": CONDITION_REGISTERS,
    "cliques": 64,
    "triangles": 40,
    "filters": 48,
    "rows": 40,
    "extend_frontier": 56,
    "tables": 72,
    "wedges": 64,  # a block of 1024 threads has no more
}
STATIC_SHARED = 48 << 10
U32, I64 = (types.Array(dtype, 1, "C") for dtype in (types.uint32, types.int64))


def walkers():
    for offsets64 in (False, True):
        kind = "wide" if offsets64 else ""
        walk = walk_signature(offsets64)

        def kernel(mode, by_task=False, offsets64=offsets64):
            return make_walk(gpu(), Variant(32, offsets64, mode, by_task)).py_func

        for mode in (COUNT, PAIRS, WEIGHTS, ROWS):
            yield f"{kind} walk".strip(), mode, kernel(mode), walk
        yield "walk with a suffix", kind, kernel(SUFFIX), walk
        for mode in (COUNT, PAIRS, WEIGHTS):
            yield "walk by task", f"{mode} {kind}".strip(), kernel(mode, by_task=True), walk
            extend = make_extend_frontier(gpu(), Variant(32, offsets64, mode)).py_func
            yield "extend_frontier", f"{mode} {kind}".strip(), extend, extend_frontier_signature(offsets64)
        offsets, width = I64 if offsets64 else U32, types.int64
        mark = void(offsets, U32, U32, width, width, width, width, width)
        yield "rows", f"mark hubs {kind}".strip(), make_mark_hubs(gpu(), offsets64).py_func, mark
        first = void(U32, offsets, U32, U32, offsets, I64)
        yield "rows", f"first candidates {kind}".strip(), make_first_candidates(gpu(), offsets64).py_func, first


def row_walkers(asks_more):
    for times64 in (False, True):
        kind = "wide" if times64 else ""
        for emits in (False, True):
            name = f"{'rows' if emits else 'count'} {kind}".strip()
            yield name, make_walk_rows(gpu(), emits, asks_more, 64).py_func, walk_rows_signature(times64)
        yield f"tasks {kind}".strip(), make_open_tasks(gpu(), asks_more).py_func, open_tasks_signature(times64)


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
        "walk of rows": row_walkers(asks_more=False),
        "walk of rows with conditions": row_walkers(asks_more=True),
        "triangles": triangles.signatures(gpu()),
        "cliques": cliques.signatures(gpu()),
        "filters": filter_kernels.signatures(),
        "tables": table_signatures(),
        "wedges": four_cycles.signatures(gpu(), LaunchShape().wedges.threads, LaunchShape().wedges.lanes),
    }.items():
        for name, function, signature in found:
            yield module, name, function, signature


QUICK_GENERATION = 9


def parameters():
    """All kernels; of those that differ only in a factory's arguments, such as the width of offsets, one is quick."""
    seen = set()
    for module, name, function, signature in kernels():
        marks = [pytest.mark.thorough] if function.__code__ in seen else []
        seen.add(function.__code__)
        yield pytest.param(module, name, function, signature, id=f"{module}-{name}", marks=marks)


def architectures():
    """The GPUs, of which that of a data centre today is quick."""
    for major, minor in ARCHITECTURES:
        marks = [] if major == QUICK_GENERATION else [pytest.mark.thorough]
        yield pytest.param((major, minor), id=f"sm_{major}{minor}", marks=marks)


lowered_once = functools.lru_cache(maxsize=1)(lower)  # the GPUs of a kernel come one after another


@pytest.mark.one_each
@pytest.mark.parametrize("architecture", list(architectures()))
@pytest.mark.parametrize(("module", "name", "function", "signature"), list(parameters()))
def test_a_kernel_keeps_its_budget(module, name, function, signature, architecture):
    budget = budget_of(lowered_once(function, signature), architecture)
    print(f"{module} {name} sm_{architecture[0]}{architecture[1]}: {budget}")
    older = architecture[0] < 9 and (module, name) == ("walk", WEIGHTS)
    assert budget.registers <= (WIDE_REGISTERS if older else MOST[module])
    assert budget.spilled == budget.stack == 0
    assert budget.shared <= STATIC_SHARED
