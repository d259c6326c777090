"""The reverse arc of an arc (x, y) of symmetric rows: the position of (y, x)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, kernel_factory

__all__ = ["make_reverse_arcs", "signatures"]

U, S = np.uint32, np.int64


@kernel_factory
def make_reverse_arcs(target: Target, threads: int) -> Any:
    """The kernel that finds them all, a lane an arc, by two binary searches: for x, and for x in the row of y."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    THREADS = threads if target.WARP > 1 else 1

    @kernel
    def reverse_arcs(offsets, targets, reverse):
        e = S(cuda.blockIdx.x) * THREADS + S(U(U(warp_of() * U(WARP)) + lane_of()))
        while e < len(targets):
            low, high = S(0), S(len(offsets) - 1)  # the row of x begins at or before e, the next one after it
            while high - low > 1:
                middle = (low + high) >> 1
                if offsets[middle] <= e:
                    low = middle
                else:
                    high = middle
            x, y = low, S(targets[e])
            low, high = offsets[y], offsets[y + 1]
            while low < high:
                middle = (low + high) >> 1
                if targets[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            reverse[e] = low
            e += S(cuda.gridDim.x) * THREADS

    return reverse_arcs


def signatures(threads: int) -> list[DeclaredKernel]:
    """The kernel as a GPU gets it."""
    places = int64[::1]
    return [DeclaredKernel("reverse arcs", make_reverse_arcs.recipe(threads), void(places, int32[::1], places))]
