"""Work given away: a ring of tasks in global memory, without locks (T-DFS, section 4; BUG).

A task is a partial match and a range of its next level's first list. Each entry of the ring has a turn: entry i is
free for the giver whose number, modulo the ring's length, is i when its turn equals that number, and full for the
taker when it is one more; so a ring has at least two entries. A giver reserves room first, and keeps its work if
there is none. `PENDING` counts the warps that have work and the entries that are full; when it is zero no work can
appear any more, so a warp may return. Warps of blocks that do not run yet are never waited for. Numbers wrap at
2**32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search.candidate_lists import Lists

__all__ = ["Ring", "ring_functions"]

U = np.uint32

# Words of the control array, each in a cache line of its own.
TICKET, ITEMS, FREE, HEAD, TAIL, PENDING, IDLE, STOP, FILLED, VALID, DONATED = range(0, 11 * 32, 32)
CONTROL = 11 * 32

TASK = 4  # words of an entry before the prefix: level, base (two words), length
NOTHING, TAKEN, OVER = 0, 1, 2  # what a look at the ring finds


class Ring(NamedTuple):
    """Device functions."""

    donate_work: Any
    look: Any
    take: Any


def ring_functions(target: Target, lists: Lists, slots: int, wide: bool, pairs: bool, tasks: bool = False) -> Ring:
    """The functions; with `pairs` the last level's slots are given away whole, with `tasks` a task has a number too."""
    cuda, WARP, FULL, device = target.cuda, target.WARP, target.FULL, target.device
    lane_of, peek = target.lane, target.peek
    field, ahead, base_of, length_of = lists.field, lists.ahead, lists.base_of, lists.length_of
    SLOTS, WIDE, PAIRS, TASKS = slots, wide, pairs, tasks
    PREFIX, LISTS, SUMS, CARRIED = p.PREFIX, p.LISTS, p.SUMS, p.CARRIED
    RING, ENTRY, LAST = p.RING, p.ENTRY, p.LAST

    @device
    def look(ctl):
        """One lane looks for a task: whether there is one, none now, or none ever again; and its number."""
        found, number = U(NOTHING), U(0)
        if peek(ctl, ITEMS) > np.int32(0):
            if cuda.atomic.add(ctl, ITEMS, np.int32(-1)) > np.int32(0):
                found, number = U(TAKEN), U(cuda.atomic.add(ctl, HEAD, np.int32(1)))
            else:
                cuda.atomic.add(ctl, ITEMS, np.int32(1))
        elif peek(ctl, PENDING) == np.int32(0) or peek(ctl, STOP) != np.int32(0):
            found = U(OVER)
        return found, number

    @device
    def take(sh, w, number, ctl, turns, ring):
        """Read a task into slot 0 of its level: (level, base, length)."""
        lane = lane_of()
        place = U(number & U(sh[RING]))
        if lane == U(0):
            while U(peek(turns, place)) != U(number + 1):
                cuda.nanosleep(U(100))
            cuda.threadfence()
        cuda.syncwarp()
        at = np.int64(place) * np.int64(sh[ENTRY])
        t, low, high = U(peek(ring, at)), U(peek(ring, at + 1)), U(peek(ring, at + 2))
        length = U(peek(ring, at + 3))
        i, prefix, carried = lane, U(w + field(sh, t, PREFIX)), field(sh, t, CARRIED)
        while i < carried:
            sh[U(prefix + i * SLOTS)] = U(peek(ring, at + TASK + np.int64(i)))
            i = U(i + WARP)
        if TASKS:
            if lane == U(0):
                sh[w] = U(peek(ring, at + np.int64(sh[ENTRY]) - 1))
        cuda.syncwarp()
        if lane == U(0):
            cuda.threadfence()
            cuda.atomic.exch(turns, place, np.int32(U(number + U(sh[RING]) + 1)))
            cuda.atomic.add(ctl, FREE, np.int32(1))
        cuda.syncwarp()
        if WIDE:
            return t, np.int64(low) | (np.int64(high) << 32), length
        return t, low, length

    @device
    def donate_work(sh, w, t, ctl, turns, ring):
        """Give away the second half of what is left of level t: the slots of it, each as a task."""
        lane = lane_of()
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        middle = U(position + U(U(U(end - position) + 1) >> U(1)))
        begin, first, n = end, U(0), U(0)
        place = U(w + field(sh, t, LISTS) + lane)
        if lane < U(SLOTS):
            begin = U(sh[U(w + field(sh, t, SUMS) + lane)])
        if begin < end:
            stop = min(U(begin + length_of(sh, place)), end)
            first = max(begin, middle)
            if PAIRS:
                if t == U(sh[LAST]) and begin < middle:
                    first = stop
            if stop > first:
                n = U(stop - first)
        mask = U(cuda.ballot_sync(FULL, n > U(0)))
        tasks, room, number = np.int32(cuda.popc(mask)), np.int32(0), np.int32(0)
        if lane == U(0) and tasks > np.int32(0):
            if cuda.atomic.add(ctl, FREE, np.int32(-tasks)) < tasks:
                cuda.atomic.add(ctl, FREE, tasks)
            else:
                cuda.atomic.add(ctl, PENDING, tasks)
                number, room = np.int32(cuda.atomic.add(ctl, TAIL, tasks)), np.int32(1)
        room = np.int32(cuda.shfl_sync(FULL, room, 0))
        number = np.int32(cuda.shfl_sync(FULL, number, 0))
        if room > np.int32(0):
            if n > U(0):
                own = U(U(number) + U(cuda.popc(U(mask & U(U(U(1) << lane) - U(1))))))
                entry = U(own & U(sh[RING]))
                while U(peek(turns, entry)) != own:
                    cuda.nanosleep(U(100))
                at, base = np.int64(entry) * np.int64(sh[ENTRY]), ahead(base_of(sh, place), U(first - begin))
                ring[at] = t
                ring[at + 1] = U(base & 0xFFFFFFFF)
                ring[at + 2] = U(np.int64(base) >> 32)
                ring[at + 3] = n
                i, prefix, carried = U(0), U(w + field(sh, t, PREFIX) + lane), field(sh, t, CARRIED)
                while i < carried:
                    ring[at + TASK + np.int64(i)] = sh[U(prefix + i * SLOTS)]
                    i = U(i + 1)
                if TASKS:
                    ring[at + np.int64(sh[ENTRY]) - 1] = sh[w]
                cuda.threadfence()
                cuda.atomic.exch(turns, entry, np.int32(U(own + 1)))
            giver = U(U(cuda.ffs(mask)) - U(1))
            left = U(cuda.shfl_sync(FULL, np.int32(first), giver))
            cuda.syncwarp()
            if lane == U(0):
                sh[U(w + 3 * t + 1)] = left
                cuda.threadfence()
                cuda.atomic.add(ctl, ITEMS, tasks)
                cuda.atomic.add(ctl, DONATED, tasks)
            cuda.syncwarp()

    return Ring(donate_work, look, take)
