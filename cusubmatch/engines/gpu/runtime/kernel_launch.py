"""Launches of a kernel for one shape, stream and GPU; all but the first at the least cost.

The first launch with arguments of some types is Numba's, which compiles the kernel or loads it. Those that follow join
the words of the arguments and hand them to the driver. Whether these words are those that Numba makes is looked at
once, after the first launch; if they are not, Numba launches on.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.launch_arguments import (
    DeviceArray,
    as_device_array,
    as_numba_has_it,
    known_type,
    scalar_type,
)

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
        as_numba_has_them = list(map(as_numba_has_it, arguments))
        self._configured(*as_numba_has_them)
        _entered.numbers.add(self._number)
        if key not in self._loaded and None not in types:
            loaded = _loaded_kernel(self._configured, types)
            if loaded is not None and not loaded.agrees(arguments, as_numba_has_them):
                loaded = None
            self._loaded[key] = loaded


class _LoadedKernel:
    """A kernel compiled for arguments of some types, loaded for a GPU."""

    def __init__(self, configured: Any, kernel: Any, types: list[Any]):
        from cuda.core import LaunchConfig, launch

        self._types, self._kinds = tuple(kernel.argument_types), types  # which are kept, and so their addresses
        self._convert, self._function = kernel._prepare_args, kernel._codelibrary.get_cufunc().kernel  # noqa: SLF001
        self._stream, self._launch = configured.stream, launch
        self._config = LaunchConfig(grid=configured.griddim, block=configured.blockdim, shmem_size=configured.sharedmem)

    def launch(self, arguments: Sequence[Any]) -> None:
        """Launch it."""
        self._launch(self._stream, self._config, self._function, *self._words_of_all(arguments))

    def agrees(self, arguments: Sequence[Any], as_numba_has_them: Sequence[Any]) -> bool:
        """Whether the words of the arguments are those that Numba makes of them."""
        theirs: list[Any] = []
        for kind, argument in zip(self._types, as_numba_has_them, strict=True):
            self._convert(kind, argument, self._stream, [], theirs)
        return list(map(_plain, self._words_of_all(arguments))) == list(map(_plain, theirs))

    def _words_of_all(self, arguments):
        words: list[Any] = []
        for kind, argument in zip(self._types, arguments, strict=True):
            words += self._words(kind, argument)
        return words

    def _words(self, kind, argument):
        """What is handed over for an argument; a parameter block keeps it."""
        if isinstance(argument, DeviceArray):
            return argument.words
        if type(argument) is np.int64:
            return (int(argument),)
        words: list[Any] = []
        if not isinstance(argument, tuple):
            self._convert(kind, argument, self._stream, [], words)  # of a scalar
            return words
        kept = getattr(argument, "_words", None)
        if kept is None:
            for field_kind, field in zip(kind, argument, strict=True):
                words += self._words(field_kind, field)
            kept = words
            if hasattr(argument, "_fields"):
                argument._words = kept  # noqa: SLF001 - our own
        return kept


def _plain(word):
    return getattr(word, "value", word)


def _loaded_kernel(configured, types):
    """What Numba has compiled for these types; None where it cannot be launched without Numba."""
    numba_types = tuple(scalar_type(kind) if isinstance(kind, type) else kind for kind in types)
    kernel = configured.dispatcher.overloads.get(numba_types)
    if kernel is None or kernel.debug or not hasattr(kernel, "_prepare_args"):
        return None
    return _LoadedKernel(configured, kernel, types)
