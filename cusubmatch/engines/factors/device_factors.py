"""What an engine with memory of its own offers for factors: the operations on those that lie there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields

__all__ = ["DeviceFactor", "DeviceFactors", "MakeDeviceFactors", "MorePairs"]


class MorePairs(Exception):
    """The joins of a product have more pairs of entries than was allowed, at least so many."""

    def __init__(self, pairs: int):
        super().__init__(pairs)
        self.pairs = pairs


class DeviceFactor(Protocol):
    """A factor in the memory of a device."""

    scope: tuple[int, ...]

    def __len__(self) -> int:
        """The number of its entries."""
        ...


class DeviceFactors(Protocol):
    """Operations on the factors of one count; for any thread, where `current` says so.

    Operations raise `MemoryError` where the device has no memory left for them.

    Attributes
    ----------
    words : int
        That factors may take, about: 8 bytes each.
    """

    words: int

    def current(self) -> AbstractContextManager[Any]:
        """Let the calling thread work there."""
        ...

    def end(self) -> None:
        """Give memory back that is kept for later operations."""
        ...

    def to_device(self, factor: Factor) -> DeviceFactor:
        """A copy there of a factor of the host."""
        ...

    def to_host(self, factor: Any) -> Factor:
        """A copy of a factor in host memory."""
        ...

    def some_keys(self, factor: Any, every: int) -> np.ndarray:
        """uint64 (n, words), of the host: the keys of every so manyth entry."""
        ...

    def summed_product(self, vertices: Sequence[int], factors: Sequence[Any], most_pairs: float) -> DeviceFactor:
        """The product of factors, in the order of their joins, summed over some of their vertices.

        It raises `MorePairs` before it makes more pairs of entries than `most_pairs`.
        """
        ...

    def weighted_sum(self, factor: Any, weight: int, other: Any, other_weight: int) -> DeviceFactor:
        """The sum of two factors of one scope, each times its weight, without entries that are 0."""
        ...

    def multiplied(self, factor: Any, other: Any) -> DeviceFactor:
        """The product of two factors of one scope."""
        ...

    def merged(self, factor: Any, vertex: int, into: int) -> DeviceFactor:
        """A factor of a vertex as one of another vertex, which has the same image."""
        ...

    def kept_apart(self, factor: Any, u: int, w: int) -> DeviceFactor:
        """A factor where two of its vertices have different images, 0 elsewhere."""
        ...

    def entries_of_images(self, factor: Any, vertex: int, size: int) -> np.ndarray:
        """float64 (size,), of the host: about how many entries a factor has for each image of one of its vertices."""
        ...

    def checksum(self, factor: Any) -> tuple[int, int]:
        """The sums of all words of the keys and of the values, modulo 2^64."""
        ...

    def are_equal(self, factor: Any, other: Any) -> bool:
        """Whether factors of one scope have the same entries."""
        ...


MakeDeviceFactors = Callable[[Fields, np.ndarray, Callable[[], None]], DeviceFactors | None]
"""Begins to use a device, for fields and kinds of arithmetic; what it is given last is called between operations.

None while what that takes is loaded.
"""
