"""The pairs of entries of two factors that agree: one is ordered by what both have, the other's are looked for there.

The larger one is it if that is its order already: then few entries are looked for in many. Only what agrees is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.factors.device_factors import MorePairs
from cusubmatch.engines.gpu.elimination.array_factor import ArrayFactor, Scope
from cusubmatch.engines.gpu.elimination.array_operations import ArrayOperations
from cusubmatch.engines.gpu.elimination.join_kernels import Pairs
from cusubmatch.engines.gpu.elimination.match_kernels import Matched, make_match

__all__ = ["ArrayMatches"]

MANY_ENTRIES = 1 << 23  # from which those that agree with others are counted before there is space for them
FEW = 4  # times as many entries are looked for in, rather than being looked for


class _Side(NamedTuple):
    """A factor that is ordered by some of its vertices.

    Attributes
    ----------
    keys : uint64 (words, space)
        Words whose first bits are the fields of these vertices.
    drop : int
        The bits of the last of these words that do not belong to them.
    columns : uint64 (columns, n), optional
        What it gives to the words of other keys, if that is known.
    values : uint64 or float64 (kinds, space)
    """

    keys: Any
    drop: int
    columns: Any
    values: Any


class ArrayMatches:
    """Pairs of entries for the joins of one product.

    Parameters
    ----------
    operations : ArrayOperations
    most_pairs : float
        `MorePairs` is raised before all together are more.
    """

    def __init__(self, operations: ArrayOperations, most_pairs: float):
        self._do, self._pairs, self._most_pairs = operations, 0, most_pairs
        self._kept: dict[Hashable, Any] = {}  # what several parts are joined with

    def pairs(self, part: ArrayFactor, other: ArrayFactor, scopes: Sequence[Scope]) -> tuple[Pairs | None, int]:
        """The pairs of a part and another factor, and how many they are; that factor is the same for all parts.

        Pairs have columns with the words of keys of some scopes, the last of which is what both factors have.
        """
        do, common = self._do, scopes[-1]
        small, large = sorted((part, other), key=len)
        if _ascends_by(large, common) and (len(small) * FEW <= len(large) or not _ascends_by(small, common)):
            matched, factor = small, large
        else:
            matched, factor = large, small
        side = self._once(factor is other, ("side", id(factor)), lambda: self._side(factor, scopes))
        found, entries, number = self._matched(matched, factor, side, scopes)
        if not number:
            return None, 0
        columns, moves = side.columns, do.no_moves
        if columns is None and number > len(factor):
            columns = self._once(factor is other, ("columns", id(factor)), lambda: do.columns(factor, scopes))
        if columns is None:
            columns, moves = factor.keys, do.moves(factor, scopes)[1]
        ends = do.xp.cumsum(found.pairs[:entries]).view(np.uint64)[None]
        pairs = Pairs(
            found.parts,
            found.values.view(do.value_type),
            np.int64(len(found.begins)),
            np.int64(matched.is_plain),
            found.begins,
            do.ordered(ends, entries, 1, 0, number.bit_length(), number),
            columns.ravel(),
            side.values.ravel(),
            np.int64(columns.shape[1]),
            np.int64(factor.is_plain),
            moves,
        )
        return pairs, number

    def _once(self, is_kept: bool, key: Hashable, make: Callable[[], Any]) -> Any:
        """What a function makes, that which it has made if this is kept for all parts."""
        if not is_kept:
            return make()
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def _side(self, factor: ArrayFactor, scopes: Sequence[Scope]) -> _Side:
        """A factor in the order of the last one of some scopes."""
        do, fields, common = self._do, self._do.fields, scopes[-1]
        if _ascends_by(factor, common):
            last = fields.words(len(common)) - 1
            drop = fields.bits_of(len(factor.scope), last) - fields.bits_of(len(common), last)
            return _Side(factor.keys, drop, None, factor.values)
        order = do.order(do.columns(factor, [common]), len(common), len(factor))
        columns = do.columns(factor, scopes, order)
        values = factor.values if factor.is_plain else do.xp.take(factor.values, order, axis=1)
        return _Side(columns[-fields.words(len(common)) :], 0, columns, values)

    def _matched(
        self, factor: ArrayFactor, other: ArrayFactor, side: _Side, scopes: Sequence[Scope]
    ) -> tuple[Matched, int, int]:
        """The entries of a factor that agree with some of another, how many they are, and how many pairs."""
        do, fields, vertices, n = self._do, self._do.fields, len(scopes[-1]), len(factor)
        bits = fields.bits_of(vertices, 0)
        ordered = do.ordered(side.keys, len(other), fields.words(vertices), side.drop, bits, n)
        columns, (_, moves) = do.first_columns(scopes)[-2], do.moves(factor, scopes)
        kinds = 0 if factor.is_plain else len(do.kinds)
        values = factor.values.view(np.uint64).ravel()

        def match(space: int, is_counted: bool) -> tuple[Matched, int, int]:
            found = self._space(columns, kinds, space)
            form = factor.space, n, kinds, moves, columns, ordered, int(is_counted), found
            do.launch(make_match, n, factor.keys.ravel(), values, *form)
            entries, number = found.number.tolist()
            if self._pairs + number > self._most_pairs:
                raise MorePairs(self._pairs + number)
            return found, entries, number

        space = n
        if n > MANY_ENTRIES:
            found, space, number = match(1, is_counted=True)
            if not number:
                return found, 0, 0
        found, entries, number = match(space, is_counted=False)
        self._pairs += number
        return found, entries, number

    def _space(self, columns: int, kinds: int, entries: int) -> Matched:
        """Space for so many entries."""
        xp, do = self._do.xp, self._do
        values = xp.empty(kinds * entries, np.uint64) if kinds else do.ones.view(np.uint64)
        begins, pairs = xp.empty((2, entries), np.int64)
        return Matched(xp.empty(max(columns, 1) * entries, np.uint64), values, begins, pairs, xp.zeros(2, np.uint64))


def _ascends_by(factor: ArrayFactor, first: Scope) -> bool:
    """Whether the entries of a factor are in the order of some of its vertices."""
    return factor.ascends and factor.scope[: len(first)] == first
