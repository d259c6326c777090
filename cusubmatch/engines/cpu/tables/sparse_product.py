"""Products of a sparse matrix, values on the arcs of a support graph, with a vector and with a dense matrix.

A kernel works on the rows begin, ..., end - 1 and returns the row to continue with once it has done `budget` steps.
Numbers are modulo 2^64, or modulo `prime` unless that is 0.
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.primitives.jit import jit
from cusubmatch.engines.cpu.tables.modular import ONE, ZERO, reduced, times
from cusubmatch.engines.cpu.tables.parameters import value_at

__all__ = ["row_sums", "sparse_product"]


@jit
def row_sums(rows, values, weights, begin, end, budget, prime, out):
    """Write to out[x] the sum over the arcs of x of the arc's value times the weight of its target."""
    steps, offsets, targets = 0, rows.offsets, rows.targets
    for x in range(begin, end):
        total = ZERO
        for e in range(offsets[x], offsets[x + 1]):
            total += times(value_at(values, e), value_at(weights, targets[e]), prime)
        out[x] = reduced(total, prime)
        steps += offsets[x + 1] - offsets[x] + 1
        if steps > budget:
            return x + 1
    return end


@jit
def sparse_product(rows, values, columns, begin, end, budget, prime, out):
    """Write to out[x, c] the sum over the arcs of x of the arc's value times columns[target, c]."""
    steps, width, offsets, targets = 0, columns.shape[1], rows.offsets, rows.targets
    half = np.uint64(1) << np.uint64(63)
    fold = half - half % prime if prime != ZERO else ZERO  # the largest multiple of the prime that is at most 2^63
    for x in range(begin, end):
        for c in range(width):
            out[x, c] = ZERO
        for e in range(offsets[x], offsets[x + 1]):
            y, value = targets[e], value_at(values, e)
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
