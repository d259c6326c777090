"""Domains as bitmaps: how an image narrows those of other vertices, and how they are restored.

A domain is a set of local indices: so many words for each lane of a warp, word q of the set at the lane q modulo the
warp's width. All sets lie in one array, the store: whole domains, rows, and a pool for each warp. A domain that is
narrowed is written to the pool, and what it was goes on the trail; so it is restored without a copy. A vertex is
touched once a neighbour's image has narrowed its domain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["Domains", "domain_functions"]

U = np.uint32


class Domains(NamedTuple):
    """Device functions; a whole warp calls them.

    Attributes
    ----------
    restart : (sh, w, sizes)
        All domains are whole, and have these sizes.
    narrow : (sh, w, store, u, x, others, trail, pool, touched) -> whether none is empty, trail, pool, touched
        Match u to x and narrow the domains of `others`.
    undo : (sh, w, trail, to)
        Restore what is on the trail from `to` on.
    next_candidate : (sh, w, store, u, begin, end) -> x
        The first candidate of u from `begin` on; `end` if there is none.
    count_from : (sh, w, store, u, begin, end) -> uint32
        Candidates of u in a range.
    common : (sh, w, store, u, v) -> uint32
        Candidates that both may take.
    collide : (sh, w, store, u, v) -> bool
        Whether there are such.
    row_of : (sh, u, v, x) -> uint32
        Where the row of x, an image of u, among the candidates of v lies in the store.
    warp_sum : (value) -> uint32
    """

    restart: Any
    narrow: Any
    undo: Any
    next_candidate: Any
    count_from: Any
    common: Any
    collide: Any
    row_of: Any
    warp_sum: Any


def domain_functions(target: Target, words: int) -> Domains:
    """The functions for domains of so many words a lane."""
    cuda, WARP, FULL, lane_of, device = target.cuda, target.WARP, target.FULL, target.lane, target.device
    SET, FIELDS = WARP * words, f.TRAIL_FIELDS

    @device
    def warp_sum(value):
        total, distance = U(value), 1
        while distance < WARP:
            total = U(total + U(cuda.shfl_xor_sync(FULL, np.int32(total), distance)))
            distance <<= 1
        return total

    @device
    def row_of(sh, u, v, x):
        relation = U(sh[U(f.RELATIONS + U(u * U(f.MAX_VERTICES)) + v)])
        return U(U(sh[f.ROWS]) + U(U(U(relation * U(sh[f.LOCALS])) + x) * U(SET)))

    @device
    def restart(sh, w, sizes):
        cuda.syncwarp()
        v = lane_of()
        while v < U(sh[f.VERTICES]):
            sh[U(w + f.DOMAINS + v)] = U(v * U(SET))
            sh[U(w + f.SIZES + v)] = sizes[v]
            v = U(v + WARP)
        cuda.syncwarp()

    @device
    def replace(sh, w, v, trail, domain, size):
        """Put the domain of v on the trail; it is another one now."""
        cuda.syncwarp()
        if lane_of() == U(0):
            at = U(w + U(sh[f.TRAIL]) + U(trail * U(FIELDS)))
            sh[at], sh[U(at + 1)], sh[U(at + 2)] = v, sh[U(w + f.DOMAINS + v)], sh[U(w + f.SIZES + v)]
            sh[U(w + f.DOMAINS + v)], sh[U(w + f.SIZES + v)] = domain, size
        cuda.syncwarp()

    @device
    def narrow(sh, w, store, u, x, others, trail, pool, touched):
        lane = lane_of()
        near, lost, left = U(sh[U(f.NEIGHBOURS + u)] & others), U(sh[U(f.CONFLICTS + u)] & others), True
        while left and near != U(0):
            v = U(U(cuda.ffs(near)) - U(1))
            near = U(near & U(near - U(1)))
            row, old, n = row_of(sh, u, v, x), U(sh[U(w + f.DOMAINS + v)]), U(0)
            for j in range(words):
                at = U(U(j * WARP) + lane)
                word = U(store[U(old + at)] & store[U(row + at)])
                store[U(pool + at)] = word
                n = U(n + U(cuda.popc(word)))
            size = warp_sum(n)
            replace(sh, w, v, trail, pool, size)
            touched = U(touched | U(U(1) << v))
            trail, pool, left = U(trail + U(1)), U(pool + U(SET)), size != U(0)
        place, bit = U(x >> U(5)), U(U(1) << U(x & U(31)))
        while left and lost != U(0):
            v = U(U(cuda.ffs(lost)) - U(1))
            lost = U(lost & U(lost - U(1)))
            old, has = U(sh[U(w + f.DOMAINS + v)]), False
            for j in range(words):
                at = U(U(j * WARP) + lane)
                word = U(store[U(old + at)])
                if at == place:
                    has = U(word & bit) != U(0)
                    word = U(word & U(~bit))
                store[U(pool + at)] = word
            if cuda.ballot_sync(FULL, has) != 0:
                size = U(sh[U(w + f.SIZES + v)] - U(1))
                replace(sh, w, v, trail, pool, size)
                trail, pool, left = U(trail + U(1)), U(pool + U(SET)), size != U(0)
        return left, trail, pool, touched

    @device
    def undo(sh, w, trail, to):
        cuda.syncwarp()
        if lane_of() == U(0):
            while trail > to:
                trail = U(trail - U(1))
                at = U(w + U(sh[f.TRAIL]) + U(trail * U(FIELDS)))
                v = U(sh[at])
                sh[U(w + f.DOMAINS + v)], sh[U(w + f.SIZES + v)] = sh[U(at + 1)], sh[U(at + 2)]
        cuda.syncwarp()

    @device
    def inside(word, q, begin, end):
        """The bits of word q of a set that lie in a range."""
        first = U(q << U(5))
        if begin > first:
            below = U(begin - first)
            word = U(word & U(U(0xFFFFFFFF) << below)) if below < U(32) else U(0)
        if end < U(first + U(32)):
            above = U(end - first) if end > first else U(0)
            word = U(word & U(U(U(1) << above) - U(1)))
        return word

    @device
    def next_candidate(sh, w, store, u, begin, end):
        lane, domain, found = lane_of(), U(sh[U(w + f.DOMAINS + u)]), end
        j = U(U(begin >> U(5)) // U(WARP))
        while j < U(words) and found == end:
            q = U(U(j * U(WARP)) + lane)
            word = inside(U(store[U(domain + q)]), q, begin, end)
            holders = U(cuda.ballot_sync(FULL, word != U(0)))
            if holders != U(0):
                holder = U(U(cuda.ffs(holders)) - U(1))
                first = U(U(q << U(5)) + U(U(cuda.ffs(word)) - U(1)))
                found = U(np.int32(cuda.shfl_sync(FULL, np.int32(first), holder)))
            j = U(j + U(1))
        return found

    @device
    def count_from(sh, w, store, u, begin, end):
        lane, domain, n = lane_of(), U(sh[U(w + f.DOMAINS + u)]), U(0)
        for j in range(words):
            q = U(U(j * WARP) + lane)
            n = U(n + U(cuda.popc(inside(U(store[U(domain + q)]), q, begin, end))))
        return warp_sum(n)

    @device
    def common(sh, w, store, u, v):
        lane, n = lane_of(), U(0)
        a, b = U(sh[U(w + f.DOMAINS + u)]), U(sh[U(w + f.DOMAINS + v)])
        for j in range(words):
            at = U(U(j * WARP) + lane)
            n = U(n + U(cuda.popc(U(store[U(a + at)] & store[U(b + at)]))))
        return warp_sum(n)

    @device
    def collide(sh, w, store, u, v):
        lane, any_ = lane_of(), U(0)
        a, b = U(sh[U(w + f.DOMAINS + u)]), U(sh[U(w + f.DOMAINS + v)])
        for j in range(words):
            at = U(U(j * WARP) + lane)
            any_ = U(any_ | U(store[U(a + at)] & store[U(b + at)]))
        return cuda.ballot_sync(FULL, any_ != U(0)) != 0

    return Domains(restart, narrow, undo, next_candidate, count_from, common, collide, row_of, warp_sum)
