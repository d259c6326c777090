"""The row walker: one kernel for all row plans, on warps that extend partial matches depth first and in batches.

A warp has up to as many partial matches of a level as it has lanes. The candidates of all of them are numbered through
and tested lane by lane, so that short and long ranges together keep the lanes busy; those that fit are the next level's
partial matches. Where the last step is compared with nothing but vertices and times, its rows are not visited: their
number is the width of a window, less the rows to vertices that are bound already. A launch ends when no work is left,
when the output is full or the time is over; a warp then leaves its stack, and the next launch goes on there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.row_leaf import leaf_function
from cusubmatch.engines.gpu.row_walk.row_ranges import row_ranges
from cusubmatch.engines.gpu.row_walk.row_stack import row_stack
from cusubmatch.engines.gpu.row_walk.row_tasks import EMPTY, NO_TASKS, task_function
from cusubmatch.engines.gpu.row_walk.row_tests import candidate_test
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.engines.gpu.runtime.warp import warp_functions

__all__ = ["CHECKPOINT_HEADER", "make_walk_rows"]

U, T, L = np.uint32, np.int64, np.uint64
BIND_WINDOWS = 128  # of candidates, each as wide as a warp, before the clock may be looked at
CHECKPOINT_HEADER = 1  # a word before the stack: its level and one, or 0 if nothing is left


@kernel_factory
def make_walk_rows(target: Target, emits: bool, asks_more: bool, steps_between_polls: int) -> Any:
    """The kernel for walks that write matches (`emits`) or count them, and that ask more than vertices, rows and times.

    Its arguments: the program; `RowData`; `RowTasks`; the words of the run's state; checkpoints; `Scratch`;
    `RowOutput`; nanoseconds until the launch pauses.
    """
    cuda, lane_of, warp_of, clock = target.cuda, target.lane, target.warp, target.clock
    stack = row_stack(target)
    ranges = row_ranges(target, stack)
    test = candidate_test(target, stack, ranges, asks_more)
    draw_task, bind = task_function(target, stack), _bind_function(target, stack, test)
    leaf, extend = leaf_function(target, stack, test, emits), _extend_function(target, stack, ranges)
    load_program, poll = _load_function(target), _poll_function(target)
    resume, save = _checkpoint_functions(target)
    add_to = warp_functions(target).add_to
    BUDGET, WARP = steps_between_polls, target.WARP

    def walk_rows(program, data, tasks, state, checkpoints, scratch, output, nanoseconds):
        sh, started = cuda.shared.array(0, uint32), clock()
        w = load_program(sh, program)
        warp = T(cuda.blockIdx.x) * T(U(cuda.blockDim.x) // U(WARP)) + T(warp_of())
        own = warp * T(U(sh[f.STACK_WORDS]) + U(CHECKPOINT_HEADER))
        t, floor, last = resume(sh, w, checkpoints, own), U(sh[f.FLAT]), U(sh[f.LAST])
        widths = U(sh[f.LEAF]) == U(f.WIDTHS)
        steps, total, stopped = U(0), L(0), False
        while not stopped:
            steps = U(steps + U(1))
            if t == U(EMPTY):
                t = draw_task(sh, w, data, tasks, state)
                if t == U(NO_TASKS):
                    stopped = True
                    t = U(EMPTY)
            else:
                header = U(w + U(f.STACK_HEADER) + U(t * U(f.LEVEL_HEADER)))
                if U(sh[header]) >= U(sh[U(header + U(f.TOTAL))]):
                    cuda.syncwarp()
                    t = U(t - U(1)) if t > floor else U(EMPTY)
                elif t == last:
                    counted, windows, full = leaf(sh, w, t, data, state, scratch, output)
                    total = L(total + counted)
                    steps = U(steps + windows)
                    if full:
                        steps = U(BUDGET)
                else:
                    slots = bind(sh, w, t, data, scratch)
                    if slots > U(0):
                        counted = extend(sh, w, U(t + U(1)), slots, widths and U(t + U(1)) == last, data)
                        total = L(total + counted)
                        if not (widths and U(t + U(1)) == last):
                            t = U(t + U(1))
            if steps >= U(BUDGET):
                steps = U(0)
                if poll(state, started, nanoseconds):
                    stopped = True
        cuda.syncwarp()
        save(sh, w, checkpoints, own, t, state)
        add_to(state, lane_of(), total)

    return target.kernel(walk_rows)


def _load_function(target):
    """The program in shared memory."""
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp

    @target.device
    def load_program(sh, program):
        """Copy the program, which the whole block does; where the warp's stack begins."""
        size = U(program[f.SIZE])
        i = U(U(warp_of() * U(WARP)) + lane_of())
        while i < size:
            sh[i] = program[i]
            i = U(i + U(cuda.blockDim.x))
        cuda.syncthreads()
        return U(size + U(warp_of() * U(sh[f.STACK_WORDS])))

    return load_program


