"""A list of the combinations of candidates of a table's inner vertices that agree, which is used for all levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.table_layout import INNER, MOST_COMBINATIONS, inner_function
from cusubmatch.engines.gpu.cutset.task_rows import task_row_functions
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["list_function", "list_room", "list_words"]

U = np.uint32


def list_room(width: int) -> int:
    """Combinations at the most, for so many words of a set."""
    return max(MOST_COMBINATIONS, 32 * width)


def list_words(n: int, width: int) -> int:
    """Of a list, for so many pattern vertices and words of a set."""
    return list_room(width) * (INNER + n + width)


def list_function(target: Target) -> Any:
    """A device function (sh, parts, rows, list_, room, n, step, v, count); the whole block calls it.

    A combination's words are `room` words apart: the candidates; in each factor and then in the table itself, where
    they lead to; and what they leave of the candidates of v, which is summed over.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    bits = bit_functions(target)
    has, below, rows_of = bits.has, bits.below, task_row_functions(target)
    agree, row_of, inner_of = rows_of.agree, rows_of.row_of, inner_function(target)

    @target.device
    def size_of(sh, u):
        return U(sh[U(U(f.SIZES) + u)]) if u < U(f.MAX_VERTICES) else U(1)

    @target.device
    def offset(sh, strides, u, x):
        return U(U(sh[U(strides + u)]) * x) if u < U(f.MAX_VERTICES) else U(0)

    @target.device
    def left_of(sh, rows, u, x, v, k):
        """Word k of what x, a candidate of u, leaves of v."""
        word = U(0xFFFFFFFF)
        if u < U(f.MAX_VERTICES) and has(U(sh[U(U(f.JOINED) + u)]), v):
            place, step = row_of(sh, u, v)
            word = U(rows[U(U(place + U(x * step)) + U(k))])
        return word

    @target.device
    def put(sh, parts, rows, list_, room, n, place, inner, images, v, count):
        (a, b, c), (x, y, z) = inner, images
        list_[place] = x
        list_[U(place + room)] = y
        list_[U(place + U(U(2) * room))] = z
        place = U(place + U(U(INNER) * room))
        for i in range(U(count + U(1))):
            strides = U(U(parts.strides) + U(U(sh[U(U(f.FACTORS) + U(i))]) * n))
            list_[place] = U(U(offset(sh, strides, a, x) + offset(sh, strides, b, y)) + offset(sh, strides, c, z))
            place = U(place + room)
        for k in range(U(sh[f.TASK_WIDTH])):
            of_two = U(left_of(sh, rows, a, x, v, k) & left_of(sh, rows, b, y, v, k))
            list_[place] = U(of_two & left_of(sh, rows, c, z, v, k))
            place = U(place + room)

    @target.device
    def put_list(sh, parts, rows, list_, room, n, step, v, count):
        inner = U(sh[U(U(f.INNERS) + step)])
        a, b, c = inner_of(inner, 0), inner_of(inner, 1), inner_of(inner, 2)
        of_a, of_b = size_of(sh, a), size_of(sh, b)
        number = U(U(of_a * of_b) * size_of(sh, c))
        first = U(warp_of() * U(WARP))
        while first < number:
            t = U(first + lane_of())
            x = U(t % of_a)
            y, z = U(U(t // of_a) % of_b), U(U(t // of_a) // of_b)
            ok = t < number
            if ok:
                ok = agree(sh, rows, a, x, b, y) and agree(sh, rows, a, x, c, z) and agree(sh, rows, b, y, c, z)
            who, place = U(cuda.ballot_sync(FULL, ok)), U(0)
            if lane_of() == U(0):
                place = U(cuda.atomic.add(sh, f.LIST_END, U(cuda.popc(who))))
            place = U(U(np.int32(cuda.shfl_sync(FULL, np.int32(place), 0))) + below(who, lane_of()))
            if ok:
                put(sh, parts, rows, list_, room, n, place, (a, b, c), (x, y, z), v, count)
            first = U(first + U(cuda.blockDim.x))

    return put_list
