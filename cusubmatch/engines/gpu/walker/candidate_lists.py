"""The lists of a partial match: the rows whose common vertices are its local candidates, the shortest row first.

A slot of level t has a list for each backward neighbour of the level and each vertex that must not be adjacent. The
first list is the shortest row of a backward neighbour, cut by the restrictions; its elements are the candidates, and
the other lists are asked whether they hold one. A set that is only counted, and all of whose lists are bitmaps, is
drawn by words instead where its restrictions leave fewer words than candidates: hubs rank highest, so a restriction
leaves few.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.row_access import HUB_FLAG, WORD_FLAG, RowAccess
from cusubmatch.engines.gpu.walker.variant import SUFFIX, WEIGHTS, Variant

__all__ = ["list_function"]

U = np.uint32
LEVEL_MASK = (1 << p.LEVEL_BITS) - 1


def list_function(target: Target, access: RowAccess, variant: Variant) -> Any:
    """A device function (sh, w, t, slot, graph) -> uint32: make the lists of a slot of level t; the first's length.

    `w` is where the warp's stack begins.
    """
    device, field, row, store, hub_of = target.device, access.field, access.row, access.store, access.hub_of
    find_shortest, store_others = _row_functions(device, access, variant)
    cut, is_dead_end = _cut_function(device, access, variant), _dead_end_function(device, access, variant)
    SLOTS, LIST, BY_WORDS = variant.slots, variant.list_words, WORD_FLAG
    COUNTS_SETS, P = variant.counts_sets, np.int64 if variant.offsets64 else U
    LENGTH = variant.list_words - variant.slots

    @device
    def make_lists(sh, w, t, slot, graph):
        references, prefix = field(sh, t, p.REFERENCES), U(w + field(sh, t, p.PREFIX) + slot)
        address = U(w + field(sh, t, p.LISTS) + slot)
        backward_neighbours = field(sh, t, p.BACKWARD_NEIGHBOURS)
        shortest = find_shortest(sh, references, prefix, backward_neighbours, graph)
        end = U(backward_neighbours + field(sh, t, p.FORBIDDEN))
        lowest = store_others(sh, references, prefix, U(address + LIST), shortest, end, graph)
        reference = U(sh[U(references + shortest)])
        nearest = U(sh[U(prefix + U(reference & LEVEL_MASK) * SLOTS)])
        base, length = row(sh, graph.offsets, reference, nearest)
        bounds, first_word, last_word = field(sh, t, p.BOUNDS), U(0), U(sh[p.HUB_WORDS])
        if bounds > U(0):
            first = U(references + end + field(sh, t, p.INJECTIVITY))
            base, length, first_word, last_word = cut(sh, first, prefix, bounds, base, length, graph)
        if length < field(sh, t, p.NEED):
            length = U(0)
        if COUNTS_SETS:
            wordwise = field(sh, t, p.WORDWISE)
            if wordwise and min(lowest, nearest) >= U(sh[p.HUB]) and U(last_word - first_word) < length:
                base, length = P(first_word), U(last_word - first_word)
                sh[U(U(address + LIST) + LENGTH)] = U(U(BY_WORDS) | hub_of(sh, reference, nearest))
        if is_dead_end(sh, t, prefix):
            length = U(0)
        store(sh, address, base, length)
        return length

    return make_lists


def _row_functions(device, access, variant):
    """The shortest row of a slot's backward neighbours, and the lists of all its other rows."""
    row, store, hub_of = access.row, access.store, access.hub_of
    SLOTS, LIST, FLAG = variant.slots, variant.list_words, HUB_FLAG

    @device
    def find_shortest(sh, references, prefix, backward_neighbours, graph):
        """The number of the backward neighbour with the shortest row."""
        shortest, least, i = U(0), U(p.NOWHERE), U(0)
        while i < backward_neighbours:
            reference = U(sh[U(references + i)])
            _, length = row(sh, graph.offsets, reference, U(sh[U(prefix + U(reference & LEVEL_MASK) * SLOTS)]))
            if length < least:
                least, shortest = length, i
            i = U(i + 1)
        return shortest

    @device
    def store_others(sh, references, prefix, out, shortest, end, graph):
        """Write the lists of rows 0 to end - 1 but the shortest to `out`; the lowest vertex that they belong to."""
        i, lowest = U(0), U(p.NOWHERE)
        while i < end:
            if i != shortest:
                reference = U(sh[U(references + i)])
                vertex = U(sh[U(prefix + U(reference & LEVEL_MASK) * SLOTS)])
                lowest = min(lowest, vertex)
                if vertex >= U(sh[p.HUB]):
                    store(sh, out, hub_of(sh, reference, vertex), U(FLAG))
                else:
                    base, length = row(sh, graph.offsets, reference, vertex)
                    store(sh, out, base, length)
                out = U(out + LIST)
            i = U(i + 1)
        return lowest

    return find_shortest, store_others


def _cut_function(device, access, variant):
    """A device function that cuts the first list by the restrictions of a level; it has at least one."""
    find, ahead = access.find, access.ahead
    SLOTS = variant.slots

    @device
    def cut(sh, first, prefix, bounds, base, length, graph):
        """(base, length) of what the restrictions leave, and the range of words that it lies in."""
        ascending, i = U(sh[p.ASCENDING]), U(1)
        bound = U(sh[U(prefix + U(sh[first]) * SLOTS)])
        while i < bounds:
            other = U(sh[U(prefix + U(sh[U(first + i)]) * SLOTS)])
            if ascending:
                bound = max(bound, other)
            else:
                bound = min(bound, other)
            i = U(i + 1)
        first_word, last_word = U(0), U(sh[p.HUB_WORDS])
        if ascending:
            below = find(graph.targets, base, length, U(bound + 1))
            base = ahead(base, below)
            length = U(length - below)
            first_word = U(bound >> U(5))
        else:
            length = find(graph.targets, base, length, bound)
            last_word = U(U(bound >> U(5)) + U(1))
        return base, length, first_word, last_word

    return cut


def _dead_end_function(device, access, variant):
    """A device function that says whether nothing can be counted below a slot: its weight or a set is too small."""
    field = access.field
    SLOTS, HAS_WEIGHTS, HAS_SUFFIX = variant.slots, variant.mode == WEIGHTS, variant.mode == SUFFIX

    @device
    def is_dead_end(sh, t, prefix):
        dead = False
        if HAS_WEIGHTS:
            if t >= U(sh[p.WEIGH]) and t != U(sh[p.WEIGHED]) and U(sh[U(prefix + t * SLOTS)]) == U(0):
                dead = True
        if HAS_SUFFIX:
            if t <= U(sh[p.LAST]):
                first = U(sh[p.VARIABLES])
                i, end = first, field(sh, t, p.MEASURED_END)
                sizes = U(prefix + U(t + U(sh[p.TEST_WORDS])) * SLOTS)
                while i < end:
                    if U(sh[U(sizes + U(i - first) * SLOTS)]) < field(sh, i, p.LEAST):
                        dead = True
                    i = U(i + 1)
        return dead

    return is_dead_end
