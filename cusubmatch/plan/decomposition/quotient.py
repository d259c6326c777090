"""Small weighted patterns, which a count is broken up into, and their quotients.

A `Part` is a pattern whose edges and vertices carry tables; it says which vertices must differ. This condition can be
removed for two vertices: the count is then too large by that of the quotient in which the two are one vertex (deletion
and contraction; the homomorphism basis of Curticapean, Dell & Marx, STOC 2017). A vertex of a quotient keeps the
labels, edges and tables of all its members. A quotient of adjacent vertices, or of labels that exclude each other, is
zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cusubmatch.pattern.connectivity import reachable_from
from cusubmatch.plan.constraints import are_disjoint
from cusubmatch.plan.decomposition.expression import Expressions, Factor

__all__ = ["Part", "canonical", "joined", "merged", "pair", "trees_without", "weighted"]


class Part(NamedTuple):
    """A connected weighted pattern of vertices 0, 1, ...

    Attributes
    ----------
    root : int
        The vertex that is never eliminated, or -1.
    labels : tuple of frozenset or None
        Label codes that a vertex allows.
    weights : tuple of tuple of int
        Tables over vertices that each vertex is weighted with.
    edges : dict
        Factors of each pair (a, b), a < b, that must be adjacent.
    distinct_pairs : frozenset of (a, b)
        Pairs, not adjacent, that must differ.
    members : tuple of tuple of int
        The vertices of the first pattern that each vertex stands for.
    """

    root: int
    labels: tuple[frozenset | None, ...]
    weights: tuple[tuple[int, ...], ...]
    edges: dict[tuple[int, int], tuple[Factor, ...]]
    distinct_pairs: frozenset[tuple[int, int]]
    members: tuple[tuple[int, ...], ...] = ()

    @property
    def size(self) -> int:
        return len(self.labels)

    def neighbours(self) -> list[list[int]]:
        """The neighbours of each vertex."""
        neighbours: list[list[int]] = [[] for _ in self.labels]
        for a, b in self.edges:
            neighbours[a].append(b)
            neighbours[b].append(a)
        return neighbours

    def free_pairs(self) -> list[tuple[int, int]]:
        """The pairs that are neither adjacent nor must differ."""
        every = {pair(a, b) for a in range(self.size) for b in range(a)}
        return sorted(every - set(self.edges) - self.distinct_pairs)

    def differing(self, vertex: int) -> list[int]:
        """The vertices that one must differ from and is not adjacent to."""
        return [a + b - vertex for a, b in self.distinct_pairs if vertex in (a, b)]

    def factors(self, tables: Expressions, a: int, b: int) -> tuple[Factor, ...]:
        """The factors of an edge as seen from a."""
        return self.edges[a, b] if a < b else tables.flipped(self.edges[b, a])


def merged(part: Part, u: int, v: int, tables: Expressions) -> Part | None:
    """The quotient in which u and v are one vertex; None where nothing can be both."""
    if pair(u, v) in part.edges:
        return None
    labels = _common(part.labels[u], part.labels[v])
    if labels is not None and not labels:
        return None
    keep, drop = pair(u, v)
    new_index = [keep if w == drop else w - (w > drop) for w in range(part.size)]
    new_labels, new_weights, members = list(part.labels), list(part.weights), list(part.members)
    members[keep] = tuple(sorted(part.members[u] + part.members[v]))
    new_labels[keep], new_weights[keep] = labels, tuple(sorted(part.weights[u] + part.weights[v]))
    del new_labels[drop], new_weights[drop], members[drop]
    edges: dict[tuple[int, int], tuple[Factor, ...]] = {}
    for (a, b), factors in part.edges.items():
        key, seen = _renumbered(new_index, a, b, factors, tables)
        edges[key] = tables.kept(edges[key] + seen) if key in edges else seen
    distinct_pairs = frozenset(
        pair(new_index[a], new_index[b]) for a, b in part.distinct_pairs if new_index[a] != new_index[b]
    )
    root = part.root if part.root < 0 else new_index[part.root]
    needed = _needed(distinct_pairs, edges, new_labels)
    return Part(root, tuple(new_labels), tuple(new_weights), edges, needed, tuple(members))


def weighted(part, vertex, table, dropped):
    """The part without some vertices, one of the others weighted with another table."""
    weights = list(part.weights)
    weights[vertex] = tuple(sorted((*weights[vertex], table)))
    return _without(part._replace(weights=tuple(weights)), dropped)


def joined(part, x, y, factor, dropped, tables):
    """The part without some vertices, an edge of the others with another factor."""
    if x > y:
        x, y, factor = y, x, tables.flipped((factor,))[0]
    edges = dict(part.edges)
    edges[x, y] = tables.kept((*edges[x, y], factor))
    return _without(part._replace(edges=edges), dropped)


def _without(part, dropped):
    rest = [v for v in range(part.size) if v not in dropped]
    index = {v: i for i, v in enumerate(rest)}
    return Part(
        index.get(part.root, -1),
        tuple(part.labels[v] for v in rest),
        tuple(part.weights[v] for v in rest),
        {(index[a], index[b]): factors for (a, b), factors in part.edges.items() if a in index and b in index},
        frozenset((index[a], index[b]) for a, b in part.distinct_pairs if a in index and b in index),
        tuple(part.members[v] for v in rest),
    )


def trees_without(x: int, part: Part, near: list[list[int]]) -> Iterator[set[int]]:
    """The components of a part without x that are trees, of two vertices or more and adjacent to x in two or more."""
    rest = set(range(part.size)) - {x}
    while rest:
        inside = reachable_from(min(rest), near, rest)
        rest -= inside
        arcs = sum(w in inside for v in inside for w in near[v])
        chords = sum(v in inside for v in near[x])
        if chords > 1 and arcs == 2 * (len(inside) - 1):
            yield inside


def canonical(part: Part, tables: Expressions) -> tuple[tuple, Part]:
    """A name that isomorphic parts mostly share, and the part with its vertices in that order.

    Vertices are distinguished by colour refinement; ties are broken by their numbers. If two tied vertices are not
    interchangeable, isomorphic parts may get two names, which costs a second computation and no more.
    """
    size = part.size
    distinct_pairs = _needed(part.distinct_pairs, part.edges, part.labels)
    between: list[list[tuple]] = [[] for _ in range(size)]
    for (a, b), factors in part.edges.items():
        between[a].append((b, (1, factors)))
        between[b].append((a, (1, tables.flipped(factors))))
    for a, b in distinct_pairs:
        between[a].append((b, (0, ())))
        between[b].append((a, (0, ())))
    colours = _ranks(
        [
            (v != part.root, len(adjacent), () if labels is None else (1, *sorted(labels)), weights)
            for v, (adjacent, labels, weights) in enumerate(zip(between, part.labels, part.weights, strict=True))
        ]
    )
    while True:
        count = -1
        while count != (count := len(set(colours))):
            colours = _ranks([(colours[v], sorted((code, colours[u]) for u, code in between[v])) for v in range(size)])
        if count == size:
            break
        tied = next(v for v in range(size) if colours.count(colours[v]) > 1)
        cell = [v for v in range(tied, size) if colours[v] == colours[tied]]
        first = cell if _alike(cell, between) else [tied]
        colours = [(colour + 1) * size - (first.index(v) + 1 if v in first else 0) for v, colour in enumerate(colours)]
    order = sorted(range(size), key=colours.__getitem__)
    edges = dict(sorted(_renumbered(colours, a, b, factors, tables) for (a, b), factors in part.edges.items()))
    whole = Part(
        part.root if part.root < 0 else colours[part.root],
        tuple(part.labels[v] for v in order),
        tuple(part.weights[v] for v in order),
        edges,
        frozenset(pair(colours[a], colours[b]) for a, b in distinct_pairs),
        tuple(part.members[v] for v in order),
    )
    return (*whole[:3], tuple(edges.items()), whole.distinct_pairs), whole


def _alike(cell, between):
    """Whether vertices of one colour are joined to the same others in the same way, and to one another in one way."""
    members = set(cell)
    outside = [sorted(edge for edge in between[v] if edge[0] not in members) for v in cell]
    inside = [sorted(code for w, code in between[v] if w in members) for v in cell]
    equal = all(edges == outside[0] for edges in outside) and all(codes == inside[0] for codes in inside)
    return equal and len(set(inside[0])) <= 1 and len(inside[0]) in (0, len(cell) - 1)


def pair(a: int, b: int) -> tuple[int, int]:
    """Two vertices, the smaller one first."""
    return (a, b) if a < b else (b, a)


def _renumbered(index, a, b, factors, tables):
    a, b = index[a], index[b]
    return ((a, b), factors) if a < b else ((b, a), tables.flipped(factors))


def _needed(distinct_pairs, edges, labels):
    """The pairs that neither an edge nor their labels make different anyway."""
    return frozenset(
        (a, b) for a, b in distinct_pairs if (a, b) not in edges and not are_disjoint(labels[a], labels[b])
    )


def _common(labels, other_labels):
    """The labels that both allow; None is any."""
    if labels is None or other_labels is None:
        return other_labels if labels is None else labels
    return labels & other_labels


def _ranks(keys):
    rank_of = {key: rank for rank, key in enumerate(sorted(set(map(_frozen, keys))))}
    return [rank_of[_frozen(key)] for key in keys]


def _frozen(key):
    return tuple(tuple(item) if isinstance(item, list) else item for item in key)
