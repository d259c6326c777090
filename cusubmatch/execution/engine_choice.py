"""The engine of a call: that of one device, or of several that share it, which is imported when it is asked for."""

from __future__ import annotations

from cusubmatch.engines.base import Engine
from cusubmatch.engines.registry import choose_engine
from cusubmatch.execution.query_options import QueryOptions
from cusubmatch.graph import Graph
from cusubmatch.plan import Plan

__all__ = ["engine_for", "reason_for"]


def engine_for(options: QueryOptions, graph: Graph) -> tuple[Engine, str]:
    """The engine of a call on a graph, and why it was chosen."""
    if options.devices is None:
        return choose_engine(options.engine, graph)
    from cusubmatch.execution.devices.several_devices import engine_of_devices

    why = "asked for" if options.engine == "gpu" else "devices were asked for"
    return engine_of_devices(options.devices), why


def reason_for(engine: Engine, chosen: str, plan: Plan, options: QueryOptions) -> str:
    """What `explain` says about the engine of a planned call: why it was `chosen`, and how devices share the call."""
    if options.devices is None:
        return chosen
    from cusubmatch.execution.devices.several_devices import sharing_in_words

    return chosen + sharing_in_words(engine, plan, options.counting)
