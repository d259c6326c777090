"""Factors that lie in host memory, on a device, or in both, and the operations on them, each where it takes less time.

Without a device all lie here. Large factors go to it, and what it makes stays there; a copy is made when one is needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cusubmatch.engines.cpu.elimination.host_factors import HostFactors
from cusubmatch.engines.factors.device_factors import DeviceFactor, DeviceFactors
from cusubmatch.engines.factors.factor import Factor

__all__ = ["DEVICE_THREADS", "PlacedFactor", "PlacedFactors"]

LARGE = 1 << 17  # entries, from which an operation is the device's
SMALL = 1 << 14  # entries, up to which what the device has made comes back at once
DEVICE_THREADS = 2  # that make sums on the device: it works for one while the other prepares what is next
AT_ONCE = DEVICE_THREADS + 1  # that may use it, the one that chooses what is next too: what they make takes memory


class PlacedFactor:
    """A factor, and where it lies.

    Attributes
    ----------
    scope : tuple of int
    vertices : int
        The scope as bits.
    entries : int
        Their number.
    here : Factor or None
        In host memory.
    there : DeviceFactor or None
        On the device.
    some_keys : dict
        Of every so manyth entry, those that have come from the device.
    checksum : tuple of int, optional
        Once it has been asked for.
    """

    def __init__(self, scope: tuple[int, ...], entries: int, here: Factor | None, there: DeviceFactor | None):
        self.scope, self.entries, self.here, self.there = scope, entries, here, there
        self.vertices = sum(1 << u for u in scope)
        self.some_keys: dict[int, np.ndarray] = {}
        self.checksum: tuple[int, int] | None = None


class PlacedFactors:
    """Operations on the factors of one count; threads may call them at the same time.

    Parameters
    ----------
    host : HostFactors
    device : callable
        device() gives the operations there once the device is free, and None until then.
    """

    def __init__(self, host: HostFactors, device: Callable[[], DeviceFactors | None] = lambda: None):
        self.host, self._device = host, device
        self._turns = threading.Semaphore(AT_ONCE)  # of operations on the device
        self._copying = threading.Lock()  # to the device, once: a second copy would free one that a thread still reads

    @property
    def device(self) -> DeviceFactors | None:
        """The operations on a device; None where none is free."""
        return self._device()

    @property
    def has_device(self) -> bool:
        """Whether there is a device that is free."""
        return self.device is not None

    def of_host(self, factor: Factor) -> PlacedFactor:
        """A factor that lies here."""
        return PlacedFactor(factor.scope, len(factor.keys), factor, None)

    def here(self, factor: PlacedFactor) -> Factor:
        """A factor in host memory."""
        if factor.here is None:
            with self._beside_others() as device:
                factor.here = device.to_host(factor.there)
        return factor.here

    def summed_product(
        self, vertices: Sequence[int], factors: Sequence[PlacedFactor], most_pairs: float
    ) -> PlacedFactor:
        """The product of factors, in the order of their joins, summed over some vertices; on the device.

        It raises `MorePairs` before it makes more pairs of entries than `most_pairs`.
        """
        with self._on_device() as device:
            there = [self._there(device, one) for one in factors]
            return self._made(device, device.summed_product(vertices, there, most_pairs))

    def weighted_sum(self, factor: PlacedFactor, weight: int, other: PlacedFactor, other_weight: int) -> PlacedFactor:
        """The sum of two factors of one scope, each times its weight, without entries that are 0."""
        if not self._is_devices(factor, other):
            return self.of_host(self.host.weighted_sum(self.here(factor), weight, self.here(other), other_weight))
        with self._on_device() as device:
            one, two = self._there(device, factor), self._there(device, other)
            return self._made(device, device.weighted_sum(one, weight, two, other_weight))

    def multiplied(self, factor: PlacedFactor, other: PlacedFactor) -> PlacedFactor:
        """The product of two factors of one scope."""
        if not self._is_devices(factor, other):
            return self.of_host(self.host.multiplied(self.here(factor), self.here(other)))
        with self._on_device() as device:
            return self._made(device, device.multiplied(self._there(device, factor), self._there(device, other)))

    def merged(self, factor: PlacedFactor, vertex: int, into: int) -> PlacedFactor:
        """A factor of a vertex as one of another vertex, which has the same image."""
        if not self._is_devices(factor):
            return self.of_host(self.host.merged(self.here(factor), vertex, into))
        with self._on_device() as device:
            return self._made(device, device.merged(self._there(device, factor), vertex, into))

    def kept_apart(self, factor: PlacedFactor, u: int, w: int) -> PlacedFactor:
        """A factor where two of its vertices have different images, 0 elsewhere."""
        if not self._is_devices(factor):
            return self.of_host(self.host.kept_apart(self.here(factor), u, w))
        with self._on_device() as device:
            return self._made(device, device.kept_apart(self._there(device, factor), u, w))

    def entries_of_images(self, factor: PlacedFactor, vertex: int, size: int) -> np.ndarray:
        """float64 (size,): about how many entries a factor has for each image of one of its vertices."""
        if factor.here is not None:
            return self.host.entries_of_images(factor.here, vertex, size)
        with self._on_device() as device:
            return device.entries_of_images(factor.there, vertex, size)

    def some_keys(self, factor: PlacedFactor, every: int) -> np.ndarray:
        """uint64 (n, words): the keys of every so manyth entry."""
        if factor.here is not None:
            return np.ascontiguousarray(factor.here.keys[::every])
        if every not in factor.some_keys:
            with self._beside_others() as device:
                factor.some_keys[every] = device.some_keys(factor.there, every)
        return factor.some_keys[every]

    def are_equal(self, factor: PlacedFactor, other: PlacedFactor) -> bool:
        """Whether factors of one scope have the same entries."""
        if self._checksum(factor) != self._checksum(other):
            return False
        if factor.here is not None and other.here is not None:
            return self.host.are_equal(factor.here, other.here)
        with self._on_device() as device:
            return device.are_equal(self._there(device, factor), self._there(device, other))

    def _checksum(self, factor: PlacedFactor) -> tuple[int, int]:
        """Two numbers that equal factors have in common."""
        if factor.checksum is None:
            if factor.here is not None:
                factor.checksum = self.host.checksum(factor.here)
            else:
                with self._on_device() as device:
                    factor.checksum = device.checksum(factor.there)
        return factor.checksum

    def _is_devices(self, *factors: PlacedFactor) -> bool:
        """Whether an operation is done on the device."""
        if all(factor.here is not None for factor in factors):
            return sum(factor.entries for factor in factors) >= LARGE and self.has_device
        return True

    @contextmanager
    def _on_device(self) -> Iterator[DeviceFactors]:
        with self._turns, self._beside_others() as device:
            yield device

    @contextmanager
    def _beside_others(self) -> Iterator[DeviceFactors]:
        """For what takes no memory there, and is not to wait for operations."""
        device = self._device()
        assert device is not None  # noqa: S101 - the caller has seen it, or what it has made
        with device.current():
            yield device

    def _there(self, device: DeviceFactors, factor: PlacedFactor) -> DeviceFactor:
        if factor.there is None:
            with self._copying:
                if factor.there is None:
                    assert factor.here is not None  # noqa: S101 - it lies somewhere
                    factor.there = device.to_device(factor.here)
        return factor.there

    def _made(self, device: DeviceFactors, factor: DeviceFactor) -> PlacedFactor:
        """What the device has made; small factors come back, and are not kept there."""
        if len(factor) > SMALL:
            return PlacedFactor(factor.scope, len(factor), None, factor)
        return self.of_host(device.to_host(factor))
