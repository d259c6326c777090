"""Kernels for pairs of vertices x, y and what lies between them: paths of two, and bridges.

A path has a middle vertex z adjacent to both; a bridge has two, w and z, which are adjacent to each other too. For each
x, what leads to every y is added up in a row. A path is found over the neighbours of x and theirs. A bridge is a
triangle x, w, z and a common neighbour y of w and z: these are listed beforehand, once for each edge, so that finding a
bridge is reading a list. Arrays, masks, primes and budgets are as in `table_kernels.py`.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inlined, jit
from cusubmatch.engines.cpu.tables.arc_tables import ONE, ZERO, times

__all__ = ["common_neighbours", "pairs"]


@jit
def common_neighbours(
    offsets, targets, reverse, upper, low, stop, fill, begin, end, budget, place, starts, common, places
):
    """The common neighbours y of adjacent w and z, w < z, with the entry of w at low[w] or after it and y < stop.

    For z in the rows; the entry (w, z) is looked up by `reverse`. Without `fill`, their number is written to
    starts[entry
    + 1]; with it, common[starts[entry]:] lists y, and `places`, unless it is empty, those of y in the rows of w and z.
    """
    steps, placed = 0, len(places) > 0
    for z in range(begin, end):
        first, last = offsets[z], upper[z]
        if first < last:
            for g in range(first, offsets[z + 1]):
                place[targets[g]] = g
            for g in range(first, last):
                w, entry = targets[g], reverse[g]
                at = starts[entry] if fill else 0
                for f in range(low[w], offsets[w + 1]):
                    y = targets[f]
                    if y >= stop:
                        break
                    if place[y] >= 0:
                        if fill:
                            common[at] = y
                            if placed:
                                places[at, 0], places[at, 1] = f - offsets[w], place[y] - first
                        at += 1
                steps += offsets[w + 1] - low[w]
                if not fill:
                    starts[entry + 1] = at
            for g in range(first, offsets[z + 1]):
                place[targets[g]] = -1
        steps += 1
        if steps > budget:
            return z + 1
    return end


@jit
def pairs(
    offsets, targets, reverse, upper, low, stop, starts, common, places, bridges, values, masks, powers, ends,
    end_masks,
    below, distinct_pairs, begin, end, budget, prime, rows, seen, place, out,
):  # fmt: skip
    """Add to out[0] the sum over pairs (x, y), low <= y < stop, of what lies between them, to powers.

    There are two kinds, the second perhaps with power 0: `bridges` says which are bridges, `values` and `masks` have
    five arrays of each, paths using two. With `below`, only pairs y < x are looked at; equal ones unless
    `distinct_pairs`.
    Where nothing of the first kind leads, the second is not looked at.
    """
    steps = 0
    for x in range(begin, end):
        limit, found = min(x, stop) if below else stop, 0
        for kind in range(2):
            if kind == 1 and (powers[1] == 0 or found == 0):
                break
            row, second = rows[kind], kind == 1
            if bridges[kind]:
                found, more = _add_bridges(
                    offsets, targets, reverse, upper, starts, common, places, x, limit, values[kind], masks[kind],
                    prime,
                    rows[0], row, second, seen, found, place,
                )  # fmt: skip
            else:
                found, more = _add_paths(
                    offsets, targets, low, x, limit, values[kind], masks[kind], prime, rows[0], row, second, seen, found
                )
            steps += more
        total = ZERO
        for i in range(found):
            y = seen[i]
            if y != x or not distinct_pairs:
                product = ends[1][y & end_masks[1]]
                for kind in range(2):
                    number = rows[kind, y] if prime == ZERO else rows[kind, y] % prime
                    for _ in range(powers[kind]):
                        product = times(product, number, prime)
                total += product
            rows[0, y] = rows[1, y] = ZERO
        total = times(total if prime == ZERO else total % prime, ends[0][x & end_masks[0]], prime)
        out[0] = out[0] + total if prime == ZERO else (out[0] + total) % prime
        steps += 1
        if steps > budget:
            return x + 1
    return end


@jit
def _noted_anew(first, seen):
    """List what is not zero in the first row, each once: sums that come back to zero, modulo 2^64, are listed again."""
    found = 0
    for y in range(len(first)):
        if first[y] != ZERO:
            seen[found] = y
            found += 1
    return found


@inlined
def _noted(first, row, second, seen, found, y, more):
    """Add to the first row, which `seen` lists, or to the second, where the first one has something; no branches."""
    old = first[y]
    if second:
        row[y] += more if old != ZERO else ZERO
        return found
    seen[found] = y
    row[y] = old + more
    return found + np.int64((old == ZERO) & (more != ZERO))


@jit
def _add_paths(offsets, targets, low, x, limit, values, masks, prime, first, row, second, seen, found):
    """Add a[x, z] b[z, y] for every path x, z, y; how many y have been seen, and the steps."""
    steps, plain = 0, masks[0] == masks[1] == 0
    a, b, a_mask, b_mask = values[0], values[1], masks[0], masks[1]
    for e in range(offsets[x], offsets[x + 1]):
        z, weight = targets[e], a[e & a_mask]
        begin, end = low[z], offsets[z + 1]
        f = begin
        if found > len(first) and not second:
            found = _noted_anew(first, seen)
        if plain:
            while f < end and targets[f] < limit:
                found = _noted(first, row, second, seen, found, targets[f], ONE)
                f += 1
        else:
            while f < end and targets[f] < limit:
                more = times(weight, b[f & b_mask], prime)
                found = _noted(first, row, second, seen, found, targets[f], more)
                f += 1
        steps += f - begin + 1
    return found, steps


@jit
def _add_bridges(
    offsets, targets, reverse, upper, starts, common, places, x, limit, values, masks, prime, first, row, second, seen,
    found, place,
):  # fmt: skip
    """Add a[x, w] b[x, z] c[w, z] d[w, y] e[z, y] for every bridge, both orders of w and z."""
    steps, plain = 0, masks[0] == masks[1] == masks[2] == masks[3] == masks[4] == 0
    a, b, c, d, e = values
    a_mask, b_mask, c_mask, d_mask, e_mask = masks
    begin, end = offsets[x], offsets[x + 1]
    for i in range(begin, end):
        place[targets[i]] = i
    for i in range(begin, end):  # (x, w)
        w = targets[i]
        for k in range(upper[w], offsets[w + 1]):  # (w, z)
            z = targets[k]
            j = place[z]  # (x, z)
            if j < 0:
                continue
            at, last = starts[k], starts[k + 1]
            if found > len(first) and not second:
                found = _noted_anew(first, seen)
            if plain:
                while at < last and common[at] < limit:
                    found = _noted(first, row, second, seen, found, common[at], ONE + ONE)
                    at += 1
            else:
                there = times(times(a[i & a_mask], b[j & b_mask], prime), c[k & c_mask], prime)
                back = times(times(a[j & a_mask], b[i & b_mask], prime), c[reverse[k] & c_mask], prime)
                while at < last and common[at] < limit:
                    wy, zy = offsets[w] + places[at, 0], offsets[z] + places[at, 1]
                    more = times(times(there, d[wy & d_mask], prime), e[zy & e_mask], prime)
                    more += times(times(back, d[zy & d_mask], prime), e[wy & e_mask], prime)
                    found = _noted(first, row, second, seen, found, common[at], more)
                    at += 1
            steps += at - starts[k]
        steps += offsets[w + 1] - upper[w] + 1
    for i in range(begin, end):
        place[targets[i]] = -1
    return found, steps
