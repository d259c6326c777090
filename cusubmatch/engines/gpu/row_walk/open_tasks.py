"""The first two steps of a walk, as far as its tasks need them: which rows of the first step fit, and their ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.row_ranges import row_ranges
from cusubmatch.engines.gpu.row_walk.row_stack import row_stack
from cusubmatch.engines.gpu.row_walk.row_tests import candidate_test
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory

__all__ = ["make_open_tasks"]

U, T = np.uint32, np.int64


@kernel_factory
def make_open_tasks(target: Target, asks_more: bool) -> Any:
    """The kernel that opens the second step for each row of the first one.

    Its arguments: the program; `RowData`; `Scratch`; the first position and how many; and for each row where its range
    of the second step begins and how long it is, 0 where the row does not fit.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    stack = row_stack(target)
    ranges = row_ranges(target, stack)
    test, open_step = candidate_test(target, stack, ranges, asks_more), ranges.open_step
    at, group_at = stack.at, stack.group_at

    def open_tasks(program, data, scratch, first, n, begins, lengths):
        sh, lane = cuda.shared.array(0, uint32), lane_of()
        size = U(program[f.SIZE])
        i = U(U(warp_of() * U(WARP)) + lane)
        while i < size:
            sh[i] = program[i]
            i = U(i + U(cuda.blockDim.x))
        cuda.syncthreads()
        w = U(size + U(warp_of() * U(sh[f.STACK_WORDS])))
        threads = T(cuda.gridDim.x) * T(cuda.blockDim.x)
        root = T(cuda.blockIdx.x) * T(cuda.blockDim.x) + T(U(warp_of() * U(WARP))) + T(lane)
        while root < n:
            position, begin, length = U(first + root), U(0), U(0)
            fits, x, group = test(sh, w, U(0), U(0), position, data, scratch)
            if fits:
                sh[at(sh, w, U(0), f.IMAGE, lane)] = x
                sh[at(sh, w, U(0), f.POSITION, lane)] = position
                sh[group_at(sh, w, lane)] = group
                begin, length = open_step(sh, w, U(1), lane, data)
            begins[root] = begin
            lengths[root] = length
            root = T(root + threads)

    return target.kernel(open_tasks)
