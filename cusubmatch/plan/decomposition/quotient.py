"""Small weighted patterns, which a count is broken up into, and their quotients.

A `Part` is a pattern whose edges and vertices carry tables (what was folded into them) and which says which vertices
must differ. That two vertices differ is a condition like any other, and it can be taken away: what remains counts too
much by the quotient in which the two are one vertex (deletion and contraction; the homomorphism basis of Curticapean,
Dell & Marx, STOC 2017). A vertex of a quotient keeps the labels, edges and tables of all its members; a quotient of
adjacent vertices, or of labels that exclude each other, is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cusubmatch.plan.decomposition.expression import Expressions, Factor

__all__ = ["Part", "canonical", "joined", "merged", "pair", "trees_without", "weighted"]


class Part(NamedTuple):
    """A connected weighted pattern of vertices 0, 1, ...

    Attributes
    ----------
    root : int
        The vertex that is never folded away, or -1.
    labels : tuple of frozenset or None
        Label codes that a vertex allows.
    weights : tuple of tuple of int
        Tables over vertices that each vertex is weighted with.
    edges : dict
        Factors of each pair (a, b), a < b, that must be adjacent.
    apart : frozenset of (a, b)
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
        found: list[list[int]] = [[] for _ in self.labels]
        for a, b in self.edges:
            found[a].append(b)
            found[b].append(a)
        return found

    def alternatives(self, vertex: int) -> list[int]:
        """The vertices that one must differ from though no edge says so."""
        return [a + b - vertex for a, b in self.distinct_pairs if vertex in (a, b)]

    def factors(self, tables: Expressions, a: int, b: int) -> tuple[Factor, ...]:
        """The factors of an edge as seen from a."""
        return self.edges[a, b] if a < b else tables.flipped(self.edges[b, a])


def merged(part: Part, u: int, v: int, tables: Expressions) -> Part | None:
    """The quotient in which u and v are one vertex; None where nothing can be both."""
    if pair(u, v) in part.edges:
        return None
    labels = _both(part.labels[u], part.labels[v])
    if labels is not None and not labels:
        return None
    keep, drop = pair(u, v)
    place = [keep if w == drop else w - (w > drop) for w in range(part.size)]
    new_labels, new_weights, members = list(part.labels), list(part.weights), list(part.members)
    members[keep] = tuple(sorted(part.members[u] + part.members[v]))
    new_labels[keep], new_weights[keep] = labels, tuple(sorted(part.weights[u] + part.weights[v]))
    del new_labels[drop], new_weights[drop], members[drop]
    edges: dict[tuple[int, int], tuple[Factor, ...]] = {}
    for (a, b), factors in part.edges.items():
        key, seen = _placed(place, a, b, factors, tables)
        edges[key] = tables.kept(edges[key] + seen) if key in edges else seen
    distinct_pairs = frozenset(pair(place[a], place[b]) for a, b in part.distinct_pairs if place[a] != place[b])
    root = part.root if part.root < 0 else place[part.root]
    left = _needed(distinct_pairs, edges, new_labels)
    return Part(root, tuple(new_labels), tuple(new_weights), edges, left, tuple(members))


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
    left = [v for v in range(part.size) if v not in dropped]
    place = {v: i for i, v in enumerate(left)}
    return Part(
        place.get(part.root, -1),
        tuple(part.labels[v] for v in left),
        tuple(part.weights[v] for v in left),
        {(place[a], place[b]): some for (a, b), some in part.edges.items() if a in place and b in place},
        frozenset((place[a], place[b]) for a, b in part.distinct_pairs if a in place and b in place),
        tuple(part.members[v] for v in left),
    )


def trees_without(x: int, part: Part, near: list[list[int]]) -> Iterator[set[int]]:
    """The components of a part without x that are trees, of two vertices or more and adjacent to x in two or more."""
    left = set(range(part.size)) - {x}
    while left:
        open_vertices = [left.pop()]
        inside = set(open_vertices)
        while open_vertices:
            reached = [w for w in near[open_vertices.pop()] if w in left]
            left.difference_update(reached)
            inside.update(reached)
            open_vertices += reached
        arcs = sum(w in inside for v in inside for w in near[v])
        chords = sum(v in inside for v in near[x])
        if chords > 1 and arcs == 2 * (len(inside) - 1):
            yield inside


def canonical(part: Part, tables: Expressions) -> tuple[tuple, Part]:
    """A name that isomorphic parts mostly share, and the part with its vertices in that order.

    Vertices are told apart by refinement, and ties are broken at will; where two tied vertices are not exchangeable the
    name depends on the will, which costs a second computation and no more.
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
            (v != part.root, len(some), () if labels is None else (1, *sorted(labels)), weights)
            for v, (some, labels, weights) in enumerate(zip(between, part.labels, part.weights, strict=True))
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
    edges = dict(sorted(_placed(colours, a, b, factors, tables) for (a, b), factors in part.edges.items()))
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
    outside = [sorted(one for one in between[v] if one[0] not in members) for v in cell]
    inside = [sorted(code for w, code in between[v] if w in members) for v in cell]
    every = all(one == outside[0] for one in outside) and all(one == inside[0] for one in inside)
    return every and len(set(inside[0])) <= 1 and len(inside[0]) in (0, len(cell) - 1)


def pair(a: int, b: int) -> tuple[int, int]:
    """Two vertices, the smaller one first."""
    return (a, b) if a < b else (b, a)


def _placed(place, a, b, factors, tables):
    a, b = place[a], place[b]
    return ((a, b), factors) if a < b else ((b, a), tables.flipped(factors))


def _needed(distinct_pairs, edges, labels):
    """The pairs that neither an edge nor their labels keep apart."""

    def exclude(a, b):
        both = _both(labels[a], labels[b])
        return both is not None and not both

    return frozenset(one for one in distinct_pairs if one not in edges and not exclude(*one))


def _both(some, others):
    return others if some is None else some if others is None else some & others


def _ranks(keys):
    place = {key: rank for rank, key in enumerate(sorted(set(map(_frozen, keys))))}
    return [place[_frozen(key)] for key in keys]


def _frozen(key):
    return tuple(tuple(one) if isinstance(one, list) else one for one in key)
