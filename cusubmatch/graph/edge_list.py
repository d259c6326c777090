"""The edge list as a user gives it: finding the columns, and refusing ids and labels that cannot be used."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from cusubmatch.errors import GraphError
from cusubmatch.frames import Family, as_frame, family_named, family_of
from cusubmatch.graph.label_sets import codes_of_columns, codes_of_lists
from cusubmatch.graph.tables import host_array

__all__ = [
    "DEFAULT_COLUMNS",
    "EDGE_TABLES",
    "check_ids",
    "checked_name",
    "edge_columns",
    "is_arrays",
    "label_codes",
    "matrix_size",
    "vertex_label_codes",
]

EDGE_TABLES = (
    "a pandas, polars or cudf DataFrame, a polars LazyFrame, an Arrow table, reader or stream, an array of shape "
    "(m, 2) or (2, m), a pair of arrays, a scipy sparse matrix"
)
DEFAULT_COLUMNS = (("source", "destination"), ("src", "dst"))


def edge_columns(edges, source, destination) -> tuple[Family, Any, Any, Any]:
    """The edges as a dataframe, its family, and the names of its two columns."""
    edges = as_frame(edges)
    family = family_of(edges)
    if family is None:
        arrays = _array_pair(edges)
        if source is not None or destination is not None:
            raise GraphError("source, destination: arrays have no column names; leave them out")
        family = family_named("cudf" if type(arrays[0]).__module__.startswith("cupy") else "pandas")
        edges = family.frame({"source": family.values(arrays[0]), "destination": family.values(arrays[1])})
        source, destination = "source", "destination"
    if (source is None) != (destination is None):
        raise GraphError("source, destination: give both column names or neither")
    names = family.column_names(edges)
    if source is None:
        found = next((pair for pair in DEFAULT_COLUMNS if all(name in names for name in pair)), None)
        if found is None:
            raise GraphError(
                f"edges: expected columns source, destination or src, dst, got {names}; "
                "name them by source= and destination="
            )
        source, destination = found
    if source == destination:
        raise GraphError(f"source, destination: both name the column {source!r}; an edge needs two")
    return (
        family,
        edges,
        checked_name(family, edges, source, "source"),
        checked_name(family, edges, destination, "destination"),
    )


def is_arrays(edges) -> bool:
    """Whether these are edges in arrays: of shape (m, 2) or (2, m), a pair of them, or a sparse matrix."""
    if isinstance(edges, (tuple, list)):
        return len(edges) == 2 and all(getattr(array, "ndim", None) == 1 for array in edges)
    if isinstance(edges, type):
        return False
    return hasattr(edges, "tocoo") or (getattr(edges, "ndim", None) == 2 and 2 in edges.shape)


def matrix_size(edges) -> int | None:
    """The number of vertices of a sparse adjacency matrix; None for what is no matrix."""
    if isinstance(edges, type) or not hasattr(edges, "tocoo"):
        return None
    if len(edges.shape) != 2 or edges.shape[0] != edges.shape[1]:
        raise GraphError(f"edges: an adjacency matrix is square, got a matrix of shape {tuple(edges.shape)}")
    return int(edges.shape[0])


def _array_pair(edges):
    """The sources and the destinations, of arrays or of the elements of a matrix that are not zero."""
    if not is_arrays(edges):
        shape = getattr(edges, "shape", None)
        of_shape = f" of shape {tuple(shape)}" if isinstance(shape, tuple) else ""
        raise TypeError(f"edges: expected {EDGE_TABLES}; got {type(edges).__name__}{of_shape}")
    if matrix_size(edges) is not None:
        entries = edges.tocoo()
        kept = entries.data != 0
        return entries.row[kept], entries.col[kept]
    if isinstance(edges, (tuple, list)):
        if len(edges[0]) != len(edges[1]):
            raise GraphError(f"edges: the two arrays differ in length, {len(edges[0])} and {len(edges[1])}")
        return tuple(map(_array, edges))
    array = _array(edges)
    return (array[:, 0], array[:, 1]) if array.shape[1] == 2 else (array[0], array[1])


def _array(values):
    """The NumPy or CuPy array of an array or a tensor; a pandas Series as it is, since it knows more types."""
    if hasattr(values, "__cuda_array_interface__"):  # before __array__, which a tensor of a GPU refuses
        import cupy

        return cupy.asarray(values)
    return values if type(values).__module__.partition(".")[0] in ("numpy", "pandas") else np.asarray(values)


def checked_name(family, frame, name, argument):
    names = family.column_names(frame)
    if names.count(name) > 1:
        raise GraphError(f"{argument}: {names.count(name)} columns are named {name!r}; rename one")
    if name not in names:
        raise GraphError(f"{argument}: no column {name!r}; the columns are {names}")
    return name


def check_ids(family, columns):
    kinds = {}
    for argument, column in columns.items():
        kind = family.kind(column)
        nulls = family.null_count(column)
        if kind == "float":
            also = f", {nulls} of them null" if nulls else ""
            raise GraphError(f"{argument}: ids are floats{also}; drop nulls and cast them to integers or strings first")
        if nulls:
            raise GraphError(f"{argument}: {nulls} ids are null; drop or fill these rows first")
        if kind == "other" and len(column):
            _check_hashable(family, argument, column)
        if len(column):
            kinds[argument] = kind
    if len({"string" if kind == "categorical" else kind for kind in kinds.values()}) > 1:
        both = ", ".join(f"{argument} is {kind}" for argument, kind in kinds.items())
        raise GraphError(f"source, destination: ids must be of one kind, but {both}")
    return kinds


def vertex_label_codes(family, frame, names):
    """The codes and values of vertex labels: of one column, or of several or of lists, as sets of labels."""
    if not isinstance(names, list):
        return label_codes(family, frame, names, "vertex_label", lists=True)
    if not names:
        raise GraphError("vertex_label: expected a column name, or a list of them, got an empty list")
    columns = [label_codes(family, frame, name, "vertex_label") for name in names]
    codes, values = codes_of_columns([(host_array(codes), labels) for codes, labels in columns])
    return family.xp().asarray(codes), values


def label_codes(family, frame, name, argument, *, lists=False):
    """The codes, -1 for null, and the values of a column of labels; `lists`: it may have several in a row."""
    column = family.column(frame, checked_name(family, frame, name, argument))
    try:
        return family.labels(column)
    except (TypeError, NotImplementedError) as error:
        if lists:
            with contextlib.suppress(TypeError):
                codes, values = codes_of_lists(family.python_values(column))
                return family.xp().asarray(codes), values
        raise GraphError(f"{argument}: the values of column {name!r} cannot be labels: {error}") from None


def _check_hashable(family, argument, column):
    first = family.take(column, family.xp().zeros(1, np.int64))
    try:
        hash(family.python_values(first)[0])
    except TypeError as error:
        kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
        raise GraphError(f"{argument}: values ({kind}) cannot be ids: {error}; make them strings or integers") from None
