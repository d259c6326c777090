"""Sums that an interrupted count was in the middle of, so that it goes on there.

A count that is interrupted returns from all its calls, and each keeps what it has summed so far, the innermost first.
When it goes on, it comes to the same components in the opposite order, and takes their sums, the last one first. If it
does not come to one of them again, since another thread has counted that, those inside of it are made again.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.count_arithmetic import ZERO
from cusubmatch.engines.cpu.primitives.jit import inner

__all__ = ["PARTIAL_WORDS", "forget_partial_sums", "keep_partial_sum", "take_partial_sum"]

FIELDS = 6  # two words of a key; what is done; two words of a count; the bits of its bound
MOST = 64  # sums that are kept; one outside of all these is made again
PARTIAL_WORDS = FIELDS * MOST


@inner
def forget_partial_sums(s):
    """Keep none."""
    s.registers[c.PARTIAL_SUMS] = 0


@inner
def keep_partial_sum(s, first, second, done, value, bound):
    """Keep the sum of the first `done` terms of a component, or of a block of it, by its key."""
    number = s.registers[c.PARTIAL_SUMS]
    if done > 0 and number < MOST:
        at = FIELDS * number
        s.partial_sums[at], s.partial_sums[at + 1], s.partial_sums[at + 2] = first, second, np.uint64(done)
        s.partial_sums[at + 3], s.partial_sums[at + 4] = value
        s.partial_sums[at + 5] = np.float64(bound).view(np.uint64)
        s.registers[c.PARTIAL_SUMS] = number + 1


@inner
def take_partial_sum(s, first, second):
    """The number of terms that are summed already, their sum and its bound; zeros if that is not the last one kept."""
    at = FIELDS * (s.registers[c.PARTIAL_SUMS] - 1)
    if at < 0 or s.partial_sums[at] != first or s.partial_sums[at + 1] != second:
        return 0, ZERO, 0.0
    s.registers[c.PARTIAL_SUMS] -= 1
    value = s.partial_sums[at + 3], s.partial_sums[at + 4]
    return np.int64(s.partial_sums[at + 2]), value, np.uint64(s.partial_sums[at + 5]).view(np.float64)
