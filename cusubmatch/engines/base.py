"""The contract between `execution` and the engines.

An engine finds candidates (`prepare`), takes one of several plans (`choose`) and runs it (`run`). What a run walks on
is handed to it in `Prepared`: it never asks the graph for edges. A run may take a range of the first-level tasks of its
plan; the ranges of a partition, run anywhere and in any order, add up to the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from cusubmatch.engines.table_algebra import PairBlock, TableAlgebra, TwoStepPaths
from cusubmatch.graph import Adjacency, Graph
from cusubmatch.graph.support_graph import SupportGraph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints, Plan
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.plan.candidates import Candidates
from cusubmatch.plan.decomposition.table_plan import TableCosts
from cusubmatch.plan.rows.row_plan import RowPlan
from cusubmatch.plan.sampled_orders import Descents

__all__ = [
    "Arrival",
    "ConditionedCount",
    "Count",
    "Engine",
    "Prepared",
    "PreparedRows",
    "ProgressCallback",
    "RowBlock",
    "Run",
    "RunOptions",
    "Sampler",
    "StepsSpent",
    "TaskRange",
    "Transfer",
    "Walked",
]

ProgressCallback = Callable[[float, int], None]


class Prepared(NamedTuple):
    """What a pattern is matched on.

    Attributes
    ----------
    graph : Graph
        Where the engine works. Runs keep derived arrays in its cache and read nothing else from it.
    candidates : Candidates
        The candidate set of each pattern vertex.
    adjacency : Adjacency
        The rows of the graph: row block r belongs to relation r of the constraints.
    candidate_graph : CandidateGraph or None
        What is walked on instead, where an engine has built it.
    """

    graph: Graph
    candidates: Candidates
    adjacency: Adjacency
    candidate_graph: CandidateGraph | None = None

    def walked_by(self, plan: Plan) -> Walked:
        """What a plan is walked on: the graph's rows, or the candidate graph if the plan was made for it."""
        local = self.candidate_graph
        if local is not None and plan.relations == local.constraints.relations:
            return Walked(local.candidates, local.adjacency, local.vertices)
        return Walked(self.candidates, self.adjacency, None)

    def constraints(self, of_graph: Constraints) -> Constraints:
        """The constraints that a plan is to be made for: those of the candidate graph, if there is one."""
        return of_graph if self.candidate_graph is None else self.candidate_graph.constraints

    @property
    def estimated_by(self) -> Candidates:
        """The candidates whose cardinalities and filters a plan is made with."""
        return self.candidates if self.candidate_graph is None else self.candidate_graph.candidates


class Walked(NamedTuple):
    """What one plan is walked on.

    Attributes
    ----------
    candidates : Candidates
    adjacency : Adjacency
        The rows that each pattern edge is walked on: row block r belongs to `Plan.relations[r]`.
    vertices : tuple of arrays, or None
        Per pattern vertex the internal vertex of each number in the rows; None: numbers are internal vertices.
    """

    candidates: Candidates
    adjacency: Adjacency
    vertices: tuple[Any, ...] | None


class PreparedRows(NamedTuple):
    """What a row plan is walked on.

    Attributes
    ----------
    relations : sequence of EdgeRows
        The rows of each relation that `RowEdge.relation` numbers; those in both directions have each row twice, and
        those under a mask only what it keeps.
    vertex_masks : sequence of arrays or None
        Per pattern vertex a mask, bool (n,), of the internal vertices that it may be mapped to.
    graph : Graph or None
        Where the engine works. Runs keep derived arrays in its cache and read nothing else from it; None: nothing is
        kept.
    keys : hashable
        What tells the relations from others of the graph.
    """

    relations: Sequence[Any]
    vertex_masks: Sequence[Any]
    graph: Graph | None = None
    keys: Hashable = ()

    @property
    def n_vertices(self) -> int:
        """Vertices of the graph."""
        return len(self.relations[0].arc_offsets) - 1


class RowBlock(NamedTuple):
    """A block of the matches of a row plan.

    Attributes
    ----------
    vertices : int32 (pattern vertices, matches)
        Internal vertices.
    rows : int64 (bound edges, matches)
        Positions in the edge table, in the order of `RowPattern.bound_edges`; none where matches are vertices.
    """

    vertices: Any
    rows: Any


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
        Units of work after which a count on a candidate graph raises `StepsSpent`.
    """

    deadline: float | None = None
    progress: ProgressCallback | None = None
    block_rows: int | None = None
    first_rows: int | None = None
    ahead_rows: int = 0
    enough: int | None = None
    then: Callable[[Any], Any] | None = None
    max_work: int | None = None


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
    """

    name: str
    methods: tuple[str, ...]
    candidate_graph_methods: tuple[str, ...]
    table_costs: TableCosts
    walks_rows_stepwise: bool

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

    def condition(
        self, prepared: Prepared, options: RunOptions, tasks: TaskRange | None, max_steps: int | None
    ) -> ConditionedCount:
        """A count of embeddings by conditioning on the candidate graph; raises `StepsSpent` after so many steps."""
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

    def transfer(self, memory_limit: int | None) -> Transfer:
        """Copies from the engine's memory to the host that run beside its work; the caller closes it."""
        ...


class StepsSpent(Exception):
    """A count took more steps than it was allowed."""


class ConditionedCount(Count, Protocol):
    """A count by conditioning; after `StepsSpent`, with `max_steps` raised, `total` goes on where it has stopped."""

    steps: int
    max_steps: int | None


class Arrival(Protocol):
    """Data on its way to host memory."""

    def wait(self) -> None:
        """Wait until all of it is there."""
        ...


class Pinned(Protocol):
    """Page-locked host memory, of which a device has at most `most` bytes."""

    most: int

    def take(self, size: int) -> Any:
        """A buffer, uint8, that comes back by itself when its last view is gone; None if there is no room."""
        ...


class Transfer(Protocol):
    """Copies to host memory that run beside the engine's work.

    Attributes
    ----------
    block_bytes : int
        Bytes that are best copied in one go.
    pinned : Pinned
    """

    block_bytes: int

    @property
    def pinned(self) -> Pinned:
        """Page-locked memory for copies from the engine's device."""
        ...

    def send(self, spreads: Sequence[tuple[Sequence[Any], Any]], direct: bool) -> Arrival:
        """Begin to copy each source, a contiguous array, to one or more places; `direct`: the places are pinned."""
        ...

    def fetch(self, block: Any) -> Any:
        """Begin to copy a block; the host array is complete after `finish`."""
        ...

    def finish(self) -> None:
        """Wait for all copies."""
        ...

    def close(self) -> None:
        """Begin no copy any more and let go of buffers."""
        ...
