"""What both states of a count have alike: the registers, and how many pattern vertices there may be.

Sets of pattern vertices are bits of an integer.
"""

from __future__ import annotations

__all__ = [
    "ABORTED",
    "ADDED",
    "FACTORS",
    "LEAST_VERTICES",
    "MATCHED",
    "MAX_VERTICES",
    "MOST_COMBINATIONS",
    "PARTIAL_SHIFT",
    "PARTIAL_SUMS",
    "POOL_TOP",
    "POSITION",
    "RANGE_END",
    "REGISTERS",
    "ROOTS",
    "SHIFT",
    "STEPS",
    "TOUCHED",
    "TRAIL_ENTRIES",
    "TRAIL_TOP",
    "WHOLE_SHIFT",
]

MAX_VERTICES = 32
# Fields of the registers.
TOUCHED, MATCHED, TRAIL_TOP, POOL_TOP, STEPS, ABORTED, POSITION, SHIFT = range(8)
RANGE_END, ROOTS = 8, 9  # of the roots that are counted just now, and how many of a call are
ADDED = 10  # entries of the cache, which those of all threads do not have yet
PARTIAL_SUMS, PARTIAL_SHIFT = 11, 12  # how many are kept, and the SHIFT that they were made with
MOST_COMBINATIONS, LEAST_VERTICES = 13, 14  # of a component that is counted by elimination; 0: none is
REGISTERS = 15
TRAIL_ENTRIES = 2 * MAX_VERTICES * MAX_VERTICES  # at the most
FACTORS = 6 * MAX_VERTICES  # random words
WHOLE_SHIFT = 16  # bits: a domain is gone through from SHIFT / 2^16 of it on
