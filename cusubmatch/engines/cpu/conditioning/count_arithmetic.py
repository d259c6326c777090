"""Arithmetic of counts: numbers of two words of 64 bits each, the low one first, modulo 2^128; or four residues.

Each count has a bound, a float. Modulo 2^128 a count is exact where its bound is below `EXACT_BELOW`, and is the bound
then; where it is not, the low word is right, and is all that is kept (`component_cache`). Such a count is made again
modulo primes below 2^31, four at the same time: two residues are in each word.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import high_product, inner

__all__ = [
    "EXACT_BELOW",
    "RESIDUES",
    "ZERO",
    "as_float",
    "from_word",
    "from_words",
    "has_residues",
    "minus",
    "plus",
    "residues_of",
    "tightened",
    "times",
]

ZERO = (np.uint64(0), np.uint64(0))
EXACT_BELOW = float(1 << 126)
HIGH_UNIT = float(1 << 64)
RESIDUES = 4  # of a number
HALF, HALF_MASK = np.uint64(32), np.uint64((1 << 32) - 1)


def residues_of(low: int, high: int) -> list[int]:
    """The residues of a number, by its words."""
    mask = int(HALF_MASK)
    return [low & mask, low >> 32, high & mask, high >> 32]


@inner
def has_residues(s):
    """Whether numbers are residues modulo the primes of a state."""
    return s.primes[0] != 0


@inner
def _pair(first, second):
    return first | (second << HALF)


@inner
def _reduced(value, prime):
    """A sum of two residues as a residue."""
    return value - prime if value >= prime else value


@inner
def from_word(s, value):
    """A number that is not negative, from one word."""
    word, primes = np.uint64(value), s.primes
    if has_residues(s):
        return _pair(word % primes[0], word % primes[1]), _pair(word % primes[2], word % primes[3])
    return word, np.uint64(0)


@inner
def from_words(s, low, high):
    """A number that is not negative, from two words."""
    if has_residues(s):
        unit = times(s, from_word(s, 1 << 32), from_word(s, 1 << 32))
        return plus(s, times(s, from_word(s, high), unit), from_word(s, low))
    return low, high


@inner
def plus(s, a, b):
    """The sum of two numbers."""
    if has_residues(s):
        return _pair_plus(a[0], b[0], s.primes[0], s.primes[1]), _pair_plus(a[1], b[1], s.primes[2], s.primes[3])
    low = a[0] + b[0]
    return low, a[1] + b[1] + np.uint64(low < a[0])


@inner
def _pair_plus(a, b, p, q):
    return _pair(_reduced((a & HALF_MASK) + (b & HALF_MASK), p), _reduced((a >> HALF) + (b >> HALF), q))


@inner
def minus(s, a, b):
    """The difference of two numbers."""
    if has_residues(s):
        return _pair_minus(a[0], b[0], s.primes[0], s.primes[1]), _pair_minus(a[1], b[1], s.primes[2], s.primes[3])
    return a[0] - b[0], a[1] - b[1] - np.uint64(a[0] < b[0])


@inner
def _pair_minus(a, b, p, q):
    return _pair(_reduced((a & HALF_MASK) + p - (b & HALF_MASK), p), _reduced((a >> HALF) + q - (b >> HALF), q))


@inner
def times(s, a, b):
    """The product of two numbers."""
    if has_residues(s):
        return _pair_times(a[0], b[0], s.primes[0], s.primes[1]), _pair_times(a[1], b[1], s.primes[2], s.primes[3])
    return a[0] * b[0], high_product(a[0], b[0]) + a[0] * b[1] + a[1] * b[0]


@inner
def _pair_times(a, b, p, q):
    return _pair((a & HALF_MASK) * (b & HALF_MASK) % p, (a >> HALF) * (b >> HALF) % q)


@inner
def as_float(value):
    """A number of two words as a float, about."""
    return np.float64(value[0]) + HIGH_UNIT * np.float64(value[1])


@inner
def tightened(s, value, bound):
    """The bound of a number: the number itself where that is exact."""
    if not has_residues(s) and bound < EXACT_BELOW:
        return as_float(value)
    return bound
