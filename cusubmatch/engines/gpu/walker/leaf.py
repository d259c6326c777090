"""The last level, a warp's width of candidates at a time: counted, weighed, paired, written, or ending a core.

Where all the lists of a slot are bitmaps and only their common vertices are to be counted, a lane takes a word.

Most windows of candidates lie in one slot, so the search for the slot is done when a window reaches past the slot
that the last lane was in. The pairs of a set of size n are counted as the sum of how many passed before each that
passes; what passed in the slot that is not yet finished stays in the stack, and such a slot is never divided. Rows go
to an output of fixed capacity: the warps add to one counter, and the first one that finds no room notes where the
rows end, so that they have no gap (bounded buffers: G-thinkerCG).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker import task_ring as ring
from cusubmatch.engines.gpu.walker.stack import Stack
from cusubmatch.engines.gpu.walker.suffix_counts import SuffixFunctions
from cusubmatch.engines.gpu.walker.variant import COUNT, PAIRS, ROWS, SUFFIX, WEIGHTS, Variant

__all__ = ["leaf_function"]

U, L = np.uint32, np.uint64


def leaf_function(target: Target, stack: Stack, suffix: SuffixFunctions, variant: Variant) -> Any:
    """A device function (sh, w, t, most, graph, ctl, rows) -> (lane's count, windows, whether to pause).

    It tests up to `most` windows of candidates of the last level t.
    """
    if variant.mode in {COUNT, WEIGHTS}:
        return _count_leaf(target, stack, variant)
    if variant.mode == SUFFIX:
        return _suffix_leaf(target, stack, suffix)
    return {PAIRS: _pairs_leaf, ROWS: _rows_leaf}[variant.mode](target, stack, variant)


def _count_leaf(target, stack, variant):
    """Candidates that pass are counted, or what is left of their partial match's weight is added."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    (read, slot_of, test, common_word), taken_off = stack.conditions, stack.sizes.taken_off
    field, word_hub = stack.access.field, stack.access.word_hub
    SLOTS, HAS_WEIGHTS = variant.slots, variant.mode == WEIGHTS

    @target.device
    def end_of_slot(sh, sums, slot, end):
        """Where the candidates of the slot after `slot` begin."""
        if slot < U(SLOTS - 1):
            return min(end, U(sh[U(sums + slot + 1)]))
        return end

    @target.device
    def count(sh, w, t, most, graph, ctl, rows):
        lane, level = lane_of(), read(sh, w, t)
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        total, windows, slot, last, reach = L(0), U(0), U(0), U(0), U(0)
        by_words = not HAS_WEIGHTS and field(sh, t, p.WORDWISE) != U(0)
        while windows < most and position < end:
            number = U(position + lane)
            if U(position + WARP) > reach:
                slot = slot_of(sh, level.sums, number)
                last = U(cuda.shfl_sync(FULL, np.int32(slot), WARP - 1))
                reach = end_of_slot(sh, level.sums, last, end)
            else:
                slot = last
            hub = U(p.NOWHERE)
            if number < end and by_words:
                hub = word_hub(sh, U(level.lists + slot))
            if hub != U(p.NOWHERE):
                total = L(total + L(cuda.popc(common_word(sh, t, level, slot, number, hub, graph))))
            elif number < end:
                passes, x = test(sh, level, slot, number, graph)
                if passes:
                    if HAS_WEIGHTS:
                        prefix = U(level.prefix + slot)
                        less = taken_off(sh, t, prefix, x, graph)
                        total = L(total + L(U(U(sh[U(prefix + t * SLOTS)]) - less)))
                    else:
                        total = L(total + L(1))
            position, windows = U(position + WARP), U(windows + 1)
        cuda.syncwarp()
        if lane == U(0):
            sh[U(w + 3 * t)] = position
        cuda.syncwarp()
        return total, windows, False

    return count


def _pairs_leaf(target, stack, variant):
    """Pairs of candidates of one slot are counted."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    read, slot_of, test, _ = stack.conditions

    @target.device
    def pairs(sh, w, t, most, graph, ctl, rows):
        lane, level = lane_of(), read(sh, w, t)
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        total, windows, carried = L(0), U(0), U(sh[U(w + 3 * t + 2)])
        per_pair, per_candidate = L(sh[p.PER_PAIR]), L(sh[p.PER_CANDIDATE])
        while windows < most and position < end:
            number = U(position + lane)
            slot = slot_of(sh, level.sums, number)
            begin = U(sh[U(level.sums + slot)])
            first = U(0)  # the lane that the slot begins at, if it begins here
            if begin > position:
                first = U(begin - position)
            passes = False
            if number < end:
                passes, _ = test(sh, level, slot, number, graph)
            mask = U(cuda.ballot_sync(FULL, passes))
            within = U(mask & U(FULL << first))
            before = U(cuda.popc(U(within & U(U(U(1) << lane) - U(1)))))
            here = U(cuda.popc(within))
            if begin < position:
                before, here = U(before + carried), U(here + carried)
            if passes:
                total = L(total + L(per_pair * L(before)) + per_candidate)
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

    return pairs


def _rows_leaf(target, stack, variant):
    """Matches are written to the output."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    (read, slot_of, test, _), field = stack.conditions, stack.access.field
    SLOTS = variant.slots

    @target.device
    def write_row(sh, w, t, slot, x, row, rows):
        """Write a match: the prefix of its slot, and x at level t."""
        i, prefix = U(0), U(w + field(sh, t, p.PREFIX) + slot)
        while i <= t:
            column = U(sh[U(U(sh[p.COLUMNS]) + i)])
            if column != U(p.NOWHERE):
                vertex = x if i == t else U(sh[U(prefix + i * SLOTS)])
                rows[np.int64(column) * np.int64(sh[p.CAPACITY]) + np.int64(row)] = np.int32(vertex)
            i = U(i + 1)

    @target.device
    def write(sh, w, t, most, graph, ctl, rows):
        lane, level = lane_of(), read(sh, w, t)
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        written, windows, full, enough = U(0), U(0), False, False
        capacity = U(sh[p.CAPACITY])
        while windows < most and position < end and not full and not enough:
            number = U(position + lane)
            slot = slot_of(sh, level.sums, number)
            passes, x = False, U(0)
            if number < end:
                passes, x = test(sh, level, slot, number, graph)
            mask = U(cuda.ballot_sync(FULL, passes))
            n = U(cuda.popc(mask))
            if n > U(0):
                filled = np.int32(0)
                if lane == U(0):
                    filled = np.int32(cuda.atomic.add(ctl, ring.FILLED, np.int32(n)))
                row = U(cuda.shfl_sync(FULL, filled, 0))
                enough = U(row + n) >= U(sh[p.ENOUGH])
                if U(row + n) > capacity:
                    full = True
                    if row < capacity and lane == U(0):
                        cuda.atomic.exch(ctl, ring.VALID, np.int32(row))
                elif passes:
                    row = U(row + U(cuda.popc(U(mask & U(U(U(1) << lane) - U(1))))))
                    write_row(sh, w, t, slot, x, row, rows)
                    written = U(written + 1)
            if not full:
                position = U(position + WARP)
            windows = U(windows + 1)
        cuda.syncwarp()
        if lane == U(0):
            sh[U(w + 3 * t)] = position
        cuda.syncwarp()
        return L(written), windows, full or enough

    return write


def _suffix_leaf(target, stack, suffix):
    """Each candidate that passes completes a core; the values of the suffix at these cores are added up."""
    cuda, draw, measure, value = target.cuda, stack.draw, suffix.measure, suffix.value

    @target.device
    def complete_cores(sh, w, t, most, graph, ctl, rows):
        n, above, total = draw(sh, w, t, graph), U(t + 1), L(0)
        if n > U(0):
            measure(sh, w, above, n, graph)
            total = value(sh, w, above, n)
            cuda.syncwarp()
        return total, U(1), False

    return complete_cores
