"""Patterns from graphs of other libraries: the arguments of `Pattern` for a networkx or cuGraph graph."""

from __future__ import annotations

from typing import Any

__all__ = ["arguments_of_cugraph", "arguments_of_networkx"]


def arguments_of_networkx(graph: Any, label: str | None, edge_label: str | None) -> dict[str, Any]:
    """The arguments of `Pattern` for a networkx graph of any of its four kinds."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
        raise TypeError(f"graph: expected a networkx graph, got {type(graph).__name__}")
    edges = list(graph.edges(data=True))
    return {
        "edges": [(a, b) for a, b, _ in edges],
        "vertices": list(graph.nodes),
        "labels": {v: data[label] for v, data in graph.nodes(data=True) if data.get(label) is not None},
        "directed": graph.is_directed(),
        "edge_labels": [data.get(edge_label) for _, _, data in edges],
    }


def arguments_of_cugraph(graph: Any) -> dict[str, Any]:
    """The arguments of `Pattern` for a `cugraph.Graph`."""
    if not hasattr(graph, "view_edge_list"):
        raise TypeError(f"graph: expected a cugraph.Graph, got {type(graph).__name__}")
    edges = graph.view_edge_list()
    source, destination = (edges[edges.columns[i]].to_pandas().tolist() for i in (0, 1))
    return {
        "edges": zip(source, destination, strict=True),
        "vertices": graph.nodes().to_pandas().tolist(),
        "directed": graph.is_directed(),
    }
