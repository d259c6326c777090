"""The arrays that a count on sorted lists begins with."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.cpu.conditioning.lists.state import NONE, TRAIL_FIELDS, Arrays
from cusubmatch.engines.cpu.conditioning.pools import pools_of
from cusubmatch.engines.cpu.conditioning.registers import MAX_VERTICES, TRAIL_ENTRIES
from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.primitives.pointers import pointer
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["list_arrays"]

SEED = 23  # of the words of elements


def list_arrays(
    local: CandidateGraph,
    lists: np.ndarray,
    begins: np.ndarray,
    common: dict[str, Any],
    threads: int,
) -> tuple[Arrays, range, int]:
    """The arrays, with those that are `common` to all states, where the pool of each thread begins in the store, and 1.

    Every embedding is counted.
    """
    size, n = len(begins) - 1, MAX_VERTICES
    offsets, rows, _ = local.adjacency
    masks = local.candidates.masks
    list_begin, list_end = np.zeros((2, n), np.int64)
    list_begin[:size], list_end[:size] = begins[:-1] + len(rows), begins[1:] + len(rows)
    longest = _longest_row(offsets)
    bitmap = (len(masks) >> 5) + 1
    first_pool, pool = len(rows) + len(lists), size * size * (longest + bitmap) + 2 * size * (len(masks) + 1) + 1
    pools = pools_of(threads, pool, first_pool)
    store = np.empty(pools.stop, np.int32)
    store[: len(rows)], store[len(rows) : first_pool] = rows, lists
    words = np.random.default_rng(SEED).integers(0, 1 << 64, (2, len(masks) + 1), np.uint64)
    prefix = np.empty((2, len(rows) + 1), np.uint64)
    _add_words(rows, words, prefix)
    arrays = Arrays(
        offsets=offsets.ravel(),
        store=store,
        prefix_1=prefix[0],
        prefix_2=prefix[1],
        masks=masks,
        words_1=words[0],
        words_2=words[1],
        list_begin=list_begin,
        list_end=list_end,
        begin=np.zeros(n, np.int64),
        end=np.zeros(n, np.int64),
        fingerprint_1=np.zeros(n, np.uint64),
        fingerprint_2=np.zeros(n, np.uint64),
        image=np.zeros(n, np.int64),
        bitmap=np.full(n, NONE, np.int64),
        trail=np.empty(TRAIL_FIELDS * TRAIL_ENTRIES, np.int64),
        trail_fingerprints=np.empty(2 * TRAIL_ENTRIES, np.uint64),
        marks=np.zeros(bitmap, np.uint32),
        stride=offsets.shape[1],
        bitmap_words=bitmap,
        **common,
    )
    return arrays, pools, 1


@jit
def _longest_row(offsets):
    """The length of the longest row."""
    longest = np.int64(0)
    for relation in range(len(offsets)):
        ends = pointer(offsets[relation])
        for x in range(offsets.shape[1] - 1):
            longest = max(longest, ends[x + 1] - ends[x])
    return longest


@jit
def _add_words(rows, words, prefix):
    """Sum the two words of the elements before each place."""
    first, second = np.uint64(0), np.uint64(0)
    prefix[0, 0], prefix[1, 0] = first, second
    for i in range(len(rows)):
        first += words[0, rows[i]]
        second += words[1, rows[i]]
        prefix[0, i + 1], prefix[1, i + 1] = first, second
