"""The subgraph that a set of vertices induces: its edges and components, by indices in the set."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import announced, inner, jit

__all__ = ["components"]


@jit
def _edges(offsets, targets, members, index_of, ends):
    """Write the indices of the ends of each edge inside, the lower one first, as far as they fit; their number."""
    edges = 0
    for i in range(len(members)):
        index_of[members[i]] = i
    for i in range(len(members)):
        for e in range(offsets[members[i]], offsets[members[i] + 1]):
            j = index_of[targets[e]]
            if j > i:
                if edges < len(ends):
                    ends[edges, 0], ends[edges, 1] = i, j
                edges += 1
    for i in range(len(members)):
        index_of[members[i]] = -1
    return edges


@inner
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit
def _join(ends, parent):
    """Make `parent` say the first index of each index's component (union-find)."""
    for e in range(len(ends)):
        a, b = _root(parent, ends[e, 0]), _root(parent, ends[e, 1])
        parent[max(a, b)] = min(a, b)
    for i in range(len(parent)):
        parent[i] = _root(parent, i)


def components(
    offsets: np.ndarray, targets: np.ndarray, members: np.ndarray, index_of: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The edges inside a set of vertices, int32 (edges, 2), and the component of each member: its first index.

    `index_of`, one number a vertex, is -1 before and after.
    """
    with announced("tables"):
        edges = _edges(offsets, targets, members, index_of, np.empty((0, 2), np.int32))
        ends = np.empty((edges, 2), np.int32)
        _edges(offsets, targets, members, index_of, ends)
        parent = np.arange(len(members), dtype=np.int32)
        _join(ends, parent)
    return ends, parent
