"""A row of one counter a vertex for each block: those of the ranks just below a vertex in shared memory.

Most wedges end at vertices of high rank, and adding in shared memory is some fifty times faster. Where no count can
pass 15 bits a word holds two counters: twice as many fit, and the others stay in the cache. The highest bit of a
counter is a flag. The window in shared memory, `near`, begins at the vertex `base`; the counters of lower vertices
stand in `rest` from the position `row` on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["Counters", "counter_functions"]

U, S = np.uint32, np.int64


class Counters(NamedTuple):
    """Device functions.

    Attributes
    ----------
    add : (near, rest, base, row, w, value) -> uint32
        Adds to the counter of w; what it was, with its flag.
    get : (near, rest, base, row, w) -> uint32
        The count of w.
    clear : (near, rest, base, row, w)
        Sets the counter of w to zero, and its neighbour in the word.
    clear_window : (near, window, thread, threads)
        Sets the counters of the window to zero; all threads of a block call it.
    FLAG : int
        The bit that is the flag.
    EACH : int
        Counters in a word.
    """

    add: Callable
    get: Callable
    clear: Callable
    clear_window: Callable
    FLAG: int
    EACH: int


@functools.cache
def counter_functions(target: Target, packed: bool) -> Any:
    """The functions, for counters of 16 bits where `packed`, else of 32."""
    cuda, device = target.cuda, target.device
    PACKED, BITS = packed, 16 if packed else 32
    EACH = 2 if packed else 1
    FLAG, MASK, COUNT = 1 << (BITS - 1), (1 << BITS) - 1, (1 << (BITS - 1)) - 1

    @device
    def index_of(base, w):
        """The word of the counter of w, whether it is in the window, and by how many bits it is shifted there."""
        index, inside, shift = w - base, w >= base, U(0)
        if not inside:
            index = w
        if PACKED:
            shift = U(U(index & 1) << U(4))
            index >>= 1
        return index, inside, shift

    @device
    def add(near, rest, base, row, w, value):
        index, inside, shift = index_of(base, w)
        if inside:
            old = U(cuda.atomic.add(near, index, U(U(value) << shift)))
        else:
            old = U(cuda.atomic.add(rest, row + index, U(U(value) << shift)))
        return U(U(old >> shift) & U(MASK))

    @device
    def get(near, rest, base, row, w):
        index, inside, shift = index_of(base, w)
        if inside:
            word = U(near[index])
        else:
            word = U(rest[row + index])
        return U(U(word >> shift) & U(COUNT))

    @device
    def clear(near, rest, base, row, w):
        index, inside, _ = index_of(base, w)
        if inside:
            near[index] = U(0)
        else:
            rest[row + index] = U(0)

    @device
    def clear_window(near, window, thread, threads):
        i = S(thread)
        while i * EACH < window:
            near[i] = U(0)
            i += threads

    return Counters(add, get, clear, clear_window, FLAG, EACH)
