"""Walking a core: the sum of a product of factors of one and two vertices over all their images.

A vertex is matched to each candidate in turn. Of every later neighbour the candidates that are left are kept, with the
products of their values (forward checking, Haralick & Elliott 1980). Vertices in conflict get different images.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import number_one, plus, times
from cusubmatch.engines.cpu.elimination.core import Core
from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.sorted_sets import lower_bound

__all__ = ["WalkState", "new_state", "walk_core"]

NARROW_WORK = 8  # units, to match a vertex; an element that is read is one
GALLOP_RATIO = 8  # lists whose lengths differ by more are searched instead of merged


class WalkState(NamedTuple):
    """Where a walk is.

    Attributes
    ----------
    registers : int64 (2,)
        The level, and the next image of the first one.
    sum : uint64 (1,)
    ids, values : int32 and uint64 (levels, levels, longest row)
        [i, j]: what was left of level j when level i was matched.
    lengths : int64 (levels, levels)
    made : int64 (levels, levels)
        [i, j]: the level whose image made the list that level j has after level i was matched.
    images, positions : int64 (levels,)
    products : uint64 (levels + 1,)
        Of the values of the images so far.
    """

    registers: np.ndarray
    sum: np.ndarray
    ids: np.ndarray
    values: np.ndarray
    lengths: np.ndarray
    made: np.ndarray
    images: np.ndarray
    positions: np.ndarray
    products: np.ndarray


def new_state(core: Core, modulus: np.uint64) -> WalkState:
    """The state of a walk that has not begun."""
    levels = len(core.weights)
    longest = core.elements // core.rows.size
    products = np.full(levels + 1, number_one(modulus), np.uint64)
    lists = levels, levels
    return WalkState(
        np.zeros(2, np.int64),
        np.zeros(1, np.uint64),
        np.empty((*lists, longest), np.int32),
        np.empty((*lists, longest), np.uint64),
        np.zeros(lists, np.int64),
        np.full(lists, -1, np.int64),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int64),
        products,
    )


@jit
def walk_core(core, state, modulus, budget):
    """Go on with a walk until so many elements are read; whether it has ended."""
    levels, size = core.weights.shape
    registers, positions, products = state.registers, state.positions, state.products
    level, work = registers[0], np.int64(0)
    while work <= budget:
        if level == 0:
            x = registers[1]
            if x == size:
                return True
            registers[1] = x + 1
            value = core.weights[0, x]
        elif positions[level] == state.lengths[state.made[level - 1, level], level]:
            level -= 1
            continue
        else:
            at = state.made[level - 1, level]
            x, value = np.int64(state.ids[at, level, positions[level]]), state.values[at, level, positions[level]]
            positions[level] += 1
        work += 1
        if value == 0 or not _may_be(core, state.images, level, x):
            continue
        grown = _narrow(core, state, level, x, modulus)
        work += abs(grown)
        if grown < 0:
            continue
        state.images[level], products[level + 1] = x, times(products[level], value, modulus)
        if level + 2 == levels:
            part = _sum_of_last(core, state, level + 1, modulus)
            state.sum[0] = plus(state.sum[0], times(products[level + 1], part, modulus), modulus)
        else:
            level += 1
            positions[level] = 0
    registers[0] = level
    return False


@inner
def _sum_of_last(core, state, last, modulus):
    """The sum of the values of the last level's candidates."""
    at, part, free = state.made[last - 1, last], np.uint64(0), True
    for earlier in range(last):
        free &= not core.differs[earlier, last]
    for i in range(state.lengths[at, last]):
        if free or _may_be(core, state.images, last, state.ids[at, last, i]):
            part = plus(part, state.values[at, last, i], modulus)
    return part


@inner
def _may_be(core, images, level, x):
    """Whether x differs from the images that it must differ from."""
    for earlier in range(level):
        if core.differs[earlier, level] and images[earlier] == x:
            return False
    return True


@inner
def _narrow(core, state, level, x, modulus):
    """Keep of the later neighbours' candidates those in the rows of x: the elements read, negative if one has none."""
    read, ids, values, lengths, made = NARROW_WORK, state.ids, state.values, state.lengths, state.made
    for later in range(level + 1, len(core.rows)):
        earlier = made[level - 1, later] if level > 0 else -1
        made[level, later] = earlier
        r = core.rows[level, later]
        if r < 0:
            continue
        begin, end = core.offsets[r, x], core.offsets[r, x + 1]
        if earlier < 0:
            n = _first_list(core, later, begin, end, ids[level, later], values[level, later], modulus)
            read += end - begin
        else:
            n = _intersect(
                ids[earlier, later], values[earlier, later], lengths[earlier, later], core.targets, core.values, begin,
                end, ids[level, later], values[level, later], modulus,
            )  # fmt: skip
            read += min(end - begin, lengths[earlier, later])
        if n == 0:
            return -read
        lengths[level, later], made[level, later] = n, level
    return read


@inner
def _first_list(core, later, begin, end, ids, values, modulus):
    """Write the candidates of a level in one row; their number."""
    n = 0
    for j in range(begin, end):
        weight = core.weights[later, core.targets[j]]
        if weight != 0:
            ids[n], values[n] = core.targets[j], times(core.values[j], weight, modulus)
            n += 1
    return n


@inner
def _intersect(ids, values, length, targets, numbers, begin, end, out_ids, out_values, modulus):
    """Write the elements of a list that lie in a row, with the products of their values; their number."""
    n, i, j = 0, 0, begin
    if end - begin > GALLOP_RATIO * length:
        for i in range(length):
            j = lower_bound(targets, j, end, ids[i])
            if j < end and targets[j] == ids[i]:
                out_ids[n], out_values[n] = ids[i], times(values[i], numbers[j], modulus)
                n += 1
        return n
    if length > GALLOP_RATIO * (end - begin):
        for j in range(begin, end):
            i = lower_bound(ids, i, length, targets[j])
            if i < length and ids[i] == targets[j]:
                out_ids[n], out_values[n] = ids[i], times(values[i], numbers[j], modulus)
                n += 1
        return n
    while i < length and j < end:
        a, b = ids[i], targets[j]
        if a == b:
            out_ids[n], out_values[n] = a, times(values[i], numbers[j], modulus)
            n += 1
        i += a <= b
        j += b <= a
    return n
