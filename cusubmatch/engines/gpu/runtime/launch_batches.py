"""The launches of a count: short ones are recorded and replayed as one, long ones come in batches of bounded work.

Work is estimated in seconds on an H200, from sizes alone and rather too high than too low. A count whose whole estimate
is below one batch takes one launch a kernel and no synchronisation but the one that reads the result. A launch costs
the host about as much as these kernels take on a graph of a million edges. So the second count records the launches,
and it and all later ones replay them as one, in which kernels that leave room for others run beside them. Between
batches a caller may report progress or stop.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import whole
from cusubmatch.engines.runs import TaskRange

__all__ = ["FIRST_TICKET", "PIECE_S", "Check", "Launches", "Step", "as_it_is", "evenly", "ranges"]

PIECE_S = 0.05  # estimated seconds between two calls of `check`
COUNTS_BEFORE_RECORDING = 1  # by then all code is on the device
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


def evenly(items: int, total_s: float, most_s: float, launch: Callable[[int, int, Any], Any]) -> Iterator[Step]:
    """Steps of as many items each as are estimated to take `most_s`: launch(start, stop, state)."""
    pieces = min(max(1, math.ceil(total_s / most_s)), items)
    for i in range(pieces):
        piece = functools.partial(launch, items * i // pieces, items * (i + 1) // pieces)
        yield Step(total_s / pieces, piece)


class _Words:
    """Where one count at a time is kept on the device, and its launches once they are recorded."""

    def __init__(self, xp, to_device):
        self.array = xp.zeros(STATE_WORDS, np.uint64)
        self.count, self.device_words = self.array[:FIRST_TICKET], to_device(self.array)
        self.counts, self.replay = 0, None

    def clear(self):
        self.array.fill(0)


class Launches:
    """The launches of one count, to be done again and again, by several threads at once too.

    Parameters
    ----------
    target : Target
    xp : module
        numpy or cupy.
    to_device : callable
        Makes what a kernel takes in place of an array.
    total_s : float
        Estimated seconds of all steps.
    same : bool
        Whether the steps are the same at each count: they can be kept, and no ticket is drawn in two of a whole count.
    """

    def __init__(
        self,
        target: Target,
        xp: Any,
        to_device: Callable[[Any], Any],
        total_s: float,
        same: bool = True,
    ) -> None:
        self._target, self._xp, self._to_device = target, xp, to_device
        self._total_s, self._same = total_s, same
        self._kept: dict[float, list[Step]] = {}
        self._free: list[_Words] = []

    def of(self, total_s: float) -> Launches:
        """Launches of another count, in the same words."""
        other = Launches(self._target, self._xp, self._to_device, total_s, self._same)
        other._free = self._free
        return other

    def part(self, parts: TaskRange, of: int) -> Launches:
        """Launches of some of so many equal parts of the count, in the same words; nothing of them is kept."""
        total_s = self._total_s * (parts.end - parts.begin) / of
        other = Launches(self._target, self._xp, self._to_device, max(total_s, 1e-12), same=False)
        other._free = self._free
        return other

    def count(
        self, steps: Callable[[float], Iterable[Step]], check: Check | None, piece_s: float, *, read: bool = True
    ) -> int:
        """Launch every step and return the count; `steps(most)` gives launches of about so many seconds at most.

        `check(done, count)` is called with the fraction done and the count so far whenever about `piece_s` have been
        launched and more is to come; it may raise. Unless the count is to be `read`, nothing waits for the launches,
        and whoever counts next in the same words must do so on the same stream.
        """
        try:
            words = self._free.pop()
        except IndexError:
            words = _Words(self._xp, self._to_device)
        at_once = check is None or self._total_s <= piece_s
        if at_once and self._same:
            self._launch_again(steps, words)
        else:
            self._launch_pieces(steps, words, None if at_once else check, piece_s)
        count = whole(words.count) if read else 0
        self._free.append(words)
        return count

    def _launch_again(self, steps, words):
        if words.counts == COUNTS_BEFORE_RECORDING:
            largest_first = sorted(self._of(steps, math.inf), key=lambda step: -step.work_s)
            launches = [functools.partial(step.launch, words.device_words) for step in largest_first]
            words.replay = self._target.record(words.clear, launches)
        words.counts += 1
        if words.replay is not None:
            words.replay()
            return
        words.clear()
        for step in self._of(steps, math.inf):
            step.launch(words.device_words)

    def _launch_pieces(self, steps, words, check, piece_s):
        words.clear()
        drawn: set[int] = set()
        done_s, unseen_s = 0.0, 0.0
        for step in self._of(steps, math.inf if check is None else piece_s):
            if check is not None and unseen_s > 0 and unseen_s + step.work_s > piece_s:
                check(min(done_s / self._total_s, 1.0), whole(words.count))
                unseen_s = 0.0
            if step.ticket is not None:
                if step.ticket in drawn:
                    words.array[step.ticket] = 0
                drawn.add(step.ticket)
            step.launch(words.device_words)
            done_s, unseen_s = done_s + step.work_s, unseen_s + step.work_s

    def _of(self, steps, most_s):
        """The steps of so much work at most."""
        if not self._same:
            return steps(most_s)
        if most_s not in self._kept:
            self._kept[most_s] = list(steps(most_s))
        return self._kept[most_s]


def as_it_is(array: Any) -> Any:
    """For kernels that take arrays as they are."""
    return array
