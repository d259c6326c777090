"""Whole domains and rows as bitmaps: the kernel that writes them into the store, and its launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["fill_store", "make_fill_sets"]

U, L = np.uint32, np.int64
FILL_SHAPE = 1024, 8  # blocks and warps


@kernel_factory
def make_fill_sets(target: Target) -> Any:
    """The kernel: a warp a row, a lane an arc.

    Its arguments: the offsets of all rows of all relations, one relation after the other, and their targets; of each
    local index the pattern vertices that it is a candidate of, as bits; the store, which is zero; words of a set; local
    indices; pattern vertices. The store begins with a set for each of these; the rows' sets follow.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp

    @target.device
    def put(store, base, x):
        cuda.atomic.or_(store, L(base + L(x >> U(5))), U(U(1) << U(x & U(31))))

    def fill_sets(offsets, targets, masks, store, set_words, locals_, vertices):
        warps = U(U(cuda.blockDim.x) // U(WARP))
        row = L(U(cuda.blockIdx.x)) * L(warps) + L(warp_of())
        step = L(U(cuda.gridDim.x)) * L(warps)
        rows = L(len(offsets)) // (L(locals_) + L(1)) * L(locals_)
        while row < rows:
            at = row + row // L(locals_)
            i, end = L(offsets[at]) + L(lane_of()), L(offsets[at + 1])
            while i < end:
                put(store, L(set_words) * (L(vertices) + row), U(targets[i]))
                i += L(WARP)
            row += step
        x = (L(U(cuda.blockIdx.x)) * L(warps) + L(warp_of())) * L(WARP) + L(lane_of())
        while x < L(locals_):
            mask = U(masks[x])
            while mask != U(0):
                put(store, L(set_words) * L(U(cuda.ffs(mask)) - U(1)), U(x))
                mask = U(mask & U(mask - U(1)))
            x += step * L(WARP)

    return target.kernel(fill_sets)


def fill_store(local: CandidateGraph, set_words: int, store: Any, gpu: Device, xp: Any) -> None:
    """Write the whole domains and rows of a candidate graph in host memory, as sets of so many words, to a store."""
    (offsets, targets, _), masks, n = local.adjacency, local.candidates.masks, len(local.constraints.labels)
    store[: set_words * (n + len(offsets) * len(masks))] = 0
    blocks, warps = FILL_SHAPE if gpu.target.WARP > 1 else (1, 1)
    make_fill_sets(gpu.target)[blocks, warps * gpu.target.WARP](
        gpu.to_device(xp.asarray(np.ascontiguousarray(offsets, np.int64).ravel())),
        gpu.to_device(xp.asarray(np.ascontiguousarray(targets, np.int32))),
        gpu.to_device(xp.asarray(np.ascontiguousarray(masks, np.uint32))),
        gpu.to_device(store),
        np.int64(set_words),
        np.int64(len(masks)),
        np.int64(n),
    )
