"""Operations on factors as arrays of a device: each is a few passes over all entries, sorts and running sums.

Two factors are joined like tables: the entries of one are put in the order of the fields that both have, each entry of
the other finds its range there, and each pair of entries is written out (expand, sort, compress: Dalton, Olson & Bell
2015). Pairs are looked up in other factors by tables that have a place for each key. What is larger than memory is
taken for is done part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cusubmatch.engines.factors.arithmetic import FLOATS, WORDS, weights_of
from cusubmatch.engines.factors.factor import Factor
from cusubmatch.engines.factors.fields import Fields

__all__ = ["ArrayFactor", "ArrayFactors"]

MAX_PAIRS = 1 << 24  # that are written out at the same time
MAX_PLACES = 1 << 26  # of a table of keys
MAX_ENTRIES = 1 << 25  # of sums of parts, before they are added up

Scope = tuple[int, ...]


class ArrayFactor:
    """A factor in arrays of a device.

    Parameters
    ----------
    scope : tuple of int
    words : list of int64 (n,)
        Of the keys.
    values : list of uint64 (n,)
        Of each kind.
    is_plain : bool
        Whether all values are known to be 1.
    ascends : bool
        Whether its keys do, as those of all factors but parts of a product.
    """

    def __init__(self, scope: Scope, words: list[Any], values: list[Any], is_plain: bool = False, ascends: bool = True):
        self.scope, self.words, self.values, self.is_plain, self.ascends = scope, words, values, is_plain, ascends
        self.images: dict[int, Any] = {}  # int64 (n,), of vertices
        self.table: Any = None  # bool, of plain ones: by key, whether there is an entry

    def __len__(self) -> int:
        return len(self.words[0])


class _Sides(NamedTuple):
    """Two factors, one of them in the order of the fields that both have.

    Attributes
    ----------
    matched, ordered : ArrayFactor
        Entries of the first one that agree with none of the other are left out.
    begins : int64 (n,)
        Where the range of the ordered factor begins that each entry of the other agrees with.
    before : int64 (n + 1,)
        The number of pairs before each entry.
    """

    matched: ArrayFactor
    ordered: ArrayFactor
    begins: Any
    before: Any


class ArrayFactors:
    """Operations on factors whose arrays are of NumPy or CuPy.

    Parameters
    ----------
    xp : module
        numpy or cupy.
    fields : Fields
    kinds : uint64 (kinds,)
    check : callable
        check() is called between operations, and may raise.
    """

    def __init__(self, xp: Any, fields: Fields, kinds: np.ndarray, check: Callable[[], None]):
        self.xp, self.fields, self.kinds, self._check = xp, fields, kinds.tolist(), check
        self._mask = int(fields.mask)

    def current(self) -> AbstractContextManager[None]:
        """Let the calling thread work there: nothing, in host memory."""
        return nullcontext()

    def end(self) -> None:
        """Nothing is kept."""

    def to_device(self, factor: Factor) -> ArrayFactor:
        """A factor of the host there."""
        words = [self.xp.asarray(np.ascontiguousarray(word)) for word in factor.keys.view(np.int64).T]
        values = [self.xp.asarray(np.ascontiguousarray(of_kind)) for of_kind in factor.values.T]
        ones = weights_of(1, np.array(self.kinds, np.uint64))
        return ArrayFactor(factor.scope, words, values, is_plain=bool((factor.values == ones).all()))

    def to_host(self, factor: ArrayFactor, every: int = 1) -> Factor:
        """A factor, or every so manyth of its entries, in host memory."""
        keys, values = (
            self._on_host(self.xp.stack([one[::every] for one in some], axis=1))
            for some in (factor.words, factor.values)
        )
        return Factor(factor.scope, keys.view(np.uint64), values)

    def summed_product(self, vertex: int, factors: Sequence[ArrayFactor]) -> ArrayFactor:
        """The product of factors, in the order of their joins, summed over a vertex that some of them hold."""
        first, *others = factors
        result = tuple(sorted({u for factor in factors for u in factor.scope} - {vertex}))
        sums: list[ArrayFactor] = []
        for part in self._parts(first, others, result):
            sums.append(self._summed(part, result))
            if sum(map(len, sums)) > MAX_ENTRIES:
                sums = [self.sum(sums)]
        return self.sum(sums) if sums else self._empty(result)

    def sum(self, factors: Sequence[ArrayFactor]) -> ArrayFactor:
        """The sum of factors of one scope."""
        first, *others = factors
        if not others:
            return first
        words = [self.xp.concatenate(some) for some in zip(*(factor.words for factor in factors), strict=True)]
        values = [self.xp.concatenate(some) for some in zip(*(factor.values for factor in factors), strict=True)]
        return self._summed(ArrayFactor(first.scope, words, values), first.scope)

    def weighted_sum(self, factor: ArrayFactor, weight: int, other: ArrayFactor, other_weight: int) -> ArrayFactor:
        """The sum of two factors of one scope, each times its weight, without entries that are 0."""
        total = self.sum([self._times(factor, weight), self._times(other, other_weight)])
        differs = total.values[0] != 0
        for of_kind in total.values[1:]:
            differs |= of_kind != 0
        return self._where(total, differs)

    def multiplied(self, factor: ArrayFactor, other: ArrayFactor) -> ArrayFactor:
        """The product of two factors of one scope."""
        words = [self.xp.concatenate(pair) for pair in zip(factor.words, other.words, strict=True)]
        order = self._order(words)
        words = [word[order] for word in words]
        places = self.xp.nonzero(~self._differs(words))[0]
        first, second = order[places], order[places + 1] - len(factor)  # equal keys stay as they were
        values = self._products([v[first] for v in factor.values], [v[second] for v in other.values])
        return ArrayFactor(factor.scope, [word[places] for word in words], values, factor.is_plain and other.is_plain)

    def merged(self, factor: ArrayFactor, vertex: int, into: int) -> ArrayFactor:
        """A factor of a vertex as one of another vertex, which has the same image."""
        scope, both = factor.scope, into in factor.scope
        result = tuple(sorted({into if u == vertex else u for u in scope}))
        if both:
            factor = self._where(factor, self._images(factor, vertex) == self._images(factor, into))
        from_ = {u: u for u in scope if u != vertex} if both else {into if u == vertex else u: u for u in scope}
        words = self._packed(factor, result, from_)
        order = self._order(words)
        values = [of_kind[order] for of_kind in factor.values]
        return ArrayFactor(result, [word[order] for word in words], values, factor.is_plain)

    def kept_apart(self, factor: ArrayFactor, u: int, w: int) -> ArrayFactor:
        """A factor where two of its vertices have different images, 0 elsewhere."""
        return self._where(factor, self._images(factor, u) != self._images(factor, w))

    def entries_of_images(self, factor: ArrayFactor, vertex: int, size: int) -> np.ndarray:
        """float64 (size,), of the host: how many entries a factor has for each image of one of its vertices."""
        entries = self.xp.bincount(self._images(factor, vertex), minlength=size)
        return self._on_host(entries).astype(np.float64)

    def checksum(self, factor: ArrayFactor) -> tuple[int, int]:
        """The sums of all words of the keys and of the values, modulo 2^64."""
        sums = [array.view(np.uint64).sum(dtype=np.uint64) for array in (*factor.words, *factor.values)]
        numbers = self.xp.stack(sums).tolist()
        keys = len(factor.words)
        return sum(numbers[:keys]) % (1 << 64), sum(numbers[keys:]) % (1 << 64)

    def are_equal(self, factor: ArrayFactor, other: ArrayFactor) -> bool:
        """Whether factors of one scope have the same entries."""
        if len(factor) != len(other):
            return False
        pairs = zip((*factor.words, *factor.values), (*other.words, *other.values), strict=True)
        return all(bool((one == two).all()) for one, two in pairs)

    def _on_host(self, array: Any) -> np.ndarray:
        return array if isinstance(array, np.ndarray) else array.get()

    def _empty(self, scope: Scope) -> ArrayFactor:
        words = [self.xp.zeros(0, np.int64) for _ in range(self.fields.words(len(scope)))]
        return ArrayFactor(scope, words, [self.xp.zeros(0, np.uint64) for _ in self.kinds])

    def _where(self, factor: ArrayFactor, is_kept: Any) -> ArrayFactor:
        return self._taken(factor, self.xp.nonzero(is_kept)[0])

    def _taken(self, factor: ArrayFactor, places: Any) -> ArrayFactor:
        words, values = ([one[places] for one in some] for some in (factor.words, factor.values))
        return ArrayFactor(factor.scope, words, values, factor.is_plain)

    def _times(self, factor: ArrayFactor, weight: int) -> ArrayFactor:
        if weight == 1:
            return factor
        weights = list(weights_of(weight, np.array(self.kinds, np.uint64)))
        return ArrayFactor(factor.scope, factor.words, self._products(factor.values, weights))

    def _products(self, values: list[Any], others: list[Any]) -> list[Any]:
        """Of each kind: uint64 (n,), the products of values."""
        products = []
        for kind, one, two in zip(self.kinds, values, others, strict=True):
            if kind == FLOATS:
                product = (one.view(np.float64) * two.view(np.float64)).view(np.uint64)
            else:
                product = one * two
                if kind != WORDS:
                    product %= np.uint64(kind)
            products.append(product)
        return products

    def _images(self, factor: ArrayFactor, vertex: int) -> Any:
        """int64 (n,): the images of a vertex, of all entries."""
        if vertex not in factor.images:
            word, bit = self.fields.place(factor.scope, vertex)
            factor.images[vertex] = (factor.words[word] >> bit) & self._mask
        return factor.images[vertex]

    def _packed(self, factor: ArrayFactor, scope: Scope, from_: dict[int, int] | None = None) -> list[Any]:
        """Words of keys of a scope, with the fields that a factor has, or the images of others in their place."""
        words: list[Any] = [None] * self.fields.words(len(scope))
        for u in scope:
            source = u if from_ is None else from_[u]
            if source not in factor.scope:
                continue
            word, bit = self.fields.place(scope, u)
            images = self._images(factor, source)
            field = images << bit if bit else images
            words[word] = field if words[word] is None else words[word] | field
        return [self.xp.zeros(len(factor), np.int64) if word is None else word for word in words]

    def _order(self, words: list[Any]) -> Any:
        """In which keys ascend; equal ones stay as they were."""
        *others, last = words
        order = self.xp.argsort(last, kind="stable")
        for word in reversed(others):
            order = order[self.xp.argsort(word[order], kind="stable")]
        return order

    def _differs(self, words: list[Any]) -> Any:
        """Whether keys differ from the ones before: bool (n - 1,)."""
        differs = words[0][1:] != words[0][:-1]
        for word in words[1:]:
            differs |= word[1:] != word[:-1]
        return differs

    def _summed(self, factor: ArrayFactor, result: Scope) -> ArrayFactor:
        """A factor, its entries in any order, summed over what a scope does not have."""
        if not len(factor):
            return self._empty(result)
        words = factor.words if factor.scope == result else self._packed(factor, result)
        order = self._order(words)
        words = [word[order] for word in words]
        is_first = self.xp.ones(len(order), bool)
        is_first[1:] = self._differs(words)
        firsts = self.xp.nonzero(is_first)[0]
        of_kinds = zip(self.kinds, factor.values, strict=True)
        values = [self._sums(kind, of_kind[order], is_first, firsts) for kind, of_kind in of_kinds]
        return ArrayFactor(result, [word[firsts] for word in words], values)

    def _sums(self, kind: int, values: Any, is_first: Any, firsts: Any) -> Any:
        """uint64 (n,): the sums of ranges of values, which have their first places here."""
        xp = self.xp
        if kind == FLOATS:  # differences of running sums would lose the small ones
            numbers = xp.cumsum(is_first, dtype=np.int64) - 1
            return xp.bincount(numbers, values.view(np.float64), len(firsts)).view(np.uint64)
        running = xp.cumsum(values, dtype=np.uint64)  # modulo 2^64; of primes fewer than 2^33 are added up
        ends = xp.empty_like(firsts)
        ends[:-1], ends[-1] = firsts[1:] - 1, len(values) - 1
        sums = running[ends]
        sums[1:] -= sums[:-1].copy()
        return sums if kind == WORDS else sums % np.uint64(kind)

    def _parts(self, part: ArrayFactor, others: Sequence[ArrayFactor], result: Scope) -> Iterator[ArrayFactor]:
        """Parts of the product of a part and others, in no order; they have what the result has, and perhaps more."""
        if not others:
            yield part
            return
        other, *left = others
        scope = tuple(sorted({*part.scope, *other.scope}))
        sides = self._sides(part, other)
        looked_up = [factor for factor in left if self._is_looked_up(factor, scope)]
        left = [factor for factor in left if not self._is_looked_up(factor, scope)]
        for begin, end in pairwise(self._cuts(sides.before)):
            self._check()
            yield from self._parts(self._pairs(sides, begin, end, scope if left else result, looked_up), left, result)

    def _cuts(self, before: Any) -> list[int]:
        """Where entries are cut into ranges that have about `MAX_PAIRS` pairs each."""
        pairs = int(before[-1])
        if pairs <= MAX_PAIRS:
            return [0, len(before) - 1] if pairs else []
        cuts = self.xp.asarray([0, *range(MAX_PAIRS, pairs, MAX_PAIRS), pairs])
        return sorted(set(self.xp.searchsorted(before, cuts).tolist()))

    def _is_looked_up(self, factor: ArrayFactor, scope: Scope) -> bool:
        return {*factor.scope} <= {*scope} and self.fields.different_keys(len(factor.scope)) <= MAX_PLACES

    def _table(self, factor: ArrayFactor) -> Any:
        """By key, the number of its entry, or -1; of plain factors whether there is one."""
        if factor.table is not None:
            return factor.table
        places = int(self.fields.different_keys(len(factor.scope)))
        if factor.is_plain:  # such as the pattern's arcs, which are looked up often
            factor.table = self.xp.zeros(places, bool)
            factor.table[factor.words[0]] = True
            return factor.table
        table = self.xp.full(places, -1, np.int32)
        table[factor.words[0]] = self.xp.arange(len(factor), dtype=np.int32)
        return table

    def _sides(self, factor: ArrayFactor, other: ArrayFactor) -> _Sides:
        """Which entries of two factors agree."""
        xp = self.xp
        common = tuple(u for u in factor.scope if u in other.scope)
        matched, ordered = (factor, other) if len(other) <= len(factor) else (other, factor)
        words, others = self._packed(ordered, common), self._packed(matched, common)
        if not ordered.ascends or ordered.scope[: len(common)] != common:
            order = self._order(words)
            ordered, words = self._taken(ordered, order), [word[order] for word in words]
        ascending, wanted = (words[0], others[0]) if len(words) == 1 else self._ranks(words, others)
        begins = xp.searchsorted(ascending, wanted)
        pairs = xp.searchsorted(ascending, wanted, side="right") - begins
        places = xp.nonzero(pairs)[0]
        before = xp.zeros(len(places) + 1, np.int64)
        xp.cumsum(pairs[places], out=before[1:])
        return _Sides(self._taken(matched, places), ordered, begins[places], before)

    def _ranks(self, words: list[Any], others: list[Any]) -> tuple[Any, Any]:
        """One word for the keys of two arrays of several words, that compare as these do."""
        xp, n = self.xp, len(words[0])
        both = [xp.concatenate(pair) for pair in zip(words, others, strict=True)]
        order = self._order(both)
        differs = xp.zeros(len(order), bool)
        differs[1:] = self._differs([word[order] for word in both])
        ranks = xp.empty(len(order), np.int64)
        ranks[order] = xp.cumsum(differs, dtype=np.int64)
        return ranks[:n], ranks[n:]

    def _pairs(
        self, sides: _Sides, begin: int, end: int, scope: Scope, looked_up: Sequence[ArrayFactor]
    ) -> ArrayFactor:
        """The products of some entries of the matched factor, in no order; what they are summed over is left out."""
        xp, (matched, ordered, begins, before) = self.xp, sides
        first, pairs = int(before[begin]) if begin else 0, int(before[end])
        is_next = xp.zeros(pairs - first, np.int32)
        is_next[before[begin + 1 : end] - first] = 1
        rows = xp.cumsum(is_next, dtype=np.int64)
        rows += begin
        others = xp.arange(first, pairs, dtype=np.int64)
        others -= (before[:-1] - begins)[rows]
        found: list[Any] = []
        for factor in looked_up:
            places = self._table(factor)[self._keys(matched, ordered, rows, others, factor.scope)[0]]
            kept = xp.nonzero(places if factor.is_plain else places >= 0)[0]
            rows, others, found = rows[kept], others[kept], [entries[kept] for entries in found]
            if not factor.is_plain:
                found.append(places[kept])
        values = [of_kind[rows] for of_kind in matched.values]
        if not ordered.is_plain:
            values = self._products(values, [of_kind[others] for of_kind in ordered.values])
        of_values = [factor for factor in looked_up if not factor.is_plain]
        for factor, entries in zip(of_values, found, strict=True):
            values = self._products(values, [of_kind[entries] for of_kind in factor.values])
        return ArrayFactor(scope, self._keys(matched, ordered, rows, others, scope), values, ascends=False)

    def _keys(self, matched: ArrayFactor, ordered: ArrayFactor, rows: Any, others: Any, scope: Scope) -> list[Any]:
        """Words of the keys of pairs of entries."""
        words = []
        for one, two in zip(self._packed(matched, scope), self._packed(ordered, scope), strict=True):
            word = one[rows]
            word |= two[others]
            words.append(word)
        return words
