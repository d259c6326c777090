"""Counting by decomposition: a count as a sum of products of small tables, instead of a walk over all matches.

Vertices of the pattern are eliminated one after another (`elimination`): what is attached to a vertex or to an edge
becomes a table there. First the eliminated vertices are freed of having to differ from the rest. That counts too much,
by the quotients in which one coincides with another vertex; these are smaller patterns, treated alike. What is left at
the end is a single vertex, or a term that has no smaller part. (Pinar, Seshadhri & Vishal, "ESCAPE", WWW 2017;
DecoMine, ASPLOS 2023; GraphPi, SC 2020, section IV-D.)

Which vertex is eliminated first decides what follows; the cheapest tables with the fewest quotients go first. No
pattern is known by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.decomposition.elimination import Elimination, Eliminations
from cusubmatch.plan.decomposition.expression import (
    CycleTerm,
    EnumerateTerm,
    Expressions,
    Factor,
    Indicator,
    Link,
    Node,
    PathTable,
    Product,
    Term,
    reachable,
)
from cusubmatch.plan.decomposition.foldable import is_foldable
from cusubmatch.plan.decomposition.quotient import Part, canonical, merged

__all__ = ["Decomposition", "decompose"]

SMALL_VERTICES = 7  # of patterns whose quotients are looked at without a look at the homomorphisms first
BOUND_MARGIN = 2.0  # the bound on the cost is of one way to fold, which need not be the cheapest
MIN_WALKED_PAIRS_NS = 1e8  # of a term over pairs with diamonds, from which walking is considered instead


class TooManyPartsError(Exception):
    """The pattern has so many quotients that the search is given up."""


class Decomposition(NamedTuple):
    """A count as a sum of terms.

    Attributes
    ----------
    nodes : tuple of Node
        Tables, each after those that it is made of.
    symmetric : tuple of bool
        Of each table, whether it is known to be the same transposed.
    terms : dict of Term to int
        The terms and what they are multiplied by; they add up to the number of embeddings.
    edges : dict
        The pattern's own pairs (a, b), a < b, and their indicators.
    """

    nodes: tuple[Node, ...]
    symmetric: tuple[bool, ...]
    terms: dict[Term, int]
    edges: dict[tuple[int, int], tuple[Factor, ...]]


def decompose(
    constraints: Constraints,
    filters: tuple[int | None, ...],
    cost: Callable[[Node | Term], float],
    roots: Iterable[int] = (-1,),
    most_work: float = float("inf"),
    most_cost: float = float("inf"),
) -> list[Decomposition] | None:
    """Find a decomposition for each root; None where there is none.

    Parameters
    ----------
    constraints : Constraints
        What the pattern asks of its pairs; nothing may be forbidden.
    filters : tuple of int or None
        Per pattern vertex, the vertex whose filter its candidates must pass.
    cost : callable
        Nanoseconds of a table or a term, without those of the tables that it is made of.
    roots : iterable of int
        Pattern vertices whose images the count is wanted by; -1: one count of all.
    most_work : float
        How much is considered before the search is given up: each distinct weighted pattern counts with the square of
        its vertices.
    most_cost : float
        Nanoseconds from which tables are of no use.
    """
    tables, size = Expressions(), len(constraints.labels)
    if size == 1 or sum(k * k for k in range(2, size + 1)) > most_work:  # of one elimination after another
        return None
    sums: list[dict[Term, int]] = []
    search = _DecompositionSearch(tables, cost, most_work, most_cost)
    try:
        for root in roots:
            whole = _whole(constraints, filters, tables, root)
            if size > SMALL_VERTICES and not sums and not search.may_fold(whole):
                return None
            terms = search.terms(whole)
            if terms is None:
                return None
            terms = _with_path_table(terms, tables)
            sums.append({term: factor for term, factor in terms.items() if factor})
    except TooManyPartsError:
        return None
    nodes, symmetric = tuple(tables.nodes), tuple(tables.symmetric)
    return [Decomposition(nodes, symmetric, terms, whole.edges) for terms in sums]


def _with_path_table(terms, tables):
    """The terms, with cycles of four read from the table of paths of three links if that is made anyway."""
    square, paths = CycleTerm((Link(),) * 4), tables.find(PathTable((Link(),) * 3))
    if not terms[square] or paths not in reachable(tables.nodes, [term for term in terms if terms[term]]):
        return terms
    others = Counter({term: factor for term, factor in terms.items() if term != square})
    others[Product((tables.row_sums(Link(((paths, False),))),))] += terms[square]
    return others


def _whole(constraints, filters, tables, root):
    """The pattern itself as a part."""
    size = len(constraints.labels)

    def condition(u, w):
        relations = sorted((constraints.relations[r] for r in constraints.required[u, w]), key=repr)
        free = all(r.direction == "any" and r.edge_labels is None and r.target_labels is None for r in relations)
        return (() if free else tuple(relations)), filters[w]

    edges = {}
    for a, b in constraints.required:
        if a < b:
            key = condition(a, b), condition(b, a)
            edges[a, b] = () if key == (((), None), ((), None)) else (tables.indicator(key),)
    members = tuple((v,) for v in range(size))
    return Part(root, constraints.labels, ((),) * size, edges, frozenset(constraints.distinct), members)


class _DecompositionSearch:
    """The terms of parts; those of isomorphic parts are found once."""

    def __init__(
        self, tables: Expressions, cost: Callable[[Node | Term], float], most_work: float, most_cost: float
    ) -> None:
        self.tables, self.cost, self.work_left, self.most_cost = tables, cost, most_work, most_cost
        self.eliminations = Eliminations(tables, cost, most_cost)
        self.known: dict[tuple, Counter | None] = {}

    def may_fold(self, whole: Part) -> bool:
        """Whether the homomorphisms can be counted by tables, at a cost that leaves the injective count a chance.

        That is the sum without its quotients, so it is found quickly.
        """
        if whole.root < 0 and not is_foldable(whole.neighbours()):
            return False
        terms = self.terms(whole._replace(distinct_pairs=frozenset()))
        if terms is None:
            return False
        used = reachable(self.tables.nodes, list(terms))
        costs = [self.cost(self.tables.nodes[node]) for node in used]
        return sum(costs) + sum(map(self.cost, terms)) < BOUND_MARGIN * self.most_cost

    def terms(self, part: Part) -> Counter | None:
        """The terms that a part's count is the sum of; None where there is no decomposition."""
        name, part = canonical(part, self.tables)
        if name not in self.known:
            self.work_left -= part.size**2
            if self.work_left < 0:
                raise TooManyPartsError
            self.known[name] = None
            self.known[name] = self._search(part)
        return self.known[name]

    def _search(self, part):
        if part.size == 1:
            return Counter({Product(part.weights[0]): 1})
        for elimination in sorted(self.eliminations.of(part), key=lambda elimination: elimination.rank):
            terms = self._walked(part) if self._is_walk_cheaper(part, elimination) else None
            terms = terms or self._after(part, elimination)
            if terms is not None:
                return terms
        return self._walked(part)

    def _is_walk_cheaper(self, part, elimination):
        """Whether walking a part is cheaper than a term over pairs with diamonds, which unlike all else can be dear."""
        pairs = elimination.pairs
        cost = 0.0 if pairs is None or not pairs.has_diamonds else self.cost(pairs)
        return cost > MIN_WALKED_PAIRS_NS and self._can_walk(part) and self.cost(EnumerateTerm(part.members)) < cost

    def _can_walk(self, part):
        """Whether a part is a quotient of the pattern without folded tables or filters; a walk has its own filters."""
        nodes = [self.tables.nodes[node] for factors in part.edges.values() for node, _ in factors]
        plain = all(isinstance(node, Indicator) and not node.filtered for node in nodes) and not any(part.weights)
        return plain and part.root < 0 and any(len(merged_vertices) > 1 for merged_vertices in part.members)

    def _walked(self, part):
        """The terms of a part that is walked; None if it cannot be walked."""
        if not self._can_walk(part):
            return None
        return self._after(part, Elimination((), lambda part: EnumerateTerm(part.members), [], part.free_pairs()))

    def _after(self, part, elimination):
        """The terms of a part by one elimination."""
        terms: Counter = Counter()
        for distinct_pair in elimination.removed:
            part = part._replace(distinct_pairs=part.distinct_pairs - {distinct_pair})
            if not self._add(terms, merged(part, *distinct_pair, self.tables), -1):
                return None
        for distinct_pair in elimination.added:
            if not self._add(terms, merged(part, *distinct_pair, self.tables), 1):
                return None
            part = part._replace(distinct_pairs=part.distinct_pairs | {distinct_pair})
        result = elimination.apply(part)
        if isinstance(result, Part):
            return terms if self._add(terms, result, 1) else None
        terms[result] += 1
        return terms

    def _add(self, terms, part, sign):
        """Add the terms of a part, if it is one; whether they could be found."""
        if part is None:
            return True
        part_terms = self.terms(part)
        if part_terms is None:
            return False
        for term, factor in part_terms.items():
            terms[term] += sign * factor
        return True
