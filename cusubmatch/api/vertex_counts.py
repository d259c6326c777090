"""Orbit counts (graphlet degrees): the matches in which each vertex of the graph stands in each place of the pattern.

Vertices of the pattern that an automorphism exchanges are one place, an orbit (Przulj, "Biological network comparison
using graphlet degree distribution", Bioinformatics 2007). Where tables by vertex are cheaper, no match is looked at
(`plan/decomposition/decompose.py`); else rows are counted as they are found and never kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cusubmatch.api.argument_types import EdgesOption, EngineName, GraphLike, ProgressOption, UniqueSemantics
from cusubmatch.api.options import CheckedCall, as_pattern, checked_call, is_compound, plan_of_call
from cusubmatch.api.reports import reporting, time_limit_exceeded
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.planned_call import PlannedCall
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern, PatternError
from cusubmatch.system.deadlines import until

if TYPE_CHECKING:
    from cusubmatch.execution.compound.simple_calls import SimpleCalls
    from cusubmatch.pattern.automorphisms import AutomorphismGroup

__all__ = ["vertex_counts"]

ID_COLUMN = "vertex"
MIN_ROWS_COUNTED = 1 << 16  # rows that are gathered before they are counted
ROW_VERTEX_NS = 8.0  # counting one vertex of a row


def vertex_counts(
    G: GraphLike,
    P: Pattern | str,
    *,
    semantics: UniqueSemantics = "monomorphism",
    params: Mapping[str, Any] | None = None,
    candidates: Mapping[Any, Any] | None = None,
    touching: Any = None,
    edges: EdgesOption = "any",
    engine: EngineName = "auto",
    time_limit: float | None = None,
    progress: ProgressOption = None,
) -> Any:
    """Count, for every vertex and each orbit of the pattern, the matches in which the vertex stands there.

    These orbit counts (graphlet degrees) describe the surroundings of a vertex, for example as features for learning.

    Parameters
    ----------
    G : Graph, cugraph.Graph, networkx graph, or edges
        The data graph. Edges are a dataframe, arrays or what else `Graph.from_edgelist` takes. They are directed if the
        pattern is.
    P : Pattern or str
        The pattern, or its text such as ``"(a)-->(b)"``. All its vertices must be named, those of OPTIONAL and EXISTS
        parts apart.
    semantics : {"monomorphism", "induced"}
        What a match is. Monomorphism: vertices are mapped to different vertices, and G may have more edges between
        them. Induced: G has no more edges between them. Each subgraph counts once.
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
    time_limit : float, optional
        Seconds that the call may take. Default: no limit.
    progress : callable or bool, optional
        Called a few times a second as ``progress(fraction_done, matches_so_far)``. True draws a line on stderr, in a
        notebook under the cell: the share of the estimated work that is done, matches so far, matches a second and the
        time left.

    Returns
    -------
    DataFrame of the family of G
        A row for each vertex of G; column ``vertex`` with its id, and an int64 column for each orbit, called after the
        vertices of the orbit, such as ``a|b``. The sum of a column is the number of matches times the orbit's size.
        With OPTIONAL parts a match counts as often as it has rows; new vertices of parts have no columns. With paths of
        several lengths a vertex counts once in a match, wherever symmetries of the path with its length bring it.

    Raises
    ------
    TimeLimitExceeded
        With the counts so far as ``.partial``, None where they were not made from rows.
    OverflowError
        If a vertex is in 2^63 matches or more.
    PatternError
        If the pattern cannot be read, has an anonymous vertex, or does not suit the graph.
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
    count_matches : Count the matches of the whole graph.
    motif_census : Count every connected pattern of a size.

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": [0, 0, 1, 2], "dst": [1, 2, 2, 3]})
    >>> vertex_counts(edges, "(a)--(b)--(c)--(a), (a)--(tail)").sort_values("vertex").values.tolist()
    [[0, 0, 1, 0], [1, 0, 1, 0], [2, 1, 0, 0], [3, 0, 0, 1]]
    """
    _check_orbits(as_pattern(P, "pattern", conditions=True, parts=True, edges=edges), semantics)
    options = QueryOptions(
        semantics,
        None,
        engine,
        time_limit,
        counting=False,
        progress=progress,
        params=params,
        candidates=candidates,
        touching=touching,
        edges=edges,
    )
    call, calls = checked_call(G, P, options, parts=True), None
    if is_compound(call.pattern):
        from cusubmatch.execution.compound.compound_rows import compound_calls

        try:
            calls = compound_calls(*call)
            if calls.joined:
                return _joined_counts(call, calls)
        except DeadlinePassed:
            raise time_limit_exceeded(time_limit, None) from None
    plain = [call] if calls is None else _plain_calls(call, calls)
    queries = [plan_of_call(one, _no_counts) for one in plain]
    counts = _OrbitCounts(queries[0], call.pattern, *_places(call, calls, plain))
    tables = False
    try:
        with reporting(progress, "matching") as report:
            for number, query in enumerate(queries):
                run = None
                if isinstance(query, Query) and touching is None:
                    with until(query.deadline):
                        run = query.orbit_count_run(report, ROW_VERTEX_NS * len(call.pattern))
                        tables |= run is not None
                        if run is not None:
                            counts.add_tables(number, query.plan.pattern.automorphisms, run.orbit_counts())
                if run is None:
                    for block in query.blocks(None, report):
                        counts.add(number, block)
                    counts.count_rows()
    except DeadlinePassed:
        raise time_limit_exceeded(time_limit, None if tables else counts.frame) from None
    return counts.frame()


def _joined_counts(call: CheckedCall, calls: SimpleCalls) -> Any:
    """The counts of a pattern with parts that are joined: as often as a match has rows."""
    from cusubmatch.execution.compound.compound_groups import CompoundGroups

    graph, pattern, options, deadline = call
    groups = CompoundGroups(graph, pattern, calls, options, deadline)
    orbits = groups.orbits()[: len(pattern)]
    counts = _zeros(graph.host, orbits)
    with reporting(options.progress, "counting") as report:
        found = groups.groups([[orbit] for orbit in counts], 1, report)
    for count, one in zip(counts.values(), found, strict=True):
        count[one.vertices[0]] = one.counts
    return _frame(graph, pattern, orbits, {orbit: graph.xp.asarray(count) for orbit, count in counts.items()})


def _plain_calls(call: CheckedCall, calls: SimpleCalls) -> list[CheckedCall]:
    """The calls of the lengths of a pattern's paths; inner vertices have names, so that rows have columns of them."""

    def named(pattern: Pattern) -> Pattern:
        names = tuple(("inner", vertex) if name is None else name for vertex, name in enumerate(pattern.names))
        return pattern.of_parts(names, pattern.labels, pattern.edges, pattern.distinct, (), pattern.conditions)

    return [call._replace(pattern=named(pattern), options=calls.options) for pattern in calls.patterns]


