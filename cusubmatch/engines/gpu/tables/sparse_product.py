"""The product of a sparse matrix, values on the arcs of a support graph, and a dense matrix of many columns.

A lane makes one number of the product. Lanes next to each other have columns next to each other, so that they read the
same arcs and numbers of the dense matrix that lie side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, kernel_factory
from cusubmatch.engines.gpu.runtime.warp import lane_of_launch
from cusubmatch.engines.gpu.tables.parameters import ROWS, VALUES, make_value_at

__all__ = ["make_product", "signatures"]

L, S = np.uint64, np.int64
HALF = 1 << 63


@kernel_factory
def make_product(target: Target, threads: int) -> Any:
    """The kernel for the rows start, ..., stop - 1 of the product; both matrices are given as their rows, flat."""
    cuda, value_at = target.cuda, make_value_at(target)
    first, THREADS = lane_of_launch(target, threads)

    @target.kernel
    def product(rows, values, columns, width, start, stop, prime, out):
        fold = L(0)
        if prime:
            fold = L(HALF) - L(HALF) % prime  # the largest multiple of the prime that is at most 2^63
        i = start * width + first()
        while i < stop * width:
            x = i // width
            c, total = i - x * width, L(0)
            for e in range(rows.offsets[x], rows.offsets[x + 1]):
                total += value_at(values, e) * columns[S(rows.targets[e]) * width + c]
                if total >= fold and prime:
                    total -= fold
            out[i] = total % prime if prime else total
            i += S(cuda.gridDim.x) * THREADS

    return product


def signatures(threads: int) -> list[DeclaredKernel]:
    """The kernel as a GPU gets it."""
    types = ROWS, VALUES, uint64[::1], int64, int64, int64, uint64, uint64[::1]
    return [DeclaredKernel("product", make_product.recipe(threads), void(*types))]
