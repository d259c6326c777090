"""A count of induced matches by other counts: those of the pattern's supergraphs, one after another.

Every term is counted in the way that is cheapest for it, by tables or by walking (`plan/supergraphs.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cusubmatch.plan import Plan

__all__ = ["InducedRun"]


class InducedRun:
    """One count of induced matches as a sum.

    Parameters
    ----------
    plan : Plan
        A plan with `supergraphs`.
    term_run : callable
        Makes a run that counts all copies of a pattern: term_run(pattern, progress).
    deadline, progress
        As for an engine's `Run`.

    Attributes
    ----------
    matches : None
        Nothing is known before the end.
    """

    matches = None

    def __init__(
        self,
        plan: Plan,
        term_run: Callable[..., Any],
        *,
        deadline: float | None = None,
        progress: Callable[[float, int], None] | None = None,
    ):
        self.plan, self.term_run, self.deadline, self.progress = plan, term_run, deadline, progress
        self.expected: Any = plan.supergraphs

    def count(self) -> int:
        """The number of matches.

        Raises
        ------
        DeadlinePassed
        """
        total, done = 0, 0.0
        for plan, factor in self.expected.terms:
            share = plan.count_cost / max(self.expected.cost, 1.0)
            total += factor * self.term_run(plan.pattern, self._reporting(done, share)).count()
            done += share
        if not self.plan.unique:
            total *= self.plan.pattern.automorphisms.order
        if self.progress is not None:
            self.progress(1.0, total)
        return total

    def _reporting(self, before, share):
        """What a term reports to; its matches are not the pattern's."""
        if self.progress is None:
            return None
        return lambda done, _: self.progress(min(before + share * done, 1.0), 0)
