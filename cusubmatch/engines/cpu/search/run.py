"""Running a plan on all cores.

Threads take tasks from a shared queue; what they have in common with other runs is in `threaded_run`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import announced, is_compiled
from cusubmatch.engines.cpu.primitives.pointers import table_of
from cusubmatch.engines.cpu.search.run_progress import shares_of_work
from cusubmatch.engines.cpu.search.task_queue import Task, TaskQueue, donate_work
from cusubmatch.engines.cpu.search.threaded_run import ThreadedRun
from cusubmatch.engines.cpu.tunables import DEFAULT_TUNABLES, Tunables
from cusubmatch.engines.cpu.walker import program as p
from cusubmatch.engines.cpu.walker.count_limbs import take_count
from cusubmatch.engines.cpu.walker.graph_view import longest_rows, make_view
from cusubmatch.engines.cpu.walker.neighbourhood_bitmaps import BitmapState, new_bitmap_state
from cusubmatch.engines.cpu.walker.program import State, encode, new_list_state
from cusubmatch.engines.cpu.walker.suffix_program import take_residues
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import DEFAULT_OPTIONS, RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan import Plan

__all__ = ["Run"]

CACHED_BYTES = 1 << 20  # of rows of ids, which are the result: more do not stay in the caches of a core


@functools.cache
def walker(method: str) -> tuple[Callable, Callable]:
    """The compiled functions that begin a task and walk on; imported when a plan asks for them."""
    if method == "bitmaps":
        from cusubmatch.engines.cpu.walker.bitmap_walker import enter_bitmaps, walk_bitmaps

        return enter_bitmaps, walk_bitmaps
    if method == "failing sets":
        from cusubmatch.engines.cpu.walker.failing_set_walker import enter_failing_sets, walk_failing_sets

        return enter_failing_sets, walk_failing_sets
    from cusubmatch.engines.cpu.walker.list_walker import enter, walk

    if method == "lists":
        return enter, walk
    from cusubmatch.engines.cpu.walker.suffix_counts import walk_suffix

    return enter, walk_suffix


class Run(ThreadedRun):
    """One execution of a plan on a host graph.

    Parameters
    ----------
    prepared, plan
        What is walked on, in host memory, and a plan for it.
    options : RunOptions
        Blocks have at most, and by default, `tunables.block_rows` rows.
    tasks : TaskRange, optional
        A range of the roots, the candidates of the first vertex; default all.
    tunables : Tunables

    Attributes
    ----------
    matches : int or None
        Matches found so far: the count, once `count` has returned; None if a deadline left a suffix's sum that counts
        only parts of matches.
    """

    def __init__(
        self,
        prepared: Prepared,
        plan: Plan,
        options: RunOptions = DEFAULT_OPTIONS,
        tasks: TaskRange | None = None,
        tunables: Tunables = DEFAULT_TUNABLES,
    ):
        super().__init__(options, tunables)
        self.plan = plan
        candidates, adjacency, names = prepared.walked_by(plan)
        self._local = names is not None
        self.longest = longest_rows(prepared.graph, adjacency)
        columns = {vertex: i for i, vertex in enumerate(plan.columns)}
        self._row_type = np.dtype(np.int32) if options.ids is None else options.ids.dtype
        large = options.ids is not None and len(columns) * self.block_rows * self._row_type.itemsize > CACHED_BYTES
        names = names if plan.leaf_mode == "rows" else None
        self.program, self.pool = encode(plan, columns, self.longest, names, options.ids, past_caches=large)
        roots = candidates.of(plan.levels[0].vertex)
        if tasks is not None:
            roots = roots[tasks.begin : tasks.end]
        self.view = make_view(prepared.graph, adjacency, candidates.masks, roots, tunables)
        self._tables = table_of(self.program), table_of(self.view)
        self._sum, self._counting = 0, plan.leaf_mode != "rows"
        self._max_threads = tunables.threads_for(len(roots))
        self.tasks = TaskQueue(self._first_tasks(adjacency, roots), tunables.task_wait_s)

    def _first_tasks(self, adjacency, roots):
        """The roots as tasks, the first one last; as one where nobody shares them, or asks how many are done."""
        alone = self._max_threads == 1 and not self.progress.is_watched
        ranges = 1 if alone else max(1, min(self.tunables.first_tasks, len(roots)))
        edges = [len(roots) * i // ranges for i in range(ranges + 1)]
        if self.progress.callback is None:
            weights = [1 / ranges] * ranges
        else:
            weights = shares_of_work(self.plan, adjacency, roots, edges, self.tunables)
        method = self._method()
        tasks = [Task((), *ends, weight, method) for ends, weight in zip(pairwise(edges), weights, strict=True)]
        return tasks[::-1]

    def _method(self):
        """The walker: rows on a candidate graph are walked with failing sets."""
        if self.plan.suffix is not None:
            return "suffix"
        large = len(self.plan.levels) >= self.tunables.failing_set_vertices
        return "failing sets" if large and not self._counting and self._local else self.plan.method

    def count(self) -> int:
        """The number of matches, by walking.

        Raises
        ------
        DeadlinePassed
        """
        self.total()
        return self.matches

    def total(self) -> int:
        """What the walk sums up; totals of ranges of tasks add. `Plan.matches_of` makes a count of it.

        Raises
        ------
        DeadlinePassed
        """
        if self.plan.walked == 0:
            self._sum = len(self.view.roots)
            self.matches = self.plan.matches_of(self._sum)
            self.progress.report_end()
        else:
            try:
                for _ in self._blocks_of_all(self._count_blocks):
                    pass
            except DeadlinePassed:
                if self.plan.suffix is not None and not self.plan.suffix.whole:
                    self.matches = None
                raise
        return self._sum

    def blocks(self) -> Iterator[np.ndarray]:
        """Blocks of matches, (columns of the plan, rows): int32, internal vertices, or the ids of the options, int64.

        Closing it stops the run.

        Raises
        ------
        DeadlinePassed
        """
        return super().blocks()

    def _count_blocks(self):
        """Count this thread's tasks: None at each return of a walker."""
        no_rows, by_suffix = np.empty((0, 0), np.int32), self.plan.suffix is not None
        if by_suffix:
            from cusubmatch.engines.cpu.walker.suffix_counts import residues
        for _, state in self._walks(lambda: no_rows):
            increment = take_count(state)
            if by_suffix:
                increment += take_residues(*residues(self.program, state))
            self._add(increment)
            yield None

    def _row_blocks(self):
        """Write the matches of this thread's tasks: a block, or None, at each return of a walker."""
        rows, counted = self.first_rows, 0
        out = np.empty((len(self.plan.columns), rows), self._row_type)
        for status, state in self._walks(lambda: out):  # noqa: B023 - the current buffer is meant
            filled = int(state.registers[p.FILLED])
            self._add(filled - counted)
            counted = filled
            if status == p.FULL or self.tasks.stopped:
                yield out[:, :filled]
                rows = min(2 * rows, self.block_rows, max(self._rows_left(), 1))
                out = np.empty((len(self.plan.columns), rows), self._row_type)
                state.registers[p.FILLED] = counted = 0
            else:
                yield None
        if counted:
            yield out[:, :counted]

    def _rows_left(self):
        """How many more rows are wanted."""
        return self.block_rows if self.enough is None else self.enough - self.matches

    def _walks(self, out):
        """Work on tasks until none is left: (status, state) each time a walker returns. Rows are written to out()."""
        states: dict[str, tuple[State | BitmapState, np.ndarray]] = {}  # and their tables
        registers = np.zeros(p.REGISTERS, np.int64)  # shared by the walkers, whose rows go to one buffer
        while (task := self.tasks.take()) is not None:
            if task.method not in states:
                state = self._new_state(task.method)._replace(registers=registers)
                states[task.method] = state, table_of(state)
                self._compile(task.method, states[task.method][1], out())
            (state, table), weight = states[task.method], task.weight
            enter_task, walk_on = walker(task.method)
            prefix = np.array(task.prefix or (0,))
            enter_task(*self._tables, table, prefix, len(task.prefix), task.begin, task.end)
            status = p.PAUSED
            while status != p.DONE:
                units = self._turn_units
                status = walk_on(*self._tables, table, out(), units)
                with self._lock:
                    self._work += units - int(state.registers[p.LEFT])
                if status == p.OVERSIZE:
                    self.tasks.put(Task((int(state.matched[0]),), 0, -1, 0.0, "lists"))
                if status == p.DONE:
                    self.progress.finish_task(weight)
                else:
                    self.progress.note(state, weight)
                yield status, state
                if self.tasks.stopped:
                    return
                if self.tasks.waiting and status != p.DONE:
                    donated = donate_work(state, weight, task.method)
                    if donated is not None:
                        if task.method == "failing sets":  # what fails elsewhere is not known here
                            state.failing[:] |= p.ALL_LEVELS
                        self.tasks.put(donated)
                        weight -= donated.weight

    def _compile(self, method, table, out):
        """Have a walker compiled before it runs; one that is compiled already is loaded when it is called."""
        if is_compiled(method):
            return
        enter_task, walk_on = walker(method)
        with announced(method):
            enter_task(*self._tables, table, np.zeros(1, np.int64), 0, 0, 0)
            walk_on(*self._tables, table, out, 0)

    def _new_state(self, method):
        if method == "bitmaps":
            return new_bitmap_state(self.program, self.view, min(max(self.longest), self.tunables.max_universe))
        return new_list_state(self.program, self.view, self.pool)

    def _add(self, increment):
        """Add to the sum of matches, and look whether the run is to end."""
        with self._lock:
            self._sum += increment
            self.matches = self.plan.matches_of(self._sum) if self._counting else self._sum
        self._end_if_due()
