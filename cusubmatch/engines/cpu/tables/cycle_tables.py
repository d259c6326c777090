"""Cycles of four and of five, each from its highest vertex u, all vertices different.

Of four: two of the paths u, v, w to one w, which are counted in a row of one number a vertex. Of five: u, a, b, c, d
and back. Paths u, a, b and u, d, c are counted in two such rows; along the edges b, c the products add up. That counts
too much where a is c, b is d or a is d. The first two fall out of the rows on the way; the third is a triangle at a
whose other vertices lie below u too, and is counted triangle by triangle, over the neighbours of a that lie above it.
Arrays and masks are as in `table_kernels.py`; `x_back` is an array turned round: at (q, p) what it is at (p, q).
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.tables.arc_tables import ONE, ZERO, times

__all__ = ["loops", "plain_degenerate", "plain_loops", "plain_squares", "weighted_degenerate"]

LARGEST = (1 << 32) - 1  # number of 32 bits


@jit
def plain_squares(offsets, targets, upper, begin, end, budget, prime, row, base, out):
    """Add to out[0] the cycles of four below their highest vertex.

    A number in `row`, uint32, is what it has above `base`: raising the base forgets them all.
    """
    steps, zero = 0, np.int64(base[0])
    for u in range(begin, end):
        first, last, total = offsets[u], upper[u], ZERO
        if zero + (last - first) > LARGEST:
            row[:] = 0
            zero = 0
        for e in range(first, last):
            v = targets[e]
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    steps += f - offsets[v]
                    break
                paths = max(np.int64(row[w]), zero)
                total += np.uint64(paths - zero)
                row[w] = paths + 1
        zero += last - first
        out[0] = out[0] + total if prime == ZERO else (out[0] + total % prime) % prime
        steps += 1
        if steps > budget:
            base[0] = zero
            return u + 1
    base[0] = zero
    return end


@jit
def plain_loops(offsets, targets, upper, begin, end, budget, row, near, seen, out):
    """Add to out[0] the closed walks of five below their highest vertex, less those with a = c or b = d."""
    steps, total = 0, ZERO
    for u in range(begin, end):
        first, last, found = offsets[u], upper[u], 0
        for e in range(first, last):
            near[targets[e]] = True
        for e in range(first, last):
            v, closed, below = targets[e], ZERO, ZERO
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    steps += f - offsets[v]
                    break
                if row[w] == ZERO:
                    seen[found] = w
                    found += 1
                row[w] += ONE
                below += ONE
                closed += np.uint64(near[w])
            total -= np.uint64(2) * closed * below - closed
        for i in range(found):
            b, sums = seen[i], ZERO
            for f in range(offsets[b], offsets[b + 1]):
                c = targets[f]
                if c >= b:  # the pair is looked at from the higher end
                    steps += f - offsets[b]
                    break
                sums += row[c]
            total += np.uint64(2) * row[b] * sums
        for i in range(found):
            row[seen[i]] = ZERO
        for e in range(first, last):
            near[targets[e]] = False
        if steps > budget:
            out[0] += total
            return u + 1
    out[0] += total
    return end


@jit
def plain_degenerate(offsets, targets, upper, begin, end, budget, place, out):
    """Add to out[0] the triangles with a vertex a of them and a common neighbour u of a above all three, twice."""
    steps, total = 0, ZERO
    for u in range(begin, end):
        first, last = upper[u], offsets[u + 1]
        if last - first < 2:
            continue
        for e in range(first, last):
            place[targets[e]] = e
        for e in range(first, last):
            v = targets[e]
            for f in range(upper[v], offsets[v + 1]):
                w = targets[f]
                g = place[w]
                if g >= 0:
                    above = (last - g - 1) + (offsets[v + 1] - f - 1) + (offsets[w + 1] - upper[w])
                    total += np.uint64(2 * above)
            steps += offsets[v + 1] - upper[v] + 1
        for e in range(first, last):
            place[targets[e]] = -1
        if steps > budget:
            out[0] += total
            return u + 1
    out[0] += total
    return end


@jit
def loops(
    offsets, targets, upper, one, one_mask, two, two_mask, two_back, three, three_mask, three_back, four, four_mask,
    four_back, five_back, five_mask, begin, end, budget, prime, left, right, ahead, behind, out,
):  # fmt: skip
    """`plain_loops` with a weight on each of the five steps, u being where the first one starts."""
    steps, total = 0, ZERO
    for u in range(begin, end):
        first, last = offsets[u], upper[u]
        for e in range(first, last):
            ahead[targets[e]] = one[e & one_mask]
            behind[targets[e]] = five_back[e & five_mask]
        less = ZERO
        for e in range(first, last):
            v, out_there, back_here = targets[e], one[e & one_mask], five_back[e & five_mask]
            b_sum = a_sum = d_sum = c_sum = both = ZERO
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    steps += f - offsets[v]
                    break
                second, fourth = two[f & two_mask], four_back[f & four_mask]
                left[w] += times(out_there, second, prime)
                right[w] += times(back_here, fourth, prime)
                third, third_back = three[f & three_mask], three_back[f & three_mask]
                b_side = times(second, third_back, prime)  # v is a and c, w is b
                closing = times(four[f & four_mask], behind[w], prime)  # w is d
                b_sum += b_side
                d_sum += closing
                both += times(b_side, closing, prime)
                c_sum += times(fourth, third, prime)  # v is b and d, w is c
                a_sum += times(two_back[f & two_mask], ahead[w], prime)  # w is a
            if prime != ZERO:
                b_sum, d_sum, both = b_sum % prime, d_sum % prime, both % prime
                c_sum, a_sum = c_sum % prime, a_sum % prime
            less += times(out_there, times(b_sum, d_sum, prime), prime)
            less += times(back_here, times(c_sum, a_sum, prime), prime)
            both = times(out_there, both, prime)
            less += prime - both if prime != ZERO else ZERO - both
        for e in range(first, last):
            v = targets[e]
            for f in range(offsets[v], offsets[v + 1]):
                b = targets[f]
                if b >= u:
                    break
                weight = left[b]
                if weight == ZERO:
                    continue
                left[b] = ZERO
                if prime != ZERO:
                    weight %= prime
                sums = ZERO
                for g in range(offsets[b], offsets[b + 1]):
                    c = targets[g]
                    if c >= u:
                        steps += g - offsets[b]
                        break
                    sums += times(right[c] if prime == ZERO else right[c] % prime, three[g & three_mask], prime)
                total += times(weight, sums if prime == ZERO else sums % prime, prime)
        for e in range(first, last):
            v = targets[e]
            ahead[v] = behind[v] = ZERO
            for f in range(offsets[v], offsets[v + 1]):
                w = targets[f]
                if w >= u:
                    break
                right[w] = ZERO
        total = total - less if prime == ZERO else (total + prime - less % prime) % prime
        if steps > budget:
            out[0] += total
            return u + 1
    out[0] += total
    return end


@jit
def weighted_degenerate(
    offsets, targets, reverse, upper, two, two_mask, three, three_mask, four, four_mask, sums, begin, end, budget,
    prime,
    place, out,
):  # fmt: skip
    """`plain_degenerate` with weights; `sums` are running sums over the arcs of the weight to u and back."""
    steps, total = 0, ZERO
    for u in range(begin, end):
        first, last = upper[u], offsets[u + 1]
        if last - first < 2:
            continue
        for e in range(first, last):
            place[targets[e]] = e
        for e in range(first, last):  # (u, v)
            v, e_back = targets[e], reverse[e]
            for f in range(upper[v], offsets[v + 1]):  # (v, w)
                w = targets[f]
                g = place[w]  # (u, w)
                if g < 0:
                    continue
                f_back, g_back = reverse[f], reverse[g]
                for a in range(3):
                    if a == 0:
                        above = sums[last] - sums[g + 1]
                        ab, bc, ca, ac, cb, ba = e, f, g_back, g, f_back, e_back
                    elif a == 1:
                        above = sums[offsets[v + 1]] - sums[f + 1]
                        ab, bc, ca, ac, cb, ba = f, g_back, e, e_back, g, f_back
                    else:
                        above = sums[offsets[w + 1]] - sums[upper[w]]
                        ab, bc, ca, ac, cb, ba = g_back, e, f, f_back, e_back, g
                    if above == ZERO:
                        continue
                    if prime != ZERO:
                        above %= prime
                    way = times(times(two[ab & two_mask], three[bc & three_mask], prime), four[ca & four_mask], prime)
                    way += times(times(two[ac & two_mask], three[cb & three_mask], prime), four[ba & four_mask], prime)
                    total += times(above, way if prime == ZERO else way % prime, prime)
            steps += offsets[v + 1] - upper[v] + 1
        for e in range(first, last):
            place[targets[e]] = -1
        if prime != ZERO:
            total %= prime
        if steps > budget:
            out[0] += total
            return u + 1
    out[0] += total
    return end
