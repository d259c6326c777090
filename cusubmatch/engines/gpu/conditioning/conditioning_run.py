"""A count by recursive conditioning on a GPU, of a candidate graph that lies in host memory.

The candidate graph is copied, its rows become bitmaps, and one launch counts all, unless it is stopped. It runs on a
stream of its own, so that what the caller's stream does is not waited for. Whoever began it asks now and then whether
it is done. A launch is stopped by a word in pinned host memory: a copy to the device might wait for other kernels,
which wait for this one.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.conditioning.component_cache import SLOT_WORDS
from cusubmatch.engines.gpu.conditioning.conditioner import OUTPUT_WORDS, make_condition
from cusubmatch.engines.gpu.conditioning.kernel_signatures import (
    ControlArrays,
    CountArrays,
    condition_kernel,
    fill_kernel,
)
from cusubmatch.engines.gpu.conditioning.program import Program, factors, make_program
from cusubmatch.engines.gpu.conditioning.row_sets import make_fill_sets
from cusubmatch.engines.gpu.conditioning.shared_tasks import TASK_WORDS
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.walker import task_ring as r
from cusubmatch.plan.candidate_graph import CandidateGraph

__all__ = ["ConditioningRun", "conditioning_run"]

FILL_SHAPE = 1024, 8  # blocks and warps of the kernel that writes rows
STOP_WORDS = 64  # counts that may be under way on a GPU; more than there are threads that ask


def conditioning_run(local: CandidateGraph, order: Sequence[int], gpu: Device, xp: Any) -> ConditioningRun | None:
    """A count on a candidate graph, which begins; None where that is too large, or kernels are still to be compiled."""
    program = make_program(local, order, gpu)
    if program is None or 4 * program.store_words > gpu.tunables.conditioning_store_bytes:
        return None
    declared = condition_kernel(program.lane_words), fill_kernel()
    kernels = make_condition(gpu.target, program.lane_words), make_fill_sets(gpu.target)
    if not all(gpu.target.is_compiled(kernel, one.signature) for kernel, one in zip(kernels, declared, strict=True)):
        if gpu.target.ahead is not None:
            gpu.target.ahead(declared)
        return None
    return ConditioningRun(local, program, gpu, xp)


class ConditioningRun:
    """One count of the embeddings, which begins when it is made.

    Attributes
    ----------
    steps, donated : int
        Candidates that were tried, and tasks that warps have handed on; when it has ended.

    Raises
    ------
    MemoryError
    """

    def __init__(self, local: CandidateGraph, program: Program, gpu: Device, xp: Any):
        self.local, self.program, self.gpu, self.xp = local, program, gpu, xp
        self.steps = self.donated = 0
        self._aside = _aside(xp is np, gpu.number())
        self._number, self._total, self._ended = next(self._aside.numbers), None, False  # type: int, int | None, bool
        with self._aside.stream:
            self._begin()

    def poll(self) -> int | None:
        """The number of embeddings, once it is known; None for ever if it has more than 120 bits."""
        if not self._ended and (self._event is None or self._event.done):
            self._ended = True
            with self._aside.stream:
                *parts, self.steps, failed = self._out.tolist()
                self.donated = int(self._words[r.DONATED])
            if not failed:
                self._total = sum(part << 32 * place for place, part in enumerate(parts))
        return self._total

    def stop(self) -> None:
        """Let the launch end soon."""
        self._aside.stopped[self._number % STOP_WORDS] = self._number

    def _begin(self):
        gpu, xp, program = self.gpu, self.xp, self.program
        words = np.zeros(r.CONTROL_WORDS, np.int32)
        words[r.FREE] = slots = gpu.tunables.ring_slots
        place = self._number % STOP_WORDS
        self._words, self._out = xp.asarray(words), xp.zeros(OUTPUT_WORDS, np.uint64)
        control = ControlArrays(
            self._words,
            xp.arange(slots, dtype=np.int32),
            xp.empty(slots * TASK_WORDS, np.uint32),
            self._aside.on_device[place : place + 1],
        )
        cache = xp.zeros(SLOT_WORDS * gpu.tunables.conditioning_slots, np.uint64)
        arrays = CountArrays(xp.asarray(program.sizes), self._store(), self._factors(), cache)
        threads = gpu.tunables.conditioning_block_warps * gpu.target.WARP
        make_condition(gpu.target, program.lane_words)[program.blocks, threads, 4 * program.shared_words](
            self._put(program.words),
            gpu.to_device(arrays),
            gpu.to_device(control),
            np.int32(self._number),
            gpu.to_device(self._out),
        )
        self._event = None
        if xp is not np:
            self._event = xp.cuda.Event(disable_timing=True)
            self._event.record()

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
        xp, program, (offsets, targets, _) = self.xp, self.program, self.local.adjacency
        masks, n = self.local.candidates.masks, len(program.sizes)
        filled = program.set_words * (n + len(offsets) * len(masks))
        store = xp.empty(program.store_words, np.uint32)
        store[:filled] = 0
        blocks, warps = FILL_SHAPE if self.gpu.target.WARP > 1 else (1, 1)
        make_fill_sets(self.gpu.target)[blocks, warps * self.gpu.target.WARP](
            self._put(np.ascontiguousarray(offsets, np.int64).ravel()),
            self._put(np.ascontiguousarray(targets, np.int32)),
            self._put(np.ascontiguousarray(masks, np.uint32)),
            self.gpu.to_device(store),
            np.int64(program.set_words),
            np.int64(len(masks)),
            np.int64(n),
        )
        return store


class _Aside(NamedTuple):
    """Where counts on a GPU run, and how they are stopped: the words by which, on the host and as kernels see them.

    And the numbers of the next counts, and factors of keys by the words of a set.
    """

    stream: Any
    stopped: np.ndarray
    on_device: Any
    numbers: Any
    factors: dict[int, Any]


@functools.cache
def _aside(on_host: bool, number: int) -> _Aside:
    """Of each GPU; kept, since launches are configured anew for each stream."""
    if on_host:
        stopped = np.zeros(STOP_WORDS, np.int32)
        return _Aside(contextlib.nullcontext(), stopped, stopped, itertools.count(1), {})
    import cupy

    with cupy.cuda.Device(number):
        memory = cupy.cuda.alloc_pinned_memory(4 * STOP_WORDS)
        stopped = np.frombuffer(memory, np.int32, STOP_WORDS)
        stopped[:] = 0
        there = cupy.cuda.UnownedMemory(stopped.ctypes.data, stopped.nbytes, memory, number)
        on_device = cupy.ndarray(stopped.shape, stopped.dtype, cupy.cuda.MemoryPointer(there, 0))
        return _Aside(cupy.cuda.Stream(non_blocking=True), stopped, on_device, itertools.count(1), {})
