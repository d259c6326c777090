"""The sums of a table for all combinations of candidates of its inner vertices, where the levels have an image each.

A lane has a combination, and adds up the products of numbers in earlier tables, over the candidates that are left of
the vertex that is summed over. Where all these numbers are smaller than 2^32, it reads those of several candidates at
once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.table_layout import INNER
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["number_functions", "sums_function"]

U, L = np.uint32, np.uint64
MOST_NARROW = 3  # factors of products that are summed up fast
AT_ONCE = 4  # candidates whose numbers are read, of which none waits for another one's


def sums_function(target: Target) -> Any:
    """A device function (sh, own, parts, tables, n, step, last, v, count) -> bits.

    It writes the sums for all combinations of the inner vertices, over v, of the products of so many factors; the warps
    divide them if there are no levels. Those that are left are gathered, so that no lane has none. It returns all bits
    that a lane's sums have.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    bits = bit_functions(target)
    has, below, put_sum = bits.has, bits.below, _sum_function(target)

    @target.device
    def is_in(sh, set_, x):
        return has(U(sh[U(set_ + U(x >> U(5)))]), U(x & U(31)))

    @target.device
    def is_left(sh, left, list_, room, width, t):
        """Whether the images leave a combination of candidates of the inner vertices."""
        inside = is_in(sh, U(left + width), U(list_[t]))
        inside = inside and is_in(sh, U(left + U(U(2) * width)), U(list_[U(t + room)]))
        return inside and is_in(sh, U(left + U(U(3) * width)), U(list_[U(t + U(U(2) * room))]))

    @target.device
    def put_sums(sh, own, parts, tables, n, step, last, v, count):
        width, end, room = U(sh[f.TASK_WIDTH]), U(sh[f.LIST_END]), U(tables.room)
        left, gathered, number = U(own + U(parts.left)), U(own + U(f.GATHERED)), U(0)
        offsets = U(U(own + U(parts.offsets)) + U(last * U(count + U(1))))
        first, threads, written = U(sh[f.LIST]), U(WARP), L(0)
        if last == U(0):
            first, threads = U(first + U(warp_of() * U(WARP))), U(cuda.blockDim.x)
        while first < end or number != U(0):
            if first < end:
                t = U(first + lane_of())
                inside = t < end
                if inside:
                    inside = is_left(sh, left, tables.list_, room, width, t)
                who = U(cuda.ballot_sync(FULL, inside))
                if inside:
                    sh[U(U(gathered + number) + below(who, lane_of()))] = t
                number, first = U(number + U(cuda.popc(who))), U(first + threads)
            cuda.syncwarp()
            if number >= U(WARP) or first >= end:
                taken = min(number, U(WARP))
                number = U(number - taken)
                if lane_of() < taken:
                    t = U(sh[U(U(gathered + number) + lane_of())])
                    written = L(written | put_sum(sh, left, offsets, parts, tables, n, step, v, count, t))
                cuda.syncwarp()
        return written

    return put_sums


def _sum_function(target):
    cuda = target.cuda
    has, sum_narrow = bit_functions(target).has, _narrow_function(target)
    sum_wide, sum_rounded = _wide_function(target), _rounded_function(target)

    @target.device
    def put_sum(sh, left, offsets, parts, tables, n, step, v, count, t):
        """Write the sum for one combination of the inner vertices; and return it."""
        list_, room, strides, wide = tables.list_, U(tables.room), U(U(parts.strides) + v), U(sh[f.WIDE])
        is_rounded = has(U(sh[f.ROUNDED]), step)
        is_narrow = count <= U(MOST_NARROW) and U(wide & U(sh[U(U(f.USED) + step)])) == U(0)
        at = U(t + U(U(INNER) * room))
        of_table = U(at + U(count * room))
        of_v, total, value = U(of_table + room), L(0), 0.0
        for i in range(U(sh[f.TASK_WIDTH])):
            k = U(i)
            rest = U(U(sh[U(left + k)]) & U(list_[U(of_v + U(k * room))]))
            if count == U(0):
                total = L(total + L(cuda.popc(rest)))
            elif is_narrow:
                total = L(total + sum_narrow(sh, tables, n, offsets, strides, at, count, k, rest))
            else:
                total = L(total + sum_wide(sh, tables, n, offsets, strides, at, count, k, rest))
            if is_rounded:
                value += sum_rounded(sh, tables, n, offsets, strides, at, count, k, rest)
        place = U(U(sh[U(offsets + count)]) + U(list_[of_table]))
        tables.low[place] = U(total & L(0xFFFFFFFF))
        if has(wide, step):
            tables.high[place] = U(total >> L(32))
        if is_rounded:
            tables.numbers[place] = value
        return total

    return put_sum


