"""What a call is going to launch, compiled ahead: side by side, while it is being planned.

Each plan that a trial may take, or the only one, says which walker it needs. Where a count is expected to take long, it
may be made from tables; which ones is known only after the trial, so all their kernels are compiled where there are
cores to spare. Kernels whose need shows later are ordered where it does: those of cliques by the sizes of
neighbourhoods, those of filters by the pattern's labels. What is compiled already costs a look at the disk, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cusubmatch.engines.compile.compile_ahead import MAYBE, PROCESSES_TO_SPARE, number_of_processes
from cusubmatch.engines.gpu.all_kernels import row_kernels, table_kernels, usual_kernels, walk_kernel
from cusubmatch.engines.gpu.cliques import full_row_triangles, triangles
from cusubmatch.engines.gpu.cliques.specialised import is_counted_in_full_rows
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel
from cusubmatch.engines.gpu.search.graph_view import WIDE, has_wide_offsets
from cusubmatch.engines.gpu.search.program import SLOTS, encode, fixed_at
from cusubmatch.engines.gpu.search.run import mode_of
from cusubmatch.engines.gpu.walker.variant import Variant
from cusubmatch.engines.prepared import Prepared
from cusubmatch.graph import Graph
from cusubmatch.plan import Plan

__all__ = ["expect", "expect_walk"]

BEST_PLANS = 5  # of a trial, whose kernels are compiled ahead; and one plan of each further leaf mode
SMALL = 8  # vertices of patterns whose levels have most slots, so that nothing need be encoded to know


def expect(gpu: Device, plans: list[Plan], prepared: Prepared, tables_worth: float) -> None:
    """Have the kernels compiled that a call with one of these plans launches; those of tables if one costs so much."""
    if gpu.target.ahead is None:
        return
    gpu.target.ahead(_needed(gpu, _typical(plans), prepared))
    first = plans[0]
    counts_long = first.cost > tables_worth and first.leaf_mode != "rows" and not first.is_specialised
    if counts_long and number_of_processes() >= PROCESSES_TO_SPARE:
        gpu.target.ahead((kernel for _, kernel in table_kernels()), MAYBE)


def expect_walk(gpu: Device, graph: Graph) -> None:
    """Have filters and the usual walkers compiled while rows and candidates are made, if there are cores to spare."""
    if gpu.target.ahead is not None and number_of_processes() >= PROCESSES_TO_SPARE:
        gpu.target.ahead(usual_kernels(len(graph.targets) >= WIDE))


def _typical(plans: list[Plan]) -> Iterable[Plan]:
    """The first plans, and the first of each way to count leaves."""
    of_mode: dict[str, Plan] = {}
    for plan in plans:
        of_mode.setdefault(plan.leaf_mode, plan)
    first = plans[:BEST_PLANS]
    return [*first, *(plan for plan in of_mode.values() if plan not in first)]


def _needed(gpu: Device, plans: Iterable[Plan], prepared: Prepared) -> Iterator[DeclaredKernel]:
    """The kernels that plans are walked with."""
    wide = has_wide_offsets(prepared.adjacency)
    walked = False
    for plan in plans:
        if plan.is_specialised:
            if is_counted_in_full_rows(gpu, prepared, plan):
                yield from full_row_triangles.needed()
            elif len(plan.levels) == 3:
                yield from triangles.needed(prepared.graph.n_vertices <= triangles.WINDOW, False)
        elif plan.walked and len(plan.levels) > 1:
            if not walked:
                yield from row_kernels(wide)
            walked = True
            tested, slots = prepared.candidates.filters, SLOTS[0]
            if len(plan.levels) > SMALL:
                slots = encode(plan, tested, warp=gpu.target.WARP, offsets64=wide, longest=1).slots
            yield walk_kernel(Variant(slots, wide, mode_of(plan, fixed_at(plan, tested) is not None)))
