"""The candidate graph in host memory: rows of each pair of pattern vertices, by the numbers of their candidates.

The rows of one direction are read from the host graph, those of the end with fewer candidates; the other direction's
are these, transposed. There is room for all that is read. Where that is much, arcs are counted before, and the graph is
given up before memory is taken where it would be too large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cusubmatch.engines.cpu.candidates.filters import Filtered
from cusubmatch.engines.cpu.candidates.local_indices import numbering_of
from cusubmatch.engines.cpu.primitives.jit import inner, jit
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


def pays(constraints: Constraints, filtered: Filtered, adjacency: Adjacency, tunables: Tunables) -> bool:
    """Whether a candidate graph is expected to be built in less time than it saves.

    It is where it is small, or where it keeps few of the arcs that a search would read otherwise: those of the rows of
    candidates, assumed to be as long as the relation's rows are on average.
    """
    if filtered.is_small:
        return True
    cardinalities = filtered.candidates.cardinalities
    sizes, pairs = cardinalities.sizes, cardinalities.pairs
    if not cardinalities.biases:
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
    _, sizes, masks, adjacency, vertices, _ = filtered
    numbering = numbering_of(masks, vertices, size)
    required, forbidden, relations = pair_relations(constraints, numbering.first_alike)
    reverses = _reverses(required, sizes, relations)
    kinds, refs = _encoded(relations, reverses)
    rows = adjacency.offsets, adjacency.targets, masks
    read = numbering.members, numbering.begins, kinds, refs
    room = _read_elements(adjacency.offsets, masks, *read)
    if room > MAX_ROOM:
        room = _count_arcs(*rows, *read)
        if room > tunables.max_candidate_arcs:
            return None
    offsets = np.empty((len(relations), len(numbering.masks) + 1), np.int64)
    counts, targets = np.zeros((len(relations), 2), np.int64), np.empty(room + 1, np.int32)
    targets.resize(_fill_arcs(*rows, *read, numbering.local, targets, offsets, counts), refcheck=False)
    arcs = counts[:, 0].tolist()
    if len(targets) > tunables.max_candidate_arcs:
        return None
    twos, squares = counts[:, 1], np.maximum(counts[:, 0].astype(float) ** 2, 1.0)
    biases = np.maximum(np.array(sizes)[kinds[:, 0]] * twos / squares, 1.0).tolist()
    cardinalities = Cardinalities(
        tuple(map(float, sizes)),
        {pair: float(arcs[number]) for pair, number in required.items()},
        {pair: biases[number] for pair, number in required.items()},
    )
    local = local_constraints(constraints, required, forbidden, relations, arcs, numbering.shares)
    local_masks = numbering.masks  # not the numbering, which is as large as the graph, is kept with the candidate graph
    return CandidateGraph(
        local,
        Candidates(lambda: local_masks, lambda: cardinalities, (None,) * size),
        Adjacency(offsets, targets, None),
        numbering.vertices,
    )


def _reverses(
    required: Mapping[tuple[int, int], int], sizes: Sequence[float], relations: Sequence[PairRelation]
) -> list[int]:
    """Of each relation the one, read from the host graph, that it is the transpose of; -1 if it is read itself."""
    reverses, is_read = [-1] * len(relations), [False] * len(relations)
    for (u, w), number in required.items():
        reverse = required[w, u]
        if number != reverse and sizes[u] >= sizes[w] and reverses[reverse] < 0 and not is_read[number]:
            reverses[number], is_read[reverse] = reverse, True
    return reverses


def _encoded(relations: Sequence[PairRelation], reverses: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows (source, target, begin, end, reverse) of the pair relations, and those that [begin, end) refers to."""
    refs: list[int] = []
    kinds: list[int] = []
    for (source, target, between), reverse in zip(relations, reverses, strict=True):
        kinds += source, target, len(refs), len(refs) + len(between), reverse
        refs += between
    return np.array(kinds, np.int64).reshape(-1, 5), np.array(refs or [0], np.int64)


@jit
def _read_elements(offsets, masks, members, begins, kinds, refs):
    """How many arcs `_fill_arcs` writes at the most: elements of rows that it looks at, also for the transposes."""
    total, times = 0, _times_written(kinds)
    for k in range(len(kinds)):
        u, relation, read = kinds[k, 0], refs[kinds[k, 2]], 0
        if not times[k]:
            continue
        for i in range(begins[0, u], begins[1, u]):
            v = members[i]
            read += ((masks[v] >> u) & 1) * (offsets[relation, v + 1] - offsets[relation, v])
        total += read * times[k]
    return total


