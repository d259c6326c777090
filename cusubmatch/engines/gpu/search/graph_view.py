"""The graph as the walker reads it: rows of a plan's relations, bitmaps of the hubs among them, and first candidates.

A hub has a bitmap beside its row, so that asking whether a vertex is in it is one load instead of a binary search; some
2,000 of them answer most of the questions. The first candidates of a root are its shortest row of level 1, cut by the
restriction, as `candidate_lists` makes it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.kernel_factory import kernel_factory
from cusubmatch.engines.gpu.runtime.transfer import near_array
from cusubmatch.engines.gpu.walker import program_format as p
from cusubmatch.engines.gpu.walker.row_access import row_access
from cusubmatch.engines.runs import TaskRange
from cusubmatch.graph import Adjacency

__all__ = [
    "DeviceRows",
    "Roots",
    "has_wide_offsets",
    "make_first_candidates",
    "make_mark_hubs",
    "make_roots",
    "make_rows",
]

U = np.uint32
WIDE = 1 << 32  # places in the rows, from which one takes more than 32 bits
BLOCKS, THREADS = 4, 256  # blocks a multiprocessor, threads a block


class DeviceRows(NamedTuple):
    """Rows of several relations on the device.

    Attributes
    ----------
    offsets : (relations * (n + 1),) uint32, or int64 if `offsets64`
    targets : uint32
    bitmaps : (relations, hubs, words) uint32, flat
    hub, hubs, words : int
        The first vertex with bitmaps, the number of such vertices, and the words of one.
    offsets64 : bool
        Whether offsets need more than 32 bits.
    longest : int
        The length of the longest row.
    """

    offsets: Any
    targets: Any
    bitmaps: Any
    hub: int
    hubs: int
    words: int
    offsets64: bool
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


def has_wide_offsets(adjacency: Adjacency) -> bool:
    """Whether places in the rows take 64 bits."""
    return max(len(adjacency.targets), adjacency.offsets.size) >= WIDE


def make_rows(gpu: Device, xp, adjacency: Adjacency) -> DeviceRows:
    """Rows on the device as the walker reads them, with bitmaps of the hubs."""
    tunables = gpu.tunables
    count, n = adjacency.offsets.shape[0], adjacency.offsets.shape[1] - 1
    offsets64, near = has_wide_offsets(adjacency), near_array(adjacency.offsets)
    lengths = near[:, 1:] - near[:, :-1]
    longest = int(lengths.max()) if lengths.size else 0
    offsets = adjacency.offsets.ravel() if offsets64 else xp.asarray(near.ravel().astype(np.uint32))
    words = -(-n // 32)
    space = tunables.hub_bitmap_bytes // max(4 * words * count, 1)
    degree = lengths.max(axis=0) if count else np.zeros(n, np.int64)
    highest = degree[max(n - tunables.max_hubs, 0) :]
    hubs = min(tunables.max_hubs, space, int((highest >= tunables.min_hub_degree).sum()))
    bitmaps = xp.zeros(max(count * hubs * words, 1), np.uint32)
    targets = adjacency.targets.view(np.uint32) if len(adjacency.targets) else xp.zeros(1, np.uint32)
    if hubs:
        mark_hubs = make_mark_hubs(gpu.target, offsets64)
        mark_hubs[BLOCKS * gpu.processors, THREADS](offsets, targets, bitmaps, n + 1, n - hubs, hubs, words, count)
    return DeviceRows(offsets, targets, bitmaps, n - hubs, hubs, words, offsets64, longest)


def make_roots(gpu: Device, xp, program, rows: DeviceRows, candidates) -> Roots:
    """First candidates of the vertices in `candidates` (of level 0); `program` on the device."""
    vertices = xp.asarray(candidates).view(np.uint32) if len(candidates) else xp.zeros(0, np.uint32)
    bases = xp.empty(len(vertices), rows.offsets.dtype)
    lengths = xp.empty(len(vertices), np.int64)
    if len(vertices):
        kernel = make_first_candidates(gpu.target, rows.offsets64)
        kernel[BLOCKS * gpu.processors, THREADS](program, rows.offsets, rows.targets, vertices, bases, lengths)
        if (near := near_array(lengths)) is not lengths:
            vertices, bases, lengths = near_array(vertices), near_array(bases), near
        kept = lengths.nonzero()[0]
        if len(kept) < len(vertices):
            vertices, bases, lengths = vertices[kept], bases[kept], lengths[kept]
    ends = lengths.cumsum()
    total = int(ends[-1]) if len(vertices) else 0
    return Roots(xp.asarray(vertices), xp.asarray(bases), xp.asarray(ends), total)


@kernel_factory
def make_mark_hubs(target: Target, offsets64: bool) -> Any:
    """The kernel that sets the bits of the hubs' rows.

    Its arguments: offsets of all relations, targets, bitmaps; offsets of a relation; the first hub, their number, the
    words of a bitmap, and relations.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp

    def mark_hubs(offsets, targets, bitmaps, stride, first, hubs, words, relations):
        lane = lane_of()
        warps = np.int64(U(cuda.blockDim.x) // U(WARP))
        task = np.int64(cuda.blockIdx.x) * warps + np.int64(warp_of())
        step = np.int64(cuda.gridDim.x) * warps
        while task < np.int64(hubs) * np.int64(relations):
            relation = task // np.int64(hubs)
            place = relation * np.int64(stride) + np.int64(first) + task % np.int64(hubs)
            i, end = np.int64(offsets[place]) + np.int64(lane), np.int64(offsets[place + 1])
            begin = task * np.int64(words)
            while i < end:
                x = U(targets[i])
                cuda.atomic.or_(bitmaps, begin + np.int64(U(x >> U(5))), U(U(1) << U(x & U(31))))
                i += np.int64(WARP)
            task += step

    return target.kernel(mark_hubs)


@kernel_factory
def make_first_candidates(target: Target, offsets64: bool) -> Any:
    """The kernel that finds first candidates.

    Its arguments: the program; offsets of all relations, targets; vertices; and the results: where the first candidates
    of each begin, and how many they are.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    access = row_access(target, 1, offsets64)
    ahead, field, find, row = access.ahead, access.field, access.find, access.row

    def first_candidates(program, offsets, targets, vertices, bases, lengths):
        threads = np.int64(cuda.blockDim.x)
        i = np.int64(cuda.blockIdx.x) * threads + np.int64(U(U(warp_of() * WARP) + lane_of()))
        step = np.int64(cuda.gridDim.x) * threads
        backward_neighbours = field(program, U(1), p.BACKWARD_NEIGHBOURS)
        references = field(program, U(1), p.REFERENCES)
        while i < np.int64(len(vertices)):
            vertex = U(vertices[i])
            base, length = row(program, offsets, U(program[references]), vertex)
            k = U(1)
            while k < backward_neighbours:
                other, shorter = row(program, offsets, U(program[U(references + k)]), vertex)
                if shorter < length:
                    base, length = other, shorter
                k = U(k + 1)
            if field(program, U(1), p.BOUNDS) > U(0):
                if program[p.ASCENDING]:
                    below = find(targets, base, length, U(vertex + 1))
                    base, length = ahead(base, below), U(length - below)
                else:
                    length = find(targets, base, length, vertex)
            if length < field(program, U(1), p.NEED):
                length = U(0)
            bases[i] = base
            lengths[i] = np.int64(length)
            i += step

    return target.kernel(first_candidates)
