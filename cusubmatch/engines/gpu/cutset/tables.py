"""A count by variable elimination (bucket elimination, Dechter 1999), on dense tables that each block has for itself.

The table of a vertex has, for each combination of candidates of those that it is joined to, the sum over its own
candidates that agree with these of the products of earlier tables. Combinations that do not agree are left out.

Numbers are kept modulo 2^64, as one word where all of a table are smaller than 2^32, else as two; and as floats, too,
where they may be larger. Both together give the number if the float is off by less than 2^63.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.cutset import state_format as f
from cusubmatch.engines.gpu.cutset.combinations import go_through_function
from cusubmatch.engines.gpu.cutset.inner_combinations import list_function
from cusubmatch.engines.gpu.cutset.sums import number_functions
from cusubmatch.engines.gpu.cutset.table_layout import INNER, inner_function
from cusubmatch.engines.gpu.runtime.bits import bit_functions
from cusubmatch.engines.gpu.runtime.cuda import Target

__all__ = ["BlockTables", "sum_function"]

U, L = np.uint32, np.uint64


class BlockTables(NamedTuple):
    """Arrays of all blocks, of which each has a part.

    Attributes
    ----------
    low, high, numbers : uint32, uint32, float64
        The tables: modulo 2^32; what is above, up to 2^64, of wide ones; as floats where they are rounded.
    rows : uint32
        Of tasks.
    list_ : uint32
        For combinations of candidates of inner vertices.
    room : uint32
        For how many there is room in a block's part.
    """

    low: Any
    high: Any
    numbers: Any
    rows: Any
    list_: Any
    room: Any


def sum_function(target: Target) -> Any:
    """A device function (sh, own, parts, tables, n, number) -> word, value: of so many vertices, whose order is known.

    The whole block calls it. `own` is where the warp's state begins; `parts` are the `StateParts`; `tables` the
    `BlockTables`.
    """
    cuda, WARP, lane_of, warp_of = target.cuda, target.WARP, target.lane, target.warp
    bits = bit_functions(target)
    has, below = bits.has, bits.below
    put_list, go_through, total_of = list_function(target), go_through_function(target), _total_function(target)
    digits, put_bits, inner_of = _digits_function(target), _put_bits_function(target), inner_function(target)

    @target.device
    def begin(sh, v, used, step):
        """Write the tables that are multiplied, then the one that is made, and how large its numbers may be."""
        t = U(lane_of())
        while t < U(f.MAX_VERTICES):
            if t == step or has(used, t):
                sh[U(U(f.FACTORS) + below(used, t))] = t
            t = U(t + U(WARP))
        own, number = U(U(1) << step), digits(sh, v, used)
        wide, rounded = U(sh[f.WIDE]), U(sh[f.ROUNDED])
        wide = U(wide | own) if number > U(32) else wide
        rounded = U(rounded | own) if number > U(64) or U(used & rounded) != U(0) else rounded
        cuda.syncwarp()
        if lane_of() == U(0):
            sh[f.LIST_END], sh[f.WIDE], sh[f.ROUNDED] = sh[f.LIST], wide, rounded

    @target.device
    def inner_in(inner):
        number = U(0)
        for i in range(INNER):
            if inner_of(inner, i) < U(f.MAX_VERTICES):
                number = U(number + U(1))
        return number

    @target.device
    def sum_of_products(sh, own, parts, tables, n, number):
        word, value = L(1), 1.0
        for i in range(number):
            step = U(i)
            v, bag, used = U(sh[U(U(f.ORDER) + step)]), U(sh[U(U(f.BAGS) + step)]), U(sh[U(U(f.USED) + step)])
            count = U(cuda.popc(used))
            cuda.syncthreads()  # nobody reads the tables of the last step, or what it has written, any more
            if warp_of() == U(0):
                begin(sh, v, used, step)
            cuda.syncthreads()
            if bag == U(0):
                one, one_value = total_of(sh, tables, v, count)
                word, value = L(word * one), value * one_value
            else:
                put_list(sh, parts, tables.rows, tables.list_, U(tables.room), n, step, v, count)
                cuda.syncthreads()
                last = U(U(cuda.popc(bag)) - inner_in(U(sh[U(U(f.INNERS) + step)])))
                put_bits(sh, step, go_through(sh, own, parts, tables, n, step, last, v, count))
        cuda.syncthreads()
        return word, value

    return sum_of_products


def _digits_function(target):
    cuda = target.cuda
    bits = bit_functions(target)
    first_of, without_first = bits.first_of, bits.without_first

    @target.device
    def length(word):
        return U(U(32) - U(cuda.clz(word)))

    @target.device
    def digits(sh, v, used):
        """No sum over v of products of numbers in these tables has more binary digits."""
        number = length(U(sh[U(U(f.SIZES) + v)]))
        while used != U(0):
            table = first_of(used)
            used = without_first(used)
            high, low = U(sh[U(U(f.HIGH_BITS) + table)]), U(sh[U(U(f.LOW_BITS) + table)])
            number = U(number + (U(U(32) + length(high)) if high != U(0) else length(low)))
        return number

    return digits


def _put_bits_function(target):
    cuda, lane_of, unite = target.cuda, target.lane, bit_functions(target).unite

    @target.device
    def put_bits(sh, table, written):
        """Add those of all lanes to the bits that the numbers of a table have."""
        low, high = unite(U(written & L(0xFFFFFFFF))), unite(U(written >> L(32)))
        if lane_of() == U(0):
            cuda.atomic.or_(sh, U(U(f.LOW_BITS) + table), low)
            cuda.atomic.or_(sh, U(U(f.HIGH_BITS) + table), high)

    return put_bits


def _total_function(target):
    word_at, float_at = number_functions(target)

    @target.device
    def total_of(sh, tables, v, count):
        """The sum over the candidates of v, which is the only vertex of so many tables."""
        total, value = L(0), 0.0
        for x in range(U(sh[U(U(f.SIZES) + v)])):
            word, number = L(1), 1.0
            for i in range(count):
                table = U(sh[U(U(f.FACTORS) + U(i))])
                at = U(U(sh[U(U(f.PLACES) + table)]) + U(x))
                word, number = L(word * word_at(sh, tables, table, at)), number * float_at(sh, tables, table, at)
            total, value = L(total + word), value + number
        return total, value

    return total_of
