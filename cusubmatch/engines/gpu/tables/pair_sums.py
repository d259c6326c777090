"""Sums over pairs of vertices and what connects them, within bounded memory.

Diamonds need lists of all triangles. Where these would take too much memory, both ends of pairs are restricted to
ranges of vertices, each with each, and the lists to triangles there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from cusubmatch.engines.gpu.runtime.transfer import near_array
from cusubmatch.engines.gpu.tables.pair_kernels import Kind, PairTerms, make_pairs
from cusubmatch.engines.gpu.tables.schedule import Grid, Team
from cusubmatch.engines.gpu.tables.triangle_lists import TriangleLists, VertexRanges, make_list_triangles
from cusubmatch.engines.gpu.tables.vertex_schedule import all_vertices
from cusubmatch.engines.table_algebra import PairSum

__all__ = ["pair_sum"]

U, L, S = np.uint32, np.uint64, np.int64

LISTS_BYTES = 8 << 30  # memory of the triangle lists
TRIANGLE_BYTES = (12, 44)  # of a vertex of a triangle in the lists, plain and with sides
PATHS_A_SECOND, EDGES_A_SECOND = 2e9, 5e7  # low estimates; of paths or diamonds


def pair_sum(team: Team, shape: Grid, edge_shape: Grid, wanted: PairSum, prime: int) -> int:
    """Sum over pairs of vertices, modulo 2^64 or congruent to the sum modulo the prime."""
    plain = not wanted.has_weighted_diamonds
    kernel = make_pairs(
        team.gpu.target, shape.threads, shape.lanes, tuple(kind.is_diamond for kind in wanted.kinds), plain
    )
    first, second = (Kind(team.arc_values(kind.values), S(kind.power)) for kind in wanted.kinds)
    x_weights, y_weights = team.arc_values(wanted.weights)
    terms = PairTerms(first, second, x_weights, y_weights, U(wanted.below), U(wanted.distinct))
    vertices = all_vertices(team.support, team.on_device)
    sums, reached = team.rows(np.uint64, team.support.vertices, shape, 2), team.lists(shape)
    blocks, total = min(sums.blocks, reached.blocks), 0
    for lists, diamonds in _lists(team, edge_shape, plain) if wanted.has_diamonds else [(_no_lists(team), 0.0)]:
        # Batches are cut by paths; where diamonds are more, fewer paths are done a second.
        a_second = PATHS_A_SECOND * vertices.work / max(vertices.work, diamonds, 1.0)
        rest = terms, _on_device(team, lists), L(prime), sums.rows, reached.rows
        total += team.by_vertex(kernel, shape, vertices, a_second, blocks, rest)
        del lists, rest  # before the next ones are made
    return total


def _on_device(team, lists):
    return TriangleLists(*map(team.on_device, lists))


def _diamonds(by_arc):
    """How many there are, from where the lists of the edges begin: each pair of one list is one."""
    by_arc = near_array(by_arc)
    lengths = (by_arc[1:] - by_arc[:-1]).astype(np.float64)
    return float((lengths * lengths).sum())


def _no_lists(team):
    xp = team.xp
    words = xp.zeros(1, np.uint64)
    return TriangleLists(words, words, xp.zeros(1, np.int32), *[xp.zeros(1, np.int64)] * 3)


def _lists(team: Team, shape: Grid, plain: bool) -> Iterator[tuple[TriangleLists, float]]:
    """The lists for ranges of y and of x, each with the number of diamonds."""
    xp, every = team.xp, (0, team.support.vertices)
    starts = _starts(team, shape, plain, (*every, *every))
    bounds = _bounds(xp, starts.by_vertex, TRIANGLE_BYTES[not plain])
    for y_range in pairwise(bounds):
        for x_range in pairwise(bounds):
            ranges = (*y_range, *x_range)
            if len(bounds) > 2:
                starts = _starts(team, shape, plain, ranges)
                diamonds = _diamonds(starts.by_arc)
            else:
                diamonds = team.support.keep("diamonds", functools.partial(_diamonds, starts.by_arc))
            yield _filled(team, shape, plain, ranges, starts), diamonds


def _bounds(xp, by_vertex, each_bytes):
    """Bounds of ranges of vertices whose triangles may be listed together."""
    triangles = int(by_vertex[-1])
    ranges = math.ceil(triangles * each_bytes / LISTS_BYTES)
    if ranges <= 1:
        return [0, len(by_vertex) - 1]
    inner = xp.searchsorted(by_vertex, xp.asarray([triangles * i // ranges for i in range(1, ranges)], np.uint64))
    return sorted({0, *inner.tolist(), len(by_vertex) - 1})


def _starts(team, shape, plain, ranges):
    """Lists that say only where those of each arc and of each vertex begin; the last number is the length of all."""
    xp, support, lists = team.xp, team.support, _no_lists(team)
    counts = xp.zeros(len(support.targets) + 1, np.uint64), xp.zeros(support.vertices + 1, np.uint64)
    _launch(team, shape, False, plain, ranges, lists._replace(by_arc=counts[0][1:], by_vertex=counts[1][1:]))
    by_arc, by_vertex = (xp.cumsum(count) for count in counts)
    return lists._replace(by_arc=by_arc, by_vertex=by_vertex)


def _filled(team, shape, plain, ranges, starts):
    xp, arcs, vertices = team.xp, int(starts.by_arc[-1]), int(starts.by_vertex[-1])
    arc_sides, vertex_sides = (xp.empty(1 if plain else 2 * max(size, 1), np.int64) for size in (arcs, vertices))
    lists = starts._replace(
        opposite_vertices=xp.empty(max(arcs, 1), np.int32),
        opposite_arcs=xp.empty(max(vertices, 1), np.int64),
        arc_sides=arc_sides,
        vertex_sides=vertex_sides,
    )
    cursors = lists._replace(by_arc=starts.by_arc[:-1].copy(), by_vertex=starts.by_vertex[:-1].copy())
    _launch(team, shape, True, plain, ranges, cursors)
    return lists


def _launch(team, shape, fill, plain, ranges, lists):
    kernel = make_list_triangles(team.gpu.target, shape.threads, shape.lanes, fill, fill and not plain)
    rest = VertexRanges(*map(S, ranges)), _on_device(team, lists)
    team.by_edge(kernel, shape, EDGES_A_SECOND, rest, counts=False)
