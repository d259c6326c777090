"""Factors by number, and the operations on them, each of which is done once: equal parts of two terms are shared.

Equal factors have one number, however they were made. Eliminations are done together, in threads, and so are merges;
other operations, which take little, one after the other.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Collection, Hashable, Iterable

import numpy as np

from cusubmatch.engines.cpu.elimination.costs import ENTRY_NS
from cusubmatch.engines.cpu.elimination.eliminations import Eliminations
from cusubmatch.engines.cpu.elimination.factor_kernels import arcs_of
from cusubmatch.engines.cpu.elimination.host_factors import HostFactors
from cusubmatch.engines.cpu.elimination.placed_factors import PlacedFactor, PlacedFactors
from cusubmatch.engines.cpu.elimination.step_costs import Step, StepCosts
from cusubmatch.engines.cpu.elimination.summed_product import SummedProduct
from cusubmatch.engines.cpu.elimination.task_stack import do_all
from cusubmatch.engines.factors.device_factors import DeviceFactors
from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.runs import StepsSpent

__all__ = ["MANY_WORDS", "FactorStore"]

MOST_MEMORY_ERRORS = 16  # of a count, after which another way may still do
MANY_WORDS = 1 << 27  # of all factors together
FULL_SHARE = 0.5  # of the words that there may be, from which others are forgotten
ALONE_S = 0.25  # before threads begin, which would hinder what counts beside,
LEAST_ALONE_S = 0.001  # and each time that they do


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

    Attributes
    ----------
    costs : StepCosts
        Of eliminations.
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
        self._alike: dict[tuple[tuple[int, ...], int], list[int]] = {}  # by scope and number of entries
        self._known: dict[Hashable, int] = {}  # the number of what an operation made
        self.costs = StepCosts(
            size, self._fields, len(kinds), self._places, self._factors, self._summed_product.is_dense
        )

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
        self.costs.keep_only(kept)
        left = {key: [n for n in alike if n in kept] for key, alike in self._alike.items()}
        self._alike = {key: alike for key, alike in left.items() if alike}
        self._words = sum(map(self._words_of, self._factors.values()))

    def look_at(self, steps: Iterable[Step]) -> set[Step]:
        """Follow samples of the joins of those whose cost they may tell better, in threads; the steps of which."""
        new = {step for step in steps if step not in self._known and self.costs.may_be_more(step)}
        found: dict[Step, float] = {}

        def follow(step: Step) -> list[Step]:
            self._spend(ENTRY_NS * self.costs.entries(step))
            found[step] = self.costs.sampled(step)
            return []

        do_all(sorted(new), follow, *self._how())
        for step in sorted(new):
            self.costs.learn(step, found[step])
        return new

    def expected_words(self, step: Step) -> float:
        """That are needed for what an elimination makes, about."""
        return 0.0 if step in self._known else self.costs.words(step)

    def eliminate(self, steps: Iterable[Step], meanwhile: Callable[[], None] = lambda: None) -> None:
        """Do these steps, in threads if that is worth it, and on a device; `eliminated` then has what they made.

        `meanwhile` may be called while a device does some, by any thread.

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
        costs = {step: self.costs.cost_here(step) for step in steps if step not in self._known}
        new = sorted(costs, key=costs.__getitem__)
        products = [(step.vertices, [self._factors[n] for n in self.costs.numbers(step)]) for step in new]
        self._words_made, room = 0, self.room
        how = self._summed_product, self._places, self._spend, self._count_words, lambda: self._words_made < room
        here = [costs[step] for step in new]
        there = [self.costs.cost_there(step) for step in new] if self.costs.has_device else []
        eliminations = Eliminations(products, here, there, *how)
        for number, factor in eliminations.do(*self._how(), meanwhile):
            self._known[new[number]] = self._add(factor)
        self._memory_errors += eliminations.memory_errors
        if self._memory_errors > MOST_MEMORY_ERRORS:
            raise MemoryError
        for number, pairs in eliminations.given_up.items():
            self.costs.set_products(new[number], pairs)

    def is_done(self, step: Step) -> bool:
        """Whether `eliminated` has what a step makes."""
        return step in self._known

    def eliminated(self, step: Step) -> int:
        """The product of the step's factors, summed over its vertices."""
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
        alike = self._alike.setdefault((factor.scope, factor.entries), [])
        for number in alike:
            if self._places.are_equal(self._factors[number], factor):
                return number
        self._factors[self._added] = factor
        alike.append(self._added)
        self._words += self._words_of(factor)
        self._added += 1
        return self._added - 1

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
