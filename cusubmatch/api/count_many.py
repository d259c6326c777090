"""The counts of many patterns in one graph; what is wrong with one of them is told in its row of the result."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from cusubmatch.api.argument_types import DevicesOption, EdgesOption, EngineName, GraphLike, Semantics
from cusubmatch.api.count_calls import count_of_query
from cusubmatch.api.counts_on_devices import Job, counts_on_devices
from cusubmatch.api.ids import absent_ids, warn_absent_ids
from cusubmatch.api.options import as_graph, as_pattern, check_options
from cusubmatch.api.options_of_each import options_of_each
from cusubmatch.api.outcomes import DONE, Outcome, outcome_of
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.frames.count_table import count_table
from cusubmatch.graph import Graph
from cusubmatch.graph.labels import absent_in, warn_absent
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.coloured_graph import canonical_key

__all__ = ["count_many"]


def count_many(
    G: GraphLike,
    patterns: Mapping[Any, Pattern | str],
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
) -> Any:
    """Count the matches of many patterns in one graph, which is prepared once.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. They are directed if the
        pattern is.
    patterns : mapping of name to Pattern or str
        The patterns. Their names, as text, tell the rows of the result apart. One that is another with its vertices
        renamed is not counted again.
    semantics : {"monomorphism", "induced", "homomorphism"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Homomorphism: any mapping that keeps the edges.
    unique : bool, optional
        One match per subgraph (per orbit of the pattern's automorphisms) rather than every embedding. Default True; for
        homomorphisms False, and True is an error.
    params : mapping of str to value, optional
        The value of each ``$parameter`` that a pattern's conditions ask for.
    candidates : mapping of name to ids, optional
        Ids that the images of the vertices of these names must be among, in each pattern that has them: lists, arrays
        or columns of any library.
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
        Seconds for each pattern. Default: no limit.

    Returns
    -------
    DataFrame of the family of G
        One row a pattern, in their order, with the columns ``pattern`` (its name as text), ``count`` (nullable
        integers; where a count passes 64 bits all are text), ``seconds``, ``status`` and ``reason``. The status is
        "done", "time limit", "out of memory" or "error" (the pattern cannot be read or does not suit the graph). Where
        it is not "done" the count is null and the reason says why; else the reason is empty.

    Raises
    ------
    GraphError
        If no graph can be made of `G`.
    EngineUnavailable
        If there is no GPU and one is asked for.
    TypeError, ValueError
        If an argument makes no sense, or a pattern is neither a Pattern nor text.

    Warns
    -----
    AbsentIdWarning
        If some of the ids of an argument are not in the graph; the warning says how many.
    AbsentLabelWarning
        If patterns ask for labels that nothing in the graph has; the warning names the patterns.

    See Also
    --------
    count_matches : Count one pattern.
    motif_census : Count every connected pattern of a size.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> count_many(edges, {"triangle": Pattern.cycle(3), "odd": "(a)--("})[["pattern", "count", "status"]]
        pattern  count status
    0  triangle      1   done
    1       odd   <NA>  error
    """
    if not isinstance(patterns, Mapping):
        raise TypeError(f"patterns: expected a mapping of names to patterns, got {type(patterns).__name__}")
    options = QueryOptions(semantics, unique, engine, time_limit, touching=touching, edges=edges, devices=devices)
    check_options(options)
    read = functools.partial(as_pattern, conditions=True, parts=True, edges=edges)
    parsed = {name: outcome_of(read, pattern, f"patterns[{name!r}]") for name, pattern in patterns.items()}
    readable = {name: one.value for name, one in parsed.items() if one.status == DONE}
    graph = as_graph(G, any(pattern.directed for pattern in readable.values()))
    warn_absent({f"patterns[{name!r}]": absent_in(graph, pattern) for name, pattern in readable.items()})
    options = dataclasses.replace(options, warn_of_absent_labels=False)
    options = dataclasses.replace(options, params=params, candidates=candidates)
    jobs = {name: Job(*job) for name, job in zip(readable, options_of_each(readable.values(), options), strict=True)}
    warn_absent_ids(absent_ids(graph, candidates, touching))
    if devices is None:
        counted = _counted_once(graph, list(jobs.values()))
    else:
        counted = counts_on_devices(graph, list(jobs.values()), devices)
    ended = {name: (outcome, 0.0) for name, outcome in parsed.items()} | dict(zip(jobs, counted, strict=True))
    columns = {
        "pattern": [str(name) for name in parsed],
        "count": [outcome.value for outcome, _ in ended.values()],
        "seconds": [seconds for _, seconds in ended.values()],
        "status": [outcome.status for outcome, _ in ended.values()],
        "reason": [outcome.reason for outcome, _ in ended.values()],
    }
    return count_table(graph.family, columns, nullable=True)


def _counted_once(graph: Graph, jobs: Sequence[Job]) -> list[tuple[Outcome, float]]:
    """How the count of each pattern ended; of those that are one pattern with other names only the first is counted.

    Where names matter, each is.
    """
    known: dict[Hashable, Outcome] = {}
    ended = []
    keys = [(len(job.pattern), len(job.pattern.edges)) for job in jobs]
    alike = {size for size, times in Counter(keys).items() if times > 1}
    for job, size in zip(jobs, keys, strict=True):
        named = job.options.candidates is not None or job.options.edges == "each"
        key = canonical_key(job.pattern) if size in alike and not named else None
        counted = (known[key], 0.0) if key in known else _counted(graph, job)
        if key is not None and counted[0].status == DONE:
            known[key] = counted[0]
        ended.append(counted)
    return ended


def _counted(graph: Graph, job: Job) -> tuple[Outcome, float]:
    """How the count of a pattern ended, and the seconds that it took."""
    begin = time.perf_counter()
    outcome = outcome_of(count_of_query, graph, *job)
    return outcome, time.perf_counter() - begin
