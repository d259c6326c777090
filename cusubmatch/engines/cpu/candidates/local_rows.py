"""The rows of a candidate graph: of each pair of pattern vertices, from local indices to local indices.

Rows are read from the host graph, or they are the transpose of rows that are read. Where several threads write them,
each takes the next pair that is read, and writes its rows, and their transpose, to a place of its own, which has room
for all that is looked at; whoever is done last moves all together.

Arguments of all functions: `offsets`, `targets` and `masks` are the host graph's, by place (`label_order`); `members`,
`begins` and `local` are those of `Numbering`; `kinds` has a row (source, target, begin, end, reverse) for each pair,
`refs[begin:end]` are the relations that have to hold an arc, and `reverse` is the pair that it is the transpose of, -1
for one that is read. `room` has the most arcs that are written for each pair that is read, its transpose included.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, jit
from cusubmatch.engines.cpu.primitives.pointers import advance, fetch_add, pointer
from cusubmatch.engines.cpu.primitives.sorted_sets import has

__all__ = ["ARCS", "TURNS", "count_arcs", "read_elements", "write_rows"]

TAKEN, DONE, ARCS = range(3)  # words that threads share: pairs that are taken, that are written, and arcs in the end
TURNS = 3


@jit
def read_elements(offsets, masks, members, begins, kinds, refs, room):
    """Set the room to what is looked at."""
    times = _times_written(kinds)
    for k in range(len(kinds)):
        u, relation, read = kinds[k, 0], refs[kinds[k, 2]], 0
        if not times[k]:
            continue
        for i in range(begins[0, u], begins[1, u]):
            v = members[i]
            read += ((masks[v] >> u) & 1) * (offsets[relation, v + 1] - offsets[relation, v])
        room[k] = read * times[k]


@jit
def count_arcs(offsets, targets, masks, members, begins, kinds, refs, room):
    """Set the room to what is written."""
    rows, bits, times = pointer(targets), pointer(masks), _times_written(kinds)
    for k in range(len(kinds)):
        u, w, first, last, arcs = kinds[k, 0], kinds[k, 1], kinds[k, 2], kinds[k, 3], 0
        if not times[k]:
            continue
        for i in range(begins[0, u], begins[1, u]):
            v = members[i]
            if (bits[v] >> u) & 1:
                for j in range(offsets[refs[first], v], offsets[refs[first], v + 1]):
                    keep = (bits[rows[j]] >> w) & 1
                    for r in range(first + 1, last):
                        keep = keep and has(rows, offsets[refs[r], v], offsets[refs[r], v + 1], rows[j])
                    arcs += 1 if keep else 0
        room[k] = arcs * times[k]


@inner
def _times_written(kinds):
    """How many pairs have the arcs of each pair that is read: it and its transposes; 0 of these."""
    times = np.zeros(len(kinds), np.int64)
    for k in range(len(kinds)):
        times[k if kinds[k, 4] < 0 else kinds[k, 4]] += 1
    return times


@jit
def write_rows(
    offsets, targets, masks, members, begins, kinds, refs, local, order, room, alone, turns, out, out_offsets, counts
):
    """Write rows until all pairs are taken; threads call it with the same arguments.

    Parameters
    ----------
    order : int64
        The pairs that are read.
    alone : bool
        Whether one thread writes all: one pair after the other then.
    turns : int64 (TURNS,)
        Zeros; in the end it has the number of arcs.
    out : int32
        For the targets: all room, and one place more for each pair.
    out_offsets : int64 (pairs, local indices + 1)
        Where rows begin and end in `out`.
    counts : int64 (pairs, 2)
        Zeros; of each pair its arcs, and the ordered pairs of arcs of one row.
    """
    taken, done, of_rows = pointer(turns), advance(pointer(turns), DONE), (offsets, targets, masks, members, begins)
    number, position = fetch_add(taken, 1), 0
    while number < len(order):
        k = order[number]
        if not alone:
            position = number
            for before in range(number):
                position += room[order[before]]
        position = _read_rows(*of_rows, local, kinds[k], refs, pointer(out), pointer(out_offsets[k]), position)
        sources = begins[1, kinds[k, 0]] - begins[0, kinds[k, 0]]
        for other in range(len(kinds)):
            if kinds[other, 4] == k:
                size = begins[1, kinds[other, 0]] - begins[0, kinds[other, 0]]
                ends = pointer(out_offsets[other])
                position = _transpose(pointer(out_offsets[k]), sources, pointer(out), ends, size, position)
        if fetch_add(done, 1) == len(order) - 1:
            turns[ARCS] = _move_together(begins, kinds, order, pointer(out), out_offsets, counts)
        number = fetch_add(taken, 1)


@inner
def _read_rows(offsets, targets, masks, members, begins, local, kind, refs, out, ends, position):
    """Write the rows of a pair from those of the host graph; where they end.

    An element is written before it is known whether it is kept, so that there is no branch: `out` has one place more.
    """
    u, w, first, last = kind[0], kind[1], kind[2], kind[3]
    rows, bits, numbers = pointer(targets), pointer(masks), pointer(local)
    row_ends, group = pointer(offsets[refs[first]]), advance(pointer(members), begins[0, u])
    ends[0] = position
    for i in range(begins[1, u] - begins[0, u]):
        v = np.int64(group[i])
        if (bits[v] >> u) & 1:
            for j in range(row_ends[v], row_ends[v + 1]):
                x = rows[j]
                keep = (bits[x] >> w) & 1
                for r in range(first + 1, last):
                    keep = keep and has(rows, offsets[refs[r], v], offsets[refs[r], v + 1], x)
                out[position] = numbers[x]
                position += 1 if keep else 0
        ends[i + 1] = position
    return position


@inner
def _transpose(row_ends, sources, out, ends, size, position):
    """Write the transpose of the rows of so many sources, which has `size` rows; where they end."""
    for i in range(size + 1):
        ends[i] = 0
    for j in range(row_ends[0], row_ends[sources]):
        ends[out[j] + 1] += 1
    ends[0] = position
    for i in range(size):
        row = ends[i + 1]
        ends[i + 1] = position  # where the next of its elements is written; in the end, where the row ends
        position += row
    for x in range(sources):
        for j in range(row_ends[x], row_ends[x + 1]):
            row = out[j] + 1
            out[ends[row]] = x
            ends[row] += 1
    return position


@inner
def _move_together(begins, kinds, order, out, out_offsets, counts):
    """Close the gaps between pairs, and count; the number of arcs."""
    position = 0
    for read in order:
        position = _move(begins, kinds[read], out, out_offsets[read], counts[read], position)
        for k in range(len(kinds)):
            if kinds[k, 4] == read:
                position = _move(begins, kinds[k], out, out_offsets[k], counts[k], position)
    return position


@inner
def _move(begins, kind, out, out_offsets, counts, position):
    """Move the rows of a pair to a position before them, and count; where they end."""
    ends, size = pointer(out_offsets), begins[1, kind[0]] - begins[0, kind[0]]
    begin, arcs = ends[0], ends[size] - ends[0]
    for i in range(size):
        row = ends[i + 1] - ends[i]
        counts[1] += row * (row - 1)
    if position < begin:
        for i in range(arcs):
            out[position + i] = out[begin + i]
        for i in range(size):
            ends[i] -= begin - position
    for i in range(size, len(out_offsets)):
        ends[i] = position + arcs
    counts[0] = arcs
    return position + arcs
