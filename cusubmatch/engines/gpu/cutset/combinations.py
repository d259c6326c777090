"""The combinations of a table's vertices, one after the other, and the sum for each.

Candidates of the vertices of the levels are gone through one by one, as far as they agree with those before. Then each
lane has a pair of candidates of the two fastest vertices, and all go through what is left of the vertex that is summed
over, so that they read places of earlier tables that lie next to each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.world_rows import row_function
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["go_through_function"]

U, L = np.uint32, np.uint64
DIVIDED_LEVELS = 2  # whose combinations a block's warps divide


def go_through_function(target: Target) -> Any:
    """A device function (sh, own, parts, arrays, width, begin, first_id, last, fastest, second, v, count).

    It makes a table, of the vertices of `last` levels and the two fastest ones, by summing over v the products of so
    many factors. The other arguments are those of `tables.sum_function`. The whole block calls it.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    bits = bit_functions(target)
    first_of, has, row_of = bits.first_of, bits.has, row_function(target)
    put_row = _row_function(target)

    @target.device
    def next_candidate(sh, of_u, width, x):
        """The first candidate of a set from x on; 32 times the width if there is none."""
        k, end = U(x >> U(5)), U(width << U(5))
        found = end
        mask = U(U(0xFFFFFFFF) << U(x & U(31)))
        while k < width and found == end:
            word = U(U(sh[U(of_u + k)]) & mask)
            if word != U(0):
                found = U(U(k << U(5)) + first_of(word))
            k, mask = U(k + U(1)), U(0xFFFFFFFF)
        return found

    @target.device
    def agrees(sh, own, rows, width, level, u, x):
        """Whether x, an image of u, is left by those of the levels before."""
        ok, other, joined = True, U(lane_of()), U(sh[U(U(f.JOINED) + u)])
        while other < level:
            v, y = U(sh[U(U(f.LEVELS) + other)]), U(sh[U(own + U(U(f.IMAGES) + other))])
            if has(joined, v):
                place, step = row_of(sh, u, v, width)
                word = U(rows[U(U(place + U(x * step)) + U(y >> U(5)))])
                ok = ok and has(word, U(y & U(31)))
            other = U(other + U(WARP))
        return cuda.ballot_sync(FULL, not ok) == 0

    @target.device
    def narrow_level(sh, own, parts, rows, width, level, u, x, fastest, second, v):
        """Write what x leaves of the vertex that is summed over and of the two fastest ones; whether some of these."""
        joined, words = U(sh[U(U(f.JOINED) + u)]), U(U(3) * width)
        left = U(U(own + U(parts.left)) + U(level * words))
        t, some, others = U(lane_of()), False, False
        while t < words:
            other, k = v, t
            if t >= U(U(2) * width):
                other, k = second, U(t - U(U(2) * width))
            elif t >= width:
                other, k = fastest, U(t - width)
            word = U(sh[U(left + t)])
            if has(joined, other):
                place, step = row_of(sh, u, other, width)
                word = U(word & U(rows[U(U(place + U(x * step)) + k)]))
            sh[U(left + U(words + t))] = word
            if word != U(0):
                some, others = some or (t >= width and t < U(U(2) * width)), others or t >= U(U(2) * width)
            t = U(t + U(WARP))
        has_some, has_others = cuda.ballot_sync(FULL, some) != 0, cuda.ballot_sync(FULL, others) != 0
        return has_some and has_others

    @target.device
    def go_through(sh, own, parts, arrays, width, begin, first_id, last, fastest, second, v, count):
        """Make a table: go through the combinations of the candidates of all levels.

        The warps of a block divide those of the first two levels among them.
        """
        factors, level, going, rows, number = U(count + U(1)), U(0), True, arrays.rows, U(0)
        warps, divided = U(U(cuda.blockDim.x) // U(WARP)), min(last, U(DIVIDED_LEVELS))
        while going:
            if level == last:
                put_row(sh, own, parts, arrays, width, begin, first_id, last, fastest, second, v, count)
                going, level = level != U(0), U(level - U(1))
            else:
                u = U(sh[U(U(f.LEVELS) + level)])
                of_u = U(U(parts.sets) + U(u * width))
                x = next_candidate(sh, of_u, width, U(sh[U(own + U(U(f.NEXT) + level))]))
                if x == U(width << U(5)):
                    going, level = level != U(0), U(level - U(1))
                else:
                    rank, is_mine = U(sh[U(own + U(U(f.RANKS) + level))]), True
                    cuda.syncwarp()
                    if lane_of() == U(0):
                        at, following = U(own + level), U(U(own + level) + U(1))
                        sh[U(at + U(f.NEXT))], sh[U(at + U(f.RANKS))] = U(x + U(1)), U(rank + U(1))
                        sh[U(at + U(f.IMAGES))] = x
                        sh[U(following + U(f.NEXT))], sh[U(following + U(f.RANKS))] = U(0), U(0)
                    if U(level + U(1)) == divided:
                        is_mine = U(number % warps) == warp_of()
                        number = U(number + U(1))
                    if (
                        is_mine
                        and agrees(sh, own, rows, width, level, u, x)
                        and narrow_level(sh, own, parts, rows, width, level, u, x, fastest, second, v)
                    ):
                        at = U(level * factors)
                        t = U(lane_of())
                        while t < factors:
                            offset = U(U(own + U(parts.offsets)) + U(at + t))
                            stride = U(sh[U(U(parts.strides) + U(at + t))])
                            sh[U(offset + factors)] = U(U(sh[offset]) + U(stride * rank))
                            t = U(t + U(WARP))
                        level = U(level + U(1))
                    cuda.syncwarp()

    return go_through


def _row_function(target):
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    has, row_of = bit_functions(target).has, row_function(target)

    @target.device
    def put_row(sh, own, parts, arrays, width, begin, first_id, last, fastest, second, v, count):
        """Write the sums for all pairs of the two fastest vertices; the warps divide them if there are no others."""
        rows, words, numbers = arrays.rows, arrays.words, arrays.numbers
        factors, size = U(count + U(1)), U(sh[f.PAIRS])
        left = U(U(own + U(parts.left)) + U(last * U(U(3) * width)))
        offsets = U(U(own + U(parts.offsets)) + U(last * factors))
        of_fastest = U(U(parts.strides) + U(last * factors))
        of_second = U(of_fastest + factors)
        of_v = U(of_second + factors)
        set_v, before = U(U(parts.sets) + U(v * width)), U(parts.before)
        joined = U(sh[U(U(f.JOINED) + v)])
        (first, record), (first_second, record_second) = row_of(sh, fastest, v, width), row_of(sh, second, v, width)
        t, step = U(lane_of()), U(WARP)
        if last == U(0):
            t, step = U(t + U(warp_of() * U(WARP))), U(cuda.blockDim.x)
        while t < size:
            pair = U(arrays.ids[L(first_id + L(U(U(2) * t)))])
            y, z = U(pair & U(0xFFFF)), U(pair >> U(16))
            has_y = has(U(sh[U(U(left + width) + U(y >> U(5)))]), U(y & U(31)))
            if has_y and has(U(sh[U(U(left + U(U(2) * width)) + U(z >> U(5)))]), U(z & U(31))):
                ranks = U(arrays.ids[L(first_id + L(U(U(U(2) * t) + U(1))))])
                rank, rank_second = U(ranks & U(0xFFFF)), U(ranks >> U(16))
                row, row_second = U(first + U(y * record)), U(first_second + U(z * record_second))
                total, value = L(0), 0.0
                for k in range(width):
                    rest, mine = U(sh[U(left + U(k))]), U(0xFFFFFFFF)
                    if rest != U(0) and has(joined, fastest):
                        mine = U(rows[U(row + U(k))])
                    if rest != U(0) and has(joined, second):
                        mine = U(mine & U(rows[U(row_second + U(k))]))
                    if count == U(0):
                        total = L(total + L(cuda.popc(U(rest & mine))))
                    else:
                        all_, below_k = U(sh[U(set_v + U(k))]), U(sh[U(before + U(k))])
                        while rest != U(0):  # of all lanes at once, so that they read what lies next to each other
                            low = U(rest & U(U(0) - rest))
                            rest = U(rest ^ low)
                            if U(mine & low) != U(0):
                                of_x, word, number = U(below_k + U(cuda.popc(U(all_ & U(low - U(1)))))), L(1), 1.0
                                for i in range(count):
                                    at = U(U(sh[U(offsets + U(i))]) + U(U(sh[U(of_v + U(i))]) * of_x))
                                    at = U(at + U(U(sh[U(of_fastest + U(i))]) * rank))
                                    place = L(begin + L(U(at + U(U(sh[U(of_second + U(i))]) * rank_second))))
                                    word = L(word * L(words[place]))
                                    number *= numbers[place]
                                total, value = L(total + word), value + number
                if count == U(0):
                    value = np.float64(total)
                at = U(U(sh[U(offsets + count)]) + U(U(sh[U(of_fastest + count)]) * rank))
                place = L(begin + L(U(at + U(U(sh[U(of_second + count)]) * rank_second))))
                words[place], numbers[place] = total, value
            t = U(t + step)
        cuda.syncwarp()

    return put_row
