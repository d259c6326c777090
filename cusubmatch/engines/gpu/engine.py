"""The GPU engine as the public functions see it: where it works, candidates, the choice of a plan, and its runs."""

from __future__ import annotations

from collections.abc import Callable

from cusubmatch.engines.gpu.runtime.device import Machine, machine
from cusubmatch.engines.gpu.search.autotune import quickest
from cusubmatch.engines.gpu.search.filters import find_candidates
from cusubmatch.engines.gpu.search.run import Run
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints, Plan
from cusubmatch.plan.candidates import Candidates

__all__ = ["METHODS", "Run", "choose", "place", "prepare"]

METHODS = ("warps",)


def place(graph: Graph) -> Graph:
    """The graph where this engine works."""
    return graph.device


def prepare(
    graph: Graph, pattern: Pattern, constraints: Constraints, injective: bool, gpu: Machine | None = None
) -> Candidates:
    """Candidates of every pattern vertex in a device graph."""
    gpu, adjacency = gpu or machine(), graph.adjacency(constraints.relations)
    return find_candidates(
        graph,
        pattern,
        constraints,
        adjacency,
        injective,
        target=gpu.target,
        processors=gpu.processors,
        to_device=gpu.to_device,
    )


def choose(graph: Graph, plans: Callable[..., list[Plan]], candidates: Candidates) -> Plan:
    """The best of the plans; `plans(rivals=n)` gives the n cheapest by the estimates."""
    return quickest(machine(), graph, plans, candidates)
