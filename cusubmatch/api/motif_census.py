"""How often every connected pattern of a size occurs.

The patterns are all connected graphs of three to five vertices, up to isomorphism. They are counted as monomorphisms,
and where induced matches are wanted, these follow from the counts of each one's supergraphs (`plan/supergraphs.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from cusubmatch.api.argument_types import EngineName, GraphLike, UniqueSemantics
from cusubmatch.api.count_matches import count_matches
from cusubmatch.api.options import as_graph, check_options
from cusubmatch.errors import TimeLimitExceeded
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.frames.count_table import count_table
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan.supergraphs import supergraphs

__all__ = ["Motif", "induced_counts", "motif_census", "motifs"]

SIZES = (3, 4, 5)
NAMES = {
    "3-path": "0-1,1-2",
    "triangle": "0-1,0-2,1-2",
    "claw": "0-1,0-2,0-3",
    "4-path": "0-1,1-2,2-3",
    "paw": "0-1,0-2,1-2,0-3",
    "4-cycle": "0-1,1-2,2-3,0-3",
    "diamond": "0-1,0-2,1-2,0-3,1-3",
    "4-clique": "0-1,0-2,0-3,1-2,1-3,2-3",
    "5-star": "0-1,0-2,0-3,0-4",
    "fork": "0-1,0-2,0-3,3-4",
    "5-path": "0-1,1-2,2-3,3-4",
    "cricket": "0-1,0-2,1-2,0-3,0-4",
    "bull": "0-1,0-2,1-2,0-3,1-4",
    "triangle with a tail of two": "0-1,0-2,1-2,0-3,3-4",
    "banner": "0-1,1-2,2-3,0-3,0-4",
    "5-cycle": "0-1,1-2,2-3,3-4,0-4",
    "dart": "0-1,0-2,1-2,0-3,1-3,0-4",
    "butterfly": "0-1,0-2,1-2,0-3,0-4,3-4",
    "kite": "0-1,0-2,1-2,0-3,1-3,2-4",
    "house": "0-1,1-2,2-3,0-3,0-4,1-4",
    "complete bipartite 2,3": "0-2,0-3,0-4,1-2,1-3,1-4",
    "book of three triangles": "0-1,0-2,1-2,0-3,1-3,0-4,1-4",
    "4-clique with a tail": "0-1,0-2,0-3,1-2,1-3,2-3,0-4",
    "gem": "0-1,1-2,2-3,0-4,1-4,2-4,3-4",
    "4-wheel less a spoke": "0-1,1-2,2-3,0-3,0-4,1-4,2-4",
    "5-clique less a path of two": "0-1,0-2,0-3,1-2,1-3,2-3,0-4,1-4",
    "4-wheel": "0-1,1-2,2-3,0-3,0-4,1-4,2-4,3-4",
    "5-clique less an edge": "0-1,0-2,0-3,1-2,1-3,2-3,0-4,1-4,2-4",
    "5-clique": "0-1,0-2,0-3,0-4,1-2,1-3,1-4,2-3,2-4,3-4",
}


class Motif(NamedTuple):
    """A connected graph: what it is called, and its edges as text such as "0-1,0-2"."""

    name: str
    edges: str


def motif_census(
    G: GraphLike,
    size: int = 3,
    *,
    semantics: UniqueSemantics = "monomorphism",
    engine: EngineName = "auto",
    time_limit: float | None = None,
) -> Any:
    """Count every connected pattern of three, four or five vertices.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. Directions and labels
        are ignored.
    size : {3, 4, 5}
        Vertices of a pattern.
    semantics : {"monomorphism", "induced"}
        Every copy, or only those without further edges; with "induced" each connected set of vertices counts once.
    engine : {"auto", "cpu", "gpu"}
        Where the search runs. "auto": on the GPU if there is one and the graph lies there or is worth the copy.
    time_limit : float, optional
        Seconds for each pattern. Default: no limit.

    Returns
    -------
    DataFrame of the family of G
        Columns ``pattern`` (its name), ``edges`` (text such as "0-1,0-2") and ``count``, from few edges to many. Where
        a count passes 64 bits the counts are text.

    Raises
    ------
    TimeLimitExceeded
        With the dataframe of the patterns that were counted as ``.partial``, None for induced counts.
    GraphError
        If no graph can be made of `G`.
    EngineUnavailable
        If there is no GPU and one is asked for.
    TypeError, ValueError
        If an argument makes no sense.

    See Also
    --------
    count_many : Count patterns of your own.
    vertex_counts : Count the matches at every vertex.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> motif_census(edges, 3, semantics="induced")[["pattern", "count"]].to_records(index=False).tolist()
    [('3-path', 2), ('triangle', 1)]
    """
    if isinstance(size, (bool, Pattern)) or size not in SIZES:
        own = "; its patterns come from it, and count_many counts yours" if isinstance(size, (str, Pattern)) else ""
        raise ValueError(f"size: expected one of {', '.join(map(str, SIZES))}, got {size!r}{own}")
    check_options(QueryOptions(semantics, None, engine, time_limit))
    if cast("str", semantics) == "homomorphism":
        raise ValueError("semantics: a census counts copies; expected monomorphism or induced, got 'homomorphism'")
    graph, census = as_graph(G, directed=False), motifs(size)
    counts: list[int] = []
    for motif in census:
        try:
            counts.append(count_matches(graph, _pattern(motif), engine=engine, time_limit=time_limit))
        except TimeLimitExceeded:
            partial = None if semantics == "induced" else _frame(graph, census, counts)
            message = f"time_limit: {motif.name!r} was not counted within {time_limit} s"
            raise TimeLimitExceeded(message, partial) from None
    if semantics == "induced":
        counts = induced_counts(dict(zip(census, counts, strict=True)))
    return _frame(graph, census, counts)


@functools.cache
def motifs(size: int) -> tuple[Motif, ...]:
    """The connected graphs of `size` vertices, from few edges to many."""
    census = (Motif(name, text) for name, text in NAMES.items())
    return tuple(motif for motif in census if len(_pattern(motif)) == size)


def induced_counts(counts: Mapping[Motif, int]) -> list[int]:
    """The counts of induced matches, from those of all matches, of all motifs of one size."""
    by_form = {_pattern(motif).automorphisms.form(): count for motif, count in counts.items()}
    return [
        sum(factor * by_form[larger.automorphisms.form()] for larger, factor in supergraphs(_pattern(motif)))
        for motif in counts
    ]


@functools.cache
def _pattern(motif: Motif) -> Pattern:
    edges = (edge.split("-") for edge in motif.edges.split(","))
    return Pattern(sorted((int(first), int(second)) for first, second in edges))


def _frame(graph: Graph, census: Sequence[Motif], counts: list[int]) -> Any:
    """The counts of the first motifs."""
    counted = census[: len(counts)]
    columns: dict[str, list[Any]] = {
        "pattern": [motif.name for motif in counted],
        "edges": [motif.edges for motif in counted],
        "count": counts,
    }
    return count_table(graph.family, columns)
