"""Beginning to use a GPU for the factors of one count, once CuPy has loaded its kernels for that."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cusubmatch.engines.factors.arithmetic import FLOATS, WORDS
from cusubmatch.engines.factors.factor import WORD_BYTES, Factor
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.gpu.elimination.array_factors import ArrayFactors
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.device_memory import from_a_pool, give_back
from cusubmatch.plan.crt import PRIMES
from cusubmatch.system.host_memory import free_bytes
from cusubmatch.system.kept_threads import Work, begin

__all__ = ["CudaFactors", "do_all_once", "factors_on_device", "load"]

POOLED_SHARE = 4  # of all memory, one part of so many
FIRST = -1  # the priority of streams, before counts on a copy of the candidate graph
FACTORS_SHARE = 0.8  # of the memory that is free; the others are for what operations make meanwhile


def factors_on_device(
    xp: Any, gpu: Device, number: int, fields: Fields, kinds: np.ndarray, check: Callable[[], None]
) -> ArrayFactors | None:
    """Operations on factors on a GPU; None while a thread loads what they call. On the host for NumPy."""
    if xp is np:
        return ArrayFactors(xp, gpu, fields, kinds, check)
    return CudaFactors(xp, gpu, number, fields, kinds, check) if _loading(xp, gpu, number).over else None


def load(xp: Any, gpu: Device, number: int) -> None:
    """Have all compiled, or loaded, that operations on a GPU call."""
    for size in (2, 1 << 12):  # keys of one word, and of several
        for kinds in ([WORDS, PRIMES[0]], [FLOATS]):
            how = Fields(size), np.array(kinds, np.uint64), _no_check
            do_all_once(CudaFactors(xp, gpu, number, *how))


@functools.cache
def _loading(xp: Any, gpu: Device, number: int) -> Work:
    work = Work(functools.partial(_load_if_possible, xp, gpu, number), "cusubmatch loading of kernels")
    begin(work)
    return work


def _load_if_possible(xp: Any, gpu: Device, number: int) -> None:
    with contextlib.suppress(MemoryError):  # the first operation loads them then
        load(xp, gpu, number)


def _no_check() -> None:
    """Nothing ends it."""


def do_all_once(device: ArrayFactors) -> None:
    """Do each operation on small factors, with few words and many."""
    fields, kinds = device.fields, len(device.kinds)
    with device.current():
        arcs = [device.to_device(_complete(fields, (u, w), kinds)) for u, w in ((0, 1), (0, 2), (1, 2))]
        wide = device.to_device(_complete(fields, tuple(range(7)), kinds))
        for factors in (arcs, [wide, *arcs], [wide, device.weighted_sum(wide, 2, wide, 3)]):
            made = device.summed_product((0,), factors)
        device.to_host(device.summed_product((0, 1, 2), arcs))
        apart = device.kept_apart(wide, 0, 1)
        device.multiplied(device.merged(wide, 6, 7), device.merged(wide, 5, 6))
        device.multiplied(apart, wide)
        device.entries_of_images(made, made.scope[0], int(fields.mask) + 1)
        device.checksum(apart)
        device.are_equal(apart, apart)
        device.to_host(apart)
        device.some_keys(apart, 2)
    device.end()


def _complete(fields: Fields, scope: tuple[int, ...], kinds: int) -> Factor:
    """A factor of two images for each vertex."""
    keys = np.zeros((1 << len(scope), fields.words(len(scope))), np.uint64)
    for place, u in enumerate(scope):
        word, bit = fields.place(scope, u)
        keys[:, word] |= (np.arange(len(keys), dtype=np.uint64) >> np.uint64(len(scope) - 1 - place) & 1) << bit
    return Factor(scope, keys, np.ones((len(keys), kinds), np.uint64))


class _Streams:
    """Streams of a GPU, each for one thread at a time; kept, since launches are configured anew for each."""

    def __init__(self, xp: Any, number: int):
        self._xp, self._number = xp, number
        self.all: list[Any] = []
        self._free: list[Any] = []

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Let the calling thread put operations on a stream; they are over at the end, so all threads see them."""
        try:
            stream = self._free.pop()
        except IndexError:
            with self._xp.cuda.Device(self._number):
                stream = self._xp.cuda.Stream(non_blocking=True, priority=FIRST)
            self.all.append(stream)
        try:
            with stream:
                yield
        finally:
            stream.synchronize()
            self._free.append(stream)


@functools.cache
def _streams(xp: Any, number: int) -> _Streams:
    return _Streams(xp, number)


def _memory(xp: Any) -> int:
    """Bytes of the current GPU that are free, or at least a part of all: a pool of others may be where these are."""
    _, total = xp.cuda.runtime.memGetInfo()
    return max(free_bytes(xp), total // POOLED_SHARE)


class CudaFactors(ArrayFactors):
    """Operations on streams of their own, so that neither the caller's stream nor another thread's is waited for."""

    def __init__(self, xp: Any, gpu: Device, number: int, fields: Fields, kinds: np.ndarray, check: Callable[[], None]):
        self.xp, self._device = xp, xp.cuda.Device(number)
        self._streams = _streams(xp, number)
        with self._device:
            self.words = int(FACTORS_SHARE * _memory(xp)) // WORD_BYTES
        super().__init__(xp, gpu, fields, kinds, check)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Let the calling thread put operations on a stream, which are over at the end."""
        with self._device, from_a_pool(), self._streams.one():
            yield

    def aside(self) -> contextlib.AbstractContextManager[None]:
        """Let the calling thread put operations on another stream, which are over at the end."""
        return self._streams.one()

    def end(self) -> None:
        """Give memory back that only these streams would use again."""
        with self._device:
            for stream in self._streams.all:
                stream.synchronize()
                give_back(self.xp.get_default_memory_pool(), stream)
