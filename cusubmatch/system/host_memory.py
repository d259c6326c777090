"""How much host memory is left, from the system alone: results are checked against it before they are made."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory"]

MEMINFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")
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
