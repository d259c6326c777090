"""The state of a count by recursive conditioning: domains, images and open conflicts, as flat arrays.

A *domain* is the set of local candidates of a pattern vertex: a range of `store`, which holds the rows of the candidate
graph, then the candidate lists, then a pool for intersections. A vertex whose domain is still its whole candidate list
is *untouched*. Two pattern vertices that must differ and share a candidate are in *conflict*; a conflict that has been
accounted for otherwise is *waived*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cusubmatch.engines.cpu.primitives.pointers import bundled

__all__ = ["NONE", "TRAIL_FIELDS", "UNKNOWN", "Arrays", "on_lists"]

NONE = -1  # in place of where a bitmap is
UNKNOWN = np.uint64(0)  # in place of a fingerprint that nobody has asked for
TRAIL_FIELDS = 5


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
        Rows, candidate lists, and a pool for each thread.
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
    roots : int32
        The candidates of the vertex that is branched on first.
    factors : uint64 (6 * 32)
        Random words.
    begin, end : int64
    fingerprint_1, fingerprint_2 : uint64
        Domains of touched vertices.
    image : int64
        Of matched vertices.
    bitmap : int64
        Where the store has the domains of touched vertices as bitmaps of local indices; -1 if it has not.
    trail : int64
        Former domains (vertex, begin, end, touched, bitmap), to be restored.
    trail_fingerprints : uint64
    marks : uint32
        A bitmap of local indices, empty between two calls.
    registers : int64
    partial_sums : uint64
        Those of a count that was interrupted (`partial_sums`).
    ended : int64 (1)
        Not 0 once another thread wants the count to end.
    primes : uint64 (4)
        Counts are modulo these; zeros: modulo 2^128.
    table : uint64
    shared : int64
        The cache of components, and how it is used (`component_cache`); the threads of a count share them.
    stride, bitmap_words : int
    """

    neighbours: np.ndarray
    all_conflicts: np.ndarray
    conflicts: np.ndarray
    relations: np.ndarray
    offsets: np.ndarray
    store: np.ndarray
    prefix_1: np.ndarray
    prefix_2: np.ndarray
    masks: np.ndarray
    words_1: np.ndarray
    words_2: np.ndarray
    list_begin: np.ndarray
    list_end: np.ndarray
    priority: np.ndarray
    roots: np.ndarray
    factors: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    fingerprint_1: np.ndarray
    fingerprint_2: np.ndarray
    image: np.ndarray
    bitmap: np.ndarray
    trail: np.ndarray
    trail_fingerprints: np.ndarray
    marks: np.ndarray
    registers: np.ndarray
    partial_sums: np.ndarray
    ended: np.ndarray
    primes: np.ndarray
    table: np.ndarray
    shared: np.ndarray
    stride: int
    bitmap_words: int


CHANGED: tuple[str, ...] = "registers", "conflicts", "begin", "end", "fingerprint_1", "fingerprint_2", "image", "bitmap"
CHANGED += "trail", "trail_fingerprints", "marks", "partial_sums"  # by a count, besides its pool
DTYPES = {"relations": types.int32, "store": types.int32, "roots": types.int32, "stride": None, "bitmap_words": None}
DTYPES |= dict.fromkeys(("masks", "marks"), types.uint32)
WORDS = "prefix_1", "prefix_2", "words_1", "words_2", "factors", "fingerprint_1", "fingerprint_2"
DTYPES |= dict.fromkeys((*WORDS, "trail_fingerprints", "primes", "table", "partial_sums"), types.uint64)
on_lists = bundled(Arrays, DTYPES)
