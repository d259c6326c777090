"""Properties: the columns of a graph's tables as typed arrays, by internal vertex and by row of the edge table.

They are made when a condition first asks for them, on the memory of the graph's arrays, and kept in its cache. The ends
of the rows are found by numbering the ids of the edge table once more, beside the ids that the graph has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cusubmatch.errors import GraphError
from cusubmatch.frames import TypedColumn, typed_column
from cusubmatch.graph.csr import distinct, edge_keys, row_lengths
from cusubmatch.graph.edge_rows import EdgeRows, edge_rows
from cusubmatch.graph.graph import Graph
from cusubmatch.graph.labels import labels_by_code
from cusubmatch.graph.tables import Table, Tables, host_array

__all__ = [
    "arcs_of_rows",
    "edge_column",
    "edge_columns",
    "edge_label_codes",
    "id_column",
    "row_times",
    "rows_by_either_end",
    "rows_by_end",
    "tables_of",
    "time_column",
    "vertex_column",
    "vertex_columns",
    "vertices_of_ids",
]

KEPT_COLUMNS = 64


def tables_of(graph: Graph) -> Tables:
    """The tables of a graph; `GraphError` if it has none."""
    if graph.tables is None:
        raise GraphError("G: conditions need the columns of a table, and this graph was made without one")
    return graph.tables


def edge_columns(graph: Graph) -> list[str]:
    """The names of the columns of the edge table."""
    return tables_of(graph).edges.names


def vertex_columns(graph: Graph) -> list[str] | None:
    """The names of the columns of the vertex table; None without one."""
    table = tables_of(graph).vertices
    return None if table is None else table.names


def edge_column(graph: Graph, name: str) -> TypedColumn:
    """A column of the edge table, by row."""
    return _kept(graph, "edge columns", name, lambda: _typed(tables_of(graph).edges, name))


def vertex_column(graph: Graph, name: str) -> TypedColumn:
    """A column of the vertex table, by internal vertex; null for a vertex without a row."""

    def make() -> TypedColumn:
        table = tables_of(graph).vertices
        assert table is not None  # noqa: S101 - the caller has looked into `vertex_columns`
        column, places = _typed(table, name), _rows_of_vertices(graph)
        values = host_array(column.values)
        valid = places >= 0
        if column.valid is not None:
            valid &= column.valid[places]
        values = values[places] if len(values) else np.zeros(len(places), values.dtype)
        return column._replace(values=values, valid=None if valid.all() else valid)

    return _kept(graph, "vertex columns", name, make)


def id_column(graph: Graph) -> TypedColumn:
    """The ids, by internal vertex."""

    def make() -> TypedColumn:
        try:
            return typed_column(graph.family, graph._ids)  # noqa: SLF001
        except (TypeError, ValueError) as error:
            raise GraphError(f"id: the ids cannot be compared: {error}") from None

    return _kept(graph, "vertex columns", None, make)


def time_column(graph: Graph) -> str | None:
    """The name of the edge table's column of times, if it has one."""
    name = tables_of(graph).time
    return None if name is None else str(name)


def row_times(graph: Graph) -> np.ndarray | None:
    """The time of each row of the edge table, int64 in host memory; None where the graph was given no times."""
    name = time_column(graph)
    return None if name is None else host_array(edge_column(graph, name).values)


def rows_by_end(graph: Graph) -> EdgeRows:
    """The rows of the edge table by source, by target and by arc, in host memory."""

    def make() -> EdgeRows:
        source, target = _row_ends(graph)
        return edge_rows(graph.n_vertices, source, target, row_times(graph), directed=graph.directed)

    return graph.cache.get("edge rows", None, make, 2)


def rows_by_either_end(graph: Graph) -> EdgeRows:
    """The rows of a directed graph's edge table as if they had no direction."""

    def make() -> EdgeRows:
        source, target = _row_ends(graph)
        return edge_rows(graph.n_vertices, source, target, row_times(graph), directed=False)

    return graph.cache.get("edge rows", "either", make, 2)


def arcs_of_rows(graph: Graph) -> tuple[Any, ...]:
    """The stored arc of each row of the edge table, as positions in `graph.targets`; -1 for a self loop.

    On an undirected graph two of them: the arc from the first end of the row to the second, and the reverse arc.
    """

    def make() -> tuple[Any, ...]:
        source, target = _row_ends(graph)
        pairs = [(source, target)] if graph.directed else [(source, target), (target, source)]
        return tuple(graph.xp.asarray(_arc_positions(graph, *pair)) for pair in pairs)

    return graph.cache.get("arcs of rows", None, make, 1)


