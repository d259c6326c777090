"""Plans as an engine's tests want them: made for a graph, with options that a user never sees."""

from cusubmatch.engines.cpu import prepare
from cusubmatch.plan import constraints_of, make_plan


def plan_for(graph, pattern, semantics="monomorphism", unique=True, counting=True, candidates=None, **only):
    """The cheapest plan among those that `only` leaves (methods, rising, order, suffix), and the candidates.

    Unless `only` says otherwise, no suffix is counted.
    """
    constraints = constraints_of(pattern, graph, semantics)
    candidates = candidates or prepare(graph, pattern, constraints, semantics != "homomorphism")
    plan = make_plan(
        pattern,
        constraints,
        candidates.shape,
        candidates.tested,
        graph.statistics,
        semantics=semantics,
        unique=unique,
        counting=counting,
        **{"suffix": 0, **only},
    )
    return plan, candidates
