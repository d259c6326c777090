"""Rows of targets out of coded edges, in little more memory than the edges and the rows themselves take.

An arc is one int64 key, the rank of its source in the high word and that of its target in the low one, so that a sort
orders rows and, within them, neighbours. In host memory the codes shrink as the keys grow, the reverse of each edge is
put behind, and sorting, the removal of repeats and taking the low words all work in place: 8 bytes a directed edge,
where the targets take 4, and 16 an undirected one, where they take 8. A GPU sorts into a second array and gives nothing
back of one, so there a large graph is sorted piece by piece, each the arcs of a range of sources: codes and targets, 16
bytes an undirected edge, and a piece with what it is sorted into. The targets of a directed one take the place of its
codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from cusubmatch.graph.csr import distinct, edge_keys, low_words, number_of

__all__ = ["building_bytes", "degrees_of", "replace_by_ranks", "sorted_rows", "without_loops"]

STEP = 1 << 16  # elements that are worked on at a time, at least,
STEPS, FEW_STEPS = 64, 8  # and more where so many steps would not do
PIECES, DIRECTED_PIECES = 24, 48
PIECE_STEPS, DISTINCT_STEPS = 32, 4  # in which the arcs of a piece are looked for, and repeats taken out
HELD_PIECES = 4  # whose targets wait for room
MOST_COPIED = 1 << 20  # arcs that are sorted in a copy, in host memory: more are sorted in place, in less memory
SORTED_AT_ONCE = 1 << 25  # arcs that a GPU sorts together whatever memory that takes
LEAST_PIECE = 1 << 21  # arcs of a piece where there are more
ROW_BYTES, DIRECTED_ROW_BYTES = 16, 9  # of an edge while keys are made or sorted
LABELLED_ARC_BYTES = 48  # of an arc whose label is sorted too


def building_bytes(rows: int, *, directed: bool, labelled: bool) -> int:
    """About what building a graph of many rows and few vertices takes beyond the input, where it takes most."""
    if labelled:
        return rows * LABELLED_ARC_BYTES * (1 if directed else 2)
    return rows * (DIRECTED_ROW_BYTES if directed else ROW_BYTES)


def steps(length: int, most: int = STEPS) -> Iterator[slice]:
    """Consecutive ranges of an array, so many at most."""
    step = max(STEP, -(-length // most))
    return (slice(begin, min(begin + step, length)) for begin in range(0, length, step))


def without_loops(xp: Any, arrays: list[Any]) -> list[Any]:
    """The arrays without the places where the first two are equal, in place: shorter views."""
    first, second = arrays[:2]
    filled = 0
    for part in steps(len(first)):
        proper = first[part] != second[part]
        kept = int(number_of(xp, proper))
        if filled < part.start or kept < len(proper):
            for array in arrays:
                array[filled : filled + kept] = array[part][proper]
        filled += kept
    return [array[:filled] for array in arrays]


def degrees_of(xp: Any, codes: list[Any], vertices: int) -> Any:
    """How often each vertex is an end of an edge, int64."""
    degrees = xp.zeros(vertices, np.int64)
    for ends in codes:
        most = max(FEW_STEPS, min(STEPS, 2 * len(ends) // max(vertices, 1)))  # a step takes time for each vertex
        for part in steps(len(ends), most):
            degrees += xp.bincount(ends[part], minlength=vertices)
    return degrees


def replace_by_ranks(codes: list[Any], rank: Any) -> None:
    """Write the rank of each code over it; the ranks are not needed then."""
    for ends in codes:
        for part in steps(len(ends)):
            ends[part] = rank[ends[part]]


def sorted_rows(
    xp: Any, codes: list[Any], vertices: int, *, symmetric: bool, piece: int | None = None
) -> tuple[Any, Any]:
    """The offsets (int64) and the targets (int32) of the distinct arcs.

    Parameters
    ----------
    codes : list of two int32 arrays
        Ranks of sources and destinations; the list is emptied, and arrays of their own are written over and shrunk.
    vertices : int
    symmetric : bool
        Whether the reverse of each edge is an arc too.
    piece : int, optional
        Keys to be sorted at a time; by default all, in place, in host memory.
    """
    arcs = (2 if symmetric else 1) * len(codes[0])
    if piece is None and xp is not np:
        pieces = PIECES if symmetric else DIRECTED_PIECES
        piece = SORTED_AT_ONCE if arcs <= SORTED_AT_ONCE else max(LEAST_PIECE, arcs // pieces)
    if piece is not None and arcs > piece:
        return (_symmetric_pieces if symmetric else _directed_pieces)(xp, codes, vertices, piece)
    if xp is np and arcs > MOST_COPIED:
        return _in_place(codes, vertices, symmetric)
    source, destination = codes
    codes.clear()
    ends = [(source, destination), (destination, source)] if symmetric else [(source, destination)]
    edges = len(source)
    keys = xp.empty(arcs, np.int64)
    for number, (high, low) in enumerate(ends):
        half = keys[number * edges : (number + 1) * edges]
        half[:] = high
        half[:] <<= 32
        half[:] |= low
    del source, destination, ends, high, low, half
    keys.sort()
    keys = distinct(xp, keys)
    return _offsets(xp, keys, 0, vertices), low_words(xp, keys)


def _in_place(codes, vertices, symmetric):
    edges = len(codes[0])
    keys = _keys_of(codes)
    if symmetric:
        keys.resize(2 * edges, refcheck=False)
        for part in steps(edges):
            keys[edges + part.start : edges + part.stop] = (keys[part] << 32) | (keys[part] >> 32)
    keys.sort()
    filled = _move_distinct(np, keys, STEPS)
    offsets = _offsets(np, keys[:filled], 0, vertices)
    words = keys.view(np.int32)
    for part in steps(filled):
        words[part] = words[2 * part.start : 2 * part.stop : 2]  # little endian: the low word comes first
    del words
    keys.resize(-(-filled // 2), refcheck=False)
    return offsets, keys.view(np.int32)[:filled]


def _keys_of(codes):
    """A key for each edge, in any order: the codes shrink as the keys grow, if these are arrays of their own."""
    edges = len(codes[0])
    source, destination = (ends if ends.base is None else ends.base for ends in codes)
    owned = all(
        owner.ndim == 1 and owner.flags.owndata and owner.ctypes.data == ends.ctypes.data
        for owner, ends in zip((source, destination), codes, strict=True)
    )
    if source is destination or not owned:
        keys, filled = np.empty(edges, np.int64), 0
        source, destination = codes
    else:
        keys, filled = np.empty(0, np.int64), 0
    codes.clear()
    for part in reversed(list(steps(edges))):
        some = edge_keys(np, source[part], destination[part])
        if len(keys) < edges:  # a large array is not copied where the system can move its pages
            source.resize(part.start, refcheck=False)
            destination.resize(part.start, refcheck=False)
            keys.resize(filled + len(some), refcheck=False)
        keys[filled : filled + len(some)] = some
        filled += len(some)
    return keys


def _move_distinct(xp, keys, most_steps):
    """Move the distinct ones of sorted keys to the front; how many there are."""
    filled, last = 0, -1
    for part in steps(len(keys), most_steps):
        some = keys[part]
        new = xp.empty(len(some), bool)
        new[0] = some[0] != last
        xp.not_equal(some[1:], some[:-1], out=new[1:])
        last, kept = int(some[-1]), int(number_of(xp, new))
        if filled < part.start or kept < len(some):
            keys[filled : filled + kept] = some[new]
        filled += kept
    return filled


def _offsets(xp, keys, begin, end):
    """Where the rows of the sources from `begin` on begin, and where the last one, before `end`, ends."""
    offsets = xp.empty(end - begin + 1, np.int64)
    for part in steps(len(offsets)):
        firsts = xp.arange(begin + part.start, begin + part.stop, dtype=np.int64) << 32
        offsets[part] = xp.searchsorted(keys, firsts)
    return offsets


def _source_ranges(xp, highs, vertices, piece):
    """Ranges of sources, ascending, with about so many arcs each: first source, end, arcs; and all arcs."""
    lengths = degrees_of(xp, highs, vertices)
    ends = xp.cumsum(lengths, out=lengths)
    arcs = int(ends[-1])
    inner = xp.searchsorted(ends, xp.asarray(np.arange(piece, arcs, piece)), side="right").tolist()
    bounds = sorted({0, *inner, vertices})
    before = [0, *ends[xp.asarray(bounds[1:]) - 1].tolist()]
    pairs = zip(pairwise(bounds), pairwise(before), strict=True)
    return [(begin, end, last - first) for (begin, end), (first, last) in pairs], arcs


def _sorted_piece(xp, high_low, edges, begin, end, arcs):
    """The distinct keys of the arcs from sources in a range; of so many arcs, among the first edges."""
    keys, filled = xp.empty(arcs, np.int64), 0
    for high, low in high_low:
        for part in steps(edges, PIECE_STEPS):
            inside = xp.flatnonzero((high[part] >= begin) & (high[part] < end))
            keys[filled : filled + len(inside)] = edge_keys(xp, high[part][inside], low[part][inside])
            filled += len(inside)
    keys.sort()
    return keys[: _move_distinct(xp, keys, DISTINCT_STEPS)]


def _symmetric_pieces(xp, codes, vertices, piece):
    source, destination = codes
    high_low = [(source, destination), (destination, source)]
    ranges, arcs = _source_ranges(xp, codes, vertices, piece)
    offsets, targets, filled = xp.zeros(vertices + 1, np.int64), xp.empty(arcs, np.int32), 0
    for begin, end, inside in ranges:
        keys = _sorted_piece(xp, high_low, len(source), begin, end, inside)
        targets[filled : filled + len(keys)] = keys.view(np.int32)[0::2]  # little endian: the low word comes first
        offsets[begin : end + 1] = _offsets(xp, keys, begin, end) + filled
        filled += len(keys)
        del keys
    codes.clear()
    del source, destination, high_low
    return offsets, targets if filled == arcs else targets[:filled].copy()


def _directed_pieces(xp, codes, vertices, piece):
    """The highest sources first: once the arcs of a few pieces are taken out, their targets take the free room."""
    source, destination = codes
    codes.clear()
    ranges, left = _source_ranges(xp, [source], vertices, piece)
    offsets, first, held = xp.zeros(vertices + 1, np.int64), left, []
    for begin, end, inside in reversed(ranges):
        keys = _sorted_piece(xp, [(source, destination)], left, begin, end, inside)
        first -= len(keys)
        offsets[begin : end + 1] = _offsets(xp, keys, begin, end) + first
        held.append(low_words(xp, keys))
        del keys
        if begin == 0 or len(held) == HELD_PIECES:
            left = _move_lower(xp, source, destination, left, begin)
            at = first
            while held:
                targets = held.pop()
                source[at : at + len(targets)] = targets
                at += len(targets)
    offsets -= first
    del destination
    return offsets, source if first == 0 and source.base is None else source[first:].copy()


def _move_lower(xp, source, destination, arcs, bound):
    """Of the first arcs move those of sources below a bound to the front; how many there are."""
    filled = 0
    for part in steps(arcs if bound else 0):
        lower = xp.flatnonzero(source[part] < bound)
        for ends in (source, destination):
            ends[filled : filled + len(lower)] = ends[part][lower]
        filled += len(lower)
    return filled
