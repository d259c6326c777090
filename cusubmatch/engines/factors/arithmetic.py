"""Kinds of arithmetic of the values of factors.

Modulo 2^64, modulo a prime below 2^31, or of floats, whose bits are kept. Floats give a bound of the count, and tell
how many moduli it takes.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.plan.crt import WORD

__all__ = ["FLOATS", "ONE", "WORDS", "kinds_of", "weights_of"]

WORDS = np.uint64(0)  # in place of a modulus: 2^64
FLOATS = np.uint64(1)  # in place of a modulus: values are the bits of float64
ONE = np.uint64(1)


def kinds_of(moduli: list[int]) -> np.ndarray:
    """uint64: what stands for each modulus."""
    return np.array([WORDS if modulus == WORD else modulus for modulus in moduli], np.uint64)


def weights_of(weight: int, kinds: np.ndarray) -> np.ndarray:
    """uint64: an integer in each of these kinds of arithmetic."""
    return np.array([_in_kind(weight, kind) for kind in kinds], np.uint64)


def _in_kind(weight: int, kind: np.uint64) -> np.uint64:
    if kind == FLOATS:
        return np.float64(weight).view(np.uint64)
    return np.uint64(weight % (WORD if kind == WORDS else int(kind)))
