"""The state of a count by recursive conditioning: domains, images and open conflicts, as flat arrays.

A *domain* is the set of local candidates of a pattern vertex: a range of `store`, which holds the rows of the candidate
graph, then the candidate lists, then a pool for intersections. A vertex whose domain is still its whole candidate list
is *untouched*. Two pattern vertices that must differ and share a candidate are in *conflict*; a conflict that has been
accounted for otherwise is *waived*. Sets of pattern vertices are bits of an integer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner
from cusubmatch.engines.cpu.primitives.pointers import Pointer, pointer

__all__ = [
    "ABORTED",
    "CAPACITY_MASK",
    "ENTRIES",
    "MATCHED",
    "MAX_VERTICES",
    "POOL_TOP",
    "POSITION",
    "REGISTERS",
    "SHIFT",
    "STEPS",
    "TABLE_MASK",
    "TOUCHED",
    "TRAIL_TOP",
    "WHOLE_SHIFT",
    "Arrays",
    "on_arrays",
]

MAX_VERTICES = 32
# Fields of the registers.
TOUCHED, MATCHED, TRAIL_TOP, POOL_TOP, STEPS, ABORTED, ENTRIES, TABLE_MASK, CAPACITY_MASK, POSITION, SHIFT = range(11)
REGISTERS = 11
WHOLE_SHIFT = 16  # bits: a domain is gone through from SHIFT / 2^16 of it on


class Arrays(NamedTuple):
    """What a count reads and changes; of pattern vertices, unless it says otherwise.

    Attributes
    ----------
    neighbours, all_conflicts, conflicts : int64
        As bits; `conflicts` are those that are not waived.
    relations : int32 (32 * 32)
        The row block of each ordered pair.
    offsets : int64
        Row x of block r is store[offsets[r * stride + x] : offsets[r * stride + x + 1]].
    store : int32
        Rows, candidate lists, pool.
    prefix_1, prefix_2 : uint64
        Sums of the random words of the elements of the rows, so that a row's fingerprint is a difference.
    masks : uint32
        Of each local index, the pattern vertices that it is a candidate of.
    words_1, words_2 : uint64
        A random word of each local index.
    list_begin, list_end : int64
        Candidate lists.
    priority : int64
        The vertex with the least is branched on first.
    factors : uint64 (6 * 32)
        Random words.
    begin, end : int64
    fingerprint_1, fingerprint_2 : uint64
        Domains of touched vertices.
    image : int64
        Of matched vertices.
    trail : int64
        Former domains (vertex, begin, end, touched), to be restored.
    trail_fingerprints : uint64
    marks : uint32
        A bitmap of local indices, empty between two calls.
    registers : int64
    ended : int64 (1)
        Not 0 once another thread wants the count to end.
    table : uint64
        The cache of components (`component_cache`); the threads of a count share it.
    stride : int
    prime : uint64
        Counts are modulo this; 0: modulo 2^64.
    """

    neighbours: np.ndarray | Pointer
    all_conflicts: np.ndarray | Pointer
    conflicts: np.ndarray | Pointer
    relations: np.ndarray | Pointer
    offsets: np.ndarray | Pointer
    store: np.ndarray | Pointer
    prefix_1: np.ndarray | Pointer
    prefix_2: np.ndarray | Pointer
    masks: np.ndarray | Pointer
    words_1: np.ndarray | Pointer
    words_2: np.ndarray | Pointer
    list_begin: np.ndarray | Pointer
    list_end: np.ndarray | Pointer
    priority: np.ndarray | Pointer
    factors: np.ndarray | Pointer
    begin: np.ndarray | Pointer
    end: np.ndarray | Pointer
    fingerprint_1: np.ndarray | Pointer
    fingerprint_2: np.ndarray | Pointer
    image: np.ndarray | Pointer
    trail: np.ndarray | Pointer
    trail_fingerprints: np.ndarray | Pointer
    marks: np.ndarray | Pointer
    registers: np.ndarray | Pointer
    ended: np.ndarray | Pointer
    table: np.ndarray | Pointer
    stride: int
    prime: np.uint64


@inner
def on_arrays(arrays):
    """The arrays as pointers."""
    return Arrays(
        pointer(arrays.neighbours),
        pointer(arrays.all_conflicts),
        pointer(arrays.conflicts),
        pointer(arrays.relations),
        pointer(arrays.offsets),
        pointer(arrays.store),
        pointer(arrays.prefix_1),
        pointer(arrays.prefix_2),
        pointer(arrays.masks),
        pointer(arrays.words_1),
        pointer(arrays.words_2),
        pointer(arrays.list_begin),
        pointer(arrays.list_end),
        pointer(arrays.priority),
        pointer(arrays.factors),
        pointer(arrays.begin),
        pointer(arrays.end),
        pointer(arrays.fingerprint_1),
        pointer(arrays.fingerprint_2),
        pointer(arrays.image),
        pointer(arrays.trail),
        pointer(arrays.trail_fingerprints),
        pointer(arrays.marks),
        pointer(arrays.registers),
        pointer(arrays.ended),
        pointer(arrays.table),
        arrays.stride,
        arrays.prime,
    )
