"""A uniform sample of all matches, with their exact number and without walking their rows.

All matches are counted task by task, distinct ranks of the whole are drawn (Floyd's algorithm: Bentley & Floyd,
"Programming pearls: a sample of brilliance", CACM 1987), and the engine finds the match at each rank in its task. Where
every embedding is wanted, matches are counted up to automorphisms, and the rest of a rank says which automorphic image
of its match is meant. Where rows of the edge table are walked, or only matches that touch some vertices are wanted,
matches are not ranked: all are walked, and those with the least random numbers are kept
(`execution/row_walks/random_choice.py`). So are matches with parts, whose rows are chosen without being made
(`execution/compound/row_choice.py`).
"""

from __future__ import annotations

import dataclasses
import operator
import random
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from cusubmatch.api.argument_types import DevicesOption, EdgesOption, EngineName, GraphLike, Semantics
from cusubmatch.api.options import CheckedCall, checked_call, is_compound, plan_of_call
from cusubmatch.engines.prepared import RowBlock
from cusubmatch.engines.runs import Sampler
from cusubmatch.errors import DeadlinePassed, ResultTooLarge, TimeLimitExceeded
from cusubmatch.execution.collection.whole_blocks import whole_blocks
from cusubmatch.execution.planned_call import PlannedCall, asked_by
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.row_walks.random_choice import RandomChoice
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import until
from cusubmatch.system.host_memory import available_memory

__all__ = ["sample_matches"]

RANK_BYTES = 150  # of a rank while it is looked for


def sample_matches(
    G: GraphLike,
    P: Pattern | str,
    n: int,
    *,
    seed: int | None = None,
    semantics: Semantics = "monomorphism",
    unique: bool | None = None,
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    edge_id: Any = None,
    engine: EngineName = "auto",
    devices: DevicesOption = None,
    time_limit: float | None = None,
) -> tuple[Any, int]:
    """Draw matches of a pattern uniformly, without replacement, and count all.

    It takes about as long as counting, however many matches there are: their rows are never walked, but for conditions
    that compare vertices or edges, `edges="each"`, `touching` and parts (OPTIONAL, EXISTS about several vertices). With
    OPTIONAL parts each row is drawn by itself, and matches are walked, but not what they are extended by. Every set of
    `n` matches is equally likely, and so is every order of the rows.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. They are directed if the
        pattern is.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``.
    n : int
        Matches to draw, 0 or more; all of them, in random order, where there are not more.
    seed : int, optional
        0 or more. The same seed draws the same sample from the same graph on the same engine. Default: another sample
        at each call.
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
    edge_id : column name, optional
        With ``edges="each"``, the column of the edge table that the result has for each named edge; default the row's
        position in the table.
    engine : {"auto", "cpu", "gpu"}
        Where the search runs. "auto": on the GPU if there is one and the graph lies there or is worth the copy.
    devices : "all", int or list of int, optional
        GPUs that share the search: all of them, so many, or those of these numbers. They are of one kind, and each gets
        a copy of the graph. Default: the current one. A dataframe of cuDF lies where the graph lies.
    time_limit : float, optional
        Seconds that the call may take. Default: no limit.

    Returns
    -------
    matches : DataFrame of the family of G (pandas for NumPy and networkx)
        A row each of min(n, count) matches; columns and values are as `subgraph_match` gives them.
    count : int
        The number of all matches, as `count_matches` gives it.

    Raises
    ------
    TimeLimitExceeded
        With None as ``.partial``: there is no sample before all matches are counted.
    ResultTooLarge
        If the sample does not fit in memory.
    PatternError
        If the pattern cannot be read, names no vertex, or does not suit the graph.
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
    subgraph_match : Return all matches.
    count_matches : Count the matches alone.

    Examples
    --------
    >>> import pandas as pd
    >>> hub = pd.DataFrame({"src": [0] * 1000, "dst": range(1, 1001)})
    >>> matches, count = sample_matches(hub, "(a)--(h)--(b), (h)--(c)", 2, seed=7)
    >>> len(matches), count
    (2, 166167000)
    """
    n = _whole("n", n, "an int")
    seed = None if seed is None else _whole("seed", seed, "an int or None")
    by_trial = seed is None  # a plan chosen by timing may be another one next time, and so may the ranks
    options = QueryOptions(
        semantics,
        unique,
        engine,
        time_limit,
        suffix=0,
        by_trial=by_trial,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
        edge_id=edge_id,
        devices=devices,
    )
    call, generator = checked_call(G, P, options, parts=True), random.Random(seed)  # noqa: S311 - a sample is no secret
    try:
        if is_compound(call.pattern):
            return _drawn_from_parts(call, n, generator)
        return _drawn([call], n, generator)
    except DeadlinePassed:
        raise TimeLimitExceeded(f"time_limit: no sample could be drawn within {time_limit} s") from None


def _drawn_from_parts(call: CheckedCall, n: int, generator: random.Random) -> tuple[Any, int]:
    """The sample and the count of a pattern with parts or paths of several lengths."""
    from cusubmatch.execution.compound.compound_rows import compound_calls

    calls = compound_calls(*call)
    if not calls.joined:
        return _drawn([call._replace(pattern=one, options=calls.options) for one in calls.patterns], n, generator)
    from cusubmatch.execution.compound.joined_query import joined_query
    from cusubmatch.execution.compound.joined_sample import joined_sample

    with until(call.deadline):
        query: Any = joined_query(call.graph, calls, call.options, call.deadline)
        query.columns()
        return joined_sample(query, n, generator.getrandbits(64), lambda rows: _check_sample_fits(query, rows))


