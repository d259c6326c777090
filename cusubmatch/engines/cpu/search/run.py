"""Running a plan on all cores: tasks, threads, and the way back to Python between them.

A task is a matched prefix and a range of the next level's candidates. Threads take tasks from a shared list; a thread
that sees another one wait gives away half of its shallowest open range, so that one hub vertex does not keep the others
idle. The walkers return after a bounded amount of work, without the GIL until then, and so limits, deadlines, progress
and interrupts are looked after here.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.base import Prepared, RunOptions, TaskRange
from cusubmatch.engines.cpu.primitives.jit import announced, threads
from cusubmatch.engines.cpu.search import program as p
from cusubmatch.engines.cpu.search.bitmap_walker import enter_bitmaps, walk_bitmaps
from cusubmatch.engines.cpu.search.graph_view import longest_rows, make_view
from cusubmatch.engines.cpu.search.list_walker import enter, walk
from cusubmatch.engines.cpu.search.neighbourhood_bitmaps import BitmapState, new_bitmap_state
from cusubmatch.engines.cpu.search.program import State, encode, new_list_state
from cusubmatch.engines.cpu.search.run_progress import passed, shares_of
from cusubmatch.engines.cpu.search.suffix_counts import walk_suffix
from cusubmatch.engines.cpu.search.suffix_program import taken_residues
from cusubmatch.errors import DeadlinePassed, Stopped
from cusubmatch.plan import Plan
from cusubmatch.system.deadlines import checking
from cusubmatch.system.workers import Workers

__all__ = ["DEFAULTS", "Run"]

DEFAULTS = RunOptions()
BUDGET = 1 << 16  # units of work between two returns of a walker
BLOCK_ROWS = 1 << 16
CHUNKS = 64  # first tasks
ALONE_SECONDS = 0.005  # after which the other threads are started
REPORT_SECONDS = 0.1  # between two reports of progress
FULL_SECONDS = 0.001  # between two looks whether the caller has taken a block
WAIT_SECONDS = 0.05  # after which a thread that waits sees that it need not


FINISHED = object()
WALKERS = {"lists": (enter, walk), "suffix": (enter, walk_suffix), "bitmaps": (enter_bitmaps, walk_bitmaps)}


class Task(NamedTuple):
    """A matched prefix and a range of the next level's candidates (end -1: all), for one of the walkers."""

    prefix: tuple[int, ...]
    begin: int
    end: int
    weight: float
    method: str


