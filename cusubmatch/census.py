"""How often every connected pattern of a size occurs.

The patterns are all connected graphs of three to five vertices, up to isomorphism. They are counted as monomorphisms,
and where induced matches are wanted, these follow from a triangular system: each pattern occurs in every induced
subgraph that it spans, as often as that subgraph has spanning copies of it (Pinar, Seshadhri & Vishal, "ESCAPE", WWW
2017, section 3).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from itertools import combinations, permutations
from typing import NamedTuple

from cusubmatch.api import count_many, table_of
from cusubmatch.errors import TimeLimitExceeded
from cusubmatch.pattern import Pattern
from cusubmatch.query import as_graph, check_options

__all__ = ["Motif", "induced_counts", "motif_census", "motifs"]

SIZES = (3, 4, 5)
NAMES = {
    "3-path": "0-1,1-2",
    "triangle": "0-1,0-2,1-2",
    "4-path": "0-1,1-2,2-3",
    "claw": "0-1,0-2,0-3",
    "paw": "0-1,0-2,1-2,0-3",
    "4-cycle": "0-1,1-2,2-3,0-3",
    "diamond": "0-1,0-2,1-2,0-3,1-3",
    "4-clique": "0-1,0-2,0-3,1-2,1-3,2-3",
    "5-path": "0-1,1-2,2-3,3-4",
    "fork": "0-1,0-2,0-3,3-4",
    "5-star": "0-1,0-2,0-3,0-4",
    "bull": "0-1,0-2,1-2,0-3,1-4",
    "cricket": "0-1,0-2,1-2,0-3,0-4",
    "triangle with a tail of two": "0-1,0-2,1-2,0-3,3-4",
    "banner": "0-1,1-2,2-3,0-3,0-4",
    "5-cycle": "0-1,1-2,2-3,3-4,0-4",
    "butterfly": "0-1,0-2,1-2,0-3,0-4,3-4",
    "dart": "0-1,0-2,1-2,0-3,1-3,0-4",
    "kite": "0-1,0-2,1-2,0-3,1-3,2-4",
    "complete bipartite 2,3": "0-2,0-3,0-4,1-2,1-3,1-4",
    "house": "0-1,1-2,2-3,0-3,0-4,1-4",
    "gem": "0-1,1-2,2-3,0-4,1-4,2-4,3-4",
    "4-clique with a tail": "0-1,0-2,0-3,1-2,1-3,2-3,0-4",
    "book of three triangles": "0-1,0-2,1-2,0-3,1-3,0-4,1-4",
    "4-wheel less a spoke": "0-1,1-2,2-3,0-3,0-4,1-4,2-4",
    "4-wheel": "0-1,1-2,2-3,0-3,0-4,1-4,2-4,3-4",
    "5-clique less a path of two": "0-1,0-2,0-3,1-2,1-3,2-3,0-4,1-4",
    "5-clique less an edge": "0-1,0-2,0-3,1-2,1-3,2-3,0-4,1-4,2-4",
    "5-clique": "0-1,0-2,0-3,0-4,1-2,1-3,1-4,2-3,2-4,3-4",
}

Edges = frozenset  # of pairs of vertices, the smaller one first


class Motif(NamedTuple):
    """A connected graph: what it is called, and its edges as text such as "0-1,0-2"."""

    name: str
    edges: str


def motif_census(
    G,
    size: int = 3,
    *,
    semantics: str = "monomorphism",
    engine: str = "auto",
    time_limit: float | None = None,
):
    """Count every connected pattern of three, four or five vertices.

    Parameters
    ----------
    G : Graph, DataFrame with columns source, destination or src, dst, cugraph.Graph or networkx graph
        Directions and labels are not looked at.
    size : {3, 4, 5}
        Vertices of a pattern.
    semantics : {"monomorphism", "induced"}
        Every copy, or only those without further edges; with "induced" each connected set of vertices counts once.
    engine : {"auto", "cpu", "gpu"}
    time_limit : float, optional
        Seconds for each pattern.

    Returns
    -------
    DataFrame of the family of G
        Columns ``pattern`` (its name), ``edges`` (text such as "0-1,0-2") and ``count``, from few edges to many. Where
        a count passes 64 bits the counts are text.

    Raises
    ------
    TimeLimitExceeded
        With the dataframe of the patterns that were counted as ``.partial``, None for induced counts.
    ValueError

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> motif_census(edges, 3, semantics="induced")[["pattern", "count"]].to_records(index=False).tolist()
    [('3-path', 2), ('triangle', 1)]
    """
    if isinstance(size, bool) or size not in SIZES:
        raise ValueError(f"size: expected one of {', '.join(map(str, SIZES))}, got {size!r}")
    check_options(semantics, None, engine, time_limit)
    if semantics == "homomorphism":
        raise ValueError("semantics: a census counts copies; expected monomorphism or induced, got 'homomorphism'")
    graph, found = as_graph(G, directed=False), motifs(size)
    patterns = {motif: Pattern(sorted(_edges(motif.edges))) for motif in found}
    try:
        table = count_many(graph, patterns, engine=engine, time_limit=time_limit)
    except TimeLimitExceeded as late:
        partial = None if semantics == "induced" else _frame(graph, found, _counts(graph, late.partial))
        raise TimeLimitExceeded(str(late), partial) from None
    counts = _counts(graph, table)
    if semantics == "induced":
        counts = induced_counts(dict(zip(found, counts, strict=True)))
    return _frame(graph, found, counts)


@functools.cache
def motifs(size: int) -> tuple[Motif, ...]:
    """The connected graphs of `size` vertices, from few edges to many."""
    names = {_canonical(_edges(text), size): (name, text) for name, text in NAMES.items() if _size(text) == size}
    return tuple(Motif(*names[form]) for form in sorted(names, key=lambda form: (len(form), sorted(form))))


def induced_counts(counts: Mapping[Motif, int]) -> list[int]:
    """The counts of induced matches, from those of all matches, of all motifs of one size."""
    size = _size(next(iter(counts)).edges)
    forms = {_canonical(_edges(motif.edges), size): motif for motif in counts}
    induced: dict[Motif, int] = {}
    copies: dict[Motif, Counter] = {}  # of each motif that a motif with more edges has, spanning
    for motif in sorted(counts, key=lambda motif: -len(_edges(motif.edges))):
        edges = sorted(_edges(motif.edges))
        subsets = (frozenset(some) for k in range(size - 1, len(edges)) for some in combinations(edges, k))
        copies[motif] = Counter(forms[form] for some in subsets if (form := _canonical(some, size)) in forms)
        induced[motif] = counts[motif] - sum(copies[other][motif] * induced[other] for other in induced)
    return [induced[motif] for motif in counts]


def _edges(text):
    return frozenset(tuple(sorted(map(int, edge.split("-")))) for edge in text.split(","))


def _size(text):
    return 1 + max(int(vertex) for edge in text.split(",") for vertex in edge.split("-"))


@functools.cache
def _canonical(edges: Edges, size: int) -> Edges:
    """The least of the graphs that are isomorphic to one."""
    images = (frozenset(tuple(sorted((p[a], p[b]))) for a, b in edges) for p in permutations(range(size)))
    return min(images, key=sorted)


def _counts(graph, table):
    return [int(count) for count in graph.family.to_arrow(table).column("count").to_pylist()]


def _frame(graph, found, counts):
    found = found[: len(counts)]
    columns = {"pattern": [motif.name for motif in found], "edges": [motif.edges for motif in found], "count": counts}
    return table_of(graph.family, columns)
