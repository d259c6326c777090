"""Sets of numbers as vectors: what is done with them is what Python's sets say."""

from __future__ import annotations

import numpy as np
import pytest

from cusubmatch.engines.cpu.primitives.bitsets import (
    SET_BITS,
    SET_WORDS,
    any_common,
    copy,
    count,
    count_common,
    intersect,
    remove,
    unite,
)
from cusubmatch.engines.cpu.primitives.cache_lines import LINE_BYTES, on_lines, zeros_on_lines
from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.primitives.pointers import advance, pointer


@jit
def done(sets, x):
    """What is said of two sets; the next three become what both have, what one of them has, and the first without x."""
    a, b = pointer(sets), advance(pointer(sets), SET_WORDS)
    without = advance(pointer(sets), 4 * SET_WORDS)
    meet = intersect(advance(pointer(sets), 2 * SET_WORDS), a, b)
    unite(advance(pointer(sets), 3 * SET_WORDS), a, b)
    is_any = copy(without, a)
    return count(a), count_common((a, b)), any_common(a, b), meet, is_any, remove(without, x)


def words(elements):
    bits = np.zeros(SET_BITS, np.uint8)
    bits[list(elements)] = 1
    return np.packbits(bits, bitorder="little").view(np.uint64)


@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (5, 200), (60, 40), (SET_BITS, 7)])
def test_operations_are_those_of_sets(sizes):
    random = np.random.default_rng(sum(sizes))
    a, b = (set(random.choice(SET_BITS, size, replace=False).tolist()) for size in sizes)
    for x in (0, 63, 64, SET_BITS - 1, min(a, default=5)):
        sets = np.concatenate([words(a), words(b), np.zeros(3 * SET_WORDS, np.uint64)])
        assert done(sets, np.int64(x)) == (len(a), len(a & b), bool(a & b), bool(a & b), bool(a), bool(a - {x}))
        assert np.array_equal(sets[2 * SET_WORDS :], np.concatenate([words(a & b), words(a | b), words(a - {x})]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
@pytest.mark.parametrize("size", [1, 100, 1 << 16])
def test_arrays_begin_with_a_line(size, dtype):
    for array in (zeros_on_lines(size, dtype), on_lines(np.empty, size, dtype)):
        assert array.ctypes.data % LINE_BYTES == 0
        assert (len(array), array.dtype) == (size, dtype)
    assert not zeros_on_lines(size, dtype).any()
