"""The arrays that a count by recursive conditioning begins with, and the vertex that is branched on first."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.candidates.lists import candidate_lists
from cusubmatch.engines.cpu.conditioning import state as c
from cusubmatch.engines.cpu.conditioning.component_cache import SLOT_WORDS
from cusubmatch.engines.cpu.conditioning.elimination_order import branching_order
from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["initial_arrays", "number_of_roots"]


def number_of_roots(local: CandidateGraph) -> int:
    """The number of candidates of the vertex that is branched on first."""
    return len(local.candidates.of(_order(local)[0]))


def _order(local: CandidateGraph) -> list[int]:
    return branching_order(_neighbours(local), local.candidates.cardinalities.sizes)


def _neighbours(local: CandidateGraph) -> list[int]:
    size, required = len(local.constraints.labels), local.constraints.required
    neighbours = [0] * size
    for u, w in required:
        neighbours[u] |= 1 << w
    return neighbours


def initial_arrays(local: CandidateGraph, tunables: Tunables, ended: np.ndarray) -> tuple[int, c.Arrays, int]:
    """The vertex that is branched on first, the arrays, and where the pool begins in the store.

    `ended` is the flag of `Arrays`.
    """
    size, n = len(local.constraints.labels), c.MAX_VERTICES
    offsets, rows, _ = local.adjacency
    masks = local.candidates.masks
    neighbours = np.zeros(n, np.int64)
    neighbours[:size] = _neighbours(local)
    conflicts = np.zeros(n, np.int64)
    for u, w in local.constraints.distinct:
        if not int(neighbours[u]) >> w & 1:
            conflicts[u] |= 1 << w
            conflicts[w] |= 1 << u
    relations = np.zeros(n * n, np.int32)
    for (u, w), (relation,) in local.constraints.required.items():
        relations[n * u + w] = relation
    order = branching_order(neighbours[:size].tolist(), local.candidates.cardinalities.sizes)
    priority = np.zeros(n, np.int64)
    priority[order] = np.arange(size)
    lists, begins = candidate_lists(masks, size)
    list_begin, list_end = np.zeros((2, n), np.int64)
    list_begin[:size], list_end[:size] = begins[:-1] + len(rows), begins[1:] + len(rows)
    longest = int(np.diff(offsets, axis=1).max(initial=0))
    pool = len(rows) + len(lists)
    store = np.empty(pool + size * size * longest + size * (len(masks) + 1) + 1, np.int32)
    store[: len(rows)], store[len(rows) : pool] = rows, lists
    random = np.random.default_rng(20)
    words = random.integers(0, 1 << 64, (2, len(masks) + 1), np.uint64)
    prefix = np.zeros((2, len(rows) + 1), np.uint64)
    _add_words(rows, words, prefix)
    table = np.empty(SLOT_WORDS * tunables.conditioning_slots, np.uint64)  # cleared as it is used
    registers = np.zeros(c.REGISTERS, np.int64)
    arrays = c.Arrays(
        neighbours,
        conflicts,
        conflicts.copy(),
        relations,
        offsets.ravel(),
        store,
        prefix[0],
        prefix[1],
        masks,
        words[0],
        words[1],
        list_begin,
        list_end,
        priority,
        random.integers(0, 1 << 64, 6 * n, np.uint64) | np.uint64(1),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.zeros(n, np.uint64),
        np.zeros(n, np.uint64),
        np.zeros(n, np.int64),
        np.zeros(4 * 2 * n * n, np.int64),
        np.zeros(2 * 2 * n * n, np.uint64),
        np.zeros((len(masks) >> 5) + 1, np.uint32),
        registers,
        ended,
        table,
        offsets.shape[1],
        np.uint64(0),
    )
    return order[0], arrays, pool


@jit
def _add_words(rows, words, prefix):
    """Sum the two words of each element up to each place."""
    first, second = np.uint64(0), np.uint64(0)
    for i in range(len(rows)):
        first += words[0, rows[i]]
        second += words[1, rows[i]]
        prefix[0, i + 1], prefix[1, i + 1] = first, second
