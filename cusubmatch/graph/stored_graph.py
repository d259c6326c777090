"""A graph in a folder: what `Graph.save` writes and `Graph.load` opens.

`graph.json` holds the version of the format, numbers and the rows of each table; every table is an Arrow IPC file of
its own. Tables and entries that a reader does not know are passed over; whatever an older reader would get wrong takes
a new version. Arrays of a loaded graph lie in the mapped files (`io/arrow_files.py`).
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from cusubmatch.errors import GraphError
from cusubmatch.frames import family_named
from cusubmatch.graph.label_sets import LabelSet
from cusubmatch.graph.stored_tables import TABLES, table_columns, tables_metadata, tables_of_files
from cusubmatch.io.arrow_files import ArrowFile, DamagedFile, arrow_column, arrow_table, flush, write_arrow_file
from cusubmatch.io.publish import whole_folder
from cusubmatch.io.schemas import arrow_refusals
from cusubmatch.io.targets import check_folder
from cusubmatch.system.gpu_presence import missing_for_gpu

__all__ = ["is_usable", "load_state", "save_state"]

METADATA, FORMAT, VERSION = "graph.json", "cusubmatch graph", 2
PLAIN_VERSION = 1  # of a graph whose vertices have one label or none, which older readers know
NUMBERS = ("directed", "n_vertices", "n_edges", "dropped_self_loops", "dropped_repeats", "id_bytes")
# Arrays of a graph: the table and the column that they are in, and their type.
ARRAYS = {
    "offsets": ("offsets", "offset", np.int64),
    "targets": ("edges", "target", np.int32),
    "_edge_labels": ("edges", "label", np.int32),
    "vertex_labels": ("vertices", "label", np.int32),
}
LABELS = {"vertex_label_values": "vertex_labels", "edge_label_values": "edge_labels"}  # tables of one column, value
NEEDED = ("vertices", "offsets", "edges")
FAMILIES = ("pandas", "polars", "arrow", "cudf")
INSTEAD = {"cudf": "pandas", "polars": "arrow"}  # of a library that is not here


def save_state(state: dict[str, Any], folder: str | os.PathLike) -> None:
    """Write the state of a graph to a folder, whole or not at all."""
    target, tables = check_folder(folder), _tables(state)
    made_of, refused = table_columns(state["tables"])
    tables |= made_of
    numbers = {name: int(state[name]) for name in NUMBERS} | {"directed": bool(state["directed"])}
    version = VERSION if _has_label_sets(state) else PLAIN_VERSION
    about = {"format": FORMAT, "version": version, "family": state["family"]} | numbers
    about["tables"] = {name: table.num_rows for name, table in tables.items()}
    about |= tables_metadata(state["tables"], refused)
    with whole_folder(target, "folder") as hidden:
        for name, table in tables.items():
            write_arrow_file(hidden / f"{name}.arrow", table)
        with (hidden / METADATA).open("x", encoding="utf-8") as file:
            json.dump(about, file, indent=1)
            flush(file)


def load_state(folder: str | os.PathLike, family: str | None) -> dict[str, Any]:
    """The state of a graph that was saved in a folder; its results are of the library `family`."""
    if not isinstance(folder, (str, os.PathLike)):
        raise TypeError(f"folder: expected a str or a path, got {type(folder).__name__}")
    path = Path(folder)
    if not path.exists():
        raise FileNotFoundError(f"folder: there is no folder {str(path)!r}")
    about = _metadata(path)
    library = family_named(_family(about["family"], family))
    known = *NEEDED, *LABELS.values(), *TABLES.values()
    tables = {name: _Table(path, name, rows) for name, rows in about["tables"].items() if name in known}
    if missing := [name for name in NEEDED if name not in tables]:
        raise _foreign(path, f"{METADATA} names no table {missing[0]!r}")
    state = {name: about[name] for name in NUMBERS}
    for name, (table, column, dtype) in ARRAYS.items():
        array = tables[table].array(column, dtype)
        state[name] = array if array is None or library.xp() is np else library.xp().asarray(array)
    offsets, targets = state["offsets"], state["targets"]
    if targets is None or about["tables"]["vertices"] != state["n_vertices"]:
        raise _foreign(path, "its tables do not belong together")
    if offsets is None or len(offsets) != state["n_vertices"] + 1 or offsets[0] != 0 or offsets[-1] != len(targets):
        raise _damaged(path, "offsets")
    for name, table in LABELS.items():
        state[name] = tables[table].column("value").to_pylist() if table in tables else None
    if about["version"] > PLAIN_VERSION:
        state["vertex_label_values"] = [LabelSet(labels) for labels in state["vertex_label_values"]]
    state["tables"] = tables_of_files(about, library.name, lambda name: tables[name].whole())
    ids = library.from_arrow(tables["vertices"].select("id"))
    return state | {"_ids": library.column(ids, "id"), "family": library.name, "xp": library.xp().__name__}


class _Table:
    """A table of a saved graph; `GraphError` says which file is missing or damaged."""

    def __init__(self, folder, name, rows):
        self._folder, self._name = folder, name
        path = folder / f"{name}.arrow"
        if not path.exists():
            raise GraphError(f"folder: {path.name} is missing in {str(folder)!r}; save the graph again")
        self._file = self._read(ArrowFile, path, rows)

    def whole(self):
        return self._file.table

    def select(self, name):
        return self._read(self._file.select, name)

    def column(self, name):
        return self._read(self._file.column, name)

    def array(self, name, dtype):
        return self._read(self._file.array, name, dtype)

    def _read(self, function, *arguments):
        try:
            return function(*arguments)
        except DamagedFile:
            raise _damaged(self._folder, self._name) from None


def _tables(state):
    """The Arrow tables of a graph's arrays, ids and labels."""
    columns: dict[str, dict[str, Any]] = {"vertices": {}, "offsets": {}, "edges": {}}
    for name, (table, column, dtype) in ARRAYS.items():
        if state[name] is not None:
            array = state[name] if isinstance(state[name], np.ndarray) else state[name].get()
            columns[table][column] = array.astype(dtype, copy=False)
    for name, table in LABELS.items():
        if state[name] is not None:
            values = state[name]
            if name == "vertex_label_values" and _has_label_sets(state):
                values = [sorted(labels, key=str) for labels in values]
            columns[table] = {"value": _label_values(table, values)}
    vertices = _ids(family_named(state["family"]), state["_ids"])
    for name, values in columns.pop("vertices").items():
        vertices = vertices.append_column(name, [values])
    return {"vertices": vertices} | {name: arrow_table(some) for name, some in columns.items()}


