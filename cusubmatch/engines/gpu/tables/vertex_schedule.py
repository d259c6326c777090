"""Vertices in the order in which blocks draw them: by falling work, so that the last ones to be drawn are small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.graph.csr import row_lengths, running_sums
from cusubmatch.graph.support_graph import SupportGraph

__all__ = ["VertexSchedule", "all_vertices", "highest_vertices"]


class VertexSchedule(NamedTuple):
    """Vertices by falling work, int32, as kernels take them, and the sums of their work up to each.

    `busy` have more than `few` steps each, `most` more than a window has words.
    """

    vertices: Any
    cumulative: Any
    number: int
    work: float
    busy: int
    most: int


def highest_vertices(
    support: SupportGraph, to_device: Callable[[Any], Any], least: int, few: int, window: int
) -> VertexSchedule:
    """Vertices with `least` lower neighbours or more, by the wedges below them; kept with the support graph."""

    def make():
        rows = support.near
        steps = rows.reverse_arc - rows.offsets[rows.targets]  # for arcs (u, v), u > v
        wanted = rows.upper - rows.offsets[:-1] >= least
        return _sorted(support, to_device, steps, rows.upper, wanted, few, window)

    return support.keep(f"highest vertices {least} {few} {window}", make)


def all_vertices(support: SupportGraph, to_device: Callable[[Any], Any]) -> VertexSchedule:
    """All vertices with neighbours, by their paths of two; kept with the support graph."""

    def make():
        rows = support.near
        lengths = row_lengths(rows.offsets)
        return _sorted(support, to_device, lengths[rows.targets], rows.offsets[1:], lengths > 0, 0, 0)

    return support.keep("all vertices", make)


def _sorted(support, to_device, steps, ends, wanted, few, window):
    """The wanted vertices with any work, by the sums of steps over their arcs up to `ends`."""
    xp, offsets = support.near.xp, support.near.offsets
    sums = running_sums(xp, steps, np.int64)
    work = sums[ends] - sums[offsets[:-1]]
    vertices = xp.nonzero(wanted & (work > 0))[0]
    work = work[vertices]
    order = xp.argsort(-work, kind="stable")
    work = work[order]
    cumulative = xp.cumsum(work.astype(np.float64))
    total = float(cumulative[-1]) if len(vertices) else 0.0
    ordered = to_device(support.xp.asarray(vertices[order].astype(np.int32)))
    return VertexSchedule(
        ordered, cumulative, len(vertices), total, int((work > few).sum()), int((work > window).sum())
    )
