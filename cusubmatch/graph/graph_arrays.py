"""The arrays of a graph: rows, labels and ids, the memory that they lie in, and what is derived from them.

Vertices are numbered by ascending degree; offsets are int64, vertices int32. What a pattern edge asks for (direction,
edge label, label of the vertex at its far end) is a `Relation`. `adjacency` gives the rows of the relations that a plan
needs, made from the stored edges when they are first asked for. `xp` is NumPy for host dataframes and CuPy for cuDF.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np

from cusubmatch.frames import family_named
from cusubmatch.graph.cache import Cache, finished
from cusubmatch.graph.label_sets import LabelSet, codes_by_label
from cusubmatch.graph.labels import codes_of_labels, labels_by_code
from cusubmatch.graph.relations import Adjacency, Relation, adjacency_of, with_label
from cusubmatch.graph.statistics import Statistics, measure
from cusubmatch.graph.tables import Tables

__all__ = ["SMALL", "GraphArrays"]

SCALARS = ("directed", "n_vertices", "n_edges", "dropped_self_loops", "dropped_repeats", "id_bytes")
ARRAYS = ("offsets", "targets", "_edge_labels", "vertex_labels")
STATE = (*SCALARS, *ARRAYS, "edge_label_values", "vertex_label_values", "_ids", "tables")  # all that is not derived
SMALL = 1 << 20  # vertices and arcs; below, arrays are worked on in host memory, without a GPU's compiler
CACHED_ADJACENCIES = 4  # at least
SHARED_OFFSETS = 1 << 22  # of the rows of all vertex labels, which patterns share where there are no more of them
MAX_CACHED = 1024  # values of a kind of a small graph
CACHED_ELEMENTS = 1 << 26  # of all values of a kind, where each is about as large as the graph
DERIVED = ("host", "edge_codes", "vertex_codes", "shared_relations")  # what labels and memory decide


def _no_source() -> None:
    """What a graph that is no copy is a copy of."""


class GraphArrays:
    """What the engines and the planner see of a graph; users have a `Graph`."""

    directed: bool
    n_vertices: int
    n_edges: int
    dropped_self_loops: int
    dropped_repeats: int
    id_bytes: int  # about what an id takes in a result
    offsets: Any
    targets: Any
    vertex_labels: Any  # codes, -1 for none
    vertex_label_values: list | None
    edge_label_values: list | None
    tables: Tables | None  # what it was made of, by reference
    original: Self | None  # where this one has other labels
    source: Callable[[], Self | None]  # a weak reference: what this one is a copy of, in other memory
    _edge_labels: Any  # codes by arc, -1 for none
    _ids: Any  # a column, by internal vertex

    def __getstate__(self):
        state = {name: getattr(self, name) for name in STATE}
        return state | {"family": self.family.name, "xp": self.xp.__name__}

    def __setstate__(self, state):
        self.__dict__.update({"tables": None} | state)  # an older state has none
        self.family, self.xp = family_named(state["family"]), import_module(state["xp"])
        self.cache, self.original, self.source = Cache(self.xp), None, _no_source

    def keep(self, least: int) -> int:
        """How many values that are about as large as the graph may be cached: more of a small one."""
        return max(least, min(MAX_CACHED, CACHED_ELEMENTS // max(self.n_vertices, len(self.targets), 1)))

    def to_ids(self, vertices):
        """The caller's ids, as a column of the caller's family, of an integer array of internal vertices."""
        return self.family.take(self._ids, vertices)

    @functools.cached_property
    def plain_ids(self):
        """The ids by internal vertex as an array of the caller's family, where they are plain integers, else None."""
        return self.family.plain(self._ids)

    @functools.cached_property
    def host(self) -> Self:
        """The same graph in host memory (itself where it lies there already); the copy is made once."""
        return self if self.xp is np else self._copy(np, self.xp.asnumpy)

    @property
    def near(self) -> Self:
        """The same graph where the search is prepared: in host memory if it is small, else where it lies.

        CuPy compiles a kernel for each kind of operation when it is first used on a machine, which takes longer than
        all the operations on a small graph.
        """
        if self.xp is np or self.n_vertices + len(self.targets) > SMALL:
            return self
        return self.on_host

    @property
    def on_host(self) -> Self:
        """The same graph in host memory: what this one is a copy of, where that lies there, else as `host`."""
        source = self.source()
        return source if source is not None and source.xp is np else self.host

    @property
    def device(self) -> Self:
        """The same graph in device memory (itself where it lies there already); the copy is made once a device."""
        if self.xp is not np:
            return self
        import cupy

        return self.copy_at(cupy.cuda.runtime.getDevice(), cupy, cupy.asarray)

    def copy_at(self, place: Hashable, xp: Any, moved: Callable[[Any], Any]) -> Self:
        """The same graph in other memory; the copy is made once a place and kept with the graph that came in."""
        source = self.source() or self

        def make() -> Any:
            original = None if self.original is None else self.original.copy_at(place, xp, moved)
            other = self._copy(xp, moved, original)
            other.source = weakref.ref(source)
            return finished(xp, other)  # the cache that it is kept in may be that of arrays of the host

        return source.cache.get("copies", place, make, MAX_CACHED)

    def relabelled(self, vertex_labels, vertex_label_values, edge_labels, edge_label_values) -> Self:
        """The same graph with other labels of vertices and arcs, of one code an arc; rows without labels are shared."""
        other = type(self).__new__(type(self))
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name not in DERIVED})
        other.vertex_labels, other.vertex_label_values = vertex_labels, vertex_label_values
        other._edge_labels, other.edge_label_values = edge_labels, edge_label_values  # noqa: SLF001
        other.cache, other.original, other.source = Cache(self.xp), self, _no_source
        return other

    @property
    def has_parallel_arcs(self) -> bool:
        """Whether there may be several arcs of one source and target, which differ in label."""
        return (self.original or self)._edge_labels is not None  # noqa: SLF001

    def _copy(self, xp, moved, original=None):
        """The same graph with its arrays in other memory; ids stay with the caller's family.

        `original` is a copy of `self.original`, which has some of the arrays already.
        """
        other = type(self).__new__(type(self))
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name != "host"})
        for name in ARRAYS:
            array = getattr(self, name)
            if original is not None and array is getattr(self.original, name):
                setattr(other, name, getattr(original, name))
            else:
                setattr(other, name, None if array is None else moved(array))
        other.xp, other.cache, other.original, other.source = xp, Cache(xp), original, _no_source
        return other

    @functools.cached_property
    def edge_codes(self) -> dict[Hashable, int]:
        """The codes of the edge labels, by value and by text."""
        return labels_by_code(self.edge_label_values or ())

    @functools.cached_property
    def vertex_codes(self) -> dict[Hashable, Any]:
        """The codes of the vertex labels, by value and by text; with sets of labels, all codes that each is part of."""
        values = self.vertex_label_values or ()
        return codes_by_label(values) if self.has_label_sets else labels_by_code(values)

    @property
    def has_label_sets(self) -> bool:
        """Whether vertices may have several labels, so that a code is that of a set of them."""
        return any(isinstance(value, LabelSet) for value in (self.vertex_label_values or ())[:1])

    def edge_label_codes(self, labels) -> frozenset[int]:
        """Codes of edge labels; a label that occurs nowhere has none."""
        return codes_of_labels(self.edge_codes, labels)

    def vertex_label_codes(self, labels) -> frozenset[int]:
        """Codes of vertex labels; a label that occurs nowhere has none."""
        if self.has_label_sets:
            return frozenset().union(*(self.vertex_codes.get(label, ()) for label in labels))
        return codes_of_labels(self.vertex_codes, labels)

    def adjacency(self, relations: Sequence[Relation]) -> Adjacency:
        """The rows of each relation, in the order given; those of the last few calls are cached."""
        relations = tuple(relations)
        make = functools.partial(adjacency_of, self, relations)
        return self.cache.get("rows", relations, make, self.keep(CACHED_ADJACENCIES))

    @functools.cached_property
    def shared_relations(self) -> tuple[Relation, ...]:
        """The relations to each vertex label, where the rows of all of them take little memory; else none.

        Patterns whose vertices have one label each then share their rows, and what is made of them.
        """
        labels = len(self.vertex_label_values or ())
        few = labels * (self.n_vertices + 1) <= max(len(self.targets), SHARED_OFFSETS)
        if self.xp is not np or self.directed or self.edge_label_values is not None or not labels or not few:
            return ()
        return tuple(Relation("any", None, frozenset([label])) for label in range(labels))

    def labelled(self, labels):
        """For each vertex, whether its label is one of these codes."""
        return with_label(self, labels)

    @functools.cached_property
    def statistics(self) -> Statistics:
        """Degrees and closure; measured once."""
        if self.original is not None:
            return self.original.statistics
        return measure(self) if self.near is self else self.near.statistics
