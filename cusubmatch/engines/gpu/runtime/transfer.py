"""Arrays from the device to host memory, while the device works on.

Copies run on a stream of their own: each waits for what was launched before it was asked for, and for nothing later, so
that the bus moves one block of rows while the walker writes the next into other memory. Only pinned memory is copied to
at the speed of the bus, and pinning memory takes longer than copying to it. So pinned buffers are few and are used
again: a copy goes straight into one that the caller keeps, or through one of a ring, out of which threads write to
where the data belongs; these also take the page faults of memory that is new. What a copy reads and writes is held
here until the copy has ended, since CuPy's pool, which orders reuse by the stream that memory was taken on, knows
nothing of the second stream.
"""

from __future__ import annotations

import atexit
import functools
import os
import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import current_number
from cusubmatch.engines.gpu.runtime.pinned_memory import PinnedPool
from cusubmatch.graph.graph_arrays import SMALL
from cusubmatch.system.host_memory import reserved

__all__ = ["BLOCK_BYTES", "Arrival", "CopyDevice", "DeviceTransfer", "copy_device", "near_array", "to_host"]

BLOCK_BYTES = 256 << 20  # copied in one go: 5 ms, many times what the host does between two blocks
IN_FLIGHT_BYTES = 2 * BLOCK_BYTES  # asked for and not yet copied
SLOT_BYTES, SLOTS = 8 << 20, 20  # of the ring
MIN_SLOT_BYTES = 1 << 16
LIMIT_SHARE = 4  # the ring takes one part of so many of a memory limit
THREADS = 14  # at most, that empty the ring

Pair = tuple[np.ndarray, Any]  # one-dimensional and contiguous: where in host memory, and what on the device
Spread = tuple[Sequence[np.ndarray], Any]  # the same, at several places


class CopyDevice(NamedTuple):
    """The part of CUDA that copies need; tests put one in its place that does everything as late as it may.

    Attributes
    ----------
    pinned : PinnedPool
    stream : callable () -> stream
        A new stream that waits for no other.
    record : callable (stream or None) -> event
        With `done` and `synchronize()`; after what the stream, by default the caller's current one, was given so far.
    wait : callable (stream, event)
        What the stream is given later waits for the event.
    copy : callable (array in host memory, array on the device, stream)
    attach : callable () -> callable ()
        What another thread calls to work with the device that is now the caller's.
    """

    pinned: PinnedPool
    stream: Callable[[], Any]
    record: Callable[[Any], Any]
    wait: Callable[[Any, Any], None]
    copy: Callable[[np.ndarray, Any, Any], None]
    attach: Callable[[], Callable[[], Any]]


def copy_device() -> CopyDevice:
    """CUDA by way of CuPy, for the current GPU."""
    return _copy_device(current_number())


@functools.cache
def _copy_device(_number: int) -> CopyDevice:
    """Copies from one GPU: each has pinned memory of its own."""
    import cupy

    cuda, runtime = cupy.cuda, cupy.cuda.runtime

    def record(stream):
        event = cuda.Event(block=True, disable_timing=True)
        event.record(stream or cuda.get_current_stream())
        return event

    def copy(host, array, stream):
        runtime.memcpyAsync(host.ctypes.data, array.data.ptr, array.nbytes, runtime.memcpyDeviceToHost, stream.ptr)

    def allocate(size):
        return cuda.PinnedMemoryPointer(cuda.PinnedMemory(size), 0)

    pinned = PinnedPool(allocate)
    atexit.register(pinned.clear)  # while CUDA is there
    return CopyDevice(
        pinned,
        stream=lambda: cuda.Stream(non_blocking=True),
        record=record,
        wait=lambda stream, event: stream.wait_event(event),
        copy=copy,
        attach=lambda: cuda.Device().use,
    )


class Arrival:
    """When data is where it belongs."""

    def __init__(self, event: Any, unpacked: Sequence[Future] = ()):
        self._event, self._unpacked = event, unpacked

    def wait(self) -> None:
        for part in self._unpacked:
            part.result()
        self._event.synchronize()

    @property
    def done(self) -> bool:
        return all(part.done() for part in self._unpacked) and self._event.done


@dataclass
class Flight:
    """Copies that may not have ended, what they read and write, and an event after them once all are queued."""

    pairs: list[Pair]
    bytes: int
    event: Any = None


