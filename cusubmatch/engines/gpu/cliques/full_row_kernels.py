"""Kernels that count triangles in full rows: nothing is copied, no list of edges is made.

Vertices are numbered by ascending degree and rows are sorted, so that the higher neighbours of a vertex are the end of
its row. A word a vertex says where that begins and how long it is; one gather of it gives a list. The triangles of an
edge u < v are the elements that the lists of both share, all higher than v: they are sought in the list of v, or in
what follows v in the list of u, whichever is shorter. Who has the other list *holds* the edge: a block sets a bit for
each element of a holder's list in shared memory, walks over its full row, and scans the lists of the edges that it
holds (bitmaps: Bisson and Fatica 2017). Of two vertices with short lists neither holds, and their lists are merged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, uint32, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, kernel_factory
from cusubmatch.engines.gpu.runtime.warp import warp_functions

__all__ = [
    "PLACE_BITS",
    "make_count_by_holders",
    "make_count_by_merging",
    "make_higher_lists",
    "make_weigh",
    "signatures",
]

U, L = np.uint32, np.uint64

PLACE_BITS = 40  # of a word, for the place where a list begins; the rest is its length, at most sqrt(2 edges)
PLACE = (1 << PLACE_BITS) - 1
OWN = 8  # elements of a list that a lane scans alone
THREADS = 256
WINDOW = 1 << 18  # bits of a block's bitmap: 32 KB
LONG = 16  # lists up to this length are short
PART = 1024  # neighbours of a vertex that a block walks over at a time
MERGING_LANES = 8  # of a vertex


@kernel_factory
def make_higher_lists(target: Target) -> Any:
    """The kernel that finds the list of higher neighbours of each vertex, as a word."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    find = warp_functions(target).find

    @kernel
    def higher_lists(offsets, targets, lists):
        x = U(U(U(cuda.blockIdx.x) * U(cuda.blockDim.x)) + U(U(warp_of() * U(WARP)) + lane_of()))
        while x < U(len(lists)):
            begin = L(offsets[x])
            length = U(L(offsets[U(x + U(1))]) - begin)
            lower = find(targets, begin, length, x)
            lists[x] = L(L(begin + L(lower)) | L(L(U(length - lower)) << L(PLACE_BITS)))
            x = U(x + U(U(cuda.gridDim.x) * U(cuda.blockDim.x)))

    return higher_lists


