"""Sorting the edges of an oriented graph by how their triangles are counted.

Each edge has a longer and a shorter list of out-neighbours, and the sum of the shorter lists is the work. The edges
whose longer list is long are grouped by the vertex that has it: its *partners*, cut into items of bounded work so that
no hub keeps one block busy alone. The rest stays a list of edges. All by array operations over slices of the edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.cliques.orientation import Oriented, edges_of

__all__ = ["Items", "Short", "split"]


class Items(NamedTuple):
    """Vertices with ranges of their partners, by falling work.

    Attributes
    ----------
    partners : array, uint32
        For each vertex in turn the other ends of its edges, sorted.
    vertices, begins, lengths : arrays (items,)
        The vertex (uint32) and its range of `partners` (begins as wide as the offsets of the graph, lengths uint32).
    cumulative : array (items,), float64
        The work up to and including each item: elements of the partners' lists.
    work : float
        The work of all.
    """

    partners: Any
    vertices: Any
    begins: Any
    lengths: Any
    cumulative: Any
    work: float


class Short(NamedTuple):
    """The other edges, less those with an empty list: sources and targets, uint32."""

    sources: Any
    targets: Any


def split(xp: Any, oriented: Oriented, long: int, least_work: int, blocks: int) -> tuple[Items, Short]:
    """The items and the short edges.

    Parameters
    ----------
    long : int
        An edge whose longer list has at most this length is short.
    least_work : int
        So are the edges of a vertex with less work than this: its block would have idle threads.
    blocks : int
        How many blocks will draw the items: no item is more than a quarter of a block's share.
    """
    n = len(oriented.degrees)
    partner_counts, work = xp.zeros(n, np.int64), xp.zeros(n, np.float64)
    for longer, shorter in _ends(xp, oriented):
        partner_counts += xp.bincount(longer, minlength=n)
        work += xp.bincount(longer, weights=oriented.degrees[shorter], minlength=n)
    is_long = (oriented.degrees > long) & (work >= least_work)
    edges = int(partner_counts.sum())
    partner_counts *= is_long
    partner_begins = xp.cumsum(partner_counts) - partner_counts
    in_items = int(partner_counts.sum())
    partners, short = xp.empty(in_items, np.uint32), xp.empty((2, edges - in_items), np.uint32)
    cursor, filled = partner_begins.copy(), 0
    for longer, shorter in _ends(xp, oriented):
        kept = is_long[longer]
        _append(xp, cursor, partners, (longer[kept] << 32) | shorter[kept])
        rest = ~kept
        ends = longer[rest]
        short[0, filled : filled + len(ends)] = ends
        short[1, filled : filled + len(ends)] = shorter[rest]
        filled += len(ends)
    items = _items(xp, partner_begins, partner_counts, work, least_work, blocks)
    begins = items[1].astype(oriented.offsets.dtype)
    cumulative = xp.cumsum(items[3])
    total = float(cumulative[-1]) if len(cumulative) else 0.0
    return Items(partners, items[0], begins, items[2], cumulative, total), Short(short[0], short[1])


def _ends(xp, oriented) -> Iterator[tuple[Any, Any]]:
    """Slices of the edges whose lists are not empty: the vertex with the longer list and the one with the shorter."""
    degrees = oriented.degrees
    for sources, targets in edges_of(xp, oriented):
        swapped = degrees[targets] > degrees[sources]
        longer, shorter = xp.where(swapped, targets, sources), xp.where(swapped, sources, targets)
        used = degrees[shorter] > 0
        yield longer[used], shorter[used]


def _append(xp, cursor, partners, keys):
    """Put the low words of keys behind the partners that the vertices in the high words have already."""
    if len(keys) == 0:
        return
    keys.sort()
    vertices = keys >> 32
    places = xp.arange(len(keys)) - xp.searchsorted(vertices, vertices, side="left") + cursor[vertices]
    partners[places] = keys & 0xFFFFFFFF
    last = xp.ones(len(keys), bool)
    last[:-1] = vertices[1:] != vertices[:-1]
    cursor[vertices[last]] = places[last] + 1


def _items(xp, partner_begins, partner_counts, work, least_work, blocks):
    """Vertices, begins, lengths and work of the items, by falling work."""
    vertices = xp.nonzero(partner_counts)[0]
    counts, work = partner_counts[vertices], work[vertices]
    most = max(float(work.sum()) / (4 * blocks), 64.0 * least_work)
    parts = xp.minimum(xp.ceil(work / most).astype(np.int64), counts)
    ends = xp.cumsum(parts)
    total = int(ends[-1]) if len(ends) else 0
    number = xp.arange(total)
    of = xp.searchsorted(ends, number, side="right")
    number -= (ends - parts)[of]
    counts, parts = counts[of], parts[of]
    starts = counts * number // parts
    lengths = counts * (number + 1) // parts - starts
    work = work[of] / parts
    order = xp.argsort(-work, kind="stable")
    begins = partner_begins[vertices][of] + starts
    return (
        vertices[of][order].astype(np.uint32),
        begins[order],
        lengths[order].astype(np.uint32),
        work[order],
    )
