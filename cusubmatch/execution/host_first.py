"""A labelled pattern that a GPU has not counted yet: the host's cores are asked first, for some milliseconds.

Most such counts end within the time that planning for the GPU and its first launches take. What the host does not count
in that time, and every later call, goes the way of `strategies/side_by_side.py`; what was planned here is used there.
"""

from __future__ import annotations

import time

from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.engine_choice import engine_for
from cusubmatch.execution.planning import counts_beside, plan_of
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.execution.strategies.choose import strategy_of
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.system.deadlines import until

__all__ = ["counted_by_host"]

SECONDS = 0.01
KEPT = 1024  # patterns that were counted before


def counted_by_host(graph: Graph, pattern: Pattern, options: QueryOptions, deadline: float | None) -> int | None:
    """The number of matches, if the engine is a GPU's, the pattern new, and the host quick; else None.

    The arguments are those of `make_query`.
    """
    if options.engine == "cpu" or options.progress or not _is_plain(pattern, options):
        return None
    engine, _ = engine_for(options, graph)
    host = engine.beside
    if host is None or not host.is_compiled:
        return None
    with engine.current():
        placed, call = engine.place(graph), (pattern, options.semantics, options.one_per_orbit)
        if not counts_beside(placed, engine, pattern) or placed.cache.holds("counted before", call):
            return None
        placed.cache.get("counted before", call, lambda: True, KEPT)
        end = time.monotonic() + SECONDS
        end = end if deadline is None else min(end, deadline)
        try:
            with until(end):
                plan, prepared = plan_of(placed.on_host, host, *call)
                return strategy_of(host, plan, prepared).run(end, None).count()
        except (DeadlinePassed, MemoryError):  # the GPU may still do
            return None


def _is_plain(pattern: Pattern, options: QueryOptions) -> bool:
    """Whether labels and edges are all that is asked."""
    asked = pattern.conditions or options.params or options.candidates or options.edges == "each"
    return not asked and options.suffix is None and options.semantics != "induced" and options.by_trial
