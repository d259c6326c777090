"""Candidates that lack a neighbour are taken out until none is left (arc consistency, AC-3; Mackworth 1977)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["narrow_function"]

U = np.uint32


def narrow_function(target: Target, row: Any) -> Any:
    """A device function (sh, sets, sizes, near, nth, rows, at, width, pending) -> whether each vertex has a candidate.

    `sets` and `sizes` are where in shared memory the sets of all vertices are, of `width` words each, and the numbers
    of their candidates; `near` and `nth` where the vertices are that each is joined to. `pending`: vertices whose sets
    have changed. `row` is a device function (sh, at, u, j, k, width) -> place, step: in `rows`, of word k of what the
    first candidate of u leaves of its neighbour j; and how far the next candidate's is from it. `at` is handed on.
    """
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane
    bits = bit_functions(target)
    first_of, without_first, unite = bits.first_of, bits.without_first, bits.unite

    @target.device
    def narrow(sh, sets, sizes, near, nth, rows, at, width, pending):
        is_left = True
        while is_left and pending != U(0):
            u = first_of(pending)
            pending = without_first(pending)
            of_u, size, others = U(sets + U(u * width)), U(0), U(sh[U(near + u)])
            for k in range(width):
                size = U(size + U(cuda.popc(sh[U(of_u + U(k))])))
            if lane_of() == U(0):
                sh[U(sizes + u)] = size
            is_left = size != U(0)
            number, changed, t = U(U(cuda.popc(others)) * width), U(0), U(lane_of())
            while is_left and t < number:
                j = U(t // width)
                k = U(t - U(j * width))
                v = U(sh[U(U(nth + U(u << U(5))) + j)])
                of_v = U(U(sets + U(v * width)) + k)
                old, united = U(sh[of_v]), U(0)
                place, step = row(sh, at, u, j, k, width)
                if old != U(0):
                    for word in range(width):
                        bits = U(sh[U(of_u + U(word))])
                        while bits != U(0):
                            x = U(U(U(word) << U(5)) + first_of(bits))
                            bits = without_first(bits)
                            united = U(united | U(rows[U(place + U(x * step))]))
                    if U(old & U(~united)) != U(0):
                        sh[of_v] = U(old & united)
                        changed = U(changed | U(U(1) << v))
                t = U(t + U(WARP))
            cuda.syncwarp()
            pending = U(pending | unite(changed))
        cuda.syncwarp()
        return is_left

    return narrow
