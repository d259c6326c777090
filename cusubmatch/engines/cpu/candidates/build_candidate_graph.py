"""The candidate graph in host memory: rows of each pair of pattern vertices, by the numbers of their candidates.

The rows of one direction are read from the host graph, those of the end with fewer candidates; the other direction's
are these, transposed (`local_rows`). There is room for all that is read. Where that is much, arcs are counted before,
and the graph is given up before memory is taken where it would be too large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cusubmatch.engines.cpu.candidates.filters import Filtered
from cusubmatch.engines.cpu.candidates.local_indices import numbering_of
from cusubmatch.engines.cpu.candidates.local_rows import ARCS, TURNS, count_arcs, read_elements, write_rows
from cusubmatch.engines.cpu.tunables import Tunables
from cusubmatch.graph import Adjacency
from cusubmatch.plan import Constraints
from cusubmatch.plan.candidate_graph import CandidateGraph, PairRelation, local_constraints, pair_relations
from cusubmatch.plan.candidates import Candidates
from cusubmatch.plan.estimate import Cardinalities
from cusubmatch.system.kept_threads import number_waiting
from cusubmatch.system.shared_work import share

__all__ = ["build_candidate_graph", "pays"]

MAX_ROOM = 1 << 22  # arcs that may be written, for which there is room without a count
ROOM_OF_A_THREAD = 1 << 16  # that is worth waking one: it writes that in a few tenths of a millisecond


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
    numbering = numbering_of(masks, vertices, size)
    required, forbidden, relations = pair_relations(constraints, numbering.first_alike)
    reverses = _reverses(required, candidates.cardinalities.sizes, relations)
    kinds, refs = _encoded(relations, reverses)
    rows = adjacency.offsets, adjacency.targets, masks
    read = numbering.members, numbering.begins, kinds, refs
    room = np.zeros(len(relations), np.int64)
    read_elements(adjacency.offsets, masks, *read, room)
    most = int(room.sum())
    if most > MAX_ROOM:
        count_arcs(*rows, *read, room)
        most = int(room.sum())
        if most > tunables.max_candidate_arcs:
            return None
    offsets = np.empty((len(relations), len(numbering.masks) + 1), np.int64)
    counts, targets = np.zeros((len(relations), 2), np.int64), np.empty(most + len(room), np.int32)
    order, turns = _longest_first(reverses, room), np.zeros(TURNS, np.int64)
    worth = min(most // ROOM_OF_A_THREAD, 1 + number_waiting())  # to start a thread takes as long as its share
    threads = tunables.threads_for(worth)
    written = *rows, *read, numbering.local, order, room, threads == 1, turns, targets, offsets, counts
    share(lambda: write_rows(*written), threads)
    targets.resize(turns[ARCS], refcheck=False)
    if len(targets) > tunables.max_candidate_arcs:
        return None
    arcs = counts[:, 0].tolist()
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


def _longest_first(reverses: Sequence[int], room: np.ndarray) -> np.ndarray:
    """The relations that are read, int64, those with most room first."""
    lengths = room.tolist()
    read = [number for number, reverse in enumerate(reverses) if reverse < 0]
    return np.array(sorted(read, key=lambda number: -lengths[number]), np.int64)


def _encoded(relations: Sequence[PairRelation], reverses: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Rows (source, target, begin, end, reverse) of the pair relations, and those that [begin, end) refers to."""
    refs: list[int] = []
    kinds: list[tuple[int, int, int, int, int]] = []
    for (source, target, between), reverse in zip(relations, reverses, strict=True):
        kinds.append((source, target, len(refs), len(refs) + len(between), reverse))
        refs.extend(between)
    return np.array(kinds, np.int64).reshape(-1, 5), np.array(refs or [0], np.int64)
