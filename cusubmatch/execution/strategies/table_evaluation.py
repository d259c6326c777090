"""Evaluating a decomposition: tables as arrays, exact by arithmetic modulo 2^64 or modulo primes.

Sums and products wrap without harm as long as the result itself fits: where the pattern has less than 2^64 embeddings,
by a bound that is computed first, everything is done modulo 2^64. Beyond, the same is done modulo several primes below
2^31, and the Chinese remainder theorem puts the integer together. `xp` is NumPy or CuPy; the kernels are an engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
BOUND_MARGIN = 1.001  # the bound is computed in floating point


class Evaluation:
    """The numbers that a decomposition stands for, modulo one number.

    Parameters
    ----------
    decompositions : sequence of Decomposition
        Of one list of nodes.
    support : SupportGraph
    indicators : mapping of key to array
        Which arcs fulfil what a pair of the pattern asks.
    kernels : TableAlgebra
        An engine's, on the support graph.
    walk : callable
        The embeddings of a quotient of the pattern.
    prime : int
        0: modulo 2^64.
    done : callable
        Called with each table or term that has been computed.
    """

    def __init__(
        self,
        decompositions: Sequence[Decomposition],
        support: SupportGraph,
        indicators: Mapping[tuple, Any],
        kernels: Any,
        walk: Callable[[EnumerateTerm], int],
        prime: int = 0,
        done: Callable[[Any], None] = lambda _: None,
    ):
        self.xp, self.support, self.kernels, self.indicators = support.xp, support, kernels, indicators
        self.nodes, self.decompositions, self.prime, self.done = decompositions[0].nodes, decompositions, prime, done
        self.walk = walk
        self.modulus = prime or 1 << WORD
        terms = {term for decomposition in decompositions for term in decomposition.terms}
        users = [*terms, *(self.nodes[node] for node in reachable(self.nodes, terms))]
        self._uses: dict[int, int] = {}  # of each table, by tables and terms that are still to be computed
        for user in users:
            for node in set(parts_of(user)):
                self._uses[node] = self._uses.get(node, 0) + 1
        self._tables: dict[int, Any] = {}
        self._prefixes: list[tuple[tuple[int, ...], Any]] = []  # products of the first weights of the last term

    def totals(self) -> list[int]:
        """The residue of each decomposition's sum."""
        known: dict[Any, int] = {}
        sums = []
        for decomposition in self.decompositions:
            for term in sorted(decomposition.terms, key=_product_order):
                if term not in known:
                    known[term] = self._number(term)
            total = sum(factor * known[term] for term, factor in decomposition.terms.items())
            sums.append(total % self.modulus)
        return sums

    def vectors(self) -> list[Any]:
        """The residues of each decomposition's sum at every vertex, uint64."""
        sums = [self.xp.zeros(self.support.vertices, self.xp.uint64) for _ in self.decompositions]
        terms = {term for decomposition in self.decompositions for term in decomposition.terms}
        for term in sorted(terms, key=_product_order):
            product = self._product(term)
            for i, decomposition in enumerate(self.decompositions):
                if factor := decomposition.terms.get(term):
                    summand = self._reduced(product * self.xp.uint64(factor % self.modulus))
                    sums[i] = self._reduced(sums[i] + summand)
        return sums

    def _number(self, term: Any) -> int:
        """The sum that a term stands for."""
        match term:
            case Product((only,)) if self._is_used_once(only):
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
                weights = [self._weights(end) for end in ends]
                alike = all(link.plain for path in paths for link in path)  # as their transposed; others may differ
                below = distinct_pairs and ends[0] == ends[1] and alike
                number = self.kernels.pairs(weights, kinds, below, distinct_pairs, self.prime) * (2 if below else 1)
                self._finish(term)
        return number % self.modulus

    def _is_used_once(self, node: int) -> bool:
        """Whether these are sums of rows that only one term asks for."""
        return isinstance(self.nodes[node], RowSums) and self._uses[node] == 1 and node not in self._tables

    def _total(self, rows: Any) -> int:
        """The sum of all rows, none of which is summed by itself."""
        self._make(parts_of(rows))
        array = self._array(rows.link)
        number = len(self.support.targets) if array is None else int(array.sum(dtype=self.xp.uint64))
        self._finish(rows)
        return number

    def _product(self, term: Any) -> Any:
        """The product of a term's weights; it begins with what the term before has in common."""
        self._make(term.weights)
        prefixes = self._prefixes
        while prefixes and prefixes[-1][0] != term.weights[: len(prefixes)]:
            prefixes.pop()
        for i in range(len(prefixes), len(term.weights)):
            table = self._tables[term.weights[i]]
            product = table if not i else self._reduced(prefixes[-1][1] * table)
            prefixes.append((term.weights[: i + 1], product))
        self._finish(term)
        return prefixes[-1][1]

    def _make(self, tables: Iterable[int]) -> None:
        """Compute tables that are not there, and those that they are made of, depth first."""
        for node in tables:
            if node in self._tables:
                continue
            expression = self.nodes[node]
            self._make(parts_of(expression))
            self._tables[node] = self._table(node)
            self._finish(expression)

    def _table(self, node: int) -> Any:
        """A table whose parts are there; kernels return residues."""
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

    def _finish(self, expression: Any) -> None:
        """Drop the tables that nothing needs any more."""
        for node in set(parts_of(expression)):
            self._uses[node] -= 1
            if not self._uses[node]:
                self._tables.pop(node, None)
        self.done(expression)

    def _shared(self, links: Sequence[Link]) -> list[Any]:
        """The array of each link, equal ones the same array."""
        arrays = {link: self._array(link) for link in dict.fromkeys(links)}
        return [arrays[link] for link in links]

    def _array(self, link: Link) -> Any:
        """A link as an array over arcs; None for all ones."""
        values, weights = self._values(link.factors), self._weights(link.weights)
        if weights is None:
            return values
        weights = weights[self.support.targets]
        return weights if values is None else self._reduced(values * weights)

    def _values(self, factors: Iterable[tuple[int, bool]]) -> Any:
        """The product of tables over arcs; None for all ones."""
        product = None
        for node, transposed in factors:
            table = self.kernels.transposed(self._tables[node]) if transposed else self._tables[node]
            product = table if product is None else self._reduced(product * table)
        return product

    def _weights(self, weights: Iterable[int]) -> Any:
        """The product of tables over vertices; None for all ones."""
        product = None
        for node in weights:
            table = self._tables[node]
            product = table if product is None else self._reduced(product * table)
        return product

    def _reduced(self, array: Any) -> Any:
        """Residues, if there is a prime."""
        return array % self.xp.uint64(self.prime) if self.prime else array


def _product_order(term: Any) -> tuple:
    """Products in an order in which neighbours share first weights; terms that need tables over arcs last."""
    return (0, term.weights) if isinstance(term, Product) else (1, ())


def moduli(bound: float) -> list[int]:
    """What to compute modulo, so that a number up to a bound is known: [0] for 2^64, or primes below 2^31."""
    return [0] if bound * BOUND_MARGIN < 2.0**WORD else primes_beyond(int(bound * BOUND_MARGIN))
