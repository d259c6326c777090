"""When a count is made by recursive conditioning on the candidate graph instead of by walking.

What it takes is not known beforehand: counts of components that come again are not counted again. At the least, every
arc of the candidate graph is tried once, and that is taken as its cost. Where it takes much longer than walking is
expected to, it is given up for a walk. Where it may take as little as planning a walk does, it is tried before one is
planned: a walk that is estimated to take a tenth of a millisecond may take a second.
"""

from __future__ import annotations

from dataclasses import dataclass

from cusubmatch.plan.estimate import Cardinalities

__all__ = ["ConditioningPlan", "plan_conditioning"]

STEP_NS = 150.0  # to try a candidate, at the least
PATIENCE_NS = 2.5e5  # for each pattern vertex; a few times what planning a walk takes


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
        Nanoseconds: where it costs no more, it is tried before a walk is planned.
    """

    cost: float
    walking: float
    patience: float = 0.0

    @property
    def first(self) -> bool:
        """Whether it is tried before walking."""
        return self.goes_first or self.cost < self.walking

    @property
    def goes_first(self) -> bool:
        """Whether it is tried whatever walking is expected to take."""
        return self.cost <= self.patience


def plan_conditioning(cardinalities: Cardinalities, walking: float) -> ConditioningPlan:
    """The count of a pattern on its candidate graph, whose walk is estimated to take so many nanoseconds."""
    cost = STEP_NS * sum(cardinalities.pairs.values()) / 2
    return ConditioningPlan(cost, walking, PATIENCE_NS * len(cardinalities.sizes))
