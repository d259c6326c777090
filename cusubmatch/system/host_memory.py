"""Memory: how much is left, and host memory that is reserved now and taken as it is written to."""

from __future__ import annotations

import contextlib
import mmap
import sys
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["available_memory", "free_bytes", "reserved"]

CGROUP = Path("/sys/fs/cgroup")  # version 2, of the container that the process runs in
UNLIMITED_BYTES = 1 << 62
HUGE_PAGES_FROM_BYTES = 1 << 22
MAP_NORESERVE = 0x4000  # of Linux; Python names it from 3.13 on


def available_memory() -> int:
    """Bytes of host memory that can still be taken, within the limit of the container that the process runs in."""
    import psutil

    return max(min(psutil.virtual_memory().available, _left_in_container()), 0)


def free_bytes(xp: Any) -> int:
    """Memory that is left where arrays of `xp` lie: in host memory, or on the current GPU."""
    if xp is np:
        return available_memory()
    return xp.cuda.runtime.memGetInfo()[0] + xp.get_default_memory_pool().free_bytes()


def _left_in_container():
    try:
        limit = int((CGROUP / "memory.max").read_text())  # "max" where there is none
        used = int((CGROUP / "memory.current").read_text())
        statistics = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        return limit - used + int(statistics["inactive_file"])  # file cache, which is dropped on demand
    except (OSError, ValueError, KeyError):
        return UNLIMITED_BYTES


def reserved(size: int, *, zeros: bool = False) -> np.ndarray:
    """Ordinary memory, uint8, that is taken as it is written to, in huge pages; with any values, or 0; MemoryError."""
    if size < HUGE_PAGES_FROM_BYTES or sys.platform != "linux":
        return np.zeros(size, np.uint8) if zeros else np.empty(size, np.uint8)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    except OSError as error:
        raise MemoryError(f"no address space for {size:,} bytes") from error
    with contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)
