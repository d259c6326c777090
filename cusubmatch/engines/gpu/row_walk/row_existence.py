"""Whether some rows of the bound edges fulfil windows and conditions together: a search nested in a walk over vertices.

Where a match is its vertices, an edge that takes a row has the rows of the arc between its images, sorted by time. A
lane searches them in the order in which the walk reaches the edges; the first combination ends the search. Of each edge
it keeps the next position and where the rows end.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.row_conditions import SEARCH_WORDS, places_of, row_conditions
from cusubmatch.engines.gpu.row_walk.row_ranges import FIRST_TIME, LAST_TIME, RowRanges
from cusubmatch.engines.gpu.row_walk.row_stack import RowStack
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.plan.conditions.bounds import NO_BOUND

__all__ = ["row_existence"]

U, T = np.uint32, np.int64
END = 1  # the word beside the next position


@functools.cache
def row_existence(target: Target, stack: RowStack, ranges: RowRanges) -> Any:
    """A device function (sh, w, t, bound, searched, data, scratch) -> bool; `bound` is as `row_conditions` has it."""
    holds, word = row_conditions(target, stack), places_of(target).word
    open_edge = _open_function(target, stack, ranges)

    @target.device
    def fulfilled(sh, w, t, bound, record, data, scratch):
        """Whether the conditions hold that the row of an edge decides at this step."""
        i, end = U(sh[U(record + U(f.ASKED))]), U(sh[U(record + U(f.ASKED_END))])
        while i < end:
            if U(sh[U(i + U(1))]) <= t and not holds(sh, w, t, bound, U(sh[i]), data, scratch):
                return False
            i = U(i + U(2))
        return True

    @target.device
    def exists(sh, w, t, bound, searched, data, scratch):
        first = U(U(sh[f.STACK_DEPTH]) * U(2))
        k = U(1)  # edges that are open
        open_edge(sh, w, t, bound, U(0), data, scratch)
        while k > U(0):
            words = U(first + U(U(k - U(1)) * U(SEARCH_WORDS)))
            position = scratch.ints[word(words)]
            if position >= scratch.ints[word(U(words + U(END)))]:
                k = U(k - U(1))
            else:
                scratch.ints[word(words)] = T(position + T(1))
                record = U(U(sh[f.SEARCHED]) + U(U(k - U(1)) * U(f.SEARCHED_EDGE)))
                if fulfilled(sh, w, t, bound, record, data, scratch):
                    if k == searched:
                        return True
                    open_edge(sh, w, t, bound, k, data, scratch)
                    k = U(k + U(1))
        return False

    return exists


def _open_function(target, stack, ranges):
    """The rows of an edge that the rows bound before leave."""
    word, times_in, position_of = places_of(target).word, ranges.times_in, stack.position

    @target.device
    def open_edge(sh, w, t, bound, k, data, scratch):
        slot, position, _x, _group = bound
        first, record = U(U(sh[f.STACK_DEPTH]) * U(2)), U(U(sh[f.SEARCHED]) + U(k * U(f.SEARCHED_EDGE)))
        level = U(sh[U(record + U(f.ARC_LEVEL))])
        place = U(position)
        if level < t:
            place = position_of(sh, w, U(t - U(1)), slot, level)
        if U(sh[U(record + U(f.BY_NUMBER))]) != U(0):
            arc = U(data.rows[place])
        else:
            arc = U(place - U(sh[U(record + U(f.ARC_BASE))]))
        at = U(U(sh[U(record + U(f.OF_ARC))]) + arc)
        low, high = T(FIRST_TIME), T(LAST_TIME)
        i, end = U(sh[U(record + U(f.AGAINST))]), U(sh[U(record + U(f.AGAINST_END))])
        while i < end:
            other = U(first + U(U(sh[i]) * U(SEARCH_WORDS)))
            time = T(data.times[scratch.ints[word(other)] - T(1)])
            pair = U(sh[U(i + U(1))])
            least, most = T(data.bounds[pair]), T(data.bounds[U(pair + U(1))])
            if least > T(-NO_BOUND):
                low = max(low, T(time + least))
            if most < T(NO_BOUND):
                high = min(high, T(time + most))
            i = U(i + U(2))
        begin, until = times_in(data, U(data.offsets[at]), U(data.offsets[U(at + U(1))]), low, high)
        words = U(first + U(k * U(SEARCH_WORDS)))
        scratch.ints[word(words)] = T(begin)
        scratch.ints[word(U(words + U(END)))] = T(until)

    return open_edge
