"""In which order vertices are eliminated, how large the tables are, and which vertex to match where they are too large.

The next vertex is the one with the fewest combinations of candidates of it and of those that it is joined to
(min-weight; Bodlaender & Koster 2010). Each lane does so without another vertex, one of them without none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.world_rows import row_function
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["TableSizes", "table_size_functions"]

U = np.uint32


class TableSizes(NamedTuple):
    """Device functions; a whole warp calls them.

    Attributes
    ----------
    join : (sh, sets, rows, width, vertices) -> left
        Write which vertices are joined or may collide, of those that have more than one candidate: `left`.
    choose : (sh, around, left, root, n, totals, first, most, places) -> vertex
        The vertex to match; the root, with the order in which all are eliminated, if their tables have no more
        combinations than `most` and take no more than so many places. `totals`, float64, has room for 32 numbers from
        `first` on.
    """

    join: Any
    choose: Any


def table_size_functions(target: Target) -> TableSizes:
    """The functions, for one target."""
    return TableSizes(_join_function(target), _choose_function(target))


def _join_function(target):
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    bits = bit_functions(target)
    first_of, without_first, row_of = bits.first_of, bits.without_first, row_function(target)

    @target.device
    def may_collide(sh, sets, rows, width, u, v):
        """Whether candidates of u leave not all of v: one is theirs, too."""
        any_, k = False, U(lane_of())
        place, step = row_of(sh, u, v, width)
        while k < width:
            lost = U(0)
            for word in range(width):
                rest = U(sh[U(U(sets + U(u * width)) + U(word))])
                while rest != U(0):
                    x = U(U(U(word) << U(5)) + first_of(rest))
                    rest = without_first(rest)
                    lost = U(lost | U(~U(rows[U(U(place + k) + U(x * step))])))
            any_ = any_ or U(lost & U(sh[U(U(sets + U(v * width)) + k)])) != U(0)
            k = U(k + U(WARP))
        return cuda.ballot_sync(FULL, any_) != 0

    @target.device
    def join(sh, sets, rows, width, vertices):
        left, rest = U(0), vertices
        while rest != U(0):
            v = first_of(rest)
            rest = without_first(rest)
            if U(sh[U(U(f.SIZES) + v)]) > U(1):
                left = U(left | U(U(1) << v))
        v = U(lane_of())
        while v < U(f.MAX_VERTICES):
            edges = U(U(sh[U(f.NEAR + v)]) & U(~U(sh[U(f.CONFLICTS + v)])))
            sh[U(U(f.JOINED) + v)] = U(edges & left)
            v = U(v + U(WARP))
        cuda.syncwarp()
        rest = left
        while rest != U(0):
            u = first_of(rest)
            rest = without_first(rest)
            others = U(U(sh[U(f.CONFLICTS + u)]) & rest)
            while others != U(0):
                v = first_of(others)
                others = without_first(others)
                if may_collide(sh, sets, rows, width, u, v) and lane_of() == U(0):
                    of_u, of_v = U(U(f.JOINED) + u), U(U(f.JOINED) + v)
                    sh[of_u], sh[of_v] = U(U(sh[of_u]) | U(U(1) << v)), U(U(sh[of_v]) | U(U(1) << u))
        cuda.syncwarp()
        return left

    return join


def _choose_function(target):
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane
    bits = bit_functions(target)
    first_of, without_first, has, without = bits.first_of, bits.without_first, bits.has, bits.without

    @target.device
    def combinations(sh, vertices):
        number = 1.0
        while vertices != U(0):
            number *= np.float64(sh[U(U(f.SIZES) + first_of(vertices))])
            vertices = without_first(vertices)
        return number

    @target.device
    def eliminate(sh, around, vertices, writes):
        """The combinations in all tables, and how many places these take; writes the order, if asked to."""
        total, places, number, rest = 0.0, 0.0, U(0), vertices
        while rest != U(0):
            v = first_of(rest)
            rest = without_first(rest)
            sh[U(around + U(v * U(WARP)))] = U(U(sh[U(U(f.JOINED) + v)]) & vertices)
        while vertices != U(0):
            best, fewest, rest = U(0), -1.0, vertices
            while rest != U(0):
                v = first_of(rest)
                rest = without_first(rest)
                found = combinations(sh, U(U(sh[U(around + U(v * U(WARP)))]) | U(U(1) << v)))
                if fewest < 0.0 or found < fewest:
                    best, fewest = v, found
            bag = U(sh[U(around + U(best * U(WARP)))])
            total += fewest
            places += fewest / np.float64(sh[U(U(f.SIZES) + best)])
            if writes:
                sh[U(U(f.ORDER) + number)], sh[U(U(f.BAGS) + number)] = best, bag
            number, vertices, rest = U(number + U(1)), without(vertices, best), bag
            while rest != U(0):
                v = first_of(rest)
                rest = without_first(rest)
                of_v = U(around + U(v * U(WARP)))
                sh[of_v] = U(U(U(sh[of_v]) | bag) & U(~U(U(U(1) << v) | U(U(1) << best))))
        return total, places

    @target.device
    def choose(sh, around, left, root, n, totals, first, most, places):
        t = U(lane_of())
        while t < n:
            total = -1.0
            if t == root:
                total, used = eliminate(sh, U(around + lane_of()), left, True)
                if used > np.float64(places):
                    total = 1e300
            elif has(left, t):
                total, _ = eliminate(sh, U(around + lane_of()), without(left, t), False)
                total *= np.float64(sh[U(U(f.SIZES) + t)])
            totals[U(first + t)] = total
            t = U(t + U(WARP))
        cuda.syncwarp()
        chosen, fewest = root, 0.0
        if np.float64(totals[U(first + root)]) > most:
            for v in range(n):
                total = np.float64(totals[U(first + U(v))])
                if total >= 0.0 and U(v) != root and (chosen == root or total < fewest):
                    chosen, fewest = U(v), total
        cuda.syncwarp()
        return chosen

    return choose
