"""Sizes of candidate sets that only are counted, found by a whole warp for all slots of a level.

Where the set of the counted level is complete before the last levels are visited, a partial match carries its size as
a weight, less those of its own vertices that are in the set. The sizes that a suffix needs are found likewise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.conditions import Conditions
from cusubmatch.engines.gpu.walker.row_access import RowAccess
from cusubmatch.engines.gpu.walker.variant import Variant

__all__ = ["SetSizes", "size_functions"]

U = np.uint32
LEVEL_MASK = (1 << p.LEVEL_BITS) - 1


class SetSizes(NamedTuple):
    """Device functions; `sh` is a block's shared memory, which begins with the program; `w` is where the stack begins.

    Attributes
    ----------
    running_sum : (sh, sums, n, length) -> uint32
        Write the sum of the lanes' lengths before each slot to `sums`; the whole sum, in every lane.
    measure_set : (sh, w, record, sizes, n, graph)
        Write the size of the set of a record, for each of the first n slots of its level, to `sizes`.
    weigh : (sh, w, t, n, graph)
        Give the first n slots of level t their weight: the size of the set of the counted level.
    taken_off : (sh, t, prefix, x, graph) -> uint32
        1 if x, of level t, is in the set that the weight counts, else 0; `prefix` is where the slot's begins.
    """

    running_sum: Any
    measure_set: Any
    weigh: Any
    taken_off: Any


def size_functions(
    target: Target, access: RowAccess, make_lists: Any, conditions: Conditions, variant: Variant
) -> SetSizes:
    """The functions for one variant of the walker."""
    running_sum = _running_sum_function(target, variant)
    measure_set = _measure_function(target, access, make_lists, conditions, running_sum)
    taken_off, field = _taken_off_function(target, access, variant), access.field
    SLOTS = variant.slots

    @target.device
    def weigh(sh, w, t, n, graph):
        measure_set(sh, w, U(sh[p.WEIGHED]), U(w + field(sh, t, p.PREFIX) + t * SLOTS), n, graph)

    return SetSizes(running_sum, measure_set, weigh, taken_off)


def _running_sum_function(target, variant):
    """A sum over the lanes of a warp, kept for a search."""
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    SLOTS = variant.slots

    @target.device
    def running_sum(sh, sums, n, length):
        lane = lane_of()
        total, distance = length, U(1)
        while distance < WARP:
            other = U(cuda.shfl_up_sync(FULL, np.int32(total), distance))
            if lane >= distance:
                total = U(total + other)
            distance = U(distance << U(1))
        if lane < SLOTS:
            sh[U(sums + lane)] = U(total - length) if lane < n else U(p.NOWHERE)
        return U(cuda.shfl_sync(FULL, np.int32(total), WARP - 1))

    return running_sum


def _measure_function(target, access, make_lists, conditions, running_sum):
    """Sizes of sets; a single row without conditions is as large as it is long."""
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane
    field, word_hub = access.field, access.word_hub
    read, slot_of, test, common_word = conditions

    @target.device
    def measure_set(sh, w, record, sizes, n, graph):
        lane, length = lane_of(), U(0)
        if lane < n:
            length = make_lists(sh, w, record, lane, graph)
            sh[U(sizes + lane)] = length
        level = read(sh, w, record)
        if level.rows > U(1) or level.injectivity_checks > U(0) or level.mask != U(p.NOWHERE):
            if lane < n:
                sh[U(sizes + lane)] = U(0)
            total = running_sum(sh, level.sums, n, length)
            cuda.syncwarp()
            number = lane
            while number < total:
                slot = slot_of(sh, level.sums, number)
                hub, size = U(p.NOWHERE), U(0)
                if field(sh, record, p.WORDWISE):
                    hub = word_hub(sh, U(level.lists + slot))
                if hub != U(p.NOWHERE):
                    size = U(cuda.popc(common_word(sh, record, level, slot, number, hub, graph)))
                else:
                    passes, _ = test(sh, level, slot, number, graph)
                    if passes:
                        size = U(1)
                if size > U(0):
                    cuda.atomic.add(sh, U(sizes + slot), size)
                number = U(number + WARP)
        cuda.syncwarp()

    return measure_set


def _taken_off_function(target, access, variant):
    """Whether a new vertex of a partial match must be taken off the weight."""
    adjacent, field = access.adjacent, access.field
    SLOTS = variant.slots

    @target.device
    def taken_off(sh, t, prefix, x, graph):
        address = field(sh, t, p.FIX)
        if address == U(p.NOWHERE):
            return U(0)
        mask, backward_neighbours = field(sh, t, p.FIX_MASK), field(sh, t, p.FIX_BACKWARD_NEIGHBOURS)
        inside, i = True, U(0)
        if mask != U(p.NOWHERE):
            inside = U(U(graph.masks[x]) >> mask) & U(1) != U(0)
        end = U(backward_neighbours + field(sh, t, p.FIX_FORBIDDEN))
        stop = U(end + field(sh, t, p.FIX_BOUNDS))
        while i < stop:
            if inside:
                reference = U(sh[U(address + i)])
                vertex = U(sh[U(prefix + U(reference & LEVEL_MASK) * SLOTS)])
                if i >= end:
                    inside = x > vertex if sh[p.ASCENDING] else x < vertex
                else:
                    is_neighbour = adjacent(sh, graph, reference, vertex, x)
                    inside = is_neighbour if i < backward_neighbours else not is_neighbour
            i = U(i + 1)
        return U(1) if inside else U(0)

    return taken_off
