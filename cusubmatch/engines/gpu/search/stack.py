"""The stack of a warp: up to one partial match a lane and level, and drawing candidates from them.

Warp-batch exploration (gMatch): the candidates of a level are the concatenation of the slots' first lists, and
consecutive lanes take consecutive candidates of it, wherever one list ends and the next begins. What passes becomes the
slots of the next level. Where the set of the counted level is complete before the last levels are visited, a partial
match carries its size as a weight, less those of its own vertices that are in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search.candidate_lists import Lists

__all__ = ["Stack", "stack_functions"]

U = np.uint32


class Stack(NamedTuple):
    """Device functions; `sh` is a block's shared memory, beginning with the program; `w` is where the stack begins."""

    conditions: Any
    draw: Any
    extend: Any
    settle: Any
    size_up: Any
    slot_of: Any
    taken_off: Any
    test: Any
    together: Any
    weigh: Any


def stack_functions(
    target: Target, lists: Lists, slots: int, wide: bool, weighed: bool, suffixed: bool = False
) -> Stack:
    """The functions for `slots` partial matches a level; `wide`, `weighed` and `suffixed` as for the lists."""
    cuda, WARP, FULL = target.cuda, target.WARP, target.FULL
    device, lane_of = target.device, target.lane
    adjacent, ahead, base_of, field = lists.adjacent, lists.ahead, lists.base_of, lists.field
    make_lists, member, store, word_hub = lists.make, lists.member, lists.store, lists.word_hub
    SLOTS, LIST, LEVEL_MASK = slots, (3 if wide else 2) * slots, (1 << p.LEVEL_BITS) - 1
    BACKWARD_NEIGHBOURS, FORBIDDEN, INJECTIVITY, MASK = p.BACKWARD_NEIGHBOURS, p.FORBIDDEN, p.INJECTIVITY, p.MASK
    REFERENCES, PREFIX, LISTS, SUMS, ASCENDING = p.REFERENCES, p.PREFIX, p.LISTS, p.SUMS, p.ASCENDING
    WEIGH, WEIGHED, NOWHERE, HAS_WEIGHTS = p.WEIGH, p.WEIGHED, p.NOWHERE, weighed
    HAS_SUFFIX, CARRIED = suffixed, p.CARRIED
    HUB_WORDS, WORDWISE, BOUNDS = p.HUB_WORDS, p.WORDWISE, p.BOUNDS
    FIX, FIX_BACKWARD_NEIGHBOURS, FIX_FORBIDDEN = p.FIX, p.FIX_BACKWARD_NEIGHBOURS, p.FIX_FORBIDDEN
    FIX_BOUNDS, FIX_MASK = p.FIX_BOUNDS, p.FIX_MASK

    @device
    def running_sum(sh, sums, n, own):
        """Write the sum of the lengths before each slot to `sums`; the whole sum, in every lane."""
        lane = lane_of()
        total, distance = own, U(1)
        while distance < WARP:
            other = U(cuda.shfl_up_sync(FULL, np.int32(total), distance))
            if lane >= distance:
                total = U(total + other)
            distance = U(distance << U(1))
        if lane < SLOTS:
            sh[U(sums + lane)] = U(total - own) if lane < n else U(NOWHERE)
        return U(cuda.shfl_sync(FULL, np.int32(total), WARP - 1))

    @device
    def settle(sh, w, t, n, given, base, length, off, col):
        """Give the first n slots of level t their lists, and the level its running sum; the stack can draw from it.

        Where `given`, each slot's first list is the part (base, length) of it that the lane brings.
        """
        lane = lane_of()
        own = U(0)
        if lane < n:
            own = make_lists(sh, w, t, lane, off, col)
            if given:
                own = length
                store(sh, U(w + field(sh, t, LISTS) + lane), base, length)
        total = running_sum(sh, U(w + field(sh, t, SUMS)), n, own)
        if lane == U(0):
            sh[U(w + 3 * t)] = U(0)
            sh[U(w + 3 * t + 1)] = total
            sh[U(w + 3 * t + 2)] = U(0)
        cuda.syncwarp()

    @device
    def conditions(sh, w, t):
        """What `test` needs of level t, read once: (sums, lists, prefix, differ from, anchors, lists, differ, mask)."""
        backward_neighbours = field(sh, t, BACKWARD_NEIGHBOURS)
        end = U(backward_neighbours + field(sh, t, FORBIDDEN))
        return (
            U(w + field(sh, t, SUMS)),
            U(w + field(sh, t, LISTS)),
            U(w + field(sh, t, PREFIX)),
            U(field(sh, t, REFERENCES) + end),
            backward_neighbours,
            end,
            field(sh, t, INJECTIVITY),
            field(sh, t, MASK),
        )

    @device
    def slot_of(sh, sums, task):
        """The slot that candidate number `task` of a level belongs to."""
        slot, half = U(0), U(SLOTS >> 1)
        while half > U(0):
            if U(sh[U(sums + slot + half)]) <= task:
                slot = U(slot + half)
            half = U(half >> U(1))
        return slot

    @device
    def test(sh, level, slot, task, col, bits, masks):
        """Candidate number `task`, which is in `slot`, under its level's conditions: (whether it passes, vertex)."""
        sums, lists_at, prefix, references, backward_neighbours, end, differ, mask = level
        first = U(lists_at + slot)
        x = U(col[ahead(base_of(sh, first), U(task - U(sh[U(sums + slot)])))])
        passes, i = True, U(0)
        while i < differ:
            if U(sh[U(prefix + slot + U(sh[U(references + i)]) * SLOTS)]) == x:
                passes = False
            i = U(i + 1)
        if mask != U(NOWHERE) and passes:
            passes = U(U(masks[x]) >> mask) & U(1) != U(0)
        i = U(1)
        while i < end:
            if passes:
                inside = member(sh, U(first + i * LIST), col, bits, x)
                passes = inside if i < backward_neighbours else not inside
            i = U(i + 1)
        return passes, x

    @device
    def together(sh, t, level, slot, task, hub, bits):
        """Word number `task`, which is in `slot`, of the set of level t; a bit a vertex. `hub` is the first list's."""
        sums, lists_at, prefix, references, backward_neighbours, end, differ, _ = level
        first, width = U(lists_at + slot), U(sh[HUB_WORDS])
        place = U(U(base_of(sh, first)) + U(task - U(sh[U(sums + slot)])))
        found, i = U(bits[U(U(hub * width) + place)]), U(1)
        while i < end:
            word = U(bits[U(U(U(base_of(sh, U(first + i * LIST))) * width) + place)])
            found = U(found & (word if i < backward_neighbours else U(~word)))
            i = U(i + 1)
        i, stop = U(0), U(differ + field(sh, t, BOUNDS))
        while i < stop:
            vertex = U(sh[U(prefix + slot + U(sh[U(references + i)]) * SLOTS)])
            if U(vertex >> U(5)) == place:
                bit = U(U(1) << U(vertex & U(31)))
                if i < differ:
                    found = U(found & U(~bit))
                elif sh[ASCENDING]:
                    found = U(found & U(~U(U(bit << U(1)) - U(1))))
                else:
                    found = U(found & U(bit - U(1)))
            i = U(i + 1)
        return found

    @device
    def taken_off(sh, t, prefix, x, off, col, bits, masks):
        """1 if x, of level t, is in the set that the weight counts, else 0; `prefix` is where the slot's begins."""
        place = field(sh, t, FIX)
        if place == U(NOWHERE):
            return U(0)
        mask, backward_neighbours = field(sh, t, FIX_MASK), field(sh, t, FIX_BACKWARD_NEIGHBOURS)
        inside, i = True, U(0)
        if mask != U(NOWHERE):
            inside = U(U(masks[x]) >> mask) & U(1) != U(0)
        end = U(backward_neighbours + field(sh, t, FIX_FORBIDDEN))
        stop = U(end + field(sh, t, FIX_BOUNDS))
        while i < stop:
            if inside:
                reference = U(sh[U(place + i)])
                vertex = U(sh[U(prefix + U(reference & LEVEL_MASK) * SLOTS)])
                if i >= end:
                    inside = x > vertex if sh[ASCENDING] else x < vertex
                else:
                    there = adjacent(sh, off, col, bits, reference, vertex, x)
                    inside = there if i < backward_neighbours else not there
            i = U(i + 1)
        return U(1) if inside else U(0)

    @device
    def size_up(sh, w, counted, sizes, n, off, col, bits, masks):
        """Write the size of the set of a record, for each of the first n slots of its level, to `sizes`."""
        lane, length = lane_of(), U(0)
        if lane < n:
            length = make_lists(sh, w, counted, lane, off, col)
            sh[U(sizes + lane)] = length
        level = conditions(sh, w, counted)
        if level[5] > U(1) or level[6] > U(0) or level[7] != U(NOWHERE):  # more than a row
            if lane < n:
                sh[U(sizes + lane)] = U(0)
            total = running_sum(sh, level[0], n, length)
            cuda.syncwarp()
            task = lane
            while task < total:
                slot = slot_of(sh, level[0], task)
                hub, found = U(NOWHERE), U(0)
                if field(sh, counted, WORDWISE):
                    hub = word_hub(sh, U(level[1] + slot))
                if hub != U(NOWHERE):
                    found = U(cuda.popc(together(sh, counted, level, slot, task, hub, bits)))
                else:
                    passes, _ = test(sh, level, slot, task, col, bits, masks)
                    if passes:
                        found = U(1)
                if found > U(0):
                    cuda.atomic.add(sh, U(sizes + slot), found)
                task = U(task + WARP)
        cuda.syncwarp()

    @device
    def weigh(sh, w, t, n, off, col, bits, masks):
        """Give the first n slots of level t their weight: the size of the set of the counted level."""
        size_up(sh, w, U(sh[WEIGHED]), U(w + field(sh, t, PREFIX) + t * SLOTS), n, off, col, bits, masks)

    @device
    def extend(sh, w, t, slot, new, x, off, col, bits, masks):
        """Slot `new` of level t + 1: the prefix of a slot of level t, x, and what the slot carries."""
        source, place, i = U(w + field(sh, t, PREFIX) + slot), U(w + field(sh, U(t + 1), PREFIX) + new), U(0)
        while i < t:
            sh[U(place + i * SLOTS)] = sh[U(source + i * SLOTS)]
            i = U(i + 1)
        sh[U(place + t * SLOTS)] = x
        if HAS_WEIGHTS:
            if t >= U(sh[WEIGH]):
                less = taken_off(sh, t, source, x, off, col, bits, masks)
                sh[U(place + (t + 1) * SLOTS)] = U(U(sh[U(source + t * SLOTS)]) - less)
        if HAS_SUFFIX:
            i, carried = t, field(sh, t, CARRIED)
            while i < carried:
                sh[U(place + (i + 1) * SLOTS)] = sh[U(source + i * SLOTS)]
                i = U(i + 1)

    @device
    def draw(sh, w, t, off, col, bits, masks):
        """Take a warp's width of candidates of level t; those that pass become slots of level t + 1; how many."""
        lane = lane_of()
        position, end = U(sh[U(w + 3 * t)]), U(sh[U(w + 3 * t + 1)])
        task, passes, slot, x = U(position + lane), False, U(0), U(0)
        if task < end:
            level = conditions(sh, w, t)
            slot = slot_of(sh, level[0], task)
            passes, x = test(sh, level, slot, task, col, bits, masks)
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
            extend(sh, w, t, slot, before, x, off, col, bits, masks)
        cuda.syncwarp()
        return n

    return Stack(conditions, draw, extend, settle, size_up, slot_of, taken_off, test, together, weigh)
