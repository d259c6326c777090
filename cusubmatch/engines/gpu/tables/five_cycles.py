"""Cycles of five from their highest vertex u: u, a, b, c, d and back, all of them different.

A block takes a top u and counts its wedges u, a, b below it, as `wedges` does; along the edges b, c between their ends
the products add up. What that counts too much, where a is c or b is d, falls out on the way; where a is d it is a
triangle with a neighbour above it (`triangle_tables`). The ends that were reached are noted once, those with many lower
neighbours apart: the whole block goes over the rows of these.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import int32, int64, uint32, uint64, void

from cusubmatch.engines.gpu.runtime.cuda import Target
from cusubmatch.engines.gpu.runtime.warp import warp_functions
from cusubmatch.engines.gpu.runtime.work_counter import make_draw
from cusubmatch.engines.gpu.tables.counter_rows import counter_functions
from cusubmatch.engines.gpu.tables.modular import residue_functions

__all__ = ["LONG", "make_fives", "make_loops", "signatures"]

U, L, S = np.uint32, np.uint64, np.int64

LONG = 256  # lower neighbours, from which on a whole block goes over them


@functools.cache
def make_fives(target: Target, threads: int, lanes: int, packed: bool, long: int = LONG) -> Any:
    """The kernel that counts closed walks of five below their top, less those with a = c or b = d.

    The flag of a counter says whether the vertex is a neighbour of the top.
    """
    cuda, WARP, kernel, lane_of, warp_of = target.cuda, target.WARP, target.kernel, target.lane, target.warp
    add_to, counters = warp_functions(target).add_to, counter_functions(target, packed)
    (add, get, clear, FLAG, EACH), draw = counters, make_draw(target)
    LANES, GROUPS, SHIFT, THREADS = lanes, threads // lanes, lanes.bit_length() - 1, threads
    LONG_ROW = long

    @target.device
    def around(near, rest, base, row, targets, begin, end, step):
        """The sum of the counts of vertices in a list."""
        sums = L(0)
        while begin < end:
            sums = L(sums + L(get(near, rest, base, row, S(targets[begin]))))
            begin += step
        return sums

    @kernel
    def fives(offsets, targets, upper, reverse, tops, start, stop, window, rest, words, seen, vertices, state):
        near = cuda.shared.array(0, uint32)
        drawn = cuda.shared.array(3, uint32)  # the item; how many ends have few lower neighbours, and many
        lane = lane_of()
        thread = U(U(warp_of() * U(WARP)) + lane)
        member, group = S(U(thread & U(LANES - 1))), S(U(thread >> U(SHIFT)))
        row, listed, total = S(cuda.blockIdx.x) * words, S(cuda.blockIdx.x) * vertices, L(0)
        backwards = listed + vertices - 1  # those with many are listed from here
        i = S(thread)
        while i * EACH < window:
            near[i] = U(0)
            i += THREADS
        while True:
            item = draw(drawn, thread, state, start)
            if item >= stop:
                break
            u = tops[item]
            first, last, base = offsets[u], upper[u], S(u) - window
            e = first + S(thread)
            while e < last:
                add(near, rest, base, row, S(targets[e]), U(FLAG))
                e += THREADS
            cuda.syncthreads()
            e = first + group
            while e < last:
                begin, end = offsets[targets[e]], reverse[e]
                f, twice = begin + member, L(2 * (end - begin) - 1)
                while f < end:
                    w = S(targets[f])
                    old = add(near, rest, base, row, w, U(1))
                    if old >= U(FLAG):
                        total = L(total - twice)
                    if U(old & U(FLAG - 1)) == U(0):
                        if upper[w] - offsets[w] > LONG_ROW:
                            place = backwards - S(cuda.atomic.add(drawn, 2, U(1)))
                        else:
                            place = listed + S(cuda.atomic.add(drawn, 1, U(1)))
                        seen[place] = np.int32(w)
                    f += LANES
                e += GROUPS
            cuda.syncthreads()
            few, many = S(drawn[1]), S(drawn[2])
            k = group
            while k < few:
                b = S(seen[listed + k])
                twice = L(2) * L(get(near, rest, base, row, b))
                sums = around(near, rest, base, row, targets, offsets[b] + member, upper[b], LANES)
                total = L(total + L(twice * sums))
                k += GROUPS
            k = S(0)
            while k < many:
                b = S(seen[backwards - k])
                twice = L(2) * L(get(near, rest, base, row, b))
                sums = around(near, rest, base, row, targets, offsets[b] + S(thread), upper[b], THREADS)
                total = L(total + L(twice * sums))
                k += 1
            cuda.syncthreads()
            k = S(thread)
            while k < few + many:
                place = listed + k
                if k >= few:
                    place = backwards - (k - few)
                clear(near, rest, base, row, S(seen[place]))
                k += THREADS
            e = first + S(thread)
            while e < last:
                clear(near, rest, base, row, S(targets[e]))
                e += THREADS
        cuda.syncwarp()
        add_to(state, lane, total)

    return fives


@functools.cache
def make_loops(target: Target, threads: int) -> Any:
    """The kernel of `fives` with a weight on each of the five steps, u being where the first one starts.

    A warp has a list. `x_back` is an array turned round: at (q, p) what it is at (p, q). The four rows of a block stand
    one after another in `rows`.
    """
    cuda, WARP, FULL, kernel = target.cuda, target.WARP, target.FULL, target.kernel
    lane_of, warp_of, functions = target.lane, target.warp, warp_functions(target)
    add_to, warp_sum, (times, _) = functions.add_to, functions.warp_sum, residue_functions(target)
    WARPS, THREADS, draw = threads // target.WARP, threads, make_draw(target)

    @target.device
    def reduced(value, prime):
        found = warp_sum(value)
        if prime != L(0):
            found = L(found % prime)
        return found

    @kernel
    def loops(
        offsets, targets, upper, reverse, tops, start, stop, one, one_mask, two, two_mask, two_back, three, three_mask,
        three_back, four, four_mask, four_back, five_back, five_mask, prime, rows, seen, stride, state,
    ):  # fmt: skip
        drawn = cuda.shared.array(2, uint32)  # the item; how many ends were reached
        lane, warp = lane_of(), warp_of()
        thread = S(U(U(warp * U(WARP)) + lane))
        left = S(cuda.blockIdx.x) * stride
        listed, left = left, 4 * left
        right, ahead, behind = left + stride, left + 2 * stride, left + 3 * stride
        total, less = L(0), L(0)
        while True:
            item = draw(drawn, thread, state, start)
            if item >= stop:
                break
            u = tops[item]
            first, last = offsets[u], upper[u]
            e = first + thread
            while e < last:
                rows[ahead + S(targets[e])] = L(one[e & one_mask])
                rows[behind + S(targets[e])] = L(five_back[e & five_mask])
                e += THREADS
            cuda.syncthreads()
            e = first + S(warp)
            while e < last:
                out_there, back_here = L(one[e & one_mask]), L(five_back[e & five_mask])
                b_sum, a_sum, d_sum, c_sum, both = L(0), L(0), L(0), L(0), L(0)
                f, end = offsets[targets[e]] + S(lane), reverse[e]
                while f < end:
                    w = S(targets[f])
                    second, fourth = L(two[f & two_mask]), L(four_back[f & four_mask])
                    more = times(out_there, second, prime)
                    if more != L(0) and L(cuda.atomic.add(rows, left + w, more)) == L(0):
                        place = S(cuda.atomic.add(drawn, 1, U(1)))
                        if place < stride:
                            seen[listed + place] = np.int32(w)
                    cuda.atomic.add(rows, right + w, times(back_here, fourth, prime))
                    b_side = times(second, three_back[f & three_mask], prime)  # v is a and c, w is b
                    closing = times(four[f & four_mask], rows[behind + w], prime)  # w is d
                    b_sum, d_sum = L(b_sum + b_side), L(d_sum + closing)
                    both = L(both + times(b_side, closing, prime))
                    c_sum = L(c_sum + times(fourth, three[f & three_mask], prime))  # v is b and d, w is c
                    a_sum = L(a_sum + times(two_back[f & two_mask], rows[ahead + w], prime))  # w is a
                    f += WARP
                cuda.syncwarp()
                b_sum, d_sum, both = reduced(b_sum, prime), reduced(d_sum, prime), reduced(both, prime)
                c_sum, a_sum = reduced(c_sum, prime), reduced(a_sum, prime)
                if lane == U(0):
                    less = L(less + times(out_there, times(b_sum, d_sum, prime), prime))
                    less = L(less + times(back_here, times(c_sum, a_sum, prime), prime))
                    less = L(less + L(prime - times(out_there, both, prime)))
                e += WARPS
            cuda.syncthreads()
            k, reached = S(warp), S(drawn[1])
            every = reached > stride  # modulo 2^64 sums may come back to zero, and are noted again
            if every:
                reached = stride
            while k < reached:
                b, weight = k, np.int64(0)
                if not every:
                    b = S(seen[listed + k])
                if lane == U(0):
                    weight = np.int64(cuda.atomic.exch(rows, left + b, L(0)))
                weight = L(cuda.shfl_sync(FULL, weight, 0))
                if prime != L(0):
                    weight = L(weight % prime)
                f, end, sums, going = offsets[b] + S(lane), offsets[b + 1], L(0), weight != L(0)
                while going and f < end:
                    c = S(targets[f])
                    if c >= u:
                        break
                    other = L(rows[right + c])
                    if prime != L(0):
                        other = L(other % prime)
                    sums = L(sums + times(other, three[f & three_mask], prime))
                    f += WARP
                if prime != L(0):
                    sums = L(sums % prime)
                total = L(total + times(weight, sums, prime))
                cuda.syncwarp()
                k += WARPS
            cuda.syncthreads()
            e = first + S(warp)
            while e < last:
                v, f, end = S(targets[e]), offsets[targets[e]] + S(lane), reverse[e]
                if lane == U(0):
                    rows[ahead + v] = L(0)
                    rows[behind + v] = L(0)
                while f < end:
                    rows[right + S(targets[f])] = L(0)
                    f += WARP
                e += WARPS
            if prime != L(0):
                total, less = L(total % prime), L(less % prime)
        total = L(total - less)
        if prime != L(0):
            total = L(L(total + prime) % prime)
        cuda.syncwarp()
        add_to(state, lane, total)

    return loops


def signatures(target: Target, threads: int, lanes: int) -> list[tuple[str, Any, Any]]:
    """(name, function, Numba signature) of each kernel as a GPU gets it, for a budget of registers."""
    target = target._replace(kernel=lambda function: function)
    ids, places, words, numbers = int32[::1], int64[::1], uint32[::1], uint64[::1]
    below = (places, ids, places, places, ids, uint32, uint32)
    sided = (numbers, int64, numbers)
    steps = (numbers, int64, *sided, *sided, *sided, numbers, int64)
    rest = (int64, words, int64, ids, int64, numbers)
    return [
        ("fives", make_fives(target, threads, lanes, False), void(*below, *rest)),
        ("fives packed", make_fives(target, threads, lanes, True), void(*below, *rest)),
        ("loops", make_loops(target, threads), void(*below, *steps, uint64, numbers, ids, int64, numbers)),
    ]
