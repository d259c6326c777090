"""The state of a count whose domains are bits: a set of local indices is eight words (`primitives.bitsets`).

A *domain* is what a pattern vertex may still be matched to; images of vertices that it must differ from are taken out
of it. A vertex is *touched* once a neighbour's image has narrowed its domain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from cusubmatch.engines.cpu.primitives.pointers import bundled

__all__ = ["Arrays", "on_bits"]


class Arrays(NamedTuple):
    """What a count reads and changes; of pattern vertices, unless it says otherwise.

    Attributes
    ----------
    neighbours, all_conflicts, conflicts : int64
        As bits; `conflicts` are those that are not waived.
    priority : int64
        The vertex with the least is branched on first.
    roots : int32
        The candidates of the vertex that is branched on first.
    factors : uint64 (6 * 32)
        Random words.
    relations : int32 (32 * 32)
        The row block of each ordered pair.
    rows : uint64
        Row x of block r is the set at (r * locals + x) * width.
    set_factors : uint64 (4 * 32 * 8)
        Odd random words, four for each word of each domain.
    whole, domains : uint64 (32 * 8)
        Domains at first and now.
    store : int32
        A pool for each thread: candidates that are gone through.
    trail : int64
        Former domains (vertex, touched), to be restored.
    trail_sets : uint64
        What these were.
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
    locals, width : int
        Local indices, and words of a row.
    """

    neighbours: np.ndarray
    all_conflicts: np.ndarray
    conflicts: np.ndarray
    priority: np.ndarray
    roots: np.ndarray
    factors: np.ndarray
    relations: np.ndarray
    rows: np.ndarray
    set_factors: np.ndarray
    whole: np.ndarray
    domains: np.ndarray
    store: np.ndarray
    trail: np.ndarray
    trail_sets: np.ndarray
    registers: np.ndarray
    partial_sums: np.ndarray
    ended: np.ndarray
    primes: np.ndarray
    table: np.ndarray
    shared: np.ndarray
    locals: int
    width: int


CHANGED = "registers", "conflicts", "domains", "trail", "trail_sets", "partial_sums"  # by a count, besides its pool
DTYPES = {"roots": types.int32, "relations": types.int32, "store": types.int32, "locals": None, "width": None}
WORDS = "factors", "rows", "set_factors", "whole", "domains", "trail_sets", "partial_sums", "primes", "table"
DTYPES |= dict.fromkeys(WORDS, types.uint64)
on_bits = bundled(Arrays, DTYPES)
