"""Pairs of vertices x, y by what connects them: paths of two edges, or diamonds.

A path has a middle vertex z that is adjacent to both. A diamond has two, w and z, which are adjacent to each other too:
a clique of four less the edge (x, y). For each x, the paths or diamonds to every y are added up in a row. A path is
found over the neighbours of x and theirs. A diamond is a triangle x, w, z and a common neighbour y of w and z: these
are listed beforehand, once for each edge, so that the diamonds over an edge are read from a list. Kernel conventions
are those of `sparse_product`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inlined, inner, jit
from cusubmatch.engines.cpu.tables.modular import ONE, ZERO, reduced, times
from cusubmatch.engines.cpu.tables.parameters import ArcValues, value_at
from cusubmatch.engines.cpu.tables.triangle_tables import forget_positions, note_positions

__all__ = [
    "CommonNeighbours",
    "Kind",
    "PairScratch",
    "PairTerms",
    "VertexRange",
    "list_common_neighbours",
    "pairs",
]


class VertexRange(NamedTuple):
    """Vertices y of a range: in each row the first arc to them, and the vertex where the range ends."""

    first_arcs: Any
    stop: int


class CommonNeighbours(NamedTuple):
    """The common neighbours y of w and z for each arc (w, z), w < z, where y is in a range.

    Attributes
    ----------
    starts : int64 array, arcs + 1
        Where the list of each arc begins.
    vertices : int32 array
    in_rows : int32 array (length of vertices, 2)
        The positions of y in the rows of w and of z; empty where diamonds have no values.
    """

    starts: Any
    vertices: Any
    in_rows: Any


class Kind(NamedTuple):
    """What connects a pair, and the power to which its sum is raised; the power 0 stands for nothing.

    The first two of five values are those of a path, at (x, z) and (z, y). All five are a diamond's, at (x, w), (x, z),
    (w, z), (w, y) and (z, y).
    """

    is_diamond: bool
    values: tuple[ArcValues, ...]
    power: int


class PairTerms(NamedTuple):
    """What is summed over pairs.

    Attributes
    ----------
    kinds : two of Kind
    weights : two of ArcValues
        Of x and of y.
    below, distinct : bool
        Whether only pairs with y < x count, and only those with y != x.
    """

    kinds: tuple[Kind, Kind]
    weights: tuple[ArcValues, ArcValues]
    below: bool
    distinct: bool


class PairScratch(NamedTuple):
    """Memory of a thread: two rows of sums, zero; the y that were reached; positions of arcs at their targets, -1."""

    sums: Any
    reached: Any
    position: Any


@jit
def list_common_neighbours(rows, reverse, wanted, fill, begin, end, budget, position, lists):
    """Count the common neighbours of w and z for all z in the rows, or list them if `fill`.

    A number is written to starts[arc + 1]. Positions are listed only where there is room for any.
    """
    steps, offsets, targets = 0, rows.offsets, rows.targets
    starts, vertices, in_rows = lists
    for z in range(begin, end):
        first, last = offsets[z], rows.upper[z]
        if first < last:
            note_positions(targets, first, offsets[z + 1], position)
            for g in range(first, last):
                w, wz = targets[g], reverse[g]
                at = starts[wz] if fill else 0
                for f in range(wanted.first_arcs[w], offsets[w + 1]):
                    y = targets[f]
                    if y >= wanted.stop:
                        break
                    if position[y] >= 0:
                        if fill:
                            vertices[at] = y
                            if len(in_rows) > 0:
                                in_rows[at, 0], in_rows[at, 1] = f - offsets[w], position[y] - first
                        at += 1
                steps += offsets[w + 1] - wanted.first_arcs[w]
                if not fill:
                    starts[wz + 1] = at
            forget_positions(targets, first, offsets[z + 1], position)
        steps += 1
        if steps > budget:
            return z + 1
    return end


@jit
def pairs(rows, reverse, wanted, lists, terms, begin, end, budget, prime, scratch, out):
    """Add to out[0] the sum over pairs (x, y), y in the wanted range, of what connects them, to powers.

    The second kind, perhaps with the power 0, is added up only where the first kind leads to.
    """
    steps, (sums, reached, _), kinds = 0, scratch, terms.kinds
    for x in range(begin, end):
        limit, size = min(x, wanted.stop) if terms.below else wanted.stop, 0
        for number in range(2):
            kind = kinds[number]
            if number == 1 and (kind.power == 0 or size == 0):
                break
            if kind.is_diamond:
                size, more = _add_diamonds(rows, reverse, lists, x, limit, kind.values, prime, scratch, number, size)
            else:
                size, more = _add_paths(rows, wanted, x, limit, kind.values, prime, scratch, number, size)
            steps += more
        total = ZERO
        for i in range(size):
            y = reached[i]
            if y != x or not terms.distinct:
                product = value_at(terms.weights[1], y)
                for number in range(2):
                    value = reduced(sums[number, y], prime)
                    for _ in range(kinds[number].power):
                        product = times(product, value, prime)
                total += product
            sums[0, y] = sums[1, y] = ZERO
        total = times(reduced(total, prime), value_at(terms.weights[0], x), prime)
        out[0] = out[0] + total if prime == ZERO else (out[0] + total) % prime
        steps += 1
        if steps > budget:
            return x + 1
    return end


@inner
def _list_again(first_sums, reached):
    """List the vertices with a sum, each once: one that comes back to zero, modulo 2^64, is listed more than once."""
    size = 0
    for y in range(len(first_sums)):
        if first_sums[y] != ZERO:
            reached[size] = y
            size += 1
    return size


@inlined
def _add_to_pair(first_sums, row, second, reached, size, y, more):
    """Add to the first row, and list y there; or to the second row, where the first one has something. No branches."""
    old = first_sums[y]
    if second:
        row[y] += more if old != ZERO else ZERO
        return size
    reached[size] = y
    row[y] = old + more
    return size + np.int64((old == ZERO) & (more != ZERO))


@inner
def _add_paths(rows, wanted, x, limit, values, prime, scratch, number, size):
    """Add a[x, z] b[z, y] for every path x, z, y; how many y are listed, and the steps taken."""
    steps, offsets, targets, (sums, reached, _) = 0, rows.offsets, rows.targets, scratch
    a, b, first_sums, row, second = values[0], values[1], sums[0], sums[number], number == 1
    plain = a.mask == 0 and b.mask == 0
    for e in range(offsets[x], offsets[x + 1]):
        z, weight = targets[e], value_at(a, e)
        begin, end = wanted.first_arcs[z], offsets[z + 1]
        f = begin
        if size > len(first_sums) and not second:
            size = _list_again(first_sums, reached)
        if plain:
            while f < end and targets[f] < limit:
                size = _add_to_pair(first_sums, row, second, reached, size, targets[f], ONE)
                f += 1
        else:
            while f < end and targets[f] < limit:
                more = times(weight, value_at(b, f), prime)
                size = _add_to_pair(first_sums, row, second, reached, size, targets[f], more)
                f += 1
        steps += f - begin + 1
    return size, steps


@inner
def _add_diamonds(rows, reverse, lists, x, limit, values, prime, scratch, number, size):
    """Add a[x, w] b[x, z] c[w, z] d[w, y] e[z, y] for every diamond, both orders of w and z; returns as `_add_paths`.

    The mask of plain values is 0.
    """
    steps, offsets, targets, (sums, reached, position) = 0, rows.offsets, rows.targets, scratch
    (a, b, c, d, e), (starts, vertices, in_rows) = values, lists
    first_sums, row, second = sums[0], sums[number], number == 1
    plain = a.mask == 0 and b.mask == 0 and c.mask == 0 and d.mask == 0 and e.mask == 0
    note_positions(targets, offsets[x], offsets[x + 1], position)
    for xw in range(offsets[x], offsets[x + 1]):
        w = targets[xw]
        for wz in range(rows.upper[w], offsets[w + 1]):
            z = targets[wz]
            xz = position[z]
            if xz < 0:
                continue
            at, last = starts[wz], starts[wz + 1]
            if size > len(first_sums) and not second:
                size = _list_again(first_sums, reached)
            if plain:
                while at < last and vertices[at] < limit:
                    size = _add_to_pair(first_sums, row, second, reached, size, vertices[at], ONE + ONE)
                    at += 1
            else:
                by_wz = times(times(value_at(a, xw), value_at(b, xz), prime), value_at(c, wz), prime)
                by_zw = times(times(value_at(a, xz), value_at(b, xw), prime), value_at(c, reverse[wz]), prime)
                while at < last and vertices[at] < limit:
                    wy, zy = offsets[w] + in_rows[at, 0], offsets[z] + in_rows[at, 1]
                    more = times(times(by_wz, value_at(d, wy), prime), value_at(e, zy), prime)
                    more += times(times(by_zw, value_at(d, zy), prime), value_at(e, wy), prime)
                    size = _add_to_pair(first_sums, row, second, reached, size, vertices[at], more)
                    at += 1
            steps += at - starts[wz]
        steps += offsets[w + 1] - rows.upper[w] + 1
    forget_positions(targets, offsets[x], offsets[x + 1], position)
    return size, steps
