"""Induced counts from those of all copies: a sum over the pattern and its supergraphs on the same vertices.

Where a copy must have no further edges, inclusion and exclusion over the edges that it must not have gives the number
of induced embeddings as the sum of (-1)^|S| times the embeddings of the pattern with the edges S, over all sets S of
them (Pinar, Seshadhri & Vishal, "ESCAPE", WWW 2017, section 3). Isomorphic supergraphs are one term; divided by the
automorphisms, its factor is the number of copies of the pattern in the supergraph that span it. With labels and
directions too: the edges that are added are those, of any label, whose absence induced matching asks for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from cusubmatch.pattern import Pattern, PatternEdge

if TYPE_CHECKING:
    from cusubmatch.plan.plan import Plan

__all__ = ["Supergraph", "SupergraphPlan", "SupergraphTerm", "plan_supergraphs", "supergraphs"]

MOST_VERTICES = 8
MOST_MISSING = 10  # edges that may be added
MOST_SUPERGRAPHS = 40
KEPT = 256  # patterns whose supergraphs are remembered
SURE = 1.5  # times cheaper by estimates than walking is reason enough not to walk
HOPELESS = 20.0  # times dearer is no way out either when walking takes too long


class Supergraph(NamedTuple):
    """A pattern with perhaps more edges, and how many copies of the first pattern it has, negative for odd numbers."""

    pattern: Pattern
    factor: int


class SupergraphTerm(NamedTuple):
    """The plan of counting a supergraph, and what the count is multiplied by."""

    plan: Plan
    factor: int


@dataclass(frozen=True)
class SupergraphPlan:
    """An induced count as a sum of other counts.

    Attributes
    ----------
    terms : tuple of SupergraphTerm
    cost : float
        Nanoseconds of all.
    walking : float
        What walking was estimated to cost.
    """

    terms: tuple[SupergraphTerm, ...]
    cost: float
    walking: float

    @property
    def first(self) -> bool:
        """Whether the sum is expected to cost less than walking, by some margin."""
        return self.cost * SURE < self.walking


def plan_supergraphs(
    pattern: Pattern, walking: float, term_cost: float, plan_of: Callable[[Pattern], Plan]
) -> SupergraphPlan | None:
    """The induced count of a pattern as a sum over its supergraphs; None where that is not worth looking for.

    Parameters
    ----------
    walking : float
        Nanoseconds of the best plan by walking.
    term_cost : float
        Nanoseconds that planning one term takes, about.
    plan_of : callable
        The plan of counting a pattern's copies.
    """
    most, missing = int(min(MOST_SUPERGRAPHS, walking / term_cost)), len(_missing(pattern))
    if not 0 < missing < min(most, MOST_MISSING + 1) or len(pattern) > MOST_VERTICES:
        return None
    terms, cost = [], 0.0
    for supergraph, factor in supergraphs(pattern, most):
        plan = plan_of(supergraph)
        terms.append(SupergraphTerm(plan, factor))
        cost += plan.count_cost
        if cost > HOPELESS * walking:
            return None
    return SupergraphPlan(tuple(terms), cost, walking) if terms else None


@functools.lru_cache(KEPT)
def supergraphs(pattern: Pattern, most: int = MOST_SUPERGRAPHS) -> tuple[Supergraph, ...]:
    """The pattern and its supergraphs up to isomorphism, from few edges to many; nothing if they are more than `most`.

    They are made by adding an edge at a time. A supergraph with k more edges is met k times for each set of edges that
    makes it, once for each that may have come last.
    """
    layer = {pattern.automorphisms.form(): (pattern, 1)}
    found, added = [Supergraph(pattern, 1)], 0
    while layer:
        added += 1
        above: dict = {}
        for smaller, sets in layer.values():
            for edge in _missing(smaller):
                larger = smaller.joined(edge)
                form = larger.automorphisms.form()
                known, met = above.get(form, (larger, 0))
                above[form] = known, met + sets
            if len(found) + len(above) > most:
                return ()
        layer = {form: (larger, met // added) for form, (larger, met) in above.items()}
        order, sign = pattern.automorphisms.order, (-1) ** added
        found += [Supergraph(one, sign * sets * one.automorphisms.order // order) for one, sets in layer.values()]
    return tuple(found)


def _missing(pattern):
    """The edges that an induced match of the pattern must not have."""
    present = {pair for a, b, directed, *_ in pattern.edges for pair in ([(a, b)] if directed else [(a, b), (b, a)])}
    edges = []
    for a, b in combinations(range(len(pattern)), 2):
        there, back = (a, b) in present, (b, a) in present
        if not (there and back):
            ends = (b, a) if there else (a, b)
            edges.append(PatternEdge(*ends, there or back, None, None))
    return edges
