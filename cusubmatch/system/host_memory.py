"""Host memory: how much is left, and memory that is reserved now and taken as it is written to."""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from pathlib import Path

import numpy as np

__all__ = ["available_memory", "reserved"]

MEMINFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")
HUGE_BYTES = 1 << 22
NO_RESERVE = 0x4000  # MAP_NORESERVE of Linux, which Python names from 3.13 on
UNKNOWN = 4 << 30  # assumed where the system does not say


def available_memory() -> int:
    """Bytes of host memory that can still be taken, within the limit of the container that the process runs in."""
    return max(min(_of_system(), _of_container()), 0)


def _of_system():
    try:
        return _entry(MEMINFO, "MemAvailable:") << 10
    except (OSError, ValueError):
        pass
    try:  # no Linux: half of what is built in
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _of_container():
    try:
        limit = int((CONTAINER / "memory.max").read_text())  # "max" where there is none
        used = int((CONTAINER / "memory.current").read_text())
        return limit - used + _entry(CONTAINER / "memory.stat", "inactive_file")  # a cache that makes room when asked
    except (OSError, ValueError):
        return 1 << 62


def _entry(path, name):
    for line in path.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    raise ValueError(f"{path} has no {name}")


def reserved(size: int) -> np.ndarray:
    """Ordinary memory, uint8, that is taken as it is written to, in huge pages; MemoryError."""
    if size < HUGE_BYTES or sys.platform != "linux":
        return np.empty(size, np.uint8)
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
    except OSError as error:
        raise MemoryError(f"no address space for {size:,} bytes") from error
    with contextlib.suppress(OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)
