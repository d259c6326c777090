"""A query set in a file, answered by a cluster: one that runs already, or one of this machine for the time of the job.

Dask is imported when it is needed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cusubmatch.cli.inputs import GraphFiles, read_graph, read_pattern
from cusubmatch.io.formats import format_of

if TYPE_CHECKING:
    from cusubmatch.dask import Graph

__all__ = ["CLUSTER_SETTINGS", "answer_queries", "cluster_client", "cluster_graph", "read_queries"]

TEXT_SUFFIX, COMMENT = ".txt", "#"
SECONDS_TO_CONNECT = 10
CLUSTER_SETTINGS = {  # of a cluster of this machine; its workers have them, too
    # After that it closes a worker for good that was lost, also one that came back and was lost again.
    "distributed.deploy.lost-worker-timeout": "1 day",
    # A worker that looks at what its threads do may wait for ever for one that ends, and waits for it: in CPython 3.11,
    # where a garbage collection comes in between (gh-106883).
    "distributed.worker.profile.enabled": False,
}
SECONDS_TO_CLOSE = 30.0


def read_queries(name: str) -> list[tuple[str, Any]]:
    """Names and patterns of a file: of columns query and pattern, or a pattern a line; what cannot be read is text."""
    path = Path(name)
    if not path.is_file():
        raise ValueError(f"queries: there is no file {name!r}")
    if path.suffix.lower() == TEXT_SUFFIX:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        pairs = [(line, line) for line in lines if line and not line.startswith(COMMENT)]
    elif format_of(path) is None:
        raise ValueError(f"queries: expected a .parquet, .csv, .tsv or .txt file, got {name!r}")
    else:
        pairs = _from_table(path)
    if not pairs:
        raise ValueError(f"queries: {name!r} holds no query")
    return [(query, _pattern_or_text(text)) for query, text in pairs]


def _from_table(path: Path) -> list[tuple[str, str]]:
    from cusubmatch.io.table_files import read_table

    try:
        table = read_table(path, text=("query", "pattern"))
    except (OSError, ValueError) as error:
        raise ValueError(f"queries: cannot read {str(path)!r}: {error}") from None
    names = table.column_names
    if "pattern" not in names and "query" not in names:
        raise ValueError(f"queries: expected a column pattern or query with texts in {str(path)!r}, got {names}")
    texts = table.column("pattern" if "pattern" in names else "query").to_pylist()
    named = table.column("query").to_pylist() if "query" in names else texts
    return [(str(query), str(text)) for query, text in zip(named, texts, strict=True)]


def _pattern_or_text(text: str) -> Any:
    """The pattern of a generator such as clique:4; other text as it is: its row says what is wrong with it."""
    try:
        return read_pattern(text, None)
    except ValueError:
        return text


def answer_queries(
    graph: Graph,
    asked: list[tuple[str, Any]],
    output: str,
    limit: int | None,
    matches: bool,
    progress: Any,
    how: dict[str, Any],
) -> Any:
    """The results of a query set as a dataframe; the folder `output` gets them, too."""
    import numpy as np

    import cusubmatch.dask as dcsm
    from cusubmatch.frames import family_named

    family, columns = family_named("pandas"), zip(*asked, strict=True)
    objects = [family.values(np.fromiter(column, object, len(asked))) for column in columns]
    queries = family.frame(dict(zip(("query", "pattern"), objects, strict=True)))
    if matches:
        return dcsm.match_many(graph, queries, output, limit=limit, progress=progress, **how)
    return dcsm.count_many(graph, queries, path=output, progress=progress, **how)


@contextlib.contextmanager
def cluster_client(scheduler: str | None, workers: int | None, engine: str) -> Iterator[Any]:
    """A client of a scheduler, or of a cluster of this machine: a worker for each GPU, or for each core."""
    if scheduler is not None and workers is not None:
        raise ValueError("workers: the cluster of scheduler= has its own; name one of the two")
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise ValueError("batch: it needs Dask: pip install 'cusubmatch[dask]'") from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=SECONDS_TO_CONNECT)
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"scheduler: cannot connect to {scheduler!r}: {error!s:.200}") from None
        with client:
            yield client
        return
    import dask

    with (
        dask.config.set(CLUSTER_SETTINGS),
        _closed_in_time(_local_cluster(LocalCluster, workers, engine)) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextlib.contextmanager
def _closed_in_time(cluster: Any) -> Iterator[Any]:
    """Close a cluster at the end, but do not wait for ever: what is left of it ends with this process.

    The nanny of a worker that was killed just after it had registered waits without end for its first words
    (distributed 2026.7.1), and closing waits for the nanny.
    """
    try:
        yield cluster
    finally:
        with contextlib.suppress(TimeoutError):
            cluster.close(timeout=SECONDS_TO_CLOSE)


def _local_cluster(local_cluster: Any, workers: int | None, engine: str) -> Any:
    """A cluster of this machine."""
    from cusubmatch.system.gpu_presence import missing_for_gpu

    if engine != "cpu" and missing_for_gpu() is None:
        with contextlib.suppress(ModuleNotFoundError):
            from dask_cuda import LocalCUDACluster

            return LocalCUDACluster(n_workers=workers, dashboard_address=":0")
    return local_cluster(n_workers=workers or os.cpu_count(), threads_per_worker=1, dashboard_address=":0")


def cluster_graph(files: GraphFiles, directed: bool, client: Any) -> Graph:
    """The data graph of the files on a cluster: Parquet is read by the workers, other formats here."""
    import cusubmatch.dask as dcsm
    from cusubmatch.dask.folders.shared_files import shared_folder

    named = [name for name in (files.edges, files.vertices) if name is not None]
    if files.ids is None and all(format_of(name) == "parquet" and Path(name).exists() for name in named):
        names = files.source, files.destination, directed, files.edge_label
        labels = files.vertices, files.vertex, files.vertex_label, files.time
        try:
            return dcsm.Graph.from_parquet(files.edges, *names, *labels, client=client)
        except (dcsm.ClusterError, ValueError) as error:
            raise type(error)(str(error).replace("path: ", "edges: ", 1)) from None
    return dcsm.Graph.from_graph(read_graph(files, directed), client, shared_folder(client))
