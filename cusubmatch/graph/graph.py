"""The data graph: an edge list from a dataframe, kept as compressed sparse rows.

Vertices are renumbered by ascending degree, so that "the later vertex is the smaller one" cuts a sorted list and prunes
too (degree ordering; Chiba & Nishizeki 1985). Offsets are int64, ids int32. What a pattern edge asks for (direction,
edge label, label of the vertex at its far end) is a `Relation`; `Graph.adjacency` gives the rows of the relations that
a plan needs, made from the stored edges when they are first asked for. `xp` is NumPy for host dataframes and CuPy for
cuDF.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.display import notebook
from cusubmatch.errors import GraphError
from cusubmatch.frames import Family, as_frame, family_named, family_of
from cusubmatch.graph.cache import Cache
from cusubmatch.graph.csr import distinct, edge_keys, low_words, offsets_of, row_lengths, running_sums, sorted_keys
from cusubmatch.graph.edge_list import check_ids, checked_name, edge_columns, label_codes, matrix_size
from cusubmatch.graph.labels import codes_of_labels, labels_by_code
from cusubmatch.graph.statistics import Statistics, measure

__all__ = ["Adjacency", "Graph", "Relation"]

MAX_VERTICES = 2**31 - 1
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
STATE = (*SCALARS, *ARRAYS, "edge_label_values", "vertex_label_values", "_ids")  # all that is not made of the rest
KEPT_ROWS = 4  # sets of relations, at least
SHOWN_LABELS = 10  # in a notebook
KEPT_VERTICES = 1 << 26  # of the arrays, an element a vertex, that are kept beyond that


class Relation(NamedTuple):
    """Which edges count from a vertex: direction "out", "in" or "any"; label codes, None for all."""

    direction: str
    edge_labels: frozenset[int] | None = None
    target_labels: frozenset[int] | None = None


class Adjacency(NamedTuple):
    """Rows of several relations: row v of relation r is targets[offsets[r, v]:offsets[r, v + 1]], ascending.

    `key` tells adjacencies of one graph apart: what is derived from them is kept under it.
    """

    offsets: Any  # (relations, n + 1) int64
    targets: Any  # int32
    key: Hashable


class Graph:
    """A simple graph to look for patterns in; make one with `from_edgelist`, `from_cugraph`, `from_networkx` or `load`.

    It can be copied and pickled: arrays and ids go along, what was prepared for patterns does not. A graph on a GPU
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
    ) -> Graph:
        """Build a graph from a table of edges.

        Parameters
        ----------
        edges : DataFrame, Arrow table or stream, array or pair of arrays, or sparse matrix
            One row an edge. Ids are of any hashable kind but floats, without nulls. Repeated rows and self loops are
            dropped. As tables count dataframes of cudf, pandas and polars (a LazyFrame is collected), `pyarrow.Table`
            and all that has Arrow's C stream interface, such as a `RecordBatchReader` (which can be read once) or a
            DuckDB relation; as arrays those of NumPy and CuPy and what they take, such as PyTorch tensors, of shape
            (m, 2), or (2, m) as PyG's ``edge_index`` is; one of shape (2, 2) has an edge a row. The vertices of a
            sparse matrix (scipy, cupyx) are 0 to n - 1, and its edges the entries that are not zero.
        source, destination : column names, optional
            Default: ``source, destination`` or ``src, dst``.
        directed : bool, default False
        edge_label : column name, optional
            Column with the label of each edge; null for none.
        vertices : DataFrame or Arrow table or stream of the same family, optional
            One row a vertex; a vertex that is named only here exists too.
        vertex, vertex_label : column names
            Columns of `vertices`: the id, and the label (null for none).

        Returns
        -------
        Graph

        Raises
        ------
        GraphError
            If a column is missing, or ids hold nulls, are floats, or differ in kind, or there are 2**31 vertices or
            more.
        """
        if not isinstance(directed, (bool, np.bool_)):
            raise TypeError(f"directed: expected a bool, got {directed!r}")
        size = matrix_size(edges)
        family, edges, source, destination = edge_columns(edges, source, destination)
        columns = {"source": family.column(edges, source), "destination": family.column(edges, destination)}
        if vertices is not None:
            vertices = as_frame(vertices)
            if family_of(vertices) is not family:
                raise TypeError(
                    f"vertices: expected a {family.name} dataframe as for edges, got {type(vertices).__name__}"
                )
            columns["vertex"] = family.column(vertices, checked_name(family, vertices, vertex, "vertex"))
        elif vertex_label is not None:
            raise GraphError(f"vertex_label: {vertex_label!r} was given without vertices, the dataframe that holds it")
        if size is not None:
            columns["rows of the matrix"] = family.values(family.xp().arange(size))
        check_ids(family, columns)
        edge_labels = vertex_labels = None
        if edge_label is not None:
            edge_labels = label_codes(family, edges, edge_label, "edge_label")
        if vertex_label is not None:
            vertex_labels = label_codes(family, vertices, vertex_label, "vertex_label")
        try:
            codes, ids = family.factorize(list(columns.values()))
        except OverflowError as error:
            raise GraphError(f"edges: {error}") from None
        except (TypeError, ValueError, NotImplementedError) as error:
            raise GraphError(f"source, destination: these ids cannot be numbered together: {error}") from None
        del columns
        return cls._built(family, codes, ids, directed, edge_labels, vertex_labels)

    @classmethod
    def from_cugraph(cls, graph) -> Graph:
        """Build a graph from a `cugraph.Graph` (weights are ignored; vertices without edges are kept).

        Ids are those that were given to cuGraph, before its renumbering.
        """
        if not hasattr(graph, "view_edge_list"):
            raise TypeError(f"graph: expected a cugraph.Graph, got {type(graph).__name__}")
        edges = graph.view_edge_list()
        source, destination = graph.source_columns, graph.destination_columns
        if source not in list(edges.columns):
            source, destination = "src", "dst"
        family = family_of(edges)
        if family is None:
            raise TypeError(f"graph: expected a cugraph.Graph, got {type(graph).__name__}")
        vertices = family.frame({"vertex": graph.nodes()})
        return cls.from_edgelist(edges, source, destination, graph.is_directed(), vertices=vertices)

    @classmethod
    def from_networkx(cls, graph, *, vertex_label=None, edge_label=None) -> Graph:
        """Build a graph from a networkx graph; results are pandas dataframes.

        `vertex_label` and `edge_label` name the node and edge attributes that hold labels.
        """
        if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
            raise TypeError(f"graph: expected a networkx graph, got {type(graph).__name__}")
        family = family_named("pandas")
        nodes = list(graph.nodes)
        place = {node: index for index, node in enumerate(nodes)}
        pairs = np.array([(place[a], place[b]) for a, b in graph.edges()], np.int32).reshape(-1, 2)
        codes = [
            np.ascontiguousarray(pairs[:, 0]),
            np.ascontiguousarray(pairs[:, 1]),
            np.arange(len(nodes), dtype=np.int32),
        ]
        edge_labels = vertex_labels = None
        if edge_label is not None:
            edge_labels = _codes_of("edge_label", edge_label, [data for _, _, data in graph.edges(data=True)])
        if vertex_label is not None:
            vertex_labels = _codes_of("vertex_label", vertex_label, [graph.nodes[node] for node in nodes])
        return cls._built(family, codes, family.objects(nodes), graph.is_directed(), edge_labels, vertex_labels)

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

        graph = cls.__new__(cls)
        graph.__setstate__(load_state(folder, family))
        return graph

    @classmethod
    def _built(cls, *parts):
        self = cls.__new__(cls)
        self._build(*parts)
        return self

    def _build(self, family: Family, codes, ids, directed, edge_labels, vertex_labels):
        xp = family.xp()
        self.family, self.xp, self.directed = family, xp, bool(directed)
        self.n_vertices = n = len(ids)
        if n > MAX_VERTICES:
            raise GraphError(f"edges: {n} vertices; at most 2**31 - 1 are supported")
        source, destination = codes[0], codes[1]
        rows = len(source)
        labels = edge_labels[0] if edge_labels else None
        self.edge_label_values = edge_labels[1] if edge_labels else None
        if bool((source == destination).any()):
            keep = source != destination
            source, destination = source[keep], destination[keep]
            labels = labels[keep] if labels is not None else None
        self.dropped_self_loops = rows - len(source)
        degree = xp.bincount(source, minlength=n) + xp.bincount(destination, minlength=n)
        by_rank = xp.argsort(degree, kind="stable") if n else xp.zeros(0, xp.int64)
        rank = xp.empty(n, xp.int32)
        rank[by_rank] = xp.arange(n, dtype=xp.int32)
        del degree
        self._ids = family.take(ids, by_rank)
        self.id_bytes = 8 if family.kind(ids) == "integer" else 32  # about what an id takes in a result
        keys, self._edge_labels = sorted_keys(xp, rank, source, destination, labels, symmetric=not directed)
        named = rank[codes[2]] if vertex_labels else None
        del source, destination
        codes.clear()  # the keys hold all that they said, and the targets need the room
        entries = len(keys)
        self.offsets = offsets_of(xp, keys, n)
        self.targets = low_words(xp, keys)
        self.n_edges = entries if directed else entries // 2
        self.dropped_repeats = rows - self.dropped_self_loops - self.n_edges
        self.vertex_label_values = self.vertex_labels = None
        if vertex_labels:
            self.vertex_label_values = vertex_labels[1]
            self.vertex_labels = _vertex_labels(xp, named, vertex_labels[0], n)
        self.cache = Cache(xp)

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
        self.__dict__.update(state)
        self.family, self.xp = family_named(state["family"]), import_module(state["xp"])
        self.cache = Cache(self.xp)

    def number_of_vertices(self) -> int:
        """Return the number of vertices, `n_vertices`."""
        return self.n_vertices

    def number_of_edges(self) -> int:
        """Return the number of distinct edges, `n_edges`."""
        return self.n_edges

    def keep(self, least: int) -> int:
        """How many values may be kept that are about as large as the graph: more of a small one."""
        return max(least, min(1024, KEPT_VERTICES // max(self.n_vertices, len(self.targets), 1)))

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

    @functools.cached_property
    def device(self) -> Graph:
        """The same graph in device memory (itself where it lies there already); the copy is made once."""
        if self.xp is not np:
            return self
        import cupy

        return self._copy(cupy, cupy.asarray)

    def _copy(self, xp, moved):
        """A twin whose arrays lie elsewhere; ids stay with the caller's family."""
        twin = Graph.__new__(Graph)
        shared = {name: value for name, value in self.__dict__.items() if name not in ("host", "device")}
        twin.__dict__.update(shared)
        for name in ARRAYS:
            array = getattr(self, name)
            setattr(twin, name, None if array is None else moved(array))
        twin.xp, twin.cache = xp, Cache(xp)
        return twin

    @functools.cached_property
    def edge_codes(self) -> dict[Hashable, int]:
        """The codes of the edge labels, by value and by text."""
        return labels_by_code(self.edge_label_values or ())

    @functools.cached_property
    def vertex_codes(self) -> dict[Hashable, int]:
        """The codes of the vertex labels, by value and by text."""
        return labels_by_code(self.vertex_label_values or ())

    def edge_label_codes(self, labels) -> frozenset[int]:
        """Codes of edge labels; a label that occurs nowhere has none."""
        return codes_of_labels(self.edge_codes, labels)

    def vertex_label_codes(self, labels) -> frozenset[int]:
        """Codes of vertex labels; a label that occurs nowhere has none."""
        return codes_of_labels(self.vertex_codes, labels)

    def adjacency(self, relations: tuple[Relation, ...]) -> Adjacency:
        """The rows of each relation, in the order given; kept for the last few sets of relations."""
        return self.cache.get("rows", relations, lambda: self._gather(relations), self.keep(KEPT_ROWS))

    def _gather(self, relations):
        xp, parts = self.xp, [self._rows(relation) for relation in relations]
        if len(parts) == 1:
            return Adjacency(parts[0][0][None, :], parts[0][1], relations)
        offsets, base = xp.empty((len(parts), self.n_vertices + 1), xp.int64), 0
        for row, (part, targets) in zip(offsets, parts, strict=True):
            row[:] = part + base
            base += len(targets)
        targets = xp.concatenate([targets for _, targets in parts]) if parts else self.targets
        return Adjacency(offsets, targets, relations)

    def _rows(self, relation):
        """(offsets, targets) of one relation, made from the stored edges."""
        xp, n = self.xp, self.n_vertices
        direction, edge_labels, target_labels = relation
        if not self.directed:
            direction = "out"
        keep = None
        if edge_labels is not None:
            keep = xp.isin(self._edge_labels, xp.asarray(sorted(edge_labels), xp.int32))
        merged = self._edge_labels is not None and (edge_labels is None or len(edge_labels) > 1)
        if direction == "out" and not merged:
            if target_labels is not None:
                wanted = self.labelled(target_labels)[self.targets]
                keep = wanted if keep is None else keep & wanted
            if keep is None:
                return self.offsets, self.targets
            return running_sums(xp, keep, xp.int64)[self.offsets], self.targets[keep]
        sources = xp.repeat(xp.arange(n, dtype=xp.int32), row_lengths(self.offsets))
        targets = self.targets
        if keep is not None:
            sources, targets = sources[keep], targets[keep]
        pairs = [(sources, targets)] if direction != "in" else []
        pairs += [(targets, sources)] if direction != "out" else []
        if target_labels is not None:
            wanted = self.labelled(target_labels)
            pairs = [(a[wanted[b]], b[wanted[b]]) for a, b in pairs]
        keys = xp.concatenate([edge_keys(xp, a, b) for a, b in pairs])
        keys.sort()
        keys = distinct(xp, keys)
        return offsets_of(xp, keys, n), low_words(xp, keys)

    def labelled(self, labels):
        """For each vertex whether its label is one of these codes."""
        return self.xp.isin(self.vertex_labels, self.xp.asarray(sorted(labels), self.xp.int32))

    @functools.cached_property
    def statistics(self) -> Statistics:
        """Degrees and closure; measured once."""
        return measure(self)


def _codes_of(argument, attribute, holders):
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


def _vertex_labels(xp, ranks, codes, n):
    labels = xp.full(n, -1, xp.int32)
    labels[ranks] = codes
    clash = labels[ranks] != codes
    if bool(clash.any()):
        raise GraphError(
            f"vertices: {int(clash.sum())} rows give a vertex a second, different label; a vertex has one label or none"
        )
    return labels
