"""The candidates of a step: rows in the window that the rows bound so far leave, the rows of an arc, or arcs."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.device_rows import arc_hash, filter_bits
from cusubmatch.engines.gpu.row_walk.row_stack import RowStack
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.plan.conditions.bounds import NO_BOUND

__all__ = ["RowRanges", "row_ranges"]

U, T = np.uint32, np.int64
FIRST_TIME, LAST_TIME = -(1 << 63) + 1, (1 << 63) - 2
NO_ARC = 0xFFFFFFFF


class RowRanges(NamedTuple):
    """Device functions.

    Attributes
    ----------
    times_in : (data, begin, end, low, high) -> begin, end
        The part of a range of rows with times from `low` to `high`.
    arc_between : (data, arcs, x, y) -> uint32
        The position of an arc in a list of arcs; NO_ARC if there is none.
    open_step : (sh, w, t, slot, data) -> begin, length
        The candidates of step t for a slot of level t - 1.
    count_step : (sh, w, t, slot, data) -> uint32
        How many candidates of the last step are matches, where they are only measured.
    may_have_arc : (data, filter, shift, x, y) -> bool
        Whether the filter of a relation's arcs lets (x, y) pass.
    """

    times_in: Any
    arc_between: Any
    open_step: Any
    count_step: Any
    may_have_arc: Any


@functools.cache
def row_ranges(target: Target, stack: RowStack) -> RowRanges:
    """The device functions for one target."""
    times_in, arc_between = _list_functions(target)
    window = _window_function(target, stack)
    may_have_arc, known_arc, arc_of_step = _arc_functions(target, stack, arc_between)
    step_of, image = stack.step, stack.image

    @target.device
    def open_window(sh, w, t, slot, data):
        """The range of a step, and the times that its rows may have."""
        step = step_of(sh, t)
        kind, before = U(sh[U(step + U(f.KIND))]), U(t - U(1))
        begin, end, low, high = U(0), U(0), T(FIRST_TIME), T(LAST_TIME)
        if kind == U(f.SCAN) or kind == U(f.NEIGHBOURS):
            place = U(U(sh[U(step + U(f.LIST))]) + image(sh, w, before, slot, U(sh[U(step + U(f.START))])))
            begin, end = U(data.offsets[place]), U(data.offsets[U(place + U(1))])
        else:
            arc = arc_of_step(sh, w, before, slot, step, data)
            if arc != U(NO_ARC):
                begin, end = arc, U(arc + U(1))
                if kind == U(f.CLOSE):
                    place = U(U(sh[U(step + U(f.ROWS_OF_ARC))]) + U(arc - U(sh[U(step + U(f.FIRST_ARC))])))
                    begin, end = U(data.offsets[place]), U(data.offsets[U(place + U(1))])
        if begin < end and U(sh[U(step + U(f.WINDOW))]) < U(sh[U(step + U(f.WINDOW_END))]):
            low, high = window(sh, w, before, slot, step, data)
            begin, end = times_in(data, begin, end, low, high)
        return begin, end, low, high

    @target.device
    def open_step(sh, w, t, slot, data):
        begin, end, _, _ = open_window(sh, w, t, slot, data)
        return begin, U(end - begin)

    @target.device
    def count_step(sh, w, t, slot, data):
        begin, end, low, high = open_window(sh, w, t, slot, data)
        count = U(end - begin)
        step, before = step_of(sh, t), U(t - U(1))
        i, last = U(sh[U(step + U(f.EXCLUDED))]), U(sh[U(step + U(f.EXCLUDED_END))])
        if count > U(0) and i < last:
            x = image(sh, w, before, slot, U(sh[U(step + U(f.START))]))
            while i < last:
                y = image(sh, w, before, slot, U(sh[i]))
                source, target = x, y
                if U(sh[U(step + U(f.REVERSED))]) != U(0):
                    source, target = y, x
                arc = known_arc(sh, step, source, target, data)
                if arc != U(NO_ARC):
                    place = U(U(sh[U(step + U(f.ROWS_OF_ARC))]) + U(arc - U(sh[U(step + U(f.FIRST_ARC))])))
                    first, until = times_in(data, U(data.offsets[place]), U(data.offsets[U(place + U(1))]), low, high)
                    count = U(count - U(until - first))
                i = U(i + U(1))
        return count

    return RowRanges(times_in, arc_between, open_step, count_step, may_have_arc)


def _list_functions(target):
    """Binary searches in the lists."""

    @target.device
    def times_in(data, begin, end, low, high):
        first, last = U(begin), U(end)
        while first < last:
            middle = U(first + U(U(last - first) >> U(1)))
            if T(data.times[middle]) < low:
                first = U(middle + U(1))
            else:
                last = middle
        until, last, stride, inside = first, first, U(1), first < U(end)  # windows are short: gallop, then search
        while inside and T(data.times[last]) <= high:
            until = U(last + U(1))
            if U(U(end) - last) <= stride:
                last, inside = U(end), False
            else:
                last, stride = U(last + stride), U(stride << U(1))
        while until < last:
            middle = U(until + U(U(last - until) >> U(1)))
            if T(data.times[middle]) <= high:
                until = U(middle + U(1))
            else:
                last = middle
        return first, until

    @target.device
    def arc_between(data, arcs, x, y):
        begin, end = U(data.offsets[U(arcs + x)]), U(data.offsets[U(U(arcs + x) + U(1))])
        first, last = begin, end
        while first < last:
            middle = U(first + U(U(last - first) >> U(1)))
            if U(data.ends[middle]) < y:
                first = U(middle + U(1))
            else:
                last = middle
        if first < end and U(data.ends[first]) == y:
            return first
        return U(NO_ARC)

    return times_in, arc_between


def _window_function(target, stack):
    """The times that the rows bound so far leave a row."""
    position = stack.position

    @target.device
    def window(sh, w, t, slot, step, data):
        low, high = T(FIRST_TIME), T(LAST_TIME)
        i, end = U(sh[U(step + U(f.WINDOW))]), U(sh[U(step + U(f.WINDOW_END))])
        while i < end:
            time = T(data.times[position(sh, w, t, slot, U(sh[i]))])
            bound = U(sh[U(i + U(1))])
            least, most = T(data.bounds[bound]), T(data.bounds[U(bound + U(1))])
            if least > T(-NO_BOUND):
                low = max(low, T(time + least))
            if most < T(NO_BOUND):
                high = min(high, T(time + most))
            i = U(i + U(2))
        return low, high

    return window


def _arc_functions(target, stack, arc_between):
    """Arcs between images, looked up in the filter first."""
    image, hash_of, bits_of = stack.image, target.device(arc_hash), target.device(filter_bits)

    @target.device
    def may_have_arc(data, first_word, shift, x, y):
        h = hash_of(x, y)
        bits = bits_of(h)
        return U(U(data.filters[U(first_word + U(h >> shift))]) & bits) == bits

    @target.device
    def known_arc(sh, step, x, y, data):
        if not may_have_arc(data, U(sh[U(step + U(f.FILTER))]), U(sh[U(step + U(f.FILTER_SHIFT))]), x, y):
            return U(NO_ARC)
        return arc_between(data, U(sh[U(step + U(f.ARCS))]), x, y)

    @target.device
    def arc_of_step(sh, w, t, slot, step, data):
        x = image(sh, w, t, slot, U(sh[U(step + U(f.SOURCE))]))
        y = image(sh, w, t, slot, U(sh[U(step + U(f.TARGET))]))
        return known_arc(sh, step, x, y, data)

    return may_have_arc, known_arc, arc_of_step
