"""The support graph: which vertices are adjacent at all, in either direction and by any edge.

An arc is an ordered pair of adjacent vertices; `reverse_arc` finds the arc of the same pair in the other direction. A
pair of the pattern asks for more: directions, edge labels, labels and filters at its ends. That is an indicator over
the arcs, and the arcs that serve no pair of the pattern are left out. `xp` is NumPy or CuPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cusubmatch.graph import Adjacency, Graph, Relation
from cusubmatch.graph.cache import Cache
from cusubmatch.graph.csr import edge_keys, first_higher, row_lengths, running_sums

__all__ = ["SupportGraph", "prepared", "sources_of", "support_graph_of"]

WHOLE = Relation("any")
REVERSE_ARCS = "reverse arcs"
MOST_ARCS_WHEN_COPIED = 0.8  # of the arcs; above it leaving arcs out is not worth a copy


class SupportGraph:
    """Rows of neighbours, ascending.

    Attributes
    ----------
    xp : module
    offsets : int64 array, n + 1
    targets : int32 array
    upper : int64 array, n
        The position of the first higher neighbour in each row.
    reverse_arc : int64 array
        The position of the reverse arc of each arc; found when it is first asked for.
    """

    def __init__(
        self, xp: Any, offsets: Any, targets: Any, find_reverse_arcs: Callable[[], Any], near: Adjacency | None = None
    ):
        self.xp, self.offsets, self.targets, self._find_reverse_arcs = xp, offsets, targets, find_reverse_arcs
        self._kept = kept = Cache(xp)
        self._near: SupportGraph | None = None
        self.upper: Any
        if near is not None:

            def fetched():  # without a reference to this graph, whose memory goes with the last one
                return xp.asnumpy(kept.get(REVERSE_ARCS, None, find_reverse_arcs, 1))

            self._near = SupportGraph(np, near.offsets[0], near.targets, fetched)
            self.upper = xp.asarray(self._near.upper)
        else:
            self.upper = first_higher(xp, offsets, targets)

    @property
    def vertices(self) -> int:
        return len(self.offsets) - 1

    @property
    def reverse_arc(self) -> Any:
        return self.keep(REVERSE_ARCS, self._find_reverse_arcs)

    @property
    def near(self) -> SupportGraph:
        """The same where launches are prepared: in host memory, or this one."""
        return self._near or self

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """Data that an engine's kernels derive from the support graph, made when first asked for."""
        return self._kept.get(name, None, make, 1)


def support_graph_of(graph: Graph, reverse_arcs: Callable[[Any, Any], Any]) -> SupportGraph:
    """The support graph of a whole graph, kept with it; `reverse_arcs` is an engine's."""
    if graph.original is not None:
        return support_graph_of(graph.original, reverse_arcs)

    def make():
        rows = graph.adjacency((WHOLE,))
        offsets, targets = rows.offsets.reshape(-1), rows.targets
        is_stored = graph.near is not graph and not graph.directed and not graph.has_parallel_arcs
        near = graph.near.adjacency((WHOLE,)) if is_stored else None
        return SupportGraph(graph.xp, offsets, targets, lambda: reverse_arcs(offsets, targets), near)

    return graph.cache.get("support graph", None, make, 1)


def sources_of(xp, offsets):
    """The source of each arc, int32."""
    return xp.repeat(xp.arange(len(offsets) - 1, dtype=xp.int32), row_lengths(offsets))


def prepared(
    graph: Graph, support: SupportGraph, keys: Iterable[tuple], masks: Any, *, plain: bool
) -> tuple[SupportGraph, dict[tuple, Any]]:
    """The support graph that a pattern needs, and its indicators, bool, by key.

    A key has the conditions of either end: relations to the other end, which must all hold, and the pattern vertex
    whose bit in `masks` the other end must have, or None. With `plain`, some pairs of the pattern have no condition,
    and all arcs are kept.
    """
    xp, keys = graph.xp, list(keys)
    allowed = {side: _allowed(graph, side, masks) for key in keys for side in key}
    kept = None
    if not plain and not any(mask is None for mask in allowed.values()):
        candidates = xp.zeros(support.vertices, bool)
        for mask in allowed.values():
            candidates |= mask
        kept = candidates[support.targets]
        kept &= xp.repeat(candidates, row_lengths(support.offsets))
    whole = support
    support, kept = _smaller(xp, whole, kept)
    indicators = {key: _indicator(graph, whole, support, kept, key, allowed) for key in keys}
    if plain or not indicators:
        return support, indicators
    union = xp.zeros(len(support.targets), bool)
    for indicator in indicators.values():
        union |= indicator
    union |= union[support.reverse_arc]
    support, kept = _smaller(xp, support, union)
    return support, indicators if kept is None else {key: values[kept] for key, values in indicators.items()}


def _smaller(xp, support, kept):
    """The support graph of the kept arcs, a symmetric choice, and that choice; unchanged where most arcs are kept."""
    if kept is None or xp.count_nonzero(kept) > MOST_ARCS_WHEN_COPIED * len(kept):
        return support, None
    position = running_sums(xp, kept, xp.int64)
    offsets, targets = position[support.offsets], support.targets[kept]
    reverse_arc = position[support.reverse_arc[kept]]
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
    """Which arcs fulfil the conditions of a pair."""
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
    """Which arcs of a whole support graph are in a relation."""
    xp, rows = graph.xp, graph.adjacency((relation,))
    offsets = rows.offsets.reshape(-1)
    arcs = edge_keys(xp, sources_of(xp, support.offsets), support.targets)
    related = xp.zeros(len(arcs), bool)
    related[xp.searchsorted(arcs, edge_keys(xp, sources_of(xp, offsets), rows.targets))] = True
    return related
