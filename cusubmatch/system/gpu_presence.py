"""Whether there are GPUs that can be used, and which, found out without importing anything heavy."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from typing import NamedTuple

__all__ = ["GpuKind", "gpus", "missing_for_gpu"]

PACKAGES = ("cupy", "numba_cuda")
CUDA_13 = 13_000  # in the driver's numbering of CUDA versions
MULTIPROCESSORS, MAJOR, MINOR = 16, 75, 76  # the driver's numbers of these attributes
NAME_BYTES = 128


class GpuKind(NamedTuple):
    """What GPUs must have in common to share a search: the name, the multiprocessors, the compute capability."""

    name: str
    multiprocessors: int
    capability: tuple[int, int]


@functools.cache
def missing_for_gpu() -> str | None:
    """What is missing to use a GPU; None if nothing is."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        count, version = ctypes.c_int(0), ctypes.c_int(0)
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
            return "the NVIDIA driver finds no GPU"
        driver.cuDriverGetVersion(ctypes.byref(version))
    except OSError:
        return "there is no NVIDIA GPU with its driver (it also takes pip install 'cusubmatch[cu13]', or [cu12])"
    if absent := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        extra = "cu13" if version.value >= CUDA_13 else "cu12"
        return f"{' and '.join(absent)} missing; pip install 'cusubmatch[{extra}]'"
    return None


@functools.cache
def gpus() -> tuple[GpuKind, ...]:
    """The GPUs that `CUDA_VISIBLE_DEVICES` leaves, by number."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ()
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return ()
    return tuple(_kind(driver, number) for number in range(count.value))


def _kind(driver: ctypes.CDLL, number: int) -> GpuKind:
    """What the driver says of a GPU."""
    device, name = ctypes.c_int(0), ctypes.create_string_buffer(NAME_BYTES)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(name, NAME_BYTES, device)

    def attribute(which: int) -> int:
        value = ctypes.c_int(0)
        driver.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    return GpuKind(name.value.decode(), attribute(MULTIPROCESSORS), (attribute(MAJOR), attribute(MINOR)))
