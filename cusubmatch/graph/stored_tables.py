"""The tables of a graph in its saved folder: an Arrow file each, whose columns are read when a condition asks for them.

A column that Arrow has no type for is left out, and named in the metadata, so that asking for it says why it is not
there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cusubmatch.graph.tables import Table, Tables
from cusubmatch.io.schemas import arrow_refusals

__all__ = ["TABLES", "table_columns", "tables_metadata", "tables_of_files"]

TABLES = {"edges": "edge_table", "vertices": "vertex_table"}  # the file of each
NAMES = ("source", "destination", "edge_label", "vertex", "time")


class _Refused(Exception):
    """Arrow cannot hold a column."""


def table_columns(tables: Tables | None) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The Arrow tables to be written, by their file, and the columns that Arrow cannot hold, by the same."""
    written: dict[str, Any] = {}
    refused: dict[str, list[str]] = {}
    for part, file in TABLES.items():
        table = None if tables is None else getattr(tables, part)
        if table is not None:
            written[file], refused[file] = _arrow(table)
    return written, refused


def tables_metadata(tables: Tables | None, refused: dict[str, list[str]]) -> dict[str, Any]:
    """What `graph.json` says of the tables."""
    if tables is None:
        return {}
    names = {name: getattr(tables, name) for name in NAMES}
    return {"columns": {name: None if value is None else str(value) for name, value in names.items()} | refused}


def tables_of_files(about: dict[str, Any], family: str, read: Callable[[str], Any]) -> Tables | None:
    """The tables of a loaded graph; `read` gives the Arrow table of a file, and columns are wanted in `family`."""
    columns = about.get("columns")
    if columns is None or TABLES["edges"] not in about["tables"]:
        return None
    parts = {
        part: Table(read(file), "arrow", about["tables"][file], family, columns.get(file, ()))
        for part, file in TABLES.items()
        if file in about["tables"]
    }
    return Tables(parts["edges"], parts.get("vertices"), **{name: columns.get(name) for name in NAMES})


def _arrow(table):
    """A table as Arrow's, and the names of the columns that are not in it."""
    family, columns, refused = table.family, {}, []
    for name in table.names:
        try:
            with arrow_refusals(_Refused):
                columns[name] = table.column(name)
                family.to_arrow(family.frame({name: columns[name]}))
        except _Refused:
            columns.pop(name, None)
            refused.append(name)
    return family.to_arrow(family.frame(columns)).unify_dictionaries(), refused
