"""k-cliques of vertices with at most 32 out-neighbours: a warp a vertex, and a row of the bitmap is one word.

Every lane looks for edges of its own among the out-neighbours; then a lane takes a row, and the common neighbours of
two vertices are an AND of two words.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.cliques.neighbourhood_rows import WORD
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.engines.gpu.runtime.warp import warp_functions

__all__ = ["make_count_in_words"]

U, L, F = np.uint32, np.uint64, np.float32


@kernel_factory
def make_count_in_words(target: Target, k: int, threads: int, wide: bool) -> Any:
    """Cliques of k = 4 or 5 for vertices with at most 32 out-neighbours: a warp a vertex, one word a row."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    _, contains, _, add_to = warp_functions(target, wide)
    K, WARPS, MEMORY_WORDS, ROWS = k, threads // WARP, threads // WARP * 2 * WORD, WORD
    PARTS, P = WORD // WARP, L if wide else U

    @kernel
    def count_in_words(offsets, targets, vertices, start, stop, state):
        memory = cuda.shared.array(MEMORY_WORDS, uint32)
        lane, warp = lane_of(), warp_of()
        rows = U(warp * U(2 * ROWS))
        listing = U(rows + U(ROWS))
        item, step = U(U(start + U(U(cuda.blockIdx.x) * U(WARPS))) + warp), U(U(cuda.gridDim.x) * U(WARPS))
        total = L(0)
        while item < stop:
            u = U(vertices[item])
            base = P(offsets[u])
            size = U(P(offsets[U(u + U(1))]) - base)
            cuda.syncwarp()
            part = 0
            while part < PARTS:
                i = U(lane + U(part * WARP))
                memory[U(rows + i)] = U(0)
                if i < size:
                    memory[U(listing + i)] = U(targets[P(base + P(i))])
                part += 1
            cuda.syncwarp()
            pairs, p = U(U(size * U(size - U(1))) >> U(1)), lane
            while p < pairs:  # the p-th pair i < j, in the order of j
                root = F(math.sqrt(F(F(F(8.0) * F(p)) + F(1.0))))
                j = U(U(F(F(1.0) + root)) >> U(1))
                i = U(p - U(U(j * U(j - U(1))) >> U(1)))
                v = U(memory[U(listing + i)])
                list_base = P(offsets[v])
                length = U(P(offsets[U(v + U(1))]) - list_base)
                if contains(targets, list_base, length, U(memory[U(listing + j)])):
                    cuda.atomic.or_(memory, U(rows + i), U(U(1) << j))
                p = U(p + U(WARP))
            cuda.syncwarp()
            part = 0
            while part < PARTS:
                row = U(memory[U(rows + U(lane + U(part * WARP)))])
                rest, common = row, U(0)
                while rest != U(0):
                    j = U(U(cuda.ffs(rest)) - U(1))
                    rest = U(rest & U(rest - U(1)))
                    both = U(row & U(memory[U(rows + j)]))
                    if K == 4:
                        common = U(common + U(cuda.popc(both)))
                    else:
                        while both != U(0):
                            h = U(U(cuda.ffs(both)) - U(1))
                            both = U(both & U(both - U(1)))
                            common = U(common + U(cuda.popc(U(both & U(memory[U(rows + h)])))))
                total = L(total + L(common))
                part += 1
            item = U(item + step)
        cuda.syncwarp()
        add_to(state, lane, total)

    return count_in_words
