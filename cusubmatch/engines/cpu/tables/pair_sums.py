"""Sums over pairs of vertices and what connects them, within bounded memory.

Diamonds need lists of the common neighbours of every edge: three numbers for each triangle of the graph. Where those
would take too much memory, the pairs (x, y) are counted in several rounds, each with the y of one range of vertices and
the lists cut to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from cusubmatch.engines.cpu.tables.pair_kernels import (
    CommonNeighbours,
    Kind,
    PairScratch,
    PairTerms,
    VertexRange,
    list_common_neighbours,
    pairs,
)
from cusubmatch.engines.cpu.tables.parameters import arc_values, rows_of
from cusubmatch.engines.cpu.tables.schedule import Team
from cusubmatch.engines.table_algebra import PairSum
from cusubmatch.graph.csr import row_lengths, running_sums
from cusubmatch.graph.support_graph import SupportGraph, sources_of

__all__ = ["pair_sum"]

LISTS_BYTES = 1 << 30  # memory of the lists of common neighbours
PLAIN_BYTES, POSITIONED_BYTES = 4, 12  # of a common neighbour in a list, without and with its positions


def pair_sum(support: SupportGraph, team: Team, wanted: PairSum, prime: int) -> int:
    """Sum over pairs of vertices, modulo 2^64 or congruent to the sum modulo the prime."""
    first, second = (Kind(kind.is_diamond, arc_values(kind.values), kind.power) for kind in wanted.kinds)
    x_weights, y_weights = arc_values(wanted.weights)
    terms = PairTerms((first, second), (x_weights, y_weights), wanted.below, wanted.distinct)
    rows, reverse, n = rows_of(support), support.reverse_arc, support.vertices
    modulus, total = np.uint64(prime), 0

    def scratch():
        return PairScratch(np.zeros((2, n), np.uint64), np.empty(2 * n + 1, np.int32), np.full(n, -1, np.int64))

    for vertex_range, lists in _rounds(support, team, wanted.has_diamonds, wanted.has_weighted_diamonds):
        fixed = rows, reverse, vertex_range, lists, terms
        total += team.total(
            lambda out, own, fixed=fixed: lambda *span: pairs(*fixed, *span, modulus, own, out), lambda: (scratch(),)
        )
        del lists, fixed  # before the next ones are made
    return total


def _rounds(support, team, listed, with_positions) -> Iterator[tuple[VertexRange, CommonNeighbours]]:
    """Ranges of vertices y that cover all, and the lists cut to each."""
    n, first = support.vertices, support.offsets[:-1]
    every = VertexRange(first, n)
    if not listed:
        yield every, _empty_lists(np.zeros(1, np.int64), 0, with_positions)
        return
    lengths = _list_lengths(support, team, every)
    most = LISTS_BYTES // (POSITIONED_BYTES if with_positions else PLAIN_BYTES)
    bounds = [0, n] if lengths.sum() <= most else _bounds(support, lengths[1:], most)
    for begin, stop in pairwise(bounds):
        vertex_range = VertexRange(first + _neighbours_below(support, begin) if begin else first, stop)
        starts = np.cumsum(lengths if stop - begin == n else _list_lengths(support, team, vertex_range))
        lists = _empty_lists(starts, int(starts[-1]), with_positions)
        _run(support, team, vertex_range, True, lists)
        yield vertex_range, lists
        del lists  # before the next ones are made


def _empty_lists(starts, size, with_positions):
    """Lists of so many common neighbours in all."""
    return CommonNeighbours(starts, np.empty(size, np.int32), np.empty((size if with_positions else 0, 2), np.int32))


def _list_lengths(support, team, vertex_range):
    """The number of common neighbours of each arc, after a zero."""
    lists = _empty_lists(np.zeros(len(support.targets) + 1, np.int64), 0, False)
    _run(support, team, vertex_range, False, lists)
    return lists.starts


def _run(support, team, vertex_range, fill, lists):
    fixed = rows_of(support), support.reverse_arc, vertex_range, fill

    def worker():
        position = np.full(support.vertices, -1, np.int64)
        return lambda *span: list_common_neighbours(*fixed, *span, position, lists)

    team.run(worker)


def _bounds(support, counts, most):
    """Bounds of ranges of vertices, each of which stand in lists about `most` times."""
    ends = support.targets, sources_of(np, support.offsets)
    listed = sum(np.bincount(end, counts, minlength=support.vertices) for end in ends) / 2
    rounds = np.ceil(listed.sum() / most)
    sums = np.cumsum(listed)
    inner = np.searchsorted(sums, np.arange(1, rounds) * (sums[-1] / rounds)) + 1
    return sorted({0, *inner.tolist(), support.vertices})


def _neighbours_below(support, vertex):
    """How many neighbours below `vertex` each vertex has."""
    sums = running_sums(np, support.targets < vertex, np.int64)
    return row_lengths(sums[support.offsets])
