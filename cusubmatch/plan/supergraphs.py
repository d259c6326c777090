"""Induced counts from those of all copies: a sum over the pattern and its supergraphs on the same vertices.

An induced copy has no further edges. By inclusion-exclusion over the missing edges, the number of induced embeddings
is the sum over all sets S of missing edges of (-1)^|S| times the embeddings of the pattern with the edges S added
(Pinar, Seshadhri & Vishal, "ESCAPE", WWW 2017, section 3). Isomorphic supergraphs are one term. Its factor, divided by
the automorphisms, is the number of copies of the pattern that span the supergraph. The same holds with labels and
directions: the added edges, of any label, are those whose absence induced matching asks for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

from cusubmatch.pattern import Pattern, PatternEdge
from cusubmatch.plan.plan import Plan, SupergraphPlan, SupergraphTerm

__all__ = ["Supergraph", "plan_supergraphs", "supergraphs"]

MAX_VERTICES = 8  # of the pattern
MAX_MISSING_EDGES = 10
MAX_SUPERGRAPHS = 40
CACHED_PATTERNS = 256  # whose supergraphs are remembered
MAX_COST_FACTOR = 20.0  # a sum that costs so many times more than walking is no alternative to a walk that takes long


class Supergraph(NamedTuple):
    """A pattern with added edges, and the factor of its count in the sum.

    The factor is the number of copies of the first pattern in it, negative where the number of added edges is odd.
    """

    pattern: Pattern
    factor: int


def plan_supergraphs(
    pattern: Pattern, walking: float, term_cost: float, plan_of: Callable[[Pattern], Plan]
) -> SupergraphPlan | None:
    """Plan the induced count of a pattern as a sum over its supergraphs; None where that is not worth looking for.

    Parameters
    ----------
    walking : float
        Nanoseconds of the best plan by walking.
    term_cost : float
        Nanoseconds, about, of planning one term.
    plan_of : callable
        The plan of counting the copies of a pattern.
    """
    most, missing = int(min(MAX_SUPERGRAPHS, walking / term_cost)), len(_missing_edges(pattern))
    if not 0 < missing < min(most, MAX_MISSING_EDGES + 1) or len(pattern) > MAX_VERTICES:
        return None
    terms, cost = [], 0.0
    for supergraph, factor in supergraphs(pattern, most):
        plan = plan_of(supergraph)
        terms.append(SupergraphTerm(plan, factor))
        cost += plan.count_cost
        if cost > MAX_COST_FACTOR * walking:
            return None
    return SupergraphPlan(tuple(terms), cost, walking) if terms else None


@functools.lru_cache(CACHED_PATTERNS)
def supergraphs(pattern: Pattern, most: int = MAX_SUPERGRAPHS) -> tuple[Supergraph, ...]:
    """List the pattern and its supergraphs up to isomorphism, from few edges to many; nothing if more than `most`.

    They are made by adding an edge at a time. A supergraph with k added edges is reached k times from each set of
    edges that makes it, once for each edge that may come last.
    """
    layer = {pattern.automorphisms.form(): (pattern, 1)}
    listed, added = [Supergraph(pattern, 1)], 0
    while layer:
        added += 1
        above: dict = {}
        for smaller, sets in layer.values():
            for edge in _missing_edges(smaller):
                larger = smaller.with_edge(edge)
                form = larger.automorphisms.form()
                representative, reached = above.get(form, (larger, 0))
                above[form] = representative, reached + sets
            if len(listed) + len(above) > most:
                return ()
        layer = {form: (larger, reached // added) for form, (larger, reached) in above.items()}
        order, sign = pattern.automorphisms.order, (-1) ** added
        listed += [
            Supergraph(larger, sign * sets * larger.automorphisms.order // order) for larger, sets in layer.values()
        ]
    return tuple(listed)


def _missing_edges(pattern):
    """The edges that an induced match of the pattern must not have."""
    present = {pair for a, b, directed, *_ in pattern.edges for pair in ([(a, b)] if directed else [(a, b), (b, a)])}
    edges = []
    for a, b in combinations(range(len(pattern)), 2):
        there, back = (a, b) in present, (b, a) in present
        if not (there and back):
            ends = (b, a) if there else (a, b)
            edges.append(PatternEdge(*ends, there or back, None, None))
    return edges