def _factor_function(target):
    @target.device
    def factor(sh, tables, n, offsets, strides, at, i):
        """A factor: its table; where it has the first candidate of v; and how far it has the next one from there."""
        table = U(sh[U(U(f.FACTORS) + i)])
        first = U(U(sh[U(offsets + i)]) + U(tables.list_[U(at + U(i * U(tables.room)))]))
        return table, first, U(sh[U(strides + U(table * n))])

    return factor


def _narrow_function(target):
    factor, bits = _factor_function(target), bit_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @target.device
    def sum_narrow(sh, tables, n, offsets, strides, at, count, k, rest):
        """The sum, for candidates in word k of a set, of products of one to three numbers, all smaller than 2^32."""
        low, total, x = tables.low, L(0), U(0)
        _, first, of_first = factor(sh, tables, n, offsets, strides, at, U(0))
        second, of_second, third, of_third = U(0), U(0), U(0), U(0)
        if count > U(1):
            _, second, of_second = factor(sh, tables, n, offsets, strides, at, U(1))
        if count > U(2):
            _, third, of_third = factor(sh, tables, n, offsets, strides, at, U(2))
        while rest != U(0):
            for _ in range(AT_ONCE):
                is_one = rest != U(0)
                x = U(U(k << U(5)) + first_of(rest)) if is_one else x
                rest = without_first(rest)
                word = L(low[U(first + U(of_first * x))])
                if count > U(1):
                    word = L(word * L(low[U(second + U(of_second * x))]))
                if count > U(2):
                    word = L(word * L(low[U(third + U(of_third * x))]))
                total = L(total + (word if is_one else L(0)))
        return total

    return sum_narrow


def _wide_function(target):
    factor, bits, (word_at, _) = _factor_function(target), bit_functions(target), number_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @target.device
    def sum_wide(sh, tables, n, offsets, strides, at, count, k, rest):
        """The sum, for candidates in word k of a set, of products of any numbers, modulo 2^64."""
        total = L(0)
        while rest != U(0):
            x, word = U(U(k << U(5)) + first_of(rest)), L(1)
            rest = without_first(rest)
            for i in range(count):
                table, first, stride = factor(sh, tables, n, offsets, strides, at, U(i))
                word = L(word * word_at(sh, tables, table, U(first + U(stride * x))))
            total = L(total + word)
        return total

    return sum_wide


def _rounded_function(target):
    factor, bits, (_, float_at) = _factor_function(target), bit_functions(target), number_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @target.device
    def sum_rounded(sh, tables, n, offsets, strides, at, count, k, rest):
        """The same sum as a float."""
        total = 0.0
        while rest != U(0):
            x, number = U(U(k << U(5)) + first_of(rest)), 1.0
            rest = without_first(rest)
            for i in range(count):
                table, first, stride = factor(sh, tables, n, offsets, strides, at, U(i))
                number *= float_at(sh, tables, table, U(first + U(stride * x)))
            total += number
        return total

    return sum_rounded


def number_functions(target: Target) -> tuple[Any, Any]:
    """Device functions (sh, tables, table, place) -> the number there: modulo 2^64; as a float."""
    has = bit_functions(target).has

    @target.device
    def word_at(sh, tables, table, place):
        word = L(tables.low[place])
        if has(U(sh[f.WIDE]), table):
            word = L(word | L(L(tables.high[place]) << L(32)))
        return word

    @target.device
    def float_at(sh, tables, table, place):
        if has(U(sh[f.ROUNDED]), table):
            number = np.float64(tables.numbers[place])
        else:
            number = np.float64(word_at(sh, tables, table, place))
        return number

    return word_at, float_at