@kernel_factory
def make_weigh(target: Target, long: int, part: int) -> Any:
    """The kernel that estimates how many elements are scanned for each part of a row; 0 only if it is none.

    A warp a part. What follows a vertex in the list of a lower neighbour is taken to be half of that, and no more than
    would be scanned.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    warp_sum, LONG, PART = warp_functions(target).warp_sum, long, part

    @kernel
    def weigh(offsets, targets, lists, vertices, numbers, work):
        lane, warps = lane_of(), U(U(cuda.blockDim.x) // U(WARP))
        item = U(U(U(cuda.blockIdx.x) * warps) + warp_of())
        while item < U(len(work)):
            x = U(vertices[item])
            size, end = U(L(lists[x]) >> L(PLACE_BITS)), L(offsets[U(x + U(1))])
            place = L(L(offsets[x]) + L(L(numbers[item]) * L(PART)))
            stop = min(L(place + L(PART)), end)
            place, found = L(place + L(lane)), L(0)
            while place < stop:
                y = U(targets[place])
                other = U(L(lists[y]) >> L(PLACE_BITS))
                if y > x:
                    if other <= U(LONG) or L(other) <= L(L(end - place) - L(1)):
                        found = L(found + L(other))
                elif other <= U(LONG):
                    found = L(found + L(other))
                else:
                    found = L(found + L(U(min(other, size) >> U(1))))
                place = L(place + L(WARP))
            cuda.syncwarp()
            found = warp_sum(found)
            if lane == U(0):
                work[item] = found
            item = U(item + U(U(cuda.gridDim.x) * warps))

    return weigh


@kernel_factory
def make_count_by_holders(target: Target, ticket: int, threads: int, window: int, long: int, part: int) -> Any:
    """The kernel that counts the triangles of edges that have a holder; a block an item, which is a part of a row.

    A bit stands for a rank modulo the window: a hit is sure where the holder's list spans fewer ranks, and is looked up
    elsewhere. Each lane finds the list of one neighbour, and scans it if it is tiny; the warp scans the others.
    """
    cuda, WARP, FULL = target.cuda, target.WARP, target.FULL
    kernel, lane_of, warp_of = target.kernel, target.lane, target.warp
    find, contains, _, add_to = warp_functions(target)
    TICKET, THREADS, WINDOW, WORDS, LONG, PART = ticket, threads, window, window // 32, long, part

    @kernel
    def count_by_holders(offsets, targets, lists, vertices, numbers, start, stop, state):
        bitmap = cuda.shared.array(WORDS, uint32)
        drawn = cuda.shared.array(2, uint32)
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        i = thread
        while i < U(WORDS):
            bitmap[i] = U(0)
            i = U(i + U(THREADS))
        total = L(0)
        while True:
            cuda.syncthreads()
            if thread == U(0):
                drawn[0] = U(U(cuda.atomic.add(state, TICKET, L(1))) + start)
                drawn[1] = U(0)
            cuda.syncthreads()
            item = U(drawn[0])
            if item >= stop:
                break
            x = U(vertices[item])
            row, degree = L(L(lists[x]) & L(PLACE)), U(L(lists[x]) >> L(PLACE_BITS))
            end, first = L(row + L(degree)), U(targets[row])
            in_window = U(U(targets[L(end - L(1))]) - first) < U(WINDOW)
            i = thread
            while i < degree:
                z = U(targets[L(row + L(i))])
                cuda.atomic.or_(bitmap, U(U(z & U(WINDOW - 1)) >> U(5)), U(U(1) << U(z & U(31))))
                i = U(i + U(THREADS))
            base = L(L(offsets[x]) + L(L(numbers[item]) * L(PART)))
            neighbours, found = U(min(L(end - base), L(PART))), U(0)
            cuda.syncthreads()
            while True:
                p = U(0)
                if lane == U(0):
                    p = U(cuda.atomic.add(drawn, 1, U(WARP)))
                p = U(cuda.shfl_sync(FULL, np.int32(p), 0))
                if p >= neighbours:
                    break
                p = U(p + lane)
                place, size = L(0), U(0)
                if p < neighbours:
                    y = U(targets[L(base + L(p))])
                    place = L(lists[y])
                    size = U(place >> L(PLACE_BITS))
                    place = L(place & L(PLACE))
                    if size > U(LONG):
                        if y > x:
                            if L(size) > L(L(L(end - base) - L(p)) - L(1)):
                                size = U(0)
                        elif size > degree and U(targets[L(L(place + L(size)) - L(degree))]) > x:
                            size = U(0)
                        else:
                            lower = find(targets, place, size, U(x + U(1)))
                            place, size = L(place + L(lower)), U(size - lower)
                if size <= U(OWN):
                    i = U(0)
                    while i < size:
                        z = U(targets[L(place + L(i))])
                        if U(bitmap[U(U(z & U(WINDOW - 1)) >> U(5))] >> U(z & U(31))) & U(1):
                            if in_window:
                                if U(z - first) < U(WINDOW):
                                    found = U(found + U(1))
                            elif contains(targets, row, degree, z):
                                found = U(found + U(1))
                        i = U(i + U(1))
                    size = U(0)
                listed = U(cuda.ballot_sync(FULL, size > U(0)))
                while listed != U(0):
                    owner = U(U(cuda.ffs(listed)) - U(1))
                    listed = U(listed & U(listed - U(1)))
                    begin = L(cuda.shfl_sync(FULL, np.int64(place), owner))
                    length = U(cuda.shfl_sync(FULL, np.int32(size), owner))
                    i = lane
                    if in_window:
                        last = U(length - U(1))
                        while i < length:  # four loads at a time, for the latency of memory
                            j, k, m = U(i + U(WARP)), U(i + U(2 * WARP)), U(i + U(3 * WARP))
                            z = U(targets[L(begin + L(i))])
                            z1 = U(targets[L(begin + L(min(j, last)))])
                            z2 = U(targets[L(begin + L(min(k, last)))])
                            z3 = U(targets[L(begin + L(min(m, last)))])
                            if U(z - first) < U(WINDOW):
                                word = U(bitmap[U(U(z & U(WINDOW - 1)) >> U(5))])
                                found = U(found + U(U(word >> U(z & U(31))) & U(1)))
                            if j < length and U(z1 - first) < U(WINDOW):
                                word = U(bitmap[U(U(z1 & U(WINDOW - 1)) >> U(5))])
                                found = U(found + U(U(word >> U(z1 & U(31))) & U(1)))
                            if k < length and U(z2 - first) < U(WINDOW):
                                word = U(bitmap[U(U(z2 & U(WINDOW - 1)) >> U(5))])
                                found = U(found + U(U(word >> U(z2 & U(31))) & U(1)))
                            if m < length and U(z3 - first) < U(WINDOW):
                                word = U(bitmap[U(U(z3 & U(WINDOW - 1)) >> U(5))])
                                found = U(found + U(U(word >> U(z3 & U(31))) & U(1)))
                            i = U(i + U(4 * WARP))
                    else:
                        while i < length:
                            z = U(targets[L(begin + L(i))])
                            if U(bitmap[U(U(z & U(WINDOW - 1)) >> U(5))] >> U(z & U(31))) & U(1):
                                if contains(targets, row, degree, z):
                                    found = U(found + U(1))
                            i = U(i + U(WARP))
            total = L(total + L(found))
            cuda.syncthreads()
            i = thread
            while i < degree:
                z = U(targets[L(row + L(i))])
                bitmap[U(U(z & U(WINDOW - 1)) >> U(5))] = U(0)
                i = U(i + U(THREADS))
        add_to(state, lane, total)

    return count_by_holders


@kernel_factory
def make_count_by_merging(target: Target, threads: int, lanes: int, long: int) -> Any:
    """The kernel that counts the triangles of edges without a holder, for a range of lower ends; a lane an edge."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    add_to, LONG = warp_functions(target).add_to, long
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @kernel
    def count_by_merging(targets, lists, start, stop, state):
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        u = U(start + U(U(U(cuda.blockIdx.x) * U(GROUPS)) + U(thread >> U(SHIFT))))
        found = L(0)
        while u < stop:
            begin = L(L(lists[u]) & L(PLACE))
            size, p = U(L(lists[u]) >> L(PLACE_BITS)), U(thread & U(LANES - 1))
            while size <= U(LONG) and U(p + U(1)) < size:
                other = L(lists[targets[L(begin + L(p))]])
                length, i, j = U(other >> L(PLACE_BITS)), U(p + U(1)), U(0)
                other = L(other & L(PLACE))
                while length <= U(LONG) and i < size and j < length:
                    a, b = U(targets[L(begin + L(i))]), U(targets[L(other + L(j))])
                    if a == b:
                        found = L(found + L(1))
                    if a <= b:
                        i = U(i + U(1))
                    if b <= a:
                        j = U(j + U(1))
                p = U(p + U(LANES))
            u = U(u + U(U(cuda.gridDim.x) * U(GROUPS)))
        cuda.syncwarp()
        add_to(state, lane, found)

    return count_by_merging


def signatures(ticket: int) -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    ids, words, number, offsets = uint32[::1], uint64[::1], uint32, int64[::1]
    made = make_higher_lists.recipe(), make_weigh.recipe(LONG, PART)
    holders = make_count_by_holders.recipe(ticket, THREADS, WINDOW, LONG, PART)
    merging = make_count_by_merging.recipe(THREADS, MERGING_LANES, LONG)
    return [
        DeclaredKernel("higher_lists", made[0], void(offsets, ids, words)),
        DeclaredKernel("weigh", made[1], void(offsets, ids, words, ids, ids, words)),
        DeclaredKernel("count_by_holders", holders, void(offsets, ids, words, ids, ids, number, number, words)),
        DeclaredKernel("count_by_merging", merging, void(ids, words, number, number, words)),
    ]
