"""Cycles of five, each from its highest vertex u: u, a, b, c, d and back, all of them different.

Wedges u, a, b and u, d, c below u are counted in rows of one number a vertex; along the edges between b and c the
products add up. That also counts walks that are no cycles, in which a is c, b is d or a is d. The first two kinds are
subtracted on the way. The third is a triangle at a with a neighbour u of a that is above all three: see
`triangle_tables.degenerate_walks`. Kernel conventions are those of `four_cycles`. The values of `x_back` are those of
x, transposed: at (q, p) what they are at (p, q).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import inlined, jit
from cusubmatch.engines.cpu.tables.four_cycles import forget_below
from cusubmatch.engines.cpu.tables.modular import ONE, ZERO, reduced, times
from cusubmatch.engines.cpu.tables.parameters import ArcValues, value_at

__all__ = ["FiveCycleRows", "FiveCycleValues", "five_cycles", "weighted_five_cycles"]


class FiveCycleValues(NamedTuple):
    """Weights of the five steps u, a, b, c, d, u."""

    first: ArcValues
    second: ArcValues
    second_back: ArcValues
    third: ArcValues
    third_back: ArcValues
    fourth: ArcValues
    fourth_back: ArcValues
    fifth_back: ArcValues


class FiveCycleRows(NamedTuple):
    """Numbers of every vertex, uint64, zero before and after: sums over wedges to b, over wedges to c, to a, to d."""

    to_b: Any
    to_c: Any
    to_a: Any
    to_d: Any


@jit
def five_cycles(rows, begin, end, budget, row, is_neighbour, reached, out):
    """Add to out[0] the closed walks of five steps below their highest vertex, less those with a = c or b = d."""
    steps, total, offsets, targets = 0, ZERO, rows.offsets, rows.targets
    for u in range(begin, end):
        first, last, size = offsets[u], rows.upper[u], 0
        for e in range(first, last):
            is_neighbour[targets[e]] = True
        for e in range(first, last):
            v, neighbours_below, below = targets[e], ZERO, ZERO
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    steps += f - offsets[v]
                    break
                if row[w] == ZERO:
                    reached[size] = w
                    size += 1
                row[w] += ONE
                below += ONE
                neighbours_below += np.uint64(is_neighbour[w])
            total -= np.uint64(2) * neighbours_below * below - neighbours_below
        for i in range(size):
            b, sums = reached[i], ZERO
            for f in range(offsets[b], offsets[b + 1]):
                c = targets[f]
                if c >= b:  # the pair is counted at its higher end
                    steps += f - offsets[b]
                    break
                sums += row[c]
            total += np.uint64(2) * row[b] * sums
        for i in range(size):
            row[reached[i]] = ZERO
        for e in range(first, last):
            is_neighbour[targets[e]] = False
        if steps > budget:
            out[0] += total
            return u + 1
    out[0] += total
    return end


@inlined
def _add_wedges(rows, u, values, prime, sums):
    """Add the wedges of u to the rows; the walks with a = c or b = d, and the steps taken."""
    steps, degenerate, offsets, targets = 0, ZERO, rows.offsets, rows.targets
    for e in range(offsets[u], rows.upper[u]):
        v, ahead, behind = targets[e], value_at(values.first, e), value_at(values.fifth_back, e)
        a_sum = b_sum = c_sum = d_sum = both = ZERO
        for f in range(offsets[v], offsets[v + 1]):
            w = targets[f]
            if w >= u:
                steps += f - offsets[v]
                break
            second, fourth_back = value_at(values.second, f), value_at(values.fourth_back, f)
            sums.to_b[w] += times(ahead, second, prime)
            sums.to_c[w] += times(behind, fourth_back, prime)
            there_and_back = times(second, value_at(values.third_back, f), prime)  # v is a and c, w is b
            closing = times(value_at(values.fourth, f), sums.to_d[w], prime)  # w is d
            b_sum += there_and_back
            d_sum += closing
            both += times(there_and_back, closing, prime)
            c_sum += times(fourth_back, value_at(values.third, f), prime)  # v is b and d, w is c
            a_sum += times(value_at(values.second_back, f), sums.to_a[w], prime)  # w is a
        degenerate += times(ahead, times(reduced(b_sum, prime), reduced(d_sum, prime), prime), prime)
        degenerate += times(behind, times(reduced(c_sum, prime), reduced(a_sum, prime), prime), prime)
        degenerate += prime - times(ahead, reduced(both, prime), prime)  # prime is 0 where there is none
    return degenerate, steps


@inlined
def _join_wedges(rows, u, third, prime, sums):
    """The sum over edges b, c below u of the products of the rows, and the steps taken; sets the row of b to zero."""
    steps, total, offsets, targets = 0, ZERO, rows.offsets, rows.targets
    for e in range(offsets[u], rows.upper[u]):
        v = targets[e]
        for f in range(offsets[v], offsets[v + 1]):
            b = targets[f]
            if b >= u:
                break
            weight = sums.to_b[b]
            if weight == ZERO:
                continue
            sums.to_b[b] = ZERO
            at_b = ZERO
            for g in range(offsets[b], offsets[b + 1]):
                c = targets[g]
                if c >= u:
                    steps += g - offsets[b]
                    break
                at_b += times(reduced(sums.to_c[c], prime), value_at(third, g), prime)
            total += times(reduced(weight, prime), reduced(at_b, prime), prime)
    return total, steps


@jit
def weighted_five_cycles(rows, values, begin, end, budget, prime, sums, out):
    """Count as `five_cycles`, with a weight on each of the five steps, the first of which starts at u."""
    steps, total = 0, ZERO
    for u in range(begin, end):
        first, last = rows.offsets[u], rows.upper[u]
        for e in range(first, last):
            sums.to_a[rows.targets[e]] = value_at(values.first, e)
            sums.to_d[rows.targets[e]] = value_at(values.fifth_back, e)
        degenerate, wedge_steps = _add_wedges(rows, u, values, prime, sums)
        joined, edge_steps = _join_wedges(rows, u, values.third, prime, sums)
        for e in range(first, last):
            sums.to_a[rows.targets[e]] = sums.to_d[rows.targets[e]] = ZERO
        forget_below(rows, u, sums.to_c)
        total += joined
        total = total - degenerate if prime == ZERO else (total + prime - degenerate % prime) % prime
        steps += wedge_steps + edge_steps
        if steps > budget:
            out[0] += total
            return u + 1
    out[0] += total
    return end
