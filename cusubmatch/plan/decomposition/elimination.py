"""Eliminations: the ways to fold a part of a weighted pattern into a table, or to end with a term of the count.

A vertex with one neighbour becomes a table over the vertices there; a vertex between two adjacent vertices becomes a
table over the edges there, and so does a path of two vertices, or two adjacent ones, between adjacent vertices. A tree
some of whose vertices are adjacent to one more vertex, the apex, becomes a table over the apex. What has no smaller
part ends as a term: a cycle of four or five, or two vertices with several paths between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

from cusubmatch.plan.decomposition.expression import (
    ApexTree,
    Branch,
    CliqueTable,
    Expressions,
    Link,
    Node,
    Pairs,
    PathTable,
    RowSums,
    Term,
)
from cusubmatch.plan.decomposition.quotient import Part, joined, pair, trees_without, weighted

__all__ = ["Elimination", "Eliminations"]

CYCLE_LINKS = (4, 5)  # of the cycles that there is a kernel for; the one for four takes no tables
CHEAP_APEX_NS = 5e6  # a more costly apex tree is the last resort: its cost is quadratic in the vertices of the graph
MAX_PATH_KINDS = 2  # that the kernel for pairs can tell from each other


class Elimination(NamedTuple):
    """One way to make a part smaller.

    Attributes
    ----------
    rank : tuple
        Eliminations are tried in this order.
    apply : callable
        The smaller part, or the term that is left.
    removed, added : list of (a, b)
        Pairs that need not differ any more before it is applied, and pairs that must then differ.
    pairs : Pairs or None
        The term, if it is one over pairs.
    """

    rank: tuple
    apply: Callable[[Part], Part | Term]
    removed: list[tuple[int, int]]
    added: list[tuple[int, int]]
    pairs: Pairs | None = None


class Eliminations:
    """The eliminations of parts.

    Parameters
    ----------
    tables : Expressions
    cost : callable
        Nanoseconds of a table or a term.
    most_cost : float
        Nanoseconds of a table from which it is of no use.
    """

    def __init__(self, tables: Expressions, cost: Callable[[Node | Term], float], most_cost: float) -> None:
        self.tables, self.cost, self.most_cost = tables, cost, most_cost

    def of(self, part: Part) -> Iterator[Elimination]:
        """The eliminations of a part, in no order."""
        near = part.neighbours()
        for z in range(part.size):
            if z != part.root and (len(near[z]) == 1 or (len(near[z]) == 2 and pair(*near[z]) in part.edges)):
                yield self._vertex(part, z, near[z])
        for w, z in part.edges:
            if len(near[w]) == len(near[z]) == 2 and part.root not in (w, z):
                x, y = sum(near[w]) - z, sum(near[z]) - w
                if x != y and pair(x, y) in part.edges:
                    yield self._path_of_two(part, x, w, z, y)
            elif len(near[w]) == len(near[z]) == 3 and part.root not in (w, z):
                ends = {*near[w], *near[z]} - {w, z}
                if len(ends) == 2 and pair(*ends) in part.edges:
                    x, y = sorted(ends)
                    yield self._clique(part, x, y, w, z)
        yield from self._cycle(part, near)
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
        """Eliminate a vertex with one neighbour, or with two that are adjacent."""
        tables = self.tables
        removed = sorted(pair(z, u) for u in part.differing(z))
        if len(near) == 1:
            link = self._link(part, near[0], z)
            return Elimination(
                self._rank(RowSums(link), removed, []),
                lambda part: weighted(part, near[0], tables.row_sums(link), {z}),
                removed,
                [],
            )
        return self._between(part, near, [z], removed, [])

    def _path_of_two(self, part, x, w, z, y):
        """Eliminate a path of two vertices between adjacent ones; the table keeps its vertices different from these."""
        inside = {pair(w, y), pair(x, z)}
        removed = sorted({pair(a, b) for a in (w, z) for b in part.differing(a)} - inside)
        return self._between(part, (x, y), [w, z], removed, sorted(inside - part.distinct_pairs))

    def _between(self, part, ends, path, removed, added):
        """Eliminate a path between adjacent vertices, the ends."""
        x, y = ends
        tables = self.tables
        links = tuple(self._link(part, p, q, q != y) for p, q in pairwise([x, *path, y]))
        least = min(links, tables.transposed(links))
        return Elimination(
            self._rank(PathTable(least), removed, added),
            lambda part: joined(part, x, y, tables.path_table(links), set(path), tables),
            removed,
            added,
        )

    def _clique(self, part, x, y, w, z):
        """Eliminate two vertices that are adjacent to each other and to two adjacent ones."""
        tables, links = self.tables, self._diamond(part, x, w, z, y)
        removed = sorted({pair(a, b) for a in (w, z) for b in part.differing(a)})
        return Elimination(
            self._rank(CliqueTable(links), removed, []),
            lambda part: joined(part, x, y, tables.clique_table(links), {w, z}, tables),
            removed,
            [],
        )

    def _apex_trees(self, part, near):
        """Eliminate trees that two edges or more join to one vertex, the apex, and none to the rest of the part."""
        for x in range(part.size):
            for inside in trees_without(x, part, near):
                if part.root in inside:
                    continue
                node = self.tables.apex_tree(self._branch(part, near, x, inside, None, v) for v in sorted(inside))
                cost = self.cost(node)
                if cost > self.most_cost:
                    continue
                removed = sorted({pair(v, u) for v in inside for u in part.differing(v)})
                quotients, *rest = self._rank(node, removed, [])
                yield Elimination(
                    (quotients if cost < CHEAP_APEX_NS else math.inf, *rest),
                    lambda part, x=x, node=node, inside=inside: weighted(part, x, self.tables.apex_table(node), inside),
                    removed,
                    [],
                )

    def _branch(self, part, near, apex, inside, parent, v):
        """The subtree at v, as seen from its parent."""
        link = Link((), part.weights[v]) if parent is None else self._link(part, parent, v)
        chord = (part.factors(self.tables, apex, v),) if apex in near[v] else ()
        below = (self._branch(part, near, apex, inside, v, w) for w in near[v] if w in inside and w != parent)
        return Branch(link, chord, tuple(sorted(below)))

    def _cycle(self, part, near):
        """Count a cycle as it is: all its vertices differ."""
        if part.root >= 0 or part.size not in CYCLE_LINKS or any(len(adjacent) != 2 for adjacent in near):
            return
        around = [0, near[0][0]]
        while len(around) < part.size:
            around.append(sum(near[around[-1]]) - around[-2])
        links = tuple(self._link(part, p, q) for p, q in zip(around, around[1:] + around[:1], strict=True))
        if part.size == CYCLE_LINKS[0] and not all(link.plain for link in links):
            return
        cycle, added = self.tables.cycle(links), part.free_pairs()
        yield Elimination(self._rank(cycle, [], added), lambda _: cycle, [], added)

    def _pairs(self, part, near):
        """Count two vertices that are not adjacent, all others being adjacent to both and at most in twos."""
        if part.root >= 0 or part.size < 4:
            return
        for x, y in combinations([v for v in range(part.size) if len(near[v]) == part.size - 2], 2):
            if pair(x, y) in part.edges:
                continue
            inside = [[v, *(w for w in near[v] if w not in (x, y))] for v in near[x]]
            if any(len(middles) > 2 for middles in inside):
                continue
            between = {tuple(sorted(middles)) for middles in inside}
            paths = tuple(sorted(self._path(part, x, middles, y) for middles in between))
            if len(paths) < 2 or len(set(paths)) > MAX_PATH_KINDS:
                continue
            removed = sorted(part.distinct_pairs - {pair(x, y)})
            term = Pairs((part.weights[x], part.weights[y]), paths, pair(x, y) in part.distinct_pairs)
            yield Elimination(self._rank(term, removed, []), lambda _, term=term: term, removed, [], term)

    def _path(self, part, x, middles, y):
        """The links from x to y by way of one middle vertex, or of two that are adjacent."""
        if len(middles) == 2:
            return self.tables.diamond(self._diamond(part, x, *middles, y))
        return self._link(part, x, *middles), self._link(part, *middles, y, False)

    def _diamond(self, part, x, w, z, y):
        """The links between x and y by way of w and z and of their edge."""
        steps = ((x, w, True), (x, z, True), (w, z, False), (w, y, False), (z, y, False))
        return tuple(self._link(part, *step) for step in steps)
