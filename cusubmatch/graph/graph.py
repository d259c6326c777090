"""The data graph: an edge list from a dataframe, kept as compressed sparse rows.

Vertices are numbered by ascending degree; offsets are int64, vertices int32. What a pattern edge asks for (direction,
edge label, label of the vertex at its far end) is a `Relation`. `Graph.adjacency` gives the rows of the relations that
a plan needs, made from the stored edges when they are first asked for. `xp` is NumPy for host dataframes and CuPy for
cuDF.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any

import numpy as np

from cusubmatch.display import notebook
from cusubmatch.frames import family_named
from cusubmatch.graph.build import build, cugraph_edges, encode, encode_networkx
from cusubmatch.graph.cache import Cache
from cusubmatch.graph.label_sets import LabelSet, codes_by_label
from cusubmatch.graph.labels import codes_of_labels, labels_by_code
from cusubmatch.graph.relations import Adjacency, Relation, adjacency_of, with_label
from cusubmatch.graph.statistics import Statistics, measure
from cusubmatch.graph.tables import Tables

__all__ = ["Graph"]

PUBLIC = [
    "directed",
    "dropped_repeats",
    "dropped_self_loops",
    "from_cugraph",
    "from_edgelist",
    "from_networkx",
    "load",
    "n_edges",
    "n_vertices",
    "number_of_edges",
    "number_of_vertices",
    "save",
]
SCALARS = ("directed", "n_vertices", "n_edges", "dropped_self_loops", "dropped_repeats", "id_bytes")
ARRAYS = ("offsets", "targets", "_edge_labels", "vertex_labels")
STATE = (*SCALARS, *ARRAYS, "edge_label_values", "vertex_label_values", "_ids", "tables")  # all that is not derived
SMALL = 1 << 22  # vertices and arcs; below, arrays are worked on in host memory, without a GPU's compiler
CACHED_ADJACENCIES = 4  # at least
SHARED_OFFSETS = 1 << 22  # of the rows of all vertex labels, which patterns share where there are no more of them
MAX_CACHED = 1024  # values of a kind of a small graph
CACHED_ELEMENTS = 1 << 26  # of all values of a kind, where each is about as large as the graph
SHOWN_LABELS = 10  # in a notebook
DERIVED = ("host", "edge_codes", "vertex_codes", "shared_relations")  # what labels and memory decide


def _no_source() -> None:
    """What a graph that is no copy is a copy of."""


class Graph:
    """A simple graph to look for patterns in; make one with `from_edgelist`, `from_cugraph`, `from_networkx` or `load`.

    It can be copied and pickled: arrays and ids are copied, what was prepared for patterns is not. A graph on a GPU
    arrives on a GPU.

    Attributes
    ----------
    n_vertices, n_edges : int
        Vertices; distinct edges (an undirected edge counts once, edges that differ in label apart).
    directed : bool
    dropped_self_loops, dropped_repeats : int
        Rows of the input that were left out.
    """

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
    original: Graph | None  # where this one has other labels
    source: Callable[[], Graph | None]  # a weak reference: what this one is a copy of, in other memory
    _edge_labels: Any  # codes by arc, -1 for none
    _ids: Any  # a column, by internal vertex

    def __init__(self, *_arguments, **_options):
        raise TypeError("Graph: make one with Graph.from_edgelist, from_cugraph, from_networkx or load")

    @classmethod
    def from_edgelist(
        cls,
        edges,
        source=None,
        destination=None,
        directed: bool = False,
        edge_label=None,
        vertices=None,
        vertex="vertex",
        vertex_label=None,
        time=None,
    ) -> Graph:
        """Build a graph from a table of edges.

        Parameters
        ----------
        edges : DataFrame, Arrow table or stream, array or pair of arrays, or sparse matrix
            One row an edge. Ids are of any hashable kind but floats, without nulls. Repeated rows and self loops are
            dropped. As tables count dataframes of cudf, pandas and polars (a LazyFrame is collected), `pyarrow.Table`
            and all that has Arrow's C stream interface, such as a `RecordBatchReader` (which can be read once) or a
            DuckDB relation; as arrays those of NumPy and CuPy and what they take, such as PyTorch tensors, of shape
            (m, 2), or (2, m) as PyG's ``edge_index`` is; one of shape (2, 2) has an edge in each row. The vertices of a
            sparse matrix (scipy, cupyx) are 0 to n - 1, and its edges the elements that are not zero.
        source, destination : column names, optional
            Default: ``source, destination`` or ``src, dst``.
        directed : bool, default False
        edge_label : column name, optional
            Column with the label of each edge; null for none.
        vertices : DataFrame or Arrow table or stream of the same family, optional
            One row a vertex; a vertex that is named only here exists too.
        vertex, vertex_label : column names
            Columns of `vertices`: the id, and the label (null for none). A list of columns, or a column of lists, gives
            vertices several labels; a vertex matches a pattern label if it has it.
        time : column name, optional
            Column of `edges` with the time of each edge: integers, time stamps or dates, without nulls. Conditions on
            the order of edges and on the time between them are quickest on this column.

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If a column is missing, or ids hold nulls, are floats, or differ in kind, or there are 2**31 vertices or
            more; or if there is not the memory to build it, which takes about twice what the graph takes then.
        """
        if not isinstance(directed, (bool, np.bool_)):
            raise TypeError(f"directed: expected a bool, got {directed!r}")
        columns = (source, destination, edge_label, vertices, vertex, vertex_label, time)
        return cls._of_state(build(encode(edges, *columns, directed=directed), directed))

    @classmethod
    def from_cugraph(cls, graph) -> Graph:
        """Build a graph from a `cugraph.Graph` (weights are ignored; vertices without edges are kept).

        Ids are those that were given to cuGraph, before its renumbering.
        """
        return cls.from_edgelist(**cugraph_edges(graph))

    @classmethod
    def from_networkx(cls, graph, *, vertex_label=None, edge_label=None) -> Graph:
        """Build a graph from a networkx graph; results are pandas dataframes.

        `vertex_label` and `edge_label` name the node and edge attributes that hold labels.
        """
        return cls._of_state(build(encode_networkx(graph, vertex_label, edge_label), graph.is_directed()))

    def save(self, folder) -> None:
        """Save the graph in a folder, from which `load` opens it without building it again.

        The folder appears under its name when it is complete. It holds ``graph.json`` and an Arrow file a table.

        Parameters
        ----------
        folder : str or os.PathLike
            Must not exist yet or be empty; the folder around it must exist.

        Raises
        ------
        GraphError
            If ids or labels are objects that Arrow has no type for, such as tuples.
        ValueError
            If there is something at `folder`, or it cannot be written.
        OSError
            If the disk is full (``errno.ENOSPC``) or fails otherwise; nothing is kept.
        """
        from cusubmatch.graph.stored_graph import save_state

        save_state(self.__getstate__(), folder)

    @classmethod
    def load(cls, folder, *, family: str | None = None) -> Graph:
        """Open a graph that `save` wrote.

        Its files are mapped into memory and read when they are needed: leave them as they are while the graph is used.

        Parameters
        ----------
        folder : str or os.PathLike
        family : {"pandas", "polars", "arrow", "cudf"}, optional
            The library of the results. Default: the one that the graph was built with; where that is not installed,
            pandas for cuDF and Arrow for Polars. A graph of cuDF's is loaded onto the GPU.

        Returns
        -------
        Graph

        Raises
        ------
        FileNotFoundError
            If there is no such folder.
        GraphError
            If the folder is not one that `save` wrote, was written by a newer version, or a file is missing or damaged.
        ValueError
            If `family` is unknown or not installed.

        Examples
        --------
        >>> import tempfile
        >>> import pandas as pd
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Graph.from_edgelist(pd.DataFrame({"src": [1, 2], "dst": [2, 3]})).save(f"{folder}/graph")
        ...     Graph.load(f"{folder}/graph")
        Graph(3 vertices, 2 undirected edges)
        """
        from cusubmatch.graph.stored_graph import load_state

        return cls._of_state(load_state(folder, family))

    @classmethod
    def _of_state(cls, state):
        graph = cls.__new__(cls)
        graph.__setstate__(state)
        return graph

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return f"Graph({self.n_vertices:,} vertices, {self.n_edges:,} {kind} edges)"

    def _repr_html_(self) -> str:
        """What a notebook shows: a small table of what is known without counting anything."""
        facts = [("vertices", f"{self.n_vertices:,}")]
        facts.append(("edges", f"{self.n_edges:,} {'directed' if self.directed else 'undirected'}"))
        for name, values in (("vertex labels", self.vertex_label_values), ("edge labels", self.edge_label_values)):
            if values is not None:
                more = [f"{len(values) - SHOWN_LABELS:,} more"] if len(values) > SHOWN_LABELS else []
                facts.append((name, ", ".join([*map(str, values[:SHOWN_LABELS]), *more]) or "none"))
        facts.append(("dropped self loops", f"{self.dropped_self_loops:,}"))
        facts.append(("dropped repeats", f"{self.dropped_repeats:,}"))
        return notebook.table("Graph", facts)

    def __dir__(self):
        return PUBLIC

    def __getstate__(self):
        state = {name: getattr(self, name) for name in STATE}
        return state | {"family": self.family.name, "xp": self.xp.__name__}

    def __setstate__(self, state):
        self.__dict__.update({"tables": None} | state)  # an older state has none
        self.family, self.xp = family_named(state["family"]), import_module(state["xp"])
        self.cache, self.original, self.source = Cache(self.xp), None, _no_source

    def number_of_vertices(self) -> int:
        """Return the number of vertices, `n_vertices`."""
        return self.n_vertices

    def number_of_edges(self) -> int:
        """Return the number of distinct edges, `n_edges`."""
        return self.n_edges

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
    def host(self) -> Graph:
        """The same graph in host memory (itself where it lies there already); the copy is made once."""
        return self if self.xp is np else self._copy(np, self.xp.asnumpy)

    @property
    def near(self) -> Graph:
        """The same graph where the search is prepared: in host memory if it is small, else where it lies.

        CuPy compiles a kernel for each kind of operation when it is first used on a machine, which takes longer than
        all the operations on a small graph.
        """
        if self.xp is np or self.n_vertices + len(self.targets) > SMALL:
            return self
        source = self.source()
        return source if source is not None and source.xp is np else self.host

    @property
    def device(self) -> Graph:
        """The same graph in device memory (itself where it lies there already); the copy is made once a device."""
        if self.xp is not np:
            return self
        import cupy

        return self.copy_at(cupy.cuda.runtime.getDevice(), cupy, cupy.asarray)

    def copy_at(self, place: Hashable, xp: Any, moved: Callable[[Any], Any]) -> Graph:
        """The same graph in other memory; the copy is made once a place and kept with the graph that came in."""
        source = self.source() or self

        def make() -> Graph:
            original = None if self.original is None else self.original.copy_at(place, xp, moved)
            other = self._copy(xp, moved, original)
            other.source = weakref.ref(source)
            return other

        return source.cache.get("copies", place, make, MAX_CACHED)

    def relabelled(self, vertex_labels, vertex_label_values, edge_labels, edge_label_values) -> Graph:
        """The same graph with other labels of vertices and arcs, of one code an arc; rows without labels are shared."""
        other = Graph.__new__(Graph)
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
        other = Graph.__new__(Graph)
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

    def adjacency(self, relations: tuple[Relation, ...]) -> Adjacency:
        """The rows of each relation, in the order given; those of the last few calls are cached."""
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
