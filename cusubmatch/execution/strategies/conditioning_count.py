"""A count by recursive conditioning on the candidate graph, with a walk for the patterns that it does not suit.

Neither way's time is known beforehand. So conditioning stops after a number of steps, the walk after the seconds that
those took, and then conditioning goes on to the end: a wrong choice costs a few times the better one.
"""

from __future__ import annotations

import time

from cusubmatch.engines.base import (
    ConditionedCount,
    Engine,
    Prepared,
    ProgressCallback,
    RunOptions,
    StepsSpent,
    TaskRange,
)
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.plan import Plan
from cusubmatch.plan.conditioning import ConditioningPlan

__all__ = ["Conditioning", "ConditioningCount"]

WALK_FACTOR = 1.5  # a walk may take so many times the seconds that conditioning has taken


class Conditioning:
    """Counting by recursive conditioning.

    Parameters
    ----------
    engine, plan, prepared
        The engine, the plan of walking the pattern, and what it is walked on.
    conditioning : ConditioningPlan
    """

    def __init__(self, engine: Engine, plan: Plan, prepared: Prepared, conditioning: ConditioningPlan):
        self.engine, self.plan, self.prepared, self.conditioning = engine, plan, prepared, conditioning

    @property
    def estimate(self) -> float:
        """Nanoseconds."""
        return self.conditioning.cost

    @property
    def number_of_tasks(self) -> int:
        """Candidates of the vertex that is matched first."""
        return self.engine.number_of_conditioned(self.prepared)

    def run(
        self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None
    ) -> ConditioningCount:
        """One count, or a part of it."""
        return ConditioningCount(self, deadline, progress, tasks)

    def matches_of(self, total: int) -> int:
        """The number of matches, from the number of embeddings."""
        return total // self.plan.pattern.automorphisms.order if self.plan.unique else total


class ConditioningCount:
    """One count, or a part of one.

    Attributes
    ----------
    matches : int or None
        Matches that a walk has found, if the deadline ended it.
    """

    matches: int | None = None

    def __init__(
        self,
        strategy: Conditioning,
        deadline: float | None,
        progress: ProgressCallback | None,
        tasks: TaskRange | None,
    ):
        self.strategy, self.deadline, self.progress, self.tasks = strategy, deadline, progress, tasks

    def total(self) -> int:
        """The number of embeddings.

        Raises
        ------
        DeadlinePassed
        """
        return self._conditioned(None).total()

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        strategy, begin = self.strategy, time.monotonic()
        conditioned = self._conditioned(strategy.conditioning.max_steps)
        try:
            total = conditioned.total()
        except StepsSpent:
            walked = self._walked(WALK_FACTOR * (time.monotonic() - begin))
            if walked is not None:
                return walked
            conditioned.max_steps = None
            total = conditioned.total()
        matches = strategy.matches_of(total)
        if self.progress is not None:
            self.progress(1.0, matches)
        return matches

    def _conditioned(self, max_steps: int | None) -> ConditionedCount:
        strategy, options = self.strategy, RunOptions(deadline=self.deadline, progress=self.progress)
        return strategy.engine.condition(strategy.prepared, options, self.tasks, max_steps)

    def _walked(self, seconds: float) -> int | None:
        """The number of matches by walking; None if that takes longer."""
        give_up = time.monotonic() + seconds
        limited = self.deadline is not None and self.deadline <= give_up
        strategy = self.strategy
        walk = Walk(strategy.engine, strategy.plan, strategy.prepared).run(
            self.deadline if limited else give_up, self.progress
        )
        try:
            return walk.count()
        except DeadlinePassed:
            if limited:
                self.matches = walk.matches
                raise
        return None
