"""Eliminations that may be done, and what each is expected to take: here, and on a device.

What images tell of a product is corrected by samples of its joins, and by what samples said of others like it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from cusubmatch.engines.cpu.elimination.costs import (
    DENSE_PRODUCT_NS,
    OPERATION_NS,
    PRODUCT_NS,
    device_ns,
    host_ns,
)
from cusubmatch.engines.cpu.elimination.join_order import JoinOrder, JoinOrders
from cusubmatch.engines.cpu.elimination.placed_factors import PlacedFactor, PlacedFactors
from cusubmatch.engines.factors.fields import Fields

__all__ = ["Step", "StepCosts"]

FINISHED = 8  # vertices of a term, at most, that a device may eliminate together
MIN_SAMPLED = 5  # vertices of a product; where it has fewer, what is expected is about right
BELIEVED = 0.75  # of the mean error of what was expected of others, as a power


class Step(NamedTuple):
    """An elimination: of vertices, ascending, from the product of some factors by number, ascending.

    It is of one vertex and of others that no other factor holds, or of all that a term has left.
    """

    vertices: tuple[int, ...]
    factors: tuple[int, ...]


class StepCosts:
    """The costs of the eliminations of one count, in nanoseconds.

    Parameters
    ----------
    size : int
        Local indices are below it.
    fields : Fields
    kinds : int
        Numbers of each entry.
    places : PlacedFactors
    factors : mapping of int to PlacedFactor
        By number; others may be added, and what a number stands for is always the same.
    is_dense : callable
        is_dense(products, vertices): whether the sums of a result with so many vertices have a place for each key.
    """

    def __init__(
        self,
        size: int,
        fields: Fields,
        kinds: int,
        places: PlacedFactors,
        factors: Mapping[int, PlacedFactor],
        is_dense: Callable[[float, int], bool],
    ):
        self._fields, self._kinds, self._places, self._factors = fields, kinds, places, factors
        self._has_places = is_dense
        self._joins = JoinOrders(size, fields, places, factors)
        self._orders: dict[Step, JoinOrder] = {}
        self._errors: dict[int, tuple[float, int]] = {}  # by vertices: the sum of logarithms, and how many

    def keep_only(self, numbers: Collection[int]) -> None:
        """Forget all other factors."""
        self._joins.keep_only(numbers)
        kept = set(numbers)
        self._orders = {step: order for step, order in self._orders.items() if kept.issuperset(step.factors)}

    def step(self, vertex: int, factors: Collection[int], kept: int = 0) -> Step:
        """The elimination of a vertex from the product of some factors; vertices that are kept, as bits, remain."""
        return self._step(vertex, self._scopes(factors), kept)

    def steps(self, factors: Collection[int], kept: int = 0) -> dict[Step, int]:
        """The eliminations of all vertices that some factors have, each with its vertex, those with few entries first.

        Those that are kept, as bits, are not eliminated beside another. A device may eliminate a few together.
        """
        scopes, vertices = self._scopes(factors), self._scope(factors)
        steps = {self._step(v, scopes, kept): v for v in range(vertices.bit_length()) if vertices >> v & 1}
        free = _bits(vertices & ~kept)
        if self.has_device and free and vertices.bit_count() <= FINISHED:
            steps.setdefault(Step(free, tuple([number for number, _ in scopes])), free[0])
        return dict(sorted(steps.items(), key=lambda item: self.entries(item[0])))

    def entries(self, step: Step) -> int:
        """Of all factors of an elimination."""
        return sum(self._factors[number].entries for number in step.factors)

    def left(self, step: Step) -> int:
        """The vertices of what an elimination makes, as bits."""
        return self._scope(step.factors) & ~sum(1 << v for v in step.vertices)

    def numbers(self, step: Step) -> tuple[int, ...]:
        """Its factors in the order of their joins."""
        return self._order(step).numbers

    @property
    def has_device(self) -> bool:
        """Whether a device is free."""
        return self._places.has_device

    def cost(self, step: Step, most: float = math.inf) -> float:
        """What it takes, about, or so much that is more than `most`."""
        if not self.has_device:
            return self.cost_here(step, most)
        return self.cost_now(self.cost_here(step, max(most, host_ns(most))), not self.left(step))

    def cost_now(self, cost: float, is_total: bool = False) -> float:
        """What one, perhaps of all vertices, takes that takes a thread of the host so long.

        That is what a device takes, if it is sooner done.
        """
        return min(cost, device_ns(cost, is_total)) if self.has_device else cost

    def cost_here(self, step: Step, most: float = math.inf) -> float:
        """What it takes a thread of the host, about, or so much that is more than `most`."""
        usual = self._usual_error(step)
        order = self._order(step, most / usual)
        return order.cost if order.is_sampled else order.cost * usual

    def cost_there(self, step: Step) -> float:
        """What it takes a device, about."""
        return device_ns(self.cost_here(step), not self.left(step))

    def words(self, step: Step) -> float:
        """That the factor takes which it makes, about, if no two of its products have one key."""
        left = self.left(step).bit_count()
        return (self._fields.words(left) + self._kinds) * self.cost_here(step) / PRODUCT_NS if left else 0.0

    def may_be_more(self, step: Step) -> bool:
        """Whether its cost is what the images of vertices tell, and its joins have many."""
        return self._vertices(step) >= MIN_SAMPLED and not self._order(step).is_sampled

    def sampled(self, step: Step) -> float:
        """The cost that a sample of its products tells; threads may ask for those of others meanwhile."""
        return OPERATION_NS + self._joins.sampled(self._order(step)).cost

    def learn(self, step: Step, cost: float) -> None:
        """Take what a sample told as its cost, and in part as that of others with as many vertices."""
        vertices, error = self._vertices(step), cost / self._order(step).cost
        logarithms, samples = self._errors.get(vertices, (0.0, 0))
        self._errors[vertices] = logarithms + math.log(error), samples + 1
        self._orders[step] = self._order(step)._replace(cost=cost, is_sampled=True)

    def set_products(self, step: Step, products: float) -> None:
        """Let it cost what so many products take."""
        self._orders[step] = self._order(step)._replace(cost=PRODUCT_NS * products, is_sampled=True)

    def _scopes(self, factors: Iterable[int]) -> list[tuple[int, int]]:
        """Of each factor its number, ascending, and its vertices as bits."""
        return sorted((number, self._factors[number].vertices) for number in factors)

    def _step(self, vertex: int, scopes: Sequence[tuple[int, int]], kept: int) -> Step:
        """The elimination of a vertex from the product of factors with these scopes.

        Those that its neighbours have among them belong to it: they make its joins smaller, unless one join does it
        all, and adds up its products as they are made. What is in no other factor goes with it, unless it is kept.
        """
        holding, scope = [], 0
        for number, vertices in scopes:
            if vertices >> vertex & 1:
                holding.append(number)
                scope |= vertices
        if self._is_dense(vertex, holding):
            return Step((vertex,), tuple(holding))
        factors = []
        for number, vertices in scopes:
            if vertices & ~scope:
                kept |= vertices
            else:
                factors.append(number)
        others = scope & ~kept | 1 << vertex
        return Step(_bits(others), tuple(factors))

    def _order(self, step: Step, most: float = math.inf) -> JoinOrder:
        order = self._orders.get(step)
        if order is None or (not order.numbers and order.cost <= most):
            order = self._orders[step] = self._chosen_order(step, most)
        return order

    def _chosen_order(self, step: Step, most: float) -> JoinOrder:
        """The order of an elimination's joins."""
        vertex = max(step.vertices, key=lambda v: sum(self._factors[n].vertices >> v & 1 for n in step.factors))
        if len(step.vertices) == 1 and self._is_dense(vertex, step.factors):
            order = JoinOrder(DENSE_PRODUCT_NS * self._joins.products(vertex, step.factors), step.factors)
        else:
            order = self._joins.best(vertex, step.factors, most)
        return order._replace(cost=OPERATION_NS + order.cost)

    def _usual_error(self, step: Step) -> float:
        """How many times what is expected an elimination takes: a part of what samples said of others like it."""
        logarithms, samples = self._errors.get(self._vertices(step), (0.0, 1))
        return math.exp(BELIEVED * logarithms / samples)

    def _is_dense(self, vertex: int, numbers: Sequence[int]) -> bool:
        """Whether one join does it all, and its sums have a place for each key."""
        if len(numbers) != 2 or not all(self._factors[number].vertices >> vertex & 1 for number in numbers):
            return False
        return self._has_places(self._joins.products(vertex, numbers), self._scope(numbers).bit_count() - 1)

    def _vertices(self, step: Step) -> int:
        """Of the product that an elimination sums."""
        return self._scope(step.factors).bit_count()

    def _scope(self, numbers: Iterable[int]) -> int:
        """The vertices of some factors, as bits."""
        vertices = 0
        for number in numbers:
            vertices |= self._factors[number].vertices
        return vertices


def _bits(vertices: int) -> tuple[int, ...]:
    """The numbers of the bits that are set, ascending."""
    return tuple([v for v in range(vertices.bit_length()) if vertices >> v & 1])
