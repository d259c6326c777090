"""Operations on factors in host memory; products that are summed have files of their own (`summed_product.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cusubmatch.engines.cpu.elimination.costs import ENTRY_NS, OPERATION_NS
from cusubmatch.engines.cpu.elimination.factor_kernels import (
    apart,
    combined,
    entries_of_images,
    multiplied,
    rearranged,
)
from cusubmatch.engines.factors.arithmetic import weights_of
from cusubmatch.engines.factors.factor import Factor, merged_names
from cusubmatch.engines.factors.fields import Fields

__all__ = ["HostFactors"]


class HostFactors:
    """Operations on the factors of one count; threads may call them at the same time.

    Parameters
    ----------
    fields : Fields
    kinds : uint64 (kinds,)
    spend : callable
        spend(nanoseconds) is called before what takes about so long, and raises if `ended` is not 0.
    ended : int64 (1,)
    """

    def __init__(self, fields: Fields, kinds: np.ndarray, spend: Callable[[float], None], ended: np.ndarray):
        self.fields, self.kinds, self._spend, self._ended = fields, kinds, spend, ended

    def weighted_sum(self, factor: Factor, weight: int, other: Factor, other_weight: int) -> Factor:
        """The sum of two factors of one scope, each times its weight, without entries that are 0."""
        self._spend(OPERATION_NS + ENTRY_NS * (len(factor.keys) + len(other.keys)))
        weights, other_weights = weights_of(weight, self.kinds), weights_of(other_weight, self.kinds)
        entries = combined(factor.keys, factor.values, weights, other.keys, other.values, other_weights, self.kinds)
        return Factor(factor.scope, *entries)

    def sum(self, factors: Sequence[Factor]) -> Factor:
        """The sum of factors of one scope."""
        left = list(factors)
        while len(left) > 1:
            sums = [self.weighted_sum(one, 1, other, 1) for one, other in zip(left[::2], left[1::2], strict=False)]
            left = sums + left[len(left) - len(left) % 2 :]
        return left[0]

    def multiplied(self, factor: Factor, other: Factor) -> Factor:
        """The product of two factors of one scope."""
        self._spend(OPERATION_NS + ENTRY_NS * (len(factor.keys) + len(other.keys)))
        return Factor(factor.scope, *multiplied(factor.keys, factor.values, other.keys, other.values, self.kinds))

    def merged(self, factor: Factor, vertex: int, into: int) -> Factor:
        """A factor of a vertex as one of another vertex, which has the same image."""
        scope, keys, values = factor
        self._spend(OPERATION_NS + ENTRY_NS * len(keys))
        fields, names = self.fields, merged_names(scope, vertex, into)
        result = tuple(name for _, name in names)
        equal = fields.places(scope, [vertex, into] if into in scope else [])
        form = fields.renaming_moves(scope, result, names), fields.mask, equal
        order = fields.words(len(result)), fields.digits(result, result)
        entries = rearranged(keys, values, *form, *order, self._ended)
        self._spend(0.0)
        return Factor(result, *entries)

    def kept_apart(self, factor: Factor, u: int, w: int) -> Factor:
        """A factor where two of its vertices have different images, 0 elsewhere."""
        scope, keys, values = factor
        self._spend(OPERATION_NS + ENTRY_NS * len(keys))
        return Factor(scope, *apart(keys, values, self.fields.places(scope, [u, w]), self.fields.mask))

    def entries_of_images(self, factor: Factor, vertex: int, size: int) -> np.ndarray:
        """float64 (size,): how many entries a factor has for each image of one of its vertices."""
        word, bit = self.fields.place(factor.scope, vertex)
        return entries_of_images(factor.keys, word, np.uint64(bit), self.fields.mask, size)

    def checksum(self, factor: Factor) -> tuple[int, int]:
        """The sums of all words of the keys and of the values, modulo 2^64."""
        return int(factor.keys.sum()), int(factor.values.sum())

    def are_equal(self, factor: Factor, other: Factor) -> bool:
        """Whether factors of one scope have the same entries."""
        return np.array_equal(factor.keys, other.keys) and np.array_equal(factor.values, other.values)
