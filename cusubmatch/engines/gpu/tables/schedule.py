"""Launches over the edges of a skeleton, or over the vertices that something is counted from.

Long work is launched in pieces, with a look at the clock between them. Blocks have rows of one number a vertex each;
there are no more blocks than such rows may take memory. A kernel leaves its rows zero at its end, and a launch that has
begun ends: what `check_deadline` raises between two of them leaves nothing behind.
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
from cusubmatch.engines.gpu.tables.vertex_schedule import Tops
from cusubmatch.graph.support_graph import SupportGraph, sources_of

__all__ = ["BlockRows", "Grid", "Team"]

U, L, S = np.uint32, np.uint64, np.int64

ROWS_BYTES = 4 << 30  # of the blocks' rows


class Grid(NamedTuple):
    """How a kernel is launched: threads of a block, lanes for a list, blocks of a multiprocessor."""

    threads: int
    lanes: int
    blocks: int


class BlockRows(NamedTuple):
    """Rows for so many blocks, as kernels take them."""

    blocks: int
    given: Any


class Team:
    """What launches on one skeleton share.

    Parameters
    ----------
    skeleton : Skeleton
        In device memory.
    pulse : callable
        Called as pulse(share of the work that is done) now and then; what it raises ends the work.
    gpu : Machine

    Attributes
    ----------
    graph : tuple
        Offsets, targets, `upper` and mates, as kernels take them first.
    """

    def __init__(self, support: SupportGraph, check_deadline: Callable[[float], None], gpu: Device):
        self.support, self.check_deadline, self.gpu, self.xp = support, check_deadline, gpu, support.xp
        self._one = self.given(self.xp.ones(1, np.uint64))
        self._launches = Launches(gpu.target, self.xp, gpu.to_device, 0.0, same=False)
        self._zeros = self.xp.zeros(0, np.uint64)  # of all kernels' rows

    def given(self, array: Any) -> Any:
        """An array as kernels take it."""
        return self.gpu.to_device(array)

    def masked(self, values: Sequence) -> tuple:
        """Arrays and the masks of their indices: ones are a single number."""
        return tuple(
            part for value in values for part in ((self._one, S(0)) if value is None else (self.given(value), S(-1)))
        )

    def rows(self, dtype: Any, length: int, shape: Grid, each: int = 1) -> BlockRows:
        """Rows of zeros for as many blocks as may have some, in memory that all kernels share: they leave it so."""
        dtype, size = np.dtype(dtype), max(length * each, 1)
        blocks = self._blocks(size * dtype.itemsize, shape)
        words = -(-size * blocks * dtype.itemsize // self._zeros.itemsize)
        if len(self._zeros) < words:
            self._zeros = self._zeros[:0].copy()  # the old ones go first
            self._zeros = self.xp.zeros(words, np.uint64)
        return BlockRows(blocks, self.given(self._zeros.view(dtype)[: size * blocks]))

    def lists(self, shape: Grid) -> BlockRows:
        """Room for a list of vertices, int32, for as many blocks as may have one."""
        size = max(self.support.vertices, 1)
        blocks = self._blocks(4 * size, shape)
        return BlockRows(blocks, self.given(self.xp.empty(size * blocks, np.int32)))

    def _blocks(self, each_bytes, shape):
        """As many blocks as may have so many bytes; one, if no more, may have any number."""
        return max(1, min(shape.blocks * self.gpu.processors, ROWS_BYTES // each_bytes))

    def by_top(
        self,
        kernel: Any,
        shape: Grid,
        tops: Tops,
        a_second: float,
        blocks: int,
        rest: tuple,
        *,
        words: int = 0,
        most: int | None = None,
        before: Callable[[float], Iterable[Step]] = lambda _: (),
        counts: bool = True,
    ) -> int:
        """The count of a kernel that draws vertices by tickets, at most the first `most`; 0 unless it `counts`.

        `a_second` is a low estimate of the steps that it does a second; `words`: of shared memory; `before`: launches
        of at most so many seconds that count to the same state.
        """
        cumulative = tops.cumulative[:most]
        blocks = max(min(blocks, len(cumulative)), 1)
        if not tops.number:
            return 0
        launch = kernel[(*grid(self.gpu.target, blocks, shape.threads), 4 * words)]

        def step(start, stop, state):
            launch(*self.graph, tops.vertices, U(start), U(stop), *rest, state)

        def steps(most_s):
            yield from before(most_s)
            for start, stop, work in ranges(self.xp, cumulative, tops.work, most_s * a_second):
                yield Step(work / a_second, functools.partial(step, start, stop), TICKET)

        return self.run(steps, tops.work / a_second, counts=counts)

    def by_edge(
        self, kernel: Any, shape: Grid, a_second: float, rest: tuple, blocks: int | None = None, *, counts: bool = True
    ) -> int:
        """The count of a kernel over the edges; 0 unless it `counts`."""
        (lists, edges), blocks = self._edges, blocks or shape.blocks * self.gpu.processors
        if not edges:
            return 0
        launch = kernel[grid(self.gpu.target, blocks, shape.threads)]

        def step(start, stop, state):
            launch(*self.graph, *lists, S(start), S(stop), *rest, *([state] if counts else []))

        def steps(most_s):
            return evenly(edges, edges / a_second, most_s, step)

        return self.run(steps, edges / a_second, counts=counts)

    def table_by_edge(self, kernel: Any, shape: Grid, a_second: float, rest: tuple, blocks: int | None = None) -> Any:
        """The table over entries that a kernel over the edges makes."""
        out = self.xp.zeros(len(self.support.targets), np.uint64)
        self.by_edge(kernel, shape, a_second, (*rest, self.given(out)), blocks, counts=False)
        return out

    def run(self, steps: Callable, total_s: float, *, counts: bool = True) -> int:
        """The count of some launches; 0, without waiting for them, unless they count."""
        return self._launches.of(total_s).count(steps, lambda done, _: self.check_deadline(done), PIECE_S, read=counts)

    @property
    def graph(self) -> tuple:
        def make():
            support = self.support
            return tuple(map(self.given, (support.offsets, support.targets, support.upper, support.reverse_arc)))

        return self.support.keep("graph", make)

    @property
    def _edges(self):
        """Of the entries (x, y), x < y: x, and the place of the entry; and how many there are."""

        def make():
            sources = sources_of(self.xp, self.support.offsets)
            edges = self.xp.nonzero(self.support.targets > sources)[0]
            return (self.given(sources[edges]), self.given(edges)), len(edges)

        return self.support.keep("edges", make)
