"""What warps begin with: chunks of tasks from a shared counter.

Where candidates of level 0 are tasks, a chunk is a range of the first step's rows. Else a task is a candidate of level
1: they are numbered through all rows of the first step, so a row with many of them is divided among warps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.row_stack import RowStack
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["EMPTY", "NO_TASKS", "task_function"]

U, T, L = np.uint32, np.int64, np.uint64
EMPTY, NO_TASKS = 0xFFFFFFFF, 0xFFFFFFFE  # levels: a stack without work; and there is none to begin with


def task_function(target: Target, stack: RowStack) -> Any:
    """A device function (sh, w, data, tasks, state) -> level: new work for the stack; NO_TASKS if none is left."""
    cuda, lane_of = target.cuda, target.lane
    read, draw_chunk = _number_functions(target)
    first_root = _search_function(target)
    fill_rows, set_ranges = _fill_function(target, stack), stack.set_ranges

    @target.device
    def draw_task(sh, w, data, tasks, state):
        begin, end = read(sh, w, U(f.NEXT_TASK)), read(sh, w, U(f.TASK_END))
        if begin >= end:
            begin, end = draw_chunk(sh, tasks, state)
            if begin >= end:
                return U(NO_TASKS)
            if U(sh[f.FLAT]) == U(0):
                cuda.syncwarp()
                length = U(end - begin) if lane_of() == U(0) else U(0)
                set_ranges(sh, w, U(0), U(1), U(begin), length)
                return U(0)
            root = first_root(tasks.ends, begin)
        else:
            root = T(U(sh[U(w + U(f.NEXT_ROOT))]))
        fill_rows(sh, w, data, tasks, (begin, end, root))
        return U(1)

    return draw_task


def _number_functions(target):
    """The 64-bit numbers of tasks."""
    cuda, FULL, lane_of, peek = target.cuda, target.FULL, target.lane, target.peek

    @target.device
    def read(sh, w, at):
        return T(L(U(sh[U(w + at)])) | (L(U(sh[U(U(w + at) + U(1))])) << L(32)))

    @target.device
    def draw_chunk(sh, tasks, state):
        """The next chunk, the same in all lanes; empty if none is left.

        The last tasks come first: vertices are numbered by degree, and those of large degree take longest.
        """
        size, chunk = T(U(sh[f.CHUNK])), T(-1)
        if lane_of() == U(0):
            if tasks.begin + T(peek(state, f.DRAWN)) * size < tasks.end:
                chunk = T(cuda.atomic.add(state, f.DRAWN, L(1)))
        chunk = T(cuda.shfl_sync(FULL, chunk, 0))
        end = T(tasks.end - chunk * size)
        if chunk < T(0):
            end = T(tasks.begin)
        return max(T(end - size), T(tasks.begin)), end

    return read, draw_chunk


def _search_function(target):
    """Finding the row of the first step that a task belongs to."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane

    @target.device
    def first_root(ends, number):
        """How many rows have all their tasks before a number; the lanes search together."""
        low, size = T(0), T(len(ends))
        while size > T(0):
            step = T((size + T(WARP)) // T(WARP + 1))
            place = T(low + step * T(lane_of() + U(1)) - T(1))
            before = False
            if place < T(low + size):
                before = ends[place] <= number
            passed = T(cuda.popc(U(cuda.ballot_sync(FULL, before))))
            left = T(size - passed * step)
            low = T(low + passed * step)
            size = left if passed == T(WARP) else max(min(left, T(step - T(1))), T(0))
        return low

    return first_root


def _fill_function(target, stack):
    """Rows of the first step in the stack, with those of their candidates that are tasks."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    at, group_at, set_ranges = stack.at, stack.group_at, stack.set_ranges

    @target.device
    def write(sh, w, at, number):
        sh[U(w + at)] = U(L(number) & L(0xFFFFFFFF))
        sh[U(U(w + at) + U(1))] = U(L(number) >> L(32))

    @target.device
    def fill_rows(sh, w, data, tasks, part):
        begin, end, first = part
        lane = lane_of()
        root, length, offset = T(first + T(lane)), U(0), U(0)
        if root < T(len(tasks.ends)):
            start = T(0)
            if root > T(0):
                start = T(tasks.ends[root - T(1)])
            low, high = max(begin, start), min(end, T(tasks.ends[root]))
            if low < high:
                length = U(high - low)
                offset = U(U(tasks.begins[root]) + U(low - start))
                place = U(tasks.positions[root])
                if U(sh[U(U(sh[f.STEP_RECORDS]) + U(f.KIND))]) == U(f.VERTICES):
                    sh[group_at(sh, w, lane)] = place
                else:
                    sh[group_at(sh, w, lane)] = data.owners[U(place - U(sh[f.OWNERS]))]
                    sh[at(sh, w, U(0), f.IMAGE, lane)] = data.ends[place]
                sh[at(sh, w, U(0), f.POSITION, lane)] = place
        slots = U(cuda.popc(U(cuda.ballot_sync(FULL, length > U(0)))))
        set_ranges(sh, w, U(1), slots, offset, length)
        if lane == U(0):
            done = T(U(sh[at(sh, w, U(1), f.UNTIL, U(WARP - 1))]))
            write(sh, w, U(f.NEXT_TASK), T(begin + done))
            write(sh, w, U(f.TASK_END), end)
            sh[U(w + U(f.NEXT_ROOT))] = U(first + T(WARP))
        cuda.syncwarp()

    return fill_rows
