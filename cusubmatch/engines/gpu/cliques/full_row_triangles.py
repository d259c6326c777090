"""Triangles of a large graph, counted in its full rows: beyond them a word a vertex and a few words a part of a row.

Lists of oriented edges, as `triangles.py` makes them, take as much memory as the rows and many times longer to make
than to use once. Here the rows of vertices that may hold edges are cut into parts, each is weighed by a kernel, and the
parts are sorted by falling work, by powers of two: within one they keep the order of the vertices, since neighbouring
ranks often share neighbours. See `full_row_kernels.py` for how they are counted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cliques.full_row_kernels import (
    LONG,
    MERGING_LANES,
    PART,
    PLACE_BITS,
    THREADS,
    WINDOW,
    make_count_by_holders,
    make_count_by_merging,
    make_higher_lists,
    make_weigh,
    signatures,
)
from cusubmatch.engines.gpu.cliques.interleaved import PARTS, Interleaved, interleaved, stretch
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel
from cusubmatch.engines.gpu.runtime.launch_batches import (
    FIRST_TICKET,
    PIECE_S,
    Check,
    Launches,
    Step,
    as_it_is,
    evenly,
    ranges,
)
from cusubmatch.engines.gpu.runtime.warp import grid
from cusubmatch.engines.runs import TaskRange

__all__ = ["FullRowTriangles", "needed"]

U, L = np.uint32, np.uint64

TICKET = FIRST_TICKET
BLOCKS = 6  # of a multiprocessor, where each has a bitmap
BLOCKS_WITHOUT_BITMAP = 8
SCANNED_A_SECOND, VERTICES_A_SECOND = 4e11, 5e9  # low estimates for lists that lie outside the caches


class FullRowTriangles:
    """The triangles of full symmetric rows.

    Parameters
    ----------
    target : Target
    xp : module
        numpy or cupy.
    offsets : array (n + 1,), int64
    targets : array (arcs,), int32
        Each row sorted and without loops; vertices are numbered by ascending degree.
    processors : int
        Multiprocessors to fill.
    threads : int
        Threads of a block.
    window : int
        Bits of the bitmap, a power of two.
    long : int
        Lists up to this length are merged.
    part : int
        Neighbours of a vertex that a block walks over at a time.
    to_device : callable
        What a kernel takes in place of an array.
    """

    def __init__(
        self,
        target: Target,
        xp: Any,
        offsets: Any,
        targets: Any,
        processors: int = 132,
        threads: int = THREADS,
        window: int = WINDOW,
        long: int = LONG,
        part: int = PART,
        to_device: Callable[[Any], Any] = as_it_is,
    ) -> None:
        if target.ahead is not None:
            target.ahead(needed())
        self._xp, self._to_device, self._n = xp, to_device, len(offsets) - 1
        rows = to_device(offsets), to_device(targets.view(np.uint32))
        wide = grid(target, BLOCKS_WITHOUT_BITMAP * processors, threads)
        lists = xp.empty(self._n, np.uint64)
        make_higher_lists(target)[wide](*rows, to_device(lists))
        self._graph = *rows, to_device(lists)
        vertices, numbers = _parts(xp, offsets, (lists >> L(PLACE_BITS)).astype(np.uint32), long, part)
        work = xp.zeros(len(vertices), np.uint64)
        if len(work):
            arrays = map(to_device, (vertices, numbers, work))
            make_weigh(target, long, part)[wide](*self._graph, *arrays)
        self._items, self._cumulative = _sorted(xp, vertices, numbers, work, part)
        self._scanned = float(self._cumulative[-1]) if len(self._cumulative) else 0.0
        self._arrays = tuple(map(to_device, self._items)) if self._scanned else ()
        holders = make_count_by_holders(target, TICKET, wide[1], window, long, part)
        self._by_holders = holders[grid(target, BLOCKS * processors, threads)]
        self._by_merging = make_count_by_merging(target, wide[1], min(MERGING_LANES, target.WARP), long)[wide]
        total_s = self._scanned / SCANNED_A_SECOND + self._n / VERTICES_A_SECOND
        self._launches = Launches(target, xp, to_device, total_s)

    def count(self, check: Check | None = None, piece_s: float = PIECE_S, parts: TaskRange | None = None) -> int:
        """The number of triangles; `check(done, count)` is called between pieces of about `piece_s` and may raise.

        With `parts`, a range of `interleaved.PARTS`, it is their share of the number.
        """
        if parts is None:
            return self._launches.count(self._steps, check, piece_s)
        return self._launches.part(parts, PARTS).count(functools.partial(self._steps_of, parts), check, piece_s)

    @functools.cached_property
    def _dealt(self) -> Interleaved:
        """The items, dealt out to parts."""
        return interleaved(self._xp, self._items, self._scanned / SCANNED_A_SECOND)

    def _steps(self, piece_s: float) -> Iterator[Step]:
        for start, stop, scanned in ranges(self._xp, self._cumulative, self._scanned, piece_s * SCANNED_A_SECOND):
            launch = functools.partial(self._by_holders, *self._graph, *self._arrays, U(start), U(stop))
            yield Step(scanned / SCANNED_A_SECOND, launch, TICKET)
        yield from self._merging_steps(0, self._n, piece_s)

    def _steps_of(self, parts: TaskRange, piece_s: float) -> Iterator[Step]:
        """The steps of some parts."""
        if self._scanned:
            arrays = tuple(map(self._to_device, self._dealt.arrays))
            for start, stop, part_s in self._dealt.pieces(parts, piece_s):
                launch = functools.partial(self._by_holders, *self._graph, *arrays, U(start), U(stop))
                yield Step(part_s, launch, TICKET)
        yield from self._merging_steps(*stretch(self._n, parts), piece_s)

    def _merging_steps(self, begin: int, end: int, piece_s: float) -> Iterator[Step]:
        """The steps of a range of the vertices with short lists."""

        def launch(start, stop, state):
            self._by_merging(*self._graph[1:], U(begin + start), U(begin + stop), state)

        if begin < end:
            yield from evenly(end - begin, (end - begin) / VERTICES_A_SECOND, piece_s, launch)


def _parts(xp, offsets, sizes, long, part):
    """The parts of the rows of vertices with long lists: the vertices, and the number of each part in its row."""
    vertices = xp.flatnonzero(sizes > long)
    parts = (offsets[vertices + 1] - offsets[vertices] + (part - 1)) // part
    ends = xp.cumsum(parts)
    number = xp.arange(int(ends[-1]) if len(ends) else 0)
    of = xp.searchsorted(ends, number, side="right")
    number -= (ends - parts)[of]
    return vertices[of].astype(np.uint32), number.astype(np.uint32)


def _sorted(xp, vertices, numbers, work, part):
    """The parts with any work, by falling powers of two of it, and the sums of work up to each; a part has some too."""
    kept = xp.flatnonzero(work)
    work = work[kept].astype(np.float64) + part
    order = xp.argsort(-xp.log2(work).astype(np.int8), kind="stable")
    kept = kept[order]
    return (vertices[kept], numbers[kept]), xp.cumsum(work[order])


@functools.cache
def needed() -> list[DeclaredKernel]:
    """The kernels that count triangles in full rows."""
    return signatures(TICKET)
