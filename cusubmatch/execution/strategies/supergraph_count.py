"""Counting induced matches by other counts: those of the pattern's supergraphs, one after another.

Every term is counted by the strategy that is cheapest for it (`plan/supergraphs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cusubmatch.engines.runs import ProgressCallback, TaskRange
from cusubmatch.execution.strategies.strategy import Strategy, SummedCount
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan, SupergraphPlan, SupergraphTerm

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

    @property
    def number_of_tasks(self) -> int:
        """Terms of the sum."""
        return len(self.terms.terms)

    def run(
        self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None
    ) -> SupergraphCount:
        """One count, or the sum of some of its terms."""
        begin, end = tasks or (0, self.number_of_tasks)
        return SupergraphCount(self, self.terms.terms[begin:end], deadline, progress)

    def matches_of(self, total: int) -> int:
        """The number of matches, from the sum of all terms."""
        return total if self.plan.unique else total * self.plan.pattern.automorphisms.order


class SupergraphCount(SummedCount):
    """One count of induced matches as a sum."""

    strategy: Supergraphs

    def __init__(
        self,
        strategy: Supergraphs,
        terms: Sequence[SupergraphTerm],
        deadline: float | None,
        progress: ProgressCallback | None,
    ):
        self.strategy, self.terms = strategy, terms
        self.deadline, self.progress = deadline, progress

    def total(self) -> int:
        """The sum of the terms.

        Raises
        ------
        DeadlinePassed
        """
        total, done, cost = 0, 0.0, sum(plan.count_cost for plan, _ in self.terms)
        for plan, factor in self.terms:
            share = plan.count_cost / max(cost, 1.0)
            term = self.strategy.strategy_of(plan.pattern).run(self.deadline, self._reporting(done, share))
            total += factor * term.count()
            done += share
        return total

    def _reporting(self, before: float, share: float) -> ProgressCallback | None:
        """What a term reports to; its matches are not the pattern's."""
        progress = self.progress
        if progress is None:
            return None
        return lambda done, _: progress(min(before + share * done, 1.0), 0)
