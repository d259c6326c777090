"""Tables of numbers over the vertices and over the arcs of the data graph, as expressions that know no graph.

A table has a number for every vertex, or for every arc (x, y) of the support graph: the data graph without directions
and labels. The number says how often a part of the pattern occurs that is attached to the vertex or to the arc. In the
rest of the pattern the table is a weight (variable elimination; DecoMine, ASPLOS 2023, calls the parts subpatterns of a
cut). Equal expressions are one node, so that what several terms of a count share is computed once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

__all__ = [
    "ApexTree",
    "Branch",
    "CliqueTable",
    "CycleTerm",
    "EnumerateTerm",
    "Expressions",
    "Factor",
    "Indicator",
    "Link",
    "Node",
    "Pairs",
    "PathTable",
    "Product",
    "RowSums",
    "Term",
    "parts_of",
    "reachable",
]

DIAMOND_LINKS = 5  # between x and y over two adjacent vertices: a clique of four without the edge x--y
Factor = tuple[int, bool]  # a table over arcs, and whether it is read at the reverse arc


class Link(NamedTuple):
    """A step from p to a neighbour q: the product of tables over arcs at (p, q) and over vertices at q."""

    factors: tuple[Factor, ...] = ()
    weights: tuple[int, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether every neighbour counts one."""
        return not self.factors and not self.weights


class Indicator(NamedTuple):
    """Over arcs: 1 where the pair fulfils a pair of the pattern, 0 elsewhere.

    `key` has what is asked from either end: the relations, and the pattern vertex whose filter is to be passed.
    """

    key: tuple[tuple[Hashable, int | None], ...]

    @property
    def filtered(self) -> bool:
        """Whether an end must pass the filter of a pattern vertex."""
        return any(tested is not None for _, tested in self.key)


class RowSums(NamedTuple):
    """Over vertices: at x, the sum of the link over the neighbours of x."""

    link: Link


class PathTable(NamedTuple):
    """Over arcs (x, y): the sum over paths from x to y along two or three links whose vertices all differ."""

    links: tuple[Link, ...]


class CliqueTable(NamedTuple):
    """Over arcs (x, y): the sum over pairs w, z that are adjacent to each other, to x and to y.

    The links go from x to w, x to z, w to z, w to y and z to y.
    """

    links: tuple[Link, ...]


class Branch(NamedTuple):
    """A vertex v of a rooted tree, with the subtrees below it.

    Attributes
    ----------
    link : Link
        The step from the parent to v, with the tables at v. The root of the tree has no parent, and no factors here.
    chord : tuple
        Empty, or the factors of the edge from the apex to v as its only element.
    branches : tuple of Branch
        The children of v, sorted.
    """

    link: Link
    chord: tuple[tuple[Factor, ...], ...] = ()
    branches: tuple[Branch, ...] = ()

    def below(self) -> list[Branch]:
        """The vertex itself and all below it, a child after its parent."""
        return [self, *(vertex for branch in self.branches for vertex in branch.below())]

    @property
    def rootless(self) -> Branch:
        """The same subtree, whatever the step from the parent is."""
        return self._replace(link=Link(weights=self.link.weights))


class ApexTree(NamedTuple):
    """Over vertices: at x, the sum over the homomorphisms of a tree some vertices of which are adjacent to x, the apex.

    A cycle is a path whose ends are adjacent to the apex. Vertices of the tree may coincide, also with the apex.
    """

    tree: Branch

    @property
    def products(self) -> int:
        """How many products of a sparse and a dense matrix it takes: equal subtrees are computed once."""
        return len({(branch.link.factors, branch.rootless) for branch in self.tree.below()[1:]})


Node = Indicator | RowSums | PathTable | CliqueTable | ApexTree


class Product(NamedTuple):
    """A term of a count: the product of tables over vertices, at each vertex or summed."""

    weights: tuple[int, ...]


class CycleTerm(NamedTuple):
    """A term of a count: the sum over cycles of four or five links, from every start in both directions."""

    links: tuple[Link, ...]


class Pairs(NamedTuple):
    """A term of a count: the sum over pairs x, y (equal ones unless `distinct_pairs`) of the product of their paths.

    `ends` are tables over vertices, at x and at y. Each of `paths` is two links, from x to a middle vertex and on to y,
    or a diamond: five links as those of `CliqueTable`, over two middle vertices that are adjacent to each other.
    """

    ends: tuple[tuple[int, ...], tuple[int, ...]]
    paths: tuple[tuple[Link, ...], ...]
    distinct_pairs: bool

    @property
    def has_diamonds(self) -> bool:
        """Whether any of the paths goes over two adjacent vertices."""
        return any(len(path) == DIAMOND_LINKS for path in self.paths)


class EnumerateTerm(NamedTuple):
    """A term of a count: the embeddings of a quotient of the pattern, by walking; `members` are its vertices."""

    members: tuple[tuple[int, ...], ...]


Term = Product | CycleTerm | Pairs | EnumerateTerm