class DeviceTransfer:
    """Copies of one call, in the order in which they were asked for; at the end of its context no more begin.

    Parameters
    ----------
    memory_limit : int, optional
        Bytes of host memory, of which the ring takes a part.
    cuda : CopyDevice, optional
    """

    def __init__(self, memory_limit: int | None = None, cuda: CopyDevice | None = None):
        self.device = cuda or copy_device()
        self.block_bytes, self.pinned = BLOCK_BYTES, self.device.pinned
        self._stream, self._attach = self.device.stream(), self.device.attach()
        slot = SLOT_BYTES if memory_limit is None else memory_limit // (LIMIT_SHARE * SLOTS)
        self._slot_bytes = max(MIN_SLOT_BYTES, min(SLOT_BYTES, slot))
        self._slots, self._made = queue.SimpleQueue(), 0  # type: tuple[queue.SimpleQueue[np.ndarray], int]
        self._team: ThreadPoolExecutor | None = None
        self._flight: deque[Flight] = deque()  # the oldest first
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, spreads: Sequence[Spread], direct: bool) -> Arrival:
        """Copy what the caller's current stream has written by then.

        Into pinned memory (`direct`) it crosses the bus for each of its places, through the ring only once.
        """
        self._land(IN_FLIGHT_BYTES - sum(hosts[0].nbytes for hosts, _ in spreads))
        self.device.wait(self._stream, self.device.record(None))
        if direct:
            return Arrival(self._copied([(host, array) for hosts, array in spreads for host in hosts]))
        unpacked = []
        for chunk in _chunks(spreads, self._slot_bytes):
            slot, at, through, targets = self._slot(), 0, [], []
            for hosts, array in chunk:
                part = slot[at : at + hosts[0].nbytes]
                through.append((part, array))
                targets.append((part.view(hosts[0].dtype), hosts))
                at += part.nbytes
            event = self._copied(through)
            unpacked.append(self._workers.submit(_unpack, event, slot, targets, self._slots))
        return Arrival(event, unpacked)

    def fetch(self, array: Any) -> np.ndarray:
        """A two-dimensional array, rows of it contiguous, in ordinary host memory; complete after `finish`."""
        host = reserved(array.nbytes).view(array.dtype).reshape(array.shape)
        if host.size:
            self.send([((row,), source) for row, source in zip(host, array, strict=True)], direct=False)
        return host

    def finish(self) -> None:
        """Wait until all that was sent has arrived."""
        self._land(0)
        if self._team is not None:
            self._team.shutdown()  # each of its tasks has ended
            self._team = None

    def close(self) -> None:
        """Begin no copy any more, and wait for those that have begun: they write to memory that is then free."""
        try:
            if self._team is not None:
                self._team.shutdown(cancel_futures=True)
        finally:
            self._land(0)
            self._team, self._slots = None, queue.SimpleQueue()

    def _copied(self, pairs):
        """Queue copies; the event after them. They are held before they begin: an interrupt may come at any time."""
        flight = Flight(pairs, sum(host.nbytes for host, _ in pairs))
        self._flight.append(flight)
        self._bytes += flight.bytes
        for host, array in pairs:
            self.device.copy(host, array, self._stream)
        flight.event = self.device.record(self._stream)
        return flight.event

    def _land(self, most):
        """Let go of what has been copied, and wait until not more than so many bytes are left."""
        while self._flight:
            first = self._flight[0]
            event = first.event or self.device.record(self._stream)
            if most > 0 and self._bytes <= most and not event.done:
                return
            event.synchronize()
            self._flight.popleft()
            self._bytes -= first.bytes

    def _slot(self):
        """A buffer of the ring that is free, the longest free one first."""
        if self._made < SLOTS and self._slots.empty():
            self._made += 1
            buffer = self.device.pinned.take(self._slot_bytes)
            return np.empty(self._slot_bytes, np.uint8) if buffer is None else buffer
        return self._slots.get()

    @property
    def _workers(self):
        if self._team is None:
            threads = min(THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4)
            self._team = ThreadPoolExecutor(threads, "cusubmatch transfer", initializer=self._attach)
        return self._team


def to_host(array: Any) -> np.ndarray:
    """An array of the device in host memory; one that lies there is returned as it is."""
    if isinstance(array, np.ndarray):
        return array
    if array.nbytes <= SLOT_BYTES or not array.flags.c_contiguous:
        return array.get()
    with DeviceTransfer() as transfer:
        host = transfer.fetch(array.reshape(1, -1)).reshape(array.shape)
        transfer.finish()
    return host


def near_array(array: Any) -> Any:
    """A small array in host memory, where working on it needs no compiler (`Graph.near`); a large one as it is."""
    return to_host(array) if array.size <= SMALL else array


def _chunks(spreads: Iterable[Spread], most: int) -> Iterator[list[Spread]]:
    """The copies in pieces that fit into a slot."""
    chunk: list[Spread] = []
    left = most
    for hosts, array in spreads:
        begin, length, each = 0, len(hosts[0]), hosts[0].itemsize
        while begin < length:
            end = min(length, begin + left // each)
            chunk.append(([host[begin:end] for host in hosts], array[begin:end]))
            left -= each * (end - begin)
            begin = end
            if left < each:
                yield chunk
                chunk, left = [], most
    if chunk:
        yield chunk


def _unpack(event, slot, targets, slots):
    """When a slot has been filled, write its parts to where they belong."""
    try:
        event.synchronize()
        for part, hosts in targets:
            for host in hosts:
                host[...] = part
    finally:
        slots.put(slot)
