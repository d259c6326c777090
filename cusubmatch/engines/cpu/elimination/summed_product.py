"""The product of some factors, summed over vertices: what is left of them when these are eliminated.

The factors are joined one after the other, in an order that is given (`join_order.py`). Factors with no more
vertices than a join has are not joined after it: its products are looked up in them as they are made, so that only
those are kept that all of them have. A join that has more entries than memory is taken for is cut into blocks, each of
which goes on alone; so other threads can help.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cusubmatch.engines.cpu.elimination.costs import DENSE_PRODUCT_NS, ENTRY_NS, PRODUCT_NS
from cusubmatch.engines.cpu.elimination.factor_kernels import summed_out
from cusubmatch.engines.cpu.elimination.join import (
    Matched,
    Ordered,
    Parts,
    in_order,
    joined,
    ranges_of,
    summed_by_place,
    summed_by_sorting,
)
from cusubmatch.engines.cpu.elimination.lookups import BITMAP_BITS, Lookups, lookups_of
from cusubmatch.engines.factors.factor import Factor, scope_without
from cusubmatch.engines.factors.fields import Fields

__all__ = ["Join", "Product", "SummedProduct"]

PLACES = 1 << 22  # for sums, at most
PLACES_FOR_A_PRODUCT = 16  # at most
MAX_PRODUCTS = 1 << 19  # of one join; bounds its memory, and
MAX_DENSE_PRODUCTS = 1 << 25  # its time
MAX_BITMAP = 1 << 20  # words, of a factor that products are looked up in


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


class Join(NamedTuple):
    """The pairs of entries of two factors that agree on what both scopes have; their products are to be made.

    Attributes
    ----------
    matched : Matched
    ordered : Ordered
    pairs : int
    lookups : Lookups
        Only products that are found there are kept, times what is found.
    scope : tuple of int
        Of what is made of them; what they are summed over is not in it.
    is_summed : bool
    others : tuple of Factor
        What the sums are to be multiplied by then.
    result : tuple of int
        The scope of the sum of those products.
    """

    matched: Matched
    ordered: Ordered
    pairs: int
    lookups: Lookups
    scope: tuple[int, ...]
    is_summed: bool
    others: tuple[Factor, ...]
    result: tuple[int, ...]


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
        places = len(self.kinds) * self.fields.different_keys(vertices)
        return places <= min(PLACES, PLACES_FOR_A_PRODUCT * products + (1 << 12))

    def begin(self, vertices: Sequence[int], factors: Sequence[Factor]) -> Product:
        """The product of factors, in the order of their joins, to be summed over some of their vertices."""
        first, *others = factors
        return Product(first, tuple(others), scope_without(factors, vertices))

    def advance(self, task: Product | Join, count_pairs: Callable[[int], None] = lambda _: None) -> Factor | list[Join]:
        """The factor that a product is when it is summed; or where a join is large, joins that it is the sum of.

        count_pairs(pairs) is called before those of a join are made, and may raise.
        """
        while isinstance(task, Join) or task.others:
            if isinstance(task, Product):
                task = self._join(task)
                count_pairs(task.pairs)
                most = MAX_DENSE_PRODUCTS if self._is_summed_by_place(task) else MAX_PRODUCTS
                if task.pairs > most and len(task.matched.keys) > 1:
                    return _blocks(task, 2 * task.pairs // most)
            task = Product(self._joined(task), task.others, task.result)
        return self._summed_out(task.part, task.result)

    def _summed_out(self, factor: Factor, result: tuple[int, ...]) -> Factor:
        if factor.scope == result:
            return factor
        fields = self.fields
        self._spend(ENTRY_NS * len(factor.keys))
        words, digits = fields.words(len(result)), fields.digits(result, result)
        form = fields.moves(factor.scope, result), fields.mask, words, digits
        entries = summed_out(factor.keys, factor.values, *form, self.kinds, self._ended)
        self._spend(0.0)
        return Factor(result, *entries)

    def _join(self, product: Product) -> Join:
        """A product's first join."""
        fields, part = self.fields, product.part
        other, *left = product.others
        scope = tuple(sorted({*part.scope, *other.scope}))
        (matched, begins, ends), ordered, pairs = self._agreement(part, other)
        looked_up: list[Factor] = []
        others: list[Factor] = []
        for factor in left:
            is_looked_up = self._is_looked_up(factor, scope, pairs)
            (looked_up if is_looked_up else others).append(factor)
        made = scope if others else product.result
        keys = [made, *(factor.scope for factor in looked_up)]
        return Join(
            Matched(matched.keys, matched.values, self._parts(matched.scope, keys), begins, ends),
            Ordered(ordered.keys, ordered.values, self._parts(ordered.scope, keys)),
            pairs,
            lookups_of(fields, looked_up, len(self.kinds)),
            made,
            made != scope,
            tuple(others),
            product.result,
        )

    def _parts(self, scope: Sequence[int], keys: Sequence[Sequence[int]]) -> Parts:
        """What keys of a scope give to keys of other scopes."""
        words = [self.fields.words(len(other)) for other in keys]
        columns = np.cumsum([0, *words]).tolist()
        moves = [self.fields.moves(scope, other, first) for other, first in zip(keys, columns, strict=False)]
        return Parts(np.concatenate(moves), words[0], columns[-1])

    def _agreement(self, factor: Factor, other: Factor) -> tuple[tuple[Factor, np.ndarray, np.ndarray], Factor, int]:
        """Which entries of two factors agree: those of one of them, with ranges of the other one's; and pairs."""
        fields = self.fields
        common = tuple(u for u in factor.scope if u in other.scope)
        is_prefix = other.scope[: len(common)] == common
        matched, ordered = (factor, other) if is_prefix or len(other.keys) < len(factor.keys) else (other, factor)
        self._spend(ENTRY_NS * (len(factor.keys) + len(other.keys)))
        layout = (*common, *(u for u in ordered.scope if u not in common))
        keys, values = ordered.keys, ordered.values
        if not (ordered is other and is_prefix):
            form = fields.moves(ordered.scope, layout), fields.mask, fields.digits(layout, common)
            keys, values = in_order(keys, values, *form, self._ended)
        to_common, how = fields.moves(matched.scope, layout), fields.prefix(len(layout), len(common))
        begins, ends, pairs = ranges_of(matched.keys, to_common, fields.mask, keys, *how, self._ended)
        return (matched, begins, ends), Factor(layout, keys, values), int(pairs)

    def _is_looked_up(self, factor: Factor, scope: Sequence[int], pairs: int) -> bool:
        """Whether so many products with a scope are looked up in a factor while they are made."""
        bits = self.fields.different_keys(len(factor.scope))
        return {*factor.scope} <= {*scope} and bits <= BITMAP_BITS * min(MAX_BITMAP, pairs)

    def _is_summed_by_place(self, join: Join) -> bool:
        return join.is_summed and self.is_dense(join.pairs, len(join.scope))

    def _joined(self, join: Join) -> Factor:
        """The products of a join; in no order where they are not summed."""
        fields, scope = self.fields, join.scope
        by_place = self._is_summed_by_place(join)
        self._spend((DENSE_PRODUCT_NS if by_place else PRODUCT_NS) * join.pairs)
        sides = join.matched, join.ordered, join.lookups
        if by_place:
            scratch = self._scratches.pop() if self._scratches else np.empty(PLACES, np.uint64)
            bits = fields.bits * len(scope)
            entries = summed_by_place(*sides, fields.mask, self.kinds, self._ended, bits, scratch)
            self._scratches.append(scratch)
        elif join.is_summed:
            digits = fields.digits(scope, scope)
            entries = summed_by_sorting(*sides, fields.mask, join.pairs, self.kinds, self._ended, digits)
        else:
            entries = joined(*sides, fields.mask, join.pairs, self.kinds, self._ended)
        self._spend(0.0)
        return Factor(scope, *entries)


def _blocks(join: Join, number: int) -> list[Join]:
    """Joins of parts of the matched factor with about as many pairs each, so many or fewer."""
    keys, values, parts, begins, ends = join.matched
    before = np.concatenate([[0], np.cumsum(ends - begins, dtype=np.int64)])  # pairs before each entry
    cuts = np.searchsorted(before, join.pairs * np.arange(1, number) // number).tolist()
    blocks = []
    for i, j in pairwise(sorted({0, *cuts, len(keys)})):
        matched = Matched(keys[i:j], values[i:j], parts, begins[i:j], ends[i:j])
        blocks.append(join._replace(matched=matched, pairs=int(before[j] - before[i])))
    return blocks
