"""Every kernel of the engine, as a GPU gets it, in groups.

Budgets of registers are tested for all of them; `cusubmatch warm-up` compiles all of them; what a call is going to need
is compiled ahead of it (`expected_kernels`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from numba import types, void

from cusubmatch.engines.gpu.cliques import clique_kernels, full_row_triangles, triangles
from cusubmatch.engines.gpu.conditioning.kernel_signatures import conditioning_kernels
from cusubmatch.engines.gpu.cutset.kernel_signatures import cutset_kernels
from cusubmatch.engines.gpu.elimination.array_operations import THREADS
from cusubmatch.engines.gpu.elimination.factor_kernels import factor_kernels
from cusubmatch.engines.gpu.elimination.join_kernels import join_kernels
from cusubmatch.engines.gpu.elimination.match_kernels import match_kernels
from cusubmatch.engines.gpu.row_walk.open_tasks import make_open_tasks
from cusubmatch.engines.gpu.row_walk.row_kernel_arguments import open_tasks_signature, walk_rows_signature
from cusubmatch.engines.gpu.row_walk.row_walker import make_walk_rows
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel
from cusubmatch.engines.gpu.search import filter_kernels
from cusubmatch.engines.gpu.search.extend_frontier import make_extend_frontier
from cusubmatch.engines.gpu.search.graph_view import make_first_candidates, make_mark_hubs
from cusubmatch.engines.gpu.search.program import SLOTS
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
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.engines.gpu.walker.kernel_arguments import extend_frontier_signature, walk_signature
from cusubmatch.engines.gpu.walker.variant import COUNT, PAIRS, ROWS, SUFFIX, WEIGHTS, Variant
from cusubmatch.engines.gpu.walker.warp_walker import make_walk

__all__ = ["all_kernels", "row_kernels", "table_kernels", "usual_kernels", "walk_kernel"]

_WORDS, _LONG = (types.Array(dtype, 1, "C") for dtype in (types.uint32, types.int64))


def all_kernels(slots: tuple[int, ...] = SLOTS) -> Iterator[tuple[str, DeclaredKernel]]:
    """Every kernel with its group; the walkers, which take long to compile, for these slots a level."""
    for number in slots:
        for offsets64 in (False, True):
            yield from _walkers(number, offsets64)
    for offsets64 in (False, True):
        yield from (("rows", kernel) for kernel in row_kernels(offsets64))
    for group, found in {
        "triangles": [*triangles.signatures(), *full_row_triangles.needed()],
        "cliques": clique_kernels.signatures(),
        "filters": filter_kernels.signatures(),
        "cutsets": cutset_kernels(),
        "factors": factor_kernels(THREADS),
        "joins of factors": [*match_kernels(THREADS), *join_kernels(THREADS)],
    }.items():
        yield from ((group, kernel) for kernel in found)
    yield from conditioning_kernels()
    yield from table_kernels()
    for times64 in (False, True):
        yield from _row_walkers(times64)


@functools.cache
def walk_kernel(variant: Variant) -> DeclaredKernel:
    """The walker for one variant."""
    return DeclaredKernel(variant.mode, make_walk.recipe(variant), walk_signature(variant.offsets64))


@functools.cache
def usual_kernels(offsets64: bool) -> list[DeclaredKernel]:
    """The kernels that most calls launch which walk, those that take longest to compile first."""
    walkers = [walk_kernel(Variant(SLOTS[0], offsets64, mode)) for mode in (COUNT, PAIRS, WEIGHTS, ROWS)]
    return [*walkers, *filter_kernels.signatures(), *row_kernels(offsets64)]


@functools.cache
def row_kernels(offsets64: bool) -> list[DeclaredKernel]:
    """The kernels that prepare rows and first candidates for a walk."""
    wide, offsets, width = " wide" * offsets64, _LONG if offsets64 else _WORDS, types.int64
    mark = void(offsets, _WORDS, _WORDS, width, width, width, width, width)
    first = void(_WORDS, offsets, _WORDS, _WORDS, offsets, _LONG)
    return [
        DeclaredKernel(f"mark hubs{wide}", make_mark_hubs.recipe(offsets64), mark),
        DeclaredKernel(f"first candidates{wide}", make_first_candidates.recipe(offsets64), first),
    ]


@functools.cache
def table_kernels() -> list[tuple[str, DeclaredKernel]]:
    """The kernels of counts by decomposition, with their groups."""
    shape = LaunchShape()
    kernels = [
        *five_cycles.signatures(shape.vertices.threads, shape.vertices.lanes),
        *pair_kernels.signatures(shape.pairs.threads, shape.pairs.lanes),
        *triangle_tables.signatures(shape.edges.threads, shape.edges.lanes),
        *triangle_lists.signatures(shape.edges.threads, shape.edges.lanes),
        *clique_tables.signatures(shape.edges.threads),
        *reverse_arcs.signatures(shape.edges.threads),
        *sparse_product.signatures(shape.edges.threads),
    ]
    wedges = four_cycles.signatures(shape.wedges.threads, shape.wedges.lanes)
    return [*(("tables", kernel) for kernel in kernels), *(("wedges", kernel) for kernel in wedges)]


def _walkers(slots, offsets64):
    """The walkers of one width of offsets."""
    kind = "wide" if offsets64 else ""
    _, suffix, walk = walk_kernel(Variant(slots, offsets64, SUFFIX))
    yield "walk with a suffix", DeclaredKernel(kind, suffix, walk)
    for mode in (COUNT, PAIRS, WEIGHTS, ROWS):
        yield f"{kind} walk".strip(), walk_kernel(Variant(slots, offsets64, mode))
    for mode in (COUNT, PAIRS, WEIGHTS):
        name = f"{mode} {kind}".strip()
        by_task = make_walk.recipe(Variant(slots, offsets64, mode, by_task=True))
        yield "walk by task", DeclaredKernel(name, by_task, walk)
        extend = make_extend_frontier.recipe(Variant(slots, offsets64, mode))
        yield "extend_frontier", DeclaredKernel(name, extend, extend_frontier_signature(offsets64))


def _row_walkers(times64):
    """The walkers of rows of the edge table, for one width of times."""
    kind, polls = " wide" * times64, Tunables().steps_between_polls
    for asks_more, group in ((False, "walk of rows"), (True, "walk of rows with conditions")):
        for emits, name in ((False, "count"), (True, "rows")):
            walk = make_walk_rows.recipe(emits, asks_more, polls)
            yield group, DeclaredKernel(name + kind, walk, walk_rows_signature(times64))
        yield group, DeclaredKernel(f"tasks{kind}", make_open_tasks.recipe(asks_more), open_tasks_signature(times64))