class Run:
    """One execution of a plan on a host graph.

    Parameters
    ----------
    prepared, plan
        What is walked on, in host memory, and a plan for it.
    options : RunOptions
        Blocks have at most, and by default, 65,536 rows.
    tasks : TaskRange, optional
        A range of the roots, the candidates of the first vertex; default all.

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
        options: RunOptions = DEFAULTS,
        tasks: TaskRange | None = None,
    ):
        self.plan, self.deadline, self.progress, self.enough = plan, options.deadline, options.progress, options.enough
        self.block_rows = min(options.block_rows or BLOCK_ROWS, self.enough or BLOCK_ROWS, BLOCK_ROWS)
        self.first_rows = min(options.first_rows or self.block_rows, self.block_rows)
        self._then = options.then
        self.ahead_blocks = -(-options.ahead_rows // self.block_rows)
        graph, candidates, adjacency = prepared
        self.longest = longest_rows(adjacency)
        self.program, self.pool = encode(plan, {vertex: i for i, vertex in enumerate(plan.columns)}, self.longest)
        roots = candidates.of(plan.levels[0].vertex)
        if tasks is not None:
            roots = roots[tasks.begin : tasks.end]
        self.view = make_view(graph, adjacency, candidates.masks, roots)
        self.matches: Any = 0
        self._sum = 0
        self._counting = plan.leaf_mode != "rows"
        self._most_threads = max(1, min(threads(), len(roots)))
        self._threads = 1
        self._lock = threading.RLock()
        self._more = threading.Condition(self._lock)  # which threads enter by its lock: `Workers` says why
        self._waiting = 0
        self._stop = self._late = False
        self._done = self._reported = 0.0
        self._open: dict[int, float] = {}  # what each thread has done of its task
        chunks = max(1, min(CHUNKS, len(roots)))
        edges = np.linspace(0, len(roots), chunks + 1).astype(int).tolist()
        shares = shares_of(plan, adjacency, roots, edges) if self.progress is not None else [1 / chunks] * chunks
        ranges = zip(pairwise(edges), shares, strict=True)
        method = plan.method if plan.suffix is None else "suffix"
        self._tasks = [Task((), a, b, share, method) for (a, b), share in ranges][::-1]

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
            if self.progress is not None:
                self.progress(1.0, self.matches)
        else:
            try:
                for _ in self._spread(self._count_blocks):
                    pass
            except DeadlinePassed:
                if self.plan.suffix is not None and not self.plan.suffix.whole:
                    self.matches = None
                raise
        return self._sum

    ready = False  # of the next block: nobody knows before it comes

    def blocks(self) -> Iterator[np.ndarray]:
        """Blocks of matches, int32 (columns of the plan, rows), internal vertices; closing it stops the run.

        Raises
        ------
        DeadlinePassed
        """
        blocks = self._spread(self._row_blocks)
        return blocks if self._then is None else self._handed_over(blocks)

    def _handed_over(self, blocks):
        with contextlib.closing(blocks):
            yield from map(self._then, blocks)

    def _count_blocks(self):
        out, by_suffix = np.empty((0, 0), np.int32), self.plan.suffix is not None
        for _, state in self._walks(lambda: out):
            low, middle, high = state.registers[p.COUNT_0 : p.COUNT_2 + 1].tolist()
            state.registers[p.COUNT_0 : p.COUNT_2 + 1] = 0
            found = low + (middle << 31) + (high << 62)
            self._found(found + taken_residues(*p.residues(self.program, state)) if by_suffix else found)
            yield None

    def _row_blocks(self):
        size, written = self.first_rows, 0
        out = np.empty((len(self.plan.columns), size), np.int32)
        for status, state in self._walks(lambda: out):  # noqa: B023 - the current buffer is meant
            filled = int(state.registers[p.FILLED])
            self._found(filled - written)
            written = filled
            if status == p.FULL or self._stop:
                yield out[:, :filled]
                size = min(2 * size, self.block_rows)
                out = np.empty((len(self.plan.columns), size), np.int32)
                state.registers[p.FILLED] = written = 0
            else:
                yield None
        if written:
            yield out[:, :written]

    def _walks(self, out):
        """Work on tasks until none is left: (status, state) each time a walker returns."""
        states: dict[str, State | BitmapState] = {}
        registers = np.zeros(p.REGISTERS, np.int64)  # one set for both walkers: rows go on in one buffer
        while (task := self._take()) is not None:
            if task.method not in states:
                states[task.method] = self._new_state(task.method)._replace(registers=registers)
                self._compile(task.method, states[task.method], out())
            state, weight = states[task.method], task.weight
            enter_task, walk_on = WALKERS[task.method]
            enter_task(
                self.program, self.view, state, np.array(task.prefix or (0,)), len(task.prefix), task.begin, task.end
            )
            status = p.PAUSED
            while status != p.DONE:
                status = walk_on(self.program, self.view, state, out(), BUDGET)
                if status == p.OVERSIZE:
                    self._put(Task((int(state.matched[0]),), 0, -1, 0.0, "lists"))
                yield status, state
                if self._stop:
                    return
                if self._waiting and status != p.DONE:
                    weight = self._donate_work(state, weight, task.method)
                if self.progress is not None and time.monotonic() > self._reported + REPORT_SECONDS / 2:
                    self._open[threading.get_ident()] = weight * passed(state)
            with self._lock:
                self._open.pop(threading.get_ident(), None)
                self._done += weight

    def _compile(self, method, state, out):
        """Have a walker compiled, or loaded, before it runs."""
        enter_task, walk_on = WALKERS[method]
        with announced(method):
            enter_task(self.program, self.view, state, np.zeros(1, np.int64), 0, 0, 0)
            walk_on(self.program, self.view, state, out, 0)

    def _new_state(self, method):
        if method == "bitmaps":
            return new_bitmap_state(self.program, self.view, max(self.longest))
        return new_list_state(self.program, self.view, self.pool)

    def _donate_work(self, state, weight, method):
        """Hand half of the shallowest open range to a waiting thread; the weight that is left."""
        for level in range(int(state.registers[p.FLOOR]), int(state.registers[p.LEVEL]) + 1):
            position, end = int(state.position[level]), int(state.end[level])
            if end - position >= 2:
                half, begin = (position + end + 1) // 2, int(state.begin[level])
                state.end[level] = half
                self._put(Task(tuple(state.matched[:level].tolist()), half - begin, end - begin, weight / 2, method))
                return weight / 2
        return weight

    def _put(self, task):
        with self._lock:
            self._tasks.append(task)
            self._more.notify()

    def _take(self):
        """The next task; None when all threads have run out of work, or the run was stopped."""
        with self._lock:
            self._waiting += 1
            while not self._tasks and self._waiting < self._threads and not self._stop:
                self._more.wait(WAIT_SECONDS)
            if self._tasks and not self._stop:
                self._waiting -= 1
                return self._tasks.pop()
            self._more.notify_all()
            return None

    def _found(self, found):
        """Account for what was found, and look at the clock."""
        with self._lock:
            self._sum += found
            self.matches = self.plan.matches_of(self._sum) if self._counting else self._sum
        now = time.monotonic()
        if self.enough is not None and self.matches >= self.enough:
            self.stop()
        elif self.deadline is not None and now > self.deadline:
            self._late = True
            self.stop()
        if threading.current_thread() is self._home:
            self._report_if_due()

    def _look(self):
        """Look at the clock while a walker is compiled."""
        self._found(0)
        if self._stop:
            raise Stopped

    def _report_if_due(self):
        now = time.monotonic()
        if self.progress is not None and now > self._reported + REPORT_SECONDS:
            self._reported = now
            done = self._done + sum(self._open.copy().values())
            self.progress(min(done, 1.0), self.matches)

    def stop(self) -> None:
        """Let every thread return soon; matches that are still unseen are dropped."""
        self._stop = True
        with self._lock:
            self._more.notify_all()

    def _spread(self, work):
        """The blocks of `work`: by this thread while there is little to do, then by all; leaving early ends them."""
        self._home = threading.current_thread()
        blocks, begin = work(), time.monotonic()
        try:
            for block in blocks:
                if block is not None:
                    yield block
                alone = self._most_threads == 1 and not self.ahead_blocks
                if not alone and time.monotonic() - begin > ALONE_SECONDS:
                    yield from self._in_threads(blocks, work)
                    break
        finally:
            self.stop()
        if self._late:
            raise DeadlinePassed
        if self.progress is not None:
            self.progress(1.0, self.matches)

    def _in_threads(self, begun, work):
        """The blocks of several threads, the first of which goes on with `begun`."""
        self._threads = self._most_threads
        blocks: queue.SimpleQueue = queue.SimpleQueue()
        most = max(2 * self._threads, self.ahead_blocks)

        def offer(block):
            while blocks.qsize() >= most and not workers.stopped:
                time.sleep(FULL_SECONDS)
            blocks.put(block)

        def run(own):
            try:
                with checking(self._look), contextlib.suppress(Stopped):
                    for block in own:
                        if block is not None:
                            offer(block)
            except BaseException:
                self.stop()
                raise
            finally:
                blocks.put(FINISHED)

        shares = [begun, *(work() for _ in range(self._threads - 1))]
        workers, running = Workers(), len(shares)
        try:
            workers.start(*(functools.partial(run, own) for own in shares))
            while running:
                item = None
                with contextlib.suppress(queue.Empty):
                    item = blocks.get(timeout=REPORT_SECONDS)
                self._report_if_due()
                if item is FINISHED:
                    running -= 1
                elif item is not None:
                    yield item
        finally:
            workers.stopped = self._stop = True  # before a step in which an interrupt may arrive
            try:
                self.stop()
            finally:
                workers.end()
        if workers.error is not None:
            raise workers.error
