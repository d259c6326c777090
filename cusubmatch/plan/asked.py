"""What a call asks beside labels and edges, as data that can be sent to another process with a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern

__all__ = ["Asked", "VertexSet"]


class VertexSet(NamedTuple):
    """Some vertices of a graph.

    Attributes
    ----------
    key : str
        Equal for equal sets.
    vertices : int32 array
        Internal vertices.
    """

    key: str
    vertices: Any

    def mask(self, graph: Graph) -> Any:
        """Which vertices of a graph are in the set: a bool array (n,) where the graph's arrays lie."""
        mask = graph.xp.zeros(graph.n_vertices, bool)
        mask[graph.xp.asarray(self.vertices)] = True
        return mask


@dataclass(frozen=True, eq=False)
class Asked:
    """The conditions of a call.

    Attributes
    ----------
    pattern : Pattern
        As it was given, with its conditions.
    parameters : dict
        A value for each parameter of the pattern.
    candidates : dict of int to VertexSet
        The vertices that the images of some pattern vertices must be among.
    touched : dict of int to (bool, VertexSet)
        Pattern vertices whose images must be in a set, or outside of it.
    edges : {"any", "each"}
        Whether named edges are bound to rows of the edge table.
    """

    pattern: Pattern
    parameters: Mapping[str, Any]
    candidates: Mapping[int, VertexSet]
    touched: Mapping[int, tuple[bool, VertexSet]] = field(default_factory=dict)
    edges: str = "any"
