"""Lines of the caches: memory that is read or written together."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["LINE_BYTES", "zeros_on_lines"]

LINE_BYTES = 64


def zeros_on_lines(size: int, dtype: DTypeLike) -> np.ndarray:
    """Zeros that begin with a line: a vector of 64 bytes at a multiple of these is read from one line, not from two."""
    memory = np.zeros(size * np.dtype(dtype).itemsize + LINE_BYTES, np.uint8)
    begin = -memory.ctypes.data % LINE_BYTES
    return memory[begin : begin + size * np.dtype(dtype).itemsize].view(dtype)