def edge_label_codes(graph: Graph) -> np.ndarray:
    """The graph's code of the edge label of each row, -1 for none."""
    tables = tables_of(graph)
    codes, labels = tables.edges.family.labels(tables.edges.column(tables.edge_label))
    known = labels_by_code(graph.edge_label_values or ())
    code_of = np.array([*(known[label] for label in labels), -1], np.int64)
    return code_of[host_array(codes)]


def vertices_of_ids(graph: Graph, column: Any) -> np.ndarray:
    """The internal vertex of each id of a column of the graph's family, int32; -1 for an id that is not in the graph.

    Raises
    ------
    GraphError
        If the column holds ids of another kind.
    """
    family = graph.family
    try:
        codes, ids = family.factorize([graph._ids, column])  # noqa: SLF001
    except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
        raise GraphError(f"ids: they cannot be compared with those of the graph: {error}") from None
    return _looked_up(codes, len(ids))[0]


def _row_ends(graph: Graph) -> list[np.ndarray]:
    """The internal vertices of the sources and destinations of the rows, int32 in host memory."""

    def make() -> list[np.ndarray]:
        tables = tables_of(graph)
        columns = [tables.edges.column(tables.source), tables.edges.column(tables.destination)]
        return _vertices(graph, tables.edges, columns, "edges")

    return graph.cache.get("row ends", None, make, 1)


def _rows_of_vertices(graph: Graph) -> np.ndarray:
    """The row of the vertex table of each internal vertex, -1 for none."""

    def make() -> np.ndarray:
        tables = tables_of(graph)
        table = tables.vertices
        assert table is not None  # noqa: S101 - asked for its columns only
        (vertices,) = _vertices(graph, table, [table.column(tables.vertex)], "vertices")
        places = np.full(graph.n_vertices, -1, np.int64)
        places[vertices] = np.arange(len(vertices))
        if repeats := len(vertices) - int((places >= 0).sum()):
            raise GraphError(
                f"vertices: {repeats:,} rows repeat the id of another one; conditions on vertices need one row a vertex"
            )
        return places

    return graph.cache.get("rows of vertices", None, make, 1)


def _vertices(graph: Graph, table: Table, columns: list, argument: str) -> list[np.ndarray]:
    """The internal vertices of columns of ids of a table that the graph was made of."""
    ids, family = graph._ids, table.family  # noqa: SLF001
    codes, distinct_ids = family.factorize([ids, *columns])
    found = _looked_up(codes, len(distinct_ids))
    if any(bool((vertices < 0).any()) for vertices in found):
        raise GraphError(f"{argument}: the table holds ids that the graph has not; make the graph again")
    return found


def _looked_up(codes: list, distinct_ids: int) -> list[np.ndarray]:
    """The vertices of codes, from the codes of the graph's ids, which come first."""
    vertex_of = np.full(distinct_ids, -1, np.int32)
    first = host_array(codes[0])
    vertex_of[first] = np.arange(len(first), dtype=np.int32)
    return [vertex_of[host_array(code)] for code in codes[1:]]


def _arc_positions(graph: Graph, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Where the arcs from sources to targets are stored; -1 for self loops."""
    host = graph.host
    stored = edge_keys(
        np, np.repeat(np.arange(host.n_vertices, dtype=np.int32), row_lengths(host.offsets)), host.targets
    )
    wanted = edge_keys(np, source, target)
    if host._edge_labels is not None:  # noqa: SLF001
        codes = edge_label_codes(graph)
        arcs, labels = distinct(np, stored), len(host.edge_label_values or ()) + 1
        stored = np.searchsorted(arcs, stored) * labels + host._edge_labels + 1  # noqa: SLF001
        wanted = np.searchsorted(arcs, wanted) * labels + codes + 1
    positions = np.searchsorted(stored, wanted)
    positions[source == target] = -1
    return positions


def _typed(table: Table, name: str) -> TypedColumn:
    if name in table.refused:
        raise GraphError(f"{name}: Arrow has no type for the values of this column, so the saved graph lacks it")
    values = table.column(name)
    try:
        return typed_column(table.family, values)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{name}: conditions cannot use this column: {error}") from None


def _kept(graph: Graph, kind: str, name: str | None, make: Callable[[], TypedColumn]) -> TypedColumn:
    """A typed column where the graph's arrays lie."""

    def placed() -> TypedColumn:
        column = make()
        values, valid = (None if array is None else _placed(graph.xp, array) for array in (column.values, column.valid))
        return column._replace(values=values, valid=valid)

    return graph.cache.get(kind, name, placed, KEPT_COLUMNS)


def _placed(xp: Any, array: Any) -> Any:
    return host_array(array) if xp is np else xp.asarray(array)
