"""A file, or a folder of files, that is complete or absent.

Tables go to a hidden sibling of the target, `.NAME.PID.N.partial`. When all are there it is flushed to the disk and
renamed onto the target, so that whoever looks at any moment, or after a crash, sees the older result, if there was one,
or the whole new one. A writer holds a lock on its sibling; what a killed one left behind is removed when the same
target is written again.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import itertools
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

from cusubmatch.io.formats import is_text

try:
    import fcntl
except ImportError:  # no POSIX: what others left behind is not told from what they are writing, and stays
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "CAN_LOCK",
    "FOLDER",
    "Output",
    "OutputPath",
    "disk_errors",
    "locked",
    "plain_schema",
    "table_writer",
    "whole_folder",
]

CAN_LOCK = fcntl is not None
FOLDER = ""  # the suffix of a folder of parts
CSV_ROWS = 1 << 16  # made into text at once: a fifth faster than Arrow's 1024
GZIP_LEVEL = 6  # that of the command; Python's is 9
UNFLUSHABLE = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP}  # where folders cannot be opened or flushed

_numbers = itertools.count()  # tell siblings apart that threads of one process write for the same target


class OutputPath(NamedTuple):
    """A file or folder to write: as the caller wrote it, with links resolved, and its suffix or FOLDER."""

    name: str
    path: Path
    suffix: str


def plain_schema(schema: Any) -> Any:
    """A schema that text can hold: it has no dictionary type, so categories are written as their values."""
    import pyarrow as pa

    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in schema.types]
    return pa.schema(list(zip(schema.names, plain, strict=True)))


def table_writer(sink: Any, schema: Any, suffix: str) -> Any:
    """A writer of Arrow tables in the format of a suffix."""
    if is_text(suffix):
        from pyarrow import csv

        options = csv.WriteOptions(batch_size=CSV_ROWS, delimiter="\t" if suffix.startswith(".tsv") else ",")
        return csv.CSVWriter(sink, schema, write_options=options)
    from pyarrow import parquet

    return parquet.ParquetWriter(sink, schema)


class Output:
    """The hidden sibling of a target while tables are written to it; leaving it unpublished removes it."""

    def __init__(self, target: OutputPath, schema: Any, rows_per_file: int):
        self.rows = 0
        self._target, self._schema = target, schema
        self._is_folder = target.suffix == FOLDER
        self._file_rows = int(rows_per_file) if self._is_folder else None  # most rows of a file
        self._parts = 0
        self._file: Any = None
        self._zip: Any = None
        self._writer: Any = None
        self._lock: int | None = None

    def __enter__(self) -> Self:
        path = self._target.path
        _remove_leftovers(path)
        self._hidden = _sibling(path)
        try:
            with self._disk():
                if self._is_folder:
                    self._hidden.mkdir()
                self._open()
                self._lock = locked(self._hidden)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        for part in (self._writer, self._zip, self._file):
            if part is not None:
                with contextlib.suppress(Exception):  # the error that led here is the one to tell
                    part.close()
        if self._lock is not None:
            os.close(self._lock)
        _remove(self._hidden)

    def write(self, table: Any) -> None:
        """Append an Arrow table."""
        with self._disk():
            while table.num_rows:
                if self._file_rows is not None and self._rows_here == self._file_rows:
                    self._close()
                    self._open()
                part = table if self._file_rows is None else table.slice(0, self._file_rows - self._rows_here)
                self._writer.write_table(part)
                self._rows_here += part.num_rows
                self.rows += part.num_rows
                table = table.slice(part.num_rows)

    def publish(self) -> None:
        """Put what was written on the disk, and then under the target's name."""
        with self._disk():
            self._close()
            if self._is_folder:
                _flush_folder(self._hidden)
            self._hidden.replace(self._target.path)
        _flush_folder(self._target.path.parent)

    def _open(self) -> None:
        path = self._hidden / f"part-{self._parts:05d}.parquet" if self._is_folder else self._hidden
        self._file = path.open("xb")  # Python's: Arrow's own files lose the errno of some errors
        if self._target.suffix.endswith(".gz"):
            self._zip = gzip.GzipFile("", "wb", GZIP_LEVEL, self._file, mtime=0)  # the same bytes for the same rows
        self._writer = table_writer(self._zip or self._file, self._schema, self._target.suffix)
        self._rows_here, self._parts = 0, self._parts + 1

    def _close(self) -> None:
        self._writer.close()
        if self._zip is not None:
            self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def _disk(self) -> contextlib.AbstractContextManager[None]:
        return disk_errors("path", self._target.name, lambda: f"; {self.rows:,} rows had been written")


@contextlib.contextmanager
def whole_folder(target: OutputPath, argument: str) -> Iterator[Path]:
    """A hidden sibling folder to write files to, which gets the target's name when the block ends without an error."""
    _remove_leftovers(target.path)
    hidden, lock = _sibling(target.path), None
    try:
        with disk_errors(argument, target.name):
            hidden.mkdir()
            lock = locked(hidden)
            yield hidden
            _flush_folder(hidden)
            hidden.replace(target.path)
        _flush_folder(target.path.parent)
    finally:
        if lock is not None:
            os.close(lock)
        _remove(hidden)


@contextlib.contextmanager
def disk_errors(argument: str, name: str, so_far: Callable[[], str] = str) -> Iterator[None]:
    """Errors of the disk, with what they mean for the result."""
    try:
        yield
    except OSError as error:
        code = error.errno or (errno.ENOSPC if "No space left" in str(error) else None)
        reason = os.strerror(code) if code else str(error)
        message = f"{argument}: {name!r} could not be written: {reason}; nothing was kept{so_far()}"
        raise (OSError(code, message) if code else OSError(message)) from error


def _sibling(path: Path) -> Path:
    """A name beside `path` that nobody else writes to."""
    return path.with_name(f".{path.name}.{os.getpid()}.{next(_numbers)}.partial")


def _remove_leftovers(path: Path) -> None:
    """Remove what writers of this target left behind when they were killed."""
    scheme = re.compile(rf"\.{re.escape(path.name)}\.(\d+)\.\d+\.partial")
    with contextlib.suppress(OSError):  # a folder that may not be listed
        for entry in path.parent.iterdir():
            match = scheme.fullmatch(entry.name)
            if match is None or (int(match[1]) != os.getpid() and _is_alive(int(match[1]))):
                continue
            if (lock := locked(entry)) is not None:  # else a process of another container has it
                os.close(lock)
                _remove(entry)


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # not to be asked by a signal there
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a file or folder; None if another holds it or there are no locks."""
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _flush_folder(path: Path) -> None:
    """Let the names in a folder survive a crash of the machine, where its file system can."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in UNFLUSHABLE:
            raise
