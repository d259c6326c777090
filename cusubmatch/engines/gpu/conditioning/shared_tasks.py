"""Tasks of a count by conditioning: what a warp that has none draws, takes or waits for, and what others donate.

A task is a sum over a range of the candidates of a vertex, under images that were given to others before, times a
factor: its share in the whole count. All roots together are one task, of which warps draw roots. Others are donated by
warps that have a sum to go on with in the whole count: they keep the first half, and the images of the vertices matched
so far tell how to come there. The ring is that of the walker (`walker.task_ring`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.conditioning.domains import Domains
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import task_ring as r

__all__ = ["TASK_WORDS", "SharedTasks", "task_functions"]

U = np.uint32
# A task: images that are given, the vertex, the range of its candidates, the vertices that are matched under it, the
# factor in four words; then pairs of a vertex and its image.
GIVEN, VERTEX, BEGIN, END, OTHERS, FACTOR, PAIRS = 0, 1, 2, 3, 4, 5, 9
TASK_WORDS = PAIRS + 2 * f.MAX_VERTICES


class SharedTasks(NamedTuple):
    """Device functions; a whole warp calls them.

    Attributes
    ----------
    draw : (sh, ctl) -> x
        The next root; the number of local indices if there is none.
    take : (sh, w, number, control) -> given
        Read a task into the first frame; how many images are given.
    wait : (sh, control, number, idle) -> outcome, task
        Look once for a task; a warp that was not idle becomes so.
    poll : (sh, control, number) -> stop, wanted
        Whether to stop, and whether more warps are idle than the ring has tasks.
    donate : (sh, w, store, depth, given, control)
        Donate half of what is left of the lowest sum that has something left, if it goes on in the whole count.
    """

    draw: Any
    take: Any
    wait: Any
    poll: Any
    donate: Any


def task_functions(target: Target, domains: Domains) -> SharedTasks:
    """The functions, for one target."""
    hear = _hear_function(target)
    return SharedTasks(
        _draw_function(target),
        _take_function(target),
        _wait_function(target, hear),
        _poll_function(target, hear),
        _donate_function(target, domains),
    )


def _hear_function(target):
    cuda, peek, clock = target.cuda, target.peek, target.clock

    @target.device
    def hear(sh, control, number):
        """Let all warps stop if the host says so, or it is time; one lane. Few look, since the host's memory is far."""
        if U(cuda.blockIdx.x) == U(0):
            left = np.int32(U(sh[f.ENDS]) - U(clock() >> f.TICK_BITS))  # also where the ticks pass 32 bits
            if left <= np.int32(0) or peek(control.stopped, 0) == number:
                cuda.atomic.exch(control.words, r.STOP, np.int32(1))

    return hear


def _wait_function(target, hear):
    lane_of, look_once = target.lane, r.wait_function(target, r.poll_function(target))

    @target.device
    def wait(sh, control, number, idle):
        if lane_of() == U(0):
            hear(sh, control, number)
        return look_once(control.words, idle)

    return wait


def _poll_function(target, hear):
    cuda, FULL, lane_of, peek = target.cuda, target.FULL, target.lane, target.peek

    @target.device
    def poll(sh, control, number):
        wanted, stop, ctl = np.int32(0), np.int32(0), control.words
        if lane_of() == U(0):
            hear(sh, control, number)
            wanted = np.int32(np.int32(peek(ctl, r.IDLE)) - np.int32(peek(ctl, r.ITEMS)))
            stop = np.int32(peek(ctl, r.STOP))
        stop = np.int32(cuda.shfl_sync(FULL, stop, 0))
        wanted = np.int32(cuda.shfl_sync(FULL, wanted, 0))
        return stop != np.int32(0), wanted > np.int32(0)

    return poll


def _draw_function(target):
    cuda, FULL, lane_of = target.cuda, target.FULL, target.lane

    @target.device
    def draw(sh, ctl):
        x = np.int32(0)
        if lane_of() == U(0):
            x = np.int32(cuda.atomic.add(ctl, r.NEXT_BATCH, np.int32(1)))
        return min(U(np.int32(cuda.shfl_sync(FULL, x, 0))), U(sh[f.LOCALS]))

    return draw


