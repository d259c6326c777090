"""Sums over pairs of vertices and what lies between them, within bounded memory.

Bridges need lists of the corners of all triangles. Where these would take too much memory, the ends of pairs are looked
at in ranges of vertices, each with each, and lists have only corners there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from cusubmatch.engines.gpu.tables.pair_kernels import make_pairs
from cusubmatch.engines.gpu.tables.schedule import Grid, Team
from cusubmatch.engines.gpu.tables.triangle_lists import make_corners
from cusubmatch.engines.gpu.tables.vertex_schedule import all_vertices

__all__ = ["pair_sum"]

U, L, S = np.uint32, np.uint64, np.int64

BRIDGE = 5  # values of a bridge
LISTS_BYTES = 8 << 30  # that lists may take
CORNER_BYTES = (12, 44)  # of a corner in the lists, plain and with the places of its entries
PATHS, EDGES = 2e9, 5e7  # low estimates: paths or bridges, and edges, a second


def pair_sum(
    team: Team,
    shape: Grid,
    edge_shape: Grid,
    ends: Sequence,
    paths: Sequence,
    below: bool,
    distinct_pairs: bool,
    prime: int,
) -> int:
    """The sum over pairs; see `Kernels.pairs`. Bridges first: paths matter only where bridges lead."""
    kinds = sorted(paths, key=lambda kind: -len(kind[0]))
    kinds += [((None, None), 0)] * (2 - len(kinds))
    bridges = tuple(len(values) == BRIDGE for values, _ in kinds)
    plain = all(len(values) < BRIDGE or all(value is None for value in values) for values, _ in kinds)
    kernel = make_pairs(team.gpu.target, shape.threads, shape.lanes, bridges, plain)
    given: list = []
    for values, power in kinds:
        given += [*team.masked([*values, *[None] * (BRIDGE - len(values))]), S(power)]
    given += team.masked(ends)
    n, tops = team.support.vertices, all_vertices(team.support, team.given)
    rows, seen = team.rows(np.uint64, n, shape, 2), team.lists(shape)
    rest = U(below), U(distinct_pairs), L(prime), rows.given, seen.given, S(n)
    total = 0
    for lists in _lists(team, edge_shape, plain) if any(bridges) else [_no_lists(team)]:
        # Pieces are cut by paths; where bridges are more, fewer paths are done a second.
        a_second = PATHS * tops.work / max(tops.work, _bridges(lists[0]), 1.0)
        total += team.by_top(
            kernel, shape, tops, a_second, min(rows.blocks, seen.blocks), (*given, *map(team.given, lists), *rest)
        )
        del lists  # before the next ones are made
    return total


def _bridges(by_edge):
    """How many there are, from where the lists of the edges begin: each pair of an edge's corners is one."""
    lengths = (by_edge[1:] - by_edge[:-1]).astype(np.float64)
    return float((lengths * lengths).sum())


def _no_lists(team):
    xp = team.xp
    words = xp.zeros(1, np.uint64)
    return words, words, xp.zeros(1, np.int32), *[xp.zeros(1, np.int64)] * 3


def _lists(team: Team, shape: Grid, plain: bool) -> Iterator[tuple]:
    """For ranges of ends y and of ends x: where lists of edges and of vertices begin, and the lists."""
    support, xp = team.support, team.xp
    by_edge, by_vertex = _starts(team, shape, plain, (0, support.vertices), (0, support.vertices))
    bounds = _bounds(xp, by_vertex, CORNER_BYTES[not plain])
    for y_range in pairwise(bounds):
        for x_range in pairwise(bounds):
            if len(bounds) > 2:
                by_edge, by_vertex = _starts(team, shape, plain, y_range, x_range)
            yield by_edge, by_vertex, *_filled(team, shape, plain, y_range, x_range, by_edge, by_vertex)


def _bounds(xp, by_vertex, each_bytes):
    """Bounds of ranges of vertices whose corners may be listed together."""
    corners = int(by_vertex[-1])
    ranges = math.ceil(corners * each_bytes / LISTS_BYTES)
    if ranges <= 1:
        return [0, len(by_vertex) - 1]
    inner = xp.searchsorted(by_vertex, xp.asarray([corners * i // ranges for i in range(1, ranges)], np.uint64))
    return sorted({0, *inner.tolist(), len(by_vertex) - 1})


def _starts(team, shape, plain, y_range, x_range):
    """Where the list of each entry and of each vertex begins, uint64; the last number is the length of all."""
    xp, support = team.xp, team.support
    counts = xp.zeros(len(support.targets) + 1, np.uint64), xp.zeros(support.vertices + 1, np.uint64)
    _launch(team, shape, False, plain, y_range, x_range, *(count[1:] for count in counts), *_no_lists(team)[2:])
    return tuple(xp.cumsum(count) for count in counts)


def _filled(team, shape, plain, y_range, x_range, by_edge, by_vertex):
    xp, edges, vertices = team.xp, int(by_edge[-1]), int(by_vertex[-1])
    corners, opposite = xp.empty(max(edges, 1), np.int32), xp.empty(max(vertices, 1), np.int64)
    places, known = (xp.empty(1 if plain else 2 * max(size, 1), np.int64) for size in (edges, vertices))
    ahead = by_edge[:-1].copy(), by_vertex[:-1].copy()
    _launch(team, shape, True, plain, y_range, x_range, *ahead, corners, places, opposite, known)
    return corners, places, opposite, known


def _launch(team, shape, fill, plain, y_range, x_range, *arrays):
    kernel = make_corners(team.gpu.target, shape.threads, shape.lanes, fill, fill and not plain)
    rest = (*map(S, (*y_range, *x_range)), *map(team.given, arrays))
    team.by_edge(kernel, shape, EDGES, rest, counts=False)
