"""Independence polynomials: how many sets of 0, 1, 2, ... vertices of a graph have no edge inside.

A polynomial is the list of its coefficients, Python's integers, cut off behind some degree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

__all__ = ["independent_sets", "power", "times", "without_branches"]

Polynomial = list[int]


def times(a: Polynomial, b: Polynomial, degree: int) -> Polynomial:
    """The product."""
    found = [0] * (min(len(a) + len(b) - 2, degree) + 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b[: max(len(found) - i, 0)]):
            found[i + j] += x * y
    return found


def power(a: Polynomial, exponent: int, degree: int) -> Polynomial:
    """The polynomial multiplied by itself."""
    found, square = [1], a
    while exponent:
        if exponent & 1:
            found = times(found, square, degree)
        exponent >>= 1
        if exponent:
            square = times(square, square, degree)
    return found


def without_branches(vertices: int, edges: int, degree: int) -> Polynomial:
    """The independent sets of a path, or of a cycle if it has as many edges as vertices."""
    if edges < vertices:
        return [math.comb(vertices - j + 1, j) for j in range(min(degree, (vertices + 1) // 2) + 1)]
    most = min(degree, vertices // 2)
    return [1, *(vertices * math.comb(vertices - j, j) // (vertices - j) for j in range(1, most + 1))]


def independent_sets(neighbours: Sequence[int], degree: int, tick: Callable[[], None]) -> Polynomial:
    """The independent sets of a small graph, by branching on a vertex of highest degree.

    Parameters
    ----------
    neighbours : sequence of int
        Of each vertex, the set of its neighbours as bits.
    degree : int
        Of the largest sets that are wanted.
    tick : callable
        Called now and then; what it raises ends the search.
    """
    known: dict[tuple[int, int], Polynomial] = {}

    def of(vertices, degree):
        found = [1]
        while vertices:
            component = reached = vertices & -vertices
            while reached:
                v = reached.bit_length() - 1
                more = neighbours[v] & vertices & ~component
                component |= more
                reached = (reached ^ (1 << v)) | more
            vertices &= ~component
            found = times(found, of_component(component, degree), degree)
        return found

    def of_component(vertices, degree):
        key = vertices, degree
        if key not in known:
            tick()
            known[key] = branched(vertices, degree)
        return known[key]

    def branched(vertices, degree):
        if degree < 2:
            return [1, vertices.bit_count()][: degree + 1]
        degrees, left = {}, vertices
        while left:
            v = left.bit_length() - 1
            left ^= 1 << v
            degrees[v] = (neighbours[v] & vertices).bit_count()
        top = max(degrees, key=degrees.__getitem__)
        if degrees[top] <= 2:
            return without_branches(len(degrees), sum(degrees.values()) // 2, degree)
        without = of(vertices ^ (1 << top), degree)
        within = of(vertices & ~neighbours[top] & ~(1 << top), degree - 1)
        found = without + [0] * (len(within) + 1 - len(without))
        for j, many in enumerate(within, 1):
            found[j] += many
        return found

    return of((1 << len(neighbours)) - 1, degree)
