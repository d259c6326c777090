"""The kernels that join factors: tables that pairs of entries are looked up in, and the products of pairs.

A lane has an entry, or a pair. Words of keys and values lie as in `factor_kernels`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64, uint32, uint64, void

from cusubmatch.engines.gpu.elimination.factor_kernels import moved_word
from cusubmatch.engines.gpu.elimination.match_kernels import ORDERED, places_of_warp, range_by_first_bits
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of, kernel_factory
from cusubmatch.engines.gpu.runtime.modular import residue_functions
from cusubmatch.engines.gpu.runtime.warp import lane_of_launch

__all__ = ["PLACE_NUMBERS", "Lookups", "Made", "Pairs", "join_kernels", "make_fill_table", "make_join_pairs"]

U, L, S = np.uint32, np.uint64, np.int64
PLACE_NUMBERS = 4  # of a factor that pairs are looked up in, see `Lookups`
WORD_SHIFT, WORD_MASK = 5, 31  # of a table of bits


class Pairs(NamedTuple):
    """Pairs of entries of two factors that agree.

    Attributes
    ----------
    parts, values : uint64 (columns * space), uint64 or float64 (kinds * space)
        What the entries of one factor give to the words of keys.
    space, plain : int64
        Of these; and whether all values are 1, which are not read then.
    begins : int64
        The first entry of the other factor that each of these agrees with.
    ends : Ordered
        Of each the number of pairs up to its last one, as keys.
    other_parts, other_values, other_space, other_plain
        The same of the other factor; of its keys,
    moves : uint64
        If these make the words (see `moved_word`), and are not one number.
    """

    parts: Any
    values: Any
    space: Any
    plain: Any
    begins: Any
    ends: Any
    other_parts: Any
    other_values: Any
    other_space: Any
    other_plain: Any
    moves: Any


class Lookups(NamedTuple):
    """Factors that pairs are looked up in: only those that all of them have are kept.

    Attributes
    ----------
    end : int64
        4 times the number of factors that have tables.
    places : int64 (end)
        Of each of them: the column that has its key, whether all its values are 1, where its table begins, and its
        values.
    tables : uint32
        Bits by key where all values are 1; else, by key, the number of the entry plus one.
    values : uint64 or float64 (kinds * n)
        Of all of these factors.
    space : int64
        Their entries n.
    searched : Ordered
        One more factor by its whole keys, if it has entries;
    column : int64
        the first column that has them.
    searched_values : uint64 or float64 (kinds * space)
    searched_plain : int64
        Whether all these are 1.
    """

    end: Any
    places: Any
    tables: Any
    values: Any
    space: Any
    searched: Any
    column: Any
    searched_values: Any
    searched_plain: Any


class Made(NamedTuple):
    """Entries that are made: keys (words * space), values (kinds * space), and number, uint64 (1), of them so far."""

    keys: Any
    values: Any
    number: Any


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
    the other factors; the kinds of arithmetic, and one in each; what is made. Without words each lane adds its products
    to its own entry.
    """
    cuda, lane_of, word_of = target.cuda, target.lane, moved_word(target)
    range_of, (take_places, place_of) = range_by_first_bits(target), places_of_warp(target)
    first, THREADS = lane_of_launch(target, threads)
    times = _times(target, floats)

    @target.device
    def row_of(ends, pair):
        """The first entry whose pairs end after this one."""
        low, high = range_of(ends, pair)
        while low < high:
            middle = U(U(low + high) >> U(1))
            if L(ends.keys[middle]) > pair:
                high = middle
            else:
                low = U(middle + U(1))
        return L(low)

    @target.device
    def key_of(pairs, column, row, other):
        word, space = L(pairs.parts[L(L(column * L(pairs.space)) + row)]), L(pairs.other_space)
        if len(pairs.moves) > 1:
            return L(word | word_of(pairs.other_parts, space, other, pairs.moves, column))
        return L(word | L(pairs.other_parts[L(L(column * space) + other)]))

    @target.device
    def is_in_table(lookups, place, key):
        begin = L(lookups.places[place + 2])
        if lookups.places[place + 1]:
            word = U(lookups.tables[L(begin + L(key >> L(WORD_SHIFT)))])
            return U(U(word >> U(key & L(WORD_MASK))) & U(1)) != U(0)
        return U(lookups.tables[L(begin + key)]) != U(0)

    @target.device
    def found(lookups, pairs, row, other):
        """The number of the entry of the searched factor that a pair has, from 1 on; 0: there is none."""
        searched, column = lookups.searched, L(lookups.column)
        first_word = key_of(pairs, column, row, other)
        low, high = range_of(searched, first_word)
        while low < high:
            middle = U(U(low + high) >> U(1))
            word, one, number = first_word, L(searched.keys[middle]), L(1)
            while one == word and number < L(searched.words):
                word = key_of(pairs, L(column + number), row, other)
                one = L(searched.keys[L(L(number * L(searched.space)) + L(middle))])
                number = L(number + L(1))
            if one == word:
                return U(middle + U(1))
            if one < word:
                low = U(middle + U(1))
            else:
                high = middle
        return U(0)

    @target.kernel
    def join_pairs(pairs, begin, end, words, lookups, kinds, ones, made):
        lane, me = lane_of(), L(first())
        space = L(L(len(made.values)) // L(len(kinds)))
        pair = L(L(begin) + me)
        base = L(pair - L(lane))
        while base < L(end):
            kept, row, other, entry = pair < L(end), L(0), L(0), U(0)
            if kept:
                row = row_of(pairs.ends, pair)
                other = L(L(pairs.begins[row]) + pair)
                if row:
                    other = L(other - L(pairs.ends.keys[L(row - L(1))]))
            place = S(0)
            while kept and place < lookups.end:
                kept = is_in_table(lookups, place, key_of(pairs, L(lookups.places[place]), row, other))
                place += PLACE_NUMBERS
            if kept and lookups.searched.entries:
                entry = found(lookups, pairs, row, other)
                kept = entry != U(0)
            to = me
            if words:
                to = L(pair - L(begin))
                if lookups.end > 0 or lookups.searched.entries:
                    to = place_of(*take_places(made.number, lane, kept), lane)
            if kept:
                column = L(0)
                while column < L(words):
                    made.keys[L(L(column * space) + to)] = key_of(pairs, column, row, other)
                    column = L(column + L(1))
                number = L(0)
                while number < L(len(kinds)):
                    value, kind = ones[number], kinds[number]
                    if pairs.plain == 0:
                        value = pairs.values[L(L(number * L(pairs.space)) + row)]
                    if pairs.other_plain == 0:
                        value = times(value, pairs.other_values[L(L(number * L(pairs.other_space)) + other)], kind)
                    place = S(0)
                    while place < lookups.end:
                        if not lookups.places[place + 1]:
                            key = key_of(pairs, L(lookups.places[place]), row, other)
                            own = L(L(lookups.tables[L(L(lookups.places[place + 2]) + key)]) - L(1))
                            own = L(L(own + L(lookups.places[place + 3])) + L(number * L(lookups.space)))
                            value = times(value, lookups.values[own], kind)
                        place += PLACE_NUMBERS
                    if lookups.searched.entries and lookups.searched_plain == 0:
                        own = L(L(number * L(lookups.searched.space)) + L(entry) - L(1))
                        value = times(value, lookups.searched_values[own], kind)
                    put = L(L(number * space) + to)
                    if words == 0:
                        value = value + made.values[put]
                    made.values[put] = value
                    number = L(number + L(1))
            step = L(L(cuda.gridDim.x) * L(THREADS))
            pair = L(pair + step)
            base = L(base + step)

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
    numbers, words, tables = int64[::1], uint64[::1], uint32[::1]
    kernels = [DeclaredKernel("fill table", make_fill_table.recipe(threads), void(words, int64, tables))]
    for floats, name in ((False, ""), (True, " of floats")):
        values = float64[::1] if floats else words
        pairs = block_of(Pairs, words, values, int64, int64, numbers, ORDERED, words, values, int64, int64, words)
        lookups = block_of(Lookups, int64, numbers, tables, values, int64, ORDERED, int64, values, int64)
        made = block_of(Made, words, values, words)
        join = void(pairs, int64, int64, int64, lookups, words, values, made)
        kernels.append(DeclaredKernel(f"join pairs{name}", make_join_pairs.recipe(threads, floats), join))
    return kernels
