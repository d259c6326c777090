"""The general walker: any plan, on warps that draw, extend and count partial matches (gMatch; T-DFS for the balance).

A warp draws a batch of first candidates, works on its stack depth first, and when it has none left looks in the ring
for donated work. Every few steps it polls the control words: if more warps are idle than the ring has tasks, it donates
half of its shallowest level and polls again soon; if the run is to pause, because the output is full or the time is
over, it leaves a checkpoint, and the next launch resumes from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.tunables import Polling
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker import task_ring as r
from cusubmatch.engines.gpu.walker.batches import batch_function
from cusubmatch.engines.gpu.walker.checkpoints import CHECKPOINT_HEADER, checkpoint_functions
from cusubmatch.engines.gpu.walker.leaf import leaf_function
from cusubmatch.engines.gpu.walker.stack import stack_functions
from cusubmatch.engines.gpu.walker.suffix_counts import LANE_SUM_LIMIT, suffix_functions
from cusubmatch.engines.gpu.walker.variant import PAIRS, SUFFIX, WEIGHTS, Variant

__all__ = ["make_walk"]

U, L = np.uint32, np.uint64
DEFAULT_POLLING = Polling()


@kernel_factory
def make_walk(target: Target, variant: Variant, polling: Polling = DEFAULT_POLLING) -> Any:
    """The kernel for one variant of the walker.

    Its arguments: the program; `GraphArrays`; per root (a vertex with first candidates) the vertex, where its
    candidates begin and, summed up, how many they are; `ControlArrays`; the rows; two words for the count; nanoseconds
    until the launch pauses.

    A variant by tasks only counts: a root is a partial match of START vertices with the word of its weight behind
    them, a batch lies in one task, and the count has two words a task. A warp counts for the task whose number stands
    in word 0 of its stack: the one that it, or the warp that donated the work, drew a batch of.
    """
    cuda, WARP, lane_of, warp_of, clock = target.cuda, target.WARP, target.lane, target.warp, target.clock
    stack = stack_functions(target, variant)
    suffix, ring = suffix_functions(target, stack, variant), r.ring_functions(target, stack.access, variant)
    draw, leaf, take = stack.draw, leaf_function(target, stack, suffix, variant), ring.take
    draw_batch, wait = batch_function(target, stack.access, variant), r.wait_function(target, ring.poll)
    resume, save = checkpoint_functions(target)
    fill, add_count = _fill_function(target, stack, suffix, variant), _count_function(target, variant)
    poll, donate_shallowest = _poll_function(target), _balance_function(target, ring, variant, polling)
    load_program, needs_flush = _load_function(target), _flush_function(target, variant)
    after_idle = _steps_after_idle(polling, variant)
    most_windows = _window_function(target, polling, variant)
    AGAIN, BUDGET, BY_TASK = after_idle, polling.steps_between_polls, variant.by_task

    def walk(program, graph, roots, bases, ends, control, rows, out, nanoseconds):
        sh, started, ctl = cuda.shared.array(0, uint32), clock(), control.words
        w = load_program(sh, program)
        warp = np.int64(cuda.blockIdx.x) * np.int64(U(cuda.blockDim.x) // U(WARP)) + np.int64(warp_of())
        own = warp * np.int64(U(sh[p.WORDS]) + U(CHECKPOINT_HEADER))
        t, floor = resume(sh, w, control.checkpoints, own)
        last, steps, idle, batches, stopped, total = U(sh[p.LAST]), U(AGAIN), False, True, False, L(0)
        if lane_of() == U(0):
            cuda.atomic.add(ctl, r.PENDING, np.int32(1))
        while not stopped:
            new, has_list, fresh, base, length = U(0), False, True, bases[0], U(0)
            if t < floor:
                steps = U(steps + 1)
                if BY_TASK:
                    if not idle:
                        add_count(sh, w, out, total)
                        total = L(0)
                if batches:
                    batches, new, base, length = draw_batch(sh, w, ctl, roots, bases, ends)
                    has_list = True
                    if new > U(0):
                        t = U(sh[p.START]) if BY_TASK else U(1)
                        floor = t
                        if BY_TASK:
                            fresh = t == U(1)  # deeper ones bring their weight
                else:
                    found, number = wait(ctl, bool(idle))  # typed once, not for a constant too
                    idle = True
                    if found == U(r.OVER):
                        stopped = True
                    if found == U(r.TAKEN):
                        t, base, length = take(sh, w, number, control)
                        floor, new, has_list, fresh, idle = t, U(1), True, False, False
            elif U(sh[U(w + 3 * t)]) >= U(sh[U(w + 3 * t + 1)]):
                cuda.syncwarp()
                t = U(t - 1)
            elif t == last:
                counted, windows, pausing = leaf(sh, w, t, most_windows(steps), graph, ctl, rows)
                total = L(total + counted)
                if needs_flush(total):
                    add_count(sh, w, out, total)
                    total = L(0)
                steps = U(steps + windows)
                if pausing:
                    steps = U(BUDGET)
                    if lane_of() == U(0):
                        cuda.atomic.exch(ctl, r.STOP, np.int32(1))
            else:
                steps = U(steps + 1)
                new = draw(sh, w, t, graph)
                if new > U(0):
                    t = U(t + 1)
            if new > U(0):
                fill(sh, w, t, new, fresh, has_list, base, length, graph)
            if steps >= U(BUDGET) and not idle:
                steps = U(0)
                pause, idle_warps = poll(ctl, started, nanoseconds)
                if pause:
                    stopped = True
                elif idle_warps:
                    steps = U(AGAIN)
                    donate_shallowest(sh, w, floor, t, last, control)
        cuda.syncwarp()
        if lane_of() == U(0):
            if not idle:
                cuda.atomic.add(ctl, r.PENDING, np.int32(-1))
        save(sh, w, control.checkpoints, own, t, floor)
        add_count(sh, w, out, total)

    return target.kernel(walk)


def _steps_after_idle(polling, variant):
    """What the steps are counted from after a poll that found an idle warp.

    Slots of pairs are not divided, so that polling soon gains little.
    """
    return 0 if variant.mode == PAIRS else max(polling.steps_between_polls - polling.steps_between_polls_idle, 0)


def _load_function(target):
    """The program in shared memory."""
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp

    @target.device
    def load_program(sh, program):
        """Copy the program, which the whole block does; where the warp's stack begins."""
        size = U(program[p.SIZE])
        i = U(U(warp_of() * WARP) + lane_of())
        while i < size:
            sh[i] = program[i]
            i = U(i + U(cuda.blockDim.x))
        cuda.syncthreads()
        return U(size + U(warp_of() * U(sh[p.WORDS])))

    return load_program


