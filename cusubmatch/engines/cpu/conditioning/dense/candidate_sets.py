"""The candidates of a component's vertices, numbered anew from 0 for each, and what each leaves of the others as bits.

Sets of candidates are a few words each, so few that whole components are narrowed until no candidate lacks a neighbour
(arc consistency, AC-3; Mackworth 1977).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.conditioning.representation import candidates, mark_row, number_of_locals, put_row
from cusubmatch.engines.cpu.primitives.jit import inner, popcount, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance, pointer

__all__ = ["CandidateSets", "candidate_sets", "narrow", "open_conflicts"]

N = c.MAX_VERTICES
MOST = 512  # candidates of a vertex
ALL = ~np.uint64(0)


class CandidateSets(NamedTuple):
    """A component, by pattern vertex.

    Attributes
    ----------
    width : int
        Words of a set; 0 where a vertex has too many candidates.
    sets : uint64 (32, width)
        Candidates.
    rows : uint64
        What the candidate x of u leaves of those of w is the set at firsts[u, w] + x * width.
    firsts : int64 (32, 32)
    edges, conflicts : int64 (32)
        The vertices of the component that are joined to each, and that must differ from it, as bits.
    """

    width: int
    sets: np.ndarray
    rows: np.ndarray
    firsts: np.ndarray
    edges: np.ndarray
    conflicts: np.ndarray


@inner
def candidate_sets(s, component):
    """The candidate sets of a component, as matched vertices have left them."""
    edges, conflicts, firsts = np.zeros(N, np.int64), np.zeros(N, np.int64), np.zeros((N, N), np.int64)
    elements, sizes = np.empty((N, MOST), np.int32), np.zeros(N, np.int64)
    most = _put_elements(s, component, pointer(elements), pointer(sizes))
    if most > MOST:
        return CandidateSets(0, np.zeros((1, 1), np.uint64), np.zeros(1, np.uint64), firsts, edges, conflicts)
    width, words, rest = (most + 63) >> 6, np.int64(0), component
    sets = np.zeros((N, width), np.uint64)
    while rest:
        v = trailing_zeros(rest)
        rest &= rest - 1
        edges[v], conflicts[v] = s.neighbours[v] & component, s.conflicts[v] & component
        for i in range(sizes[v]):
            sets[v, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
        near = edges[v] | conflicts[v]
        while near:
            firsts[v, trailing_zeros(near)] = words
            words += sizes[v] * width
            near &= near - 1
    rows = np.zeros(words, np.uint64)
    for u in range(N):
        near = edges[u] | conflicts[u]
        while near:
            w = trailing_zeros(near)
            near &= near - 1
            of_w, out = advance(pointer(elements), w * MOST), advance(pointer(rows), firsts[u, w])
            if (edges[u] >> w) & 1:
                for i in range(sizes[u]):
                    put_row(s, u, w, elements[u, i], of_w, sizes[w], advance(out, i * width))
            else:
                _put_others(advance(pointer(elements), u * MOST), sizes[u], of_w, sizes[w], out, width)
    return CandidateSets(width, sets, rows, firsts, edges, conflicts)


@inner
def _put_elements(s, component, elements, sizes):
    """Write the candidates of all vertices, those that have been narrowed first; the most that one has.

    Of others those are left out that no candidate of a neighbour leads to. It ends where one has more than `MOST`.
    """
    touched, most, done = component & s.registers[c.TOUCHED], np.int64(0), np.int64(0)
    marks = np.zeros(number_of_locals(s), np.uint8)
    while done != component and most <= MOST:
        v = _next(s, touched & ~done or component & ~done, done)
        near, times = s.neighbours[v] & done, np.uint8(0)
        while near and not (touched >> v) & 1:
            u = trailing_zeros(near)
            near &= near - 1
            for i in range(sizes[u]):
                mark_row(s, u, v, elements[u * MOST + i], pointer(marks), times)
            times += np.uint8(1)
        pool_top, size = s.registers[c.POOL_TOP], np.int64(0)
        begin, end = candidates(s, v)
        s.registers[c.POOL_TOP] = pool_top
        for i in range(begin, end):
            if marks[s.store[i]] == times:
                if size < MOST:
                    elements[v * MOST + size] = s.store[i]
                size += 1
        if times:
            marks[:] = 0
        sizes[v], most = size, max(most, size)
        done |= np.int64(1) << v
    return most


@inner
def _next(s, vertices, done):
    """The vertex with most neighbours among those that are done."""
    best, most = np.int64(-1), -1
    while vertices:
        v = trailing_zeros(vertices)
        vertices &= vertices - 1
        near = np.int64(popcount(np.uint64(s.neighbours[v] & done)))
        if near > most:
            best, most = v, near
    return best


@inner
def _put_others(elements, size, others, number, out, width):
    """Write for each of some elements the set of all of others, ascending as well, but itself."""
    place = 0
    for i in range(size):
        for word in range(width):
            out[i * width + word] = ALL
        while place < number and others[place] < elements[i]:
            place += 1
        if place < number and others[place] == elements[i]:
            out[i * width + (place >> 6)] ^= np.uint64(1) << np.uint64(place & 63)


@inner
def _size(some, width):
    """The number of candidates in a set, at a pointer."""
    number = np.int64(0)
    for word in range(width):
        number += np.int64(popcount(some[word]))
    return number


@inner
def narrow(sets, sizes, component):
    """Take out candidates that have no neighbour among those of another vertex, or that another must have.

    Writes how many are left of each vertex; whether each has one.
    """
    width, pending = sets.width, component
    rows, left = pointer(sets.rows), np.empty(width, np.uint64)
    while pending:
        u = trailing_zeros(pending)
        pending &= pending - 1
        of_u = advance(pointer(sets.sets), u * width)
        sizes[u] = _size(of_u, width)
        if sizes[u] == 0:
            return False
        near = sets.edges[u] | (sets.conflicts[u] if sizes[u] == 1 else np.int64(0))
        while near:
            w = trailing_zeros(near)
            near &= near - 1
            _unite_rows(of_u, advance(rows, sets.firsts[u, w]), width, pointer(left))
            of_w, is_less = advance(pointer(sets.sets), w * width), False
            for word in range(width):
                is_less |= of_w[word] & ~left[word] != 0
                of_w[word] &= left[word]
            if is_less:
                pending |= np.int64(1) << w
    return True


@inner
def _unite_rows(some, rows, width, out):
    """Write the union of the rows of the candidates in a set."""
    for word in range(width):
        out[word] = np.uint64(0)
    for word in range(width):
        rest = some[word]
        while rest:
            row = advance(rows, ((word << 6) + np.int64(trailing_zeros(rest))) * width)
            rest &= rest - np.uint64(1)
            for i in range(width):
                out[i] |= row[i]


@inner
def open_conflicts(sets, u):
    """The vertices that must differ from u, and that could have the same candidate."""
    width, near, found = sets.width, sets.conflicts[u], np.int64(0)
    while near:
        w = trailing_zeros(near)
        near &= near - 1
        if _share(sets, u, w, width):
            found |= np.int64(1) << w
    return found


@inner
def _share(sets, u, w, width):
    """Whether a candidate of u leaves not all of those of w: it is one of them."""
    rows = advance(pointer(sets.rows), sets.firsts[u, w])
    of_u, of_w = advance(pointer(sets.sets), u * width), advance(pointer(sets.sets), w * width)
    for word in range(width):
        rest = of_u[word]
        while rest:
            row = advance(rows, ((word << 6) + np.int64(trailing_zeros(rest))) * width)
            rest &= rest - np.uint64(1)
            for i in range(width):
                if of_w[i] & ~row[i]:
                    return True
    return False