@jit
def _count_arcs(offsets, targets, masks, members, begins, kinds, refs):
    """How many arcs `_fill_arcs` writes."""
    rows, bits, total, times = pointer(targets), pointer(masks), 0, _times_written(kinds)
    for k in range(len(kinds)):
        u, w, first, last, arcs = kinds[k, 0], kinds[k, 1], kinds[k, 2], kinds[k, 3], 0
        if not times[k]:
            continue
        for i in range(begins[0, u], begins[1, u]):
            v = members[i]
            if (bits[v] >> u) & 1:
                for j in range(offsets[refs[first], v], offsets[refs[first], v + 1]):
                    keep = (bits[rows[j]] >> w) & 1
                    for r in range(first + 1, last):
                        keep = keep and has(rows, offsets[refs[r], v], offsets[refs[r], v + 1], rows[j])
                    arcs += 1 if keep else 0
        total += arcs * times[k]
    return total


@inner
def _times_written(kinds):
    """How many relations have the arcs of each relation that is read: it and its transposes; 0 of these."""
    times = np.zeros(len(kinds), np.int64)
    for k in range(len(kinds)):
        times[k if kinds[k, 4] < 0 else kinds[k, 4]] += 1
    return times


@jit
def _fill_arcs(offsets, targets, masks, members, begins, kinds, refs, local, out, out_offsets, counts):
    """Write the rows of each pair, with offsets; count its arcs and the ordered pairs of arcs of one row; all arcs.

    First those that are read, then those that are transposes.
    """
    position, of_rows = 0, (offsets, targets, masks, members, begins, local)
    for k in range(len(kinds)):
        if kinds[k, 4] < 0:
            position = _read_arcs(*of_rows, kinds[k], refs, pointer(out), pointer(out_offsets[k]), position)
    for k in range(len(kinds)):
        source, reverse, ends = kinds[k, 0], kinds[k, 4], pointer(out_offsets[k])
        size = begins[1, source] - begins[0, source]
        if reverse >= 0:
            sources = begins[1, kinds[reverse, 0]] - begins[0, kinds[reverse, 0]]
            position = _transpose(pointer(out_offsets[reverse]), sources, pointer(out), ends, size, position)
        for i in range(size):
            row = ends[i + 1] - ends[i]
            counts[k, 1] += row * (row - 1)
        counts[k, 0] = ends[size] - ends[0]
        for i in range(size + 1, out_offsets.shape[1]):
            ends[i] = ends[size]
    return position


@inner
def _read_arcs(offsets, targets, masks, members, begins, local, kind, refs, out, ends, position):
    """Write the rows of a relation from those of the host graph; where they end.

    An element is written before it is known whether it is kept, so that there is no branch: `out` has one place more.
    """
    u, w, first, last = kind[0], kind[1], kind[2], kind[3]
    rows, bits, numbers = pointer(targets), pointer(masks), pointer(local)
    row_ends, group = pointer(offsets[refs[first]]), advance(pointer(members), begins[0, u])
    ends[0] = position
    for i in range(begins[1, u] - begins[0, u]):
        v = np.int64(group[i])
        if (bits[v] >> u) & 1:
            for j in range(row_ends[v], row_ends[v + 1]):
                x = rows[j]
                keep = (bits[x] >> w) & 1
                for r in range(first + 1, last):
                    keep = keep and has(rows, offsets[refs[r], v], offsets[refs[r], v + 1], x)
                out[position] = numbers[x]
                position += 1 if keep else 0
        ends[i + 1] = position
    return position


@inner
def _transpose(row_ends, sources, out, ends, size, position):
    """Write the transpose of the rows of so many sources, which has `size` rows; where they end."""
    for i in range(size + 1):
        ends[i] = 0
    for j in range(row_ends[0], row_ends[sources]):
        ends[out[j] + 1] += 1
    ends[0] = position
    for i in range(size):
        row = ends[i + 1]
        ends[i + 1] = position  # where the next of its elements is written; in the end, where the row ends
        position += row
    for x in range(sources):
        for j in range(row_ends[x], row_ends[x + 1]):
            row = out[j] + 1
            out[ends[row]] = x
            ends[row] += 1
    return position
