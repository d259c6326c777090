"""The skeleton of a graph: which vertices are adjacent at all, in either direction and by any edge.

An arc is an ordered pair of adjacent vertices; `reverse_arc` finds the arc of the same pair in the other direction. A
pair of the pattern asks for more: directions, edge labels, labels and filters at its ends. That is an indicator over
the entries,
and the entries that serve no pair of the pattern are left out. `xp` is NumPy or CuPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cusubmatch.graph import Graph, Relation
from cusubmatch.graph.cache import Cache
from cusubmatch.graph.csr import edge_keys, row_lengths, running_sums

__all__ = ["SupportGraph", "prepared", "sources_of", "support_graph_of"]

WHOLE = Relation("any")
WORTH_LEAVING_OUT = 0.8  # a share of entries above this is not worth the copy


class SupportGraph:
    """Rows of neighbours, ascending.

    Attributes
    ----------
    xp : module
    offsets : int64 array, n + 1
    targets : int32 array
    upper : int64 array, n
        Of each row the first place of a higher neighbour.
    mate : int64 array
        Of each entry the place of the same pair turned round; found when it is first asked for.
    """

    def __init__(self, xp: Any, offsets: Any, targets: Any, find_reverse_arcs: Callable[[], Any]):
        self.xp, self.offsets, self.targets, self._find_reverse_arcs = xp, offsets, targets, find_reverse_arcs
        self._kept = Cache(xp)
        higher = targets > sources_of(xp, offsets)
        self.upper = offsets[1:] - row_lengths(running_sums(xp, higher, xp.int64)[offsets])

    @property
    def vertices(self) -> int:
        return len(self.offsets) - 1

    @property
    def reverse_arc(self) -> Any:
        return self.keep("mate", self._find_reverse_arcs)

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """What an engine's kernels derive from the skeleton, made when it is first asked for."""
        return self._kept.get(name, None, make, 1)


def support_graph_of(graph: Graph, reverse_arcs: Callable[[Any, Any], Any]) -> SupportGraph:
    """The skeleton of a whole graph, kept with it; an engine's `reverse_arcs` finds the mates of its entries."""

    def make():
        rows = graph.adjacency((WHOLE,))
        offsets, targets = rows.offsets.reshape(-1), rows.targets
        return SupportGraph(graph.xp, offsets, targets, lambda: reverse_arcs(offsets, targets))

    return graph.cache.get("skeleton", None, make, 1)


def sources_of(xp, offsets):
    """The vertex whose row each entry is in, int32."""
    return xp.repeat(xp.arange(len(offsets) - 1, dtype=xp.int32), row_lengths(offsets))


def prepared(
    graph: Graph, support: SupportGraph, keys: Iterable[tuple], masks: Any, *, plain: bool
) -> tuple[SupportGraph, dict[tuple, Any]]:
    """The skeleton that a pattern needs and its indicators, bool, by key.

    A key has what is asked from either end: relations to the other end, all to be fulfilled, and the pattern vertex
    whose bit in `masks` the other end must have, or None. With `plain`, the pattern has pairs that ask for nothing, and
    all entries are kept.
    """
    xp, keys = graph.xp, list(keys)
    allowed = {side: _allowed(graph, side, masks) for key in keys for side in key}
    kept = None
    if not plain and not any(mask is None for mask in allowed.values()):
        some = xp.zeros(support.vertices, bool)
        for mask in allowed.values():
            some |= mask
        kept = some[support.targets]
        kept &= xp.repeat(some, row_lengths(support.offsets))
    whole = support
    support, kept = _smaller(xp, whole, kept)
    found = {key: _indicator(graph, whole, support, kept, key, allowed) for key in keys}
    if plain or not found:
        return support, found
    union = xp.zeros(len(support.targets), bool)
    for indicator in found.values():
        union |= indicator
    union |= union[support.reverse_arc]
    support, kept = _smaller(xp, support, union)
    return support, found if kept is None else {key: one[kept] for key, one in found.items()}


def _smaller(xp, support, kept):
    """The skeleton of the entries to be kept, a symmetric choice, and that choice; as it is where that is most."""
    if kept is None or xp.count_nonzero(kept) > WORTH_LEAVING_OUT * len(kept):
        return support, None
    place = running_sums(xp, kept, xp.int64)
    offsets, targets = place[support.offsets], support.targets[kept]
    reverse_arc = place[support.reverse_arc[kept]]
    return SupportGraph(xp, offsets, targets, lambda: reverse_arc), kept


def _allowed(graph, side, masks):
    """Which vertices may stand at the far end; None where all may."""
    relations, tested = side
    if tested is not None:
        return (masks >> np.uint32(tested)) & np.uint32(1) != 0
    found = None
    for labels in {relation.target_labels for relation in relations} - {None}:
        mask = graph.labelled(labels)
        found = mask if found is None else found & mask
    return found


def _indicator(graph, whole, support, kept, key, allowed):
    """Which entries fulfil what a pair asks."""
    xp, (here, there) = graph.xp, key
    indicator = xp.ones(len(support.targets), bool)
    if allowed[here] is not None:
        indicator &= allowed[here][support.targets]
    if allowed[there] is not None:
        indicator &= xp.repeat(allowed[there], row_lengths(support.offsets))
    for relation in here[0]:
        asked = relation._replace(direction=relation.direction if graph.directed else "any", target_labels=None)
        if asked != WHOLE:
            related = graph.cache.get("related", asked, functools.partial(_related, graph, whole, asked), graph.keep(4))
            indicator &= related if kept is None else related[kept]
    return indicator


def _related(graph, support, relation):
    """Which entries of a whole skeleton are in a relation."""
    xp, rows = graph.xp, graph.adjacency((relation,))
    offsets = rows.offsets.reshape(-1)
    entries = edge_keys(xp, sources_of(xp, support.offsets), support.targets)
    related = xp.zeros(len(entries), bool)
    related[xp.searchsorted(entries, edge_keys(xp, sources_of(xp, offsets), rows.targets))] = True
    return related
