"""The embeddings of a pattern as a sum over its quotients, which is made vertex by vertex.

A vertex with at most two neighbours and no conflict is eliminated: the factors that hold it become one factor of its
neighbours (bucket elimination, Dechter 1999). A conflict of it with another vertex is left out, and the maps that give
both the same image are subtracted, in which the two are one vertex: so each conflict makes two terms of one. Terms that
differ in one factor only, as they do once both have eliminated what a conflict concerned, become one again. What no
elimination makes smaller is walked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from cusubmatch.engines.cpu.elimination.factor_store import FactorStore

__all__ = ["Conflicts", "sum_of_quotients"]

Conflicts = frozenset[tuple[int, int]]

MAX_NEIGHBOURS = 2  # of a vertex that is eliminated: factors have two vertices at most
MAX_ELIMINATION_NS = 1e7  # for more the rest is walked


class _Term(NamedTuple):
    """A product of factors, summed over the maps that have the vertices in conflict apart.

    Attributes
    ----------
    weight : int
        A residue.
    factors : frozenset of int
        Numbers of factors, one of each scope.
    conflicts : frozenset of (u, w)
        Pairs of vertices, u < w, that must differ.
    """

    weight: int
    factors: frozenset[int]
    conflicts: Conflicts


def sum_of_quotients(store: FactorStore, arcs: Iterable[int], vertices: int, conflicts: Conflicts, modulus: int) -> int:
    """The sum of the product of all arcs over the maps of so many vertices that have all conflicts apart.

    Parameters
    ----------
    store : FactorStore
    arcs : iterable of int
        Numbers of the factors of the pattern's edges.
    vertices : int
    conflicts : frozenset of (u, w)
        Pairs, u < w, that no arc joins.
    modulus : int
        That the result, and weights of terms, are residues of.
    """
    return _QuotientSum(store, modulus).run(_Term(1, frozenset(arcs), conflicts), vertices)


class _QuotientSum:
    """Terms by the number of their vertices; those with most vertices are next, so that terms meet that are alike."""

    def __init__(self, store: FactorStore, modulus: int):
        self.store, self.modulus, self.total = store, modulus, 0
        self.pools: dict[int, _Pool] = {}

    def run(self, term: _Term, vertices: int) -> int:
        self._add(term, vertices)
        for size in range(vertices, 0, -1):
            for some in self.pools.pop(size, _Pool(self.store, self.modulus)).terms:
                self._reduce(some, size)
        return self.total % self.modulus

    def _add(self, term: _Term, size: int) -> None:
        if term.weight and all(len(self.store[number].keys) for number in term.factors):
            self.pools.setdefault(size, _Pool(self.store, self.modulus)).add(term)

    def _reduce(self, term: _Term, size: int) -> None:
        """Put terms with a vertex less in place of a term with so many, or walk it."""
        vertex = self._next(term)
        if vertex is None:
            self.total += term.weight * self.store.walk(term.factors, term.conflicts)
            return
        for u, w in sorted(pair for pair in term.conflicts if vertex in pair):
            rest = term.conflicts - {(u, w)}
            self._add(self._merged(term, vertex, w if u == vertex else u, rest), size - 1)
            term = term._replace(conflicts=rest)
        holding = self._holding(term.factors, vertex)
        left, rest_of_factors = self.store.eliminate(vertex, holding), term.factors.difference(holding)
        if self.store[left].scope:
            self._add(term._replace(factors=self._with(rest_of_factors, left)), size - 1)
        else:
            self.total += term.weight * sum(self.store[left].values.tolist())

    def _next(self, term: _Term) -> int | None:
        """The vertex that is eliminated next, in the least time for each term that this makes; None if none is."""
        holding: dict[int, list[int]] = {}
        for number in term.factors:
            for v in self.store[number].scope:
                holding.setdefault(v, []).append(number)
        best, least = None, math.inf
        for v, numbers in sorted(holding.items()):
            neighbours = len({u for number in numbers for u in self.store[number].scope}) - 1
            if neighbours <= MAX_NEIGHBOURS:
                cost = self.store.cost(v, sorted(numbers))
                price = cost * (1 + sum(v in pair for pair in term.conflicts))
                if price < least and (neighbours <= 1 or cost < MAX_ELIMINATION_NS):
                    best, least = v, price
        return best

    def _holding(self, factors: Iterable[int], vertex: int) -> list[int]:
        return sorted(number for number in factors if vertex in self.store[number].scope)

    def _with(self, factors: frozenset[int], number: int) -> frozenset[int]:
        """The factors and one more, which is multiplied by that of its scope, if there is one."""
        scope = self.store[number].scope
        same = next((other for other in factors if self.store[other].scope == scope), None)
        return factors | {number} if same is None else factors - {same} | {self.store.multiply(same, number)}

    def _merged(self, term: _Term, vertex: int, other: int, conflicts: Conflicts) -> _Term:
        """The negated term in which a vertex is the same as another one."""
        holding = self._holding(term.factors, vertex)
        factors = term.factors.difference(holding)
        for number in holding:
            factors = self._with(factors, self.store.merge(number, vertex, other))
        renamed = (sorted(other if v == vertex else v for v in pair) for pair in conflicts)
        return _Term(-term.weight % self.modulus, factors, frozenset((u, w) for u, w in renamed))


class _Pool:
    """Terms with equally many vertices, no two of which differ in one factor only."""

    def __init__(self, store: FactorStore, modulus: int):
        self.store, self.modulus = store, modulus
        self.terms: set[_Term] = set()
        self._by_others: dict[tuple, _Term] = {}  # by all but one factor

    def add(self, term: _Term) -> None:
        """Put a term, or in place of one that differs in one factor only, the sum of both."""
        while (match := self._alike(term)) is not None:
            earlier, number = match
            self.terms.discard(earlier)
            others = term.factors - {number}
            (same,) = earlier.factors - others
            if same == number:
                summed = term._replace(weight=(earlier.weight + term.weight) % self.modulus)
            else:
                factor = self.store.combine(same, earlier.weight, number, term.weight)
                summed = _Term(int(len(self.store[factor].keys) > 0), others | {factor}, term.conflicts)
            if not summed.weight:
                return
            term = summed
        self.terms.add(term)
        for number in term.factors:
            self._by_others[self._key(term, number)] = term

    def _alike(self, term: _Term) -> tuple[_Term, int] | None:
        """A term that differs in one factor at most, and the number of that of `term`."""
        for number in term.factors:
            earlier = self._by_others.get(self._key(term, number))
            if earlier is not None and earlier in self.terms:
                return earlier, number
        return None

    def _key(self, term: _Term, number: int) -> tuple:
        return term.conflicts, self.store[number].scope, term.factors - {number}
