"""What a candidate must fulfil: its vertex, its row, and conditions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.row_conditions import row_conditions
from cusubmatch.engines.gpu.row_walk.row_existence import row_existence
from cusubmatch.engines.gpu.row_walk.row_ranges import NO_ARC, RowRanges
from cusubmatch.engines.gpu.row_walk.row_stack import RowStack
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["candidate_test"]

U = np.uint32


@functools.cache
def candidate_test(target: Target, stack: RowStack, ranges: RowRanges, asks_more: bool) -> Any:
    """A device function (sh, w, t, slot, position, data, scratch) -> (whether it fits, vertex, group).

    The candidate is that of step t for a slot of level t - 1; `vertex` and `group` are what it binds. With `asks_more`
    conditions are tested, and combinations of rows searched for.
    """
    step_of, accepts = stack.step, _vertex_function(target, stack, ranges)
    row_fits, may_go_on, fulfils = _row_function(target, stack), _ahead_function(target, stack, ranges), None
    if asks_more:
        fulfils = _more_function(target, row_conditions(target, stack), row_existence(target, stack, ranges))
    ASKS_MORE = asks_more

    @target.device
    def test(sh, w, t, slot, position, data, scratch):
        step, x, group, fits = step_of(sh, t), U(0), U(0), True
        if t == U(0):
            if U(sh[U(step + U(f.KIND))]) == U(f.VERTICES):
                group = U(data.roots[position])
            else:
                group = U(data.owners[U(position - U(sh[f.OWNERS]))])
                x = U(data.ends[position])
            fits = accepts(sh, w, t, slot, U(0), group, group, data)
        binds = U(sh[U(step + U(f.BINDS))])
        if binds != U(f.NOTHING):
            x = U(data.ends[position])
            if fits:
                fits = accepts(sh, w, t, slot, binds, group, x, data)
        if fits and U(sh[U(step + U(f.ROW_TESTS))]) < U(sh[U(step + U(f.ROW_TESTS_END))]):
            fits = row_fits(sh, w, t, slot, step, position, data)
        if fits and U(sh[U(step + U(f.AHEAD))]) != U(f.NOTHING):
            fits = may_go_on(sh, w, t, slot, step, group, x, data)
        if ASKS_MORE:
            if fits:
                fits = fulfils(sh, w, t, (slot, position, x, group), data, scratch)
        return fits, x, group

    return test


def _vertex_function(target, stack, ranges):
    """Whether a vertex fits those bound before it."""
    at, group_at, step_of, image = stack.at, stack.group_at, stack.step, stack.image
    arc_between = ranges.arc_between

    @target.device
    def compares(asked, k, y, x):
        """Whether x fits the image y of the k-th vertex; `asked` are the bits of a vertex."""
        differs, above, below = asked
        bit = U(U(1) << k)
        if U(differs & bit) != U(0) and x == y:
            return False
        if U(above | below) != U(0):
            if U(above & bit) != U(0) and y >= x:
                return False
            return not (U(below & bit) != U(0) and y <= x)
        return True

    @target.device
    def forbids(sh, w, t, slot, record, group, x, data):
        """Whether there is an arc that there must not be."""
        i, end = U(sh[U(record + U(f.FORBIDDEN))]), U(sh[U(record + U(f.FORBIDDEN_END))])
        while i < end:
            y = group
            if t > U(0):
                y = image(sh, w, U(t - U(1)), slot, U(sh[U(i + U(1))]))
            source, target = y, x
            if U(sh[U(i + U(2))]) != U(0):
                source, target = x, y
            if arc_between(data, U(sh[i]), source, target) != U(NO_ARC):
                return True
            i = U(i + U(3))
        return False

    @target.device
    def accepts(sh, w, t, slot, k, group, x, data):
        """Whether the k-th vertex may be mapped to x; `group` is what the first row groups by, at level 0."""
        record = U(U(sh[f.VERTEX_RECORDS]) + U(k * U(f.VERTEX)))
        mask = U(sh[U(record + U(f.MASK))])
        if mask != U(f.NO_MASK) and U(U(U(data.masks[x]) >> mask) & U(1)) == U(0):
            return False
        differs, above = U(sh[U(record + U(f.DIFFERS))]), U(sh[U(record + U(f.ABOVE))])
        asked = differs, above, U(sh[U(record + U(f.BELOW))])
        level, s, first = U(t), U(slot), group
        while level > U(0):
            level = U(level - U(1))
            bound = U(sh[U(step_of(sh, level) + U(f.BINDS))])
            if bound != U(f.NOTHING):
                if not compares(asked, bound, U(sh[at(sh, w, level, f.IMAGE, s)]), x):
                    return False
            if level == U(0):
                first = U(sh[group_at(sh, w, s)])
            else:
                s = U(sh[at(sh, w, level, f.PARENT, s)])
        if not compares(asked, U(0), first, x):
            return False
        return not forbids(sh, w, t, slot, record, first, x, data)

    return accepts


def _ahead_function(target, stack, ranges):
    """Whether the next step's arc may be there."""
    image, may_have_arc = stack.image, ranges.may_have_arc

    @target.device
    def may_go_on(sh, w, t, slot, step, group, x, data):
        y = group
        if t > U(0):
            y = image(sh, w, U(t - U(1)), slot, U(sh[U(step + U(f.AHEAD))]))
        source, target = y, x
        if U(sh[U(step + U(f.AHEAD_SOURCE))]) != U(0):
            source, target = x, y
        return may_have_arc(data, U(sh[U(step + U(f.AHEAD_FILTER))]), U(sh[U(step + U(f.AHEAD_SHIFT))]), source, target)

    return may_go_on


def _row_function(target, stack):
    """Whether a row is another one than those bound before it, and stands before or after them."""
    position_of = stack.position

    @target.device
    def row_fits(sh, w, t, slot, step, position, data):
        row = U(data.rows[position])
        i, end = U(sh[U(step + U(f.ROW_TESTS))]), U(sh[U(step + U(f.ROW_TESTS_END))])
        while i < end:
            other = U(data.rows[position_of(sh, w, U(t - U(1)), slot, U(sh[i]))])
            test = U(sh[U(i + U(1))])
            if (
                (test == U(f.OTHER) and row == other)
                or (test == U(f.AFTER) and row <= other)
                or (test == U(f.BEFORE) and row >= other)
            ):
                return False
            i = U(i + U(2))
        return True

    return row_fits


def _more_function(target, holds, exists):
    """Conditions, and rows of the edges that are searched for."""

    @target.device
    def fulfils(sh, w, t, bound, data, scratch):
        step = U(U(sh[f.STEP_RECORDS]) + U(t * U(f.STEP)))
        i, end = U(sh[U(step + U(f.TESTED))]), U(sh[U(step + U(f.TESTED_END))])
        while i < end:
            if not holds(sh, w, t, bound, U(sh[i]), data, scratch):
                return False
            i = U(i + U(1))
        searched = U(sh[U(step + U(f.SEARCH))])
        if searched == U(0):
            return True
        return exists(sh, w, t, bound, searched, data, scratch)

    return fulfils
