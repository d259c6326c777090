"""The product of some factors, summed over a vertex: what is left of them when the vertex is eliminated.

The factors are joined one after the other, always the one that makes least of what there is. Factors with no more
vertices than a join has are not joined after it: its products are looked up in them as they are made, so that only
those are kept that all of them have. Where a join has more entries than memory is taken for, what there is is cut into
blocks, each of which is joined with the others alone; so other threads can help.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.arithmetic import weights_of
from cusubmatch.engines.cpu.elimination.factor import Factor, Fields, combined, summed_out
from cusubmatch.engines.cpu.elimination.join import (
    Matched,
    Ordered,
    in_order,
    joined,
    ranges_of,
    summed_by_place,
    summed_by_sorting,
)
from cusubmatch.engines.cpu.elimination.lookups import lookups_of, words_of_bitmap

__all__ = ["DENSE_PRODUCT_NS", "PRODUCT_NS", "Product", "SummedProduct"]

PLACES = 1 << 22  # for sums, at most
PLACES_FOR_A_PRODUCT = 16  # at most
DENSE_PRODUCT_NS = 2.5  # where the sums of a result have a place for each key
PRODUCT_NS = 25.0  # elsewhere
ENTRY_NS = 8.0  # to move an entry
MAX_PRODUCTS = 1 << 19  # of one join; bounds its memory, and
MAX_DENSE_PRODUCTS = 1 << 25  # its time
MAX_BITMAP = 1 << 17  # words, of a factor that products are looked up in


class Product(NamedTuple):
    """A product of factors that is to be summed over what the result does not have.

    Attributes
    ----------
    part : Factor
        In any order.
    others : tuple of Factor
    result : tuple of int
        The scope of the sum.
    """

    part: Factor
    others: tuple[Factor, ...]
    result: tuple[int, ...]


class _Agreement(NamedTuple):
    """The entries of two factors that agree on what both scopes have.

    Attributes
    ----------
    scope : tuple of int
        Of their products.
    matched, ordered : Factor
        The second one is in the order of what both have, which its scope begins with.
    begins, ends : int32 (n,)
        The range of the second one's entries that each entry of the first one agrees with.
    pairs : int
        In all ranges.
    """

    scope: tuple[int, ...]
    matched: Factor
    ordered: Factor
    begins: np.ndarray
    ends: np.ndarray
    pairs: int


class SummedProduct:
    """How products of factors are summed; threads may call it at the same time.

    Parameters
    ----------
    fields : Fields
    kinds : uint64 (kinds,)
    spend : callable
        spend(nanoseconds) is called before and after what takes about so long, and raises if `ended` is not 0.
    ended : int64 (1,)
    """

    def __init__(self, fields: Fields, kinds: np.ndarray, spend: Callable[[float], None], ended: np.ndarray):
        self.fields, self.kinds, self._spend, self._ended = fields, kinds, spend, ended
        self._scratches: list[np.ndarray] = []  # that no thread writes to just now

    def is_dense(self, products: float, vertices: int) -> bool:
        """Whether the sums of a result with so many vertices have a place for each key."""
        places = len(self.kinds) << vertices * self.fields.bits
        return places <= min(PLACES, PLACES_FOR_A_PRODUCT * products + (1 << 12))

    def begin(self, vertex: int, factors: Sequence[Factor]) -> Product:
        """The product of factors, to be summed over a vertex that some of them hold."""
        first = min((factor for factor in factors if vertex in factor.scope), key=lambda factor: len(factor.keys))
        result = tuple(sorted({u for factor in factors for u in factor.scope} - {vertex}))
        return Product(first, tuple(factor for factor in factors if factor is not first), result)

    def advance(self, product: Product) -> Factor | list[Product]:
        """The factor that a product is when it is summed; or where it is large, products whose sum it is."""
        part, left = product.part, list(product.others)
        while left:
            scope = part.scope
            left.sort(key=lambda factor: self._growth(scope, factor))
            agreement = self._agreement(part, left[0])
            looked_up = [factor for factor in left[1:] if self._is_looked_up(factor, agreement)]
            others = [factor for factor in left[1:] if not any(factor is one for one in looked_up)]
            result = agreement.scope if others else product.result
            is_dense = result != agreement.scope and self.is_dense(agreement.pairs, len(result))
            most = MAX_DENSE_PRODUCTS if is_dense else MAX_PRODUCTS
            if agreement.pairs > most and len(part.keys) > 1:  # one entry has at most as many as the other factor
                blocks = self._blocks(part, 2 * agreement.pairs // most)
                return [Product(some, tuple(left), product.result) for some in blocks]
            part, left = self._joined(agreement, looked_up, result, is_dense), others
        if part.scope != product.result:
            self._spend(ENTRY_NS * len(part.keys))
            moves = self.fields.moves(part.scope, product.result)
            digits = self.fields.digits(product.result, product.result)
            entries = summed_out(part.keys, part.values, moves, self.fields.mask, digits, self.kinds)
            part = Factor(product.result, *entries)
        return part

    def sum(self, factors: Sequence[Factor]) -> Factor:
        """The sum of factors of one scope."""
        left, weights = list(factors), weights_of(1, self.kinds)
        while len(left) > 1:
            sums = []
            for (scope, *entries), (_, *others) in zip(left[::2], left[1::2], strict=False):
                self._spend(ENTRY_NS * (len(entries[0]) + len(others[0])))
                sums.append(Factor(scope, *combined(*entries, weights, *others, weights, self.kinds)))
            left = sums + left[len(left) - len(left) % 2 :]
        return left[0]

    def _blocks(self, part: Factor, number: int) -> list[Factor]:
        """Blocks of a factor's entries, so many or as many as there are entries."""
        blocks = min(number, len(part.keys))
        cuts = [len(part.keys) * i // blocks for i in range(blocks + 1)]
        return [Factor(part.scope, part.keys[i:j], part.values[i:j]) for i, j in pairwise(cuts)]

    def _growth(self, scope: Sequence[int], factor: Factor) -> float:
        """Entries of a factor for each image of what its scope has in common with another one, about."""
        common = sum(u in scope for u in factor.scope)
        return len(factor.keys) ** (1.0 - common / len(factor.scope))

    def _agreement(self, factor: Factor, other: Factor) -> _Agreement:
        """Which entries of two factors agree, the first one in any order."""
        fields = self.fields
        common = tuple(u for u in factor.scope if u in other.scope)
        is_prefix = other.scope[: len(common)] == common
        matched, ordered = (factor, other) if is_prefix or len(other.keys) < len(factor.keys) else (other, factor)
        self._spend(ENTRY_NS * (len(factor.keys) + len(other.keys)))
        layout = (*common, *(u for u in ordered.scope if u not in common))
        keys, values = ordered.keys, ordered.values
        if not (ordered is other and is_prefix):
            form = fields.moves(ordered.scope, layout), fields.mask, fields.digits(layout, common)
            keys, values = in_order(keys, values, *form)
        shift, bits = np.uint64(fields.bits * (len(layout) - len(common))), fields.bits * len(common)
        to_common = fields.moves(matched.scope, common)
        begins, ends, pairs = ranges_of(matched.keys, to_common, fields.mask, keys, shift, bits, self._ended)
        scope = tuple(sorted({*factor.scope, *other.scope}))
        return _Agreement(scope, matched, Factor(layout, keys, values), begins, ends, int(pairs))

    def _is_looked_up(self, factor: Factor, agreement: _Agreement) -> bool:
        """Whether the products of entries that agree are looked up in a factor while they are made."""
        words = words_of_bitmap(self.fields, factor)
        return {*factor.scope} <= {*agreement.scope} and words <= min(MAX_BITMAP, agreement.pairs)

    def _joined(
        self, agreement: _Agreement, looked_up: Sequence[Factor], result: tuple[int, ...], is_dense: bool
    ) -> Factor:
        """The products of entries that agree, times those of the factors that they are looked up in.

        They are summed over what the result does not have, or else in no order.
        """
        fields, (scope, matched, ordered, begins, ends, pairs) = self.fields, agreement
        self._spend((DENSE_PRODUCT_NS if is_dense else PRODUCT_NS) * pairs)
        made = scope if looked_up else result  # what the products are first made with
        sides = (
            Matched(matched.keys, matched.values, fields.moves(matched.scope, made), begins, ends),
            Ordered(ordered.keys, ordered.values, fields.moves(ordered.scope, made)),
            lookups_of(fields, made, looked_up, len(self.kinds)),
            fields.moves(made, result),
        )
        if is_dense:
            scratch = self._scratches.pop() if self._scratches else np.empty(PLACES, np.uint64)
            bits = fields.bits * len(result)
            entries = summed_by_place(*sides, fields.mask, self.kinds, self._ended, bits, scratch)
            self._scratches.append(scratch)
        elif result != scope:
            digits = fields.digits(result, result)
            entries = summed_by_sorting(*sides, fields.mask, pairs, self.kinds, self._ended, digits)
        else:
            entries = joined(*sides, fields.mask, pairs, self.kinds, self._ended)
        self._spend(0.0)
        return Factor(result, *entries)
