"""Partial matches brought one level deeper: the first list of each at its new level, and the weight that it carries.

A walk starts from these when it does not start from the roots. A lane has a slot of a warp's stack and the walker's own
device functions fill it, so a list here is the list that the walker makes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.engines.gpu.search.device_plan import DevicePlan
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.stack import stack_functions
from cusubmatch.engines.gpu.walker.variant import WEIGHTS, Variant

__all__ = ["extended_frontier", "make_extend_frontier"]

U = np.uint32
BLOCKS = 4  # a multiprocessor


@kernel_factory
def make_extend_frontier(target: Target, variant: Variant) -> Any:
    """The kernel for a walker of the same variant, in blocks of one warp.

    Its arguments: the program; `GraphArrays`; the level, 2 or more; per partial match its vertices, as many as the
    level, and a word in which its weight at the level before comes and its weight at this one goes, where they have
    one; and the results: where its first list begins, and how long it is.
    """
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane
    stack = stack_functions(target, variant)
    base_of, field = stack.access.base_of, stack.access.field
    extend, make_lists, weigh = stack.extend, stack.make_lists, stack.sizes.weigh
    SLOTS, HAS_WEIGHTS = variant.slots, variant.mode == WEIGHTS

    def extend_frontier(program, graph, level, words, bases, lengths):
        sh = cuda.shared.array(0, uint32)
        lane, t, w = lane_of(), U(level), U(program[p.SIZE])
        before, i = U(t - 1), lane
        while i < w:
            sh[i] = program[i]
            i = U(i + WARP)
        cuda.syncthreads()
        prefix = U(U(w + field(sh, before, p.PREFIX)) + lane)
        first = np.int64(cuda.blockIdx.x) * np.int64(SLOTS)
        while first < np.int64(len(lengths)):
            n = U(min(np.int64(SLOTS), np.int64(len(lengths)) - first))
            own = first + np.int64(lane)
            at = own * np.int64(U(t + 1))
            if lane < n:
                i = U(0)
                while i < before:
                    sh[U(prefix + i * SLOTS)] = words[at + np.int64(i)]
                    i = U(i + 1)
                if HAS_WEIGHTS:
                    if before >= U(sh[p.WEIGH]):
                        sh[U(prefix + before * SLOTS)] = words[at + np.int64(t)]
            cuda.syncwarp()
            if HAS_WEIGHTS:
                if before == U(1) and before == U(sh[p.WEIGH]):  # roots come without their weight
                    weigh(sh, w, before, n, graph)
            if lane < n:
                extend(sh, w, before, lane, lane, U(words[at + np.int64(before)]), graph)
            cuda.syncwarp()
            if HAS_WEIGHTS:
                if t == U(sh[p.WEIGH]):
                    weigh(sh, w, t, n, graph)
            if lane < n:
                lengths[own] = np.int64(make_lists(sh, w, t, lane, graph))
                bases[own] = base_of(sh, U(U(w + field(sh, t, p.LISTS)) + lane))
                if HAS_WEIGHTS:
                    if t >= U(sh[p.WEIGH]):
                        words[at + np.int64(t)] = sh[U(U(U(w + field(sh, t, p.PREFIX)) + lane) + t * SLOTS)]
            cuda.syncwarp()
            first += np.int64(cuda.gridDim.x) * np.int64(SLOTS)

    return target.kernel(extend_frontier)


def extended_frontier(
    gpu: Device, device_plan: DevicePlan, xp: Any, mode: str, level: int, words: Any
) -> tuple[Any, Any]:
    """Where the first lists of partial matches begin, and their lengths; `words`, flat, as the kernel takes them."""
    count, layout = len(words) // (level + 1), device_plan.layout
    bases, lengths = xp.empty(count, device_plan.roots.bases.dtype), xp.empty(count, np.int64)
    kernel = make_extend_frontier(gpu.target, device_plan.variant(mode))
    shared_bytes = 4 * (int(layout.words[p.SIZE]) + layout.stack)
    kernel[BLOCKS * gpu.processors, gpu.target.WARP, shared_bytes](
        device_plan.program, device_plan.graph, level, words, bases, lengths
    )
    return bases, lengths
