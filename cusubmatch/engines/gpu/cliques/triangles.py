"""Triangles by edge: the intersection of the out-neighbours of both ends, the longer list as a bitmap.

Where the longer list of an edge is long, a block takes its vertex, sets a bit for each out-neighbour in shared memory
and scans the lists of all partners, the vertices at the other end of such edges: one probe an element (bitmaps: Bisson
and Fatica 2017). A bit stands for a rank modulo 2**18, so a hit is sure where the list spans fewer ranks than that: in
any graph of that many vertices, and in larger ones wherever the list stays among the top ranks. Elsewhere it is a
filter, and a hit is looked up. The other edges get a few lanes each, which search the longer list for the elements of
the shorter (G2Miner 2022).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import int64, uint32, uint64, void

from cusubmatch.engines.gpu.cliques.edge_split import Short, split
from cusubmatch.engines.gpu.cliques.interleaved import PARTS, Interleaved, interleaved, stretch
from cusubmatch.engines.gpu.cliques.orientation import Oriented
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, kernel_factory
from cusubmatch.engines.gpu.runtime.launch_batches import FIRST_TICKET, PIECE_S, Check, Launches, Step, as_it_is, ranges
from cusubmatch.engines.gpu.runtime.warp import grid, warp_functions
from cusubmatch.engines.runs import TaskRange
from cusubmatch.graph.csr import module_of

__all__ = ["Triangles", "needed", "signatures"]

U, L = np.uint32, np.uint64

TICKET = FIRST_TICKET
BLOCK_THREADS = 256
WINDOW = 1 << 18  # bits of a block's bitmap: 32 KB
LONG = 16  # lists up to this length are searched
BITMAP_LANES, SEARCH_LANES = 8, 4  # lanes that scan one list
BITMAP_BLOCKS, SEARCH_BLOCKS = 6, 8  # blocks of a multiprocessor
PROBES_A_SECOND, EDGES_A_SECOND = 5e10, 2e9  # low estimates for lists that lie outside the caches


class Triangles:
    """The triangles of an oriented graph; edges are sorted into their kinds once.

    Parameters
    ----------
    target : Target
    xp : module
        numpy or cupy.
    oriented : Oriented
    processors : int
        Multiprocessors to fill.
    threads : int
        Threads of a block.
    window : int
        Bits of the bitmap, a power of two.
    long : int
        Lists up to this length are searched.
    to_device : callable
        What a kernel takes in place of an array.
    near : Oriented, optional
        The same rows where edges are to be sorted, if that is elsewhere.
    """

    def __init__(
        self,
        target: Target,
        xp: Any,
        oriented: Oriented,
        processors: int = 132,
        threads: int = BLOCK_THREADS,
        window: int = WINDOW,
        long: int = LONG,
        to_device: Callable[[Any], Any] = as_it_is,
        near: Oriented | None = None,
    ) -> None:
        near = near or oriented
        self._near, self._to_device = module_of(xp, near.degrees), lambda array: to_device(xp.asarray(array))
        lanes, exact = target.WARP, len(oriented.degrees) <= window
        blocks, threads = shape = grid(target, BITMAP_BLOCKS * processors, threads)
        kernel = make_count_by_bitmap(target, threads, min(BITMAP_LANES, lanes), window, exact, oriented.wide)
        self._bitmap_kernel = kernel[shape]
        kernel = make_count_by_search(target, threads, min(SEARCH_LANES, lanes), oriented.wide)
        self._search_kernel = kernel[grid(target, SEARCH_BLOCKS * processors, threads)]
        self._items, short = split(self._near, near, long, least_work=threads, blocks=blocks)
        self._short = Short(*map(xp.asarray, short))
        self._graph = to_device(oriented.offsets), to_device(oriented.targets)
        self._arrays = [self._to_device(array) for array in self._items[:4]] if len(self._items.vertices) else []
        total_s = self._items.work / PROBES_A_SECOND + len(self._short.sources) / EDGES_A_SECOND
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
        items = self._items
        return interleaved(self._near, (items.vertices, items.begins, items.lengths), items.work / PROBES_A_SECOND)

    def _steps(self, piece_s: float) -> Iterator[Step]:
        items = self._items
        for start, stop, probes in ranges(self._near, items.cumulative, items.work, piece_s * PROBES_A_SECOND):
            launch = functools.partial(self._bitmap_kernel, *self._graph, *self._arrays, U(start), U(stop))
            yield Step(probes / PROBES_A_SECOND, launch, TICKET)
        yield from self._short_steps(0, len(self._short.sources), piece_s)

    def _steps_of(self, parts: TaskRange, piece_s: float) -> Iterator[Step]:
        """The steps of some parts."""
        if len(self._items.vertices):
            arrays = tuple(map(self._to_device, (self._items.partners, *self._dealt.arrays)))
            for start, stop, part_s in self._dealt.pieces(parts, piece_s):
                launch = functools.partial(self._bitmap_kernel, *self._graph, *arrays, U(start), U(stop))
                yield Step(part_s, launch, TICKET)
        yield from self._short_steps(*stretch(len(self._short.sources), parts), piece_s)

    def _short_steps(self, begin: int, end: int, piece_s: float) -> Iterator[Step]:
        """The steps of a range of the short edges."""
        short, piece = self._short, 1 << 31 if math.isinf(piece_s) else max(int(piece_s * EDGES_A_SECOND), 1)
        for start in range(begin, end, piece):
            stop = min(start + piece, end)
            sources, ends = short.sources[start:stop], short.targets[start:stop]
            edges = (self._to_device(sources), self._to_device(ends), U(len(sources)))
            yield Step(len(sources) / EDGES_A_SECOND, functools.partial(self._search_kernel, *self._graph, *edges))


@kernel_factory
def make_count_by_bitmap(target: Target, threads: int, lanes: int, window: int, exact: bool, wide: bool) -> Any:
    """A block an item, which is a vertex and a range of its partners, none with a longer list than it has.

    `exact`: ranks are below the window, so that they are places in it.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    _, contains, _, add_to = warp_functions(target, wide)
    THREADS, LANES, GROUPS, SHIFT = threads, lanes, threads // lanes, lanes.bit_length() - 1
    WINDOW, WORDS, EXACT, P = window, window // 32, exact, L if wide else U

    @kernel
    def count_by_bitmap(offsets, targets, partners, vertices, begins, lengths, start, stop, state):
        bitmap = cuda.shared.array(WORDS, uint32)
        drawn = cuda.shared.array(1, uint32)
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        member, group = U(thread & U(LANES - 1)), U(thread >> U(SHIFT))
        i = thread
        while i < U(WORDS):
            bitmap[i] = U(0)
            i = U(i + U(THREADS))
        total = L(0)
        while True:
            cuda.syncthreads()
            if thread == U(0):
                drawn[0] = U(U(cuda.atomic.add(state, TICKET, L(1))) + start)
            cuda.syncthreads()
            item = U(drawn[0])
            if item >= stop:
                break
            x = U(vertices[item])
            row = P(offsets[x])
            length = U(P(offsets[U(x + U(1))]) - row)
            first, in_window = U(0), True
            if not EXACT:
                first = U(targets[row])
                in_window = U(U(targets[P(row + P(U(length - U(1))))]) - first) < U(WINDOW)
            i = thread
            while i < length:
                place = U(U(targets[P(row + P(i))]) & U(WINDOW - 1))
                cuda.atomic.or_(bitmap, U(place >> U(5)), U(U(1) << U(place & U(31))))
                i = U(i + U(THREADS))
            cuda.syncthreads()
            begin, count, p, found = P(begins[item]), U(lengths[item]), group, U(0)
            while p < count:
                y = U(partners[P(begin + P(p))])
                list_begin = P(offsets[y])
                list_length = U(P(offsets[U(y + U(1))]) - list_begin)
                j = member
                while j < list_length:
                    z = U(targets[P(list_begin + P(j))])
                    place = U(z & U(WINDOW - 1))
                    if U(U(bitmap[U(place >> U(5))]) >> U(place & U(31))) & U(1):
                        if EXACT:
                            found = U(found + U(1))
                        elif in_window:
                            if U(z - first) < U(WINDOW):
                                found = U(found + U(1))
                        elif contains(targets, row, length, z):
                            found = U(found + U(1))
                    j = U(j + U(LANES))
                p = U(p + U(GROUPS))
            total = L(total + L(found))
            cuda.syncthreads()
            i = thread
            while i < length:
                place = U(U(targets[P(row + P(i))]) & U(WINDOW - 1))
                bitmap[U(place >> U(5))] = U(0)
                i = U(i + U(THREADS))
        add_to(state, lane, total)

    return count_by_bitmap


