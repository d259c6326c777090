"""Arithmetic of the table kernels modulo 2^64, or modulo a prime below 2^31 where one is given (0: none)."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit

__all__ = ["ONE", "ZERO", "minus", "reduced", "times"]

ONE = np.uint64(1)
ZERO = np.uint64(0)


@jit
def times(a, b, prime):
    """Multiply two numbers; residues, if there is a prime."""
    return a * b if prime == ZERO else a * b % prime


@jit
def minus(a, b, prime):
    """Subtract two numbers; residues, if there is a prime."""
    return a - b if prime == ZERO else (a + prime - b) % prime


@jit
def reduced(value, prime):
    """Make a residue of a sum of residues, if there is a prime."""
    return value if prime == ZERO else value % prime
