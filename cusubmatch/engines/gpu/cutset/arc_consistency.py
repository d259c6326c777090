"""Candidates that lack a neighbour are taken out until none is left (arc consistency, AC-3; Mackworth 1977)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cutset.state_format import MAX_VERTICES
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["narrow_function"]

U = np.uint32
AT_ONCE = 4  # rows that are read, none of which waits for another one


def narrow_function(target: Target, near: int, nth: int, changed: int, row: Any) -> Any:
    """A device function (sh, sets, sizes, room, room_words, rows, at, width, pending) -> whether all have candidates.

    A whole block calls it. In shared memory there are: from `near` and `nth` on the vertices that each is joined to,
    and two words from `changed` on; the sets of all vertices, of `width` words each, and the numbers of their
    candidates; and room for the sets of all vertices that one is joined to. `pending`: vertices whose sets have
    changed. `row` is a device function (sh, at, u, j, k, width) -> place, step: in `rows`, of word k of what the first
    candidate of u leaves of its neighbour j; and how far the next candidate's is from it. `at` is handed on.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    bits = bit_functions(target)
    first_of, without_first, has, without = bits.first_of, bits.without_first, bits.has, bits.without

    @target.device
    def smallest_of(sh, sets, width, vertices):
        """The vertex with fewest candidates, and how many: there is little to read, and others lose most."""
        v, found, distance = U(lane_of()), U(0xFFFFFFFF), 1
        while v < U(MAX_VERTICES):
            if has(vertices, v):
                size = U(0)
                for k in range(width):
                    size = U(size + U(cuda.popc(sh[U(U(sets + U(v * width)) + U(k))])))
                found = min(found, U(U(size << U(5)) + v))
            v = U(v + U(WARP))
        while distance < WARP:
            found = min(found, U(cuda.shfl_xor_sync(FULL, np.int32(found), distance)))
            distance <<= 1
        return U(found & U(31)), U(found >> U(5))

    @target.device
    def share_of(warps):
        """The candidates in each word that are this warp's to look at, as bits."""
        share, bit = U(0), U(warp_of())
        while bit < U(32):
            share, bit = U(share | U(U(1) << bit)), U(bit + warps)
        return share

    @target.device
    def unite_rows(sh, sets, room, rows, at, u, number, width, share):
        """Add the rows of a warp's candidates of u to those of others."""
        t = U(lane_of())
        while t < number:
            j, united = U(t // width), U(0)
            k = U(t - U(j * width))
            place, step = row(sh, at, u, j, k, width)
            for word in range(width):
                rest = U(sh[U(U(sets + U(u * width)) + U(word))] & share)
                x = first_of(rest)
                while rest != U(0):
                    for _ in range(AT_ONCE):
                        x = first_of(rest) if rest != U(0) else x
                        rest = without_first(rest)
                        united = U(united | U(rows[U(place + U(U(U(U(word) << U(5)) + x) * step))]))
            if united != U(0):
                cuda.atomic.or_(sh, U(room + t), united)
            t = U(t + U(WARP))

    @target.device
    def narrow(sh, sets, sizes, room, room_words, rows, at, width, pending):
        thread, threads = U(U(warp_of() * U(WARP)) + lane_of()), U(cuda.blockDim.x)
        share, turn, is_left, t = share_of(U(threads // U(WARP))), U(0), True, thread
        while t < room_words:
            sh[U(room + t)] = U(0)
            t = U(t + threads)
        if thread == U(0):
            sh[changed] = U(0)
        cuda.syncthreads()
        while is_left and pending != U(0):
            u, size = smallest_of(sh, sets, width, pending)
            pending, number = without(pending, u), U(U(cuda.popc(sh[U(near + u)])) * width)
            is_left = size != U(0)
            if is_left:
                unite_rows(sh, sets, room, rows, at, u, number, width, share)
            cuda.syncthreads()
            if thread == U(0):
                sh[U(sizes + u)] = size
                sh[U(changed + U(turn ^ U(1)))] = U(0)
            t = thread
            while is_left and t < number:
                j = U(t // width)
                v = U(sh[U(U(nth + U(u << U(5))) + j)])
                of_v = U(U(sets + U(v * width)) + U(t - U(j * width)))
                old, united = U(sh[of_v]), U(sh[U(room + t)])
                sh[U(room + t)] = U(0)
                if U(old & U(~united)) != U(0):
                    sh[of_v] = U(old & united)
                    cuda.atomic.or_(sh, U(U(changed) + turn), U(U(1) << v))
                t = U(t + threads)
            cuda.syncthreads()
            pending, turn = U(pending | U(sh[U(U(changed) + turn)])), U(turn ^ U(1))
        cuda.syncthreads()
        return is_left

    return narrow
