"""What the command line reads: a pattern from its argument, a graph from files."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cusubmatch.io.formats import format_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from cusubmatch.display.progress import Progress
    from cusubmatch.graph import Graph
    from cusubmatch.pattern import Pattern

__all__ = ["GraphFiles", "read_graph", "read_ids", "read_pattern"]

STDIN = "-"
GENERATORS = ("clique", "cycle", "path", "star")


def read_pattern(text: str, distinct: list[str] | None, where: str | None = None) -> Pattern:
    """The pattern of a text or of a generator's name, with a condition."""
    pattern = _read_pattern(text, distinct)
    return pattern if where is None else pattern.where(where)


def _read_pattern(text: str, distinct: list[str] | None) -> Pattern:
    from cusubmatch.pattern import Pattern

    pairs = [_pair(text) for text in distinct or ()]
    generator = re.fullmatch(r"\s*(\w+):([^():]*)(:directed)?\s*", text)
    if generator is None:
        return Pattern.parse(text, distinct=pairs)
    name, size, directed = generator.groups()
    if name not in GENERATORS:
        raise ValueError(f"pattern: unknown generator {name!r}; there are {', '.join(GENERATORS)}, as in clique:4")
    if not re.fullmatch(r"[0-9]{1,9}", size):
        raise ValueError(f"pattern: {name} needs a number of vertices, as in {name}:4; got {size!r}")
    if directed and name == "clique":
        raise ValueError("pattern: a clique has no direction; cycle, path and star take :directed")
    if pairs:
        raise ValueError(f"distinct: give the pattern as text to name pairs of it; got the generator {text!r}")
    return getattr(Pattern, name)(int(size), **({"directed": True} if directed else {}))


def _pair(text: str) -> tuple[str, str]:
    first, _, second = (part.strip() for part in text.partition(","))
    if not first or not second or "," in second:
        raise ValueError(f"distinct: expected two names such as a,b, got {text!r}")
    return first, second


class GraphFiles(NamedTuple):
    """The files and columns of a data graph, as the options of the command line name them."""

    edges: str
    source: str | None
    destination: str | None
    edge_label: str | None
    vertices: str | None
    vertex: str
    vertex_label: str | None
    ids: str | None
    input_format: str | None
    time: str | None = None


def read_graph(files: GraphFiles, directed: bool, progress: Progress | None = None) -> Graph:
    """The data graph of the files; the name ``-`` is standard input."""
    from cusubmatch.frames import settle_ids
    from cusubmatch.graph import Graph
    from cusubmatch.graph.edge_list import DEFAULT_COLUMNS, checked_name, edge_columns

    if files.vertices is None and files.vertex_label is not None:
        raise ValueError("vertex_label: give the file that holds this column, too, by vertices=")
    if files.edges == files.vertices == STDIN:
        raise ValueError("vertices: edges already come from stdin; name a file")
    if progress:
        progress.start(f"reading {'stdin' if files.edges == STDIN else Path(files.edges).name}")
    ends = [name for pair in DEFAULT_COLUMNS for name in pair] if files.source is None else files[1:3]
    edges, is_text = _read("edges", files.edges, files.input_format, [*ends, files.edge_label])
    family, edges, source, destination = edge_columns(edges, files.source, files.destination)
    columns = {"source": edges.column(source), "destination": edges.column(destination)}
    read_as_text = list(columns) if is_text else []
    vertices = None
    if files.vertices is not None:
        vertices, is_text = _read("vertices", files.vertices, None, [files.vertex, files.vertex_label])
        columns["vertex"] = vertices.column(checked_name(family, vertices, files.vertex, "vertex"))
        read_as_text += ["vertex"] * is_text
    columns = settle_ids(columns, read_as_text, files.ids)
    edges = _with_column(_with_column(edges, source, columns["source"]), destination, columns["destination"])
    if vertices is not None:
        vertices = _with_column(vertices, files.vertex, columns["vertex"])
    if progress:
        progress.start("building the graph")
    return Graph.from_edgelist(
        edges,
        source,
        destination,
        directed,
        files.edge_label,
        vertices,
        files.vertex,
        files.vertex_label,
        files.time,
    )


def read_ids(argument: str, name: str, kind: str | None) -> Any:
    """The ids in the first column of a file; in text files as "int" or "text", or None: integers if nothing is lost."""
    from cusubmatch.frames import settle_ids

    table, is_text = _read(argument, name, None, [])
    column = table.column(0)
    if is_text:
        column = settle_ids({argument: column}, [], kind)[argument]
    return column


def _read(argument: str, name: str, form: str | None, text: Iterable[str | None]) -> tuple[pa.Table, bool]:
    """The table of a file, and whether its columns named in `text` were read as text."""
    from cusubmatch.io.table_files import format_in, read_table

    path = Path(name)
    if name != STDIN and not path.exists():
        raise ValueError(f"{argument}: there is no file {name!r}")
    try:
        content: Path | bytes = path  # what cannot be read twice is kept in memory
        if name == STDIN:
            content = sys.stdin.buffer.read()
        elif path.is_fifo():
            content = path.read_bytes()
        form = form or (format_in(content) if isinstance(content, bytes) else format_of(path))
        return read_table(content, form, [column for column in text if column is not None]), form != "parquet"
    except (OSError, ValueError) as error:
        hint = "; or say input_format=csv" if form is None and argument == "edges" else ""
        printed = "stdin" if name == STDIN else repr(name)
        raise ValueError(f"{argument}: cannot read {printed}: {error}{hint}") from None


def _with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)
