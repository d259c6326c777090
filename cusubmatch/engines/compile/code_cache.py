"""Where compiled code is kept: a folder for each version of an engine's sources.

Numba notices an edit of the file that a cached function stands in, but not of the files whose functions it calls. So
the folder is named after a hash of all the engine's sources: another version, or an edit, starts a folder of its own
and never loads stale code. `NUMBA_CACHE_DIR` is honoured; where no folder can be written, code is compiled in memory.

Where several processes need a function at once, one compiles it and the others load it. They wait for a file lock,
which the operating system releases when its process dies. Where files cannot be locked, each process compiles. What is
kept and cannot be read is said, and made anew.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import logging
import os
import pickle
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs

__all__ = ["cache_folder", "check_threads", "enable_caching", "holds_compiled", "locked", "logger"]

SECONDS_BETWEEN_TRIES = 0.02  # to lock a file
UNREADABLE = pickle.UnpicklingError, EOFError, ImportError, AttributeError  # raised where a file is damaged

# With no handler configured, Python writes warnings to standard error, bare: so messages begin with the package's name.
logger = logging.getLogger("cusubmatch")


def check_threads() -> None:
    """Refuse a NUMBA_NUM_THREADS that is no number of threads; call it before Numba is imported, which would break."""
    value = os.environ.get("NUMBA_NUM_THREADS")
    if value is not None and not (re.fullmatch(r"\s*\+?[0-9]+\s*", value) and int(value) > 0):
        raise ValueError(
            f"NUMBA_NUM_THREADS: expected a number of threads, 1 or more, got {value!r}; without it all cores are used"
        )


@functools.cache
def cache_folder(sources: Path, compiler: str) -> Path | None:
    """The folder for code of one version of a compiler from the Python files in `sources`; None if none is writable."""
    digest = hashlib.sha256(compiler.encode())
    for source in sorted(sources.rglob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    parent = _user_cache()
    folder = parent / digest.hexdigest()[:16]
    try:
        if not folder.is_absolute():
            raise FileNotFoundError("the user has no home")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        _warn_once(
            f"{str(parent)!r} cannot be written, so each process compiles anew; name another folder in NUMBA_CACHE_DIR"
        )
        return None


def _user_cache():
    """The folder that holds the package's cached code: in NUMBA_CACHE_DIR, or where the system keeps users' caches."""
    if parent := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(parent, "cusubmatch").absolute()
    try:
        return platformdirs.user_cache_path("cusubmatch", appauthor=False)
    except RuntimeError:  # no home; older versions return a path that begins with "~"
        return Path("~", "cusubmatch")


def holds_compiled(suffix: str) -> bool:
    """Whether there is any file of a kind, of whatever version."""
    return next(_user_cache().glob(f"*/*{suffix}"), None) is not None


@functools.cache
def _warn_once(message):
    logger.warning("cusubmatch: %s", message)


def enable_caching(dispatcher: Any, config: Any, folder: Path | None) -> Any:
    """Let a compiled function be kept in `folder`; `config` is its compiler's."""
    if folder:
        previous, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            dispatcher.enable_caching()
        finally:
            config.CACHE_DIR = previous
        _compile_in_one_process(dispatcher, folder)
    return dispatcher


def _compile_in_one_process(dispatcher, folder):
    """Let a dispatcher compile, or load what another process compiled meanwhile, under the lock of a file."""
    from numba.core.compiler_lock import global_compiler_lock

    compile_here, function, kept = dispatcher.compile, dispatcher.py_func, dispatcher._cache  # noqa: SLF001
    path = folder / re.sub(r"[^\w.]", "", f"{function.__module__}.{function.__qualname__}.lock")

    def compile_(signature):
        with global_compiler_lock, locked(path):  # in this order: a thread that waits for a file holds up no other's
            try:
                return compile_here(signature)
            except UNREADABLE as error:
                logger.warning("cusubmatch: %s is compiled anew: what is kept cannot be read (%s)", path.stem, error)
                kept.flush()
                return compile_here(signature)

    dispatcher.compile = compile_


_locked_by_us: set[Path] = set()  # by this process, under the compiler's lock


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file, if that can be had before the interpreter ends; a thread may hold it twice."""
    if path in _locked_by_us:
        yield
        return
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    _locked_by_us.add(path)
    try:
        while threading.main_thread().is_alive() and _is_locked_elsewhere(descriptor):
            time.sleep(SECONDS_BETWEEN_TRIES)
        yield
    finally:
        _locked_by_us.discard(path)
        os.close(descriptor)  # which unlocks it


def _is_locked_elsewhere(descriptor):
    """Whether another process holds the lock; else it is ours now, or there are no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK}
    return False
