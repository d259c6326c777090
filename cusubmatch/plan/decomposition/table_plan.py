"""The plan of a count by decomposition: its terms, and what they cost.

Kernels go over all triangles, or over all wedges below a vertex, whatever is matched: their cost follows from the
degrees alone and is known, not guessed. Times are in nanoseconds, by rates that each engine has measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.decomposition.decompose import Decomposition, decompose
from cusubmatch.plan.decomposition.expression import (
    ApexTree,
    CliqueTable,
    CycleTerm,
    EnumerateTerm,
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
from cusubmatch.plan.estimate import Cardinalities

__all__ = ["TableCosts", "TablePlan", "TableSizes", "plan_tables"]

PART = 4e5  # of walking make it worth to look at one more part of the pattern,
LEAST_PARTS, MOST_PARTS = 40, 1500  # within these bounds
BLOCK_COLUMNS = 64  # of dense matrices, about
DENSER = 1.5  # paths of two shrink with this power of the share of the entries


class TableCosts(NamedTuple):
    """Nanoseconds that an engine takes.

    Attributes
    ----------
    worth : float
        Of walking, from which a decomposition is looked for.
    start, call : float
        To start the whole, and for each table or term.
    prepared : float
        To find out whether an entry serves the pattern, and
    indicator : float
        what that takes for each pair of the pattern at least.
    vertex, entry, gathered : float
        To read or write a number of a vertex, of an entry, or of the other end of an entry.
    triangle, wedge, square, loop, clique, pair : float
        To look for a triangle; for each of the two ways over a wedge below its top; for one way, where cycles of four
        are counted; a step of the paths of two below a top, or along an edge between their ends; to look for a clique
        of four; a path of two.
    product, cell : float
        To add a multiple of a number to another one in the product of a sparse and a dense matrix; to multiply two.
    listed, bridge : float
        A step of listing the common neighbours of all edges; a pair of common neighbours of an edge.
    weighted_triangle, weighted_wedge, weighted_loop, weighted_clique, weighted_bridge : float
        The same with weights.
    """

    worth: float
    start: float
    call: float
    prepared: float
    indicator: float
    vertex: float
    entry: float
    gathered: float
    triangle: float
    weighted_triangle: float
    wedge: float
    weighted_wedge: float
    square: float
    loop: float
    weighted_loop: float
    clique: float
    weighted_clique: float
    pair: float
    product: float
    cell: float
    listed: float
    bridge: float
    weighted_bridge: float


class TableSizes(NamedTuple):
    """What the kernels go over on the whole graph."""

    vertices: int
    entries: int
    triangles: float  # pairs of neighbours that are looked at for triangles
    wedges: float  # paths of two below one of their ends
    paths: float  # of two
    cliques: float  # steps for cliques of four, about
    loops: Callable[[], float]  # steps for cycles of five: a sample, taken when it is wanted
    bridges: Callable[[], float]  # ordered pairs of common neighbours of edges: likewise


@dataclass(frozen=True)
class TablePlan:
    """How a count is made of tables.

    Attributes
    ----------
    decompositions : tuple of Decomposition
        One, or one for each of the pattern's vertices that the count is wanted by.
    costs : dict
        Nanoseconds of each table and term that is needed.
    cost : float
        Of all.
    walking : float
        What walking was estimated to cost.
    """

    decompositions: tuple[Decomposition, ...]
    costs: dict[Node | Term, float]
    cost: float
    walking: float

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.decompositions[0].nodes

    @property
    def first(self) -> bool:
        """Whether the tables are expected to cost less than walking."""
        return self.cost < self.walking

    def used(self) -> list[int]:
        """The tables that are needed, each after those that it is made of."""
        return reachable(self.nodes, self.terms())

    def terms(self) -> list[Term]:
        """The terms, each once."""
        return list(dict.fromkeys(term for one in self.decompositions for term in one.terms))


def plan_tables(
    constraints: Constraints,
    filters: tuple[int | None, ...],
    shape: Cardinalities,
    sizes: TableSizes,
    walking: float,
    walk_cost: Callable[[EnumerateTerm], float],
    rates: TableCosts,
    roots: Iterable[int] = (-1,),
) -> TablePlan | None:
    """The count as a sum of products of tables; None where there is no such sum, or it is not worth looking for.

    Parameters
    ----------
    constraints, filters, shape
        As `make_plans` takes them.
    sizes : TableSizes
    walking : float
        Nanoseconds of the best plan by walking.
    walk_cost : callable
        Nanoseconds of walking a quotient of the pattern.
    rates : TableCosts
        Of the engine.
    roots : iterable of int
        See `decompose`.
    """
    if walking < rates.start or any(constraints.forbidden.values()):
        return None
    cost = _Costs(shape, sizes, walk_cost, rates)
    if cost.preparing > walking:
        return None
    most = int(max(LEAST_PARTS, min(walking / PART, MOST_PARTS)))
    found = decompose(constraints, filters, cost, roots, most, walking)
    if found is None and any(tested is not None for tested in filters):  # quotients are walked without these filters
        found = decompose(constraints, (None,) * len(filters), cost, roots, most, walking)
    if found is None:
        return None
    terms = list(dict.fromkeys(term for one in found for term in one.terms))
    used = [found[0].nodes[node] for node in reachable(found[0].nodes, terms)]
    costs = {one: cost(one) for one in [*used, *terms]}
    whole = cost.preparing + sum(costs.values())
    return TablePlan(tuple(found), costs, whole, walking)


class _Costs:
    """Nanoseconds of tables and terms."""

    def __init__(
        self, shape: Cardinalities, sizes: TableSizes, walk_cost: Callable[[EnumerateTerm], float], rates: TableCosts
    ):
        self.walk_cost, self.rates = walk_cost, rates
        needed = 2 * sum(pairs for (a, b), pairs in shape.pairs.items() if a < b)
        share = min(1.0, needed / max(sizes.entries, 1))
        self.preparing = rates.start + (rates.prepared * sizes.entries * len(shape.pairs) / 2 if share < 1 else 0.0)
        self.vertices, self.entries = sizes.vertices, share * sizes.entries
        self.fewer = share**DENSER
        self.triangles, self.wedges, self.paths, self.cliques = (self.fewer * some for some in sizes[2:6])
        self.loops, self.bridges = sizes.loops, sizes.bridges

    def __call__(self, expression: Node | Term) -> float:
        rates = self.rates
        match expression:
            case Indicator():
                return rates.indicator + rates.entry * self.entries
            case RowSums(link):
                least = rates.vertex * self.vertices + (0.0 if link.plain else rates.entry * self.entries)
                return rates.call + least + self._link(link)
            case PathTable(links):
                plain = all(link.plain for link in links)
                if len(links) == 2:
                    work = self.triangles * rates.triangle if plain else self.triangles * rates.weighted_triangle
                else:
                    alike = links[0] == links[2] and not links[0].weights
                    work = self.wedges * (rates.wedge * 2 if plain else rates.weighted_wedge * (4 if alike else 8))
                return rates.call + work + self._links(links) + 2 * rates.gathered * self.entries
            case CliqueTable(links):
                plain = all(link.plain for link in links)
                work = self.cliques * (rates.clique if plain else rates.weighted_clique)
                return rates.call + work + self.triangles * rates.triangle + self._links(links)
            case ApexTree(tree):
                calls = 1 + self.vertices // BLOCK_COLUMNS
                cells = rates.cell * self.vertices * (2 * expression.products + 1)
                work = self.vertices * (rates.product * expression.products * self.entries + cells)
                steps = {Link(branch.link.factors) for branch in tree.below()}
                return rates.call * calls * (1 + expression.products) + work + self._links(steps)
            case Product(weights):
                return rates.call / 2 + rates.vertex * self.vertices * max(len(weights), 1)
            case CycleTerm((_, _, _, _)):
                return rates.call + self.wedges * rates.square
            case CycleTerm(links):
                tops = len({links[top:] + links[:top] for top in range(len(links))})
                plain = all(link.plain for link in links)
                loops = self.loops() * self.fewer
                work = loops * rates.loop + self.triangles * rates.triangle
                if not plain:
                    work = tops * (2 * loops * rates.weighted_loop + self.triangles * rates.weighted_triangle * 2)
                return rates.call + work + self._links(links)
            case Pairs(_, paths, distinct_pairs):
                kinds = set(paths)
                half = 2 if distinct_pairs and all(link.plain for path in kinds for link in path) else 1
                lists = self.triangles * rates.listed if expression.has_diamonds else 0.0
                return rates.call + lists + sum(self._path(path) / half + self._links(path) for path in kinds)
            case EnumerateTerm():
                return rates.call + self.walk_cost(expression)
        raise TypeError(expression)

    def _path(self, links):
        """Finding the paths of a kind from all vertices to all."""
        if len(links) == 2:
            return self.paths * self.rates.pair
        plain = all(link.plain for link in links)
        return self.bridges() * self.fewer * (self.rates.bridge if plain else self.rates.weighted_bridge)

    def _links(self, links):
        return sum(self._link(link) for link in set(links))

    def _link(self, link: Link):
        """Making the array of a link."""
        rates, gathered = self.rates, bool(link.weights) + sum(transposed for _, transposed in link.factors)
        parts = len(link.factors) + len(link.weights)
        return self.entries * (gathered * rates.gathered + max(parts - 1, 0) * rates.entry)
