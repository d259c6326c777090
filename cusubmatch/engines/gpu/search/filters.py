"""Candidates on the GPU: consistency and the counts of what remains (the rest is `plan/candidates.py`).

Consistency is one launch for all pattern edges that do not see what another one of them clears; each lane tests the
first neighbours of a vertex, and the warp goes through the rest of the few rows in which none was a candidate. Counting
divides the vertices into chunks: the sums of the chunks' counts give the sizes, and tell each chunk which of its
candidates are in the sample. Whatever the result, the numbers travel to the host together, once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target, gpu
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.graph import Adjacency, Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Constraints
from cusubmatch.plan.candidates import (
    ROUNDS,
    SAMPLE,
    Candidates,
    candidate_constraints_of,
    label_degree_filter,
    select,
    uniform,
)

__all__ = ["find_candidates", "signatures"]

U, L = np.uint32, np.uint64
WARPS = 8  # a block
BLOCKS = 8  # a multiprocessor
CHUNK = 1024  # vertices
PROBE = 4  # neighbours that a lane tests before the warp helps
BITS = 32  # of a mask


def find_candidates(
    graph: Graph,
    pattern: Pattern,
    constraints: Constraints,
    adjacency: Adjacency,
    injective: bool,
    *,
    target: Target,
    processors: int,
    to_device: Callable[[Any], Any] = lambda array: array,
    sample: int = SAMPLE,
) -> Candidates:
    """Filter the vertices of a device graph for every vertex of `pattern`: the candidates that the CPU finds.

    Parameters
    ----------
    processors : int
        Multiprocessors.
    to_device : callable
        What a kernel takes in place of an array.
    """
    demands = candidate_constraints_of(constraints, injective)
    masks = label_degree_filter(graph, constraints, demands, adjacency)
    if demands.uniform:
        return uniform(graph, demands, adjacency, masks)
    size, edges, xp = len(pattern), demands.edges, graph.xp
    sizes, differ, found = [0] * size, [0] * size, [(0, 0)] * len(edges)
    if len(masks):
        run = _Launches(target, processors, to_device, xp, adjacency, masks, edges)
        for _ in range(ROUNDS):
            if not run.make_consistent(demands):
                break
        sizes, differ, found = run.count(size, sample)
    return select(graph, constraints, demands, masks, sizes, found, lambda u, w: not differ[u] >> w & 1, sample)


class _Launches:
    """The kernels with what they share: rows, masks and the pattern's edges, as kernels take them."""

    def __init__(self, target, processors, to_device, xp, adjacency, masks, edges):
        self.target, self.processors, self.to_device, self.xp = target, processors, to_device, xp
        self.n, self.edges = len(masks), edges
        targets = adjacency.targets if len(adjacency.targets) else xp.zeros(1, np.int32)
        rows = adjacency.offsets.ravel() if len(edges) else xp.zeros(1, np.int64)
        words = xp.asarray(edges.ravel().astype(np.uint32)) if len(edges) else xp.zeros(3, np.uint32)
        self.rows, self.masks = [to_device(rows), to_device(targets)], to_device(masks)
        self.words = to_device(words)

    def _launch(self, kernel, warps, *arguments):
        blocks = max(1, min(-(-warps // WARPS), BLOCKS * self.processors))
        kernel[blocks, WARPS * self.target.WARP](*arguments)

    def make_consistent(self, demands):
        """One round; whether any bit was cleared."""
        arc_consistency_pass, changed = make_arc_consistency_pass(self.target), self.xp.zeros(1, np.uint32)
        given = self.to_device(changed)
        for begin, end in demands.passes:
            sources = sum({1 << u for u in self.edges[begin:end, 0].tolist()})
            arguments = (*self.rows, self.masks, self.words, U(begin), U(end), U(sources), given)
            self._launch(arc_consistency_pass, -(-self.n // self.target.WARP), *arguments)
        return bool(changed[0])

    def count(self, size, sample):
        """Per pattern vertex its candidates and the mask of those that differ in theirs; per edge what is `found`."""
        xp, target, m = self.xp, self.target, len(self.edges)
        chunks = -(-self.n // CHUNK)
        numbers = xp.zeros(BITS + 2 * m + size + 1, np.uint64)
        counts = xp.zeros(size * chunks + 1, np.uint32)
        given = self.to_device(numbers)
        self._launch(make_tally(target), chunks, self.masks, self.to_device(counts), given, L(chunks), U(size))
        sums = xp.cumsum(counts, dtype=np.uint64)
        numbers[BITS + 2 * m :] = sums[::chunks]
        if m:
            places = [self.to_device(sums), self.to_device(xp.empty(size * 2 * sample, np.uint32))]
            self._launch(make_sample(target, sample), chunks, self.masks, *places, L(chunks), U(size))
            kernel, tasks = make_pairs(target, sample), m * 2 * sample
            found = xp.zeros(tasks, np.uint32)
            places.append(self.to_device(found))
            self._launch(kernel, tasks, *self.rows, self.masks, self.words, *places, L(chunks), U(tasks))
            pairs = found.reshape(m, -1).astype(np.uint64)  # a row of samples an edge
            numbers[BITS : BITS + m] = pairs.sum(axis=1)
            numbers[BITS + m : BITS + 2 * m] = (pairs * (pairs - np.uint64(1))).sum(axis=1)
        numbers = [int(number) for number in numbers.tolist()]
        found, sums = numbers[BITS : BITS + 2 * m], numbers[BITS + 2 * m :]
        sizes = [after - before for before, after in pairwise(sums)]
        return sizes, numbers[:size], list(zip(found[:m], found[m:], strict=True))


@functools.cache
def make_arc_consistency_pass(target: Target):
    """The kernel of a sweep: clears bit u of a vertex that has no neighbour with bit w, for edges (u, w, relation).

    Its arguments: offsets of all relations in one array, targets, masks, edges; the range of edges and the mask of
    their sources; a word that is set if any bit was cleared.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    FIRST = PROBE

    def arc_consistency_pass(offsets, targets, masks, edges, begin, end, sources, changed):
        lane, n = lane_of(), U(len(masks))
        warps = U(U(cuda.blockDim.x) // U(WARP))
        base = U(U(U(U(cuda.blockIdx.x) * warps) + warp_of()) * WARP)
        step = U(U(U(cuda.gridDim.x) * warps) * WARP)
        while base < n:
            v = U(base + lane)
            old = U(0)
            if v < n:
                old = U(masks[v])
            mask = U(old & sources)
            e = begin
            if cuda.ballot_sync(FULL, mask != U(0)) == U(0):
                e = end
            while e < end:
                u, w = U(edges[U(3 * e)]), U(edges[U(U(3 * e) + 1)])
                row = L(L(edges[U(U(3 * e) + 2)]) * L(L(n) + L(1)))
                i, stop = L(0), L(0)
                lacks = U(U(mask >> u) & U(1))
                if lacks:
                    i, stop = L(offsets[L(row + L(v))]), L(offsets[L(L(row + L(v)) + L(1))])
                    near = min(stop, L(i + L(FIRST)))
                    while i < near:
                        if U(U(U(masks[U(targets[i])]) >> w) & U(1)):
                            lacks = U(0)
                            i = near
                        else:
                            i = L(i + L(1))
                open_rows = U(cuda.ballot_sync(FULL, lacks != U(0) and i < stop))
                while open_rows:
                    owner = U(U(cuda.ffs(open_rows)) - 1)
                    open_rows = U(open_rows & U(open_rows - 1))
                    k = L(L(cuda.shfl_sync(FULL, np.int64(i), owner)) + L(lane))
                    last = L(cuda.shfl_sync(FULL, np.int64(stop), owner))
                    found = U(0)
                    more = cuda.ballot_sync(FULL, k < last)
                    while more:
                        hit = False
                        if k < last:
                            hit = U(U(U(masks[U(targets[k])]) >> w) & U(1)) != U(0)
                        found = U(cuda.ballot_sync(FULL, hit))
                        k = L(k + L(WARP))
                        more = cuda.ballot_sync(FULL, found == U(0) and k < last)
                    if found and lane == owner:
                        lacks = U(0)
                if lacks:
                    mask = U(mask & ~U(U(1) << u))
                e = U(e + 1)
            if mask != U(old & sources):
                masks[v] = U(U(old & ~sources) | mask)
                changed[0] = U(1)
            base = U(base + step)

    return target.kernel(arc_consistency_pass)


@functools.cache
def make_tally(target: Target):
    """The kernel that counts, per chunk and pattern vertex, the candidates, and finds which filters differ.

    Its arguments: masks; counts (one, then all chunks of each pattern vertex); the words of `_Launches.count`; chunks
    and pattern vertices.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    warp_sum = warp_functions(target).warp_sum
    LENGTH = CHUNK

    def tally(masks, counts, numbers, chunks, size):
        lane, n = lane_of(), U(len(masks))
        warps = U(U(cuda.blockDim.x) // U(WARP))
        chunk = L(U(U(U(cuda.blockIdx.x) * warps) + warp_of()))
        step = L(U(U(cuda.gridDim.x) * warps))
        while chunk < chunks:
            begin = U(L(chunk * L(LENGTH)))
            end = U(begin + min(U(LENGTH), U(n - begin)))
            u = U(0)
            while u < size:
                count, differ, v = U(0), U(0), U(begin + lane)
                while v < end:
                    mask = U(masks[v])
                    bit = U(U(mask >> u) & U(1))
                    count = U(count + bit)
                    differ = U(differ | U(mask ^ U(U(0) - bit)))  # the bits unlike bit u
                    v = U(v + WARP)
                total = warp_sum(L(count))
                distance = 1
                while distance < WARP:
                    differ = U(differ | U(cuda.shfl_xor_sync(FULL, np.int32(differ), distance)))
                    distance <<= 1
                if lane == U(0):
                    counts[L(L(L(L(u) * chunks) + chunk) + L(1))] = U(total)
                    if L(differ) & ~L(numbers[u]):
                        cuda.atomic.or_(numbers, u, L(differ))
                u = U(u + 1)
            chunk = L(chunk + step)

    return target.kernel(tally)


@functools.cache
def make_sample(target: Target, sample: int):
    """The kernel that lists about `sample` candidates of each pattern vertex, evenly spaced (`spacing`).

    Its arguments: masks; the running sums of the counts; the lists, of 2 * sample each; chunks and pattern vertices.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    LENGTH, SAMPLES = CHUNK, sample

    def take_sample(masks, sums, samples, chunks, size):
        lane, n = lane_of(), U(len(masks))
        below = U(U(U(1) << lane) - 1)
        warps = U(U(cuda.blockDim.x) // U(WARP))
        chunk = L(U(U(U(cuda.blockIdx.x) * warps) + warp_of()))
        step = L(U(U(cuda.gridDim.x) * warps))
        while chunk < chunks:
            u = U(0)
            while u < size:
                first = L(L(u) * chunks)
                before, after = L(sums[L(first + chunk)]), L(sums[L(L(first + chunk) + L(1))])
                if after > before:
                    rank = U(L(before - L(sums[first])))
                    total = U(L(L(sums[L(first + chunks)]) - L(sums[first])))
                    apart = max(U(total // U(SAMPLES)), U(1))
                    base = U(L(chunk * L(LENGTH)))
                    end = U(base + min(U(LENGTH), U(n - base)))
                    while base < end:
                        v, bit = U(base + lane), U(0)
                        if v < end:
                            bit = U(U(U(masks[v]) >> u) & U(1))
                        column = U(cuda.ballot_sync(FULL, bit != U(0)))
                        if bit:
                            own = U(rank + U(cuda.popc(U(column & below))))
                            if U(own % apart) == U(0):
                                samples[U(U(U(2 * u) * SAMPLES) + U(own // apart))] = v
                        rank = U(rank + U(cuda.popc(column)))
                        base = U(base + WARP)
                u = U(u + 1)
            chunk = L(chunk + step)

    return target.kernel(take_sample)


@functools.cache
def make_pairs(target: Target, sample: int):
    """The kernel that counts, per edge (u, w, relation), the neighbours with bit w of the sampled candidates of u.

    An edge has 2 * sample tasks, and each row is divided among as many of them as there are for it. Its arguments:
    offsets of all relations in one array, targets, masks, edges; sums and samples; for each edge the number for each
    sample; chunks and tasks.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    warp_sum = warp_functions(target).warp_sum
    SAMPLES = sample

    def count_pairs(offsets, targets, masks, edges, sums, samples, found, chunks, tasks):
        lane, n = lane_of(), U(len(masks))
        warps = U(U(cuda.blockDim.x) // U(WARP))
        task = U(U(U(cuda.blockIdx.x) * warps) + warp_of())
        step = U(U(cuda.gridDim.x) * warps)
        while task < tasks:
            e, number = U(task // U(2 * SAMPLES)), U(task % U(2 * SAMPLES))
            u, w = U(edges[U(3 * e)]), U(edges[U(U(3 * e) + 1)])
            first = L(L(u) * chunks)
            total = U(L(L(sums[L(first + chunks)]) - L(sums[first])))
            apart = max(U(total // U(SAMPLES)), U(1))
            seen = U(U(total + U(apart - 1)) // apart)
            shares = U(0)  # of a row
            if seen:
                shares = U(U(2 * SAMPLES) // seen)
            if number < U(shares * seen):
                v = U(samples[U(U(U(2 * u) * SAMPLES) + U(number % seen))])
                row = L(L(L(edges[U(U(3 * e) + 2)]) * L(L(n) + L(1))) + L(v))
                i, stop = L(offsets[row]), L(offsets[L(row + L(1))])
                i = L(i + L(U(U(U(number // seen) * WARP) + lane)))
                count = U(0)
                while i < stop:
                    count = U(count + U(U(U(masks[U(targets[i])]) >> w) & U(1)))
                    i = L(i + L(U(shares * WARP)))
                pairs = warp_sum(L(count))
                if lane == U(0) and pairs != L(0):
                    cuda.atomic.add(found, U(U(task - number) + U(number % seen)), U(pairs))
            task = U(task + step)

    return target.kernel(count_pairs)


def signatures() -> list[tuple[str, Any, Any]]:
    """(name, Python function, Numba signature) of each kernel as it is compiled for the GPU."""
    from numba import int32, int64, uint32, uint64, void

    target = gpu()._replace(kernel=lambda function: function)
    rows, masks, edges, numbers = (int64[::1], int32[::1]), uint32[::1], uint32[::1], uint64[::1]
    return [
        (kernel.__name__, kernel, void(*arguments))
        for kernel, arguments in (
            (make_arc_consistency_pass(target), (*rows, masks, edges, uint32, uint32, uint32, uint32[::1])),
            (make_tally(target), (masks, uint32[::1], numbers, uint64, uint32)),
            (make_sample(target, SAMPLE), (masks, uint64[::1], uint32[::1], uint64, uint32)),
            (make_pairs(target, SAMPLE), (*rows, masks, edges, numbers, *[uint32[::1]] * 2, uint64, uint32)),
        )
    ]
