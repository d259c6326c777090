"""The last level of a row walk: candidates are counted, or written as matches."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.row_walk import row_format as f
from cusubmatch.engines.gpu.row_walk.row_stack import RowStack
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["leaf_function"]

U, T, L = np.uint32, np.int64, np.uint64
WINDOWS = 32  # of candidates, each as wide as a warp, before the clock may be looked at


def leaf_function(target: Target, stack: RowStack, test: Any, emits: bool) -> Any:
    """A device function (sh, w, t, data, state, scratch, output) -> (this lane's matches, windows, whether it is full).

    Where the output is full, the candidates that found no room are kept for the next launch.
    """
    cuda, WARP, FULL, lane_of = target.cuda, target.WARP, target.FULL, target.lane
    candidate, write, reserve = stack.candidate, _write_function(target, stack), _reserve_function(target)
    EMITS = emits

    @target.device
    def leaf(sh, w, t, data, state, scratch, output):
        lane, counted, windows, full = lane_of(), L(0), U(0), False
        header = U(w + U(f.STACK_HEADER) + U(t * U(f.LEVEL_HEADER)))
        cursor, total = U(sh[header]), U(sh[U(header + U(f.TOTAL))])
        while cursor < total and windows < U(WINDOWS) and not full:
            number, fits, slot, position, x, group = U(cursor + lane), False, U(0), U(0), U(0), U(0)
            if number < total:
                slot, position = candidate(sh, w, t, number)
                fits, x, group = test(sh, w, t, slot, position, data, scratch)
            if EMITS:
                found = U(cuda.ballot_sync(FULL, fits))
                if found != U(0):
                    base = reserve(state, U(cuda.popc(found)), output.capacity)
                    full = base < T(0)
                    if fits and not full:
                        place = base + T(cuda.popc(U(found & U(U(U(1) << lane) - U(1)))))
                        write(sh, w, t, (slot, position, x, group), place, data, output)
            if not full:
                if fits:
                    counted = L(counted + L(1))
                cursor = min(U(cursor + U(WARP)), total)
            windows = U(windows + U(1))
        cuda.syncwarp()
        if lane == U(0):
            sh[header] = cursor
        cuda.syncwarp()
        return counted, windows, full

    return leaf


def _reserve_function(target):
    """Room in the output."""
    cuda, FULL, lane_of = target.cuda, target.FULL, target.lane

    @target.device
    def reserve(state, rows, capacity):
        """Where so many rows begin; -1 if there is no room, and then the launch ends."""
        base = T(-1)
        if lane_of() == U(0):
            base = T(cuda.atomic.add(state, f.FILLED, L(rows)))
            if base + T(rows) > capacity:
                if base <= capacity:  # the first without room: what was written ends here
                    cuda.atomic.exch(state, f.VALID_ROWS, L(base))
                cuda.atomic.exch(state, f.STOP, L(1))
                base = T(-1)
        return T(cuda.shfl_sync(FULL, base, 0))

    return reserve


def _write_function(target, stack):
    """A match as a column of the output."""
    image, position_of = stack.image, stack.position

    @target.device
    def write(sh, w, t, bound, place, data, output):
        slot, position, x, group = bound
        binds = U(sh[U(U(sh[f.STEP_RECORDS]) + U(t * U(f.STEP)) + U(f.BINDS))])
        i, columns = U(0), U(sh[f.COLUMNS])
        while i < U(sh[f.N_COLUMNS]):
            k = U(sh[U(columns + i)])
            if k == binds:
                y = U(x)
            elif t == U(0):
                y = U(group)
            else:
                y = image(sh, w, U(t - U(1)), slot, k)
            output.vertices[T(i) * output.capacity + place] = np.int32(y)
            i = U(i + U(1))
        i, columns = U(0), U(sh[f.ROW_COLUMNS])
        while i < U(sh[f.N_ROW_COLUMNS]):
            level, at = U(sh[U(columns + i)]), U(position)
            if level < t:
                at = position_of(sh, w, U(t - U(1)), slot, level)
            output.rows[T(i) * output.capacity + place] = T(data.rows[at])
            i = U(i + U(1))

    return write
