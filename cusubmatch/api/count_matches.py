"""How many matches there are, and whether there is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cusubmatch.api.argument_types import DevicesOption, EdgesOption, EngineName, GraphLike, ProgressOption, Semantics
from cusubmatch.api.count_calls import count_of_query
from cusubmatch.api.options import planned_call
from cusubmatch.api.reports import time_limit_exceeded
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.pattern import Pattern

__all__ = ["count_matches", "has_match"]


def count_matches(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> int:
    """Count the matches of a pattern, without storing them.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. They are directed if the
        pattern is.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``.
    semantics : {"monomorphism", "induced", "homomorphism"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Homomorphism: any mapping that keeps the edges.
    unique : bool, optional
        One match per subgraph (per orbit of the pattern's automorphisms) rather than every embedding. Default True; for
        homomorphisms False, and True is an error.
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
        Where the search runs. "auto": on the GPU if there is one and the graph lies there or is worth the copy.
    devices : "all", int or list of int, optional
        GPUs that share the search: all of them, so many, or those of these numbers. They are of one kind, and each gets
        a copy of the graph. Default: the current one.
    time_limit : float, optional
        Seconds that the call may take. Default: no limit.
    progress : callable or bool, optional
        Called a few times a second as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a
        notebook under the cell: the share of the estimated work that is done, matches so far, matches a second and the
        time left.

    Returns
    -------
    int
        The number of matches, exact at any size.

    Raises
    ------
    TimeLimitExceeded
        With the count so far as ``.partial``; None where matches are counted in parts, by decomposition.
    PatternError
        If the pattern cannot be read, or does not suit the graph.
    GraphError
        If no graph can be made of `G`, or it lacks the labels that the pattern asks for.
    EngineUnavailable
        If there is no GPU and one is asked for.
    TypeError, ValueError
        If an argument makes no sense.

    Warns
    -----
    AbsentIdWarning
        If some of the ids of an argument are not in the graph; the warning says how many.
    AbsentLabelWarning
        If the pattern asks for a label that nothing in the graph has; the warning names the nearest ones.

    See Also
    --------
    count_many : Count many patterns in one graph.
    has_match : Stop at the first match.
    subgraph_match : Return the matches themselves.
    explain : Show how a pattern would be counted.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> count_matches(edges, "(a)--(b)--(c)--(a)")
    1
    """
    return count_of_query(
        G,
        P,
        QueryOptions(
            semantics,
            unique,
            engine,
            time_limit,
            progress=progress,
            params=params,
            candidates=candidates,
            touching=touching,
            edges=edges,
            devices=devices,
        ),
    )


def has_match(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: Semantics = "monomorphism",
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
) -> bool:
    """Find out whether a pattern occurs at all.

    The search stops at the first match.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. They are directed if the
        pattern is.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``.
    semantics : {"monomorphism", "induced", "homomorphism"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Homomorphism: any mapping that keeps the edges.
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
        Where the search runs. "auto": on the GPU if there is one and the graph lies there or is worth the copy.
    devices : "all", int or list of int, optional
        GPUs that share the search: all of them, so many, or those of these numbers. They are of one kind, and each gets
        a copy of the graph. Default: the current one.
    time_limit : float, optional
        Seconds that the call may take. Default: no limit.

    Returns
    -------
    bool
        Whether there is a match.

    Raises
    ------
    TimeLimitExceeded
        With None as ``.partial``.
    PatternError
        If the pattern cannot be read, or does not suit the graph.
    GraphError
        If no graph can be made of `G`, or it lacks the labels that the pattern asks for.
    EngineUnavailable
        If there is no GPU and one is asked for.
    TypeError, ValueError
        If an argument makes no sense.

    See Also
    --------
    count_matches : Count all matches.
    subgraph_match : Return the matches; with ``limit=1`` one of them.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> has_match(edges, "(a)--(b)--(c)--(a)"), has_match(edges, "(a)--(b)--(c)--(d)--(a)")
    (True, False)
    """
    query = planned_call(
        G,
        P,
        QueryOptions(
            semantics,
            None,
            engine,
            time_limit,
            counting=False,
            limit=1,
            params=params,
            candidates=candidates,
            touching=touching,
            edges=edges,
            devices=devices,
        ),
        parts=True,
    )
    blocks = query.blocks(1, None)
    with query.engine.current():
        try:
            return any(block.shape[1] for block in blocks)
        except DeadlinePassed:
            raise time_limit_exceeded(time_limit, None) from None
        finally:
            blocks.close()
