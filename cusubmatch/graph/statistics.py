"""Statistics of a graph: degrees, and how often a path of two edges is closed by a third."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.graph.csr import contains, first_higher, number_of, ranges_of_rows, row_lengths

__all__ = ["Statistics", "measure"]

SAMPLED_PATHS = 20_000
SLICES, MOST_ARCS = 16, 1 << 26  # arcs by slices, at least so many, of so many each: no array as long as the arcs


class Statistics(NamedTuple):
    """Statistics of a graph for the planner; degrees count neighbours in either direction."""

    vertices: int
    arcs: int  # directed edges, or twice the undirected ones
    mean_degree: float
    neighbour_degree: float  # mean degree of the vertex at the end of a random edge
    oriented_degree: float  # the same, counting only neighbours of higher rank
    closure: float  # chance that a path of two edges is closed by a third


def measure(graph) -> Statistics:
    """Measure degrees exactly, and closure from a sample of paths (with a fixed seed)."""
    xp, n, arcs = graph.xp, graph.n_vertices, len(graph.targets)
    if arcs == 0:
        return Statistics(n, 0, 0.0, 0.0, 0.0, 0.0)
    upper = first_higher(xp, graph.offsets, graph.targets)
    higher, degree = graph.offsets[1:] - upper, row_lengths(graph.offsets)
    if graph.directed:
        for begin, end in ranges_of_rows(xp, graph.offsets, max(SLICES, arcs // MOST_ARCS)):
            bounds = graph.offsets[begin : end + 1]
            first, last = int(bounds[0]), int(bounds[-1])
            targets = graph.targets[first:last]
            degree = degree + xp.bincount(targets, minlength=n)
            sources = xp.repeat(xp.arange(begin, end, dtype=xp.int32), row_lengths(bounds))
            higher += xp.bincount(targets[targets < sources], minlength=n)
    total = float(degree.sum())
    return Statistics(
        vertices=n,
        arcs=arcs,
        mean_degree=total / n,
        neighbour_degree=float((degree.astype(xp.float64) ** 2).sum()) / total,
        oriented_degree=float((higher.astype(xp.float64) ** 2).sum()) / max(float(higher.sum()), 1.0),
        closure=_sampled_closure(xp, graph.offsets, graph.targets),
    )


def _sampled_closure(xp, offsets, targets):
    random = np.random.default_rng(0)
    arcs = len(targets)
    first = xp.asarray(random.integers(0, arcs, SAMPLED_PATHS))
    a, b = xp.searchsorted(offsets, first, side="right") - 1, targets[first]
    begin, length = offsets[b], offsets[b + 1] - offsets[b]
    step = xp.minimum((xp.asarray(random.random(SAMPLED_PATHS)) * length).astype(xp.int64), xp.maximum(length - 1, 0))
    c = targets[xp.minimum(begin + step, arcs - 1)]
    real = (length > 0) & (c != a)
    closed = contains(xp, offsets, targets, a, c) | contains(xp, offsets, targets, c, a)
    return float(number_of(xp, closed & real)) / max(float(number_of(xp, real)), 1.0)
