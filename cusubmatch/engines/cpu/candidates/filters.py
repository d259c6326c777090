"""Candidates on the CPU: labels, degrees, arc consistency and counts in one compiled pass over lists of candidates.

The rest is `plan.candidates`. A vertex keeps the bit of a pattern vertex while each pattern edge there has a candidate
at its other end. An edge is tested again only if its other end has lost a candidate since.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from cusubmatch.engines.cpu.candidates.lists import list_candidates
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
    if requirements.uniform:
        masks = label_degree_filter(graph, constraints, requirements, adjacency)
        return uniform(graph.xp, requirements, adjacency, masks)
    size = len(pattern)
    words = _label_words(graph, constraints)
    labels = graph.vertex_labels if len(words) > 1 else np.zeros(graph.n_vertices, np.int32)
    needed = [need for of_vertex in requirements.min_degrees for need in of_vertex.items()]
    ends = list(accumulate(map(len, requirements.min_degrees), initial=0))
    masks = np.zeros(graph.n_vertices, np.uint32)
    counts = np.zeros(2 * size + 2 * len(requirements.edges), np.int64)
    _filter(
        adjacency.offsets,
        adjacency.targets,
        labels,
        words,
        np.array(needed, np.int64).reshape(-1, 2),
        np.array(ends, np.int64),
        requirements.edges,
        masks,
        counts,
        ROUNDS,
        sample,
    )
    sizes, sums = counts[:size].tolist(), counts[size : 2 * size].tolist()
    pair_counts = [(pairs, twos) for pairs, twos in counts[2 * size :].reshape(-1, 2).tolist()]

    def have_equal_candidates(u, w):
        return sums[u] == sums[w] and not (((masks >> np.uint32(u)) ^ (masks >> np.uint32(w))) & np.uint32(1)).any()

    return select(graph, constraints, requirements, masks, sizes, pair_counts, have_equal_candidates, sample)


def _label_words(graph, constraints):
    """By label, the pattern vertices that allow it, as bits; no label is -1, the last element. One word: no labels."""
    every = (1 << len(constraints.labels)) - 1
    if all(allowed is None for allowed in constraints.labels):
        return np.array([every], np.uint32)
    words = [0] * (len(graph.vertex_label_values or ()) + 1)
    free = sum(1 << u for u, allowed in enumerate(constraints.labels) if allowed is None)
    for u, allowed in enumerate(constraints.labels):
        for label in allowed or ():
            words[label] |= 1 << u
    return np.array([word | free for word in words], np.uint32)


@jit
def _filter(offsets, targets, labels, words, needed, need_ends, edges, masks, counts, rounds, sample):
    """Set the masks, and count: candidates of each pattern vertex, their sums, then what `_count_pairs` does."""
    size, n = len(need_ends) - 1, len(masks)
    lengths = counts[:size]
    for v in range(n):
        word = rest = words[labels[v]]
        while rest:
            u = trailing_zeros(rest)
            rest &= rest - np.uint32(1)
            for i in range(need_ends[u], need_ends[u + 1]):
                relation = needed[i, 0]
                if offsets[relation, v + 1] - offsets[relation, v] < needed[i, 1]:
                    word ^= np.uint32(1) << u
                    break
            else:
                lengths[u] += 1
        masks[v] = word
    begins = np.zeros(size + 1, np.int64)
    for u in range(size):
        begins[u + 1] = begins[u] + lengths[u]
    lists = np.empty(begins[size], np.int32)
    list_candidates(masks, begins, lists)
    _make_consistent(offsets, targets, masks, edges, lists, begins, lengths, rounds)
    for u in range(size):
        for i in range(begins[u], begins[u] + lengths[u]):
            counts[size + u] += lists[i]
    for e in range(len(edges)):
        u = edges[e, 0]
        some = lists[begins[u] : begins[u] + lengths[u]]
        pairs, twos = _count_pairs(offsets, targets, masks, some, edges[e, 1], edges[e, 2], sample)
        counts[2 * size + 2 * e], counts[2 * size + 2 * e + 1] = pairs, twos


@jit
def _make_consistent(offsets, targets, masks, edges, lists, begins, lengths, rounds):
    """Clear the bits of vertices that lack a candidate neighbour for a pattern edge, and shorten the lists."""
    changed_in = np.zeros(len(lengths), np.int64)  # the last round that shortened the list of a pattern vertex
    rows, bits = pointer(targets), pointer(masks)
    for turn in range(1, rounds + 1):
        changed = False
        for e in range(len(edges)):
            u, w, relation = edges[e, 0], edges[e, 1], edges[e, 2]
            if turn > 1 and changed_in[w] < turn - 1:
                continue
            begin, kept = begins[u], begins[u]
            for i in range(begin, begin + lengths[u]):
                v = lists[i]
                if _has_candidate(rows, bits, offsets[relation, v], offsets[relation, v + 1], w):
                    lists[kept] = v
                    kept += 1
                else:
                    masks[v] ^= np.uint32(1) << u
            if kept - begin < lengths[u]:
                lengths[u] = kept - begin
                changed_in[u], changed = turn, True
        if not changed:
            break


@jit
def _has_candidate(targets, masks, begin, end, w):
    for i in range(begin, end):
        if (masks[targets[i]] >> w) & 1:
            return True
    return False


@jit
def _count_pairs(offsets, targets, masks, candidates, w, relation, sample):
    """Pairs of candidates of an edge, and ordered pairs of two of them with the same candidate of its source.

    From every so many of the source's candidates that `sample` of them, about, are looked at.
    """
    pairs, pairs_of_pairs, rows, bits = 0, 0, pointer(targets), pointer(masks)
    for i in range(0, len(candidates), max(len(candidates) // sample, 1)):
        v, of_vertex = candidates[i], 0
        for j in range(offsets[relation, v], offsets[relation, v + 1]):
            of_vertex += (bits[rows[j]] >> w) & 1
        pairs, pairs_of_pairs = pairs + of_vertex, pairs_of_pairs + of_vertex * (of_vertex - 1)
    return pairs, pairs_of_pairs