def _bind_function(target, stack, test):
    """Binding candidates of a level."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    at, group_at, candidate = stack.at, stack.group_at, stack.candidate

    @target.device
    def bind(sh, w, t, data, scratch):
        """Test candidates of level t until its slots are full, or many were tested; how many slots are full."""
        lane, filled, windows = lane_of(), U(0), U(0)
        header = U(w + U(f.STACK_HEADER) + U(t * U(f.LEVEL_HEADER)))
        cursor, total = U(sh[header]), U(sh[U(header + U(f.TOTAL))])
        while cursor < total and filled < U(WARP) and windows < U(BIND_WINDOWS):
            windows = U(windows + U(1))
            number, fits, slot, position, x, group = U(cursor + lane), False, U(0), U(0), U(0), U(0)
            if number < total:
                slot, position = candidate(sh, w, t, number)
                fits, x, group = test(sh, w, t, slot, position, data, scratch)
            found = U(cuda.ballot_sync(FULL, fits))
            place = U(filled + U(cuda.popc(U(found & U(U(U(1) << lane) - U(1))))))
            late = U(cuda.ballot_sync(FULL, fits and place >= U(WARP)))
            if fits and place < U(WARP):
                sh[at(sh, w, t, f.IMAGE, place)] = x
                sh[at(sh, w, t, f.POSITION, place)] = position
                sh[at(sh, w, t, f.PARENT, place)] = slot
                if t == U(0):
                    sh[group_at(sh, w, place)] = group
            if late != U(0):
                cursor = U(cursor + U(U(cuda.ffs(late)) - U(1)))
                filled = U(WARP)
            else:
                cursor = min(U(cursor + U(WARP)), total)
                filled = U(filled + U(cuda.popc(found)))
        cuda.syncwarp()
        if lane == U(0):
            sh[header] = cursor
        cuda.syncwarp()
        return filled

    return bind


def _extend_function(target, stack, ranges):
    """The candidates of the next level, or their number where they are only counted."""
    lane_of, set_ranges = target.lane, stack.set_ranges
    open_step, count_step = ranges.open_step, ranges.count_step

    @target.device
    def extend(sh, w, t, slots, counts, data):
        """Make level t ready for the slots of the level before, or count: this lane's matches."""
        lane, begin, length = lane_of(), U(0), U(0)
        if counts:
            if lane < slots:
                length = count_step(sh, w, t, lane, data)
            return L(length)
        if lane < slots:
            begin, length = open_step(sh, w, t, lane, data)
        set_ranges(sh, w, t, slots, begin, length)
        return L(0)

    return extend


def _poll_function(target):
    """A look at the clock, and at whether others have stopped."""
    cuda, FULL, lane_of, peek, clock = target.cuda, target.FULL, target.lane, target.peek, target.clock

    @target.device
    def poll(state, started, nanoseconds):
        stop = np.int32(0)
        if lane_of() == U(0):
            if peek(state, f.STOP) != L(0):
                stop = np.int32(1)
            elif clock() - started > nanoseconds:
                stop = np.int32(1)
                cuda.atomic.exch(state, f.STOP, L(1))
        return np.int32(cuda.shfl_sync(FULL, stop, 0)) != np.int32(0)

    return poll


def _checkpoint_functions(target):
    """What a warp leaves for the next launch."""
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane

    @target.device
    def resume(sh, w, checkpoints, own):
        level, i = U(checkpoints[own]), lane_of()
        if level == U(0):
            while i < U(f.STACK_HEADER):
                sh[U(w + i)] = U(0)
                i = U(i + U(WARP))
        while level != U(0) and i < U(sh[f.STACK_WORDS]):
            sh[U(w + i)] = checkpoints[own + T(CHECKPOINT_HEADER) + T(i)]
            i = U(i + U(WARP))
        cuda.syncwarp()
        return U(EMPTY) if level <= U(1) else U(level - U(2))

    @target.device
    def save(sh, w, checkpoints, own, t, state):
        begun = U(sh[U(w + U(f.NEXT_TASK))]) != U(sh[U(w + U(f.TASK_END))])
        begun = begun or U(sh[U(w + U(f.NEXT_TASK_HIGH))]) != U(sh[U(w + U(f.TASK_END_HIGH))])
        left = t != U(EMPTY) or begun
        i = lane_of()
        if i == U(0):
            checkpoints[own] = (U(1) if t == U(EMPTY) else U(t + U(2))) if left else U(0)
            if left:
                cuda.atomic.add(state, f.LEFT, L(1))
        while left and i < U(sh[f.STACK_WORDS]):
            checkpoints[own + T(CHECKPOINT_HEADER) + T(i)] = sh[U(w + i)]
            i = U(i + U(WARP))

    return resume, save
