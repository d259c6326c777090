"""The kernels that join factors: ranges of entries that agree, tables that pairs are looked up in, and their products.

A lane has an entry, or a pair. Words of keys and values lie as in `factor_kernels`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64, uint32, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of, kernel_factory
from cusubmatch.engines.gpu.runtime.modular import residue_functions
from cusubmatch.engines.gpu.runtime.warp import lane_of_launch

__all__ = [
    "PLACE_NUMBERS",
    "Lookups",
    "Made",
    "Pairs",
    "join_kernels",
    "make_fill_table",
    "make_find_ranges",
    "make_join_pairs",
]

U, L, S = np.uint32, np.uint64, np.int64
PLACE_NUMBERS = 4  # of a factor that pairs are looked up in, see `Lookups`
WORD_SHIFT, WORD_MASK = 5, 31  # of a table of bits


class Pairs(NamedTuple):
    """Pairs of entries of two factors that agree.

    Attributes
    ----------
    parts, values : uint64 (columns * n), of values (kinds * n)
        What the entries of one factor give to the words of keys.
    begins : int64 (n,)
        The first entry of the other factor that each of these agrees with.
    ends : int64 (n,)
        The number of pairs of all entries up to each, its own as well.
    other_parts, other_values
        The same of the other factor.
    plain, other_plain : int64
        Whether all values are 1; they are not read then.
    """

    parts: Any
    values: Any
    begins: Any
    ends: Any
    other_parts: Any
    other_values: Any
    plain: Any
    other_plain: Any


class Lookups(NamedTuple):
    """Factors that pairs are looked up in: only those that all of them have are kept.

    Attributes
    ----------
    end : int64
        4 times the number of factors.
    places : int64 (end)
        Of each: the column that has its key, whether all its values are 1, where its table begins, and its values.
    tables : uint32
        Bits by key where all values are 1; else, by key, the number of the entry plus one.
    values : uint64 or float64 (kinds * n)
        Of all of these factors.
    space : int64
        Their entries n.
    """

    end: Any
    places: Any
    tables: Any
    values: Any
    space: Any


class Made(NamedTuple):
    """Entries that are made: keys (words * space), values (kinds * space), and number, uint64 (1), of them so far."""

    keys: Any
    values: Any
    number: Any


@kernel_factory
def make_find_ranges(target: Target, threads: int) -> Any:
    """The kernel that finds where each entry of a factor agrees with entries of another, which ascend.

    Its arguments: columns of the first factor, and of the other; the numbers of entries of both; the first column of
    what must be equal, and the one after the last; where the ranges begin, and how long they are.
    """
    cuda = target.cuda
    first, THREADS = lane_of_launch(target, threads)

    @target.device
    def is_before(others, m, j, parts, n, i, begin, end, or_equal):
        before, column = or_equal, begin
        while column < end:
            other, one = L(others[column * m + j]), L(parts[column * n + i])
            if other != one:
                before = other < one
                column = end
            column += 1
        return before

    @target.kernel
    def find_ranges(parts, others, n, m, begin, end, begins, pairs):
        i = first()
        while i < n:
            low, high = S(0), m
            while low < high:
                middle = (low + high) >> 1
                if is_before(others, m, middle, parts, n, i, begin, end, False):
                    low = middle + 1
                else:
                    high = middle
            start, step, high = low, S(1), m
            while low < high:  # steps that become longer, until one is too long, then shorter ones
                middle = low + step - 1
                if step == 0 or middle >= high:
                    middle = (low + high) >> 1
                if is_before(others, m, middle, parts, n, i, begin, end, True):
                    low = middle + 1
                    step = step << 1
                else:
                    high = middle
                    step = S(0)
            begins[i] = start
            pairs[i] = low - start
            i += S(cuda.gridDim.x) * THREADS

    return find_ranges


@kernel_factory
def make_fill_table(target: Target, threads: int) -> Any:
    """The kernel that fills a table that keys of one word are looked up in, which is 0.

    Its arguments: the keys; whether it has bits, else numbers of entries, from 1 on; the table.
    """
    cuda = target.cuda
    first, THREADS = lane_of_launch(target, threads)

    @target.kernel
    def fill_table(keys, bits, table):
        i = first()
        while i < len(keys):
            key = L(keys[i])
            if bits:
                cuda.atomic.or_(table, S(L(key >> L(WORD_SHIFT))), U(U(1) << U(key & L(WORD_MASK))))
            else:
                table[S(key)] = U(i + 1)
            i += S(cuda.gridDim.x) * THREADS

    return fill_table


@kernel_factory
def make_join_pairs(target: Target, threads: int, floats: bool) -> Any:
    """The kernel that writes the products of pairs of entries, those that all other factors have, in any order.

    Its arguments: the pairs, and the first and the one after the last that are made; the number of words of their keys;
    the other factors; the kinds of arithmetic, and one in each; what is made.
    """
    cuda, FULL, lane_of = target.cuda, target.FULL, target.lane
    first, THREADS = lane_of_launch(target, threads)
    times = _times(target, floats)

    @target.device
    def key_of(pairs, n, m, column, row, other):
        return L(L(pairs.parts[column * n + row]) | L(pairs.other_parts[column * m + other]))

    @target.device
    def is_found(lookups, place, key):
        begin = lookups.places[place + 2]
        if lookups.places[place + 1]:
            word = U(lookups.tables[begin + S(L(key >> L(WORD_SHIFT)))])
            return U(U(word >> U(key & L(WORD_MASK))) & U(1)) != U(0)
        return U(lookups.tables[begin + S(key)]) != U(0)

    @target.kernel
    def join_pairs(pairs, m, begin, end, words, lookups, kinds, ones, made):
        lane, n, space = lane_of(), S(len(pairs.begins)), end - begin
        pair = begin + first()
        base = pair - S(lane)
        while base < end:
            kept, row, other = pair < end, S(0), S(0)
            if kept:
                low, high = S(0), n  # the first entry whose pairs end after this one
                while low < high:
                    middle = (low + high) >> 1
                    if pairs.ends[middle] > pair:
                        high = middle
                    else:
                        low = middle + 1
                row, other = low, pairs.begins[low] + pair
                if row:
                    other -= pairs.ends[row - 1]
            place = S(0)
            while kept and place < lookups.end:
                kept = is_found(lookups, place, key_of(pairs, n, m, lookups.places[place], row, other))
                place += PLACE_NUMBERS
            to = pair - begin
            if lookups.end > 0:
                votes, start = U(cuda.ballot_sync(FULL, kept)), L(0)
                if lane == U(0) and votes:
                    start = L(cuda.atomic.add(made.number, 0, L(cuda.popc(votes))))
                start = L(cuda.shfl_sync(FULL, S(start), 0))
                to = S(start) + S(cuda.popc(U(votes & U(U(U(1) << lane) - U(1)))))
            if kept:
                for column in range(words):
                    made.keys[S(column) * space + to] = key_of(pairs, n, m, S(column), row, other)
                for kind in range(len(kinds)):
                    value, number = ones[kind], S(kind)
                    if pairs.plain == 0:
                        value = pairs.values[number * n + row]
                    if pairs.other_plain == 0:
                        value = times(value, pairs.other_values[number * m + other], kinds[kind])
                    place = S(0)
                    while place < lookups.end:
                        if not lookups.places[place + 1]:
                            key = key_of(pairs, n, m, lookups.places[place], row, other)
                            entry = S(U(lookups.tables[lookups.places[place + 2] + S(key)])) - 1
                            entry += lookups.places[place + 3]
                            value = times(value, lookups.values[number * lookups.space + entry], kinds[kind])
                        place += PLACE_NUMBERS
                    made.values[number * space + to] = value
            step = S(cuda.gridDim.x) * THREADS
            pair += step
            base += step

    return join_pairs


@functools.cache
def _times(target: Target, floats: bool) -> Any:
    """A device function (a, b, kind): the product in a kind of arithmetic."""
    if not floats:
        return residue_functions(target)[0]

    @target.device
    def times(a, b, kind):
        return a * b

    return times


def join_kernels(threads: int) -> list[DeclaredKernel]:
    """The kernels as a GPU gets them."""
    places, words = int64[::1], uint64[::1]
    ranges = void(words, words, int64, int64, int64, int64, places, places)
    kernels = [
        DeclaredKernel("find ranges", make_find_ranges.recipe(threads), ranges),
        DeclaredKernel("fill table", make_fill_table.recipe(threads), void(words, int64, uint32[::1])),
    ]
    for floats, name in ((False, ""), (True, " of floats")):
        values = float64[::1] if floats else words
        pairs = block_of(Pairs, words, values, places, places, words, values, int64, int64)
        lookups = block_of(Lookups, int64, places, uint32[::1], values, int64)
        made = block_of(Made, words, values, words)
        join = void(pairs, int64, int64, int64, int64, lookups, words, values, made)
        kernels.append(DeclaredKernel(f"join pairs{name}", make_join_pairs.recipe(threads, floats), join))
    return kernels
