"""k-cliques of vertices whose neighbourhood fits in shared memory: bitmap rows and a queue of pairs.

The graph that a vertex induces on its out-neighbours becomes bitmap rows: bit j of row i says that the i-th neighbour
points to the j-th (bitmaps of a neighbourhood: BEEP). Its pairs (i, j) go through a queue of the warp so that every
lane has one; what they have in common is an AND of two rows, and its size a population count. With up to 32
out-neighbours a row is one word and a lane takes a row.

Most of the time for 4-cliques goes into filling the rows. Hubs rank highest, so the out-neighbours of a vertex that has
many span few ranks: a bitmap of that window, with the number of bits before each word, says where in the neighbourhood
a vertex stands in two loads instead of a binary search.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import uint32

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions

__all__ = ["WINDOW", "WORD", "fill_row", "make_count_in_rows", "make_count_in_words", "make_reach", "seconds_of"]

U, L, F = np.uint32, np.uint64, np.float32

WORD = 32  # bits of a word, whatever the width of a warp
WINDOW = 1 << 14  # ranks of a block's bitmap
LONGER = 8  # a list is scanned, and not searched, up to so many times the length of the rest of the neighbourhood
SECONDS_A_PAIR, SECONDS_A_WORD = 1e-11, 1e-12  # to look for an edge in a list, and to AND a word of two rows


def seconds_of(degrees: Any, k: int, density: Any = 1.0) -> tuple[Any, Any]:
    """Estimates for each vertex: to fill its rows, and to count in them.

    `density` is the share of the pairs of its out-neighbours that have an edge; 1 is the most that it can be.
    """
    size = degrees.astype(np.float64)
    pairs = size * size / 2
    words = pairs * density * size / 96 if k == 4 else pairs * density**3 * size * size / 384
    return pairs * SECONDS_A_PAIR, words * SECONDS_A_WORD


@functools.cache
def make_reach(target: Target, wide: bool) -> Any:
    """How many edges the out-neighbours of each vertex can have among themselves at most, by their out-degrees."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    P = L if wide else U

    @kernel
    def reach(offsets, targets, vertices, edges):
        i = U(U(U(cuda.blockIdx.x) * U(cuda.blockDim.x)) + U(U(warp_of() * U(WARP)) + lane_of()))
        while i < U(len(vertices)):
            base, end = P(offsets[vertices[i]]), P(offsets[U(vertices[i] + U(1))])
            size, found = U(end - base), U(0)
            while base < end:
                v = U(targets[base])
                rest = U(U(end - base) - U(1))
                found = U(found + min(rest, U(P(offsets[U(v + U(1))]) - P(offsets[v]))))
                base = P(base + P(1))
            edges[i] = min(found, U(U(size * U(size - U(1))) >> U(1)))
            i = U(i + U(U(cuda.gridDim.x) * U(cuda.blockDim.x)))

    return reach


@functools.cache
def fill_row(target: Target, wide: bool, listing_wide: bool) -> Any:
    """The device function that sets the bits of one row, which must be zero; a warp calls it.

    Row i of the `size` neighbours `listing[begin:]` lies at `rows[row:]`; `targets[base : base + length]` are the
    out-neighbours of the i-th. The shorter of that list and the rest of the neighbourhood is searched for in the other.
    `wide`, `listing_wide`: whether places in targets and listing take 64 bits.
    """
    cuda, WARP, FULL, device = target.cuda, target.WARP, target.FULL, target.device
    find, contains = warp_functions(target, listing_wide).find, warp_functions(target, wide).contains
    P, Q = L if wide else U, L if listing_wide else U

    @device
    def fill(targets, base, length, listing, begin, size, i, rows, row, lane):
        rest_begin, rest = Q(Q(begin) + Q(U(i + U(1)))), U(size - U(i + U(1)))
        if length < rest:
            p = lane
            while p < length:
                x = U(targets[P(base + P(p))])
                place = find(listing, rest_begin, rest, x)
                if place < rest and U(listing[Q(rest_begin + Q(place))]) == x:
                    j = U(U(place + i) + U(1))
                    cuda.atomic.or_(rows, U(row + U(j >> U(5))), U(U(1) << U(j & U(31))))
                p = U(p + U(WARP))
        else:
            first = U(U(U(i + U(1)) >> U(5)) << U(5))
            while first < size:
                j, found = U(first + lane), False
                if j > i and j < size:
                    found = contains(targets, base, length, U(listing[Q(Q(begin) + Q(j))]))
                bits = U(cuda.ballot_sync(FULL, found))
                if lane == U(0):
                    word = U(row + U(first >> U(5)))
                    rows[word] = U(U(rows[word]) | U(bits << U(first & U(31))))
                first = U(first + U(WARP))

    return fill


