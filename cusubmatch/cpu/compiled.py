"""The one way in which this engine's functions are compiled: Numba without the GIL, cached on disk by version.

Numba notices an edit of the file that a cached function stands in, but not of the files whose functions it calls. So
the cache lives in a folder named after a hash of all this engine's sources: another version, or an edit, starts a
folder of its own and never loads stale code. `NUMBA_CACHE_DIR` is honoured; where no folder can be written, functions
are compiled in memory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import tempfile
import threading
from pathlib import Path

import numba
from llvmlite import ir
from numba.core import config
from numba.extending import intrinsic

__all__ = ["announced", "jit", "popcount", "threads", "trailing_zeros"]

_compiled: set[str] = set()  # by this process
_compiling = threading.Lock()


@functools.cache
def _cache_folder() -> Path | None:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folder = Path(home or Path.home() / ".cache") / "cusubmatch" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def jit(function):
    """Compile `function` when it is first called, or load what an earlier process compiled."""
    dispatcher = numba.njit(nogil=True, boundscheck=False, error_model="numpy")(function)
    if folder := _cache_folder():
        previous, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            dispatcher.enable_caching()
        finally:
            config.CACHE_DIR = previous
    return dispatcher


@contextlib.contextmanager
def announced(part: str):
    """Say on standard error that `part` is being compiled, where no earlier process has compiled and cached it."""
    if part in _compiled:
        yield
        return
    with _compiling:  # one thread compiles, the others wait for it
        folder = _cache_folder()
        mark = folder / f"{part}.compiled" if folder else None
        if part not in _compiled and not (mark and mark.exists()) and sys.stderr is not None:
            print(f"cusubmatch: compiling the CPU engine ({part}), once a version ...", file=sys.stderr, flush=True)
        yield
        _compiled.add(part)
        if mark:
            mark.touch()


def threads() -> int:
    """CPU threads to use: `numba.config.NUMBA_NUM_THREADS`, read at each call."""
    return max(1, int(config.NUMBA_NUM_THREADS))


@intrinsic
def popcount(_context, word):
    """The number of set bits of an unsigned word."""
    return word(word), lambda _context, builder, _signature, arguments: builder.ctpop(arguments[0])


@intrinsic
def trailing_zeros(_context, word):
    """The position of the lowest set bit of a nonzero unsigned word."""

    def generate(_context, builder, _signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return word(word), generate
