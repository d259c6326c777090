"""A count by recursive conditioning on the candidate graph, with a walk for the patterns that it does not suit.

How many steps conditioning takes is not known beforehand. Variable elimination takes turns with it, or goes on beside
(`elimination_turns.py`). Where it suits the pattern that begins soon, and a long count leaves most cores to it for a
while, since it is either done soon or given up, unless conditioning expects to be done soon itself; so it does while
elimination uses a device, since the thread that launches there is not to wait for a core. When conditioning has taken
longer than it takes to plan a walk, walks have turns, too (`walk_turns.py`). Turns are counted in steps and work, not
in seconds, so that on one core equal calls go the same way.

The thread that asked for the count looks at all this between its turns of conditioning: where there are other threads,
they go on while it plans a walk.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cusubmatch.engines.base import Engine
from cusubmatch.engines.factors.device_factors import MakeDeviceFactors
from cusubmatch.engines.prepared import Prepared
from cusubmatch.engines.runs import (
    ConditionedCount,
    Count,
    ProgressCallback,
    RunOptions,
    StepsSpent,
    TaskRange,
)
from cusubmatch.errors import DeadlinePassed
from cusubmatch.execution.planning import conditioned_first, plan_of
from cusubmatch.execution.strategies.elimination_turns import EliminationIsDoneError, EliminationTurns
from cusubmatch.execution.strategies.race import Monotonic, Race
from cusubmatch.execution.strategies.walk import Walk
from cusubmatch.execution.strategies.walk_turns import (
    SURPRISE_FACTOR,
    TURN_FACTOR,
    WalkIsDueError,
    WalkTurns,
    is_soon_done,
)
from cusubmatch.graph import Graph
from cusubmatch.pattern import Pattern
from cusubmatch.plan import Plan
from cusubmatch.plan.conditioning import STEP_NS, ConditioningPlan
from cusubmatch.plan.elimination import suits_elimination
from cusubmatch.system.deadlines import ended_by
from cusubmatch.system.device_claim import claim_of_thread

__all__ = ["Conditioning", "ConditioningCount", "WorkRace", "begun_without_plan"]

FIRST_STEPS = 1 << 15  # of conditioning, before elimination is tried: its first turn takes milliseconds at the least
LATE_STEPS = 1 << 23  # the same where elimination does not suit the pattern
ELIMINATION_SHARE = 0.5  # of the time of conditioning
YIELD_STEPS = 1 << 25  # of conditioning, before most cores are left to elimination
YIELD_S = 30.0  # since that has begun, after which they are not any more
LONG_STEPS = 1 << 22  # of conditioning, after which what it expects to be left is believed
MIN_WALK_NS = 3e6  # a walk gives way after no less, whatever it is expected to take


class Conditioning:
    """Counting by recursive conditioning.

    Parameters
    ----------
    engine, prepared
        The engine, and what the pattern is matched on.
    pattern, unique
        What is counted.
    conditioning : ConditioningPlan
    walking : callable
        Gives the plan of walking the pattern; called only when that is tried.

    Attributes
    ----------
    device : callable, optional
        device(fields, kinds, check) begins to use a device for large factors of a count by elimination.
    """

    device: MakeDeviceFactors | None = None

    def __init__(
        self,
        engine: Engine,
        prepared: Prepared,
        pattern: Pattern,
        unique: bool,
        conditioning: ConditioningPlan,
        walking: Callable[[], Plan],
    ):
        self.engine, self.prepared, self.pattern, self.unique = engine, prepared, pattern, unique
        self.conditioning, self.walking = conditioning, walking

    @classmethod
    def of_plan(cls, engine: Engine, plan: Plan, prepared: Prepared, conditioning: ConditioningPlan) -> Conditioning:
        """The count of a pattern whose walk is planned."""
        return cls(engine, prepared, plan.pattern, plan.unique, conditioning, lambda: plan)

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
        return total // self.pattern.automorphisms.order if self.unique else total


def begun_without_plan(
    graph: Graph, engine: Engine, pattern: Pattern, semantics: str, unique: bool
) -> Conditioning | None:
    """A count that begins before a walk is planned; None where a plan is needed first. `graph` is the engine's."""
    found = conditioned_first(graph, engine, pattern, semantics)
    if found is None:
        return None

    def walking() -> Plan:
        return plan_of(graph, engine, pattern, semantics, unique)[0]

    prepared, conditioning = found
    return Conditioning(engine, prepared, pattern, unique, conditioning, walking)


