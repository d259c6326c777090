"""The GPU that kernels run on, as the host code sees it: a target and how much of it there is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from cusubmatch.engines.gpu.runtime import cuda
from cusubmatch.engines.gpu.runtime.compilation import expect_kernels
from cusubmatch.engines.gpu.runtime.launch_arguments import as_device_array
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.system.gpu_presence import gpus

__all__ = ["CONDITION_REGISTERS", "REGISTERS", "SUFFIX_REGISTERS", "WIDE_REGISTERS", "Device", "current_device"]

# Most registers of a thread of the walker, so that all its blocks are resident at once; the second number is for
# offsets of 64 bits, for counts by task and, before generation 9, for weights; the third for suffixes.
REGISTERS, WIDE_REGISTERS, SUFFIX_REGISTERS = 64, 72, 80
CONDITION_REGISTERS = 104  # of a walk over rows that tests conditions
MAX_RESIDENT_WARPS = 64  # of a multiprocessor
MULTIPROCESSOR_REGISTERS = 65_536
RESERVED_SHARED_BYTES = 1024  # of a block, for the system


class Device(NamedTuple):
    """A target, and how much of it there is.

    Attributes
    ----------
    target : Target
    processors : int
        Multiprocessors; blocks that a kernel without shared memory is launched with are a multiple of it.
    shared : int
        Bytes of shared memory a multiprocessor.
    to_device : callable
        What a kernel takes in place of an array.
    tunables : Tunables
        Numbers that set the speed of kernels and launches.
    generation : int
        First number of the compute capability: compilers for an older GPU take more registers.
    number : callable
        The number of the GPU that the calling thread works on: GPUs of one kind differ in nothing else.
    """

    target: cuda.Target
    processors: int
    shared: int
    to_device: Callable[[Any], Any] = lambda array: array
    tunables: Tunables = Tunables()
    generation: int = 9
    number: Callable[[], int] = lambda: 0

    def tuned(self, **changes: Any) -> Device:
        """The device with other tunable numbers."""
        return self._replace(tunables=replace(self.tunables, **changes))

    def resident(self, words: int, warps: int, registers: int) -> int:
        """Blocks of `warps` warps that can be resident together; `words` of shared memory, and registers a thread."""
        registers *= warps * self.target.WARP
        by_memory = self.shared // (4 * words + RESERVED_SHARED_BYTES)
        each = min(by_memory, MAX_RESIDENT_WARPS // warps, MULTIPROCESSOR_REGISTERS // registers)
        return self.processors * max(1, each)


def current_device() -> Device:
    """The current GPU."""
    return _device(cuda.current_number())


@functools.cache
def _device(number: int) -> Device:
    """The current GPU, which has this number."""
    expect_kernels(gpus()[number].capability)
    generation = cuda.generation()
    return Device(cuda.gpu(), *cuda.properties(), as_device_array, generation=generation, number=cuda.current_number)
