"""Counting by walking a plan: level by level, the last ones or a suffix by the sizes of sets."""

from __future__ import annotations

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import ProgressCallback, Run, RunOptions, TaskRange
from cusubmatch.plan import Plan

__all__ = ["Walk"]


class Walk:
    """The walk of one plan.

    Parameters
    ----------
    engine, plan, prepared
        The engine, a plan that counts, and what it is walked on.
    """

    def __init__(self, engine: Engine, plan: Plan, prepared: Prepared):
        self.engine, self.plan, self.prepared = engine, plan, prepared

    @property
    def estimate(self) -> float:
        """Nanoseconds."""
        return self.plan.cost

    @property
    def number_of_tasks(self) -> int:
        """First-level tasks of the plan."""
        return self.engine.number_of_tasks(self.plan, self.prepared)

    def run(
        self,
        deadline: float | None,
        progress: ProgressCallback | None,
        tasks: TaskRange | None = None,
        max_work: int | None = None,
        watches: bool = False,
    ) -> Run:
        """One count, or a part of it; `max_work` and `watches` as in `RunOptions`."""
        options = RunOptions(deadline=deadline, progress=progress, max_work=max_work, watches=watches)
        return self.engine.run(self.plan, self.prepared, options, tasks)

    def matches_of(self, total: int) -> int:
        """The number of matches, from the sum of the totals of all tasks."""
        return self.plan.matches_of(total)
