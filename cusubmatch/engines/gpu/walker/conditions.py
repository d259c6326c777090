"""The conditions on the candidates of a level: which slot one belongs to, and whether it passes.

The candidates of a level are the concatenation of its slots' first lists. A running sum of their lengths says which
slot a candidate number belongs to. Where all lists of a slot are bitmaps and only the size of their common set is
asked for, a number stands for a word of 32 vertices instead of a candidate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.row_access import RowAccess
from cusubmatch.engines.gpu.walker.variant import Variant

__all__ = ["Conditions", "LevelConditions", "condition_functions"]

U = np.uint32


class LevelConditions(NamedTuple):
    """What a test of a candidate needs of its level, read once.

    Attributes
    ----------
    sums, lists, prefix : uint32
        Where the running sum, the lists and the prefixes of the slots begin.
    references : uint32
        Where the levels stand that the candidate must differ from.
    backward_neighbours, rows, injectivity_checks : uint32
        The numbers of backward neighbours, of all rows, and of levels to differ from.
    mask : uint32
        The pattern vertex whose filter is tested, or NOWHERE.
    """

    sums: Any
    lists: Any
    prefix: Any
    references: Any
    backward_neighbours: Any
    rows: Any
    injectivity_checks: Any
    mask: Any


class Conditions(NamedTuple):
    """Device functions; `sh` is a block's shared memory, which begins with the program; `w` is where the stack begins.

    Attributes
    ----------
    read : (sh, w, t) -> LevelConditions
    slot_of : (sh, sums, number) -> uint32
        The slot that a candidate number of a level belongs to.
    test : (sh, level, slot, number, graph) -> passes, vertex
        A candidate under the conditions of its level.
    common_word : (sh, t, level, slot, number, hub, graph) -> uint32
        A word of the set of level t, one bit a vertex; `hub` is the first list's.
    """

    read: Any
    slot_of: Any
    test: Any
    common_word: Any


def condition_functions(target: Target, access: RowAccess, variant: Variant) -> Conditions:
    """The functions for one variant of the walker."""
    test, common_word = _test_function(target, access, variant), _word_function(target, access, variant)
    device, field = target.device, access.field
    SLOTS = variant.slots

    @device
    def read(sh, w, t):
        backward_neighbours = field(sh, t, p.BACKWARD_NEIGHBOURS)
        rows = U(backward_neighbours + field(sh, t, p.FORBIDDEN))
        return LevelConditions(
            U(w + field(sh, t, p.SUMS)),
            U(w + field(sh, t, p.LISTS)),
            U(w + field(sh, t, p.PREFIX)),
            U(field(sh, t, p.REFERENCES) + rows),
            backward_neighbours,
            rows,
            field(sh, t, p.INJECTIVITY),
            field(sh, t, p.MASK),
        )

    @device
    def slot_of(sh, sums, number):
        slot, half = U(0), U(SLOTS >> 1)
        while half > U(0):
            if U(sh[U(sums + slot + half)]) <= number:
                slot = U(slot + half)
            half = U(half >> U(1))
        return slot

    return Conditions(read, slot_of, test, common_word)


def _test_function(target, access, variant):
    """The test of one candidate."""
    ahead, base_of, member = access.ahead, access.base_of, access.member
    SLOTS, LIST = variant.slots, variant.list_words

    @target.device
    def test(sh, level, slot, number, graph):
        first = U(level.lists + slot)
        x = U(graph.targets[ahead(base_of(sh, first), U(number - U(sh[U(level.sums + slot)])))])
        passes, i = True, U(0)
        while i < level.injectivity_checks:
            if U(sh[U(level.prefix + slot + U(sh[U(level.references + i)]) * SLOTS)]) == x:
                passes = False
            i = U(i + 1)
        if level.mask != U(p.NOWHERE) and passes:
            passes = U(U(graph.masks[x]) >> level.mask) & U(1) != U(0)
        i = U(1)
        while i < level.rows:
            if passes:
                inside = member(sh, U(first + i * LIST), graph, x)
                passes = inside if i < level.backward_neighbours else not inside
            i = U(i + 1)
        return passes, x

    return test


def _word_function(target, access, variant):
    """The test of 32 candidates at once, by words of bitmaps."""
    base_of, field = access.base_of, access.field
    SLOTS, LIST = variant.slots, variant.list_words

    @target.device
    def common_word(sh, t, level, slot, number, hub, graph):
        first, width = U(level.lists + slot), U(sh[p.HUB_WORDS])
        position = U(U(base_of(sh, first)) + U(number - U(sh[U(level.sums + slot)])))
        common, i = U(graph.bitmaps[U(U(hub * width) + position)]), U(1)
        while i < level.rows:
            word = U(graph.bitmaps[U(U(U(base_of(sh, U(first + i * LIST))) * width) + position)])
            common = U(common & (word if i < level.backward_neighbours else U(~word)))
            i = U(i + 1)
        i, stop = U(0), U(level.injectivity_checks + field(sh, t, p.BOUNDS))
        while i < stop:
            vertex = U(sh[U(level.prefix + slot + U(sh[U(level.references + i)]) * SLOTS)])
            if U(vertex >> U(5)) == position:
                bit = U(U(1) << U(vertex & U(31)))
                if i < level.injectivity_checks:
                    common = U(common & U(~bit))
                elif sh[p.ASCENDING]:
                    common = U(common & U(~U(U(bit << U(1)) - U(1))))
                else:
                    common = U(common & U(bit - U(1)))
            i = U(i + 1)
        return common

    return common_word
