"""Counting by decomposition: a count as a sum of products of small tables, instead of a walk over all matches.

Vertices of the pattern are folded away one after another (variable elimination): one with a single neighbour becomes a
table over the vertices there, one between two adjacent vertices a table over the edges there, and so does a path of two
between adjacent vertices. A tree some of whose vertices are adjacent to one more vertex becomes a table over that one.
Before that, the vertex is freed of having to differ from the rest, which counts too much by
the quotients in which it is one with another vertex; these are smaller patterns, treated alike. What is left at the end
is a single vertex, or a kernel that has no smaller part: a cycle of four or five, or two vertices with several ways
between them, each over one vertex or over two adjacent ones. (Pinar, Seshadhri & Vishal, "ESCAPE", WWW 2017; DecoMine,
ASPLOS 2023; GraphPi, SC 2020, section IV-D.)

Which vertex is folded first decides what follows; the cheapest kernels with the fewest quotients go first. No pattern
is known by name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations, pairwise
from typing import NamedTuple

from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.decomposition.expression import (
    ApexTree,
    Branch,
    CliqueTable,
    CycleTerm,
    EnumerateTerm,
    Expressions,
    Factor,
    Indicator,
    Link,
    Node,
    Pairs,
    PathTable,
    Product,
    RowSums,
    Term,
    reachable,
)
from cusubmatch.plan.decomposition.quotient import Part, canonical, joined, merged, pair, trees_without, weighted

__all__ = ["Decomposition", "decompose"]

LOOPS = (4, 5)  # links of the cycles that there is a kernel for; the one for four takes no tables
CHEAP_APEX_NS = 5e6  # a tree with an apex is the last resort where it costs more: it is the one cost that is quadratic
KINDS = 2  # of paths that the kernel for pairs tells apart
WORTH_WALKING = 1e8  # nanoseconds of pairs with bridges that make it worth to plan a walk instead


class TooManyPartsError(Exception):
    """The pattern has too many quotients for this to be the way."""


class Decomposition(NamedTuple):
    """A count as a sum of terms.

    Attributes
    ----------
    nodes : tuple of Node
        Tables, each after those that it is made of.
    symmetric : tuple of bool
        Of each table, whether it is known to read alike from both ends.
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
    most_parts: int = 1500,
    most_cost: float = float("inf"),
) -> list[Decomposition] | None:
    """A decomposition for each root; None where there is none.

    Parameters
    ----------
    constraints : Constraints
        What the pattern asks of its pairs; nothing may be forbidden.
    filters : tuple of int or None
        Per pattern vertex, the vertex whose filter its candidates must pass.
    cost : callable
        Nanoseconds of a table or a term, its parts not counted.
    roots : iterable of int
        Pattern vertices whose images the count is wanted by; -1: one count of all.
    most_parts : int
        How many distinct weighted patterns are looked at before the search is given up.
    most_cost : float
        Nanoseconds of a table from which it is of no use.
    """
    tables, size = Expressions(), len(constraints.labels)
    if size == 1:
        return None
    search, found = _Search(tables, cost, most_parts, most_cost), []
    try:
        for root in roots:
            whole = _whole(constraints, filters, tables, root)
            terms = search.terms(whole)
            if terms is None:
                return None
            found.append({term: many for term, many in _settled(terms, tables).items() if many})
    except TooManyPartsError:
        return None
    nodes, symmetric = tuple(tables.nodes), tuple(tables.symmetric)
    return [Decomposition(nodes, symmetric, terms, whole.edges) for terms in found]


def _settled(terms, tables):
    """The terms, with cycles of four read from the table of paths of three where there is one anyway."""
    square, paths = CycleTerm((Link(),) * 4), tables.find(PathTable((Link(),) * 3))
    if not terms[square] or paths not in reachable(tables.nodes, [term for term in terms if terms[term]]):
        return terms
    settled = Counter({term: many for term, many in terms.items() if term != square})
    settled[Product((tables.rows(Link(((paths, False),))),))] += terms[square]
    return settled


def _whole(constraints, filters, tables, root):
    """The pattern itself, every pair that must differ apart."""
    required, size = constraints.required, len(constraints.labels)
    relations = constraints.relations

    def asked(u, w):
        some = sorted((relations[r] for r in required[u, w]), key=repr)
        free = all(r.direction == "any" and r.edge_labels is None and r.target_labels is None for r in some)
        return (() if free else tuple(some)), filters[w]

    edges = {}
    for a, b in required:
        if a < b:
            key = asked(a, b), asked(b, a)
            edges[a, b] = () if key == (((), None), ((), None)) else (tables.indicator(key),)
    members = tuple((v,) for v in range(size))
    return Part(root, constraints.labels, ((),) * size, edges, frozenset(constraints.distinct), members)


