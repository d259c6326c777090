"""Checkpoints: a warp leaves its stack in global memory at the end of a launch, and resumes from there in the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.walker import program_format as p

__all__ = ["CHECKPOINT_HEADER", "checkpoint_functions"]

U = np.uint32
CHECKPOINT_HEADER = 2  # words before the stack: its level or 0 if nothing is left, and its lowest level with work


def checkpoint_functions(target: Target) -> tuple[Any, Any]:
    """Two device functions: resume (sh, w, checkpoints, own) -> t, floor; and save (sh, w, checkpoints, own, t, floor).

    `own` is where the warp's checkpoint begins, t the level that it works on, and floor its lowest level with work; t
    is less where nothing is left.
    """
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane

    @target.device
    def resume(sh, w, checkpoints, own):
        t, floor = U(checkpoints[own]), U(checkpoints[own + 1])
        if t > U(0):
            i = lane_of()
            while i < U(sh[p.WORDS]):
                sh[U(w + i)] = checkpoints[own + CHECKPOINT_HEADER + np.int64(i)]
                i = U(i + WARP)
            cuda.syncwarp()
        else:
            floor = U(1)
        return t, floor

    @target.device
    def save(sh, w, checkpoints, own, t, floor):
        if lane_of() == U(0):
            checkpoints[own] = t if t >= floor else U(0)
            checkpoints[own + 1] = floor
        if t >= floor:
            i = lane_of()
            while i < U(sh[p.WORDS]):
                checkpoints[own + CHECKPOINT_HEADER + np.int64(i)] = sh[U(w + i)]
                i = U(i + WARP)

    return resume, save
