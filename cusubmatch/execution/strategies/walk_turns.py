"""When walks have a turn in a count by conditioning, which knows little of what it will take.

When conditioning has taken longer than it takes to plan a walk, the walk is planned, and has a turn, about as long as
that, if its estimate is much lower. When conditioning has taken more steps than most counts do, the walk is planned
anew by sampled descents, which say well what it takes. It has its turn once conditioning has taken about as long as it
is expected to. If that was wrong, what it has done by then says when it has another turn, so that a count takes a few
times the better way. Where conditioning is expected to be done soon, nothing is planned for a while.
"""

from __future__ import annotations

from collections.abc import Callable

from cusubmatch.engines.base import Engine
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import ConditionedCount
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.execution.walk_planning import replan
from cusubmatch.plan import Plan
from cusubmatch.plan.conditioning import STEP_NS

__all__ = ["SURPRISE_FACTOR", "TURN_FACTOR", "WalkIsDueError", "WalkTurns", "is_soon_done"]

SHORT_STEPS = 1 << 16  # of conditioning by each thread, which take a few times as long as it takes to plan a walk
SHORT_SHARE = 0.125  # of the time of conditioning, that a walk may be estimated to take to have a turn then
MIN_STEPS = 1 << 17  # of each thread, before a walk is planned by sampled descents
SURPRISE_FACTOR = 10.0  # a walk that has done so many times its expected work gives way
SOON_SHARE = 0.5  # of the steps so far, that are left where another way is not looked at yet
WALK_FACTOR = 2.0  # a walk may do so many times its sampled visits; its work counts elements of lists, too
TURN_FACTOR = 2.0  # from one turn to the next
MOST_TURN_FACTOR = 4.0  # the same for a walk that seems to take far longer: how far it is, it knows only about
REPLAN_FACTOR = 16.0  # times as much is spent as when the walk was planned anew, before more descents are made for it


class WalkIsDueError(Exception):
    """A walk is to have a turn, until it has taken so many times its expected work."""

    def __init__(self, walk: Walk, factor: float):
        super().__init__()
        self.walk, self.factor = walk, factor


class WalkTurns:
    """The walks of one count.

    Parameters
    ----------
    engine, prepared
        The engine, and what the pattern is matched on.
    walking : callable
        Gives the plan of walking the pattern; called only when that is tried.
    soon : bool
        Whether that plan may have a turn before one by sampled descents.
    """

    def __init__(self, engine: Engine, prepared: Prepared, walking: Callable[[], Plan], soon: bool):
        self._engine, self._prepared, self._walking, self._soon = engine, prepared, walking, soon
        self._walk: Walk | None = None  # once it is planned anew
        self._replanned_ns = 0.0  # that were spent by then
        self._doubt = 1.0  # how many times its estimate the walk takes at the least, if that is known
        self._look_at = 0  # the steps at which it is looked at again, at the soonest

    def look(self, conditioned: ConditionedCount) -> None:
        """After a turn of conditioning: plan a walk once that is worth it.

        Raises
        ------
        WalkIsDueError
        """
        spent_ns = conditioned.steps * STEP_NS
        if self._soon and _has_taken(conditioned, SHORT_STEPS * conditioned.threads):
            self._soon = False
            self._look_at_planned(spent_ns)
        if _has_taken(conditioned, max(self._look_at, MIN_STEPS * conditioned.threads)):
            self._look_at = int(TURN_FACTOR * conditioned.steps)
            self._look_at_sampled(spent_ns)

    def learn(self, walk: Walk, factor: float, times: float) -> None:
        """A walk was not done after `factor` times its expected work; it seems to take `times` times as much."""
        if walk is self._walk:
            self._doubt = factor * min(max(times, TURN_FACTOR), MOST_TURN_FACTOR)

    def _look_at_planned(self, spent_ns: float) -> None:
        """Plan the walk; raise if its estimate is low beside what was spent. It is often too low: the turn is short."""
        walk = Walk(self._engine, self._walking(), self._prepared)
        if walk.estimate <= SHORT_SHARE * spent_ns:
            raise WalkIsDueError(walk, min(spent_ns / max(walk.estimate, 1.0), SURPRISE_FACTOR))

    def _look_at_sampled(self, spent_ns: float) -> None:
        """Raise if walking by sampled descents is worth a try when so much was spent."""
        if self._walk is None or (self._doubt == 1.0 and spent_ns >= REPLAN_FACTOR * self._replanned_ns):
            descents = self._engine.descents(self._prepared)
            if descents.preparation > spent_ns:
                return
            self._replanned_ns = spent_ns
            plan = replan(self._walking(), self._prepared, descents, spent_ns)
            self._walk = Walk(self._engine, plan, self._prepared)
        if self._doubt * self._walk.estimate <= spent_ns:
            raise WalkIsDueError(self._walk, WALK_FACTOR * self._doubt)


def _has_taken(conditioned: ConditionedCount, steps: int) -> bool:
    """Whether conditioning has taken so many steps; or half as many again, where it is expected to be done by then."""
    if conditioned.steps < steps:
        return False
    return not is_soon_done(conditioned) or conditioned.steps >= (1.0 + SOON_SHARE) * steps


def is_soon_done(conditioned: ConditionedCount) -> bool:
    """Whether conditioning expects to be done soon."""
    return conditioned.steps_left <= SOON_SHARE * conditioned.steps
