"""Joining factors on a device: the pairs of entries that agree are written out, part by part, and looked up in others.

The entries of one factor are put in the order of the fields that both have, each entry of the other finds its range
there, and a lane writes a pair (expand, sort, compress: Dalton, Olson & Bell 2015). Before it does, the pair is looked
up in other factors by tables that have a place for each key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.factors.device_factors import MorePairs
from cusubmatch.engines.gpu.elimination.array_factor import ArrayFactor, Scope
from cusubmatch.engines.gpu.elimination.array_operations import ArrayOperations
from cusubmatch.engines.gpu.elimination.join_kernels import (
    PLACE_NUMBERS,
    Lookups,
    Made,
    Pairs,
    make_find_ranges,
    make_join_pairs,
)

__all__ = ["ArrayJoins"]

MAX_PAIRS = 1 << 25  # that are written out at the same time
MAX_PLACES = 1 << 26  # of a table of keys


class _Join(NamedTuple):
    """A join whose pairs are known: how many, how many entries of the second factor, and the scope of what is made."""

    pairs: Pairs
    number: int
    others: int
    lookups: Lookups
    scope: Scope


class ArrayJoins:
    """The joins of one product of factors in arrays of a device.

    Parameters
    ----------
    operations : ArrayOperations
    check : callable
        Called between parts; may raise.
    most_pairs : float
        `MorePairs` is raised before more are made.
    """

    def __init__(self, operations: ArrayOperations, check: Callable[[], None], most_pairs: float):
        self._operations, self._check, self._most_pairs = operations, check, most_pairs
        self._pairs = 0
        self.xp, self.fields = operations.xp, operations.fields

    def parts(self, part: ArrayFactor, others: Sequence[ArrayFactor], result: Scope) -> Iterator[ArrayFactor]:
        """Parts of the product of a part and others, in no order, each key of a scope any number of times."""
        if not others:
            yield ArrayFactor(
                result,
                self._operations.columns(part, [result]),
                part.values[:, : len(part)],
                is_plain=part.is_plain,
                ascends=False,
            )
            return
        if not all(map(len, (part, *others))):
            return
        other, *left = others
        scope = tuple(sorted({*part.scope, *other.scope}))
        looked_up = [factor for factor in left if self._is_looked_up(factor, scope)]
        left = [factor for factor in left if not self._is_looked_up(factor, scope)]
        join = self._join(part, other, looked_up, scope if left else result)
        self._pairs += join.number
        if self._pairs > self._most_pairs:
            raise MorePairs(self._pairs)
        for begin in range(0, join.number, MAX_PAIRS):
            self._check()
            made = self._made(join, begin, min(begin + MAX_PAIRS, join.number))
            if not len(made):
                continue
            if left:
                yield from self.parts(made, left, result)
            else:
                yield made

    def _is_looked_up(self, factor: ArrayFactor, scope: Scope) -> bool:
        return {*factor.scope} <= {*scope} and self.fields.different_keys(len(factor.scope)) <= MAX_PLACES

    def _join(self, factor: ArrayFactor, other: ArrayFactor, looked_up: Sequence[ArrayFactor], scope: Scope) -> _Join:
        """The pairs of entries of two factors that agree on what both scopes have."""
        xp, do = self.xp, self._operations
        matched, ordered = (factor, other) if len(other) <= len(factor) else (other, factor)
        common = tuple(u for u in factor.scope if u in other.scope)
        order, values = None, ordered.values
        if not ordered.ascends or ordered.scope[: len(common)] != common:
            order = do.order(do.columns(ordered, [common]), len(common), len(ordered))
            values = values if ordered.is_plain else xp.take(values, order, axis=1)
        scopes = [scope, *(one.scope for one in looked_up), common]
        first = do.first_columns(scopes)
        parts, other_parts = do.columns(matched, scopes), do.columns(ordered, scopes, order)
        n, m = len(matched), len(ordered)
        begins, pairs = xp.empty(n, np.int64), xp.empty(n, np.int64)
        do.launch(make_find_ranges, n, parts.ravel(), other_parts.ravel(), n, m, *first[-2:], begins, pairs)
        ends = xp.cumsum(pairs)
        number = int(ends[-1])
        values, other_values = self._flat(matched, matched.values), self._flat(ordered, values)
        plain = np.int64(matched.is_plain), np.int64(ordered.is_plain)
        all_pairs = Pairs(parts.ravel(), values, begins, ends, other_parts.ravel(), other_values, *plain)
        return _Join(all_pairs, number, m, self._lookups(looked_up, first[1:]), scope)

    def _flat(self, factor: ArrayFactor, values: Any) -> Any:
        """(kinds * n,): the values of a factor; where all are 1 they are not read."""
        return self._operations.ones if factor.is_plain else values[:, : len(factor)].ravel()

    def _lookups(self, factors: Sequence[ArrayFactor], columns: Sequence[int]) -> Lookups:
        """Tables of factors, one after the other; the columns that have their keys."""
        xp, do = self.xp, self._operations
        places, words, entries = [], 0, 0
        for factor, column in zip(factors, columns, strict=False):
            places.append((column, int(factor.is_plain), words, entries))
            words += do.table_words(factor)
            entries += 0 if factor.is_plain else len(factor)
        tables = [do.table(factor) for factor in factors]
        values = [factor.values[:, : len(factor)] for factor in factors if not factor.is_plain]
        return Lookups(
            np.int64(PLACE_NUMBERS * len(factors)),
            do.no_order if not factors else xp.asarray(np.array(places, np.int64).ravel()),
            _side_by_side(xp, tables, do.no_table),
            _side_by_side(xp, values, do.ones).ravel(),
            np.int64(entries),
        )

    def _made(self, join: _Join, begin: int, end: int) -> ArrayFactor:
        """Products of some of the pairs, in no order."""
        xp, do = self.xp, self._operations
        words, space = self.fields.words(len(join.scope)), end - begin
        keys, values = xp.empty((words, space), np.uint64), xp.empty((len(do.kinds), space), do.value_type)
        made = Made(keys.ravel(), values.ravel(), xp.zeros(1, np.uint64))
        form = join.pairs, join.others, begin, end, words, join.lookups, do.kinds_there, do.ones, made
        do.launch(make_join_pairs, space, *form, specialised=(do.floats,))
        number = int(made.number[0]) if join.lookups.end else space
        return ArrayFactor(join.scope, keys, values, number, ascends=False)


def _side_by_side(xp: Any, arrays: Sequence[Any], instead: Any) -> Any:
    """Arrays as one, or what is taken instead of none."""
    if len(arrays) == 1:
        return arrays[0]
    return xp.concatenate(arrays, axis=-1) if arrays else instead
