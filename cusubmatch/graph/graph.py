"""The data graph as users have it: made of a dataframe, a cuGraph or networkx graph or a folder, saved, and shown."""

from __future__ import annotations

import numpy as np

from cusubmatch.display import notebook
from cusubmatch.graph.build import build, cugraph_edges, encode, encode_networkx
from cusubmatch.graph.graph_arrays import GraphArrays

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
SHOWN_LABELS = 10  # in a notebook


class Graph(GraphArrays):
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

    def number_of_vertices(self) -> int:
        """Return the number of vertices, `n_vertices`."""
        return self.n_vertices

    def number_of_edges(self) -> int:
        """Return the number of distinct edges, `n_edges`."""
        return self.n_edges
