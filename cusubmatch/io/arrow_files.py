"""Arrow IPC files of columns, written to disk and mapped into memory.

A file is mapped copy on write: pages are read when they are needed, the file is never written, and arrays over it are
of the type that compiled code knows (Numba compiles anew for read-only ones).
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import IO, Any

import numpy as np

__all__ = ["ArrowFile", "DamagedFile", "arrow_column", "arrow_table", "flush", "write_arrow_file"]


class DamagedFile(Exception):
    """A file is cut short, or it is not what was written."""


def write_arrow_file(path: Path, table: Any) -> None:
    """Write a table to a new file, and put it on the disk."""
    import pyarrow as pa

    with path.open("xb") as file:
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        flush(file)


def flush(file: IO[Any]) -> None:
    """Put what was written to a file on the disk."""
    file.flush()
    os.fsync(file.fileno())


def arrow_table(columns: dict[str, Any]) -> Any:
    """A table of columns: Arrow's, or NumPy arrays."""
    import pyarrow as pa

    return pa.table(columns)


def arrow_column(values: list[Any]) -> Any | None:
    """Python values as an Arrow array from which they come back as they are; None if there is none."""
    import pyarrow as pa

    try:
        array = pa.array(values)
        same = all(a == b and str(a) == str(b) for a, b in zip(values, array.to_pylist(), strict=True))
    except (pa.ArrowException, OverflowError):
        return None
    return array if same else None


class ArrowFile:
    """The table of an Arrow file, mapped into memory; `DamagedFile` where it is not as it was written."""

    def __init__(self, path: Path, rows: int):
        import pyarrow as pa

        with path.open("rb") as opened:
            try:
                self._bytes = np.frombuffer(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
                self._table = pa.ipc.open_file(pa.py_buffer(self._bytes)).read_all()
            except (pa.ArrowException, ValueError, OSError):
                raise DamagedFile from None
        if self._table.num_rows != rows:
            raise DamagedFile

    @property
    def table(self) -> Any:
        """The whole table."""
        return self._table

    def select(self, name: str) -> Any:
        """A table of one column."""
        if name not in self._table.column_names:
            raise DamagedFile
        return self._table.select([name])

    def column(self, name: str) -> Any:
        return self.select(name).column(0)

    def array(self, name: str, dtype: Any) -> np.ndarray | None:
        """A column of numbers as an array that is part of the mapped file; None if it is not there."""
        import pyarrow as pa

        if name not in self._table.column_names:
            return None
        column = self._table.column(name)
        if column.type != pa.from_numpy_dtype(dtype) or column.null_count:
            raise DamagedFile
        if column.num_chunks != 1:
            return np.concatenate([np.empty(0, dtype), *(chunk.to_numpy() for chunk in column.chunks)])
        chunk, width = column.chunk(0), np.dtype(dtype).itemsize
        start = chunk.buffers()[1].address - self._bytes.ctypes.data + chunk.offset * width
        return self._bytes[start : start + len(chunk) * width].view(dtype)
