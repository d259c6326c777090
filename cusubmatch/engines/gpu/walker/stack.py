"""The stack of a warp: up to one partial match a lane and level, and drawing candidates from them.

Warp-batch exploration (gMatch): the candidates of a level are the concatenation of the slots' first lists, and
consecutive lanes take consecutive candidates of it, wherever one list ends and the next begins. What passes becomes the
slots of the next level. Three words a level say how much of it is drawn, how much there is, and how many candidates
passed in the slot that a leaf has not finished.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.candidate_lists import list_function
from cusubmatch.engines.gpu.walker.conditions import Conditions, condition_functions
from cusubmatch.engines.gpu.walker.row_access import RowAccess, row_access
from cusubmatch.engines.gpu.walker.set_sizes import SetSizes, size_functions
from cusubmatch.engines.gpu.walker.variant import SUFFIX, WEIGHTS, Variant

__all__ = ["Stack", "stack_functions"]

U = np.uint32


class Stack(NamedTuple):
    """Device functions; `sh` is a block's shared memory, which begins with the program; `w` is where the stack begins.

    Attributes
    ----------
    access : RowAccess
    make_lists : see `list_function`
    conditions : Conditions
    sizes : SetSizes
    settle : (sh, w, t, n, has_list, base, length, graph)
        Give the first n slots of level t their lists, and the level its running sum; the stack can draw from it.
        With `has_list` the first list of each slot is the part (base, length) that the lane brings.
    extend : (sh, w, t, slot, new, x, graph)
        Write slot `new` of level t + 1: the prefix of a slot of level t, x, and what the slot carries.
    draw : (sh, w, t, graph) -> uint32
        Take a warp's width of candidates of level t; those that pass become slots of level t + 1; how many.
    """

    access: RowAccess
    make_lists: Any
    conditions: Conditions
    sizes: SetSizes
    settle: Any
    extend: Any
    draw: Any


def stack_functions(target: Target, variant: Variant) -> Stack:
    """The functions for one variant of the walker."""
    access = row_access(target, variant.slots, variant.offsets64)
    make_lists = list_function(target, access, variant)
    conditions = condition_functions(target, access, variant)
    sizes = size_functions(target, access, make_lists, conditions, variant)
    settle = _settle_function(target, access, make_lists, sizes.running_sum)
    extend = _extend_function(target, access, sizes.taken_off, variant)
    draw = _draw_function(target, conditions, extend, variant)
    return Stack(access, make_lists, conditions, sizes, settle, extend, draw)


def _settle_function(target, access, make_lists, running_sum):
    """Making a level ready to be drawn from."""
    cuda, lane_of, field, store = target.cuda, target.lane, access.field, access.store

    @target.device
    def settle(sh, w, t, n, has_list, base, length, graph):
        lane = lane_of()
        own = U(0)
        if lane < n:
            own = make_lists(sh, w, t, lane, graph)
            if has_list:
                own = length
                store(sh, U(w + field(sh, t, p.LISTS) + lane), base, length)
        total = running_sum(sh, U(w + field(sh, t, p.SUMS)), n, own)
        if lane == U(0):
            sh[U(w + 3 * t)] = U(0)
            sh[U(w + 3 * t + 1)] = total
            sh[U(w + 3 * t + 2)] = U(0)
        cuda.syncwarp()

    return settle


def _extend_function(target, access, taken_off, variant):
    """A slot of the next level."""
    field = access.field
    SLOTS, HAS_WEIGHTS, HAS_SUFFIX = variant.slots, variant.mode == WEIGHTS, variant.mode == SUFFIX

    @target.device
    def extend(sh, w, t, slot, new, x, graph):
        source = U(w + field(sh, t, p.PREFIX) + slot)
        address, i = U(w + field(sh, U(t + 1), p.PREFIX) + new), U(0)
        while i < t:
            sh[U(address + i * SLOTS)] = sh[U(source + i * SLOTS)]
            i = U(i + 1)
        sh[U(address + t * SLOTS)] = x
        if HAS_WEIGHTS:
            if t >= U(sh[p.WEIGH]):
                less = taken_off(sh, t, source, x, graph)
                sh[U(address + (t + 1) * SLOTS)] = U(U(sh[U(source + t * SLOTS)]) - less)
        if HAS_SUFFIX:
            i, carried = t, field(sh, t, p.CARRIED)
            while i < carried:
                sh[U(address + (i + 1) * SLOTS)] = sh[U(source + i * SLOTS)]
                i = U(i + 1)

    return extend


def _draw_function(target, conditions, extend, variant):
    """A window of candidates, and the slots that those which pass become."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    read, slot_of, test, _ = conditions
    SLOTS = variant.slots

    @target.device
    def draw(sh, w, t, graph):
        lane = lane_of()
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        number, passes, slot, x = U(position + lane), False, U(0), U(0)
        if number < end:
            level = read(sh, w, t)
            slot = slot_of(sh, level.sums, number)
            passes, x = test(sh, level, slot, number, graph)
        mask = U(cuda.ballot_sync(FULL, passes))
        before = U(cuda.popc(U(mask & U(U(U(1) << lane) - U(1)))))
        n, taken = U(cuda.popc(mask)), U(WARP)
        if SLOTS < WARP:
            if n > U(SLOTS):  # the rest is drawn again
                taken = U(U(cuda.ffs(U(cuda.ballot_sync(FULL, passes and before == U(SLOTS))))) - U(1))
                passes, n = passes and before < U(SLOTS), U(SLOTS)
        cuda.syncwarp()  # every lane has read the position
        if lane == U(0):
            sh[U(w + 3 * t)] = U(position + taken)
        if passes:
            extend(sh, w, t, slot, before, x, graph)
        cuda.syncwarp()
        return n

    return draw