def _places(
    call: CheckedCall, calls: SimpleCalls | None, plain: Sequence[CheckedCall]
) -> tuple[tuple[int, ...], list[dict[int, tuple[int, ...]]]]:
    """The orbits of the pattern's vertices and, for each plain call, its vertices that each orbit counts."""
    from cusubmatch.execution.compound.joined_options import group_of_whole
    from cusubmatch.execution.compound.orbit_bindings import orbit_bindings
    from cusubmatch.execution.planned_call import asked_by
    from cusubmatch.execution.touching import automorphisms_of

    groups = [automorphisms_of(one.graph, one.options, asked_by(one.pattern, one.options)) for one in plain]
    whole = groups[0] if calls is None else group_of_whole(call.pattern, plain[0].options, len(call.pattern))
    orbits = whole.orbits()[: len(call.pattern)]
    return orbits, [
        {
            orbit: tuple(vertex for one in orbit_bindings(whole, group, [orbit]) for (vertex,) in one.own.tuples)
            for orbit in sorted(set(orbits))
        }
        for group in groups
    ]


def _check_orbits(pattern: Pattern, semantics: str) -> None:
    """Refuse a pattern whose orbits are no columns."""
    if semantics == "homomorphism":
        raise ValueError("semantics: orbits are of copies; expected monomorphism or induced, got 'homomorphism'")
    if None in pattern.names or ID_COLUMN in pattern.names:
        wrong = "one is anonymous" if None in pattern.names else f"one is called {ID_COLUMN!r}, as the column of ids is"
        raise PatternError(f"pattern: its vertices become columns, and {wrong}; give every vertex a name of its own")


