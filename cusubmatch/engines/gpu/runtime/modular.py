"""Arithmetic of kernels modulo 2^64, or modulo a prime below 2^31 where one is given."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["residue_functions"]

L = np.uint64


@functools.cache
def residue_functions(target: Target) -> tuple[Callable, Callable]:
    """Device functions (a, b, prime) -> uint64: the product and the difference; of residues unless the prime is 0."""

    @target.device
    def times(a, b, prime):
        product = L(L(a) * L(b))
        if prime != L(0):
            product = L(product % L(prime))
        return product

    @target.device
    def minus(a, b, prime):
        difference = L(L(a) - L(b))
        if prime != L(0):
            difference = L(L(difference + L(prime)) % L(prime))
        return difference

    return times, minus
