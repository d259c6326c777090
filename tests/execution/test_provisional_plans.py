"""A plan that a trial found without all rivals serves one call; the next one plans anew."""

from __future__ import annotations

import dataclasses

from plans import CpuEngine

import cusubmatch as csm
from cusubmatch.execution.planning import plan_of
from cusubmatch.generators import rmat


class Trials(CpuEngine):
    """An engine whose first trials leave rivals out."""

    def __init__(self, provisional):
        super().__init__()
        self.provisional, self.trials = provisional, 0

    def choose(self, plans, prepared):
        self.trials += 1
        return dataclasses.replace(super().choose(plans, prepared), provisional=self.trials <= self.provisional)


def test_a_provisional_plan_is_not_kept():
    graph, engine = csm.Graph.from_edgelist(rmat(5, 4, seed=1)), Trials(provisional=2)
    plans = [plan_of(graph, engine, csm.Pattern.path(4), "monomorphism", True)[0] for _ in range(5)]
    assert engine.trials == 3
    assert [plan.provisional for plan in plans] == [True, True, False, False, False]
    assert plans[3] is plans[4]
