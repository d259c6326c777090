"""What the cliques of a vertex cost, before they are counted: estimates that sort vertices and divide large ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory

__all__ = ["make_reach", "seconds_of"]

U, L = np.uint32, np.uint64

SECONDS_A_PAIR, SECONDS_A_WORD = 1e-11, 1e-12  # to look for an edge in a list, and to AND a word of two rows


def seconds_of(degrees: Any, k: int, density: Any = 1.0) -> tuple[Any, Any]:
    """Estimates for each vertex: to fill its rows, and to count in them.

    `density` is the share of the pairs of its out-neighbours that have an edge; 1 is the most that it can be.
    """
    size = degrees.astype(np.float64)
    pairs = size * size / 2
    words = pairs * density * size / 96 if k == 4 else pairs * density**3 * size * size / 384
    return pairs * SECONDS_A_PAIR, words * SECONDS_A_WORD


@kernel_factory
def make_reach(target: Target, wide: bool) -> Any:
    """How many edges the out-neighbours of each vertex can have among themselves at most, by their out-degrees."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    P = L if wide else U

    @kernel
    def reach(offsets, targets, vertices, edges):
        i = U(U(U(cuda.blockIdx.x) * U(cuda.blockDim.x)) + U(U(warp_of() * U(WARP)) + lane_of()))
        while i < U(len(vertices)):
            base, end = P(offsets[vertices[i]]), P(offsets[U(vertices[i] + U(1))])
            size, found = U(end - base), U(0)
            while base < end:
                v = U(targets[base])
                rest = U(U(end - base) - U(1))
                found = U(found + min(rest, U(P(offsets[U(v + U(1))]) - P(offsets[v]))))
                base = P(base + P(1))
            edges[i] = min(found, U(U(size * U(size - U(1))) >> U(1)))
            i = U(i + U(U(cuda.gridDim.x) * U(cuda.blockDim.x)))

    return reach
