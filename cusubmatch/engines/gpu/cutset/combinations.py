"""The combinations of a table's vertices, one after the other.

Candidates of the vertices of the levels are gone through one by one, as far as they agree with those before. What is
left of the inner vertices and of the one that is summed over is the lanes' (`sums`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.sums import sums_function
from cusubmatch.engines.gpu.cutset.table_layout import INNER, inner_function
from cusubmatch.engines.gpu.cutset.task_rows import task_row_functions
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["go_through_function"]

U, L = np.uint32, np.uint64
DIVIDED_LEVELS = 2  # whose combinations a block's warps divide


def go_through_function(target: Target) -> Any:
    """A device function (sh, own, parts, tables, n, step, last, v, count) -> bits.

    It makes a table, of the vertices of `last` levels and the inner ones, by summing over v the products of so many
    factors. The other arguments are those of `tables.sum_function`. The whole block calls it, whose warps divide the
    combinations of the first two levels among them; each lane gets all bits of the sums that it has written.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    begin, visit, put_sums = _begin_function(target), _visit_function(target), sums_function(target)

    @target.device
    def go_through(sh, own, parts, tables, n, step, last, v, count):
        factors, level, going, number, written = U(count + U(1)), U(0), True, U(0), L(0)
        warps, divided = U(U(cuda.blockDim.x) // U(WARP)), min(last, U(DIVIDED_LEVELS))
        levels, inner = U(U(parts.levels) + U(step * n)), U(sh[U(U(f.INNERS) + step)])
        begin(sh, own, parts, tables.rows, levels, inner, v, count)
        while going:
            if level == last:
                written = L(written | put_sums(sh, own, parts, tables, n, step, last, v, count))
                going, level = level != U(0), U(level - U(1))
            else:
                u, x = U(sh[U(levels + level)]), U(sh[U(own + U(U(f.NEXT) + level))])
                if x == U(sh[U(U(f.SIZES) + u)]):
                    going, level = level != U(0), U(level - U(1))
                else:
                    is_mine = True
                    cuda.syncwarp()
                    if lane_of() == U(0):
                        at = U(own + level)
                        sh[U(at + U(f.NEXT))], sh[U(at + U(f.IMAGES))] = U(x + U(1)), x
                        sh[U(at + U(f.NEXT + 1))] = U(0)
                    if U(level + U(1)) == divided:
                        is_mine = U(number % warps) == warp_of()
                        number = U(number + U(1))
                    cuda.syncwarp()
                    if is_mine and visit(sh, own, parts, tables.rows, levels, level, u, x, inner, v):
                        offsets, t = U(U(own + U(parts.offsets)) + U(level * factors)), U(lane_of())
                        while t < factors:
                            table = U(sh[U(U(f.FACTORS) + t)])
                            stride = U(sh[U(U(U(parts.strides) + U(table * n)) + u)])
                            sh[U(U(offsets + factors) + t)] = U(U(sh[U(offsets + t)]) + U(stride * x))
                            t = U(t + U(WARP))
                        level = U(level + U(1))
                    cuda.syncwarp()
        return written

    return go_through


def _begin_function(target):
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane
    left_of = _left_function(target)

    @target.device
    def begin(sh, own, parts, rows, levels, inner, v, count):
        """Write how each warp begins: all candidates are left, and tables are at their first place."""
        t = U(lane_of())
        while t <= count:
            table = U(sh[U(U(f.FACTORS) + t)])
            sh[U(U(own + U(parts.offsets)) + t)] = U(sh[U(U(f.PLACES) + table)])
            t = U(t + U(WARP))
        t, width = U(lane_of()), U(sh[f.TASK_WIDTH])
        while t < U(U(INNER + 1) * width):
            _, sh[U(U(own + U(parts.left)) + t)] = left_of(sh, own, rows, levels, U(0), inner, v, t)
            t = U(t + U(WARP))
        if lane_of() == U(0):
            sh[U(own + U(f.NEXT))] = U(0)
        cuda.syncwarp()

    return begin


def _whole_function(target):
    @target.device
    def whole(sh, u, k):
        """Word k of the set of all candidates of u, and of whatever is no vertex."""
        word = U(0xFFFFFFFF)
        if u < U(f.MAX_VERTICES):
            size, first = U(sh[U(U(f.SIZES) + u)]), U(k << U(5))
            number = U(size - first) if size > first else U(0)
            word = word if number >= U(32) else U(U(U(1) << number) - U(1))
        return word

    return whole


def _left_function(target):
    has, row_of = bit_functions(target).has, task_row_functions(target).row_of
    whole, inner_of = _whole_function(target), inner_function(target)

    @target.device
    def left_of(sh, own, rows, levels, images, inner, v, t):
        """What so many images leave of v or the inner vertices, which are numbered in this order: a number, and a word.

        The sets of these vertices lie one after the other; it is word t of all.
        """
        width = U(sh[f.TASK_WIDTH])
        nth = U(t // width)
        k, other = U(t - U(nth * width)), v if nth == U(0) else inner_of(inner, U(nth - U(1)))
        word = whole(sh, other, k)
        if other < U(f.MAX_VERTICES):
            joined = U(sh[U(U(f.JOINED) + other)])
            for i in range(images):
                before = U(sh[U(levels + U(i))])
                if has(joined, before):
                    place, step = row_of(sh, before, other)
                    image = U(sh[U(own + U(U(f.IMAGES) + U(i)))])
                    word = U(word & U(rows[U(U(place + U(image * step)) + k)]))
        return nth, word

    return left_of


def _visit_function(target):
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    has, agree, left_of = bit_functions(target).has, task_row_functions(target).agree, _left_function(target)

    @target.device
    def visit(sh, own, parts, rows, levels, level, u, x, inner, v):
        """Write what the images leave of v and of the inner vertices; whether x agrees and leaves some of these."""
        ok, left, width = True, U(0), U(sh[f.TASK_WIDTH])
        t, end = U(lane_of()), U(level + U(U(INNER + 1) * width))
        while t < end:
            if t < level:
                ok = ok and agree(sh, rows, u, x, U(sh[U(levels + t)]), U(sh[U(own + U(U(f.IMAGES) + t))]))
            else:
                nth, word = left_of(sh, own, rows, levels, U(level + U(1)), inner, v, U(t - level))
                sh[U(U(own + U(parts.left)) + U(t - level))] = word
                if word != U(0):
                    left = U(left | U(U(1) << nth))
            t = U(t + U(WARP))
        is_left = cuda.ballot_sync(FULL, not ok) == 0
        for nth in range(1, INNER + 1):
            is_left = is_left and cuda.ballot_sync(FULL, has(left, U(nth))) != 0
        return is_left

    return visit
