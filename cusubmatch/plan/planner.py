"""The planner: from a pattern and its candidates in a graph to the cheapest plans by the cost model.

Each method of walking, direction of restrictions and core is searched for its best matching orders. `build_plan.py`
makes plans of the cheapest ones.
"""

from __future__ import annotations

import functools
import math

from cusubmatch.plan.build_plan import Alternative, build_plan
from cusubmatch.plan.estimate import Estimator
from cusubmatch.plan.order import EXHAUSTIVE_VERTICES, Effort, MatchingOrder, best_orders
from cusubmatch.plan.plan import Plan
from cusubmatch.plan.planning_problem import PlanningProblem, PlanOptions
from cusubmatch.plan.suffix.cores import Core, cores
from cusubmatch.plan.walk_cost import OrderProblem

__all__ = ["costed_order", "make_plan", "make_plans", "plan_of_order"]


# Estimates fall short of the deeper levels of a walk, and those of filtered candidates of every level. A plan with a
# suffix has fewer levels, so its cost is weighed by this factor.
SUFFIX_COST_FACTOR = 0.7
MAX_WARP_SUFFIX_STATES = 90  # a suffix with more has too many words for the shared memory of a block


def make_plan(problem: PlanningProblem, options: PlanOptions | None = None) -> Plan:
    """The cheapest plan by the cost model, see `make_plans`."""
    return make_plans(problem, options)[0]


def make_plans(problem: PlanningProblem, options: PlanOptions | None = None, alternatives: int = 1) -> list[Plan]:
    """Make the cheapest plans by the cost model, the cheapest first.

    Parameters
    ----------
    problem : PlanningProblem
    options : PlanOptions, optional
    alternatives : int
        How many plans are wanted at most.

    Raises
    ------
    ValueError
        If none of the methods can walk the pattern.
    """
    options = options or PlanOptions()
    search = _PlanSearch(problem, options, alternatives)
    search.run()
    if not search.best:
        raise ValueError(f"methods: no plan by {' or '.join(options.methods)} exists for this pattern")
    return [build_plan(problem, alternative) for alternative in search.best]


def plan_of_order(problem: PlanningProblem, order: tuple[int, ...]) -> Plan:
    """The plan of walking lists in a connected order, with which no other one is compared."""
    ascending = problem.restricted and not problem.pattern.automorphisms.is_trivial
    return build_plan(problem, Alternative(math.nan, _GivenOrder(problem, order, ascending), ascending, "lists", None))


class _GivenOrder:
    """A `CostedOrder` that is costed when somebody asks what is expected of it."""

    def __init__(self, problem: PlanningProblem, vertices: tuple[int, ...], ascending: bool) -> None:
        self.problem, self.vertices, self.ascending = problem, vertices, ascending

    @functools.cached_property
    def _costed(self) -> MatchingOrder:
        estimator = Estimator(self.problem.cardinalities, self.problem.statistics, self.ascending)
        costed = costed_order(self.problem, None, estimator, self.vertices)
        assert costed is not None  # noqa: S101 - any order can be walked without a core
        return costed

    @property
    def cost(self) -> float:
        return self._costed.cost

    @property
    def candidates(self) -> tuple[float, ...]:
        return self._costed.candidates

    @property
    def matches(self) -> tuple[float, ...]:
        return self._costed.matches


def _order_problem(problem: PlanningProblem, method: str, core: Core | None) -> OrderProblem:
    """What an order is looked for, by a method and for a core if there is one."""
    return OrderProblem(
        problem.group if core is None else core.symmetry,
        problem.neighbours,
        problem.non_neighbours,
        problem.restricted,
        method,
        problem.paired if core is None else frozenset(),
        carries_sizes=problem.counting and problem.semantics == "monomorphism",
        core=core,
    )


def costed_order(
    problem: PlanningProblem, core: Core | None, estimator: Estimator, vertices: tuple[int, ...]
) -> MatchingOrder | None:
    """A given order with what is expected of it; None if it is none for the core."""
    effort = Effort(len(problem.pattern), bounded=False)
    found = best_orders(_order_problem(problem, "lists", core), estimator, effort, order=vertices)
    return found[0] if found else None