class _OrbitCounts:
    """The counts of a call by orbit and vertex, from tables or from rows; those of several lengths are added up.

    `places` has for each plain call the vertices that each orbit counts.
    """

    def __init__(
        self, query: PlannedCall, pattern: Pattern, orbits: Sequence[int], places: list[dict[int, tuple[int, ...]]]
    ):
        self._query, self._xp = query, query.placed.xp
        self._pattern, self._orbits, self._places = pattern, orbits, places
        self._counts = _zeros(query.placed, orbits)
        self._blocks: list[Any] = []  # of rows that are not counted yet
        self._number = self._rows = 0

    def add_tables(self, number: int, group: AutomorphismGroup, counts: list[Any]) -> None:
        """Take the counts of all orbits of a plain call, ascending."""
        own = dict(zip(sorted(set(group.orbits())), counts, strict=True))
        for orbit, vertices in self._places[number].items():
            for vertex in own.keys() & vertices:
                self._add(orbit, own[vertex])

    def add(self, number: int, block: Any) -> None:
        """Take a block of rows of a plain call: vertices, and then perhaps rows of the edge table."""
        self._number = number
        self._blocks.append(block)
        self._rows += block.shape[1]
        if self._rows >= max(self._query.graph.n_vertices, MIN_ROWS_COUNTED):
            self.count_rows()

    def count_rows(self) -> None:
        """Count the rows that wait; they are those of one plain call."""
        if not self._blocks:
            return
        for orbit, vertices in self._places[self._number].items():
            for vertex in vertices:
                images = self._xp.concatenate([block[vertex] for block in self._blocks])
                self._add(orbit, self._xp.bincount(images, minlength=self._query.graph.n_vertices))
        self._blocks.clear()
        self._rows = 0

    def _add(self, orbit: int, counts: Any) -> None:
        self._counts[orbit] += self._xp.asarray(counts)
        if len(self._places) > 1 and bool((self._counts[orbit] < 0).any()):
            raise OverflowError("a vertex is in 2**63 matches or more, and columns of counts are int64")

    def frame(self) -> Any:
        """The counts so far as a dataframe of the caller's family."""
        self.count_rows()
        counts = {orbit: self._query.returned(count) for orbit, count in self._counts.items()}
        return _frame(self._query.graph, self._pattern, self._orbits, counts)


def _zeros(graph: Graph, orbits: Sequence[int]) -> dict[int, Any]:
    """No matches, by orbit and vertex."""
    return {orbit: graph.xp.zeros(graph.n_vertices, np.int64) for orbit in sorted(set(orbits))}


def _no_counts(graph: Graph, pattern: Pattern) -> Any:
    orbits = pattern.automorphisms.orbits()
    return _frame(graph, pattern, orbits, _zeros(graph, orbits))


def _frame(graph: Graph, pattern: Pattern, orbits: Sequence[int], counts: Mapping[int, Any]) -> Any:
    """A dataframe of the counts of each vertex, by orbit."""
    ids = graph.to_ids(graph.xp.arange(graph.n_vertices, dtype=np.int32))
    columns = {_orbit_name(pattern, orbits, orbit): graph.family.values(count) for orbit, count in counts.items()}
    return graph.family.frame({ID_COLUMN: ids, **columns})


def _orbit_name(pattern: Pattern, orbits: Sequence[int], orbit: int) -> str:
    return "|".join(str(name) for name, other in zip(pattern.names, orbits, strict=True) if other == orbit)
