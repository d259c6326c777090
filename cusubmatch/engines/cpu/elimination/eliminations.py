"""Eliminations that are done together, by threads of the host, which share parts of large ones, and by a device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from cusubmatch.engines.cpu.elimination.costs import OPERATION_NS
from cusubmatch.engines.cpu.elimination.key_ranges import concatenated, cut_at_same_keys
from cusubmatch.engines.cpu.elimination.placed_factors import PlacedFactor, PlacedFactors
from cusubmatch.engines.cpu.elimination.shared_steps import SharedSteps
from cusubmatch.engines.cpu.elimination.summed_product import Join, Product, SummedProduct
from cusubmatch.engines.cpu.elimination.task_stack import do_all
from cusubmatch.engines.factors.factor import Factor

__all__ = ["Eliminations"]

_Task = Callable[[], list[Any]]  # gives other tasks


class Eliminations:
    """Products that are to be summed over a vertex each.

    Parameters
    ----------
    products : sequence of (vertex, factors)
        The factors in the order of their joins; those that take least are first.
    costs : sequence of float
        Of each, nanoseconds of one thread of the host, about.
    summed_product : SummedProduct
    places : PlacedFactors
    spend : callable
        spend(nanoseconds) is called, by any thread, before it does what takes about so long, and may raise.
    made : callable
        Called with each factor, or part of one, when it is made; may raise.
    """

    def __init__(
        self,
        products: Sequence[tuple[int, Sequence[PlacedFactor]]],
        costs: Sequence[float],
        summed_product: SummedProduct,
        places: PlacedFactors,
        spend: Callable[[float], None],
        made: Callable[[PlacedFactor], None],
    ):
        self._products, self._summed_product, self._places = products, summed_product, places
        self._spend, self._made = spend, made
        self._waiting = SharedSteps(costs, places.has_device)
        self._sums: dict[int, PlacedFactor] = {}
        self._parts: list[list[Factor]] = [[] for _ in products]  # the sum of which is made

    def do(self, check: Callable[[], None], threads: int, alone_until_s: float) -> list[PlacedFactor]:
        """The sums, in the order of the products; `check`, `threads` and `alone_until_s` as of `do_all`."""
        number = len(self._products)
        if self._waiting.suit_device:  # one thread is its
            tasks: list[_Task] = [*[self._here] * min(threads - 1 or 1, number), self._there]
            do_all(tasks, _do, check, threads, 0.0)
        else:
            do_all([self._here] * min(threads, number), _do, check, threads, alone_until_s)
        ranges = [cut_at_same_keys(parts) if len(parts) > 1 else [parts] for parts in self._parts]
        do_all(
            [some for pieces in ranges for some in pieces if len(some) > 1], self._add_up, check, threads, alone_until_s
        )
        return [self._sums[n] if n in self._sums else self._whole(pieces) for n, pieces in enumerate(ranges)]

    def _there(self) -> list[_Task]:
        """Make sums on the device as long as some wait for it."""
        while (number := self._waiting.for_device()) is not None:
            self._spend(OPERATION_NS)
            self._sums[number] = self._places.summed_product(*self._products[number])
            self._made(self._sums[number])
        return []

    def _here(self) -> list[_Task]:
        """Begin with one on the host, and then with another."""
        number = self._waiting.for_host()
        if number is None:
            return []
        self._spend(OPERATION_NS)
        vertex, factors = self._products[number]
        begun = self._summed_product.begin(vertex, [self._places.here(factor) for factor in factors])
        return [self._here, functools.partial(self._advance, number, begun)]

    def _advance(self, number: int, product: Product | Join) -> list[_Task]:
        """Go on with a product, or a part of one."""
        made = self._summed_product.advance(product)
        if not isinstance(made, Factor):
            return [functools.partial(self._advance, number, part) for part in made]
        self._parts[number].append(made)
        self._made(self._places.of_host(made))
        return []

    def _add_up(self, some: list[Factor]) -> list[list[Factor]]:
        """Put the sum of some parts in their place."""
        some[:] = [self._summed_product.sum(some)]
        return []

    def _whole(self, pieces: Sequence[Sequence[Factor]]) -> PlacedFactor:
        return self._places.of_host(concatenated([factor for (factor,) in pieces]))


def _do(task: _Task) -> list[_Task]:
    return task()
