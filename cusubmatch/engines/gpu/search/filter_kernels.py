"""The kernels of the filters: arc consistency, and the counts of what remains.

The filter of a vertex is a word: bit u says that the vertex is a candidate of pattern vertex u. In a pass each lane
tests the first neighbours of a vertex, and the warp goes through the rest of the few rows in which none was a
candidate. Counting divides the vertices into chunks: running sums of the chunks' counts give the sizes, and tell each
chunk which of its candidates are in the sample.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, kernel_factory
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.tunables import Tunables
from cusubmatch.plan.candidates import SAMPLE

__all__ = ["make_arc_consistency_pass", "make_count_candidates", "make_count_pairs", "make_take_sample", "signatures"]

U, L = np.uint32, np.uint64


@kernel_factory
def make_arc_consistency_pass(target: Target, probed_neighbours: int) -> Any:
    """The kernel of an arc consistency pass, for edges (u, w, relation).

    It clears bit u of a vertex that has no neighbour with bit w.

    Its arguments: offsets of all relations in one array, targets, masks, edges; the range of edges and the mask of
    their sources; a word that is set if any bit was cleared.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    PROBED = probed_neighbours

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
                    near = min(stop, L(i + L(PROBED)))
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
                    hits = U(0)
                    more = cuda.ballot_sync(FULL, k < last)
                    while more:
                        hit = False
                        if k < last:
                            hit = U(U(U(masks[U(targets[k])]) >> w) & U(1)) != U(0)
                        hits = U(cuda.ballot_sync(FULL, hit))
                        k = L(k + L(WARP))
                        more = cuda.ballot_sync(FULL, hits == U(0) and k < last)
                    if hits and lane == owner:
                        lacks = U(0)
                if lacks:
                    mask = U(mask & ~U(U(1) << u))
                e = U(e + 1)
            if mask != U(old & sources):
                masks[v] = U(U(old & ~sources) | mask)
                changed[0] = U(1)
            base = U(base + step)

    return target.kernel(arc_consistency_pass)


