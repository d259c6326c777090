"""The candidates of a task's vertices, numbered anew, and rows of bits of what each leaves of those of another vertex.

Tasks have few of a world's candidates: their sets take fewer words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.world_rows import row_function
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["ROW_WORDS", "TaskRows", "task_row_functions"]

U = np.uint32
ROW_WORDS = 1 << 18  # of a block's part of lists and rows


class TaskRows(NamedTuple):
    """Device functions.

    Attributes
    ----------
    place : (sh, left) -> words
        Write where the lists and rows of these vertices are to lie; how many words they take. For a warp.
    write : (sh, sets, world_rows, rows)
        Write them; for a block.
    row_of : (sh, u, v) -> place, step
        Where the row of the first candidate of u among those of v begins, and how far the next candidate's is from it.
    agree : (sh, rows, u, x, v, y) -> bool
        Whether candidates x of u and y of v do, if both are vertices.
    """

    place: Any
    write: Any
    row_of: Any
    agree: Any


def task_row_functions(target: Target) -> TaskRows:
    """The functions, for one target."""
    row_of = _row_function(target)
    return TaskRows(_place_function(target), _write_function(target), row_of, _agree_function(target, row_of))


def _row_function(target):
    cuda, below = target.cuda, bit_functions(target).below

    @target.device
    def row_of(sh, u, v):
        joined, width = U(sh[U(U(f.JOINED) + u)]), U(sh[f.TASK_WIDTH])
        return U(U(sh[U(U(f.TASK_FIRSTS) + u)]) + U(below(joined, v) * width)), U(U(cuda.popc(joined)) * width)

    return row_of


def _agree_function(target, row_of):
    has = bit_functions(target).has

    @target.device
    def agree(sh, rows, u, x, v, y):
        ok = True
        if max(u, v) < U(f.MAX_VERTICES) and has(U(sh[U(U(f.JOINED) + u)]), v):
            place, step = row_of(sh, u, v)
            ok = has(U(rows[U(U(place + U(x * step)) + U(y >> U(5)))]), U(y & U(31)))
        return ok

    return agree


def _place_function(target):
    cuda, lane_of = target.cuda, target.lane
    bits = bit_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @target.device
    def place(sh, left):
        width, rest, first = U(1), left, U(U(sh[f.PART]) * U(ROW_WORDS))
        while rest != U(0):
            width = max(width, U(U(U(sh[U(U(f.SIZES) + first_of(rest))]) + U(31)) >> U(5)))
            rest = without_first(rest)
        cuda.syncwarp()
        rest, words = left, first
        while rest != U(0):
            u = first_of(rest)
            rest = without_first(rest)
            size, degree = U(sh[U(U(f.SIZES) + u)]), U(cuda.popc(U(sh[U(U(f.JOINED) + u)])))
            if lane_of() == U(0):
                sh[U(U(f.LISTS) + u)], sh[U(U(f.TASK_FIRSTS) + u)] = words, U(words + size)
            words = U(words + U(size * U(U(1) + U(degree * width))))
        if lane_of() == U(0):
            sh[f.TASK_WIDTH], sh[f.LEFT] = width, left
        cuda.syncwarp()
        return U(words - first)

    return place


def _write_function(target):
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    bits = bit_functions(target)
    first_of, without_first, has, below = bits.first_of, bits.without_first, bits.has, bits.below
    world_row_of = row_function(target)

    @target.device
    def is_mine(turn):
        """Warps take turns."""
        return U(turn % U(U(cuda.blockDim.x) // U(WARP))) == warp_of()

    @target.device
    def put_list(sh, set_, rows, width, first):
        for k in range(width):
            word, bit = U(sh[U(set_ + U(k))]), U(lane_of())
            while bit < U(32):
                if has(word, bit):
                    rows[U(first + below(word, bit))] = U(U(U(k) << U(5)) + bit)
                bit = U(bit + U(WARP))
            first = U(first + U(cuda.popc(word)))

    @target.device
    def put_rows(sh, world_rows, rows, width, u):
        joined, words = U(sh[U(U(f.JOINED) + u)]), U(sh[f.TASK_WIDTH])
        list_, first = U(sh[U(U(f.LISTS) + u)]), U(sh[U(U(f.TASK_FIRSTS) + u)])
        of_one = U(U(cuda.popc(joined)) * words)
        number, t = U(U(sh[U(U(f.SIZES) + u)]) * of_one), U(lane_of())
        while t < number:
            x = U(t // of_one)
            nth = U(U(t - U(x * of_one)) // words)
            k = U(U(t - U(x * of_one)) - U(nth * words))
            others = joined
            for _ in range(nth):
                others = without_first(others)
            v = first_of(others)
            place, step = world_row_of(sh, u, v, width)
            place = U(place + U(U(rows[U(list_ + x)]) * step))
            of_v, size, word = U(U(sh[U(U(f.LISTS) + v)]) + U(k << U(5))), U(sh[U(U(f.SIZES) + v)]), U(0)
            here = min(U(32), U(size - U(k << U(5)))) if size > U(k << U(5)) else U(0)
            for bit in range(here):
                y = U(rows[U(of_v + U(bit))])
                is_left = U(U(U(world_rows[U(place + U(y >> U(5)))]) >> U(y & U(31))) & U(1))
                word = U(word | U(is_left << U(bit)))
            rows[U(first + t)] = word
            t = U(t + U(WARP))

    @target.device
    def write(sh, sets, world_rows, rows):
        width, rest, turn = U(sh[f.WIDTH]), U(sh[f.LEFT]), U(0)
        while rest != U(0):
            u = first_of(rest)
            rest = without_first(rest)
            if is_mine(turn):
                put_list(sh, U(sets + U(u * width)), rows, width, U(sh[U(U(f.LISTS) + u)]))
            turn = U(turn + U(1))
        cuda.syncthreads()
        rest, turn = U(sh[f.LEFT]), U(0)
        while rest != U(0):
            u = first_of(rest)
            rest = without_first(rest)
            if is_mine(turn):
                put_rows(sh, world_rows, rows, width, u)
            turn = U(turn + U(1))
        cuda.syncthreads()

    return write
