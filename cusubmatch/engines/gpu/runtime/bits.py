"""Device functions on up to 32 things, such as pattern vertices, as the bits of a word."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["BitFunctions", "bit_functions"]

U = np.uint32


class BitFunctions(NamedTuple):
    """Device functions; a whole warp calls the last one.

    Attributes
    ----------
    first_of, without_first : (bits) -> uint32
    below : (bits, v) -> uint32
        How many bits lie below the one of v.
    has : (bits, v) -> bool
    without : (bits, v) -> uint32
    all_without : (n, v) -> uint32
        The lowest bits, so many, without the one of v.
    unite : (bits) -> uint32
        The bits of all lanes, in each.
    """

    first_of: Any
    without_first: Any
    below: Any
    has: Any
    without: Any
    all_without: Any
    unite: Any


@functools.cache
def bit_functions(target: Target) -> BitFunctions:
    """The functions, for one target."""
    cuda, WARP, FULL, device = target.cuda, target.WARP, target.FULL, target.device

    @device
    def first_of(bits):
        return U(U(cuda.ffs(bits)) - U(1))

    @device
    def without_first(bits):
        return U(bits & U(bits - U(1)))

    @device
    def below(bits, v):
        return U(cuda.popc(U(bits & U(U(U(1) << v) - U(1)))))

    @device
    def has(bits, v):
        return U(U(bits >> v) & U(1)) != U(0)

    @device
    def without(bits, v):
        return U(bits & U(~U(U(1) << v)))

    @device
    def all_without(n, v):
        return without(U(U(0xFFFFFFFF) >> U(U(32) - n)), v)

    @device
    def unite(bits):
        total, distance = U(bits), 1
        while distance < WARP:
            total = U(total | U(cuda.shfl_xor_sync(FULL, np.int32(total), distance)))
            distance <<= 1
        return total

    return BitFunctions(first_of, without_first, below, has, without, all_without, unite)
