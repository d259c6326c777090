"""Eliminations that are done together, by threads of the host, which share parts of large ones, and by a device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from cusubmatch.engines.cpu.elimination.costs import OPERATION_NS, PRODUCT_NS
from cusubmatch.engines.cpu.elimination.key_ranges import concatenated, cut_at_same_keys
from cusubmatch.engines.cpu.elimination.placed_factors import DEVICE_THREADS, PlacedFactor, PlacedFactors
from cusubmatch.engines.cpu.elimination.shared_steps import SharedSteps
from cusubmatch.engines.cpu.elimination.summed_product import Join, Product, SummedProduct
from cusubmatch.engines.cpu.elimination.task_stack import do_all
from cusubmatch.engines.factors.device_factors import MorePairs
from cusubmatch.engines.factors.factor import Factor

__all__ = ["Eliminations"]

MANY_PAIRS = 1 << 26  # from which it is worth to give one up that makes more than expected,
HOST_MANY_PAIRS = 1 << 22  # or, on the host, to leave it to a device
MORE = 3.0  # times as many
DEARER = 8.0  # times what was expected, what a device lacks memory for

_Task = Callable[[], list[Any]]  # gives other tasks


class Eliminations:
    """Products that are to be summed over vertices each.

    Parameters
    ----------
    products : sequence of (vertices, factors)
        The factors in the order of their joins; those that take least are first.
    costs : sequence of float
        Of each, nanoseconds of one thread of the host, about.
    device_costs : sequence of float
        And of a device; none where it is not free.
    summed_product : SummedProduct
    places : PlacedFactors
    spend : callable
        spend(nanoseconds) is called, by any thread, before it does what takes about so long, and may raise.
    made : callable
        Called with each factor, or part of one, when it is made; may raise.
    has_room : callable
        Whether there is room for what others make: if not, none but the first is begun.

    Attributes
    ----------
    given_up : dict
        By the number of a product that is not made, since it has more pairs of entries than expected (on the host only
        where there is a device) or the device lacks memory for it, the pairs that it is to be taken to have.
    memory_errors : int
        How often the device lacked memory.
    """

    def __init__(
        self,
        products: Sequence[tuple[Sequence[int], Sequence[PlacedFactor]]],
        costs: Sequence[float],
        device_costs: Sequence[float],
        summed_product: SummedProduct,
        places: PlacedFactors,
        spend: Callable[[float], None],
        made: Callable[[PlacedFactor], None],
        has_room: Callable[[], bool],
    ):
        self._products, self._summed_product, self._places = products, summed_product, places
        self._spend, self._made, self._has_room = spend, made, has_room
        self._costs, self._waiting = costs, SharedSteps(costs, device_costs)
        self.given_up: dict[int, float] = {}
        self.memory_errors = 0
        self._sums: dict[int, PlacedFactor] = {}
        self._parts: list[list[Factor]] = [[] for _ in products]  # the sum of which is made
        self._pairs = [0] * len(products)  # of their joins on the host

    def do(
        self, check: Callable[[], None], threads: int, alone_until_s: float, meanwhile: Callable[[], None]
    ) -> list[tuple[int, PlacedFactor]]:
        """The sums that are made, each with the number of its product.

        Arguments as those of `do_all`, and what one thread does while a device makes some.
        """
        number = len(self._products)
        if self._waiting.suit_device:  # some threads are its
            there = min(DEVICE_THREADS, max(threads - 1, 1))
            tasks: list[_Task] = [self._here] * min(max(threads - there, 1), number)
            tasks += [functools.partial(_without_others, meanwhile), *[self._there] * there]
            do_all(tasks, _do, check, min(threads, len(tasks)), 0.0)
        else:
            do_all([self._here] * min(threads, number), _do, check, threads, alone_until_s)
        ranges = {
            n: cut_at_same_keys(parts) if len(parts) > 1 else [parts]
            for n, parts in enumerate(self._parts)
            if parts and n not in self.given_up
        }
        do_all(
            [some for pieces in ranges.values() for some in pieces if len(some) > 1],
            self._add_up,
            check,
            threads,
            alone_until_s,
        )
        return sorted((self._sums | {n: self._whole(pieces) for n, pieces in ranges.items()}).items())

    def _next(self, take: Callable[[], int | None]) -> int | None:
        """The number of a product that waits; None where there is none, or no room for it."""
        return take() if self._waiting.are_all or self._has_room() else None

    def _there(self) -> list[_Task]:
        """Make sums on the device as long as some wait for it."""
        while (number := self._next(self._waiting.for_device)) is not None:
            self._spend(OPERATION_NS)
            try:
                most = self._most_pairs(number, MANY_PAIRS)
                self._sums[number] = self._places.summed_product(*self._products[number], most)
            except MorePairs as found:
                self.given_up[number] = found.pairs
            except MemoryError:
                self.given_up[number] = DEARER * self._expected(number)
                self.memory_errors += 1
            else:
                self._made(self._sums[number])
        return []

    def _here(self) -> list[_Task]:
        """Begin with one on the host, and then with another."""
        number = self._next(self._waiting.for_host)
        if number is None:
            return []
        self._spend(OPERATION_NS)
        vertices, factors = self._products[number]
        begun = self._summed_product.begin(vertices, [self._places.here(factor) for factor in factors])
        return [self._here, functools.partial(self._advance, number, begun)]

    def _advance(self, number: int, product: Product | Join) -> list[_Task]:
        """Go on with a product, or a part of one."""
        if number in self.given_up:
            return []
        try:
            made = self._summed_product.advance(product, functools.partial(self._count_pairs, number))
        except MorePairs as found:
            self.given_up[number] = found.pairs
            return []
        if not isinstance(made, Factor):
            return [functools.partial(self._advance, number, part) for part in made]
        self._parts[number].append(made)
        self._made(self._places.of_host(made))
        return []

    def _count_pairs(self, number: int, pairs: int) -> None:
        """Count pairs that are about to be made here; raise where they are better left to a device."""
        self._pairs[number] += pairs  # about: threads may do this at the same time
        if self._pairs[number] > self._most_pairs(number, HOST_MANY_PAIRS) and self._places.has_device:
            raise MorePairs(self._pairs[number])

    def _most_pairs(self, number: int, many: int) -> float:
        """From which a product is given up; no fewer than `many`."""
        return max(many, MORE * self._expected(number))

    def _expected(self, number: int) -> float:
        """Pairs."""
        return self._costs[number] / PRODUCT_NS

    def _add_up(self, some: list[Factor]) -> list[list[Factor]]:
        """Put the sum of some parts in their place."""
        some[:] = [self._places.host.sum(some)]
        return []

    def _whole(self, pieces: Sequence[Sequence[Factor]]) -> PlacedFactor:
        return self._places.of_host(concatenated([factor for (factor,) in pieces]))


def _do(task: _Task) -> list[_Task]:
    return task()


def _without_others(do: Callable[[], None]) -> list[_Task]:
    """A task that gives no others."""
    do()
    return []
