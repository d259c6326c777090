"""Factors by number, and the operations on them, each of which is done once: equal parts of two terms are shared.

An operation that is given up because it would take too long is asked for again with more time, and what was done before
it is still known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence

import numpy as np

from cusubmatch.engines.cpu.elimination.core import Core, core_of
from cusubmatch.engines.cpu.elimination.core_walk import WalkState, new_state, walk_core
from cusubmatch.engines.cpu.elimination.eliminate import eliminated, products
from cusubmatch.engines.cpu.elimination.factor import Factor, arcs_of, combined, multiplied, rearranged

__all__ = ["FactorStore"]

KEY_BITS = 64
DENSE_BITS = 22  # of keys, at most, whose sums have a place each
DENSE_SHARE = 16  # such places for each product, at most
OPERATION_NS = 3e4  # of any operation, about
DENSE_PRODUCT_NS = 2.5
PRODUCT_NS = 25.0
WORK_NS = 12.0  # of a unit of work of a walk
WALK_TURN = 1 << 16  # units, after which a walk may be given up
ENTRY_NS = 8.0  # to move an entry
MAX_PRODUCTS = 1 << 22  # of one operation; bounds its memory and its time
MAX_ENTRIES = 1 << 24  # of all factors together


class FactorStore:
    """The factors of one count, all values modulo one number.

    Parameters
    ----------
    size : int
        Local indices are below it.
    modulus : uint64
        As `arithmetic` has it.
    spend : callable
        spend(nanoseconds) is called before an operation that takes about so long, and may raise.
    """

    def __init__(self, size: int, modulus: np.uint64, spend: Callable[[float], None]):
        self.size, self.modulus, self._spend = size, modulus, spend
        self._bits = max((size - 1).bit_length(), 1)
        self._mask = np.uint64((1 << self._bits) - 1)
        self._factors: list[Factor] = []
        self._known: dict[Hashable, int] = {}
        self._most: dict[Hashable, float] = {}  # products of eliminating a vertex that some factors hold
        self._walks: dict[Hashable, tuple[Core, WalkState]] = {}  # that have begun
        self._sums: dict[Hashable, int] = {}  # of those that have ended
        self._scratch = np.empty(1 << DENSE_BITS, np.uint64)
        self._entries = 0

    def add_arcs(self, u: int, w: int, offsets: np.ndarray, targets: np.ndarray) -> int:
        """A factor that is 1 for the arcs from candidates of u to those of w, u < w, by their rows."""
        return self._add(Factor((u, w), *arcs_of(offsets, targets, np.uint64(self._bits), self.modulus)))

    def __getitem__(self, number: int) -> Factor:
        return self._factors[number]

    def cost(self, vertex: int, numbers: Sequence[int]) -> float:
        """About how many nanoseconds it takes to eliminate a vertex that these factors hold; inf: too long."""
        factors = [self._factors[number] for number in numbers]
        return self._time(self._products(vertex, numbers), self._scope(vertex, factors))

    def eliminate(self, vertex: int, numbers: Sequence[int]) -> int:
        """The product of factors, summed over a vertex that all of them hold."""
        return self._once(("eliminate", vertex, *numbers), lambda: self._eliminated(vertex, numbers))

    def multiply(self, number: int, other: int) -> int:
        """The product of two factors of one scope."""
        return self._once(("multiply", *sorted((number, other))), lambda: self._multiplied(number, other))

    def combine(self, number: int, weight: int, other: int, other_weight: int) -> int:
        """The sum of two factors of one scope, each times its weight, a residue."""
        key = "combine", number, weight, other, other_weight
        return self._once(key, lambda: self._combined(number, weight, other, other_weight))

    def merge(self, number: int, vertex: int, into: int) -> int:
        """A factor of a vertex as one of another vertex, which has the same image."""
        return self._once(("merge", number, vertex, into), lambda: self._merged(number, vertex, into))

    def walk(self, numbers: Collection[int], conflicts: Collection[tuple[int, int]]) -> int:
        """The sum of the product of factors over all images that differ where they have to, by walking.

        A walk that is given up goes on where it has stopped when it is asked for again.
        """
        key = frozenset(numbers), frozenset(conflicts)
        if key not in self._sums:
            if key not in self._walks:
                factors = [self._factors[number] for number in numbers]
                core = core_of(factors, conflicts, self.size, self._bits, self.modulus)
                self._spend(OPERATION_NS if core.elements <= MAX_ENTRIES else math.inf)
                self._walks[key] = core, new_state(core, self.modulus)
            core, state = self._walks[key]
            ended = False
            while not ended:
                self._spend(WALK_TURN * WORK_NS)
                ended = walk_core(core, state, self.modulus, WALK_TURN)
            del self._walks[key]
            self._sums[key] = int(state.sum[0])
        return self._sums[key]

    def _once(self, key: Hashable, make: Callable[[], Factor]) -> int:
        if key not in self._known:
            self._known[key] = self._add(make())
        return self._known[key]

    def _add(self, factor: Factor) -> int:
        self._entries += len(factor.keys)
        if self._entries > MAX_ENTRIES:
            self._spend(math.inf)
        self._factors.append(factor)
        return len(self._factors) - 1

    def _products(self, vertex: int, numbers: Sequence[int]) -> float:
        """How many products eliminating a vertex that these factors hold takes, at most."""
        key = vertex, *numbers
        if key not in self._most:
            factors = [self._factors[number] for number in numbers]
            keys = np.concatenate([factor.keys for factor in factors])
            fields = np.array([self._position(factor.scope, vertex) for factor in factors], np.uint64)
            self._most[key] = products(keys, _ends(factors), fields, self._mask, self.size)
        return self._most[key]

    def _scope(self, vertex: int, factors: Sequence[Factor]) -> tuple[int, ...]:
        return tuple(sorted({u for factor in factors for u in factor.scope} - {vertex}))

    def _time(self, products: float, scope: Sequence[int]) -> float:
        if self._is_dense(products, scope):
            return OPERATION_NS + DENSE_PRODUCT_NS * products
        if products > MAX_PRODUCTS or len(scope) * self._bits > KEY_BITS:
            return math.inf
        return OPERATION_NS + PRODUCT_NS * products

    def _is_dense(self, products: float, scope: Sequence[int]) -> bool:
        """Whether the sums of a result have a place for each key."""
        bits = len(scope) * self._bits
        return bits <= DENSE_BITS and 1 << bits <= DENSE_SHARE * products + (1 << 12)

    def _position(self, scope: Sequence[int], vertex: int) -> int:
        """Where the field of a vertex is in the keys of a factor: its lowest bit."""
        return self._bits * (len(scope) - 1 - scope.index(vertex))

    def _eliminated(self, vertex: int, numbers: Sequence[int]) -> Factor:
        factors = sorted((self._factors[number] for number in numbers), key=lambda one: (len(one.scope), len(one.keys)))
        scope, most = self._scope(vertex, factors), self._products(vertex, numbers)
        self._spend(self._time(most, scope))
        fields = np.array([self._position(factor.scope, vertex) for factor in factors], np.uint64)
        moves = np.zeros((len(factors), max(len(factor.scope) for factor in factors), 3), np.uint64)
        shared, taken = np.zeros(len(factors), np.uint64), 0
        for f, factor in enumerate(factors):
            places = 0
            for i, u in enumerate(one for one in factor.scope if one != vertex):
                place = self._position(scope, u)
                moves[f, i] = self._position(factor.scope, u), place, self._mask
                places |= int(self._mask) << place
            shared[f] = places & taken
            taken |= places
        keys = np.concatenate([factor.keys for factor in factors])
        values = np.concatenate([factor.values for factor in factors])
        form = self._mask, self.size, self.modulus, self._bits * len(scope)
        arrays = keys, values, _ends(factors), fields, moves, shared
        return Factor(scope, *eliminated(*arrays, *form, int(most), self._is_dense(most, scope), self._scratch))

    def _multiplied(self, number: int, other: int) -> Factor:
        (scope, *entries), (_, *others) = self._factors[number], self._factors[other]
        self._spend(OPERATION_NS + ENTRY_NS * (len(entries[0]) + len(others[0])))
        return Factor(scope, *multiplied(*entries, *others, self.modulus))

    def _combined(self, number: int, weight: int, other: int, other_weight: int) -> Factor:
        (scope, *entries), (_, *others) = self._factors[number], self._factors[other]
        self._spend(OPERATION_NS + ENTRY_NS * (len(entries[0]) + len(others[0])))
        weights = np.uint64(weight), np.uint64(other_weight)
        return Factor(scope, *combined(*entries, weights[0], *others, weights[1], self.modulus))

    def _merged(self, number: int, vertex: int, into: int) -> Factor:
        scope, keys, values = self._factors[number]
        self._spend(OPERATION_NS + ENTRY_NS * len(keys))
        result = tuple(sorted({into if u == vertex else u for u in scope}))
        moves = [(self._position(scope, u), self._position(result, into if u == vertex else u)) for u in scope]
        both = into in scope
        equal = [self._position(scope, vertex), self._position(scope, into)] if both else []
        moves = [move for u, move in zip(scope, moves, strict=True) if not (both and u == vertex)]
        arrays = np.array(moves, np.uint64).reshape(-1, 2), self._mask, np.array(equal, np.uint64)
        return Factor(result, *rearranged(keys, values, *arrays, self._bits * len(result)))


def _ends(factors: Sequence[Factor]) -> np.ndarray:
    return np.cumsum([0, *(len(factor.keys) for factor in factors)])
