"""Where the rows of a world lie: those of a candidate next to each other, those of the next candidate after them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["row_function"]

U = np.uint32


def row_function(target: Target) -> Any:
    """A device function (sh, u, v, width) -> place, step.

    Where the row of the first candidate of u among those of v begins, and how far the next candidate's is from it.
    """
    cuda, below = target.cuda, bit_functions(target).below

    @target.device
    def row_of(sh, u, v, width):
        near = U(sh[U(f.NEAR + u)])
        place = U(U(sh[U(U(f.FIRSTS) + u)]) + U(below(near, v) * width))
        return place, U(U(cuda.popc(near)) * width)

    return row_of
