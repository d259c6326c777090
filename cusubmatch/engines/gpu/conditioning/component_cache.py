"""The cache of counted components, which all warps share without locks.

A component's count depends on its vertices and their domains. Its key is a sum of the words of these, each times an odd
random factor: two words of 64 bits. A bucket has as many slots as are read at once. The words of a key are written
mixed with those of the count (Hyatt and Mann 2002), so that a slot of which two warps have written a part each holds no
key that is looked for. An entry that is written over is only counted again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning import state_format as f
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions

__all__ = ["BUCKET_SLOTS", "SLOT_WORDS", "ComponentCache", "cache_functions"]

U, L = np.uint32, np.uint64
BUCKET_SLOTS = 8
SLOT_WORDS = 4  # two of the key, mixed with the others; the count


class ComponentCache(NamedTuple):
    """Device functions; a whole warp calls them.

    Attributes
    ----------
    key_of : (sh, w, store, factors, component) -> first, second
    lookup : (sh, cache, first, second) -> known, low, high, place
        Whether a component is known, its count; and the slot where it may be kept if not.
    remember : (cache, place, first, second, low, high)
    """

    key_of: Any
    lookup: Any
    remember: Any


def cache_functions(target: Target, words: int) -> ComponentCache:
    """The functions for domains of so many words a lane."""
    cuda, WARP, FULL, lane_of, device = target.cuda, target.WARP, target.FULL, target.lane, target.device
    SET, SLOTS, warp_sum = WARP * words, BUCKET_SLOTS, warp_functions(target).warp_sum

    @device
    def key_of(sh, w, store, factors, component):
        """Factors: two for each word of each domain, and two for the component."""
        lane, rest = lane_of(), component
        first, second = L(0), L(0)
        while rest != U(0):
            v = U(U(cuda.ffs(rest)) - U(1))
            rest = U(rest & U(rest - U(1)))
            domain = U(sh[U(w + f.DOMAINS + v)])
            for j in range(words):
                at = U(U(j * WARP) + lane)
                word, factor = L(store[U(domain + at)]), U(U(U(v * U(SET)) + at) * U(2))
                first = L(first + L(word * factors[factor]))
                second = L(second + L(word * factors[U(factor + 1)]))
        last = U(U(f.MAX_VERTICES * SET) * U(2))
        first = L(warp_sum(first) + L(L(component) * factors[last]))
        second = L(warp_sum(second) + L(L(component) * factors[U(last + 1)]))
        return first, second

    @device
    def turned(word, bits):
        return L(L(word << L(bits)) | L(word >> L(64 - bits)))

    @device
    def lookup(sh, cache, first, second):
        bucket = U(U(L(first ^ L(second >> L(31))) >> L(7)) & U(sh[f.BUCKET_MASK]))
        base, known, low, high, i = U(bucket * U(SLOTS)), False, L(0), L(0), U(0)
        place = U(base + U(U(second >> L(40)) & U(SLOTS - 1)))
        free = False
        while i < U(SLOTS) and not known:
            slot, is_it, is_free = U(i + lane_of()), False, False
            own_low, own_high = L(0), L(0)
            if slot < U(SLOTS):
                at = np.int64(U(base + slot)) * np.int64(SLOT_WORDS)
                key_1, key_2 = L(cache[at]), L(cache[at + 1])
                own_low, own_high = L(cache[at + 2]), L(cache[at + 3])
                is_free = L(key_1 | key_2 | own_low | own_high) == L(0)
                is_it = (
                    L(key_1 ^ own_low ^ turned(own_high, 32)) == first
                    and L(key_2 ^ own_high ^ turned(own_low, 21)) == second
                )
            hits, frees = U(cuda.ballot_sync(FULL, is_it)), U(cuda.ballot_sync(FULL, is_free))
            if hits != U(0):
                holder = U(U(cuda.ffs(hits)) - U(1))
                low = L(cuda.shfl_sync(FULL, np.int64(own_low), holder))
                high = L(cuda.shfl_sync(FULL, np.int64(own_high), holder))
                known = True
            elif frees != U(0) and not free:
                place, free = U(base + U(i + U(U(cuda.ffs(frees)) - U(1)))), True
            i = U(i + U(WARP))
        return known, low, high, place

    @device
    def remember(cache, place, first, second, low, high):
        if lane_of() == U(0):
            at = np.int64(place) * np.int64(SLOT_WORDS)
            cache[at], cache[at + 1] = L(first ^ low ^ turned(high, 32)), L(second ^ high ^ turned(low, 21))
            cache[at + 2], cache[at + 3] = low, high

    return ComponentCache(key_of, lookup, remember)
