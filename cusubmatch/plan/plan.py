"""The plan: everything an engine needs to find a pattern in a graph, as data, and readable.

Per level it has the vertex, the source of its candidates (a row of the graph or a set made earlier), the restrictions
and inequalities that remain to be tested, and what the last level becomes when only the count is wanted: the size of
its candidate set, or of the pairs in it for two interchangeable last levels. No pattern is known by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from cusubmatch.graph import Relation
from cusubmatch.pattern import Pattern
from cusubmatch.plan.constraints import Constraints
from cusubmatch.plan.estimate import Estimator, Shape
from cusubmatch.plan.explain import describe
from cusubmatch.plan.order import Choice, best_orders
from cusubmatch.plan.reuse import Rows, Step, candidate_sets
from cusubmatch.plan.symmetry import implied_bounds, restrictions
from cusubmatch.plan.table_plan import TablePlan
from cusubmatch.statistics import Statistics

__all__ = ["Level", "Plan", "make_plan", "make_plans"]


CLOSED_CLIQUES = (3, 4, 5)  # their sizes


class Level(NamedTuple):
    """One level of the matching order.

    `bounds` are all its restrictions (levels), `pending` those not yet applied when its source was made; `differ` the
    levels it must be compared with.
    """

    vertex: int
    source: Rows | int | None
    anchors: tuple[Rows, ...]
    forbidden: tuple[Rows, ...]
    bounds: tuple[int, ...]
    pending: tuple[int, ...]
    differ: tuple[int, ...]
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
    finish : {"rows", "size", "choose", "ordered", "square"}
        What happens at the end: rows come out; or the last level is counted by size n; or the last two by n(n-1)/2,
        n(n-1), n*n.
    factor : int
        What a count by this plan is multiplied by (the automorphisms, where every embedding is wanted).
    tables : TablePlan or None
        The count by decomposition: what is done if it is expected to be cheaper, or if walking takes too long.
    """

    pattern: Pattern
    semantics: str
    unique: bool
    relations: tuple[Relation, ...]
    levels: tuple[Level, ...]
    steps: tuple[Step, ...]
    sizes: tuple[float, ...]
    rising: bool
    method: str
    finish: str
    factor: int
    cost: float
    engine: str = ""
    why: str = ""
    tables: TablePlan | None = None

    def __str__(self) -> str:
        return describe(self)

    @property
    def is_clique(self) -> bool:
        """Whether it counts cliques: all vertices joined in one relation that has no direction, and exchangeable."""
        rows = {row.relation for level in self.levels for row in level.anchors}
        return (
            self.finish == "size"
            and len(rows) == 1
            and self.relations[next(iter(rows))].direction == "any"
            and all(len(level.anchors) == i for i, level in enumerate(self.levels))
            and self.pattern.automorphisms.order == math.factorial(len(self.levels))
        )

    @property
    def is_closed(self) -> bool:
        """Whether warps have kernels for just this count."""
        return self.method == "warps" and self.is_clique and len(self.levels) in CLOSED_CLIQUES

    @property
    def walked(self) -> int:
        """Levels that are visited one by one; those after them are counted."""
        return len(self.levels) - {"rows": 0, "size": 1}.get(self.finish, 2)


def make_plan(*arguments, **options) -> Plan:
    """The cheapest plan by the estimates, see `make_plans`."""
    return make_plans(*arguments, **options)[0]


