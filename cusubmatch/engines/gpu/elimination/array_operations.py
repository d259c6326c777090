"""What operations on factors have in common: launches of their kernels, keys of other scopes, orders, sums, tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any

import numpy as np

from cusubmatch.engines.factors.arithmetic import FLOATS, WORDS, weights_of
from cusubmatch.engines.factors.fields import Fields
from cusubmatch.engines.gpu.elimination.array_factor import ArrayFactor, Scope
from cusubmatch.engines.gpu.elimination.factor_kernels import (
    MOVE_NUMBERS,
    factor_kernels,
    make_add_up,
    make_count_images,
    make_mark_firsts,
    make_move_fields,
)
from cusubmatch.engines.gpu.elimination.join_kernels import join_kernels, make_fill_table
from cusubmatch.engines.gpu.elimination.match_kernels import Ordered, make_find_firsts, match_kernels
from cusubmatch.engines.gpu.runtime.device import Device
from cusubmatch.engines.gpu.runtime.warp import grid

__all__ = ["THREADS", "ArrayOperations"]

THREADS = 256  # of a block
FEW_BLOCKS, BLOCKS = 1, 16  # a multiprocessor
FIRSTS_ENTRIES = 1 << 18  # from which entries are looked for from the first one with the same first bits,
FIRST_BITS = 20  # at most


class ArrayOperations:
    """Kernels and arrays for the factors of one count.

    What is kept is finished before anyone finds it, since other threads read it on other streams. It is made once: a
    second one in its place would free memory that a thread still reads.

    Parameters
    ----------
    xp : module
        numpy or cupy.
    gpu : Device
    fields : Fields
    kinds : uint64 (kinds,)
        `FLOATS` alone, or others.
    aside : callable
        What is done in `with aside()` waits for nothing that is under way, and is finished at the end.
    """

    def __init__(
        self,
        xp: Any,
        gpu: Device,
        fields: Fields,
        kinds: np.ndarray,
        aside: Callable[[], AbstractContextManager[None]],
    ):
        self.xp, self.gpu, self.fields, self.kinds, self._aside = xp, gpu, fields, kinds, aside
        self.floats = bool((kinds == FLOATS).any())
        self.value_type: Any = np.float64 if self.floats else np.uint64
        if gpu.target.ahead is not None:
            gpu.target.ahead([*factor_kernels(THREADS), *match_kernels(THREADS), *join_kernels(THREADS)])
        self.kinds_there, self.ones = xp.asarray(kinds), xp.asarray(self.weights(1))
        kinds_of_arrays = np.int64, np.uint32, np.uint64  # launches of empty arrays are Numba's, which take long
        self.no_order, self.no_table, self.no_moves = (xp.zeros(1, kind) for kind in kinds_of_arrays)
        self._moves: dict[tuple[Scope, tuple[Scope, ...]], tuple[int, Any]] = {}  # and numbers of columns
        self._there: dict[bytes, Any] = {}  # small arrays, many of which are the same
        self._making = threading.Lock()  # what is kept

    @property
    def most_lanes(self) -> int:
        """That a launch has."""
        return BLOCKS * self.gpu.processors * THREADS

    def weights(self, weight: int) -> np.ndarray:
        """An integer in each kind of arithmetic, as values are."""
        return weights_of(weight, self.kinds).view(self.value_type)

    def launch(self, make: Any, lanes: int, *arguments: Any, specialised: tuple[Any, ...] = ()) -> None:
        """Launch a kernel for so many lanes at least; nothing for none."""
        if lanes:
            few = lanes <= FEW_BLOCKS * self.gpu.processors * THREADS
            blocks = self.gpu.processors * (FEW_BLOCKS if few else BLOCKS)  # two shapes: each is configured once
            kernel = make(self.gpu.target, THREADS, *specialised)
            numbers_and_arrays = [np.int64(one) if isinstance(one, int) else one for one in arguments]
            kernel[grid(self.gpu.target, blocks, THREADS)](*numbers_and_arrays)

    def empty(self, scope: Scope) -> ArrayFactor:
        """A factor without entries."""
        keys = self.xp.empty((self.fields.words(len(scope)), 0), np.uint64)
        return ArrayFactor(scope, keys, self.xp.empty((len(self.kinds), 0), self.value_type))

    def columns(self, factor: ArrayFactor, scopes: Sequence[Scope], order: Any = None) -> Any:
        """uint64 (columns, n): the words of keys of some scopes, side by side, with the fields that a factor has.

        Its entries come in an order, if one is given.
        """
        return self.moved(factor, *self.moves(factor, scopes), order)

    def moves(self, factor: ArrayFactor, scopes: Sequence[Scope]) -> tuple[int, Any]:
        """How many columns such words take, and the moves that make them."""
        key = factor.scope, tuple(scopes)
        if key not in self._moves:
            first = self.first_columns(scopes)
            moves = [self.fields.moves(factor.scope, scope, at) for scope, at in zip(scopes, first, strict=False)]
            self._moves[key] = first[-1], self.moves_there(np.concatenate(moves), first[-1])
        return self._moves[key]

    def first_columns(self, scopes: Sequence[Scope]) -> list[int]:
        """The first column of the words of each scope, and the number of all columns."""
        return list(accumulate((self.fields.words(len(scope)) for scope in scopes), initial=0))

    def moves_there(self, moves: np.ndarray, columns: int) -> Any:
        """Moves of fields (see `Fields.moves`) as kernels take them (see `moved_word`); one of fields side by side."""
        return self.there(_by_column(moves.astype(np.int64), columns, self.fields.bits))

    def there(self, numbers: np.ndarray) -> Any:
        """A copy on the device of a small array, which is kept."""
        key = numbers.dtype.char.encode() + numbers.tobytes()
        if key not in self._there:
            with self._making:
                if key not in self._there:
                    with self._aside():
                        copy = self.xp.asarray(numbers)
                    self._there[key] = copy
        return self._there[key]

    def moved(self, factor: ArrayFactor, columns: int, moves: Any, order: Any = None) -> Any:
        """uint64 (columns, n): words with the fields of a factor where moves put them."""
        n = len(factor)
        out = self.xp.empty((columns, n), np.uint64)
        follow = (self.no_order, 0) if order is None else (order, 1)
        form = *follow, n, moves, columns, out.ravel()
        self.launch(make_move_fields, n, factor.keys.ravel(), factor.space, *form)
        return out

    def order(self, keys: Any, vertices: int, entries: int) -> Any:
        """int64 (n,): the order in which keys of so many vertices ascend; equal ones stay as they were."""
        *others, last = (
            _narrow(word[:entries], self.fields.bits_of(vertices, number)) for number, word in enumerate(keys)
        )
        order = self.xp.argsort(last, kind="stable")
        for word in reversed(others):
            order = order[self.xp.argsort(word[order], kind="stable")]
        return order

    def ordered(self, keys: Any, entries: int, words: int, drop: int, bits: int, looked_for: int) -> Ordered:
        """Entries in the order of the first bits of their keys, as kernels take them when so many are looked for.

        Parameters
        ----------
        keys : uint64 (rows, space)
        entries, words, drop : int
            See `Ordered`.
        bits : int
            Of the first word, that belong to these.
        """
        firsts, first_bits = self.no_table, min(bits, FIRST_BITS, entries.bit_length())
        if looked_for >= FIRSTS_ENTRIES and first_bits:
            firsts = self.xp.empty((1 << first_bits) + 1, np.uint32)
        space, n, those, dropped, shift = map(np.int64, (keys.shape[1], entries, words, drop, bits - first_bits))
        ordered = Ordered(keys.ravel(), space, n, those, dropped, firsts, shift)
        if len(firsts) > 1:
            self.launch(make_find_firsts, len(firsts), ordered)
        return ordered

    def taken(self, factor: ArrayFactor, places: Any) -> ArrayFactor:
        """Some entries of a factor, in their order."""
        keys, values = (self.xp.take(some, places, axis=1) for some in (factor.keys, factor.values))
        return ArrayFactor(factor.scope, keys, values, is_plain=factor.is_plain)

    def summed(self, factor: ArrayFactor) -> ArrayFactor:
        """A factor whose entries are in any order, and may have equal keys, with each key once."""
        n, (words, kinds), xp = len(factor), (len(factor.keys), len(factor.values)), self.xp
        if not n:
            return self.empty(factor.scope)
        if not factor.scope:
            totals = xp.stack([of_kind[:n].sum() for of_kind in factor.values])  # by all blocks, unlike along an axis
            return ArrayFactor((), xp.zeros((1, 1), np.uint64), self.reduced(totals[:, None]))
        order = self.order(factor.keys, len(factor.scope), n)
        keys, values = factor.keys.ravel(), factor.values.ravel()
        marks = xp.empty(n, np.int32)
        self.launch(make_mark_firsts, n, keys, factor.space, words, order, marks)
        numbers = xp.cumsum(marks, dtype=np.int32)
        made = int(numbers[-1])
        sums, totals = xp.empty((words, made), np.uint64), xp.zeros((kinds, made), self.value_type)
        form = factor.space, words, order, numbers, sums.ravel(), totals.ravel()
        self.launch(make_add_up, n, keys, values, *form, specialised=(self.floats,))
        return ArrayFactor(factor.scope, sums, self.reduced(totals))  # of fewer than 2^33 residues

    def sum(self, factors: Sequence[ArrayFactor]) -> ArrayFactor:
        """The sum of factors of one scope."""
        first, *others = factors
        if not others:
            return first
        keys, values = (
            self.xp.concatenate([some[:, : len(one)] for some, one in zip(arrays, factors, strict=True)], axis=1)
            for arrays in ([one.keys for one in factors], [one.values for one in factors])
        )
        return self.summed(ArrayFactor(first.scope, keys, values))

    def products(self, values: Any, others: Any) -> Any:
        """(kinds, n): the products of values, or of values and one of each kind."""
        return self.reduced(values * others)

    def reduced(self, values: Any) -> Any:
        """(kinds, n): values below the prime of their kind, where it has one; in their place."""
        for of_kind, kind in zip(values, self.kinds, strict=True):
            if kind not in (WORDS, FLOATS):
                of_kind %= kind
        return values

    def images(self, keys: Any, scope: Scope, size: int) -> Any:
        """uint64 (vertices, size): how many of some keys of a scope have each image of each of its vertices."""
        n = keys.shape[1]
        counts = self.xp.zeros((len(scope), size), np.uint64)
        places = self.there(self.fields.places(scope, scope).astype(np.int64).ravel())
        form = n, places, self.fields.mask, size, counts.ravel()
        self.launch(make_count_images, n, keys.ravel(), *form)
        return counts

    def table_words(self, factor: ArrayFactor) -> int:
        """Words of the table that a factor with keys of one word is looked up in."""
        places = int(self.fields.different_keys(len(factor.scope)))
        return -(-places // 32) if factor.is_plain else places

    def table(self, factor: ArrayFactor) -> Any:
        """uint32: bits by key of a factor whose values are 1, else the numbers of entries, from 1 on."""
        if not factor.is_plain:
            return self._filled_table(factor)
        if factor.table is None:  # such as one of the pattern's arcs, which are looked up often
            with self._making:
                if factor.table is None:
                    with self._aside():
                        table = self._filled_table(factor)
                    factor.table = table
        return factor.table

    def _filled_table(self, factor: ArrayFactor) -> Any:
        table = self.xp.zeros(self.table_words(factor), np.uint32)
        self.launch(make_fill_table, len(factor), factor.keys[0], int(factor.is_plain), table)
        return table


def _narrow(words: Any, bits: int) -> Any:
    """Words that have so many bits, of a type that is sorted by no more passes than they need."""
    for narrow in (np.uint16, np.uint32):
        if bits <= 8 * np.dtype(narrow).itemsize:
            return words.astype(narrow)
    return words


def _by_column(moves: np.ndarray, columns: int, bits: int) -> np.ndarray:
    """uint64: where the moves of each column begin, and their end, then the moves; see `moved_word`."""
    runs: list[list[list[int]]] = [[] for _ in range(columns)]  # of each column: word, lowest bit, bits, lowest bit
    for word, low, column, to in moves.tolist():
        last = runs[column][-1] if runs[column] else [-1, 0, 0, 0]
        if (word, low, to) == (last[0], last[1] - bits, last[3] - bits):
            last[1], last[2], last[3] = low, last[2] + bits, to
        else:
            runs[column].append([word, low, bits, to])
    begins = accumulate((MOVE_NUMBERS * len(column) for column in runs), initial=columns + 1)
    numbers = [(word, low, (1 << some) - 1, to) for column in runs for word, low, some, to in column]
    return np.array([*begins, *sum(numbers, ())], np.uint64)
