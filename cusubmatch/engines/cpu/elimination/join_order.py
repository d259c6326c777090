"""In which order the factors of a product are joined, and how long that is expected to take.

An entry is taken to meet entries of another factor as if those were placed at random, each vertex with as many entries
of either as it has (the configuration model). So hubs count: the entries of a factor that agree with one of another
factor are those of the images that this one has, weighted by how many it has of each. Of the vertex that is eliminated,
the entries of all factors are multiplied image by image.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.costs import ENTRY_NS, PRODUCT_NS
from cusubmatch.engines.cpu.elimination.join_sample import products_of_joins
from cusubmatch.engines.cpu.elimination.placed_factors import PlacedFactor, PlacedFactors
from cusubmatch.engines.factors.fields import Fields

__all__ = ["JoinOrder", "JoinOrders"]

LONG_NS = 2e7  # of joins, from which several orders are tried
FIRSTS = 4  # factors that are tried as the first one then


class JoinOrder(NamedTuple):
    """Nanoseconds that the joins take, about, the numbers of the factors in their order, and whether a sample says so.

    Where nobody asked for an order that takes so long, there are no numbers, and the joins take longer.
    """

    cost: float
    numbers: tuple[int, ...]
    is_sampled: bool = False


class JoinOrders:
    """The orders of the products of some factors.

    Parameters
    ----------
    size : int
        Local indices are below it.
    fields : Fields
    places : PlacedFactors
    factors : mapping of int to PlacedFactor
        By number; others may be added, and what a number stands for is always the same.
    """

    def __init__(self, size: int, fields: Fields, places: PlacedFactors, factors: Mapping[int, PlacedFactor]):
        self.size, self.fields, self.places, self.factors = size, fields, places, factors
        self._images: dict[tuple[int, int], np.ndarray] = {}  # entries of the images of a vertex, by factor and vertex
        self._agreements: dict[tuple[int, int, int], float] = {}

    def keep_only(self, numbers: Collection[int]) -> None:
        """Forget all other factors."""
        self._images = {key: images for key, images in self._images.items() if key[0] in numbers}
        agreements = self._agreements.items()
        self._agreements = {key: share for key, share in agreements if key[0] in numbers and key[1] in numbers}

    def products(self, vertex: int, numbers: Sequence[int]) -> float:
        """Products of entries of two factors that have nothing but a vertex in common."""
        one, other = numbers
        return self._agreement(one, other, vertex) * self._pairs(one, other)

    def best(self, vertex: int, numbers: Sequence[int], most: float = math.inf) -> JoinOrder:
        """The order of a product that is summed over a vertex which some of its factors hold.

        Where it takes long, that is the best of a few; one that takes more than `most` nobody asks for.
        """
        first, *others = self._smallest(numbers)[:FIRSTS]
        order = self._beginning_with(first, vertex, numbers, most)
        if order.cost > LONG_NS:
            for number in others:
                other = self._beginning_with(number, vertex, numbers, min(most, order.cost))
                if other.numbers:
                    order = other
        return order

    def sampled(self, order: JoinOrder) -> JoinOrder:
        """An order with the cost that a sample of its products tells."""
        factors = [self.factors[number] for number in order.numbers]
        products = products_of_joins(self.fields, self.places, factors)
        entries = sum(factor.entries for factor in factors) + sum(products[:-1])
        return order._replace(cost=ENTRY_NS * entries + PRODUCT_NS * sum(products), is_sampled=True)

    def _smallest(self, numbers: Sequence[int]) -> list[int]:
        """The factors, those of one vertex last."""
        return sorted(numbers, key=lambda n: (len(self.factors[n].scope) < 2, self.factors[n].entries))

    def _beginning_with(self, first: int, vertex: int, numbers: Sequence[int], most: float = math.inf) -> JoinOrder:
        """The order in which each factor makes the fewest products of those so far."""
        left, order = [number for number in numbers if number != first], [first]
        source = dict.fromkeys(self.factors[first].scope, first)  # the factor that brought each vertex in
        entries = float(self.factors[first].entries)
        others, of_images = 1.0, np.ones(1)  # products for each of those of the entries of the vertex's images
        if vertex in source:
            of_images = self._entries_of_images(first, vertex)
        else:
            others = entries
        cost = ENTRY_NS * entries
        while left:
            near = [n for n in left if not source.keys().isdisjoint(self.factors[n].scope)]
            number = min(near or left, key=lambda n: self._fan_out(n, source))
            left.remove(number)
            order.append(number)
            scope, held = self.factors[number].scope, self.factors[number].entries
            if vertex in scope:
                of_images = of_images * self._entries_of_images(number, vertex)
                others *= self._fan_out(number, source, vertex)
            else:
                others *= self._fan_out(number, source)
            products = float(of_images.sum()) * others
            cost += ENTRY_NS * (entries + held) + PRODUCT_NS * products
            if cost > most:
                return JoinOrder(cost, ())
            entries = products
            for u in scope:
                source.setdefault(u, number)
        return JoinOrder(cost, tuple(order))

    def _fan_out(self, number: int, source: Mapping[int, int], besides: int = -1) -> float:
        """Entries of a factor that agree with a product of others, in all vertices, or in all but one, and in that."""
        scope = self.factors[number].scope
        result, is_new = 1.0 if besides in scope else float(self.factors[number].entries), False
        for u in scope:
            if u == besides:
                continue
            if u in source:
                result *= self._agreement(source[u], number, u)
            else:
                is_new = True
        return result if is_new else min(result, 1.0)

    def _agreement(self, number: int, other: int, vertex: int) -> float:
        """The share of the pairs of entries of two factors that have a vertex's image in common."""
        key = number, other, vertex
        share = self._agreements.get(key)
        if share is None:
            one, two = self._entries_of_images(number, vertex), self._entries_of_images(other, vertex)
            share = self._agreements[key] = float(one @ two) / max(self._pairs(number, other), 1)
        return share

    def _pairs(self, number: int, other: int) -> int:
        return self.factors[number].entries * self.factors[other].entries

    def _entries_of_images(self, number: int, vertex: int) -> np.ndarray:
        """float64 (size,): how many entries of a factor each image of one of its vertices has."""
        key = number, vertex
        if key not in self._images:
            self._images[key] = self.places.entries_of_images(self.factors[number], vertex, self.size)
        return self._images[key]