def _take_function(target):
    cuda, WARP, lane_of, peek = target.cuda, target.WARP, target.lane, target.peek

    @target.device
    def take(sh, w, number, control):
        lane, ring = lane_of(), control.ring
        slot = U(number & U(sh[f.RING_MASK]))
        if lane == U(0):
            while U(peek(control.turns, slot)) != U(number + 1):
                cuda.nanosleep(U(r.SPIN_NS))
            cuda.threadfence()
        cuda.syncwarp()
        at, frame = U(slot * U(TASK_WORDS)), U(w + U(sh[f.FRAMES]))
        given = U(peek(ring, at))
        i, pairs = lane, U(w + U(sh[f.GIVEN]))
        while i < U(U(2) * given):
            sh[U(pairs + i)] = U(peek(ring, U(at + PAIRS + i)))
            i = U(i + WARP)
        if lane == U(0):
            sh[U(frame + f.VERTEX)], sh[U(frame + f.OTHERS)] = peek(ring, U(at + VERTEX)), peek(ring, U(at + OTHERS))
            sh[U(frame + f.NEXT)], sh[U(frame + f.END)] = peek(ring, U(at + BEGIN)), peek(ring, U(at + END))
            for i in range(4):
                sh[U(frame + f.FACTOR + i)] = peek(ring, U(at + FACTOR + i))
        cuda.syncwarp()
        if lane == U(0):
            cuda.threadfence()
            cuda.atomic.exch(control.turns, slot, np.int32(U(number + U(sh[f.RING_MASK]) + 1)))
            cuda.atomic.add(control.words, r.FREE, np.int32(1))
        cuda.syncwarp()
        return given

    return take


def _donate_function(target, domains):
    cuda, WARP, lane_of, peek = target.cuda, target.WARP, target.lane, target.peek
    reserve, count_from = r.reserve_function(target), domains.count_from

    @target.device
    def write(sh, w, number, level, given, begin, end, control):
        """Write a task: a range of the candidates of the frame at a level."""
        lane, ring, frames = lane_of(), control.ring, U(w + U(sh[f.FRAMES]))
        slot = U(number & U(sh[f.RING_MASK]))
        if lane == U(0):
            while U(peek(control.turns, slot)) != number:
                cuda.nanosleep(U(r.SPIN_NS))
        cuda.syncwarp()
        at, frame = U(slot * U(TASK_WORDS)), U(frames + U(level * U(f.FRAME_WORDS)))
        if lane == U(0):
            ring[U(at + GIVEN)], ring[U(at + VERTEX)] = U(given + level), sh[U(frame + f.VERTEX)]
            ring[U(at + BEGIN)], ring[U(at + END)], ring[U(at + OTHERS)] = begin, end, sh[U(frame + f.OTHERS)]
            for i in range(4):
                ring[U(at + FACTOR + i)] = sh[U(frame + f.FACTOR + i)]
        i, pairs = lane, U(w + U(sh[f.GIVEN]))
        while i < U(U(2) * given):
            ring[U(at + PAIRS + i)] = sh[U(pairs + i)]
            i = U(i + WARP)
        i = lane
        while i < level:
            other, to = U(frames + U(i * U(f.FRAME_WORDS))), U(at + PAIRS + U(U(2) * U(given + i)))
            ring[to], ring[U(to + 1)] = sh[U(other + f.VERTEX)], sh[U(other + f.IMAGE)]
            i = U(i + WARP)
        cuda.threadfence()
        cuda.syncwarp()
        if lane == U(0):
            cuda.threadfence()
            cuda.atomic.exch(control.turns, slot, np.int32(U(number + 1)))
            sh[U(frame + f.END)], sh[U(frame + f.LACKS)] = begin, U(1)
            cuda.atomic.add(control.words, r.ITEMS, np.int32(1))
            cuda.atomic.add(control.words, r.DONATED, np.int32(1))
        cuda.syncwarp()

    @target.device
    def donate(sh, w, store, depth, given, control):
        level, looking = U(0), True
        while looking and level < depth:
            frame = U(w + U(sh[f.FRAMES]) + U(level * U(f.FRAME_WORDS)))
            looking = U(sh[U(frame + f.IS_TAIL)]) != U(0)
            u, begin, end = U(sh[U(frame + f.VERTEX)]), U(sh[U(frame + f.NEXT)]), U(sh[U(frame + f.END)])
            left = U(0)
            if looking and begin < end:
                left = count_from(sh, w, store, u, begin, end)
            if left != U(0):
                looking, middle, more = False, U(U(begin + end) >> U(1)), left
                if left > U(1):
                    more = count_from(sh, w, store, u, middle, end)
                    while more == U(0):
                        end, middle = middle, U(U(begin + middle) >> U(1))
                        more = count_from(sh, w, store, u, middle, end)
                else:
                    middle = begin
                room, number = reserve(control.words, np.int32(1))
                if room > np.int32(0):
                    write(sh, w, U(number), level, given, middle, end, control)
            level = U(level + U(1))

    return donate
