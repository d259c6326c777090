"""The CPU engine: the contract of `engines.base`, kept by compiled walkers on threads.

What only some calls need is imported when it is asked for, since each module of compiled functions takes a millisecond.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.cpu.candidates.filters import find_candidates
from cusubmatch.engines.cpu.cost_model import TABLE_COSTS
from cusubmatch.engines.cpu.primitives.jit import announced
from cusubmatch.engines.cpu.search.run import Run
from cusubmatch.engines.cpu.search.run_progress import shares_of_work
from cusubmatch.engines.cpu.tunables import DEFAULT_TUNABLES, Tunables
from cusubmatch.engines.factors.device_factors import DeviceFactors
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.host_copies import Transfer
from cusubmatch.engines.prepared import Prepared, PreparedRows
from cusubmatch.engines.runs import (
    DEFAULT_OPTIONS,
    ConditionedCount,
    CopiedCount,
    CopiedWay,
    EliminatedCount,
    RunOptions,
    Sampler,
    TaskRange,
)
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints, Plan

if TYPE_CHECKING:
    from cusubmatch.engines.table_algebra import PairBlock, TableAlgebra, TwoStepPaths
    from cusubmatch.graph.support_graph import SupportGraph
    from cusubmatch.plan.candidate_graph import CandidateGraph
    from cusubmatch.plan.rows.row_plan import RowPlan
    from cusubmatch.plan.sampled_orders import Descents

__all__ = ["CpuEngine"]


class CpuEngine:
    """Plans, tables and samples on the threads of this process.

    Parameters
    ----------
    tunables : Tunables
        Numbers that change how fast runs and samplers are.
    """

    name = "cpu"
    methods: tuple[str, ...] = ("lists", "bitmaps")
    candidate_graph_methods: tuple[str, ...] = ("lists",)
    table_costs = TABLE_COSTS
    walks_rows_stepwise = False
    beside: Engine | None = None

    def __init__(self, tunables: Tunables = DEFAULT_TUNABLES):
        self.tunables = tunables

    def current(self) -> contextlib.AbstractContextManager[None]:
        """Nothing: memory is everywhere the same."""
        return contextlib.nullcontext()

    def place(self, graph: Graph) -> Graph:
        """The graph in host memory."""
        return graph.host

    def prepare(self, graph: Graph, pattern: Pattern, constraints: Constraints, injective: bool) -> Prepared:
        """Candidates of every pattern vertex in a host graph, and the rows of the pattern's relations or candidates."""
        adjacency, candidate_graph = graph.adjacency(constraints.relations), None
        with announced("filters"):
            small = self.tunables.small_candidate_arcs if len(pattern) >= self.tunables.candidate_graph_vertices else -1
            filtered = find_candidates(graph, pattern, constraints, adjacency, injective, few_arcs=small)
        if len(pattern) >= self.tunables.candidate_graph_vertices:
            from cusubmatch.engines.cpu.candidates.build_candidate_graph import build_candidate_graph, pays

            if pays(constraints, filtered, adjacency, self.tunables):
                with announced("candidate graph"):
                    candidate_graph = build_candidate_graph(constraints, filtered, self.tunables)
        return Prepared(graph, filtered.candidates, adjacency, candidate_graph)

    def choose(self, plans: Callable[..., list[Plan]], prepared: Prepared) -> Plan:  # noqa: ARG002
        """The cheapest plan by the estimates."""
        return plans(alternatives=1)[0]

    def number_of_tasks(self, plan: Plan, prepared: Prepared) -> int:
        """Candidates of the first vertex."""
        return len(prepared.walked_by(plan).candidates.of(plan.levels[0].vertex))

    def shares_of_work(self, plan: Plan, prepared: Prepared, edges: Sequence[int]) -> list[float]:
        """The estimated share of the work of each range of candidates of the first vertex."""
        candidates, adjacency, _ = prepared.walked_by(plan)
        roots = candidates.of(plan.levels[0].vertex)
        return shares_of_work(plan, adjacency, roots, list(edges), self.tunables)

    def run(
        self, plan: Plan, prepared: Prepared, options: RunOptions = DEFAULT_OPTIONS, tasks: TaskRange | None = None
    ) -> Run:
        """A run of a plan, or of one of its rivals; see `Run`."""

        def run_by(plan: Plan, options: RunOptions) -> Run:
            return Run(prepared, plan, options, tasks, self.tunables)

        if options.rivals is None:
            return run_by(plan, options)
        from cusubmatch.engines.cpu.search.order_race import run_for_few_rows

        return run_for_few_rows(run_by, plan, options, options.rivals)

    def number_of_row_tasks(self, plan: RowPlan, prepared: PreparedRows) -> int:
        """Rows, or vertices, of the first step."""
        from cusubmatch.engines.cpu.row_walk import number_of_row_tasks

        return number_of_row_tasks(plan, prepared)

    def walk_rows(
        self,
        plan: RowPlan,
        prepared: PreparedRows,
        options: RunOptions = DEFAULT_OPTIONS,
        tasks: TaskRange | None = None,
    ) -> Any:
        """A run of a row plan; see `RowRun`."""
        from cusubmatch.engines.cpu.row_walk import RowRun

        return RowRun(plan, prepared, options, tasks, self.tunables)

    def sampler(self, plan: Plan, prepared: Prepared, deadline: float | None) -> Sampler:
        """A sampler of the matches of a plan that counts."""
        from cusubmatch.engines.cpu.search import sampler

        return sampler.Sampler(prepared, plan, deadline=deadline, tunables=self.tunables)

    def descents(self, prepared: Prepared) -> Descents:
        """Samples of partial matches on the candidate graph."""
        from cusubmatch.engines.cpu.search.descents import SampledDescents

        return SampledDescents(_candidate_graph(prepared), self.tunables.descent_population)

    def number_of_conditioned(self, prepared: Prepared) -> int:
        """Candidates of the vertex that is matched first."""
        from cusubmatch.engines.cpu.conditioning.initial_arrays import number_of_roots

        return number_of_roots(_candidate_graph(prepared))

    def condition(self, prepared: Prepared, options: RunOptions, tasks: TaskRange | None) -> ConditionedCount:
        """A count of embeddings by conditioning; see `ConditioningRun`."""
        from cusubmatch.engines.cpu.conditioning.conditioning_run import ConditioningRun

        return ConditioningRun(_candidate_graph(prepared), options, tasks, self.tunables)

    def conditioning_order(self, prepared: Prepared) -> list[int]:
        """The pattern's vertices as conditioning branches on them."""
        from cusubmatch.engines.cpu.conditioning.initial_arrays import order_of

        return order_of(_candidate_graph(prepared))

    def condition_copy(
        self, graph: Graph, local: CandidateGraph, order: Sequence[int], seconds: float, way: CopiedWay
    ) -> CopiedCount | None:
        """None: the candidate graph lies here."""

    def eliminate(self, prepared: Prepared, options: RunOptions) -> EliminatedCount:
        """A count of embeddings by elimination; see `EliminationRun`."""
        from cusubmatch.engines.cpu.elimination.elimination_run import EliminationRun

        return EliminationRun(_candidate_graph(prepared), options, self.tunables)

    def factors(self, graph: Graph, fields: Fields, kinds: Any, check: Callable[[], None]) -> DeviceFactors | None:
        """Not offered: factors lie here."""
        raise NotImplementedError

    def table_kernels(self, support: SupportGraph, check: Callable[[float], None]) -> TableAlgebra:
        """Table kernels on a support graph in host memory."""
        from cusubmatch.engines.cpu.tables.table_kernels import TableKernels

        return TableKernels(support, check)

    def two_step_pairs(self, paths: TwoStepPaths, check: Callable[[float, int], None]) -> list[PairBlock]:
        """Pairs of vertices by the paths of two edges between them."""
        from cusubmatch.engines.cpu.tables.two_step_pairs import two_step_pairs

        return two_step_pairs(paths, check)

    def reverse_arcs(self, offsets: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Of each arc (x, y) of symmetric rows the position of (y, x)."""
        from cusubmatch.engines.cpu.tables.reverse_arcs import reverse_arcs

        return reverse_arcs(offsets, targets)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        """The array."""
        return array

    def gather(self, values: np.ndarray, positions: np.ndarray, out: np.ndarray) -> None:
        """Write the value at each position."""
        if len(positions) < self.tunables.compiled_gather or not positions.flags.c_contiguous:
            values.take(positions, out=out, mode="clip")  # "raise" makes a copy
            return
        from cusubmatch.engines.cpu.primitives.gather import gather

        with announced("gather"):
            gather(values, positions, out)

    def transfer(self, memory_limit: int | None) -> Transfer:
        """Not needed: what this engine makes lies in host memory."""
        raise NotImplementedError


def _candidate_graph(prepared):
    if prepared.candidate_graph is None:
        raise ValueError("prepared: expected a candidate graph to count on, got none")
    return prepared.candidate_graph
