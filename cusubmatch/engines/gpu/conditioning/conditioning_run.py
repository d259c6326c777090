"""A count by recursive conditioning on a GPU, of a candidate graph that lies in host memory.

The candidate graph is copied, its rows become bitmaps, and one launch counts all, unless it is stopped. It runs on a
stream of its own, so that what the caller's stream does is not waited for. Whoever began it asks now and then whether
it has ended. That is told, and a launch is stopped, by words in pinned host memory: a call of the driver may have to
wait for one of another thread, which waits for the launch. After its time it stops by itself, since that may happen to
whoever begins it, too, who then cannot stop it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning.component_cache import SLOT_WORDS
from cusubmatch.engines.gpu.conditioning.conditioner import COUNT_WORDS, FAILED, OUTPUT_WORDS, STEPS, make_condition
from cusubmatch.engines.gpu.conditioning.kernel_signatures import (
    ControlArrays,
    CountArrays,
    condition_kernel,
    fill_kernel,
)
from cusubmatch.engines.gpu.conditioning.program import Program, factors, make_program
from cusubmatch.engines.gpu.conditioning.row_sets import fill_store
from cusubmatch.engines.gpu.conditioning.shared_tasks import TASK_WORDS
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.device_memory import keep_memory_during
from cusubmatch.engines.gpu.walker import task_ring as r
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["ConditioningRun", "conditioning_run"]

LONG_PART = 2  # a long count has one of so many parts of the device
PLACES = 64  # for counts that are under way on a GPU: more than there are threads that ask


def conditioning_run(
    local: CandidateGraph, order: Sequence[int], gpu: Device, xp: Any, seconds: float, is_long: bool = False
) -> ConditioningRun | None:
    """A count on a candidate graph, which begins; None where that is too large, or kernels are still to be compiled.

    One that `is_long` leaves a part of the device to others, and keeps more counts of components.
    """
    if is_long:
        gpu = gpu.tuned(conditioning_slots=gpu.tunables.long_conditioning_slots)
    program = make_program(local, order, gpu, LONG_PART if is_long else 1)
    if program is None or 4 * program.store_words > gpu.tunables.conditioning_store_bytes:
        return None
    if not gpu.target.has([condition_kernel(program.lane_words), fill_kernel()]):
        return None
    return ConditioningRun(local, program, gpu, xp, seconds)


class ConditioningRun:
    """One count of the embeddings, which begins when it is made, and takes so many seconds at the most.

    Attributes
    ----------
    remaining_s : float
        Infinite: when the number will be known is not.

    Raises
    ------
    MemoryError
    """

    remaining_s = math.inf

    def __init__(self, local: CandidateGraph, program: Program, gpu: Device, xp: Any, seconds: float):
        self.local, self.program, self.gpu, self.xp = local, program, gpu, xp
        self._aside = _aside(xp is np, gpu.number())
        self._number = next(self._aside.numbers)
        self._place = self._number % PLACES
        with self._aside.stream:
            self._begin(int(seconds * 1e9))
        keep_memory_during(self)

    @property
    def ended(self) -> bool:
        """Whether the launch has ended."""
        return int(self._aside.ended[self._place]) == self._number

    def poll(self) -> int | None:
        """The number of embeddings, once it is known; None for ever if it was ended before, or may pass 110 bits."""
        if not self.ended:
            return None
        words = self._aside.results[self._place].tolist()
        return None if words[FAILED] else sum(part << 32 * place for place, part in enumerate(words[:COUNT_WORDS]))

    def stop(self) -> None:
        """Let the launch end soon."""
        self._aside.stopped.on_host[self._place] = self._number

    @property
    def steps(self) -> int:
        """Candidates that were tried, of a count that has ended."""
        return int(self._aside.results[self._place][STEPS])

    @property
    def donated(self) -> int:
        """Tasks that warps have handed on, of a count that has ended."""
        return int(self._words[r.DONATED])

    def _begin(self, nanoseconds):
        gpu, xp, program = self.gpu, self.xp, self.program
        words = np.zeros(r.CONTROL_WORDS, np.int32)
        words[r.FREE] = slots = gpu.tunables.ring_slots
        place, aside = slice(self._place, self._place + 1), self._aside
        self._words, out = xp.asarray(words), xp.zeros(OUTPUT_WORDS, np.uint64)
        number = xp.asarray(np.full(1, self._number, np.int32))
        control = ControlArrays(
            self._words,
            xp.arange(slots, dtype=np.int32),
            xp.empty(slots * TASK_WORDS, np.uint32),
            aside.stopped.on_device[place],
        )
        cache = xp.zeros(SLOT_WORDS * gpu.tunables.conditioning_slots, np.uint64)
        arrays = CountArrays(xp.asarray(program.sizes), self._store(), self._factors(), cache)
        threads = gpu.tunables.conditioning_block_warps * gpu.target.WARP
        arguments = (
            self._put(program.words),
            gpu.to_device(arrays),
            gpu.to_device(control),
            np.int32(self._number),
            np.int64(nanoseconds),
            gpu.to_device(out),
        )
        make_condition(gpu.target, program.lane_words)[program.blocks, threads, 4 * program.shared_words](*arguments)
        self._kept = arguments, number  # to free memory without a pool, as RMM does, waits for the launch, too
        # One after the other: whoever sees that it has ended sees the result. They are copied, since to load what
        # writes them would wait for the launch, which nobody could stop before this returns.
        _copy_then(out, aside.results[self._place])
        _copy_then(number, aside.ended[place])

    def _factors(self):
        """Those of keys, which stay on the GPU."""
        kept, words = self._aside.factors, self.program.set_words
        if words not in kept:
            kept[words] = self.xp.asarray(factors(words))
        return kept[words]

    def _put(self, array):
        return self.gpu.to_device(self.xp.asarray(array))

    def _store(self):
        """The store, with whole domains and rows."""
        store = self.xp.empty(self.program.store_words, np.uint32)
        fill_store(self.local, self.program.set_words, store, self.gpu, self.xp)
        return store


def _copy_then(array: Any, to: np.ndarray) -> None:
    """Copy an array to pinned memory when all before it on the stream is done, and do not wait."""
    if isinstance(array, np.ndarray):
        to[:] = array
    else:
        array.get(out=to, blocking=False)


class _Shared(NamedTuple):
    """An array in pinned memory, as the host and as kernels see it."""

    on_host: np.ndarray
    on_device: Any


class _Aside(NamedTuple):
    """Where counts on a GPU run, the numbers of the next ones, and factors of keys by the words of a set.

    `stopped` has the number of a count that is to stop, `ended` that of one that has ended, at the count's place, and
    `results` what it has left, all in pinned memory.
    """

    stream: Any
    numbers: Any
    factors: dict[int, Any]
    stopped: _Shared
    ended: np.ndarray
    results: np.ndarray


@functools.cache
def _aside(on_host: bool, number: int) -> _Aside:
    """Of each GPU; kept, since launches are configured anew for each stream."""
    make = np.zeros if on_host else functools.partial(_pinned, number)
    stopped, ended, results = make(PLACES, np.int32), make(PLACES, np.int32), make((PLACES, OUTPUT_WORDS), np.uint64)
    if on_host:
        return _Aside(contextlib.nullcontext(), itertools.count(1), {}, _Shared(stopped, stopped), ended, results)
    import cupy

    with cupy.cuda.Device(number):
        stream = cupy.cuda.Stream(non_blocking=True)
        there = cupy.cuda.UnownedMemory(stopped.ctypes.data, stopped.nbytes, stopped, number)
        seen = cupy.ndarray(stopped.shape, stopped.dtype, cupy.cuda.MemoryPointer(there, 0))
    return _Aside(stream, itertools.count(1), {}, _Shared(stopped, seen), ended, results)


def _pinned(number: int, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros in pinned memory."""
    import cupy

    size = int(np.prod(shape))
    with cupy.cuda.Device(number):
        memory = cupy.cuda.alloc_pinned_memory(size * np.dtype(dtype).itemsize)
    array = np.frombuffer(memory, dtype, size).reshape(shape)
    array[:] = 0
    return array
