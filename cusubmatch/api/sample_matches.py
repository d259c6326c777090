"""A uniform sample of all matches, with their exact number and without walking their rows.

All matches are counted task by task, distinct ranks of the whole are drawn (Floyd's algorithm: Bentley & Floyd,
"Programming pearls: a sample of brilliance", CACM 1987), and the engine finds the match at each rank in its task. Where
every embedding is wanted, matches are counted up to automorphisms, and the rest of a rank says which automorphic image
of its match is meant.
"""

from __future__ import annotations

import operator
import random
from bisect import bisect_right
from itertools import accumulate

import numpy as np

from cusubmatch.errors import DeadlinePassed, ResultTooLarge, TimeLimitExceeded
from cusubmatch.execution.query import check_options, make_query
from cusubmatch.pattern import Pattern
from cusubmatch.pattern.automorphisms import AutomorphismGroup
from cusubmatch.system.deadlines import until
from cusubmatch.system.host_memory import available_memory

__all__ = ["sample_matches"]

RANK_BYTES = 150  # of a rank while it is looked for


def sample_matches(
    G,
    P: Pattern | str,
    n: int,
    *,
    seed: int | None = None,
    semantics: str = "monomorphism",
    unique: bool | None = None,
    engine: str = "auto",
    time_limit: float | None = None,
):
    """Draw matches of a pattern uniformly, without replacement, and count all.

    It takes about as long as counting, however many matches there are: their rows are never walked. Every set of `n`
    matches is equally likely, and so is every order of the rows.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges: DataFrame, arrays or what else `Graph.from_edgelist` takes
    P : Pattern or str
    n : int
        Matches to draw, 0 or more; all of them, in random order, where there are not more.
    seed : int, optional
        0 or more. The same seed draws the same sample from the same graph on the same engine; None draws
        another one at each call.
    semantics, unique, engine, time_limit
        As for `count_matches`.

    Returns
    -------
    matches : DataFrame of the family of G (pandas for NumPy and networkx)
        min(n, count) rows; columns and values are as `subgraph_match` gives them.
    count : int
        The number of all matches, as `count_matches` gives it.

    Raises
    ------
    TimeLimitExceeded
        With None as ``.partial``: there is no sample before all matches are counted.
    ResultTooLarge
        If the sample does not fit in memory.
    PatternError, GraphError, EngineUnavailable, TypeError, ValueError

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
    check_options(semantics, unique, engine, time_limit)
    by_trial = seed is None  # a plan that was chosen by its time may be another one next time, and so may the ranks
    query = make_query(G, P, semantics, unique, engine, time_limit, counting=True, suffix=0, by_trial=by_trial)
    columns, plan = query.columns(), query.plan
    chance = random.Random(seed)  # noqa: S311 - a sample is no secret
    try:
        with until(query.deadline):
            sampler = query.engine.sampler(plan, query.prepared, query.deadline)
            counts = sampler.counts()
            count = sum(counts) * plan.factor
            rows = min(n, count)
            if rows * (len(columns) * (4 + query.graph.id_bytes) + RANK_BYTES) > available_memory() // 2:
                raise ResultTooLarge(
                    f"n: a sample of {rows:,} rows of {len(columns)} columns does not fit in memory; draw fewer, or "
                    "use iter_matches for all matches in batches"
                )
            ranks = sorted(_distinct_ranks(count, rows, chance))
            matches = _images(plan.pattern.automorphisms, _matches_at(sampler, counts, ranks, plan.factor), ranks, plan)
    except DeadlinePassed:
        raise TimeLimitExceeded(f"time_limit: no sample could be drawn within {time_limit} s") from None
    order = list(range(rows))
    chance.shuffle(order)
    return query.frame([matches[list(plan.columns)][:, np.array(order, np.int64)]]), count


def _whole(argument, value, expected):
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


def _distinct_ranks(total: int, n: int, chance: random.Random) -> set[int]:
    """A uniform set of n of the ranks 0, ..., total - 1, which may pass 64 bits."""
    drawn: set[int] = set()
    for last in range(total - n, total):
        rank = chance.randrange(last + 1)
        drawn.add(last if rank in drawn else rank)
    return drawn


def _matches_at(sampler, counts: list[int], ranks: list[int], factor: int) -> np.ndarray:
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


def _images(group: AutomorphismGroup, matches: np.ndarray, ranks: list[int], plan) -> np.ndarray:
    """The matches, each under the automorphism that the rest of its rank stands for."""
    if plan.factor == 1:
        return matches
    images = np.array([group.element(rank % plan.factor) for rank in ranks], np.int64).reshape(-1, group.size)
    return np.take_along_axis(matches, images.T, axis=0)
