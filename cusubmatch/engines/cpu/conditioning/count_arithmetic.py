"""Arithmetic of counts: two words of 64 bits each, the low one first, modulo 2^128; or the low one modulo a prime.

Each count has a bound, a float. Modulo 2^128 a count is exact where its bound is below `EXACT_BELOW`, and is the bound
then; where it is not, the low word is right, and is all that is kept (`component_cache`).
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import high_product, inner

__all__ = ["EXACT_BELOW", "ZERO", "as_float", "from_word", "minus", "plus", "tightened", "times"]

ZERO = (np.uint64(0), np.uint64(0))
EXACT_BELOW = float(1 << 126)
HIGH_UNIT = float(1 << 64)


@inner
def from_word(s, value):
    """A number that is not negative, from one word."""
    low = np.uint64(value)
    if s.prime[0] != 0:
        low %= s.prime[0]
    return low, np.uint64(0)


@inner
def plus(s, a, b):
    """The sum of two numbers."""
    low = a[0] + b[0]
    if s.prime[0] != 0:
        return (low - s.prime[0] if low >= s.prime[0] else low), np.uint64(0)
    return low, a[1] + b[1] + np.uint64(low < a[0])


@inner
def minus(s, a, b):
    """The difference of two numbers."""
    if s.prime[0] != 0:
        return (a[0] + s.prime[0] - b[0]) % s.prime[0], np.uint64(0)
    return a[0] - b[0], a[1] - b[1] - np.uint64(a[0] < b[0])


@inner
def times(s, a, b):
    """The product of two numbers."""
    low = a[0] * b[0]
    if s.prime[0] != 0:
        return low % s.prime[0], np.uint64(0)
    return low, high_product(a[0], b[0]) + a[0] * b[1] + a[1] * b[0]


@inner
def as_float(value):
    """A number as a float, about."""
    return np.float64(value[0]) + HIGH_UNIT * np.float64(value[1])


@inner
def tightened(s, value, bound):
    """The bound of a number: the number itself where that is exact."""
    if s.prime[0] == 0 and bound < EXACT_BELOW:
        return as_float(value)
    return bound
