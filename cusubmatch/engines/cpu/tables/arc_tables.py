"""Kernels for the tables of a decomposition: paths and cliques between adjacent vertices.

Every cycle is found once, from its vertex of highest rank: what lies below it is counted in a row of one number a
vertex (degree ordering; Chiba & Nishizeki 1985; the wedges of 4-cycles as in ESCAPE). On a graph with hubs that is a
small part of all paths of two: 54 million instead of 16 billion on cnr-2000. A weight is an array over the entries, or
a single 1 that stands for all (its mask is 0). Numbers are modulo 2^64, or modulo a prime below 2^31 if `prime` is not
0. A kernel goes over rows begin, ..., end - 1 and returns the row to go on with once it has done `budget` steps.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit

__all__ = [
    "cliques",
    "paths_below",
    "reverse_arcs",
    "row_sums",
    "sparse_product",
    "triangles",
    "wedges_below",
    "weighted_triangles",
]

ONE = np.uint64(1)
ZERO = np.uint64(0)


@jit
def times(a, b, prime):
    """The product of two numbers; of residues, if there is a prime."""
    return a * b if prime == ZERO else a * b % prime


@jit
def minus(a, b, prime):
    """The difference of two numbers; of residues, if there is a prime."""
    return a - b if prime == ZERO else (a + prime - b) % prime


@jit
def reverse_arcs(offsets, targets):
    """Of each entry (x, y) the place of (y, x): rows are gone over in order, and so each is filled in order."""
    place, found = offsets[:-1].copy(), np.empty(len(targets), np.int64)
    for x in range(len(offsets) - 1):
        for e in range(offsets[x], offsets[x + 1]):
            y = targets[e]
            found[e] = place[y]
            place[y] += 1
    return found


@jit
def row_sums(offsets, targets, values, mask, weights, weight_mask, begin, end, budget, prime, out):
    """out[x] = sum over the entries of x of the entry's value times the weight of its target."""
    steps = 0
    for x in range(begin, end):
        total = ZERO
        for e in range(offsets[x], offsets[x + 1]):
            total += times(values[e & mask], weights[targets[e] & weight_mask], prime)
        out[x] = total if prime == ZERO else total % prime
        steps += offsets[x + 1] - offsets[x] + 1
        if steps > budget:
            return x + 1
    return end


@jit
def sparse_product(offsets, targets, values, mask, columns, begin, end, budget, prime, out):
    """out[x, c] = sum over the entries of x of the entry's value times columns[target, c]."""
    steps, width = 0, columns.shape[1]
    top = np.uint64(1) << np.uint64(63)
    fold = top - top % prime if prime != ZERO else ZERO  # the largest multiple of the prime that is not above 2^63
    for x in range(begin, end):
        for c in range(width):
            out[x, c] = ZERO
        for e in range(offsets[x], offsets[x + 1]):
            y, value = targets[e], values[e & mask]
            if value == ONE:
                for c in range(width):
                    out[x, c] += columns[y, c]
            elif value != ZERO:
                for c in range(width):
                    out[x, c] += value * columns[y, c]
            if prime != ZERO and value > ONE:
                for c in range(width):
                    out[x, c] = min(out[x, c], out[x, c] - fold)
        if prime != ZERO:
            for c in range(width):
                out[x, c] %= prime
        steps += (offsets[x + 1] - offsets[x] + 1) * width
        if steps > budget:
            return x + 1
    return end


@jit
def triangles(offsets, targets, upper, begin, end, budget, place, out):
    """For every entry (u, v), u < v, add the triangles that it is in; `place` is -1 for every vertex."""
    steps = 0
    for u in range(begin, end):
        first, last = upper[u], offsets[u + 1]
        if last - first < 2:
            continue
        for e in range(first, last):
            place[targets[e]] = e
        for e in range(first, last):
            v, found = targets[e], ZERO
            for f in range(upper[v], offsets[v + 1]):
                g = place[targets[f]]
                if g >= 0:
                    found += ONE
                    out[f] += ONE
                    out[g] += ONE
            out[e] += found
            steps += offsets[v + 1] - upper[v] + 1
        for e in range(first, last):
            place[targets[e]] = -1
        if steps > budget:
            return u + 1
    return end


@jit
def weighted_triangles(offsets, targets, reverse, upper, a, a_mask, b, b_mask, begin, end, budget, prime, place, out):
    """out[x, y] += sum over z of a[x, z] * b[z, y], of the triangles whose lowest vertex is in the rows."""
    steps = 0
    for u in range(begin, end):
        first, last = upper[u], offsets[u + 1]
        if last - first < 2:
            continue
        for e in range(first, last):
            place[targets[e]] = e
        for e in range(first, last):  # (u, v)
            v, back = targets[e], reverse[e]
            for f in range(upper[v], offsets[v + 1]):  # (v, w)
                g = place[targets[f]]  # (u, w)
                if g >= 0:
                    f_back, g_back = reverse[f], reverse[g]
                    out[e] += times(a[g & a_mask], b[f_back & b_mask], prime)
                    out[back] += times(a[f & a_mask], b[g_back & b_mask], prime)
                    out[g] += times(a[e & a_mask], b[f & b_mask], prime)
                    out[g_back] += times(a[f_back & a_mask], b[back & b_mask], prime)
                    out[f] += times(a[back & a_mask], b[g & b_mask], prime)
                    out[f_back] += times(a[g_back & a_mask], b[e & b_mask], prime)
            steps += offsets[v + 1] - upper[v] + 1
        for e in range(first, last):
            place[targets[e]] = -1
        if steps > budget:
            return u + 1
    return end


