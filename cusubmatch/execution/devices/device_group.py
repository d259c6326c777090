"""Devices that share runs: what each walks on, and the ranges of tasks that they take.

Each device has a copy of the graph and prepares the candidates for itself, so that all number the same tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cusubmatch.engines.device_engine import DeviceEngine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.execution.work_ranges import WorkRange, cell_edges, cut_at, factored
from cusubmatch.plan import Plan, constraints_of

__all__ = ["Cutting", "DeviceGroup"]

KEPT_CUTS = 64  # of plans, with a graph
KEPT_PREPARED = 16  # of plans, with a copy of a graph


@dataclass(frozen=True, slots=True)
class Cutting:
    """How a run is cut.

    Attributes
    ----------
    worth_ns : float
        A run that is expected to take less is not shared.
    largest, smallest : float
        Ranges, as parts of a device's part of the work.
    min_range_s : float
        Below it a range costs more to start than it is worth.
    cells : int
        Ranges of equal numbers of tasks, whose work is estimated.
    sampler_ranges : int
        Ranges a device of a sampler, of equal work.
    """

    worth_ns: float = 2e6
    largest: float = 1 / 2
    smallest: float = 1 / 16
    min_range_s: float = 0.015
    cells: int = 1 << 12
    sampler_ranges: int = 4


class DeviceGroup(NamedTuple):
    """The engines of devices of one kind, and how runs are cut for them."""

    engines: tuple[DeviceEngine, ...]
    cutting: Cutting

    @property
    def home(self) -> DeviceEngine:
        """The engine that plans, and does what is not shared."""
        return self.engines[0]

    def shares(self, plan: Plan) -> bool:
        """Whether a run of a plan is cut."""
        whole = plan.walked == 0 or len(plan.levels) == 1
        return len(self.engines) > 1 and not whole and plan.cost >= self.cutting.worth_ns

    def ranges(self, plan: Plan, prepared: Prepared) -> list[WorkRange]:
        """The ranges of a run, in the order in which they are taken."""
        return self.cut(plan.cost, *self.cells(plan, prepared))

    def cut(self, cost_ns: float, edges: list[int], work: Sequence[float]) -> list[WorkRange]:
        """Ranges of tasks of a run that is expected to take so long, the largest first; `edges` bound cells of work."""
        cutting = self.cutting
        smallest = max(cutting.smallest, cutting.min_range_s * len(self.engines) / max(cost_ns / 1e9, 1e-9))
        shares = factored(len(self.engines), cutting.largest, min(smallest, 1.0))
        return sorted(cut_at(edges, work, shares), key=lambda one: -one.share)

    def cells(self, plan: Plan, prepared: Prepared) -> tuple[list[int], list[float]]:
        """Boundaries of small ranges of tasks, and the estimated work of each; kept with the graph."""

        def make() -> tuple[list[int], list[float]]:
            tasks = self.home.number_of_tasks(plan, prepared)
            edges = cell_edges(tasks, self.cutting.cells)
            return edges, self.home.shares_of_work(plan, prepared, edges) if tasks > 1 else [1.0] * tasks

        asked = plan.pattern, plan.semantics, plan.unique, plan.columns
        walked = plan.leaf_mode, plan.ascending, plan.levels, plan.walked
        key = *asked, *walked, prepared.adjacency.key, self.cutting.cells
        return prepared.graph.cache.get("cells", key, make, KEPT_CUTS)

    def prepared_on(self, number: int, plan: Plan, prepared: Prepared) -> Prepared:
        """What a plan is walked on, on one of the devices, which is the calling thread's."""
        engine = self.engines[number]
        if number == 0:
            return prepared
        graph = engine.place(prepared.graph)

        def make() -> Prepared:
            constraints = constraints_of(plan.pattern, graph, plan.semantics)
            return engine.prepare(graph, plan.pattern, constraints, plan.semantics != "homomorphism")

        return graph.cache.get("shared", (plan.pattern, plan.semantics), make, graph.keep(KEPT_PREPARED))
