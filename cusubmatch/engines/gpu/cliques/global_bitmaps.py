"""k-cliques of vertices with many out-neighbours: bitmap rows in global memory, shared by the whole grid.

Rows that do not fit in shared memory are made in batches: as many vertices as fill a scratch the size of the L2
cache. One kernel fills the rows of a batch, a warp a row; another counts, a warp a *segment* of 256 bits of a row, so
that one vertex with thousands of out-neighbours keeps the whole machine busy. A row begins at a sector of 32 bytes, and
8 lanes read it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.cliques.interleaved import dealt
from cusubmatch.engines.gpu.cliques.neighbourhood_rows import WORD, fill_row
from cusubmatch.engines.gpu.cliques.orientation import Oriented
from cusubmatch.engines.gpu.cliques.work_estimates import seconds_of
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.engines.gpu.runtime.launch_batches import Step, ranges
from cusubmatch.engines.gpu.runtime.warp import grid, warp_functions
from cusubmatch.engines.runs import TaskRange
from cusubmatch.graph.csr import module_of

__all__ = [
    "SCRATCH_WORDS",
    "CliqueMatrices",
    "make_count_in_matrices",
    "make_fill_matrices",
    "matrix_words",
    "row_words",
]

U, L = np.uint32, np.uint64

SCRATCH_WORDS = 12 << 20  # 48 MB
SEGMENT_WORDS = 8  # a sector of 32 bytes, 256 bits
MOST_WIDTH = 624  # words of the longest row: 19,968 rows of them fill the scratch
THREADS, BLOCKS = 256, 5  # of a block, and blocks of a multiprocessor


def row_words(degrees: Any) -> Any:
    """Words of a row, in whole segments."""
    return (degrees.astype(np.int64) + 255) // 256 * SEGMENT_WORDS


def matrix_words(degrees: Any) -> Any:
    """Words of the rows of one vertex."""
    return degrees.astype(np.int64) * row_words(degrees)


class CliqueMatrices:
    """The cliques of k = 4 or 5 whose lowest vertex is one of `vertices`, each with few enough out-neighbours.

    Parameters
    ----------
    vertices, degrees : arrays (vertices,), uint32
        Vertices by falling out-degree, and these; in host memory or on the device.
    """

    def __init__(
        self,
        target: Target,
        xp: Any,
        oriented: Oriented,
        vertices: Any,
        degrees: Any,
        k: int,
        ticket: int,
        processors: int,
        threads: int,
        scratch_words: int,
        to_device: Callable[[Any], Any],
    ) -> None:
        self._xp, self._near = xp, module_of(xp, degrees)
        self._to_device = lambda array: to_device(xp.asarray(array))
        self._graph = to_device(oriented.offsets), to_device(oriented.targets)
        self._grid = grid(target, BLOCKS * processors, min(threads, THREADS))
        self._fill = make_fill_matrices(target, self._grid[1], oriented.wide)[self._grid]
        lanes = min(SEGMENT_WORDS, target.WARP)
        self._count = make_count_in_matrices(target, k, self._grid[1], lanes, ticket, oriented.wide)[self._grid]
        self._ticket = ticket
        self._capacity, self._k = scratch_words, k
        self._take(vertices, degrees)

    def _take(self, vertices, degrees):
        self._vertices, self._degrees = vertices, degrees
        self._cumulative = self._near.cumsum(matrix_words(degrees))
        self._words = self._cumulative[-1].item()
        self._fill_s, self._count_s = seconds_of(degrees, self._k)

    def of(self, parts: TaskRange) -> CliqueMatrices | None:
        """The same for the vertices of some parts; None if they have none."""
        chosen = dealt(self._near, len(self._vertices), parts)
        if not len(chosen):
            return None
        other = copy.copy(self)
        other._take(self._vertices[chosen], self._degrees[chosen])  # noqa: SLF001
        return other

    def steps(self, piece_s: float) -> Iterator[Step]:
        """Batch by batch: fill, then count in pieces."""
        scratch = self._xp.empty(min(self._capacity, self._words), np.uint32)
        for begin, end, amount in ranges(self._near, self._cumulative, self._words, self._capacity):
            words = int(amount)
            scratch[:words] = 0
            rows = self._firsts(self._degrees[begin:end].astype(np.int64))
            places = self._firsts(matrix_words(self._degrees[begin:end]))
            vertices, places, batch_scratch = map(self._to_device, (self._vertices[begin:end], places, scratch))
            batch = (vertices, places, U(end - begin), batch_scratch)
            fill = functools.partial(self._fill, *self._graph, self._to_device(rows), *batch)
            yield Step(float(self._fill_s[begin:end].sum()), functools.partial(_without_state, fill))
            segments, work_s = words // SEGMENT_WORDS, float(self._count_s[begin:end].sum())
            piece = segments if work_s <= piece_s else max(int(segments * piece_s / work_s), 1)
            for start in range(0, segments, piece):
                stop = min(start + piece, segments)
                count = functools.partial(self._count, self._graph[0], *batch, U(start), U(stop))
                yield Step(work_s * (stop - start) / segments, count, self._ticket)

    def _firsts(self, lengths):
        """Where each begins, and where all end."""
        firsts = self._near.zeros(len(lengths) + 1, np.uint32)
        firsts[1:] = self._near.cumsum(lengths)
        return firsts


def _without_state(launch, _state):
    launch()


@kernel_factory
def make_fill_matrices(target: Target, threads: int, wide: bool) -> Any:
    """A warp a row; the scratch must be zero."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    fill, find = fill_row(target, wide, listing_wide=wide), warp_functions(target, wide=False).find
    WARPS, SEGMENT, P = threads // WARP, SEGMENT_WORDS, L if wide else U

    @kernel
    def fill_matrices(offsets, targets, first_rows, vertices, first_words, count, scratch):
        lane = lane_of()
        row, step = U(U(U(cuda.blockIdx.x) * U(WARPS)) + warp_of()), U(U(cuda.gridDim.x) * U(WARPS))
        while row < U(first_rows[count]):
            item = U(find(first_rows, U(0), count, U(row + U(1))) - U(1))
            u = U(vertices[item])
            base = P(offsets[u])
            size = U(P(offsets[U(u + U(1))]) - base)
            width = U(U(U(size + U(255)) >> U(8)) * U(SEGMENT))
            i = U(row - U(first_rows[item]))
            v = U(targets[P(base + P(i))])
            list_base = P(offsets[v])
            length = U(P(offsets[U(v + U(1))]) - list_base)
            place = U(U(first_words[item]) + U(i * width))
            fill(targets, list_base, length, targets, base, size, i, scratch, place, lane)
            row = U(row + step)

    return fill_matrices


