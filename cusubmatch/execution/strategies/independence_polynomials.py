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
    product = [0] * (min(len(a) + len(b) - 2, degree) + 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b[: max(len(product) - i, 0)]):
            product[i + j] += x * y
    return product


def power(a: Polynomial, exponent: int, degree: int) -> Polynomial:
    """The polynomial multiplied by itself."""
    product, square = [1], a
    while exponent:
        if exponent & 1:
            product = times(product, square, degree)
        exponent >>= 1
        if exponent:
            square = times(square, square, degree)
    return product


def without_branches(vertices: int, edges: int, degree: int) -> Polynomial:
    """The independent sets of a path, or of a cycle if it has as many edges as vertices."""
    if edges < vertices:
        return [math.comb(vertices - j + 1, j) for j in range(min(degree, (vertices + 1) // 2) + 1)]
    largest = min(degree, vertices // 2)
    return [1, *(vertices * math.comb(vertices - j, j) // (vertices - j) for j in range(1, largest + 1))]


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

    def of_vertices(vertices: int, degree: int) -> Polynomial:
        """Of the subgraph of a set of vertices: the product over its components."""
        product = [1]
        while vertices:
            component = reached = vertices & -vertices
            while reached:
                v = reached.bit_length() - 1
                more = neighbours[v] & vertices & ~component
                component |= more
                reached = (reached ^ (1 << v)) | more
            vertices &= ~component
            product = times(product, of_component(component, degree), degree)
        return product

    def of_component(vertices: int, degree: int) -> Polynomial:
        key = vertices, degree
        if key not in known:
            tick()
            known[key] = branched(vertices, degree)
        return known[key]

    def branched(vertices: int, degree: int) -> Polynomial:
        """Sets without the vertex of highest degree, and sets with it."""
        if degree < 2:
            return [1, vertices.bit_count()][: degree + 1]
        degrees, left = {}, vertices
        while left:
            v = left.bit_length() - 1
            left ^= 1 << v
            degrees[v] = (neighbours[v] & vertices).bit_count()
        highest = max(degrees, key=degrees.__getitem__)
        if degrees[highest] <= 2:
            return without_branches(len(degrees), sum(degrees.values()) // 2, degree)
        without = of_vertices(vertices ^ (1 << highest), degree)
        within = of_vertices(vertices & ~neighbours[highest] & ~(1 << highest), degree - 1)
        total = without + [0] * (len(within) + 1 - len(without))
        for size, sets in enumerate(within, 1):
            total[size] += sets
        return total

    return of_vertices((1 << len(neighbours)) - 1, degree)
