"""The data graph as the walkers see it: the rows of a plan's relations, and bitmaps of the rows of hubs.

A hub's bitmap turns an intersection with its long row into one bit test per element of the other set. The hubs are the
vertices of highest degree, as many as fit in the space that the rows themselves take.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.primitives.pointers import pointer
from cusubmatch.engines.cpu.search.program import View
from cusubmatch.graph import Adjacency, Graph

__all__ = ["longest_rows", "make_view"]

LEAST_SPACE = 2 << 20  # bytes
KEPT_HUBS = 4  # sets of relations
LEAST_DEGREE = 12  # shorter rows are merged as fast


def make_view(graph: Graph, adjacency: Adjacency, masks: np.ndarray, roots: np.ndarray) -> View:
    """A view of a host graph; bitmaps are kept with the graph for the next call."""
    bits, hub, words = graph.cache.get("hubs", adjacency.key, lambda: _hubs(adjacency), KEPT_HUBS)
    offsets = adjacency.offsets
    return View(
        offsets.ravel(), adjacency.targets, masks, roots, bits, hub, words, offsets.shape[1], len(offsets), len(roots)
    )


def longest_rows(adjacency: Adjacency) -> list[int]:
    """The length of the longest row of each relation."""
    return [int(np.diff(offsets).max(initial=0)) for offsets in adjacency.offsets]


def _hubs(adjacency):
    relations, n = adjacency.offsets.shape[0], adjacency.offsets.shape[1] - 1
    words = max((n + 31) // 32, 1)
    space = max(adjacency.targets.nbytes + adjacency.offsets.nbytes, LEAST_SPACE)
    long = np.zeros(n, bool)
    for offsets in adjacency.offsets:
        long |= np.diff(offsets) >= LEAST_DEGREE
    first = int(np.argmax(long)) if long.any() else n
    hub = max(first, n - int(space // (4 * words * max(relations, 1))))
    bits = np.zeros(relations * (n - hub) * words, np.uint32)
    _fill(adjacency.offsets, adjacency.targets, bits, hub, words)
    return bits, hub, words


@jit
def _fill(offsets, targets, bits, hub, words):
    n, row, words_of, values = offsets.shape[1] - 1, 0, pointer(bits), pointer(targets)
    for relation in range(offsets.shape[0]):
        for vertex in range(hub, n):
            for i in range(offsets[relation, vertex], offsets[relation, vertex + 1]):
                x = values[i]
                words_of[row + (x >> 5)] |= np.uint32(1) << np.uint32(x & 31)
            row += words
