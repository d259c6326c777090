"""Random numbers in compiled code: the linear congruential generator of 64 bits of Knuth, TAOCP 2, 3.3.4."""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner

__all__ = ["next_random"]


@inner
def next_random(state):
    """The uint64 after another one; its higher bits are the better ones."""
    return state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
