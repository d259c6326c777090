"""How many products the joins of some factors make, from a sample that is followed through them.

Entries of social graphs close more triangles, and larger cliques, than the images of their vertices tell; a sample of
products, each of which is joined with all that agrees with it, finds them (join synopses of Acharya et al. 1999, index-
based join sampling of Leis et al. 2017).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cusubmatch.engines.cpu.elimination.factor_kernels import compare, move_fields
from cusubmatch.engines.cpu.elimination.placed_factors import PlacedFactor, PlacedFactors
from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.random_numbers import next_random
from cusubmatch.engines.factors.fields import Fields

__all__ = ["products_of_joins"]

SAMPLE = 256  # products that are followed
SCANNED = 1 << 14  # entries of a factor that they may meet, about
PLACES = 1 << 10  # of a hash table of them
MIX = 0x9E3779B97F4A7C15  # 2^64 / the golden ratio


def products_of_joins(fields: Fields, places: PlacedFactors, factors: Sequence[PlacedFactor]) -> list[float]:
    """About how many entries the product of the first two factors has, that of the first three, and so on.

    Where no product of the sample is left there are fewer than one for each that it stands for, and the list ends.
    """
    first, *others = factors
    scope, sample = first.scope, places.some_keys(first, max(first.entries // SAMPLE, 1))
    each = first.entries / max(len(sample), 1)  # products that one of the sample stands for
    products = []
    for factor in others:
        common = tuple(u for u in scope if u in factor.scope)
        result = tuple(sorted({*scope, *factor.scope}))
        moves = [fields.moves(one, other) for other in (common, result) for one in (scope, factor.scope)]
        words = fields.words(len(common)), fields.words(len(result))
        every = max(factor.entries // SCANNED, 1)
        followed, found = _followed(sample, places.some_keys(factor, every), *moves, fields.mask, *words)
        if not found:
            break
        each, sample, scope = each * every * found / len(followed), followed, result
        products.append(each * len(sample))
    return products


@jit
def _followed(sample, keys, to_common, keys_to_common, to_result, keys_to_result, mask, common_words, words):
    """Some of the products of a sample and entries with these keys, and how many there are."""
    firsts, nexts = np.full(PLACES, -1, np.int64), np.empty(len(sample), np.int64)
    common, wanted = np.empty((len(sample), common_words), np.uint64), np.empty((1, common_words), np.uint64)
    for i in range(len(sample)):
        move_fields(sample, i, to_common, mask, common, i)
        place = _place_of(common, i)
        nexts[i], firsts[place] = firsts[place], i
    result, part, found = np.empty((SAMPLE, words), np.uint64), np.empty((1, words), np.uint64), 0
    state = np.uint64(1)
    for j in range(len(keys)):
        move_fields(keys, j, keys_to_common, mask, wanted, 0)
        i = firsts[_place_of(wanted, 0)]
        while i >= 0:
            if compare(common, i, wanted, 0) == 0:
                row, found = found, found + 1
                if row >= SAMPLE:
                    state = next_random(state)
                    row = np.int64((state >> np.uint64(33)) % np.uint64(found))
                if row < SAMPLE:
                    move_fields(sample, i, to_result, mask, result, row)
                    move_fields(keys, j, keys_to_result, mask, part, 0)
                    for word in range(words):
                        result[row, word] |= part[0, word]
            i = nexts[i]
    return result[: min(found, SAMPLE)].copy(), found


@inner
def _place_of(keys, i):
    """Of a key in the hash table."""
    hashed = np.uint64(0)
    for word in range(keys.shape[1]):
        hashed = (hashed ^ keys[i, word]) * np.uint64(MIX)
        hashed ^= hashed >> np.uint64(32)
    return np.int64(hashed & np.uint64(PLACES - 1))