@kernel_factory
def make_count_by_search(target: Target, threads: int, lanes: int, wide: bool) -> Any:
    """A group of lanes an edge: they search the longer list for the elements of the shorter."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    _, contains, _, add_to = warp_functions(target, wide)
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1
    P = L if wide else U

    @kernel
    def count_by_search(offsets, targets, sources, ends, edges, state):
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        member = U(thread & U(LANES - 1))
        edge = U(U(U(cuda.blockIdx.x) * U(GROUPS)) + U(thread >> U(SHIFT)))
        step = U(U(cuda.gridDim.x) * U(GROUPS))
        total = L(0)
        while edge < edges:
            u, v = U(sources[edge]), U(ends[edge])
            short, long = P(offsets[u]), P(offsets[v])
            short_length = U(P(offsets[U(u + U(1))]) - short)
            long_length = U(P(offsets[U(v + U(1))]) - long)
            if short_length > long_length:
                short, long = long, short
                short_length, long_length = long_length, short_length
            i, found = member, U(0)
            while i < short_length:
                if contains(targets, long, long_length, U(targets[P(short + P(i))])):
                    found = U(found + U(1))
                i = U(i + U(LANES))
            total = L(total + L(found))
            edge = U(edge + step)
        cuda.syncwarp()
        add_to(state, lane, total)

    return count_by_search


@functools.cache
def needed(exact: bool, wide: bool) -> list[DeclaredKernel]:
    """The kernels that count triangles: `exact` if there are as few vertices as a bitmap has bits."""
    recipes = [
        make_count_by_bitmap.recipe(BLOCK_THREADS, BITMAP_LANES, WINDOW, exact, wide),
        make_count_by_search.recipe(BLOCK_THREADS, SEARCH_LANES, wide),
    ]
    return [kernel for kernel in signatures() if kernel.recipe in recipes]


def signatures() -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    ids, number = uint32[::1], uint32
    found = []
    for name, position, wide in (("32-bit offsets", uint32[::1], False), ("64-bit offsets", int64[::1], True)):
        bitmap = void(position, ids, ids, ids, position, ids, number, number, uint64[::1])
        for exact in (True, False):
            kernel = make_count_by_bitmap.recipe(BLOCK_THREADS, BITMAP_LANES, WINDOW, exact, wide)
            found.append(DeclaredKernel(f"count_by_bitmap {'exact' if exact else 'window'}, {name}", kernel, bitmap))
        search = void(position, ids, ids, ids, number, uint64[::1])
        found.append(
            DeclaredKernel(
                f"count_by_search, {name}", make_count_by_search.recipe(BLOCK_THREADS, SEARCH_LANES, wide), search
            )
        )
    return found
