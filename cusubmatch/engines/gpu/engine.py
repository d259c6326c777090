"""The GPU engine: the contract of `engines.base`, kept by kernels on one device."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.device_engine import Landing
from cusubmatch.engines.factors.device_factors import DeviceFactors
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.gpu.cliques.specialised import clique_parts
from cusubmatch.engines.gpu.cost_model import TABLE_COSTS
from cusubmatch.engines.gpu.expected_kernels import expect, expect_walk
from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.runtime.device_memory import from_a_pool
from cusubmatch.engines.gpu.runtime.places import CudaPlace, Place
from cusubmatch.engines.gpu.runtime.transfer import DeviceTransfer, to_host
from cusubmatch.engines.gpu.search.autotune import fastest_plan
from cusubmatch.engines.gpu.search.filters import find_candidates
from cusubmatch.engines.gpu.search.run import Run
from cusubmatch.engines.gpu.search.run_progress import RunProgress
from cusubmatch.engines.gpu.search.sampler import Sampler
from cusubmatch.engines.gpu.tables.table_kernels import TableKernels, reverse_arcs_on
from cusubmatch.engines.prepared import Prepared, PreparedRows
from cusubmatch.engines.runs import (
    DEFAULT_OPTIONS,
    ConditionedCount,
    CopiedCount,
    CopiedWay,
    EliminatedCount,
    RunOptions,
    TaskRange,
)
from cusubmatch.engines.runs import Run as WalkedRows
from cusubmatch.engines.table_algebra import PairBlock, TwoStepPaths
from cusubmatch.graph import Graph
from cusubmatch.graph.support_graph import SupportGraph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints, Plan
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.rows.row_plan import RowPlan
from cusubmatch.plan.sampled_orders import Descents
from cusubmatch.system.deadlines import check_deadline

__all__ = ["GpuEngine"]


class GpuEngine:
    """Plans, tables and samples on one device.

    Parameters
    ----------
    gpu : Device, optional
        Where to run, with its tunable numbers; default the current GPU.
    at : Place, optional
        The one of several GPUs that it is bound to; default whichever is current.
    beside : Engine, optional
        The engine of the host's cores, which may count what this one walks.
    """

    name = "gpu"
    methods: tuple[str, ...] = ("warps",)
    candidate_graph_methods: tuple[str, ...] = ()  # it builds none
    table_costs = TABLE_COSTS
    walks_rows_stepwise = True

    def __init__(self, gpu: Device | None = None, at: Place | None = None, beside: Engine | None = None):
        self._gpu, self.at, self.beside = gpu, at, beside

    @functools.cached_property
    def gpu(self) -> Device:
        """The device, found when it is first needed."""
        with self.current():
            return self._gpu or current_device()

    @property
    def number(self) -> int:
        """The number of the GPU that it is bound to, or of the current one."""
        return self.at.number if self.at is not None else self.gpu.number()

    def current(self) -> contextlib.AbstractContextManager[Any]:
        """Let the calling thread work on the GPU that the engine is bound to."""
        return from_a_pool() if self.at is None else self.at.current()

    def place(self, graph: Graph) -> Graph:
        """The graph in device memory."""
        if self.at is None:
            return graph.device
        source = graph.source() or graph
        if self.at.holds(graph.targets):
            return graph
        return source if self.at.holds(source.targets) else graph.copy_at(self.at.number, self.at.xp, self.at.copied)

    def landing(self) -> Landing:
        """Where blocks of rows from other GPUs come to, on the calling thread's stream."""
        return (self.at or CudaPlace(self.gpu.number())).landing()

    def prepare(self, graph: Graph, pattern: Pattern, constraints: Constraints, injective: bool) -> Prepared:
        """Candidates of every pattern vertex in a device graph, and the rows of the pattern's relations."""
        if any(label is not None for label in pattern.labels):  # then rows and filters are made before plans
            expect_walk(self.gpu, graph)
        adjacency = graph.adjacency(constraints.relations)
        check_deadline()
        candidates = find_candidates(graph, pattern, constraints, adjacency, injective, gpu=self.gpu)
        return Prepared(graph, candidates, adjacency)

    def choose(self, plans: Callable[..., list[Plan]], prepared: Prepared) -> Plan:
        """The fastest plan, by a trial where one is worth while."""

        def expected(alternatives: int) -> list[Plan]:
            found = plans(alternatives=alternatives)
            expect(self.gpu, found, prepared, self.table_costs.worth)
            return found

        return fastest_plan(self.gpu, expected, prepared)

    def number_of_tasks(self, plan: Plan, prepared: Prepared) -> int:
        """Pairs of a root and a first candidate, or roots where nothing else is visited; equal parts of some counts."""
        if parts := clique_parts(self.gpu, prepared, plan):
            return parts
        if plan.walked == 0 or len(plan.levels) == 1:
            return len(prepared.candidates.of(plan.levels[0].vertex))
        return self.run(plan, prepared).device_plan.tasks

    def shares_of_work(self, plan: Plan, prepared: Prepared, edges: Sequence[int]) -> list[float]:
        """The estimated share of the work of each range of tasks, by candidates of level 2 where that is visited."""
        if plan.walked == 0 or len(plan.levels) == 1 or clique_parts(self.gpu, prepared, plan):
            done = np.array(edges, np.float64)
        else:
            run = self.run(plan, prepared)
            progress = RunProgress(self.gpu, run.device_plan, run.xp, run.mode)
            done = np.interp(edges, progress.positions, progress.work)
        return (np.diff(done) / max(done[-1] - done[0], 1.0)).tolist()

    def run(
        self, plan: Plan, prepared: Prepared, options: RunOptions = DEFAULT_OPTIONS, tasks: TaskRange | None = None
    ) -> Run:
        """A run of a plan; see `Run`."""
        return Run(prepared, plan, options, tasks, gpu=self.gpu)

    def number_of_row_tasks(self, plan: RowPlan, prepared: PreparedRows) -> int:
        """Rows, or vertices, of the first step."""
        from cusubmatch.engines.gpu.row_walk.opened_rows import number_of_row_tasks

        return number_of_row_tasks(plan, prepared)

    def walk_rows(
        self,
        plan: RowPlan,
        prepared: PreparedRows,
        options: RunOptions = DEFAULT_OPTIONS,
        tasks: TaskRange | None = None,
    ) -> WalkedRows:
        """A run of a row plan; see `RowRun`."""
        from cusubmatch.engines.gpu.row_walk.row_run import RowRun

        return RowRun(plan, prepared, options, tasks, gpu=self.gpu)

    def sampler(self, plan: Plan, prepared: Prepared, deadline: float | None) -> Sampler:
        """A sampler of the matches of a plan that counts."""
        return self.range_sampler(plan, prepared, deadline)

    def range_sampler(
        self, plan: Plan, prepared: Prepared, deadline: float | None, tasks: TaskRange | None = None
    ) -> Sampler:
        """A sampler of the matches of some roots, or of pairs of a root and a first candidate."""
        return Sampler(prepared, plan, deadline=deadline, gpu=self.gpu, tasks=tasks)

    def descents(self, prepared: Prepared) -> Descents:
        """Not offered: this engine builds no candidate graph."""
        raise NotImplementedError

    def number_of_conditioned(self, prepared: Prepared) -> int:
        """Not offered: this engine builds no candidate graph."""
        raise NotImplementedError

    def condition(self, prepared: Prepared, options: RunOptions, tasks: TaskRange | None) -> ConditionedCount:
        """Not offered: this engine builds no candidate graph."""
        raise NotImplementedError

    def conditioning_order(self, prepared: Prepared) -> list[int]:
        """Not offered: this engine builds no candidate graph."""
        raise NotImplementedError

    def condition_copy(
        self, graph: Graph, local: CandidateGraph, order: Sequence[int], seconds: float, way: CopiedWay
    ) -> CopiedCount | None:
        """A count on a copy of a candidate graph, begun; None where that is too large, or is still to be compiled."""
        from cusubmatch.engines.gpu.conditioning.conditioning_run import conditioning_run
        from cusubmatch.engines.gpu.cutset.cutset_run import cutset_run

        with self.current():
            if way is CopiedWay.CUTSETS:
                return cutset_run(local, order, self.gpu, graph.xp, seconds)
            is_long = way is CopiedWay.LONG_CONDITIONING
            return conditioning_run(local, order, self.gpu, graph.xp, seconds, is_long)

    def eliminate(self, prepared: Prepared, options: RunOptions) -> EliminatedCount:
        """Not offered: this engine builds no candidate graph."""
        raise NotImplementedError

    def factors(self, graph: Graph, fields: Fields, kinds: Any, check: Callable[[], None]) -> DeviceFactors | None:
        """Operations on the factors of a count of the host; see `ArrayFactors`."""
        from cusubmatch.engines.gpu.elimination.device_factors import factors_on_device

        return factors_on_device(graph.xp, self.gpu, self.number, fields, kinds, check)

    def table_kernels(self, support: SupportGraph, check: Callable[[float], None]) -> TableKernels:
        """Table kernels on a support graph in device memory."""
        return TableKernels(support, check, self.gpu)

    def two_step_pairs(self, paths: TwoStepPaths, check: Callable[[float, int], None]) -> list[PairBlock]:
        """Not offered: matches are grouped on the CPU engine."""
        raise NotImplementedError

    def reverse_arcs(self, offsets: Any, targets: Any) -> Any:
        """Of each arc (x, y) of symmetric rows the position of (y, x)."""
        return reverse_arcs_on(self.gpu, offsets, targets)

    def to_host(self, array: Any) -> np.ndarray:
        """An array of the device in host memory."""
        return to_host(array)

    def gather(self, values: np.ndarray, positions: np.ndarray, out: np.ndarray) -> None:
        """Write the value at each position."""
        values.take(positions, out=out, mode="clip")  # "raise" makes a copy

    def transfer(self, memory_limit: int | None) -> DeviceTransfer:
        """Copies to host memory that run beside kernels."""
        return DeviceTransfer(memory_limit)
