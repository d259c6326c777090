"""Relations and their rows: which edges a pattern edge may be matched to, as compressed sparse rows.

A relation names a direction, edge labels and labels of the vertex at the far end. Its rows are made from the stored
edges of a graph. Where the relation asks for nothing more than the stored edges have, they are the stored rows.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from cusubmatch.graph.csr import distinct, edge_keys, low_words, offsets_of, row_lengths, running_sums

__all__ = ["Adjacency", "Relation", "adjacency_of", "with_label"]


class Relation(NamedTuple):
    """Which edges count from a vertex: direction "out", "in" or "any"; label codes, None for all.

    `between` names the rows of a candidate graph, which hold only some of these edges; None: all of the graph's.
    """

    direction: str
    edge_labels: frozenset[int] | None = None
    target_labels: frozenset[int] | None = None
    between: Hashable = None


class Adjacency(NamedTuple):
    """Rows of several relations: row v of relation r is targets[offsets[r, v]:offsets[r, v + 1]], ascending.

    `key` identifies an adjacency among those of one graph: what is derived from it is cached under this key. None:
    nothing is.
    """

    offsets: Any  # (relations, n + 1) int64
    targets: Any  # int32
    key: Hashable


def adjacency_of(graph, relations: tuple[Relation, ...]) -> Adjacency:
    """Make the rows of each relation of a graph, in the order given."""
    xp, parts = graph.xp, [_rows(graph, relation) for relation in relations]
    if len(parts) == 1:
        return Adjacency(parts[0][0][None, :], parts[0][1], relations)
    offsets, base = xp.empty((len(parts), graph.n_vertices + 1), xp.int64), 0
    for row, (part, targets) in zip(offsets, parts, strict=True):
        row[:] = part + base
        base += len(targets)
    targets = xp.concatenate([targets for _, targets in parts]) if parts else graph.targets
    return Adjacency(offsets, targets, relations)


def with_label(graph, labels):
    """For each vertex, whether its label is one of these codes."""
    return graph.xp.isin(graph.vertex_labels, graph.xp.asarray(sorted(labels), graph.xp.int32))


def _rows(graph, relation):
    """The offsets and targets of one relation, made from the stored edges."""
    xp, n, stored_labels = graph.xp, graph.n_vertices, graph._edge_labels  # noqa: SLF001
    direction, edge_labels, target_labels, _ = relation
    if graph.original is not None and edge_labels is None and target_labels is None:
        rows = graph.original.adjacency((relation,))
        return rows.offsets[0], rows.targets
    if not graph.directed:
        direction = "out"
    kept = None
    if edge_labels is not None:
        kept = xp.isin(stored_labels, xp.asarray(sorted(edge_labels), xp.int32))
    has_parallel_edges = graph.has_parallel_arcs and (edge_labels is None or len(edge_labels) > 1)
    if direction == "out" and not has_parallel_edges:
        if target_labels is not None:
            allowed = with_label(graph, target_labels)[graph.targets]
            kept = allowed if kept is None else kept & allowed
        if kept is None:
            return graph.offsets, graph.targets
        return running_sums(xp, kept, xp.int64)[graph.offsets], graph.targets[kept]
    sources = xp.repeat(xp.arange(n, dtype=xp.int32), row_lengths(graph.offsets))
    targets = graph.targets
    if kept is not None:
        sources, targets = sources[kept], targets[kept]
    pairs = [(sources, targets)] if direction != "in" else []
    pairs += [(targets, sources)] if direction != "out" else []
    if target_labels is not None:
        allowed = with_label(graph, target_labels)
        pairs = [(a[allowed[b]], b[allowed[b]]) for a, b in pairs]
    keys = xp.concatenate([edge_keys(xp, a, b) for a, b in pairs])
    keys.sort()
    keys = distinct(xp, keys)
    return offsets_of(xp, keys, n), low_words(xp, keys)
