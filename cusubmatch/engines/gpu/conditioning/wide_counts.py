"""Counts of 128 bits in two words of 64, the low one first; a product that does not fit is told by a flag."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["TOO_MUCH_HIGH", "WideCounts", "wide_counts"]

U, L = np.uint32, np.uint64
LOW = 0xFFFFFFFF
HIGH_UNIT = float(1 << 64)
TOO_MUCH = float(1 << 110)  # for a product: a sum over 8192 candidates fits, too
TOO_MUCH_HIGH = 1 << 56  # for the high word of a sum of any number of such: the next one fits


class WideCounts(NamedTuple):
    """Device functions.

    Attributes
    ----------
    plus : (low, high, low, high) -> low, high
    times : (low, high, low, high) -> low, high, whether it may be too much
    get : (sh, at) -> low, high
        A count from four words of shared memory.
    put : (sh, at, low, high)
        A count into four words; one lane does it.
    """

    plus: Any
    times: Any
    get: Any
    put: Any


@functools.cache
def wide_counts(target: Target) -> WideCounts:
    """The device functions, for one target."""
    device = target.device

    @device
    def high_product(a, b):
        """The high word of a product of two words."""
        a0, a1, b0, b1 = L(a & L(LOW)), L(a >> L(32)), L(b & L(LOW)), L(b >> L(32))
        middle = L(L(a1 * b0) + L(L(a0 * b0) >> L(32)))
        other = L(L(a0 * b1) + L(middle & L(LOW)))
        return L(L(L(a1 * b1) + L(middle >> L(32))) + L(other >> L(32)))

    @device
    def plus(a, a_high, b, b_high):
        low = L(a + b)
        carry = L(1) if low < a else L(0)
        return low, L(L(a_high + b_high) + carry)

    @device
    def as_float(low, high):
        return np.float64(low) + np.float64(high) * HIGH_UNIT

    @device
    def times(a, a_high, b, b_high):
        high = L(L(high_product(a, b) + L(a * b_high)) + L(a_high * b))
        too_much = as_float(a, a_high) * as_float(b, b_high) >= TOO_MUCH
        return L(a * b), high, too_much

    @device
    def get(sh, at):
        low = L(L(sh[at]) | L(L(sh[U(at + 1)]) << L(32)))
        return low, L(L(sh[U(at + 2)]) | L(L(sh[U(at + 3)]) << L(32)))

    @device
    def put(sh, at, low, high):
        sh[at], sh[U(at + 1)] = U(low & L(LOW)), U(low >> L(32))
        sh[U(at + 2)], sh[U(at + 3)] = U(high & L(LOW)), U(high >> L(32))

    return WideCounts(plus, times, get, put)
