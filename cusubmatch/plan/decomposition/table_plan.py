"""The plan of a count by decomposition: its terms, and what they cost.

Kernels go over all triangles, or over all wedges below a vertex, whatever the pattern is: their cost follows from the
degrees and is known well. Costs are in nanoseconds, by steps that each engine has measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

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
from cusubmatch.plan.decomposition.table_costs import TableCosts, TableSizes
from cusubmatch.plan.estimate import Cardinalities

__all__ = ["TablePlan", "plan_tables"]

WALKING_NS_PER_STEP = 1e4  # so much walking is worth a step of the search, which takes up to 20 microseconds
MIN_STEPS, MAX_STEPS = 2_000, 60_000  # of the search
BLOCK_COLUMNS = 64  # of dense matrices, about
PATHS_EXPONENT = 1.5  # the number of paths of two shrinks with this power of the share of arcs that is kept


@dataclass(frozen=True)
class TablePlan:
    """How a count is made of tables.

    Attributes
    ----------
    decompositions : tuple of Decomposition
        One, or one for each pattern vertex that the count is wanted by.
    costs : dict
        Nanoseconds of each table and term that is needed.
    cost : float
        Nanoseconds of all.
    walking : float
        Estimated nanoseconds of walking.
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
        return _distinct_terms(self.decompositions)


def plan_tables(
    constraints: Constraints,
    filters: tuple[int | None, ...],
    cardinalities: Cardinalities,
    sizes: TableSizes,
    walking: float,
    walk_cost: Callable[[EnumerateTerm], float],
    steps: TableCosts,
    roots: Iterable[int] = (-1,),
) -> TablePlan | None:
    """Plan a count as a sum of products of tables; None where there is no such sum, or it is not worth looking for.

    Parameters
    ----------
    constraints, filters, cardinalities
        See `PlanningProblem`.
    sizes : TableSizes
    walking : float
        Nanoseconds of the best plan by walking.
    walk_cost : callable
        Nanoseconds of walking a quotient of the pattern.
    steps : TableCosts
        Of the engine.
    roots : iterable of int
        See `decompose`.
    """
    if walking < steps.start or any(constraints.forbidden.values()):
        return None
    cost = _TableCostModel(cardinalities, sizes, walk_cost, steps)
    if cost.preparing > walking:
        return None
    most_steps = max(MIN_STEPS, min(walking / WALKING_NS_PER_STEP, MAX_STEPS))
    decompositions = decompose(constraints, filters, cost, roots, most_steps, walking)
    if decompositions is None and any(tested is not None for tested in filters):  # quotients are walked without filters
        decompositions = decompose(constraints, (None,) * len(filters), cost, roots, most_steps, walking)
    if decompositions is None:
        return None
    terms, nodes = _distinct_terms(decompositions), decompositions[0].nodes
    used = [nodes[node] for node in reachable(nodes, terms)]
    costs = {expression: cost(expression) for expression in [*used, *terms]}
    return TablePlan(tuple(decompositions), costs, cost.preparing + sum(costs.values()), walking)


def _distinct_terms(decompositions):
    """The terms of several decompositions, each once."""
    return list(dict.fromkeys(term for decomposition in decompositions for term in decomposition.terms))


class _TableCostModel:
    """Nanoseconds of tables and terms, without those of the tables that they are made of."""

    def __init__(
        self,
        cardinalities: Cardinalities,
        sizes: TableSizes,
        walk_cost: Callable[[EnumerateTerm], float],
        steps: TableCosts,
    ):
        self.walk_cost, self.steps = walk_cost, steps
        needed = 2 * sum(pairs for (a, b), pairs in cardinalities.pairs.items() if a < b)
        share = min(1.0, needed / max(sizes.entries, 1))
        self.preparing = steps.start + (
            steps.prepared * sizes.entries * len(cardinalities.pairs) / 2 if share < 1 else 0.0
        )
        self.vertices, self.arcs = sizes.vertices, share * sizes.entries
        self.paths_share = share**PATHS_EXPONENT
        self.triangles, self.wedges, self.paths, self.cliques = (self.paths_share * count for count in sizes[2:6])
        self.loops, self.bridges = sizes.loops, sizes.bridges

    def __call__(self, expression: Node | Term) -> float:
        steps = self.steps
        match expression:
            case Indicator():
                return steps.indicator + steps.entry * self.arcs
            case RowSums(link):
                least = steps.vertex * self.vertices + (0.0 if link.plain else steps.entry * self.arcs)
                return steps.call + least + self._link(link)
            case PathTable(links):
                plain = all(link.plain for link in links)
                if len(links) == 2:
                    work = self.triangles * steps.triangle if plain else self.triangles * steps.weighted_triangle
                else:
                    alike = links[0] == links[2] and not links[0].weights
                    work = self.wedges * (steps.wedge * 2 if plain else steps.weighted_wedge * (4 if alike else 8))
                return steps.call + work + self._links(links) + 2 * steps.gathered * self.arcs
            case CliqueTable(links):
                plain = all(link.plain for link in links)
                work = self.cliques * (steps.clique if plain else steps.weighted_clique)
                return steps.call + work + self.triangles * steps.triangle + self._links(links)
            case ApexTree(tree):
                calls = 1 + self.vertices // BLOCK_COLUMNS
                cells = steps.cell * self.vertices * (2 * expression.products + 1)
                work = self.vertices * (steps.product * expression.products * self.arcs + cells)
                tree_links = {Link(branch.link.factors) for branch in tree.below()}
                return steps.call * calls * (1 + expression.products) + work + self._links(tree_links)
            case Product(weights):
                return steps.call / 2 + steps.vertex * self.vertices * max(len(weights), 1)
            case CycleTerm((_, _, _, _)):
                return steps.call + self.wedges * steps.square
            case CycleTerm(links):
                tops = len({links[top:] + links[:top] for top in range(len(links))})
                plain = all(link.plain for link in links)
                loops = self.loops() * self.paths_share
                work = loops * steps.loop + self.triangles * steps.triangle
                if not plain:
                    work = tops * (2 * loops * steps.weighted_loop + self.triangles * steps.weighted_triangle * 2)
                return steps.call + work + self._links(links)
            case Pairs(_, paths, distinct_pairs):
                kinds = set(paths)
                half = 2 if distinct_pairs and all(link.plain for path in kinds for link in path) else 1
                lists = self.triangles * steps.listed if expression.has_diamonds else 0.0
                return steps.call + lists + sum(self._path(path) / half + self._links(path) for path in kinds)
            case EnumerateTerm():
                return steps.call + self.walk_cost(expression)
        raise TypeError(expression)

    def _path(self, links):
        """Finding the paths of a kind from all vertices to all."""
        if len(links) == 2:
            return self.paths * self.steps.pair
        plain = all(link.plain for link in links)
        return self.bridges() * self.paths_share * (self.steps.bridge if plain else self.steps.weighted_bridge)

    def _links(self, links):
        return sum(self._link(link) for link in set(links))

    def _link(self, link: Link):
        """Making the array of a link."""
        steps, gathered = self.steps, bool(link.weights) + sum(transposed for _, transposed in link.factors)
        parts = len(link.factors) + len(link.weights)
        return self.arcs * (gathered * steps.gathered + max(parts - 1, 0) * steps.entry)
