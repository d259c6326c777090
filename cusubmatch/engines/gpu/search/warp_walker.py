"""The general walker: any plan, on warps that draw, extend and count partial matches (gMatch; T-DFS for the balance).

A warp gets first candidates by ticket, works on its stack depth first, and when it has none left looks in the ring
for work that others gave away. Every few steps it looks up: if more warps are idle than the ring has tasks, it gives
away half of its shallowest level and looks up again soon; if the run is to pause, because the output is full or the
time is over, it leaves its stack in global memory, and the next launch goes on from there.
"""

from __future__ import annotations

import functools

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search import task_ring as r
from cusubmatch.engines.gpu.search.candidate_lists import list_functions
from cusubmatch.engines.gpu.search.leaf import COUNT, PAIRS, SUFFIX, WEIGHTS, leaf_function
from cusubmatch.engines.gpu.search.stack import stack_functions
from cusubmatch.engines.gpu.search.suffix_counts import FULL_SUM, suffix_functions

__all__ = ["CHECKPOINT_HEADER", "make_walk"]

U, L = np.uint32, np.uint64
STEPS = 64  # between two looks at the others, but
SOON = 2  # after one that found an idle warp,
WINDOWS = 64  # of the last level at a time, but SOON shortly before a look
CHECKPOINT_HEADER = 2  # words of a parked stack before the stack: level + 1 or 0, and the lowest level
LONG = 512  # candidates of the last level that are worth giving away,
LONG_CORES = 64  # and where each completes the core of a suffix


