"""k-cliques by vertex: each is counted at its lowest vertex, in the graph that this one induces on its out-neighbours.

Vertices fall into size classes by out-degree: rows of one word (`word_rows.py`), a warp a vertex, a block a vertex
(`shared_bitmaps.py`), and rows in global memory that the whole grid shares (`global_bitmaps.py`). Within a class they
are taken in the order of falling work, and the class of blocks comes last: there the work of a vertex is estimated from
the out-degrees of its neighbours, and large ones are divided among several blocks, so that all end together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.cliques.clique_kernels import (
    BLOCK_THREADS,
    BLOCK_TICKET,
    MATRIX_TICKET,
    WARP_ROWS,
    WARP_TICKET,
    needed,
    rows_for,
)
from cusubmatch.engines.gpu.cliques.global_bitmaps import (
    MOST_WIDTH,
    SCRATCH_WORDS,
    CliqueMatrices,
    matrix_words,
    row_words,
)
from cusubmatch.engines.gpu.cliques.interleaved import PARTS, Interleaved, interleaved
from cusubmatch.engines.gpu.cliques.neighbourhood_rows import WORD
from cusubmatch.engines.gpu.cliques.orientation import Oriented
from cusubmatch.engines.gpu.cliques.shared_bitmaps import WINDOW, make_count_in_rows
from cusubmatch.engines.gpu.cliques.word_rows import make_count_in_words
from cusubmatch.engines.gpu.cliques.work_estimates import make_reach, seconds_of
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.launch_batches import PIECE_S, Check, Launches, Step, as_it_is, ranges
from cusubmatch.engines.gpu.runtime.warp import grid
from cusubmatch.engines.runs import TaskRange
from cusubmatch.graph.csr import module_of

__all__ = ["Cliques", "Limits", "usual_limits"]

U = np.uint32

WORD_BLOCKS, WARP_BLOCKS, BLOCK_BLOCKS = 8, 8, 6  # blocks of a multiprocessor
LEAST_EACH = 1.5  # vertices for each warp, or blocks take them: one that a warp has to itself keeps all waiting
PIECES = 8  # of a block's even share of the work: more than one piece is divided


class Limits(NamedTuple):
    """The largest out-degree of each class; more is for rows in global memory, of `scratch_words` in all."""

    word: int = WORD
    warp: int = WARP_ROWS
    block: int = 512
    scratch_words: int = SCRATCH_WORDS


class _Items(NamedTuple):
    """Vertices, or parts of them, by falling work; `shares` as `make_count_in_rows` takes it."""

    vertices: Any
    shares: Any
    work_s: Any


class _Class(NamedTuple):
    """Vertices of one size, or parts of them, and the launch that counts at a range of them.

    Attributes
    ----------
    arrays : tuple
        The vertices, and their shares where the kernel takes these.
    dealt : callable () -> Interleaved
        The same, dealt out to parts.
    """

    arrays: tuple[Any, ...]
    cumulative_s: Any
    work_s: float
    launch: Callable
    ticket: int | None
    dealt: Callable[[], Interleaved]


class Cliques:
    """The cliques of k vertices of an oriented graph; vertices are sorted into their classes once.

    Parameters
    ----------
    target : Target
    xp : module
        numpy or cupy.
    oriented : Oriented
    k : int
        4 or 5; for 3 see `Triangles`.
    processors : int
        Multiprocessors to fill.
    threads : int
        Threads of a block.
    limits : Limits, optional
        Where the classes end; `limits.word` is at most 32 and `limits.block` at most 512. By default those of `Limits`,
        but no vertex is left to a single warp where there are few of that size.
    to_device : callable
        What a kernel takes in place of an array.
    near : Oriented, optional
        The same rows where vertices are to be sorted, if that is elsewhere.

    Attributes
    ----------
    unsupported : array, uint32
        Vertices whose rows do not fit in the scratch, from 19,969 out-neighbours on, which takes at least 200 million
        edges. The cliques whose lowest vertex is one of them are not counted here.
    """

    def __init__(
        self,
        target: Target,
        xp: Any,
        oriented: Oriented,
        k: int,
        processors: int = 132,
        threads: int = BLOCK_THREADS,
        limits: Limits | None = None,
        to_device: Callable[[Any], Any] = as_it_is,
        near: Oriented | None = None,
    ) -> None:
        if k not in {4, 5}:
            raise ValueError(f"k: got {k}; cliques of 4 or 5 vertices are counted here, and triangles by Triangles")
        near = near or oriented
        self._near, self._to_device = module_of(xp, near.degrees), lambda array: to_device(xp.asarray(array))
        self._graph = to_device(oriented.offsets), to_device(oriented.targets)
        degrees, near_xp = near.degrees, self._near
        limits = limits or usual_limits(degrees, WARP_BLOCKS * processors * threads // target.WARP)
        vertices = near_xp.nonzero(degrees >= k - 1)[0].astype(np.uint32)
        vertices = vertices[near_xp.argsort(~degrees[vertices], kind="stable")]
        degrees = degrees[vertices]
        too_large = (matrix_words(degrees) > limits.scratch_words) | (row_words(degrees) > MOST_WIDTH)
        ends = [int((too_large & (degrees > limits.block)).sum())]
        ends += [int((degrees > limit).sum()) for limit in (limits.block, limits.warp, limits.word, 0)]
        self.unsupported = vertices[: ends[0]]
        work_s = sum(seconds_of(degrees, k))
        total_s = float(work_s[ends[0] :].sum())
        large, by_block, by_warp, by_word = (slice(begin, end) for begin, end in pairwise(ends))
        if target.ahead is not None:
            in_matrices, in_blocks, in_warps, in_words = (begin < end for begin, end in pairwise(ends))
            longest = int(degrees[by_block.start]) if in_blocks else 0
            target.ahead(needed(k, in_matrices, longest, in_warps, in_words, limits.warp, oriented.wide))
        self._matrices = None
        if large.start < large.stop:
            self._matrices = CliqueMatrices(
                target,
                xp,
                oriented,
                vertices[large],
                degrees[large],
                k,
                MATRIX_TICKET,
                processors,
                threads,
                limits.scratch_words,
                to_device,
            )
        self._classes: list[_Class] = []
        wide, warp = oriented.wide, target.WARP
        if by_word.start < by_word.stop:
            shape = grid(target, WORD_BLOCKS * processors, threads)
            kernel = make_count_in_words(target, k, shape[1], wide)
            self._add((vertices[by_word],), work_s[by_word], kernel[shape], None)
        if by_warp.start < by_warp.stop:
            shape = grid(target, WARP_BLOCKS * processors, threads)
            kernel = make_count_in_rows(target, k, limits.warp, shape[1], 1, WARP_TICKET, wide)
            whole = near_xp.full(by_warp.stop - by_warp.start, 1 << 16, np.uint32)
            self._add((vertices[by_warp], whole), work_s[by_warp], kernel[shape], WARP_TICKET)
        if by_block.start < by_block.stop:
            shape, largest = grid(target, BLOCK_BLOCKS * processors, threads), int(degrees[by_block.start])
            most = rows_for(largest)
            kernel = make_count_in_rows(target, k, most, shape[1], shape[1] // warp, BLOCK_TICKET, wide, WINDOW)
            edges = xp.empty(by_block.stop - by_block.start, np.uint32)
            reach = make_reach(target, wide)[shape]
            reach(*self._graph, self._to_device(vertices[by_block]), to_device(edges))
            edges = edges if near_xp is xp else xp.asnumpy(edges)
            of_block = vertices[by_block], degrees[by_block], edges
            items = _divided(near_xp, *of_block, k, PIECES * shape[0], shape[1] // warp)
            self._add((items.vertices, items.shares), items.work_s, kernel[shape], BLOCK_TICKET)
        self._launches = Launches(target, xp, to_device, total_s, same=self._matrices is None)

    def _add(self, arrays, work_s, launch, ticket):
        cumulative_s = self._near.cumsum(work_s)
        total_s, placed = float(cumulative_s[-1]), tuple(map(self._to_device, arrays))
        dealt = functools.cache(functools.partial(interleaved, self._near, arrays, total_s))
        self._classes.append(_Class(placed, cumulative_s, total_s, launch, ticket, dealt))

    def count(self, check: Check | None = None, piece_s: float = PIECE_S, parts: TaskRange | None = None) -> int:
        """The number of cliques; `check(done, count)` is called between pieces of about `piece_s` and may raise.

        With `parts`, a range of `interleaved.PARTS`, it is their share of the number.
        """
        if parts is None:
            return self._launches.count(self._steps, check, piece_s)
        return self._launches.part(parts, PARTS).count(functools.partial(self._steps_of, parts), check, piece_s)

    def _steps(self, piece_s: float) -> Iterator[Step]:
        if self._matrices:
            yield from self._matrices.steps(piece_s)
        for size in self._classes:
            for start, stop, part_s in ranges(self._near, size.cumulative_s, size.work_s, piece_s):
                launch = functools.partial(size.launch, *self._graph, *size.arrays, U(start), U(stop))
                yield Step(part_s, launch, size.ticket)

    def _steps_of(self, parts: TaskRange, piece_s: float) -> Iterator[Step]:
        """The steps of some parts."""
        if self._matrices and (matrices := self._matrices.of(parts)):
            yield from matrices.steps(piece_s)
        for size in self._classes:
            dealt = size.dealt()
            arrays = tuple(map(self._to_device, dealt.arrays))
            for start, stop, part_s in dealt.pieces(parts, piece_s):
                launch = functools.partial(size.launch, *self._graph, *arrays, U(start), U(stop))
                yield Step(part_s, launch, size.ticket)


def usual_limits(degrees: Any, warps: int) -> Limits:
    """The limits for these out-degrees, where so many warps share the vertices that one takes alone."""
    usual = Limits()
    between = int(((degrees > usual.word) & (degrees <= usual.warp)).sum())
    return usual if between >= LEAST_EACH * warps else usual._replace(warp=usual.word)


def _divided(xp, vertices, degrees, edges, k, parts, warps) -> _Items:
    """Vertices divided until none has more than about one of `parts` of the work; a part has a row a warp or more."""
    pairs = xp.maximum(degrees.astype(np.float64) * (degrees - 1.0) / 2, 1.0)
    fill_s, count_s = seconds_of(degrees, k, edges / pairs)
    most = max(float((fill_s + count_s).sum()) / parts, 1e-12)
    most_parts = xp.minimum(degrees // warps, count_s / fill_s)  # each part fills all rows
    divided = xp.maximum(xp.minimum(xp.ceil(count_s / most), most_parts), 1).astype(np.int64)
    ends = xp.cumsum(divided)
    number = xp.arange(int(ends[-1]))
    of = xp.searchsorted(ends, number, side="right")
    number -= (ends - divided)[of]
    work_s = (fill_s + count_s / divided)[of]
    order = xp.argsort(-work_s, kind="stable")
    shares = ((divided[of] << 16) | number).astype(np.uint32)
    return _Items(vertices[of][order], shares[order], work_s[order])
