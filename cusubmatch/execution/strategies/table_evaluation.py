"""Evaluating a decomposition: tables as arrays, exact by arithmetic modulo 2^64 or modulo primes.

Sums and products wrap without harm as long as the result itself fits: where the pattern has less than 2^64 embeddings,
by a bound that is computed first, everything is done modulo 2^64. Beyond, the same is done modulo several primes below
2^31, and the Chinese remainder theorem puts the integer together. `xp` is NumPy or CuPy; the kernels are an engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cusubmatch.execution.strategies.apex_trees import apex_tree_sums
from cusubmatch.graph.support_graph import SupportGraph
from cusubmatch.plan.crt import primes_beyond
from cusubmatch.plan.decomposition.decompose import Decomposition
from cusubmatch.plan.decomposition.expression import (
    ApexTree,
    CliqueTable,
    CycleTerm,
    EnumerateTerm,
    Indicator,
    Link,
    Pairs,
    PathTable,
    Product,
    RowSums,
    parts_of,
    reachable,
)

__all__ = ["WORD", "Evaluation", "moduli"]

WORD = 64
SPARE = 1.001  # of the bound, which is computed in floating point


class Evaluation:
    """The numbers that a decomposition stands for, modulo one number.

    Parameters
    ----------
    xp : module
    decompositions : sequence of Decomposition
        Of one list of nodes.
    skeleton : Skeleton
    indicators : mapping of key to array
        Which entries fulfil what a pair of the pattern asks.
    kernels : Folding
        An engine's, on the skeleton.
    walk : callable
        The embeddings of a quotient of the pattern.
    prime : int
        0: modulo 2^64.
    done : callable
        Called with each table or term that has been computed.
    """

    def __init__(
        self,
        xp: Any,
        decompositions: Sequence[Decomposition],
        support: SupportGraph,
        indicators: Mapping[tuple, Any],
        kernels: Any,
        walk: Callable[[EnumerateTerm], int],
        prime: int = 0,
        done: Callable[[Any], None] = lambda _: None,
    ):
        self.xp, self.support, self.kernels, self.indicators = xp, support, kernels, indicators
        self.nodes, self.decompositions, self.prime, self.done = decompositions[0].nodes, decompositions, prime, done
        self.walk = walk
        self.modulus = prime or 1 << WORD
        terms = {term for one in decompositions for term in one.terms}
        users = [*terms, *(self.nodes[node] for node in reachable(self.nodes, terms))]
        self._uses: dict[int, int] = {}  # of each table, by what is still to be computed
        for user in users:
            for node in set(parts_of(user)):
                self._uses[node] = self._uses.get(node, 0) + 1
        self._tables: dict[int, Any] = {}
        self._begun: list[tuple[tuple[int, ...], Any]] = []

    def totals(self) -> list[int]:
        """The residue of each decomposition's sum."""
        known: dict[Any, int] = {}
        sums = []
        for one in self.decompositions:
            for term in sorted(one.terms, key=_place):
                if term not in known:
                    known[term] = self._number(term)
            sums.append(sum(many * known[term] for term, many in one.terms.items()) % self.modulus)
        return sums

    def vectors(self) -> list[Any]:
        """The residues of each decomposition's sum at every vertex, uint64."""
        sums = [self.xp.zeros(self.support.vertices, self.xp.uint64) for _ in self.decompositions]
        for term in sorted({term for one in self.decompositions for term in one.terms}, key=_place):
            product = self._product(term)
            for i, one in enumerate(self.decompositions):
                if many := one.terms.get(term):
                    more = self._reduced(product * self.xp.uint64(many % self.modulus))
                    sums[i] = self._reduced(sums[i] + more)
        return sums

    def _number(self, term):
        match term:
            case Product((only,)) if self._is_alone(only):
                number = self._total(self.nodes[only])
                self._finish(term)
            case Product():
                number = int(self._product(term).sum(dtype=self.xp.uint64))
            case CycleTerm(links):
                self._make(parts_of(term))
                number = self.kernels.cycle_sum(self._shared(links), self.prime)
                self._finish(term)
            case EnumerateTerm():
                number = self.walk(term)
                self._finish(term)
            case Pairs(ends, paths, distinct_pairs):
                self._make(parts_of(term))
                kinds = [(tuple(self._shared(path)), paths.count(path)) for path in dict.fromkeys(paths)]
                weights = [self._weights(some) for some in ends]
                alike = all(link.plain for path in paths for link in path)  # turned round; others are taken to differ
                below = distinct_pairs and ends[0] == ends[1] and alike
                number = self.kernels.pairs(weights, kinds, below, distinct_pairs, self.prime) * (2 if below else 1)
                self._finish(term)
        return number % self.modulus

    def _is_alone(self, node):
        """Whether these are sums of rows that only one term asks for."""
        return isinstance(self.nodes[node], RowSums) and self._uses[node] == 1 and node not in self._tables

    def _total(self, rows):
        """The sum of all rows, none of which is summed by itself."""
        self._make(parts_of(rows))
        array = self._array(rows.link)
        number = len(self.support.targets) if array is None else int(array.sum(dtype=self.xp.uint64))
        self._finish(rows)
        return number

    def _product(self, term):
        self._make(term.weights)
        held = self._begun  # the products of the first, the first two, ... weights of the term before
        while held and held[-1][0] != term.weights[: len(held)]:
            held.pop()
        for i in range(len(held), len(term.weights)):
            table = self._tables[term.weights[i]]
            product = table if not i else self._reduced(held[-1][1] * table)
            held.append((term.weights[: i + 1], product))
        self._finish(term)
        return held[-1][1]

    def _make(self, wanted):
        """Compute tables that are not there, and what they are made of, depth first."""
        for node in wanted:
            if node in self._tables:
                continue
            expression = self.nodes[node]
            self._make(parts_of(expression))
            self._tables[node] = self._table(node)
            self._finish(expression)

    def _table(self, node):
        """A table whose parts are there; what kernels give is reduced."""
        match self.nodes[node]:
            case Indicator(key):
                return self.indicators[key].astype(self.xp.uint64)
            case RowSums(link):
                return self.kernels.row_sums(self._values(link.factors), self._weights(link.weights), self.prime)
            case PathTable(links):
                return self.kernels.path_table(self._shared(links), self.decompositions[0].symmetric[node], self.prime)
            case CliqueTable(links):
                return self.kernels.cliques(self._shared(links), self.prime)
            case ApexTree(tree):
                return apex_tree_sums(tree, self.support, self.kernels, self._values, self._weights, self.prime)

    def _finish(self, expression):
        """Drop the tables that nothing needs any more."""
        for node in set(parts_of(expression)):
            self._uses[node] -= 1
            if not self._uses[node]:
                self._tables.pop(node, None)
        self.done(expression)

    def _shared(self, links):
        """The array of each link, equal ones the same array."""
        made: dict[Link, Any] = {}
        for link in links:
            if link not in made:
                made[link] = self._array(link)
        return [made[link] for link in links]

    def _array(self, link):
        """A link as an array over entries; None for all ones."""
        values, weights = self._values(link.factors), self._weights(link.weights)
        if weights is None:
            return values
        weights = weights[self.support.targets]
        return weights if values is None else self._reduced(values * weights)

    def _values(self, factors):
        found = None
        for node, transposed in factors:
            table = self.kernels.transposed(self._tables[node]) if transposed else self._tables[node]
            found = table if found is None else self._reduced(found * table)
        return found

    def _weights(self, weights):
        found = None
        for node in weights:
            table = self._tables[node]
            found = table if found is None else self._reduced(found * table)
        return found

    def _reduced(self, array):
        return array % self.xp.uint64(self.prime) if self.prime else array


def _place(term):
    """Products in an order in which one begins as the one before it does; what needs tables over entries last."""
    return (0, term.weights) if isinstance(term, Product) else (1, ())


def moduli(bound: float) -> list[int]:
    """What to compute modulo, so that a number up to a bound is known: [0] for 2^64, or primes below 2^31."""
    return [0] if bound * SPARE < 2.0**WORD else primes_beyond(int(bound * SPARE))
