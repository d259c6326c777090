"""Partial matches brought one level deeper: the first list of each at its new level, and the weight that it carries.

What a walk starts from when it does not start from the roots. A lane has a slot of a warp's stack and the walker's own
device functions fill it, so a list here is the list that the walker makes.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import types as nb
from numba import uint32, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search.candidate_lists import list_functions
from cusubmatch.engines.gpu.search.device_plan import DevicePlan
from cusubmatch.engines.gpu.search.leaf import COUNT, WEIGHTS
from cusubmatch.engines.gpu.search.stack import stack_functions

__all__ = ["extend_frontier_signature", "extended_frontier", "make_extend_frontier"]

U = np.uint32
BLOCKS = 4  # a multiprocessor


@functools.cache
def make_extend_frontier(target: Target, slots: int, wide: bool, mode: str):
    """The kernel for a walker of the same `slots`, `wide` and `mode`, in blocks of one warp.

    Its arguments: the program; offsets, targets, filters and bitmaps, as the walker takes them; the level, 2 or more;
    per partial match its vertices, as many as the level, and a word in which its weight at the level before comes and
    its weight at this one goes, where they have one; and what is found: where its first list begins, and how long it
    is.
    """
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane
    lists = list_functions(target, slots, wide, mode == WEIGHTS, mode in {COUNT, WEIGHTS})
    stack = stack_functions(target, lists, slots, wide, mode == WEIGHTS)
    base_of, extend, field, make, weigh = lists.base_of, stack.extend, lists.field, lists.make, stack.weigh
    SLOTS, HAS_WEIGHTS = slots, mode == WEIGHTS
    LISTS, PREFIX, SIZE, WEIGH = p.LISTS, p.PREFIX, p.SIZE, p.WEIGH

    def extend_frontier(program, off, col, masks, bits, level, words, bases, lengths):
        sh = cuda.shared.array(0, uint32)
        lane, t, w = lane_of(), U(level), U(program[SIZE])
        before, i = U(t - 1), lane
        while i < w:
            sh[i] = program[i]
            i = U(i + WARP)
        cuda.syncthreads()
        prefix = U(U(w + field(sh, before, PREFIX)) + lane)
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
                    if before >= U(sh[WEIGH]):
                        sh[U(prefix + before * SLOTS)] = words[at + np.int64(t)]
            cuda.syncwarp()
            if HAS_WEIGHTS:
                if before == U(1) and before == U(sh[WEIGH]):  # roots come without their weight
                    weigh(sh, w, before, n, off, col, bits, masks)
            if lane < n:
                extend(sh, w, before, lane, lane, U(words[at + np.int64(before)]), off, col, bits, masks)
            cuda.syncwarp()
            if HAS_WEIGHTS:
                if t == U(sh[WEIGH]):
                    weigh(sh, w, t, n, off, col, bits, masks)
            if lane < n:
                lengths[own] = np.int64(make(sh, w, t, lane, off, col))
                bases[own] = base_of(sh, U(U(w + field(sh, t, LISTS)) + lane))
                if HAS_WEIGHTS:
                    if t >= U(sh[WEIGH]):
                        words[at + np.int64(t)] = sh[U(U(U(w + field(sh, t, PREFIX)) + lane) + t * SLOTS)]
            cuda.syncwarp()
            first += np.int64(cuda.gridDim.x) * np.int64(SLOTS)

    return target.kernel(extend_frontier)


def extended_frontier(gpu: Device, made: DevicePlan, xp: Any, mode: str, level: int, words: Any) -> tuple[Any, Any]:
    """Where the first lists of partial matches begin, and their lengths; `words`, flat, as the kernel takes them."""
    count, layout = len(words) // (level + 1), made.layout
    bases, lengths = xp.empty(count, made.roots.bases.dtype), xp.empty(count, np.int64)
    kernel = make_extend_frontier(gpu.target, layout.slots, made.wide, mode)
    shared = 4 * (int(layout.words[p.SIZE]) + layout.stack)
    kernel[BLOCKS * gpu.processors, gpu.target.WARP, shared](
        made.program, *made.graph[:4], level, words, bases, lengths
    )
    return bases, lengths


def extend_frontier_signature(wide: bool):
    """The Numba types of the kernel's arguments."""
    words, offsets = nb.Array(nb.uint32, 1, "C"), nb.Array(nb.int64 if wide else nb.uint32, 1, "C")
    return void(words, offsets, words, words, words, nb.int64, words, offsets, nb.Array(nb.int64, 1, "C"))
