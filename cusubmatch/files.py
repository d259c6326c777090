"""What the command line reads: a pattern from its argument, a graph from files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from cusubmatch.graph import Graph
    from cusubmatch.pattern import Pattern
    from cusubmatch.terminal import Progress

__all__ = ["read_graph", "read_pattern"]

GENERATORS = ("clique", "cycle", "path", "star")


def read_pattern(text: str, distinct: list[str] | None) -> Pattern:
    """The pattern of a text or of a generator's name."""
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


def _pair(text):
    first, _, second = (part.strip() for part in text.partition(","))
    if not first or not second or "," in second:
        raise ValueError(f"distinct: expected two names such as a,b, got {text!r}")
    return first, second


def read_graph(
    edges: Path,
    source: str | None,
    destination: str | None,
    directed: bool,
    edge_label: str | None,
    vertices: Path | None,
    vertex: str,
    vertex_label: str | None,
    shown: Progress | None = None,
) -> Graph:
    """The data graph of the files."""
    from cusubmatch.graph import Graph

    if vertices is None and vertex_label is not None:
        raise ValueError("vertex_label: give the file that holds this column, too, by vertices=")
    if shown:
        shown.start(f"reading {edges.name}")
    table, attributes = _read("edges", edges), None if vertices is None else _read("vertices", vertices)
    if shown:
        shown.start("building the graph")
    return Graph.from_edgelist(table, source, destination, directed, edge_label, attributes, vertex, vertex_label)


def _read(argument, path):
    from cusubmatch.frames import read_table

    if not path.exists():
        raise ValueError(f"{argument}: there is no file {str(path)!r}")
    try:
        return read_table(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"{argument}: cannot read {str(path)!r}: {error}") from None
