"""The kernels that find entries of two factors that agree: one factor is in order, the other's are looked for there.

A lane has an entry. Words of keys and values lie as in `factor_kernels`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint32, uint64, void

from cusubmatch.engines.gpu.elimination.factor_kernels import MOVE_NUMBERS, moved_word
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of, kernel_factory
from cusubmatch.engines.gpu.runtime.warp import lane_of_launch, warp_functions

__all__ = [
    "ORDERED",
    "Matched",
    "Ordered",
    "make_find_firsts",
    "make_match",
    "match_kernels",
    "places_of_warp",
    "range_by_first_bits",
]

U, L, S = np.uint32, np.uint64, np.int64


class Ordered(NamedTuple):
    """Entries of a factor in the order of the fields that another one has too, where their ranges are found.

    Attributes
    ----------
    keys : uint64
        Words whose first bits are these fields: word w of entry j at w * space + j.
    space, entries : int64
        Entries are fewer than 2^31.
    words : int64
        How many words have such bits.
    drop : int64
        The bits of the last of these words that do not belong to them.
    firsts : uint32
        By the first bits of the first word, the first entry that has no less, and the number of all; or one number.
    shift : int64
        The other bits of that word.
    """

    keys: Any
    space: Any
    entries: Any
    words: Any
    drop: Any
    firsts: Any
    shift: Any


class Matched(NamedTuple):
    """Entries of a factor that agree with some of an ordered one.

    Attributes
    ----------
    parts, values : uint64 (columns * space), (kinds * space)
        What they give to the words of keys, and their values.
    begins, pairs : int64 (space,)
        The first entry of the other factor that each of these agrees with, and how many do.
    number : uint64 (2,)
        How many entries have been put here, or counted, and all their pairs.
    """

    parts: Any
    values: Any
    begins: Any
    pairs: Any
    number: Any


@functools.cache
def range_by_first_bits(target: Target) -> Any:
    """A device function (ordered, word) -> (uint32, uint32): the entries among which those with a first word are.

    The first one and the one after the last: those with the same first bits, if these are known, else all.
    """

    @target.device
    def range_of(ordered, word):
        low, high = U(0), U(ordered.entries)
        if len(ordered.firsts) > 1:
            bits = L(word >> L(ordered.shift))
            low, high = U(ordered.firsts[bits]), U(ordered.firsts[L(bits + L(1))])
        return low, high

    return range_of


@functools.cache
def places_of_warp(target: Target) -> tuple[Any, Any]:
    """Device functions by which lanes put what they keep one after the other, where `number` counts all that is kept.

    (number, lane, is_kept) -> (uint64, uint32): the first place of a warp, all of which calls it, and who keeps
    something, as bits. (start, keeping, lane) -> uint64: with these, the place of a lane that does.
    """
    cuda, FULL = target.cuda, target.FULL

    @target.device
    def take_places(number, lane, is_kept):
        keeping, start = U(cuda.ballot_sync(FULL, is_kept)), L(0)
        if lane == U(0) and keeping:
            start = L(cuda.atomic.add(number, 0, L(cuda.popc(keeping))))
        return L(cuda.shfl_sync(FULL, S(start), 0)), keeping

    @target.device
    def place_of(start, keeping, lane):
        return L(start + L(cuda.popc(U(keeping & U(U(U(1) << lane) - U(1))))))

    return take_places, place_of


@kernel_factory
def make_find_firsts(target: Target, threads: int) -> Any:
    """The kernel that finds the first entries of an ordered factor, see `Ordered`; these are its arguments."""
    cuda = target.cuda
    first, THREADS = lane_of_launch(target, threads)

    @target.kernel
    def find_firsts(ordered):
        bits, drop = L(first()), L(0)
        if ordered.words == 1:
            drop = L(ordered.drop)
        while bits < L(len(ordered.firsts)):
            low, high = U(0), U(ordered.entries)
            while low < high:
                middle = U(U(low + high) >> U(1))
                if L(L(ordered.keys[middle]) >> L(drop + L(ordered.shift))) < bits:
                    low = U(middle + U(1))
                else:
                    high = middle
            ordered.firsts[bits] = low
            bits = L(bits + L(L(cuda.gridDim.x) * L(THREADS)))

    return find_firsts


@kernel_factory
def make_match(target: Target, threads: int) -> Any:
    """The kernel that finds the entries of a factor that agree with some of an ordered one, in any order.

    Its arguments: the words of its keys, and its values; how many entries there is space for, and how many are looked
    at; in how many kinds of arithmetic values are copied; moves that make columns of other keys, and then the words
    that are compared; the number of these columns; the ordered factor; whether entries are counted only; what is found.
    """
    cuda, lane_of, word_of = target.cuda, target.lane, moved_word(target)
    range_of, (take_places, place_of) = range_by_first_bits(target), places_of_warp(target)
    first, THREADS = lane_of_launch(target, threads)
    warp_sum = warp_functions(target).warp_sum

    @target.device
    def is_before(ordered, j, word, keys, space, i, moves, column, or_equal):
        """Whether entry j comes before a key, or with it; the first word of which is made."""
        other = L(ordered.keys[j])
        if ordered.words == 1:
            other = L(other >> L(ordered.drop))
            return other < word or (or_equal and other == word)
        before, number = or_equal, L(0)
        while number < L(ordered.words):
            if number:
                word = word_of(keys, space, i, moves, L(column + number))
                other = L(ordered.keys[L(L(number * L(ordered.space)) + L(j))])
                if number == L(ordered.words - 1):
                    other = L(other >> L(ordered.drop))
            if other != word:
                before = other < word
                number = L(ordered.words)
            number = L(number + L(1))
        return before

    @target.kernel
    def match(keys, values, space, n, kinds, moves, columns, ordered, counted, matched):
        lane, i, stride, column = lane_of(), L(first()), L(space), L(columns)
        base, room = L(i - L(lane)), L(len(matched.begins))
        is_exact = len(ordered.firsts) > 1 and ordered.shift == 0 and ordered.words == 1
        at, lowest, mask, to = L(0), L(0), L(0), L(0)  # the first move of the first word, which mostly is all of it
        more, end = L(moves[column]), L(moves[L(column + L(1))])
        if more < end:
            at, lowest = L(L(moves[more]) * stride), L(moves[L(more + L(1))])
            mask, to = L(moves[L(more + L(2))]), L(moves[L(more + L(3))])
            more = L(more + L(MOVE_NUMBERS))
        entries, pairs = L(0), L(0)
        while base < L(n):
            begin, number = U(0), U(0)
            if i < L(n):
                word = L(L(L(L(keys[L(at + i)]) >> lowest) & mask) << to)
                if more < end:
                    word = word_of(keys, stride, i, moves, column)
                low, high = range_of(ordered, word)
                begin, last = low, high
                if is_exact:
                    low = high
                else:
                    while low < high:
                        middle = U(U(low + high) >> U(1))
                        if is_before(ordered, middle, word, keys, stride, i, moves, column, False):
                            low = U(middle + U(1))
                        else:
                            high = middle
                    begin, step, high = low, U(1), last
                    while low < high:  # steps that become longer, until one is too long, then shorter ones
                        middle = U(U(low + step) - U(1))
                        if step == U(0) or middle >= high:
                            middle = U(U(low + high) >> U(1))
                        if is_before(ordered, middle, word, keys, stride, i, moves, column, True):
                            low = U(middle + U(1))
                            step = U(step << U(1))
                        else:
                            high = middle
                            step = U(0)
                number = U(low - begin)
                pairs = L(pairs + L(number))
            is_found = number != U(0)
            if counted:
                if is_found:
                    entries = L(entries + L(1))
            else:
                start, keeping = take_places(matched.number, lane, is_found)
                if is_found:
                    put = place_of(start, keeping, lane)
                    matched.begins[put], matched.pairs[put] = S(begin), S(number)
                    some = L(0)
                    while some < column:
                        matched.parts[L(L(some * room) + put)] = word_of(keys, stride, i, moves, some)
                        some = L(some + L(1))
                    kind = L(0)
                    while kind < L(kinds):
                        matched.values[L(L(kind * room) + put)] = values[L(L(kind * stride) + i)]
                        kind = L(kind + L(1))
            step_of_all = L(L(cuda.gridDim.x) * L(THREADS))
            i = L(i + step_of_all)
            base = L(base + step_of_all)
        pairs, entries = warp_sum(pairs), warp_sum(entries)
        if lane == U(0) and pairs:
            cuda.atomic.add(matched.number, 1, pairs)
            cuda.atomic.add(matched.number, 0, entries)

    return match


ORDERED = block_of(Ordered, uint64[::1], int64, int64, int64, int64, uint32[::1], int64)
"""What Numba calls an `Ordered`."""


def match_kernels(threads: int) -> list[DeclaredKernel]:
    """The kernels as a GPU gets them."""
    numbers, words = int64[::1], uint64[::1]
    matched = block_of(Matched, words, words, numbers, numbers, words)
    match = void(words, words, int64, int64, int64, words, int64, ORDERED, int64, matched)
    return [
        DeclaredKernel("find firsts", make_find_firsts.recipe(threads), void(ORDERED)),
        DeclaredKernel("match", make_match.recipe(threads), match),
    ]
