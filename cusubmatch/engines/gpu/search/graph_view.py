"""The graph as the walker reads it: rows of a plan's relations, bitmaps of the hubs among them, and first candidates.

A hub's row is a bitmap beside its list, so that asking whether a vertex is in it is one load instead of a binary
search; some 2,000 of them serve most of the questions. The first candidates of a root are its shortest row of level 1,
cut by the restriction, as `lists` makes it.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.base import TaskRange
from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.search import program as p
from cusubmatch.engines.gpu.search.candidate_lists import list_functions
from cusubmatch.graph import Adjacency

__all__ = ["DeviceRows", "Roots", "make_first", "make_mark", "make_roots", "make_rows"]

U = np.uint32
MOST_HUBS = 2048
HUB_BYTES = 96 << 20
LEAST_HUB_DEGREE = 32
THREADS = 256


class DeviceRows(NamedTuple):
    """Rows of several relations on the device.

    Attributes
    ----------
    offsets : (relations * (n + 1),) uint32, or int64 if `wide`
    targets : uint32
    bits : (relations, hubs, words) uint32, flat
    hub, hubs, words : int
        The first vertex with bitmaps, the number of such vertices, and the words of one.
    wide : bool
    longest : int
        The length of the longest row.
    """

    offsets: Any
    targets: Any
    bits: Any
    hub: int
    hubs: int
    words: int
    wide: bool
    longest: int


class Roots(NamedTuple):
    """Vertices with first candidates: the vertex, where its candidates begin, and summed up how many they are."""

    vertices: Any  # uint32
    bases: Any  # as the offsets
    ends: Any  # int64
    total: int

    def part(self, tasks: TaskRange, *, whole: bool) -> Roots:
        """Some of the roots, if tasks are `whole` roots, else those with some of the first candidates."""
        begin, end = tasks
        if whole:
            before = int(self.ends[begin - 1]) if begin else 0
            ends = self.ends[begin:end] - before
            return Roots(self.vertices[begin:end], self.bases[begin:end], ends, int(ends[-1]) if end > begin else 0)
        first, last = self._roots_of(begin, end)
        ends = self.ends[first:last].clip(max=end) - begin
        bases = self.bases[first:last].copy()
        if len(bases):
            bases[0] += bases.dtype.type(begin - (int(self.ends[first - 1]) if first else 0))
        return Roots(self.vertices[first:last], bases, ends, end - begin)

    def _roots_of(self, begin: int, end: int) -> tuple[int, int]:
        """The range of roots that the first candidates `begin` to `end` belong to."""
        if begin == end:
            return 0, 0
        return int((self.ends <= begin).sum()), int((self.ends < end).sum()) + 1


def make_rows(target: Target, xp, adjacency: Adjacency, blocks: int) -> DeviceRows:
    """Rows on the device as the walker reads them, with bitmaps of the hubs."""
    count, n = adjacency.offsets.shape[0], adjacency.offsets.shape[1] - 1
    lengths = adjacency.offsets[:, 1:] - adjacency.offsets[:, :-1]
    longest = int(lengths.max()) if lengths.size else 0
    wide = max(len(adjacency.targets), count * (n + 1)) >= 1 << 32
    offsets = adjacency.offsets.ravel() if wide else adjacency.offsets.ravel().astype(np.uint32)
    words = -(-n // 32)
    space = HUB_BYTES // max(4 * words * count, 1)
    degree = lengths.max(axis=0) if count else xp.zeros(n, np.int64)
    hubs = min(MOST_HUBS, space, int((degree[max(n - MOST_HUBS, 0) :] >= LEAST_HUB_DEGREE).sum()))
    bits = xp.zeros(max(count * hubs * words, 1), np.uint32)
    targets = adjacency.targets.view(np.uint32) if len(adjacency.targets) else xp.zeros(1, np.uint32)
    if hubs:
        mark = make_mark(target, wide)
        mark[blocks, THREADS](offsets, targets, bits, n + 1, n - hubs, hubs, words, count)
    return DeviceRows(offsets, targets, bits, n - hubs, hubs, words, wide, longest)


def make_roots(target: Target, xp, program, rows: DeviceRows, candidates, blocks: int) -> Roots:
    """First candidates of the vertices in `candidates` (of level 0); `program` on the device."""
    vertices = candidates.view(np.uint32) if len(candidates) else xp.zeros(0, np.uint32)
    bases = xp.empty(len(vertices), rows.offsets.dtype)
    lengths = xp.empty(len(vertices), np.int64)
    if len(vertices):
        kernel = make_first(target, rows.wide)
        kernel[blocks, THREADS](program, rows.offsets, rows.targets, vertices, bases, lengths)
        kept = xp.flatnonzero(lengths)
        if len(kept) < len(vertices):
            vertices, bases, lengths = vertices[kept], bases[kept], lengths[kept]
    ends = xp.cumsum(lengths)
    return Roots(vertices, bases, ends, int(ends[-1]) if len(vertices) else 0)


@functools.cache
def make_mark(target, wide):
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp

    def mark_hubs(off, col, bits, stride, first, hubs, words, relations):
        lane = lane_of()
        warps = np.int64(U(cuda.blockDim.x) // U(WARP))
        task = np.int64(cuda.blockIdx.x) * warps + np.int64(warp_of())
        step = np.int64(cuda.gridDim.x) * warps
        while task < np.int64(hubs) * np.int64(relations):
            relation = task // np.int64(hubs)
            place = relation * np.int64(stride) + np.int64(first) + task % np.int64(hubs)
            i, end = np.int64(off[place]) + np.int64(lane), np.int64(off[place + 1])
            begin = task * np.int64(words)
            while i < end:
                x = U(col[i])
                cuda.atomic.or_(bits, begin + np.int64(U(x >> U(5))), U(U(1) << U(x & U(31))))
                i += np.int64(WARP)
            task += step

    return target.kernel(mark_hubs)


@functools.cache
def make_first(target, wide):
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    find = warp_functions(target, wide).find
    lists = list_functions(target, 1, wide)
    ahead, field, row = lists.ahead, lists.field, lists.row
    BACKWARD_NEIGHBOURS, BOUNDS, NEED, REFERENCES, ASCENDING = (
        p.BACKWARD_NEIGHBOURS,
        p.BOUNDS,
        p.NEED,
        p.REFERENCES,
        p.ASCENDING,
    )

    def first_candidates(program, off, col, vertices, bases, lengths):
        threads = np.int64(cuda.blockDim.x)
        i = np.int64(cuda.blockIdx.x) * threads + np.int64(U(U(warp_of() * WARP) + lane_of()))
        step = np.int64(cuda.gridDim.x) * threads
        backward_neighbours, references = field(program, U(1), BACKWARD_NEIGHBOURS), field(program, U(1), REFERENCES)
        while i < np.int64(len(vertices)):
            vertex = U(vertices[i])
            base, length = row(program, off, U(program[references]), vertex)
            k = U(1)
            while k < backward_neighbours:
                other, shorter = row(program, off, U(program[U(references + k)]), vertex)
                if shorter < length:
                    base, length = other, shorter
                k = U(k + 1)
            if field(program, U(1), BOUNDS) > U(0):
                if program[ASCENDING]:
                    below = find(col, base, length, U(vertex + 1))
                    base, length = ahead(base, below), U(length - below)
                else:
                    length = find(col, base, length, vertex)
            if length < field(program, U(1), NEED):
                length = U(0)
            bases[i] = base
            lengths[i] = np.int64(length)
            i += step

    return target.kernel(first_candidates)
