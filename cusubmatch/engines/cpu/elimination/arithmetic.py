"""Arithmetic of the values of factors: modulo 2^64, modulo a prime below 2^31, or of floats, whose bits are kept.

Floats give a bound of the count, and tell how many moduli it takes.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner

__all__ = ["FLOATS", "WORDS", "number_one", "one", "plus", "times"]

WORDS = np.uint64(0)  # in place of a modulus: 2^64
FLOATS = np.uint64(1)  # in place of a modulus: values are the bits of float64
ONE = np.uint64(1)


def number_one(modulus: np.uint64) -> np.uint64:
    """The number 1."""
    return np.float64(1.0).view(np.uint64) if modulus == FLOATS else ONE


one = inner(number_one)  # for code that is compiled


@inner
def times(a, b, modulus):
    """Multiply two numbers."""
    if modulus == WORDS:
        return a * b
    if modulus == FLOATS:
        return np.float64(np.uint64(a).view(np.float64) * np.uint64(b).view(np.float64)).view(np.uint64)
    return a * b % modulus


@inner
def plus(a, b, modulus):
    """Add two numbers."""
    if modulus == WORDS:
        return a + b
    if modulus == FLOATS:
        return np.float64(np.uint64(a).view(np.float64) + np.uint64(b).view(np.float64)).view(np.uint64)
    return (a + b) % modulus
