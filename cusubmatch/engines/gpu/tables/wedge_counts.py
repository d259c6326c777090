"""Counts of the wedges u, v, w of a vertex u by their ends w, in counters that a block shares."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.tables.counter_rows import counter_functions

__all__ = ["WedgeFunctions", "wedge_functions"]

U, L, S = np.uint32, np.uint64, np.int64


class WedgeFunctions(NamedTuple):
    """Device functions for the wedges of a vertex u, in counters that a block shares.

    Attributes
    ----------
    add_all : (rows, u, thread, near, counters, row) -> uint64
        Counts the wedges u, v, w by w; the sum over them of those that came to w before.
    clear : (rows, u, thread, near, counters, row, dense)
        Sets the counters at their ends to zero. A `dense` window is cleared as a whole: it has fewer words than there
        are wedges.
    """

    add_all: Callable
    clear: Callable


@functools.cache
def wedge_functions(target: Target, threads: int, lanes: int, packed: bool) -> WedgeFunctions:
    """The functions, for groups of lanes that read a row each."""
    device, counter = target.device, counter_functions(target, packed)
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1
    add, clear_counter, clear_window = counter.add, counter.clear, counter.clear_window

    @device
    def add_all(rows, u, thread, near, counters, row):
        base, e, last, total = S(u) - counters.window, rows.offsets[u] + S(U(thread >> U(SHIFT))), rows.upper[u], L(0)
        while e < last:
            f, end = rows.offsets[rows.targets[e]] + S(U(thread & U(LANES - 1))), rows.reverse[e]
            while f < end:
                total = L(total + L(add(near, counters.words, base, row, S(rows.targets[f]), U(1))))
                f += LANES
            e += GROUPS
        return total

    @device
    def clear(rows, u, thread, near, counters, row, dense):
        if dense:
            clear_window(near, counters.window, thread, threads)
        base, e, last = S(u) - counters.window, rows.offsets[u] + S(U(thread >> U(SHIFT))), rows.upper[u]
        while e < last:
            f, end = rows.offsets[rows.targets[e]] + S(U(thread & U(LANES - 1))), rows.reverse[e]
            while f < end:
                w = S(rows.targets[f])
                if dense and w >= base:
                    break
                clear_counter(near, counters.words, base, row, w)
                f += LANES
            e += GROUPS

    return WedgeFunctions(add_all, clear)
