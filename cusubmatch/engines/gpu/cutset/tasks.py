"""Tasks of a count on cutsets, which all blocks draw, do and add to.

A task is a world and images of some more vertices. All lie one after the other in device memory, and are drawn in this
order; a block that draws one that is not there yet waits for it, until no task is under way or it is time to stop.
Tasks that are written for the candidates of one vertex share what the task before has left of all sets, as long as
there is room for it; else each narrows them from the beginning.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.world_kernels import BEGINS, COUNTS, WIDTH, WORLD_WORDS
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = [
    "CONTROL_WORDS",
    "END",
    "FREE",
    "NOT_KEPT",
    "PAIRS",
    "PENDING",
    "READY",
    "SETS",
    "SETS_END",
    "WORLD",
    "TaskArrays",
    "Tasks",
    "task_functions",
]

U = np.uint32
# A task: its world; how many images are given; where sets are that the last of these has not narrowed yet; each image
# as vertex * 2^16 + candidate.
WORLD, GIVEN, SETS, PAIRS = range(4)
NOT_KEPT = 0xFFFFFFFF
# Of control: the next task; where the tasks end; those that are not done; those that are to be tried again; where sets
# that are kept end.
NEXT, END, PENDING, REFUSED, SETS_END, CONTROL_WORDS = range(6)
FREE, READY, TAKEN = range(3)  # the state of a task's place; a task that is to be tried again is ready
SPIN_NS = 500  # between two looks for a task


class TaskArrays(NamedTuple):
    """What blocks share.

    Attributes
    ----------
    tasks : uint32
        One after the other.
    states, control : int32
        The state of each place for a task; `NEXT` and the other words of control.
    sets : uint32
        That are kept for tasks, `n` times a world's width words each.
    ends : int64
        When no task is begun any more, by the clock; 0 until the first block has begun.
    """

    tasks: Any
    states: Any
    control: Any
    sets: Any
    ends: Any


class Tasks(NamedTuple):
    """Device functions; a whole warp calls them.

    Attributes
    ----------
    draw : (arrays, room, leaves) -> number
        Take the next task, once it is there; `room`, for so many tasks, if no more is to be done, or it is time for the
        block to leave. A block that waits for a task already stays until that is there or the launch ends.
    begin : (sh, sets, arrays, task, worlds, n, others) -> width, changed
        What is left of a task's sets, one candidate of vertices that are matched; and vertices that narrow others.
    divide : (sh, sets, arrays, task, width, v, launch) -> bool
        Write a task for each candidate of v; whether there is room for them.
    finish : (arrays, number, is_done)
        The end of a task, which is to be tried again in another launch if it is not done.
    """

    draw: Any
    begin: Any
    divide: Any
    finish: Any


def task_functions(target: Target) -> Tasks:
    """The functions, for one target."""
    return Tasks(_draw_function(target), _begin_function(target), _divide_function(target), _finish_function(target))


def _draw_function(target):
    cuda, FULL, lane_of, peek, clock = target.cuda, target.FULL, target.lane, target.peek, target.clock

    @target.device
    def draw(tasks, room, leaves):
        """The number of the next task, which is taken, once it is there; `room` if no more is to be done."""
        number = U(room)
        if lane_of() == U(0) and clock() <= leaves:
            number = U(np.int32(cuda.atomic.add(tasks.control, NEXT, np.int32(1))))
            waiting = number < room
            while waiting:
                if peek(tasks.control, PENDING) == np.int32(0) or clock() > peek(tasks.ends, 0):
                    number, waiting = U(room), False
                elif peek(tasks.states, number) == np.int32(READY):
                    cuda.threadfence()
                    cuda.atomic.exch(tasks.states, number, np.int32(TAKEN))
                    waiting = False
                else:
                    cuda.nanosleep(U(SPIN_NS))
        return U(np.int32(cuda.shfl_sync(FULL, np.int32(min(number, U(room))), 0)))

    return draw


def _begin_function(target):
    cuda, WARP, lane_of, peek = target.cuda, target.WARP, target.lane, target.peek

    @target.device
    def whole_sets(sh, sets, n, width):
        """Those of a world; and vertices with one candidate in it, with which others may be in conflict."""
        t, single = U(lane_of()), U(0)
        while t < U(n * width):
            v = U(t // width)
            first, size = U(U(t - U(v * width)) << U(5)), U(sh[U(U(f.SIZES) + v)])
            number = U(size - first) if size > first else U(0)
            sh[U(sets + t)] = U(0xFFFFFFFF) if number >= U(32) else U(U(U(1) << number) - U(1))
            t = U(t + U(WARP))
        for v in range(n):
            if U(sh[U(U(f.SIZES) + U(v))]) == U(1):
                single = U(single | U(U(1) << U(v)))
        cuda.syncwarp()
        return single

    @target.device
    def kept_sets(sh, sets, kept, place, n, width):
        """What the task before has left of all sets, and the numbers of candidates in them."""
        t, v = U(lane_of()), U(lane_of())
        while t < U(n * width):
            sh[U(sets + t)] = U(peek(kept, U(place + t)))
            t = U(t + U(WARP))
        cuda.syncwarp()
        while v < n:
            size = U(0)
            for k in range(width):
                size = U(size + U(cuda.popc(sh[U(U(sets + U(v * width)) + U(k))])))
            sh[U(U(f.SIZES) + v)] = size
            v = U(v + U(WARP))
        cuda.syncwarp()

    @target.device
    def begin_task(sh, sets, arrays, task, worlds, n, others):
        """What is left of the sets, but of vertices that are matched one candidate; the width, and what has changed."""
        tasks = arrays.tasks
        world = U(U(peek(tasks, U(task + U(WORLD)))) * U(WORLD_WORDS))
        width, given = U(worlds[U(world + U(WIDTH))]), U(peek(tasks, U(task + U(GIVEN))))
        v = U(lane_of())
        while v < n:
            sh[U(U(f.SIZES) + v)] = U(worlds[U(world + U(U(COUNTS) + v))])
            sh[U(U(f.FIRSTS) + v)] = U(worlds[U(world + U(U(BEGINS) + v))])
            v = U(v + U(WARP))
        cuda.syncwarp()
        place, changed, first = U(peek(tasks, U(task + U(SETS)))), U(0), U(0)
        if place != U(NOT_KEPT):
            kept_sets(sh, sets, arrays.sets, place, n, width)
            first = U(given - U(1))
        else:
            changed = whole_sets(sh, sets, n, width)
            if given == U(0):
                changed = others
        for i in range(first, given):
            pair = U(peek(tasks, U(U(task + U(PAIRS)) + U(i))))
            v, x = U(pair >> U(16)), U(pair & U(0xFFFF))
            k = U(lane_of())
            while k < width:
                sh[U(U(sets + U(v * width)) + k)] = U(U(1) << U(x & U(31))) if k == U(x >> U(5)) else U(0)
                k = U(k + U(WARP))
            changed = U(changed | U(U(1) << v))
        cuda.syncwarp()
        return width, changed

    return begin_task


def _divide_function(target):
    cuda, WARP, FULL, lane_of, peek = target.cuda, target.WARP, target.FULL, target.lane, target.peek
    bits = bit_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @target.device
    def reserve(control, size, room):
        """The number of the first of so many new tasks; `room` if there is none for them."""
        number = np.int32(room)
        if lane_of() == U(0):
            end, trying = U(peek(control, END)), True
            while trying:
                trying = U(end + size) <= room
                if trying:
                    found = U(np.int32(cuda.atomic.cas(control, END, np.int32(end), np.int32(end + size))))
                    if found == end:
                        number, trying = np.int32(end), False
                    end = found
        return U(np.int32(cuda.shfl_sync(FULL, number, 0)))

    @target.device
    def keep_sets(sh, sets, kept, control, words):
        """Where a copy of all sets is; `NOT_KEPT` if there is no room for it."""
        place, room = U(NOT_KEPT), U(len(kept))
        if lane_of() == U(0) and U(U(peek(control, SETS_END)) + words) <= room:
            place = U(np.int32(cuda.atomic.add(control, SETS_END, np.int32(words))))
        place = U(np.int32(cuda.shfl_sync(FULL, np.int32(place), 0)))
        if U(place + words) > room or place == U(NOT_KEPT):
            place = U(NOT_KEPT)
        else:
            t = U(lane_of())
            while t < words:
                kept[U(place + t)] = sh[U(sets + t)]
                t = U(t + U(WARP))
        return place

    @target.device
    def divide(sh, sets, arrays, task, width, v, launch):
        """Write a task for each candidate of v; whether there is room for them."""
        size, words, tasks = U(sh[U(U(f.SIZES) + v)]), U(launch.task_words), arrays.tasks
        first, place = reserve(arrays.control, size, U(launch.room)), U(NOT_KEPT)
        fits = first < U(launch.room)
        if fits:
            place = keep_sets(sh, sets, arrays.sets, arrays.control, U(U(launch.n) * width))
        given, end = U(peek(tasks, U(task + U(GIVEN)))), U(first + size)
        at = first
        for k in range(width if fits else U(0)):
            rest = U(sh[U(U(sets + U(v * width)) + U(k))])
            while rest != U(0):
                x = U(U(U(k) << U(5)) + first_of(rest))
                rest = without_first(rest)
                i, to = U(lane_of()), U(at * words)
                while i <= U(given + U(PAIRS)):
                    word = U(peek(tasks, U(task + i))) if i < U(given + U(PAIRS)) else U(U(v << U(16)) | x)
                    if i == U(GIVEN):
                        word = U(given + U(1))
                    tasks[U(to + i)] = place if i == U(SETS) else word
                    i = U(i + U(WARP))
                at = U(at + U(1))
        if fits and lane_of() == U(0):
            cuda.atomic.add(arrays.control, PENDING, np.int32(size))
        cuda.threadfence()
        cuda.syncwarp()
        at = U(first + lane_of())
        while fits and at < end:
            cuda.atomic.exch(arrays.states, at, np.int32(READY))
            at = U(at + U(WARP))
        cuda.syncwarp()
        return fits

    return divide


def _finish_function(target):
    cuda, lane_of = target.cuda, target.lane

    @target.device
    def finish(tasks, number, is_done):
        """The end of a task, which is to be tried again in another launch if it is not done."""
        cuda.threadfence()
        cuda.syncwarp()
        if lane_of() == U(0):
            if not is_done:
                cuda.atomic.exch(tasks.states, number, np.int32(READY))
                cuda.atomic.add(tasks.control, REFUSED, np.int32(1))
            cuda.atomic.add(tasks.control, PENDING, np.int32(-1))

    return finish
