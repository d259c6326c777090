"""The kernel that writes whole domains and rows as bitmaps into the store."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory

__all__ = ["make_fill_sets"]

U, L = np.uint32, np.int64


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
