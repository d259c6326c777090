"""The vertices of a labelled graph by label, so that candidates are read one after the other.

Candidates of a pattern vertex often have one label, and their neighbours that matter another one. A *place* is a
number of a vertex. Where patterns share their relations, places are in the order of labels, and the rows of all
relations are kept so: rows and masks of candidates then lie close together. Else, and in a large graph, of which it
would take another copy, places are the vertices themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.graph import Adjacency, Graph
from cusubmatch.plan import Constraints

__all__ = ["Places", "places_of"]

MOST_ARCS = 1 << 24  # of rows that are kept in the order of labels


class Places(NamedTuple):
    """How the vertices of a graph are numbered while candidates are looked for.

    Attributes
    ----------
    by_label : int32 (n,)
        The places in the order of labels, those of vertices without a label first.
    begins : list of int
        Where those of each label begin in `by_label`, and n.
    adjacency : Adjacency
        Rows of the relations, from places to places.
    vertices : int32 (n,) or None
        The vertex of each place; None where places are vertices.
    degrees : uint8 (relations, n)
        The lengths of the rows, up to 255; of no relation where places are vertices.
    """

    by_label: np.ndarray
    begins: list[int]
    adjacency: Adjacency
    vertices: np.ndarray | None
    degrees: np.ndarray

    def by_vertex(self, masks: np.ndarray) -> np.ndarray:
        """Values of places, one for each vertex."""
        if self.vertices is None:
            return masks
        of_vertices = np.empty_like(masks)
        _scatter(masks, self.vertices, of_vertices)
        return of_vertices


def places_of(graph: Graph, constraints: Constraints, adjacency: Adjacency) -> Places:
    """The places of a host graph, whose adjacency is that of the constraints' relations; kept with the graph."""
    vertices, begins = graph.cache.get("vertices by label", None, lambda: _by_label(graph), 1)
    shared = constraints.relations and constraints.relations == graph.shared_relations
    if not shared or len(adjacency.targets) > MOST_ARCS:
        return Places(vertices, begins, adjacency, None, np.empty((0, 0), np.uint8))

    def ordered() -> Places:
        places = np.empty_like(vertices)
        places[vertices] = by_label = np.arange(len(vertices), dtype=np.int32)
        offsets, targets = np.empty_like(adjacency.offsets), np.empty_like(adjacency.targets)
        _order_rows(adjacency.offsets, adjacency.targets, vertices, places, offsets, targets)
        degrees = np.minimum(np.diff(offsets, axis=1), np.iinfo(np.uint8).max).astype(np.uint8)
        return Places(by_label, begins, Adjacency(offsets, targets, None), vertices, degrees)

    return graph.cache.get("rows by label", None, ordered, 1)


def _by_label(graph):
    """The vertices by label code, those without a label first, and where those of each label begin."""
    if graph.vertex_labels is None:
        return np.arange(graph.n_vertices, dtype=np.int32), [0, graph.n_vertices]
    counts = np.bincount(graph.vertex_labels + 1, minlength=len(graph.vertex_label_values) + 1)
    return np.argsort(graph.vertex_labels, kind="stable").astype(np.int32), [0, *np.cumsum(counts).tolist()]


@jit
def _order_rows(offsets, targets, vertices, places, out_offsets, out_targets):
    """Write the rows of each relation in the order of places; a row stays ascending, as its targets have one label."""
    position = 0
    for r in range(len(offsets)):
        for place in range(len(vertices)):
            out_offsets[r, place] = position
            v = vertices[place]
            for i in range(offsets[r, v], offsets[r, v + 1]):
                out_targets[position] = places[targets[i]]
                position += 1
        out_offsets[r, len(vertices)] = position


@jit
def _scatter(values, positions, out):
    """Write each value to its position."""
    for i in range(len(values)):
        out[positions[i]] = values[i]
