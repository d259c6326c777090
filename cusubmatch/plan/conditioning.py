"""When a count is made by recursive conditioning on the candidate graph instead of by walking.

What it takes is not known beforehand: counts of components that come again are not counted again. At the least, every
arc of the candidate graph is tried once, and that is taken as its cost. Where it takes much longer than walking is
expected to, it is given up for a walk.
"""

from __future__ import annotations

from dataclasses import dataclass

from cusubmatch.plan.estimate import Cardinalities

__all__ = ["ConditioningPlan", "plan_conditioning"]

STEP_NS = 150.0  # to try a candidate, at the least


@dataclass(frozen=True)
class ConditioningPlan:
    """A count by recursive conditioning.

    Attributes
    ----------
    cost : float
        Nanoseconds, at the least.
    walking : float
        Estimated nanoseconds of walking instead.
    """

    cost: float
    walking: float

    @property
    def first(self) -> bool:
        """Whether it is tried before walking."""
        return self.cost < self.walking


def plan_conditioning(cardinalities: Cardinalities, walking: float) -> ConditioningPlan:
    """The count of a pattern on its candidate graph, whose walk is estimated to take so many nanoseconds."""
    return ConditioningPlan(STEP_NS * sum(cardinalities.pairs.values()) / 2, walking)
