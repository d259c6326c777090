"""Tables of cliques of four over entries: each clique is found at its lowest edge, by a warp.

The warp lists the common higher neighbours of the edge, and for each of them searches its row for the later ones. A
clique is twelve entries; a weight is an array over the entries, or a single 1 with the mask 0.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import int32, int64, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.tables.modular import residue_functions
from cusubmatch.engines.gpu.tables.triangle_tables import make_sides, make_third

__all__ = ["make_cliques", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64

ENTRIES = 16  # from each of four vertices to each


@functools.cache
def make_cliques(target: Target, threads: int, weighted: bool) -> Any:
    """The kernel that adds to each entry (x, y) the sum over w, z of a[x, w] b[x, z] c[w, z] d[w, y] e[z, y].

    Unless `weighted`, all is 1 and only the entries (x, y), x < y, are added to. A warp has `longest` places in each
    half of `common`.
    """
    cuda, WARP, FULL, kernel = target.cuda, target.WARP, target.FULL, target.kernel
    lane_of, warp_of, device = target.lane, target.warp, target.device
    sides, third, (times, _) = make_sides(target), make_third(target), residue_functions(target)
    WARPS, THREADS, WEIGHTED, SPACE = threads // target.WARP, threads, weighted, ENTRIES * threads * weighted or 1

    @device
    def all_ways(entries, thread, a, a_mask, b, b_mask, c, c_mask, d, d_mask, e, e_mask, prime, out):
        for p in range(4):
            for q in range(4):
                if p == q:
                    continue
                for r in range(4):
                    if r in (p, q):
                        continue
                    s = 6 - p - q - r
                    pr, ps = entries[(4 * p + r) * THREADS + thread], entries[(4 * p + s) * THREADS + thread]
                    rs, rq = entries[(4 * r + s) * THREADS + thread], entries[(4 * r + q) * THREADS + thread]
                    sq, pq = entries[(4 * s + q) * THREADS + thread], entries[(4 * p + q) * THREADS + thread]
                    way = times(a[pr & a_mask], b[ps & b_mask], prime)
                    way = times(times(way, c[rs & c_mask], prime), d[rq & d_mask], prime)
                    cuda.atomic.add(out, pq, times(way, e[sq & e_mask], prime))

    @device
    def note(entries, thread, p, q, entry, reverse):
        entries[(4 * p + q) * THREADS + thread] = entry
        entries[(4 * q + p) * THREADS + thread] = reverse[entry]

    @kernel
    def cliques(
        offsets, targets, upper, reverse, lows, edges, start, stop, a, a_mask, b, b_mask, c, c_mask, d, d_mask, e,
        e_mask,
        prime, common, longest, out,
    ):  # fmt: skip
        entries = cuda.shared.array(SPACE, int64)
        lane = lane_of()
        thread = S(U(U(warp_of() * U(WARP)) + lane))
        number = S(cuda.blockIdx.x) * WARPS + S(warp_of())
        of_u, k = 2 * number * longest, S(start) + number
        of_v = of_u + longest
        while k < stop:
            i = edges[k]
            begin, end, other, other_end, is_v = sides(offsets, upper, i, lows[k], targets[i])
            found = S(0)
            while begin < end:
                f, g = begin + S(lane), S(-1)
                if f < end:
                    g = third(targets, other, other_end, targets[f])
                hits = U(cuda.ballot_sync(FULL, g >= 0))
                if g >= 0:
                    place = found + S(cuda.popc(U(hits & U(U(U(1) << lane) - U(1)))))
                    if not is_v:
                        f, g = g, f
                    common[of_u + place], common[of_v + place] = g, f
                found += S(cuda.popc(hits))
                begin += WARP
            cuda.syncwarp()
            m = S(0)
            while m < found - 1:
                g, j = common[of_u + m], common[of_v + m]
                w, n = S(targets[g]), m + 1 + S(lane)
                while n < found:
                    h = third(targets, upper[w], offsets[w + 1], targets[common[of_u + n]])
                    if h >= 0:
                        if WEIGHTED:
                            note(entries, thread, 0, 1, i, reverse)
                            note(entries, thread, 0, 2, g, reverse)
                            note(entries, thread, 0, 3, common[of_u + n], reverse)
                            note(entries, thread, 1, 2, j, reverse)
                            note(entries, thread, 1, 3, common[of_v + n], reverse)
                            note(entries, thread, 2, 3, h, reverse)
                            all_ways(entries, thread, a, a_mask, b, b_mask, c, c_mask, d, d_mask, e, e_mask, prime, out)
                        else:
                            cuda.atomic.add(out, i, L(2))
                            cuda.atomic.add(out, g, L(2))
                            cuda.atomic.add(out, j, L(2))
                            cuda.atomic.add(out, common[of_u + n], L(2))
                            cuda.atomic.add(out, common[of_v + n], L(2))
                            cuda.atomic.add(out, h, L(2))
                    n += WARP
                m += 1
            cuda.syncwarp()
            k += S(cuda.gridDim.x) * WARPS

    return cliques


def signatures(target: Target, threads: int) -> list[tuple[str, Any, Any]]:
    """(name, function, Numba signature) of each kernel as a GPU gets it, for a budget of registers."""
    target = target._replace(kernel=lambda function: function)
    ids, places, numbers = int32[::1], int64[::1], uint64[::1]
    span, weights = (ids, places, int64, int64), (numbers, int64) * 5
    signature = void(places, ids, places, places, *span, *weights, uint64, places, int64, numbers)
    return [
        (f"cliques{' weighted' * weighted}", make_cliques(target, threads, weighted), signature)
        for weighted in (False, True)
    ]
