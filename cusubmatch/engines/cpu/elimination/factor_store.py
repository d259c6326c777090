"""Factors by number, and the operations on them, each of which is done once: equal parts of two terms are shared.

Equal factors have one number, however they were made. Eliminations are done together, in threads, and so are merges;
other operations, which take little, one after the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.base import StepsSpent
from cusubmatch.engines.cpu.elimination.factor import Factor, apart, arcs_of, multiplied, rearranged
from cusubmatch.engines.cpu.elimination.fields import Fields
from cusubmatch.engines.cpu.elimination.join_order import (
    DENSE_PRODUCT_NS,
    ENTRY_NS,
    PRODUCT_NS,
    JoinOrder,
    JoinOrders,
)
from cusubmatch.engines.cpu.elimination.key_ranges import concatenated, cut_at_same_keys
from cusubmatch.engines.cpu.elimination.summed_product import Join, Product, SummedProduct
from cusubmatch.engines.cpu.elimination.task_stack import do_all

__all__ = ["MANY_WORDS", "FactorStore", "Step"]

OPERATION_NS = 3e4  # of any operation, about
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
        That factors take, at most; a word takes 8 bytes.
    """

    def __init__(
        self,
        size: int,
        kinds: np.ndarray,
        spend: Callable[[float], None],
        threads: Callable[[], int] = lambda: 1,
        ended: np.ndarray | None = None,
        most_words: int = MANY_WORDS,
    ):
        self.most_words = most_words
        self.size, self.kinds, self._threads, self._spend = size, kinds, threads, spend
        self._fields = Fields(size)
        self._ended = np.zeros(1, np.int64) if ended is None else ended
        self._summed_product = SummedProduct(self._fields, kinds, spend, self._ended)
        self._factors: dict[int, Factor] = {}
        self._alone_until_s = time.monotonic() + ALONE_S
        self._added = self._words = self._words_made = 0
        self._by_checksum: dict[Hashable, list[int]] = {}  # numbers of factors that may be equal
        self._known: dict[Hashable, int] = {}  # the number of what an operation made
        self._orders = JoinOrders(size, self._fields, self._factors)
        self._orders_of_steps: dict[Step, JoinOrder] = {}
        self._errors: dict[int, tuple[float, int]] = {}  # of costs, by vertices: the sum of logarithms, and how many

    def add_arcs(self, u: int, w: int, offsets: np.ndarray, targets: np.ndarray) -> int:
        """A factor that is 1 for the arcs from candidates of u to those of w, u < w, by their rows."""
        return self._add(Factor((u, w), *arcs_of(offsets, targets, np.uint64(self._fields.bits), self.kinds)))

    def __getitem__(self, number: int) -> Factor:
        return self._factors[number]

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
        return sorted(number for number in numbers if vertex in self._factors[number].scope)

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
        self._words = sum(map(_words, self._factors.values()))

    def entries(self, step: Step) -> int:
        """Of all factors of an elimination."""
        return sum(len(self._factors[number].keys) for number in step.factors)

    def cost(self, step: Step, most: float = math.inf) -> float:
        """About how many nanoseconds an elimination takes, or so many that are more than `most`."""
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
        return (words + len(self.kinds)) * self.cost(step) / PRODUCT_NS

    def step(self, vertex: int, factors: Collection[int]) -> Step:
        """The elimination of a vertex from the product of some factors.

        Those that its neighbours have among them belong to it: they make its joins smaller, unless one join does it
        all, and adds up its products as they are made.
        """
        holding = self.holding(vertex, factors)
        if self._is_dense(vertex, holding):
            return Step(vertex, tuple(holding))
        scope = self._scope(holding)
        return Step(vertex, tuple(sorted(n for n in factors if scope.issuperset(self._factors[n].scope))))

    def eliminate(self, steps: Iterable[Step]) -> None:
        """Do these steps, in threads if that is worth it; `eliminated` then has what they made."""
        new = [step for step in dict.fromkeys(steps) if step not in self._known]
        sums: list[list[Factor]] = [[] for _ in new]  # each of them the sum of these
        self._words_made = 0
        new.sort(key=self.cost)  # the longest one is done first
        products: list[tuple[int, Product | Join]] = [(number, self._begun(step)) for number, step in enumerate(new)]

        def advance(task: tuple[int, Product | Join]) -> list[tuple[int, Product | Join]]:
            number, product = task
            made = self._summed_product.advance(product)
            if isinstance(made, Factor):
                sums[number].append(made)
                self._words_made += _words(made)  # about: threads may do this at the same time
                if self._words + self._words_made > self.most_words:
                    raise StepsSpent
                return []
            return [(number, one) for one in made]

        def add_up(some: list[Factor]) -> list[list[Factor]]:
            some[:] = [self._summed_product.sum(some)]
            return []

        how = self._how()
        do_all(products, advance, *how)
        ranges = [cut_at_same_keys(parts) if len(parts) > 1 else [parts] for parts in sums]
        do_all([some for parts in ranges for some in parts if len(some) > 1], add_up, *how)
        for step, parts in zip(new, ranges, strict=True):
            self._known[step] = self._add(concatenated([factor for (factor,) in parts]))

    def eliminated(self, step: Step) -> int:
        """The product of the step's factors, summed over its vertex."""
        return self._known[step]

    def merge_all(self, merges: Iterable[tuple[int, int, int]]) -> None:
        """Make what `merge` gives for these, in threads if that is worth it."""
        new = [merge for merge in dict.fromkeys(merges) if ("merge", *merge) not in self._known]
        made: dict[tuple[int, int, int], Factor] = {}

        def make(merge: tuple[int, int, int]) -> list[tuple[int, int, int]]:
            made[merge] = self._merged(*merge)
            return []

        do_all(list(new), make, *self._how())
        for merge in new:
            self._known["merge", *merge] = self._add(made[merge])

    def multiply(self, number: int, other: int) -> int:
        """The product of two factors of one scope."""
        return self._once(("multiply", *sorted((number, other))), lambda: self._multiplied(number, other))

    def combine(self, number: int, weight: int, other: int, other_weight: int) -> int:
        """The sum of two factors of one scope, each times its weight."""
        key = "combine", number, weight, other, other_weight
        return self._once(key, lambda: self._combined(number, weight, other, other_weight))

    def merge(self, number: int, vertex: int, into: int) -> int:
        """A factor of a vertex as one of another vertex, which has the same image."""
        return self._once(("merge", number, vertex, into), lambda: self._merged(number, vertex, into))

    def keep_apart(self, number: int, u: int, w: int) -> int:
        """A factor where two of its vertices have different images, 0 elsewhere."""
        return self._once(("apart", number, u, w), lambda: self._kept_apart(number, u, w))

    def _once(self, key: Hashable, make: Callable[[], Factor]) -> int:
        if key not in self._known:
            self._known[key] = self._add(make())
        return self._known[key]

    def _add(self, factor: Factor) -> int:
        """The number of a factor: that of an equal one, if there is one."""
        alike = self._by_checksum.setdefault((factor.scope, _checksum(factor)), [])
        for number in alike:
            if _are_equal(self._factors[number], factor):
                return number
        self._factors[self._added] = factor
        alike.append(self._added)
        self._words += _words(factor)
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
        return len(self._scope(step.factors))

    def _is_dense(self, vertex: int, numbers: Sequence[int]) -> bool:
        """Whether one join does it all, and its sums have a place for each key."""
        if len(numbers) != 2 or len(self.holding(vertex, numbers)) != 2:
            return False
        return self._summed_product.is_dense(self._orders.products(vertex, numbers), len(self._scope(numbers)) - 1)

    def _scope(self, numbers: Iterable[int]) -> set[int]:
        """The vertices of some factors."""
        return {u for number in numbers for u in self._factors[number].scope}

    def _how(self) -> tuple[Callable[[], None], int, float]:
        """How tasks are done: what is checked meanwhile, by how many threads, and until when by one."""
        return self._check, self._threads(), max(self._alone_until_s, time.monotonic() + LEAST_ALONE_S)

    def _begun(self, step: Step) -> Product:
        self._spend(OPERATION_NS)
        factors = [self._factors[number] for number in self._order(step).numbers]
        return self._summed_product.begin(step.vertex, factors)

    def _check(self) -> None:
        self._spend(0.0)

    def _multiplied(self, number: int, other: int) -> Factor:
        (scope, *entries), (_, *others) = self._factors[number], self._factors[other]
        self._spend(OPERATION_NS + ENTRY_NS * (len(entries[0]) + len(others[0])))
        return Factor(scope, *multiplied(*entries, *others, self.kinds))

    def _combined(self, number: int, weight: int, other: int, other_weight: int) -> Factor:
        self._spend(OPERATION_NS)
        return self._summed_product.weighted_sum(self._factors[number], weight, self._factors[other], other_weight)

    def _merged(self, number: int, vertex: int, into: int) -> Factor:
        scope, keys, values = self._factors[number]
        self._spend(OPERATION_NS + ENTRY_NS * len(keys))
        fields, both = self._fields, into in scope
        result = tuple(sorted({into if u == vertex else u for u in scope}))
        equal = fields.places(scope, [vertex, into] if both else [])
        kept = [(u, into if u == vertex else u) for u in scope if not (both and u == vertex)]
        form = fields.renaming_moves(scope, result, kept), fields.mask, equal
        order = fields.words(len(result)), fields.digits(result, result)
        entries = rearranged(keys, values, *form, *order, self._ended)
        self._check()
        return Factor(result, *entries)

    def _kept_apart(self, number: int, u: int, w: int) -> Factor:
        scope, keys, values = self._factors[number]
        self._spend(OPERATION_NS + ENTRY_NS * len(keys))
        return Factor(scope, *apart(keys, values, self._fields.places(scope, [u, w]), self._fields.mask))


def _checksum(factor: Factor) -> tuple[int, int]:
    return int(factor.keys.sum()), int(factor.values.sum())


def _are_equal(factor: Factor, other: Factor) -> bool:
    return np.array_equal(factor.keys, other.keys) and np.array_equal(factor.values, other.values)


def _words(factor: Factor) -> int:
    return factor.keys.size + factor.values.size
