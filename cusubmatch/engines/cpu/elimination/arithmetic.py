"""Arithmetic of the values of factors, compiled: modulo 2^64, modulo a prime below 2^31, or of floats' bits."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.factors.arithmetic import FLOATS, ONE, WORDS

__all__ = ["number_one", "one", "plus", "times"]


def number_one(kind: np.uint64) -> np.uint64:
    """The number 1."""
    return np.float64(1.0).view(np.uint64) if kind == FLOATS else ONE


one = inner(number_one)  # for code that is compiled


@inner
def times(a, b, kind):
    """Multiply two numbers."""
    if kind == WORDS:
        return a * b
    if kind == FLOATS:
        return np.float64(np.uint64(a).view(np.float64) * np.uint64(b).view(np.float64)).view(np.uint64)
    return a * b % kind


@inner
def plus(a, b, kind):
    """Add two numbers."""
    if kind == WORDS:
        return a + b
    if kind == FLOATS:
        return np.float64(np.uint64(a).view(np.float64) + np.uint64(b).view(np.float64)).view(np.uint64)
    total = a + b
    return total - kind if total >= kind else total
