"""Running a row plan on the device: launches that pause and resume until no work is left, or time or rows suffice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.device_row_plan import DeviceRowPlan, device_row_plans
from cusubmatch.engines.gpu.row_walk.opened_rows import make_scratch
from cusubmatch.engines.gpu.row_walk.row_kernel_arguments import RowOutput
from cusubmatch.engines.gpu.row_walk.row_walker import make_walk_rows
from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.search.run import nanoseconds_of
from cusubmatch.engines.gpu.search.workspace import mirrored
from cusubmatch.engines.prepared import PreparedRows, RowBlock
from cusubmatch.engines.runs import DEFAULT_OPTIONS, RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan.rows.row_plan import RowPlan

__all__ = ["RowRun"]


class RowRun:
    """One execution of a row plan.

    Parameters
    ----------
    plan : RowPlan
    prepared : PreparedRows
        Rows and masks, in host memory; their graph lies where the engine works.
    options : RunOptions
        Blocks have 256 MB by default; `progress` is called between launches.
    tasks : TaskRange, optional
        A range of the rows, or vertices, of the first step; default all.
    gpu : Device, optional
        Where to run; default the current GPU.

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
        *,
        gpu: Device | None = None,
    ):
        self.plan, self.prepared, self.tasks, self.gpu = plan, prepared, tasks, gpu or current_device()
        self.xp: Any = _module(prepared, self.gpu)
        self.deadline, self.progress, self.enough = options.deadline, options.progress, options.enough
        pattern = plan.pattern
        row_bytes = 4 * pattern.n_vertices + (0 if pattern.existential else 8 * len(pattern.bound_edges))
        most = self.gpu.tunables.output_bytes // row_bytes
        self.block_rows = max(1, min(options.block_rows or most, options.enough or most, most))
        self.first_rows = min(options.first_rows or self.block_rows, self.block_rows)
        self.matches = 0

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
        for _ in self._launches(counting=True):
            pass
        self._report(1.0)
        return self.matches

    def blocks(self) -> Iterator[RowBlock]:
        """Blocks of matches on the device; closing it stops the run.

        Raises
        ------
        DeadlinePassed
        ValueError
            If the plan counts.
        """
        if self.plan.counting:
            raise ValueError(f"plan: expected one with leaf 'rows' to write matches, got {self.plan.leaf!r}")
        return self._row_blocks()

    @property
    def ready(self) -> bool:
        """Whether the next of `blocks` is there without a wait: never, since launches are waited for."""
        return False

    def _row_blocks(self):
        for block in self._launches(counting=False):
            if block is not None and block.vertices.shape[1]:
                yield block
        self._report(1.0)

    def _launches(self, counting):
        """Launches until none is needed: the block of each, or None."""
        orders = device_row_plans(self.gpu, self.xp, self.plan, self.prepared, self.tasks, counting=counting)
        total, before = sum(order.n_tasks for order in orders), 0
        for order in orders:
            if order.n_tasks:
                yield from self._launches_of(order, counting, before, total)
                if self.enough is not None and self.matches >= self.enough:
                    return
            before += order.n_tasks

    def _launches_of(self, on_device, counting, before, total):
        """Launches for one order of steps, whose tasks come after so many of all."""
        self._check_deadline()
        with on_device.lock:
            workspace = on_device.free.pop() if on_device.free else None
        workspace = workspace or _Workspace(self.gpu, self.xp, on_device)
        kernel = make_walk_rows(
            self.gpu.target, not counting, on_device.program.asks_more, self.gpu.tunables.steps_between_polls
        )[on_device.shape]
        more, drawn, size = True, 0, self.first_rows
        while more:
            output = None if counting else _Output(self, size)
            workspace.start(drawn, counting)
            taken = workspace.no_output if output is None else output.taken
            nanoseconds = nanoseconds_of(self.gpu.tunables.slice_s, self.deadline)
            kernel(*workspace.searched, workspace.state, workspace.checkpoints, workspace.scratch, taken, nanoseconds)
            words = workspace.read()
            drawn = words[f.DRAWN]
            more = words[f.LEFT] > 0 or drawn * on_device.chunk < on_device.n_tasks
            self.matches += _found(words) if output is None else output.valid(words)
            size = min(2 * size, self.block_rows)
            if not more:
                with on_device.lock:
                    on_device.free[:] = [workspace]
            yield None if output is None else output.block(words)
            if more and self.enough is not None and self.matches >= self.enough:
                return
            if more:
                self._report((before + min(drawn * on_device.chunk, on_device.n_tasks)) / total)
                self._check_deadline()

    def _check_deadline(self):
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise DeadlinePassed

    def _report(self, done):
        if self.progress is not None:
            self.progress(done, self.matches)


def _module(prepared, gpu):
    """The module of the arrays that kernels take."""
    if prepared.graph is not None:
        return prepared.graph.xp
    if gpu.target.WARP == 1 or not hasattr(gpu.target.cuda, "current_context"):
        return np  # an emulated device works in host memory
    import cupy

    return cupy


def _found(words):
    return words[f.SUM] + (words[f.SUM_HIGH] << 32)


class _Output:
    """Room for matches: int32 (vertices, capacity) and int64 (rows, capacity)."""

    def __init__(self, run, rows):
        xp, pattern, move = run.xp, run.plan.pattern, run.gpu.to_device
        self.capacity = max(rows, run.gpu.target.WARP)  # those of a warp go in together
        edges = 0 if pattern.existential else len(pattern.bound_edges)
        self.vertices = xp.empty((pattern.n_vertices, self.capacity), np.int32)
        self.rows = xp.empty((edges, self.capacity), np.int64)
        flat = self.rows.reshape(-1) if edges else xp.empty(1, np.int64)
        self.taken = move(RowOutput(self.vertices.reshape(-1), flat, np.int64(self.capacity)))

    def valid(self, words):
        """How many matches a launch has written."""
        lost = words[f.VALID_ROWS] != f.NO_ROWS_LOST
        return words[f.VALID_ROWS] if lost else min(words[f.FILLED], self.capacity)

    def block(self, words):
        n = self.valid(words)
        return RowBlock(self.vertices[:, :n], self.rows[:, :n])


class _Workspace:
    """What a run needs beside the plan; the next run uses it again."""

    def __init__(self, gpu: Device, xp: Any, plan: DeviceRowPlan):
        self._array = xp.zeros(f.STATE_WORDS, np.uint64)
        move = gpu.to_device
        self.state, self.checkpoints = move(self._array), move(xp.zeros(plan.checkpoint_words, np.uint32))
        blocks, threads, _ = plan.shape
        self.scratch = make_scratch(gpu, xp, plan.scratch_words, blocks * threads)
        self.searched = plan.words, plan.data, plan.tasks
        self.no_output = move(RowOutput(xp.empty(1, np.int32), xp.empty(1, np.int64), np.int64(0)))
        self._read = (lambda: self._array) if xp is np else mirrored(self._array)

    def start(self, drawn: int, counting: bool) -> None:
        """Make ready for a launch, after so many chunks were drawn."""
        on_host = isinstance(self._array, np.ndarray)
        if counting and not drawn and not on_host:
            self._array.data.memset_async(0, self._array.nbytes)  # a copy would be waited for
            return
        words = np.zeros(f.STATE_WORDS, np.uint64)
        words[f.DRAWN], words[f.VALID_ROWS] = drawn, f.NO_ROWS_LOST
        if on_host:
            self._array[:] = words
        else:
            self._array.set(words)

    def read(self) -> list[int]:
        """Wait for the launch; its state."""
        return [int(word) for word in self._read()]