@jit
def cliques(
    offsets, targets, reverse, upper, plain, a, a_mask, b, b_mask, c, c_mask, d, d_mask, e, e_mask, begin, end, budget,
    prime, place, other, common, out,
):  # fmt: skip
    """out[x, y] += sum over w, z of a[x, w] b[x, z] c[w, z] d[w, y] e[z, y], of the cliques whose lowest is u.

    If `plain`, all is 1 and only the entries (x, y), x < y, are added to.
    """
    steps = 0
    entry = np.zeros((4, 4), np.int64)
    for u in range(begin, end):
        first, last = upper[u], offsets[u + 1]
        if last - first < 3:
            continue
        for i in range(first, last):
            place[targets[i]] = i
        for i in range(first, last):
            v, found = targets[i], 0
            for j in range(upper[v], offsets[v + 1]):
                if place[targets[j]] >= 0:
                    other[targets[j]] = j
                    common[found] = j
                    found += 1
            for k in range(found):
                j = common[k]
                w = targets[j]
                g = place[w]
                for h in range(upper[w], offsets[w + 1]):
                    z = targets[h]
                    if other[z] < 0:
                        continue
                    if plain:
                        for one in (i, g, place[z], j, other[z], h):
                            out[one] += ONE + ONE
                        continue
                    entry[0, 1], entry[0, 2], entry[0, 3] = i, g, place[z]
                    entry[1, 2], entry[1, 3], entry[2, 3] = j, other[z], h
                    for p in range(4):
                        for q in range(p):
                            entry[p, q] = reverse[entry[q, p]]
                    for p in range(4):
                        for q in range(4):
                            if p == q:
                                continue
                            for r in range(4):
                                if r in (p, q):
                                    continue
                                s = 6 - p - q - r
                                way = times(a[entry[p, r] & a_mask], b[entry[p, s] & b_mask], prime)
                                way = times(way, c[entry[r, s] & c_mask], prime)
                                way = times(way, d[entry[r, q] & d_mask], prime)
                                out[entry[p, q]] += times(way, e[entry[s, q] & e_mask], prime)
                steps += offsets[w + 1] - upper[w] + 1
            for k in range(found):
                other[targets[common[k]]] = -1
            steps += offsets[v + 1] - upper[v] + 1
        for i in range(first, last):
            place[targets[i]] = -1
        if steps > budget:
            return u + 1
    return end


@jit
def _forget_below(offsets, targets, u, first, last, row):
    """Set a row to zero at the vertices below u that a path of two leads to over the entries first, ..., last - 1."""
    for e in range(first, last):
        v = targets[e]
        for f in range(offsets[v], offsets[v + 1]):
            w = targets[f]
            if w >= u:
                break
            row[w] = ZERO


@jit
def wedges_below(offsets, targets, upper, begin, end, budget, row, out):
    """For every entry add the 4-cycles that it is in as the first of (u, v), (v, w), u being the highest vertex."""
    steps = 0
    for u in range(begin, end):
        first, last = offsets[u], upper[u]
        for e in range(first, last):
            v = targets[e]
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    break
                row[w] += ONE
        for e in range(first, last):
            v, found = targets[e], ZERO
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    steps += f - offsets[v] + 2
                    break
                more = row[w] - ONE
                found += more
                out[f] += more
            out[e] += found
        _forget_below(offsets, targets, u, first, last, row)
        if steps > budget:
            return u + 1
    return end


@jit
def paths_below(
    offsets, targets, upper, a, a_mask, b, b_mask, c, c_mask, d, d_mask, near, begin, end, budget, prime, row, out
):
    """4-cycles u, v, w, v' below their highest vertex u: one way round is weighted a[u, v] b[v, w], the other c and d.

    The product is added to the entry (u, v') of the other way, if `near`, or to (v', w).
    """
    steps = 0
    for u in range(begin, end):
        first, last = offsets[u], upper[u]
        for e in range(first, last):
            v, weight = targets[e], a[e & a_mask]
            if weight == ZERO:
                continue
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    break
                row[w] += times(weight, b[f & b_mask], prime)
        for e in range(first, last):
            v, weight, other, found = targets[e], a[e & a_mask], c[e & c_mask], ZERO
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    steps += f - offsets[v] + 2
                    break
                more = minus(row[w], times(weight, b[f & b_mask], prime), prime)
                if more != ZERO:
                    more = times(more, times(other, d[f & d_mask], prime), prime)
                    if near:
                        found += more
                    else:
                        out[f] += more
            out[e] += found
        _forget_below(offsets, targets, u, first, last, row)
        if steps > budget:
            return u + 1
    return end