def _drawn(calls: Sequence[CheckedCall], n: int, generator: random.Random) -> tuple[Any, int]:
    """The sample and the count of patterns without parts, whose matches are put together."""
    from cusubmatch.execution.row_walks.row_query import needs_rows

    pattern, options = calls[0].pattern, calls[0].options
    ranked = options.touching is None and not needs_rows(asked_by(pattern, options))
    if not ranked:
        options = dataclasses.replace(options, counting=False, suffix=None)
    queries = [plan_of_call(call._replace(options=options)) for call in calls]
    queries[0].columns()
    with queries[0].engine.current(), until(queries[0].deadline):
        if ranked:
            return _drawn_by_rank([query for query in queries if isinstance(query, Query)], n, generator)
        return _drawn_while_walking(queries, n, generator)


def _drawn_by_rank(queries: Sequence[Query], n: int, generator: random.Random) -> tuple[Any, int]:
    """The sample and the count, by ranks; those of one pattern follow those of the one before."""
    samplers = [query.engine.sampler(query.plan, query.prepared, query.deadline) for query in queries]
    counts = [sampler.counts() for sampler in samplers]
    ends = list(accumulate(sum(some) * query.plan.factor for some, query in zip(counts, queries, strict=True)))
    rows = min(n, ends[-1])
    _check_sample_fits(queries[0], rows)
    ranks, blocks, begin = sorted(_distinct_ranks(ends[-1], rows, generator)), [], 0
    for query, sampler, some, end in zip(queries, samplers, counts, ends, strict=True):
        own = [rank - begin for rank in ranks[bisect_left(ranks, begin) : bisect_left(ranks, end)]]
        plan, begin = query.plan, end
        matches = _images(plan, _matches_at(sampler, some, own, plan.factor), own)
        blocks.append(matches[list(plan.columns)])
    order = list(range(rows))
    generator.shuffle(order)
    return queries[0].frame([np.concatenate(blocks, axis=1)[:, np.array(order, np.int64)]]), ends[-1]


def _drawn_while_walking(queries: Sequence[PlannedCall], n: int, generator: random.Random) -> tuple[Any, int]:
    """The sample and the count, by walking all matches."""
    query = queries[0]
    pattern = query.plan.pattern if isinstance(query, Query) else query.pattern
    named = [vertex for vertex, name in enumerate(pattern.names) if name is not None]
    choice = RandomChoice(n, generator.getrandbits(64), named)
    for number, one in enumerate(queries):
        blocks = whole_blocks(one, None)
        try:
            for block in blocks:
                choice.add(RowBlock(*map(one.engine.to_host, block)), number)
                _check_sample_fits(query, min(choice.kept, n))
        finally:
            blocks.close()
    chosen = choice.chosen()
    if chosen is None:
        return query.frame([]), choice.count
    return query.frame([np.concatenate([chosen.vertices.astype(np.int64), chosen.rows])]), choice.count


def _check_sample_fits(query: PlannedCall, rows: int) -> None:
    """Refuse a sample that does not fit in memory."""
    if rows * (query.result_row_bytes + RANK_BYTES) > available_memory() // 2:
        raise ResultTooLarge(
            f"n: a sample of {rows:,} rows of {len(query.columns())} columns does not fit in memory; draw fewer, or "
            "use iter_matches for all matches in batches"
        )


def _whole(argument: str, value: Any, expected: str) -> int:
    """The argument as an int, 0 or more."""
    try:
        whole = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        whole = None
    if whole is None:
        raise TypeError(f"{argument}: expected {expected}, got {type(value).__name__}")
    if whole < 0:
        raise ValueError(f"{argument}: expected 0 or more, got {whole}")
    return whole


def _distinct_ranks(total: int, n: int, generator: random.Random) -> set[int]:
    """A uniform set of n of the ranks 0, ..., total - 1, which may pass 64 bits."""
    drawn: set[int] = set()
    for last in range(total - n, total):
        rank = generator.randrange(last + 1)
        drawn.add(last if rank in drawn else rank)
    return drawn


def _matches_at(sampler: Sampler, counts: list[int], ranks: list[int], factor: int) -> np.ndarray:
    """The match, int32 (pattern vertices, ranks), of which each of the ascending ranks is an automorphic image."""
    ends = list(accumulate(counts))
    wanted: dict[int, list[int]] = {}
    columns, column, last = [], -1, -1
    for match in (rank // factor for rank in ranks):
        if match > last:
            task = bisect_right(ends, match)
            wanted.setdefault(task, []).append(match - (ends[task] - counts[task]))
            column, last = column + 1, match
        columns.append(column)
    return sampler.rows(wanted)[:, np.array(columns, np.int64)]


def _images(plan: Plan, matches: np.ndarray, ranks: list[int]) -> np.ndarray:
    """The matches, each under the automorphism that the rest of its rank stands for."""
    if plan.factor == 1:
        return matches
    group = plan.pattern.automorphisms
    images = np.array([group.element(rank % plan.factor) for rank in ranks], np.int64).reshape(-1, group.size)
    return np.take_along_axis(matches, images.T, axis=0)
