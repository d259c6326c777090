"""Sums over pairs of vertices and what lies between them, within bounded memory.

Bridges need lists of the common neighbours of every edge: three numbers for each triangle of the graph. Where those
would take too much memory, the pairs (x, y) are looked at in several rounds, each with the y of one range and the lists
cut to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from cusubmatch.engines.cpu.tables import pair_kernels
from cusubmatch.engines.cpu.tables.schedule import Team, masked
from cusubmatch.graph.csr import row_lengths, running_sums
from cusubmatch.graph.support_graph import SupportGraph, sources_of

__all__ = ["pair_sum"]

LISTS_BYTES = 1 << 30  # that the lists may take
BRIDGE = 5  # values of a bridge


def pair_sum(
    support: SupportGraph, team: Team, ends: Sequence, paths: Sequence, below: bool, distinct_pairs: bool, prime: int
) -> int:
    """The sum over pairs; see `Kernels.pairs`. Bridges first: paths matter only where bridges lead."""
    kinds = sorted(paths, key=lambda kind: -len(kind[0]))
    kinds += [((None, None), 0)] * (2 - len(kinds))
    bridges = tuple(len(values) == BRIDGE for values, _ in kinds)
    weighted = any(len(values) == BRIDGE and any(value is not None for value in values) for values, _ in kinds)
    arrays = [_columns([*values, *[None] * (BRIDGE - len(values))]) for values, _ in kinds]
    values, masks = zip(*arrays, strict=True)
    powers = tuple(power for _, power in kinds)
    fixed = (bridges, values, masks, powers, *_columns(ends), below, distinct_pairs)
    n, width, total = support.vertices, np.uint64(prime), 0
    for cut in _rounds(support, team, any(bridges), weighted):
        lists = support.offsets, support.targets, support.reverse_arc, support.upper, *cut
        total += team.total(
            lambda out, *own, lists=lists: lambda *rows: pair_kernels.pairs(*lists, *fixed, *rows, width, *own, out),
            lambda: (np.zeros((2, n), np.uint64), np.empty(2 * n + 1, np.int32), np.full(n, -1, np.int64)),
        )
        del cut, lists
    return total


def _columns(values):
    """The arrays and the masks of some values."""
    arrays, masks = zip(*map(masked, values), strict=True)
    return arrays, masks


def _rounds(support, team, listed, weighted) -> Iterator[tuple]:
    """For each range of vertices y: where it begins in every row, where it ends, and the lists cut to it.

    Lists are what `common_neighbours` writes, the places only if `weighted`.
    """
    n, first = support.vertices, support.offsets[:-1]
    if not listed:
        yield first, n, np.zeros(1, np.int64), *_empty(0, weighted)
        return
    lengths = _listed(support, team, first, n)
    most = LISTS_BYTES // (12 if weighted else 4)
    bounds = [0, n] if lengths.sum() <= most else _bounds(support, lengths[1:], most)
    for begin, stop in pairwise(bounds):
        low = first + _before(support, begin) if begin else first
        starts = np.cumsum(lengths if stop - begin == n else _listed(support, team, low, stop))
        lists = _empty(int(starts[-1]), weighted)
        _listed(support, team, low, stop, starts, lists)
        yield low, stop, starts, *lists
        del lists  # before the next ones are made


def _empty(size, weighted):
    """Lists of so many common neighbours, and their places if they are needed."""
    return np.empty(size, np.int32), np.empty((size if weighted else 0, 2), np.int32)


def _listed(support, team, low, stop, starts=None, lists=None):
    """Fill the lists of common neighbours; without any, their lengths, each behind its entry's place."""
    fill = lists is not None
    starts, lists = (starts, lists) if fill else (np.zeros(len(support.targets) + 1, np.int64), _empty(0, False))
    fixed = support.offsets, support.targets, support.reverse_arc, support.upper, low, stop, fill

    def worker():
        place = np.full(support.vertices, -1, np.int64)
        return lambda *rows: pair_kernels.common_neighbours(*fixed, *rows, place, starts, *lists)

    team.run(worker)
    return starts


def _bounds(support, counts, most):
    """Bounds of ranges of vertices that are in lists about `most` times."""
    ends = support.targets, sources_of(np, support.offsets)
    listed = sum(np.bincount(end, counts, minlength=support.vertices) for end in ends) / 2
    rounds = np.ceil(listed.sum() / most)
    sums = np.cumsum(listed)
    inner = np.searchsorted(sums, np.arange(1, rounds) * (sums[-1] / rounds)) + 1
    return sorted({0, *inner.tolist(), support.vertices})


def _before(support, vertex):
    """How many neighbours below a vertex each vertex has."""
    sums = running_sums(np, support.targets < vertex, np.int64)
    return row_lengths(sums[support.offsets])
