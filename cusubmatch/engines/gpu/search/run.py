"""Running a plan on the device: launches that pause and resume, until no work is left, time is over or rows suffice.

A launch ends when no work is left, when the output is full or has the rows that were asked for, or after a slice of
time; the stacks of its warps are checkpoints in device memory. Limits, deadlines, progress and interrupts are handled
between launches; who may not wait so long watches them.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.cliques.specialised import specialised_count
from cusubmatch.engines.gpu.runtime.device import Device, current_device
from cusubmatch.engines.gpu.search.device_plan import DevicePlan, make_device_plan
from cusubmatch.engines.gpu.search.program import modulo
from cusubmatch.engines.gpu.search.run_progress import RunProgress
from cusubmatch.engines.gpu.search.workspace import Workspace
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker import task_ring as r
from cusubmatch.engines.gpu.walker.variant import COUNT, PAIRS, ROWS, SUFFIX, WEIGHTS
from cusubmatch.engines.gpu.walker.warp_walker import make_walk
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import DEFAULT_OPTIONS, RunOptions, TaskRange
from cusubmatch.errors import DeadlinePassed
from cusubmatch.plan import Plan, suffix_primes
from cusubmatch.plan.crt import chinese_remainder
from cusubmatch.system.deadlines import check_deadline

__all__ = ["KEPT_PLANS", "Run", "mode_of", "nanoseconds_of"]

KEPT_PLANS = 16  # at least
WATCH_S = 1e-4  # between two looks at a launch


class RowOutput(NamedTuple):
    """Room for rows, int32 (columns, capacity) or None, as it is and as kernels take it, and the program to fill it."""

    rows: Any
    array: Any
    program: Any
    capacity: int

    def of(self, state):
        """The rows that a launch has written."""
        if self.rows is None:
            return None
        valid = int(state[r.VALID]) if state[r.VALID] >= 0 else min(int(state[r.FILLED]), self.capacity)
        return self.rows[:, :valid]


class Run:
    """One execution of a plan on a device graph.

    Parameters
    ----------
    prepared, plan
        What is walked on, in device memory, and a plan for it by warps.
    options : RunOptions
        Blocks have 256 MB by default; `progress` is called between launches. With `ahead_rows` a launch runs while the
        caller works on the rows of the one before; what `then` launches on the current stream does not wait for that.
    tasks : TaskRange, optional
        Pairs of a root and a first candidate, roots where nothing else is visited, or parts of a specialised count;
        default all.
    gpu : Device, optional
        Where to run; default the current GPU.
    sample_share : int
        Only one of so many first candidates is searched, or of roots where nothing else is visited.

    Attributes
    ----------
    matches : int or None
        Matches found so far: the count, once `count` has returned; None if a deadline left a suffix's sum that counts
        only parts of matches, or residues.
    """

    def __init__(
        self,
        prepared: Prepared,
        plan: Plan,
        options: RunOptions = DEFAULT_OPTIONS,
        tasks: TaskRange | None = None,
        *,
        gpu: Device | None = None,
        sample_share: int = 1,
    ):
        self.prepared, self.plan, self.tasks, self.gpu = prepared, plan, tasks, gpu or current_device()
        self.deadline, self.progress = options.deadline, options.progress
        self.slice_s, self.watches = self.gpu.tunables.slice_s, options.watches
        self.sample_share, self.xp, enough = sample_share, prepared.graph.xp, options.enough
        max_rows = self.gpu.tunables.output_bytes // (4 * max(len(plan.columns), 1))
        self.block_rows = min(options.block_rows or max_rows, enough or max_rows, max_rows)
        self.first_rows = min(options.first_rows or self.block_rows, self.block_rows)
        self.ahead, self.enough, self.then = options.ahead_rows > 0, enough, options.then
        self._launched: Any = None  # an event after the last launch, if `ready` may be asked for
        self._passes = 0, 1  # over the graph: those that have ended, and how many there are
        self.matches: int | None = 0

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        self.matches = self.plan.matches_of(self.total())
        self._report(1.0)
        return self.matches

    def total(self) -> int:
        """What the walk sums up; totals of ranges of tasks add. `Plan.matches_of` makes a count of it.

        Raises
        ------
        DeadlinePassed
        """
        if self.plan.walked == 0:
            return len(self._roots())
        if counter := specialised_count(self.gpu, self.prepared, self.plan, self.tasks):
            return counter(lambda done, total: self._check_deadline(done, self.plan.matches_of(total)))
        return self._sum()

    def _sum(self):
        """What the launches count together, of a suffix by its residues if it may pass 64 bits."""
        plan, device_plan, primes = self.plan, self.device_plan, []
        if plan.suffix is not None:
            primes = suffix_primes(plan, [device_plan.longest] * len(plan.relations), self.gpu.tunables.exact_sum_bits)
        whole = plan.suffix is None or (plan.suffix.whole and not primes)
        residues = []
        for prime in primes or [0]:
            total, self._passes = 0, (len(residues), max(len(primes), 1))
            program = (
                self._program(modulo(device_plan.layout.words, plan.suffix, prime)) if prime else device_plan.program
            )
            self.matches = 0 if whole else None
            for found, _ in self._launches(program):
                total += found
                if whole:
                    self.matches = plan.matches_of(total)
            residues.append(total % prime if prime else total)
        return chinese_remainder(residues, primes) if primes else residues[0]

    def blocks(self) -> Iterator[Any]:
        """Blocks of matches, int32 (columns of the plan, rows), on the device.

        Raises
        ------
        DeadlinePassed
        """
        if len(self.plan.levels) == 1:
            roots = self._roots()
            self.matches = len(roots)
            for begin in range(0, len(roots), self.block_rows):
                block = roots[None, begin : begin + self.block_rows]
                yield block if self.then is None else self.then(block)
        else:
            for found, rows in self._launches():
                self.matches += found
                if found:
                    yield rows
        self._report(1.0)

    @property
    def ready(self) -> bool:
        """Whether the next of `blocks` is there without a wait."""
        return self._launched is None or self._launched.done

    @functools.cached_property
    def device_plan(self) -> DevicePlan:
        """The plan on the device, on the run's tasks; kept with the graph, a trial's aside."""
        graph, plan, whole = self.prepared.graph, self.plan, None

        def make():
            return make_device_plan(self.gpu, self.prepared, plan, self.sample_share)

        if self.sample_share > 1:
            whole = make()
        else:
            asked = plan.pattern, plan.semantics, plan.unique, plan.columns
            walked = plan.leaf_mode, plan.ascending, plan.levels, plan.walked
            key = *asked, *walked, self.prepared.adjacency.key, self.gpu.tunables
            whole = graph.cache.get("device plans", key, make, graph.keep(KEPT_PLANS))
        return whole if self.tasks is None else whole.of(self.tasks, self.xp, self.gpu.to_device)

    @property
    def mode(self) -> str:
        """What happens at the last level."""
        return mode_of(self.plan, self.device_plan.layout.weighed)

    @property
    def kernel(self):
        """The kernel that walks the plan."""
        return make_walk(self.gpu.target, self.device_plan.variant(self.mode), self.gpu.tunables.polling)

    def _roots(self):
        roots = self.prepared.candidates.of(self.plan.levels[0].vertex)
        return roots if self.tasks is None else roots[self.tasks.begin : self.tasks.end]

    def _launches(self, program=None):
        """(matches, rows) of each launch until none is needed; with `ahead_rows` the next one runs meanwhile."""
        device_plan = self.device_plan
        if not device_plan.batches:
            return
        workspace, so_far = device_plan.pool.take(device_plan.layout.stack), 0
        output = self._output(self.first_rows) if program is None else RowOutput(None, device_plan.no_rows, program, 1)
        workspace.start(fresh=True)
        self._work: RunProgress | None = None
        running = True  # from before a launch, since an interrupt may come at any time
        try:
            self._launch(workspace, output)
            while running:
                if self.watches:
                    _watch(workspace)
                new, running = workspace.read(), False
                done, more = self._done(workspace), bool(workspace.state[r.STOP])
                rows, so_far = output.of(workspace.state), so_far + new
                self.donated = int(workspace.state[r.DONATED])
                if self.then is not None and new:
                    rows = self.then(rows)
                if more and not (self._late() or self._enough(so_far)):
                    workspace.start(fresh=False)
                    if new and output.rows is not None:
                        output = self._output(2 * output.capacity)
                    if running := self.ahead or output.rows is None:
                        self._launch(workspace, output)
                yield new, rows
                if more and not self._enough(so_far):
                    self._check_deadline(done, self.matches)
                    if not running:
                        running = True
                        self._launch(workspace, output)
            if not more:
                device_plan.pool.give_back(workspace)
        finally:
            if running:
                workspace.stop()

    def _launch(self, workspace, output):
        plan, nanoseconds = self.device_plan, nanoseconds_of(self.slice_s, self.deadline)
        launch = self.kernel[plan.blocks, plan.warps * self.gpu.target.WARP, 4 * plan.shared_words]
        searched = (output.program, plan.graph, *plan.root_arrays)
        launch(*searched, workspace.arrays, output.array, workspace.sums, nanoseconds)
        if self.then is not None:
            self._launched = workspace.event()

    def _output(self, rows):
        """Room for so many rows, or about, and the program that fills it."""
        device_plan, xp, warp = self.device_plan, self.xp, self.gpu.target.WARP
        rows = min(rows, self.block_rows)
        capacity = max(rows, warp)  # the rows of a warp go in together
        words = device_plan.layout.words.copy()
        words[p.CAPACITY], words[p.ENOUGH] = capacity, rows
        array = xp.empty((max(len(self.plan.columns), 1), capacity), np.int32)
        return RowOutput(array, self.gpu.to_device(array.reshape(-1)), self._program(words), capacity)

    def _program(self, words):
        return self.gpu.to_device(self.xp.asarray(words))

    def _done(self, workspace):
        """The fraction of the work that is done; it is estimated only if it is reported and not all."""
        if self.progress is None or not workspace.state[r.STOP]:
            return 1.0
        if self._work is None:
            self._work = RunProgress(self.gpu, self.device_plan, self.xp, self.mode)
        before, passes = self._passes
        return (before + self._work.done(workspace)) / passes

    def _enough(self, matches):
        return self.enough is not None and matches >= self.enough

    def _late(self):
        return self.deadline is not None and time.monotonic() > self.deadline

    def _check_deadline(self, done, matches):
        """Report, and raise if the time is over, or what this thread works for is."""
        self.matches = matches
        self._report(done)
        check_deadline()
        if self._late():
            raise DeadlinePassed

    def _report(self, done):
        if self.progress is not None:
            self.progress(done, self.matches or 0)


def mode_of(plan: Plan, weighed: bool) -> str:
    """What happens at the last level of a plan whose partial matches carry weights, or not."""
    return WEIGHTS if weighed else {"rows": ROWS, "size": COUNT, "suffix": SUFFIX}.get(plan.leaf_mode, PAIRS)


def _watch(workspace: Workspace) -> None:
    """Call this thread's check until the launch has ended; what that raises ends it."""
    event = workspace.event()
    while event is not None and not event.done:
        check_deadline()
        time.sleep(WATCH_S)


def nanoseconds_of(slice_s: float, deadline: float | None) -> np.int64:
    """How long the next launch may take, as the walker is told."""
    left = slice_s if deadline is None else max(deadline - time.monotonic(), 0.0)
    return np.int64(1e9 * min(slice_s, left))
