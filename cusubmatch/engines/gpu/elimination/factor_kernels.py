"""The kernels of operations on single factors: moving fields, adding up equal keys, and counting images.

A lane has an entry. The words of keys lie column by column, word w of entry i of n at w * n + i, and so do
values of each kind of arithmetic. Values are uint64, or float64 where a kernel is for floats.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import float64, int32, int64, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, kernel_factory
from cusubmatch.engines.gpu.runtime.warp import lane_of_launch

__all__ = [
    "MOVE_NUMBERS",
    "factor_kernels",
    "make_add_up",
    "make_count_images",
    "make_mark_firsts",
    "make_move_fields",
    "moved_word",
]

L, S = np.uint64, np.int64
MOVE_NUMBERS = 4  # of a move, see `moved_word`


@functools.cache
def moved_word(target: Target) -> Any:
    """A device function (keys, space, i, moves, column): the word in a column that moves make of the key of an entry.

    `moves` has where the moves of each column begin, and their end, then the moves: a word, the lowest of its bits that
    are moved, as many bits, set, and where the lowest one is put. All numbers are uint64.
    """

    @target.device
    def word_of(keys, space, i, moves, column):
        word, move, end = L(0), L(moves[column]), L(moves[L(column + L(1))])
        while move < end:
            key = L(keys[L(L(L(moves[move]) * space) + i)])
            bits = L(L(key >> L(moves[L(move + L(1))])) & L(moves[L(move + L(2))]))
            word = L(word | L(bits << L(moves[L(move + L(3))])))
            move = L(move + L(MOVE_NUMBERS))
        return word

    return word_of


@kernel_factory
def make_move_fields(target: Target, threads: int) -> Any:
    """The kernel that makes columns of words of other keys from the fields of keys.

    Its arguments: the words of keys, and how many entries there is space for; an order of the entries, and whether it
    is to be followed; how many they are; moves (see `moved_word`); the number of columns; the columns.
    """
    cuda, word_of = target.cuda, moved_word(target)
    first, THREADS = lane_of_launch(target, threads)

    @target.kernel
    def move_fields(keys, space, order, is_ordered, n, moves, columns, out):
        i = L(first())
        while i < L(n):
            row = i
            if is_ordered:
                row = L(order[i])
            column = L(0)
            while column < L(columns):
                out[L(L(column * L(n)) + i)] = word_of(keys, L(space), row, moves, column)
                column = L(column + L(1))
            i = L(i + L(L(cuda.gridDim.x) * L(THREADS)))

    return move_fields


@kernel_factory
def make_mark_firsts(target: Target, threads: int) -> Any:
    """The kernel that marks the first one of entries with equal keys.

    Its arguments: the words of keys, how many entries there is space for, and the number of words; an order in which
    equal keys follow each other; the marks.
    """
    cuda = target.cuda
    first, THREADS = lane_of_launch(target, threads)

    @target.kernel
    def mark_firsts(keys, space, words, order, marks):
        i = first()
        while i < len(order):
            differs = i == 0
            column = S(0)
            while not differs and column < words:
                differs = keys[column * space + order[i]] != keys[column * space + order[i - 1]]
                column += 1
            marks[i] = np.int32(1) if differs else np.int32(0)
            i += S(cuda.gridDim.x) * THREADS

    return mark_firsts


@kernel_factory
def make_add_up(target: Target, threads: int, floats: bool) -> Any:
    """The kernel that adds up the values of entries with equal keys, modulo 2^64 or as floats.

    Its arguments: entries, and how many there is space for; the number of words; the order of `mark_firsts`, and for
    each place there the number of its key, from 1 on; the sums, whose values are 0.
    """
    cuda = target.cuda
    first, THREADS = lane_of_launch(target, threads)

    @target.kernel
    def add_up(keys, values, space, words, order, numbers, sums, totals):
        i, n = first(), S(len(order))
        made = S(len(sums)) // words
        kinds = S(len(totals)) // made
        while i < n:
            entry, number = order[i], S(numbers[i]) - 1
            if i == 0 or S(numbers[i - 1]) == number:
                for column in range(words):
                    sums[S(column) * made + number] = keys[S(column) * space + entry]
            for kind in range(kinds):
                cuda.atomic.add(totals, S(kind) * made + number, values[S(kind) * space + entry])
            i += S(cuda.gridDim.x) * THREADS

    return add_up


@kernel_factory
def make_count_images(target: Target, threads: int) -> Any:
    """The kernel that counts the entries that each image of each vertex of a factor has.

    Its arguments: the words of keys; how many entries there are; the places of the vertices' fields, word and lowest
    bit; the mask of a field; local indices a vertex; the counts, which are 0.
    """
    cuda = target.cuda
    first, THREADS = lane_of_launch(target, threads)

    @target.kernel
    def count_images(keys, n, places, mask, size, counts):
        i = first()
        while i < n:
            for vertex in range(S(len(places)) >> 1):
                word, bit = places[2 * vertex], L(places[2 * vertex + 1])
                image = L(L(L(keys[word * n + i]) >> bit) & L(mask))
                cuda.atomic.add(counts, S(vertex) * size + S(image), L(1))
            i += S(cuda.gridDim.x) * THREADS

    return count_images


def factor_kernels(threads: int) -> list[DeclaredKernel]:
    """The kernels as a GPU gets them."""
    places, words, marks = int64[::1], uint64[::1], int32[::1]
    moved = void(words, int64, places, int64, int64, words, int64, words)
    marked = void(words, int64, int64, places, marks)
    counted = void(words, int64, places, uint64, int64, words)
    kernels = [
        DeclaredKernel("move fields", make_move_fields.recipe(threads), moved),
        DeclaredKernel("mark firsts", make_mark_firsts.recipe(threads), marked),
        DeclaredKernel("count images", make_count_images.recipe(threads), counted),
    ]
    for values, name in ((words, ""), (float64[::1], " of floats")):
        added = void(words, values, int64, int64, places, marks, words, values)
        kernels.append(DeclaredKernel(f"add up{name}", make_add_up.recipe(threads, bool(name)), added))
    return kernels
