"""Counts that do not wrap: the sum of a walker, in three limbs of base 2**31, and what a candidate set adds to it."""

from __future__ import annotations

from typing import Any

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.walker import program as p

__all__ = ["FULL_SUM", "add_to_count", "take_count", "value_of"]

FULL_SUM = 1 << 62  # partial sums are added to the count before they pass 2**63


@jit
def value_of(leaf_mode, n):
    """What a candidate set of size n adds."""
    if leaf_mode == p.SIZE:
        return n
    if leaf_mode == p.CHOOSE:
        return n * (n - 1) // 2
    if leaf_mode == p.ORDERED:
        return n * (n - 1)
    return n * n


@jit
def add_to_count(state, times, value):
    """Add times * value (times < 2**31, value < 2**62) to the count."""
    registers, limb_mask = state.registers, (1 << p.LIMB_BITS) - 1
    low = registers[p.COUNT_0] + times * (value & limb_mask)
    high = registers[p.COUNT_1] + times * (value >> p.LIMB_BITS) + (low >> p.LIMB_BITS)
    registers[p.COUNT_0] = low & limb_mask
    registers[p.COUNT_1] = high & limb_mask
    registers[p.COUNT_2] += high >> p.LIMB_BITS


def take_count(state: Any) -> int:
    """The count of a walker's state, which is set to zero."""
    low, middle, high = state.registers[p.COUNT_0 : p.COUNT_2 + 1].tolist()
    state.registers[p.COUNT_0 : p.COUNT_2 + 1] = 0
    return low + (middle << p.LIMB_BITS) + (high << 2 * p.LIMB_BITS)