class WorkRace(Race):
    """A walk on a candidate graph that gives way to conditioning after ten times the expected work."""

    def __init__(self, walk: Walk, conditioning: Conditioning):
        super().__init__(walk, conditioning)
        self.first, self.then = walk, conditioning

    def run(self, deadline: float | None, progress: ProgressCallback | None, tasks: TaskRange | None = None) -> Count:
        """One count, or a part of the walk."""
        if tasks is not None:
            return self.first.run(deadline, progress, tasks)
        return ConditioningCount(self.then, deadline, progress, None, self.first)


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
        first: Walk | None = None,
    ):
        self.strategy, self.deadline, self.tasks, self.first = strategy, deadline, tasks, first
        self.progress: ProgressCallback | None = None if progress is None else Monotonic(progress)
        self.walks = WalkTurns(strategy.engine, strategy.prepared, strategy.walking, soon=first is None)
        self.elimination: EliminationTurns | None = None  # there is none before the first turn is over, and of a part
        self.suits_elimination, self.claim = False, claim_of_thread()
        self.elimination_at = LATE_STEPS  # the steps at which it is looked at, at the soonest

    @property
    def has_bound(self) -> bool:
        """Whether elimination goes on, and knows its bound."""
        return self.elimination is not None and self.elimination.has_bound

    def total(self) -> int:
        """The number of embeddings.

        Raises
        ------
        DeadlinePassed
        """
        return self._conditioned().total()

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        if self.first is not None:
            walked = self._walked(self.first, SURPRISE_FACTOR)
            if walked is not None:
                return walked
        try:
            return self._count_by_turns()
        except EliminationIsDoneError:
            assert self.elimination is not None  # noqa: S101 - it is what the error says,
            assert self.elimination.total is not None  # noqa: S101 - and that its total is known
            return self._report(self.strategy.matches_of(self.elimination.total))
        finally:
            if self.elimination is not None:
                self.elimination.end()

    def _count_by_turns(self) -> int:
        """The number of matches by conditioning, elimination or walking, whichever is the first."""
        conditioned = self._conditioned()
        conditioned.between_turns = self._between_turns
        while True:
            try:
                return self._report(self.strategy.matches_of(conditioned.total()))
            except WalkIsDueError as due:
                walked = self._walked(due.walk, due.factor)
            if walked is not None:
                return walked

    def _between_turns(self, conditioned: ConditionedCount) -> None:
        """After a turn of conditioning: let elimination go on, and plan a walk once that is worth it.

        Raises
        ------
        EliminationIsDoneError
        WalkIsDueError
        """
        if self.elimination is None and self.tasks is None:
            self.elimination = self._eliminated()
        if self.elimination is not None:
            self.elimination.check()
            _leave_cores(self.elimination, conditioned, self.suits_elimination, self.claim.is_set())
            if conditioned.steps >= self.elimination_at:
                self._go_on_with(self.elimination, conditioned.steps)
            if conditioned.yields:
                return
        self.walks.look(conditioned)

    def _go_on_with(self, eliminated: EliminationTurns, steps: int) -> None:
        """Let elimination go on for a share of what so many steps have taken; beside, where a core is free."""
        self.elimination_at = int(TURN_FACTOR * steps)
        if eliminated.goes_beside:
            eliminated.begin()
        elif eliminated.take(ELIMINATION_SHARE * steps * STEP_NS) is not None:
            raise EliminationIsDoneError

    def _conditioned(self) -> ConditionedCount:
        strategy, options = self.strategy, RunOptions(deadline=self.deadline, progress=self.progress)
        return strategy.engine.condition(strategy.prepared, options, self.tasks)

    def _eliminated(self) -> EliminationTurns:
        """A count by elimination, to be begun."""
        strategy = self.strategy
        local = strategy.prepared.candidate_graph
        assert local is not None  # noqa: S101 - it is what conditioning works on
        constraints = local.constraints
        self.suits_elimination = suits_elimination(len(constraints.labels), constraints.required)
        self.elimination_at = FIRST_STEPS if self.suits_elimination else LATE_STEPS
        flag = np.zeros(1, np.int64)
        with ended_by(flag):
            count = strategy.engine.eliminate(strategy.prepared, RunOptions(deadline=self.deadline))
        count.device = strategy.device
        return EliminationTurns(count, flag)

    def _walked(self, walk: Walk, factor: float) -> int | None:
        """The number of matches by walking; None if that takes so many times the expected work."""
        visits = 1 + sum(walk.plan.order.matches[: walk.plan.walked])
        factor = max(factor, MIN_WALK_NS / max(walk.estimate, 1.0))
        progress = self._look if self.elimination is not None and self.elimination.goes_beside else self.progress
        run = walk.run(self.deadline, progress, max_work=int(min(visits * factor, 2.0**62)))
        try:
            return run.count()
        except StepsSpent as spent:
            self.walks.learn(walk, factor, spent.times)
            return None
        except DeadlinePassed:
            self.matches = run.matches
            raise

    def _look(self, done: float, matches: int) -> None:
        """Report progress, unless elimination is done meanwhile."""
        assert self.elimination is not None  # noqa: S101 - it goes on beside a walk
        self.elimination.check()
        if self.progress is not None:
            self.progress(done, matches)

    def _report(self, matches: int) -> int:
        if self.progress is not None:
            self.progress(1.0, matches)
        return matches


def _leave_cores(
    eliminated: EliminationTurns, conditioned: ConditionedCount, is_suited: bool, has_device: bool
) -> None:
    """Let one of two long counts, beside each other, leave most cores to the one that is expected to be done soon.

    That is conditioning where it expects so itself, and else elimination, where the pattern suits it or a device helps.
    """
    is_beside = is_suited and 0.0 < eliminated.seconds_beside < YIELD_S
    is_short = is_soon_done(conditioned)
    conditioned.yields = not is_short and (has_device or (is_beside and conditioned.steps >= YIELD_STEPS))
    eliminated.count.yields = is_beside and conditioned.steps >= LONG_STEPS and is_short
