"""The data graph as the walkers see it: the rows of a plan's relations, and bitmaps of the rows of hubs.

A hub's bitmap turns an intersection with its long row into one bit test per element of the other set. The hubs are the
vertices of highest degree, as many as fit in the space that the rows themselves take.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.primitives.pointers import pointer
from cusubmatch.engines.cpu.tunables import DEFAULT_TUNABLES, Tunables
from cusubmatch.engines.cpu.walker.program import View
from cusubmatch.graph import Adjacency, Graph

__all__ = ["longest_rows", "make_view"]

RELATION_SETS_KEPT = 4  # whose bitmaps stay with the graph


def make_view(
    graph: Graph, adjacency: Adjacency, masks: np.ndarray, roots: np.ndarray, tunables: Tunables = DEFAULT_TUNABLES
) -> View:
    """A view of rows; bitmaps of a host graph's hubs are kept with the graph for the next call."""
    offsets = adjacency.offsets
    if adjacency.key is None:  # a candidate graph: its rows are short, and it is used for one plan
        n = offsets.shape[1] - 1
        bits, hub, words = np.zeros(1, np.uint32), n, max((n + 31) // 32, 1)
    else:
        key = adjacency.key, tunables.hub_bitmap_bytes, tunables.min_hub_degree
        bits, hub, words = graph.cache.get("hubs", key, lambda: _hub_bitmaps(adjacency, tunables), RELATION_SETS_KEPT)
    return View(
        offsets.ravel(), adjacency.targets, masks, roots, bits, hub, words, offsets.shape[1], len(offsets), len(roots)
    )


def longest_rows(graph: Graph, adjacency: Adjacency) -> list[int]:
    """The length of the longest row of each relation; kept with the graph for the next call."""

    def measure():
        lengths = np.zeros(len(adjacency.offsets), np.int64)
        _measure_longest(adjacency.offsets, lengths)
        return lengths.tolist()

    if adjacency.key is None:
        return measure()
    return graph.cache.get("longest rows", adjacency.key, measure, RELATION_SETS_KEPT)


@jit
def _measure_longest(offsets, lengths):
    """Write the length of the longest row of each relation."""
    for relation in range(len(offsets)):
        ends, longest = pointer(offsets[relation]), np.int64(0)
        for i in range(offsets.shape[1] - 1):
            longest = max(longest, ends[i + 1] - ends[i])
        lengths[relation] = longest


def _hub_bitmaps(adjacency, tunables):
    """The bitmaps, the first hub, and the words of a bitmap."""
    relations, n = adjacency.offsets.shape[0], adjacency.offsets.shape[1] - 1
    words = max((n + 31) // 32, 1)
    bitmap_bytes = max(adjacency.targets.nbytes + adjacency.offsets.nbytes, tunables.hub_bitmap_bytes)
    long = np.zeros(n, bool)
    for offsets in adjacency.offsets:
        long |= np.diff(offsets) >= tunables.min_hub_degree
    first = int(np.argmax(long)) if long.any() else n
    hub = max(first, n - int(bitmap_bytes // (4 * words * max(relations, 1))))
    bits = np.zeros(relations * (n - hub) * words, np.uint32)
    _fill_bitmaps(adjacency.offsets, adjacency.targets, bits, hub, words)
    return bits, hub, words


@jit
def _fill_bitmaps(offsets, targets, bits, hub, words):
    """Set the bits of every row of a hub, relation by relation."""
    n, row, all_words, values = offsets.shape[1] - 1, 0, pointer(bits), pointer(targets)
    for relation in range(offsets.shape[0]):
        for vertex in range(hub, n):
            for i in range(offsets[relation, vertex], offsets[relation, vertex + 1]):
                x = values[i]
                all_words[row + (x >> 5)] |= np.uint32(1) << np.uint32(x & 31)
            row += words
