"""A labelled pattern that a GPU has not counted yet: the host's cores begin to count it before the GPU is planned for.

Many such counts end within the time that planning for the GPU and its first launches take; and they end sooner where
nobody plans meanwhile, who would take the interpreter from the host's threads, and the GPU from a copy of the host's
count (`strategies/copied_count.py`). So the host has a head start. A count that takes longer goes on beside the GPU's
(`strategies/side_by_side.py`). If the first count of a pattern took the host so long that a plan for the GPU may pay,
the second call plans at once. Where the GPU is the first, later calls begin on it, which is quicker once it has a plan.
"""

from __future__ import annotations

import functools

from cusubmatch.execution.engine_choice import engine_for
from cusubmatch.execution.planned_call import asks_more
from cusubmatch.execution.planning import counts_beside
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.strategies.choose import host_strategy
from cusubmatch.execution.strategies.side_by_side import HostCount, HostIsDoneError
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern

__all__ = ["HostIsDoneError", "host_count", "leave_to_gpu"]

LEFT = "left to the GPU"
TIMES = "seconds that the host took"
KEPT = 1024  # patterns of which it is known who was quicker, and how long the host took
HEAD_START_S = 0.05  # in which the copy of most counts is done
WORTH_A_PLAN_S = 0.008  # of the host, from which a GPU with a plan may be quicker


def host_count(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> HostCount | None:
    """A count of the host that is to begin, if the engine is a GPU's and the pattern was not left to it; else None.

    The arguments are those of `make_query`.
    """
    if options.engine == "cpu" or options.progress or not _is_plain(pattern, options):
        return None
    engine, _ = engine_for(options, graph)
    host = engine.beside
    if host is None:
        return None
    with engine.current():
        placed, asked = engine.place(graph), _asked(pattern, options)
        if not counts_beside(placed, engine, pattern) or placed.cache.holds(LEFT, asked):
            return None
        times = placed.cache.get(TIMES, asked, list, KEPT)
    plans_at_once = len(times) == 1 and times[0] > WORTH_A_PLAN_S
    return HostCount(
        host_strategy(engine, host, placed, *asked),
        deadline,
        head_start_s=0.0 if plans_at_once else HEAD_START_S,
        keep_time=functools.partial(_keep, times),
    )


def leave_to_gpu(graph: Graph, pattern: Pattern, options: QueryOptions, _deadline: float | None) -> None:
    """Let later calls for a pattern begin on the GPU, which was quicker than the host."""
    engine, _ = engine_for(options, graph)
    with engine.current():
        engine.place(graph).cache.get(LEFT, _asked(pattern, options), lambda: True, KEPT)


def _keep(times: list[float], seconds: float) -> None:
    """Keep how long the host took, the first two times."""
    if len(times) < 2:
        times.append(seconds)


def _asked(pattern: Pattern, options: QueryOptions) -> tuple[Pattern, str, bool]:
    """What is counted, and how."""
    return pattern, options.semantics, options.one_per_orbit


def _is_plain(pattern: Pattern, options: QueryOptions) -> bool:
    """Whether labels and edges are all that is asked, and the plan is free."""
    plan_is_free = options.suffix is None and options.by_trial
    return plan_is_free and options.semantics != "induced" and not asks_more(pattern, options)
