"""Pinned host memory: only to this the device copies at the full speed of the bus.

Pinning memory takes longer than copying to it, so buffers are few and are used again.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PinnedPool"]

MAX_PINNED_BYTES = 3 << 29  # in use and kept, for one GPU
UNIT_BYTES = 1 << 16  # sizes of buffers are multiples of this


class PinnedPool:
    """Pinned buffers for copies from one GPU: those that nobody uses are kept for the next one of their size.

    Parameters
    ----------
    allocate : callable
        Bytes to an object with the buffer interface; its memory is freed with it.
    most : int
        Bytes that are pinned at once; beyond that, or where pinning fails, a buffer is ordinary memory.
    """

    def __init__(self, allocate: Callable[[int], Any], most: int = MAX_PINNED_BYTES):
        self._allocate, self.most, self._lock = allocate, most, threading.RLock()
        self._free: dict[int, list[Any]] = {}
        self.bytes = 0  # pinned now

    def take(self, size: int) -> np.ndarray | None:
        """A pinned buffer, uint8; it comes back by itself when the last view of it is gone. None: there is no room."""
        whole = -(-size // UNIT_BYTES) * UNIT_BYTES
        with self._lock:
            free = self._free.get(whole)
            if free:
                memory = free.pop()
            else:
                if self.bytes + whole > self.most:
                    self.clear()
                if self.bytes + whole > self.most:
                    return None
                try:
                    memory = self._allocate(whole)
                except Exception:  # noqa: BLE001 - whatever CUDA says: slower memory will do
                    return None
                self.bytes += whole
        buffer = np.frombuffer(memoryview(memory), np.uint8, size)  # views of it refer to it, not to the memory
        weakref.finalize(buffer, self._back, whole, memory).atexit = False
        return buffer

    def clear(self) -> None:
        """Free what nobody uses."""
        with self._lock:
            self.bytes -= sum(size * len(kept) for size, kept in self._free.items())
            self._free.clear()

    def _back(self, size, memory):
        with self._lock:
            self._free.setdefault(size, []).append(memory)
