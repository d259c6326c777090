"""The numbers of steps of a decomposition's kernels on a graph: from its degrees, and from samples where need be."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

from cusubmatch.engines.base import Engine
from cusubmatch.graph import Graph
from cusubmatch.graph.csr import row_lengths
from cusubmatch.graph.statistics import Statistics
from cusubmatch.graph.support_graph import sources_of, support_graph_of
from cusubmatch.plan import TableSizes

__all__ = ["table_sizes"]

CYCLE_SAMPLE_VERTICES = 16
MAX_LISTED_NEIGHBOURS = 1 << 24  # of sampled vertices, at a time
MIN_SAMPLE_EDGES, MAX_SAMPLE_EDGES = 32, 512  # for common neighbours,
SAMPLE_LOOKUPS = 400_000  # chosen so that about this many neighbours are looked up


def table_sizes(graph: Graph, engine: Engine) -> TableSizes:
    """The steps of table kernels on a graph, kept with it."""
    return graph.cache.get("table sizes", None, functools.partial(_measured, graph, engine), 1)


def _measured(graph: Graph, engine: Engine) -> TableSizes:
    support = support_graph_of(graph, engine.reverse_arcs).near
    xp = support.xp
    offsets, targets, upper = support.offsets, support.targets, support.upper
    n, arcs = len(offsets) - 1, len(targets)
    lengths = row_lengths(offsets).astype(xp.float64)
    higher = (offsets[1:] - upper).astype(xp.float64)
    lower = lengths - higher
    # A vertex is the middle of a wedge below its end once for each end above it and each neighbour below that.
    wedges = (lengths * (lengths - 1) - lower * (lower - 1)) / 2
    return TableSizes(
        vertices=n,
        entries=arcs,
        triangles=float((lower * higher).sum()) + arcs / 2,
        wedges=float(wedges.sum()),
        paths=float((lengths**2).sum()),
        cliques=_clique_steps(graph.statistics, float((lengths**2).sum())),
        loops=functools.cache(functools.partial(_five_cycle_steps, xp, offsets, targets, upper)),
        bridges=functools.cache(functools.partial(_common_neighbour_pairs, xp, offsets, targets)),
    )


def _clique_steps(statistics: Statistics, paths: float) -> float:
    """Steps for all cliques of four: the rows of higher neighbours of the highest vertex but one of each triangle."""
    return statistics.closure * paths / 6 * statistics.oriented_degree


def _five_cycle_steps(xp: Any, offsets: Any, targets: Any, upper: Any) -> float:
    """Steps for all cycles of five, from a sample of their highest vertices, drawn by wedges."""
    if not len(targets):
        return 0.0
    n = len(offsets) - 1
    rank_in_row = xp.arange(len(targets), dtype=xp.int64) - xp.repeat(offsets[:-1], row_lengths(offsets))
    sources = sources_of(xp, offsets)
    up = targets > sources
    wedges = xp.bincount(targets[up], rank_in_row[up].astype(xp.float64), minlength=n)
    sums = xp.cumsum(wedges)
    total = float(sums[-1])
    if not total:
        return 0.0
    sample = CYCLE_SAMPLE_VERTICES
    highest_vertices = xp.searchsorted(sums, (xp.arange(sample) + 0.5) * (total / sample)).tolist()
    lower = (upper - offsets[:-1]).astype(xp.float64)
    steps = 0.0
    for highest in highest_vertices:
        reached = xp.zeros(n, bool)
        for neighbours in _batches(xp, offsets, targets[int(offsets[highest]) : int(upper[highest])]):
            lengths = row_lengths(offsets)[neighbours]
            ends = xp.cumsum(lengths)
            begins = xp.repeat(offsets[neighbours] - (ends - lengths), lengths)
            reached[targets[xp.arange(int(ends[-1]), dtype=xp.int64) + begins]] = True
        reached[highest:] = False
        steps += float(lower[reached].sum()) / float(wedges[highest])
    return total * (1 + steps / sample)


def _batches(xp: Any, offsets: Any, vertices: Any) -> list[Any]:
    """Vertices in batches whose neighbours may be listed together; at least one vertex in each."""
    ends = xp.cumsum(row_lengths(offsets)[vertices])
    inner = xp.searchsorted(ends, xp.arange(MAX_LISTED_NEIGHBOURS, int(ends[-1]), MAX_LISTED_NEIGHBOURS)).tolist()
    return [vertices[begin:end] for begin, end in pairwise(sorted({0, *inner, len(vertices)}))]


def _common_neighbour_pairs(xp: Any, offsets: Any, targets: Any) -> float:
    """The ordered pairs of common neighbours of all edges, from a sample of edges.

    An edge has at most as many common neighbours as its end of lower degree has neighbours: edges are drawn by the
    square of that, so that no edge weighs much more than the others.
    """
    if not len(targets):
        return 0.0
    lengths, sources = row_lengths(offsets), sources_of(xp, offsets)
    bounds = xp.minimum(lengths[sources], lengths[targets]).astype(xp.float64) ** 2
    bounds[targets < sources] = 0
    sums = xp.cumsum(bounds)
    total = float(sums[-1])
    wanted = SAMPLE_LOOKUPS * total / float((bounds**1.5).sum())
    sample = int(min(max(MIN_SAMPLE_EDGES, wanted), MAX_SAMPLE_EDGES))
    drawn = xp.searchsorted(sums, (xp.arange(sample) + 0.5) * (total / sample))
    pairs = _common_neighbours(xp, offsets, targets, sources[drawn], targets[drawn]).astype(xp.float64) ** 2
    return total * float((pairs / bounds[drawn]).mean())


def _common_neighbours(xp: Any, offsets: Any, targets: Any, first_ends: Any, second_ends: Any) -> Any:
    """The number of common neighbours of the ends of each edge, by a binary search for all neighbours at once."""
    lengths = row_lengths(offsets)
    first_is_shorter = lengths[first_ends] <= lengths[second_ends]
    shorter = xp.where(first_is_shorter, first_ends, second_ends)
    longer = xp.where(first_is_shorter, second_ends, first_ends)
    lookups = lengths[shorter]
    edge = xp.repeat(xp.arange(len(shorter)), lookups)
    wanted = targets[xp.arange(int(lookups.sum())) + (offsets[shorter] - xp.cumsum(lookups) + lookups)[edge]]
    first, last = offsets[longer][edge], offsets[longer + 1][edge]
    for _ in range(int(lengths.max()).bit_length()):
        middle = (first + last) // 2
        lower = targets[xp.minimum(middle, len(targets) - 1)] < wanted
        open_ = first < last
        first, last = xp.where(open_ & lower, middle + 1, first), xp.where(open_ & ~lower, middle, last)
    is_common = (first < offsets[longer + 1][edge]) & (targets[xp.minimum(first, len(targets) - 1)] == wanted)
    return xp.bincount(edge, is_common, minlength=len(shorter))
