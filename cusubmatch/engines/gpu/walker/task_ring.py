"""Donated work: a ring of tasks in global memory, without locks (T-DFS, section 4; BUG).

A task is a partial match and a range of its next level's first list. Tasks are numbered, and the number modulo the
ring's length is the slot that a task lies in. Each slot has a turn: it is free for the donor of a task when the turn
equals the task's number, and full for the taker when it is one more; so a ring has at least two slots. A donor reserves
slots first, and keeps its work if there are too few. `PENDING` counts the warps that have work and the slots that are
full; when it is zero no work can appear any more, so a warp may return. Warps of blocks that do not run yet are never
waited for. Numbers wrap at 2**32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.row_access import RowAccess
from cusubmatch.engines.gpu.walker.variant import PAIRS, Variant

__all__ = ["CONTROL_WORDS", "SPIN_NS", "Ring", "poll_function", "reserve_function", "ring_functions", "wait_function"]

U = np.uint32

# Control words, each in a cache line of its own: the next batch of first candidates; tasks to take, free slots, the
# numbers of the next task to take and to write; warps with work and full slots, idle warps, whether to pause; rows that
# were asked for, and where they end if that is too many; tasks that were donated.
NEXT_BATCH, ITEMS, FREE, HEAD, TAIL, PENDING, IDLE, STOP, FILLED, VALID, DONATED = range(0, 11 * 32, 32)
CONTROL_WORDS = 11 * 32

TASK_HEADER = 4  # words of a task before the prefix: level, base (two words), length
NOTHING, TAKEN, OVER = 0, 1, 2  # what a look at the ring finds
SPIN_NS = 100  # between two looks at the turn of a slot
IDLE_SLEEP_NS = 500  # between two looks of an idle warp at the ring


class Ring(NamedTuple):
    """Device functions.

    Attributes
    ----------
    donate_work : (sh, w, t, control)
        Donate the second half of what is left of level t: the slots of it, each as a task.
    poll : (ctl) -> outcome, number
        One lane looks for a task: whether it has TAKEN one, there is NOTHING now, or all is OVER; and its number.
    take : (sh, w, number, control) -> level, base, length
        Read a task into slot 0 of its level.
    """

    donate_work: Any
    poll: Any
    take: Any


def ring_functions(target: Target, access: RowAccess, variant: Variant) -> Ring:
    """The functions; slots of the last level whose pairs are counted are donated whole."""
    return Ring(
        _donate_function(target, access, variant),
        poll_function(target),
        _take_function(target, access, variant),
    )


def poll_function(target):
    """Looking for a task."""
    cuda, peek = target.cuda, target.peek

    @target.device
    def poll(ctl):
        outcome, number = U(NOTHING), U(0)
        if peek(ctl, ITEMS) > np.int32(0):
            if cuda.atomic.add(ctl, ITEMS, np.int32(-1)) > np.int32(0):
                outcome, number = U(TAKEN), U(cuda.atomic.add(ctl, HEAD, np.int32(1)))
            else:
                cuda.atomic.add(ctl, ITEMS, np.int32(1))
        elif peek(ctl, PENDING) == np.int32(0) or peek(ctl, STOP) != np.int32(0):
            outcome = U(OVER)
        return outcome, number

    return poll


def wait_function(target, look):
    """A warp without work, which looks by `poll_function`'s function."""
    cuda, FULL, lane_of = target.cuda, target.FULL, target.lane

    @target.device
    def wait(ctl, idle):
        """Look once for a task: what was found and its number; a warp that was not idle becomes so."""
        outcome, number = U(0), np.int32(0)
        if lane_of() == U(0):
            if not idle:
                cuda.atomic.add(ctl, IDLE, np.int32(1))
                cuda.atomic.add(ctl, PENDING, np.int32(-1))
            outcome, head = look(ctl)
            number = np.int32(head)
            if outcome == U(TAKEN):
                cuda.atomic.add(ctl, IDLE, np.int32(-1))
            elif outcome != U(OVER):
                cuda.nanosleep(U(IDLE_SLEEP_NS))
        outcome = U(cuda.shfl_sync(FULL, np.int32(outcome), 0))
        return outcome, U(np.int32(cuda.shfl_sync(FULL, number, 0)))

    return wait


def _take_function(target, access, variant):
    """Reading a task, and handing its slot to the next donor."""
    cuda, WARP, lane_of, peek, field = target.cuda, target.WARP, target.lane, target.peek, access.field
    SLOTS, OFFSETS64, BY_TASK = variant.slots, variant.offsets64, variant.by_task

    @target.device
    def take(sh, w, number, control):
        lane, ring = lane_of(), control.ring
        slot = U(number & U(sh[p.RING_MASK]))
        if lane == U(0):
            while U(peek(control.turns, slot)) != U(number + 1):
                cuda.nanosleep(U(SPIN_NS))
            cuda.threadfence()
        cuda.syncwarp()
        at = np.int64(slot) * np.int64(sh[p.TASK_WORDS])
        t, low, high = U(peek(ring, at)), U(peek(ring, at + 1)), U(peek(ring, at + 2))
        length = U(peek(ring, at + 3))
        i, prefix, carried = lane, U(w + field(sh, t, p.PREFIX)), field(sh, t, p.CARRIED)
        while i < carried:
            sh[U(prefix + i * SLOTS)] = U(peek(ring, at + TASK_HEADER + np.int64(i)))
            i = U(i + WARP)
        if BY_TASK:
            if lane == U(0):
                sh[w] = U(peek(ring, at + np.int64(sh[p.TASK_WORDS]) - 1))
        cuda.syncwarp()
        if lane == U(0):
            cuda.threadfence()
            cuda.atomic.exch(control.turns, slot, np.int32(U(number + U(sh[p.RING_MASK]) + 1)))
            cuda.atomic.add(control.words, FREE, np.int32(1))
        cuda.syncwarp()
        if OFFSETS64:
            return t, np.int64(low) | (np.int64(high) << 32), length
        return t, low, length

    return take


