"""The contract between `execution` and the engines.

An engine finds candidates (`prepare`), takes one of several plans (`choose`) and runs it (`run`). What a run walks on
is handed to it in `Prepared`: it never asks the graph for edges. What runs are is said in `runs.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

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
    Run,
    RunOptions,
    Sampler,
    TaskRange,
)
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints, Plan
from cusubmatch.plan.decomposition.table_costs import TableCosts

if TYPE_CHECKING:
    from cusubmatch.engines.table_algebra import PairBlock, TableAlgebra, TwoStepPaths
    from cusubmatch.graph.support_graph import SupportGraph
    from cusubmatch.plan.candidate_graph import CandidateGraph
    from cusubmatch.plan.rows.row_plan import RowPlan
    from cusubmatch.plan.sampled_orders import Descents

__all__ = ["Engine"]


class Engine(Protocol):
    """CPU threads, or a GPU.

    Attributes
    ----------
    name : {"cpu", "gpu"}
    methods : tuple of str
        The ways of walking that its plans may have.
    candidate_graph_methods : tuple of str
        Those of them that walk a candidate graph.
    table_costs : TableCosts
        Nanoseconds of the steps of its table kernels.
    walks_rows_stepwise : bool
        Whether its walks over rows take each step alone: they keep no paths, and count no two steps together.
    beside : Engine or None
        An engine that can count at the same time on what this one leaves idle: for a GPU's, the host's cores.
    """

    name: str
    methods: tuple[str, ...]
    candidate_graph_methods: tuple[str, ...]
    table_costs: TableCosts
    walks_rows_stepwise: bool
    beside: Engine | None

    def current(self) -> AbstractContextManager[Any]:
        """Let the calling thread work where the engine does: on its device, if it is bound to one."""
        ...

    def place(self, graph: Graph) -> Graph:
        """The graph where the engine works; itself, or a copy that is made once."""
        ...

    def prepare(self, graph: Graph, pattern: Pattern, constraints: Constraints, injective: bool) -> Prepared:
        """Find the candidates of every pattern vertex and the rows of every pattern edge in a placed graph."""
        ...

    def choose(self, plans: Callable[..., list[Plan]], prepared: Prepared) -> Plan:
        """The fastest of several plans, its cost in nanoseconds; plans(alternatives=n) gives the n cheapest."""
        ...

    def number_of_tasks(self, plan: Plan, prepared: Prepared) -> int:
        """How many first-level tasks a plan has: first candidates, or pairs of them. They are numbered from 0."""
        ...

    def shares_of_work(self, plan: Plan, prepared: Prepared, edges: Sequence[int]) -> list[float]:
        """The estimated share of the work of each range of first-level tasks, from one of `edges` to the next."""
        ...

    def run(
        self, plan: Plan, prepared: Prepared, options: RunOptions = DEFAULT_OPTIONS, tasks: TaskRange | None = None
    ) -> Run:
        """A run of a plan on a range of its first-level tasks, all of them by default."""
        ...

    def number_of_row_tasks(self, plan: RowPlan, prepared: PreparedRows) -> int:
        """How many first-level tasks a row plan has: rows, or vertices, of its first step."""
        ...

    def walk_rows(
        self,
        plan: RowPlan,
        prepared: PreparedRows,
        options: RunOptions = DEFAULT_OPTIONS,
        tasks: TaskRange | None = None,
    ) -> Run:
        """A run of a row plan, whose blocks are `RowBlock`."""
        ...

    def sampler(self, plan: Plan, prepared: Prepared, deadline: float | None) -> Sampler:
        """A sampler of the matches of a plan that counts."""
        ...

    def descents(self, prepared: Prepared) -> Descents:
        """Samples of partial matches on the candidate graph."""
        ...

    def number_of_conditioned(self, prepared: Prepared) -> int:
        """How many parts a count by conditioning has: candidates of the vertex that is matched first."""
        ...

    def condition(self, prepared: Prepared, options: RunOptions, tasks: TaskRange | None) -> ConditionedCount:
        """A count of embeddings by conditioning on the candidate graph."""
        ...

    def conditioning_order(self, prepared: Prepared) -> list[int]:
        """The pattern's vertices as conditioning branches on them where nothing has narrowed their domains."""
        ...

    def condition_copy(
        self, graph: Graph, local: CandidateGraph, order: Sequence[int], seconds: float, way: CopiedWay
    ) -> CopiedCount | None:
        """Begin a count on a copy of the host's candidate graph; None where none is offered just now.

        `graph` is the placed graph; `order` has the pattern's vertices as the host branches on them
        (`conditioning_order`); it ends after so many seconds. Long conditioning leaves half of the device to others.
        Raises `MemoryError`.
        """
        ...

    def eliminate(self, prepared: Prepared, options: RunOptions) -> EliminatedCount:
        """A count of embeddings by elimination on the candidate graph; raises `StepsSpent` at its `max_cost`."""
        ...

    def factors(self, graph: Graph, fields: Fields, kinds: Any, check: Callable[[], None]) -> DeviceFactors | None:
        """Operations on the factors of a count by elimination of the host; `graph` is the placed graph.

        `kinds` is uint64 (kinds,) of the host (`factors.arithmetic`). None while what that takes is loaded.
        Raises `NotImplementedError` where the engine has no memory of its own.
        """
        ...

    def table_kernels(self, support: SupportGraph, check: Callable[[float], None]) -> TableAlgebra:
        """Table kernels on a support graph; check(fraction of a kernel done) is called now and then, and may raise."""
        ...

    def two_step_pairs(self, paths: TwoStepPaths, check: Callable[[float, int], None]) -> list[PairBlock]:
        """Pairs of vertices by the paths of two edges between them; check(fraction done, pairs so far) may raise.

        Raises `NotImplementedError` where the engine has no such kernel.
        """
        ...

    def reverse_arcs(self, offsets: Any, targets: Any) -> Any:
        """Of each arc (x, y) of symmetric rows the position of (y, x)."""
        ...

    def to_host(self, array: Any) -> Any:
        """An array of the engine in host memory."""
        ...

    def gather(self, values: Any, positions: Any, out: Any) -> None:
        """Write the value at each position; all are in host memory."""
        ...

    def transfer(self, memory_limit: int | None) -> Transfer:
        """Copies from the engine's memory to the host that run beside its work; the caller closes it."""
        ...
