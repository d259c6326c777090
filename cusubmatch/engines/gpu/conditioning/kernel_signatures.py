"""The kernels of a count by conditioning as a GPU gets them: arrays in named groups, and types of all arguments."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

from numba import types as nb

from cusubmatch.engines.gpu.conditioning.conditioner import make_condition
from cusubmatch.engines.gpu.conditioning.row_sets import make_fill_sets
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of

__all__ = [
    "FEW_WORDS",
    "LANE_WORDS",
    "ControlArrays",
    "CountArrays",
    "condition_kernel",
    "conditioning_kernels",
    "fill_kernel",
]


class ControlArrays(NamedTuple):
    """What warps share: control words and turns, int32; the ring, uint32; what the host tells, int32 (1)."""

    words: Any
    turns: Any
    ring: Any
    stopped: Any


class CountArrays(NamedTuple):
    """What a count reads, and the cache: sizes of whole domains, the store, uint32; factors of keys, cache, uint64."""

    sizes: Any
    store: Any
    factors: Any
    cache: Any


LANE_WORDS = 1, 2, 3, 4, 6, 8  # of a set, for which there is a kernel: up to 8192 local indices
FEW_WORDS = 4
_WORDS, _SIGNED, _LONG, _WIDE = (nb.Array(dtype, 1, "C") for dtype in (nb.uint32, nb.int32, nb.int64, nb.uint64))


@functools.cache
def condition_kernel(words: int) -> DeclaredKernel:
    """The kernel for domains of so many words a lane."""
    control = block_of(ControlArrays, _SIGNED, _SIGNED, _WORDS, _SIGNED)
    arrays = block_of(CountArrays, _WORDS, _WORDS, _WIDE, _WIDE)
    signature = nb.void(_WORDS, arrays, control, nb.int32, nb.int64, _WIDE)
    return DeclaredKernel(f"condition {words}", make_condition.recipe(words), signature)


@functools.cache
def fill_kernel() -> DeclaredKernel:
    """The kernel that writes rows as bitmaps."""
    signature = nb.void(_LONG, _SIGNED, _WORDS, _WORDS, nb.int64, nb.int64, nb.int64)
    return DeclaredKernel("fill sets", make_fill_sets.recipe(), signature)


def conditioning_kernels() -> Iterator[tuple[str, DeclaredKernel]]:
    """All of them, with their groups: where sets are long, a thread needs more registers."""
    yield "conditioning", fill_kernel()
    for words in LANE_WORDS:
        yield "conditioning on long sets" if words > FEW_WORDS else "conditioning", condition_kernel(words)
