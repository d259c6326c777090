"""In which order a component's vertices are eliminated, and how large the tables are that this takes.

The next vertex is the one with the fewest combinations of candidates of it and its neighbours (min-weight; Bodlaender &
Koster 2010).
"""

from __future__ import annotations

import numpy as np

from cusubmatch.engines.cpu.conditioning import registers as c
from cusubmatch.engines.cpu.primitives.jit import inner, trailing_zeros

__all__ = ["all_combinations", "combinations", "vertex_to_match"]


@inner
def combinations(vertices, sizes):
    """How many combinations of candidates some vertices have, as a float."""
    number = 1.0
    while vertices:
        number *= sizes[trailing_zeros(vertices)]
        vertices &= vertices - 1
    return number


@inner
def all_combinations(vertices, joined, sizes, most, order, bags):
    """The combinations in all tables that the elimination of some vertices takes; more than `most` if it takes more.

    `joined` are the vertices that must agree with each, as bits, and `sizes` numbers of candidates. Writes the vertices
    in their order, and those that each is joined to then.
    """
    around, total, place = np.empty(c.MAX_VERTICES, np.int64), 0.0, 0
    for v in range(c.MAX_VERTICES):
        around[v] = joined[v] & vertices
    while vertices and total <= most:
        best, fewest, rest = -1, 0.0, vertices
        while rest:
            v = trailing_zeros(rest)
            rest &= rest - 1
            number = combinations(around[v] | np.int64(1) << v, sizes)
            if best < 0 or number < fewest:
                best, fewest = v, number
        total += fewest
        order[place], bags[place] = best, around[best]
        place += 1
        vertices &= ~(np.int64(1) << best)
        rest = around[best]
        while rest:
            w = trailing_zeros(rest)
            rest &= rest - 1
            around[w] = (around[w] | around[best]) & ~(np.int64(1) << w | np.int64(1) << best)
    return total


@inner
def vertex_to_match(vertices, joined, sizes, order, bags):
    """The vertex that makes the tables of the others smallest, for all its candidates together, once it is matched."""
    best, fewest, rest = np.int64(0), np.inf, vertices
    while rest:
        v = trailing_zeros(rest)
        rest &= rest - 1
        total = sizes[v] * all_combinations(
            vertices & ~(np.int64(1) << v), joined, sizes, fewest / sizes[v], order, bags
        )
        if total < fewest:
            best, fewest = v, total
    return best
