"""A warp's stack in shared memory: slots of partial matches, level by level, and the candidates of the next level.

A slot of level t has what step t binds and the slot of level t - 1 that it extends, so a partial match is a chain of
slots. Of each slot the next step has a range of candidates; those of all slots of a level are numbered through, and the
lanes take them as they come.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["RowStack", "row_stack"]

U = np.uint32


class RowStack(NamedTuple):
    """Device functions.

    Attributes
    ----------
    at : (sh, w, t, field, slot) -> uint32
        Where a field of a slot stands.
    group_at : (sh, w, slot) -> uint32
        Where the vertex stands that a slot of level 0 groups by.
    step : (sh, t) -> uint32
        Where the record of a step begins.
    ancestor : (sh, w, t, slot, level) -> uint32
        The slot of an earlier level, or of t, that a slot of level t extends.
    image : (sh, w, t, slot, k) -> uint32
        The image of the k-th vertex, bound at level t or earlier.
    position : (sh, w, t, slot, level) -> uint32
        The position that is bound at a level.
    set_ranges : (sh, w, t, slots, begin, length)
        Makes ready the candidates of level t: each lane brings the range of its slot of level t - 1.
    candidate : (sh, w, t, number) -> slot, position
        The candidate of a number, below their total.
    """

    at: Any
    group_at: Any
    step: Any
    ancestor: Any
    image: Any
    position: Any
    set_ranges: Any
    candidate: Any


@functools.cache
def row_stack(target: Target) -> RowStack:
    """The device functions for one target."""
    WARP = target.WARP

    @target.device
    def at(sh, w, t, field, slot):
        return U(U(w + U(sh[f.LEVELS])) + U(U(U(t) * U(f.SLOT_FIELDS) + U(field)) * U(WARP)) + U(slot))

    @target.device
    def group_at(sh, w, slot):
        return U(U(w + U(sh[f.STACK_WORDS])) - U(WARP) + U(slot))

    @target.device
    def step(sh, t):
        return U(U(sh[f.STEP_RECORDS]) + U(U(t) * U(f.STEP)))

    @target.device
    def ancestor(sh, w, t, slot, level):
        s = U(slot)
        while t > level:
            s = U(sh[at(sh, w, t, f.PARENT, s)])
            t = U(t - U(1))
        return s

    @target.device
    def image(sh, w, t, slot, k):
        if k == U(0):
            return U(sh[group_at(sh, w, ancestor(sh, w, U(t), slot, U(0)))])
        level = U(sh[U(U(sh[f.VERTEX_RECORDS]) + U(U(k) * U(f.VERTEX)) + U(f.BOUND_AT))])
        return U(sh[at(sh, w, level, f.IMAGE, ancestor(sh, w, U(t), slot, level))])

    @target.device
    def position(sh, w, t, slot, level):
        return U(sh[at(sh, w, level, f.POSITION, ancestor(sh, w, U(t), slot, U(level)))])

    return RowStack(at, group_at, step, ancestor, image, position, *_range_functions(target, at))


def _range_functions(target, at):
    """Numbering the candidates of a level."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane

    @target.device
    def set_ranges(sh, w, t, slots, begin, length):
        lane, until, distance = lane_of(), U(length), 1
        while distance < WARP:
            before = U(cuda.shfl_up_sync(FULL, np.int32(until), distance))
            if lane >= U(distance):
                until = U(until + before)
            distance <<= 1
        sh[at(sh, w, t, f.BEGIN, lane)] = begin
        sh[at(sh, w, t, f.UNTIL, lane)] = until
        if lane == U(WARP - 1):
            header = U(w + U(f.STACK_HEADER) + U(U(t) * U(f.LEVEL_HEADER)))
            sh[U(header + U(f.CURSOR))] = U(0)
            sh[U(header + U(f.TOTAL))] = until
            sh[U(header + U(f.SLOTS))] = slots
        cuda.syncwarp()

    @target.device
    def candidate(sh, w, t, number):
        low, high = U(0), U(sh[U(w + U(f.STACK_HEADER) + U(U(t) * U(f.LEVEL_HEADER)) + U(f.SLOTS))])
        while low < high:
            middle = U(U(low + high) >> U(1))
            if U(sh[at(sh, w, t, f.UNTIL, middle)]) <= U(number):
                low = U(middle + U(1))
            else:
                high = middle
        before = U(0)
        if low > U(0):
            before = U(sh[at(sh, w, t, f.UNTIL, U(low - U(1)))])
        return low, U(U(sh[at(sh, w, t, f.BEGIN, low)]) + U(U(number) - before))

    return set_ranges, candidate
