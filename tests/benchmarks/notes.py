"""What notes in time slots say: how many warps were busy, in the tail of a kernel and from its begin to its end.

A slot is 2^SHIFT nanoseconds of the device's clock, and slots come again after SLOTS of them: a kernel must be shorter.
It ended in the last slot before the longest time without a note.
"""

from __future__ import annotations

import numpy as np

__all__ = ["SHIFT", "SLOTS", "busy_at_the_end", "busy_until_they_left"]

SLOTS, SHIFT = 1 << 14, 15  # slots of 33 µs, half a second of them


def busy_at_the_end(looks, idle, ms, tail, warps):
    """The share of the warps that were busy in the last part `tail` of a kernel of `ms` milliseconds.

    A slot has the number of looks of idle warps, and the sum of how many were idle at each; no looks: none was idle.
    """
    length = max(round(tail * ms * 1e6) >> SHIFT, 1)
    at = (_last(looks) - np.arange(length)) % SLOTS
    away = np.where(looks[at] > 0, idle[at] / np.maximum(looks[at], 1), 0).mean()
    return 1 - away / warps


def busy_until_they_left(gone, ms):
    """The share of the warps that were busy in each slot of a kernel; a slot has the number that left in it."""
    length = max(round(1e6 * ms) >> SHIFT, 1)
    after = gone[(_last(gone) - np.arange(length)) % SLOTS]  # from the end backwards
    return (np.cumsum(after) / gone.sum())[::-1]


def _last(noted):
    """The slot of the last note."""
    used = np.flatnonzero(noted)
    return used[np.diff(np.append(used, used[0] + SLOTS)).argmax()]
