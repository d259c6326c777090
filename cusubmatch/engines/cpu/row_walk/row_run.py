"""Running a row plan on all cores: threads share ranges of the first step's rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import announced
from cusubmatch.engines.cpu.primitives.pointers import table_of
from cusubmatch.engines.cpu.row_walk import row_state as s
from cusubmatch.engines.cpu.row_walk.condition_code import encode_conditions
from cusubmatch.engines.cpu.row_walk.row_calls import set_calls
from cusubmatch.engines.cpu.row_walk.row_lists import ListTable
from cusubmatch.engines.cpu.row_walk.row_program import Program, encode
from cusubmatch.engines.cpu.row_walk.row_walker import DONE, FULL, GROW, PAUSED, enter_rows, walk_rows
from cusubmatch.engines.cpu.search.task_queue import Task, TaskQueue
from cusubmatch.engines.cpu.search.threaded_run import ThreadedRun
from cusubmatch.engines.cpu.tunables import DEFAULT_TUNABLES, Tunables
from cusubmatch.engines.prepared import PreparedRows, RowBlock
from cusubmatch.engines.runs import DEFAULT_OPTIONS, RunOptions, TaskRange
from cusubmatch.plan.rows.row_plan import RowPlan

__all__ = ["RowRun", "number_of_row_tasks"]

FIRST_KEPT_PATHS = 1 << 12
NO_COLUMNS = np.empty((0, 0), np.int32), np.empty((0, 0), np.int64)


class _Way(NamedTuple):
    """A plan as it is walked, with paths kept, or searched where they are too many; and the table of its program."""

    plan: RowPlan
    program: Program
    lists: ListTable
    table: np.ndarray


class RowRun(ThreadedRun):
    """One execution of a row plan.

    Parameters
    ----------
    plan : RowPlan
    prepared : PreparedRows
        The rows of the plan's relations, and masks of vertices, in host memory.
    options : RunOptions
        Blocks have at most, and by default, `tunables.block_rows` rows.
    tasks : TaskRange, optional
        A range of the rows, or vertices, of the first step; default all.
    tunables : Tunables

    Attributes
    ----------
    matches : int
        Matches found so far.
    """

    matches: Any

    def __init__(
        self,
        plan: RowPlan,
        prepared: PreparedRows,
        options: RunOptions = DEFAULT_OPTIONS,
        tasks: TaskRange | None = None,
        tunables: Tunables = DEFAULT_TUNABLES,
    ):
        super().__init__(options, tunables)
        self.plan, self.prepared = plan, prepared
        masks = prepared.vertex_masks
        self._masked = [mask is not None for mask in masks]
        sizes = prepared.n_vertices, plan.pattern.n_vertices, len(plan.pattern.edges)
        self._view = s.View(_mask_bits(masks, prepared.n_vertices), _roots(plan, prepared), *sizes)
        self._view_table = table_of(self._view)
        self._conditions = encode_conditions(plan.pattern.conditions)
        number = number_of_row_tasks(plan, prepared)
        begin, end = (min(edge, number) for edge in tasks or (0, number))
        self._max_threads = tunables.threads_for(end - begin)
        ranges = max(1, min(tunables.first_tasks, end - begin))
        edges = np.linspace(begin, end, ranges + 1).astype(int).tolist()
        first_tasks = [Task((), *ends, 1 / ranges, "rows") for ends in pairwise(edges)]
        self.tasks = TaskQueue(first_tasks[::-1], tunables.task_wait_s)
        self._ways: dict[str, _Way] = {}

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        return self.total()

    def total(self) -> int:
        """The number of matches of the tasks; totals of ranges of tasks add.

        Raises
        ------
        DeadlinePassed
        """
        self._make_ways(counting=True)
        for _ in self._blocks_of_all(self._count_blocks):
            pass
        return self.matches

    def blocks(self) -> Iterator[RowBlock]:
        """Blocks of matches; closing it stops the run.

        Raises
        ------
        DeadlinePassed
        ValueError
            If the plan counts.
        """
        if self.plan.counting:
            raise ValueError(f"plan: expected one with leaf 'rows' to write matches, got {self.plan.leaf!r}")
        self._make_ways(counting=False)
        return super().blocks()

    def _make_ways(self, counting):
        leaf = "visit" if counting and not self.plan.counting else self.plan.leaf
        plan = replace(self.plan, leaf=leaf)
        for method, way in (("rows", plan), ("search", plan.without_meeting())):
            lists = ListTable(self.prepared, plan.pattern.column_windows, plan.by_column)
            if method == "rows" or way is not plan:
                program = encode(way, lists, self._masked, self._conditions)
                self._ways[method] = _Way(way, program, lists, table_of(program))

    def _count_blocks(self):
        """Count this thread's tasks: None at each return of a walker."""
        for _, state in self._walks(lambda: NO_COLUMNS):
            n = int(state.registers[s.COUNT])
            state.registers[s.COUNT] = 0
            self._add(n)
            yield None

    def _row_blocks(self):
        """Write the matches of this thread's tasks: a block, or None, at each return of a walker."""
        size, counted = self.first_rows, 0
        out = self._new_block(size)
        for status, state in self._walks(lambda: out):  # noqa: B023 - the current buffer is meant
            filled = int(state.registers[s.FILLED])
            self._add(filled - counted)
            counted = filled
            if status == FULL or self.tasks.stopped:
                yield RowBlock(out[0][:, :filled], out[1][:, :filled])
                size = min(2 * size, self.block_rows)
                out = self._new_block(size)
                state.registers[s.FILLED] = counted = 0
            else:
                yield None
        if counted:
            yield RowBlock(out[0][:, :counted], out[1][:, :counted])

    def _new_block(self, size):
        pattern = self.plan.pattern
        edges = 0 if pattern.existential else len(pattern.bound_edges)
        return np.empty((pattern.n_vertices, size), np.int32), np.empty((edges, size), np.int64)

    def _walks(self, out) -> Iterator[tuple[int, s.State]]:
        """Work on tasks until none is left: (status, state) each time the walker returns. Rows are written to out()."""
        states: dict[str, s.State] = {}
        tables: dict[str, np.ndarray] = {}  # of the states
        filled = 0  # of the buffer, which the ways share
        while (task := self.tasks.take()) is not None:
            if task.method not in states:
                states[task.method] = self._new_state(self._ways[task.method].plan)
                tables[task.method] = table_of(states[task.method])
                self._compile(task.method, states[task.method], out())
            state, weight, program = states[task.method], task.weight, self._ways[task.method].table
            table = tables[task.method]
            state.registers[s.FILLED] = filled
            enter_rows(state, task.begin, task.end)
            status = PAUSED
            while status != DONE:
                status = walk_rows(program, self._view_table, table, *out(), self.tunables.work_units)
                if status == GROW:
                    state = states[task.method] = self._more_room(state)
                    table = tables[task.method] = table_of(state)
                    continue
                yield status, state
                if self.tasks.stopped:
                    return
                if self.tasks.waiting and status != DONE:
                    weight = self._donate(state, task.method, weight)
                self.progress.note(state, weight)
            filled = int(state.registers[s.FILLED])
            self.progress.finish_task(weight)

    def _more_room(self, state):
        """A state with room for more paths at a vertex; where they are too many, its rows are searched instead."""
        capacity = 2 * int(state.registers[s.CAPACITY])
        if capacity <= self.tunables.max_kept_paths:
            return s.grow_kept(state, capacity)
        begin, end = int(state.position[0]), min(int(state.registers[s.GROUP_END]), int(state.end[0]))
        self.tasks.put(Task((), begin, end, 0.0, "search"))
        state.position[0] = end
        return state

    def _donate(self, state, method, weight):
        """Give half of what is left to a thread that waits, if it can be halved; the weight that is kept."""
        begin, position, end = (int(edge[0]) for edge in (state.begin, state.position, state.end))
        if end - position < 2:
            return weight
        half = (position + end + 1) // 2
        state.end[0] = half
        given = weight * (end - half) / (end - begin)
        self.tasks.put(Task((), half, end, given, method))
        return weight - given

    def _new_state(self, plan: RowPlan) -> s.State:
        pattern = plan.pattern
        kept = FIRST_KEPT_PATHS if plan.meeting is not None else 0
        pairs = plan.leaf == "pairs"
        sizes = pattern.n_vertices, len(pattern.edges), len(plan.steps)
        capacity = min(kept, self.tunables.max_kept_paths)
        return s.new_state(*sizes, self.prepared.n_vertices, pairs, capacity, self._conditions.depth)

    def _compile(self, method, state, out):
        """Have the walker compiled, or loaded, before it runs."""
        with announced("rows of the edge table"):
            set_calls(self._ways[method].program)
            enter_rows(state, 0, 0)
            walk_rows(self._ways[method].table, self._view_table, table_of(state), *out, 0)

    def _add(self, increment):
        """Add to the matches, and look whether the run is to end."""
        with self._lock:
            self.matches += increment
        self._end_if_due()


def number_of_row_tasks(plan: RowPlan, prepared: PreparedRows) -> int:
    """How many rows, or vertices, the first step has."""
    first = plan.steps[0]
    if first.kind == "vertices":
        return len(_roots(plan, prepared))
    edge = plan.pattern.edges[first.edges[0]]
    relation = prepared.relations[edge.relation]
    return len((relation.by_source if first.start == edge.source else relation.by_target).rows)


def _roots(plan: RowPlan, prepared: PreparedRows) -> np.ndarray:
    """The vertices that a first step visits."""
    first = plan.steps[0]
    if first.kind != "vertices":
        return np.empty(0, np.int32)
    mask: Any = prepared.vertex_masks[first.start]
    return (np.arange(prepared.n_vertices) if mask is None else np.flatnonzero(mask)).astype(np.int32)


def _mask_bits(masks, n):
    """The masks of all pattern vertices as bits of one word a vertex; empty without masks."""
    if all(mask is None for mask in masks):
        return np.empty(0, np.uint32)
    bits = np.zeros(n, np.uint32)
    for vertex, mask in enumerate(masks):
        if mask is not None:
            bits |= mask.astype(np.uint32) << np.uint32(vertex)
    return bits
