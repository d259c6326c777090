"""Bitmap rows of a neighbourhood in shared memory, made by a team of warps.

The graph that a vertex induces on its out-neighbours becomes bitmap rows: bit j of row i says that the i-th neighbour
points to the j-th (bitmaps of a neighbourhood: BEEP). Most of the time for 4-cliques goes into filling the rows. Hubs
rank highest, so the out-neighbours of a vertex that has many span few ranks: a bitmap of that window, with the number
of bits before each word, says where in the neighbourhood a vertex stands in two loads instead of a binary search.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions

__all__ = ["WORD", "TeamLayout", "TeamRows", "fill_row", "team_rows"]

U, L = np.uint32, np.uint64

WORD = 32  # bits of a word, whatever the width of a warp
LONGER = 8  # a list is scanned, and not searched, up to so many times the length of the rest of the neighbourhood


class TeamLayout(NamedTuple):
    """The shared memory of a block, in words: of each team its rows, its neighbourhood, and a window of ranks.

    Attributes
    ----------
    most : int
        Out-neighbours of a vertex, at most.
    warps : int
        Warps of a team; all of a team's work is for one vertex.
    threads : int
        Threads of a block.
    lanes : int
        Threads of a warp.
    window : int
        Ranks of the team's bitmap; 0 for none. Behind it stand the sums of the bits before each word.
    """

    most: int
    warps: int
    threads: int
    lanes: int
    window: int

    @property
    def teams(self) -> int:
        return self.threads // (self.warps * self.lanes)

    @property
    def listing(self) -> int:
        """Where the neighbourhood begins, behind the rows."""
        return self.most * math.ceil(self.most / WORD)

    @property
    def places(self) -> int:
        """Where the window begins."""
        return self.listing + self.most

    @property
    def words(self) -> int:
        """All words of a team."""
        return self.places + 2 * (self.window // WORD)


class TeamRows(NamedTuple):
    """Device functions that a whole team calls together; `memory` is shared, the team's words begin at `rows`.

    Attributes
    ----------
    barrier : ()
        Wait for all threads of the team.
    load : (targets, base, size, width, memory, rows, thread)
        Copy a neighbourhood, and clear `size` rows of `width` words and the window.
    mark : (memory, rows, size, thread) -> bool
        Fill the window; whether the whole neighbourhood lies in it.
    fill : (offsets, targets, size, width, memory, rows, in_window, warp_in_team, lane)
        Set the bits of all rows, a warp a row.
    """

    barrier: Callable
    load: Callable
    mark: Callable
    fill: Callable


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
def team_rows(target: Target, layout: TeamLayout, wide: bool) -> TeamRows:
    """The device functions for one layout; `wide`: places in targets take 64 bits."""
    barrier = _barrier_function(target, layout)
    return TeamRows(
        barrier,
        _load_function(target, layout, wide),
        _mark_function(target, layout),
        _fill_function(target, layout, wide),
    )


@functools.cache
def _barrier_function(target, layout):
    cuda, device, WARPS = target.cuda, target.device, layout.warps

    @device
    def barrier():
        if WARPS == 1:
            cuda.syncwarp()
        else:
            cuda.syncthreads()

    return barrier


def _load_function(target, layout, wide):
    device, P = target.device, L if wide else U
    TEAM, LISTING, PLACES, WINDOW_WORDS = (
        layout.warps * target.WARP,
        layout.listing,
        layout.places,
        layout.window // WORD,
    )

    @device
    def load(targets, base, size, width, memory, rows, thread):
        i = thread
        while i < size:
            memory[U(U(rows + U(LISTING)) + i)] = U(targets[P(base + P(i))])
            i = U(i + U(TEAM))
        i = thread
        while i < U(size * width):
            memory[U(rows + i)] = U(0)
            i = U(i + U(TEAM))
        i = thread
        while i < U(WINDOW_WORDS):
            memory[U(U(rows + U(PLACES)) + i)] = U(0)
            i = U(i + U(TEAM))

    return load


def _mark_function(target, layout):
    cuda, device = target.cuda, target.device
    find, barrier = warp_functions(target, wide=False).find, _barrier_function(target, layout)
    TEAM, LISTING, PLACES = layout.warps * target.WARP, layout.listing, layout.places
    WINDOW_BITS, WINDOW_WORDS = layout.window, layout.window // WORD

    @device
    def mark(memory, rows, size, thread):
        listing, places = U(rows + U(LISTING)), U(rows + U(PLACES))
        first = U(memory[listing])
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
        barrier()
        return in_window

    return mark


def _fill_function(target, layout, wide):
    device, P = target.device, L if wide else U
    search, by_place = fill_row(target, wide, listing_wide=False), fill_row_by_place(target, wide, layout.window)
    LISTING, PLACES, WARPS, SCANNED = layout.listing, layout.places, layout.warps, LONGER

    @device
    def fill(offsets, targets, size, width, memory, rows, in_window, warp_in_team, lane):
        listing, places = U(rows + U(LISTING)), U(rows + U(PLACES))
        first, i = U(memory[listing]), warp_in_team
        while U(i + U(1)) < size:
            v = U(memory[U(listing + i)])
            base = P(offsets[v])
            length = U(P(offsets[U(v + U(1))]) - base)
            row = U(rows + U(i * width))
            if in_window and length <= U(U(SCANNED) * U(size - i)):
                by_place(targets, base, length, memory, places, first, row, lane)
            else:
                search(targets, base, length, memory, listing, size, i, memory, row, lane)
            i = U(i + U(WARPS))

    return fill
