"""Launches of a kernel for one shape, stream and GPU; all but the first at the least cost.

The first launch with arguments of some types is Numba's, which compiles the kernel or loads it. Those that follow join
the words that the arguments keep, made once by Numba's own conversion, and hand them to the driver.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.kernel_arguments import as_device_array, known_type, scalar_type

__all__ = ["KernelLaunch"]


class _Entered(threading.local):
    """The GPUs whose context Numba has made this thread's."""

    def __init__(self):
        self.numbers: set[int] = set()


_entered = _Entered()


class KernelLaunch:
    """`launch(*arguments)` of a kernel.

    Parameters
    ----------
    configured : object
        What Numba makes of a kernel, a shape and a stream.
    number : int
        Of the GPU.
    """

    def __init__(self, configured: Any, number: int):
        self._configured, self._number = configured, number
        self._loaded: dict[tuple[int, ...], _LoadedKernel | None] = {}  # by the addresses of the arguments' types

    def __call__(self, *given: Any) -> None:
        """Launch the kernel on arrays of CuPy, parameter blocks and scalars."""
        arguments = list(map(as_device_array, given))
        types = list(map(known_type, arguments))
        key = tuple(map(id, types))
        loaded = self._loaded.get(key)
        if loaded is not None and self._number in _entered.numbers:
            loaded.launch(arguments)
            return
        self._configured(*arguments)
        _entered.numbers.add(self._number)
        if key not in self._loaded and None not in types:
            self._loaded[key] = _loaded_kernel(self._configured, types)


class _LoadedKernel:
    """A kernel compiled for arguments of some types, loaded for a GPU."""

    def __init__(self, configured: Any, kernel: Any, types: list[Any]):
        from cuda.core import LaunchConfig, launch

        self._types, self._kinds = tuple(kernel.argument_types), types  # which are kept, and so their addresses
        self._convert, self._function = kernel._prepare_args, kernel._codelibrary.get_cufunc().kernel  # noqa: SLF001
        self._stream, self._launch = configured.stream, launch
        self._config = LaunchConfig(grid=configured.griddim, block=configured.blockdim, shmem_size=configured.sharedmem)

    def launch(self, arguments: list[Any]) -> None:
        """Launch it; arrays and parameter blocks keep the words that are made of them."""
        words: list[Any] = []
        for kind, argument in zip(self._types, arguments, strict=True):
            if isinstance(argument, np.generic):
                self._convert(kind, argument, self._stream, [], words)
                continue
            kept = getattr(argument, "_words", None)
            if kept is None:
                self._convert(kind, argument, self._stream, [], kept := [])
                argument._words = kept  # noqa: SLF001 - our own
            words += kept
        self._launch(self._stream, self._config, self._function, *words)


def _loaded_kernel(configured, types):
    """What Numba has compiled for these types; None where it cannot be launched without Numba."""
    numba_types = tuple(scalar_type(kind) if isinstance(kind, type) else kind for kind in types)
    kernel = configured.dispatcher.overloads.get(numba_types)
    if kernel is None or kernel.debug or not hasattr(kernel, "_prepare_args"):
        return None
    return _LoadedKernel(configured, kernel, types)
