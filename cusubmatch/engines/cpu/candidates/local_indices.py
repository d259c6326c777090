"""The local indices of a candidate graph: numbers of the candidates, in groups of pattern vertices that share some."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inner, jit, trailing_zeros
from cusubmatch.engines.cpu.primitives.pointers import advance, pointer

__all__ = ["Numbering", "numbering_of"]


class Numbering(NamedTuple):
    """The candidates in groups: the vertices of a group share candidates, directly or through others.

    Attributes
    ----------
    first_alike : list of int
        Per pattern vertex, the first vertex with the same candidates.
    shares : list of int
        Per pattern vertex, as bits, the vertices that share a candidate with it.
    members, begins
        The places of each group, ascending, one group after another; where that of a pattern vertex begins
        (row 0) and ends (row 1).
    local : int32 (n,)
        Of the place of a candidate, its number in its group.
    masks : uint32
        Of each local index, the pattern vertices that it is a candidate of.
    vertices : tuple
        Per pattern vertex, its group's data vertices.
    """

    first_alike: list[int]
    shares: list[int]
    members: np.ndarray
    begins: np.ndarray
    local: np.ndarray
    masks: np.ndarray
    vertices: tuple[np.ndarray, ...]


def numbering_of(masks: np.ndarray, vertex_of: np.ndarray | None, size: int) -> Numbering:
    """Number the candidates, by place; `vertex_of` has the vertex of each place, unless it is the place."""
    of_vertices, ends, members, local, local_masks = _numbered(masks, size)
    found = members if vertex_of is None else vertex_of[members]
    vertices = [found[begin:end] for begin, end in pairwise(ends.tolist())]
    _, _, group_of, first_alike, shares = of_vertices.tolist()
    of_groups = tuple([vertices[group] for group in group_of])
    return Numbering(first_alike, shares, members, of_vertices[:2], local, local_masks, of_groups)


@jit
def _numbered(masks, size):
    """Of each pattern vertex where its group begins and ends, its group, the first one alike and whom it shares with.

    And the groups: where each begins, and what `Numbering` has of the candidates.
    """
    shares, differs = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
    found, candidates = _found(masks)
    for i in range(candidates):
        mask = masks[found[i]]
        rest = mask
        while rest:
            u = trailing_zeros(rest)
            shares[u] |= mask
            differs[u] |= ~mask
            rest &= rest - np.uint32(1)
    for u in range(size):
        for w in range(size):
            if (differs[u] >> np.uint32(w)) & np.uint32(1):
                differs[w] |= np.uint32(1) << np.uint32(u)
    group_of = _groups(shares)
    begins = np.zeros(group_of.max() + 2, np.int64)
    for i in range(candidates):
        begins[group_of[trailing_zeros(masks[found[i]])] + 1] += 1
    width = begins.max()
    for group in range(len(begins) - 1):
        begins[group + 1] += begins[group]
    members, local_masks, ends = np.empty(candidates, np.int32), np.zeros(width, np.uint32), begins.copy()
    local = np.empty(len(masks), np.int32)
    for i in range(candidates):
        v = found[i]
        group = group_of[trailing_zeros(masks[v])]
        at = ends[group]
        members[at], local[v] = v, at - begins[group]
        local_masks[at - begins[group]] |= masks[v]
        ends[group] = at + 1
    of_vertices = np.empty((5, size), np.int64)
    for u in range(size):
        group = group_of[u]
        of_vertices[0, u], of_vertices[1, u], of_vertices[2, u] = begins[group], begins[group + 1], group
        of_vertices[3, u], of_vertices[4, u] = trailing_zeros(~differs[u]), shares[u]  # the first one alike: at most u
    return of_vertices, begins, members, local, local_masks


@inner
def _found(masks):
    """The places of candidates, ascending, and how many; eight places are tested at once, as most are none."""
    found, n, bits, size = np.empty(len(masks) + 8, np.int32), 0, pointer(masks), len(masks)
    for first in range(0, size, 8):
        if first + 8 <= size:
            some = advance(bits, first)
            if (some[0] | some[1] | some[2] | some[3] | some[4] | some[5] | some[6] | some[7]) == 0:
                continue
        for v in range(first, min(first + 8, size)):
            found[n] = v
            n += bits[v] != 0
    return found, n


@inner
def _groups(shares):
    """The group of each pattern vertex: those that share candidates with it, directly or through others."""
    group_of, groups = np.full(len(shares), -1, np.int64), 0
    for u in range(len(shares)):
        if group_of[u] < 0:
            reached = np.uint32(1) << np.uint32(u)
            frontier = reached
            while frontier:
                new = shares[trailing_zeros(frontier)] & ~reached
                reached |= new
                frontier = (frontier & (frontier - np.uint32(1))) | new
            for w in range(u, len(shares)):
                if (reached >> np.uint32(w)) & np.uint32(1):
                    group_of[w] = groups
            groups += 1
    return group_of
