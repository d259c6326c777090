"""Candidate sets as lists: from one word of bits a data vertex to a list a pattern vertex."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import pointer

__all__ = ["candidate_lists", "list_candidates"]


def candidate_lists(masks: np.ndarray, vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """The candidates of each of so many pattern vertices, ascending, one list after another, and where each begins."""
    begins = np.zeros(vertices + 1, np.int64)
    _count_candidates(masks, begins)
    np.cumsum(begins, out=begins)
    lists = np.empty(begins[-1], np.int32)
    list_candidates(masks, begins, lists)
    return lists, begins


@jit
def _count_candidates(masks, begins):
    """Count the candidates of pattern vertex u in begins[u + 1]."""
    counts = pointer(begins)
    for v in range(len(masks)):
        mask = masks[v]
        while mask:
            counts[trailing_zeros(mask) + 1] += 1
            mask &= mask - np.uint32(1)


@jit
def list_candidates(masks, begins, lists):
    """Write each candidate to the list of its pattern vertex."""
    ends = begins.copy()
    for v in range(len(masks)):
        mask = masks[v]
        while mask:
            u = trailing_zeros(mask)
            lists[ends[u]] = v
            ends[u] += 1
            mask &= mask - np.uint32(1)
