"""The last level, a warp's width at a time: candidates are counted, weighed, counted in pairs, written, or end a core.

Where all the lists of a slot are bitmaps and only their common vertices are to be counted, a lane takes a word.

Most windows of candidates lie in one slot, so the search for the slot is done when a window reaches past the slot
that the last lane was in. The pairs of a set of size n are counted as the sum of how many passed before each that
passes; what passed in the slot that is not yet finished stays in the stack, and such a slot is never divided. Rows go
to an output of fixed capacity: the warps add to one counter, and the first one that finds no room notes where the
rows end, so that they have no gap (bounded buffers: G-thinkerCG).
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search import task_ring as ring
from cusubmatch.engines.gpu.search.candidate_lists import Lists
from cusubmatch.engines.gpu.search.stack import Stack
from cusubmatch.engines.gpu.search.suffix_counts import SuffixFunctions

__all__ = ["COUNT", "PAIRS", "ROWS", "SUFFIX", "WEIGHTS", "leaf_function"]

U, L = np.uint32, np.uint64
COUNT, PAIRS, WEIGHTS, ROWS, SUFFIX = "count", "pairs", "weights", "rows", "suffix"  # what happens at the leaf


def leaf_function(target: Target, lists: Lists, stack: Stack, suffix: SuffixFunctions, slots: int, mode: str):
    """A device function (sh, w, t, most, off, col, bits, masks, ctl, rows) -> (lane's count, windows, to pause?).

    It looks at up to `most` windows of candidates before other warps are thought of.
    """
    cuda, WARP, FULL = target.cuda, target.WARP, target.FULL
    device, lane_of = target.device, target.lane
    field, conditions, slot_of = lists.field, stack.conditions, stack.slot_of
    taken_off, test, together, word_hub = stack.taken_off, stack.test, stack.together, lists.word_hub
    draw, measure, value = stack.draw, suffix.measure, suffix.value
    SLOTS, PREFIX = slots, p.PREFIX
    COLUMNS, CAPACITY, ENOUGH, TWICE, ONCE = p.COLUMNS, p.CAPACITY, p.ENOUGH, p.TWICE, p.ONCE
    NOWHERE, WORDWISE = p.NOWHERE, p.WORDWISE
    FILLED, VALID = ring.FILLED, ring.VALID
    HAS_WEIGHTS = mode == WEIGHTS

    @device
    def next_slot(sh, sums, slot, end):
        """Where the candidates of the slot after `slot` begin."""
        if slot < U(SLOTS - 1):
            return min(end, U(sh[U(sums + slot + 1)]))
        return end

    @device
    def count(sh, w, t, most, off, col, bits, masks, ctl, rows):
        lane, level = lane_of(), conditions(sh, w, t)
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        total, windows, slot, last, reach = L(0), U(0), U(0), U(0), U(0)
        by_words = not HAS_WEIGHTS and field(sh, t, WORDWISE) != U(0)
        while windows < most and position < end:
            task = U(position + lane)
            if U(position + WARP) > reach:
                slot = slot_of(sh, level[0], task)
                last = U(cuda.shfl_sync(FULL, np.int32(slot), WARP - 1))
                reach = next_slot(sh, level[0], last, end)
            else:
                slot = last
            hub = U(NOWHERE)
            if task < end and by_words:
                hub = word_hub(sh, U(level[1] + slot))
            if hub != U(NOWHERE):
                total = L(total + L(cuda.popc(together(sh, t, level, slot, task, hub, bits))))
            elif task < end:
                passes, x = test(sh, level, slot, task, col, bits, masks)
                if passes:
                    if HAS_WEIGHTS:
                        prefix = U(level[2] + slot)
                        less = taken_off(sh, t, prefix, x, off, col, bits, masks)
                        total = L(total + L(U(U(sh[U(prefix + t * SLOTS)]) - less)))
                    else:
                        total = L(total + L(1))
            position, windows = U(position + WARP), U(windows + 1)
        cuda.syncwarp()
        if lane == U(0):
            sh[U(w + 3 * t)] = position
        cuda.syncwarp()
        return total, windows, False

    @device
    def pairs(sh, w, t, most, off, col, bits, masks, ctl, rows):
        lane, level = lane_of(), conditions(sh, w, t)
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        total, windows, carried = L(0), U(0), U(sh[U(w + 3 * t + 2)])
        twice, once = L(sh[TWICE]), L(sh[ONCE])
        while windows < most and position < end:
            task = U(position + lane)
            slot = slot_of(sh, level[0], task)
            begin = U(sh[U(level[0] + slot)])
            first = U(0)  # the lane that the slot begins at, if it begins here
            if begin > position:
                first = U(begin - position)
            passes = False
            if task < end:
                passes, _ = test(sh, level, slot, task, col, bits, masks)
            mask = U(cuda.ballot_sync(FULL, passes))
            within = U(mask & U(FULL << first))
            before = U(cuda.popc(U(within & U(U(U(1) << lane) - U(1)))))
            here = U(cuda.popc(within))
            if begin < position:
                before, here = U(before + carried), U(here + carried)
            if passes:
                total = L(total + L(twice * L(before)) + once)
            carried = U(cuda.shfl_sync(FULL, np.int32(here), WARP - 1))
            if U(cuda.shfl_sync(FULL, np.int32(begin), WARP - 1)) >= U(position + WARP):
                carried = U(0)
            position, windows = U(position + WARP), U(windows + 1)
        cuda.syncwarp()
        if lane == U(0):
            sh[U(w + 3 * t)] = position
            sh[U(w + 3 * t + 2)] = carried
        cuda.syncwarp()
        return total, windows, False

    @device
    def write(sh, w, t, most, off, col, bits, masks, ctl, rows):
        lane, level = lane_of(), conditions(sh, w, t)
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        found, windows, full, enough = U(0), U(0), False, False
        capacity = U(sh[CAPACITY])
        while windows < most and position < end and not full and not enough:
            task = U(position + lane)
            slot = slot_of(sh, level[0], task)
            passes, x = False, U(0)
            if task < end:
                passes, x = test(sh, level, slot, task, col, bits, masks)
            mask = U(cuda.ballot_sync(FULL, passes))
            n = U(cuda.popc(mask))
            if n > U(0):
                filled = np.int32(0)
                if lane == U(0):
                    filled = np.int32(cuda.atomic.add(ctl, FILLED, np.int32(n)))
                row = U(cuda.shfl_sync(FULL, filled, 0))
                enough = U(row + n) >= U(sh[ENOUGH])
                if U(row + n) > capacity:
                    full = True
                    if row < capacity and lane == U(0):
                        cuda.atomic.exch(ctl, VALID, np.int32(row))
                elif passes:
                    row = U(row + U(cuda.popc(U(mask & U(U(U(1) << lane) - U(1))))))
                    i, prefix = U(0), U(w + field(sh, t, PREFIX) + slot)
                    while i <= t:
                        column = U(sh[U(U(sh[COLUMNS]) + i)])
                        if column != U(NOWHERE):
                            vertex = x if i == t else U(sh[U(prefix + i * SLOTS)])
                            rows[np.int64(column) * np.int64(capacity) + np.int64(row)] = np.int32(vertex)
                        i = U(i + 1)
                    found = U(found + 1)
            if not full:
                position = U(position + WARP)
            windows = U(windows + 1)
        cuda.syncwarp()
        if lane == U(0):
            sh[U(w + 3 * t)] = position
        cuda.syncwarp()
        return L(found), windows, full or enough

    @device
    def complete(sh, w, t, most, off, col, bits, masks, ctl, rows):
        n, above, total = draw(sh, w, t, off, col, bits, masks), U(t + 1), L(0)
        if n > U(0):
            measure(sh, w, above, n, off, col, bits, masks)
            total = value(sh, w, above, n)
            cuda.syncwarp()
        return total, U(1), False

    return {COUNT: count, WEIGHTS: count, PAIRS: pairs, ROWS: write, SUFFIX: complete}[mode]