def _window_function(target, polling, variant):
    """How many windows of the last level come before the next poll: few if that is due."""
    AGAIN, WINDOWS = _steps_after_idle(polling, variant), polling.leaf_windows
    BEFORE_POLL = min(polling.steps_between_polls_idle, WINDOWS) if AGAIN else WINDOWS

    @target.device
    def most_windows(steps):
        return U(BEFORE_POLL) if steps >= U(AGAIN) else U(WINDOWS)

    return most_windows


def _count_function(target, variant):
    """Adding up what the lanes have counted."""
    cuda, lane_of = target.cuda, target.lane
    _, _, warp_sum, add_to = warp_functions(target, variant.offsets64)
    BY_TASK = variant.by_task

    @target.device
    def add_count(sh, w, out, value):
        """Add the lanes' counts to the run's, or to those of the task that the warp works on."""
        if BY_TASK:
            total = warp_sum(value)
            if lane_of() == U(0) and total != L(0):
                at = np.int64(U(sh[w])) * np.int64(2)
                cuda.atomic.add(out, at, L(total & L(0xFFFFFFFF)))
                high = L(total >> L(32))
                if high != L(0):
                    cuda.atomic.add(out, at + np.int64(1), high)
        else:
            add_to(out, lane_of(), value)

    return add_count


def _flush_function(target, variant):
    """Whether the lanes' counts must be written out before they pass 64 bits together."""
    cuda, FULL, HAS_SUFFIX, LIMIT = target.cuda, target.FULL, variant.mode == SUFFIX, LANE_SUM_LIMIT

    @target.device
    def needs_flush(total):
        if HAS_SUFFIX:
            return cuda.ballot_sync(FULL, total >= L(LIMIT)) != 0
        return False

    return needs_flush


def _fill_function(target, stack, suffix, variant):
    """New slots of a level made ready: what they carry, and their lists."""
    weigh, measure, settle = stack.sizes.weigh, suffix.measure, stack.settle
    HAS_WEIGHTS, HAS_SUFFIX = variant.mode == WEIGHTS, variant.mode == SUFFIX

    @target.device
    def fill(sh, w, t, new, fresh, has_list, base, length, graph):
        """Make the first `new` slots of level t ready; `fresh` ones do not carry yet what is known at level t."""
        if HAS_WEIGHTS:
            if fresh and t == U(sh[p.WEIGH]):
                weigh(sh, w, t, new, graph)
        if HAS_SUFFIX:
            if fresh:
                measure(sh, w, t, new, graph)
        settle(sh, w, t, new, has_list, base, length, graph)

    return fill


def _poll_function(target):
    """A look at the control words and the clock."""
    cuda, FULL, lane_of, peek, clock = target.cuda, target.FULL, target.lane, target.peek, target.clock

    @target.device
    def poll(ctl, started, nanoseconds):
        """Whether to pause, and whether more warps are idle than the ring has tasks."""
        others, pause = np.int32(0), np.int32(0)
        if lane_of() == U(0):
            others = np.int32(np.int32(peek(ctl, r.IDLE)) - np.int32(peek(ctl, r.ITEMS)))
            pause = np.int32(peek(ctl, r.STOP))
            if pause == np.int32(0) and clock() - started > nanoseconds:
                pause = np.int32(1)
                cuda.atomic.exch(ctl, r.STOP, np.int32(1))
        pause = np.int32(cuda.shfl_sync(FULL, pause, 0))
        others = np.int32(cuda.shfl_sync(FULL, others, 0))
        return pause != np.int32(0), others > np.int32(0)

    return poll


def _balance_function(target, ring, variant, polling):
    """Which level is donated."""
    donate_work = ring.donate_work
    MANY = polling.min_donated_cores if variant.mode == SUFFIX else polling.min_donated_candidates

    @target.device
    def donate_shallowest(sh, w, floor, t, last, control):
        """Donate half of the shallowest level that can be divided; the last one only if it has many candidates."""
        level, looking = floor, True
        while looking and level <= t:
            left = U(U(sh[U(w + 3 * level + 1)]) - U(sh[U(w + 3 * level)]))
            done = U(sh[U(w + 3 * level)]) >= U(sh[U(w + 3 * level + 1)])
            if not done and left > U(1) and (level < last or left > U(MANY)):
                donate_work(sh, w, level, control)
                looking = False
            level = U(level + 1)

    return donate_shallowest