@functools.cache
def make_walk(target: Target, slots: int, wide: bool, mode: str, tasks: bool = False):
    """The kernel for `slots` partial matches a level, lists that may begin past 2**32, and a way to end (`leaf`).

    Its arguments: the program; offsets of all relations in one array, targets as uint32, filters of the vertices and
    bitmaps of hubs; per root (vertices with first candidates) the vertex, where its candidates begin and, summed up,
    how many they are; the control words, turns and entries of the ring; the parked stacks; the rows; two words for the
    count; nanoseconds until the launch pauses.

    With `tasks`, which only counts, a root is a partial match of START vertices with the word of its weight behind
    them, a ticket lies in one task, and the count has two words a task: what a warp works on, it or another warp drew
    by a ticket of the task whose number stands in word 0 of its stack.
    """
    cuda, WARP, FULL = target.cuda, target.WARP, target.FULL
    device, lane_of, warp_of = target.device, target.lane, target.warp
    peek, clock = target.peek, target.clock
    _, _, warp_sum, add_to = warp_functions(target, wide)
    kinds = {"weighed": mode == WEIGHTS, "suffixed": mode == SUFFIX}
    lists = list_functions(target, slots, wide, counting=mode in {COUNT, WEIGHTS, SUFFIX}, **kinds)
    stack = stack_functions(target, lists, slots, wide, **kinds)
    suffix = suffix_functions(target, lists, stack, slots)
    ahead, field = lists.ahead, lists.field
    draw, settle, weigh = stack.draw, stack.settle, stack.weigh
    ring = r.ring_functions(target, lists, slots, wide, mode == PAIRS, tasks)
    donate_work, look, take = ring.donate_work, ring.look, ring.take
    leaf, measure = leaf_function(target, lists, stack, suffix, slots, mode), suffix.measure
    AGAIN = 0 if mode == PAIRS else max(STEPS - SOON, 0)  # slots of pairs are not divided, so that looking gains little
    BUDGET, HAS_WEIGHTS, WEIGH = STEPS, mode == WEIGHTS, p.WEIGH
    LEISURE, HURRY = WINDOWS, min(SOON, WINDOWS) if AGAIN else WINDOWS
    TASKS, SLOTS, START, SHIFT = tasks, slots, p.START, p.SHIFT
    BEFORE, MANY, HAS_SUFFIX, FULL_LANE = (
        CHECKPOINT_HEADER,
        LONG_CORES if mode == SUFFIX else LONG,
        mode == SUFFIX,
        FULL_SUM,
    )
    LAST, CHUNK, STEP, WHOLE, ROOTS = p.LAST, p.CHUNK, p.STEP, p.WHOLE, p.ROOTS
    WORDS, SIZE, PREFIX = p.WORDS, p.SIZE, p.PREFIX
    TICKET, PENDING, IDLE, ITEMS, STOP = r.TICKET, r.PENDING, r.IDLE, r.ITEMS, r.STOP
    OVER, TAKEN = r.OVER, r.TAKEN

    @device
    def root_of(ends, n, task):
        """The root that first candidate number `task` belongs to; the lanes search together."""
        low, size = np.int64(0), np.int64(n)
        while size > np.int64(0):
            step = (size + np.int64(WARP)) // np.int64(WARP + 1)
            place = low + step * np.int64(lane_of() + U(1)) - np.int64(1)
            before = False
            if place < low + size:
                before = ends[place] <= task
            passed = np.int64(cuda.popc(U(cuda.ballot_sync(FULL, before))))
            left = size - passed * step
            low += passed * step
            size = left if passed == np.int64(WARP) else max(min(left, step - np.int64(1)), np.int64(0))
        return low

    @device
    def place_root(sh, w, roots, root):
        """Fill the lane's slot of the level that tickets fill."""
        lane = lane_of()
        if TASKS:
            t, i = U(sh[START]), U(0)
            words = U(t + 1) if t >= U(sh[WEIGH]) else t
            at, prefix = U(U(root) * U(t + 1)), U(U(w + field(sh, t, PREFIX)) + lane)
            while i < words:
                sh[U(prefix + i * SLOTS)] = roots[U(at + i)]
                i = U(i + 1)
        else:
            sh[U(w + field(sh, U(1), PREFIX) + lane)] = roots[root]

    @device
    def begin(sh, w, ctl, roots, bases, ends):
        """Take a ticket and fill slots with its roots: (whether there was one, slots, base, length)."""
        lane, chunk, step, n = lane_of(), np.int64(sh[CHUNK]), np.int64(sh[STEP]), np.int64(sh[ROOTS])
        last = n if sh[WHOLE] else np.int64(ends[n - 1])
        ticket = np.int32(-1)
        if lane == U(0) and np.int64(peek(ctl, TICKET)) * step < last:
            ticket = np.int32(cuda.atomic.add(ctl, TICKET, np.int32(1)))
        ticket = np.int64(cuda.shfl_sync(FULL, ticket, 0))
        base, length = bases[0], U(0)
        if ticket < np.int64(0):
            return False, U(0), base, length
        first = ticket * step + (step - chunk) // np.int64(2)
        if sh[WHOLE]:
            root, first, stop = first + np.int64(lane), np.int64(0), np.int64(0x7FFFFFFFFFFFFFFF)
            if np.int64(lane) >= chunk:
                root = n
        else:
            stop = first + chunk
            root = n
            if first < last:
                root = root_of(ends, n, first) + np.int64(lane)
        if root < n:
            start = np.int64(0)
            if root > np.int64(0):
                start = np.int64(ends[root - 1])
            low, high = max(first, start), min(stop, np.int64(ends[root]))
            if high > low:
                length = U(high - low)
                base = ahead(bases[root], U(low - start))
                place_root(sh, w, roots, root)
        if TASKS:
            if lane == U(0):
                sh[w] = U(ticket * chunk >> np.int64(sh[SHIFT]))
        return True, U(cuda.popc(U(cuda.ballot_sync(FULL, length > U(0))))), base, length

    @device
    def tally(sh, w, out, value):
        """Add what the lanes have counted to the task that the warp works on."""
        total = warp_sum(value)
        if lane_of() == U(0) and total != L(0):
            at = np.int64(U(sh[w])) * np.int64(2)
            cuda.atomic.add(out, at, L(total & L(0xFFFFFFFF)))
            high = L(total >> L(32))
            if high != L(0):
                cuda.atomic.add(out, at + np.int64(1), high)

    def walk(program, off, col, masks, bits, roots, bases, ends, ctl, turns, ring, checkpoints, rows, out, nanoseconds):
        sh = cuda.shared.array(0, uint32)
        lane, started = lane_of(), clock()
        size = U(program[SIZE])
        i = U(U(warp_of() * WARP) + lane)
        while i < size:
            sh[i] = program[i]
            i = U(i + U(cuda.blockDim.x))
        cuda.syncthreads()
        w = U(size + U(warp_of() * U(sh[WORDS])))
        warp = np.int64(cuda.blockIdx.x) * np.int64(U(cuda.blockDim.x) // U(WARP)) + np.int64(warp_of())
        own = warp * np.int64(U(sh[WORDS]) + U(BEFORE))
        last = U(sh[LAST])
        t, floor = U(checkpoints[own]), U(checkpoints[own + 1])
        steps, idle, tickets, stopped = U(AGAIN), False, True, False
        total = L(0)
        if t > U(0):
            i = lane
            while i < U(sh[WORDS]):
                sh[U(w + i)] = checkpoints[own + BEFORE + np.int64(i)]
                i = U(i + WARP)
            cuda.syncwarp()
        else:
            floor = U(1)
        if lane == U(0):
            cuda.atomic.add(ctl, PENDING, np.int32(1))
        while not stopped:
            new, given, fresh, base, length = U(0), False, True, bases[0], U(0)
            if t < floor:
                steps = U(steps + 1)
                if TASKS:
                    if not idle:
                        tally(sh, w, out, total)
                        total = L(0)
                if tickets:
                    tickets, new, base, length = begin(sh, w, ctl, roots, bases, ends)
                    given = True
                    if new > U(0):
                        t = U(sh[START]) if TASKS else U(1)
                        floor = t
                        if TASKS:
                            fresh = t == U(1)  # deeper ones bring their weight
                else:
                    found, number = U(0), np.int32(0)
                    if lane == U(0):
                        if not idle:
                            cuda.atomic.add(ctl, IDLE, np.int32(1))
                            cuda.atomic.add(ctl, PENDING, np.int32(-1))
                        found, head = look(ctl)
                        number = np.int32(head)
                        if found == U(TAKEN):
                            cuda.atomic.add(ctl, IDLE, np.int32(-1))
                        elif found != U(OVER):
                            cuda.nanosleep(U(500))
                    idle = True
                    found = U(cuda.shfl_sync(FULL, np.int32(found), 0))
                    number = np.int32(cuda.shfl_sync(FULL, number, 0))
                    if found == U(OVER):
                        stopped = True
                    if found == U(TAKEN):
                        t, base, length = take(sh, w, U(number), ctl, turns, ring)
                        floor, new, given, fresh, idle = t, U(1), True, False, False
            elif U(sh[U(w + 3 * t)]) >= U(sh[U(w + 3 * t + 1)]):
                cuda.syncwarp()
                t = U(t - 1)
            elif t == last:
                most = U(HURRY) if steps >= U(AGAIN) else U(LEISURE)
                found_here, windows, pausing = leaf(sh, w, t, most, off, col, bits, masks, ctl, rows)
                total = L(total + found_here)
                if HAS_SUFFIX:
                    if cuda.ballot_sync(FULL, total >= L(FULL_LANE)) != 0:
                        add_to(out, lane, total)
                        total = L(0)
                steps = U(steps + windows)
                if pausing:
                    steps = U(BUDGET)
                    if lane == U(0):
                        cuda.atomic.exch(ctl, STOP, np.int32(1))
            else:
                steps = U(steps + 1)
                new = draw(sh, w, t, off, col, bits, masks)
                if new > U(0):
                    t = U(t + 1)
            if new > U(0):
                if HAS_WEIGHTS:
                    if fresh and t == U(sh[WEIGH]):
                        weigh(sh, w, t, new, off, col, bits, masks)
                if HAS_SUFFIX:
                    if fresh:
                        measure(sh, w, t, new, off, col, bits, masks)
                settle(sh, w, t, new, given, base, length, off, col)
            if steps >= U(BUDGET) and not idle:
                steps = U(0)
                others, pause = np.int32(0), np.int32(0)
                if lane == U(0):
                    others = np.int32(np.int32(peek(ctl, IDLE)) - np.int32(peek(ctl, ITEMS)))
                    pause = np.int32(peek(ctl, STOP))
                    if pause == np.int32(0) and clock() - started > nanoseconds:
                        pause = np.int32(1)
                        cuda.atomic.exch(ctl, STOP, np.int32(1))
                pause = np.int32(cuda.shfl_sync(FULL, pause, 0))
                others = np.int32(cuda.shfl_sync(FULL, others, 0))
                if pause != np.int32(0):
                    stopped = True
                elif others > np.int32(0):
                    steps, level, looking = U(AGAIN), floor, True
                    while looking and level <= t:
                        left = U(U(sh[U(w + 3 * level + 1)]) - U(sh[U(w + 3 * level)]))
                        done = U(sh[U(w + 3 * level)]) >= U(sh[U(w + 3 * level + 1)])
                        if not done and left > U(1) and (level < last or left > U(MANY)):
                            donate_work(sh, w, level, ctl, turns, ring)
                            looking = False
                        level = U(level + 1)
        cuda.syncwarp()
        if lane == U(0):
            if not idle:
                cuda.atomic.add(ctl, PENDING, np.int32(-1))
            checkpoints[own] = t if t >= floor else U(0)
            checkpoints[own + 1] = floor
        if t >= floor:
            i = lane
            while i < U(sh[WORDS]):
                checkpoints[own + BEFORE + np.int64(i)] = sh[U(w + i)]
                i = U(i + WARP)
        if TASKS:
            tally(sh, w, out, total)
        else:
            add_to(out, lane, total)

    return target.kernel(walk)
