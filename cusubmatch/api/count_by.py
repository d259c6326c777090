"""Matches counted by the images of some pattern vertices: pairs with many intermediaries, edges in many triangles."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cusubmatch.api.argument_types import EdgesOption, EngineName, GraphLike, ProgressOption, Semantics
from cusubmatch.api.options import CheckedCall, checked_call, is_compound
from cusubmatch.api.reports import reporting, time_limit_exceeded
from cusubmatch.errors import DeadlinePassed, EngineUnavailable, PatternError
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern

if TYPE_CHECKING:
    from cusubmatch.engines.runs import ProgressCallback
    from cusubmatch.execution.grouping.grouped_rows import Groups

__all__ = ["COUNT_COLUMN", "count_by"]

COUNT_COLUMN = "count"


def count_by(
    G: GraphLike,
    P: Pattern | str,
    by: Hashable | Sequence[Hashable],
    *,
    min_count: int = 1,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    progress: ProgressOption = None,
) -> Any:
    """Count the matches by the images of some pattern vertices.

    By one vertex: in how many matches each vertex of the graph stands there. By the ends of an edge: the matches of
    each edge. By two others: of each pair, as for accounts with many intermediaries between them.

    Where it can be done, matches are not looked at: by one vertex tables are computed, and the common neighbours of two
    vertices are counted. Else matches are walked, and only their distinct bindings are kept. It is work of the CPU
    engine.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. They are directed if the
        pattern is.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``.
    by : name or sequence of names
        The pattern vertices by whose images matches are counted, outside of OPTIONAL and EXISTS parts. With OPTIONAL
        parts a match counts as often as it has rows; to count by a new vertex of such a part, group the rows:
        ``subgraph_match(G, P).groupby("z", dropna=False).size()``, with the matches that lack the part under null.
    min_count : int
        Bindings with fewer matches are left out.
    semantics : {"monomorphism", "induced", "homomorphism"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Homomorphism: any mapping that keeps the edges.
    unique : bool, optional
        True: a match counts once in each binding that it has in some order, as in `vertex_counts`, so that by one
        vertex of a triangle each vertex gets its triangles. Bindings that an automorphism of the pattern exchanges are
        one row: the ends of ``(a)--(m)--(b)`` are given once for each two vertices, and which of them is `a` is not
        promised. False: every embedding counts, in the binding that it has. Default True; for homomorphisms False, and
        True is an error.
    params : mapping of str to value, optional
        The value of each ``$parameter`` of the pattern's conditions: a number, a text, a bool, None, a date, a time, a
        duration, or for ``IN`` a list, an array or a column.
    candidates : mapping of name to ids, optional
        Ids that the images of some pattern vertices must be among: lists, arrays or columns of any library.
    touching : ids, optional
        A match must have at least one of these ids among its vertices.
    edges : {"any", "each"}
        "any": a match is its vertices; it counts if rows of the edge table exist that fulfil all conditions together.
        "each": every named edge is bound to a row, different names to different rows; each combination is a match.
    engine : {"auto", "cpu", "gpu"}
        Matches are grouped by the CPU engine, also with "auto"; "gpu" is refused.
    time_limit : float, optional
        Seconds that the call may take. Default: no limit.
    memory_limit : int, optional
        Bytes that the bindings may take. Default: most of the free memory.
    progress : callable or bool, optional
        Called a few times a second as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a
        notebook under the cell.

    Returns
    -------
    DataFrame of the family of G
        A row for each binding that has `min_count` matches, in no promised order: a column of ids for each name of
        `by`, and the int64 column ``count``.

    Raises
    ------
    TimeLimitExceeded
        With None as ``.partial``.
    ResultTooLarge
        If the bindings do not fit in memory.
    OverflowError
        If a binding has 2^63 matches or more.
    PatternError
        If the pattern cannot be read, does not suit the graph, or has no vertex of a name of `by`.
    GraphError
        If no graph can be made of `G`, or it lacks the labels that the pattern asks for.
    EngineUnavailable
        If the GPU is asked for.
    TypeError, ValueError
        If an argument makes no sense.

    See Also
    --------
    vertex_counts : Count by every vertex of the pattern at once.
    count_matches : Count the matches of the whole graph.
    subgraph_match : Return the matches themselves.

    Examples
    --------
    >>> import pandas as pd
    >>> payments = pd.DataFrame({"src": ["x", "x", "x", "m", "n"], "dst": ["m", "n", "o", "y", "y"]})
    >>> count_by(payments, "(a)-->(m)-->(b)", by=["a", "b"], min_count=2)
       a  b  count
    0  x  y      2
    """
    options = QueryOptions(
        semantics,
        unique,
        engine,
        time_limit,
        counting=False,
        memory_limit=memory_limit,
        progress=progress,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
    )
    call = checked_call(G, P, options, parts=True)
    if engine == "gpu":
        raise EngineUnavailable("engine: matches are grouped on the CPU engine only; use engine='cpu' or 'auto'")
    least, graph = _checked_least(min_count), call.graph
    vertices = _vertices_named(call.pattern, by)
    names = _columns(graph, [call.pattern.names[vertex] for vertex in vertices])
    try:
        with reporting(progress, "counting") as report:
            groups = _groups(call, vertices, least, report)
    except DeadlinePassed:
        raise time_limit_exceeded(time_limit, None) from None
    columns = {
        name: graph.to_ids(graph.xp.asarray(images)) for name, images in zip(names, groups.vertices, strict=True)
    }
    return graph.family.frame({**columns, COUNT_COLUMN: graph.family.values(graph.xp.asarray(groups.counts))})


def _groups(call: CheckedCall, vertices: list[int], least: int, report: ProgressCallback | None) -> Groups:
    """The bindings of a call with at least so many matches."""
    if is_compound(call.pattern):
        from cusubmatch.execution.compound.compound_groups import compound_groups

        return compound_groups(*call).groups([vertices], least, report)[0]
    from cusubmatch.execution.grouping.grouped_count import grouped_count

    return grouped_count(*call, vertices).groups(least, report)


def _checked_least(min_count: Any) -> int:
    """The smallest count that is given."""
    if isinstance(min_count, bool) or not isinstance(min_count, (int, np.integer)):
        raise TypeError(f"min_count: expected an int, got {type(min_count).__name__}")
    if min_count < 1:
        raise ValueError(f"min_count: expected 1 or more, got {min_count}")
    return int(min_count)


def _vertices_named(pattern: Pattern, by: Any) -> list[int]:
    """The pattern vertices of the names in `by`."""
    places = {name: vertex for vertex, name in enumerate(pattern.names) if name is not None}
    if isinstance(by, str) or (isinstance(by, Hashable) and by in places):
        by = [by]
    if not isinstance(by, Sequence):
        raise TypeError(f"by: expected names of pattern vertices such as ['a', 'b'], got {type(by).__name__}")
    if not by:
        raise ValueError("by: expected at least one name of a pattern vertex, got none; count_matches counts all")
    for name in by:
        if name not in places:
            edge = " of the pattern, but of an edge" if name in {e.name for e in pattern.edges} - {None} else ""
            if not edge and name in pattern.columns:
                raise PatternError(
                    f"by: {name!r} is a vertex of an OPTIONAL part, and a match may be without it; group the rows of "
                    f"subgraph_match by it, or name some of {list(places)}"
                )
            raise PatternError(f"by: {name!r} is no vertex{edge}; the named vertices are {list(places)}")
    if len(set(by)) < len(by):
        raise ValueError(f"by: expected different names, got {list(by)}")
    return [places[name] for name in by]


def _columns(graph: Graph, names: list) -> list:
    """The names as columns of the graph's family."""
    if graph.family.strings_only:
        names = [str(name) for name in names]
    if COUNT_COLUMN in names or len(set(names)) < len(names):
        raise PatternError(f"by: the names become columns beside {COUNT_COLUMN!r} and must differ from it; rename one")
    return names
