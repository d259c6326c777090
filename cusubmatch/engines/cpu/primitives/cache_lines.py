"""Lines of the caches: memory that is read or written together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["LINE_BYTES", "on_lines", "zeros_on_lines"]

LINE_BYTES = 64


def zeros_on_lines(size: int, dtype: DTypeLike) -> np.ndarray:
    """Zeros that begin with a line: a vector of 64 bytes at a multiple of these is read from one line, not from two."""
    return on_lines(np.zeros, size, dtype)


def on_lines(make: Callable[[int, DTypeLike], np.ndarray], size: int, dtype: DTypeLike) -> np.ndarray:
    """Such an array, of values that `make(size, dtype)` gives."""
    item = np.dtype(dtype).itemsize
    memory = make(size + LINE_BYTES // item, dtype)
    begin = -memory.ctypes.data % LINE_BYTES // item
    return memory[begin : begin + size]
