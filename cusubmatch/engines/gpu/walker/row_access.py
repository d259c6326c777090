"""Rows of the graph and bitmaps of hubs, as a walker's device functions read them, and lists in shared memory.

A list is where a row begins and how long it is, or the number of a hub's bitmap. The lists of the slots of a level lie
beside each other, so that lane i reads slot i without bank conflicts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.walker import program_format as p

__all__ = ["HUB_FLAG", "WORD_FLAG", "RowAccess", "row_access"]

U = np.uint32
HUB_FLAG = 0x80000000  # instead of a length: the list is a bitmap, and its base the number of the hub
WORD_FLAG = 0xC0000000  # instead of the second list's length, with the first one's hub: the first list is words


class RowAccess(NamedTuple):
    """Device functions; `sh` is a block's shared memory, which begins with the program.

    Attributes
    ----------
    field : (sh, t, which) -> uint32
        A field of record t.
    store : (sh, place, base, length)
        Write a list.
    base_of, length_of : (sh, place)
        Read a list.
    ahead : (base, distance)
        A base moved on.
    row : (sh, offsets, reference, vertex) -> base, length
    hub_of : (sh, reference, vertex) -> uint32
        The number of a hub's bitmap.
    member : (sh, place, graph, x) -> bool
        Whether x is in the list at `place`.
    adjacent : (sh, graph, reference, vertex, x) -> bool
        Whether x is in the row of a vertex.
    word_hub : (sh, place) -> uint32
        The hub of the first list, at `place`, if that is a range of words, else NOWHERE; there is a second list.
    find : see `warp_functions`
    """

    field: Any
    store: Any
    base_of: Any
    length_of: Any
    ahead: Any
    row: Any
    hub_of: Any
    member: Any
    adjacent: Any
    word_hub: Any
    find: Any


def row_access(target: Target, slots: int, offsets64: bool) -> RowAccess:
    """The functions for `slots` partial matches a level and rows that may begin at 2**32 or later."""
    device = target.device
    store, base_of, length_of, ahead = _list_words(device, slots, offsets64)
    row = _row_reader(device, offsets64)
    marked, hub_of = _bitmap_readers(device)
    find, contains = warp_functions(target, offsets64)[:2]
    FLAG, BY_WORDS, LIST = HUB_FLAG, WORD_FLAG, (3 if offsets64 else 2) * slots

    @device
    def field(sh, t, which):
        return U(sh[U(U(p.HEADER + p.RECORD * t) + which)])

    @device
    def member(sh, address, graph, x):
        length = length_of(sh, address)
        if length == U(FLAG):
            return marked(sh, graph.bitmaps, U(base_of(sh, address)), x)
        return contains(graph.targets, base_of(sh, address), length, x)

    @device
    def adjacent(sh, graph, reference, vertex, x):
        if vertex >= U(sh[p.HUB]):
            return marked(sh, graph.bitmaps, hub_of(sh, reference, vertex), x)
        base, length = row(sh, graph.offsets, reference, vertex)
        return contains(graph.targets, base, length, x)

    @device
    def word_hub(sh, address):
        length = length_of(sh, U(address + LIST))
        if length >= U(BY_WORDS):
            return U(length - U(BY_WORDS))
        return U(p.NOWHERE)

    return RowAccess(field, store, base_of, length_of, ahead, row, hub_of, member, adjacent, word_hub, find)


def _list_words(device, slots, offsets64):
    """Writing and reading the words of a list, and moving its base on."""
    SLOTS, OFFSETS64 = slots, offsets64

    @device
    def store(sh, address, base, length):
        if OFFSETS64:
            sh[address] = U(np.int64(base) & 0xFFFFFFFF)
            sh[U(address + SLOTS)] = U(np.int64(base) >> 32)
            sh[U(address + 2 * SLOTS)] = length
        else:
            sh[address] = base
            sh[U(address + SLOTS)] = length

    @device
    def base_of(sh, address):
        if OFFSETS64:
            return np.int64(sh[address]) | (np.int64(sh[U(address + SLOTS)]) << 32)
        return U(sh[address])

    @device
    def length_of(sh, address):
        if OFFSETS64:
            return U(sh[U(address + 2 * SLOTS)])
        return U(sh[U(address + SLOTS)])

    @device
    def ahead(base, distance):
        if OFFSETS64:
            return np.int64(base) + np.int64(distance)
        return U(base + distance)

    return store, base_of, length_of, ahead


def _row_reader(device, offsets64):
    """A device function that finds the row of a vertex."""
    OFFSETS64 = offsets64

    @device
    def row(sh, offsets, reference, vertex):
        if OFFSETS64:
            place = np.int64(U(reference >> p.LEVEL_BITS)) * np.int64(sh[p.STRIDE]) + np.int64(vertex)
            begin = np.int64(offsets[place])
            return begin, U(np.int64(offsets[place + 1]) - begin)
        first = U(U(U(reference) >> U(p.LEVEL_BITS)) * U(sh[p.STRIDE]) + vertex)
        start = U(offsets[first])
        return start, U(U(offsets[U(first + 1)]) - start)

    return row


def _bitmap_readers(device):
    """Whether a vertex is in a hub's bitmap, and the number of that."""

    @device
    def marked(sh, bitmaps, hub, x):
        word = U(bitmaps[U(hub * U(sh[p.HUB_WORDS]) + U(x >> U(5)))])
        return U(word >> U(x & U(31))) & U(1) != U(0)

    @device
    def hub_of(sh, reference, vertex):
        return U(U(U(reference >> p.LEVEL_BITS) * U(sh[p.HUBS])) + U(vertex - U(sh[p.HUB])))

    return marked, hub_of
