"""Building a graph: from an edge list or another library's graph to codes, and from codes to compressed sparse rows.

Vertices are renumbered by ascending degree, so that "the later vertex has the lower rank" cuts a sorted list and prunes
too (degree ordering; Chiba & Nishizeki 1985).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.errors import GraphError
from cusubmatch.frames import Family, as_frame, family_named, family_of
from cusubmatch.graph.csr import any_of, low_words, offsets_of, sorted_keys
from cusubmatch.graph.edge_list import (
    check_ids,
    checked_name,
    edge_columns,
    label_codes,
    matrix_size,
    vertex_label_codes,
)
from cusubmatch.graph.sorted_rows import building_bytes, degrees_of, replace_by_ranks, sorted_rows, without_loops
from cusubmatch.graph.tables import NetworkxAttributes, Table, Tables, checked_time
from cusubmatch.system.host_memory import free_bytes

__all__ = ["CodedEdges", "build", "check_memory", "cugraph_edges", "encode", "encode_networkx"]

VERTEX_BITS = 31
MAX_VERTICES = 2**VERTEX_BITS - 1
MAX_DEGREE = 2**32 - 1  # that the order tells from a higher one
CHECKED_BYTES = 1 << 26  # less is there
INTEGER_BYTES, OBJECT_BYTES = 8, 32  # about what an id takes in a result


class CodedEdges(NamedTuple):
    """Edges whose ends are numbers.

    Attributes
    ----------
    family : Family
        The library of the results.
    codes : list of int32 arrays
        Sources, destinations and, if there are any, the rows of the vertex table; `build` empties the list.
    ids : column
        The id of each number.
    edge_labels, vertex_labels : tuple of (codes, values) or None
        A label code for each edge, or for each row of the vertex table; -1 for none.
    tables : Tables or None
        What the graph is made of, for conditions on columns.
    """

    family: Family
    codes: list
    ids: Any
    edge_labels: tuple[Any, list] | None = None
    vertex_labels: tuple[Any, list] | None = None
    tables: Tables | None = None


def encode(
    edges, source, destination, edge_label, vertices, vertex, vertex_label, time=None, *, directed=False
) -> CodedEdges:
    """Number the vertices and labels of an edge table; the arguments are those of `Graph.from_edgelist`."""
    size = matrix_size(edges)
    family, edges, source, destination = edge_columns(edges, source, destination)
    columns = {"source": family.column(edges, source), "destination": family.column(edges, destination)}
    if vertices is not None:
        vertices = as_frame(vertices)
        if family_of(vertices) is not family:
            raise TypeError(f"vertices: expected a {family.name} dataframe as for edges, got {type(vertices).__name__}")
        columns["vertex"] = family.column(vertices, checked_name(family, vertices, vertex, "vertex"))
    elif vertex_label is not None:
        raise GraphError(f"vertex_label: {vertex_label!r} was given without vertices, the dataframe that holds it")
    if size is not None:
        columns["rows of the matrix"] = family.values(family.xp().arange(size))
    check_ids(family, columns)
    check_memory(family, family.length(edges), labelled=edge_label is not None, directed=directed)
    tables = None
    if size is None:
        tables = Tables(
            Table(edges, family.name, family.length(edges)),
            None if vertices is None else Table(vertices, family.name, family.length(vertices)),
            source=source,
            destination=destination,
            edge_label=edge_label,
            vertex=vertex,
            time=time,
        )
    if time is not None:
        checked_time(family, edges, checked_name(family, edges, time, "time"))
    edge_labels = vertex_labels = None
    if edge_label is not None:
        edge_labels = label_codes(family, edges, edge_label, "edge_label")
    if vertex_label is not None:
        vertex_labels = vertex_label_codes(family, vertices, vertex_label)
    try:
        codes, ids = family.factorize(list(columns.values()))
    except OverflowError as error:
        raise GraphError(f"edges: {error}") from None
    except (TypeError, ValueError, NotImplementedError) as error:
        raise GraphError(f"source, destination: these ids cannot be numbered together: {error}") from None
    return CodedEdges(family, codes, ids, edge_labels, vertex_labels, tables)


def encode_networkx(graph, vertex_label, edge_label) -> CodedEdges:
    """Number the vertices and labels of a networkx graph."""
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
        raise TypeError(f"graph: expected a networkx graph, got {type(graph).__name__}")
    family = family_named("pandas")
    nodes = list(graph.nodes)
    code_of = {node: code for code, node in enumerate(nodes)}
    pairs = np.array([(code_of[a], code_of[b]) for a, b in graph.edges()], np.int32).reshape(-1, 2)
    codes = [
        np.ascontiguousarray(pairs[:, 0]),
        np.ascontiguousarray(pairs[:, 1]),
        np.arange(len(nodes), dtype=np.int32),
    ]
    edge_labels = vertex_labels = None
    if edge_label is not None:
        edge_labels = _attribute_codes("edge_label", edge_label, [data for _, _, data in graph.edges(data=True)])
    if vertex_label is not None:
        vertex_labels = _attribute_codes("vertex_label", vertex_label, [graph.nodes[node] for node in nodes])
    tables = Tables(
        Table(NetworkxAttributes(graph, "edges"), family.name, len(pairs)),
        Table(NetworkxAttributes(graph, "nodes"), family.name, len(nodes)),
        source="source",
        destination="destination",
        edge_label=edge_label,
        vertex="vertex",
    )
    return CodedEdges(family, codes, family.objects(nodes), edge_labels, vertex_labels, tables)


def cugraph_edges(graph) -> dict[str, Any]:
    """The arguments of `Graph.from_edgelist` for a `cugraph.Graph`."""
    if not hasattr(graph, "view_edge_list"):
        raise TypeError(f"graph: expected a cugraph.Graph, got {type(graph).__name__}")
    edges = graph.view_edge_list()
    source, destination = graph.source_columns, graph.destination_columns
    if source not in list(edges.columns):
        source, destination = "src", "dst"
    family = family_of(edges)
    if family is None:
        raise TypeError(f"graph: expected a cugraph.Graph, got {type(graph).__name__}")
    return {
        "edges": edges,
        "source": source,
        "destination": destination,
        "directed": graph.is_directed(),
        "vertices": family.frame({"vertex": graph.nodes()}),
    }


def build(coded: CodedEdges, directed: bool) -> dict[str, Any]:
    """Build the state of a `Graph`: edges sorted, without self loops and repeats, between vertices in rank order."""
    family, codes, ids, edge_labels, vertex_labels, tables = coded
    del coded  # the ids as they were numbered go too
    xp, n = family.xp(), len(ids)
    if n > MAX_VERTICES:
        raise GraphError(f"edges: {n} vertices; at most 2**31 - 1 are supported")
    rows = len(codes[0])
    labels, edge_label_values = edge_labels or (None, None)
    proper = without_loops(xp, [codes[0], codes[1], *([] if labels is None else [labels])])
    ends, labels = proper[:2], proper[2] if len(proper) > 2 else None
    del proper
    dropped_self_loops = rows - len(ends[0])
    by_rank = _ascending(xp, degrees_of(xp, ends, n))
    id_kind, ids = family.kind(ids), family.take(ids, by_rank)
    rank = xp.empty(n, xp.int32)
    rank[by_rank] = xp.arange(n, dtype=xp.int32)
    del by_rank
    table_ranks = rank[codes[2]] if vertex_labels else None
    codes.clear()  # keys take the place of the edges
    if labels is None:
        replace_by_ranks(ends, rank)
        del rank
        offsets, targets = sorted_rows(xp, ends, n, symmetric=not directed)
    else:
        keys, labels = sorted_keys(xp, rank, ends, labels, symmetric=not directed)
        offsets, targets = offsets_of(xp, keys, n), low_words(xp, keys)
    n_edges = len(targets) if directed else len(targets) // 2
    return {
        "family": family.name,
        "xp": xp.__name__,
        "directed": bool(directed),
        "n_vertices": n,
        "n_edges": n_edges,
        "dropped_self_loops": dropped_self_loops,
        "dropped_repeats": rows - dropped_self_loops - n_edges,
        "id_bytes": INTEGER_BYTES if id_kind == "integer" else OBJECT_BYTES,
        "offsets": offsets,
        "targets": targets,
        "_edge_labels": labels,
        "edge_label_values": edge_label_values,
        "vertex_labels": _ranked_labels(xp, table_ranks, vertex_labels[0], n) if vertex_labels else None,
        "vertex_label_values": vertex_labels[1] if vertex_labels else None,
        "_ids": ids,
        "tables": tables,
    }


def check_memory(family: Family, rows: int, *, labelled: bool, directed: bool) -> None:
    """Refuse to build a graph that is sure not to fit, before anything is done for it."""
    needed = building_bytes(rows, directed=directed, labelled=labelled)
    if needed > CHECKED_BYTES and needed > (free := free_bytes(family.xp())):
        where = "host memory" if family.xp() is np else "memory of the GPU"
        raise GraphError(
            f"edges: building a graph of {rows:,} rows takes about {needed:,} bytes of {where} beside the table, and "
            f"{free:,} are free; free some (other graphs, tables), or build it once on a larger machine, save it there "
            "and load it here"
        )


def _ascending(xp, degrees):
    """The vertices by ascending degree (int64, in place of the degrees); those of one degree stay in order.

    A degree and its vertex are one word: sorting words takes less memory and time than sorting positions.
    """
    xp.minimum(degrees, MAX_DEGREE, out=degrees)
    degrees <<= VERTEX_BITS
    degrees |= xp.arange(len(degrees), dtype=xp.int32)
    degrees.sort()
    degrees &= MAX_VERTICES
    return degrees


def _ranked_labels(xp, ranks, codes, n):
    """The label code of each vertex, from those of the rows of the vertex table."""
    labels = xp.full(n, -1, xp.int32)
    labels[ranks] = codes
    clash = labels[ranks] != codes
    if any_of(clash):
        raise GraphError(
            f"vertices: {int(clash.sum())} rows give a vertex a second, different label; a vertex has one label or none"
        )
    return labels


def _attribute_codes(argument, attribute, holders):
    """Codes and values of an attribute of networkx nodes or edges; -1 where it is absent."""
    if holders and not any(attribute in data for data in holders):
        raise GraphError(f"{argument}: nothing has the attribute {attribute!r}")
    values: dict = {}
    codes = []
    for label in (data.get(attribute) for data in holders):
        try:
            missing = label is None or label != label  # noqa: PLR0124 - NaN
            codes.append(-1 if missing else values.setdefault(label, len(values)))
        except TypeError:
            raise GraphError(f"{argument}: attribute {attribute!r} holds {label!r}, which cannot be a label") from None
    return np.array(codes, np.int32), list(values)
