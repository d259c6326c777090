"""Sums over weighted wedges below a vertex u, and the edges that join their ends: the two halves of cycles of five."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.modular import residue_functions
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.tables.parameters import make_value_at

__all__ = ["make_add_wedges", "make_join_wedges"]

U, L, S = np.uint32, np.uint64, np.int64


@functools.cache
def make_add_wedges(target: Target, threads: int) -> Any:
    """A device function that adds the weighted wedges of u to the rows of a block, a warp a row.

    (rows, u, warp, lane, values, prime, sums, to_b, drawn, reached, listed) -> uint64: the walks with a = c or b = d.
    The rows of sums over wedges to b, wedges to c, and of weights to a and to d stand one after another from `to_b` on.
    """
    cuda, WARP, warp_sum = target.cuda, target.WARP, warp_functions(target).warp_sum
    (times, _), value_at, WARPS = residue_functions(target), make_value_at(target), threads // target.WARP

    @target.device
    def reduced(value, prime):
        total = warp_sum(value)
        if prime != L(0):
            total = L(total % prime)
        return total

    @target.device
    def add_wedges(rows, u, warp, lane, values, prime, sums, to_b, drawn, reached, listed):
        words, stride, degenerate = sums.words, sums.stride, L(0)
        to_c, to_a, to_d = to_b + stride, to_b + 2 * stride, to_b + 3 * stride
        e, last = rows.offsets[u] + S(warp), rows.upper[u]
        while e < last:
            ahead, behind = L(value_at(values.first, e)), L(value_at(values.fifth_back, e))
            b_sum, a_sum, d_sum, c_sum, both = L(0), L(0), L(0), L(0), L(0)
            f, end = rows.offsets[rows.targets[e]] + S(lane), rows.reverse[e]
            while f < end:
                w = S(rows.targets[f])
                second, fourth_back = L(value_at(values.second, f)), L(value_at(values.fourth_back, f))
                more = times(ahead, second, prime)
                if more != L(0) and L(cuda.atomic.add(words, to_b + w, more)) == L(0):
                    place = S(cuda.atomic.add(drawn, 1, U(1)))
                    if place < stride:
                        reached.words[listed + place] = np.int32(w)
                cuda.atomic.add(words, to_c + w, times(behind, fourth_back, prime))
                there_and_back = times(second, value_at(values.third_back, f), prime)  # v is a and c, w is b
                closing = times(value_at(values.fourth, f), words[to_d + w], prime)  # w is d
                b_sum, d_sum = L(b_sum + there_and_back), L(d_sum + closing)
                both = L(both + times(there_and_back, closing, prime))
                c_sum = L(c_sum + times(fourth_back, value_at(values.third, f), prime))  # v is b and d, w is c
                a_sum = L(a_sum + times(value_at(values.second_back, f), words[to_a + w], prime))  # w is a
                f += WARP
            cuda.syncwarp()
            b_sum, d_sum, both = reduced(b_sum, prime), reduced(d_sum, prime), reduced(both, prime)
            c_sum, a_sum = reduced(c_sum, prime), reduced(a_sum, prime)
            if lane == U(0):
                degenerate = L(degenerate + times(ahead, times(b_sum, d_sum, prime), prime))
                degenerate = L(degenerate + times(behind, times(c_sum, a_sum, prime), prime))
                degenerate = L(degenerate + L(prime - times(ahead, both, prime)))
            e += WARPS
        return degenerate

    return add_wedges


@functools.cache
def make_join_wedges(target: Target, threads: int) -> Any:
    """A device function (rows, u, warp, lane, third, prime, sums, to_b, count, reached, listed) -> uint64.

    It adds up the products of sums along edges b, c, a warp a row, and sets the row of b to zero.
    """
    cuda, WARP, FULL = target.cuda, target.WARP, target.FULL
    (times, _), value_at, WARPS = residue_functions(target), make_value_at(target), threads // target.WARP

    @target.device
    def join_wedges(rows, u, warp, lane, third, prime, sums, to_b, count, reached, listed):
        words, to_c, k, total = sums.words, to_b + sums.stride, S(warp), L(0)
        every = count > sums.stride  # modulo 2^64 sums may come back to zero, and are listed again
        if every:
            count = sums.stride
        while k < count:
            b, weight = k, np.int64(0)
            if not every:
                b = S(reached.words[listed + k])
            if lane == U(0):
                weight = np.int64(cuda.atomic.exch(words, to_b + b, L(0)))
            weight = L(cuda.shfl_sync(FULL, weight, 0))
            if prime != L(0):
                weight = L(weight % prime)
            f, end, at_b, going = rows.offsets[b] + S(lane), rows.offsets[b + 1], L(0), weight != L(0)
            while going and f < end:
                c = S(rows.targets[f])
                if c >= u:
                    break
                other = L(words[to_c + c])
                if prime != L(0):
                    other = L(other % prime)
                at_b = L(at_b + times(other, value_at(third, f), prime))
                f += WARP
            if prime != L(0):
                at_b = L(at_b % prime)
            total = L(total + times(weight, at_b, prime))
            cuda.syncwarp()
            k += WARPS
        return total

    return join_wedges
