"""Joining factors on a device: the pairs of entries that agree are written out, part by part, and looked up in others.

A lane writes a pair (expand, sort, compress: Dalton, Olson & Bell 2015), unless other factors do not have it: these are
looked into before. Where all vertices are summed over, the last products are added up, not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.gpu.elimination.array_factor import ArrayFactor, Scope
from cusubmatch.engines.gpu.elimination.array_lookups import choose_lookups, make_lookups
from cusubmatch.engines.gpu.elimination.array_matches import ArrayMatches
from cusubmatch.engines.gpu.elimination.array_operations import ArrayOperations
from cusubmatch.engines.gpu.elimination.join_kernels import Lookups, Made, Pairs, make_join_pairs

__all__ = ["ArrayJoins"]

MAX_PAIRS = 1 << 25  # that are written out at the same time
MAX_ADDED = 1 << 28  # or added up by one launch
MOST_ENTRIES = 1 << 31  # of a factor, that kernels can number


class _Join(NamedTuple):
    """A join: its pairs, how many, what they are looked up in, and the scope of what is made; None: it is added up."""

    pairs: Pairs | None
    number: int
    lookups: Lookups | None
    scope: Scope | None
    is_looked_up: bool


class ArrayJoins:
    """The joins of one product of factors in arrays of a device.

    Parameters
    ----------
    operations : ArrayOperations
    check : callable
        Called between parts; may raise.
    most_pairs : float
        `MorePairs` is raised before more are made.
    result : tuple of int
        The scope of the product once it is summed over the other vertices.
    """

    def __init__(self, operations: ArrayOperations, check: Callable[[], None], most_pairs: float, result: Scope):
        self._do, self._check, self._result = operations, check, result
        self._matches = ArrayMatches(operations, most_pairs)
        self._lookups: dict[tuple[int, ...], Lookups] = {}  # by the factors, which are the same for all parts
        self._sums: Any = None  # uint64 or float64 (kinds, lanes), of what is added up

    def parts(self, part: ArrayFactor, others: Sequence[ArrayFactor]) -> Iterator[ArrayFactor]:
        """Parts of the product of a part and others, in no order, each key of the result any number of times."""
        if max(map(len, (part, *others))) >= MOST_ENTRIES:
            raise MemoryError
        if others:
            yield from self._products(part, others)
        else:
            keys, values = self._do.columns(part, [self._result]), part.values[:, : len(part)]
            yield ArrayFactor(self._result, keys, values, is_plain=part.is_plain, ascends=False)
        if self._sums is not None:
            keys = self._do.xp.empty((1, self._do.most_lanes), np.uint64)
            yield ArrayFactor((), keys, self._do.reduced(self._sums), ascends=False)

    def _products(self, part: ArrayFactor, others: Sequence[ArrayFactor]) -> Iterator[ArrayFactor]:
        if not all(map(len, (part, *others))):
            return
        other, *left = others
        scope = tuple(sorted({*part.scope, *other.scope}))
        looked_up, left = choose_lookups(self._do, left, scope)
        join = self._join(part, other, looked_up, scope if left else self._result or None)
        most = MAX_ADDED if join.scope is None else MAX_PAIRS
        for begin in range(0, join.number, most):
            self._check()
            end = min(begin + most, join.number)
            if join.scope is None:
                self._add(join, begin, end)
                continue
            made = self._made(join, join.scope, begin, end)
            if left:
                yield from self._products(made, left)
            elif len(made):
                yield made

    def _join(
        self, part: ArrayFactor, other: ArrayFactor, looked_up: Sequence[ArrayFactor], scope: Scope | None
    ) -> _Join:
        """The join of a part and another factor."""
        common = tuple(u for u in part.scope if u in other.scope)
        first = [] if scope is None else [scope]
        scopes = [*first, *(factor.scope for factor in looked_up), common]
        pairs, number = self._matches.pairs(part, other, scopes)
        key = tuple(map(id, looked_up))
        if number and key not in self._lookups:
            self._lookups[key] = make_lookups(self._do, looked_up, self._do.first_columns(scopes)[len(first) : -2])
        return _Join(pairs, number, self._lookups.get(key), scope, bool(looked_up))

    def _made(self, join: _Join, scope: Scope, begin: int, end: int) -> ArrayFactor:
        """Products of some of the pairs, in no order."""
        xp, do = self._do.xp, self._do
        words, space = do.fields.words(len(scope)), end - begin
        keys, values = xp.empty((words, space), np.uint64), xp.empty((len(do.kinds), space), do.value_type)
        made = Made(keys.ravel(), values.ravel(), xp.zeros(1, np.uint64))
        self._launch(join, begin, end, words, made)
        number = int(made.number[0]) if join.is_looked_up else space
        return ArrayFactor(scope, keys, values, number, ascends=False)

    def _add(self, join: _Join, begin: int, end: int) -> None:
        """Add the products of some of the pairs to those of others."""
        do = self._do
        if self._sums is None:
            self._sums = do.xp.zeros((len(do.kinds), do.most_lanes), do.value_type)
        self._launch(join, begin, end, 0, Made(do.kinds_there, self._sums.ravel(), do.kinds_there))

    def _launch(self, join: _Join, begin: int, end: int, words: int, made: Made) -> None:
        do = self._do
        form = join.pairs, begin, end, words, join.lookups, do.kinds_there, do.ones, made
        do.launch(make_join_pairs, end - begin, *form, specialised=(do.floats,))
