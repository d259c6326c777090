"""When a count is made by recursive conditioning on the candidate graph instead of by walking.

What it takes is not known beforehand: counts of components that come again are not counted again. At the least, every
arc of the candidate graph is tried once, and that is taken as its cost. Where it takes much longer than walking is
expected to, it is given up for a walk. It begins before a walk is planned where it may take less than the planning: a
walk that is estimated to take a tenth of a millisecond may take a second. The plan is made when it has taken longer
than that.
"""

from __future__ import annotations

from dataclasses import dataclass

from cusubmatch.plan.estimate import Cardinalities

__all__ = ["STEP_NS", "ConditioningPlan", "plan_conditioning"]

STEP_NS = 150.0  # to try a candidate, at the least
PATIENCE_NS = 2.5e5  # for each pattern vertex; a few times what planning a walk takes
BEGIN_FACTOR = 20.0  # most counts take a fraction of their cost


@dataclass(frozen=True)
class ConditioningPlan:
    """A count by recursive conditioning.

    Attributes
    ----------
    cost : float
        Nanoseconds, at the least.
    walking : float
        Estimated nanoseconds of walking instead.
    patience : float
        Nanoseconds: where it costs no more, it is tried whatever walking is expected to take.
    """

    cost: float
    walking: float
    patience: float = 0.0

    @property
    def first(self) -> bool:
        """Whether it is tried before walking, once a walk is planned."""
        return self.cost <= self.patience or self.cost < self.walking

    @property
    def begins(self) -> bool:
        """Whether it begins before a walk is planned."""
        return self.cost <= BEGIN_FACTOR * self.patience


def plan_conditioning(cardinalities: Cardinalities, walking: float) -> ConditioningPlan:
    """The count of a pattern on its candidate graph, whose walk is estimated to take so many nanoseconds."""
    cost = STEP_NS * sum(cardinalities.pairs.values()) / 2
    return ConditioningPlan(cost, walking, PATIENCE_NS * len(cardinalities.sizes))
