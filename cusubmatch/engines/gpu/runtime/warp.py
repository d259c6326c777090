"""Small device functions that kernels share: binary search in a sorted list, sums over a warp, a lane's number.

A list has a base and a 32-bit length. In a graph of fewer than 2**32 entries the base and every sum with it are 32 bits
wide; 64-bit sums cost two instructions more a probe, a fifth of a binary search. Sums of counts are kept in two words,
the low 32 bits of each addend apart from the rest, so that a total beyond 64 bits stays exact: `whole` puts them
together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["WarpFunctions", "grid", "lane_of_launch", "warp_functions", "whole"]

U, L = np.uint32, np.uint64


class WarpFunctions(NamedTuple):
    """Device functions.

    Attributes
    ----------
    find : (col, base, n, x) -> uint32
        The number of elements below x in the sorted list `col[base : base + n]`; base of any integer type.
    contains : (col, base, n, x) -> bool
        Whether x is in that list.
    warp_sum : (value) -> uint64
        The sum of a uint64 of each lane, in every lane; the whole warp calls it.
    add_to : (out, lane, value)
        Adds the sum of a uint64 of each lane to the two words of `out`; the whole warp calls it.
    """

    find: Callable
    contains: Callable
    warp_sum: Callable
    add_to: Callable


@functools.cache
def warp_functions(target: Target, wide: bool = True) -> WarpFunctions:
    """The device functions, for one target; `wide`: base + n may be 2**32 or more."""
    cuda, WARP, FULL, device = target.cuda, target.WARP, target.FULL, target.device
    P = L if wide else U

    @device
    def find(col, base, n, x):
        begin = P(base)
        low, high = U(0), U(n)
        while low < high:
            middle = U(U(low + high) >> U(1))
            if U(col[P(begin + P(middle))]) < x:
                low = U(middle + U(1))
            else:
                high = middle
        return low

    @device
    def contains(col, base, n, x):
        place = find(col, base, n, x)
        return place < U(n) and U(col[P(P(base) + P(place))]) == x

    @device
    def warp_sum(value):
        total, distance = L(value), 1
        while distance < WARP:
            total = L(total + L(cuda.shfl_xor_sync(FULL, np.int64(total), distance)))
            distance <<= 1
        return total

    @device
    def add_to(out, lane, value):
        total = warp_sum(value)
        if lane == U(0) and total != L(0):
            cuda.atomic.add(out, 0, L(total & L(0xFFFFFFFF)))
            high = L(total >> L(32))
            if high != L(0):
                cuda.atomic.add(out, 1, high)

    return WarpFunctions(find, contains, warp_sum, add_to)


@functools.cache
def lane_of_launch(target: Target, threads: int) -> tuple[Callable, int]:
    """A device function () -> int64, the lane among all lanes of a launch, and the threads of a block (`grid`)."""
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    THREADS = threads if WARP > 1 else 1

    @target.device
    def lane():
        return np.int64(cuda.blockIdx.x) * THREADS + np.int64(U(U(warp_of() * U(WARP)) + lane_of()))

    return lane, THREADS


def whole(words: Any) -> int:
    """The count that `add_to` has left in the two words of an array."""
    low, high = (int(word) for word in words.tolist())
    return low + (high << 32)


def grid(target: Target, blocks: int, threads: int) -> tuple[int, int]:
    """The launch shape: as asked for, except that a warp of one lane runs alone."""
    return (blocks, threads) if target.WARP > 1 else (1, 1)
