"""Values by position: what `ndarray.take` does, which makes 64-bit copies of 32-bit positions first."""

from __future__ import annotations

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.primitives.pointers import pointer

__all__ = ["gather"]


@jit
def gather(values, positions, out):
    """Write the value at each position; all are contiguous, and the positions are not tested."""
    source, at, to = pointer(values), pointer(positions), pointer(out)
    for i in range(len(positions)):
        to[i] = source[at[i]]
