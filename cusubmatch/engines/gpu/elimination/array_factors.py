"""Operations on factors as arrays of a device: each is a few launches over all entries, sorts and running sums."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from cusubmatch.engines.factors.factor import Factor, merged_names, scope_without
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.gpu.elimination.array_factor import ArrayFactor
from cusubmatch.engines.gpu.elimination.array_joins import ArrayJoins
from cusubmatch.engines.gpu.elimination.array_operations import ArrayOperations
from cusubmatch.engines.gpu.runtime.device import Device

__all__ = ["ArrayFactors"]

MAX_ENTRIES = 1 << 25  # of sums of parts, before they are added up
SAMPLED_ENTRIES = 1 << 18  # of a factor, the images of which are counted


class ArrayFactors:
    """Operations on factors whose arrays are of NumPy or CuPy.

    Parameters
    ----------
    xp : module
        numpy or cupy.
    gpu : Device
        Where kernels run.
    fields : Fields
    kinds : uint64 (kinds,)
        `FLOATS` alone, or others.
    check : callable
        check() is called between operations, and may raise.

    Attributes
    ----------
    words : int
        That factors may take, about: as many as there are in host memory.
    """

    words = sys.maxsize

    def __init__(self, xp: Any, gpu: Device, fields: Fields, kinds: np.ndarray, check: Callable[[], None]):
        self.xp, self.fields, self.kinds = xp, fields, kinds
        with self.current():
            self._do = ArrayOperations(xp, gpu, fields, kinds, self.aside)
        self._check = check

    def current(self) -> AbstractContextManager[None]:
        """Let the calling thread work there: nothing, in host memory."""
        return nullcontext()

    def aside(self) -> AbstractContextManager[None]:
        """Let the calling thread do something that waits for nothing under way there, and is finished at the end."""
        return nullcontext()

    def end(self) -> None:
        """Nothing is kept."""

    def to_device(self, factor: Factor) -> ArrayFactor:
        """A factor of the host there, which other threads may use at once."""
        values = np.ascontiguousarray(factor.values.T).view(self._do.value_type)
        is_plain = bool((values == self._do.weights(1)[:, None]).all())
        with self.aside():
            keys = self.xp.asarray(np.ascontiguousarray(factor.keys.T))
            return ArrayFactor(factor.scope, keys, self.xp.asarray(values), is_plain=is_plain)

    def to_host(self, factor: ArrayFactor) -> Factor:
        """A copy of a factor in host memory."""
        values = np.ascontiguousarray(self._on_host(factor.values).T)
        return Factor(factor.scope, self.some_keys(factor, 1), values.view(np.uint64))

    def some_keys(self, factor: ArrayFactor, every: int) -> np.ndarray:
        """uint64 (n, words), of the host: the keys of every so manyth entry."""
        return np.ascontiguousarray(self._on_host(factor.keys[:, ::every]).T)

    def summed_product(
        self, vertices: Sequence[int], factors: Sequence[ArrayFactor], most_pairs: float = math.inf
    ) -> ArrayFactor:
        """The product of factors, in the order of their joins, summed over some of their vertices.

        It raises `MorePairs` before it makes more pairs of entries than `most_pairs`.
        """
        first, *others = factors
        result = scope_without(factors, vertices)
        sums: list[ArrayFactor] = []
        joins = ArrayJoins(self._do, self._check, most_pairs, result)
        for part in joins.parts(first, others):
            sums.append(self._do.summed(part))
            if sum(map(len, sums[1:])) > max(MAX_ENTRIES, len(sums[0])):  # each entry is added a few times, no more
                sums = [self._do.sum(sums)]
        return self._do.sum(sums) if sums else self._do.empty(result)

    def weighted_sum(self, factor: ArrayFactor, weight: int, other: ArrayFactor, other_weight: int) -> ArrayFactor:
        """The sum of two factors of one scope, each times its weight, without entries that are 0."""
        total = self._do.sum([self._times(factor, weight), self._times(other, other_weight)])
        return self._where(total, (total.values != 0).any(axis=0))

    def multiplied(self, factor: ArrayFactor, other: ArrayFactor) -> ArrayFactor:
        """The product of two factors of one scope."""
        keys = self.xp.concatenate([factor.keys, other.keys], axis=1)
        order = self._do.order(keys, len(factor.scope), keys.shape[1])
        keys = self.xp.take(keys, order, axis=1)
        places = self.xp.nonzero((keys[:, 1:] == keys[:, :-1]).all(axis=0))[0]
        first, second = order[places], order[places + 1] - len(factor)  # equal keys stay as they were
        values = self._do.products(
            self.xp.take(factor.values, first, axis=1), self.xp.take(other.values, second, axis=1)
        )
        keys = self.xp.take(keys, places, axis=1)
        return ArrayFactor(factor.scope, keys, values, is_plain=factor.is_plain and other.is_plain)

    def merged(self, factor: ArrayFactor, vertex: int, into: int) -> ArrayFactor:
        """A factor of a vertex as one of another vertex, which has the same image."""
        names = merged_names(factor.scope, vertex, into)
        result = tuple(name for _, name in names)
        if into in factor.scope:
            factor = self._where(factor, self._images(factor, vertex) == self._images(factor, into))
        ascends = sorted(names) == names and (into not in factor.scope or into < vertex)  # keys still do
        if ascends and len(result) == len(factor.scope):
            return ArrayFactor(result, factor.keys, factor.values, is_plain=factor.is_plain)
        words = self.fields.words(len(result))
        moves = self._do.moves_there(self.fields.renaming_moves(factor.scope, result, names), words)
        keys = self._do.moved(factor, words, moves)
        renamed = ArrayFactor(result, keys, factor.values, is_plain=factor.is_plain)
        return renamed if ascends else self._do.taken(renamed, self._do.order(keys, len(result), len(factor)))

    def kept_apart(self, factor: ArrayFactor, u: int, w: int) -> ArrayFactor:
        """A factor where two of its vertices have different images, 0 elsewhere."""
        return self._where(factor, self._images(factor, u) != self._images(factor, w))

    def entries_of_images(self, factor: ArrayFactor, vertex: int, size: int) -> np.ndarray:
        """float64 (size,), of the host: about how many entries a factor has for each image of one of its vertices."""
        if factor.images is None:
            some = factor.keys[:, : len(factor) : max(len(factor) // SAMPLED_ENTRIES, 1)]
            counts = self._on_host(self._do.images(some, factor.scope, size))
            factor.images = counts * (len(factor) / max(some.shape[1], 1))
        return factor.images[factor.scope.index(vertex)]

    def checksum(self, factor: ArrayFactor) -> tuple[int, int]:
        """The sums of all words of the keys and of the values, modulo 2^64."""
        sums = [some.view(np.uint64).sum(dtype=np.uint64) for some in (factor.keys, factor.values)]
        keys, values = self.xp.stack(sums).tolist()
        return keys, values

    def are_equal(self, factor: ArrayFactor, other: ArrayFactor) -> bool:
        """Whether factors of one scope have the same entries."""
        if len(factor) != len(other):
            return False
        pairs = (factor.keys, other.keys), (factor.values, other.values)
        return not any(len(self.xp.nonzero((one != two).ravel())[0]) for one, two in pairs)  # `all` is compiled by size

    def _on_host(self, array: Any) -> np.ndarray:
        return array if isinstance(array, np.ndarray) else array.get()

    def _where(self, factor: ArrayFactor, is_kept: Any) -> ArrayFactor:
        return self._do.taken(factor, self.xp.nonzero(is_kept)[0])

    def _times(self, factor: ArrayFactor, weight: int) -> ArrayFactor:
        if weight == 1:
            return factor
        weights = self.xp.asarray(self._do.weights(weight))[:, None]
        return ArrayFactor(factor.scope, factor.keys, self._do.products(factor.values, weights))

    def _images(self, factor: ArrayFactor, vertex: int) -> Any:
        """uint64 (n,): the images of a vertex, of all entries."""
        word, bit = self.fields.place(factor.scope, vertex)
        return (factor.keys[word] >> np.uint64(bit)) & self.fields.mask