@kernel_factory
def make_count_in_matrices(target: Target, k: int, threads: int, lanes: int, ticket: int, wide: bool) -> Any:
    """A warp a segment (i, 256 bits) of the rows of a batch: each bit j is a pair (i, j)."""
    cuda, WARP, FULL = target.cuda, target.WARP, target.FULL
    device, kernel, lane_of, warp_of = target.device, target.kernel, target.lane, target.warp
    find, _, _, add_to = warp_functions(target, wide=False)
    K, TICKET, SEGMENT, PARTS, BITS = k, ticket, SEGMENT_WORDS, WORD // WARP, WORD * SEGMENT_WORDS
    LANES, GROUPS, SHIFT = lanes, WARP // lanes, lanes.bit_length() - 1
    QUEUES = threads // WARP * 2 * BITS
    WIDTH, P = MOST_WIDTH if k == 5 else 1, L if wide else U
    SETS = threads // WARP * WIDTH

    @device
    def gather(members, first_word, w, queue, begin, lane):
        """Queue the numbers of the bits in one segment of a set; how many there are."""
        queued, word_number = U(0), 0
        while word_number < SEGMENT:
            word, part = U(members[U(first_word + U(w + U(word_number)))]), 0
            while part < PARTS:
                bit = U(lane + U(part * WARP))
                if U(U(word >> bit) & U(1)):
                    before = U(cuda.popc(U(word & U(U(U(1) << bit) - U(1)))))
                    queue[U(begin + U(queued + before))] = U(U(U(w + U(word_number)) << U(5)) + bit)
                part += 1
            queued = U(queued + U(cuda.popc(word)))
            word_number += 1
        return queued

    @device
    def pairs(members, first_word, w, matrix, width, rows, queue, begin, lane):
        """A lane's share of the pairs (h, x) in a set whose h is in one segment: row h and the set in common."""
        queued = gather(members, first_word, w, queue, begin, lane)
        cuda.syncwarp()
        common, q = U(0), U(lane >> U(SHIFT))
        while q < queued:
            row = U(matrix + U(U(queue[U(begin + q)]) * width))
            x = U(w + U(lane & U(LANES - 1)))
            while x < width:
                common = U(common + U(cuda.popc(U(U(members[U(first_word + x)]) & U(rows[U(row + x)])))))
                x = U(x + U(LANES))
            q = U(q + U(GROUPS))
        cuda.syncwarp()
        return common

    @kernel
    def count_in_matrices(offsets, vertices, first_words, count, scratch, start, stop, state):
        queue = cuda.shared.array(QUEUES, uint32)
        sets = cuda.shared.array(SETS, uint32)
        lane, warp = lane_of(), warp_of()
        outer, inner, members = U(warp * U(2 * BITS)), U(U(warp * U(2 * BITS)) + U(BITS)), U(warp * U(WIDTH))
        total = L(0)
        while True:
            segment = U(0)
            if lane == U(0):
                segment = U(U(cuda.atomic.add(state, TICKET, L(1))) + start)
            segment = U(cuda.shfl_sync(FULL, np.int32(segment), 0))
            if segment >= stop:
                break
            word = U(segment * U(SEGMENT))
            item = U(find(first_words, U(0), count, U(word + U(1))) - U(1))
            u = U(vertices[item])
            size = U(P(offsets[U(u + U(1))]) - P(offsets[u]))
            width = U(U(U(size + U(255)) >> U(8)) * U(SEGMENT))
            matrix = U(first_words[item])
            i = U(U(word - matrix) // width)
            row = U(matrix + U(i * width))
            w = U(word - row)
            if U(U(w + U(SEGMENT)) << U(5)) <= i:
                continue  # rows hold later neighbours only
            if K == 4:
                total = L(total + L(pairs(scratch, row, w, matrix, width, scratch, queue, outer, lane)))
            else:
                queued, q = gather(scratch, row, w, queue, outer, lane), U(0)
                cuda.syncwarp()
                while q < queued:
                    j = U(queue[U(outer + q)])
                    other = U(matrix + U(j * width))
                    x = U(w + lane)
                    while x < width:
                        sets[U(members + x)] = U(U(scratch[U(row + x)]) & U(scratch[U(other + x)]))
                        x = U(x + U(WARP))
                    cuda.syncwarp()
                    y = w
                    while y < width:
                        total = L(total + L(pairs(sets, members, y, matrix, width, scratch, queue, inner, lane)))
                        y = U(y + U(SEGMENT))
                    q = U(q + U(1))
                cuda.syncwarp()
        add_to(state, lane, total)

    return count_in_matrices
