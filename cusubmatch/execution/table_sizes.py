"""What the kernels of a decomposition go over on a graph: from its degrees, and from samples where these do not say."""

from __future__ import annotations

import functools
from itertools import pairwise

from cusubmatch.engines.base import Engine
from cusubmatch.graph import Graph
from cusubmatch.graph.csr import row_lengths
from cusubmatch.graph.support_graph import sources_of, support_graph_of
from cusubmatch.plan import TableSizes

__all__ = ["table_sizes"]

LOOP_SAMPLE = 16  # vertices
LISTED = 1 << 24  # neighbours of theirs at a time
BRIDGE_SAMPLE = 32, 512  # edges, at least and at most,
BRIDGE_STEPS = 400_000  # so that about so many neighbours are looked for


def table_sizes(graph: Graph, engine: Engine) -> TableSizes:
    """What the kernels go over on a graph, kept with it."""
    return graph.cache.get("table sizes", None, functools.partial(_measured, graph, engine), 1)


def _measured(graph, engine):
    xp, support = graph.xp, support_graph_of(graph, engine.reverse_arcs)
    offsets, targets, upper = support.offsets, support.targets, support.upper
    n, entries = len(offsets) - 1, len(targets)
    lengths = row_lengths(offsets).astype(xp.float64)
    higher = (offsets[1:] - upper).astype(xp.float64)
    lower = lengths - higher
    # A vertex is the middle of a wedge below its end once for each end above it and each neighbour below that.
    wedges = (lengths * (lengths - 1) - lower * (lower - 1)) / 2
    return TableSizes(
        vertices=n,
        entries=entries,
        triangles=float((lower * higher).sum()) + entries / 2,
        wedges=float(wedges.sum()),
        paths=float((lengths**2).sum()),
        cliques=_clique_steps(graph.statistics, float((lengths**2).sum())),
        loops=functools.cache(functools.partial(_loop_steps, xp, offsets, targets, upper)),
        bridges=functools.cache(functools.partial(_bridges, xp, offsets, targets)),
    )


def _clique_steps(statistics, paths):
    """Steps for all cliques of four: the rows of higher neighbours of the highest vertex but one of each triangle."""
    return statistics.closure * paths / 6 * statistics.oriented_degree


def _loop_steps(xp, offsets, targets, upper):
    """Steps for all cycles of five, from a sample of their highest vertices, drawn by wedges."""
    if not len(targets):
        return 0.0
    n = len(offsets) - 1
    place = xp.arange(len(targets), dtype=xp.int64) - xp.repeat(offsets[:-1], row_lengths(offsets))
    sources = sources_of(xp, offsets)
    up = targets > sources
    wedges = xp.bincount(targets[up], place[up].astype(xp.float64), minlength=n)
    sums = xp.cumsum(wedges)
    total = float(sums[-1])
    if not total:
        return 0.0
    tops = xp.searchsorted(sums, (xp.arange(LOOP_SAMPLE) + 0.5) * (total / LOOP_SAMPLE)).tolist()
    lower = (upper - offsets[:-1]).astype(xp.float64)
    steps = 0.0
    for top in tops:
        reached = xp.zeros(n, bool)
        for near in _shares(xp, offsets, targets[int(offsets[top]) : int(upper[top])]):
            lengths = row_lengths(offsets)[near]
            ends = xp.cumsum(lengths)
            places = xp.arange(int(ends[-1]), dtype=xp.int64) + xp.repeat(offsets[near] - (ends - lengths), lengths)
            reached[targets[places]] = True
        reached[top:] = False
        steps += float(lower[reached].sum()) / float(wedges[top])
    return total * (1 + steps / len(tops))


def _shares(xp, offsets, vertices):
    """Vertices in shares that have so many neighbours together that these may be listed; at least one in each."""
    ends = xp.cumsum(row_lengths(offsets)[vertices])
    inner = xp.searchsorted(ends, xp.arange(LISTED, int(ends[-1]), LISTED)).tolist()
    return [vertices[begin:end] for begin, end in pairwise(sorted({0, *inner, len(vertices)}))]


def _bridges(xp, offsets, targets):
    """The ordered pairs of common neighbours of all edges, from a sample of these.

    An edge has at most as many common neighbours as its end of lower degree has neighbours: edges are drawn by the
    square of that, so that no edge weighs much more than the others.
    """
    if not len(targets):
        return 0.0
    lengths, sources = row_lengths(offsets), sources_of(xp, offsets)
    most = xp.minimum(lengths[sources], lengths[targets]).astype(xp.float64) ** 2
    most[targets < sources] = 0
    sums = xp.cumsum(most)
    total = float(sums[-1])
    least, largest = BRIDGE_SAMPLE
    many = int(min(max(least, BRIDGE_STEPS * total / float((most**1.5).sum())), largest))
    drawn = xp.searchsorted(sums, (xp.arange(many) + 0.5) * (total / many))
    pairs = _common(xp, offsets, targets, sources[drawn], targets[drawn]).astype(xp.float64) ** 2
    return total * float((pairs / most[drawn]).mean())


def _common(xp, offsets, targets, some, others):
    """The number of common neighbours of each of some vertices and each of others, by looking for all at a time."""
    lengths = row_lengths(offsets)
    shorter = lengths[some] <= lengths[others]
    from_, into = xp.where(shorter, some, others), xp.where(shorter, others, some)
    many = lengths[from_]
    which = xp.repeat(xp.arange(len(from_)), many)
    wanted = targets[xp.arange(int(many.sum())) + (offsets[from_] - xp.cumsum(many) + many)[which]]
    first, last = offsets[into][which], offsets[into + 1][which]
    for _ in range(int(lengths.max()).bit_length()):
        middle = (first + last) // 2
        lower = targets[xp.minimum(middle, len(targets) - 1)] < wanted
        open_ = first < last
        first, last = xp.where(open_ & lower, middle + 1, first), xp.where(open_ & ~lower, middle, last)
    found = (first < offsets[into + 1][which]) & (targets[xp.minimum(first, len(targets) - 1)] == wanted)
    return xp.bincount(which, found, minlength=len(from_))
