"""A product over components: what a warp does once a vertex is matched, or the sum over a component is complete.

Each component is counted at once, as a star, by what the cache knows, or by a new sum on the stack, whose frame keeps
the rest of the product. The component with the most vertices comes last, so that its sum goes on in the whole count if
the sum before did: such a sum is a tail, of which a part can be donated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.conditioning.component_cache import ComponentCache
from cusubmatch.engines.gpu.conditioning.components import AT_ONCE, SHORT_STAR, STAR, Components
from cusubmatch.engines.gpu.conditioning.wide_counts import WideCounts
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["Products", "product_functions"]

U, L = np.uint32, np.uint64


class Products(NamedTuple):
    """Device functions; a whole warp calls them.

    Attributes
    ----------
    multiply : (sh, w, arrays, depth, rest, low, high, trail, pool, touched) -> depth, too_much
        Multiply by the counts of the components of `rest`, until a sum is begun or the product is added to the last
        sum; the frames that there are then, and whether a count may have more than 110 bits.
    """

    multiply: Any


def product_functions(target: Target, components: Components, cached: ComponentCache, counts: WideCounts) -> Products:
    """The functions, for one target."""
    cuda, lane_of, device = target.cuda, target.lane, target.device
    component_of, shape_of = components.component_of, components.shape_of
    count_apart, count_star = components.count_apart, components.count_star
    key_of, lookup, remember = cached.key_of, cached.lookup, cached.remember
    plus, times, get, put = counts.plus, counts.times, counts.get, counts.put
    begin_sum, keep_key = _begin_function(target, components, counts), _key_function(target, counts)

    @device
    def count_of(sh, w, arrays, component):
        """Whether the count of a component is known now, and the count; else its key, and where it may be kept."""
        shape, centre = shape_of(sh, w, arrays.store, component)
        known, low, high, place, first, second = True, L(0), L(0), U(0), L(0), L(0)
        if shape == U(AT_ONCE):
            low = count_apart(sh, w, arrays.store, component)
        elif shape != U(SHORT_STAR):
            first, second = key_of(sh, w, arrays.store, arrays.factors, component)
            known, low, high, place = lookup(sh, arrays.cache, first, second)
        if shape == U(SHORT_STAR) or (shape == U(STAR) and not known):
            known, low = True, count_star(sh, w, arrays.store, component, centre)
            if shape == U(STAR):
                remember(arrays.cache, place, first, second, low, L(0))
        return known, low, high, place, first, second

    @device
    def add(sh, w, depth, low, high):
        """Add a product to the last sum."""
        frame = U(w + U(sh[f.FRAMES]) + U(U(depth - U(1)) * U(f.FRAME_WORDS)))
        some, some_high = get(sh, U(frame + f.SUM))
        some, some_high = plus(some, some_high, low, high)
        cuda.syncwarp()
        if lane_of() == U(0):
            put(sh, U(frame + f.SUM), some, some_high)
        cuda.syncwarp()

    @device
    def multiply(sh, w, arrays, depth, rest, low, high, trail, pool, touched):
        last, going, failed = U(0), True, False  # the component that is left for the end
        while going:
            at_end = rest == U(0)
            if at_end:
                rest, last = last, U(0)
            if rest == U(0) or L(low | high) == L(0):
                going = False
                if L(low | high) != L(0):
                    add(sh, w, depth, low, high)
            else:
                component = component_of(sh, w, arrays.store, rest)
                rest = U(rest & U(~component))
                known, value, value_high, place, first, second = count_of(sh, w, arrays, component)
                if known:
                    low, high, too_much = times(low, high, value, value_high)
                    failed = failed or too_much
                elif last == U(0) and not at_end and rest != U(0):
                    last = component
                elif U(cuda.popc(component)) > U(cuda.popc(last)) and last != U(0):
                    rest, last = U(rest | last), component
                else:
                    going, rest = False, U(rest | last)
                    too_much = begin_sum(sh, w, depth, component, rest, low, high, trail, pool, touched)
                    keep_key(sh, w, depth, place, first, second)
                    failed = failed or too_much
                    depth = U(depth + U(1))
        return depth, failed

    return Products(multiply)


def _begin_function(target, components, counts):
    """A new sum on the stack."""
    cuda, lane_of, branch_vertex = target.cuda, target.lane, components.branch_vertex
    times, get, put = counts.times, counts.get, counts.put

    @target.device
    def begin_sum(sh, w, depth, component, rest, low, high, trail, pool, touched):
        """Begin a sum over the candidates of a vertex of a component; whether its factor may be too much."""
        frame = U(w + U(sh[f.FRAMES]) + U(depth * U(f.FRAME_WORDS)))
        below, u = U(frame - U(f.FRAME_WORDS)), branch_vertex(sh, w, component, touched)
        is_tail = rest == U(0) and U(sh[U(below + f.IS_TAIL)]) != U(0)
        factor, factor_high = get(sh, U(below + f.FACTOR))
        factor, factor_high, too_much = times(factor, factor_high, low, high)
        cuda.syncwarp()
        if lane_of() == U(0):
            sh[U(frame + f.VERTEX)], sh[U(frame + f.REST)] = u, rest
            sh[U(frame + f.OTHERS)] = U(component & U(~U(U(1) << u)))
            sh[U(frame + f.NEXT)], sh[U(frame + f.END)] = U(0), sh[f.LOCALS]
            sh[U(frame + f.TRAIL_TOP)], sh[U(frame + f.POOL_TOP)], sh[U(frame + f.TOUCHED)] = trail, pool, touched
            sh[U(frame + f.IS_TAIL)], sh[U(frame + f.LACKS)] = U(1) if is_tail else U(0), U(0)
            put(sh, U(frame + f.PRODUCT), low, high)
            put(sh, U(frame + f.SUM), L(0), L(0))
            put(sh, U(frame + f.FACTOR), factor, factor_high)
        cuda.syncwarp()
        return too_much and is_tail

    return begin_sum


def _key_function(target, counts):
    """By which the count of a sum is going to be kept."""
    cuda, lane_of, put = target.cuda, target.lane, counts.put

    @target.device
    def keep_key(sh, w, depth, place, first, second):
        frame = U(w + U(sh[f.FRAMES]) + U(depth * U(f.FRAME_WORDS)))
        if lane_of() == U(0):
            sh[U(frame + f.PLACE)] = place
            put(sh, U(frame + f.KEY), first, second)
        cuda.syncwarp()

    return keep_key
