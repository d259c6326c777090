"""Device memory from a pool where RMM has none: what frees memory through the driver waits for all that runs there.

Several counts may run on a GPU at the same time, one of them in a launch that goes on until somebody stops it.
Importing cuDF lets CuPy take memory from RMM, which without a pool takes and frees each piece through the driver:
whoever frees one waits for that launch, also who would have stopped it. So threads that work for a call take memory
from CuPy's pool then. Most of what this does not use is given back, since cuDF does not find it there, but not while a
call or such a launch is under way.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["from_a_pool", "give_back", "keep_memory_during"]

KEPT_BYTES = 1 << 30  # that the pool keeps between calls


class _Launch(Protocol):
    """One that goes on until somebody stops it."""

    @property
    def ended(self) -> bool:
        """Whether it has ended; told without a call of the driver."""
        ...


class _Users:
    """Threads that take memory from CuPy's pool in place of RMM, how many, and launches that may go on for long."""

    def __init__(self) -> None:
        self.lock, self.threads = threading.RLock(), 0  # also of garbage that is collected meanwhile
        self.launches: weakref.WeakSet[_Launch] = weakref.WeakSet()

    def enter(self) -> None:
        with self.lock:
            self.threads += 1

    def leave(self) -> bool:
        """Whether none is left."""
        with self.lock:
            self.threads -= 1
            return self.threads == 0 and self.launches_have_ended()

    def add(self, launch: _Launch) -> None:
        """Keep memory during a launch."""
        with self.lock:
            self.launches.add(launch)

    def launches_have_ended(self) -> bool:
        """Whether none of the launches goes on."""
        with self.lock:
            return all(launch.ended for launch in self.launches)


_users = _Users()


def from_a_pool() -> AbstractContextManager[Any]:
    """Let the calling thread take device memory from a pool: from CuPy's, where RMM would ask the driver each time."""
    return _from_cupys_pool() if _asks_driver() else contextlib.nullcontext()


def keep_memory_during(launch: _Launch) -> None:
    """Give no memory back until a launch has ended; for the thread that has begun it, while it takes memory."""
    _users.add(launch)


def give_back(pool: Any, stream: Any) -> None:
    """Give back what a pool of CuPy keeps for a stream, unless a launch goes on: that would lock the pool meanwhile."""
    if _users.launches_have_ended():
        pool.free_all_blocks(stream=stream)


def _asks_driver() -> bool:
    """Whether CuPy takes memory from RMM, and this has no pool, nor anything else that looks at memory."""
    rmm = sys.modules.get("rmm")
    if rmm is None:
        return False
    import cupy
    from rmm.allocators.cupy import rmm_cupy_allocator

    if cupy.cuda.get_allocator() is not rmm_cupy_allocator:
        return False
    return type(rmm.mr.get_current_device_resource()) is rmm.mr.CudaMemoryResource


@contextlib.contextmanager
def _from_cupys_pool() -> Iterator[None]:
    import cupy

    pool = cupy.get_default_memory_pool()
    _users.enter()
    try:
        with cupy.cuda.using_allocator(pool.malloc):
            yield
    finally:
        if _users.leave() and pool.free_bytes() > KEPT_BYTES:
            pool.free_all_blocks()
