"""Ids in arguments, `candidates=` and `touching=`: lists, arrays or columns of any library, to internal vertices."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cusubmatch.errors import AbsentIdWarning, GraphError, PatternError
from cusubmatch.frames import Family, as_column, family_of
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern

__all__ = ["absent_ids", "checked_candidates", "checked_touching", "warn_absent_ids"]

PACKAGE = str(Path(__file__).parents[1]) + os.sep


def checked_candidates(graph: Graph, pattern: Pattern, candidates: Any) -> dict[int, np.ndarray] | None:
    """For each pattern vertex in `candidates` the internal vertices of its ids, in order."""
    if candidates is None:
        return None
    if not isinstance(candidates, Mapping):
        raise TypeError(
            f"candidates: expected a mapping of vertex names to ids, such as {{'a': [1, 2]}}, got "
            f"{type(candidates).__name__}"
        )
    places = {name: vertex for vertex, name in enumerate(pattern.names) if name is not None}
    for name in candidates:
        if name not in places:
            part = any(name in part.names for part in pattern.parts)
            inside = " outside of its parts, where a condition such as id(x) IN $ids is written" if part else ""
            raise PatternError(
                f"candidates: {name!r} is no vertex of the pattern{inside}; its vertices are {list(places)}"
            )
    found = {name: _vertices(graph, ids, f"candidates[{name!r}]") for name, ids in candidates.items()}
    return {places[name]: np.unique(vertices[vertices >= 0]) for name, vertices in found.items()}


def checked_touching(graph: Graph, ids: Any) -> np.ndarray | None:
    """The internal vertices of the ids, in order."""
    if ids is None:
        return None
    vertices = _vertices(graph, ids, "touching")
    return np.unique(vertices[vertices >= 0])


def absent_ids(graph: Graph, candidates: Mapping[Any, Any] | None, touching: Any) -> str | None:
    """How many ids of which arguments are not in the graph; None if all are."""
    given = {f"candidates[{name!r}]": ids for name, ids in (candidates or {}).items()}
    given |= {} if touching is None else {"touching": touching}
    texts = []
    for argument, ids in given.items():
        vertices = _vertices(graph, ids, argument)
        if absent := int((vertices < 0).sum()):
            texts.append(f"{argument}: {absent:,} of {len(vertices):,} ids are not in the graph")
    return "; ".join(texts) or None


def warn_absent_ids(text: str | None) -> None:
    """Warn, at the line that called the package, of ids that are not in the graph."""
    if text:
        warnings.warn(text, AbsentIdWarning, _level())


def _vertices(graph: Graph, ids: Any, argument: str) -> np.ndarray:
    """The internal vertices of ids, -1 where there is none."""
    from cusubmatch.graph.properties import vertices_of_ids

    column = _column(graph, ids, argument)
    try:
        return vertices_of_ids(graph, column)
    except GraphError as error:
        raise GraphError(f"{argument}: {error}") from None


def _column(graph: Graph, ids: Any, argument: str) -> Any:
    """The ids as a column of the graph's library."""
    family, read = graph.family, as_column(ids)
    if read is None:
        frame = family_of(ids) is not None
        if frame or isinstance(ids, (str, bytes, Mapping)) or not isinstance(ids, Collection):
            one = "; give one of its columns" if frame else ""
            raise TypeError(f"{argument}: expected ids as a list, an array or a column, got {type(ids).__name__}{one}")
        read = as_column(_array(list(ids)))
    assert read is not None  # noqa: S101 - an array is a column
    other, column = read
    if nulls := other.null_count(column):
        raise GraphError(f"{argument}: {nulls:,} ids are null; drop them first")
    if len(column) and graph.n_vertices:
        kinds = [_kind(other, column), _kind(family, graph._ids)]  # noqa: SLF001
        if kinds[0] != kinds[1]:
            raise GraphError(f"{argument}: the ids are {kinds[0]}, those of the graph are {kinds[1]}")
    if other is family:
        return column
    return family.column(family.from_arrow(other.to_arrow(other.frame({"ids": column}))), "ids")


def _array(values: list) -> np.ndarray:
    """A list as an array: of integers where all are, else of objects."""
    if all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values):
        try:
            return np.array(values, np.int64)
        except OverflowError:
            pass
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _kind(family: Family, column: Any) -> str:
    kind = family.kind(column)
    return "string" if kind == "categorical" else kind


def _level() -> int:
    """How many calls above `warnings.warn` the package was called."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    return level