def _donate_function(target, access, variant):
    """Dividing what is left of a level, and writing tasks."""
    cuda, FULL, lane_of = target.cuda, target.FULL, target.lane
    field, length_of = access.field, access.length_of
    reserve, write_task = reserve_function(target), _write_function(target, access, variant)
    SLOTS, WHOLE_SLOTS = variant.slots, variant.mode == PAIRS

    @target.device
    def donate_work(sh, w, t, control):
        lane = lane_of()
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        middle = U(position + U(U(U(end - position) + 1) >> U(1)))
        begin, first, n = end, U(0), U(0)
        address = U(w + field(sh, t, p.LISTS) + lane)
        if lane < U(SLOTS):
            begin = U(sh[U(w + field(sh, t, p.SUMS) + lane)])
        if begin < end:
            stop = min(U(begin + length_of(sh, address)), end)
            first = max(begin, middle)
            if WHOLE_SLOTS:
                if t == U(sh[p.LAST]) and begin < middle:
                    first = stop
            if stop > first:
                n = U(stop - first)
        mask = U(cuda.ballot_sync(FULL, n > U(0)))
        tasks = np.int32(cuda.popc(mask))
        room, number = reserve(control.words, tasks)
        if room > np.int32(0):
            if n > U(0):
                own = U(U(number) + U(cuda.popc(U(mask & U(U(U(1) << lane) - U(1))))))
                write_task(sh, w, t, own, address, U(first - begin), n, control)
            donor = U(U(cuda.ffs(mask)) - U(1))
            left = U(cuda.shfl_sync(FULL, np.int32(first), donor))
            cuda.syncwarp()
            if lane == U(0):
                sh[U(w + 3 * t + 1)] = left
                cuda.threadfence()
                cuda.atomic.add(control.words, ITEMS, tasks)
                cuda.atomic.add(control.words, DONATED, tasks)
            cuda.syncwarp()

    return donate_work


def reserve_function(target):
    """Reserving slots of the ring."""
    cuda, FULL, lane_of = target.cuda, target.FULL, target.lane

    @target.device
    def reserve(ctl, tasks):
        """Whether a warp has got slots for so many tasks, and the number of the first one."""
        room, number = np.int32(0), np.int32(0)
        if lane_of() == U(0) and tasks > np.int32(0):
            if cuda.atomic.add(ctl, FREE, np.int32(-tasks)) < tasks:
                cuda.atomic.add(ctl, FREE, tasks)
            else:
                cuda.atomic.add(ctl, PENDING, tasks)
                number, room = np.int32(cuda.atomic.add(ctl, TAIL, tasks)), np.int32(1)
        return np.int32(cuda.shfl_sync(FULL, room, 0)), np.int32(cuda.shfl_sync(FULL, number, 0))

    return reserve


def _write_function(target, access, variant):
    """Writing a task into its slot of the ring."""
    cuda, lane_of, peek = target.cuda, target.lane, target.peek
    field, ahead, base_of = access.field, access.ahead, access.base_of
    SLOTS, BY_TASK = variant.slots, variant.by_task

    @target.device
    def write_task(sh, w, t, number, place, distance, length, control):
        """Write task `number`: the lane's slot of level t, and the part of its list from `distance` on."""
        slot, ring = U(number & U(sh[p.RING_MASK])), control.ring
        while U(peek(control.turns, slot)) != number:
            cuda.nanosleep(U(SPIN_NS))
        at, base = np.int64(slot) * np.int64(sh[p.TASK_WORDS]), ahead(base_of(sh, place), distance)
        ring[at] = t
        ring[at + 1] = U(base & 0xFFFFFFFF)
        ring[at + 2] = U(np.int64(base) >> 32)
        ring[at + 3] = length
        i, prefix, carried = U(0), U(w + field(sh, t, p.PREFIX) + lane_of()), field(sh, t, p.CARRIED)
        while i < carried:
            ring[at + TASK_HEADER + np.int64(i)] = sh[U(prefix + i * SLOTS)]
            i = U(i + 1)
        if BY_TASK:
            ring[at + np.int64(sh[p.TASK_WORDS]) - 1] = sh[w]
        cuda.threadfence()
        cuda.atomic.exch(control.turns, slot, np.int32(U(number + 1)))

    return write_task