def make_plans(
    pattern: Pattern,
    constraints: Constraints,
    shape: Shape,
    masks: tuple[int | None, ...],
    statistics: Statistics,
    *,
    semantics: str,
    unique: bool,
    counting: bool,
    methods: tuple[str, ...] = ("lists", "bitmaps"),
    rising: bool | None = None,
    order: tuple[int, ...] | None = None,
    rivals: int = 1,
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
    rivals : int
        How many plans are wanted at most.
    """
    size, group = len(pattern), pattern.automorphisms
    injective = semantics != "homomorphism"
    restricted = injective and (unique or counting)
    factor = group.order if injective and counting and not unique else 1
    symmetric = restricted and len(set(group.orbits())) < size
    neighbours = [{w for w in range(size) if (v, w) in constraints.required} for v in range(size)]
    twins = _interchangeable(pattern, constraints, masks) if counting and semantics != "induced" else set()
    found: list[tuple[Choice, bool, str]] = []
    for way in methods:
        if way == "bitmaps" and not any(len(some) == size - 1 >= 2 for some in neighbours):
            continue
        for direction in (False, True) if symmetric else (False,):
            if symmetric and (direction if rising is None else rising) != direction:
                continue
            choices = best_orders(
                group,
                neighbours,
                Estimator(shape, statistics, direction, clustered=way == "warps"),
                restricted=restricted,
                method=way,
                pairs=twins,
                weighed=counting and semantics == "monomorphism",
                limit=found[rivals - 1][0].cost if len(found) >= rivals else float("inf"),
                keep=rivals,
                given=order,
            )
            found = sorted([*found, *((choice, direction, way) for choice in choices)])[:rivals]
    if not found:
        raise ValueError(f"methods: no plan by {' or '.join(methods)} exists for this pattern")
    asked = semantics, unique, counting, restricted, factor, twins
    return [_build(pattern, constraints, masks, shape, *choice, *asked) for choice in found]


def _build(
    pattern, constraints, masks, shape, choice, rising, method, semantics, unique, counting, restricted, factor, twins
):
    order, size = choice.order, len(pattern)

    def rows(found, level):
        return [
            Rows(relation, earlier)
            for earlier in range(level)
            for relation in found.get((order[earlier], order[level]), ())
        ]

    anchors = [rows(constraints.required, level) for level in range(size)]
    forbidden = [rows(constraints.forbidden, level) for level in range(size)]
    bounds = restrictions(pattern.automorphisms, order) if restricted else [[] for _ in order]
    steps, sources, pending = candidate_sets(
        anchors, forbidden, [masks[vertex] for vertex in order], bounds, injective=semantics != "homomorphism"
    )
    implied = implied_bounds(bounds)
    levels = []
    for level, vertex in enumerate(order):
        differ = tuple(
            earlier
            for earlier in range(level)
            if (min(order[earlier], vertex), max(order[earlier], vertex)) in constraints.distinct
            and not any(row.level == earlier for row in anchors[level])
            and earlier not in implied[level]
            and not _disjoint(constraints.labels[order[earlier]], constraints.labels[vertex])
        )
        levels.append(
            Level(
                vertex,
                sources[level],
                tuple(anchors[level]),
                tuple(forbidden[level]),
                tuple(bounds[level]),
                tuple(pending[level]),
                differ,
                choice.candidates[level],
                choice.matches[level],
            )
        )
    finish = "rows"
    if counting:
        finish = "size"
        if size > 2 and frozenset(order[-2:]) in twins and _same_set(levels[-2], levels[-1], size - 2):
            mutual = size - 2 in bounds[-1]
            finish = "choose" if mutual else "ordered" if size - 2 in levels[-1].differ else "square"
    return Plan(
        pattern=pattern,
        semantics=semantics,
        unique=unique,
        relations=constraints.relations,
        levels=tuple(levels),
        steps=tuple(steps),
        sizes=shape.sizes,
        rising=rising,
        method=method,
        finish=finish,
        factor=factor,
        cost=choice.cost,
    )


def _interchangeable(pattern, constraints, masks):
    """Pairs of vertices that ask for the same and nothing of each other."""
    size, found = len(pattern), set()
    required = constraints.required
    for u in range(size):
        for w in range(u):
            if (u, w) in required or constraints.labels[u] != constraints.labels[w] or masks[u] != masks[w]:
                continue
            others = [x for x in range(size) if x not in (u, w)]
            same = all(required.get((x, u)) == required.get((x, w)) for x in others)
            alike = same and all(
                ((min(x, u), max(x, u)) in constraints.distinct) == ((min(x, w), max(x, w)) in constraints.distinct)
                for x in others
            )
            if alike:
                found.add(frozenset((u, w)))
    return found


def _same_set(first, last, level):
    """Whether the last two levels draw from one set under the same conditions but for one another."""
    return (
        first.source == last.source
        and set(last.differ) - {level} == set(first.differ)
        and (set(last.bounds) == {level} if level in last.bounds else set(last.bounds) == set(first.bounds))
    )


def _disjoint(some, others):
    return some is not None and others is not None and not some & others
