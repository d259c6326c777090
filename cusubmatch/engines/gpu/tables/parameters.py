"""What the table kernels take together: rows of a support graph, values on its arcs, and batches of work.

Numba expands a NamedTuple into its fields, so a kernel that works on many arrays has few arguments. Arrays are as
`Device.to_device` makes them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from numba import int32, int64, uint32, uint64

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import block_of

__all__ = [
    "ARC_BATCH",
    "BLOCK_LISTS",
    "BLOCK_ROWS",
    "COUNTER_ROWS",
    "ROWS",
    "VALUES",
    "VERTEX_BATCH",
    "ArcBatch",
    "ArcValues",
    "BlockRows",
    "CounterRows",
    "Rows",
    "VertexBatch",
    "make_value_at",
]


class Rows(NamedTuple):
    """The rows of a support graph; `upper[x]` is the first arc of x to a higher vertex."""

    offsets: Any
    targets: Any
    upper: Any
    reverse: Any


class ArcValues(NamedTuple):
    """A value of every arc, or of every vertex: an array with the mask -1, or a single number with the mask 0."""

    array: Any
    mask: Any


class VertexBatch(NamedTuple):
    """The vertices start, ..., stop - 1 of a schedule."""

    vertices: Any
    start: Any
    stop: Any


class ArcBatch(NamedTuple):
    """The arcs (u, v), u < v, of the positions start, ..., stop - 1 in lists of u and of the arcs."""

    sources: Any
    arcs: Any
    start: Any
    stop: Any


class BlockRows(NamedTuple):
    """Numbers of every vertex for each block: `stride` words of a block; or a list of vertices for each block."""

    words: Any
    stride: Any


class CounterRows(NamedTuple):
    """Counters of every vertex for each block: `window` of them in shared memory, the others as in `BlockRows`."""

    window: Any
    words: Any
    stride: Any


_IDS, _PLACES, _NUMBERS = int32[::1], int64[::1], uint64[::1]
ROWS = block_of(Rows, _PLACES, _IDS, _PLACES, _PLACES)
VALUES = block_of(ArcValues, _NUMBERS, int64)
VERTEX_BATCH = block_of(VertexBatch, _IDS, uint32, uint32)
ARC_BATCH = block_of(ArcBatch, _IDS, _PLACES, int64, int64)
BLOCK_ROWS = block_of(BlockRows, _NUMBERS, int64)
BLOCK_LISTS = block_of(BlockRows, _IDS, int64)
COUNTER_ROWS = block_of(CounterRows, int64, uint32[::1], int64)


@functools.cache
def make_value_at(target: Target) -> Callable:
    """A device function (values, i) -> uint64: the value of an arc, or of a vertex."""

    @target.device
    def value_at(values, i):
        return values.array[i & values.mask]

    return value_at
