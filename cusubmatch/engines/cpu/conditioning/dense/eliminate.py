"""A component's count by variable elimination (bucket elimination, Dechter 1999), on dense tables.

The table of a vertex has, for each combination of candidates of those that it is joined to, the sum over its own
candidates that agree with these of the products of earlier tables. Combinations are made candidate by candidate, and
given up as soon as a vertex has none left: a table takes the time of those that agree.

Numbers are kept modulo 2^64 and as floats. Both together give the number if the float is off by less than 2^63.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.count_arithmetic import ZERO
from cusubmatch.engines.cpu.conditioning.dense.candidate_sets import candidate_sets, narrow, open_conflicts
from cusubmatch.engines.cpu.conditioning.dense.table_sizes import all_combinations, combinations, vertex_to_match
from cusubmatch.engines.cpu.primitives.jit import inner, popcount, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance, pointer

__all__ = ["eliminated"]

N = c.MAX_VERTICES
EXACT_BELOW = float(1 << 100)  # floats are off by less than 2^-38 of themselves: 32 sums of 512 products of 32 each
WORD = float(1 << 64)
LOOKED_AT = 256  # steps that it takes to look at a component, about
STEP_PRODUCTS = 5  # bits: as many products take as long as a step
UNKNOWN = -1.0  # in place of a count as a float


@inner
def eliminated(s, component, most):
    """The count of a component, two words, and as a float, where its tables have no more combinations than `most`.

    Elsewhere a float of -1, and the vertex that is to be matched, or -1 where nobody knows.
    """
    s.registers[c.STEPS] -= LOOKED_AT
    sets = candidate_sets(s, component)
    if sets.width == 0:
        return ZERO, UNKNOWN, np.int64(-1)
    sizes, joined = np.zeros(N, np.int64), np.zeros(N, np.int64)
    order, bags = np.empty(N, np.int64), np.empty(N, np.int64)
    if not narrow(sets, sizes, component):
        return ZERO, 0.0, np.int64(-1)
    left, rest = np.int64(0), component
    while rest:
        v = trailing_zeros(rest)
        rest &= rest - 1
        if sizes[v] > 1:
            left |= np.int64(1) << v
            joined[v] = sets.edges[v] | open_conflicts(sets, v)
    if all_combinations(left, joined, sizes, most, order, bags) > most:
        v = vertex_to_match(left, joined, sizes, order, bags)
        return ZERO, UNKNOWN, v
    word, number, products = _sum_of_products(sets, sizes, joined, left, order, bags)
    s.registers[c.STEPS] -= products >> STEP_PRODUCTS
    if number >= EXACT_BELOW:
        return ZERO, UNKNOWN, order[0]
    return (word, np.uint64(round((number - np.float64(word)) / WORD))), number, np.int64(-1)


class _Tables(NamedTuple):
    """The tables so far, by the place in the order of the vertex that was eliminated.

    Attributes
    ----------
    scopes : int64 (32)
        The vertices of each, as bits; 0 once it has been multiplied into another.
    firsts : int64 (32)
        Where each begins.
    strides : int64 (32, 32)
        How far the places of two successive candidates of a vertex are from each other; 0 of what is not in its scope.
    words : uint64
    numbers : float64
    ranks : int64 (32, 64 * width)
        The places of candidates among those of their vertex that are left.
    """

    scopes: np.ndarray
    firsts: np.ndarray
    strides: np.ndarray
    words: np.ndarray
    numbers: np.ndarray
    ranks: np.ndarray


@inner
def _sum_of_products(sets, sizes, joined, left, order, bags):
    """The count as a word and as a float, and how many products it took."""
    firsts, places, size = np.zeros(N, np.int64), np.int64(0), np.int64(popcount(np.uint64(left)))
    for number in range(size):
        firsts[number] = places
        places += np.int64(combinations(bags[number], sizes))
    ranks, width = np.zeros((N, 64 * sets.width), np.int64), sets.width
    for v in range(N):
        number = 0
        for i in range(64 * width):
            ranks[v, i] = number
            number += np.int64(sets.sets[v, i >> 6] >> np.uint64(i & 63) & np.uint64(1))
    tables = _Tables(
        np.zeros(N, np.int64),
        firsts,
        np.zeros((N, N), np.int64),
        np.zeros(places, np.uint64),
        np.zeros(places),
        ranks,
    )
    levels, scratch = np.empty(N, np.int64), np.empty((N + 1) * N * width, np.uint64)
    numbers, products = np.empty(2 * N * N, np.int64), np.int64(0)
    for number in range(size):
        bag = bags[number]
        _order_levels(bag, joined, sizes, levels)
        levels[popcount(np.uint64(bag))] = order[number]
        products += _make_table(sets, sizes, joined, levels, bag, number, tables, scratch, numbers)
    word, value = np.uint64(1), 1.0
    for number in range(size):
        if bags[number] == 0:
            word *= tables.words[firsts[number]]
            value *= tables.numbers[firsts[number]]
    return word, value, products


@inner
def _order_levels(vertices, joined, sizes, levels):
    """Write some vertices so that each is joined to many before it, those with few candidates first."""
    chosen, level = np.int64(0), 0
    while vertices:
        best, most, rest = -1, 0, vertices
        while rest:
            v = trailing_zeros(rest)
            rest &= rest - 1
            near = popcount(np.uint64(joined[v] & chosen))
            if best < 0 or near > most or (near == most and sizes[v] < sizes[best]):
                best, most = v, near
        levels[level] = best
        level += 1
        chosen |= np.int64(1) << best
        vertices &= ~(np.int64(1) << best)


@inner
def _make_table(sets, sizes, joined, levels, bag, number, tables, scratch, numbers):
    """Make a table: of the vertices of all levels but the last, which is summed over; how many products it took."""
    last, count, factors = np.int64(popcount(np.uint64(bag))), 0, np.empty(N, np.int64)
    for other in range(number):
        if (tables.scopes[other] >> levels[last]) & 1:
            factors[count] = other
            tables.scopes[other] = 0
            count += 1
    factors[count], tables.scopes[number], stride = number, bag, np.int64(1)
    for level in range(last - 1, -1, -1):
        tables.strides[number, levels[level]] = stride
        stride *= sizes[levels[level]]
    for factor in range(count + 1):
        numbers[factor] = tables.firsts[factors[factor]]
        for level in range(last + 1):
            numbers[(N + level) * N + factor] = tables.strides[factors[factor], levels[level]]
    for level in range(last + 1):
        for i in range(sets.width):
            scratch[level * sets.width + i] = sets.sets[levels[level], i]
    return _go_through(
        sets.width,
        pointer(sets.rows),
        pointer(sets.firsts),
        pointer(joined),
        pointer(levels),
        last,
        count,
        pointer(scratch),
        pointer(numbers),
        pointer(tables.ranks),
        pointer(tables.words),
        pointer(tables.numbers),
    )


@inner
def _go_through(width, rows, firsts, joined, levels, last, count, left, places, ranks, words, numbers):
    """Go through the combinations of a table; how many products it took.

    Of each level, `left` has what candidates before it leave of those of each later one, N sets; then what is to be
    tried of each. And `places` has where the candidates before it lead to in each factor, and last in the table itself;
    then how far these are from each other for two successive candidates.
    """
    steps, untried = advance(places, N * N), advance(left, N * N * width)
    products, level = np.int64(0), np.int64(0)
    for i in range(width):
        untried[i] = left[i]
    while level >= 0:
        if level == last:
            of_vertex = advance(ranks, levels[last] * 64 * width)
            some, at = advance(left, (last * N + last) * width), advance(places, last * N)
            products += _put_sum(some, width, of_vertex, advance(steps, last * N), at, count, words, numbers)
            level -= 1
            continue
        word = 0
        while word < width and untried[level * width + word] == 0:
            word += 1
        if word == width:
            level -= 1
            continue
        bits, v = untried[level * width + word], levels[level]
        untried[level * width + word] = bits & (bits - np.uint64(1))
        x = (word << 6) + np.int64(trailing_zeros(bits))
        here, there = advance(left, level * N * width), advance(left, (level + 1) * N * width)
        agrees, later = True, level + 1
        while agrees and later <= last:
            at = later * width
            if (joined[v] >> levels[later]) & 1:
                row, any_left = advance(rows, firsts[v * N + levels[later]] + x * width), np.uint64(0)
                for i in range(width):
                    there[at + i] = here[at + i] & row[i]
                    any_left |= there[at + i]
                agrees = any_left != 0
            else:
                for i in range(width):
                    there[at + i] = here[at + i]
            later += 1
        if agrees:
            rank = ranks[v * 64 * width + x]
            for factor in range(count + 1):
                step = steps[level * N + factor] * rank
                places[(level + 1) * N + factor] = places[level * N + factor] + step
            level += 1
            for i in range(width):
                untried[level * width + i] = there[level * width + i]
    return products


@inner
def _put_sum(some, width, ranks, steps, places, count, words, numbers):
    """Write the sum over some candidates of a vertex of the products of so many factors; how many it took."""
    total, number, products = np.uint64(0), 0.0, np.int64(0)
    if count == 0:
        for i in range(width):
            total += popcount(some[i])
        number, products = np.float64(total), np.int64(1)
    for i in range(width if count else 0):
        rest = some[i]
        while rest:
            rank = ranks[(i << 6) + np.int64(trailing_zeros(rest))]
            rest &= rest - np.uint64(1)
            at = places[0] + steps[0] * rank
            word, value = words[at], numbers[at]
            for factor in range(1, count):
                at = places[factor] + steps[factor] * rank
                word, value = word * words[at], value * numbers[at]
            total, number = total + word, number + value
            products += 1
    words[places[count]], numbers[places[count]] = total, number
    return products
