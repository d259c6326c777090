"""The contract between `execution` and the engines.

An engine finds candidates (`prepare`), takes one of several plans (`choose`) and runs it (`run`). What a run walks on
is handed to it in `Prepared`: it never asks the graph for edges. A run may take a range of the first-level tasks of its
plan; the ranges of a partition, run anywhere and in any order, add up to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cusubmatch.engines.factors.device_factors import DeviceFactors, MakeDeviceFactors
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.host_copies import Transfer
from cusubmatch.engines.prepared import Prepared, PreparedRows
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

__all__ = [
    "ConditionedCount",
    "CopiedCount",
    "Count",
    "EliminatedCount",
    "Engine",
    "ProgressCallback",
    "Run",
    "RunOptions",
    "Sampler",
    "StepsSpent",
    "TaskRange",
]

ProgressCallback = Callable[[float, int], None]


class TaskRange(NamedTuple):
    """First-level tasks `begin` to `end` (exclusive) of a plan; see `Engine.number_of_tasks`."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Limits and output of a run.

    Attributes
    ----------
    deadline : float or None
        Time (`time.monotonic`) after which the run raises `DeadlinePassed`.
    progress : callable or None
        Called as progress(fraction done, matches so far) a few times a second.
    block_rows : int or None
        Most rows of an output block; the engine has a limit of its own.
    first_rows : int or None
        Rows of the first blocks, if those are wanted soon; later ones are longer.
    ahead_rows : int
        Rows, about, that are found while the caller works on a block.
    enough : int or None
        The run stops when so many matches exist.
    then : callable or None
        `blocks` yields then(block) instead of a block. It is called before more work is launched.
    max_work : int or None
        Units of work after which a count on a candidate graph raises `StepsSpent`; sooner if these seem to be
        far too few, and after twice as many where half is done by then.
    watches : bool
        Whether a run on a device calls this thread's check (`system.deadlines`) while it waits for that.
    ids : int64 (n,) or None
        By internal vertex what rows on a candidate graph hold instead of it. The blocks, as few as can be, are int64.
    """

    deadline: float | None = None
    progress: ProgressCallback | None = None
    block_rows: int | None = None
    first_rows: int | None = None
    ahead_rows: int = 0
    enough: int | None = None
    then: Callable[[Any], Any] | None = None
    max_work: int | None = None
    watches: bool = False
    ids: Any = None


class Count(Protocol):
    """One count, by any strategy.

    Attributes
    ----------
    matches : int or None
        Matches found so far; None where they are counted in parts.
    """

    matches: int | None

    def count(self) -> int:
        """The number of matches, of all tasks; raises `DeadlinePassed`."""
        ...

    def total(self) -> int:
        """What a range of tasks adds up to; raises `DeadlinePassed`. Totals of ranges add."""
        ...


class Run(Count, Protocol):
    """One execution of a plan on a range of its first-level tasks; `Plan.matches_of` makes a count of its total."""

    def blocks(self) -> Iterator[Any]:
        """Blocks of matches, int32 (named pattern vertices, rows), internal vertices; closing it stops the run."""
        ...

    @property
    def ready(self) -> bool:
        """Whether the next of `blocks` is there without a wait."""
        ...


class Sampler(Protocol):
    """Counts of tasks, and the matches at given ranks of tasks."""

    def counts(self) -> list[int]:
        """The number of matches of each task; raises `DeadlinePassed`."""
        ...

    def rows(self, ranks: Mapping[int, Sequence[int]]) -> Any:
        """The matches at ranks of tasks: int32 (pattern vertices, ranks), internal vertices, in host memory."""
        ...


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
        self, plan: Plan, prepared: Prepared, options: RunOptions = RunOptions(), tasks: TaskRange | None = None
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
        options: RunOptions = RunOptions(),
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

    def condition_copy(self, graph: Graph, local: CandidateGraph, order: Sequence[int]) -> CopiedCount | None:
        """Begin a count by conditioning on a copy of the host's candidate graph; None where none is offered just now.

        `graph` is the placed graph; `order` has the pattern's vertices as the host branches on them
        (`conditioning_order`). Raises `MemoryError`.
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


class StepsSpent(Exception):
    """A count takes more steps than it was allowed.

    Attributes
    ----------
    times : float
        How many times as many it takes, about, as far as that is known.
    """

    def __init__(self, times: float = 1.0):
        super().__init__()
        self.times = times


class ConditionedCount(Count, Protocol):
    """A count by conditioning.

    Attributes
    ----------
    steps : int
        Candidates tried so far, about.
    threads : int
        That count, about.
    yields : bool
        Whether most of the cores are left to what else counts; it may be set at any time.
    between_turns : callable or None
        Called with this count by the thread that counts, now and then, while other threads go on; not once all that is
        left is to be done a second time. After an exception of it, `total` goes on where it has stopped.
    """

    steps: int
    threads: int
    yields: bool
    between_turns: Callable[[ConditionedCount], None] | None

    @property
    def steps_left(self) -> int:
        """Candidates that are left to try, about, if they go on like those so far."""
        ...


class CopiedCount(Protocol):
    """A count by conditioning on a copy of a candidate graph, which has begun."""

    def poll(self) -> int | None:
        """The number of embeddings, once it is known; None for ever if it was stopped, or is too large."""
        ...

    def stop(self) -> None:
        """Let it end soon."""
        ...


class EliminatedCount(Count, Protocol):
    """A count by elimination.

    Attributes
    ----------
    cost, max_cost : float
        Nanoseconds spent so far, about, and the most that may be spent.
    when_spent : callable
        Called when these are spent; it raises `max_cost`, has it raised, or raises an exception.
    preparation : float
        Nanoseconds that it waits for a compiler before it begins, about.
    beside : bool
        Whether a core is free for it while the caller counts in another way.
    yields : bool
        Whether all cores but one are left to what else counts; it may be set at any time.
    device : callable, optional
        device(fields, kinds, check) begins to use a device for large factors (`Engine.factors`).
    """

    device: MakeDeviceFactors | None
    cost: float
    max_cost: float
    when_spent: Callable[[], None]
    preparation: float
    beside: bool
    yields: bool
