"""A cache of what is prepared for a graph: plans, rows of relations, bitmaps. The least recently used go first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from cusubmatch.system.deadlines import Pending

__all__ = ["Cache", "finished"]

MISSING = object()


class Cache:
    """A few values of each kind; threads that ask for the same one wait for it to be made once, others do not.

    `xp` is the module of their arrays. What is made on a device is finished before anyone gets it, since others may
    read it on other streams.
    """

    def __init__(self, xp: Any = np) -> None:
        self._lock, self._xp = threading.Lock(), xp  # held for a step, never while a value is made
        self._shelves: dict[str, dict[Hashable, Any]] = {}
        self._underway: dict[tuple[str, Hashable], Pending] = {}

    def get(self, kind: str, key: Hashable, make: Callable[[], Any], keep: int) -> Any:
        """The value of `key`, made by `make` if it is not there; `keep` values of this kind stay.

        A thread that waits for another one to make it raises what `deadlines.check_deadline` raises. If the other one
        fails, it makes the value itself.
        """
        with self._lock:
            shelf = self._shelves.get(kind)
            value = MISSING if shelf is None else shelf.pop(key, MISSING)
            if shelf is not None and value is not MISSING:
                shelf[key] = value  # the one that was asked for last
                return value
        return self._made(kind, key, make, keep)

    def _made(self, kind, key, make, keep):
        """The value of `key`, made by this thread or the one that began first."""
        while True:
            mine = first = Pending()
            try:
                with self._lock:
                    shelf = self._shelves.setdefault(kind, {})
                    if key in shelf:
                        return shelf[key]
                    first = self._underway.get((kind, key), mine)
                    if first.over or first is mine:
                        first = self._underway[kind, key] = mine
                if first is mine:
                    return self._kept(kind, key, finished(self._xp, make()), keep)
            finally:
                mine.over = True  # at once, whatever interrupts what follows
                mine.end()
            first.wait()

    def _kept(self, kind, key, value, keep):
        with self._lock:
            shelf = self._shelves.setdefault(kind, {})
            while len(shelf) >= keep:
                del shelf[next(iter(shelf))]
            shelf[key] = value
            self._underway.pop((kind, key), None)
            return value

    def holds(self, kind: str, key: Hashable) -> bool:
        """Whether the value of `key` is there."""
        with self._lock:
            return key in self._shelves.get(kind, {})

    def drop(self, kind: str, key: Hashable) -> None:
        """Drop one value, if it is there."""
        with self._lock:
            self._shelves.get(kind, {}).pop(key, None)

    def forget(self, *kinds: str) -> None:
        """Drop all values of these kinds."""
        with self._lock:
            for kind in kinds:
                self._shelves.pop(kind, None)

    def values(self, kind: str) -> list:
        """The values of a kind that are kept."""
        with self._lock:
            return list(self._shelves.get(kind, {}).values())


def finished(xp: Any, value: Any) -> Any:
    """A value, once all is done that the calling thread has begun on a device, where the module's arrays are there."""
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()
    return value
