"""Candidates on the CPU: arc consistency, and counts of the candidates that remain (the rest is `plan.candidates`)."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit
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

__all__ = ["Candidates", "find_candidates"]


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
    for _ in range(ROUNDS if len(masks) else 0):
        if not _arc_consistency_pass(adjacency.offsets, adjacency.targets, masks, requirements.edges):
            break
    sizes = [int(np.count_nonzero(masks & np.uint32(1 << u))) for u in range(len(pattern))]
    pair_counts = [
        _count_pairs(adjacency.offsets, adjacency.targets, masks, u, w, relation, spacing(sizes[u], sample))
        for u, w, relation in requirements.edges.tolist()
    ]

    def have_equal_candidates(u, w):
        return not (((masks >> np.uint32(u)) ^ (masks >> np.uint32(w))) & np.uint32(1)).any()

    return select(graph, constraints, requirements, masks, sizes, pair_counts, have_equal_candidates, sample)


@jit
def _has_candidate(targets, masks, begin, end, w):
    for i in range(begin, end):
        if (masks[targets[i]] >> w) & 1:
            return True
    return False


@jit
def _arc_consistency_pass(offsets, targets, masks, edges):
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
def _count_pairs(offsets, targets, masks, u, w, relation, stride):
    """Pairs of candidates of u and w in the relation, and ordered pairs of two of them with the same candidate of u.

    From every `stride`-th of u's candidates.
    """
    pairs, pairs_of_pairs, index, rows, bits = 0, 0, 0, pointer(targets), pointer(masks)
    for v in range(len(masks)):
        if (masks[v] >> u) & 1:
            if index % stride == 0:
                of_vertex = 0
                for i in range(offsets[relation, v], offsets[relation, v + 1]):
                    of_vertex += (bits[rows[i]] >> w) & 1
                pairs, pairs_of_pairs = pairs + of_vertex, pairs_of_pairs + of_vertex * (of_vertex - 1)
            index += 1
    return pairs, pairs_of_pairs
