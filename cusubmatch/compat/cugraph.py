"""`subgraph_monomorphism`: the signature, columns and rows of `cugraph.experimental.subgraph_monomorphism`.

All embeddings of an undirected pattern graph in an undirected graph, one column per pattern vertex, named by its id as
a string, in sorted order. Besides cuGraph's graphs it takes networkx graphs, dataframes and this package's own objects.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from cusubmatch.api.argument_types import GraphLike
from cusubmatch.api.options import as_graph
from cusubmatch.api.subgraph_match import subgraph_match
from cusubmatch.frames import as_frame, family_of
from cusubmatch.graph.edge_list import EDGE_TABLES, check_ids, edge_columns, is_arrays
from cusubmatch.pattern import MAX_VERTICES, Pattern

__all__ = ["subgraph_monomorphism"]


def subgraph_monomorphism(G: GraphLike, pattern_G: GraphLike, motifs: object = None) -> Any:
    """Find all monomorphisms of a pattern graph in a graph, as cuGraph's experimental function does.

    Parameters
    ----------
    G : cugraph.Graph, networkx.Graph, Graph or edges, as `Graph.from_edgelist` takes them
        The data graph, undirected. Self loops are ignored.
    pattern_G : Pattern, or the same kinds
        The pattern: undirected, connected, without self loops, no larger than G.
    motifs : optional
        Taken for compatibility. The answer does not depend on it.

    Returns
    -------
    DataFrame of the family of G (pandas for networkx)
        One row per embedding; a column per pattern vertex, named ``str(id)``, in sorted order of the ids; values are
        ids of G.

    Raises
    ------
    TypeError
        If an argument is no graph.
    ValueError
        If a graph is directed, or the pattern is empty, disconnected, has a self loop, or is larger than G.

    See Also
    --------
    subgraph_match : Find matches with labels, directions and other semantics.

    Examples
    --------
    >>> import networkx as nx
    >>> len(subgraph_monomorphism(nx.complete_graph(4), nx.cycle_graph(3)))
    24
    """
    for argument, graph in (("G", G), ("pattern_G", pattern_G)):
        if isinstance(graph, type):
            raise TypeError(f"{argument}: expected a graph, got the class {graph.__name__}")
        if _is_directed(graph):
            raise ValueError(f"{argument}: input graphs must be undirected")
    pattern = _checked_pattern(pattern_G)
    graph = as_graph(G, False)
    if len(pattern) > graph.n_vertices:
        raise ValueError(f"pattern_G: it has {len(pattern)} vertices, more than G, which has {graph.n_vertices}")
    if len(pattern.edges) > graph.n_edges:
        raise ValueError(f"pattern_G: it has {len(pattern.edges)} edges, more than G, which has {graph.n_edges}")
    renamed = Pattern(
        [(str(pattern.names[e.source]), str(pattern.names[e.target])) for e in pattern.edges],
        vertices=[str(name) for name in pattern.names],
    )
    return subgraph_match(graph, renamed, unique=False)


def _checked_pattern(pattern_G: GraphLike) -> Pattern:
    """The pattern of a pattern graph, its vertices in sorted order."""
    vertices, edges = _pattern_parts(pattern_G)
    if any(a == b for a, b in edges):
        raise ValueError("pattern_G: it has a self-loop, which can never be matched since self-loops of G are ignored")
    if not vertices:
        raise ValueError("pattern_G: it is empty")
    if len(vertices) > MAX_VERTICES:
        raise ValueError(f"pattern_G: it has {len(vertices)} vertices; at most {MAX_VERTICES} are supported")
    if isinstance(pattern_G, Pattern) and any(
        labels is not None for labels in (*pattern_G.labels, *(edge.labels for edge in pattern_G.edges))
    ):
        raise ValueError("pattern_G: it has labels, which are not looked at here; use subgraph_match")
    if len({str(vertex) for vertex in vertices}) < len(vertices):
        raise ValueError(f"pattern_G: vertex ids must differ as text to name columns, got {vertices}")
    try:
        return Pattern(edges, vertices=_sorted(vertices))
    except ValueError as error:
        raise ValueError(f"pattern_G: {str(error).removeprefix('pattern: ')}") from None


def _is_directed(graph: GraphLike) -> bool:
    directed = getattr(graph, "is_directed", None)
    return bool(directed()) if callable(directed) else bool(getattr(graph, "directed", False))


def _pattern_parts(graph: GraphLike) -> tuple[list[Any], list[tuple[Hashable, Hashable]]]:
    """Vertices and edges (pairs) of a pattern graph of any of the kinds."""
    if isinstance(graph, Pattern):
        return list(graph.names), [(graph.names[e.source], graph.names[e.target]) for e in graph.edges]
    if hasattr(graph, "view_edge_list"):
        table = graph.view_edge_list()
        first, second = (table[table.columns[i]].to_pandas().tolist() for i in (0, 1))
        return graph.nodes().to_pandas().tolist(), list(zip(first, second, strict=True))
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):
        return list(graph.nodes), [(a, b) for a, b, *_ in graph.edges]
    graph = as_frame(graph)
    if family_of(graph) is None and not is_arrays(graph):
        raise TypeError(f"pattern_G: expected a graph, a Pattern or {EDGE_TABLES}; got {type(graph).__name__}")
    try:
        family, table, source, destination = edge_columns(graph, None, None)
        check_ids(family, {name: family.column(table, name) for name in (source, destination)})
    except ValueError as error:
        raise ValueError(f"pattern_G: {error}") from None
    first, second = (
        family.to_arrow(family.select(table, {"v": name}))["v"].to_pylist() for name in (source, destination)
    )
    return list(dict.fromkeys([*first, *second])), list(zip(first, second, strict=True))


def _sorted(vertices: list[Any]) -> list[Any]:
    try:
        return sorted(vertices)
    except TypeError:
        return sorted(vertices, key=str)
