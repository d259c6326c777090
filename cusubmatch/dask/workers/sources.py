"""Where a worker takes the graph from: Parquet files, the folder of a saved graph, or bytes that every worker is given.

A source is small and is part of every task. Its `key` says what it holds: files by name, size and time of change, bytes
by their hash. So a worker that has the graph knows it, a worker that is new builds it, and files that changed under a
job are noticed. A source is never scattered, since what is scattered is lost with its worker.
"""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin

from cusubmatch.errors import GraphError
from cusubmatch.frames import family_named
from cusubmatch.graph import Graph
from cusubmatch.graph.parquet_edges import graph_of_parquet

__all__ = [
    "CarriedGraph",
    "CarriedGraphPlugin",
    "FileStamp",
    "ParquetFiles",
    "SavedFolder",
    "Source",
    "content_of",
    "stamps_of",
]

READ_BYTES = 1 << 20  # of a file at a time, to hash it


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A file as it was when a graph was named after it: its path, its bytes, and the time of its last change (ns)."""

    path: str
    size: int
    changed_ns: int


def stamps_of(path: str, suffix: str) -> tuple[FileStamp, ...] | None:
    """The stamp of a file, or of the files of a folder that end in `suffix`; None if there is no such path."""
    place = Path(path)
    if not place.exists():
        return None
    files = sorted(place.glob(f"*{suffix}")) if place.is_dir() else [place]
    return tuple(FileStamp(str(file), (about := file.stat()).st_size, about.st_mtime_ns) for file in files)


def check_stamps(argument: str, stamps: tuple[FileStamp, ...]) -> None:
    """Refuse files that are no longer what they were."""
    for stamp in stamps:
        try:
            about = Path(stamp.path).stat()
        except FileNotFoundError:
            raise GraphError(
                f"{argument}: a worker cannot see {stamp.path!r}; all workers need the file under the same path"
            ) from None
        if (about.st_size, about.st_mtime_ns) != (stamp.size, stamp.changed_ns):
            raise GraphError(
                f"{argument}: {stamp.path!r} has changed since the graph was made of it; make the graph again"
            )


@dataclass(frozen=True)
class ParquetFiles:
    """A graph in Parquet files that all workers see.

    Attributes
    ----------
    edges, vertices : tuple of FileStamp
    columns : tuple
        Arguments of `Graph.from_edgelist`, as pairs of a name and a value.
    family : str
        The library that the files are read with.
    """

    edges: tuple[FileStamp, ...]
    vertices: tuple[FileStamp, ...]
    columns: tuple[tuple[str, Any], ...]
    family: str

    @property
    def key(self) -> str:
        """What the graph is made of."""
        return hashlib.blake2b(repr((self.edges, self.vertices, self.columns, self.family)).encode()).hexdigest()[:32]

    def check(self) -> None:
        """Refuse files that are not what they were."""
        check_stamps("path", self.edges)
        check_stamps("vertices", self.vertices)

    def build(self) -> Graph:
        """Read the files and build the graph; columns for conditions are read when they are asked for."""
        family = family_named(self.family)
        vertices = family.read_parquet([file.path for file in self.vertices], None) if self.vertices else None
        graph = graph_of_parquet([file.path for file in self.edges], family, vertices, dict(self.columns))
        self.check()  # they may have changed while they were read
        return graph


@dataclass(frozen=True)
class SavedFolder:
    """A graph in a folder that `cusubmatch.Graph.save` wrote and all workers see.

    Attributes
    ----------
    folder : str
    files : tuple of FileStamp
    family : str
        The library of the results.
    content : str
        A hash of the files, or "" where the folder is known by the stamps alone.
    """

    folder: str
    files: tuple[FileStamp, ...]
    family: str
    content: str = ""

    @property
    def key(self) -> str:
        """What the graph is made of."""
        about = (self.content, self.family) if self.content else (self.folder, self.files, self.family)
        return hashlib.blake2b(repr(about).encode()).hexdigest()[:32]

    def check(self) -> None:
        """Refuse files that are not what they were."""
        check_stamps("folder", self.files)

    def build(self) -> Graph:
        """Open the folder."""
        return Graph.load(self.folder, family=self.family)


@dataclass(frozen=True)
class CarriedGraph:
    """A graph that every worker is given when it starts, by a plugin of the scheduler.

    Attributes
    ----------
    key : str
        The hash of its bytes.
    """

    key: str

    def check(self) -> None:
        """Refuse nothing: bytes do not change."""

    def build(self) -> Graph:
        """Unpack the bytes that the plugin has brought."""
        if self.key not in _carried:
            raise GraphError("edges: this worker was not given the graph; make it again with this client")
        return pickle.loads(_carried[self.key])  # noqa: S301 - made by this job's client


Source = ParquetFiles | SavedFolder | CarriedGraph

_carried: dict[str, bytes] = {}  # of this worker process


class CarriedGraphPlugin(WorkerPlugin):
    """Brings a pickled graph to all workers, also to those that start later."""

    def __init__(self, graph: bytes):
        self.graph, self.key = graph, hashlib.blake2b(graph).hexdigest()[:32]
        self.name = f"cusubmatch-graph-{self.key}"

    def setup(self, worker: Any) -> None:  # noqa: ARG002 - its signature
        """Keep the bytes."""
        _carried[self.key] = self.graph

    def teardown(self, worker: Any) -> None:  # noqa: ARG002 - its signature
        """Let go of them."""
        _carried.pop(self.key, None)


def content_of(folder: str) -> str:
    """A hash of the files of a folder."""
    digest = hashlib.blake2b()
    for file in sorted(Path(folder).iterdir()):
        digest.update(file.name.encode())
        with file.open("rb") as opened:
            while part := opened.read(READ_BYTES):
                digest.update(part)
    return digest.hexdigest()[:32]
