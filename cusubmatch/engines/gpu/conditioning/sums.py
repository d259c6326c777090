"""A sum over the candidates of a vertex: how a warp gets one to begin with, its next term, and its end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.conditioning.component_cache import ComponentCache
from cusubmatch.engines.gpu.conditioning.domains import Domains
from cusubmatch.engines.gpu.conditioning.wide_counts import WideCounts
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["Sums", "sum_functions"]

U, L = np.uint32, np.uint64


class Sums(NamedTuple):
    """Device functions; a whole warp calls them.

    Attributes
    ----------
    begin_root : (sh, w, x)
        The first frame: one root.
    begin_task : (sh, w, arrays, given, bottom)
        The first frame made ready, whose vertex, range and factor are known: under `given` images.
    match : (sh, w, arrays, frame, x) -> whether no domain is empty, trail, pool, touched
        The next term: the vertex is matched to x.
    close : (sh, w, arrays, frame) -> low, high, too_much
        The count of a sum that has no term left, times the product that it is part of; it is kept if it lacks none.
    """

    begin_root: Any
    begin_task: Any
    match: Any
    close: Any


def sum_functions(target: Target, domains: Domains, cached: ComponentCache, counts: WideCounts) -> Sums:
    """The functions, for one target."""
    cuda, lane_of, device = target.cuda, target.lane, target.device
    restart, narrow, remember = domains.restart, domains.narrow, cached.remember
    times, get, put = counts.times, counts.get, counts.put

    @device
    def begin_root(sh, w, x):
        frame, root = U(w + U(sh[f.FRAMES])), U(sh[f.ROOT])
        everything = U(U(0xFFFFFFFF) >> U(U(32) - U(sh[f.VERTICES])))
        cuda.syncwarp()
        if lane_of() == U(0):
            sh[U(frame + f.VERTEX)], sh[U(frame + f.OTHERS)] = root, U(everything & U(~U(U(1) << root)))
            sh[U(frame + f.NEXT)], sh[U(frame + f.END)] = x, U(x + U(1))
            put(sh, U(frame + f.FACTOR), L(1), L(0))
        cuda.syncwarp()

    @device
    def begin_task(sh, w, arrays, given, bottom):
        frame, i = U(w + U(sh[f.FRAMES])), U(0)
        trail, pool, touched = U(0), bottom, U(0)
        restart(sh, w, arrays.sizes)
        others = U(sh[U(frame + f.OTHERS)] | U(U(1) << U(sh[U(frame + f.VERTEX)])))
        while i < given:
            pair = U(w + U(sh[f.GIVEN]) + U(U(2) * i))
            u, x = U(sh[pair]), U(sh[U(pair + 1)])
            _, trail, pool, touched = narrow(sh, w, arrays.store, u, x, others, trail, pool, touched)
            i = U(i + U(1))
        cuda.syncwarp()
        if lane_of() == U(0):
            sh[U(frame + f.REST)], sh[U(frame + f.LACKS)], sh[U(frame + f.IS_TAIL)] = U(0), U(1), U(1)
            sh[U(frame + f.TRAIL_TOP)], sh[U(frame + f.POOL_TOP)], sh[U(frame + f.TOUCHED)] = trail, pool, touched
            put(sh, U(frame + f.PRODUCT), L(1), L(0))
            put(sh, U(frame + f.SUM), L(0), L(0))
        cuda.syncwarp()

    @device
    def match(sh, w, arrays, frame, x):
        u, others = U(sh[U(frame + f.VERTEX)]), U(sh[U(frame + f.OTHERS)])
        trail, pool, touched = U(sh[U(frame + f.TRAIL_TOP)]), U(sh[U(frame + f.POOL_TOP)]), U(sh[U(frame + f.TOUCHED)])
        cuda.syncwarp()
        if lane_of() == U(0):
            sh[U(frame + f.IMAGE)], sh[U(frame + f.NEXT)] = x, U(x + U(1))
        cuda.syncwarp()
        return narrow(sh, w, arrays.store, u, x, others, trail, pool, touched)

    @device
    def close(sh, w, arrays, frame):
        low, high = get(sh, U(frame + f.SUM))
        lacks = U(sh[U(frame + f.LACKS)]) != U(0)
        if not lacks:
            first, second = get(sh, U(frame + f.KEY))
            remember(arrays.cache, U(sh[U(frame + f.PLACE)]), first, second, low, high)
        below = U(frame - U(f.FRAME_WORDS))
        if lacks and frame != U(w + U(sh[f.FRAMES])) and lane_of() == U(0):
            sh[U(below + f.LACKS)] = U(1)
        product, product_high = get(sh, U(frame + f.PRODUCT))
        return times(low, high, product, product_high)

    return Sums(begin_root, begin_task, match, close)
