"""Factors by number, and the operations on them, each of which is done once: equal parts of two terms are shared.

Equal factors have one number, however they were made. Eliminations are done together, in threads, and so are merges;
other operations, which take little, one after the other.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.base import StepsSpent
from cusubmatch.engines.cpu.elimination.costs import (
    DENSE_PRODUCT_NS,
    ENTRY_NS,
    OPERATION_NS,
    PRODUCT_NS,
    device_ns,
    host_ns,
)
from cusubmatch.engines.cpu.elimination.eliminations import Eliminations
from cusubmatch.engines.cpu.elimination.factor_kernels import arcs_of
from cusubmatch.engines.cpu.elimination.host_factors import HostFactors
from cusubmatch.engines.cpu.elimination.join_order import JoinOrder, JoinOrders
from cusubmatch.engines.cpu.elimination.placed_factors import PlacedFactor, PlacedFactors
from cusubmatch.engines.cpu.elimination.summed_product import SummedProduct
from cusubmatch.engines.cpu.elimination.task_stack import do_all
from cusubmatch.engines.factors.device_factors import DeviceFactors
from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields

__all__ = ["MANY_WORDS", "FactorStore", "Step"]

DEARER = 8.0  # times its cost, what a device lacks memory for
MOST_MEMORY_ERRORS = 16  # of a count, after which another way may still do
MIN_SAMPLED = 5  # vertices of a product; where it has fewer, what is expected is about right
BELIEVED = 0.75  # of the mean error of what was expected of others, as a power
MANY_WORDS = 1 << 27  # of all factors together
FULL_SHARE = 0.5  # of the words that there may be, from which others are forgotten
ALONE_S = 0.25  # before threads begin, which would hinder what counts beside,
LEAST_ALONE_S = 0.001  # and each time that they do


class Step(NamedTuple):
    """An elimination: of a vertex, from the product of some factors by number, ascending."""

    vertex: int
    factors: tuple[int, ...]


class FactorStore:
    """The factors of one count.

    Parameters
    ----------
    size : int
        Local indices are below it.
    kinds : uint64 (kinds,)
        The kinds of arithmetic of their values.
    spend : callable
        spend(nanoseconds) is called, by any thread, before it does what takes about so long, and may raise.
    threads : callable
        How many eliminations are divided among just now.
    ended : int64 (1,), optional
        What ends the count when it is not 0; `spend` raises then.
    most_words : int
        That factors take in host memory, at most; a word takes 8 bytes.
    device : callable, optional
        device(fields) gives operations on factors there once the device is free, and None until then.
    """

    def __init__(
        self,
        size: int,
        kinds: np.ndarray,
        spend: Callable[[float], None],
        threads: Callable[[], int] = lambda: 1,
        ended: np.ndarray | None = None,
        most_words: int = MANY_WORDS,
        device: Callable[[Fields], DeviceFactors | None] = lambda _: None,
    ):
        self._most_words = most_words
        self.size, self.kinds, self._threads, self._spend = size, kinds, threads, spend
        self._fields = Fields(size)
        self._ended = np.zeros(1, np.int64) if ended is None else ended
        self._summed_product = SummedProduct(self._fields, kinds, spend, self._ended)
        host = HostFactors(self._fields, kinds, spend, self._ended)
        self._places = PlacedFactors(host, functools.partial(device, self._fields))
        self._factors: dict[int, PlacedFactor] = {}
        self._alone_until_s = time.monotonic() + ALONE_S
        self._added = self._words = self._words_made = self._memory_errors = 0
        self._by_checksum: dict[Hashable, list[int]] = {}  # numbers of factors that may be equal
        self._known: dict[Hashable, int] = {}  # the number of what an operation made
        self._orders = JoinOrders(size, self._fields, self._places, self._factors)
        self._orders_of_steps: dict[Step, JoinOrder] = {}
        self._errors: dict[int, tuple[float, int]] = {}  # of costs, by vertices: the sum of logarithms, and how many

    def add_arcs(self, u: int, w: int, offsets: np.ndarray, targets: np.ndarray) -> int:
        """A factor that is 1 for the arcs from candidates of u to those of w, u < w, by their rows."""
        arcs = Factor((u, w), *arcs_of(offsets, targets, np.uint64(self._fields.bits), self.kinds))
        return self._add(self._places.of_host(arcs))

    def __getitem__(self, number: int) -> Factor:
        """The factor with a number, in host memory."""
        return self._places.here(self._factors[number])

    def scope(self, number: int) -> tuple[int, ...]:
        """The vertices of a factor."""
        return self._factors[number].scope

    def is_zero(self, number: int) -> bool:
        """Whether a factor has no entry."""
        return self._factors[number].entries == 0

    @property
    def most_words(self) -> int:
        """That factors take, at most: what the device has room for, once there is one."""
        device = self._places.device
        return self._most_words if device is None else device.words

    @property
    def is_full(self) -> bool:
        """Whether the factors take so much memory that what is not needed is to be forgotten."""
        return self._words > FULL_SHARE * self.most_words

    @property
    def room(self) -> float:
        """Words that new factors may take together."""
        return FULL_SHARE * (self.most_words - self._words)

    def holding(self, vertex: int, numbers: Iterable[int]) -> list[int]:
        """Those of some factors that have a vertex, ascending."""
        return sorted(number for number in numbers if self._factors[number].vertices >> vertex & 1)

    def keep_only(self, numbers: Collection[int]) -> None:
        """Forget all other factors."""
        kept = set(numbers)
        for number in self._factors.keys() - kept:
            del self._factors[number]
        self._known = {key: number for key, number in self._known.items() if number in kept}
        self._orders.keep_only(kept)
        left = {key: [n for n in alike if n in kept] for key, alike in self._by_checksum.items()}
        self._by_checksum = {key: alike for key, alike in left.items() if alike}
        orders = self._orders_of_steps.items()
        self._orders_of_steps = {step: order for step, order in orders if kept.issuperset(step.factors)}
        self._words = sum(map(self._words_of, self._factors.values()))

    def entries(self, step: Step) -> int:
        """Of all factors of an elimination."""
        return sum(self._factors[number].entries for number in step.factors)

    @property
    def has_device(self) -> bool:
        """Whether a device is free."""
        return self._places.has_device

    def cost(self, step: Step, most: float = math.inf) -> float:
        """About how many nanoseconds an elimination takes, or so many that are more than `most`."""
        if not self.has_device:
            return self.cost_here(step, most)
        return self.cost_now(self.cost_here(step, max(most, host_ns(most))))

    def cost_now(self, cost: float) -> float:
        """What an elimination takes that takes the host so long: where it is sooner done."""
        return min(cost, device_ns(cost)) if self.has_device else cost

    def cost_here(self, step: Step, most: float = math.inf) -> float:
        """What an elimination takes on the host, about, or more than `most`."""
        usual = self._usual_error(step)
        order = self._order(step, most / usual)
        return order.cost if order.is_sampled else order.cost * usual

    def look_at(self, steps: Iterable[Step]) -> set[Step]:
        """Follow samples of the joins of those whose cost they may tell better, in threads; the steps of which."""
        new = {step for step in steps if step not in self._known and self._may_cost_more(step)}
        orders: dict[Step, JoinOrder] = {}

        def follow(step: Step) -> list[Step]:
            self._spend(ENTRY_NS * self.entries(step))
            orders[step] = self._orders.sampled(self._order(step))
            return []

        do_all(sorted(new), follow, *self._how())
        for step in sorted(new):
            order = orders[step]._replace(cost=OPERATION_NS + orders[step].cost)
            vertices, error = self._vertices(step), order.cost / self._order(step).cost
            logarithms, samples = self._errors.get(vertices, (0.0, 0))
            self._errors[vertices] = logarithms + math.log(error), samples + 1
            self._orders_of_steps[step] = order
        return new

    def expected_words(self, step: Step) -> float:
        """That the factor takes which an elimination makes, about, if no two of its products have one key."""
        if step in self._known:
            return 0.0
        words = self._fields.words(self._vertices(step) - 1)
        return (words + len(self.kinds)) * self.cost_here(step) / PRODUCT_NS

    def step(self, vertex: int, factors: Collection[int]) -> Step:
        """The elimination of a vertex from the product of some factors."""
        return self._step(vertex, sorted((number, self._factors[number].vertices) for number in factors))

    def steps(self, factors: Collection[int]) -> list[Step]:
        """The eliminations of all vertices that some factors have, those with few entries first."""
        scopes = sorted((number, self._factors[number].vertices) for number in factors)
        vertices = self._scope(factors)
        steps = [self._step(v, scopes) for v in range(vertices.bit_length()) if vertices >> v & 1]
        return sorted(steps, key=self.entries)

    def _step(self, vertex: int, scopes: Sequence[tuple[int, int]]) -> Step:
        """The elimination of a vertex from the product of factors, whose scopes are bits.

        Those that its neighbours have among them belong to it: they make its joins smaller, unless one join does it
        all, and adds up its products as they are made.
        """
        holding, scope = [], 0
        for number, vertices in scopes:
            if vertices >> vertex & 1:
                holding.append(number)
                scope |= vertices
        if len(holding) == 2 and self._is_dense(vertex, holding):
            return Step(vertex, tuple(holding))
        return Step(vertex, tuple([number for number, vertices in scopes if not vertices & ~scope]))

    def eliminate(self, steps: Iterable[Step]) -> None:
        """Do these steps, in threads if that is worth it, and on a device; `eliminated` then has what they made.

        At least one is begun, and others as long as there is room for what they make. One that turns out to take much
        more than expected is not done: what it takes is known then. Nor is one that a device lacks memory for: it is
        taken to cost more than it did. `is_done` tells which are done.

        Raises
        ------
        MemoryError
            If a device lacked memory several times.
        StepsSpent
            If what is made takes more than all memory.
        """
        new = sorted((step for step in dict.fromkeys(steps) if step not in self._known), key=self.cost_here)
        products = [(step.vertex, [self._factors[n] for n in self._order(step).numbers]) for step in new]
        costs = [self.cost_here(step) for step in new]
        self._words_made = 0
        room = self.room
        how = self._summed_product, self._places, self._spend, self._count_words, lambda: self._words_made < room
        eliminations = Eliminations(products, costs, *how)
        for number, factor in eliminations.do(*self._how()):
            self._known[new[number]] = self._add(factor)
        dearer = {number: DEARER * pairs for number, pairs in eliminations.lack_memory.items()}
        self._memory_errors += len(dearer)
        if self._memory_errors > MOST_MEMORY_ERRORS:
            raise MemoryError
        for number, pairs in (dearer | eliminations.more_pairs).items():
            order = self._order(new[number])._replace(cost=PRODUCT_NS * pairs, is_sampled=True)
            self._orders_of_steps[new[number]] = order

    def is_done(self, step: Step) -> bool:
        """Whether `eliminated` has what a step makes."""
        return step in self._known

    def eliminated(self, step: Step) -> int:
        """The product of the step's factors, summed over its vertex."""
        return self._known[step]

    def merge_all(self, merges: Iterable[tuple[int, int, int]]) -> None:
        """Make what `merge` gives for these, in threads if that is worth it."""
        new = [merge for merge in dict.fromkeys(merges) if ("merge", *merge) not in self._known]
        made: dict[tuple[int, int, int], PlacedFactor] = {}

        def make(merge: tuple[int, int, int]) -> list[tuple[int, int, int]]:
            number, vertex, into = merge
            made[merge] = self._places.merged(self._factors[number], vertex, into)
            return []

        do_all(list(new), make, *self._how())
        for merge in new:
            self._known["merge", *merge] = self._add(made[merge])

    def multiply(self, number: int, other: int) -> int:
        """The product of two factors of one scope."""
        key = "multiply", *sorted((number, other))
        return self._once(key, lambda: self._places.multiplied(self._factors[number], self._factors[other]))

    def combine(self, number: int, weight: int, other: int, other_weight: int) -> int:
        """The sum of two factors of one scope, each times its weight."""
        key = "combine", number, weight, other, other_weight
        factors = self._factors[number], weight, self._factors[other], other_weight
        return self._once(key, lambda: self._places.weighted_sum(*factors))

    def merge(self, number: int, vertex: int, into: int) -> int:
        """A factor of a vertex as one of another vertex, which has the same image."""
        key = "merge", number, vertex, into
        return self._once(key, lambda: self._places.merged(self._factors[number], vertex, into))

    def keep_apart(self, number: int, u: int, w: int) -> int:
        """A factor where two of its vertices have different images, 0 elsewhere."""
        return self._once(("apart", number, u, w), lambda: self._places.kept_apart(self._factors[number], u, w))

    def _once(self, key: Hashable, make: Callable[[], PlacedFactor]) -> int:
        if key not in self._known:
            self._known[key] = self._add(make())
        return self._known[key]

    def _add(self, factor: PlacedFactor) -> int:
        """The number of a factor: that of an equal one, if there is one."""
        alike = self._by_checksum.setdefault((factor.scope, self._places.checksum(factor)), [])
        for number in alike:
            if self._places.are_equal(self._factors[number], factor):
                return number
        self._factors[self._added] = factor
        alike.append(self._added)
        self._words += self._words_of(factor)
        self._added += 1
        return self._added - 1

    def _order(self, step: Step, most: float = math.inf) -> JoinOrder:
        order = self._orders_of_steps.get(step)
        if order is None or (not order.numbers and order.cost <= most):
            order = self._orders_of_steps[step] = self._chosen_order(step, most)
        return order

    def _chosen_order(self, step: Step, most: float) -> JoinOrder:
        """The order of an elimination's joins."""
        if self._is_dense(step.vertex, step.factors):
            order = JoinOrder(DENSE_PRODUCT_NS * self._orders.products(step.vertex, step.factors), step.factors)
        else:
            order = self._orders.best(step.vertex, step.factors, most)
        return order._replace(cost=OPERATION_NS + order.cost)

    def _usual_error(self, step: Step) -> float:
        """How many times what is expected an elimination takes: a part of what samples said of others like it."""
        logarithms, samples = self._errors.get(self._vertices(step), (0.0, 1))
        return math.exp(BELIEVED * logarithms / samples)

    def _may_cost_more(self, step: Step) -> bool:
        """Whether its cost is what the images of vertices tell, and its joins have many."""
        return self._vertices(step) >= MIN_SAMPLED and not self._order(step).is_sampled

    def _vertices(self, step: Step) -> int:
        """Of the product that an elimination sums."""
        return self._scope(step.factors).bit_count()

    def _is_dense(self, vertex: int, numbers: Sequence[int]) -> bool:
        """Whether one join does it all, and its sums have a place for each key."""
        if len(numbers) != 2 or len(self.holding(vertex, numbers)) != 2:
            return False
        return self._summed_product.is_dense(
            self._orders.products(vertex, numbers), self._scope(numbers).bit_count() - 1
        )

    def _scope(self, numbers: Iterable[int]) -> int:
        """The vertices of some factors, as bits."""
        vertices = 0
        for number in numbers:
            vertices |= self._factors[number].vertices
        return vertices

    def _how(self) -> tuple[Callable[[], None], int, float]:
        """How tasks are done: what is checked meanwhile, by how many threads, and until when by one."""
        return self._check, self._threads(), max(self._alone_until_s, time.monotonic() + LEAST_ALONE_S)

    def _count_words(self, factor: PlacedFactor) -> None:
        self._words_made += self._words_of(factor)  # about: threads may do this at the same time
        if self._words + self._words_made > self.most_words:
            raise StepsSpent

    def _words_of(self, factor: PlacedFactor) -> int:
        return factor.entries * (self._fields.words(len(factor.scope)) + len(self.kinds))

    def _check(self) -> None:
        self._spend(0.0)
