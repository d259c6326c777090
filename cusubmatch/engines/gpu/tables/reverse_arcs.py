"""The reverse arc of an arc (x, y) of symmetric rows: the position of (y, x)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, kernel_factory
from cusubmatch.engines.gpu.runtime.warp import lane_of_launch

__all__ = ["make_reverse_arcs", "signatures"]

S = np.int64


@kernel_factory
def make_reverse_arcs(target: Target, threads: int) -> Any:
    """The kernel that finds them all, a lane an arc, by two binary searches: for x, and for x in the row of y."""
    cuda = target.cuda
    first, THREADS = lane_of_launch(target, threads)

    @target.kernel
    def reverse_arcs(offsets, targets, reverse):
        e = first()
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