def _has_label_sets(state):
    return any(isinstance(value, LabelSet) for value in state["vertex_label_values"] or ())


def _ids(family, ids):
    """A table of the ids, from which they come back as they are."""

    def refusal(why):
        return GraphError(f"ids: Arrow cannot hold them ({why}); make them numbers or text to save them")

    with arrow_refusals(refusal):
        table = family.to_arrow(family.frame({"id": ids})).unify_dictionaries()
        objects = family.name == "pandas" and family.kind(ids) == "other"
        if objects and family.from_arrow(table)["id"].tolist() != ids.tolist():
            raise ValueError("they would come back as other objects")
    return table


def _label_values(table, values):
    """Labels as an Arrow array, from which they come back as they are."""
    array = arrow_column(values)
    if array is None:
        some = ", ".join(map(repr, values[:5]))
        raise GraphError(f"{table.replace('_', ' ')}: Arrow cannot hold {some:.200}; make them text to save the graph")
    return array


def _metadata(path):
    try:
        about = json.loads((path / METADATA).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise _foreign(path, f"it has no {METADATA} that can be read") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT or not isinstance(about.get("version"), int):
        raise _foreign(path, f"its {METADATA} is of another program")
    if about["version"] > VERSION:
        raise GraphError(
            f"folder: {str(path)!r} is of version {about['version']} of the format, which a newer cusubmatch wrote; "
            f"this one reads version {VERSION}: upgrade cusubmatch, or save the graph again"
        )
    if missing := [name for name in (*NUMBERS, "family", "tables") if name not in about]:
        raise _foreign(path, f"its {METADATA} lacks {missing[0]!r}")
    return about


def _family(saved, wanted):
    """The library of the results: the wanted one, or that of the saved graph or what stands in for it."""
    if wanted is None:
        return saved if is_usable(saved) else INSTEAD.get(saved, "pandas")
    usable = [name for name in FAMILIES if is_usable(name)]
    if wanted not in usable:
        state = "is not installed here" if wanted in FAMILIES else f"is unknown; there are {', '.join(FAMILIES)}"
        raise ValueError(f"family: {wanted!r} {state}; usable are {', '.join(usable)}")
    return wanted


def is_usable(family: str) -> bool:
    """Whether a library of dataframes, and the GPU if it needs one, is here."""
    package = {"arrow": "pyarrow"}.get(family, family)
    if importlib.util.find_spec(package) is None:
        return False
    return family != "cudf" or missing_for_gpu() is None


def _foreign(path, why):
    return GraphError(f"folder: {str(path)!r} is no graph that Graph.save wrote: {why}")


def _damaged(path, name):
    return GraphError(f"folder: {name}.arrow in {str(path)!r} is damaged or cut short; save the graph again")
