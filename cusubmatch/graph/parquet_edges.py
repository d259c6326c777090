"""A graph of Parquet files that are never whole in memory: ids are numbered a row group at a time.

The numbering looks at all values of one column after another, twice at most, and a column of a Parquet file is read for
itself, so nothing is kept but the codes. Columns for conditions are read when they are asked for. This needs integer
ids whose least and greatest value are known of each row group, and no edge labels; other files are read whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cusubmatch.frames import Family
from cusubmatch.graph.build import CodedEdges, build, check_memory
from cusubmatch.graph.edge_list import check_ids, checked_name, edge_columns, vertex_label_codes
from cusubmatch.graph.graph import Graph
from cusubmatch.graph.tables import ParquetTable, Table, Tables

__all__ = ["graph_of_parquet"]


def graph_of_parquet(paths: Sequence[str], family: Family, vertices: Any, options: Mapping[str, Any]) -> Graph:
    """Build a graph of Parquet files with one row an edge.

    Parameters
    ----------
    paths : list of str
        Their rows follow one another.
    family : Family
        The library of the results, and of `vertices`.
    vertices : dataframe or None
    options : mapping
        The other arguments of `Graph.from_edgelist`, by name.

    Returns
    -------
    Graph
        The same as of the whole table.
    """
    encoded = [_encoded(paths, family, vertices, **options)]
    if encoded[0] is None:
        return Graph.from_edgelist(family.read_parquet(paths, None), vertices=vertices, **options)
    # `build` gets the only reference, so that it frees what it no longer needs.
    return Graph._of_state(build(encoded.pop(), options["directed"]))  # noqa: SLF001 - of this room


class RowGroup:
    """A column of integers of one row group, as far as the numbering knows arrays: read when it is sliced."""

    def __init__(self, xp: Any, file: Any, number: int, name: str, column: Any):
        self._xp, self._file, self._number, self._name = xp, file, number, name
        self._low, self._high = column.statistics.min, column.statistics.max
        self._values: Any = None
        self.size = column.num_values
        self.dtype = np.dtype(file.schema_arrow.field(name).type.to_pandas_dtype())

    def min(self) -> int:
        """The least value."""
        return self._low

    def max(self) -> int:
        """The greatest value."""
        return self._high

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """All values as an array."""
        return self[:].astype(dtype, copy=copy)

    def __getitem__(self, part: slice) -> Any:
        if self._values is None:
            table = self._file.read_row_group(self._number, columns=[self._name], use_threads=False)
            self._values = table.column(0).to_numpy()
        some = self._xp.asarray(self._values[part])
        if part.stop is None or part.stop >= self.size:  # slices follow one another
            self._values = None
        return some


def _encoded(paths, family, vertices, source, destination, directed, edge_label, vertex, vertex_label, time):
    """The edges with numbers for ids; None for files that must be read whole."""
    from pyarrow import parquet

    files = [parquet.ParquetFile(path) for path in paths]
    schema, rows = files[0].schema_arrow, sum(file.metadata.num_rows for file in files)
    if edge_label is not None or not rows or (vertex_label is not None and vertices is None):
        return None
    empty = family.from_arrow(schema.empty_table())
    _, empty, source, destination = edge_columns(empty, source, destination)
    chunks = [_row_groups(family.xp(), files, name) for name in (source, destination)]
    if None in chunks or (time is not None and _row_groups(np, files, time) is None):
        return None
    like = [family.column(empty, name) for name in (source, destination)]
    if vertices is not None:
        ids = family.column(vertices, checked_name(family, vertices, vertex, "vertex"))
        check_ids(family, {"vertex": ids})
        arrays = family.integer_arrays(ids)
        if arrays is None or not len(ids):
            return None
        chunks, like = [*chunks, arrays], [*like, ids]
    check_memory(family, rows, labelled=False, directed=directed)
    tables = Tables(
        Table(ParquetTable(paths, family.name, family.column_names(empty)), family.name, rows),
        None if vertices is None else Table(vertices, family.name, family.length(vertices)),
        source=source,
        destination=destination,
        edge_label=None,
        vertex=vertex,
        time=time,
    )
    labels = None if vertex_label is None else vertex_label_codes(family, vertices, vertex_label)
    codes, ids = family.factorize_integers(chunks, like)
    return CodedEdges(family, codes, ids, None, labels, tables)


def _row_groups(xp, files, name):
    """A column of integers in row groups; None if it is no such column, has nulls, or its bounds are not known."""
    from pyarrow import types

    kinds = {file.schema_arrow.field(name).type if name in file.schema_arrow.names else None for file in files}
    if len(kinds) > 1 or None in kinds or not types.is_integer(next(iter(kinds))):
        return None
    groups = []
    for file in files:
        place = file.metadata.schema.names.index(name)
        for number in range(file.metadata.num_row_groups):
            column = file.metadata.row_group(number).column(place)
            known = column.statistics
            if (
                column.path_in_schema != name
                or known is None
                or not known.has_min_max
                or not known.has_null_count
                or known.null_count
            ):
                return None
            groups.append(RowGroup(xp, file, number, name, column))
    return groups
