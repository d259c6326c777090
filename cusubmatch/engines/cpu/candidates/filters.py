"""Candidate sets of the pattern vertices: arc consistency and counts on host memory.

`plan/candidates.py` looks up labels and degrees and makes the result. Here bits are cleared until nothing changes, or
for a few rounds: a candidate stays if it has, for each pattern neighbour, a neighbour that is a candidate of it
(GraphQL, He & Singh 2008). Each candidate set is a list, so that a round reads the rows of candidates only.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import pointer
from cusubmatch.graph import Adjacency, Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints
from cusubmatch.plan.candidates import (
    ROUNDS,
    SAMPLE,
    Candidates,
    candidate_constraints_of,
    label_degree_filter,
    select,
    spacing,
    uniform,
)

__all__ = ["Candidates", "candidate_lists", "find_candidates"]


def find_candidates(
    graph: Graph,
    pattern: Pattern,
    constraints: Constraints,
    adjacency: Adjacency,
    injective: bool,
    *,
    sample: int = SAMPLE,
) -> Candidates:
    """Filter the vertices of a host graph for every vertex of `pattern`."""
    requirements = candidate_constraints_of(constraints, injective)
    masks = label_degree_filter(graph, constraints, requirements, adjacency)
    if requirements.uniform:
        return uniform(graph, requirements, adjacency, masks)
    lists, begins = candidate_lists(masks, len(pattern))
    sizes = np.diff(begins)
    for _ in range(ROUNDS if len(masks) else 0):
        if not _arc_consistency_pass(
            adjacency.offsets, adjacency.targets, masks, requirements.edges, lists, begins, sizes
        ):
            break
    strides = np.array([spacing(size, sample) for size in sizes.tolist()], np.int64)
    pair_counts = np.zeros((len(requirements.edges), 2), np.int64)
    _count_pairs(
        adjacency.offsets, adjacency.targets, masks, requirements.edges, lists, begins, sizes, strides, pair_counts
    )

    def have_equal_candidates(u, w):
        first, second = (lists[begins[vertex] : begins[vertex] + sizes[vertex]] for vertex in (u, w))
        return np.array_equal(first, second)

    return select(
        graph,
        constraints,
        requirements,
        masks,
        sizes.tolist(),
        [(pairs, twos) for pairs, twos in pair_counts.tolist()],
        have_equal_candidates,
        sample,
    )


def candidate_lists(masks: np.ndarray, vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """The candidates of each of so many pattern vertices, ascending, one list after another, and where each begins."""
    begins = np.zeros(vertices + 1, np.int64)
    _count_candidates(masks, begins)
    np.cumsum(begins, out=begins)
    lists = np.empty(begins[-1], np.int32)
    _list_candidates(masks, begins, lists)
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
def _list_candidates(masks, begins, lists):
    """Write each candidate to the list of its pattern vertex."""
    ends = begins.copy()
    for v in range(len(masks)):
        mask = masks[v]
        while mask:
            u = trailing_zeros(mask)
            lists[ends[u]] = v
            ends[u] += 1
            mask &= mask - np.uint32(1)


@jit
def _has_candidate(targets, masks, begin, end, w):
    for i in range(begin, end):
        if (masks[targets[i]] >> w) & 1:
            return True
    return False


@jit
def _arc_consistency_pass(offsets, targets, masks, edges, lists, begins, sizes):
    """Drop candidates that lack a candidate neighbour for a pattern edge; whether any was dropped."""
    changed, rows, bits = False, pointer(targets), pointer(masks)
    for e in range(len(edges)):
        u, w, relation = edges[e, 0], edges[e, 1], edges[e, 2]
        kept = begins[u]
        for i in range(begins[u], begins[u] + sizes[u]):
            v = lists[i]
            if _has_candidate(rows, bits, offsets[relation, v], offsets[relation, v + 1], w):
                lists[kept] = v
                kept += 1
            else:
                masks[v] ^= np.uint32(1) << np.uint32(u)
        if kept < begins[u] + sizes[u]:
            sizes[u] = kept - begins[u]
            changed = True
    return changed


@jit
def _count_pairs(offsets, targets, masks, edges, lists, begins, sizes, strides, counts):
    """Of each edge the pairs of candidates, and the ordered pairs of two of them with the same candidate of u.

    From every strides[u]-th of u's candidates.
    """
    rows, bits = pointer(targets), pointer(masks)
    for e in range(len(edges)):
        u, w, relation = edges[e, 0], edges[e, 1], edges[e, 2]
        pairs, pairs_of_pairs = 0, 0
        for i in range(begins[u], begins[u] + sizes[u], strides[u]):
            v = lists[i]
            of_vertex = 0
            for j in range(offsets[relation, v], offsets[relation, v + 1]):
                of_vertex += (bits[rows[j]] >> w) & 1
            pairs, pairs_of_pairs = pairs + of_vertex, pairs_of_pairs + of_vertex * (of_vertex - 1)
        counts[e, 0], counts[e, 1] = pairs, pairs_of_pairs