@kernel_factory
def make_count_candidates(target: Target, chunk_vertices: int) -> Any:
    """The kernel that counts, per chunk and pattern vertex, the candidates, and finds which filters differ.

    Its arguments: masks; counts (one, then all chunks of each pattern vertex); the words of `filters`; chunks
    and pattern vertices.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    warp_sum = warp_functions(target).warp_sum
    CHUNK = chunk_vertices

    def count_candidates(masks, counts, numbers, chunks, size):
        lane, n = lane_of(), U(len(masks))
        warps = U(U(cuda.blockDim.x) // U(WARP))
        chunk = L(U(U(U(cuda.blockIdx.x) * warps) + warp_of()))
        step = L(U(U(cuda.gridDim.x) * warps))
        while chunk < chunks:
            begin = U(L(chunk * L(CHUNK)))
            end = U(begin + min(U(CHUNK), U(n - begin)))
            u = U(0)
            while u < size:
                count, unlike, v = U(0), U(0), U(begin + lane)
                while v < end:
                    mask = U(masks[v])
                    bit = U(U(mask >> u) & U(1))
                    count = U(count + bit)
                    unlike = U(unlike | U(mask ^ U(U(0) - bit)))  # the bits unlike bit u
                    v = U(v + WARP)
                total = warp_sum(L(count))
                distance = 1
                while distance < WARP:
                    unlike = U(unlike | U(cuda.shfl_xor_sync(FULL, np.int32(unlike), distance)))
                    distance <<= 1
                if lane == U(0):
                    counts[L(L(L(L(u) * chunks) + chunk) + L(1))] = U(total)
                    if L(unlike) & ~L(numbers[u]):
                        cuda.atomic.or_(numbers, u, L(unlike))
                u = U(u + 1)
            chunk = L(chunk + step)

    return target.kernel(count_candidates)


@kernel_factory
def make_take_sample(target: Target, sample: int, chunk_vertices: int) -> Any:
    """The kernel that lists about `sample` candidates of each pattern vertex, evenly spaced (see `spacing`).

    Its arguments: masks; the running sums of the counts; the lists, of 2 * sample each; chunks and pattern vertices.
    """
    cuda, WARP, FULL, lane_of, warp_of = target.cuda, target.WARP, target.FULL, target.lane, target.warp
    CHUNK, SAMPLES = chunk_vertices, sample

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
                    spacing = max(U(total // U(SAMPLES)), U(1))
                    base = U(L(chunk * L(CHUNK)))
                    end = U(base + min(U(CHUNK), U(n - base)))
                    while base < end:
                        v, bit = U(base + lane), U(0)
                        if v < end:
                            bit = U(U(U(masks[v]) >> u) & U(1))
                        column = U(cuda.ballot_sync(FULL, bit != U(0)))
                        if bit:
                            own = U(rank + U(cuda.popc(U(column & below))))
                            if U(own % spacing) == U(0):
                                samples[U(U(U(2 * u) * SAMPLES) + U(own // spacing))] = v
                        rank = U(rank + U(cuda.popc(column)))
                        base = U(base + WARP)
                u = U(u + 1)
            chunk = L(chunk + step)

    return target.kernel(take_sample)


@kernel_factory
def make_count_pairs(target: Target, sample: int) -> Any:
    """The kernel that counts, per edge (u, w, relation), the neighbours with bit w of the sampled candidates of u.

    An edge has 2 * sample tasks, and each row is divided among as many of them as there are for it. Its arguments:
    offsets of all relations in one array, targets, masks, edges; sums and samples; for each edge the number for each
    sample; chunks and tasks.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    warp_sum = warp_functions(target).warp_sum
    SAMPLES = sample

    def count_pairs(offsets, targets, masks, edges, sums, samples, pairs, chunks, tasks):
        lane, n = lane_of(), U(len(masks))
        warps = U(U(cuda.blockDim.x) // U(WARP))
        task = U(U(U(cuda.blockIdx.x) * warps) + warp_of())
        step = U(U(cuda.gridDim.x) * warps)
        while task < tasks:
            e, number = U(task // U(2 * SAMPLES)), U(task % U(2 * SAMPLES))
            u, w = U(edges[U(3 * e)]), U(edges[U(U(3 * e) + 1)])
            first = L(L(u) * chunks)
            total = U(L(L(sums[L(first + chunks)]) - L(sums[first])))
            spacing = max(U(total // U(SAMPLES)), U(1))
            seen = U(U(total + U(spacing - 1)) // spacing)
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
                total_pairs = warp_sum(L(count))
                if lane == U(0) and total_pairs != L(0):
                    cuda.atomic.add(pairs, U(U(task - number) + U(number % seen)), U(total_pairs))
            task = U(task + step)

    return target.kernel(count_pairs)


@functools.cache
def signatures() -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    from numba import int32, int64, uint32, uint64, void

    tunables = Tunables()
    chunk = tunables.filter_chunk_vertices
    rows, masks, edges, numbers = (int64[::1], int32[::1]), uint32[::1], uint32[::1], uint64[::1]
    return [
        DeclaredKernel(kernel.name.removeprefix("make_"), kernel, void(*arguments))
        for kernel, arguments in (
            (
                make_arc_consistency_pass.recipe(tunables.filter_probed_neighbours),
                (*rows, masks, edges, uint32, uint32, uint32, uint32[::1]),
            ),
            (make_count_candidates.recipe(chunk), (masks, uint32[::1], numbers, uint64, uint32)),
            (make_take_sample.recipe(SAMPLE, chunk), (masks, uint64[::1], uint32[::1], uint64, uint32)),
            (make_count_pairs.recipe(SAMPLE), (*rows, masks, edges, numbers, *[uint32[::1]] * 2, uint64, uint32)),
        )
    ]
