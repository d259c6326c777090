"""Pairs of vertices x, y by what connects them: a block takes x and adds up in rows of one number a vertex.

Between x and y lie paths of two edges, through a common neighbour, or diamonds, through two common neighbours that are
adjacent. Each y that the first kind leads to is listed once; the second kind is added up only there. Then the sums are
raised to powers.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import int64, types, uint32, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.kernel_factory import DeclaredKernel, block_of, kernel_factory
from cusubmatch.engines.gpu.runtime.modular import residue_functions
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.runtime.work_counter import make_draw
from cusubmatch.engines.gpu.tables.parameters import (
    BLOCK_LISTS,
    BLOCK_ROWS,
    ROWS,
    VALUES,
    VERTEX_BATCH,
    make_value_at,
)
from cusubmatch.engines.gpu.tables.triangle_lists import TRIANGLE_LISTS

__all__ = ["Kind", "PairTerms", "make_pairs", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64


class Kind(NamedTuple):
    """Five values of what connects a pair, and the power to which its sum is raised; 0 stands for nothing.

    The first two are those of a path, at (x, z) and (z, y); all are a diamond's, at (x, w), (x, z), (w, z), (w, y) and
    (z, y).
    """

    values: Any
    power: Any


class PairTerms(NamedTuple):
    """What is summed: two kinds, weights of x and of y, whether only pairs y < x count, and only those y != x."""

    first: Any
    second: Any
    x_weights: Any
    y_weights: Any
    below: Any
    distinct: Any


class PairSums(NamedTuple):
    """Where a block adds: from `row` on, if `only_where` is -1; else only where the row from `only_where` on has sums.

    The y of the first kind are listed from `listed` on; drawn[1] is their number.
    """

    words: Any
    row: Any
    only_where: Any
    reached: Any
    listed: Any
    stride: Any
    drawn: Any


@functools.cache
def _make_add_to_pair(target: Target) -> Any:
    """A device function (sums, y, more) that adds to the sum of a pair.

    Sums that come back to zero, modulo 2^64, are listed again; the list may then be too short.
    """
    cuda = target.cuda

    @target.device
    def add_to_pair(sums, y, more):
        if sums.only_where >= 0:
            if sums.words[sums.only_where + y] != L(0):
                cuda.atomic.add(sums.words, sums.row + y, more)
        elif more != L(0) and L(cuda.atomic.add(sums.words, sums.row + y, more)) == L(0):
            place = S(cuda.atomic.add(sums.drawn, 1, U(1)))
            if place < sums.stride:
                sums.reached[sums.listed + place] = np.int32(y)

    return add_to_pair


@functools.cache
def _make_add_paths(target: Target, threads: int, lanes: int) -> Any:
    """A device function (rows, x, values, below, prime, thread, sums) that adds the paths x, z, y to the pairs."""
    add_to_pair, value_at, (times, _) = _make_add_to_pair(target), make_value_at(target), residue_functions(target)
    LANES, GROUPS, SHIFT = lanes, threads // lanes, lanes.bit_length() - 1

    @target.device
    def add_paths(rows, x, values, below, prime, thread, sums):
        a, b = values[0], values[1]
        e = rows.offsets[x] + S(U(thread >> U(SHIFT)))
        while e < rows.offsets[x + 1]:
            z, first = S(rows.targets[e]), L(value_at(a, e))
            f, end = rows.offsets[z] + S(U(thread & U(LANES - 1))), rows.offsets[z + 1]
            if below != U(0):
                end = rows.reverse[e]
            while f < end:
                add_to_pair(sums, S(rows.targets[f]), times(first, value_at(b, f), prime))
                f += LANES
            e += GROUPS

    return add_paths


@functools.cache
def _make_add_diamonds(target: Target, threads: int, lanes: int, plain: bool) -> Any:
    """A device function (rows, x, values, lists, below, prime, thread, sums) that adds the diamonds of x to the pairs.

    If `plain`, they have no values. They are those of the triangle lists alone.
    """
    add_to_pair, value_at, (times, _) = _make_add_to_pair(target), make_value_at(target), residue_functions(target)
    LANES, GROUPS, SHIFT, PLAIN = lanes, threads // lanes, lanes.bit_length() - 1, plain

    @target.device
    def add_diamonds(rows, x, values, lists, below, prime, thread, sums):
        a, b, c, d, e = values
        i, last = S(lists.by_vertex[x]) + S(U(thread >> U(SHIFT))), S(lists.by_vertex[x + 1])
        while i < last:
            wz = lists.opposite_arcs[i]
            by_wz, by_zw = L(2), L(0)  # from x by way of w, z in this order, and in the other
            if not PLAIN:
                xw, xz = rows.reverse[lists.vertex_sides[2 * i]], rows.reverse[lists.vertex_sides[2 * i + 1]]
                zw = rows.reverse[wz]
                by_wz = times(times(value_at(a, xw), value_at(b, xz), prime), value_at(c, wz), prime)
                by_zw = times(times(value_at(a, xz), value_at(b, xw), prime), value_at(c, zw), prime)
            k, end = S(lists.by_arc[wz]) + S(U(thread & U(LANES - 1))), S(lists.by_arc[wz + 1])
            while k < end:
                y, more = S(lists.opposite_vertices[k]), by_wz
                if below == U(0) or y < x:
                    if not PLAIN:
                        wy, zy = lists.arc_sides[2 * k], lists.arc_sides[2 * k + 1]
                        more = times(times(by_wz, value_at(d, wy), prime), value_at(e, zy), prime)
                        other = times(times(by_zw, value_at(d, zy), prime), value_at(e, wy), prime)
                        more = L(more + other)
                    add_to_pair(sums, y, more)
                k += LANES
            i += GROUPS

    return add_diamonds


@functools.cache
def _make_add_powers(target: Target, threads: int) -> Any:
    """A device function (x, terms, prime, thread, sums) -> uint64 that adds up the pairs of x and clears their sums."""
    cuda, THREADS = target.cuda, threads
    value_at, (times, _) = make_value_at(target), residue_functions(target)

    @target.device
    def to_power(product, value, power, prime):
        if prime != L(0):
            value = L(value % prime)
        i = S(0)
        while i < power:
            product = times(product, value, prime)
            i += 1
        return product

    @target.device
    def add_powers(x, terms, prime, thread, sums):
        k, count, total = S(thread), S(sums.drawn[1]), L(0)
        every, second_row = count > sums.stride, sums.row + sums.stride
        if every:
            count = sums.stride
        while k < count:
            y = k
            if not every:
                y = S(sums.reached[sums.listed + k])
            value, second = L(cuda.atomic.exch(sums.words, sums.row + y, L(0))), L(0)
            if terms.second.power > 0 and value != L(0):  # y may be listed twice: the first to come has the sum
                second = L(sums.words[second_row + y])
                sums.words[second_row + y] = L(0)
            if value != L(0) and (y != x or terms.distinct == U(0)):
                product = to_power(L(value_at(terms.y_weights, y)), value, terms.first.power, prime)
                total = L(total + to_power(product, second, terms.second.power, prime))
            k += THREADS
        if prime != L(0):
            total = L(total % prime)
        return times(total, value_at(terms.x_weights, x), prime)

    return add_powers


@kernel_factory
def make_pairs(target: Target, threads: int, lanes: int, diamonds: tuple[bool, bool], plain: bool) -> Any:
    """The kernel that adds up, over pairs (x, y), what connects them to powers, times weights of both.

    `diamonds` says which kinds are diamonds; if `plain`, these have no values. The second kind's row stands after that
    of the first; it is not there if its power is 0.
    """
    cuda, WARP, lane_of, warp_of, draw = target.cuda, target.WARP, target.lane, target.warp, make_draw(target)
    add_to, add_powers = warp_functions(target).add_to, _make_add_powers(target, threads)
    add_paths, add_diamonds = _make_add_paths(target, threads, lanes), _make_add_diamonds(target, threads, lanes, plain)
    FIRST, SECOND = diamonds

    @target.kernel
    def pairs(rows, batch, terms, lists, prime, pair_rows, reached, state):
        drawn = cuda.shared.array(2, uint32)  # the item; how many y are listed
        lane, words, stride = lane_of(), pair_rows.words, pair_rows.stride
        thread = U(U(warp_of() * U(WARP)) + lane)
        listed, total = S(cuda.blockIdx.x) * stride, L(0)
        row, below = 2 * listed, terms.below
        first_sums = PairSums(words, row, S(-1), reached.words, listed, stride, drawn)
        second_sums = PairSums(words, row + stride, row, reached.words, listed, stride, drawn)
        while True:
            item = draw(drawn, thread, state, batch.start)
            if item >= batch.stop:
                break
            x = S(batch.vertices[item])
            if FIRST:
                add_diamonds(rows, x, terms.first.values, lists, below, prime, thread, first_sums)
            else:
                add_paths(rows, x, terms.first.values, below, prime, thread, first_sums)
            cuda.syncthreads()
            if terms.second.power > 0:
                if SECOND:
                    add_diamonds(rows, x, terms.second.values, lists, below, prime, thread, second_sums)
                elif drawn[1] > U(0):
                    add_paths(rows, x, terms.second.values, below, prime, thread, second_sums)
                cuda.syncthreads()
            total = L(total + add_powers(x, terms, prime, thread, first_sums))
        if prime != L(0):
            total = L(total % prime)
        cuda.syncwarp()
        add_to(state, lane, total)

    return pairs


def signatures(threads: int, lanes: int) -> list[DeclaredKernel]:
    """Each kernel as a GPU gets it."""
    kind = block_of(Kind, types.UniTuple(VALUES, 5), int64)
    terms = block_of(PairTerms, kind, kind, VALUES, VALUES, uint32, uint32)
    signature = void(ROWS, VERTEX_BATCH, terms, TRIANGLE_LISTS, uint64, BLOCK_ROWS, BLOCK_LISTS, uint64[::1])
    return [
        DeclaredKernel(
            f"pairs {diamonds}{' plain' * plain}", make_pairs.recipe(threads, lanes, diamonds, plain), signature
        )
        for diamonds in ((False, False), (True, False), (True, True))
        for plain in ((True, False) if diamonds[0] else (True,))
    ]
