"""The plan of a call, without running it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cusubmatch.api.argument_types import DevicesOption, EdgesOption, EngineName, GraphLike, Semantics
from cusubmatch.api.options import checked_call, is_compound, plan_of_call
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan
from cusubmatch.plan.explain.describe_parts import SeveralCallsText
from cusubmatch.plan.explain.describe_rows import RowPlanText

__all__ = ["explain"]


def explain(
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
    counting: bool = True,
) -> Plan | RowPlanText | SeveralCallsText:
    """Show how a pattern would be matched: matching order, candidate sets, estimates and the strategy.

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
    counting : bool, default True
        The plan of `count_matches`. False: that of `subgraph_match`.

    Returns
    -------
    Plan
        Print it to read it; a notebook shows its text. It is another object with a text and a ``cost``, in nanoseconds,
        where rows of the edge table are walked or several calls are made.

    Raises
    ------
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
    count_matches : Count the matches.
    subgraph_match : Return the matches.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> plan = explain(edges, "(a)--(b)--(c)--(a)", engine="cpu")
    >>> plan.engine, len(plan.levels)
    ('cpu', 3)
    """
    options = QueryOptions(
        semantics,
        unique,
        engine,
        counting=counting,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
        devices=devices,
    )
    call = checked_call(G, P, options, parts=True)
    if is_compound(call.pattern):
        from cusubmatch.execution.compound.explained_calls import explained_compound

        return explained_compound(*call)
    if call.options.touching is not None:
        from cusubmatch.execution.compound.explained_calls import explained_touching

        return explained_touching(*call)
    return plan_of_call(call).explained
