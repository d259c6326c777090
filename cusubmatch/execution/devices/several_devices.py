"""One query on several devices of a machine: an engine made of those of the devices, and runs that they share.

Plans are made on the first device, and what is not cut is done there. A run that is expected to take long is cut into
ranges of its first-level tasks (`device_group.py`), and each device has a thread that takes the next range from one
shared counter: large ones first, small ones last (`shared_run.py`, `shared_sampler.py`). Rows of other devices are
copied to the first one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

from cusubmatch.engines.base import Engine
from cusubmatch.engines.compile.code_cache import check_threads
from cusubmatch.engines.device_engine import DeviceEngine
from cusubmatch.engines.factors.device_factors import DeviceFactors
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.host_copies import Transfer
from cusubmatch.engines.prepared import Prepared, PreparedRows
from cusubmatch.engines.registry import device_engines
from cusubmatch.engines.runs import (
    DEFAULT_OPTIONS,
    ConditionedCount,
    CopiedCount,
    CopiedWay,
    EliminatedCount,
    Run,
    RunOptions,
    Sampler,
    TaskRange,
)
from cusubmatch.engines.table_algebra import PairBlock, TableAlgebra, TwoStepPaths
from cusubmatch.execution.devices.device_group import Cutting, DeviceGroup
from cusubmatch.execution.devices.shared_row_run import SharedRowRun
from cusubmatch.execution.devices.shared_run import SharedRun
from cusubmatch.execution.devices.shared_sampler import SharedSampler
from cusubmatch.graph import Graph
from cusubmatch.graph.support_graph import SupportGraph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints, Plan
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.rows.row_plan import RowPlan
from cusubmatch.plan.sampled_orders import Descents

__all__ = ["SeveralDevices", "engine_of_devices", "on_its_device", "sharing_in_words"]


class SeveralDevices:
    """An engine whose runs and samplers are shared by those of several devices.

    Parameters
    ----------
    engines : sequence of DeviceEngine
        The first one plans, and does what is not shared.
    cutting : Cutting
    """

    def __init__(self, engines: Sequence[DeviceEngine], cutting: Cutting | None = None):
        self.group = DeviceGroup(tuple(engines), cutting or Cutting())
        self.home = self.group.home
        self.name, self.methods, self.table_costs = self.home.name, self.home.methods, self.home.table_costs
        self.candidate_graph_methods = self.home.candidate_graph_methods
        self.walks_rows_stepwise = self.home.walks_rows_stepwise
        self.beside: Engine | None = None

    def run(
        self, plan: Plan, prepared: Prepared, options: RunOptions = DEFAULT_OPTIONS, tasks: TaskRange | None = None
    ) -> Run:
        """A run that all devices share, where it is worth while."""
        if tasks is not None or not self.group.shares(plan):
            return self.home.run(plan, prepared, options, tasks)
        return SharedRun(self.group, plan, prepared, options)

    def sampler(self, plan: Plan, prepared: Prepared, deadline: float | None) -> Sampler:
        """A sampler that all devices share, where it is worth while."""
        if not self.group.shares(plan):
            return self.home.sampler(plan, prepared, deadline)
        return SharedSampler(self.group, plan, prepared, deadline)

    def current(self) -> contextlib.AbstractContextManager[Any]:
        """Let the calling thread work on the first device."""
        return self.home.current()

    def place(self, graph: Graph) -> Graph:
        """The graph on the first device; the others copy it when they need it."""
        return self.home.place(graph)

    def prepare(self, graph: Graph, pattern: Pattern, constraints: Constraints, injective: bool) -> Prepared:
        """As the first device does."""
        return self.home.prepare(graph, pattern, constraints, injective)

    def choose(self, plans: Callable[..., list[Plan]], prepared: Prepared) -> Plan:
        """As the first device does."""
        return self.home.choose(plans, prepared)

    def number_of_tasks(self, plan: Plan, prepared: Prepared) -> int:
        """As on the first device: all number the same."""
        return self.home.number_of_tasks(plan, prepared)

    def shares_of_work(self, plan: Plan, prepared: Prepared, edges: Sequence[int]) -> list[float]:
        """As on the first device."""
        return self.home.shares_of_work(plan, prepared, edges)

    def number_of_row_tasks(self, plan: RowPlan, prepared: PreparedRows) -> int:
        """As on the first device."""
        return self.home.number_of_row_tasks(plan, prepared)

    def walk_rows(
        self,
        plan: RowPlan,
        prepared: PreparedRows,
        options: RunOptions = DEFAULT_OPTIONS,
        tasks: TaskRange | None = None,
    ) -> Run:
        """A run that all devices share, where it is worth while."""
        few = len(self.group.engines) == 1 or plan.cost < self.group.cutting.worth_ns
        if tasks is not None or few or prepared.graph is None:
            return self.home.walk_rows(plan, prepared, options, tasks)
        return SharedRowRun(self.group, plan, prepared, options)

    def descents(self, prepared: Prepared) -> Descents:
        """As on the first device."""
        return self.home.descents(prepared)

    def number_of_conditioned(self, prepared: Prepared) -> int:
        """As on the first device."""
        return self.home.number_of_conditioned(prepared)

    def condition(self, prepared: Prepared, options: RunOptions, tasks: TaskRange | None) -> ConditionedCount:
        """As on the first device."""
        return self.home.condition(prepared, options, tasks)

    def conditioning_order(self, prepared: Prepared) -> list[int]:
        """As on the first device."""
        return self.home.conditioning_order(prepared)

    def condition_copy(
        self, graph: Graph, local: CandidateGraph, order: Sequence[int], seconds: float, way: CopiedWay
    ) -> CopiedCount | None:
        """As on the first device."""
        return self.home.condition_copy(graph, local, order, seconds, way)

    def eliminate(self, prepared: Prepared, options: RunOptions) -> EliminatedCount:
        """As on the first device."""
        return self.home.eliminate(prepared, options)

    def factors(self, graph: Graph, fields: Fields, kinds: Any, check: Callable[[], None]) -> DeviceFactors | None:
        """On the first device."""
        return self.home.factors(graph, fields, kinds, check)

    def table_kernels(self, support: SupportGraph, check: Callable[[float], None]) -> TableAlgebra:
        """Those of the first device: tables are not divided."""
        return self.home.table_kernels(support, check)

    def two_step_pairs(self, paths: TwoStepPaths, check: Callable[[float, int], None]) -> list[PairBlock]:
        """As on the first device."""
        return self.home.two_step_pairs(paths, check)

    def reverse_arcs(self, offsets: Any, targets: Any) -> Any:
        """As on the first device."""
        return self.home.reverse_arcs(offsets, targets)

    def to_host(self, array: Any) -> Any:
        """An array of the first device in host memory."""
        return self.home.to_host(array)

    def gather(self, values: Any, positions: Any, out: Any) -> None:
        """Write the value at each position, in host memory."""
        self.home.gather(values, positions, out)

    def transfer(self, memory_limit: int | None) -> Transfer:
        """Copies from the first device, to which all rows come."""
        return self.home.transfer(memory_limit)


def engine_of_devices(devices: Any) -> Engine:
    """The engine of one device, or of several that share a call."""
    engines = device_engines(devices)
    check_threads()
    return engines[0] if len(engines) == 1 else SeveralDevices(engines)


def sharing_in_words(engine: Engine, plan: Plan, counting: bool) -> str:
    """What `explain` says about how devices share a call; nothing where there is one."""
    if not isinstance(engine, SeveralDevices):
        return ""
    devices = len(engine.group.engines)
    if counting and plan.in_parts is not None and plan.in_parts.first:
        return f"; the first of {devices} devices computes tables and sums, walks are shared"
    if not engine.group.shares(plan):
        return f"; the first of {devices} devices alone, since it takes little time"
    return f"; {devices} devices share its first-level tasks"


def on_its_device(engine: Engine, items: Generator[Any, None, None]) -> Generator[Any, None, None]:
    """The items of a generator, each found while the engine's device is the calling thread's."""
    if isinstance(current := engine.current(), contextlib.nullcontext):
        yield from items
        return
    del current
    try:
        while True:
            with engine.current():
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item
    finally:
        with engine.current():
            items.close()
