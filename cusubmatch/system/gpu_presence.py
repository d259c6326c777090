"""Whether there is a GPU that can be used, found out without importing anything heavy."""

from __future__ import annotations

import ctypes
import functools
import importlib.util

__all__ = ["compute_capabilities", "missing_for_gpu"]

PACKAGES = ("cupy", "numba_cuda")
CUDA_13 = 13_000  # in the driver's numbering of CUDA versions
MAJOR, MINOR = 75, 76  # of the compute capability, in the driver's numbering of attributes


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


def compute_capabilities() -> list[tuple[int, int]]:
    """The compute capability of each GPU of this machine, as the driver says; none without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, device, value = ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []

    def attribute(number):
        driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        return value.value

    found = []
    for i in range(count.value):
        driver.cuDeviceGet(ctypes.byref(device), i)
        found.append((attribute(MAJOR), attribute(MINOR)))
    return found
