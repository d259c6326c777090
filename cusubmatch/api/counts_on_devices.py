"""The counts of many patterns on several devices: each takes the next pattern, and long ones are shared at the end."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from cusubmatch.api.count_calls import count_of_plan, count_of_query
from cusubmatch.api.options import is_compound, planned_call
from cusubmatch.api.outcomes import Outcome, outcome_of
from cusubmatch.engines.device_engine import DeviceEngine
from cusubmatch.engines.registry import device_engines
from cusubmatch.execution.query import Query
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.system.deadlines import checking
from cusubmatch.system.thread_limit import at_most_threads, thread_limit
from cusubmatch.system.workers import Workers

__all__ = ["Job", "counts_on_devices"]

LONG_NS = 0.2e9  # a count that is expected to take longer is shared


class Job(NamedTuple):
    """A pattern to count."""

    pattern: Pattern
    options: QueryOptions


class _EndedError(Exception):
    """The call is over: another device has failed, or it was interrupted."""


def counts_on_devices(graph: Graph, jobs: Sequence[Job], devices: Any) -> list[tuple[Outcome, float]]:
    """How the count of each job ended, and the seconds that it took."""
    engines = device_engines(devices)
    numbers = [engine.number for engine in engines]
    with engines[0].current():
        placed = engines[0].place(graph)
    done: dict[int, tuple[Outcome, float]] = {}
    long: list[int] = []
    following, workers, limit = itertools.count(), Workers(), thread_limit()

    def check() -> None:
        if workers.stopped:
            raise _EndedError

    def work(engine: DeviceEngine) -> None:
        with checking(check), engine.current(), at_most_threads(limit):
            engine.place(placed)  # from device to device
            count_on(engine.number)

    def count_on(number: int) -> None:
        while not workers.stopped and (index := next(following)) < len(jobs):
            pattern, options = jobs[index]
            options = dataclasses.replace(options, devices=[number])
            begin = time.perf_counter()
            outcome = outcome_of(_unless_long, graph, pattern, options, len(numbers) > 1)
            if outcome.value is None and not outcome.reason:
                long.append(index)
            done[index] = outcome, time.perf_counter() - begin

    try:
        workers.start(*(functools.partial(work, engine) for engine in engines))
        while not workers.wait():
            pass
    finally:
        workers.end()
    if workers.error is not None:
        raise workers.error
    for index in long:
        pattern, options = jobs[index]
        begin = time.perf_counter()
        outcome = outcome_of(count_of_query, graph, pattern, dataclasses.replace(options, devices=numbers))
        done[index] = outcome, time.perf_counter() - begin
    return [done[index] for index in range(len(jobs))]


def _unless_long(graph: Graph, pattern: Pattern, options: QueryOptions, others: bool) -> int | None:
    """The number of matches; None if it takes long and there are others to share it with."""
    if is_compound(pattern) or options.touching is not None:  # a sum of several counts
        return count_of_query(graph, pattern, options)
    query = planned_call(graph, pattern, options, empty_partial=lambda _graph, _pattern: 0)
    if others and isinstance(query, Query) and query.plan.count_cost > LONG_NS:
        return None
    return count_of_plan(query, options)
