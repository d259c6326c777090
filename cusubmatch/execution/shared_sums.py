"""Calls that are sums of others, as several processes share them: lengths of paths, and the parts of `touching=`.

The first-level tasks of all terms are numbered one term after the other, so that ranges of them are cut as those of one
call. A plan of levels travels; a walk over rows is planned again, and its outline tells whether it is the same. Counts
of ranges are kept apart by term, since a strategy makes the number of matches of its total when it is whole. What joins
parts is no such sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from cusubmatch.engines.runs import ProgressCallback, TaskRange
from cusubmatch.execution.compound.compound_rows import compound_calls
from cusubmatch.execution.compound.simple_calls import shared_names
from cusubmatch.execution.planned_call import PlannedCall, make_query
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.chosen_rows import ChosenRows
from cusubmatch.execution.row_walks.row_query import RowQuery
from cusubmatch.execution.shared_plan import SharedPlan, query_of, share, strategy_on
from cusubmatch.execution.shared_rows import RowOutline, range_of, share_call
from cusubmatch.execution.strategies.race import RACE_FACTOR
from cusubmatch.execution.touching import touching_counts
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan

__all__ = [
    "MOST_SUMMANDS",
    "SumOutline",
    "Summand",
    "Term",
    "Totals",
    "matches_of_sum",
    "rows_of_sum",
    "share_rows",
    "share_sum",
    "summands",
    "total_of_range",
]

MOST_SUMMANDS = 64  # that are worth their cells; a sum of more is not divided


class Summand(NamedTuple):
    """A call whose matches belong to a sum.

    Attributes
    ----------
    call : Query or RowQuery
        Where it was planned.
    sign : int
    group : int
        Those of a group are added up and divided together.
    """

    call: PlannedCall
    sign: int = 1
    group: int = 0


class Term(NamedTuple):
    """A call of a sum, as it travels.

    Attributes
    ----------
    plan : Plan or RowOutline
    number_of_tasks, sign, group : int
    chosen : ChosenRows or None
        Which of the rows of a plan are given.
    """

    plan: Plan | RowOutline
    number_of_tasks: int
    sign: int
    group: int
    chosen: ChosenRows | None


class SumOutline(NamedTuple):
    """The terms of a sum, and what the sum of each group of them is divided by."""

    terms: tuple[Term, ...]
    divisors: tuple[int, ...]

    def ranges(self, tasks: TaskRange) -> list[tuple[int, Term, TaskRange]]:
        """Of each term, by its number, the tasks that a range has; the first one has it where no task is asked for."""
        found, begin = [], 0
        for number, term in enumerate(self.terms):
            own = TaskRange(max(tasks.begin - begin, 0), min(tasks.end - begin, term.number_of_tasks))
            if own.begin < own.end:
                found.append((number, term, own))
            begin += term.number_of_tasks
        return found or [(0, self.terms[0], TaskRange(0, 0))]


Check: TypeAlias = Callable[[int, Term], None]


class Totals(tuple):
    """The totals of the terms of a sum, which are added up one by one."""

    __slots__ = ()

    def __add__(self, other: Any) -> Totals:
        """The sums of two, or this one where the other is 0."""
        return self if other == 0 else Totals(a + b for a, b in zip(self, other, strict=True))

    __radd__ = __add__


def summands(
    graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None
) -> tuple[list[Summand], tuple[int, ...]] | None:
    """The calls whose counts make the number of matches, and their divisors; None where parts are joined.

    Raises
    ------
    DeadlinePassed
    """
    if pattern.optional or any(len(shared_names(pattern, part)) > 1 for _, part in pattern.exists):
        return None
    patterns: tuple[Pattern, ...] = (pattern,)
    if pattern.quantifiers or pattern.parts:
        calls = compound_calls(graph, pattern, options, deadline)
        patterns, options = calls.patterns, calls.options
    found, divisors = [], []
    for group, one in enumerate(patterns):
        signed, divisor = [(1, make_query(graph, one, options, deadline))], 1
        if options.touching is not None:
            signed, divisor = touching_counts(graph, one, options, deadline)
        divisors.append(divisor)
        found += [Summand(query, sign, group) for sign, query in signed]
    return found, tuple(divisors)


def share_sum(summands: Sequence[Summand], divisors: tuple[int, ...], counting: bool) -> SharedPlan:
    """What others need to take part in a sum of planned calls."""
    shared = [
        share(one.call, counting) if isinstance(one.call, Query) else share_call(one.call, counting) for one in summands
    ]
    terms, edges, work = [], [0], list[float]()
    for one, own in zip(summands, shared, strict=True):
        chosen = one.call.chosen if isinstance(one.call, Query) else None
        terms.append(Term(own.plan, own.number_of_tasks, one.sign, one.group, chosen))
        edges += [edges[-1] + edge for edge in own.edges[1:]]
        work += [part * max(own.estimate_s, 1e-9) for part in own.work]
    patience_s = None
    if any(own.patience_s is not None for own in shared):
        patience_s = sum(own.patience_s or RACE_FACTOR * own.estimate_s for own in shared)
    estimate_s = sum(own.estimate_s for own in shared)
    return SharedPlan(SumOutline(tuple(terms), divisors), edges[-1], estimate_s, tuple(edges), tuple(work), patience_s)


def share_rows(query: Any) -> SharedPlan:
    """What others need to take part in a planned call for rows, which may be several."""
    if not isinstance(query, (Query, RowQuery)):
        return share_call(query, counting=False)
    parts = [one._replace(parts=()) for one in (query, *query.parts)]
    if len(parts) > MOST_SUMMANDS or (len(parts) == 1 and getattr(query, "chosen", None) is None):
        return share_call(query, counting=False)
    return share_sum([Summand(one) for one in parts], (1,), counting=False)


def total_of_range(
    graph: Graph,
    outline: SumOutline,
    tasks: TaskRange,
    own: Sequence[PlannedCall],
    check: Check,
    deadline: float | None,
    progress: ProgressCallback | None,
) -> Totals:
    """The totals of a range of tasks.

    `own` are the calls as they are planned here, where rows are walked. check(tasks, term) refuses other numbers of
    tasks than the term's.
    """
    totals = [0] * len(outline.terms)
    for number, term, tasks_of_term in outline.ranges(tasks):
        if isinstance(term.plan, RowOutline):
            query = range_of(own[number], tasks_of_term)._replace(deadline=deadline)
            with query.engine.current():
                totals[number] = query.run(progress=progress).total()
        else:
            strategy = strategy_on(graph, term.plan)
            check(strategy.number_of_tasks, term)
            totals[number] = strategy.run(deadline, progress, tasks_of_term).total()
    return Totals(totals)


def matches_of_sum(graph: Graph, outline: SumOutline, totals: Totals) -> int:
    """The number of matches, from the sum of the totals of all ranges."""
    groups = [0] * len(outline.divisors)
    for term, total in zip(outline.terms, totals, strict=True):
        whole = total if isinstance(term.plan, RowOutline) else strategy_on(graph, term.plan).matches_of(total)
        groups[term.group] += term.sign * whole
    return sum(matches // divisor for matches, divisor in zip(groups, outline.divisors, strict=True))


def rows_of_sum(
    graph: Graph,
    outline: SumOutline,
    tasks: TaskRange,
    own: Sequence[PlannedCall],
    check: Check,
    deadline: float | None,
) -> Any:
    """The call for the rows of a range of tasks; `own` and `check` as in `total_of_range`."""

    def call(number: int, term: Term, some: TaskRange) -> Any:
        if isinstance(term.plan, RowOutline):
            return range_of(own[number]._replace(parts=()), some)
        query = query_of(graph, term.plan, deadline, some)
        check(query.engine.number_of_tasks(query.plan, query.prepared), term)
        return query._replace(chosen=term.chosen)

    first, *others = (call(*one) for one in outline.ranges(tasks))
    return first._replace(parts=tuple(others))
