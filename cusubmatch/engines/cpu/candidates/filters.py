"""Candidates on the CPU: labels, degrees, arc consistency and counts in one compiled call, on lists of candidates.

The rest is `plan.candidates`. A vertex keeps the bit of a pattern vertex while each pattern edge there has a candidate
at its other end. An edge is tested again where its other end has lost candidates since, at the neighbours of these (as
in AC-4; Mohr & Henderson 1986).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.candidates.degree_filter import lists_by_degree
from cusubmatch.engines.cpu.candidates.label_order import places_of
from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import advance, pointer
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

__all__ = ["Filtered", "find_candidates"]


class Filtered(NamedTuple):
    """Candidates, and what a candidate graph of them is made from.

    Attributes
    ----------
    candidates : Candidates
    sizes : list of float
        Candidates of each pattern vertex.
    masks : uint32 (n,)
        Those of the candidates, one for each place (`label_order`).
    adjacency : Adjacency
        Rows from places to places.
    vertices : int32 (n,) or None
        The vertex of each place; None where places are vertices.
    is_small : bool
        Whether few arcs of candidates would be read, so that pairs were put at the mean.
    """

    candidates: Candidates
    sizes: Sequence[float]
    masks: np.ndarray
    adjacency: Adjacency
    vertices: np.ndarray | None
    is_small: bool


def find_candidates(
    graph: Graph,
    pattern: Pattern,
    constraints: Constraints,
    adjacency: Adjacency,
    injective: bool,
    *,
    sample: int = SAMPLE,
    few_arcs: int = -1,
) -> Filtered:
    """Filter the vertices of a host graph for every vertex of `pattern`.

    Where about `few_arcs` arcs of candidates or fewer would be read, pairs are not counted but put at the mean: they
    are counted with the candidate graph.
    """
    requirements = candidate_constraints_of(constraints, injective)
    if requirements.uniform:
        masks = label_degree_filter(graph, constraints, requirements, adjacency)
        found = uniform(graph.xp, requirements, adjacency, masks)
        return Filtered(found, found.cardinalities.sizes, masks, adjacency, None, is_small=False)
    size, edges = len(pattern), requirements.edges
    places = places_of(graph, constraints, adjacency)
    ranges, range_ends = _label_ranges(constraints, places.begins)
    needed = [need for of_vertex in requirements.min_degrees for need in of_vertex.items()]
    need_ends = list(accumulate(map(len, requirements.min_degrees), initial=0))
    masks = np.zeros(graph.n_vertices, np.uint32)
    counts = np.zeros(2 * size + 2 * len(edges), np.int64)
    counted = _filter(
        places.adjacency.offsets,
        places.adjacency.targets,
        places.degrees,
        places.by_label,
        np.array(ranges, np.int64).reshape(-1, 2),
        np.array(range_ends, np.int64),
        np.array(needed, np.int64).reshape(-1, 2),
        np.array(need_ends, np.int64),
        edges,
        masks,
        counts,
        ROUNDS,
        sample,
        few_arcs,
    )
    sizes, alike = counts[:size].tolist(), counts[size : 2 * size].tolist()
    pair_counts = [(pairs, twos) for pairs, twos in counts[2 * size :].reshape(-1, 2).tolist()]

    def have_equal_candidates(u, w):
        return alike[u] == alike[w]

    sample = sample if counted else max(sizes, default=0) + 1
    by_vertex = functools.partial(places.by_vertex, masks)
    found = select(graph, constraints, requirements, by_vertex, sizes, pair_counts, have_equal_candidates, sample)
    is_small = not counted and len(edges) > 0
    return Filtered(found, sizes, masks, places.adjacency, places.vertices, is_small)


def _label_ranges(constraints, begins):
    """Ranges of the vertices by label that the labels of each pattern vertex allow, and where its ranges end."""
    ranges, ends = [], [0]
    for allowed in constraints.labels:
        if allowed is None:
            ranges.append((0, begins[-1]))
        else:
            ranges += [(begins[label + 1], begins[label + 2]) for label in sorted(allowed)]
        ends.append(len(ranges))
    return ranges, ends


@jit
def _filter(
    offsets,
    targets,
    degrees,
    by_label,
    ranges,
    range_ends,
    needed,
    need_ends,
    edges,
    masks,
    counts,
    rounds,
    sample,
    few_arcs,
):
    """Set the masks, and write counts; whether pairs were counted.

    Counts are of each pattern vertex its candidates, then of each the first pattern vertex with the same, then what
    `_count_pairs` gives. Where about `few_arcs` arcs or fewer would be read, pairs are put at the mean.
    """
    size = len(need_ends) - 1
    lengths, asked = counts[:size], (ranges, range_ends, needed, need_ends)
    lists, begins = lists_by_degree(offsets, degrees, by_label, *asked, masks, lengths)
    _make_consistent(offsets, targets, masks, edges, lists, begins, lengths, rounds)
    read = 0.0
    for u in range(size):
        counts[size + u] = _first_alike(lists, begins, lengths, u)
    for e in range(len(edges)):
        relation = offsets[edges[e, 2]]
        pairs = lengths[edges[e, 0]] * (relation[-1] - relation[0]) / max(len(masks), 1)
        counts[2 * size + 2 * e] = np.int64(np.ceil(pairs))
        read += pairs
    if read <= few_arcs:
        return False
    for e in range(len(edges)):
        u = edges[e, 0]
        some = lists[begins[u] : begins[u] + lengths[u]]
        pairs, twos = _count_pairs(offsets, targets, masks, some, edges[e, 1], edges[e, 2], sample)
        counts[2 * size + 2 * e], counts[2 * size + 2 * e + 1] = pairs, twos
    return True


@inner
def _make_consistent(offsets, targets, masks, edges, lists, begins, lengths, rounds):
    """Clear the bits of vertices that lack a candidate neighbour for a pattern edge, and shorten the lists.

    After the first round an edge is tested where its target has lost candidates since: at the neighbours of these, or
    where these are more, on all of the source's list.
    """
    lost, lost_by, stale = np.empty(begins[-1] + 1, np.int32), np.zeros(len(lengths), np.int64), np.int64(0)
    seen, bits = np.full(len(edges), -1, np.int64), pointer(masks)  # lost candidates that an edge was tested with
    for _ in range(rounds):
        before = lost_by.sum()
        for e in range(len(edges)):
            u, w = edges[e, 0], edges[e, 1]
            first, seen[e] = seen[e], lost_by[w]
            if first == seen[e]:
                continue
            some, new = advance(pointer(lost), begins[w]), advance(pointer(lost), begins[u] + lost_by[u])
            if first >= 0 and _neighbours(offsets, edges, e, some, first, seen[e]) < lengths[u]:
                n = _lose_neighbours(offsets, targets, bits, edges, e, some, first, seen[e], new)
                stale |= np.int64(n > 0) << u
            else:
                n = _lose_of_list(offsets, targets, bits, edges[e], advance(pointer(lists), begins[u]), lengths, new)
                stale &= ~(np.int64(1) << u)
            lost_by[u] += n
        if lost_by.sum() == before:
            break
    for u in range(len(lengths)):
        if (stale >> u) & 1:
            lengths[u] = _kept(advance(pointer(lists), begins[u]), lengths[u], bits, u)


@inner
def _lose_of_list(offsets, targets, bits, edge, some, lengths, lost):
    """Take from the list of an edge's source those without a candidate of its target, and write them; how many."""
    u, w, row_ends, rows = edge[0], edge[1], pointer(offsets[edge[2]]), pointer(targets)
    kept = n = 0
    for i in range(lengths[u]):
        v = np.int64(some[i])
        some[kept] = v
        if (bits[v] >> u) & 1 == 0:
            continue
        is_lost = not _has_candidate(rows, bits, row_ends[v], row_ends[v + 1], w)
        bits[v] ^= np.uint32(is_lost) << np.uint32(u)
        lost[n] = v
        kept, n = kept + 1 - is_lost, n + is_lost
    lengths[u] = kept
    return n


