"""The candidate graph in host memory: numbering candidates, then rows of each pair of pattern vertices.

There is room for all that is read of the rows of candidates. Where that is much, arcs are counted before, and the graph
is given up before memory is taken where it would be too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.candidates.filters import Filtered
from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance, pointer
from cusubmatch.engines.cpu.primitives.sorted_sets import has
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.graph import Adjacency
from cusubmatch.plan import Constraints
from cusubmatch.plan.candidate_graph import CandidateGraph, PairRelation, local_constraints, pair_relations
from cusubmatch.plan.candidates import Candidates
from cusubmatch.plan.estimate import Cardinalities

__all__ = ["build_candidate_graph", "pays"]

MAX_ROOM = 1 << 22  # elements that are read, for which there is room without a count


def pays(constraints: Constraints, candidates: Candidates, adjacency: Adjacency, tunables: Tunables) -> bool:
    """Whether a candidate graph is expected to be built in less time than it saves.

    It is where it is small, or where it keeps few of the arcs that a search would read otherwise: those of the rows of
    candidates, assumed to be as long as the relation's rows are on average.
    """
    sizes, pairs = candidates.cardinalities.sizes, candidates.cardinalities.pairs
    if not candidates.cardinalities.biases:
        return False
    row_counts = max(adjacency.offsets.shape[1] - 1, 1)
    arcs = (adjacency.offsets[:, -1] - adjacency.offsets[:, 0]).tolist()
    read = 0.0
    for (u, _), relations in constraints.required.items():
        for relation in relations:
            read += sizes[u] * arcs[relation] / row_counts
    kept = sum(pairs.values())
    if kept > tunables.max_candidate_arcs:
        return False
    return max(read, kept) <= tunables.small_candidate_arcs or kept <= tunables.max_kept_share * read


def build_candidate_graph(constraints: Constraints, filtered: Filtered, tunables: Tunables) -> CandidateGraph | None:
    """The candidate graph of a pattern on a host graph; None if it would have too many arcs."""
    size = len(constraints.labels)
    candidates, masks, adjacency, vertices = filtered
    numbering = _number(masks, vertices, size)
    required, forbidden, relations = pair_relations(constraints, numbering.first_alike)
    kinds, refs = _encoded(relations)
    rows = adjacency.offsets, adjacency.targets, masks
    read = numbering.members, numbering.begins, kinds, refs
    room = _read_elements(adjacency.offsets, masks, *read)
    if room > MAX_ROOM:
        room = _count_arcs(*rows, *read)
        if room > tunables.max_candidate_arcs:
            return None
    offsets = np.empty((len(relations), len(numbering.masks) + 1), np.int64)
    counts, targets = np.zeros((len(relations), 2), np.int64), np.empty(room + 1, np.int32)
    targets = targets[: _fill_arcs(*rows, *read, numbering.local, targets, offsets, counts)].copy()
    arcs = counts[:, 0].tolist()
    if len(targets) > tunables.max_candidate_arcs:
        return None
    sizes = candidates.cardinalities.sizes
    biases = [
        max(sizes[kind.source] * twos / max(count**2, 1), 1.0)
        for kind, (count, twos) in zip(relations, counts.tolist(), strict=True)
    ]
    cardinalities = Cardinalities(
        sizes,
        {pair: float(arcs[number]) for pair, number in required.items()},
        {pair: biases[number] for pair, number in required.items()},
    )
    local = local_constraints(constraints, required, forbidden, relations, arcs, numbering.shares)
    local_masks = numbering.masks  # not the numbering, which is as large as the graph, is kept with the candidate graph
    return CandidateGraph(
        local,
        Candidates(lambda: local_masks, cardinalities, (None,) * size),
        Adjacency(offsets, targets, None),
        numbering.vertices,
    )


class _Numbering(NamedTuple):
    """The candidates in groups: the vertices of a group share candidates, directly or through others.

    Attributes
    ----------
    first_alike : list of int
        Per pattern vertex, the first vertex with the same candidates.
    shares : list of int
        Per pattern vertex, as bits, the vertices that share a candidate with it.
    members, begins
        The places of each group, ascending, one group after another; where that of a pattern vertex begins
        (row 0) and ends (row 1).
    local : int32 (n,)
        Of the place of a candidate, its number in its group.
    masks : uint32
        Of each local index, the pattern vertices that it is a candidate of.
    vertices : tuple
        Per pattern vertex, its group's data vertices.
    """

    first_alike: list[int]
    shares: list[int]
    members: np.ndarray
    begins: np.ndarray
    local: np.ndarray
    masks: np.ndarray
    vertices: tuple[np.ndarray, ...]


def _number(masks: np.ndarray, vertex_of: np.ndarray | None, size: int) -> _Numbering:
    """Number the candidates, by place; `vertex_of` has the vertex of each place, unless it is the place."""
    group_of, begins, members, local, local_masks, shares, differs = _numbered(masks, size)
    ends, table = begins.tolist(), group_of.tolist()
    found = members if vertex_of is None else vertex_of[members]
    vertices = [found[begin:end] for begin, end in pairwise(ends)]
    same = [~bits for bits in differs.tolist()]
    alike = [min((bits & -bits).bit_length() - 1, u) for u, bits in enumerate(same)]
    of_vertices = tuple(vertices[group] for group in table)
    begins = np.array([[ends[group] for group in table], [ends[group + 1] for group in table]], np.int64)
    return _Numbering(alike, shares.tolist(), members, begins, local, local_masks, of_vertices)


def _encoded(relations: Sequence[PairRelation]) -> tuple[np.ndarray, np.ndarray]:
    """Rows (source, target, begin, end) of the pair relations, and the relations that [begin, end) refers to."""
    refs: list[int] = []
    kinds: list[tuple[int, int, int, int]] = []
    for source, target, between in relations:
        kinds.append((source, target, len(refs), len(refs) + len(between)))
        refs.extend(between)
    return np.array(kinds, np.int64).reshape(-1, 4), np.array(refs or [0], np.int64)


@jit
def _numbered(masks, size):
    """The group of each pattern vertex, and of the candidates by group what `_Numbering` has."""
    shares, differs = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
    found, candidates = np.empty(len(masks), np.int32), 0
    for v in range(len(masks)):
        rest = masks[v]
        if rest:
            found[candidates] = v
            candidates += 1
        while rest:
            u = trailing_zeros(rest)
            shares[u] |= masks[v]
            differs[u] |= ~masks[v]
            rest &= rest - np.uint32(1)
    for u in range(size):
        for w in range(size):
            if (differs[u] >> np.uint32(w)) & np.uint32(1):
                differs[w] |= np.uint32(1) << np.uint32(u)
    group_of = _groups(shares)
    begins = np.zeros(group_of.max() + 2, np.int64)
    for i in range(candidates):
        begins[group_of[trailing_zeros(masks[found[i]])] + 1] += 1
    width = begins.max()
    for group in range(len(begins) - 1):
        begins[group + 1] += begins[group]
    members, local_masks, ends = np.empty(candidates, np.int32), np.zeros(width, np.uint32), begins.copy()
    local = np.empty(len(masks), np.int32)
    for i in range(candidates):
        v = found[i]
        group = group_of[trailing_zeros(masks[v])]
        at = ends[group]
        members[at], local[v] = v, at - begins[group]
        local_masks[at - begins[group]] |= masks[v]
        ends[group] = at + 1
    return group_of, begins, members, local, local_masks, shares, differs


@inner
def _groups(shares):
    """The group of each pattern vertex: those that share candidates with it, directly or through others."""
    group_of, groups = np.full(len(shares), -1, np.int64), 0
    for u in range(len(shares)):
        if group_of[u] < 0:
            reached = np.uint32(1) << np.uint32(u)
            frontier = reached
            while frontier:
                new = shares[trailing_zeros(frontier)] & ~reached
                reached |= new
                frontier = (frontier & (frontier - np.uint32(1))) | new
            for w in range(u, len(shares)):
                if (reached >> np.uint32(w)) & np.uint32(1):
                    group_of[w] = groups
            groups += 1
    return group_of


@jit
def _read_elements(offsets, masks, members, begins, kinds, refs):
    """How many elements of rows `_fill_arcs` looks at."""
    total = 0
    for k in range(len(kinds)):
        u, relation = kinds[k, 0], refs[kinds[k, 2]]
        for i in range(begins[0, u], begins[1, u]):
            v = members[i]
            total += ((masks[v] >> u) & 1) * (offsets[relation, v + 1] - offsets[relation, v])
    return total


@jit
def _count_arcs(offsets, targets, masks, members, begins, kinds, refs):
    """How many arcs `_fill_arcs` writes."""
    rows, bits, total = pointer(targets), pointer(masks), 0
    for k in range(len(kinds)):
        u, w, first, last = kinds[k, 0], kinds[k, 1], kinds[k, 2], kinds[k, 3]
        for i in range(begins[0, u], begins[1, u]):
            v = members[i]
            if (bits[v] >> u) & 1:
                for j in range(offsets[refs[first], v], offsets[refs[first], v + 1]):
                    keep = (bits[rows[j]] >> w) & 1
                    for r in range(first + 1, last):
                        keep = keep and has(rows, offsets[refs[r], v], offsets[refs[r], v + 1], rows[j])
                    total += 1 if keep else 0
    return total


@jit
def _fill_arcs(offsets, targets, masks, members, begins, kinds, refs, local, out, out_offsets, counts):
    """Write the rows of each pair, with offsets; count its arcs and the ordered pairs of arcs of one row; all arcs.

    An element is written before it is known whether it is kept, so that there is no branch: `out` has one place more.
    """
    rows, bits, numbers, arcs, position = pointer(targets), pointer(masks), pointer(local), pointer(out), 0
    for k in range(len(kinds)):
        u, w, first, last = kinds[k, 0], kinds[k, 1], kinds[k, 2], kinds[k, 3]
        begin, size, pairs_of_arcs, first_arc = begins[0, u], begins[1, u] - begins[0, u], 0, position
        row_ends, group, ends = pointer(offsets[refs[first]]), advance(pointer(members), begin), pointer(out_offsets[k])
        ends[0] = position
        for i in range(size):
            v, row = np.int64(group[i]), position
            if (bits[v] >> u) & 1:
                for j in range(row_ends[v], row_ends[v + 1]):
                    x = rows[j]
                    keep = (bits[x] >> w) & 1
                    for r in range(first + 1, last):
                        keep = keep and has(rows, offsets[refs[r], v], offsets[refs[r], v + 1], x)
                    arcs[position] = numbers[x]
                    position += 1 if keep else 0
            pairs_of_arcs += (position - row) * (position - row - 1)
            ends[i + 1] = position
        counts[k, 0], counts[k, 1] = position - first_arc, pairs_of_arcs
        for i in range(size + 1, out_offsets.shape[1]):
            ends[i] = position
    return position
