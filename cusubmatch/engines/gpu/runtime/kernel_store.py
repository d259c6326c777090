"""Compiled kernels on disk: a file for each kernel, types of arguments and compute capability.

A file appears under its name when it is complete. Its name is a hash of the kernel's recipe; the folder is named after
the engine's sources and the compiler's versions. Whoever compiles a kernel holds the lock of a file beside it, so that
no two processes compile the same one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cusubmatch.engines.compile.code_cache import cache_folder, locked
from cusubmatch.engines.gpu.runtime.kernel_factory import Recipe

__all__ = ["KernelStore", "StoredKernels", "kernel_store", "types_of"]


class KernelStore:
    """The folder of the kernels of one version of sources and compiler."""

    def __init__(self, folder: Path):
        self.folder = folder

    def path(self, recipe: Recipe, types: tuple, capability: tuple) -> Path:
        """Where a kernel is kept once it is compiled for arguments of these types and a GPU of this capability."""
        key = f"{tuple(recipe)} {types} {tuple(capability)}"
        return (
            self.folder / f"{recipe.name.removeprefix('make_')}-{hashlib.sha256(key.encode()).hexdigest()[:20]}.kernel"
        )

    def is_empty(self) -> bool:
        """Whether nothing has been compiled yet."""
        with os.scandir(self.folder) as entries:
            return not any(entry.name.endswith(".kernel") for entry in entries)


def kernel_store() -> KernelStore | None:
    """The store of this version; None if no folder can be written."""
    from numba.cuda.cudadrv.runtime import runtime

    python, cuda = sys.version_info[:2], runtime.get_version()
    compiler = f"numba-cuda {version('numba-cuda')} numba {version('numba')} Python {python} CUDA {cuda}"
    folder = cache_folder(Path(__file__).parents[1], compiler)
    return KernelStore(folder) if folder else None


class StoredKernels:
    """The stored versions of one kernel, as its dispatcher asks for them (the interface of Numba's caches)."""

    def __init__(self, store: KernelStore, kernel: Any):
        self._store, self._kernel = store, kernel

    def path(self, signature: Any) -> Path | None:
        """Where the version for a signature is kept, on the current device; None for a kernel without a recipe."""
        from numba.cuda import dispatcher

        if self._kernel.recipe is None:
            return None
        capability = dispatcher.get_current_device().compute_capability
        return self._store.path(self._kernel.recipe, types_of(signature), capability)

    def lock(self, signature: Any) -> contextlib.AbstractContextManager[None]:
        """The lock that is held while the version for a signature is compiled."""
        path = self.path(signature)
        return locked(path.with_suffix(".lock")) if path else contextlib.nullcontext()

    def load_overload(self, signature: Any, _context: Any) -> Any:
        """The compiled kernel; None if there is none."""
        from numba.cuda.dispatcher import _Kernel

        path = self.path(signature)
        try:
            return _Kernel._rebuild(**pickle.loads(path.read_bytes())) if path else None  # noqa: S301, SLF001 - our file
        except FileNotFoundError:
            return None
        except Exception:  # noqa: BLE001 - a file that something has damaged: compiled again, and replaced
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled kernel; where the disk is full, it is not kept."""
        from numba.cuda.serialize import dumps

        if not (path := self.path(signature)):
            return
        with contextlib.suppress(OSError):
            _publish(path, dumps(compiled._reduce_states()))  # noqa: SLF001


def types_of(signature: Any) -> tuple:
    """The types of the arguments, of a signature or a tuple of types."""
    return tuple(getattr(signature, "args", signature))


def _publish(path, code):
    part = path.with_suffix(f".{os.getpid()}.part")  # one thread of a process compiles at a time
    try:
        part.write_bytes(code)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
