"""The plan: everything an engine needs to find a pattern in a graph, as data, and readable.

Per level it has the vertex, the source of its candidates (a row of the graph or a set made earlier), the restrictions
and inequalities that remain to be tested, and what the last levels become when only the count is wanted: the size of a
candidate set, or of the pairs in it for two interchangeable last levels, or a suffix of any length that is counted from
sizes of intersections. No pattern is known by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from cusubmatch.display import notebook
from cusubmatch.graph import Relation
from cusubmatch.graph.statistics import Statistics
from cusubmatch.pattern import Pattern
from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.decomposition.table_plan import TablePlan
from cusubmatch.plan.equivalent_vertices import interchangeable, same_set
from cusubmatch.plan.estimate import Cardinalities, Estimator
from cusubmatch.plan.explain.describe import describe, summarize
from cusubmatch.plan.independent_leaves import IndependentPlan
from cusubmatch.plan.order import Choice, best_orders
from cusubmatch.plan.reuse import NeighbourRows, SetOperation, candidate_sets
from cusubmatch.plan.suffix.cores import Core, cores
from cusubmatch.plan.suffix.suffix_plan import Suffix, suffix_of, with_sources
from cusubmatch.plan.supergraphs import SupergraphPlan
from cusubmatch.plan.symmetry import implied_bounds, restrictions

__all__ = ["Level", "Plan", "make_plan", "make_plans"]


SPECIALISED_CLIQUES = (3, 4, 5)  # their sizes
MOST_IMAGES = 1024  # automorphisms that rows are turned by
SHALLOW = 0.7  # how much of its estimate counts for a plan with a suffix: estimates fall short of the deeper walks,
# those of filtered candidates by every level
WARP_STATES = 90  # of a suffix whose words fit the shared memory of a block


class Level(NamedTuple):
    """One level of the matching order.

    `bounds` are all its restrictions (levels), `deferred_restrictions` those not yet applied when its source was made;
    `injectivity_checks` are the levels it must be compared with.
    """

    vertex: int
    source: NeighbourRows | int | None
    backward_neighbours: tuple[NeighbourRows, ...]
    forbidden: tuple[NeighbourRows, ...]
    bounds: tuple[int, ...]
    deferred_restrictions: tuple[int, ...]
    injectivity_checks: tuple[int, ...]
    candidates: float
    matches: float


@dataclass(frozen=True)
class Plan:
    """How a pattern is matched.

    Attributes
    ----------
    relations : tuple of Relation
        What `Rows.relation` indexes.
    levels : tuple of Level
    steps : tuple of Step
        Candidate sets, in the order in which they are made.
    rising : bool
        A restriction asks the later vertex to be of higher rank (degree) if True, lower if False.
    method : {"lists", "bitmaps", "warps"}
    finish : {"rows", "size", "choose", "ordered", "square", "suffix"}
        What happens at the end: rows come out; or the last level is counted by size n; or the last two by n(n-1)/2,
        n(n-1), n*n; or the `suffix`.
    factor, divisor : int
        What a count by this plan is multiplied by, and then divided by: where every embedding is wanted, times the
        automorphisms; with a suffix, times those that the restrictions on the core leave out, and for unique matches
        by all. Each of its rows stands for `factor` embeddings, its images under the automorphisms.
    suffix : Suffix or None
    tables : TablePlan or None
        The count by decomposition: what is done if it is expected to be cheaper, or if walking takes too long.
    supergraphs : SupergraphPlan or None
        The same for induced matches: their count from those of other patterns.
    columns : tuple of int
        The pattern vertices whose images make a row, in this order: the named ones, unless rows are to be sorted.
    independent : IndependentPlan or None
        The same again: their count by independent sets of leaves.
    """

    pattern: Pattern
    semantics: str
    unique: bool
    relations: tuple[Relation, ...]
    levels: tuple[Level, ...]
    steps: tuple[SetOperation, ...]
    sizes: tuple[float, ...]
    ascending: bool
    method: str
    leaf_mode: str
    factor: int
    cost: float
    divisor: int = 1
    suffix: Suffix | None = None
    engine: str = ""
    why: str = ""
    tables: TablePlan | None = None
    supergraphs: SupergraphPlan | None = None
    columns: tuple[int, ...] = ()
    independent: IndependentPlan | None = None

    def __str__(self) -> str:
        return describe(self)

    def __repr__(self) -> str:
        return summarize(self)

    def _repr_pretty_(self, printer, _cycle) -> None:
        """What IPython prints: the whole text."""
        for index, line in enumerate(str(self).split("\n")):
            if index:
                printer.break_()
            printer.text(line)

    def _repr_html_(self) -> str:
        return notebook.preformatted(str(self))

    def matches_of(self, total: int) -> int:
        """The number of matches, from what a walk of all first-level tasks sums up."""
        return total * self.factor // self.divisor

    @property
    def in_parts(self) -> TablePlan | SupergraphPlan | IndependentPlan | None:
        """What counts without walking the pattern itself, if anything does."""
        return self.tables or self.independent or self.supergraphs

    @property
    def count_cost(self) -> float:
        """Nanoseconds of the way of counting that is tried first."""
        return self.in_parts.cost if self.in_parts is not None and self.in_parts.first else self.cost

    @property
    def is_clique(self) -> bool:
        """Whether it counts cliques: all vertices joined in one relation that has no direction, and exchangeable."""
        rows = {row.relation for level in self.levels for row in level.backward_neighbours}
        return (
            self.leaf_mode == "size"
            and len(rows) == 1
            and self.relations[next(iter(rows))].direction == "any"
            and all(len(level.backward_neighbours) == i for i, level in enumerate(self.levels))
            and self.pattern.automorphisms.order == math.factorial(len(self.levels))
        )

    @property
    def where(self) -> str:
        """Where its costs arise, in words."""
        return "on the GPU" if self.method == "warps" else "on one core"

    @property
    def is_specialised(self) -> bool:
        """Whether warps have kernels for just this count."""
        return self.method == "warps" and self.is_clique and len(self.levels) in SPECIALISED_CLIQUES

    @property
    def walked(self) -> int:
        """Levels that are visited one by one; those after them are counted."""
        if self.suffix is not None:
            return len(self.levels) - len(self.suffix.choices)
        return len(self.levels) - {"rows": 0, "size": 1}.get(self.leaf_mode, 2)


def make_plan(*arguments, **options) -> Plan:
    """The cheapest plan by the estimates, see `make_plans`."""
    return make_plans(*arguments, **options)[0]


def make_plans(
    pattern: Pattern,
    constraints: Constraints,
    shape: Cardinalities,
    masks: tuple[int | None, ...],
    statistics: Statistics,
    *,
    semantics: str,
    unique: bool,
    counting: bool,
    methods: tuple[str, ...] = ("lists", "bitmaps"),
    ascending: bool | None = None,
    order: tuple[int, ...] | None = None,
    suffix: int | None = None,
    alternatives: int = 1,
) -> list[Plan]:
    """The cheapest plans by the estimates, the cheapest first.

    Parameters
    ----------
    constraints : Constraints
        The pattern's demands as relations.
    shape : Shape
        Candidates per pattern vertex and candidate pairs per required pair.
    masks : tuple of int or None
        Per pattern vertex, the vertex whose filter its candidates must pass.
    statistics : Statistics
    semantics, unique, counting
        As the public functions take them; `counting` when no rows are wanted.
    methods : tuple of {"lists", "bitmaps", "warps"}
        The ways of walking that the engine has.
    rising, order : optional
        Consider only this direction of restrictions or matching order (for tests and measurements).
    suffix : int, optional
        Consider only plans that count by sizes a suffix of so many vertices; 0: none, so that every level but the last
        (or two) is visited.
    rivals : int
        How many plans are wanted at most.
    """
    size, group = len(pattern), pattern.automorphisms
    injective = semantics != "homomorphism"
    expands_orbits = injective and not unique and (counting or _expands_orbits(pattern))
    restricted = injective and (unique or expands_orbits)
    neighbours = [{w for w in range(size) if (v, w) in constraints.required} for v in range(size)]
    avoided = [{u for u in range(size) if (u, v) in constraints.forbidden} for v in range(size)]
    equivalent_vertices = interchangeable(pattern, constraints, masks) if counting and semantics != "induced" else set()
    found: list[tuple[float, Choice, bool, str, Core | None]] = []

    def search(group, way, equivalent_vertices=frozenset(), core=None):
        nonlocal found
        walked = {orbit for v, orbit in enumerate(group.orbits()) if core is None or v not in core.suffix}
        symmetric = restricted and len(walked) < size - (len(core.suffix) if core else 0)
        weight = 1.0
        if core is not None:
            weight = SHALLOW ** (len(core.suffix) - 1) if shape.biases else SHALLOW
        for direction in (False, True) if symmetric else (False,):
            if symmetric and (direction if ascending is None else ascending) != direction:
                continue
            choices = best_orders(
                group,
                neighbours,
                Estimator(shape, statistics, direction, clustered=way == "warps"),
                restricted=restricted,
                method=way,
                pairs=equivalent_vertices,
                weighed=counting and semantics == "monomorphism",
                limit=found[alternatives - 1][0] / weight if len(found) >= alternatives else float("inf"),
                keep=alternatives,
                given=order,
                core=core,
                avoided=avoided,
            )
            found += [(choice.cost * weight, choice, direction, way, core) for choice in choices]
            found = sorted(found, key=lambda each: each[:4])[:alternatives]

    for way in methods if not suffix else ():
        if way != "bitmaps" or any(len(some) == size - 1 >= 2 for some in neighbours):
            search(group, way, equivalent_vertices)
    if counting and semantics != "induced" and suffix != 0:
        for core in cores(constraints, group, injective, suffix):
            if order is None or core.suffix == set(order[size - len(core.suffix) :]):
                if "lists" in methods:
                    search(core.symmetry, "lists", core=core)
                if "warps" in methods and len(core.suffix) < size - 1 and core.states <= WARP_STATES:
                    search(core.symmetry, "warps", core=core)
    if not found:
        raise ValueError(f"methods: no plan by {' or '.join(methods)} exists for this pattern")
    asked = semantics, unique, counting, restricted, equivalent_vertices
    return [_build(pattern, constraints, masks, shape, *each[1:], *asked) for each in found]


def _build(
    pattern,
    constraints,
    masks,
    shape,
    choice,
    ascending,
    method,
    core,
    semantics,
    unique,
    counting,
    restricted,
    equivalent_vertices,
):
    order, size, injective = choice.order, len(pattern), semantics != "homomorphism"
    walked = order if core is None else order[: size - len(core.suffix)]

    def rows(found, level):
        return [
            NeighbourRows(relation, earlier)
            for earlier in range(min(level, len(walked)))
            for relation in found.get((order[earlier], order[level]), ())
        ]

    group = pattern.automorphisms if core is None else core.symmetry
    backward_neighbours = [rows(constraints.required, level) for level in range(size)]
    forbidden = [rows(constraints.forbidden, level) for level in range(size)]
    bounds = restrictions(group, walked) if restricted else [[] for _ in walked]
    factor = group.order if restricted and not unique else 1
    divisor, suffix = 1, None
    if core is not None:
        factor = math.prod(len(others) + 1 for others in group.chain(walked)) if injective else 1
        divisor = pattern.automorphisms.order if unique else 1
        suffix = suffix_of(core, order, constraints, divisor // factor)
    steps, sources, deferred_restrictions = candidate_sets(
        backward_neighbours[: len(walked)],
        forbidden[: len(walked)],
        [masks[vertex] for vertex in walked],
        bounds,
        injective=injective,
        counted=[(some.made_of(len(walked) - 1), some.choosers) for some in suffix.variables] if suffix else (),
    )
    if suffix is not None:
        suffix = with_sources(suffix, sources[len(walked) :], len(walked) - 1)
    implied = implied_bounds(bounds)
    levels = []
    for level, vertex in enumerate(order):
        visited = level < len(walked)
        injectivity_checks = tuple(
            earlier
            for earlier in range(min(level, len(walked)))
            if (min(order[earlier], vertex), max(order[earlier], vertex)) in constraints.distinct
            and not any(row.level == earlier for row in backward_neighbours[level])
            and not (visited and earlier in implied[level])
            and not _disjoint(constraints.labels[order[earlier]], constraints.labels[vertex])
        )
        levels.append(
            Level(
                vertex,
                sources[level] if visited else None,
                tuple(backward_neighbours[level]),
                tuple(forbidden[level]),
                tuple(bounds[level]) if visited else (),
                tuple(deferred_restrictions[level]) if visited else (),
                injectivity_checks,
                choice.candidates[level],
                choice.matches[level],
            )
        )
    leaf_mode = "suffix" if suffix else "size" if counting else "rows"
    if (
        leaf_mode == "size"
        and frozenset(order[-2:]) in equivalent_vertices
        and same_set(levels[-2], levels[-1], size - 2)
    ):
        mutual = size - 2 in bounds[-1]
        leaf_mode = "choose" if mutual else "ordered" if size - 2 in levels[-1].injectivity_checks else "square"
    shared = math.gcd(factor, divisor)
    return Plan(
        pattern=pattern,
        semantics=semantics,
        unique=unique,
        relations=constraints.relations,
        levels=tuple(levels),
        steps=tuple(steps),
        sizes=shape.sizes,
        ascending=ascending,
        method=method,
        leaf_mode=leaf_mode,
        factor=factor // shared,
        divisor=divisor // shared,
        suffix=suffix,
        cost=choice.cost,
        columns=tuple(vertex for vertex, name in enumerate(pattern.names) if name is not None),
    )


def _expands_orbits(pattern):
    """Whether the rows of all embeddings follow from one of each orbit: no orbit mixes columns and other vertices."""
    orbits, named = pattern.automorphisms.orbits(), [name is not None for name in pattern.names]
    mixed = any(named[v] != named[orbit] for v, orbit in enumerate(orbits))
    return not mixed and pattern.automorphisms.order <= MOST_IMAGES


def _disjoint(some, others):
    return some is not None and others is not None and not some & others