@inner
def _neighbours(offsets, edges, e, some, begin, end):
    """How many neighbours some images of an edge's target have that may be images of its source."""
    n = 0
    for back in range(len(edges)):
        if edges[back, 0] == edges[e, 1] and edges[back, 1] == edges[e, 0]:
            row_ends = pointer(offsets[edges[back, 2]])
            for i in range(begin, end):
                x = np.int64(some[i])
                n += row_ends[x + 1] - row_ends[x]
    return n


@inner
def _lose_neighbours(offsets, targets, bits, edges, e, some, begin, end, lost):
    """Of the neighbours of some vertices take and write those that do not have a candidate any more; how many."""
    u, w, row_ends, rows, n = edges[e, 0], edges[e, 1], pointer(offsets[edges[e, 2]]), pointer(targets), 0
    for back in range(len(edges)):
        if edges[back, 0] != w or edges[back, 1] != u:
            continue
        rows_back = pointer(offsets[edges[back, 2]])
        for i in range(begin, end):
            x = np.int64(some[i])
            for j in range(rows_back[x], rows_back[x + 1]):
                v = np.int64(rows[j])
                if (bits[v] >> u) & 1 and not _has_candidate(rows, bits, row_ends[v], row_ends[v + 1], w):
                    bits[v] ^= np.uint32(1) << np.uint32(u)
                    lost[n] = v
                    n += 1
    return n


@inner
def _kept(some, length, bits, u):
    """Shorten a list to those that have the bit of a pattern vertex; its length."""
    kept = 0
    for i in range(length):
        v = np.int64(some[i])
        some[kept] = v
        kept += np.int64((bits[v] >> u) & 1)
    return kept


@inner
def _first_alike(lists, begins, lengths, u):
    """The first pattern vertex with the candidates of u, whose lists have the same order."""
    for w in range(u):
        same = lengths[w] == lengths[u]
        i = 0
        while same and i < lengths[u]:
            same = lists[begins[w] + i] == lists[begins[u] + i]
            i += 1
        if same:
            return w
    return u


@inner
def _has_candidate(targets, masks, begin, end, w):
    """Whether one of targets[begin:end) is a candidate of w; most rows are short, and two are looked at at once."""
    if begin == end:
        return False
    second = min(begin + 1, end - 1)
    found = ((masks[targets[begin]] | masks[targets[second]]) >> w) & 1
    i = begin + 2
    while not found and i < end:
        found = (masks[targets[i]] >> w) & 1
        i += 1
    return found != 0


@inner
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
