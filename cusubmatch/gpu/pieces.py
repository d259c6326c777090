"""Long counts in pieces: launches of bounded work, between which a caller may look or stop.

Work is estimated in seconds on an H200, from sizes alone and rather too high than too low. A count whose whole estimate
is below one piece takes one launch a kernel and no synchronisation but the one that reads the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.gpu.warp import whole

__all__ = ["FIRST_TICKET", "PIECE_S", "Check", "Step", "as_it_is", "longest", "ranges", "run"]

PIECE_S = 0.05  # estimated seconds between two looks
FIRST_TICKET = 2  # words 0 and 1 of the state are the count; each kernel that draws tickets has a word of its own
STATE_WORDS = 8

Check = Callable[[float, int], None]


class Step(NamedTuple):
    """One launch.

    Attributes
    ----------
    work_s : float
        Estimated seconds.
    launch : callable (state) -> None
        Launches a kernel that adds to the count and may draw tickets, counted from zero.
    ticket : int, optional
        The word of the state in which its tickets are counted.
    """

    work_s: float
    launch: Callable[[Any], Any]
    ticket: int | None = None


def ranges(xp: Any, cumulative: Any, total: float, most: float) -> Iterator[tuple[int, int, float]]:
    """Consecutive ranges of items, each with at most `most` of the total (or a single item): (start, stop, amount).

    `cumulative` holds the sums of the amounts up to and including each item.
    """
    start, before = 0, 0.0
    while start < len(cumulative):
        stop, upto = len(cumulative), total
        if total - before > most:
            stop = int(
                xp.searchsorted(cumulative, xp.asarray([before + most], dtype=cumulative.dtype), side="right")[0]
            )
            stop = max(stop, start + 1)
            upto = cumulative[stop - 1].item()
        yield start, stop, upto - before
        start, before = stop, upto


def run(
    xp: Any,
    steps: Iterable[Step],
    total_s: float,
    check: Check | None,
    piece_s: float,
    to_device: Callable[[Any], Any],
) -> int:
    """Launch every step and return the count; `to_device` makes what a kernel takes in place of an array.

    `check(done, count)` is called with the fraction done and the count so far whenever about `piece_s` have been
    launched and more is to come; it may raise.
    """
    state = xp.zeros(STATE_WORDS, np.uint64)
    device_state = to_device(state)
    drawn: set[int] = set()
    done_s, unseen_s = 0.0, 0.0
    for step in steps:
        if check is not None and unseen_s > 0 and unseen_s + step.work_s > piece_s:
            check(min(done_s / total_s, 1.0), whole(state[:FIRST_TICKET]))
            unseen_s = 0.0
        if step.ticket is not None:
            if step.ticket in drawn:
                state[step.ticket] = 0
            drawn.add(step.ticket)
        step.launch(device_state)
        done_s, unseen_s = done_s + step.work_s, unseen_s + step.work_s
    return whole(state[:FIRST_TICKET])


def as_it_is(array: Any) -> Any:
    """For kernels that take arrays as they are."""
    return array


def longest(check: Check | None, piece_s: float) -> float:
    """The most that a launch may do: without a check there is nothing to stop for."""
    return math.inf if check is None else piece_s
