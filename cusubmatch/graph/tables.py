"""The tables that a graph was made of, kept by reference: what conditions read columns from.

Nothing is read before a condition asks for it. A dataframe that was edited after the graph was made of it is found out
by its length when a column is asked for.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cusubmatch.errors import GraphError
from cusubmatch.frames import Family, family_named

__all__ = ["NetworkxAttributes", "ParquetTable", "Table", "Tables", "checked_time", "host_array"]

TIME_KINDS = ("integer", "temporal")


class NetworkxAttributes:
    """The attributes of the nodes or the edges of a networkx graph, made a table when they are first asked for."""

    def __init__(self, graph: Any, part: str):
        self._graph, self._part = graph, part

    def frame(self, family: Family) -> Any:
        """One row a node, or an edge in the order of `graph.edges()`; None where an attribute is absent."""
        if self._part == "nodes":
            keys, holders = {"vertex": list(self._graph.nodes)}, [self._graph.nodes[node] for node in self._graph.nodes]
        else:
            edges = list(self._graph.edges(data=True))
            holders = [data for _, _, data in edges]
            keys = {"source": [a for a, _, _ in edges], "destination": [b for _, b, _ in edges]}
        names = dict.fromkeys(name for data in holders for name in data if name not in keys)
        columns = keys | {name: [data.get(name) for data in holders] for name in names}
        return family.frame({str(name): family.objects(values) for name, values in columns.items()})


class ParquetTable:
    """A table in Parquet files, whose columns are read when they are asked for.

    Parameters
    ----------
    paths : list of str
    family : str
        The library that they are read with.
    names : list
        The columns.
    """

    def __init__(self, paths: Sequence[str], family: str, names: list):
        self._paths, self._family, self.names = list(paths), family, names
        self._stamps = self._stamps_now()

    def frame(self, names: list[str] | None = None) -> Any:
        """Some columns, by default all, as a dataframe; `GraphError` if a file has changed."""
        self._check()
        read = family_named(self._family).read_parquet(self._paths, names)
        self._check()  # it may have changed while it was read
        return read

    def _check(self) -> None:
        for path, before, now in zip(self._paths, self._stamps, self._stamps_now(), strict=True):
            if before != now:
                raise GraphError(f"G: {path!r} has changed since the graph was made of it; make the graph again")

    def _stamps_now(self) -> list[tuple[int, int] | None]:
        abouts = [Path(path).stat() if Path(path).exists() else None for path in self._paths]
        return [about and (about.st_size, about.st_mtime_ns) for about in abouts]


class Table:
    """One table.

    Parameters
    ----------
    frame : dataframe, NetworkxAttributes, ParquetTable or pyarrow.Table
    family : str
        The library of the frame.
    rows : int
        The number of rows when the graph was made.
    columns_family : str, optional
        The library that columns are wanted in; default that of the frame.
    refused : tuple of str
        Columns that were left out when the graph was saved.

    Attributes
    ----------
    title : str
        What messages call it.
    """

    title = "a table"

    def __init__(
        self, frame: Any, family: str, rows: int, columns_family: str | None = None, refused: Sequence[str] = ()
    ):
        self._frame, self._family, self.rows = frame, family, rows
        self._columns_family, self.refused = columns_family or family, tuple(refused)

    @property
    def family(self) -> Family:
        """The library of the columns."""
        return family_named(self._columns_family)

    @property
    def frame(self) -> Any:
        """The dataframe; `GraphError` if it was edited."""
        if isinstance(self._frame, NetworkxAttributes):
            self._frame = self._frame.frame(family_named(self._family))
        return self._checked(self._frame.frame() if isinstance(self._frame, ParquetTable) else self._frame)

    def _checked(self, frame: Any) -> Any:
        now = family_named(self._family).length(frame)
        if now != self.rows:
            raise GraphError(
                f"G: {self.title} had {self.rows:,} rows when the graph was made of it and has {now:,} now; conditions "
                "read its columns, so make the graph again"
            )
        return frame

    @property
    def names(self) -> list[str]:
        """The names of the columns, as text."""
        if isinstance(self._frame, ParquetTable):
            return [str(name) for name in self._frame.names]
        return [str(name) for name in family_named(self._family).column_names(self.frame)]

    def column(self, name: Hashable) -> Any:
        """A column by its name, or by the text of it."""
        of_frame = family_named(self._family)
        if isinstance(self._frame, ParquetTable) and str(name) in self.names:
            frame = self._checked(self._frame.frame([str(name)]))
        else:
            frame = self.frame
        names = [known for known in of_frame.column_names(frame) if str(known) == str(name)]
        if len(names) != 1:
            raise GraphError(f"{name}: {len(names)} columns have this name; conditions need exactly one")
        if self._columns_family == self._family:
            return of_frame.column(frame, names[0])
        return self.family.column(self.family.from_arrow(frame.select(names)), names[0])


class Tables:
    """The tables of a graph, and which of their columns have a meaning to it.

    Attributes
    ----------
    edges : Table
    vertices : Table or None
    source, destination, edge_label, vertex, time : str or None
        Column names, as text.
    """

    def __init__(self, edges: Table, vertices: Table | None, **names: Hashable):
        self.edges, self.vertices = edges, vertices
        edges.title = "the edge table"
        if vertices is not None:
            vertices.title = "the vertex table"
        self.source, self.destination = names["source"], names["destination"]
        self.edge_label, self.vertex, self.time = names.get("edge_label"), names.get("vertex"), names.get("time")


def checked_time(family: Family, edges: Any, name: Hashable) -> None:
    """Refuse a column of times that cannot order the rows."""
    column = family.column(edges, name)
    kind, nulls = family.kind(column), family.null_count(column)
    if nulls:
        raise GraphError(f"time: {nulls:,} values of column {name!r} are null; fill them or drop these rows first")
    if kind == "float":
        raise GraphError(f"time: column {name!r} holds floats; make it integers, time stamps or dates first")
    if kind not in TIME_KINDS and not (kind == "other" and not len(column)):
        raise GraphError(f"time: column {name!r} is {kind}; expected integers, time stamps or dates")


def host_array(array: Any) -> np.ndarray:
    """An array in host memory."""
    return array if isinstance(array, np.ndarray) else array.get()
