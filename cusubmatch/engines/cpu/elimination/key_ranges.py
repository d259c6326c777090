"""Cutting factors of one scope at the same keys, so that they are added up range by range.

Threads can share that, and a factor without keys in a range takes no part in it: blocks of one product often have few
keys in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cusubmatch.engines.factors.factor import Factor

__all__ = ["concatenated", "cut_at_same_keys"]

ENTRIES_OF_A_RANGE = 1 << 18  # of all factors together, about
SAMPLES_OF_A_RANGE = 64


def cut_at_same_keys(factors: Sequence[Factor]) -> list[list[Factor]]:
    """For each range of keys, the parts of the factors that have some there."""
    entries = sum(len(factor.keys) for factor in factors)
    every = ENTRIES_OF_A_RANGE // SAMPLES_OF_A_RANGE
    firsts = [factor.keys[:, 0] for factor in factors]  # words; keys that have the same one stay together
    sample = np.sort(np.concatenate([words[every // 2 :: every] for words in firsts]))
    ranges = min(max(entries // ENTRIES_OF_A_RANGE, 1), len(sample) + 1)
    cuts = np.unique(sample[np.arange(1, ranges) * len(sample) // ranges])
    places = [[0, *np.searchsorted(words, cuts).tolist(), len(words)] for words in firsts]
    pieces: list[list[Factor]] = [[] for _ in range(len(cuts) + 1)]
    for (scope, keys, values), at in zip(factors, places, strict=True):
        for some, (begin, end) in zip(pieces, pairwise(at), strict=True):
            if begin < end:
                some.append(Factor(scope, keys[begin:end], values[begin:end]))
    return [some for some in pieces if some] or [[factors[0]]]


def concatenated(factors: Sequence[Factor]) -> Factor:
    """Factors of one scope, the keys of each of which are above those of the one before, as one."""
    if len(factors) == 1:
        return factors[0]
    keys, values = (np.concatenate([factor[part] for factor in factors]) for part in (1, 2))
    return Factor(factors[0].scope, keys, values)
