"""The tasks of a cluster: what a worker is asked to do, as one value, and what it answers.

Every task can be repeated anywhere: it holds the source of the graph and all that it is asked, and changes nothing but
files that are complete or absent. What is wrong with one query is part of its answer; what is wrong with the graph or
the cluster is an error of the job.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cusubmatch.api.count_calls import count_of_plan, count_of_query
from cusubmatch.api.ids import absent_ids
from cusubmatch.api.iter_matches import batches_of_query
from cusubmatch.api.options import CheckedCall, checked_call, is_compound, plan_of_call
from cusubmatch.api.outcomes import DONE, outcome_of
from cusubmatch.api.reports import time_limit_exceeded
from cusubmatch.api.subgraph_match import frame_of_query
from cusubmatch.api.write_matches import schema_of, write_batches
from cusubmatch.dask.workers.on_worker import MemoryGuard, graph_of, one_thread, tell_begun, worker_address
from cusubmatch.dask.workers.questions import Absent, Answer, Question, RowsShard, Shard
from cusubmatch.dask.workers.sources import Source
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution import shared_sums
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.results.result_columns import empty_frame
from cusubmatch.execution.shared_plan import SharedPlan, other_strategy, query_of, strategy_on
from cusubmatch.execution.shared_rows import RowOutline, range_of, share_call
from cusubmatch.execution.shared_sums import SumOutline, Term, Totals
from cusubmatch.graph import Graph
from cusubmatch.graph.labels import absent_in
from cusubmatch.io.targets import check_target
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import until

__all__ = [
    "GraphSummary",
    "answer",
    "answer_of",
    "matches_of",
    "plan_rows",
    "shard_frame",
    "summary",
    "summary_of",
]

BATCH_ROWS = 1 << 20


@dataclass(frozen=True)
class GraphSummary:
    """What the order of queries is estimated from: vertices, arcs, vertices by label."""

    vertices: int
    edges: int
    labels: dict[Any, int]
    family: str


def absent_of(graph: Graph, question: Question) -> Absent:
    """What a graph lacks of a question."""
    options = question.options
    return Absent(absent_in(graph, question.pattern), absent_ids(graph, options.candidates, options.touching))


def summary(source: Source) -> GraphSummary:
    """Measure the graph of a source."""
    return summary_of(graph_of(source))


def summary_of(graph: Graph) -> GraphSummary:
    """Measure a graph."""
    graph = graph.host
    labels: dict[Any, int] = {}
    if graph.vertex_label_values is not None:
        codes = Counter(graph.vertex_labels[graph.vertex_labels >= 0].tolist())
        labels = {graph.vertex_label_values[code]: size for code, size in codes.items()}
    return GraphSummary(graph.n_vertices, graph.n_edges, labels, graph.family.name)


def answer(task: Question | Shard) -> Answer:
    """Carry out a question, or a shard of one."""
    question = task if isinstance(task, Question) else task.question
    tell_begun(question.topic, [question.number])
    return answer_of(task)


def answer_of(task: Question | Shard) -> Answer:
    """The answer to a question, or what a shard of one adds up to."""
    question = task if isinstance(task, Question) else task.question
    graph = graph_of(question.source)
    begin, guard = time.perf_counter(), MemoryGuard(question.options.memory_limit)
    with one_thread():
        outcome = outcome_of(_function_of(task), task, graph, guard)
    value, shared = (None, outcome.value) if isinstance(outcome.value, SharedPlan) else (outcome.value, None)
    absent = absent_of(graph, question) if outcome.status == DONE else Absent(absent_in(graph, question.pattern))
    seconds = time.perf_counter() - begin
    return Answer(value, outcome.status, outcome.reason, seconds, worker_address(), absent, shared)


def _function_of(task: Question | Shard) -> Callable[[Any, Graph, MemoryGuard], Any]:
    """What carries out a task."""
    if isinstance(task, Shard):
        return _shard_total
    if isinstance(task, RowsShard):
        return _write_shard
    return _count_or_plan if task.path is None else _write


def _count_or_plan(question: Question, graph: Graph, guard: MemoryGuard) -> int | SharedPlan:
    """The count of a question, or its plan where the workers are to share it."""
    options = dataclasses.replace(question.options, progress=guard, memory_limit=None)
    call = checked_call(graph, question.pattern, options, parts=True)
    if is_compound(call.pattern) or options.touching is not None:
        shared = _sum_to_share(call, question.whole_s)
        return count_of_query(graph, question.pattern, options) if shared is None else shared
    query = plan_of_call(call)
    cost = query.plan.count_cost if isinstance(query, Query) else query.plan.cost
    if cost / 1e9 > question.whole_s:
        shared = share_call(query, counting=True)
        if shared.number_of_tasks > 1:
            return shared
    return count_of_plan(query, options)


def _sum_to_share(call: CheckedCall, whole_s: float) -> SharedPlan | None:
    """The plan of a sum of counts, where it is expected to take long and can be divided."""
    if whole_s == float("inf"):
        return None
    try:
        found = shared_sums.summands(*call)
    except DeadlinePassed:
        raise time_limit_exceeded(call.options.time_limit, None) from None
    if found is None or len(found[0]) > shared_sums.MOST_SUMMANDS:
        return None
    shared = shared_sums.share_sum(*found, counting=True)
    return shared if shared.estimate_s > whole_s and shared.number_of_tasks > 1 else None


def _write(question: Question, graph: Graph, guard: MemoryGuard) -> int:
    """Write the matches of a question to its file."""
    options = dataclasses.replace(question.options, progress=guard, counting=False, memory_limit=guard.budget)
    return _written(_planned(graph, question, options), question.path, options)


def _planned(graph: Graph, question: Question, options: QueryOptions) -> Any:
    """The call for the rows of a question."""
    return plan_of_call(checked_call(graph, question.pattern, options, parts=True))


def _written(query: Any, path: Any, options: QueryOptions) -> int:
    target = check_target(path)
    schema = schema_of(query, target)
    rows = max(1, min(BATCH_ROWS, (options.memory_limit or BATCH_ROWS << 10) // (4 * query.result_row_bytes)))
    batches = batches_of_query(query, options, rows)
    return write_batches(query, target, schema, batches, time_limit=options.time_limit)


def _shard_total(shard: Shard, graph: Graph, guard: MemoryGuard) -> int | Totals:
    """What a shard adds up to; the whole count where it has no range."""
    deadline = None if shard.limit_s is None else time.monotonic() + shard.limit_s
    if isinstance(shard.plan, SumOutline):
        return _sum_total(shard, shard.plan, graph, guard, deadline)
    if isinstance(shard.plan, RowOutline):
        return _rows_total(shard, graph, guard, deadline)
    strategy = (strategy_on if shard.tasks is not None else other_strategy)(graph, shard.plan)
    if shard.tasks is not None:
        _check_tasks(strategy.number_of_tasks, shard)
    try:
        with until(deadline):
            run = strategy.run(deadline, guard, shard.tasks)
            return run.count() if shard.tasks is None else run.total()
    except DeadlinePassed:
        raise time_limit_exceeded(shard.question.options.time_limit, None) from None


def _rows_total(shard: Shard, graph: Graph, guard: MemoryGuard, deadline: float | None) -> int:
    """The matches of a range of the tasks of a walk over rows, which is planned here as elsewhere."""
    question = shard.question
    query = _planned(graph, question, dataclasses.replace(question.options, memory_limit=None))
    assert shard.tasks is not None  # noqa: S101 - there is no other strategy
    _check_outline(query, shard)
    query = range_of(query, shard.tasks)._replace(deadline=deadline)
    try:
        with query.engine.current(), until(deadline):
            return query.run(progress=guard).total()
    except DeadlinePassed:
        raise time_limit_exceeded(question.options.time_limit, None) from None


def _sum_total(
    shard: Shard, outline: SumOutline, graph: Graph, guard: MemoryGuard, deadline: float | None
) -> int | Totals:
    """The matches of a range of the tasks of a sum, by its terms; the whole count where there is no range."""
    question = shard.question
    options = dataclasses.replace(question.options, progress=guard, memory_limit=None)
    if shard.tasks is None:
        return count_of_query(graph, question.pattern, dataclasses.replace(options, time_limit=shard.limit_s))
    own: list[Any] = []
    try:
        if isinstance(outline.terms[0].plan, RowOutline):
            call = checked_call(graph, question.pattern, options, parts=True)
            planned = shared_sums.summands(*call)
            assert planned is not None  # noqa: S101 - it was planned elsewhere
            own = _checked_terms([one.call for one in planned[0]], outline)
        with until(deadline):
            return shared_sums.total_of_range(graph, outline, shard.tasks, own, _check_tasks, deadline, guard)
    except DeadlinePassed:
        raise time_limit_exceeded(question.options.time_limit, None) from None


def _checked_terms(calls: list[Any], outline: SumOutline) -> list[Any]:
    """The calls of a sum that walk rows, as they are planned here."""
    for call, term in zip(calls, outline.terms, strict=True):
        _check_outline(call._replace(parts=()), term)
    return calls


def _check_outline(query: Any, shard: Shard | RowsShard | Term) -> None:
    """Refuse a plan that is not the one by which tasks were numbered."""
    own = share_call(query, counting=False)
    if own.plan != shard.plan:
        raise RuntimeError(
            f"G: {worker_address()} plans a walk over rows in another way than the worker that planned it: workers "
            "need the same versions of cusubmatch, the same engine and the same graph"
        )
    _check_tasks(own.number_of_tasks, shard)


def _check_tasks(here: int, shard: Shard | RowsShard | Term) -> None:
    if here != shard.number_of_tasks:
        raise RuntimeError(
            f"G: the plan has {here:,} first-level tasks on {worker_address()} and {shard.number_of_tasks:,} where it "
            "was made: workers need the same versions of cusubmatch and the same graph"
        )


def matches_of(question: Question, plan: Plan | RowOutline | SumOutline, total: Any) -> int:
    """The number of matches, from the sum of the totals of all shards."""
    if isinstance(plan, SumOutline):
        with one_thread():
            return shared_sums.matches_of_sum(graph_of(question.source), plan, total)
    if isinstance(plan, RowOutline):
        return total
    with one_thread():
        return strategy_on(graph_of(question.source), plan).matches_of(total)


def plan_rows(question: Question) -> tuple[SharedPlan, Any, Absent]:
    """The plan that rows are found by, a dataframe without rows, and what the graph lacks."""
    graph = graph_of(question.source)
    with one_thread():
        query = _planned(graph, question, dataclasses.replace(question.options, counting=False))
        query.columns()
        empty = empty_frame(graph, question.pattern) if isinstance(query, Query) else query.frame([])
        return shared_sums.share_rows(query), empty, absent_of(graph, question)


def shard_frame(shard: RowsShard) -> Any:
    """The rows of a shard as a dataframe."""
    graph, guard = graph_of(shard.source), MemoryGuard(shard.options.memory_limit)
    with one_thread():
        return frame_of_query(*_rows_query(shard, graph, guard))


def _write_shard(shard: RowsShard, graph: Graph, guard: MemoryGuard) -> int:
    """Write the rows of a shard to its file, complete or absent."""
    query, options = _rows_query(shard, graph, guard)
    return _written(query, shard.path, options)


def _rows_query(shard: RowsShard, graph: Graph, guard: MemoryGuard) -> tuple[Any, QueryOptions]:
    options = dataclasses.replace(shard.options, progress=guard, counting=False, memory_limit=guard.budget)
    if isinstance(shard.plan, RowOutline):
        planned = _planned(graph, shard, options)
        _check_outline(planned, shard)
        return range_of(planned, shard.tasks), options
    deadline = None if options.time_limit is None else time.monotonic() + options.time_limit
    if isinstance(shard.plan, SumOutline):
        own: list[Any] = []
        if isinstance(shard.plan.terms[0].plan, RowOutline):
            planned = _planned(graph, shard, options)
            own = _checked_terms([planned, *planned.parts], shard.plan)
        return shared_sums.rows_of_sum(graph, shard.plan, shard.tasks, own, _check_tasks, deadline), options
    assert shard.plan is not None  # noqa: S101 - whoever asks has it
    query = query_of(graph, shard.plan, deadline, shard.tasks)
    _check_tasks(query.engine.number_of_tasks(query.plan, query.prepared), shard)
    return query, options
