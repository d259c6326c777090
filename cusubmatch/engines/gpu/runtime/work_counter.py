"""Blocks draw what they work on by tickets: one that is done takes the next item, and none has a share of its own."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.launch_batches import FIRST_TICKET

__all__ = ["TICKET", "make_draw"]

U, L = np.uint32, np.uint64

TICKET = FIRST_TICKET


@functools.cache
def make_draw(target: Target) -> Any:
    """A device function (drawn, thread, state, start) -> uint32: the next item of a block, in all its threads.

    `drawn` is in shared memory; the item is its first word, and all others are set to zero. Everything that the block's
    threads did before is done when it returns.
    """
    cuda = target.cuda

    @target.device
    def draw(drawn, thread, state, start):
        cuda.syncthreads()
        if thread == 0:
            drawn[0] = U(U(cuda.atomic.add(state, TICKET, L(1))) + start)
            for i in range(1, len(drawn)):
                drawn[i] = U(0)
        cuda.syncthreads()
        return U(drawn[0])

    return draw
