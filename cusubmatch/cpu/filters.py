"""Candidates of each pattern vertex before the search: label, degree and neighbour labels, then consistency.

A data vertex may stand for a pattern vertex if its label fits, it has enough neighbours in each relation that the
pattern vertex asks for (LDF and NLF; Zhu et al. 2010), and, for each pattern neighbour, at least one neighbour that is
a candidate of that (arc consistency; GraphQL, He & Singh 2008). The counts that remain are what the planner estimates
with.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.cpu.compiled import jit
from cusubmatch.cpu.pointers import pointer
from cusubmatch.graph import Adjacency, Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints, Shape

__all__ = ["Candidates", "find_candidates"]

ROUNDS = 3
SELECTIVE = 0.9  # a filter that keeps more than this share of a label's vertices is not tested in the search
SAMPLE = 4096


class Candidates(NamedTuple):
    """`masks`: uint32 (n,), bit u where the vertex may be pattern vertex u. `shape` and `tested` are the planner's."""

    masks: np.ndarray
    shape: Shape
    tested: tuple[int | None, ...]

    def of(self, vertex: int) -> np.ndarray:
        """The candidates of a pattern vertex, int32, highest rank first."""
        return np.flatnonzero((self.masks >> np.uint32(vertex)) & np.uint32(1))[::-1].astype(np.int32)


def find_candidates(
    graph: Graph, pattern: Pattern, constraints: Constraints, adjacency: Adjacency, injective: bool
) -> Candidates:
    """Filter the vertices of `graph` for every vertex of `pattern`."""
    size, n = len(pattern), graph.n_vertices
    masks = np.zeros(n, np.uint32)
    labelled = [n] * size
    for u in range(size):
        fits = np.ones(n, bool)
        if (allowed := constraints.labels[u]) is not None and graph.vertex_labels is not None:
            fits &= np.isin(graph.vertex_labels, np.array(sorted(allowed), np.int32))
            labelled[u] = int(fits.sum())
        asked: dict[int, int] = {}
        for (v, _), relations in constraints.required.items():
            for relation in relations if v == u else ():
                asked[relation] = asked.get(relation, 0) + 1
        for relation, least in asked.items():
            fits &= np.diff(adjacency.offsets[relation]) >= (least if injective else 1)
        masks |= fits.astype(np.uint32) << np.uint32(u)
    edges = np.array([(u, w, r) for (u, w), some in constraints.required.items() for r in some], np.int32).reshape(
        -1, 3
    )
    uniform = len(constraints.relations) <= 1 and all(labels is None for labels in constraints.labels)
    if not uniform and n:
        for _ in range(ROUNDS):
            if not _make_consistent(adjacency.offsets, adjacency.targets, masks, edges):
                break
    sizes = [int(((masks >> np.uint32(u)) & np.uint32(1)).sum()) for u in range(size)]
    pairs: dict[tuple[int, int], float] = {}
    for u, w, relation in edges.tolist():
        if uniform:
            found = float(len(adjacency.targets))
        else:
            found = _count_pairs(adjacency.offsets, adjacency.targets, masks, u, w, relation, SAMPLE)
        pairs[u, w] = min(found, pairs.get((u, w), found))
    tested = _tested(masks, sizes, labelled, uniform)
    return Candidates(masks, Shape(tuple(map(float, sizes)), pairs), tested)


def _tested(masks, sizes, labelled, uniform):
    """Per pattern vertex the vertex whose filter is tested in the search, or None; equal filters get one name."""
    tested: list[int | None] = []
    for u, (kept, possible) in enumerate(zip(sizes, labelled, strict=True)):
        if uniform or kept > SELECTIVE * possible:
            tested.append(None)
            continue
        twin = next((w for w in range(u) if tested[w] == w and sizes[w] == kept and _equal(masks, u, w)), u)
        tested.append(twin)
    return tuple(tested)


def _equal(masks, u, w):
    return not bool((((masks >> np.uint32(u)) ^ (masks >> np.uint32(w))) & np.uint32(1)).any())


@jit
def _has_candidate(targets, masks, begin, end, w):
    for i in range(begin, end):
        if (masks[targets[i]] >> w) & 1:
            return True
    return False


@jit
def _make_consistent(offsets, targets, masks, edges):
    """Clear the bits of vertices that lack a candidate neighbour for a pattern edge; whether any was cleared."""
    changed, rows, bits = False, pointer(targets), pointer(masks)
    for e in range(len(edges)):
        u, w, relation = edges[e, 0], edges[e, 1], edges[e, 2]
        for v in range(len(masks)):
            if (masks[v] >> u) & 1 and not _has_candidate(
                rows, bits, offsets[relation, v], offsets[relation, v + 1], w
            ):
                masks[v] ^= np.uint32(1) << u
                changed = True
    return changed


@jit
def _count_pairs(offsets, targets, masks, u, w, relation, sample):
    """How many pairs of candidates of u and w are in the relation; from about `sample` of u's candidates."""
    seen, total, rows, bits = 0, 0, pointer(targets), pointer(masks)
    for v in range(len(masks)):
        total += (masks[v] >> u) & 1
    stride, found, index = max(total // sample, 1), 0, 0
    for v in range(len(masks)):
        if (masks[v] >> u) & 1:
            if index % stride == 0:
                seen += 1
                for i in range(offsets[relation, v], offsets[relation, v + 1]):
                    found += (bits[rows[i]] >> w) & 1
            index += 1
    return found * (total / max(seen, 1))
