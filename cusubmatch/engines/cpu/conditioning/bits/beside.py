"""Counts of an edge, a path or a triangle, and of vertices beside it, which no edge joins to it or to each other.

A vertex beside others is in conflict with some. The maps of two vertices beside, P and Q, are those that have each of
them apart from the rest, less those that have them at one image, where they are in conflict: there they are one vertex,
whose domain is what both have in common. So there are terms by the partitions of the vertices beside. In each, a vertex
that is left has, beside one map of the others, its candidates less those that are images of what it is in conflict
with, all of which differ. The product of such differences is multiplied out, and each part of it is summed over all
maps of the others at once: by the sizes of sets.

Names: of_p is the number of candidates of P; a_p whether P is in conflict with the vertex a; left_p how many candidates
are left for P beside the images that are fixed; maps_p the maps of the vertices that are not fixed yet, with the number
of these that have an image in P; maps_pq with that number times the same one of Q.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning.bits.domains import choices, domain, free_set, in_conflict, overlap, row_of
from cusubmatch.engines.cpu.primitives.bitsets import SET_WORDS, count_common, intersect, unite
from cusubmatch.engines.cpu.primitives.jit import inner, popcount, trailing_zeros

__all__ = ["count_edge", "count_edge_and_others", "count_path_and_others", "count_triangle_and_other"]

FEW_PART = 4  # times as many candidates has the middle of a path at the least, where the rows of an end are read first
MOST_ROWS = 64  # that a triangle is counted by: with more its count is worth keeping, and a vertex is matched


@inner
def _three(vertices):
    """Up to three vertices; where there are fewer, any numbers for the others."""
    rest = vertices & (vertices - 1)
    return (
        trailing_zeros(vertices | 1 << 31),
        trailing_zeros(rest | 1 << 31),
        trailing_zeros(rest & (rest - 1) | 1 << 31),
    )


@inner
def _has(words, i, bit):
    """Whether a set has element 64 * i + bit, as a number."""
    return np.int64(words[i] >> np.uint64(bit)) & 1


@inner
def _times_one(maps, left_p, maps_p):
    return maps * left_p - maps_p


@inner
def _times_two(maps, left_p, left_q, maps_p, maps_q, maps_pq):
    return maps * left_p * left_q - left_p * maps_q - left_q * maps_p + maps_pq


@inner
def count_edge(s, a, b):
    """The count of two adjacent vertices."""
    if choices(s, b) < choices(s, a):
        a, b = b, a
    n, set_b = 0, domain(s, b)
    for i in range(SET_WORDS):
        word = s.domains[SET_WORDS * a + i]
        while word:
            x = (i << 6) + np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            n += count_common((set_b, row_of(s, a, b, x)))
    return n


@inner
def count_edge_and_others(s, a, b, beside):
    """The count of two adjacent vertices and one to three beside them."""
    if choices(s, b) < choices(s, a):
        a, b = b, a
    others, set_b = popcount(np.uint64(beside)), domain(s, b)
    p, q, r = _three(beside)
    set_p, set_q, set_r = domain(s, p), domain(s, q), domain(s, r)
    of_p, of_q, of_r = choices(s, p), choices(s, q), choices(s, r)
    a_p, a_q, a_r = in_conflict(s, a, p), in_conflict(s, a, q), in_conflict(s, a, r)
    b_p, b_q, b_r = in_conflict(s, b, p), in_conflict(s, b, q), in_conflict(s, b, r)
    p_q, p_r, q_r = in_conflict(s, p, q), in_conflict(s, p, r), in_conflict(s, q, r)
    of_pq, of_pr, of_qr = overlap(s, p, q), overlap(s, p, r), overlap(s, q, r)
    of_pqr = count_common((set_p, set_q, set_r))
    n = 0
    for i in range(SET_WORDS):
        word = s.domains[SET_WORDS * a + i]
        while word:
            bit = np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            row = row_of(s, a, b, (i << 6) + bit)
            maps, in_p = count_common((set_b, row)), _has(set_p, i, bit)
            left_p, maps_p = of_p - a_p * in_p, b_p * count_common((set_b, row, set_p))
            if others == 1:
                n += _times_one(maps, left_p, maps_p)
                continue
            in_q = _has(set_q, i, bit)
            left_q, maps_q = of_q - a_q * in_q, b_q * count_common((set_b, row, set_q))
            left_pq, both = of_pq - (a_p | a_q) * in_p * in_q, count_common((set_b, row, set_p, set_q))
            if others == 2:
                n += _times_two(maps, left_p, left_q, maps_p, maps_q, b_p * b_q * both)
                n -= p_q * _times_one(maps, left_pq, (b_p | b_q) * both)
                continue
            in_r = _has(set_r, i, bit)
            left_r, maps_r = of_r - a_r * in_r, b_r * count_common((set_b, row, set_r))
            left_pr, p_and_r = of_pr - (a_p | a_r) * in_p * in_r, count_common((set_b, row, set_p, set_r))
            left_qr, q_and_r = of_qr - (a_q | a_r) * in_q * in_r, count_common((set_b, row, set_q, set_r))
            left_pqr = of_pqr - (a_p | a_q | a_r) * in_p * in_q * in_r
            every = count_common((set_b, row, set_p, set_q, set_r))
            # P, Q and R as three vertices, as two, and as one
            n += left_r * _times_two(maps, left_p, left_q, maps_p, maps_q, b_p * b_q * both)
            n -= _times_two(maps_r, left_p, left_q, b_p * b_r * p_and_r, b_q * b_r * q_and_r, b_p * b_q * b_r * every)
            n -= p_q * _times_two(maps, left_pq, left_r, (b_p | b_q) * both, maps_r, (b_p | b_q) * b_r * every)
            n -= p_r * _times_two(maps, left_pr, left_q, (b_p | b_r) * p_and_r, maps_q, (b_p | b_r) * b_q * every)
            n -= q_r * _times_two(maps, left_qr, left_p, (b_q | b_r) * q_and_r, maps_p, (b_q | b_r) * b_p * every)
            n += max(p_q + p_r + q_r - 1, 0) * _times_one(maps, left_pqr, (b_p | b_q | b_r) * every)
    return n


@inner
def count_path_and_others(s, middle, a, b, beside):
    """The count of a path and up to two vertices beside it; -1 if there are, and its ends may have one image."""
    others, are_apart, share = popcount(np.uint64(beside)), in_conflict(s, a, b), overlap(s, a, b) > 0
    if others and share and not are_apart:
        return -1
    meet = share and are_apart
    p, q, _ = _three(beside)
    set_a, set_b, set_p, set_q = domain(s, a), domain(s, b), domain(s, p), domain(s, q)
    of_p, of_q, of_pq, p_q = choices(s, p), choices(s, q), overlap(s, p, q), in_conflict(s, p, q)
    middle_p, middle_q = in_conflict(s, middle, p), in_conflict(s, middle, q)
    a_p, a_q, b_p, b_q = in_conflict(s, a, p), in_conflict(s, a, q), in_conflict(s, b, p), in_conflict(s, b, q)
    n, near = 0, _near_fewest(s, middle, a, b)
    for i in range(SET_WORDS):
        word = near[i]
        while word:
            bit = np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            to_a, to_b = row_of(s, middle, a, (i << 6) + bit), row_of(s, middle, b, (i << 6) + bit)
            of_a, of_b = count_common((set_a, to_a)), count_common((set_b, to_b))
            maps = of_a * of_b
            if meet:
                maps -= count_common((set_a, to_a, set_b, to_b))
            if others == 0:
                n += maps
                continue
            in_p = _has(set_p, i, bit)
            left_p = of_p - middle_p * in_p
            from_a_p, from_b_p = count_common((set_a, to_a, set_p)), count_common((set_b, to_b, set_p))
            maps_p = a_p * from_a_p * of_b + b_p * from_b_p * of_a
            if meet:
                maps_p -= (a_p + b_p) * count_common((set_a, to_a, set_b, to_b, set_p))
            if others == 1:
                n += _times_one(maps, left_p, maps_p)
                continue
            in_q = _has(set_q, i, bit)
            left_q = of_q - middle_q * in_q
            from_a_q, from_b_q = count_common((set_a, to_a, set_q)), count_common((set_b, to_b, set_q))
            maps_q = a_q * from_a_q * of_b + b_q * from_b_q * of_a
            maps_a = count_common((set_a, to_a, set_p, set_q)) * of_b  # the image of a in both
            maps_b = count_common((set_b, to_b, set_p, set_q)) * of_a
            maps_a_b, maps_b_a = from_a_p * from_b_q, from_a_q * from_b_p  # that of one in P, that of the other in Q
            if meet:
                maps_q -= (a_q + b_q) * count_common((set_a, to_a, set_b, to_b, set_q))
                one = count_common((set_a, to_a, set_b, to_b, set_p, set_q))
                maps_a, maps_b, maps_a_b, maps_b_a = maps_a - one, maps_b - one, maps_a_b - one, maps_b_a - one
            maps_pq = a_p * a_q * maps_a + b_p * b_q * maps_b + a_p * b_q * maps_a_b + b_p * a_q * maps_b_a
            n += _times_two(maps, left_p, left_q, maps_p, maps_q, maps_pq)
            left_pq = of_pq - (middle_p | middle_q) * in_p * in_q
            n -= p_q * _times_one(maps, left_pq, (a_p | a_q) * maps_a + (b_p | b_q) * maps_b)
    return n


@inner
def _near_fewest(s, middle, a, b):
    """The candidates of a vertex; where one of two neighbours has far fewer, only those that are adjacent to these."""
    few = a if choices(s, a) < choices(s, b) else b
    if choices(s, few) * FEW_PART > choices(s, middle):
        return domain(s, middle)
    near = free_set(s)
    for i in range(SET_WORDS):
        near[i] = 0
    for i in range(SET_WORDS):
        word = s.domains[SET_WORDS * few + i]
        while word:
            unite(near, near, row_of(s, few, middle, (i << 6) + np.int64(trailing_zeros(word))))
            word &= word - np.uint64(1)
    intersect(near, near, domain(s, middle))
    return near


@inner
def count_triangle_and_other(s, a, b, d, beside):
    """The count of three adjacent vertices, from the candidates of the first, and up to one beside them; -1 if long."""
    if choices(s, b) < choices(s, a):
        a, b = b, a
    if choices(s, d) < choices(s, a):
        a, d = d, a
    if beside & (beside - 1) or choices(s, a) * min(choices(s, b), choices(s, d)) > MOST_ROWS:
        return -1
    p, _, _ = _three(beside)
    a_p, b_p, d_p = in_conflict(s, a, p), in_conflict(s, b, p), in_conflict(s, d, p)
    n, set_d, set_p, of_p = 0, domain(s, d), domain(s, p), choices(s, p)
    for i in range(SET_WORDS):
        word = s.domains[SET_WORDS * a + i]
        while word:
            bit = np.int64(trailing_zeros(word))
            word &= word - np.uint64(1)
            left = of_p - a_p * _has(set_p, i, bit)
            to_b, to_d = row_of(s, a, b, (i << 6) + bit), row_of(s, a, d, (i << 6) + bit)
            for j in range(SET_WORDS):
                inside = s.domains[SET_WORDS * b + j] & to_b[j]
                while inside:
                    bit = np.int64(trailing_zeros(inside))
                    inside &= inside - np.uint64(1)
                    row = row_of(s, b, d, (j << 6) + bit)
                    maps = count_common((set_d, to_d, row))
                    if beside == 0:
                        n += maps
                    else:
                        maps_p = d_p * count_common((set_d, to_d, row, set_p))
                        n += _times_one(maps, left - b_p * _has(set_p, j, bit), maps_p)
    return n
