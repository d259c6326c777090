"""Folders of this process that others read: removed at its end, or, if it was killed, when the next one begins.

A process holds a lock on a file of each of its folders, which goes with the process however it ends. So a folder whose
file can be locked has no owner any more. Only folders that say that they were made here, and on this machine, are
looked at: a lock may not reach over a network.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import socket
import tempfile
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows, where nothing can be known about an owner
    fcntl = None  # type: ignore[assignment]

__all__ = ["OWNER_FILE", "owned_folder"]

OWNER_FILE = "token"  # the file: its folder, and the machine of its owner
PREFIX = "cusubmatch-"

_locks: list[int] = []  # open files of this process


def owned_folder(parent: str) -> str:
    """A new folder, which is removed with this process or some time after it."""
    with contextlib.suppress(OSError):
        remove_left(Path(parent))
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    atexit.register(functools.partial(_remove, os.getpid(), folder))
    unlocked, token = Path(folder, f"{OWNER_FILE}.new"), Path(folder, OWNER_FILE)
    lock = os.open(unlocked, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    _locks.append(lock)
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(lock, _token(folder).encode())
    unlocked.rename(token)  # whoever sees it sees it locked
    return folder


def remove_left(parent: Path) -> None:
    """Remove the folders whose owners on this machine have ended."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == os.getuid() and not folder.is_symlink() and _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    """Whether a folder was made here and nobody holds its lock."""
    token = folder / OWNER_FILE
    if fcntl is None or not token.is_file() or token.read_text(encoding="utf-8") != _token(str(folder)):
        return False
    with token.open("rb+") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _token(folder: str) -> str:
    return f"{folder}\n{socket.gethostname()}\n"


def _remove(process: int, folder: str) -> None:
    if os.getpid() == process:  # not in a fork
        shutil.rmtree(folder, ignore_errors=True)
