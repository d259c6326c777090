"""Where compiled code is kept: a folder for each version of an engine's sources.

Numba notices an edit of the file that a cached function stands in, but not of the files whose functions it calls. So
the folder is named after a hash of all the engine's sources: another version, or an edit, starts a folder of its own
and never loads stale code. `NUMBA_CACHE_DIR` is honoured; where no folder can be written, code is compiled in memory.
"""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["cache_folder", "enable_caching"]


@functools.cache
def cache_folder(sources: Path, compiler: str) -> Path | None:
    """The folder for code of one version of a compiler from the Python files in `sources`; None if none is writable."""
    digest = hashlib.sha256(compiler.encode())
    for source in sorted(sources.glob("*.py")):
        digest.update(source.name.encode() + source.read_bytes())
    home = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folder = Path(home or Path.home() / ".cache") / "cusubmatch" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def enable_caching(dispatcher: Any, config: Any, folder: Path | None) -> Any:
    """Let a compiled function be kept in `folder`; `config` is its compiler's."""
    if folder:
        previous, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            dispatcher.enable_caching()
        finally:
            config.CACHE_DIR = previous
    return dispatcher
