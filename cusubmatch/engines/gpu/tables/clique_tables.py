"""Tables of cliques of four over arcs: each clique is found at its lowest edge, by a warp.

The warp lists the common higher neighbours of the edge, and for each of them searches its row for the later ones. A
clique has twelve arcs.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import int64, types, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of, kernel_factory
from cusubmatch.engines.gpu.runtime.modular import residue_functions
from cusubmatch.engines.gpu.tables.parameters import ARC_BATCH, ROWS, VALUES, make_value_at
from cusubmatch.engines.gpu.tables.triangle_tables import make_sides, make_third

__all__ = ["CliqueMemory", "make_cliques", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64

CLIQUE_ARCS = 16  # from each of four vertices to each


class CliqueMemory(NamedTuple):
    """Memory of each warp for twice `longest` arcs, from both ends of an edge to their common neighbours."""

    arcs: Any
    longest: Any


@functools.cache
def _make_add_clique(target: Target, threads: int) -> Any:
    """A device function that adds a weighted clique to its twelve arcs, by way of `threads` columns of shared memory.

    (columns, thread, rows, arcs, values, prime, out); the arcs are uv, uw, uz, vw, vz and wz.
    """
    cuda, (times, _), value_at, THREADS = target.cuda, residue_functions(target), make_value_at(target), threads

    @target.device
    def note(columns, thread, p, q, arc, reverse):
        columns[(4 * p + q) * THREADS + thread] = arc
        columns[(4 * q + p) * THREADS + thread] = reverse[arc]

    @target.device
    def add_clique(columns, thread, rows, arcs, values, prime, out):
        note(columns, thread, 0, 1, arcs[0], rows.reverse)
        note(columns, thread, 0, 2, arcs[1], rows.reverse)
        note(columns, thread, 0, 3, arcs[2], rows.reverse)
        note(columns, thread, 1, 2, arcs[3], rows.reverse)
        note(columns, thread, 1, 3, arcs[4], rows.reverse)
        note(columns, thread, 2, 3, arcs[5], rows.reverse)
        a, b, c, d, e = values
        for p in range(4):
            for q in range(4):
                if p == q:
                    continue
                for r in range(4):
                    if r in (p, q):
                        continue
                    s = 6 - p - q - r
                    pr, ps = columns[(4 * p + r) * THREADS + thread], columns[(4 * p + s) * THREADS + thread]
                    rs, rq = columns[(4 * r + s) * THREADS + thread], columns[(4 * r + q) * THREADS + thread]
                    sq, pq = columns[(4 * s + q) * THREADS + thread], columns[(4 * p + q) * THREADS + thread]
                    way = times(value_at(a, pr), value_at(b, ps), prime)
                    way = times(times(way, value_at(c, rs), prime), value_at(d, rq), prime)
                    cuda.atomic.add(out, pq, times(way, value_at(e, sq), prime))

    return add_clique


@functools.cache
def _make_list_common(target: Target) -> Any:
    """A device function: the number of common higher neighbours of an edge, whose arcs a warp lists.

    (rows, edge, u, arcs, of_u, of_v, lane) -> int64; those from u are listed from arcs[of_u] on, those from v likewise.
    """
    cuda, WARP, FULL, sides, third = target.cuda, target.WARP, target.FULL, make_sides(target), make_third(target)

    @target.device
    def list_common(rows, edge, u, arcs, of_u, of_v, lane):
        begin, end, other, other_end, is_v = sides(rows, edge, u, rows.targets[edge])
        listed = S(0)
        while begin < end:
            f, g = begin + S(lane), S(-1)
            if f < end:
                g = third(rows.targets, other, other_end, rows.targets[f])
            hits = U(cuda.ballot_sync(FULL, g >= 0))
            if g >= 0:
                position = listed + S(cuda.popc(U(hits & U(U(U(1) << lane) - U(1)))))
                if not is_v:
                    f, g = g, f
                arcs[of_u + position], arcs[of_v + position] = g, f
            listed += S(cuda.popc(hits))
            begin += WARP
        return listed

    return list_common


@kernel_factory
def make_cliques(target: Target, threads: int, weighted: bool) -> Any:
    """The kernel that adds to each arc (x, y) the sum over w, z of a[x, w] b[x, z] c[w, z] d[w, y] e[z, y].

    Unless `weighted`, all is 1 and only the arcs (x, y), x < y, are added to.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    third, list_common, add_clique = make_third(target), _make_list_common(target), _make_add_clique(target, threads)
    WARPS, WEIGHTED, SPACE = threads // target.WARP, weighted, CLIQUE_ARCS * threads * weighted or 1

    @target.kernel
    def cliques(rows, batch, values, prime, common, out):
        columns = cuda.shared.array(SPACE, int64)
        lane = lane_of()
        thread = S(U(U(warp_of() * U(WARP)) + lane))
        warp = S(cuda.blockIdx.x) * WARPS + S(warp_of())
        arcs, of_u, k = common.arcs, 2 * warp * common.longest, S(batch.start) + warp
        of_v = of_u + common.longest
        while k < batch.stop:
            uv = batch.arcs[k]
            found = list_common(rows, uv, batch.sources[k], arcs, of_u, of_v, lane)
            cuda.syncwarp()
            m = S(0)
            while m < found - 1:
                uw, vw = arcs[of_u + m], arcs[of_v + m]
                w, n = S(rows.targets[uw]), m + 1 + S(lane)
                while n < found:
                    uz, vz = arcs[of_u + n], arcs[of_v + n]
                    wz = third(rows.targets, rows.upper[w], rows.offsets[w + 1], rows.targets[uz])
                    if wz >= 0:
                        if WEIGHTED:
                            add_clique(columns, thread, rows, (uv, uw, uz, vw, vz, wz), values, prime, out)
                        else:
                            cuda.atomic.add(out, uv, L(2))
                            cuda.atomic.add(out, uw, L(2))
                            cuda.atomic.add(out, vw, L(2))
                            cuda.atomic.add(out, uz, L(2))
                            cuda.atomic.add(out, vz, L(2))
                            cuda.atomic.add(out, wz, L(2))
                    n += WARP
                m += 1
            cuda.syncwarp()
            k += S(cuda.gridDim.x) * WARPS

    return cliques


def signatures(threads: int) -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    values, common = types.UniTuple(VALUES, 5), block_of(CliqueMemory, int64[::1], int64)
    signature = void(ROWS, ARC_BATCH, values, uint64, common, uint64[::1])
    return [
        DeclaredKernel(f"cliques{' weighted' * weighted}", make_cliques.recipe(threads, weighted), signature)
        for weighted in (False, True)
    ]
