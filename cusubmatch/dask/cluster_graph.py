"""The data graph of a cluster: a recipe that every worker follows once, when a task first asks it to.

The graph is not sent from worker to worker. A worker that starts later, or instead of one that was lost, builds it by
itself from the same source (`sources.py`).
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from typing import Any, NoReturn

import dask
import numpy as np

import cusubmatch
from cusubmatch.dask.clients import client_of, on_all_workers
from cusubmatch.dask.folders.shared_files import shared_folder, stamps_on_workers, write_parts
from cusubmatch.dask.workers.on_worker import graph_of
from cusubmatch.dask.workers.sources import (
    CarriedGraph,
    CarriedGraphPlugin,
    ParquetFiles,
    SavedFolder,
    Source,
    content_of,
    stamps_of,
)
from cusubmatch.dask.workers.tasks import GraphSummary, summary, summary_of
from cusubmatch.errors import GraphError
from cusubmatch.frames import as_frame, family_of, is_dask_frame
from cusubmatch.graph.edge_list import is_arrays

__all__ = ["Graph"]

PARQUET = ".parquet"
FAMILIES = ("pandas", "cudf")  # that a Dask dataframe can be made of


class Graph:
    """A graph on the workers of a cluster; make one with `from_parquet`, `from_edgelist` or `load`.

    It is small and can be pickled. Functions of `cusubmatch.dask` take it; those of `cusubmatch` do not.
    """

    source: Source
    _summary: GraphSummary

    def __init__(self, *_arguments: Any, **_options: Any) -> NoReturn:
        raise TypeError("Graph: make one with cusubmatch.dask.Graph.from_parquet, from_edgelist or load")

    @classmethod
    def _of(cls, source: Source) -> Graph:
        graph = cls.__new__(cls)
        graph.source = source
        return graph

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        source: str | None = None,
        destination: str | None = None,
        directed: bool = False,
        edge_label: str | None = None,
        vertices: str | os.PathLike[str] | None = None,
        vertex: str = "vertex",
        vertex_label: str | Sequence[str] | None = None,
        time: str | None = None,
        *,
        client: Any = None,
    ) -> Graph:
        """Make a graph of Parquet files that all workers see under the same path.

        Parameters
        ----------
        path : str or os.PathLike
            A Parquet file with one row an edge, or a folder of such files.
        source, destination : str, optional
            Columns of the ends. Default: ``source, destination`` or ``src, dst``.
        directed : bool, default False
        edge_label : str, optional
            Column with the label of each edge; null for none.
        vertices : str or os.PathLike, optional
            A file, or a folder of files, with one row a vertex.
        vertex, vertex_label : str
            Columns of `vertices`: the id, and the label (null for none), or a list of columns with a label each.
        time : column name, optional
            Column of the time of each edge. Rows are kept in its order, so that conditions on it cut the search.
        client : dask.distributed.Client, optional
            Default: the current one.

        Returns
        -------
        Graph
            Results are of the library that Dask's setting ``dataframe.backend`` names, pandas by default.

        Raises
        ------
        ClusterError
            If there is no client, it has no workers, or a worker cannot see a path.
        GraphError
            If there is no Parquet file.
        TypeError
            If an argument is of the wrong type.
        """
        if not isinstance(directed, (bool, np.bool_)):
            raise TypeError(f"directed: expected a bool, got {directed!r}")
        connected = client_of(client)
        edge_files = stamps_on_workers(connected, "path", path, PARQUET)
        vertex_files = () if vertices is None else stamps_on_workers(connected, "vertices", vertices, PARQUET)
        columns = {
            "source": source,
            "destination": destination,
            "directed": bool(directed),
            "edge_label": edge_label,
            "vertex": vertex,
            "vertex_label": vertex_label
            if vertex_label is None or isinstance(vertex_label, str)
            else list(vertex_label),
            "time": time,
        }
        family = dask.config.get("dataframe.backend", "pandas")
        return cls._of(ParquetFiles(edge_files, vertex_files, tuple(columns.items()), family))

    @classmethod
    def from_edgelist(
        cls,
        edges: Any,
        source: Any = None,
        destination: Any = None,
        directed: bool = False,
        edge_label: Any = None,
        vertices: Any = None,
        vertex: Any = "vertex",
        vertex_label: Any = None,
        time: Any = None,
        *,
        client: Any = None,
    ) -> Graph:
        """Make a graph of a table of edges.

        Where all workers see the folder for temporary files (Dask's setting ``temporary-directory``), as on one
        machine, the table is written there once, partitions of Dask by the workers; the folder is removed when this
        process ends. Else the graph is built here and given to every worker when it starts.

        Parameters
        ----------
        edges : dask.dataframe.DataFrame, or what `cusubmatch.Graph.from_edgelist` takes
            One row an edge. Dataframes of dask_cudf count as Dask's.
        source, destination : column names, optional
            Default: ``source, destination`` or ``src, dst``.
        directed : bool, default False
        edge_label : column name, optional
            Column with the label of each edge; null for none.
        vertices : dask.dataframe.DataFrame or DataFrame, optional
            One row a vertex, of the same library.
        vertex, vertex_label : column names
            Columns of `vertices`: the id, and the label (null for none), or a list of columns with a label each.
        time : column name, optional
            Column of the time of each edge. Rows are kept in its order, so that conditions on it cut the search.
        client : dask.distributed.Client, optional
            Default: the current one.

        Returns
        -------
        Graph

        Raises
        ------
        ClusterError
            If there is no client, or it has no workers.
        GraphError
            If no graph can be made of the table.
        TypeError
            If `edges` is no table of edges.

        Examples
        --------
        >>> import pandas as pd
        >>> Graph.from_edgelist(pd.DataFrame({"src": [0, 0, 1], "dst": [1, 2, 2]}), client=client)
        Graph(3 vertices, 3 edges)
        """
        connected = client_of(client)
        names = {"source": source, "destination": destination, "directed": directed, "edge_label": edge_label}
        names |= {"vertex": vertex, "vertex_label": vertex_label, "time": time}
        shared = shared_folder(connected)
        if is_dask_frame(edges):
            if shared is not None:
                edge_path, vertex_path = f"{shared}/edges", None
                write_parts(edges, edge_path, "edges")
                if vertices is not None:
                    vertex_path = f"{shared}/vertices"
                    write_parts(vertices, vertex_path, "vertices")
                family = family_of(edges._meta)  # noqa: SLF001 - Dask's name for it
                backend = "pandas" if family is None else family.name
                with dask.config.set({"dataframe.backend": backend}):
                    return cls.from_parquet(edge_path, vertices=vertex_path, client=connected, **names)
            edges = edges.compute()
            vertices = vertices.compute() if is_dask_frame(vertices) else vertices
        if family_of(as_frame(edges)) is None and not is_arrays(edges):
            raise TypeError(
                "edges: expected a Dask dataframe or what cusubmatch.Graph.from_edgelist takes, "
                f"got {type(edges).__module__.partition('.')[0]}.{type(edges).__name__}"
            )
        graph = cusubmatch.Graph.from_edgelist(edges, vertices=vertices, **names)
        return cls.from_graph(graph, connected, shared)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, client: Any = None) -> Graph:
        """Open a folder that `cusubmatch.Graph.save` wrote, on every worker.

        Parameters
        ----------
        folder : str or os.PathLike
            All workers see it under the same path.
        client : dask.distributed.Client, optional
            Default: the current one.

        Returns
        -------
        Graph

        Raises
        ------
        ClusterError
            If there is no client, it has no workers, or a worker cannot see the folder.
        """
        connected = client_of(client)
        family = dask.config.get("dataframe.backend", "pandas")
        path = os.path.realpath(os.fspath(folder))
        return cls._of(SavedFolder(path, stamps_on_workers(connected, "folder", path, ""), family))

    @classmethod
    def from_graph(cls, graph: cusubmatch.Graph, client: Any, shared: str | None) -> Graph:
        """The graph of this process, as every worker gets it; through the folder `shared`, if they see one."""
        made = cls._of(cls._source_of(graph, client, shared))
        made._summary = summary_of(graph)  # noqa: SLF001 - one of this class
        return made

    @staticmethod
    def _source_of(graph: cusubmatch.Graph, client: Any, shared: str | None) -> Source:
        family = graph.family.name if graph.family.name in FAMILIES else "pandas"
        if shared is not None:
            folder = f"{shared}/graph"
            try:
                graph.save(folder)
            except GraphError:  # ids that Arrow has no type for
                pass
            else:
                return SavedFolder(folder, stamps_of(folder, "") or (), family, content_of(folder))
        plugin = CarriedGraphPlugin(pickle.dumps(graph.host, protocol=pickle.HIGHEST_PROTOCOL))
        client.register_plugin(plugin, name=plugin.name)
        return CarriedGraph(plugin.key)

    def persist(self, *, client: Any = None) -> Graph:
        """Build the graph on all workers now, rather than when they are first asked something.

        Raises
        ------
        ClusterError, GraphError
        """
        on_all_workers(client_of(client), _build, self.source)
        return self

    def summary(self, client: Any) -> GraphSummary:
        """What queries are ordered by; measured by a worker, once."""
        if "_summary" not in self.__dict__:
            self._summary = client.submit(summary, self.source, pure=False).result()
        return self._summary

    def __repr__(self) -> str:
        if "_summary" not in self.__dict__:
            return f"Graph({type(self.source).__name__} {self.source.key[:8]})"
        return f"Graph({self._summary.vertices:,} vertices, {self._summary.edges:,} edges)"

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self.source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _build(source: Source) -> None:
    graph_of(source)
