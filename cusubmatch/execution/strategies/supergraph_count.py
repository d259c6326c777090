"""Counting induced matches by other counts: those of the pattern's supergraphs, one after another.

Every term is counted by the strategy that is cheapest for it (`plan/supergraphs.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from cusubmatch.engines.base import Progress
from cusubmatch.execution.strategies.strategy import Strategy
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan, SupergraphPlan

__all__ = ["SupergraphCount", "Supergraphs"]


class Supergraphs:
    """A sum over the pattern and its supergraphs.

    Parameters
    ----------
    plan, terms
        The plan of walking the pattern, and the counts that the sum is made of.
    strategy_of : callable
        The strategy that counts all copies of a pattern.
    """

    def __init__(self, plan: Plan, terms: SupergraphPlan, strategy_of: Callable[[Pattern], Strategy]):
        self.plan, self.terms, self.strategy_of = plan, terms, strategy_of

    @property
    def estimate(self) -> float:
        """Nanoseconds."""
        return self.terms.cost

    def run(self, deadline: float | None, progress: Progress | None) -> SupergraphCount:
        """One count."""
        return SupergraphCount(self.plan, self.terms, self.strategy_of, deadline, progress)


class SupergraphCount:
    """One count of induced matches as a sum.

    Attributes
    ----------
    matches : None
        Nothing is known before the end.
    """

    matches: int | None = None

    def __init__(
        self,
        plan: Plan,
        terms: SupergraphPlan,
        strategy_of: Callable[[Pattern], Strategy],
        deadline: float | None,
        progress: Progress | None,
    ):
        self.plan, self.terms, self.strategy_of = plan, terms, strategy_of
        self.deadline, self.progress = deadline, progress

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        total, done = 0, 0.0
        for plan, factor in self.terms.terms:
            share = plan.count_cost / max(self.terms.cost, 1.0)
            term = self.strategy_of(plan.pattern).run(self.deadline, self._reporting(done, share))
            total += factor * term.count()
            done += share
        if not self.plan.unique:
            total *= self.plan.pattern.automorphisms.order
        if self.progress is not None:
            self.progress(1.0, total)
        return total

    def _reporting(self, before: float, share: float) -> Progress | None:
        """What a term reports to; its matches are not the pattern's."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, _: progress(min(before + share * done, 1.0), 0)