class _PlanSearch:
    """The cheapest alternatives of all methods, directions and cores."""

    def __init__(self, problem: PlanningProblem, options: PlanOptions, alternatives: int) -> None:
        self.problem, self.options, self.alternatives = problem, options, alternatives
        self.best: list[Alternative] = []
        self.compared: list[tuple] = []  # methods and cores of which the first few orders are known
        self.by_biases = bool(problem.cardinalities.biases)  # estimates by degrees are too vague to leave cores out
        self.estimator = functools.cache(functools.partial(Estimator, problem.cardinalities, problem.statistics))
        size = len(problem.pattern)
        self.effort = Effort(size, bounded=self.by_biases or size > EXHAUSTIVE_VERTICES, most_cost=options.worth)

    def run(self):
        """Search the orders of every method and core.

        Where the effort is bounded, a few orders of each are compared first; then their orders are searched, the most
        promising method or core first, while that can take less than the best plan.
        """
        size = len(self.problem.pattern)
        for method, core in self._choices():
            visited = size if core is None else size - len(core.suffix)
            if core is not None and self.by_biases and not self._may_go_on(visited):
                break
            self._consider(method, core, searching=not self.effort.bounded)
        if not self.effort.bounded or self.options.order is not None:
            return
        for _, method, _, core in sorted(self.compared, key=lambda choice: choice[0]):
            visited = size if core is None else size - len(core.suffix)
            if self._may_go_on(visited):
                self._consider(method, core, searching=True)

    def _choices(self):
        """Methods, then methods with cores."""
        problem, options, size = self.problem, self.options, len(self.problem.pattern)
        for method in options.methods if not options.suffix else ():
            if method != "bitmaps" or any(len(adjacent) == size - 1 >= 2 for adjacent in problem.neighbours):
                yield method, None
        if not problem.counting or problem.asks_for_absence or options.suffix == 0:
            return
        if self.by_biases and not self._may_go_on(2):
            return
        for core in cores(problem.constraints, problem.pattern.automorphisms, problem.injective, options.suffix):
            if options.order is None or core.suffix == set(options.order[size - len(core.suffix) :]):
                if "lists" in options.methods:
                    yield "lists", core
                few_states = len(core.suffix) < size - 1 and core.states <= MAX_WARP_SUFFIX_STATES
                if "warps" in options.methods and few_states:
                    yield "warps", core

    def _may_go_on(self, prefixes):
        """Whether a search that expands so many prefixes is worth while, given what the best plan so far will take."""
        return not self.best or self.effort.left(self.best[0].cost) >= prefixes

    def _consider(self, method, core, searching):
        """Compare orders of a method, and of a core if there is one; `searching`: more than the first few."""
        problem, cardinalities, weight = self.problem, self.problem.cardinalities, 1.0
        group = problem.group if core is None else core.symmetry
        if core is not None:
            weight = SUFFIX_COST_FACTOR ** (len(core.suffix) - 1) if cardinalities.biases else SUFFIX_COST_FACTOR
        for ascending in self._directions(group, method, core):
            orders = best_orders(
                _order_problem(problem, method, core),
                self.estimator(ascending, method == "warps"),
                self.effort,
                searching=searching,
                cost_limit=self.best[-1].cost / weight if len(self.best) >= self.alternatives else float("inf"),
                alternatives=self.alternatives,
                order=self.options.order,
            )
            found = [Alternative(order.cost * weight, order, ascending, method, core) for order in orders]
            if not searching:
                self.compared.append((min([one.cost for one in found], default=math.inf), method, ascending, core))
            known = {one[:4] for one in self.best}
            self.best += [one for one in found if one[:4] not in known]
            self.best = sorted(self.best, key=lambda alternative: alternative[:4])[: self.alternatives]

    def _directions(self, group, method, core):
        """The directions of restrictions that matter: one where no restriction is on a vertex that is visited.

        With estimates by candidates, ascending ones cost lists no more than descending ones.
        """
        if not self.problem.restricted:
            return (False,)
        visited = [v for v in range(group.size) if core is None or v not in core.suffix]
        orbits = group.orbits()
        if len({orbits[v] for v in visited}) == len(visited):
            return (False,)
        if self.options.ascending is not None:
            return (self.options.ascending,)
        return (True,) if self.by_biases and method == "lists" else (False, True)
