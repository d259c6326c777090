"""Launches over the edges of a support graph, or over the vertices that something is counted from.

Long work is launched in batches, and the deadline is checked between them. Blocks have rows of one number a vertex
each; the memory of such rows may limit the number of blocks. A kernel leaves its rows zero at its end, and a launch
that has begun ends: what `check_deadline` raises between two of them leaves nothing behind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.launch_batches import PIECE_S, Launches, Step, evenly, ranges
from cusubmatch.engines.gpu.runtime.warp import grid
from cusubmatch.engines.gpu.runtime.work_counter import TICKET
from cusubmatch.engines.gpu.tables.parameters import ArcBatch, ArcValues, BlockRows, Rows, VertexBatch
from cusubmatch.engines.gpu.tables.vertex_schedule import VertexSchedule
from cusubmatch.graph.csr import module_of
from cusubmatch.graph.support_graph import SupportGraph, sources_of

__all__ = ["BlockMemory", "Grid", "Team"]

U, L, S = np.uint32, np.uint64, np.int64

ROWS_BYTES = 4 << 30  # memory of the blocks' rows


class Grid(NamedTuple):
    """How a kernel is launched: threads of a block, lanes for a list, blocks of a multiprocessor."""

    threads: int
    lanes: int
    blocks: int


class BlockMemory(NamedTuple):
    """Rows or lists for so many blocks, as kernels take them."""

    blocks: int
    words: Any
    stride: Any

    @property
    def rows(self) -> BlockRows:
        return BlockRows(self.words, self.stride)


class Team:
    """What launches on one support graph share.

    Parameters
    ----------
    support : SupportGraph
        In device memory.
    check_deadline : callable
        Called as check_deadline(fraction of the work done) now and then; what it raises ends the work.
    gpu : Device

    Attributes
    ----------
    graph : Rows
        As kernels take it first.
    """

    def __init__(self, support: SupportGraph, check_deadline: Callable[[float], None], gpu: Device):
        self.support, self.check_deadline, self.gpu, self.xp = support, check_deadline, gpu, support.xp
        self._one = self.on_device(self.xp.asarray(np.ones(1, np.uint64)))
        self._launches = Launches(gpu.target, self.xp, gpu.to_device, 0.0, same=False)
        self._zeros = self.xp.zeros(0, np.uint64)  # of all kernels' rows

    def on_device(self, array: Any) -> Any:
        """An array as kernels take it."""
        return self.gpu.to_device(array)

    def arc_values(self, arrays: Sequence) -> tuple[ArcValues, ...]:
        """Values as kernels take them; None stands for all ones."""
        return tuple(
            ArcValues(self._one, S(0)) if array is None else ArcValues(self.on_device(array), S(-1)) for array in arrays
        )

    def rows(self, dtype: Any, length: int, shape: Grid, each: int = 1) -> BlockMemory:
        """`each` rows of zeros for as many blocks as may have some; all kernels share this memory and leave it zero."""
        dtype, size = np.dtype(dtype), max(length * each, 1)
        blocks = self._blocks(size * dtype.itemsize, shape)
        words = -(-size * blocks * dtype.itemsize // self._zeros.itemsize)
        if len(self._zeros) < words:
            self._zeros = self._zeros[:0].copy()  # the old ones go first
            self._zeros = self.xp.zeros(words, np.uint64)
        return BlockMemory(blocks, self.on_device(self._zeros.view(dtype)[: size * blocks]), S(length))

    def lists(self, shape: Grid) -> BlockMemory:
        """Room for a list of vertices, int32, for as many blocks as may have one."""
        size = max(self.support.vertices, 1)
        blocks = self._blocks(4 * size, shape)
        return BlockMemory(blocks, self.on_device(self.xp.empty(size * blocks, np.int32)), S(self.support.vertices))

    def _blocks(self, each_bytes, shape):
        """As many blocks as may have so many bytes; one, if no more, may have any number."""
        return max(1, min(shape.blocks * self.gpu.processors, ROWS_BYTES // each_bytes))

    def by_vertex(
        self,
        kernel: Any,
        shape: Grid,
        schedule: VertexSchedule,
        a_second: float,
        blocks: int,
        rest: tuple,
        *,
        words: int = 0,
        most: int | None = None,
        before: Callable[[float], Iterable[Step]] = lambda _: (),
        counts: bool = True,
    ) -> int:
        """The count of a kernel that draws vertices from a work counter; 0 unless it `counts`.

        Only the first `most` vertices are drawn. `a_second` is a low estimate of the steps a second; `words`: of shared
        memory; before(seconds): launches of at most so long that add to the same count.
        """
        cumulative = schedule.cumulative[:most]
        blocks = max(min(blocks, len(cumulative)), 1)
        if not schedule.number:
            return 0
        launch = kernel[(*grid(self.gpu.target, blocks, shape.threads), 4 * words)]

        def step(start, stop, state):
            launch(self.graph, VertexBatch(schedule.vertices, U(start), U(stop)), *rest, state)

        def steps(most_s):
            yield from before(most_s)
            xp = module_of(self.xp, cumulative)
            for start, stop, work in ranges(xp, cumulative, schedule.work, most_s * a_second):
                yield Step(work / a_second, functools.partial(step, start, stop), TICKET)

        return self.run(steps, schedule.work / a_second, counts=counts)

    def by_edge(
        self, kernel: Any, shape: Grid, a_second: float, rest: tuple, blocks: int | None = None, *, counts: bool = True
    ) -> int:
        """The count of a kernel over the edges; 0 unless it `counts`."""
        (sources, arcs, edges), blocks = self._edges, blocks or shape.blocks * self.gpu.processors
        if not edges:
            return 0
        launch = kernel[grid(self.gpu.target, blocks, shape.threads)]

        def step(start, stop, state):
            launch(self.graph, ArcBatch(sources, arcs, S(start), S(stop)), *rest, *([state] if counts else []))

        def steps(most_s):
            return evenly(edges, edges / a_second, most_s, step)

        return self.run(steps, edges / a_second, counts=counts)

    def table_by_edge(self, kernel: Any, shape: Grid, a_second: float, rest: tuple, blocks: int | None = None) -> Any:
        """The table over arcs that a kernel over the edges makes."""
        out = self.xp.zeros(len(self.support.targets), np.uint64)
        self.by_edge(kernel, shape, a_second, (*rest, self.on_device(out)), blocks, counts=False)
        return out

    def run(self, steps: Callable, total_s: float, *, counts: bool = True) -> int:
        """The count of some launches; 0, without waiting for them, unless they count."""
        return self._launches.of(total_s).count(steps, lambda done, _: self.check_deadline(done), PIECE_S, read=counts)

    @property
    def graph(self) -> Rows:
        def make():
            support = self.support
            return self.on_device(Rows(support.offsets, support.targets, support.upper, support.reverse_arc))

        return self.support.keep("graph", make)

    @property
    def _edges(self):
        """Of the arcs (x, y), x < y: x, and the position of the arc; and how many there are."""

        def make():
            rows = self.support.near
            sources = sources_of(rows.xp, rows.offsets)
            arcs = rows.xp.nonzero(rows.targets > sources)[0]
            placed = (self.on_device(self.xp.asarray(array)) for array in (sources[arcs], arcs))
            return *placed, len(arcs)

        return self.support.keep("edges", make)
