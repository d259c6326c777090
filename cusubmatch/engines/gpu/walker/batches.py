"""Batches of first candidates, which warps draw from a shared counter: what a walk starts from.

A root is a vertex with first candidates, or, where counts are kept by tasks, a partial match of START vertices. Its
candidates are numbered through all roots; a batch is a range of these numbers, or of whole roots where nothing else is
visited.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.row_access import RowAccess
from cusubmatch.engines.gpu.walker.task_ring import NEXT_BATCH
from cusubmatch.engines.gpu.walker.variant import Variant

__all__ = ["batch_function"]

U = np.uint32


def batch_function(target: Target, access: RowAccess, variant: Variant) -> Any:
    """A device function (sh, w, ctl, roots, bases, ends) -> (whether there was a batch, slots, base, length).

    It fills a slot for each root of the batch; the lane of a slot brings the part (base, length) of its first list.
    """
    cuda, FULL, lane_of = target.cuda, target.FULL, target.lane
    next_batch, find_root = _counter_function(target), _search_function(target)
    fill_slot, ahead = _fill_function(target, access, variant), access.ahead
    BY_TASK = variant.by_task

    @target.device
    def draw_batch(sh, w, ctl, roots, bases, ends):
        lane, size, step = lane_of(), np.int64(sh[p.BATCH]), np.int64(sh[p.BATCH_STEP])
        n = np.int64(sh[p.ROOTS])
        last = n if sh[p.WHOLE] else np.int64(ends[n - 1])
        batch = next_batch(ctl, step, last)
        base, length = bases[0], U(0)
        if batch < np.int64(0):
            return False, U(0), base, length
        first = batch * step + (step - size) // np.int64(2)
        if sh[p.WHOLE]:
            root, first, stop = first + np.int64(lane), np.int64(0), np.int64(0x7FFFFFFFFFFFFFFF)
            if np.int64(lane) >= size:
                root = n
        else:
            stop = first + size
            root = n
            if first < last:
                root = find_root(ends, n, first) + np.int64(lane)
        if root < n:
            start = np.int64(0)
            if root > np.int64(0):
                start = np.int64(ends[root - 1])
            low, high = max(first, start), min(stop, np.int64(ends[root]))
            if high > low:
                length = U(high - low)
                base = ahead(bases[root], U(low - start))
                fill_slot(sh, w, roots, root)
        if BY_TASK:
            if lane == U(0):
                sh[w] = U(batch * size >> np.int64(sh[p.SHIFT]))
        return True, U(cuda.popc(U(cuda.ballot_sync(FULL, length > U(0))))), base, length

    return draw_batch


def _counter_function(target):
    """The shared counter of batches."""
    cuda, FULL, lane_of, peek = target.cuda, target.FULL, target.lane, target.peek

    @target.device
    def next_batch(ctl, step, last):
        """The number of the next batch, -1 if none is left; the same in all lanes."""
        batch = np.int32(-1)
        if lane_of() == U(0) and np.int64(peek(ctl, NEXT_BATCH)) * step < last:
            batch = np.int32(cuda.atomic.add(ctl, NEXT_BATCH, np.int32(1)))
        return np.int64(cuda.shfl_sync(FULL, batch, 0))

    return next_batch


def _search_function(target):
    """Finding the root of a first candidate."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane

    @target.device
    def find_root(ends, n, number):
        """The root that a first candidate belongs to; the lanes search together."""
        low, size = np.int64(0), np.int64(n)
        while size > np.int64(0):
            step = (size + np.int64(WARP)) // np.int64(WARP + 1)
            place = low + step * np.int64(lane_of() + U(1)) - np.int64(1)
            before = False
            if place < low + size:
                before = ends[place] <= number
            passed = np.int64(cuda.popc(U(cuda.ballot_sync(FULL, before))))
            left = size - passed * step
            low += passed * step
            size = left if passed == np.int64(WARP) else max(min(left, step - np.int64(1)), np.int64(0))
        return low

    return find_root


def _fill_function(target, access, variant):
    """Writing a root into the stack."""
    lane_of, field = target.lane, access.field
    SLOTS, BY_TASK = variant.slots, variant.by_task

    @target.device
    def fill_slot(sh, w, roots, root):
        """Fill the lane's slot of the level that batches fill; a root with a weight brings it along."""
        lane = lane_of()
        if BY_TASK:
            t, i = U(sh[p.START]), U(0)
            words = U(t + 1) if t >= U(sh[p.WEIGH]) else t
            at, prefix = U(U(root) * U(t + 1)), U(U(w + field(sh, t, p.PREFIX)) + lane)
            while i < words:
                sh[U(prefix + i * SLOTS)] = roots[U(at + i)]
                i = U(i + 1)
        else:
            sh[U(w + field(sh, U(1), p.PREFIX) + lane)] = roots[root]

    return fill_slot
