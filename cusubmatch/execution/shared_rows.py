"""Calls that walk rows, or that are several calls, as several processes share them.

A walk over rows is planned from statistics alone, so every process that has the graph makes the same plan: what travels
is its outline, which tells whether it is the same. First-level tasks are those of the first step. A call that joins
parts is not divided: it is one task. Sums of calls are those of `shared_sums.py`.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from cusubmatch.engines.runs import TaskRange
from cusubmatch.execution.query import Query
from cusubmatch.execution.row_walks.row_query import RowQuery
from cusubmatch.execution.shared_plan import CELLS, SharedPlan, share
from cusubmatch.execution.work_ranges import cell_edges

__all__ = ["RowOutline", "range_of", "share_call"]


class RowOutline(NamedTuple):
    """What of a plan tells whether two processes have made the same one.

    Attributes
    ----------
    engine : str
    steps : tuple of RowStep
        None of them where the call is not divided.
    leaf : str
    row_bytes : int
        Bytes of a row of the result.
    """

    engine: str
    steps: tuple
    leaf: str
    row_bytes: int


def share_call(query: Any, counting: bool) -> SharedPlan:
    """What others need to take part in a planned call."""
    if isinstance(query, Query) and query.chosen is None and not query.parts:
        return share(query, counting)
    if not isinstance(query, RowQuery) or query.parts:
        outline = RowOutline(query.engine.name, (), "whole", query.result_row_bytes)
        return SharedPlan(outline, 1, 0.0, (0, 1), (1.0,), None)
    tasks = query.engine.number_of_row_tasks(query.plan, query.problem.prepared)
    edges = cell_edges(tasks, CELLS)
    work = [(end - begin) / max(tasks, 1) for begin, end in itertools.pairwise(edges)]
    outline = RowOutline(query.engine.name, query.plan.steps, query.plan.leaf, query.result_row_bytes)
    return SharedPlan(outline, tasks, query.plan.cost / 1e9, tuple(edges), tuple(work), None)


def range_of(query: Any, tasks: TaskRange) -> Any:
    """The same call for some of its first-level tasks; each match is found in one of them."""
    if not isinstance(query, RowQuery) or query.parts:
        return query
    return query._replace(tasks=tasks, by_rows=None)
