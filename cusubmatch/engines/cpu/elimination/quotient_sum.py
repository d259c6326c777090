"""The embeddings of a pattern as a sum over its quotients, which is made vertex by vertex.

A vertex is eliminated: the factors that hold it become one factor of its neighbours (bucket elimination, Dechter 1999).
So are vertices that no other factor holds. A conflict of one with another vertex that no factor holds with it is left
out, and the maps that give both the same image are subtracted, in which the two are one vertex: so each such conflict
makes two terms of one. Terms that differ in one factor only, as they do once both have eliminated what a conflict
concerned, become one again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from cusubmatch.engines.cpu.elimination.factor_store import FactorStore
from cusubmatch.engines.cpu.elimination.step_costs import Step

__all__ = ["Conflicts", "Costs", "Quotients", "sum_of_quotients"]

Conflicts = frozenset[tuple[int, int]]
Costs = Sequence[Sequence[float]]

_Key = tuple[Conflicts, tuple[int, ...], int]  # conflicts, the scope of a factor, and a hash of the other factors

TERMS_AT_ONCE, DEVICE_TERMS_AT_ONCE = 256, 64  # while a device works on some terms, it is chosen how others go on
TERM_NS = 2e6  # that one more term costs, at the least, until it is at its end,
TERM_SHARE = 0.1  # or this share of what one without conflicts costs, of which it has most in common with others;
DEVICE_TERM_SHARE = 1.0  # all of it on a device, which is soon done with that;
CONFLICT_FACTOR = 1.3  # times as much for each of its conflicts, since such a term becomes several


class Quotients(NamedTuple):
    """What a sum is.

    Attributes
    ----------
    totals : list of int
        In each kind of arithmetic, not reduced; of floats the sum of words that are their bits, which is that of one
        word where there are no conflicts.
    costs : list of list of float
        By the number of vertices that are left when the last of its vertices is eliminated, that one as well,
        nanoseconds that each elimination takes on the host, about.
    """

    totals: list[int]
    costs: Costs


class _Term(NamedTuple):
    """A product of factors, summed over the maps that have the vertices in conflict apart.

    Attributes
    ----------
    weight : int
    factors : frozenset of int
        Numbers of factors, one of each scope.
    conflicts : frozenset of (u, w)
        Pairs of vertices, u < w, that must differ, and that no factor holds both.
    """

    weight: int
    factors: frozenset[int]
    conflicts: Conflicts


class _Choice(NamedTuple):
    """An elimination that a term may have next, and what that does about its conflicts.

    Attributes
    ----------
    step : Step
    merges : int
        Conflicts of the vertex that it eliminates, each of which makes another term.
    conflicts : int
        All of the term, these among them, but those whose vertices what it makes holds both: it has these apart.
    """

    step: Step
    merges: int
    conflicts: int


def sum_of_quotients(
    store: FactorStore, arcs: Iterable[int], vertices: int, conflicts: Conflicts, costs: Costs = ()
) -> Quotients:
    """The sum of the product of all arcs over the maps of so many vertices that have all conflicts apart.

    Parameters
    ----------
    store : FactorStore
    arcs : iterable of int
        Numbers of the factors of the pattern's edges.
    vertices : int
    conflicts : frozenset of (u, w)
        Pairs, u < w, that no arc joins.
    costs : sequence of sequence of float, optional
        Those of the same sum without conflicts.
    """
    return _QuotientSum(store, costs).run(_Term(1, frozenset(arcs), conflicts), vertices)


class _QuotientSum:
    """Terms by the number of their vertices; those with most vertices are next, so that terms meet that are alike.

    Where memory is full, the terms that have been made are brought to their end before others are made.
    """

    def __init__(self, store: FactorStore, costs: Costs):
        self.store, self.costs = store, costs
        self.totals = [0] * len(store.kinds)
        self.spent: dict[int, list[float]] = {}  # as `Quotients.costs`
        self.pools: dict[int, _Pool] = {}
        self.waiting: list[list[_Term]] = []  # terms that are next when those that have been made are at their end
        self.chosen: dict[_Term, Step] = {}  # of terms that are next, where it has been chosen

    def run(self, term: _Term, vertices: int) -> Quotients:
        self._add(term, vertices)
        self._finish(vertices)
        return Quotients(self.totals, [self.spent.get(size, []) for size in range(vertices + 1)])

    def _finish(self, vertices: int) -> None:
        """Bring all terms that do not wait, and have at most so many vertices, to their end."""
        for size in range(vertices, 0, -1):
            terms = list(self.pools.pop(size, _Pool(self.store)).terms)
            while terms:
                self._reduce(terms, size)
                if not terms or self.store.is_full:
                    self._forget_what_no_term_has(terms)
                if terms and self.store.is_full:
                    self.waiting.append(terms)
                    self._finish(size - 1)
                    self.waiting.pop()

    def _forget_what_no_term_has(self, terms: Sequence[_Term]) -> None:
        kept = (terms, *self.waiting, *(pool.terms for pool in self.pools.values()))
        self.store.keep_only({number for some in kept for term in some for number in term.factors})

    def _add(self, term: _Term, size: int) -> None:
        term = self._kept_apart(term)
        if term.weight and not any(map(self.store.is_zero, term.factors)):
            self.pools.setdefault(size, _Pool(self.store)).add(term)

    def _reduce(self, terms: list[_Term], size: int) -> None:
        """Take some terms with so many vertices, as many as there is memory for, and put others with one less."""
        candidates = self._next(terms)
        self._choose(candidates, size)
        some: list[tuple[_Term, Step]] = []
        words = 0.0
        for term in candidates:
            if some and words > self.store.room:
                break
            step = self.chosen.pop(term)
            some.append((term, step))
            words += self.store.expected_words(step)
        del terms[len(terms) - len(some) :]
        self.store.eliminate([step for _, step in some], lambda: self._choose(self._next(terms), size))
        done = [one for one in some if self.store.is_done(one[1])]
        terms += [term for term, step in some if not self.store.is_done(step)]
        self.store.merge_all(merge for term, step in done for merge in self._merges(term, step))
        for term, step in done:
            last = size - len(step.vertices) + 1
            self.spent.setdefault(last, []).append(self.store.costs.cost_here(step))
            self._put_in_place(term, step, size)

    def _merges(self, term: _Term, step: Step) -> Iterator[tuple[int, int, int]]:
        """The factors that are merged where the vertex of a step has the image of one that it is in conflict with."""
        for vertex, other in _conflicts(term, step):
            yield from ((number, vertex, other) for number in self.store.holding(vertex, term.factors))

    def _put_in_place(self, term: _Term, step: Step, size: int) -> None:
        """Put terms with fewer vertices in place of one with so many, from which some are eliminated."""
        for vertex, other in _conflicts(term, step):
            rest = term.conflicts - {(min(vertex, other), max(vertex, other))}
            self._add(self._merged(term, vertex, other, rest), size - 1)
            term = term._replace(conflicts=rest)
        number, left = self.store.eliminated(step), size - len(step.vertices)
        if left:
            self._add(term._replace(factors=self._with(term.factors.difference(step.factors), number)), left)
            return
        for values in self.store[number].values.tolist():  # one row, or none
            self.totals = [total + term.weight * value for total, value in zip(self.totals, values, strict=True)]

    def _kept_apart(self, term: _Term) -> _Term:
        """The term without the conflicts of two vertices of one factor, whose entries have them apart."""
        factors, conflicts = term.factors, term.conflicts
        for u, w in term.conflicts:
            for number in factors:
                scope = self.store.scope(number)
                if u in scope and w in scope:
                    factors = factors - {number} | {self.store.keep_apart(number, u, w)}
                    conflicts = conflicts - {(u, w)}
                    break
        return term if conflicts is term.conflicts else term._replace(factors=factors, conflicts=conflicts)

    def _next(self, terms: Sequence[_Term]) -> Sequence[_Term]:
        """Those that are looked at together."""
        at_once = DEVICE_TERMS_AT_ONCE if self.store.costs.has_device else TERMS_AT_ONCE
        return terms[: -at_once - 1 : -1]

    def _choose(self, terms: Iterable[_Term], size: int) -> None:
        """Choose of each term with so many vertices the elimination that takes least, for all terms that it makes.

        Samples are followed of those that seem to, until no others seem to.
        """
        prices = self._prices_of_terms(size)
        choices = {term: self._choices(term) for term in terms if term not in self.chosen}
        chosen = {term: self._cheapest(of_term, prices) for term, of_term in choices.items()}
        while new := self.store.look_at(chosen.values()):
            for term, step in chosen.items():
                if step in new:
                    chosen[term] = self._cheapest(choices[term], prices)
        self.chosen |= chosen

    def _prices_of_terms(self, size: int) -> list[float]:
        """What one more term without conflicts costs, by the number of its vertices, up to so many."""
        share = DEVICE_TERM_SHARE if self.store.costs.has_device else TERM_SHARE
        of_sizes = self.costs[: size + 1] or [()] * (size + 1)
        _, *sums = accumulate(sum(map(self.store.costs.cost_now, costs)) for costs in of_sizes)
        return [0.0, *(max(TERM_NS, share * cost) for cost in sums)]

    def _choices(self, term: _Term) -> list[_Choice]:
        """The eliminations of a term, those with few entries first."""
        merges = Counter(v for pair in term.conflicts for v in pair)
        pairs = [1 << u | 1 << w for u, w in term.conflicts]
        choices = []
        for step, vertex in self.store.costs.steps(term.factors, sum(1 << v for v in merges)).items():
            held = self.store.costs.left(step)
            choices.append(_Choice(step, merges[vertex], sum(pair & ~held > 0 for pair in pairs)))
        return choices

    def _cheapest(self, choices: Sequence[_Choice], prices: Sequence[float]) -> Step:
        """Of the eliminations of a term the one that takes least, with all that it leaves.

        `prices`: what a term without conflicts costs, by the number of its vertices; the last one is that of this term.
        """
        best, price, size = choices[0].step, math.inf, len(prices) - 1
        for step, merges, conflicts in choices:
            terms = 1 + merges
            more = CONFLICT_FACTOR ** (conflicts - merges) * prices[size - len(step.vertices)]
            more += sum(CONFLICT_FACTOR ** (conflicts - made) for made in range(1, terms)) * prices[size - 1]
            if more < price:
                cost = terms * self.store.costs.cost(step, (price - more) / terms) + more
                if cost < price:
                    best, price = step, cost
        return best

    def _with(self, factors: frozenset[int], number: int) -> frozenset[int]:
        """The factors and one more, which is multiplied by that of its scope, if there is one."""
        scope = self.store.scope(number)
        same = next((other for other in factors if self.store.scope(other) == scope), None)
        return factors | {number} if same is None else factors - {same} | {self.store.multiply(same, number)}

    def _merged(self, term: _Term, vertex: int, into: int, conflicts: Conflicts) -> _Term:
        """The negated term in which a vertex that is eliminated is one with another, and has its name.

        So it has the vertices of the terms from which that vertex is eliminated, and meets them.
        """
        holding = self.store.holding(vertex, term.factors)
        factors = term.factors.difference(holding)
        for number in holding:
            factors = self._with(factors, self.store.merge(number, vertex, into))
        renamed = (sorted(into if v == vertex else v for v in pair) for pair in conflicts)
        return _Term(-term.weight, factors, frozenset((a, b) for a, b in renamed))


def _conflicts(term: _Term, step: Step) -> list[tuple[int, int]]:
    """The conflicts of what a step eliminates: that vertex and the other one, which is left, ascending."""
    pairs = (pair if pair[0] in step.vertices else pair[::-1] for pair in term.conflicts)
    return sorted((vertex, other) for vertex, other in pairs if vertex in step.vertices)


class _Pool:
    """Terms with equally many vertices, no two of which differ in one factor only."""

    def __init__(self, store: FactorStore):
        self.store = store
        self.terms: set[_Term] = set()
        self._by_others: dict[_Key, _Term] = {}

    def add(self, term: _Term) -> None:
        """Put a term, or in place of one that differs in one factor only, the sum of both."""
        keys = self._keys(term)
        while (match := self._alike(term, keys)) is not None:
            earlier, same, number = match
            self.terms.discard(earlier)
            if same == number:
                summed = term._replace(weight=earlier.weight + term.weight)
            else:
                factor = self.store.combine(same, earlier.weight, number, term.weight)
                factors = term.factors - {number} | {factor}
                summed = _Term(int(not self.store.is_zero(factor)), factors, term.conflicts)
            if not summed.weight:
                return
            term, keys = summed, self._keys(summed)
        self.terms.add(term)
        for _, key in keys:
            self._by_others[key] = term

    def _alike(self, term: _Term, keys: Iterable[tuple[int, _Key]]) -> tuple[_Term, int, int] | None:
        """An earlier term that differs in one factor at most, and that factor of it and of a term with these keys."""
        for number, key in keys:
            earlier = self._by_others.get(key)
            if earlier is not None and earlier in self.terms:
                new = earlier.factors - term.factors or {number}
                if len(new) == 1 and earlier.factors - new == term.factors - {number}:  # not the hashes alone
                    return earlier, *new, number
        return None

    def _keys(self, term: _Term) -> list[tuple[int, _Key]]:
        """Of each factor of a term, its number, and a key that equal terms have without it."""
        hashes = {number: hash((number,)) for number in term.factors}
        together = sum(hashes.values())
        return [(n, (term.conflicts, self.store.scope(n), together - one)) for n, one in hashes.items()]
