"""One GPU of several: working on it, copies of arrays on it, and blocks of rows that come to it from the others.

Copies go from GPU to GPU, by NVLink or the bus where one can read the other's memory; else the driver takes them
through the host. A block is copied on a stream of its own on the GPU that made it, so that the next launch does not
wait.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from cusubmatch.engines.device_engine import Brought, Landing
from cusubmatch.engines.gpu.runtime.device_memory import from_a_pool

__all__ = ["CudaPlace", "Place"]


class Place(Protocol):
    """Where an engine works.

    Attributes
    ----------
    number : int
    xp : module
        Of the arrays there.
    """

    number: int

    @property
    def xp(self) -> Any:
        """The module of the arrays there."""
        ...

    def current(self) -> AbstractContextManager[Any]:
        """Let a thread work there."""
        ...

    def holds(self, array: Any) -> bool:
        """Whether an array lies there."""
        ...

    def copied(self, array: Any) -> Any:
        """A copy there of an array that lies elsewhere; complete."""
        ...

    def landing(self) -> Landing:
        """Where blocks from other places come to."""
        ...


class CudaPlace:
    """A GPU, by its number."""

    def __init__(self, number: int):
        self.number = number

    @property
    def xp(self) -> Any:
        import cupy

        return cupy

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        with self.xp.cuda.Device(self.number), from_a_pool():
            yield

    def holds(self, array: Any) -> bool:
        return not isinstance(array, np.ndarray) and array.device.id == self.number

    def copied(self, array: Any) -> Any:
        xp, on_host = self.xp, isinstance(array, np.ndarray)
        with self.current():
            copy = xp.asarray(array) if on_host else xp.empty(array.shape, array.dtype)
            xp.cuda.get_current_stream().synchronize()  # it is there; or what used its memory before has ended
        if not on_host:
            with array.device:
                array = xp.ascontiguousarray(array)
                stream = xp.cuda.get_current_stream()  # after what makes the array
                copy.data.copy_from_device_async(array.data, array.nbytes, stream)
                stream.synchronize()
        return copy

    def landing(self) -> Landing:
        return CudaLanding(self)


class CudaLanding:
    """Blocks from other GPUs for the thread that makes this, on its stream."""

    def __init__(self, place: CudaPlace):
        self._place, self._cuda = place, place.xp.cuda
        self._copies: dict[int, Any] = {}  # a stream on each of the other GPUs
        with place.current():
            self._stream = self._cuda.get_current_stream()
            self._stream.synchronize()  # what the call has prepared is there, for threads on other streams too

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        with self._place.current(), self._stream:
            yield

    def bring(self, block: Any) -> Brought:
        ready, source = self._recorded(self._cuda.get_current_stream()), block.device.id
        if source == self._place.number:
            return CudaBrought(block, ready, block)
        with self.current():
            there = self._place.xp.empty(block.shape, block.dtype)
            free = self._recorded(self._stream)  # by then nothing on this stream uses that memory any more
        if source not in self._copies:
            self._copies[source] = self._cuda.Stream(non_blocking=True)
        stream = self._copies[source]
        stream.wait_event(ready)
        stream.wait_event(free)
        for to, column in zip(there, block, strict=True):
            if column.nbytes:
                to.data.copy_from_device_async(column.data, column.nbytes, stream)
        return CudaBrought(there, self._recorded(stream), block)

    def _recorded(self, stream: Any) -> Any:
        event = self._cuda.Event(block=True, disable_timing=True)
        event.record(stream)
        return event


class CudaBrought:
    """A block, its source, which is held until the copy has ended, and an event after the copy.

    A block that nobody asks for is waited for as well: whoever has its memory next is not to get the copy.
    """

    def __init__(self, block: Any, event: Any, source: Any):
        self._block, self._event, self._source = block, event, source

    def settled(self) -> Any:
        self._event.synchronize()
        self._source = None
        return self._block

    def __del__(self) -> None:
        if self._source is not None:
            self._event.synchronize()
