"""In how many matches each vertex of the graph takes part, and in which place of the pattern: features for learning.

Vertices of the pattern that an automorphism exchanges are one place, an orbit (graphlet degrees: Przulj, "Biological
network comparison using graphlet degree distribution", Bioinformatics 2007). Where tables by vertex are cheaper, no
match is looked at (`plan/decomposition/decompose.py`); else rows are counted as they are found and never kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.query import as_pattern, make_query, shown, time_limit_exceeded
from cusubmatch.pattern import Pattern, PatternError
from cusubmatch.system.deadlines import until

__all__ = ["vertex_counts"]

VERTEX = "vertex"
LEAST_ROWS = 1 << 16  # counted at once
ROW_VERTEX_NS = 8.0  # counting a vertex of a row


def vertex_counts(
    G,
    P: Pattern | str,
    *,
    semantics: str = "monomorphism",
    engine: str = "auto",
    time_limit: float | None = None,
    progress: Callable[[float, int], None] | bool | None = None,
):
    """Count, for every vertex and each orbit of the pattern, the matches in which the vertex stands there.

    Parameters
    ----------
    P : Pattern or str
        All its vertices must be named.
    semantics : {"monomorphism", "induced"}
        What a match is; each subgraph counts once.

    Others are as for `count_matches`.

    Returns
    -------
    DataFrame of the family of G
        A row for each vertex of G; column ``vertex`` with its id, and an int64 column for each orbit, called after the
        vertices of the orbit, such as ``a|b``. The sum of a column is the number of matches times the orbit's size.

    Raises
    ------
    TimeLimitExceeded
        With the counts so far as ``.partial``, None where they were not made from rows.
    OverflowError
        If a vertex is in 2^63 matches or more.
    PatternError, GraphError, EngineUnavailable, ValueError

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> vertex_counts(edges, "(a)--(b)--(c)--(a), (a)--(tail)").sort_values("vertex").values.tolist()
    [[0, 0, 1, 0], [1, 0, 1, 0], [2, 1, 0, 0], [3, 0, 0, 1]]
    """
    pattern = as_pattern(P, "pattern")
    if semantics == "homomorphism":
        raise ValueError("semantics: orbits are of copies; expected monomorphism or induced, got 'homomorphism'")
    if None in pattern.names or VERTEX in pattern.names:
        wrong = "one is anonymous" if None in pattern.names else f"one is called {VERTEX!r}, as the column of ids is"
        raise PatternError(f"pattern: its vertices become columns, and {wrong}; give every vertex a name of its own")
    orbits = pattern.automorphisms.orbits()

    def name_of(orbit):
        return "|".join(str(name) for name, other in zip(pattern.names, orbits, strict=True) if other == orbit)

    def table(graph, counts):
        ids = graph.to_ids(graph.xp.arange(graph.n_vertices, dtype=np.int32))
        columns = {name_of(orbit): graph.family.values(count) for orbit, count in counts.items()}
        return graph.family.frame({VERTEX: ids, **columns})

    def zeros(graph):
        return {orbit: graph.xp.zeros(graph.n_vertices, np.int64) for orbit in sorted(set(orbits))}

    options = {"progress": progress, "nothing": lambda graph, _pattern: table(graph, zeros(graph))}
    query = make_query(G, pattern, semantics, None, engine, time_limit, counting=False, **options)
    graph, xp = query.graph, query.placed.xp
    counts = zeros(query.placed)
    held: list = []
    rows = 0
    by_tables = None

    def settle():
        for place, orbit in enumerate(orbits):
            found = xp.concatenate([block[place] for block in held])
            counts[orbit] += xp.bincount(found, minlength=graph.n_vertices)
        held.clear()

    def frame():
        if held:
            settle()
        return table(graph, {orbit: query.returned(count) for orbit, count in counts.items()})

    try:
        with shown(progress, "matching") as report:
            with until(query.deadline):
                by_tables = query.vertex_run(report, ROW_VERTEX_NS * len(pattern))
                if by_tables is not None:
                    counts.update(zip(counts, by_tables.counts(), strict=True))
                    return frame()
            for block in query.blocks(None, report):
                held.append(block)
                rows += block.shape[1]
                if rows >= max(graph.n_vertices, LEAST_ROWS):
                    settle()
                    rows = 0
    except DeadlinePassed:
        raise time_limit_exceeded(time_limit, frame if by_tables is None else None) from None
    return frame()
