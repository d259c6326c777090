"""A count by w-cutset conditioning on a GPU, of a candidate graph that lies in host memory.

A thread of its own launches kernels on a stream of its own, each for a second or less, until no task is left. So
others who wait for the device do not wait for long, and whoever has begun the count may stop it.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import numpy as np

from cusubmatch.engines.gpu.conditioning.kernel_signatures import fill_kernel
from cusubmatch.engines.gpu.cutset import cutset_kernel as c
from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset import tasks as t
from cusubmatch.engines.gpu.cutset.inner_combinations import list_room, list_words
from cusubmatch.engines.gpu.cutset.kernel_signatures import cutset_kernels
from cusubmatch.engines.gpu.cutset.launch_shapes import BlockShape, block_shape
from cusubmatch.engines.gpu.cutset.task_rows import ROW_WORDS
from cusubmatch.engines.gpu.cutset.worlds import WorldBatch, Worlds
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.device_memory import from_a_pool
from cusubmatch.engines.gpu.runtime.transfer import to_host
from cusubmatch.plan.candidate_graph import CandidateGraph
from cusubmatch.system.kept_threads import Work, begin

__all__ = ["CutsetRun", "cutset_run"]

SLICE_SHARE, MOST_SLICE_S = 0.25, 1.0  # of the time so far, that a launch takes at the least; and at the most
LATE = 1.5  # times the time that a count was expected to take


def cutset_run(local: CandidateGraph, order: Sequence[int], gpu: Device, xp: Any, seconds: float) -> CutsetRun | None:
    """A count on a candidate graph, begun in a thread; None where kernels are still to be compiled.

    It takes so many seconds at the most.
    """
    if not gpu.target.has([fill_kernel(), *cutset_kernels()]):
        return None
    run = CutsetRun(local, order, gpu, xp, seconds)
    begin(Work(functools.partial(run.count_on, _aside(xp is np, gpu.number())), "cusubmatch count on cutsets"))
    return run


Stream: TypeAlias = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


@functools.cache
def _aside(on_host: bool, number: int) -> Stream:
    """Each GPU, and the stream that these counts are launched on; kept, since launches are configured for each anew."""
    if on_host:
        return nullcontext(), nullcontext()
    import cupy

    device = cupy.cuda.Device(number)
    with device:
        return device, cupy.cuda.Stream(non_blocking=True)


@functools.cache
def _load(xp: Any, number: int) -> None:
    """Do once what is done between two launches, so that it is loaded."""
    tasks, states = xp.zeros((3, 4), np.uint32), xp.zeros(3, np.int32)
    tasks[:1] = tasks.take(xp.asarray(np.arange(1)), axis=0)
    tasks[:, t.SETS] = t.NOT_KEPT
    states[:], states[:1] = t.FREE, t.READY
    xp.concatenate([tasks, tasks])


class CutsetRun:
    """One count of the embeddings.

    Parameters
    ----------
    local : CandidateGraph
    order : sequence of int
        The vertices, the one that is matched first in all cases first.
    gpu : Device
    xp : module
        NumPy or CuPy.
    seconds : float
        That it takes at the most.

    Attributes
    ----------
    ended : bool
        Whether nothing goes on any more.
    tasks, launches : int
        That were done.
    """

    def __init__(self, local: CandidateGraph, order: Sequence[int], gpu: Device, xp: Any, seconds: float):
        self.local, self.order, self.gpu, self.xp = local, order, gpu, xp
        self.ended, self.tasks, self.launches = False, 0, 0
        self._total: int | None = None
        self._error: BaseException | None = None
        self._end_s, self._is_stopped = time.monotonic() + seconds, False
        self._counting_s = math.inf  # since when tasks are done
        self._known_s = self._known_late_s = math.inf  # when the number is known, about; if that was expected before

    def poll(self) -> int | None:
        """The number of embeddings, once it is known; None for ever if it was stopped before, or is too large.

        Raises what went wrong in the thread that counts.
        """
        if self._error is not None:
            raise self._error
        return self._total

    def stop(self) -> None:
        """Let it end soon."""
        self._is_stopped = True

    @property
    def remaining_s(self) -> float:
        """Seconds until the number is known, about, by the worlds that are counted; infinite if none is.

        They are judged by the work that they seemed to be, and once it is late by their number, since large ones come
        first. It is less than 0 where the number was expected before.
        """
        now = time.monotonic()
        is_late = now - self._counting_s > LATE * (self._known_s - self._counting_s)
        return (self._known_late_s if is_late else self._known_s) - now

    @property
    def _is_over(self) -> bool:
        return self._is_stopped or time.monotonic() > self._end_s

    def count_on(self, aside: Stream) -> None:
        """Count, with launches on a stream of a device; for a thread of its own."""
        device, stream = aside
        try:
            with device, from_a_pool(), stream:
                self._total = self.total()
        except MemoryError:  # others go on
            pass
        except BaseException as error:  # noqa: BLE001 - raised by whoever asks for the count
            self._error = error
        finally:
            self.ended = True

    def total(self) -> int | None:
        """The number of embeddings; None if it is stopped, or the count of a task is 2^100 or more.

        Raises
        ------
        MemoryError
        """
        worlds, total, done, number = Worlds(self.local, self.order, self.gpu, self.xp), 0, 0.0, 0
        _load(self.xp, self.gpu.number())
        self._counting_s = begun_s = time.monotonic()
        for batch in worlds.batches(self.gpu.tunables.cutset_row_words):
            one = None if self._is_over else self._count(worlds, batch)
            if one is None:
                return None
            total, done, number = total + one, done + batch.share, number + batch.number
            taken = time.monotonic() - begun_s
            self._known_s = begun_s + taken / done
            self._known_late_s = begun_s + taken * worlds.number / number
        return total

    def _count(self, worlds: Worlds, batch: WorldBatch) -> int | None:
        """The embeddings of some worlds."""
        gpu, xp, room = self.gpu, self.xp, self.gpu.tunables.cutset_tasks
        shape, out, arrays, launch, parts = self._prepare(worlds, batch)
        words = t.PAIRS + worlds.n
        tasks, states = xp.empty((room, words), np.uint32), xp.empty(room, np.int32)
        waiting = xp.zeros((batch.number, words), np.uint32)
        waiting[:, t.WORLD], waiting[:, t.SETS] = xp.arange(batch.number, dtype=np.uint32), t.NOT_KEPT
        sets, sets_end = xp.empty(gpu.tunables.cutset_set_words, np.uint32), 0
        kernel = c.make_count_tasks(gpu.target)
        while len(waiting):
            if self._is_over:
                return None
            now, later = waiting[: room // 2], waiting[room // 2 :]
            tasks[: len(now)], states[:], states[: len(now)] = now, t.FREE, t.READY
            control = np.zeros(t.CONTROL_WORDS, np.int32)
            control[[t.END, t.PENDING]], control[t.SETS_END] = len(now), sets_end
            shared = t.TaskArrays(tasks.ravel(), states, xp.asarray(control), sets, xp.asarray(np.zeros(1, np.int64)))
            turns, nanoseconds = gpu.tunables.cutset_turns, self._slice_ns()
            of_block = np.int64(nanoseconds // turns)
            now_launch = gpu.to_device(launch._replace(nanoseconds=nanoseconds, of_block=of_block))
            kernel[shape.launch(turns)](gpu.to_device(shared), arrays, now_launch, parts)
            _, end, pending, refused, sets_end = shared.control.tolist()
            waiting = later
            if pending or refused:
                left = np.flatnonzero(to_host(states[:end]) == t.READY)  # CuPy's would load a kernel for each size
                ready = tasks.take(xp.asarray(left), axis=0)
                waiting = xp.concatenate([later, ready]) if len(later) else ready
            if sets_end > len(sets) // 2:  # make room
                waiting[:, t.SETS], sets_end = t.NOT_KEPT, 0
            self.launches, self.tasks = self.launches + 1, self.tasks + end - len(waiting) + len(later)
        words = out.tolist()
        return None if words[c.FAILED] else sum(part << 32 * place for place, part in enumerate(words[: c.FAILED]))

    def _slice_ns(self) -> np.int64:
        """How long the next launch takes: the longer, the longer others have waited already; not beyond the end."""
        now = time.monotonic()
        seconds = max(self.gpu.tunables.cutset_slice_s, min(SLICE_SHARE * (now - self._counting_s), MOST_SLICE_S))
        return np.int64(1e9 * max(min(seconds, self._end_s - now), 0.0))

    def _prepare(self, worlds: Worlds, batch: WorldBatch) -> tuple[BlockShape, Any, Any, c.Launch, Any]:
        """The shape of launches, the output, and what else they take after the tasks."""
        gpu, xp, settings, n = self.gpu, self.xp, self.gpu.tunables, worlds.n
        parts = f.state_parts(n, worlds.width, gpu.target.WARP)
        shape = block_shape(gpu, parts.warps, parts.words)
        of_list, places = list_words(n, worlds.width), settings.cutset_places
        out = xp.zeros(c.OUTPUT_WORDS, np.uint64)
        arrays = c.CountArrays(
            xp.asarray(f.pattern_words(worlds.near, worlds.conflicts)),
            batch.worlds,
            batch.rows,
            xp.empty(shape.blocks * places, np.uint32),
            xp.empty(shape.blocks * places, np.uint32),
            xp.empty(shape.blocks * places, np.float64),
            xp.empty(shape.blocks * ROW_WORDS, np.uint32),
            xp.empty(shape.blocks * of_list, np.uint32),
            xp.empty(shape.blocks * f.MAX_VERTICES, np.float64),
            xp.asarray(c.spare_parts(shape.blocks)),
            out,
        )
        of_tasks = list_room(worlds.width), of_list, places, settings.cutset_tasks, shape.blocks
        sizes = map(np.uint32, (n, worlds.root, t.PAIRS + n, *of_tasks))
        launch = c.Launch._make((*sizes, np.int64(0), np.int64(0), np.float64(settings.cutset_combinations)))
        state = f.StateParts._make(map(np.uint32, parts))
        return shape, out, gpu.to_device(arrays), launch, gpu.to_device(state)