class _Step(NamedTuple):
    """A way on: what is folded, the conditions that are taken away before, and those that must be added."""

    rank: tuple
    fold: Callable[[Part], Part | Term]
    removed: list[tuple[int, int]]
    added: list[tuple[int, int]]
    pairs: Pairs | None = None  # if that is what it is folded to


class _Search:
    def __init__(self, tables: Expressions, cost: Callable[[Node | Term], float], most_parts: int, most_cost: float):
        self.tables, self.cost, self.most_parts, self.most_cost = tables, cost, most_parts, most_cost
        self.known: dict[tuple, Counter | None] = {}

    def terms(self, part: Part) -> Counter | None:
        """The terms that a part's count is the sum of; None where there is no way."""
        name, part = canonical(part, self.tables)
        if name not in self.known:
            if len(self.known) >= self.most_parts:
                raise TooManyPartsError
            self.known[name] = None
            self.known[name] = self._found(part)
        return self.known[name]

    def _found(self, part):
        if part.size == 1:
            return Counter({Product(part.weights[0]): 1})
        for step in sorted(self._steps(part), key=lambda step: step.rank):
            terms = (self._walked(part) if self._dear(part, step) else None) or self._taken(part, step)
            if terms is not None:
                return terms
        return self._walked(part)

    def _dear(self, part, step):
        """Whether a part is rather walked: pairs with bridges, unlike all else, may be dearer than that."""
        cost = 0.0 if step.pairs is None or not step.pairs.bridged else self.cost(step.pairs)
        return cost > WORTH_WALKING and self._walkable(part) and self.cost(EnumerateTerm(part.members)) < cost

    def _walkable(self, part):
        """Whether a part is a quotient of the pattern without tables folded into it or filters; a walk has its own."""
        factors = [self.tables.nodes[node] for some in part.edges.values() for node, _ in some]
        plain = all(isinstance(node, Indicator) and not node.filtered for node in factors) and not any(part.weights)
        return plain and part.root < 0 and any(len(some) > 1 for some in part.members)

    def _walked(self, part):
        """The terms of a part that must be walked; None if tables are folded into it, or it is the whole pattern."""
        if not self._walkable(part):
            return None
        every = {pair(a, b) for a in range(part.size) for b in range(a)}
        added = sorted(every - set(part.edges) - part.distinct_pairs)
        return self._taken(part, _Step((), lambda part: EnumerateTerm(part.members), [], added))

    def _taken(self, part, step):
        """The terms of one way on."""
        terms: Counter = Counter()
        for one in step.removed:
            part = part._replace(distinct_pairs=part.distinct_pairs - {one})
            if not self._add(terms, merged(part, *one, self.tables), -1):
                return None
        for one in step.added:
            if not self._add(terms, merged(part, *one, self.tables), 1):
                return None
            part = part._replace(distinct_pairs=part.distinct_pairs | {one})
        folded = step.fold(part)
        if isinstance(folded, Part):
            return terms if self._add(terms, folded, 1) else None
        terms[folded] += 1
        return terms

    def _add(self, terms, part, sign):
        """Add the terms of a part; whether there are any ways to count it."""
        if part is None:
            return True
        found = self.terms(part)
        if found is None:
            return False
        for term, many in found.items():
            terms[term] += sign * many
        return True

    def _steps(self, part):
        near = part.neighbours()
        for z in range(part.size):
            if z != part.root and (len(near[z]) == 1 or (len(near[z]) == 2 and pair(*near[z]) in part.edges)):
                yield self._vertex(part, z, near[z])
        for w, z in part.edges:
            if len(near[w]) == len(near[z]) == 2 and part.root not in (w, z):
                x, y = sum(near[w]) - z, sum(near[z]) - w
                if x != y and pair(x, y) in part.edges:
                    yield self._ear(part, x, w, z, y)
            elif len(near[w]) == len(near[z]) == 3 and part.root not in (w, z):
                ends = {*near[w], *near[z]} - {w, z}
                if len(ends) == 2 and pair(*ends) in part.edges:
                    yield self._clique(part, *sorted(ends), w, z)
        yield from self._loop(part, near)
        yield from self._pairs(part, near)
        yield from self._apex_trees(part, near)

    def _link(self, part, p, q, weights=True):
        """The step from p to q, with the tables at q."""
        return Link(part.factors(self.tables, p, q), part.weights[q] if weights else ())

    def _rank(self, node, removed, added):
        """Cheap steps first: few quotients, then few nanoseconds."""
        known = isinstance(node, (RowSums, PathTable, CliqueTable, ApexTree)) and self.tables.find(node) is not None
        return len(removed) + len(added), 0.0 if known else self.cost(node), str(node)

    def _vertex(self, part, z, near):
        """Fold a vertex with one neighbour, or with two that are adjacent."""
        tables = self.tables
        removed = sorted(pair(z, u) for u in part.alternatives(z))
        if len(near) == 1:
            link = self._link(part, near[0], z)
            return _Step(
                self._rank(RowSums(link), removed, []),
                lambda part: weighted(part, near[0], tables.rows(link), {z}),
                removed,
                [],
            )
        return self._between(part, near[0], [z], near[1], removed, [])

    def _ear(self, part, x, w, z, y):
        """Fold a path of two between adjacent vertices; its vertices differ from these within the table."""
        inside = {pair(w, y), pair(x, z)}
        removed = sorted({pair(a, b) for a in (w, z) for b in part.alternatives(a)} - inside)
        return self._between(part, x, [w, z], y, removed, sorted(inside - part.distinct_pairs))

    def _between(self, part, x, path, y, removed, added):
        tables, stops = self.tables, [x, *path, y]
        links = tuple(self._link(part, p, q, q != y) for p, q in pairwise(stops))
        least = min(links, tables.transposed(links))
        return _Step(
            self._rank(PathTable(least), removed, added),
            lambda part: joined(part, x, y, tables.chain(links), set(path), tables),
            removed,
            added,
        )

    def _clique(self, part, x, y, w, z):
        """Fold two vertices that are adjacent to each other and to two adjacent ones."""
        tables, links = self.tables, self._bridge(part, x, w, z, y)
        removed = sorted({pair(a, b) for a in (w, z) for b in part.alternatives(a)})
        return _Step(
            self._rank(CliqueTable(links), removed, []),
            lambda part: joined(part, x, y, tables.cliques(links), {w, z}, tables),
            removed,
            [],
        )

    def _apex_trees(self, part, near):
        """Fold trees that are joined to the rest of the part in one vertex, the apex, by two edges or more."""
        for x in range(part.size):
            for inside in trees_without(x, part, near):
                if part.root in inside:
                    continue
                node = self.tables.apex_tree(self._branch(part, near, x, inside, None, v) for v in sorted(inside))
                cost = self.cost(node)
                if cost > self.most_cost:
                    continue
                removed = sorted({pair(v, u) for v in inside for u in part.alternatives(v)})
                quotients, *rest = self._rank(node, removed, [])
                yield _Step(
                    (quotients if cost < CHEAP_APEX_NS else math.inf, *rest),
                    lambda part, x=x, node=node, inside=inside: weighted(part, x, self.tables.rooted(node), inside),
                    removed,
                    [],
                )

    def _branch(self, part, near, apex, inside, parent, v):
        """The subtree at v, as seen from its parent."""
        link = Link((), part.weights[v]) if parent is None else self._link(part, parent, v)
        chord = (part.factors(self.tables, apex, v),) if apex in near[v] else ()
        below = (self._branch(part, near, apex, inside, v, w) for w in near[v] if w in inside and w != parent)
        return Branch(link, chord, tuple(sorted(below)))

    def _loop(self, part, near):
        """Count a cycle as it is: all its vertices differ."""
        if part.root >= 0 or part.size not in LOOPS or any(len(some) != 2 for some in near):
            return
        around = [0, near[0][0]]
        while len(around) < part.size:
            around.append(sum(near[around[-1]]) - around[-2])
        links = tuple(self._link(part, p, q) for p, q in zip(around, around[1:] + around[:1], strict=True))
        if part.size == LOOPS[0] and not all(link.plain for link in links):
            return
        loop = self.tables.loop(links)
        every = {pair(a, b) for a in range(part.size) for b in range(a)}
        added = sorted(every - set(part.edges) - part.distinct_pairs)
        yield _Step(self._rank(loop, [], added), lambda _: loop, [], added)

    def _pairs(self, part, near):
        """Count two vertices that are not adjacent, all others being adjacent to both and at most in twos."""
        if part.root >= 0 or part.size < 4:
            return
        for x, y in combinations([v for v in range(part.size) if len(near[v]) == part.size - 2], 2):
            if pair(x, y) in part.edges:
                continue
            inside = [[v, *(w for w in near[v] if w not in (x, y))] for v in near[x]]
            if any(len(some) > 2 for some in inside):
                continue
            ways = {tuple(sorted(some)) for some in inside}
            paths = tuple(sorted(self._path(part, x, some, y) for some in ways))
            if len(paths) < 2 or len(set(paths)) > KINDS:
                continue
            removed = sorted(one for one in part.distinct_pairs if one != pair(x, y))
            term = Pairs((part.weights[x], part.weights[y]), paths, pair(x, y) in part.distinct_pairs)
            yield _Step(self._rank(term, removed, []), lambda _, term=term: term, removed, [], term)

    def _path(self, part, x, middles, y):
        """The links from x to y by way of one middle vertex, or of two that are adjacent."""
        if len(middles) == 2:
            return self.tables.bridge(self._bridge(part, x, *middles, y))
        return self._link(part, x, *middles), self._link(part, *middles, y, False)

    def _bridge(self, part, x, w, z, y):
        """The links between x and y by way of w and z and of their edge."""
        ways = ((x, w, True), (x, z, True), (w, z, False), (w, y, False), (z, y, False))
        return tuple(self._link(part, *way) for way in ways)