class Expressions:
    """The nodes of a plan, each once; `symmetric` says which tables over arcs are the same transposed."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.symmetric: list[bool] = []
        self._known: dict[Node, int] = {}

    def _add(self, node, symmetric):
        if node not in self._known:
            self._known[node] = len(self.nodes)
            self.nodes.append(node)
            self.symmetric.append(symmetric)
        return self._known[node]

    def find(self, node: Node) -> int | None:
        """The number of a node that is there already."""
        return self._known.get(node)

    def indicator(self, key: tuple) -> Factor:
        """The indicator of what is asked from one side and from the other, as a factor."""
        here, there = key
        least = min(key, (there, here), key=repr)
        return self._add(Indicator(least), here == there), least != key

    def row_sums(self, link: Link) -> int:
        """The sums of a link."""
        return self._add(RowSums(link), False)

    def path_table(self, links: tuple[Link, ...]) -> Factor:
        """The sums over paths, as a factor: one node for the paths and for their reverse."""
        transposed = self.transposed(links)
        least = min(links, transposed)
        return self._add(PathTable(least), links == transposed), least != links

    def clique_table(self, links: tuple[Link, ...]) -> Factor:
        """The sums over pairs that complete a clique of four, as a factor: one node for both orders of both pairs."""
        forms = dict.fromkeys((links, self._exchanged(links)), False)
        for (xw, xz, wz, wy, zy), _ in list(forms.items()):
            back = self._back(wy, xw.weights), self._back(zy, xz.weights), wz, self._back(xw), self._back(xz)
            forms.setdefault(back, True)
        least = min(forms)
        symmetric = not any(forms.values())
        return self._add(CliqueTable(least), symmetric), forms[least]

    def diamond(self, links: tuple[Link, ...]) -> tuple[Link, ...]:
        """The links from x to y over adjacent w and z: one form for both orders of these."""
        return min(links, self._exchanged(links))

    def _exchanged(self, links):
        """The links by way of w and z with these exchanged."""
        xw, xz, wz, wy, zy = links
        return xz, xw, self._back(wz), zy, wy

    def _back(self, link, weights=()):
        """A link from its other end."""
        return Link(self.flipped(link.factors), weights)

    def apex_tree(self, trees: Iterable[Branch]) -> ApexTree:
        """One form for a tree that may be given with any of its vertices as the root: the one that is least work."""
        return min(map(ApexTree, trees), key=lambda node: (node.products, node))

    def apex_table(self, node: ApexTree) -> int:
        """The sums over a tree at each image of the apex."""
        return self._add(node, False)

    def cycle(self, links: tuple[Link, ...]) -> CycleTerm:
        """A cycle of links, one form for all starts and both directions."""
        back = self._around(links)
        return CycleTerm(min(cycle[i:] + cycle[:i] for cycle in (links, back) for i in range(len(links))))

    def flipped(self, factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
        """The factors of a pair, seen from its other end."""
        return tuple(
            sorted((node, transposed if self.symmetric[node] else not transposed) for node, transposed in factors)
        )

    def transposed(self, links: tuple[Link, ...]) -> tuple[Link, ...]:
        """The same path from its other end; neither end has weights."""
        weights = [*(link.weights for link in links[-2::-1]), ()]
        return tuple(
            Link(self.flipped(link.factors), some) for link, some in zip(reversed(links), weights, strict=True)
        )

    def _around(self, links):
        """A cycle in the other direction."""
        weights = [link.weights for link in (*links[-2::-1], links[-1])]
        return tuple(
            Link(self.flipped(link.factors), some) for link, some in zip(reversed(links), weights, strict=True)
        )

    def kept(self, factors) -> tuple[Factor, ...]:
        """A product of factors in order; an indicator counts once."""
        plain = {factor for factor in factors if isinstance(self.nodes[factor[0]], Indicator)}
        return tuple(sorted([*plain, *(factor for factor in factors if factor not in plain)]))


def reachable(nodes, terms) -> list[int]:
    """The numbers of the nodes that terms are made of, each after those that it is made of."""
    reached: set[int] = set()
    frontier = [node for term in terms for node in parts_of(term)]
    while frontier:
        node = frontier.pop()
        if node not in reached:
            reached.add(node)
            frontier += parts_of(nodes[node])
    return sorted(reached)


def parts_of(expression: Node | Term) -> list[int]:
    """The tables that a table or a term is made of, directly."""
    links: tuple[Link, ...]
    ends: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    match expression:
        case Product(weights):
            return list(weights)
        case RowSums(link):
            links = (link,)
        case PathTable(links) | CycleTerm(links) | CliqueTable(links):
            pass
        case ApexTree(tree):
            links = tuple(
                Link((*branch.link.factors, *sum(branch.chord, ())), branch.link.weights) for branch in tree.below()
            )
        case Pairs(ends, paths, _):
            links = tuple(link for path in paths for link in path)
        case _:
            return []
    return [
        *(node for weights in ends for node in weights),
        *(node for link in links for node, _ in link.factors),
        *(node for link in links for node in link.weights),
    ]