@functools.cache
def fill_row_by_place(target: Target, wide: bool, window: int) -> Any:
    """As `fill_row`, for a team with a bitmap of its ranks from `first` on at `memory[places:]`, and then its sums."""
    cuda, WARP, device = target.cuda, target.WARP, target.device
    P, WORDS, BITS = L if wide else U, window // WORD, window

    @device
    def fill(targets, base, length, memory, places, first, row, lane):
        p = lane
        while p < length:
            place = U(U(targets[P(base + P(p))]) - first)
            if place < U(BITS):
                at, bit = U(places + U(place >> U(5))), U(place & U(31))
                word = U(memory[at])
                if U(word >> bit) & U(1):
                    j = U(U(memory[U(at + U(WORDS))]) + U(cuda.popc(U(word & U(U(U(1) << bit) - U(1))))))
                    cuda.atomic.or_(memory, U(row + U(j >> U(5))), U(U(1) << U(j & U(31))))
            p = U(p + U(WARP))

    return fill


@functools.cache
def make_count_in_rows(
    target: Target, k: int, most: int, threads: int, warps: int, ticket: int, wide: bool, window: int = 0
) -> Any:
    """Cliques of k = 4 or 5 for vertices with at most `most` out-neighbours; `warps` of a block share a vertex.

    `window`: ranks of the team's bitmap; 0 for none. A vertex may be listed several times: the low half of its word in
    `shares` says which part of its rows is meant, the high half how many parts there are.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    fill, P = fill_row(target, wide, listing_wide=False), L if wide else U
    fill_by_place = fill_row_by_place(target, wide, window)
    find, _, _, add_to = warp_functions(target, wide=False)
    WINDOW_BITS, WINDOW_WORDS, SCANNED = window, window // WORD, LONGER
    K, TICKET, WARPS, TEAM, TEAMS = k, ticket, warps, warps * WARP, threads // (warps * WARP)
    ROWS = most * math.ceil(most / WORD)
    LISTED, TEAM_WORDS = ROWS + most, ROWS + most + 2 * (window // WORD)
    MEMORY_WORDS = TEAMS * TEAM_WORDS
    PARTS, QUEUE = WORD // WARP, WARP + WORD
    QUEUES = threads // WARP * QUEUE

    @kernel
    def count_in_rows(offsets, targets, vertices, shares, start, stop, state):
        memory = cuda.shared.array(MEMORY_WORDS, uint32)
        queues = cuda.shared.array(QUEUES, uint32)
        drawn = cuda.shared.array(TEAMS, uint32)
        lane, warp = lane_of(), warp_of()
        team, warp_in_team = U(warp // U(WARPS)), U(warp % U(WARPS))
        thread = U(U(warp_in_team * U(WARP)) + lane)
        rows = U(team * U(TEAM_WORDS))
        listing, places, queue = U(rows + U(ROWS)), U(rows + U(LISTED)), U(warp * U(QUEUE))
        total = L(0)
        while True:
            if WARPS == 1:
                cuda.syncwarp()
            else:
                cuda.syncthreads()
            if thread == U(0):
                drawn[team] = U(U(cuda.atomic.add(state, TICKET, L(1))) + start)
            if WARPS == 1:
                cuda.syncwarp()
            else:
                cuda.syncthreads()
            item = U(drawn[team])
            if item >= stop:
                break
            u = U(vertices[item])
            base = P(offsets[u])
            size = U(P(offsets[U(u + U(1))]) - base)
            width = U(U(size + U(31)) >> U(5))
            i = thread
            while i < size:
                memory[U(listing + i)] = U(targets[P(base + P(i))])
                i = U(i + U(TEAM))
            i = thread
            while i < U(size * width):
                memory[U(rows + i)] = U(0)
                i = U(i + U(TEAM))
            i = thread
            while i < U(WINDOW_WORDS):
                memory[U(places + i)] = U(0)
                i = U(i + U(TEAM))
            if WARPS == 1:
                cuda.syncwarp()
            else:
                cuda.syncthreads()
            first, in_window = U(memory[listing]), False
            if WINDOW_BITS:
                in_window = U(U(memory[U(listing + U(size - U(1)))]) - first) < U(WINDOW_BITS)
                i = thread
                while i < size:
                    place = U(U(memory[U(listing + i)]) - first)
                    if in_window:
                        cuda.atomic.or_(memory, U(places + U(place >> U(5))), U(U(1) << U(place & U(31))))
                    i = U(i + U(TEAM))
                i = thread
                while i < U(WINDOW_WORDS):
                    before = find(memory, listing, size, U(first + U(i << U(5))))
                    memory[U(U(places + U(WINDOW_WORDS)) + i)] = before
                    i = U(i + U(TEAM))
                if WARPS == 1:
                    cuda.syncwarp()
                else:
                    cuda.syncthreads()
            i = warp_in_team
            while U(i + U(1)) < size:
                v = U(memory[U(listing + i)])
                list_base = P(offsets[v])
                length = U(P(offsets[U(v + U(1))]) - list_base)
                row = U(rows + U(i * width))
                if WINDOW_BITS and in_window and length <= U(U(SCANNED) * U(size - i)):
                    fill_by_place(targets, list_base, length, memory, places, first, row, lane)
                else:
                    fill(targets, list_base, length, memory, listing, size, i, memory, row, lane)
                i = U(i + U(WARPS))
            if WARPS == 1:
                cuda.syncwarp()
            else:
                cuda.syncthreads()
            # The warp's rows, word by word: pairs (i, j) enter its queue until every lane can have one.
            share = U(shares[item])
            step = U(U(share >> U(16)) * U(WARPS))
            queued, i, more = U(0), U(warp_in_team + U(U(share & U(0xFFFF)) * U(WARPS))), True
            w = U(U(i + U(1)) >> U(5))
            while more or queued > U(0):
                while more and queued < U(WARP):
                    if U(i + U(1)) >= size:
                        more = False
                    else:
                        word, part = U(memory[U(rows + U(U(i * width) + w))]), 0
                        while part < PARTS:
                            bit = U(lane + U(part * WARP))
                            if U(U(word >> bit) & U(1)):
                                before = U(cuda.popc(U(word & U(U(U(1) << bit) - U(1)))))
                                j = U(U(w << U(5)) + bit)
                                queues[U(queue + U(queued + before))] = U(U(i << U(16)) | j)
                            part += 1
                        queued = U(queued + U(cuda.popc(word)))
                        w = U(w + U(1))
                        if w == width:
                            i = U(i + step)
                            w = U(U(i + U(1)) >> U(5))
                cuda.syncwarp()
                taken = min(queued, U(WARP))
                active, pair = lane < taken, U(0)
                queued = U(queued - taken)
                if active:
                    pair = U(queues[U(queue + U(queued + lane))])
                cuda.syncwarp()
                if active:
                    j, found = U(pair & U(0xFFFF)), U(0)
                    row_i, row_j = U(rows + U(U(pair >> U(16)) * width)), U(rows + U(j * width))
                    x = U(j >> U(5))
                    while x < width:
                        both = U(U(memory[U(row_i + x)]) & U(memory[U(row_j + x)]))
                        if K == 4:
                            found = U(found + U(cuda.popc(both)))
                        else:
                            while both != U(0):
                                bit = U(U(cuda.ffs(both)) - U(1))
                                both = U(both & U(both - U(1)))
                                row_h, y = U(rows + U(U(U(x << U(5)) + bit) * width)), x
                                while y < width:
                                    pair_word = U(U(memory[U(row_i + y)]) & U(memory[U(row_j + y)]))
                                    found = U(found + U(cuda.popc(U(pair_word & U(memory[U(row_h + y)])))))
                                    y = U(y + U(1))
                        x = U(x + U(1))
                    total = L(total + L(found))
        add_to(state, lane, total)

    return count_in_rows


@functools.cache
def make_count_in_words(target: Target, k: int, threads: int, wide: bool) -> Any:
    """Cliques of k = 4 or 5 for vertices with at most 32 out-neighbours: a warp a vertex, one word a row."""
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    _, contains, _, add_to = warp_functions(target, wide)
    K, WARPS, MEMORY_WORDS, ROWS = k, threads // WARP, threads // WARP * 2 * WORD, WORD
    PARTS, P = WORD // WARP, L if wide else U

    @kernel
    def count_in_words(offsets, targets, vertices, start, stop, state):
        memory = cuda.shared.array(MEMORY_WORDS, uint32)
        lane, warp = lane_of(), warp_of()
        rows = U(warp * U(2 * ROWS))
        listing = U(rows + U(ROWS))
        item, step = U(U(start + U(U(cuda.blockIdx.x) * U(WARPS))) + warp), U(U(cuda.gridDim.x) * U(WARPS))
        total = L(0)
        while item < stop:
            u = U(vertices[item])
            base = P(offsets[u])
            size = U(P(offsets[U(u + U(1))]) - base)
            cuda.syncwarp()
            part = 0
            while part < PARTS:
                i = U(lane + U(part * WARP))
                memory[U(rows + i)] = U(0)
                if i < size:
                    memory[U(listing + i)] = U(targets[P(base + P(i))])
                part += 1
            cuda.syncwarp()
            pairs, p = U(U(size * U(size - U(1))) >> U(1)), lane
            while p < pairs:  # the p-th pair i < j, in the order of j
                root = F(math.sqrt(F(F(F(8.0) * F(p)) + F(1.0))))
                j = U(U(F(F(1.0) + root)) >> U(1))
                i = U(p - U(U(j * U(j - U(1))) >> U(1)))
                v = U(memory[U(listing + i)])
                list_base = P(offsets[v])
                length = U(P(offsets[U(v + U(1))]) - list_base)
                if contains(targets, list_base, length, U(memory[U(listing + j)])):
                    cuda.atomic.or_(memory, U(rows + i), U(U(1) << j))
                p = U(p + U(WARP))
            cuda.syncwarp()
            part = 0
            while part < PARTS:
                row = U(memory[U(rows + U(lane + U(part * WARP)))])
                rest, found = row, U(0)
                while rest != U(0):
                    j = U(U(cuda.ffs(rest)) - U(1))
                    rest = U(rest & U(rest - U(1)))
                    both = U(row & U(memory[U(rows + j)]))
                    if K == 4:
                        found = U(found + U(cuda.popc(both)))
                    else:
                        while both != U(0):
                            h = U(U(cuda.ffs(both)) - U(1))
                            both = U(both & U(both - U(1)))
                            found = U(found + U(cuda.popc(U(both & U(memory[U(rows + h)])))))
                total = L(total + L(found))
                part += 1
            item = U(item + step)
        cuda.syncwarp()
        add_to(state, lane, total)

    return count_in_words
