"""A count by variable elimination (bucket elimination, Dechter 1999), on dense tables that each block has for itself.

The table of a vertex has, for each combination of candidates of those that it is joined to, the sum over its own
candidates that agree with these of the products of earlier tables. The candidates of one of the others, the fastest,
are the lanes; those of all others are gone through one after the other, and combinations that do not agree left out.

Numbers are kept modulo 2^64 and as floats. Both together give the number if the float is off by less than 2^63.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.combinations import go_through_function
from cusubmatch.engines.gpu.cutset.world_rows import row_function
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["MOST_PAIRS", "sum_function"]

U, L = np.uint32, np.uint64
MOST_PAIRS = 256  # of candidates of the two fastest vertices


def sum_function(target: Target) -> Any:
    """A device function (sh, own, parts, arrays, width, number, begin, first_id) -> word, value: of so many vertices.

    The whole block calls it. `own` is where the warp's state begins; `parts` are the `StateParts`; `arrays` have the
    world's rows, all tables as `words` and as `numbers`, the block's from `begin` on, and room for pairs of
    candidates, `ids`, the block's from `first_id` on.
    """
    cuda, lane_of, warp_of = target.cuda, target.lane, target.warp
    bits = bit_functions(target)
    first_of, without_first = bits.first_of, bits.without_first
    factors_of, levels_of, prepare = _factors_function(target), _levels_function(target), _prepare_function(target)
    begin_own, go_through, total_of = _begin_function(target), go_through_function(target), _total_function(target)
    combinations = _combinations_function(target)

    @target.device
    def largest_of(sh, vertices, most):
        """The vertex with most candidates, but no more than so many; and how many. MAX_VERTICES and 0 if none has."""
        largest, size = U(f.MAX_VERTICES), U(0)
        while vertices != U(0):
            u = first_of(vertices)
            vertices = without_first(vertices)
            of_u = U(sh[U(U(f.SIZES) + u)])
            if of_u > size and of_u <= most:
                largest, size = u, of_u
        return largest, size

    @target.device
    def sum_of_products(sh, own, parts, arrays, width, number, begin, first_id):
        word, value, top, alive = L(1), 1.0, U(0), U(0)
        for step in range(number):
            v, bag = U(sh[U(U(f.ORDER) + U(step))]), U(sh[U(U(f.BAGS) + U(step))])
            fastest, size = largest_of(sh, bag, U(0xFFFFFFFF))
            rest = U(bag & U(~U(U(1) << U(fastest & U(31)))))
            second, _ = largest_of(sh, rest, U(U(MOST_PAIRS) // max(size, U(1))))
            second = fastest if second == U(f.MAX_VERTICES) else second
            cuda.syncthreads()  # nobody reads the tables of the last step, or what it has written, any more
            used, count = factors_of(sh, alive, v)
            alive, last = U(alive & U(~used)), U(0)
            if bag != U(0):
                last = levels_of(sh, U(rest & U(~U(U(1) << second))))
                if warp_of() == U(0):
                    if lane_of() == U(0):
                        sh[U(U(f.FASTEST) + U(step))], sh[U(U(f.SECOND) + U(step))] = fastest, second
                        sh[U(U(f.PLACES) + U(step))] = top
                        sh[U(U(f.FACTORS) + count)] = U(step)
                    cuda.syncwarp()
                    prepare(sh, parts, arrays, first_id, width, last, fastest, second, v, count)
            cuda.syncthreads()
            if bag == U(0):
                one, one_value = total_of(sh, arrays, begin, v, count)
                word, value = L(word * one), value * one_value
            else:
                alive, top = U(alive | U(U(1) << U(step))), U(top + combinations(sh, bag))
                begin_own(sh, own, parts, width, fastest, second, v, count)
                go_through(sh, own, parts, arrays, width, begin, first_id, last, fastest, second, v, count)
        cuda.syncthreads()
        return word, value

    return sum_of_products


def _combinations_function(target):
    bits = bit_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @target.device
    def combinations(sh, vertices):
        """How many combinations of candidates some vertices have."""
        number = U(1)
        while vertices != U(0):
            number = U(number * U(sh[U(U(f.SIZES) + first_of(vertices))]))
            vertices = without_first(vertices)
        return number

    return combinations


def _factors_function(target):
    lane_of, warp_of = target.lane, target.warp
    bits = bit_functions(target)
    first_of, without_first, has = bits.first_of, bits.without_first, bits.has

    @target.device
    def factors_of(sh, alive, v):
        """Write the tables that have v among their vertices; these as bits, and how many."""
        used, count = U(0), U(0)
        while alive != U(0):
            other = first_of(alive)
            alive = without_first(alive)
            if has(U(sh[U(U(f.BAGS) + other)]), v):
                if lane_of() == U(0) and warp_of() == U(0):
                    sh[U(U(f.FACTORS) + count)] = other
                used, count = U(used | U(U(1) << other)), U(count + U(1))
        return used, count

    return factors_of


def _levels_function(target):
    cuda, lane_of, warp_of = target.cuda, target.lane, target.warp
    bits = bit_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @target.device
    def levels_of(sh, vertices):
        """Write vertices so that each is joined to many before it, those with few candidates first; how many."""
        chosen, level = U(0), U(0)
        while vertices != U(0):
            best, most, size, rest = U(0), U(0), U(0xFFFFFFFF), vertices
            while rest != U(0):
                v = first_of(rest)
                rest = without_first(rest)
                near = U(cuda.popc(U(U(sh[U(U(f.JOINED) + v)]) & chosen)))
                of_v = U(sh[U(U(f.SIZES) + v)])
                if near > most or (near == most and of_v < size):
                    best, most, size = v, near, of_v
            if lane_of() == U(0) and warp_of() == U(0):
                sh[U(U(f.LEVELS) + level)] = best
            chosen, level = U(chosen | U(U(1) << best)), U(level + U(1))
            vertices = U(vertices & U(~U(U(1) << best)))
        return level

    return levels_of


def _prepare_function(target):
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane
    bits = bit_functions(target)
    first_of, without_first, has, below = bits.first_of, bits.without_first, bits.has, bits.below
    combinations, row_of = _combinations_function(target), row_function(target)

    @target.device
    def stride_of(sh, table, vertex):
        """How far the places of two successive candidates of a vertex are apart; 0 if the table is not about it."""
        bag, fastest = U(sh[U(U(f.BAGS) + table)]), U(sh[U(U(f.FASTEST) + table)])
        stride, second = U(0), U(sh[U(U(f.SECOND) + table)])
        if vertex == fastest:
            stride = U(1)
        elif vertex == second:
            stride = U(sh[U(U(f.SIZES) + fastest)])
        elif has(bag, vertex):
            lower = U(bag & U(U(U(1) << vertex) - U(1)))
            stride = combinations(sh, U(lower | U(U(U(1) << fastest) | U(U(1) << second))))
        return stride

    @target.device
    def put_pairs(sh, parts, arrays, first_id, width, fastest, second):
        """Write the pairs of candidates of two vertices that agree, and their ranks; or those of one, twice."""
        at, rank, is_joined = U(0), U(0), has(U(sh[U(U(f.JOINED) + second)]), fastest)
        first, record = row_of(sh, second, fastest, width)
        for word in range(width):
            rest = U(sh[U(U(parts.sets) + U(U(second * width) + U(word)))])
            while rest != U(0):
                z, before = U(U(U(word) << U(5)) + first_of(rest)), U(0)
                rest = without_first(rest)
                for k in range(width):
                    found = U(sh[U(U(parts.sets) + U(U(fastest * width) + U(k)))])
                    mine = found
                    if is_joined:
                        mine = U(found & U(arrays.rows[U(U(first + U(z * record)) + U(k))]))
                    if fastest == second:
                        mine = U(found & U(U(1) << U(z & U(31)))) if U(k) == U(z >> U(5)) else U(0)
                    bit = U(lane_of())
                    while bit < U(32):
                        if has(mine, bit):
                            to = L(L(first_id) + L(U(U(2) * U(at + below(mine, bit)))))
                            arrays.ids[to] = U(U(z << U(16)) | U(U(U(k) << U(5)) + bit))
                            arrays.ids[L(to + L(1))] = U(U(rank << U(16)) | U(before + below(found, bit)))
                        bit = U(bit + U(WARP))
                    at, before = U(at + U(cuda.popc(mine))), U(before + U(cuda.popc(found)))
                rank = U(rank + U(1))
        if lane_of() == U(0):
            sh[f.PAIRS] = at

    @target.device
    def prepare(sh, parts, arrays, first_id, width, last, fastest, second, v, count):
        """Write what does not change while a table is made: strides, ranks, and the lanes' pairs; a warp does it.

        A level after the last ones is that of the fastest vertex, then come the second and v.
        """
        factors = U(count + U(1))
        t = U(lane_of())
        while t < U(U(last + U(3)) * factors):
            level = U(t // factors)
            table = U(sh[U(U(f.FACTORS) + U(t - U(level * factors)))])
            vertex = v
            if level < last:
                vertex = U(sh[U(U(f.LEVELS) + level)])
            elif level == last:
                vertex = fastest
            elif level == U(last + U(1)):
                vertex = second
            stride = stride_of(sh, table, vertex)
            sh[U(U(parts.strides) + t)] = U(0) if level == U(last + U(1)) and second == fastest else stride
            t = U(t + U(WARP))
        of_v = U(U(parts.sets) + U(v * width))
        k = U(lane_of())
        while k < width:
            number = U(0)
            for word in range(k):
                number = U(number + U(cuda.popc(sh[U(of_v + U(word))])))
            sh[U(U(parts.before) + k)] = number
            k = U(k + U(WARP))
        put_pairs(sh, parts, arrays, first_id, width, fastest, second)

    return prepare


def _begin_function(target):
    cuda, WARP, lane_of = target.cuda, target.WARP, target.lane

    @target.device
    def begin_own(sh, own, parts, width, fastest, second, v, count):
        """Write how each warp begins: all candidates are left, and tables are at their first place."""
        t = U(lane_of())
        while t <= count:
            table = U(sh[U(U(f.FACTORS) + t)])
            sh[U(U(own + U(parts.offsets)) + t)] = U(sh[U(U(f.PLACES) + table)])
            t = U(t + U(WARP))
        k = U(lane_of())
        while k < width:
            left = U(U(own + U(parts.left)) + k)
            sh[left] = U(sh[U(U(parts.sets) + U(U(v * width) + k))])
            sh[U(left + width)] = U(sh[U(U(parts.sets) + U(U(fastest * width) + k))])
            sh[U(left + U(U(2) * width))] = U(sh[U(U(parts.sets) + U(U(second * width) + k))])
            k = U(k + U(WARP))
        if lane_of() == U(0):
            sh[U(own + U(f.NEXT))], sh[U(own + U(f.RANKS))] = U(0), U(0)
        cuda.syncwarp()

    return begin_own


def _total_function(target):
    @target.device
    def total_of(sh, arrays, begin, v, count):
        """The sum over the candidates of v, which is the only vertex of so many tables."""
        total, value = L(0), 0.0
        for rank in range(U(sh[U(U(f.SIZES) + v)])):
            word, number = L(1), 1.0
            for i in range(count):
                table = U(sh[U(U(f.FACTORS) + U(i))])
                at = L(begin + L(U(U(sh[U(U(f.PLACES) + table)]) + U(rank))))
                word = L(word * L(arrays.words[at]))
                number *= arrays.numbers[at]
            total, value = L(total + word), value + number
        return total, value

    return total_of
